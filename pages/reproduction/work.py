"""What the page lets compute in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpcore.optimal import solve
from dpcore.partition import Partition
from dpcore.problem import NoiseProblem, SolverSettings
from dpcore.reference import solve_reference
from dpcore.solution import Solution
from work.question import TICK

LIMIT = 12.0
"""Seconds for one problem."""

Report = Callable[[Any], bool]


@dataclass(frozen=True)
class Grids:
    """The reference method on uniform partitions of a problem: (cells per sensitivity, half-width in sensitivities)."""

    problem: NoiseProblem
    partitions: tuple[tuple[int, int], ...]


def solve_each(problems: tuple[NoiseProblem, ...], settings: float, progress: Report) -> tuple[Solution, ...]:
    """Solutions of a few problems to a relative gap of `settings`, each reported."""
    found = []
    for problem in problems:
        solution = solve(problem, SolverSettings(gap=settings, time_limit=LIMIT), lambda _: progress(TICK))
        found.append(replace(solution, trace=()))
        if progress(found[-1]):
            break
    return tuple(found)


def on_grids(grids: Grids, settings: None, progress: Report) -> tuple[Solution, ...]:
    """The reference method's bracket on each partition, each reported."""
    found = []
    for cells, half_width in grids.partitions:
        limits = SolverSettings(gap=1e-4, time_limit=LIMIT, method="reference", cells_per_sensitivity=cells)
        partition = Partition.uniform(cells, half_width)
        solution = solve_reference(grids.problem, limits, lambda _: progress(TICK), partition=partition)
        found.append(replace(solution, trace=()))
        if progress(found[-1]):
            break
    return tuple(found)
