"""Programs under a whole curve by cutting planes in a trust region [method: A whole profile].

A vertex of the rows so far is far from any law where there are many shifts or cells, and the next rows say little. So a
law moves only a little at once, and all rows that it is near to violating are looked for anew after every step: to
first order they are the whole program. Rows that the law violates already may stay violated as much, but no more.
Steps that turn back make the region smaller. Some tens of them find the law. Its rows, without a region, prove what it
costs, after a few rounds more; where the law itself is wanted, a few ever smaller steps make it private.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..errors import SolverError
from ..lp import INFINITY, LinearProgram
from .curve import WITHIN, Cut
from .dense import AT_ONCE, PER_TEST, DenseProgram
from .lattice import NOT_ZERO, Array
from .step import Limits

ROUNDS = 300
"""Most steps."""

FIRST, LEAST = 0.05, 1e-4
"""How far masses move at first, and at least, in shares of themselves."""

BACK, STRAIGHT, SMALLER, STEADY = 0.0, 0.6, 0.85, 0.95
"""The region shrinks by the third number where the cosine between two steps is below the first, by the fourth where it
is below the second."""

FARTHER, FARTHEST = 1.5, 10.0
"""A mass that grew as far as it might may grow so many times as far with the next step, up to so many times."""

NEGLIGIBLE, NEXT_TO_NOTHING = 0.1, 0.01
"""Masses below this share of the reference move like such a share; the latter where a law is made private."""

NEAR, NEARER, STRETCHES = 0.3, 0.1, 20
"""Rows within this share of their limit are looked for, at all shifts within the second one where a law is made
private, so many at a shift, spread over the curve."""

OVER = 20.0
"""What exceeding limits as much as the law does that a step begins with costs, per share of them, in units of the first
law's cost."""

FEW_ROWS, KEPT_STEPS, KEPT_MARKS = 100, 3, 30
"""From so many rows on those leave that have held no step for so many (more, where not all shifts are looked at in
each), and new ones that did not hold the next one; later on lattices for errors beyond ±t, where many laws cost the
same."""

STILL, LONG = 1e-5, 5
"""The law is found where its cost has changed by no more than this share in so many steps."""

TOLD = 0.98
"""What the law costs that a law exceeding limits is near to is told once multipliers prove this share of its cost."""

PROOFS, PROVED, BEYOND = 40, 1e-5, 0.1
"""Most rounds without a region, until this share of the cost is missing; rows are looked for at laws that are so far on
the way to what they find."""

UNMOVED = 4
"""After so many rounds without a gain of such a share they end: of laws that cost the same there may be many."""

POLISHED, SMALLEST, POLISHINGS = 0.02, 1e-4, 24
"""Steps that make a law private begin so large, halve whenever no limit is exceeded, and end so small, or with so
many."""

SHARES = (0.0, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3)
"""Shares of a more private law that are mixed in."""


@dataclass(frozen=True)
class _Step:
    """law : where a step leads, in units of the reference.   over : by how much limits are exceeded there at most, in
    shares of them.   cost : of the law that it began with, in units of the scale; with what this exceeds limits by,
    about the least.   proved : by the multipliers.
    """

    law: Array
    over: float
    cost: float
    least: float
    proved: float


