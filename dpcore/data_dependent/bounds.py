"""One lower or upper bound on one grid: its program, and the referee's word on what came out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._validate import decimal
from . import referee
from .channel import Channel, Grid
from .constraints import MARGIN, REPAIR, next_share, rows_lower, rows_upper
from .costs import Queries, cell_costs_upper, node_costs_lower, queries, row_costs_lower
from .grouped import GroupedProgram
from .intervals import best_intervals
from .pricing import priced, unfolded
from .problem import DataDependentProblem
from .program import ChannelProgram, FurtherRows, Outcome
from .referee import Multipliers
from .resolutions import MAX_CELLS
from .whole import WholeProgram
from .windows import coarser_costs, points_of, windows

Array = NDArray[np.float64]
Stop = Callable[[], bool]

LEAST_DELTA = 1e-7
"""Programs for lower bounds use at least this δ: their multipliers are valid for every smaller one."""

GAIN = 1e-4
"""A lower bound's program ends with a round that raises its value by less than this share."""

FEW_TERMS = 2500
"""Programs with fewer terms are solved by the simplex method, with those that are violated."""

ACCURACY = 1e-5
"""Relative gap at which the interior point method ends."""

RELEASED = 1e-3
"""A point that no value is released as with this probability is left out of finer channels."""

SPARED = 1e-5
"""Points beyond which releases at the border cost less than this share of one release for all are left out."""

KEPT = 6
"""Of the points that a lower program leaves out about so many per sensitivity stay: those between are easily priced."""

MANY = 0.4
"""Where at least this share of all pairs of laws is related, lower programs let pairs share rates,"""

SHARING = 2.5
"""from this ε on: below it few release points do, and programs with these are as fast and prove more."""

DISTANCES, LAWS = 9, 54
"""Blocks of pairs that share one: so many of distances up to the sensitivity, so many of laws."""

GROUPED_ACCURACY = 5e-5
"""Relative gap at which such a program ends: with smaller ones rounding spoils the multipliers."""

MISSED = 1e-4
"""Points that a lower program misses are added until the bound is within this share of its value."""

PRICINGS = 4
"""Most rounds in which they are added."""


@dataclass(frozen=True)
class Seed:
    """What a finished program hands to a finer one: its channel and which pairs of laws mattered."""

    masses: Array
    active: NDArray[np.bool_]


@dataclass(frozen=True)
class Step:
    """What a step found: `bound`; for upper bounds the channel, its audited δ and the worst pair of laws."""

    resolution: int
    bound: float
    seeds: tuple[Seed | None, ...]
    cells: int
    pairs: int
    finished: bool
    channel: Channel | None = None
    delta_upper: float = 0.0
    worst_pair: tuple[int, int] = (0, 0)
    repaired: bool = False


def partition_breaks(problem: DataDependentProblem, resolution: int) -> tuple[int, ...]:
    """The partition's ends in cells, () without a partition.

    Raises
    ------
    ValueError : they are not cell edges at this resolution.
    """
    if not problem.partition:
        return ()
    step = (problem.width if problem.narrow else decimal(problem.sensitivity)) / resolution
    low = decimal(problem.query_range[0])
    ends = [(decimal(b) - low) / step for b in (*problem.partition, problem.query_range[1])]
    if any(e.denominator != 1 for e in ends):
        raise ValueError("the partition's ends must lie on the grid")
    return (0, *(int(e) for e in ends))


