"""All privacy rows at once, by an interior point method that knows their structure.

    minimise c·x  subject to  Σ_{t ∈ r} max(0, x_e(t) − E x_c(t)) + u_r·x ≤ δ_r  for every limit r,
    the entries of every law add up to 1,  x ≥ 0.

Every term has a slack and every slack a row, many more than there are unknowns; both are eliminated by hand, and so are
the limits. What is left of a step is one symmetric system in x, banded where laws far apart never meet. HiGHS, which
has to find that in a matrix with a row per term, takes ten times as long from some thousand terms on; for fewer, and
where next to no term matters, `program` is faster. Steps are Mehrotra's, with a few corrections of Gondzio's. Nothing
returned is believed: any multipliers prove a bound (`referee`).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import csr_array

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 128
"""Rows of the system that are eliminated together."""

CORNER = 32
"""Rows of a block that plain loops eliminate; products of larger parts are few enough to stay in one thread."""

LARGEST = 3e7
"""Numbers a system may have: 240 MB."""

TO_BORDER = 0.9
"""Share of the way to the border that a step goes: nearer to it, the next steps are short."""

CORRECTIONS = 3
"""Most corrections of a step; one costs a fraction of a factorisation."""

RIDGE = 1e-9
"""Added to the diagonal of the system, whose entries are about 1 on the way: at ε = 0 nothing else tells some columns
apart."""

ROUNDS = 150

SLOW = 25
"""A start that leaves more than half of what was open after so many rounds leads nowhere."""

AGAIN, CLOSED = 100.0, 0.01
"""What is open grows again, by this factor and to more than this share of the value, where rounding is all that steps
do."""

OPEN = 0.2
"""Share of the value by which the ends of the bracket are apart at a point next to a solution of another program."""

LEAST_LIMIT = 1e-3
"""Limits are met relatively to their size, but to no less than this share of the largest."""

NEXT_TO = 1e-12
"""Least share of two rooms that one of them may have there."""


@dataclass(frozen=True)
class _Limits(ABC):
    """What limits have in common.

    starts : (R + 1,) limit r has the terms starts[r] to starts[r + 1] − 1.   most : (R,) δ_r.
    loose_starts, loose_columns, loose_values : u of every limit, likewise; a limit without terms is a plain row.
    laws : (n,) law of every column, whose entries add up to 1 when counted `counts` times.
    """

    starts: Ints
    most: Array
    loose_starts: Ints
    loose_columns: Ints
    loose_values: Array
    laws: Ints
    counts: Array

    @cached_property
    def owners(self) -> Ints:
        """The limit of every term."""
        return np.repeat(np.arange(len(self.most)), np.diff(self.starts))

    @cached_property
    def loose_owners(self) -> Ints:
        """The limit of every loose entry."""
        return np.repeat(np.arange(len(self.most)), np.diff(self.loose_starts))

    def loose(self, x: Array) -> Array:
        """u·x of every limit."""
        return np.bincount(self.loose_owners, self.loose_values * x[self.loose_columns], len(self.most)).astype(float)

    def loosely(self, rates: Array) -> Array:
        """Σ rates·u at every column."""
        values = self.loose_values * rates[self.loose_owners]
        return np.bincount(self.loose_columns, values, len(self.laws)).astype(float)

    @abstractmethod
    def differences(self, x: Array) -> Array:
        """Every term's v·x."""

    @abstractmethod
    def gathered(self, y: Array) -> Array:
        """Σ y·v at every column."""

    @abstractmethod
    def pulled(self, y: Array, g: Array, rates: Array) -> Array:
        """As `gathered`, of y + g·(rate of the limit)."""

    @abstractmethod
    def moves(self, x: Array, g: Array) -> tuple[Array, Array]:
        """Every term's v·x, and g times these added up over every limit."""

    @abstractmethod
    def system(self, watch: Callable[[], None]) -> _System:
        """The system of a step, of the kind that is likely to be filled and factorised fastest."""


