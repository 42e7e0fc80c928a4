"""What the page lets compute in the background: the known mechanisms, and the bracket over the dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dpcore.errors import SolverError
from dpcore.isotropic.baselines import KnownLaw, mechanisms
from dpcore.isotropic.closed_forms import PowerLaw
from dpcore.isotropic.problem import IsotropicProblem, RadialLoss
from dpcore.isotropic.search import solve
from dpcore.noise.gaussian import Gaussian
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings
from dpcore.store import Store
from service import configuration
from work.question import TICK

DIMENSIONS = (10, 2, 100, 20, 5, 50, 3, 1000, 30, 200, 1, 300, 500)
"""Dimensions of the map, in the order in which they are worked out."""

EACH = SolverSettings(gap=0.03, time_limit=6.0)
"""Gap and time of every dimension of the map."""

Report = Callable[[Any], bool]


def gaussian_loss(problem: IsotropicProblem) -> float:
    """What the analytic Gaussian mechanism pays: a closed form, in milliseconds."""
    sigma = Gaussian.calibrate(problem.privacy, 1.0).sigma
    law = PowerLaw(problem.dimension, math.sqrt(2) * sigma, 2.0)
    return law.loss(problem.loss.in_units(problem.sensitivity)) * problem.factor


@lru_cache(maxsize=64)
def known_laws(problem: IsotropicProblem, certify: bool = True) -> tuple[KnownLaw, ...]:
    """The known mechanisms, their losses in the query's unit, their parameters in units of the sensitivity.

    certify : prove their δ, which may take seconds; else most of them are estimates.
    """
    loss = problem.loss.in_units(problem.sensitivity)
    found = mechanisms(problem.dimension, problem.privacy, loss, certify=certify)
    return tuple(replace(one, loss=one.loss * problem.factor) for one in found)


@dataclass(frozen=True)
class Known:
    """What is known of the known mechanisms at a moment."""

    laws: tuple[KnownLaw, ...]


def known(problem: IsotropicProblem, settings: None, *, progress: Report) -> Known:
    """Estimates, which are reported, and then proofs."""
    first = Known(known_laws(problem, certify=False))
    return first if progress(first) else Known(known_laws(problem))


@dataclass(frozen=True)
class Over:
    """A problem without its dimension."""

    privacy: Privacy
    loss: RadialLoss
    sensitivity: float

    def at(self, dimension: int) -> IsotropicProblem:
        return IsotropicProblem(dimension, self.privacy, self.loss, self.sensitivity)


@dataclass(frozen=True)
class Point:
    """One dimension of the map.   lower : certified, 0 for none.   best : the certified law's loss, infinite without.
    known : of the known mechanisms."""

    dimension: int
    lower: float
    best: float
    known: tuple[KnownLaw, ...]


def over_dimensions(asked: Over, settings: None, *, progress: Report) -> tuple[Point, ...]:
    """The bracket and the known mechanisms in many dimensions, each reported when it is known and kept on disk."""
    found: list[Point] = []
    store = Store(configuration.current().store)
    try:
        for dimension in DIMENSIONS:
            found.append(_point(asked.at(dimension), store, progress))
            if progress(found[-1]):
                break
    finally:
        store.close()
    return tuple(found)


def _point(problem: IsotropicProblem, store: Store, progress: Report) -> Point:
    laws = known_laws(problem, certify=False)
    solution = store.solution(problem, EACH)
    if solution is None:
        stopped = False

        def look(_: object) -> bool:
            nonlocal stopped
            stopped = stopped or bool(progress(TICK))
            return stopped

        try:
            solution = solve(problem, EACH, look)
        except SolverError:
            return Point(problem.dimension, 0.0, math.inf, laws)
        store.keep(solution, effort=solution.seconds if stopped else None)
    return Point(problem.dimension, solution.lower, solution.upper, laws)
