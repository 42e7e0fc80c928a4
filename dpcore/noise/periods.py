"""A loss seen period by period from the centre of a staircase, a period being the sensitivity; enclosed, not estimated.

With b = e^−ε and a loss c, what staircases pay is made of G(u) = Σ_{k ≥ 0} b^k c(centre + k·period + u),
0 ≤ u < period. Periods that hold breaks of c are summed cell by cell, the others in closed form. Every slack is derived
where it is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..loss import UNDERFLOW, UNIT, Loss, Piece
from ..loss.cells import lattice_costs
from ..loss.powers import power_integral
from .moments import Array, geometric_sum

FEW, MOST = 50.0, 700.0
"""Periods are summed cell by cell until e^−50, or, where that leaves something out that counts, until floats end."""

LONG = 2.0
"""Periods within one piece of the loss are a closed form from e^−2 on: the difference of two sums to infinity."""

EXPANDED, EXPANSION = 64, 12
"""A power that is not whole is expanded into so many terms after so many periods."""

SINGLE = 1024
"""So many points of a lattice are summed one by one before the Euler–Maclaurin formula serves."""


@dataclass(frozen=True)
class Layout:
    """How G is summed: periods `cells` one by one, the others as Σ_i factors_i t^i, t = u/period, each factor within
    its error; `edge`: what breaks that round to whole periods may be worth; `beyond` bounds what is left out of G."""

    cells: NDArray[np.int64]
    factors: Array
    errors: Array
    edge: float
    beyond: float


@dataclass(frozen=True)
class Side:
    """c(centre + y), y ≥ 0, in units of which a period has `period`: 1 on the line, its steps on a lattice."""

    loss: Loss
    epsilon: float
    period: int = 1
    lattice: bool = False
    centre: float = 0.0

    @classmethod
    def line(cls, loss: Loss, epsilon: float, sensitivity: float, centre: float = 0.0) -> Side:
        """The line right of a centre in the query's unit."""
        return cls(loss.scaled(sensitivity), epsilon, centre=centre / sensitivity)

    @classmethod
    def points(cls, loss: Loss, epsilon: float, period: int, step: float = 1.0, centre: int = 0) -> Side:
        """The multiples of a step right of the one with number `centre`, itself included."""
        return cls(loss.scaled(step), epsilon, period, True, float(centre))

    @property
    def mirrored(self) -> Side:
        """The other side of the centre, itself included."""
        return Side(self.loss.mirrored, self.epsilon, self.period, self.lattice, -self.centre)

    @property
    def decay(self) -> float:
        """b, within 4 u."""
        return math.exp(-self.epsilon)

    @property
    def rest(self) -> float:
        """1 − b, within 4 u."""
        return -math.expm1(-self.epsilon)

    # Sums ------------------------------------------------------------------------------------------------

    def sums(self, *cuts: float) -> list[tuple[float, float]]:
        """(lower, upper) bounds of ∫ G, on a lattice Σ G, between each two of the cuts 0 < … < period.

        Rounding: cells and closed forms report what they may be off.
        """
        bounds, layout = [0.0, *cuts, float(self.period)], self._layout
        value, error, region = self._cells(bounds, layout.cells)
        out = []
        for number, (start, end) in enumerate(zip(bounds, bounds[1:])):
            mine, moments = region == number, self._moments(start, end, len(layout.factors))
            total = math.fsum(value[mine]) + float(layout.factors @ moments)
            closed = float((layout.errors + 80 * UNIT * np.abs(layout.factors)) @ moments)
            slack = (math.fsum(error[mine]) + closed) * (1 + 1e-9)
            slack += layout.edge + self._underflow if start < end else 0.0
            out.append((max(total - slack, 0.0), total + slack + layout.beyond * (end - start)))
        return out

    def at(self, u: float) -> tuple[float, float]:
        """(lower, upper) bounds of G(u), on the line of its limit from the right; the loss grows from 0 = centre.

        Rounding: as in `lattice_costs`; on the line a break that is no whole number of periods is within 8 u of
        the true one relatively, and may be passed sooner or later.
        """
        layout = self._layout
        k = layout.cells
        x = k.astype(float) * float(self.period) + u
        weights = np.exp(-self.epsilon * k)
        if self.lattice:
            lower, upper = lattice_costs(x, self.loss)
        else:
            lower, upper = (self._limits(k, u, x, blur) for blur in (8 * UNIT, -8 * UNIT))
        slack = (8 + self.epsilon * k) * UNIT
        moments = (u / self.period) ** np.arange(len(layout.factors))
        more = float(layout.factors @ moments)
        off = float((layout.errors + 80 * UNIT * np.abs(layout.factors)) @ moments) + self._underflow
        low, high = math.fsum(weights * lower * (1 - slack)), math.fsum(weights * upper * (1 + slack))
        return max(low + more - off, 0.0), high + more + off + layout.beyond

    def _limits(self, k: NDArray[np.int64], u: float, x: Array, blur: float) -> Array:
        """Bounds of c just right of x = k + u, lower ones where breaks are moved outwards, blur > 0."""
        breaks = self.loss.breaks
        whole = np.floor(breaks)
        past = breaks - whole
        past = past + np.where(past > 0, blur * breaks, 0.0)
        passed = whole + np.floor(past) + (u < past - np.floor(past))  # the first k beyond the break
        value, size, sway = self.loss.terms(np.searchsorted(passed, k, side="right"), x)
        return np.maximum(value - blur * (2 * size + sway), 0.0)

    # Periods ---------------------------------------------------------------------------------------------

    @cached_property
    def _layout(self) -> Layout:
        """Cells where breaks are, closed forms in between and after the last; cells that count for nothing left out."""
        few, many = (math.ceil(decays / self.epsilon) + 1 for decays in (FEW, MOST))
        cells, factors, errors = [], np.zeros(EXPANSION), np.zeros(EXPANSION)
        edge, cut = 0.0, False
        done: float = 0  # periods, infinite after the last piece
        for piece in self.loss.pieces:
            first, last = self._whole_periods(piece)
            free = not (piece.constant or piece.coefficient)
            if first >= last or (not free and last - first < LONG / self.epsilon):
                continue
            cells.append(np.arange(done, max(min(first, many), done)))
            cut, done = cut or first > max(many, done), last
            for start, sign in ((first, 1.0), (last, -1.0)):
                if not free and math.isfinite(start):
                    more, off = self._series(piece, int(start))
                    factors, errors = factors + sign * more, errors + off
                    edge += self._edge(piece, int(start))
        terms = 1 + int(np.flatnonzero(errors).max(initial=0))
        beyond = self._beyond(many) if cut else 0.0
        layout = Layout(np.concatenate(cells), factors[:terms], errors[:terms], edge, beyond)
        short = replace(layout, cells=layout.cells[layout.cells < few], beyond=self._beyond(few))
        if len(short.cells) < len(layout.cells):
            end = float(self.period)
            moments = self._moments(0.0, end, terms)
            value = math.fsum(self._cells([0.0, end], short.cells)[0]) + float(short.factors @ moments)
            if short.beyond * self.period <= UNIT * value:
                return short
        return layout

    def _whole_periods(self, piece: Piece) -> tuple[int, float]:
        """(first, one past the last) of the periods right of the centre that lie inside a piece, and, for powers that
        are not whole, right of 0 and some distance from it; on a lattice points on breaks are no points of pieces."""
        near, far = ((end - self.centre) / self.period for end in (piece.lo, piece.hi))
        first = 0 if math.isinf(near) else max(math.floor(near) + 1 if self.lattice else math.ceil(near), 0)
        if piece.power != int(piece.power):
            first = max(first, math.ceil(EXPANDED - self.centre / self.period))
            far = far if piece.lo >= 0 else -math.inf
        return first, far if math.isinf(far) else math.floor(far)

    def _edge(self, piece: Piece, periods: int) -> float:
        """What the piece pays over 8 u of the place of its end after so many periods; on a lattice ends are exact."""
        x = self.centre + periods * self.period
        size = float(piece.size(x)) + float(piece.sway(x)) * UNIT
        place = 0.0 if self.lattice else periods + abs(self.centre)
        return 16 * UNIT * place * size * math.exp(-self.epsilon * periods)

    @property
    def _underflow(self) -> float:
        """What products too small for a float may be off in all."""
        return UNDERFLOW if any(p.constant or p.coefficient for p in self.loss.pieces) else 0.0

    def _beyond(self, periods: int) -> float:
        """An upper bound of sup G after so many periods: finite pieces pay at most what they do at their ends; for the
        last one (z + k)^p ≤ z^p e^(pk/z)."""
        far = self.centre + periods * self.period
        level, last = 0.0, self.loss.pieces[-1]
        for piece in self.loss.pieces[:-1]:
            if piece.hi > far:
                level = max(level, float(piece.size(max(piece.lo, min(far, piece.hi)))), float(piece.size(piece.hi)))
        level += abs(last.constant) + abs(last.coefficient * last.anchor)
        z = abs(self.centre) / self.period + periods + 1
        rate = self.epsilon - last.power / z
        grown = abs(last.coefficient) * (z * self.period) ** last.power / -math.expm1(-rate) if rate > 0 else math.inf
        return math.exp(-self.epsilon * periods) * (level / self.rest + grown * bool(last.coefficient)) * (1 + 1e-9)

    def _series(self, piece: Piece, periods: int) -> tuple[Array, Array]:
        """(factors f_i, their errors) with Σ_k b^k c(centre + (k + t)·period) = Σ_i f_i t^i over k ≥ periods, for one
        piece: (x + k + t)^p = Σ_i C(p, i) (x + k)^(p−i) t^i.

        Whole powers: sums S_n = Σ b^k (x + k)^n of terms of one sign, each at most 100 operations deep. Others:
        x ≥ 64 and t < 1, so 12 terms leave out less than 2^−70 of the first; the series of k is cut where
        b^k = e^−60, and what is left is bounded as in `_beyond`. b^periods errs by ε·periods u besides, and x by 8 u of
        what it is the sum of, which is worth n S_(n−1) times that.
        """
        p, sign = piece.power, 1.0 if piece.lo >= 0 else -1.0  # |x| − anchor = ±(x ∓ anchor)
        x = periods + (self.centre - sign * piece.anchor) / self.period
        blur = 8 * UNIT * (periods + (abs(self.centre) + abs(piece.anchor)) / self.period)
        whole, scale = p == int(p), math.exp(-self.epsilon * periods)
        unit = (200 + self.epsilon * periods) * UNIT
        factors, errors = np.zeros(EXPANSION), np.zeros(EXPANSION)
        factors[0] = piece.constant * scale / self.rest
        errors[0] = unit * abs(factors[0])
        if piece.coefficient == 0:
            return factors, errors
        grown = piece.coefficient * (sign * self.period) ** p * scale
        k = np.arange(0 if whole else math.ceil(60 / self.epsilon) + 1)
        terms = np.exp(-self.epsilon * k) * (x + k) ** p if len(k) else k
        for i in range(int(p) + 1 if whole else EXPANSION):
            n, share = p - i, grown * float(np.prod((p - np.arange(i)) / (1 + np.arange(i))))
            if whole:
                total, size = (float(geometric_sum(int(n), self.epsilon, v)) for v in (x, abs(x)))
                off = blur * n * float(geometric_sum(int(n) - 1, self.epsilon, abs(x))) if n else 0.0
            else:
                total = size = float(terms.sum())
                far, terms = x + len(k), terms / (x + k)
                left_out = math.exp(-60) * far**n / -math.expm1(max(n, 0.0) / far - self.epsilon)
                off = blur * abs(n) / x * size + left_out + (2.0**-70 * size if i == 0 else 0.0)
            factors[i] += share * total
            errors[i] += abs(share) * (unit * size + off)
        return factors, errors

    def _moments(self, start: float, end: float, count: int) -> Array:
        """∫ t^i dt, on a lattice Σ t^i, over start ≤ t·period < end, i < count, each within 64 u."""
        if self.lattice:
            t = np.arange(int(start), int(end)) / self.period
            return np.array([math.fsum(t**i) for i in range(count)])
        return np.array([float(power_integral(i, start, end)) for i in range(count)])

    # Cells -----------------------------------------------------------------------------------------------

    def _cells(self, bounds: list[float], k: NDArray[np.int64]) -> tuple[Array, Array, NDArray[np.int64]]:
        """(value, error, region) of every cell of these periods, weighted by b^k: cells end at cuts and at breaks."""
        regions, period = len(bounds) - 1, float(self.period)
        if not k.size:
            return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)
        starts, ends = (k[:, None] * period + np.array(bounds[:-1])).ravel(), (k + 1) * period
        breaks = self.loss.breaks - self.centre
        inner = breaks
        if self.lattice:
            on = breaks[breaks == np.floor(breaks)]
            inner = np.concatenate([np.ceil(breaks), on + 1, np.arange(-SINGLE, SINGLE)[self._singles] - self.centre])
        edges = np.unique(np.concatenate([starts, ends, inner]))
        left, right = edges[:-1], edges[1:]
        number = np.searchsorted(starts, left, side="right") - 1
        here = (number >= 0) & (left < ends[number // regions])
        left, right, number = left[here], right[here], number[here]
        value, error = (self._point_cells if self.lattice else self._line_cells)(left, right, breaks)
        passed = k[number // regions]
        weights = np.exp(-self.epsilon * passed)
        error = error + (self.epsilon * passed + 8) * UNIT * np.abs(value)
        return weights * value, weights * error, number % regions

    @property
    def _singles(self) -> slice:
        """Of the points within `SINGLE` of 0 those that are cells of their own."""
        return slice(None) if any(p.power not in (1, 2) for p in self.loss.pieces) else slice(0)

    def _line_cells(self, left: Array, right: Array, breaks: Array) -> tuple[Array, Array]:
        """Integrals over cells."""
        return _integrals(self.loss, self.centre, left, right, np.searchsorted(breaks, left, side="right"))

    def _point_cells(self, left: Array, right: Array, breaks: Array) -> tuple[Array, Array]:
        """Sums over the points left ≤ y < right of each cell; a point on a break has a cell of its own.

        Rounding: below 16 operations on terms of the piece's size, at places that are rounded by a few u.
        """
        index = np.searchsorted(breaks, left, side="left")
        a, b = self.centre + left, self.centre + right - 1
        (low, high), (other, top) = (lattice_costs(x, self.loss) for x in (a, b))
        count, alone = b - a + 1, a == b
        value = np.where(alone, 0.5 * (low + high), 0.25 * count * (low + high + other + top))
        error = 0.5 * count * (high - low + top - other) + 8 * UNIT * count * (high + top)
        for piece, here in _curved(self.loss, index):
            many = here[~alone[here]]
            value[many], error[many] = _curved_sums(piece, a[many], b[many])
        return value, error


def _curved(loss: Loss, index: NDArray[np.int64]) -> Iterator[tuple[Piece, NDArray[np.int64]]]:
    """(piece, cells) of the pieces that are no lines."""
    for number, piece in enumerate(loss.pieces):
        if piece.coefficient and piece.power != 1 and (here := np.flatnonzero(index == number)).size:
            yield piece, here


def _integrals(loss: Loss, centre: float, left: Array, right: Array, index: NDArray[np.int64]) -> tuple[Array, Array]:
    """(∫ c(centre + y) dy, error) over cells inside the pieces with these numbers.

    Fewer than 16 operations on terms of at most the piece's size; an end is within 8 u (|x| + |centre|) of the true
    one, which is worth that much of the size, and so are differences of powers.
    """
    lo, hi = np.append(-np.inf, loss.breaks)[index], np.append(loss.breaks, np.inf)[index]
    a, b = np.clip(centre + left, lo, hi), np.clip(centre + right, lo, hi)
    (first, size, _), (last, other, _) = loss.terms(index, a), loss.terms(index, b)
    value, size = 0.5 * (b - a) * (first + last), np.maximum(size, other)
    for piece, here in _curved(loss, index):
        value[here] = (b[here] - a[here]) * piece.mean(a[here], b[here])
    return value, UNIT * size * (16 * (b - a) + 8 * (np.abs(a) + np.abs(b) + 2 * abs(centre)))


def integral_bounds(loss: Loss, a: float, b: float) -> tuple[float, float]:
    """(lower, upper) bounds of ∫_a^b c."""
    edges = np.unique(np.concatenate([[a, b], loss.breaks[(loss.breaks > a) & (loss.breaks < b)]]))
    index = np.searchsorted(loss.breaks, edges[:-1], side="right")
    value, error = _integrals(loss, 0.0, edges[:-1], edges[1:], index)
    total, slack = math.fsum(value), math.fsum(error) * (1 + 1e-9)
    return max(total - slack, 0.0), total + slack


def _curved_sums(piece: Piece, a: Array, b: Array) -> tuple[Array, Array]:
    """(Σ c(i), error) over more than one whole number a ≤ i ≤ b inside a piece that is no line.

    Other powers than 2 by the Euler–Maclaurin formula, Σ f = ∫_(a−½)^(b+½) f − (f′(b+½) − f′(a−½))/24 + R: on one unit
    cell R = ∫ K f⁗ with 0 ≤ K ≤ 1/384, and f⁗ of x^p, p ≤ 4, keeps its sign. Rounding: below 64 operations, of which
    the logarithm's is multiplied by itself.
    """
    near, far = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
    n, p = far - near + 1, piece.power
    spread: Array | float = 0.0
    if p == 2:
        total = n * (near * near + near * (n - 1) + (n - 1) * (2 * n - 1) / 6)
    else:
        low, high = near - 0.5, far + 0.5
        total = low ** (p + 1) * np.expm1((p + 1) * np.log1p(n / low)) / (p + 1)
        total = total - p * (high ** (p - 1) - low ** (p - 1)) / 24
        spread = abs(p * (p - 1) * (p - 2)) * np.abs(high ** (p - 3) - low ** (p - 3)) / 384
    error = abs(piece.coefficient) * (spread + 64 * UNIT * (1 + np.log(n)) * total)
    return n * piece.constant + piece.coefficient * total, error + 16 * UNIT * n * abs(piece.constant)
