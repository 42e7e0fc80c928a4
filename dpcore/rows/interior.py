"""All privacy rows at once, by an interior point method that knows their structure.

    minimise c·x  subject to  Σ_{t ∈ r} max(0, x_e(t) − E x_c(t)) + u_r·x ≤ δ_r  for every limit r,
    the entries of every law add up to 1,  x ≥ 0.

Every term has a slack and every slack a row, many more than there are unknowns; both are eliminated by hand, and so are
the limits. What is left of a step is one symmetric system in x, banded where laws far apart never meet. HiGHS, which
has to find that in a matrix with a row per term, takes ten times as long from some thousand terms on; for fewer, and
where next to no term matters, `program` is faster. Steps are Mehrotra's, with one correction of Gondzio's. Nothing
returned is believed: any multipliers prove a bound (`referee`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

BLOCK = 192
"""Rows of the system that are eliminated together."""

LARGEST = 3e7
"""Numbers a system may have: 240 MB."""

TO_BORDER = 0.995
"""Share of the way to the border that a step goes."""

ROUNDS = 150


@dataclass(frozen=True)
class Limits:
    """Terms and limits.

    events, covers : (T,) columns of the terms, different from each other.   starts : (R + 1,) limit r has the terms
    starts[r] to starts[r + 1] − 1.   most : (R,) δ_r.
    loose_starts, loose_columns, loose_values : u of every limit, likewise; a limit without terms is a plain row.
    laws : (n,) law of every column, whose entries add up to 1 when counted `counts` times.
    """

    amplification: float
    events: Ints
    covers: Ints
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
    def _loose_owners(self) -> Ints:
        """The limit of every loose entry."""
        return np.repeat(np.arange(len(self.most)), np.diff(self.loose_starts))

    def loose(self, x: Array) -> Array:
        """u·x of every limit."""
        return np.bincount(self._loose_owners, self.loose_values * x[self.loose_columns], len(self.most)).astype(float)

    def loosely(self, rates: Array) -> Array:
        """Σ rates·u at every column."""
        values = self.loose_values * rates[self._loose_owners]
        return np.bincount(self.loose_columns, values, len(self.laws)).astype(float)

    @property
    def band(self) -> int:
        """How far apart two columns of one limit are at most."""
        low, high = np.full(len(self.most), len(self.laws)), np.zeros(len(self.most), dtype=np.int64)
        columns = ((self.owners, self.events), (self.owners, self.covers), (self._loose_owners, self.loose_columns))
        for limit, column in columns:
            np.minimum.at(low, limit, column)
            np.maximum.at(high, limit, column)
        return int(np.maximum(high - low, 0).max(initial=0)) + 1


@dataclass(frozen=True)
class Interior:
    """Where the method ended: unknowns, multipliers of the terms and of the limits, and how it ended."""

    x: Array
    terms: Array
    limits: Array
    status: str


class _Stopped(Exception):
    pass


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

    def factorise(self) -> None:
        """A = Rᵀ R, R in place of A.

        Raises
        ------
        LinAlgError : rounding left no positive definite matrix.
        """
        from ..kernels.privacy_system import root

        size = self.size
        for j, panel in enumerate(self.panels):
            self._watch()
            here = panel[:, : (self.blocks - j) * size]  # nothing lies beyond the last column
            for i in range(max(0, j - (self.width - 1) // size), j):
                above = self.panels[i][:, (j - i) * size : (self.blocks - i) * size]
                rows = min(size, above.shape[1])
                here[:rows, : above.shape[1]] -= above[:, :rows].T @ above
            corner = here[:, :size]
            if not root(corner):
                raise linalg.LinAlgError
            if here.shape[1] > size:
                here[:, size:] = linalg.solve_triangular(corner, here[:, size:], trans="T", check_finite=False)

    def solve(self, right: Array) -> Array:
        """A⁻¹ right, (n,) or (n, m)."""
        size, total = self.size, self.blocks * self.size
        x = np.zeros((total, right.size // self.n))
        x[: self.n] = right.reshape(self.n, -1)
        for j, here in enumerate(self.panels):
            at, end = j * size, min(j * size + self.width, total)
            x[at : at + size] = linalg.solve_triangular(
                here[:, :size], x[at : at + size], trans="T", check_finite=False
            )
            x[at + size : end] -= here[:, size : end - at].T @ x[at : at + size]
        for j in reversed(range(self.blocks)):
            here, at, end = self.panels[j], j * size, min(j * size + self.width, total)
            x[at : at + size] -= here[:, size : end - at] @ x[at + size : end]
            x[at : at + size] = linalg.solve_triangular(here[:, :size], x[at : at + size], check_finite=False)
        return x[: self.n].reshape(right.shape)


@dataclass
class _Point:
    """An iterate or a direction: unknowns x with reduced costs zx; slacks s, with zs; room r of the slacks' rows, with
    multipliers y; room u of the limits, with multipliers lam; nu of the laws."""

    x: Array
    s: Array
    r: Array
    u: Array
    zx: Array
    zs: Array
    y: Array
    lam: Array
    nu: Array

    @property
    def pairs(self) -> list[tuple[Array, Array]]:
        """What is complementary."""
        return [(self.x, self.zx), (self.s, self.zs), (self.r, self.y), (self.u, self.lam)]

    def moved(self, way: _Point, primal: float, dual: float) -> _Point:
        """This point, steps further along a direction."""
        ahead = [a + primal * da for a, da in zip((self.x, self.s, self.r, self.u), (way.x, way.s, way.r, way.u))]
        pairs = zip((self.zx, self.zs, self.y, self.lam, self.nu), (way.zx, way.zs, way.y, way.lam, way.nu))
        return _Point(*ahead, *(a + dual * da for a, da in pairs))

    def reach(self, way: _Point) -> tuple[float, float]:
        """The longest steps, at most 1, for which nothing becomes negative."""
        sides: list[float] = []
        for side in (0, 1):
            longest = 1.0
            for here, step in zip(self.pairs, way.pairs):
                falls = step[side] < 0
                if falls.any():
                    longest = min(longest, float((here[side][falls] / -step[side][falls]).min()))
            sides.append(longest)
        return sides[0], sides[1]


class InteriorProgram:
    """One program.   costs : (n,).   limits : everything else."""

    def __init__(self, costs: Array, limits: Limits) -> None:
        self.limits, self.scale = limits, max(float(np.abs(costs).mean()), 1e-300)
        self.costs = costs / self.scale
        self.band = limits.band
        counts = int(limits.laws.max()) + 1
        self._laws = np.zeros((counts, len(costs)))
        self._laws[limits.laws, np.arange(len(costs))] = limits.counts

    @staticmethod
    def fits(columns: int, band: int) -> bool:
        """The system is not too large."""
        return columns * (min(band, columns) + BLOCK) <= LARGEST

    def solve(self, deadline: float, stop: Callable[[], bool], *, accuracy: float) -> Interior | None:
        """Until the ends of the bracket are within the relative accuracy of each other; None: no step was made."""

        def watch() -> None:
            if time.perf_counter() > deadline or stop():
                raise _Stopped

        system = _System(len(self.costs), self.band, watch)
        point, best, status = self._first(), None, "rounds"
        for _ in range(ROUNDS):
            gap, missed = self._state(point)
            if gap < accuracy and missed < accuracy:
                status = "optimal"
                break
            try:
                with np.errstate(all="ignore"):
                    point, best = self._next(system, point), point
            except _Stopped:
                status = "stopped"
                break
            except linalg.LinAlgError:
                status = "rounding"
                break
            if not np.isfinite(point.x).all() or not np.isfinite(point.y).all():
                point, status = best, "rounding"
                break
        if best is None:
            return None
        return Interior(point.x, point.y * self.scale, point.lam * self.scale, status)

    def _first(self) -> _Point:
        limits = self.limits
        x = 1 / self._laws.sum(axis=1)[limits.laws]
        terms = np.diff(limits.starts)
        room = np.maximum(np.maximum(limits.most, 1e-3)[limits.owners] / np.maximum(terms, 1)[limits.owners], 1e-6)
        s = np.maximum(self._differences(x), 0.0) + room
        r = np.maximum(s - self._differences(x), room)
        u = np.maximum(limits.most - limits.loose(x), 1e-2 * (1 + np.abs(limits.most)))
        lam = np.full(len(limits.most), 0.1)
        y = 0.5 * lam[limits.owners]
        zx = np.maximum(self.costs + self._gathered(y), 0.1)
        return _Point(x, s, r, u, zx, lam[limits.owners] - y, y, lam, np.zeros(len(self._laws)))

    def _differences(self, x: Array) -> Array:
        from ..kernels.privacy_system import differences

        out: Array = differences(self.limits.events, self.limits.covers, self.limits.amplification, x)
        return out

    def _gathered(self, y: Array) -> Array:
        from ..kernels.privacy_system import gathered

        limits = self.limits
        out: Array = gathered(limits.events, limits.covers, limits.amplification, y, len(self.costs))
        return out

    def _summed(self, values: Array) -> Array:
        """Σ over the terms of every limit."""
        return np.bincount(self.limits.owners, values, len(self.limits.most)).astype(float)

    def _state(self, p: _Point) -> tuple[float, float]:
        """Relative distance of the bracket's ends, and by how much laws and slacks miss."""
        primal = float(self.costs @ p.x)
        dual = float(p.nu.sum() - self.limits.most @ p.lam)
        missed = float(np.abs(1 - self._laws @ p.x).max())
        slack = float(np.abs(p.s - self._differences(p.x) - p.r).max(initial=0.0))
        return abs(primal - dual) / max(abs(primal), 1e-300), max(missed, slack)

    def _next(self, system: _System, p: _Point) -> _Point:
        """One step: predictor, corrector, correction of outliers."""
        from ..kernels.privacy_system import assemble

        limits, owners = self.limits, self.limits.owners
        a, b = p.y / p.r, p.zs / p.s
        inverse = 1 / (a + b)
        g = a * inverse
        D = self._summed(inverse) + p.u / p.lam
        system.start(p.zx / p.x)
        assemble(
            system.panels, limits.events, limits.covers, limits.starts, limits.amplification, a * b * inverse, g,
            limits.loose_starts, limits.loose_columns, limits.loose_values, D,
        )  # fmt: skip
        system.factorise()
        across = system.solve(self._laws.T)
        laws = linalg.cho_factor(self._laws @ across, check_finite=False)
        missed_laws = 1 - self._laws @ p.x
        missed_slacks = p.s - self._differences(p.x) - p.r
        missed_limits = limits.most - self._summed(p.s) - limits.loose(p.x) - p.u
        missed_costs = self.costs - self._laws.T @ p.nu + self._gathered(p.y) + limits.loosely(p.lam) - p.zx
        missed_rates = p.lam[owners] - p.y - p.zs

        def direction(wanted: list[Array]) -> _Point:
            kx, ks, kr, ku = wanted
            e = ks / p.s + kr / p.r - a * missed_slacks - missed_rates
            y0 = kr / p.r - a * missed_slacks - g * e
            d = self._summed(e * inverse) + ku / p.lam - missed_limits
            right = kx / p.x - missed_costs - self._gathered(y0 + g * (d / D)[owners]) - limits.loosely(d / D)
            free = system.solve(right)
            nu = linalg.cho_solve(laws, missed_laws - self._laws @ free, check_finite=False)
            x = free + across @ nu
            moved = self._differences(x)
            lam = (self._summed(g * moved) + limits.loose(x) + d) / D
            s = (e - lam[owners] + a * moved) * inverse
            r = s - moved + missed_slacks
            return _Point(
                x, s, r, (ku - p.u * lam) / p.lam, (kx - p.zx * x) / p.x, (ks - p.zs * s) / p.s, (kr - p.y * r) / p.r,
                lam, nu,
            )  # fmt: skip

        number = sum(len(v) for v, _ in p.pairs)
        mean = sum(float(v @ z) for v, z in p.pairs) / number
        first = direction([-v * z for v, z in p.pairs])
        ahead = p.moved(first, *p.reach(first))
        after = sum(float(v @ z) for v, z in ahead.pairs) / number
        target = mean * (after / mean) ** 3
        wanted = [target - v * z - dv * dz for (v, z), (dv, dz) in zip(p.pairs, first.pairs)]
        way = direction(wanted)
        reach = p.reach(way)
        farther = p.moved(way, *(min(1.0, 1.08 * length + 0.08) for length in reach))
        wanted = [
            w + np.maximum(np.clip(v * z, 0.1 * target, 10 * target) - v * z, -10 * target)
            for w, (v, z) in zip(wanted, farther.pairs)
        ]
        corrected = direction(wanted)
        longer = p.reach(corrected)
        if min(longer[0] - reach[0], longer[1] - reach[1]) > -0.02 and sum(longer) > sum(reach):
            way, reach = corrected, longer
        return p.moved(way, *(1.0 if length >= 1 else TO_BORDER * length for length in reach))