def lower_step(
    problem: DataDependentProblem,
    resolution: int,
    cap: float | None,
    seeds: tuple[Seed | None, ...],
    deadline: float,
    stop: Stop,
) -> Step:
    """A lower bound with true values D/resolution apart [Thm 3]: the sum of the bounds of a few programs."""
    bounds: list[float] = []
    new_seeds: list[Seed | None] = []
    pairs, finished, rows = 0, True, 0
    for part, share in windows(problem):
        step = (part.width if part.narrow else decimal(part.sensitivity)) / resolution
        breaks = partition_breaks(part, resolution)
        for term in queries(part, resolution, breaks):
            seed = seeds[len(bounds)] if len(bounds) < len(seeds) else None
            bound, outcome = _term_lower(part, term, step, breaks, cap, seed, deadline, stop)
            bounds.append(share * bound)
            pairs += outcome.pairs if outcome is not None else 0
            finished = finished and outcome is not None and outcome.status == "optimal"
            new_seeds.append(None if outcome is None else Seed(outcome.masses, outcome.active))
            rows = max(rows, term.rows)
    total = math.fsum(bounds) * (1 - 1e-15)
    return Step(resolution, total, tuple(new_seeds), rows, pairs, finished)


def _term_lower(
    problem: DataDependentProblem,
    term: Queries,
    step: Fraction,
    breaks: tuple[int, ...],
    cap: float | None,
    seed: Seed | None,
    deadline: float,
    stop: Stop,
) -> tuple[float, Outcome | None]:
    """The bound of one term of Theorem 3, and where its program ended."""
    nodes = node_costs_lower(problem.loss, term, step)
    costs = _row_costs(term, row_costs_lower(problem, term, step))
    privacy, delta = problem.privacy, max(problem.privacy.delta, LEAST_DELTA)
    if term.rows > MAX_CELLS:  # laws shared by many values: releases are rounded once more, to fewer points
        kept = points_of(breaks or tuple(range(term.rows + 1)), term.rows)
        kept = kept | kept[::-1] if term.folds else kept
        costs, further = coarser_costs(costs, np.flatnonzero(kept)), FurtherRows.none()
    else:
        further = rows_lower(problem, term, nodes, cap)
    given = _Given(costs, term.related, privacy.amplification, delta, None, further, term.folds)

    def prove(multipliers: Multipliers) -> float:
        return referee.multiplier_bound_lower(
            costs, multipliers, epsilon=privacy.epsilon, delta=privacy.delta, related=term.related, mirrored=term.folds
        )

    alone = costs.shape[0] == costs.shape[1] and not len(further.limits)
    if alone and not given.few and problem.privacy.epsilon >= SHARING and term.related.mean() >= MANY:
        outcome = _grouped(given, term.reach, prove, deadline, stop)
    elif seed is not None and alone and not given.few:
        outcome = _column_generation(given, term.reach, seed, prove, deadline, stop)
    else:
        outcome = _outcome(given, cap, seed, None, deadline, stop, enough=GAIN, gain=GAIN)
    floor = max(min(float(loss.value(0.0)) for loss in problem.losses), 0.0) * float(term.weights.sum()) * (1 - 1e-12)
    if outcome is None:
        return floor, None
    return max(floor, prove(outcome.multipliers)), outcome


