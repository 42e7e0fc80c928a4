"""The relaxations of P(π, β) and D(π, β) that the reference method solves [SLW, Alg. 1]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .errors import SolverError
from .kernels.worst_event import shortfalls, worst_events
from .lp import INFINITY, LinearProgram
from .partition import Partition
from .problem import NoiseProblem

Array = NDArray[np.float64]

FLOOR = 1e-5
"""Cuts are divided by δ or, if larger, by this: entries stay within what the solver can represent."""

MARGIN = 1e-6
"""Relative part of δ the upper problem leaves unused, so that its law, off by the solver's tolerance, still meets δ."""


@dataclass
class CuttingPlanes:
    """A relaxation of P(π, β) or D(π, β): a linear program, its cuts, its last answer [SLW, Alg. 1].

    partition : the columns; wider than `window`, where the events live, for D(π, β).
    costs : of a unit of mass in each column.   scale : size of the optimal value.
    unused : relative part of δ left unused.   inherited : a relaxation on another partition whose cuts are taken over.
    masses, multipliers, order : the last answer; `order` is what `reference.cut_bound_lower` takes.
    failure : why the program was given up.

    Columns are u_j = p_j/ρ_j with ρ a Laplace law with a floor (unknowns are then of size 1); a cut is divided by
    `row_size`.
    """

    problem: NoiseProblem
    partition: Partition
    window: tuple[int, int]
    costs: Array
    scale: float
    add_all_above: float | None
    drop_slack: float | None
    drop_every: int
    unused: float = 0.0
    inherited: CuttingPlanes | None = None
    done: bool = False
    failure: str = ""
    rounds: int = 0
    found: int = 0
    masses: Array | None = None
    multipliers: Array | None = None
    order: tuple[Array, Array] | None = None
    _dropped_at: float = field(default=-math.inf)

    def __post_init__(self) -> None:
        privacy, middle = self.problem.privacy, 0.5 * (self.partition.points[1:] + self.partition.points[:-1])
        self.amplification = privacy.amplification
        self.target, self.row_size = privacy.delta * (1 - self.unused), max(privacy.delta, FLOOR)
        rho = np.maximum(np.exp(-privacy.epsilon * np.abs(middle) / self.partition.resolution), 0.1)
        rho *= self.partition.widths
        self.rho = rho / rho.sum()
        self.events = np.zeros((0, self.window[1] - self.window[0]), dtype=bool)
        self.shifts = np.zeros(0, dtype=np.int64)
        self.program = LinearProgram()
        self.program.add_columns(self.costs * self.rho / self.scale)
        n = self.partition.cells
        self.program.add_rows(1.0, 1.0, starts=[0], columns=np.arange(n), values=self.rho)
        self._inner, self._outer = self._ordered_pairs()
        if len(self._inner):
            self._add_dense(self._order_rows(), 0.0, INFINITY)
        self.fixed = self.program.rows
        if self.inherited is not None:
            self.rounds, self.found = self.inherited.rounds, self.inherited.found
            self._add_cuts(self.inherited.events, self.inherited.shifts)
            self.inherited = None

    def _ordered_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Neighbouring cells (inner, outer) whose densities a monotone law orders. The padding's last cells
        stand for all that lies beyond and are left out."""
        if not self.problem.monotone:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        left, right = self.partition.points[:-1], self.partition.points[1:]
        j = np.arange(self.partition.cells - 1)
        if self.window != (self.partition.breaks[0], self.partition.breaks[-1]):
            j = j[1:-1]
        outward, inward = j[left[j] >= 0], j[right[j + 1] <= 0]
        return np.concatenate([outward, inward + 1]), np.concatenate([outward + 1, inward])

    def _order_rows(self) -> Array:
        """Density of the inner cell minus that of the outer, in columns u, each row's largest entry near 1."""
        rows = np.zeros((len(self._inner), self.partition.cells))
        heights, index = self.rho / self.partition.widths, np.arange(len(self._inner))
        rows[index, self._inner], rows[index, self._outer] = heights[self._inner], -heights[self._outer]
        scaled: Array = rows / heights.max()
        return scaled

    def _add_dense(self, rows: Array, lower: float, upper: float) -> None:
        at, columns = np.nonzero(rows)
        starts = np.searchsorted(at, np.arange(len(rows)))
        self.program.add_rows(lower, upper, starts=starts, columns=columns, values=rows[at, columns])

    def solve(self, deadline: float, stop: Callable[[], bool]) -> bool:
        """Solve the relaxation; whether it was solved to the end. Masses and multipliers are set in any case."""
        try:
            status = self.program.run(deadline, stop)
        except SolverError as error:
            status = str(error)
        if status not in ("optimal", "time", "stopped"):
            self.done, self.failure = True, status
            return False
        primal, duals = self.program.primal(), self.program.row_duals()
        if len(primal) != self.partition.cells or len(duals) != self.program.rows:
            return False
        masses = np.maximum(primal, 0.0) * self.rho
        self.masses = masses / masses.sum() if masses.sum() > 0 else None
        self.multipliers = np.maximum(-duals[self.fixed :], 0.0) * self.scale / self.row_size
        if len(self._inner):
            self.order = self._order_bracket(np.maximum(duals[1 : self.fixed], 0.0))
        return status == "optimal"

    def _order_bracket(self, duals: Array) -> tuple[Array, Array]:
        """What the monotone rows add to and take from the bracket on unit cells: μ/width outside and inside."""
        weight, widths = duals * self.scale / (self.rho / self.partition.widths).max(), self.partition.widths
        gain, pay = (np.bincount(cells, weight, len(widths)) for cells in (self._outer, self._inner))
        return np.repeat(gain / widths, widths), np.repeat(pay / widths, widths)

    def separate(self) -> None:
        """Add violated cuts [SLW, Alg. 2], drop slack ones; `done` when nothing is violated."""
        assert self.masses is not None
        self.rounds += 1
        where = (self.partition.points, self.masses, self.amplification)
        excess = shortfalls(*where, self.partition.shifts, self.window) - self.target
        tolerance = max(0.5 * MARGIN * self.problem.privacy.delta, 4e-9 * self.row_size)
        if self.add_all_above is None:
            chosen = np.array([int(np.argmax(excess))])
        else:
            chosen = np.flatnonzero(excess > max(self.add_all_above, tolerance))
            if not chosen.size:
                chosen = np.array([int(np.argmax(excess))])
        chosen = chosen[excess[chosen] > tolerance]
        if not chosen.size:
            self.done = True
            return
        self._drop(self.masses)
        shifts = self.partition.shifts[chosen]
        self._add_cuts(worst_events(*where, shifts, self.window), shifts)
        self.found += len(shifts)

    def _drop(self, masses: Array) -> None:
        """Remove slack cuts, at most once per value of the relaxation, so that the method still ends."""
        value = float(self.costs @ masses)
        if self.drop_slack is None or self.rounds % self.drop_every or value <= self._dropped_at:
            return
        self._dropped_at = value
        slack = self.target - self._cut_rows(self.events, self.shifts) @ masses
        gone = slack > self.drop_slack
        self.program.delete_rows(self.fixed + np.flatnonzero(gone))
        self.events, self.shifts = self.events[~gone], self.shifts[~gone]

    def _add_cuts(self, events: NDArray[np.bool_], shifts: NDArray[np.int64]) -> None:
        if len(shifts):
            rows = self._cut_rows(events, shifts) * self.rho / self.row_size
            self._add_dense(rows, -INFINITY, self.target / self.row_size)
            self.events, self.shifts = np.concatenate([self.events, events]), np.concatenate([self.shifts, shifts])

    def _cut_rows(self, events: NDArray[np.bool_], shifts: NDArray[np.int64]) -> Array:
        """|A ∩ Π_j|/|Π_j| − e^ε |(A − φ) ∩ Π_j|/|Π_j|, (cuts, cells)."""
        first, last = self.partition.breaks[0], self.partition.breaks[-1]
        lo, hi = self.window
        units = np.zeros((len(shifts), last - first))
        units[:, lo - first : hi - first] = events
        for row, event, shift in zip(units, events, shifts.tolist()):
            a = max(lo - shift, first)
            b = max(min(hi - shift, last), a)
            row[a - first : b - first] -= self.amplification * event[a + shift - lo : b + shift - lo]
        return np.add.reduceat(units, self.partition.points[:-1] - first, axis=1) / self.partition.widths