@dataclass(frozen=True)
class Limits(_Limits):
    """Limits whose terms are x_e − E x_c.

    events, covers : (T,) columns of the terms, different from each other.
    """

    amplification: float
    events: Ints
    covers: Ints

    @property
    def band(self) -> int:
        """How far apart two columns of one limit are at most."""
        low, high = np.full(len(self.most), len(self.laws)), np.zeros(len(self.most), dtype=np.int64)
        columns = ((self.owners, self.events), (self.owners, self.covers), (self.loose_owners, self.loose_columns))
        for limit, column in columns:
            np.minimum.at(low, limit, column)
            np.maximum.at(high, limit, column)
        return int(np.maximum(high - low, 0).max(initial=0)) + 1

    def differences(self, x: Array) -> Array:
        from ..kernels.privacy_system import differences

        out: Array = differences(self.events, self.covers, self.amplification, x)
        return out

    def gathered(self, y: Array) -> Array:
        from ..kernels.privacy_system import gathered

        out: Array = gathered(self.events, self.covers, self.amplification, y, len(self.laws))
        return out

    def pulled(self, y: Array, g: Array, rates: Array) -> Array:
        from ..kernels.privacy_system import pulled

        out: Array = pulled(self.events, self.covers, self.starts, self.amplification, y, g, rates, len(self.laws))
        return out

    def moves(self, x: Array, g: Array) -> tuple[Array, Array]:
        from ..kernels.privacy_system import moves

        found: tuple[Array, Array] = moves(self.events, self.covers, self.starts, self.amplification, x, g)
        return found

    def system(self, watch: Callable[[], None]) -> _System:
        return (_FullSystem if _FullSystem.serves(self) else _System)(len(self.laws), self.band, watch)


@dataclass(frozen=True)
class WideLimits(_Limits):
    """Limits whose terms have any coefficients.   terms : (T, n), with sorted columns."""

    terms: csr_array

    @cached_property
    def _across(self) -> csr_array:
        return self.terms.T.tocsr()

    def differences(self, x: Array) -> Array:
        out: Array = self.terms @ x
        return out

    def gathered(self, y: Array) -> Array:
        out: Array = self._across @ y
        return out

    def pulled(self, y: Array, g: Array, rates: Array) -> Array:
        return self.gathered(y + g * rates[self.owners])

    def moves(self, x: Array, g: Array) -> tuple[Array, Array]:
        moved = self.differences(x)
        return moved, np.bincount(self.owners, g * moved, len(self.most)).astype(float)

    def system(self, watch: Callable[[], None]) -> _System:
        return _WideSystem(len(self.laws), len(self.laws), watch)


@dataclass(frozen=True)
class Interior:
    """Where the method ended: unknowns, multipliers of the terms and of the limits, and how it ended."""

    x: Array
    terms: Array
    limits: Array
    status: str


class _Stopped(Exception):
    pass


def _inverse_root(a: Array) -> Array:
    """R⁻¹, zeros below, where RᵀR is the matrix whose upper half is a's; halves are joined by small products, which
    take a fraction of the time of the loops.

    Raises
    ------
    LinAlgError : rounding left no positive definite matrix.
    """
    from ..kernels.privacy_system import inverted, root

    half = len(a) // 2
    if len(a) <= CORNER:
        leaf = np.array(a)
        if not root(leaf):
            raise linalg.LinAlgError
        found: Array = inverted(leaf)
        return found
    first = _inverse_root(a[:half, :half])
    across = first.T @ a[:half, half:]
    second = _inverse_root(a[half:, half:] - across.T @ across)
    out = np.zeros(a.shape)
    out[:half, :half], out[half:, half:] = first, second
    out[:half, half:] = -(first @ across) @ second
    return out


