"""What the page lets compute in the background: planes cell by cell, inversions, a frontier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpcore.errors import InputError
from dpcore.inversion import OPTIMAL, Inversion, invert
from dpcore.loss import Loss
from dpcore.mechanisms import MECHANISMS
from dpcore.optimal import pareto_frontier
from dpcore.problem import NoiseProblem, SolverSettings
from dpcore.solution import Solution
from dpcore.store import Store
from dpcore.sweeps import Outcome, grid, sweep
from dpcore.sweeps.chains import chains
from dpcore.sweeps.run import named_cluster
from service import configuration
from work.question import TICK

CELL_SECONDS = 8.0
"""Time limit of one cell; a wider gap is shown where it is not enough."""

Report = Callable[[Any], bool]


@dataclass(frozen=True)
class Axes:
    """The values of ε and δ of a plane, increasing."""

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]


@dataclass(frozen=True)
class Plane:
    """A problem at many (ε, δ)."""

    problem: NoiseProblem
    axes: Axes
    gap: float

    @property
    def cells(self) -> int:
        return len(self.axes.epsilons) * len(self.axes.deltas)


@dataclass(frozen=True)
class Frontier:
    """A problem against a second loss."""

    problem: NoiseProblem
    second: Loss
    gap: float


@dataclass(frozen=True)
class Target:
    """An error that is to be reached, whatever ε that takes."""

    problem: NoiseProblem
    error: float


@dataclass(frozen=True)
class Unreached:
    """Why a mechanism does not reach an error."""

    mechanism: str
    reason: str


def fill(plane: Plane, settings: None, progress: Report) -> tuple[Outcome, ...]:
    """The outcomes of a plane in the order in which they are found, each reported. On the Dask cluster that the
    environment names, if it names one."""
    problems = scattered(grid(plane.problem, plane.axes.epsilons, plane.axes.deltas)[0])
    limits, found = SolverSettings(gap=plane.gap, time_limit=CELL_SECONDS), []
    store = Store(configuration.current().store)
    try:
        for one in sweep(problems, limits, cluster=named_cluster(), store=store, stop=lambda: progress(TICK)):
            found.append(one.outcome)
            if progress(one.outcome):
                break
    finally:
        store.close()
    return tuple(found)


def scattered(problems: Sequence[NoiseProblem]) -> list[NoiseProblem]:
    """The problems chain by chain, in an order that covers the plane ever more finely: the van der Corput sequence, row
    of chains by row. Chains stay what they are, and so do the figures."""
    parts = sorted(chains(problems), key=lambda chain: chain[0].privacy.delta)
    bits = (len(parts) - 1).bit_length()
    order = sorted(range(len(parts)), key=lambda n: int(f"{n:0{bits}b}"[::-1], 2) if bits else n)
    return [problem for n in order for problem in parts[n]]


def epsilons(target: Target, settings: None, progress: Report) -> tuple[Inversion | Unreached, ...]:
    """The ε that each mechanism needs for an error, the optimum last; each reported when it is known."""
    found: list[Inversion | Unreached] = []
    limits = SolverSettings(time_limit=20)
    for key in (*MECHANISMS, OPTIMAL):
        try:
            found.append(invert(target.problem, target.error, key, settings=limits, stop=lambda: progress(TICK)))
        except InputError as error:
            found.append(Unreached(key, error.accepted))
        if progress(found[-1]):
            break
    return tuple(found)


def frontier(asked: Frontier, settings: None, progress: Report) -> tuple[Solution, ...]:
    """The certified frontier of two losses, loosest budget first while it is being found."""
    limits = SolverSettings(gap=asked.gap, time_limit=CELL_SECONDS)
    found = pareto_frontier(
        asked.problem, asked.second, 7, limits, each=lambda one: progress(_light(one)),
        progress=lambda _: progress(TICK),
    )  # fmt: skip
    return tuple(_light(solution) for solution in found)


def _light(solution: Solution) -> Solution:
    """Without its trace, which nobody looks at here."""
    return replace(solution, trace=())
