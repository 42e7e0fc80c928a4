"""Losses made of constants: the few places between which laws and multipliers are constant [method: orbits].

The places that matter are the jumps of the loss and the ends of the support near them, the *marks*, all that lie whole
sensitivities from these, and what follows from their distances: a mark moved by the distance of two others. Depth 0 is
the marks, every further depth moves all places by the distances of marks once more. Both bounds are linear programs on
these places (`orbit_lower`, `orbit_upper`); what they propose is audited.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from .._validate import decimal
from ..problem import NoiseProblem
from ..rows.interior import Interior, InteriorProgram, WideLimits
from ..rows.program import KEEP, PrivacyProgram, Rows, Uncovered
from .all_pairs import accuracy, loading
from .lattice import Array, Ints
from .polygons import sums_at
from .step import Limits

FINEST = 1 << 40
"""Most units per sensitivity in which a mark is told."""

NEAR = 12
"""Ends of the support within so many sensitivities of a jump are marks."""

MOST_MARKS = 2
"""Different marks up to whole sensitivities: the places that follow from more are too many."""

MOST_FOLLOWING, MANY_FROM = 30, 1.0
"""But not from this ε on, if so few places per sensitivity follow from them at depth 2."""

MOST_PLACES = 400
"""No depth adds to more places per sensitivity than these."""

WIDEST = 24
"""Jumps farther apart, in sensitivities, are left to other searches."""

TOLERANCE = 1e-9
"""Tolerance of the linear programs."""

OVER = 1e-7
"""Shares of δ that do not count as a violation."""

MANY_TERMS = 700
"""From so many terms on all are taken at once, for laws that need not be monotone; from more where kernels are to be
loaded first."""

ROUNDS = 100
"""Most linear programs for one bound."""


def steps_only(problem: NoiseProblem) -> bool:
    """The problem is one for these programs: constant pieces, one pair (ε, δ) with both positive, no budget, and no end
    of the support is felt that is no mark."""
    loss, D = problem.paid_loss, problem.sensitivity
    plain = problem.budget is None and len(problem.privacies) == 1 and not problem.whole_curve
    positive = min(problem.privacy.epsilon, problem.privacy.delta) > 0
    if not plain or not positive or loss.continuous or any(p.coefficient != 0 for p in loss.pieces):
        return False
    lo, hi = problem.support
    inside = _inside(problem)
    if not inside or inside[-1] - inside[0] > WIDEST * D:
        return False
    reach = (problem.privacy.truncation() + 1) * D
    return not any(NEAR * D < room < reach for room in (inside[0] - lo, hi - inside[-1]))


def _inside(problem: NoiseProblem) -> list[float]:
    """Jumps inside the support."""
    lo, hi = problem.support
    return [x for x in problem.paid_loss.jumps if lo < x < hi]


@dataclass(frozen=True)
class Orbits:
    """Places in units of sensitivity/resolution from 0.

    marks : jumps inside the support and ends near them, and 0 for monotone laws without a mirror image; increasing.
    whole : they are all that matters, and few.
    """

    resolution: int
    marks: tuple[int, ...]
    whole: bool = True

    @staticmethod
    def of(problem: NoiseProblem) -> Orbits:
        """With all ends of the support near a jump. If more follows from them than from two marks, with those at which
        a law is likely to end, first those next to the minimum, as long as no more follows; at large ε, where a law
        needs few places, as long as not much does."""
        (lo, hi), D, jumps = problem.support, problem.sensitivity, _inside(problem)
        ends = [end for end, jump in ((lo, jumps[:1]), (hi, jumps[-1:])) if jump and abs(end - jump[0]) <= NEAR * D]
        whole = Orbits._with(problem, jumps, ends)
        if whole.few or not Orbits._with(problem, jumps, []).few:
            return whole
        best, reach = problem.loss.minimiser(lo, hi)[0], problem.privacy.truncation()
        behind = {end: any(min(end, best) < x <= max(end, best) for x in jumps) for end in ends}
        found = whole
        kept: list[float] = []
        for end in sorted(ends, key=lambda end: behind[end]):
            near = min(abs(end - jump) for jump in jumps) <= (1 + (1 if behind[end] else 2) * reach) * D
            more = replace(Orbits._with(problem, jumps, [*kept, end]), whole=False)
            alike = len(more.residues(2)) <= MOST_FOLLOWING and problem.privacy.epsilon >= MANY_FROM
            if near and (more.few or alike):
                found, kept = more, [*kept, end]
        return found

    @property
    def few(self) -> bool:
        """Few places follow from the marks."""
        return len(self.residues(0)) <= MOST_MARKS

    @staticmethod
    def _with(problem: NoiseProblem, jumps: list[float], ends: list[float]) -> Orbits:
        """Marks that take too fine units are rounded: ends into the support, jumps towards 0."""
        up = [x for x in ends if x == problem.support[0]] + [x for x in jumps if x < 0]
        down = [x for x in ends if x == problem.support[1]] + [x for x in jumps if x >= 0]
        exact = {x: decimal(x) / decimal(problem.sensitivity) for x in up + down}
        resolution = min(math.lcm(*(x.denominator for x in exact.values())), FINEST) if exact else 1
        marks = {math.ceil(exact[x] * resolution) for x in up} | {math.floor(exact[x] * resolution) for x in down}
        return Orbits(resolution, tuple(sorted(marks | {0} if problem.monotone and not problem.folds else marks)))

    @property
    def telling(self) -> list[int]:
        """Depths at which places tell the distance of two marks from ever nearer fractions above it, up to whole
        sensitivities: with denominator m that takes half as many moves. Empty for more marks or one."""
        if len(self.marks) != 2:
            return []
        q, found, best = self.resolution, [], math.inf
        distance = (self.marks[1] - self.marks[0]) % q
        for m in range(1, MOST_PLACES + 1):
            beyond = -distance * m % q / m
            if beyond < best:
                best = beyond
                found.append((m + 1) // 2)
            if not beyond:
                break
        return found

    @cached_property
    def _distances(self) -> list[int]:
        """Distances of two marks, up to whole sensitivities."""
        return sorted({(a - b) % self.resolution for a in self.marks for b in self.marks} - {0})

    def residues(self, depth: int) -> Ints:
        """Places of a depth within one sensitivity."""
        return self._moved({mark % self.resolution for mark in self.marks}, depth)

    def shifts(self, depth: int) -> Ints:
        """Positive ones that move marks to places, the sensitivity last."""
        found = self._moved({0}, depth)
        return np.append(found[found > 0], self.resolution)

    def _moved(self, found: set[int], depth: int) -> Ints:
        for _ in range(depth):
            more = found | {(x + d) % self.resolution for x in found for d in self._distances}
            if len(more) > MOST_PLACES:
                break
            found = more
        return np.array(sorted(found), dtype=np.int64)

    def places(self, depth: int, first: int, last: int) -> Ints:
        """All places of a depth from first to last."""
        residues, q = self.residues(depth), self.resolution
        periods = np.arange(first // q, last // q + 1)
        found = (periods[:, None] * q + residues[None, :]).ravel()
        inside: Ints = found[(found >= first) & (found <= last)]
        return inside


@dataclass(frozen=True)
class Terms:
    """Terms max(0, v·x) of limits, as rows.

    limit : (terms,) of which limit.   starts, columns, values : the entries of v, term after term.   sizes : (terms,)
    about how large the terms are.
    """

    limit: Ints
    starts: Ints
    columns: Ints
    values: Array
    sizes: Array

    @cached_property
    def _widths(self) -> Ints:
        return np.diff(self.starts, append=len(self.columns))

    def rows(self, names: Ints) -> Rows:
        """The rows of the terms with these numbers."""
        widths = self._widths[names]
        starts = np.cumsum(widths) - widths
        mine = np.arange(int(widths.sum())) + np.repeat(self.starts[names] - starts, widths)
        owners = np.arange(len(names))
        return Rows(starts, self.columns[mine], self.values[mine], self.sizes[names], owners, self.limit[names])

    def all_at_once(self, costs: Array, masses: Array, bare: Array, delta: float, limits: Limits) -> Interior | None:
        """Where the program of these terms (`OrbitProgram`) ends with all of them at once, by the interior point
        method; None: there are too few for that, or it made no step."""
        if len(self.limit) < math.hypot(MANY_TERMS, loading()):
            return None
        n, most = len(costs), np.full(len(bare), delta)
        values = csr_array((self.values, self.columns, np.append(self.starts, len(self.columns))), (len(self.limit), n))
        values.sort_indices()
        starts = np.searchsorted(self.limit, np.arange(len(most) + 1))
        owners, columns = np.nonzero(bare)
        loose = np.searchsorted(owners, np.arange(len(most) + 1)), columns, bare[owners, columns]
        rows = WideLimits(starts, most, *loose, np.zeros(n, dtype=np.int64), masses, values)
        return InteriorProgram(costs, rows).solve(limits.deadline, limits.stop, accuracy=accuracy(limits))

    def at(self, x: Array) -> Array:
        """(terms,)"""
        owners = np.repeat(np.arange(len(self.limit)), self._widths)
        return np.maximum(sums_at(owners, self.values * x[self.columns], len(self.limit)), 0.0)


@dataclass
class OrbitProgram:
    """minimise costs·x  subject to  masses·x = 1, x ≥ 0, and Σ terms + bare·x ≤ δ for every limit.

    costs, masses : (n,).   bare : (limits, n).   scaling : (n,) about how large x is. `rows.lp` takes further rows, in
    x/scaling. Terms enter as solutions violate them.
    """

    terms: Terms
    costs: Array
    masses: Array
    bare: Array
    delta: float
    scale: float
    scaling: Array

    def __post_init__(self) -> None:
        n, limits = len(self.costs), len(self.bare)
        delta = np.full(limits, self.delta)
        self.rows = PrivacyProgram(self.terms.rows, delta, self.scaling, tolerance=TOLERANCE)
        self.rows.lp.add_rows(1.0, 1.0, starts=[0], columns=[], values=[])
        column = np.zeros(n, dtype=np.int64)
        costs, masses = self.costs * self.scaling / self.scale, self.masses * self.scaling
        self.rows.lp.add_columns(costs, starts=np.arange(n), rows=column, values=masses)
        owners, columns = np.nonzero(self.bare)
        uncovered = Uncovered(owners, columns, self.bare[owners, columns])
        self.rows.add_limits(np.arange(limits), delta, uncovered)

    def solve(self, limits: Limits, enough: Callable[[Array], bool] = lambda over: False) -> tuple[str, Array]:
        """(status, x), x of no length if the solver has nothing to show.   enough : asked after every solution, with
        what every limit is exceeded by."""
        terms, x = self.terms, np.empty(0)
        for _ in range(ROUNDS):
            status = self.rows.run(limits.deadline, limits.stop)
            x = self.rows.solution()
            if status != "optimal" or not len(x):
                return status, x
            z = terms.at(x)
            total = sums_at(terms.limit, z, len(self.bare)) + self.bare @ x
            if enough(np.maximum(total - self.delta, 0.0)):
                return status, x
            violated = (total > self.delta * (1 + OVER))[terms.limit]
            largest = np.zeros(len(self.bare))
            np.maximum.at(largest, terms.limit, z)
            large = z > KEEP * largest[terms.limit]
            if not any(self.rows.add_terms(np.flatnonzero(violated & (z > 0) & some)) for some in (large, ~large)):
                return status, x
        return "rounds", x
