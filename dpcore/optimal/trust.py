"""Lower bounds under a whole curve by cutting planes in a trust region [method: A whole profile].

A vertex of the rows so far is far from any law where the lattice has many shifts, and the next rows say little. So a
law moves only a little at once, and all rows that it is near to violating are looked for anew after every step: to
first order they are the whole program. Steps that turn back make the region smaller. Some tens of them find the law;
its rows, and where their multipliers do not prove it yet a few central points of them (`central`), tell what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..errors import SolverError
from ..lp import INFINITY, LinearProgram
from .central import PER_TEST, CentralProgram
from .curve import Cut
from .lattice import NOT_ZERO, Array
from .step import Limits

ROUNDS = 300
"""Most steps."""

FIRST, LARGEST, LEAST = 0.1, 0.3, 1e-4
"""How far masses move at first, at most and at least, in shares of themselves."""

BACK, STRAIGHT, SMALLER, LARGER, STEADY = 0.0, 0.6, 0.85, 1.1, 0.97
"""The region shrinks by a factor where the cosine between two steps is below the first number, grows where it is above
the second, and shrinks a little else."""

FARTHER, FARTHEST = 1.5, 10.0
"""A mass that grew as far as it might may grow so many times as far with the next step, up to so many times."""

NEGLIGIBLE = 1e-5
"""Masses below this share of the reference move like such a share."""

NEAR, STRETCHES = 0.3, 20
"""Rows within this share of their limit are looked for, so many at a shift, spread over the curve."""

AT_ONCE = 48
"""At so many shifts in a round, about, and at that of the sensitivity: neighbours have nearly the same rows."""

OVER = 20.0
"""What exceeding all limits by 1 costs, in units of the first law's cost."""

KEPT = 5
"""Rows that have held no step for so many leave; new ones that do not hold the next one at once."""

STILL, LONG = 1e-6, 12
"""The law is found where its cost has changed by no more than this share in so many rounds."""

TOLD = 0.98
"""What the law costs that a law exceeding limits is near to is told once multipliers prove this share of its cost."""


@dataclass
class TrustProgram(CentralProgram):
    """The same programs as `CentralProgram`, which begins where steps in a trust region have come to."""

    thorough: ClassVar[bool] = True
    _unused: list[int] = field(default_factory=list, init=False)
    _found: Array = field(init=False)

    @property
    def _least(self) -> float:
        return self.floor  # the simplex method tells no smaller ones apart

    def start(self) -> None:
        self._begin_strict()

    def solve(self, limits: Limits, near: Callable[[float, float], bool]) -> str:
        status, cost = self._approach(limits, near)
        if status != "optimal" or near(self.lower, cost):
            return status
        self._improve(self._law_of(self._found), private=False)
        return super().solve(limits, near)

    def _approach(self, limits: Limits, near: Callable[[float, float], bool]) -> tuple[str, float]:
        """(status, about what the best law costs): steps until it costs the same, or is proved to be near."""
        u, n = self._unknowns(), len(self._rho)
        u /= float(self._mass @ u)
        program, reach, before, farther = (
            LinearProgram(tolerance=1e-10, perturbed=False),
            FIRST,
            np.zeros(n),
            np.ones(n),
        )
        program.add_columns([*self._paid, OVER * float(self._paid @ u)], 0.0, INFINITY)
        program.add_rows(1.0, 1.0, starts=[0], columns=np.arange(n), values=self._mass)
        costs: list[float] = []
        for number in range(ROUNDS):
            cuts = self._around(self._law_of(u), number)
            try:
                self._look(program, cuts)
                room = reach * np.maximum(u, NEGLIGIBLE)
                program.set_bounds(np.append(np.maximum(u - room, 0.0), 0.0), np.append(u + farther * room, INFINITY))
                status = program.run(limits.deadline, limits.stop)
            except SolverError:  # out of what it accepts as a number
                return "failed", math.inf
            self.effort += float(program.rows * n)
            found, rates = program.primal(), np.maximum(0.0, -program.row_duals()[1:])
            if status != "optimal" or len(found) != n + 1:
                return status, math.inf
            costs.append(float(self._paid @ u))
            cost = costs[-1] + float(rates @ np.maximum(self._rows @ u - 1, 0.0))
            proved = self._worth(np.arange(len(rates)), rates)
            if proved * self.scale > self.lower:
                self.lower = proved * self.scale
                self._hold(np.flatnonzero(rates), rates)
            x = np.maximum(found[:-1], 0.0)
            way, u = (x - u) / np.maximum(u, NEGLIGIBLE), x / float(self._mass @ x)
            self._leave(program, rates, len(cuts))
            told = proved > TOLD * costs[-1] and near(self.lower, cost * self.scale)
            if told or (found[-1] == 0 and len(costs) >= LONG and np.ptp(costs[-LONG:]) <= STILL * costs[-1]):
                break
            farther = np.where(way > 0.99 * reach * farther, np.minimum(FARTHER * farther, FARTHEST), 1.0)
            cosine = float(way @ before) / max(float(np.linalg.norm(way) * np.linalg.norm(before)), NOT_ZERO)
            if number:
                reach *= SMALLER if cosine < BACK else LARGER if cosine > STRAIGHT else STEADY
            reach, before = min(max(reach, LEAST), LARGEST), way
        self._found = u
        return "optimal", cost * self.scale

    def _around(self, law: Array, number: int) -> list[Cut]:
        """Rows that a law violates or is near to violating, at some shifts, each time others."""
        every = -(-len(self._by_shift) // AT_ONCE)
        self.effort += PER_TEST * self._tests.count / every
        whole = np.flatnonzero(np.abs(self._tests.shift[self._tests.begins]) == self.lattice.k)
        shifts = np.union1d(np.arange(number % every, len(self._by_shift), every), whole)
        return self.violated(law, -NEAR, STRETCHES, shifts=shifts)

    def _look(self, program: LinearProgram, cuts: list[Cut]) -> None:
        """Add rows, all of them with what a law exceeds all limits by."""
        self._add(cuts)
        self._unused += [0] * len(cuts)
        if cuts:
            rows = np.concatenate([self._rows[-len(cuts) :], -np.ones((len(cuts), 1))], axis=1)
            starts, columns = rows.shape[1] * np.arange(len(cuts)), np.tile(np.arange(rows.shape[1]), len(cuts))
            program.add_rows(-INFINITY, 1.0, starts=starts, columns=columns, values=rows.ravel())

    def _leave(self, program: LinearProgram, rates: Array, new: int) -> None:
        """Let rows go that have not held a step for long, and new ones that did not hold this one."""
        unused = [0 if rate > 0 else before + 1 for rate, before in zip(rates.tolist(), self._unused)]
        first, most = len(unused) - new, KEPT + len(self._by_shift) // AT_ONCE
        kept = [i for i, rounds in enumerate(unused) if not rounds or (i < first and rounds <= most)]
        program.delete_rows(1 + np.setdiff1d(np.arange(len(unused)), kept))
        self._rows, self._idle = self._rows[kept], np.zeros(len(kept), dtype=np.int64)
        self.cuts, self._unused = [self.cuts[i] for i in kept], [unused[i] for i in kept]
