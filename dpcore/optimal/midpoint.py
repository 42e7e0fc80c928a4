"""The midpoint O that [SLW] compare with, by the recipe of their program: what their tables rest on, not a bound.

Their grid has cells [iβ, (i + 1)β), β = D/k, on ±⌈A⌉ sensitivities, A the half-width of truncated Laplace noise. The
upper end is the value of P(π, β) there. The lower end is Σ pᵢ·min c over cell i, of the *same* law p: less than the
upper end for every law, whether or not it is near the optimum, so it bounds nothing. For |x| it is the upper end less
β/2, hence O is β/4 below the best of the grid. Values are those of linear programs, to the solver's tolerance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import InputError, SolverError
from ..loss.cells import means as cell_means
from ..problem import NoiseProblem
from .lattice import Array, Lattice
from .program import LatticeProgram, Seed
from .step import Stop, places_of, reference_density, seed_of

GRIDS = (2, 4, 5, 10, 20, 25, 40, 50, 100)
"""Cells per sensitivity that are tried: β from D/2 to D/100."""

LARGEST = 40_000
"""Cells times shifts of the largest program that is tried; a few seconds."""

STRIDE = 5
"""A grid starts from the answer on one about so many times coarser."""

ROUNDED = 1e-9
"""A half-width so little above a whole number of sensitivities is that number: at δ = ½ it is 1 for every ε."""


@dataclass(frozen=True)
class Midpoint:
    """What the recipe gives. width : β.   half_width : of the support, in sensitivities.   upper : value of P(π, β).
    least : Σ pᵢ·min c, the published "lower bound".   seconds : of the processor."""

    width: float
    half_width: float
    upper: float
    least: float
    seconds: float

    @property
    def middle(self) -> float:
        """The published O."""
        return 0.5 * (self.upper + self.least)

    @property
    def gap(self) -> float:
        """(upper − least)/least, infinite where least is 0."""
        return (self.upper - self.least) / self.least if self.least > 0 else math.inf


def recipe_support(problem: NoiseProblem) -> int:
    """⌈A⌉, in sensitivities, at any δ."""
    return math.ceil(problem.privacy.truncation() - ROUNDED)


def recipe(
    problem: NoiseProblem, k: int, *, limit: float = 60.0, stop: Stop = lambda: False, half_width: float | None = None
) -> Midpoint | None:
    """The recipe with k cells per sensitivity; None if the program ended before it was solved.

    half_width : of the support instead of ⌈A⌉, in sensitivities, in whole cells.   limit : seconds.

    Raises
    ------
    InputError : a loss that is not even, or δ = 0.   SolverError : no law on this support keeps (ε, δ).
    """
    if not problem.loss.even or problem.privacy.delta == 0:
        raise InputError("loss", problem.loss.spec, "an even loss, and delta > 0, for the published recipe")
    began, deadline = time.process_time(), time.perf_counter() + limit
    half, seed = recipe_support(problem) if half_width is None else half_width, None
    for cells in _ladder(k):
        end = round(half * cells)
        if cells < k and end != half * cells:
            continue
        lattice = Lattice(cells, -end, end - 1, -end, end - 1, True, 1)
        costs, least = _costs(problem, lattice)
        found = _solved(problem, lattice, costs, seed, deadline, stop)
        if found is None:
            return None
        masses, seed = found
    masses = masses / math.fsum(masses)
    upper, lower = float(masses @ costs), float(masses @ least)
    return Midpoint(problem.sensitivity / k, half, upper, lower, time.process_time() - began)


@dataclass(frozen=True)
class Match:
    """The grid whose midpoint is nearest to a printed one. exact : equal to it within the rounding of the print."""

    found: Midpoint
    exact: bool


Recipe = Callable[[NoiseProblem, int], Midpoint | None]


def matching(problem: NoiseProblem, printed: float, rounding: float, *, solve: Recipe = recipe) -> Match | None:
    """The grid behind a printed O: the first of `GRIDS` that gives it within its rounding, else the one that comes
    nearest; None if no program was solved.

    Which come first: the upper end hardly depends on the grid and the two ends are about proportional to β apart, so
    each grid tells the β that would give the printed O.
    """
    half = recipe_support(problem)
    grids = [k for k in GRIDS if 2 * half * k * k <= LARGEST]
    k, found = grids[len(grids) // 2], {}
    while True:
        grids.remove(k)
        one = solve(problem, k)
        if one is not None:
            found[k] = one
            if abs(one.middle - printed) <= rounding:
                return Match(one, True)
        if not grids or not found:
            break
        last = found.get(k) or next(iter(found.values()))
        likely = 0.5 * (last.upper - last.least) * round(problem.sensitivity / last.width)
        likely /= max(last.upper - printed, 1e-3 * likely)
        k = min(grids, key=lambda n: abs(math.log(n / likely)))
    nearest = min(found.values(), key=lambda one: abs(one.middle - printed), default=None)
    return Match(nearest, False) if nearest else None


def _ladder(k: int) -> list[int]:
    """Grids from coarse to fine, each part of the next."""
    cells = [k]
    while cells[0] > 2 * STRIDE:
        part = next((d for d in range(2, cells[0]) if cells[0] % d == 0 and d * STRIDE >= cells[0] // 2), None)
        if part is None:
            break
        cells.insert(0, part)
    return cells


def _costs(problem: NoiseProblem, lattice: Lattice) -> tuple[Array, Array]:
    """(means, least values) of the loss on the cells."""
    places = places_of(problem, lattice.k, np.arange(lattice.first, lattice.last + 2))
    edges = places.floats
    values = problem.loss.value(edges)
    return cell_means(problem.loss, places), np.minimum(values[:-1], values[1:])


def _solved(
    problem: NoiseProblem, lattice: Lattice, costs: Array, seed: Seed | None, deadline: float, stop: Stop
) -> tuple[Array, Seed] | None:
    """(masses, seed for a finer grid) of P(π, β)."""
    privacy = problem.privacy
    program = LatticeProgram(
        lattice,
        lattice.shares(costs),
        privacy.amplification,
        privacy.delta,
        max(float(problem.loss.value(problem.sensitivity)), float(costs.min())),
        reference_density(problem, lattice.places),
        monotone=problem.monotone,
    )
    program.start(seed, deadline)
    outcome = program.solve(deadline, stop, enough=lambda _: False)
    if outcome.status == "infeasible":
        raise SolverError("no law on this support keeps the privacy asked for")
    if outcome.status != "optimal":
        return None
    return lattice.unfold(outcome.masses), seed_of(lattice, outcome)