class _System:
    """A symmetric positive definite matrix with a band, its upper half in panels of rows; factorised in place."""

    def __init__(self, n: int, band: int, watch: Callable[[], None]) -> None:
        self.n, self._watch = n, watch
        self.size = min(BLOCK, n)
        self.blocks = -(-n // self.size)
        self.width = min(band + self.size, self.blocks * self.size)
        self.panels = np.empty((self.blocks, self.size, self.width))

    def start(self, diagonal: Array) -> None:
        """The diagonal alone."""
        self.panels[:] = 0.0
        padded = np.ones(self.blocks * self.size)
        padded[: self.n] = diagonal
        at = np.arange(self.size)
        self.panels[:, at, at] = padded.reshape(self.blocks, self.size)

    def fill(self, diagonal: Array, limits: Limits, w: Array, g: Array, D: Array) -> None:
        """diag + Vᵀ diag(w) V + Gᵀ diag(1/D) G: V the terms, a row of G the sum of g times the terms of a limit."""
        from ..kernels.privacy_system import assemble

        self.start(diagonal)
        assemble(
            self.panels, limits.events, limits.covers, limits.starts, limits.amplification, w, g,
            limits.loose_starts, limits.loose_columns, limits.loose_values, D,
        )  # fmt: skip

    def add_limits(self, rows: Array, D: Array) -> None:
        """Add rowsᵀ diag(1/D) rows."""
        size = self.size
        rows /= np.sqrt(D)[:, None]
        for j, panel in enumerate(self.panels):
            others = rows[:, j * size : j * size + self.width]
            panel[:, : others.shape[1]] += others[:, :size].T @ others

    def factorise(self) -> None:
        """A = Rᵀ R, R in place of A, its corners inverted.

        Raises
        ------
        LinAlgError : rounding left no positive definite matrix.
        """
        size = self.size
        for j, panel in enumerate(self.panels):
            self._watch()
            here = panel[:, : (self.blocks - j) * size]  # nothing lies beyond the last column
            for i in range(max(0, j - (self.width - 1) // size), j):
                above = self.panels[i][:, (j - i) * size : (self.blocks - i) * size]
                rows = min(size, above.shape[1])
                here[:rows, : above.shape[1]] -= above[:, :rows].T @ above
            corner = here[:, :size]
            corner[:] = _inverse_root(corner)
            here[:, size:] = corner.T @ here[:, size:]

    def solve(self, right: Array) -> Array:
        """A⁻¹ right, (n,) or (n, m)."""
        size, total = self.size, self.blocks * self.size
        x = np.zeros((total, right.size // self.n))
        x[: self.n] = right.reshape(self.n, -1)
        for j, here in enumerate(self.panels):
            at, end = j * size, min(j * size + self.width, total)
            x[at : at + size] = here[:, :size].T @ x[at : at + size]
            x[at + size : end] -= here[:, size : end - at].T @ x[at : at + size]
        for j in reversed(range(self.blocks)):
            here, at, end = self.panels[j], j * size, min(j * size + self.width, total)
            x[at : at + size] -= here[:, size : end - at] @ x[at + size : end]
            x[at : at + size] = here[:, :size] @ x[at : at + size]
        return x[: self.n].reshape(right.shape)


class _FullSystem(_System):
    """The same matrix where most limits join most columns: what they add is one product of matrices."""

    MOST = 1 << 22
    """Entries of the limits' rows, at most."""

    @classmethod
    def serves(cls, limits: Limits) -> bool:
        """Whether limits are few and long."""
        every = len(limits.most) * len(limits.laws)
        return every <= cls.MOST and 16 * len(limits.events) >= every

    def fill(self, diagonal: Array, limits: Limits, w: Array, g: Array, D: Array) -> None:
        from ..kernels.privacy_system import apart

        self.start(diagonal)
        rows = np.zeros((len(D), self.blocks * self.size))
        apart(
            self.panels, rows, limits.events, limits.covers, limits.starts, limits.amplification, w, g,
            limits.loose_starts, limits.loose_columns, limits.loose_values,
        )  # fmt: skip
        self.add_limits(rows, D)


class _WideSystem(_System):
    """The same matrix for terms with any coefficients."""

    def fill(self, diagonal: Array, limits: WideLimits, w: Array, g: Array, D: Array) -> None:  # type: ignore[override]  # its own
        from ..kernels.privacy_system import wide

        self.start(diagonal)
        rows, terms = np.zeros((len(D), self.blocks * self.size)), limits.terms
        wide(self.panels, rows, terms.indptr, terms.indices, terms.data, limits.starts, w, g)
        np.add.at(rows, (limits.loose_owners, limits.loose_columns), limits.loose_values)
        self.add_limits(rows, D)


class _PartedSystem:
    """The same matrix where terms join columns of one part only and limits, without loose entries, are few: parts of
    `size` columns are factorised by themselves, and the limits are one small system of their own."""

    def __init__(self, n: int, size: int, watch: Callable[[], None]) -> None:
        self._watch = watch
        self.parts = np.empty((n // size, size, size))

    def fill(self, diagonal: Array, limits: Limits, w: Array, g: Array, D: Array) -> None:
        """As for `_System`."""
        from ..kernels.privacy_system import parted

        self._D, count, size = D, len(self.parts), self.parts.shape[1]
        self.parts[:] = 0.0
        at = np.arange(size)
        self.parts[:, at, at] = diagonal.reshape(count, size)
        self._rows = np.zeros((count, size, len(D)))
        parted(self.parts, self._rows, limits.events, limits.covers, limits.starts, limits.amplification, w, g)

    def factorise(self) -> None:
        """Raises
        ------
        LinAlgError : rounding left no positive definite matrix.
        """
        joint = np.diag(self._D)
        for part, rows in zip(self.parts, self._rows):
            self._watch()
            part[:] = _inverse_root(part)
            rows[:] = part.T @ rows
            joint += rows.T @ rows
        self._joint = linalg.cho_factor(joint, check_finite=False, overwrite_a=True)

    def solve(self, right: Array) -> Array:
        """A⁻¹ right, (n,) or (n, m)."""
        count, size = self.parts.shape[:2]
        x = np.matmul(self.parts.transpose(0, 2, 1), right.reshape(count, size, -1))
        rates = np.tensordot(self._rows, x, ((0, 1), (0, 1)))
        x -= self._rows @ linalg.cho_solve(self._joint, rates, check_finite=False)
        out: Array = np.matmul(self.parts, x).reshape(right.shape)
        return out


@dataclass(frozen=True)
class _Point:
    """An iterate or a direction: what is not negative, `here`, and what is complementary to it, `there`.

    here : unknowns x, slacks s, room r of the slacks' rows, room u of the limits.
    there : reduced costs zx, multipliers zs of s ≥ 0, y of the slacks' rows, lam of the limits.   nu : of the laws.
    """

    here: Array
    there: Array
    nu: Array

    def moved(self, way: _Point, reach: tuple[float, float]) -> _Point:
        """This point, steps further along a direction."""
        primal, dual = reach
        return _Point(self.here + primal * way.here, self.there + dual * way.there, self.nu + dual * way.nu)

    def reach(self, way: _Point) -> tuple[float, float]:
        """The longest steps, at most 1, for which nothing becomes negative."""
        from ..kernels.privacy_system import longest

        return longest(self.here, way.here), longest(self.there, way.there)


Kind = TypeVar("Kind", bound=_Limits)


class InteriorProgram(Generic[Kind]):
    """One program.   costs : (n,).   limits : everything else.   part : terms join columns in the same one of parts of
    so many columns, and there are few limits, without loose entries; 0 says nothing."""

    def __init__(self, costs: Array, limits: Kind, part: int = 0) -> None:
        self.limits, self.scale = limits, max(float(np.abs(costs).mean()), 1e-300)
        self.costs = costs / self.scale
        self._part = part
        sizes = np.abs(limits.most)
        self._sizes = np.maximum(sizes, LEAST_LIMIT * sizes.max(initial=0.0)) if sizes.any() else np.ones(len(sizes))
        counts = int(limits.laws.max()) + 1
        self._laws = np.zeros((counts, len(costs)))
        self._laws[limits.laws, np.arange(len(costs))] = limits.counts
        self._parts = np.cumsum([len(costs), len(limits.owners), len(limits.owners)])

    @staticmethod
    def fits(columns: int, band: int) -> bool:
        """The system is not too large."""
        return columns * (min(band, columns) + BLOCK) <= LARGEST

    def solve(
        self,
        deadline: float,
        stop: Callable[[], bool],
        *,
        accuracy: float,
        start: tuple[Array, Array] | None = None,
    ) -> Interior | None:
        """Until the ends of the bracket are within the relative accuracy of each other; None: no step was made, or from
        the start rounding errors led far away.
        start : laws and rates of the limits, all positive, that may be near to the solution's; None if they are not."""

        def watch() -> None:
            if time.perf_counter() > deadline or stop():
                raise _Stopped

        n, part = len(self.costs), self._part
        system: Any = _PartedSystem(n, part, watch) if part else self.limits.system(watch)
        point, status = self._first() if start is None else self._beside(*start), "rounds"
        products, moved = float(point.here @ point.there), False
        best, least = point, math.inf
        for rounds in range(ROUNDS):
            open_ = max(self._state(point))
            if open_ < least:
                best, least = point, open_
            if rounds == SLOW and start is not None and float(point.here @ point.there) > 0.5 * products:
                return None
            if open_ < accuracy:
                status = "optimal"
                break
            if not open_ <= max(AGAIN * least, CLOSED):
                status = "rounding"
                break
            try:
                with np.errstate(all="ignore"):
                    point, moved = self._next(system, point), True
            except _Stopped:
                status = "stopped"
                break
            except linalg.LinAlgError:
                status = "rounding"
                break
        astray = status == "rounding" and start is not None and least > CLOSED
        if not moved or astray:
            return None
        x, (_, _, y, lam) = self._split(best.here)[0], self._split(best.there)
        return Interior(x, y * self.scale, lam * self.scale, status)

    def _split(self, values: Array) -> list[Array]:
        """The four parts of what stands together in a point."""
        return np.split(values, self._parts)

    def _first(self) -> _Point:
        limits = self.limits
        x = 1 / self._laws.sum(axis=1)[limits.laws]
        terms = np.diff(limits.starts)
        room = np.maximum(np.maximum(limits.most, 1e-3)[limits.owners] / np.maximum(terms, 1)[limits.owners], 1e-6)
        s = np.maximum(self.limits.differences(x), 0.0) + room
        r = np.maximum(s - self.limits.differences(x), room)
        u = np.maximum(limits.most - limits.loose(x), 1e-2 * (1 + np.abs(limits.most)))
        lam = np.full(len(limits.most), 0.1)
        y = 0.5 * lam[limits.owners]
        zx = np.maximum(self.costs + self.limits.gathered(y), 0.1)
        here, there = np.concatenate([x, s, r, u]), np.concatenate([zx, lam[limits.owners] - y, y, lam])
        return _Point(here, there, np.zeros(len(self._laws)))

    def _beside(self, x: Array, rates: Array) -> _Point:
        """A point next to laws and rates whose products are all the same: slacks s, multipliers y and their rows' room
        s − d and λ − y solve s (λ − y) = (s − d) y = μ."""
        limits, lam = self.limits, rates / self.scale
        size = float(self.costs @ x)
        mu = OPEN * size / (len(x) + 2 * len(limits.owners) + len(lam))
        d, rate = self.limits.differences(x), lam[limits.owners]
        root = np.sqrt((2 * mu) ** 2 + (rate * d) ** 2)
        s, r = ((2 * mu + sign * rate * d + root) / (2 * rate) for sign in (1, -1))
        s, r = (np.maximum(room, NEXT_TO * (s + r)) for room in (s, r))  # rounding may leave nothing
        y = mu / r
        nu = ((1 - OPEN) * size + float(limits.most @ lam)) / len(self._laws) * np.ones(len(self._laws))
        zx = np.maximum(self.costs - self._laws.T @ nu + self.limits.gathered(y) + limits.loosely(lam), mu / x)
        return _Point(np.concatenate([x, s, r, mu / lam]), np.concatenate([zx, mu / s, y, lam]), nu)

    def _summed(self, values: Array) -> Array:
        """Σ over the terms of every limit."""
        return np.bincount(self.limits.owners, values, len(self.limits.most)).astype(float)

    def _state(self, p: _Point) -> tuple[float, float]:
        """What is open: relative distance of the bracket's ends, the lower one what multipliers prove, and by how much
        laws, slacks and, relatively, limits miss."""
        (x, s, r, u), (_, _, y, lam) = self._split(p.here), self._split(p.there)
        primal = float(self.costs @ x)
        paid = self.costs + self.limits.gathered(np.minimum(y, lam[self.limits.owners])) + self.limits.loosely(lam)
        each = np.full(len(self._laws), np.inf)
        np.minimum.at(each, self.limits.laws, paid / self.limits.counts)
        proved = float(each.sum() - self.limits.most @ lam)
        missed = float(np.abs(1 - self._laws @ x).max())
        slack = float(np.abs(s - self.limits.differences(x) - r).max(initial=0.0))
        limit = np.abs(self.limits.most - self._summed(s) - self.limits.loose(x) - u) / self._sizes
        return abs(primal - proved) / max(abs(primal), 1e-300), max(missed, slack, float(limit.max(initial=0.0)))

    def _next(self, system: Any, p: _Point) -> _Point:
        """One step: predictor, corrector, corrections of outliers."""
        from ..kernels.privacy_system import condensed, spread

        limits = self.limits
        (x, s, r, u), (zx, zs, y, lam) = self._split(p.here), self._split(p.there)
        a, b = y / r, zs / s
        inverse = 1 / (a + b)
        g = a * inverse
        D = self._summed(inverse) + u / lam
        system.fill(zx / x + RIDGE, limits, b * g, g, D)
        system.factorise()
        across = system.solve(self._laws.T)
        laws = linalg.cho_factor(self._laws @ across, check_finite=False)
        missed_laws = 1 - self._laws @ x
        missed_slacks = s - self.limits.differences(x) - r
        missed_limits = limits.most - self._summed(s) - limits.loose(x) - u
        missed_costs = self.costs - self._laws.T @ p.nu + self.limits.gathered(y) + limits.loosely(lam) - zx
        missed_rates = lam[limits.owners] - y - zs

        def direction(wanted: Array) -> _Point:
            kx, ks, kr, ku = self._split(wanted)
            e, fixed, sums = condensed(limits.starts, s, r, a, inverse, g, ks, kr, missed_slacks, missed_rates)
            d = sums + ku / lam - missed_limits
            right = kx / x - missed_costs - limits.pulled(fixed, g, d / D) - limits.loosely(d / D)
            free = system.solve(right)
            nu = linalg.cho_solve(laws, missed_laws - self._laws @ free, check_finite=False)
            dx = free + across @ nu
            moved, sums = limits.moves(dx, g)
            dlam = (sums + limits.loose(dx) + d) / D
            here, there = np.empty_like(wanted), np.empty_like(wanted)
            n, _, end = self._parts
            here[:n], there[:n] = dx, (kx - zx * dx) / x
            here[end:], there[end:] = (ku - u * dlam) / lam, dlam
            spread(
                limits.starts, moved, e, dlam, a, inverse, missed_slacks, wanted[n:end], p.here[n:end],
                p.there[n:end], here[n:end], there[n:end],
            )  # fmt: skip
            return _Point(here, there, nu)

        mean = float(p.here @ p.there) / len(p.here)
        first = direction(-p.here * p.there)
        ahead = p.moved(first, p.reach(first))
        target = mean * (float(ahead.here @ ahead.there) / len(p.here) / mean) ** 3
        wanted = target - p.here * p.there - first.here * first.there
        way = direction(wanted)
        reach = p.reach(way)
        for _ in range(CORRECTIONS):
            farther = p.moved(way, (min(1.0, reach[0] + 0.2), min(1.0, reach[1] + 0.2)))
            products = farther.here * farther.there
            wanted = wanted + np.maximum(np.clip(products, 0.1 * target, 10 * target) - products, -10 * target)
            corrected = direction(wanted)
            longer = p.reach(corrected)
            if min(longer[0] - reach[0], longer[1] - reach[1]) <= -0.02 or sum(longer) <= sum(reach):
                break
            way, reach = corrected, longer
        primal, dual = (1.0 if length >= 1 else TO_BORDER * length for length in reach)
        return p.moved(way, (primal, dual))
