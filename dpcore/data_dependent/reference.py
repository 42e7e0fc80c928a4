"""The reference method: the bounding problems P′(π, β) and D′(π, β) of [SLW, §3.2, C.3] by cutting planes.

Here a law is additive noise, shared by the true values of a cell Φ_k of the range and constant on cells I_i of the
noise axis (uniform π). A cut is one event for one pair (k, m) of cells and one shift: φ = (m − k − 1)β, (m − k)β or
(m − k + 1)β in P′ (all three of Proposition 5), (m − k)β in D′. Bounds are re-derived from the program's vectors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._validate import decimal, whole
from ..audit import amplification_bounds
from ..errors import InputError, SolverError
from ..loss import UNIT
from ..lp import INFINITY, LinearProgram
from ..partition import Partition
from ..reference import infima
from .noise_laws import shifted
from .problem import DataDependentProblem

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

UNUSED = 1e-6
"""Relative part of δ the upper program leaves unused."""


@dataclass(frozen=True)
class ReferenceBracket:
    """What the reference method found: bounds, how many cuts, seconds of the processor, whether it came to its end."""

    lower: float
    upper: float
    cuts: int
    seconds: float
    finished: bool


def solve_reference(
    problem: DataDependentProblem,
    cells_per_sensitivity: int,
    time_limit: float = 60.0,
    stop: Callable[[], bool] = lambda: False,
) -> ReferenceBracket:
    """Bounds from P′(π, β) and D′(π, β), β = sensitivity/cells_per_sensitivity, noise on ±⌈truncated Laplace's
    support⌉.

    Every round adds the worst event of every violated (k, m), the published speed-up.

    Raises
    ------
    InputError : δ = 0, options the method does not know, or a range that is no whole number of cells.
    """
    k = whole(1, 64, cells_per_sensitivity=cells_per_sensitivity)
    _refuse_what_it_cannot(problem, k)
    began, deadline = time.process_time(), time.perf_counter() + time_limit
    planes = [_Planes(problem, k, padded) for padded in (False, True)]
    ended = [
        plane.solve(time.perf_counter() + time_limit / 2 if plane is planes[0] else deadline, stop) for plane in planes
    ]
    upper, lower = planes[0].upper(), planes[1].lower()
    cuts = sum(len(plane.events) for plane in planes)
    return ReferenceBracket(lower, upper, cuts, time.process_time() - began, all(ended))


def _refuse_what_it_cannot(problem: DataDependentProblem, k: int) -> None:
    if problem.privacy.delta == 0:
        raise InputError("method", "reference", "certified when delta = 0")
    special = problem.instance_cap is not None or problem.loss_below is not None or problem.partition
    if special or problem.monotone or problem.ordered:
        raise InputError("method", "reference", "certified with caps, monotone or ordered laws, or a partition")
    cells = problem.width * k / decimal(problem.sensitivity)
    if cells.denominator != 1 or cells > 128:
        raise InputError("cells_per_sensitivity", k, "cells of which the range is a whole number, at most 128")


class _Planes:
    """One of the two programs: columns p_k(i), cuts, last answer. `padded`: D′, with one sensitivity more on either
    side and infima for costs; events stay inside the window."""

    def __init__(self, problem: DataDependentProblem, k: int, padded: bool) -> None:
        self.problem, self.k, self.padded = problem, k, padded
        self.laws = int(problem.width * k / decimal(problem.sensitivity))
        half = math.ceil(problem.privacy.truncation(problem.privacy.delta * (1 - 2 * UNUSED))) * k
        self.first = -half - (k if padded else 0)
        self.cells = 2 * -self.first
        self.window = slice(k, self.cells - k) if padded else slice(0, self.cells)
        self.delta = problem.privacy.delta * (1 if padded else 1 - UNUSED)
        self.amplification = problem.privacy.amplification
        partition = Partition(k, tuple(range(self.first, -self.first + 1)))
        edges = partition.edges(problem.sensitivity)
        loss = problem.loss
        if padded:
            self.costs = infima(loss, partition, problem.sensitivity)
        else:
            self.costs = loss.mean(edges[:-1], edges[1:]) + loss.rounding(edges[:-1], edges[1:])
        self.weights = _weights(problem, self.laws, least=padded)
        self.events: list[tuple[int, int, int, Flags]] = []
        self.program = LinearProgram()
        self.program.add_rows(np.ones(self.laws), np.ones(self.laws), starts=[0] * self.laws, columns=[], values=[])
        n = self.laws * self.cells
        self.program.add_columns(
            np.outer(self.weights, self.costs).ravel(), starts=np.arange(n),
            rows=np.repeat(np.arange(self.laws), self.cells), values=np.ones(n),
        )  # fmt: skip
        self.masses: Array | None = None
        self.multipliers = np.empty(0)

    @property
    def pairs(self) -> list[tuple[int, int, int]]:
        """(k, m, shift in cells) with a constraint."""
        near = (0,) if self.padded else (-1, 0, 1)
        return [
            (a, b, b - a + s)
            for a in range(self.laws)
            for b in range(self.laws)
            for s in near
            if abs(b - a + s) <= self.k and (a != b or s)
        ]

    def solve(self, deadline: float, stop: Callable[[], bool]) -> bool:
        """[SLW, Alg. 1 and 3]; whether no violated cut is left."""
        pairs = self.pairs
        while time.perf_counter() < deadline:
            try:
                status = self.program.run(deadline, stop)
            except SolverError:
                return False
            if status != "optimal":
                return False
            self.masses = np.maximum(self.program.primal(), 0.0).reshape(self.laws, self.cells)
            self.multipliers = np.maximum(-self.program.row_duals()[self.laws :], 0.0)
            worst: dict[tuple[int, int], tuple[float, int, Flags]] = {}
            for a, b, shift in pairs:
                excess = self._excess(a, b, shift)
                value = float(excess[excess > 0].sum())
                if value > self.delta + 1e-8 and value > worst.get((a, b), (0.0,))[0]:
                    worst[a, b] = (value, shift, excess > 0)
            if not worst:
                return True
            for (a, b), (_, shift, event) in worst.items():
                self._add(a, b, shift, event)
        return False

    def _excess(self, a: int, b: int, shift: int) -> Array:
        """p_a(i) − E p_b(i − shift) on the window."""
        assert self.masses is not None
        return self.masses[a, self.window] - self.amplification * shifted(self.masses[b], shift)[self.window]

    def _add(self, a: int, b: int, shift: int, event: Flags) -> None:
        inside = np.flatnonzero(event) + (self.window.start or 0)
        cover = inside - shift
        cover = cover[(cover >= 0) & (cover < self.cells)]
        entries: dict[int, float] = {}
        for column in (a * self.cells + inside).tolist():
            entries[column] = entries.get(column, 0.0) + 1.0
        for column in (b * self.cells + cover).tolist():
            entries[column] = entries.get(column, 0.0) - self.amplification
        self.program.add_rows(-INFINITY, [self.delta], starts=[0], columns=list(entries), values=list(entries.values()))
        self.events.append((a, b, shift, event))

    def upper(self) -> float:
        """The loss of the program's laws, mixed with truncated geometric noise for δ/2 as far as they miss δ
        [method: Thm 5]; that of the noise alone before there is an answer. Rounded up."""
        strict, strict_delta = self._strict()
        price = math.fsum((np.outer(self.weights, self.costs) * strict).ravel().tolist())
        if self.masses is None:
            return price * (1 + 1e-12)
        self.masses = self.masses / self.masses.sum(axis=1, keepdims=True)
        E = amplification_bounds(self.problem.privacy.epsilon)[0]
        missed = 0.0
        for a, b, shift in self.pairs:
            excess = np.maximum(self.masses[a] - E * shifted(self.masses[b], shift), 0.0)
            missed = max(missed, math.fsum(excess.tolist()) + 16 * self.cells * UNIT)
        cost = math.fsum((np.outer(self.weights, self.costs) * self.masses).ravel().tolist())
        share = 0.0
        if missed > self.problem.privacy.delta:
            share = min((missed - self.problem.privacy.delta) / max(missed - strict_delta, 1e-300) * (1 + 1e-9), 1.0)
        return min((1 - share) * cost + share * price, price) * (1 + 1e-12)

    def _strict(self) -> tuple[Array, float]:
        """Truncated geometric noise on all cells, and a bound of its shortfall."""
        middle = np.abs(np.arange(self.cells) + 0.5 + self.first)
        masses = np.exp(-self.problem.privacy.epsilon * middle / self.k)
        masses /= masses.sum()
        shortfall = float(masses[: self.k].sum()) * (1 + 1e-9)
        if shortfall > self.problem.privacy.delta:
            raise InputError("method", "reference", "certified at this privacy: its support holds no private law")
        return masses, shortfall

    def lower(self) -> float:
        """Weak duality [SLW, Prop. 6] with the program's multipliers, judged on every cell; rounded down."""
        if not len(self.multipliers) == len(self.events):
            return max(0.0, float(self.costs.min()))
        E = amplification_bounds(self.problem.privacy.epsilon)[1]
        brackets = np.outer(self.weights, self.costs)
        size = brackets.copy()
        for (a, b, shift, event), rate in zip(self.events, self.multipliers.tolist()):
            if rate <= 0:
                continue
            full = np.zeros(self.cells)
            full[self.window] = event
            cover = shifted(full, -shift)
            brackets[a] += rate * full
            brackets[b] -= E * rate * cover
            size[a] += rate * full
            size[b] += E * rate * cover
        brackets -= (len(self.events) + 32) * UNIT * size
        price = self.problem.privacy.delta * math.fsum(self.multipliers.tolist())
        total = math.fsum(brackets.min(axis=1).tolist()) - price
        return max(total - 64 * UNIT * (self.laws + price), 0.0)


def _weights(problem: DataDependentProblem, laws: int, *, least: bool) -> Array:
    """Weight of every cell, of sum 1, rounded up; `least`: its infimum on the cell times the length, down."""
    density, total, out = problem.density, problem.density.total, []
    for a in range(laws):
        pieces = list(density.pieces(Fraction(a, laws), Fraction(a + 1, laws)))
        if least:
            out.append(min(min(p, q) for _, _, p, q in pieces) / laws / float(total) * (1 - 1e-12))
        else:
            out.append(sum(float((v - u) / total) * 0.5 * (p + q) for u, v, p, q in pieces) * (1 + 1e-12))
    return np.array(out)
