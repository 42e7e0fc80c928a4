"""What the page lets compute: the losses of clamped mechanisms, the reference method, published settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpcore.data_dependent import DataDependentProblem, Solution, data_dependent_problem
from dpcore.data_dependent.channel import Channel
from dpcore.data_dependent.clamped import ClampedNoise
from dpcore.data_dependent.noise_laws import NoiseLaws
from dpcore.data_dependent.reference import ReferenceBracket, solve_reference
from dpcore.mechanisms import baselines
from dpcore.problem import NoiseProblem, SolverSettings
from work.question import TICK

VALUES = 161
"""True values at which losses are drawn."""

REGIMES = {"(1, 0.2)": (1.0, 0.2), "(0.2, 0.05)": (0.2, 0.05), "(5, 0.25)": (5.0, 0.25)}
"""The three settings of the published experiments."""


@dataclass(frozen=True)
class Curve:
    """What one mechanism loses at every true value. key : as in `dpcore.mechanisms`, or "optimal", "independent"."""

    key: str
    name: str
    values: np.ndarray
    average: float


def values(problem: DataDependentProblem) -> np.ndarray:
    """True values at which losses are drawn."""
    return np.linspace(*problem.query_range, VALUES)


def weights(problem: DataDependentProblem) -> np.ndarray:
    """The weight at `values`, mean 1."""
    return problem.density.at(np.linspace(0, 1, VALUES))


@lru_cache(maxsize=64)
def clamped_curves(problem: DataDependentProblem) -> tuple[Curve, ...]:
    """The textbook mechanisms that are valid at this privacy, clamped to the range; averages by the trapezoid rule."""
    x, w = values(problem), weights(problem)
    found = []
    for entry in baselines(NoiseProblem(problem.privacy, problem.sensitivity, problem.loss)):
        if entry.noise is not None and entry.valid:
            losses = lost(ClampedNoise(entry.noise, problem.query_range), problem, x)
            found.append(Curve(entry.key, entry.name, losses, average(losses, w)))
    return tuple(found)


def lost(mechanism: Channel | ClampedNoise | NoiseLaws, problem: DataDependentProblem, x: np.ndarray) -> np.ndarray:
    """What a mechanism loses at true values; below 0 perhaps by another loss."""
    losses = mechanism.expected_loss(problem.loss, x)
    if problem.loss_below is None:
        return losses
    return np.where(x < 0, mechanism.expected_loss(problem.loss_below, x), losses)


def average(losses: np.ndarray, weight: np.ndarray) -> float:
    """Weighted mean over evenly spread values."""
    return float(np.trapezoid(losses * weight) / np.trapezoid(weight))


def solution_curves(solution: Solution) -> list[Curve]:
    """The certified optimum and the optimal noise that ignores the true value, clamped."""
    problem = solution.problem
    x = values(problem)
    own = lost(solution.mechanism, problem, x)
    curves = [Curve("optimal", "certified optimum", own, solution.certificate.upper)]
    if problem.shared == "noise" and solution.independent is not None:
        upper = solution.independent.certificate.upper
        curves.append(Curve("independent", "one law for all values", np.full(len(x), upper), upper))
    elif solution.independent is not None:
        clamped = ClampedNoise(solution.independent.noise, problem.query_range)
        losses = lost(clamped, problem, x)
        curves.append(Curve("independent", "optimum ignoring the value", losses, solution.clamped_upper))
    return curves


def published(
    problem: DataDependentProblem, settings: SolverSettings, progress: Callable[[Any], bool]
) -> ReferenceBracket:
    """The reference method on a grid of 8 cells per sensitivity."""
    return solve_reference(problem, 8, settings.time_limit, lambda: bool(progress(TICK)))


def regime(epsilon: float, delta: float) -> DataDependentProblem:
    """A published setting: |x|, sensitivity 2, range 4."""
    return data_dependent_problem(epsilon, delta, 2, query_range=(0, 4))


def nine_intervals(epsilon: float, delta: float) -> DataDependentProblem:
    """The setting of the published picture of laws: sensitivity 10, range 18, nine intervals."""
    return data_dependent_problem(epsilon, delta, 10, query_range=(0, 18), partition=range(2, 18, 2))