def _grouped(
    given: _Given, reach: int, prove: Callable[[Multipliers], float], deadline: float, stop: Stop
) -> Outcome | None:
    """A lower program in which pairs of laws next to each other share a rate [grouped]."""
    blocks = max(1, reach // DISTANCES), max(1, len(given.costs) // LAWS)
    program = GroupedProgram(
        given.costs, given.related, given.amplification, given.delta, reach, given.mirrored,
        distances=blocks[0], laws=blocks[1],
    )  # fmt: skip
    return program.solve(deadline, stop, accuracy=GROUPED_ACCURACY)


def _column_generation(
    given: _Given, reach: int, seed: Seed, prove: Callable[[Multipliers], float], deadline: float, stop: Stop
) -> Outcome | None:
    """A lower program with the points that a coarser one released to and a few others; those that are missing are added
    [pricing]. Atoms stand for the points of the laws themselves."""
    costs, free = given.costs, given.costs.diagonal().copy()
    elsewhere = seed.masses - np.diag(seed.masses.diagonal())
    used = _released(elsewhere, len(costs), wide=False)
    half = (len(costs) + 1) // 2 if given.mirrored else len(costs)
    used[: half : max(reach // KEPT, 1)] = True
    best, best_value = None, -math.inf
    for _ in range(PRICINGS):
        used = used | used[::-1] if given.mirrored else used
        outcome = _outcome(given._replace(atom_costs=free), None, None, used, deadline, stop, enough=GAIN)
        if outcome is None or outcome.rates is None:
            return best
        proof, rates = outcome.multipliers, outcome.rates
        if given.mirrored:
            proof, rates = unfolded(proof, rates, len(costs))
        value = float((costs * outcome.masses).sum() + free @ outcome.atoms)
        enough = 0.1 * MISSED * value / len(costs)
        full, missing = priced(costs, proof, rates, used, given.amplification, enough=enough)
        proved = prove(full)
        if proved > best_value:
            best, best_value = replace(outcome, multipliers=full), proved
        if proved >= (1 - MISSED) * value or outcome.status != "optimal" or not (missing < -enough).any():
            return best
        around = np.pad(missing, 1)
        lowest = (missing <= around[:-2]) & (missing <= around[2:]) & (missing < 0.1 * missing.min())
        used = used | lowest
    return best


def _row_costs(terms: Queries, single: Array) -> Array:
    """Σ over the values of each law of weight·c̃(b − a), (G, n), rounded down. single : c̃, (n, n)."""
    n = terms.rows
    values = single * terms.weights[:, None]
    costs = np.add.reduceat(values, np.searchsorted(terms.laws, np.arange(int(terms.laws[-1]) + 1)), axis=0)
    return costs - 4 * (n + 1) * 2.0**-53 * np.abs(costs) if costs.shape[0] < n else costs - 2.0**-51 * np.abs(costs)


def _refined(seed: Seed, shape: tuple[int, int], related: NDArray[np.bool_]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """A coarser channel carried over to a finer grid, the entry at the same place: as events (what stood at a
    point may now stand next to it) and as covering entries (it stands at its own point only); rows
    that mattered, and their neighbours."""
    laws, points = shape
    from_law = np.minimum((np.arange(laws) + 0.5) * seed.masses.shape[0] / laws, seed.masses.shape[0] - 1).astype(int)
    from_point = np.minimum((np.arange(points) + 0.5) * seed.masses.shape[1] / points, seed.masses.shape[1] - 1)
    events = seed.masses[np.ix_(from_law, from_point.astype(int))]
    covers = events
    if laws == points:
        same = np.equal.outer(from_law, from_point.astype(int)) & ~np.eye(laws, dtype=bool)
        covers = np.where(same, 0.0, events)
    wide_events = events.copy()
    if points % seed.masses.shape[1]:  # the cells of a multiple lie inside the coarse ones
        wide_events[:, 1:] = np.maximum(wide_events[:, 1:], events[:, :-1])
        wide_events[:, :-1] = np.maximum(wide_events[:, :-1], events[:, 1:])
    active = seed.active[np.ix_(from_law, from_law)]
    wide = active | np.roll(active, 1, axis=1) | np.roll(active, -1, axis=1)
    return wide_events, covers, wide & related


def upper_step(
    problem: DataDependentProblem,
    resolution: int,
    cap: float | None,
    seeds: tuple[Seed | None, ...],
    deadline: float,
    stop: Stop,
) -> Step | None:
    """A channel on D/resolution cells and its audited loss [Thm 2, 4]; None if the grid has no admissible channel, or
    none was found in time."""
    breaks = partition_breaks(problem, resolution)
    grid = Grid.make(problem.query_range, problem.sensitivity, resolution, breaks)
    if grid.laws > MAX_CELLS:
        return None
    costs = cell_costs_upper(problem, grid, spread=problem.monotone)
    delta = problem.privacy.delta * (1 - MARGIN)
    atoms = delta > 0 and not problem.partition  # a law shared by an interval cannot name the true value
    atom_costs = _atom_costs(problem, grid) if atoms else None
    further, seed = rows_upper(problem, grid, cap, atoms=atoms), seeds[0] if seeds else None
    used = None
    if not len(further.limits) and grid.laws == grid.cells:
        used = _worth_a_release(costs, problem.folds)
        used = used & _released(seed.masses, grid.cells) if seed is not None else used
    if grid.cells > MAX_CELLS:  # of a partition: without one there would be as many laws
        used = points_of(breaks, grid.cells)
        used = used | used[::-1] if problem.folds else used
    given = _Given(costs, grid.related, problem.privacy.amplification, delta, atom_costs, further, problem.folds)
    outcome = _outcome(given, cap, seed, used, deadline, stop, enough=1e-6 if cap is not None else 3e-5)
    if outcome is None:
        return None
    found = _repaired(problem, grid, outcome, cap)
    if found is None:
        return None
    channel, shortfall, pair, repaired = found
    return Step(
        resolution,
        referee.loss_upper(channel, problem, costs),
        (Seed(outcome.masses, outcome.active),),
        grid.cells,
        outcome.pairs,
        outcome.status == "optimal",
        channel,
        shortfall,
        pair,
        repaired,
    )


def interval_step(
    problem: DataDependentProblem, resolution: int, longest: int, deadline: float, stop: Stop
) -> tuple[Step, int] | None:
    """The best channel of δ of the truth and else points that intervals prefer, on D/resolution cells [Thm 8], and how
    many cells its longest interval has. longest : most cells of one."""
    grid = Grid.make(problem.query_range, problem.sensitivity, resolution, ())
    costs = cell_costs_upper(problem, grid)
    delta, amplification = problem.privacy.delta * (1 - MARGIN), problem.privacy.amplification * (1 - MARGIN)
    found = best_intervals(costs, grid.reach, amplification, delta, longest, deadline, stop)
    if found is None:
        return None
    free = FurtherRows.none().multipliers((NOTHING, NOTHING, NOTHING), np.empty(0), np.empty(0), costs.size)
    outcome = Outcome(found.masses, np.full(grid.laws, delta), free, grid.related, 0, "optimal")
    repaired = _repaired(problem, grid, outcome, None)
    if repaired is None:
        return None
    channel, shortfall, pair, mixed = repaired
    seed = Seed(found.masses, grid.related)
    bound = referee.loss_upper(channel, problem, costs)
    return Step(resolution, bound, (seed,), grid.cells, 0, True, channel, shortfall, pair, mixed), found.longest


NOTHING = np.empty(0, dtype=np.int64)


class _Given(NamedTuple):
    """What both kinds of programs are made from [program.ChannelProgram]."""

    costs: Array
    related: NDArray[np.bool_]
    amplification: float
    delta: float
    atom_costs: Array | None
    further: FurtherRows
    mirrored: bool

    @property
    def few(self) -> bool:
        """Whether there are so few terms that writing all of them is faster than looking for those that bind."""
        points: int = self.costs.shape[1]
        return int(self.related.sum()) * points < (2 if self.mirrored else 1) * FEW_TERMS


def _outcome(
    given: _Given,
    cap: float | None,
    seed: Seed | None,
    used: NDArray[np.bool_] | None,
    deadline: float,
    stop: Stop,
    *,
    enough: float,
    gain: float = 0.0,
) -> Outcome | None:
    """Where the program that suits ended; None if none fits, or there was nothing to show in time.

    used : points that may be released, for the interior point method.   enough, gain : for the simplex method.
    """
    if cap is not None or given.few:  # a tight cap leaves no interior
        program = ChannelProgram(*given)
        if seed is not None:
            program.seed(*_refined(seed, given.costs.shape, given.related))
        return program.solve(deadline, stop, enough=enough, gain=gain)
    points = given.costs.shape[1] if used is None else int(used.sum())
    if not WholeProgram.would_fit(given.related, points, given.mirrored):
        return None
    return WholeProgram(*given, used).solve(deadline, stop, accuracy=ACCURACY)


def _worth_a_release(costs: Array, mirrored: bool) -> NDArray[np.bool_]:
    """Points but for those so far out that values beyond, which next to never count, may be released as the last one.
    costs : (G, n) with one law per point."""
    spared = SPARED * costs.sum(axis=0).min()
    used = _around((np.triu(costs, 1).sum(axis=0) > spared) & (np.tril(costs, -1).sum(axis=0) > spared))
    return used | used[::-1] if mirrored else used


def _released(masses: Array, points: int, *, wide: bool = True) -> NDArray[np.bool_]:
    """Points at or next to those that a coarser channel releases; others would be released with next to nothing. Next
    to: a coarse cell, or (not `wide`) a fine one."""
    coarse = masses.shape[1]
    likely = masses.max(axis=0) > RELEASED
    likely = likely | likely[::-1]
    used: NDArray[np.bool_] = (_around(likely) if wide else likely)[
        np.minimum((np.arange(points) + 0.5) * coarse / points, coarse - 1).astype(int)
    ]
    used = used if wide else _around(used)
    return used | used[::-1]


def _around(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The places of a mask and those next to them."""
    found: NDArray[np.bool_] = mask | np.append(mask[1:], False) | np.append(False, mask[:-1])
    return found


def _atom_costs(problem: DataDependentProblem, grid: Grid) -> Array:
    """c(0) times the law's share of the weight."""
    least = max(float(loss.value(0.0)) for loss in problem.losses)
    if least == 0:
        return np.zeros(grid.laws)
    shares = problem.shares([grid.edges[b] for b in grid.breaks])
    return np.array([least * float(share) for share in shares])


def _repaired(
    problem: DataDependentProblem, grid: Grid, outcome: Outcome, cap: float | None
) -> tuple[Channel, float, tuple[int, int], bool] | None:
    """The program's channel, if need be mixed with a law that meets all rows strictly, as the referee finds it
    admissible.

    A release that ignores the true value has no shortfall, so mixing with a share s of it leaves at most 1 − s of the
    channel's. Shapes need a law that has them strictly (`_strict_shape`).
    """
    strict = _strict_shape(grid) if problem.monotone or problem.ordered else np.ones((grid.laws, grid.cells))
    strict = strict * [float((b - a) / grid.step) for a, b in zip(grid.edges, grid.edges[1:])]
    strict /= strict.sum(axis=1, keepdims=True)
    share = 0.0
    while share <= REPAIR:
        mixed = (1 - share) * outcome.masses + share * strict
        channel = Channel.from_masses(grid, mixed, (1 - share) * outcome.atoms, spread=problem.monotone)
        shortfall, pair = referee.shortfall_upper(channel, problem.privacy.epsilon)
        excess = (shortfall - problem.privacy.delta) / max(shortfall, 1e-300)
        if excess <= 0 and _admissible(problem, channel, cap):
            return channel, shortfall, pair, share > 0
        share = next_share(share, excess)
    return None


def _strict_shape(grid: Grid) -> Array:
    """Densities 1 + (1 − distance/K) about each law's own cells: they fall away from them, and larger values release
    more (the ratio of neighbouring rows grows from point to point)."""
    own = 0.5 * (np.array(grid.breaks[:-1]) + np.array(grid.breaks[1:]) - 1)
    shape: Array = 2 - np.abs(np.arange(grid.cells)[None, :] - own[:, None]) / grid.cells
    return shape


def _admissible(problem: DataDependentProblem, channel: Channel, cap: float | None) -> bool:
    """The referee's word on everything but privacy."""
    return (
        (cap is None or referee.instance_loss_upper(channel, problem.loss) <= cap)
        and (not problem.monotone or referee.is_monotone(channel))
        and (not problem.ordered or referee.is_ordered(channel))
    )
