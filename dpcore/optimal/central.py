"""Programs under a whole curve by cutting planes at central points [method: A whole profile].

The rows are those of `curve`: events whose probabilities lie outside the curve, one tangent each. What differs is
where they are looked for. A vertex of the rows so far is far from any law where the lattice has many shifts, and the
next rows say little; a point of the central path, as far from all rows as the gap that is left allows, is nearly a law.
An interior point method follows that path, a few steps after every lot of rows: its systems are as large as the number
of classes, whatever the number of rows.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from .curve import Cut
from .dense import LEAST_MASS, PER_TEST, DenseProgram
from .lattice import Array, Ints
from .step import Limits

SETTLED = 0.5
"""Steps aim at this share of what the central path is followed to."""

LOTS, STEPS = 300, 30
"""Most lots of rows, and most steps after one."""

STILL, LITTLE = 40, 0.95
"""They end when so many in succession have left that share of a bracket, or more of it, open."""

TO_BORDER = 0.98
"""Share of the way to the border that a step goes."""

FEASIBLE = 1e-6
"""What a point's rows and its sum may be off by."""

IDLE = 10
"""Rows that have not counted for so many rounds leave."""

TRIES, LEAST_SHARE = 2, 0.01
"""Laws that are looked at on the way from a private law to a central point, and the least share of it."""

SPARED = 0.02
"""Multipliers are left out that prove less than this share of the gap so far."""


@dataclass(frozen=True)
class Pace:
    """How rounds go.

    first, each : rows that a shift may add at the beginning and in a round, spread over the curve.   aim : the central
    path is followed to this share of the gap so far, at least.   every : rows are looked for at all shifts, and laws
    between, in one of so many rounds; in the others at those of which rows count.   unused : rows do not count whose
    multipliers are below this share of the mean.
    """

    first: int
    each: int
    aim: float
    every: int
    unused: float


FEW_COLUMNS, MANY_COLUMNS = Pace(10, 3, 0.5, 6, 1e-2), Pace(30, 8, 0.5, 1, 1e-3)
"""Where looking for rows takes longer than the steps, and where it does not."""


@dataclass(frozen=True)
class _Point:
    """u : (classes,) masses in units of the reference.   s : (rows,) room of the rows.   w, y : what is complementary
    to them, reduced costs and multipliers.   nu : multiplier of the law's sum."""

    u: Array
    s: Array
    w: Array
    y: Array
    nu: float

    @property
    def gap(self) -> float:
        """Σ of all products: what the costs of u and what w, y and nu prove are apart, but for what both miss."""
        return float(self.u @ self.w + self.s @ self.y)

    def next(self, rows: Array, paid: Array, mass: Array, aim: float) -> _Point:
        """One of Mehrotra's steps, to products of which none is meant to fall below its share of `aim`."""
        u, s, w, y = self.u, self.s, self.w, self.y
        room, reduced, rest = 1 - rows @ u - s, self.nu * -mass - paid - rows.T @ y + w, 1 - float(mass @ u)
        system = self._system(rows)
        across = linalg.cho_solve(system, mass, check_finite=False)

        def direction(us: Array, ss: Array) -> _Point:
            free = linalg.cho_solve(system, reduced - rows.T @ ((ss - y * room) / s) + us / u, check_finite=False)
            dnu = float((mass @ free - rest) / (mass @ across))
            du = free - dnu * across
            ds = room - rows @ du
            return _Point(du, ds, (us - w * du) / u, (ss - y * ds) / s, dnu)

        first = direction(-u * w, -s * y)
        ahead = self.moved(first, *self.reach(first)).gap
        each = max(ahead * (ahead / self.gap), aim) / (len(u) + len(s))
        way = direction(each - u * w - first.u * first.w, each - s * y - first.s * first.y)
        return self.moved(way, *self.reach(way))

    def _system(self, rows: Array) -> tuple[Array, bool]:
        """W/U + Aᵀ(Y/S)A, factorised."""
        weighted = rows * np.sqrt(self.y / self.s)[:, None]
        system = weighted.T @ weighted
        diagonal = np.diag_indices(len(self.u))
        system[diagonal] += self.w / self.u
        system[diagonal] *= 1 + 1e-14
        found: tuple[Array, bool] = linalg.cho_factor(system, overwrite_a=True, check_finite=False)
        return found

    def reach(self, way: _Point) -> tuple[float, float]:
        """The longest steps, at most 1, that stay inside."""
        least = [float((d / x).min(initial=0.0)) for d, x in
                 ((way.u, self.u), (way.s, self.s), (way.w, self.w), (way.y, self.y))]  # fmt: skip
        primal, dual = min(least[:2]), min(least[2:])
        return min(1.0, -TO_BORDER / primal if primal else 1.0), min(1.0, -TO_BORDER / dual if dual else 1.0)

    def moved(self, way: _Point, primal: float, dual: float) -> _Point:
        """This point, steps further."""
        return _Point(
            self.u + primal * way.u, self.s + primal * way.s, self.w + dual * way.w, self.y + dual * way.y,
            self.nu + dual * way.nu,
        )  # fmt: skip


