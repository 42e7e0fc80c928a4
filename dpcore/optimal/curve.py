"""Linear programs under a whole curve: μ-GDP without a choice of ε′ [method: A whole profile].

For one shift the pairs (P(A), Q(A)) of all events A, P the law and Q its shifted copy, lie below a concave polygon
whose corners are the events "ratio p/q above a level". The curve allows the pairs with Φ⁻¹(P) − Φ⁻¹(Q) ≤ μ, a convex
set; so corners are all that has to be looked at, and one outside is cut off by the tangent of the curve next to it: one
row, P(A) − e^(μz) Q(A) ≤ δ_μ(μz). Rows enter as solutions violate them. They are looked for between the solution and
the best private law so far, which saves most of the rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..audit import multiplier_bound_lower
from ..errors import SolverError
from ..kernels import faster
from ..lp import INFINITY, LinearProgram
from ..privacy import EPSILON_RANGE
from ..privacy_profile import GaussianProfile
from . import polygons
from .lattice import NOT_ZERO, Array, Ints, Lattice
from .polygons import sums_at
from .step import Limits

PER_SHIFT = 16
"""Rows that a shift may add in a round, spread over the curve."""

FIRST = 300
"""And rows that it begins with, where the first law is within CLOSE of the curve, in shares of it."""

CLOSE = 0.05

WITHIN = 1e-9
"""What a private law may exceed the curve by, in shares of it: what floats do."""

ROUNDS = 400
"""Most rounds of cutting."""

BETWEEN, NEAREST = 0.5, 0.99
"""How far from the best private law towards the solution events are looked for first, and up to which share not at the
solution itself."""

FLOOR = 1e-5
"""Least reference mass, for scaling, relative to the largest, where no tail matters that is smaller."""

IDLE = 3
"""Rows that have not held a solution for so many rounds leave."""

STEADY = 1e-7
"""Where the value rises by no more than this share of it, all rows stay: many solutions cost the same, and the same
rows would come again and again."""

CHORDS = 3000
"""Places of the curve between which corners are compared with chords first."""

KEPT, INACCURATE = 4, 1e-5
"""Solutions whose multipliers are kept, and the share of its own value that one of them may fail to prove."""


@dataclass(frozen=True)
class Cut:
    """Test functions (numbers) of one shift, and the place z of the tangent that cut off their sum."""

    tests: Ints
    z: float


@dataclass
class CurveProgram:
    """minimise Σ costs·r over laws r on the lattice that keep the curve at every shift.

    costs : (n,) the loss of one unit of mass at every index.   inner : (n,) masses of a private law.   scale : about
    how large the optimum is.   last : largest z looked at.   close : it begins with rows where the first law is within
    this share of the curve.   effort : rows times columns of all rounds.   thorough : it is so quick that it goes on to
    the end, however little of the gap so far is its.
    """

    thorough: ClassVar[bool] = False

    mu: float
    lattice: Lattice
    costs: Array
    inner: Array
    scale: float
    last: float
    floor: float = FLOOR
    margin: float = 0.0
    close: float = CLOSE
    cuts: list[Cut] = field(default_factory=list, init=False)
    rates: list[tuple[Cut, float]] = field(default_factory=list, init=False)
    _proofs: list[tuple[float, list[tuple[Cut, float]]]] = field(default_factory=list, init=False)
    lower: float = field(default=0.0, init=False)
    upper: float = field(init=False)
    private: bool = field(init=False)
    effort: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._classes, self._owners = self.lattice.classes, self.lattice.classify(self.lattice.indices)
        self.look(self.lattice)
        self._set_up()

    def look(self, lattice: Lattice) -> None:
        """Look at the shifts of a lattice that has besides this one's perhaps others."""
        self.lattice, self._tests = lattice, lattice.tests
        self._by_shift = self._tests.by_shift()
        self._among = np.arange(len(self._by_shift))[::-1].copy()  # the longest shifts first
        self._owner = np.cumsum(np.diff(self._tests.shift, prepend=self._tests.shift[0]) != 0)
        self.begin(self.inner)

    def _set_up(self) -> None:
        """The program without rows."""
        lattice = self.lattice
        rho = lattice.shares(self.inner)
        self._middle = 0 if lattice.folded else int(np.argmax(rho))
        rho = np.maximum(rho, self.floor * rho.max()) * lattice.multiplicity
        self._rho = self._tails(rho)
        self._lp = LinearProgram(tolerance=1e-10)
        whole = np.zeros(self._classes)
        whole[self._middle] = 1 / self._rho[self._middle]
        costs = sums_at(self._owners, self.costs, self._classes) - self.margin * self.scale / rho
        paid = self._of_tails(costs) * self._rho / self.scale
        self._lp.add_columns(paid, whole, np.where(whole > 0, whole, INFINITY))
        self._fixed = self._add_order()
        self._unused: list[int] = []

    def _levelled(self, masses: Array) -> Array:
        """Masses levelled: the same at every index of a class."""
        return self.lattice.unfold(sums_at(self._owners, masses, self._classes) / self.lattice.multiplicity)

    # Tails ---------------------------------------------------------------------------------------------
    # Unknowns are the masses of all classes from one outwards, for the events that count most are half-lines, of few
    # entries then.

    def _tails(self, masses: Array) -> Array:
        """Mass from every class outwards; in the middle all."""
        out, m = np.empty_like(masses), self._middle
        out[m:], out[:m] = np.cumsum(masses[m:][::-1])[::-1], np.cumsum(masses[:m])
        out[m] = masses.sum()
        return out

    def _of_tails(self, coefficients: Array) -> Array:
        """Coefficients of the tails for those of values per index, along the last axis: each less its inner
        neighbour's."""
        share, m = coefficients / self.lattice.multiplicity, self._middle
        out = share.copy()
        out[..., :m] -= share[..., 1 : m + 1]
        out[..., m + 1 :] -= share[..., m:-1]
        return out

    def _of_masses(self, tails: Array) -> Array:
        """Values per index: every tail less its outer neighbours'."""
        out, m = tails.copy(), self._middle
        out[1 : m + 1] -= tails[:m]
        out[m:-1] -= tails[m + 1 :]
        return out / self.lattice.multiplicity

    def _add_order(self) -> int:
        """Rows: no mass is negative. How many they are."""
        outer = np.delete(np.arange(self._classes), self._middle)
        inner = outer + np.where(outer < self._middle, 1, -1)
        ends = np.unique(inner)
        row, column = np.append(inner, ends), np.append(outer, ends)
        value = np.append(-np.ones(len(outer)), np.ones(len(ends))) * self._rho[column] / self._rho[row]
        order = np.argsort(row, kind="stable")
        starts = np.flatnonzero(np.diff(row[order], prepend=-1))
        self._lp.add_rows(0.0, INFINITY, starts=starts, columns=column[order], values=value[order])
        return len(ends)

    # Rows ----------------------------------------------------------------------------------------------

    def violated(
        self, masses: Array, over: float = WITHIN, stretches: int = PER_SHIFT, *, shifts: Ints | None = None
    ) -> list[Cut]:
        """Corners of the polygons of all shifts, or of those with the numbers `shifts`, that lie outside the curve, by
        more than a share `over` of it (inside, if it is negative): the farthest out of every stretch of it."""
        by_shift, order, row, corner, z, excess = self._corners(self._means(masses, shifts), over, shifts)
        stretch = np.minimum(np.floor(z / self.last * stretches), stretches - 1)
        ranked = np.lexsort((-excess, row, stretch))
        names = (stretch * len(order) + row)[ranked]
        farthest = ranked[np.append(True, names[1:] != names[:-1])[: len(ranked)]]
        found = []
        for j, i, at in zip(row[farthest].tolist(), corner[farthest].tolist(), z[farthest].tolist()):
            tests = np.sort(by_shift[j, order[j, : i + 1]])
            found.append(Cut(tests[tests < self._tests.count], at))
        return found

    def outside(self, masses: Array) -> bool:
        """Whether a law violates the curve: looked for at one shift after the other, above its chords first."""
        across, above, rises = self._chords
        means, terms, begin = self._means(masses), faster("polygons", polygons), 0
        while True:
            at: int = terms.first_outside(*means, self._by_shift, self._among[begin:], across, above, rises, NOT_ZERO)
            if at < 0:
                return False
            begin += at + 1
            if len(self._corners(means, WITHIN, self._among[begin - 1 : begin])[2]):
                # The next law is likely to do so at the same shift.
                self._among[:begin] = np.roll(self._among[:begin], 1)
                return True

    def _means(self, masses: Array, shifts: Ints | None = None) -> tuple[Array, Array]:
        """What of a law is in every test, or in those of some shifts, and what covers it."""
        return self._tests.means(self.lattice.shares(masses), shifts)

    def _corners(
        self, means: tuple[Array, Array], over: float, shifts: Ints | None
    ) -> tuple[Ints, Ints, Ints, Ints, Array, Array]:
        """(the tests of every shift, their order by the ratio of event and cover; of all corners outside: number of the
        shift, place in the order, z of the nearest tangent, excess over it)."""
        from scipy.special import ndtri

        by_shift = self._by_shift if shifts is None else self._by_shift[shifts]
        across, above, rises = self._chords
        if over < 0:  # all corners are looked at
            above, rises = np.zeros_like(above), np.zeros_like(rises)
        order, P, Q, beyond = faster("polygons", polygons).corners(*means, by_shift, across, above, rises, NOT_ZERO)
        row, corner = np.nonzero(beyond)
        P, Q = P[row, corner], Q[row, corner]
        z = -0.5 * (ndtri(np.clip(P, 1e-300, 1 - 1e-15)) + ndtri(np.clip(Q, 1e-300, 1 - 1e-15)))
        nearest = EPSILON_RANGE[0] / self.mu
        z = np.clip(np.where(z < nearest / 2, 0.0, np.maximum(z, nearest * (1 + 1e-12))), 0.0, self.last)
        growth, limit = self._line(z)
        excess = (P - growth * Q - limit) / limit
        outside = excess > over
        return by_shift, order, row[outside], corner[outside], z[outside], excess[outside]

    @cached_property
    def _chords(self) -> tuple[Array, Array, Array]:
        """Pairs (Q, P) that the tangents looked at just allow, and by how much P rises from one to the next: between,
        the curve being concave, more than the chords is allowed."""
        from scipy.special import ndtr

        scores = np.linspace(-self.last, 0.0, CHORDS) - self.mu / 2
        Q = np.append(0.0, ndtr(scores))
        P = np.append(self._line(self.last)[1], ndtr(scores + self.mu)) * (1 - 1e-12)
        return Q, P, np.append(np.diff(P) / np.maximum(np.diff(Q), NOT_ZERO), 1.0)

    def _add(self, cuts: list[Cut]) -> None:
        tests, owners, growth, limit = self._together(cuts)
        events, covers = self._tests.rows(tests, owners, len(cuts), self._classes)
        rows = self._of_tails(events - growth[:, None] * covers) * self._rho / limit[:, None]
        used = rows != 0
        starts = np.cumsum(used.sum(axis=1)) - used.sum(axis=1)
        self._lp.add_rows(-INFINITY, 1.0, starts=starts, columns=np.nonzero(used)[1], values=rows[used])
        self.cuts += cuts
        self._unused += [0] * len(cuts)

    def _together(self, cuts: list[Cut]) -> tuple[Ints, Ints, Array, Array]:
        """(the tests of all cuts, the number of each one's cut, e^(μz) of every cut, the curve there)."""
        owners = np.repeat(np.arange(len(cuts)), [len(cut.tests) for cut in cuts])
        return np.concatenate([cut.tests for cut in cuts]), owners, *self._line(np.array([cut.z for cut in cuts]))

    def _forget(self, rates: Array) -> None:
        """Let rows go that have been without a rate for long."""
        self._unused = [0 if rate > 0 else unused + 1 for rate, unused in zip(rates.tolist(), self._unused)]
        leaving = [i for i, unused in enumerate(self._unused) if unused > IDLE]
        if 2 * len(leaving) > len(self.cuts):
            self._lp.delete_rows([self._fixed + i for i in leaving])
            kept = sorted(set(range(len(self.cuts))) - set(leaving))
            self.cuts, self._unused = [self.cuts[i] for i in kept], [self._unused[i] for i in kept]

    # Solving -------------------------------------------------------------------------------------------

    def begin(self, inner: Array) -> bool:
        """The law to begin with; whether it is private."""
        self.inner = self._levelled(inner / inner.sum())
        self.upper, self.private = float(self.costs @ self.inner), not self.outside(self.inner)
        return self.private

    def start(self) -> None:
        """Rows that the first law, of about the optimum's shape, is near to violating."""
        cuts = self.violated(self.inner, -self.close, FIRST)
        if cuts:
            with suppress(SolverError):  # out of what it accepts as a number
                self._add(cuts)

    def solve(self, limits: Limits, near: Callable[[float, float], bool]) -> str:
        """Rounds of solving and cutting, until `near(lower, upper)` of the program, or nothing is violated. `inner` is
        the best private law found, `rates` the multipliers of the cuts in the last solution."""
        for _ in range(ROUNDS):
            self.effort += float(self._lp.rows * self._classes)
            try:
                status = self._lp.run(limits.deadline, limits.stop)
            except SolverError:
                return "failed"
            values = self._lp.primal()
            if status != "optimal" or len(values) != self._lp.columns:
                return status
            outer = self.lattice.unfold(np.maximum(self._of_masses(values * self._rho), 0.0))
            outer /= outer.sum()
            before, self.lower = self.lower, float(self.costs @ outer)
            rates = np.maximum(0.0, -self._lp.row_duals()[self._fixed :]) * self.scale
            self.rates = [(cut, rate) for cut, rate in zip(self.cuts, rates.tolist()) if rate > 0]
            self._proofs = [*self._proofs[1 - KEPT :], (self.lower, self.rates)]
            if near(self.lower, self.upper if self.private else math.inf):
                return status
            cuts = self._search(outer)
            if not cuts:
                return status
            if self.lower > before * (1 + STEADY):
                self._forget(rates)
            try:
                self._add(cuts)
            except SolverError:  # out of what it accepts as a number
                return "failed"
        return "rounds"

    def _search(self, outer: Array) -> list[Cut]:
        """Rows that the solution violates, looked for ever nearer to it; private laws on the way are kept."""
        means, share = self._tests.means(self.lattice.shares(outer)), BETWEEN
        busy = np.unique(self._owner[np.array([cut.tests[0] for cut in self.cuts], dtype=np.int64)])
        while True:
            tried = outer if share > NEAREST else (1 - share) * self.inner + share * outer
            cuts = self.violated(tried, shifts=busy) or self.violated(tried)
            if not cuts and (not self.private or float(self.costs @ tried) < self.upper):
                self.inner, self.upper, self.private = tried, float(self.costs @ tried), True
            if share > NEAREST:
                return cuts
            cuts = [cut for cut, over in zip(cuts, self._excesses(cuts, *means)) if over > WITHIN]
            if cuts:
                return cuts
            share = 1 - (1 - share) / 4

    def _excesses(self, cuts: list[Cut], events: Array, covers: Array) -> Array:
        """By how much a law, whose means of all tests are given, exceeds every cut, in shares of its limit."""
        if not cuts:
            return np.empty(0)
        tests, owners, growth, limit = self._together(cuts)
        here, there = (sums_at(owners, x[tests], len(cuts)) for x in (events, covers))
        excesses: Array = (here - growth * there) / limit - 1
        return excesses

    def _line(self, z: Array | float) -> tuple[Array, Array]:
        """(e^(μz), the curve there)."""
        from scipy.special import ndtr

        growth = np.exp(self.mu * z)
        return growth, ndtr(self.mu / 2 - z) - growth * ndtr(-self.mu / 2 - z)

    # What is proved ------------------------------------------------------------------------------------

    def proved(self, profile: GaussianProfile) -> float:
        """The lower bound that the multipliers of the last solution prove; where those are inaccurate and prove less
        than it is worth, of one of the last few."""
        best = 0.0
        for lower, rates in reversed(self._proofs):
            best = max(best, self._proved(profile, rates))
            if best >= lower * (1 - INACCURATE):
                break
        return best

    @property
    def _everywhere(self) -> Array:
        """What the loss is at least, on all nodes of the lattice."""
        return self.lattice.everywhere(self.costs)

    def _proved(self, profile: GaussianProfile, rates: list[tuple[Cut, float]]) -> float:
        """What multipliers prove, from the referee [Thm 3]: every cut is a row of one pair on the curve, whose δ is
        rounded up."""
        terms = []
        for cut, rate in rates:
            epsilon, delta = profile.tangent(cut.z)
            weights = np.full(len(cut.tests), rate / self._line(cut.z)[1])
            spread = self.lattice.spread(self._tests.shift[cut.tests], self._tests.place[cut.tests], weights)
            terms.append((epsilon, delta, *spread))
        if not terms:
            return 0.0
        (epsilon, delta, shifts, events, weights), *further = terms
        return multiplier_bound_lower(
            self._everywhere, self.lattice.first, epsilon=epsilon, delta=delta, shifts=shifts,
            events=events, weights=weights, mirrored=self.lattice.folded, further=further,
        )  # fmt: skip
