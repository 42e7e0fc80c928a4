"""Data-dependent noise for means and standard deviations: they lie in a range, and its law may depend on where.

In units of its published sensitivity a mean of n rows lies in a range of n, a standard deviation in one of √n/2. Over a
few units the certified optimum that may depend on the true value costs much less than noise that may not; over many
hardly anything, and clamping the latter to the range is as good (docs/learning.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ..data_dependent.channel import Channel
from ..data_dependent.problem import data_dependent_problem
from ..data_dependent.search import solve
from ..data_dependent.solution import Solution
from ..noise.base import Noise
from ..privacy import Privacy
from ..problem import SolverSettings
from .design import SQUARE, SUM, Design
from .naive_bayes import Learner, moments
from .noises import NOBODY, Watch, drawn, each
from .tables import Array

WIDTHS = (1, 2, 3, 4, 6, 8, 10, 12, 16)
"""Ranges that are solved, in sensitivities; what is made for a wider range keeps its promise in a narrower one. At (1,
.1) the search betters clamped noise by a tenth over 10, and no longer in reasonable time over 30."""

SETTINGS = SolverSettings(gap=0.03, time_limit=6.0)


@dataclass(frozen=True)
class DataDependent:
    """noise : the best that does not depend on the data, for counts, and clamped for means; privacy : of each."""

    noise: Noise
    privacy: Privacy
    watch: Watch = field(default=NOBODY, compare=False)

    @classmethod
    def of(cls, privacy: Privacy, watch: Watch = NOBODY) -> DataDependent:
        """For statistics of this privacy each."""
        return cls(each("optimal", privacy, watch), privacy, watch)

    def drawn(
        self, design: Design, sums: Array, learner: Learner, rng: np.random.Generator, draws: int
    ) -> Array:  # fmt: skip
        """(draws, F, C), in units of the published sensitivities; sums : (F, C)."""
        noise = drawn(self.noise, rng, (draws, *sums.shape))
        exact, sizes = moments(design, sums[None], learner), np.maximum(sums[0], 1.0)
        place = (exact.means[0] + 1) * sizes / 2
        noise[:, design.at(SUM)] = np.clip(noise[:, design.at(SUM)], -place, sizes - place)
        widths = np.sqrt(sizes) / 2
        places, spreads = exact.deviations[0] * widths, noise[:, design.at(SQUARE)]
        for c, width in enumerate(widths.tolist()):
            made = best(self.privacy, width, self.watch)
            for number, value in enumerate(places[:, c].tolist()):
                if made is None:
                    found = value + spreads[:, number, c]
                else:
                    found = releases(made, value, rng, draws)
                spreads[:, number, c] = np.clip(found, 0.0, width) - value
        noise[:, design.at(SQUARE)] = spreads
        return noise


def best(privacy: Privacy, width: float, watch: Watch = NOBODY) -> Channel | None:
    """What releases a value between 0 and `width` sensitivities; None where clamped noise is as good as what is known.

    Raises
    ------
    StoppedError : `watch` said so.
    """
    whole = next((one for one in WIDTHS if one >= width), None)
    if whole is None:
        return None
    made = solved(privacy, whole, watch).mechanism
    return made if isinstance(made, Channel) else None


@lru_cache(maxsize=64)
def solved(privacy: Privacy, width: int, watch: Watch = NOBODY) -> Solution:
    """The least mean |error| over a range of so many sensitivities, with its certificate.

    Raises
    ------
    StoppedError : `watch` said so.
    """
    problem = data_dependent_problem(privacy.epsilon, privacy.delta, query_range=(0.0, float(width)))
    return solve(problem, SETTINGS, watch.look)


def releases(made: Channel, value: float, rng: np.random.Generator, draws: int) -> Array:
    """Floating-point draws of what a value is released as, (draws,), for simulation."""
    law = made.law_of(value)
    chances = np.append(made.masses[law], made.atom_masses[law])
    cells = rng.choice(len(chances), size=draws, p=chances / chances.sum())
    cell = np.minimum(cells, made.grid.cells - 1)
    places: Array = made.grid.points[cell]
    if made.spread:
        edges = np.array([float(one) for one in made.grid.edges])
        places = edges[cell] + rng.random(draws) * np.diff(edges)[cell]
    return np.where(cells == made.grid.cells, value, places)