@dataclass
class CentralProgram(DenseProgram):
    """The same programs as `CurveProgram`, for lattices with many shifts.

    pace : how its rounds go.
    """

    pace: Pace = MANY_COLUMNS
    _point: _Point | None = field(default=None, init=False)
    _bases: list[Array] = field(default_factory=list, init=False)
    _looks: int = field(default=0, init=False)
    _idle: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), init=False)
    _tried: list[float] = field(default_factory=lambda: [0.5, 0.5], init=False)

    def _add(self, cuts: list[Cut]) -> None:
        super()._add(cuts)
        self._idle = np.append(self._idle, np.zeros(len(cuts), dtype=np.int64))

    def start(self) -> None:
        """Rows that the first law is near to violating."""
        strict = self._strict_law()
        self._bases = [] if strict is None else [strict]
        self._add(self.violated(self.inner, -self.close, self.pace.first))

    def solve(self, limits: Limits, near: Callable[[float, float], bool]) -> str:
        """Rounds of steps and cutting, until `near(lower, upper)` of the program; further ones from where it ended."""
        aim = self.pace.aim
        if self._point is None:
            masses = np.maximum(self._unknowns(), LEAST_MASS)
            room = np.maximum(1 - self._rows @ masses, 1e-3)
            each = aim / (len(masses) + len(room))
            point = _Point(masses, room, each / masses, each / room, -1.0)
        else:
            cuts, aim = self.violated(self._law_of(self._point.u), stretches=self.pace.each), self._point.gap
            point = self._with_cuts(self._point, cuts, aim, aim)
        opened = deque[float](maxlen=STILL)
        for _ in range(LOTS):
            self._point = point
            for _ in range(STEPS):
                if time.perf_counter() >= limits.deadline or limits.stop():
                    if not limits.stop():
                        self._improve(self._law_of(point.u), private=False)
                    return "time"
                try:
                    self._point = point = point.next(self._rows, self._paid, self._mass, SETTLED * aim)
                except linalg.LinAlgError:
                    return "failed"
                proved = self._worth(np.arange(len(point.y)), point.y)
                missed = np.abs(1 - self._rows @ point.u - point.s).max(initial=0.0)
                late = -point.nu - proved - float(point.y.sum())  # what reduced costs below 0 take off
                if point.gap < aim and missed < FEASIBLE and late < SETTLED * aim:
                    break
            cuts = self._nearer(self._law_of(point.u))
            if proved * self.scale > self.lower:
                self.lower = proved * self.scale
                self._keep(point.y, proved)
            upper = self.upper if self.private else math.inf
            if near(self.lower, upper):
                return "optimal"
            left = min(upper / self.lower - 1, 1.0) if self.lower > 0 else 1.0
            if left < 1 and len(opened) == STILL and left > LITTLE * opened[0]:
                return "rounds"
            opened.append(left)
            aim = self.pace.aim * left if self.lower > 0 else 0.5 * aim
            point = self._with_cuts(point, cuts, aim, left)
        self._point = point
        return "rounds"

    def _keep(self, rates: Array, proved: float) -> None:
        """The multipliers, without those that are so small that they hardly count."""
        kept = order = np.argsort(rates)
        room = SPARED * min(self.upper / self.lower - 1, 1.0)
        below = np.cumsum(rates[order])
        for share in (1.0, 0.1, 0.01):
            chosen = order[np.searchsorted(below, share * room) :]
            if self._worth(chosen, rates) >= proved - room:
                kept = chosen
                break
        self._hold(kept, rates)

    def _nearer(self, law: Array) -> list[Cut]:
        """Rows that a law violates; if it is looked at at all shifts, better private ones are kept."""
        self._looks += 1
        self.effort += PER_TEST * self._tests.count
        if self._looks % self.pace.every:
            tests = [self.cuts[i].tests[0] for i in np.flatnonzero(self._idle <= 1).tolist()]
            shifts = self._some(np.unique(self._owner[np.array(tests, dtype=np.int64)]), self._looks)
            cuts = self.violated(law, stretches=self.pace.each, shifts=shifts) if len(shifts) else []
            if cuts:
                return cuts
        cuts = self.violated(law, stretches=self.pace.each)
        self._improve(law, private=not cuts)
        return cuts

    def _improve(self, law: Array, *, private: bool) -> None:
        """Keep the law, if it is private, or laws on the way to it, from the best so far and from the strict one, if
        they are better."""
        bases = [*self._bases, *([self.inner] if self.private else [])]
        for number, base in enumerate([law] if private else bases):
            share = 1.0 if private else self._farthest(number, base, law)
            tried = (1 - share) * base + share * law
            if share > 0 and (not self.private or float(self.costs @ tried) < self.upper):
                self.inner, self.upper, self.private = tried, float(self.costs @ tried), True

    def _farthest(self, number: int, base: Array, law: Array) -> float:
        """How far towards a law a private law was found, of few that are tried, near to where it was before."""
        found, share = 0.0, self._tried[number]
        for _ in range(TRIES):
            if self.outside((1 - share) * base + share * law):
                share /= 2
            else:
                found, share = share, 0.5 * (1 + share)
        self._tried[number] = max(found, min(share, 0.5), LEAST_SHARE)
        return found

    def _with_cuts(self, point: _Point, cuts: list[Cut], aim: float, left: float) -> _Point:
        """Let idle rows go, add others, and begin again between the point and the best law."""
        self._idle = np.where(point.y > self.pace.unused * point.y.sum() / max(len(point.y), 1), 0, self._idle + 1)
        kept = np.flatnonzero(self._idle <= IDLE)
        self._rows, self._idle, self.cuts = self._rows[kept], self._idle[kept], [self.cuts[i] for i in kept.tolist()]
        if not cuts:
            return _Point(point.u, point.s[kept], point.w, point.y[kept], point.nu)
        self._add(cuts)
        u = 0.5 * (point.u + self._unknowns())
        s = np.maximum(1 - self._rows @ u, 1e-2 * left)
        least = 0.1 * aim / len(s)
        y = np.maximum(np.append(point.y[kept], np.zeros(len(cuts))), least / s)
        return _Point(u, s, np.maximum(point.w, least / u), y, point.nu)
