"""Joint (ε, δ) of independent noise of different kinds: dominating pairs on one grid, composed pessimistically.

Every part of a mixed mechanism is replaced by a pair of laws that dominates it at every ε′, over all changes within its
box; products of dominating pairs dominate the joint release [ZDW22, Thm. 10]. `losses` has the rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..loss import UNIT
from ..noise.gaussian import Gaussian
from ..noise.laplace import Laplace
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from .loss_grids import LossGrid, on_grid
from .losses import compose
from .mechanisms import Promised
from .pairs import Pair, dominating_pair

UNSEEN = 1e-22
"""Probability of the losses that count as infinite."""


@dataclass(frozen=True)
class Accountant:
    """Composes parts on one grid of privacy losses.

    step : width of the grid; finer is closer to the truth, any width is safe.
    """

    step: float

    @classmethod
    def for_target(cls, epsilon: float, *, points: int = 4096, reach: float = 0.0) -> Accountant:
        """A grid with so many points between 0 and ε, but not more than half a million within `reach`."""
        return cls(max(epsilon / points, reach / 2**19))

    def gaussian(self, mu: float) -> LossGrid:
        """Gaussian noise on any coordinates with Σ λ²/σ² ≤ mu²: together they are one Gaussian coordinate."""
        return self._part(dominating_pair(Gaussian(1 / (mu * (1 + 4 * UNIT))), 1.0))

    def pure(self, epsilon: float) -> LossGrid:
        """Any ε-DP law: randomized response dominates it."""
        return self._part(Promised("", epsilon * (1 + 4 * UNIT)).pair)

    def laplace(self, epsilon: float) -> LossGrid:
        """Laplace noise of scale λ/ε; the largest change is the worst at every ε′ (its density falls from 0)."""
        return self._part(dominating_pair(Laplace(1 / (epsilon * (1 + 4 * UNIT))), 1.0))

    def staircase(self, epsilon: float, gamma: float) -> LossGrid:
        """A staircase law shifted by its sensitivity: losses ε, 0 and −ε."""
        return self._part(dominating_pair(Staircase(epsilon * (1 + 4 * UNIT), 1.0, gamma), 1.0))

    def curve(self, noise: PiecewiseNoise) -> LossGrid:
        """A solved law, over all shifts up to its sensitivity."""
        return self._part(dominating_pair(noise, noise.sensitivity))

    def _part(self, pair: Pair) -> LossGrid:
        return on_grid(pair, self.step, upper=True, unseen=UNSEEN)

    def delta_upper(self, parts: Iterable[LossGrid], epsilon: float) -> float:
        """δ of the joint release at ε, rounded up."""
        counts: dict[int, tuple[LossGrid, int]] = {}
        for part in parts:
            counts[id(part)] = (part, counts.get(id(part), (part, 0))[1] + 1)
        return compose(list(counts.values()), epsilon=epsilon).delta(epsilon)