@dataclass
class TrustProgram(DenseProgram):
    """The same programs as `CurveProgram`, by steps in a trust region.

    proves : for a lower bound, so that no private law is wanted.   kept : steps after which rows leave.
    """

    thorough: ClassVar[bool] = True
    proves: bool = True
    kept: int = KEPT_STEPS
    _lp: LinearProgram = field(init=False)
    _u: Array = field(init=False)
    _unused: list[int] = field(default_factory=list, init=False)

    def start(self) -> None:
        """Laws without rows, and what they exceed limits by; steps begin at the first law."""
        u = self._unknowns()
        self._u = u / float(self._mass @ u)
        self._lp, n = LinearProgram(tolerance=1e-10, perturbed=False), len(u)
        self._lp.add_columns([*self._paid, OVER * float(self._paid @ self._u)], 0.0, INFINITY)
        self._lp.add_rows(1.0, 1.0, starts=[0], columns=np.arange(n), values=self._mass)

    def solve(self, limits: Limits, near: Callable[[float, float], bool]) -> str:
        status, least = self._approach(limits, near)
        if self.proves:
            return status if status in ("time", "stopped") else self._prove(least, limits, near)
        if status == "optimal" and not near(least, math.inf):
            status = self._polish(limits)
        if status != "stopped":
            self._mix(self._law_of(self._u))
        return status

    def _approach(self, limits: Limits, near: Callable[[float, float], bool]) -> tuple[str, float]:
        """(status, about what the best law costs): steps until it costs the same, or is proved to be near."""
        reach, costs, least = FIRST, deque[float](maxlen=LONG), math.inf
        before, farther = np.zeros(len(self._u)), np.ones(len(self._u))
        for number in range(ROUNDS):
            u = self._u
            step = self._step(number, reach, reach * farther, limits)
            if isinstance(step, str):
                return step, math.inf
            costs.append(step.cost)
            least = step.least * self.scale
            told = self.proves and step.proved > TOLD * step.cost and near(self.lower, least)
            if told or (step.over == 0 and len(costs) == LONG and max(costs) - min(costs) <= STILL * step.cost):
                return "optimal", least
            way = (step.law - u) / np.maximum(u, NEGLIGIBLE)
            farther = np.where(way > 0.99 * reach * farther, np.minimum(FARTHER * farther, FARTHEST), 1.0)
            cosine = float(way @ before) / max(float(np.linalg.norm(way) * np.linalg.norm(before)), NOT_ZERO)
            if number:
                reach = max(reach * (SMALLER if cosine < BACK else STEADY if cosine < STRAIGHT else 1.0), LEAST)
            before = way
        return "rounds", least

    def _prove(self, least: float, limits: Limits, near: Callable[[float, float], bool]) -> str:
        """Solutions without a region, and rows between them and the law, until multipliers prove what it costs."""
        law, n = self._law_of(self._u), len(self._u)
        self._lp.set_bounds(np.zeros(n + 1), np.append(np.full(n, INFINITY), 0.0))
        before = deque([0.0], maxlen=UNMOVED + 1)
        for _ in range(PROOFS):
            told = len(before) > UNMOVED and 0 < self.lower <= before[0] * (1 + PROVED)
            if told or self.lower >= least * (1 - PROVED) or near(self.lower, least):
                break
            before.append(self.lower)
            found = self._solved(limits)
            if isinstance(found, str):
                return found
            far = self._law_of(np.maximum(found[0][:-1], 0.0))
            cuts, means = self.violated((1 - BEYOND) * law + BEYOND * far), self._means(far)
            cuts = [cut for cut, over in zip(cuts, self._excesses(cuts, *means)) if over > WITHIN] or self.violated(far)
            self.effort += 2 * PER_TEST * self._tests.count
            if not cuts:
                break
            try:
                self._look(cuts)
            except SolverError:  # out of what it accepts as a number
                return "failed"
        return "optimal"

    def _polish(self, limits: Limits) -> str:
        """Ever smaller steps: what they exceed limits by falls like their square."""
        reach = POLISHED
        for _ in range(POLISHINGS):
            step = self._step(None, reach, reach, limits)
            if isinstance(step, str):
                return step
            if step.over == 0:
                reach /= 2
            if reach < SMALLEST:
                break
        return "optimal"

    def _step(self, number: int | None, down: float, up: Array | float, limits: Limits) -> _Step | str:
        """The next step, or why there is none: masses fall and grow by such shares at most.   number : with each, rows
        are looked for at other shifts; None: at all, to make a law private."""
        u, n, shifts = self._u, len(self._u), np.arange(len(self._by_shift))
        near, least = (NEARER, NEXT_TO_NOTHING) if number is None else (NEAR, NEGLIGIBLE)
        room, shifts = np.maximum(u, least), shifts if number is None else self._some(shifts, number)
        cuts = self.violated(self._law_of(u), -near, STRETCHES, shifts=shifts)
        self.effort += PER_TEST * self._tests.count * len(shifts) / len(self._by_shift)
        try:
            self._look(cuts)
            over = np.maximum(self._rows @ u - 1, 0.0)
            most = float(over.max(initial=0.0))
            self._lp.set_entries(1 + np.arange(len(over)), n, -over / max(most, NOT_ZERO))
            self._lp.set_bounds(np.append(np.maximum(u - down * room, 0.0), 0.0), np.append(u + up * room, most))
        except SolverError:  # out of what it accepts as a number
            return "failed"
        solved = self._solved(limits)
        if isinstance(solved, str):
            return solved
        found, rates, proved = solved
        self._leave(rates, len(cuts))
        cost, law = float(self._paid @ u), np.maximum(found[:-1], 0.0)
        self._u = law / float(self._mass @ law)
        return _Step(law, float(found[-1]), cost, cost + float(rates @ over), proved)

    def _solved(self, limits: Limits) -> tuple[Array, Array, float] | str:
        """(the solution, the multipliers of the rows, what they prove) or why there is none; the best proof is kept."""
        if limits.stop():
            return "stopped"
        try:
            status = self._lp.run(limits.deadline, limits.stop)
        except SolverError:
            return "failed"
        self.effort += float(self._lp.rows * self._lp.columns)
        found, rates = self._lp.primal(), np.maximum(0.0, -self._lp.row_duals()[1:])
        if status != "optimal" or len(found) != self._lp.columns:
            return status if status != "optimal" else "failed"
        proved = self._worth(np.arange(len(rates)), rates)
        if self.proves and proved * self.scale > self.lower:
            self.lower = proved * self.scale
            self._hold(np.flatnonzero(rates), rates)
        return found, rates, proved

    def _look(self, cuts: list[Cut]) -> None:
        """Add rows, none of them where one is not accepted as a number."""
        before = len(self.cuts)
        self._add(cuts)
        rows = self._rows[before:]
        starts, columns = rows.shape[1] * np.arange(len(cuts)), np.tile(np.arange(rows.shape[1]), len(cuts))
        try:
            if cuts:
                self._lp.add_rows(-INFINITY, 1.0, starts=starts, columns=columns, values=rows.ravel())
        except SolverError:
            self._rows, self.cuts = self._rows[:before], self.cuts[:before]
            raise
        self._unused += [0] * len(cuts)

    def _leave(self, rates: Array, new: int) -> None:
        """Let rows go that have not held a step for long, and new ones that did not hold this one."""
        self._unused = [0 if rate > 0 else before + 1 for rate, before in zip(rates.tolist(), self._unused)]
        if len(self._unused) <= FEW_ROWS:
            return
        first, most = len(self._unused) - new, self.kept + len(self._by_shift) // AT_ONCE
        kept = [i for i, steps in enumerate(self._unused) if not steps or (i < first and steps <= most)]
        self._lp.delete_rows(1 + np.setdiff1d(np.arange(len(self._unused)), kept))
        self._rows = self._rows[kept]
        self.cuts, self._unused = [self.cuts[i] for i in kept], [self._unused[i] for i in kept]

    def _mix(self, law: Array) -> None:
        """Keep a private law next to this one, with as little as need be of one that keeps the curve with room."""
        strict = self._strict_law()
        base = strict if strict is not None else self.inner if self.private else None
        for share in SHARES if base is not None else SHARES[:1]:
            tried = law if base is None else (1 - share) * law + share * base
            cost = float(self.costs @ tried)
            self.effort += PER_TEST * self._tests.count
            if self.private and cost >= self.upper:
                return
            if not self.outside(tried):
                self.inner, self.upper, self.private = tried, cost, True
                return
