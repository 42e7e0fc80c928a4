"""What the page lets compute in the background."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from dpcore.errors import SolverError
from dpcore.isotropic import square
from dpcore.optimal import solve
from dpcore.optimal.midpoint import Match, Midpoint, matching, recipe
from dpcore.partition import Partition
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings
from dpcore.reference import solve_reference
from dpcore.solution import Solution
from dpcore.store import Store
from dpcore.vector.components import private_components
from dpcore.vector.datasets import SYNTHETIC, load
from dpcore.vector.tuned import PEOPLE, Tuned, simulated, tuned_descent
from service import configuration
from work.question import TICK

RANK = 10
"""Dimension of the synthetic subspace."""

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


@dataclass(frozen=True)
class Printed:
    """Published midpoints: (problem, O, half of its last digit) each."""

    cells: tuple[tuple[NoiseProblem, float, float], ...]


@dataclass(frozen=True)
class Recomputed:
    """The grid of the paper's recipe that is nearest to a published midpoint; None where no program was solved."""

    problem: NoiseProblem
    match: Match | None


@dataclass(frozen=True)
class Components:
    """Private principal components of the synthetic subspace, rank 10 in 100 dimensions [MK, Table III]."""

    epsilons: tuple[float, ...]
    delta: float
    trials: int


@dataclass(frozen=True)
class Recovery:
    """Mean subspace recovery error of one kind of noise at one ε, and its standard error."""

    epsilon: float
    key: str
    name: str
    error: float
    spread: float


def components(asked: Components, settings: None, progress: Report) -> tuple[Recovery, ...]:
    """Every kind of noise at every ε, each reported."""
    table, found = load(SYNTHETIC), []
    for epsilon in asked.epsilons:
        privacy = Privacy(epsilon, asked.delta)
        for one in private_components(
            table, privacy, rank=RANK, trials=asked.trials, progress=lambda _: progress(TICK)
        ):
            found.append(Recovery(epsilon, one.key, one.name, one.values[1], one.errors[1]))
            if progress(found[-1]):
                return tuple(found)
    return tuple(found)


@dataclass(frozen=True)
class Descent:
    """Tuned coordinate descent on simulated data [MK, Figs. 5, 6]; model: of `dpcore.vector.descent.MODELS`."""

    model: str

    @property
    def privacy(self) -> Privacy:
        """ε = 1, δ one over the square of the number of people, as in the work whose settings the paper takes over."""
        return Privacy(1.0, 1 / PEOPLE**2)


def descent(asked: Descent, settings: None, progress: Report) -> tuple[Tuned, ...]:
    """The best setting of every rule after every number of passes, each reported."""
    report = lambda one: progress(TICK if one is None else one)  # noqa: E731
    return tuple(tuned_descent(simulated(asked.model), asked.model, asked.privacy, progress=report))


@dataclass(frozen=True)
class Below:
    """A lower bound of E‖X‖₁ in the plane, for every law, from a grid of `resolution` points per sensitivity."""

    resolution: int
    value: float


def from_below(privacy: Privacy, settings: None, progress: Report) -> tuple[Below, ...]:
    """Bounds from finer and finer grids, each reported."""
    found: list[Below] = []
    for resolution in square.RESOLUTIONS:
        value = square.taxicab_lower(privacy, resolution, stop=lambda: progress(TICK))
        if not value:  # ended
            break
        found.append(Below(resolution, value))
        if progress(found[-1]):
            break
    return tuple(found)


@dataclass(frozen=True)
class Ladder:
    """A problem on uniform grids: cells per sensitivity, on a support of so many sensitivities to either side."""

    problem: NoiseProblem
    cells: tuple[int, ...]
    half_width: float


def climb(ladder: Ladder, settings: None, progress: Report) -> tuple[Midpoint, ...]:
    """What the paper's recipe gives on each grid, each reported."""
    found: list[Midpoint] = []
    for k in ladder.cells:
        limit, half = 5 * LIMIT, ladder.half_width
        one = recipe(ladder.problem, k, limit=limit, stop=lambda: progress(TICK), half_width=half)
        if one is None:
            break
        found.append(one)
        if progress(one):
            break
    return tuple(found)


def recipes(asked: Printed, settings: None, progress: Report) -> tuple[Recomputed, ...]:
    """The grid behind every printed midpoint, each reported. Programs that were solved before come from the store."""
    store, found = Store(configuration.current().store), []
    stopped = lambda: progress(TICK)  # noqa: E731

    def solved(problem: NoiseProblem, k: int) -> Midpoint | None:
        raw = store.get("recipe", (problem, k))
        if raw is not None:
            return Midpoint(**json.loads(raw))
        try:
            one = recipe(problem, k, limit=5 * LIMIT, stop=stopped)
        except SolverError:
            return None
        if one is not None:
            store.put("recipe", (problem, k), json.dumps(asdict(one)).encode())
        return one

    try:
        for problem, middle, rounding in asked.cells:
            found.append(Recomputed(problem, matching(problem, middle, rounding, solve=solved)))
            if progress(found[-1]):
                break
    finally:
        store.close()
    return tuple(found)
