"""The reference method: the bounding problems P(π, β) and D(π, β) of [SLW] by cutting planes.

One linear program per bound, its rows found by [SLW, Alg. 1 and 2]. It is here to be compared with; the
project's own method is `dpcore.optimal`. Options of the paper's supplement [SLW-S, "Optimization parameters"]:
all cuts above a threshold at once, slack cuts dropped every so many rounds.

No optimal value of a linear program is reported. The upper bound is the audited loss of an audited law, the
lower bound comes from the multipliers of the cuts alone (`cut_bound_lower`); both hold at any interruption.

Rationale
---------
For non-uniform partitions the optimal value of D(π, β) is, contrary to [SLW, Cor. 1], no lower bound: it asks for the
bracket of `cut_bound_lower` on average over a cell, weak duality [SLW, Prop. 2] asks for it at every point. A loss
that is constant on the cells of π makes P(π, β) and D(π, β) agree away from the ends, although a finer partition
does better; tests/test_reference.py has such a loss, where the value is more than twice what a private law reaches.
Multipliers found on π are therefore judged on unit cells, and the cuts then carried over to unit columns. On
uniform partitions nothing is lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from . import audit
from ._validate import whole
from .audit_shape import admitted
from .cutting_planes import MARGIN, CuttingPlanes
from .errors import InputError
from .kernels.worst_event import shortfalls
from .loss import UNIT, Loss
from .noise.piecewise import PiecewiseNoise
from .partition import MAX_CELLS, Partition
from .privacy import Privacy
from .problem import NoiseProblem, SolverSettings
from .solution import Certificate, Progress, Solution

Array = NDArray[np.float64]
Report = Callable[[Progress], bool | None]

TURN = 1.0
"""Seconds one bound may run before the other has its turn."""


def solve_reference(
    problem: NoiseProblem,
    settings: SolverSettings,
    progress: Report | None = None,
    *,
    partition: Partition | None = None,
    add_all_above: float | None = 0.0,
    drop_slack: float | None = 0.08,
    drop_every: int = 200,
) -> Solution:
    """The best law on a partition and a proved lower bound, by the method of [SLW].

    Parameters
    ----------
    progress : called with a `Progress` at least every tenth of a second; returns True to stop.
    partition : π. Default: cells of one unit on ±⌈support of truncated Laplace noise⌉ [SLW-S, "Setting Λ and β"]
        with `settings.cells_per_sensitivity` cells per sensitivity.
    add_all_above : every round adds the worst cut of every shift whose shortfall exceeds δ by more than this;
        None adds the single worst cut of all [SLW, Alg. 1].
    drop_slack, drop_every : cuts with more slack than this are dropped every so many rounds, as published by default;
        None keeps all. (0.01 and 10 are about three times faster.)

    Raises
    ------
    InputError : δ = 0, a bounded support, or a partition the problem's constraints do not fit.
    """
    clock = time.perf_counter()
    partition = _suitable(problem, partition, settings)
    units = infima(problem.paid_loss, partition.refined().padded(), problem.sensitivity)
    bracket = _Bracket(problem, partition, settings, progress, clock, floor=float(units.min()))
    window = (partition.breaks[0], partition.breaks[-1])
    relaxed = partial(
        CuttingPlanes,
        scale=max(bracket.upper, 1e-300),
        add_all_above=add_all_above,
        drop_slack=drop_slack,
        drop_every=whole(1, 10**6, drop_every=drop_every),
    )
    means = problem.paid_loss.mean(*_ends(partition, problem.sensitivity))
    upper = relaxed(problem, partition, window, means, unused=MARGIN)
    lower = relaxed(problem, partition.padded(), window, _cell_infima(units, partition.padded()))
    while not (upper.done and lower.done) and not bracket.finished():
        for planes in (upper, lower):
            if planes.done or bracket.finished():
                continue
            solved = planes.solve(min(bracket.deadline, time.perf_counter() + TURN), bracket.finished)
            bracket.cuts = upper.found + lower.found
            bracket.improve_upper(planes) if planes is upper else bracket.improve_lower(planes, units)
            if solved:
                planes.separate()
        if lower.done and not lower.failure and lower.partition.cells < len(units):
            finer = partition.refined().padded()
            lower = relaxed(problem, finer, window, units, inherited=lower)
    return bracket.solution([planes.failure for planes in (upper, lower) if planes.failure])


def _suitable(problem: NoiseProblem, partition: Partition | None, settings: SolverSettings) -> Partition:
    """The partition to use; InputError where the method does not apply."""
    if problem.privacy.delta == 0:
        raise InputError("method", "reference", "certified when delta = 0: the reference method needs delta > 0")
    if not problem.whole_line:
        raise InputError("method", "reference", "certified when the support is bounded")
    if partition is None:
        k = settings.cells_per_sensitivity
        # At δ itself a whole-numbered support would hold a single law, and no law at all after rounding.
        half_width = math.ceil(problem.privacy.truncation(problem.privacy.delta * (1 - 2 * MARGIN)))
        if 2 * (half_width + 1) * k > MAX_CELLS:
            accepted = f"certified at this privacy: the grid would have more than {MAX_CELLS} cells"
            raise InputError("method", "reference", accepted)
        partition = Partition.uniform(k, half_width)
    if problem.symmetric and not partition.is_symmetric:
        raise InputError("partition", partition.breaks, "a mirror image of itself for symmetric noise")
    if problem.monotone and 0 not in partition.breaks:
        raise InputError("partition", partition.breaks, "a break at 0 for monotone noise")
    return partition


def _ends(partition: Partition, sensitivity: float) -> tuple[Array, Array]:
    edges = partition.edges(sensitivity)
    return edges[:-1], edges[1:]


def infima(loss: Loss, partition: Partition, sensitivity: float) -> Array:
    """Lower bounds of c on every cell, (cells,), the first and last cell extended to infinity; O(cells · breaks).

    Pieces are monotone, so c is least at an end or at a break inside; cells are widened by the rounding of
    their edges and `Loss.rounding` is taken off.
    """
    left, right = _ends(partition, sensitivity)
    left, right = left - 4 * UNIT * np.abs(left), right + 4 * UNIT * np.abs(right)
    least = np.minimum(loss.value(left), loss.value(right))
    for x in loss.breaks.tolist():
        here = (left <= x) & (x <= right)
        least[here] = np.minimum(least[here], float(loss.value(x)))
    least[0], least[-1] = loss.infimum(-math.inf, float(right[0])), loss.infimum(float(left[-1]), math.inf)
    return np.maximum(least - loss.rounding(left, right), 0.0)


def _cell_infima(units: Array, padded: Partition) -> Array:
    return np.minimum.reduceat(units, padded.points[:-1] - padded.breaks[0])


def cut_bound_lower(
    costs: Array,
    events: NDArray[np.bool_],
    shifts: NDArray[np.int64],
    multipliers: Array,
    *,
    privacy: Privacy,
    resolution: int,
    order: tuple[Array, Array] | None = None,
    even: bool = False,
) -> float:
    """A lower bound of the expected loss of every (ε, δ)-DP law, from any multipliers ψ (negative ones count as 0).

    Weak duality [SLW, Prop. 2], judged on unit cells i of the window and one sensitivity of padding:
    θ − δ Σψ_m with θ = min_i (c_i + Σ_m ψ_m (1[i ∈ A_m] − e^ε 1[i + φ_m ∈ A_m])). The law is arbitrary: the first
    and last cost hold beyond the padding as well, where the bracket is nothing but the cost.

    Parameters
    ----------
    costs : (n + 2k,) lower bounds of c on unit cells, padding included, non-negative.
    events : bool (m, n).   shifts : (m,) in units, |φ| ≤ k = resolution.   multipliers : (m,).
    order : (gain, pay), two non-negative arrays (n + 2k,); the bracket grows by gain − pay. It is the contribution of
        rows Σ (gain − pay)·γ ≤ 0 that every admissible law meets (monotone laws), each entry within 8u.
    even : costs and order are even and the window is symmetric; reflected multipliers are averaged in.

    Rounding: with M positive multipliers and Ψ their sum, a bracket is a sum of at most 2M + 2 products of size at
    most c, order, Ψ and EΨ in total, summed in any order, each with up to ten roundings; hence an error below
    (4M + 32)u (c + gain + pay + (1 + E)Ψ), M < 2^40. It is taken off, e^ε is rounded up, and the last
    difference loses 4u of either operand.
    """
    used = multipliers > 0
    psi, events, shifts = multipliers[used], events[used], shifts[used]
    amplification, window = audit.amplification_bounds(privacy.epsilon)[1], events.shape[1]
    gain, pay = (0.0, 0.0) if order is None else order
    value = costs + gain - pay
    for shift in np.unique(shifts).tolist():
        here = shifts == shift
        mass = psi[here] @ events[here].astype(float)
        value[resolution : resolution + window] += mass
        value[resolution - shift : resolution - shift + window] -= amplification * mass
    total = math.fsum(psi) * (1 + 4 * UNIT)
    size = costs + gain + pay + (1 + amplification) * total
    value = value - (4 * len(psi) + 32) * UNIT * size
    if even:
        value = 0.5 * (value + value[::-1]) - 4 * UNIT * np.maximum(size, size[::-1])
    theta, price = float(value.min()), privacy.delta * total
    return max(theta - price - 4 * UNIT * (abs(theta) + price), float(costs.min()))


class _Bracket:
    """The best certified law and the best certified lower bound so far; `floor` bounds the loss of every law."""

    def __init__(
        self,
        problem: NoiseProblem,
        partition: Partition,
        settings: SolverSettings,
        progress: Report | None,
        clock: float,
        *,
        floor: float,
    ) -> None:
        self.problem, self.partition, self.settings, self.progress = problem, partition, settings, progress
        self.clock, self.deadline = clock, clock + settings.time_limit
        self.cuts, self.stopped = 0, False
        self.trace: list[Progress] = []
        self.even = problem.folds and partition.is_symmetric
        self.lower = floor
        self.noise, self.delta, self.shift = _private_law(problem, partition.resolution)
        self.upper = audit.loss_upper(self.noise, problem.loss)
        self.repaired = False
        self._record()

    @cached_property
    def _strict_law(self) -> tuple[PiecewiseNoise, float, float]:
        """Truncated geometric noise for δ/2: (law, audited δ, loss)."""
        noise, delta, _ = _private_law(self.problem, self.partition.resolution, share=0.5)
        return noise, delta, audit.loss_upper(noise, self.problem.loss)

    @property
    def _progress(self) -> Progress:
        return Progress(time.perf_counter() - self.clock, self.lower, self.upper, self.partition.cells, self.cuts)

    def _record(self) -> None:
        self.trace.append(self._progress)

    def finished(self) -> bool:
        """Report; whether to stop: gap reached, time over or the caller said so."""
        if self.stopped:
            return True
        record = self._progress
        asked = self.progress is not None and self.progress(replace(record, answer=lambda: self.solution([])))
        self.stopped = bool(asked)
        return self.stopped or record.gap <= self.settings.gap or time.perf_counter() >= self.deadline

    def improve_lower(self, planes: CuttingPlanes, units: Array) -> None:
        """Judge the multipliers of D(π, β)."""
        if planes.multipliers is None or len(planes.multipliers) != len(planes.shifts):
            return
        bound = cut_bound_lower(
            units,
            planes.events,
            planes.shifts,
            planes.multipliers,
            privacy=self.problem.privacy,
            resolution=self.partition.resolution,
            order=planes.order,
            even=self.even,
        )
        if bound > self.lower:
            self.lower = bound
            self._record()

    def improve_upper(self, planes: CuttingPlanes) -> None:
        """Make a private law of the masses of P(π, β): audited as it is, or mixed with a strictly private law."""
        if planes.masses is None:
            return
        masses = 0.5 * (planes.masses + planes.masses[::-1]) if self.even else planes.masses
        if self.problem.monotone:
            masses = _monotone(self.partition, masses)
        delta = self.problem.privacy.delta
        where = (self.partition.points, masses, planes.amplification, self.partition.shifts)
        excess = float(shortfalls(*where, (self.partition.breaks[0], self.partition.breaks[-1])).max())
        cost = float(planes.costs @ masses)
        if excess <= delta and cost < self.upper:
            self._accept(_law(self.problem, self.partition, masses), repaired=False)
        elif excess > delta:
            self._mix(masses, excess, cost)

    def _mix(self, masses: Array, excess: float, cost: float) -> None:
        """Mix with truncated geometric noise for δ/2: h is convex [Thms 3 and 5]."""
        noise, strict, strict_cost = self._strict_law
        delta = self.problem.privacy.delta
        share = (excess - delta) / (excess - strict) * (1 + 1e-9) + 1e-12
        if not share < 1 or (1 - share) * cost + share * strict_cost >= self.upper * (1 - 1e-9):
            return
        lo = min(self.partition.breaks[0], int(noise.breaks[0]))
        hi = max(self.partition.breaks[-1], int(noise.breaks[-1]))
        mixed = np.zeros(hi - lo)
        spread = np.repeat(masses / self.partition.widths, self.partition.widths)
        mixed[self.partition.breaks[0] - lo : self.partition.breaks[-1] - lo] = (1 - share) * spread
        mixed[noise.breaks[0] - lo : noise.breaks[-1] - lo] += share * noise.masses
        units = Partition(self.partition.resolution, tuple(range(lo, hi + 1)))
        self._accept(_law(self.problem, units, mixed), repaired=True)

    def _accept(self, noise: PiecewiseNoise, *, repaired: bool) -> None:
        """Keep the law if the audit finds it private and better."""
        upper = audit.loss_upper(noise, self.problem.loss)
        if upper >= self.upper:
            return
        if found := admitted(noise, self.problem):
            (self.delta, self.shift), self.noise, self.upper, self.repaired = found, noise, upper, repaired
            self._record()

    def solution(self, failures: list[str]) -> Solution:
        trace = (*self.trace, self._progress)
        given_up = f"; a linear program was given up: {', '.join(failures)}" if failures else ""
        return Solution(
            problem=self.problem,
            settings=replace(self.settings, method="reference"),
            noise=self.noise,
            certificate=Certificate(self.lower, self.upper, self.delta, self.shift, self.repaired),
            trace=trace,
            seconds=trace[-1].seconds,
            cells=len(self.noise.weights),
            shifts=len(audit.candidate_shifts(self.noise, self.noise.resolution)),
            source="cutting planes on a fixed partition (Selvi, Liu, Wiesemann)" + given_up,
        )


def _monotone(partition: Partition, masses: Array) -> Array:
    """The masses with every density raised to the largest one farther out, scaled to 1: the program's answer is
    monotone up to its tolerance only."""
    density, zero = masses / partition.widths, partition.breaks.index(0)
    density[:zero] = np.maximum.accumulate(density[:zero])
    density[zero:] = np.maximum.accumulate(density[zero:][::-1])[::-1]
    raised = density * partition.widths
    shares: Array = raised / raised.sum()
    return shares


def _law(problem: NoiseProblem, partition: Partition, masses: Array) -> PiecewiseNoise:
    return PiecewiseNoise.from_masses(
        sensitivity=problem.sensitivity,
        resolution=partition.resolution,
        breaks=partition.points,
        masses=masses,
        monotone=problem.monotone,
    )


def _private_law(problem: NoiseProblem, resolution: int, *, share: float = 1.0) -> tuple[PiecewiseNoise, float, float]:
    """Truncated geometric noise on unit cells for (ε, share·δ): (law, audited δ, worst shift).

    Masses e^(−ε i/k), i = 0 … n − 1, on either side of 0; the shortfall at shift k is the mass of k cells at an end,
    (e^ε − 1)/(2(e^(εn/k) − 1)) for n ≥ k, hence the support of truncated Laplace noise [G20]. Symmetric and monotone.
    """
    privacy = problem.privacy
    delta = share * privacy.delta
    n = max(resolution, math.ceil(resolution * privacy.truncation(delta)))
    while True:
        right = np.exp(-privacy.epsilon * np.arange(n) / resolution)
        partition = Partition(resolution, tuple(range(-n, n + 1)))
        noise = _law(problem, partition, np.concatenate([right[::-1], right]))
        found, shift = audit.shortfall_upper(noise, privacy.epsilon)
        if found <= delta:
            return noise, found, shift
        n += 1
