"""Losses c(x): how much an error x hurts.

A loss is a list of monotone *pieces*, ``constant + coefficient·|x|^power`` between two breaks; a break
always lies at 0. From this one list follow, exactly or with a proved direction of rounding, everything
the project needs: values, means over cells (upper bounds), node values of a piecewise linear function
below the loss (lower bounds), infima, and expectations under any noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validate import above, in_range, real
from .errors import InputError

Array = NDArray[np.float64]

UNIT = 2.0**-53
"""Unit round-off of double precision."""

UNDERFLOW = 2.0**-1000
"""More than all that is lost by products too small for a float, 2^−1074 each."""

MAX_BREAKPOINTS = 1000
MAX_MAGNITUDE = 1e12


@dataclass(frozen=True)
class Piece:
    """c(x) = constant + coefficient·|x|^power on (lo, hi), which does not contain 0. power > 0."""

    lo: float
    hi: float
    constant: float
    coefficient: float = 0.0
    power: float = 1.0

    def value(self, x: ArrayLike) -> Array:
        """c(x), continued to the closed interval."""
        x = np.asarray(x, dtype=float)
        if self.coefficient == 0:
            return np.full(x.shape, self.constant)
        return self.constant + self.coefficient * np.abs(x) ** self.power

    def slope(self, x: ArrayLike) -> Array:
        """c'(x)."""
        x = np.asarray(x, dtype=float)
        sign = 1.0 if self.lo >= 0 else -1.0
        return sign * self.coefficient * self.power * np.abs(x) ** (self.power - 1)

    def integral(self, a: Array, b: Array) -> Array:
        """∫_a^b c for lo ≤ a ≤ b ≤ hi, elementwise."""
        flat = self.constant * (b - a)
        if self.coefficient == 0:
            return flat
        if self.power == 1:
            return flat + self.coefficient * (b - a) * np.abs(0.5 * (a + b))
        if self.power == 2:
            return flat + self.coefficient * (b - a) * (a * a + a * b + b * b) / 3
        far, near = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
        q = self.power + 1
        return flat + self.coefficient * (far**q - near**q) / q

    @property
    def curvature(self) -> int:
        """1 strictly convex, 0 linear, −1 strictly concave."""
        return int(np.sign(self.coefficient * (self.power - 1)))


@dataclass(frozen=True)
class Loss:
    """A non-negative loss made of pieces that tile the real line in order.

    At a break the loss takes the smaller of the two one-sided values (lower semicontinuity).
    `spec` is the text that `parse_loss` reads; `title` is for people.
    """

    spec: str
    title: str
    pieces: tuple[Piece, ...]

    @cached_property
    def breaks(self) -> Array:
        """The inner breaks, increasing, 0 among them."""
        return np.array([piece.lo for piece in self.pieces[1:]])

    def value(self, x: ArrayLike) -> Array:
        """c(x), elementwise."""
        x = np.asarray(x, dtype=float)
        left = np.searchsorted(self.breaks, x, side="left")
        right = np.searchsorted(self.breaks, x, side="right")
        out = np.full(x.shape, np.inf)
        for index, piece in enumerate(self.pieces):
            here = (left == index) | (right == index)
            if here.any():
                out = np.where(here, np.minimum(out, piece.value(np.where(here, x, 0.0))), out)
        return out

    def mean(self, a: ArrayLike, b: ArrayLike) -> Array:
        """Mean of c over [a, b], a < b, elementwise; the absolute error is at most `rounding(a, b)`."""
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        total = np.zeros(np.broadcast(a, b).shape)
        for piece, lo, hi in self._overlaps(a, b):
            total = total + np.where(hi > lo, piece.integral(lo, hi), 0.0)
        return total / (b - a)

    def rounding(self, a: ArrayLike, b: ArrayLike) -> Array:
        """A bound on the rounding error of any value, mean or minorant of c on [a, b].

        Each is a handful (below 64) of operations on numbers no larger than |constant| + |coefficient·x^power|;
        for powers other than 1 and 2 the cancellation in b^q − a^q multiplies this by max(|a|, |b|)/(b − a), and so
        does, next to a jump, the rounding of the cell's own ends.
        """
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        size = np.zeros(np.broadcast(a, b).shape)
        for piece, lo, hi in self._overlaps(a, b):
            far = np.maximum(np.abs(lo), np.abs(hi))
            here = abs(piece.constant) + abs(piece.coefficient) * far**piece.power
            size = np.maximum(size, np.where(hi > lo, here, 0.0))
        if self.continuous and all(p.power in (1, 2) for p in self.pieces):
            return 64 * UNIT * size
        return UNIT * (64 + 8 * np.maximum(np.abs(a), np.abs(b)) / (b - a)) * size

    def _overlaps(self, a: Array, b: Array) -> Iterable[tuple[Piece, Array, Array]]:
        """Every piece that meets some [a, b], with its part [lo, hi] of each (hi ≤ lo: none)."""
        least, most = a.min(), b.max()
        for piece in self.pieces:
            if piece.lo < most and piece.hi > least:
                yield piece, np.clip(a, piece.lo, piece.hi), np.clip(b, piece.lo, piece.hi)

    def infimum(self, lo: float, hi: float) -> float:
        """inf of c over [lo, hi] (either end may be infinite), rounded down."""
        x, least = self.minimiser(lo, hi)
        near = [p for p in self.pieces if p.lo <= x <= p.hi]
        size = max(abs(p.constant) + abs(p.coefficient) * abs(x) ** p.power for p in near)
        exact = all(p.coefficient == 0 for p in near)
        return least if exact else max(0.0, least - 8 * UNIT * size)

    def minimiser(self, lo: float = -math.inf, hi: float = math.inf) -> tuple[float, float]:
        """(x, c(x)) with c(x) least over [lo, hi]; of several, the x nearest 0.

        Every piece is monotone, so a minimum sits at a break or at an end of the interval.
        """
        points = [x for x in (*self.breaks.tolist(), lo, hi) if lo <= x <= hi and math.isfinite(x)]
        values = self.value(np.array(points)).tolist()
        least, best = min(zip(values, points), key=lambda pair: (pair[0], abs(pair[1])))
        return best, least

    def nodes(self, nodes: ArrayLike, touch: ArrayLike = 0.5) -> Array:
        """Values C at the given nodes (increasing) whose linear interpolant lies below c between the
        first and the last node [Thm 2], rounded down.

        On every cell a linear minorant of c is found (the loss itself where it is linear, a tangent
        where it is convex, the chord where it is concave, a lowered chord across a break); C is the
        smaller of the two minorants that meet at a node.   touch : where on its cell (0 left end, 1
        right end; one number or one per cell) a tangent touches; any choice is valid.
        """
        nodes = np.asarray(nodes, dtype=float)
        left, right = self._minorants(nodes[:-1], nodes[1:], np.broadcast_to(touch, (len(nodes) - 1,)))
        out = np.full(nodes.shape, np.inf)
        out[:-1] = left
        out[1:] = np.minimum(out[1:], right)
        slack = self.rounding(nodes[:-1], nodes[1:])
        out[:-1] -= slack
        out[1:] -= slack
        return out

    def _minorants(self, u: Array, v: Array, touch: Array) -> tuple[Array, Array]:
        """End values of a linear function below c on each cell [u, v]."""
        left, right = np.empty(u.shape), np.empty(v.shape)
        blur = 0.0 if self.continuous else 8 * UNIT  # a node this close to a jump may lie on either side of it
        first = np.searchsorted(self.breaks, u - blur * np.abs(u), side="right")
        last = np.searchsorted(self.breaks, v + blur * np.abs(v), side="left")
        for index, piece in enumerate(self.pieces):
            here = (first == index) & (last == index)
            if not here.any():
                continue
            a, b = u[here], v[here]
            if piece.curvature > 0:
                before = touch[here] * (b - a)
                value, slope = piece.value(a + before), piece.slope(a + before)
                left[here], right[here] = value - slope * before, value + slope * (b - a - before)
            else:
                left[here], right[here] = piece.value(a), piece.value(b)
        for cell in np.flatnonzero(first != last):
            left[cell], right[cell] = self._across(float(u[cell]), float(v[cell]), first[cell], last[cell])
        return left, right

    def _across(self, u: float, v: float, first: int, last: int) -> tuple[float, float]:
        """A linear function below c on a cell that contains breaks: the chord, lowered."""
        cu, cv = float(self.value(u)), float(self.value(v))
        slope = (cv - cu) / (v - u)
        lowest = math.inf
        for piece in self.pieces[first : last + 1]:
            a, b = min(max(u, piece.lo), v), max(min(v, piece.hi), u)
            ends = [float(piece.value(a)) - slope * (a - u), float(piece.value(b)) - slope * (b - u)]
            if piece.curvature > 0:
                middle = 0.5 * (a + b)
                value = float(piece.value(middle)) - slope * (middle - u)
                rise = abs(float(piece.slope(middle)) - slope) * 0.5 * (b - a)
                ends = [value - rise]
            lowest = min(lowest, *ends)
        return lowest, lowest + slope * (v - u)

    def scaled(self, factor: float) -> Loss:
        """x ↦ c(factor·x), factor > 0."""
        pieces = tuple(
            Piece(p.lo / factor, p.hi / factor, p.constant, p.coefficient * factor**p.power, p.power)
            for p in self.pieces
        )
        return Loss(self.spec, self.title, pieces)

    def symmetrised(self) -> Loss:
        """x ↦ ½(c(x) + c(−x)): what a symmetric law pays. Even losses are returned as they are."""
        if self.even:
            return self
        breaks = sorted({abs(x) for x in self.breaks.tolist()} | {0.0})
        right = []
        for lo, hi in zip(breaks, [*breaks[1:], math.inf]):
            inside = lo + 1 if math.isinf(hi) else 0.5 * (lo + hi)
            one, two = self._piece_at(inside), self._piece_at(-inside)
            if one.power != two.power:
                raise NotImplementedError("pieces of different powers")
            right.append(
                Piece(lo, hi, 0.5 * (one.constant + two.constant), 0.5 * (one.coefficient + two.coefficient), one.power)
            )
        left = [Piece(-p.hi, -p.lo, p.constant, p.coefficient, p.power) for p in reversed(right)]
        return Loss(self.spec, self.title, (*left, *right))

    def _piece_at(self, x: float) -> Piece:
        return self.pieces[int(np.searchsorted(self.breaks, x))]

    @cached_property
    def even(self) -> bool:
        """c(−x) = c(x)."""
        mirrored = [(-p.hi, -p.lo, p.constant, p.coefficient, p.power) for p in reversed(self.pieces)]
        return mirrored == [(p.lo, p.hi, p.constant, p.coefficient, p.power) for p in self.pieces]

    @cached_property
    def jumps(self) -> tuple[float, ...]:
        """Breaks at which the one-sided values differ by more than the rounding of the terms they are made of."""
        found = []
        for one, other in zip(self.pieces, self.pieces[1:]):
            x = one.hi
            size = sum(abs(p.constant) + abs(p.coefficient) * abs(x) ** p.power for p in (one, other))
            if abs(float(one.value(x)) - float(other.value(x))) > 1e-9 * size:
                found.append(x)
        return tuple(found)

    @property
    def continuous(self) -> bool:
        """No jumps."""
        return not self.jumps

    @cached_property
    def grows_from_zero(self) -> bool:
        """c is non-decreasing away from 0 on both sides."""
        if any(p.coefficient < 0 for p in self.pieces):
            return False
        for inner, outer in zip(self.pieces, self.pieces[1:]):
            x = outer.lo
            if x == 0:
                continue
            near, far = (inner, outer) if x > 0 else (outer, inner)
            if float(near.value(x)) > float(far.value(x)) + float(self.rounding(x - 1, x + 1)):
                return False
        return True


def _two_sided(spec: str, title: str, right: Iterable[tuple]) -> Loss:
    """An even loss from its pieces (lo, hi, constant, coefficient, power) on the right of 0."""
    right = [Piece(*args) for args in right]
    left = [Piece(-p.hi, -p.lo, p.constant, p.coefficient, p.power) for p in reversed(right)]
    return Loss(spec, title, (*left, *right))


def _text(number: float) -> str:
    """The shortest text that reads back as the number."""
    short = f"{number:.15g}"
    return short if float(short) == number else repr(number)


def absolute() -> Loss:
    """|x|, the noise amplitude (ℓ1)."""
    return _two_sided("l1", "absolute error |x|", [(0.0, math.inf, 0.0, 1.0, 1.0)])


def squared() -> Loss:
    """x², the noise power (ℓ2)."""
    return _two_sided("l2", "squared error x²", [(0.0, math.inf, 0.0, 1.0, 2.0)])


def power(exponent: float) -> Loss:
    """|x|^p with 1 ≤ p ≤ 4."""
    p = in_range(1, 4, exponent=exponent)
    return _two_sided(f"lp:{_text(p)}", f"power loss |x|^{p:g}", [(0.0, math.inf, 0.0, 1.0, p)])


def asymmetric(below: float, above_zero: float) -> Loss:
    """below·|x| for x < 0, above_zero·x for x > 0; both slopes positive."""
    a = above(0, MAX_MAGNITUDE, slope_below=below)
    b = above(0, MAX_MAGNITUDE, slope_above=above_zero)
    pieces = (Piece(-math.inf, 0.0, 0.0, a), Piece(0.0, math.inf, 0.0, b))
    return Loss(f"asym:{_text(a)}:{_text(b)}", f"asymmetric loss ({a:g} per unit below, {b:g} above)", pieces)


def pinball(tau: float) -> Loss:
    """τ·x for x > 0, (1 − τ)·|x| for x < 0; 0 < τ < 1."""
    t = in_range(0.001, 0.999, tau=tau)
    pieces = (Piece(-math.inf, 0.0, 0.0, 1 - t), Piece(0.0, math.inf, 0.0, t))
    return Loss(f"pinball:{_text(t)}", f"pinball loss, τ = {t:g}", pieces)


def huber(threshold: float) -> Loss:
    """x²/2 for |x| ≤ t, t·(|x| − t/2) beyond."""
    t = above(0, MAX_MAGNITUDE, threshold=threshold)
    right = [(0.0, t, 0.0, 0.5, 2.0), (t, math.inf, -0.5 * t * t, t, 1.0)]
    return _two_sided(f"huber:{_text(t)}", f"Huber loss, threshold {t:g}", right)


def exceedance(threshold: float) -> Loss:
    """1{|x| > t}, t > 0: the probability of an error larger than t."""
    t = above(0, MAX_MAGNITUDE, threshold=threshold)
    return _two_sided(
        f"exceed:{_text(t)}", f"probability of an error beyond {t:g}", [(0.0, t, 0.0), (t, math.inf, 1.0)]
    )


def table(breakpoints: Iterable[float], values: Iterable[float]) -> Loss:
    """The piecewise linear function through (breakpoint, value) pairs, continued with its last slopes.

    Breakpoints increase strictly, values are non-negative, the outer slopes do not point down.
    """
    try:
        x, y = [float(v) for v in breakpoints], [float(v) for v in values]
    except (TypeError, ValueError):
        raise InputError("loss table", "a cell that is no number", "two columns of numbers") from None
    if len(x) != len(y):
        raise InputError("loss table", f"{len(x)} breakpoints and {len(y)} values", "as many values as breakpoints")
    if not 2 <= len(x) <= MAX_BREAKPOINTS:
        raise InputError("loss table", f"{len(x)} breakpoints", f"2 to {MAX_BREAKPOINTS} breakpoints")
    for name, column in (("breakpoint", x), ("value", y)):
        for number in column:
            in_range(-MAX_MAGNITUDE, MAX_MAGNITUDE, **{f"loss table {name}": number})
    for before, after in zip(x, x[1:]):
        if not after > before:
            raise InputError("loss table breakpoint", after, f"a number above the one before it, {before:g}")
    if min(y) < 0:
        raise InputError("loss table value", min(y), "a number from 0")
    slopes = [(y1 - y0) / (x1 - x0) for x0, x1, y0, y1 in zip(x, x[1:], y, y[1:])]
    if slopes[0] > 0:
        raise InputError(
            "loss table first slope", f"{slopes[0]:g}", "at most 0: the loss must not fall without end to the left"
        )
    if slopes[-1] < 0:
        raise InputError(
            "loss table last slope", f"{slopes[-1]:g}", "at least 0: the loss must not fall without end to the right"
        )
    spec = "table:" + ",".join(f"{a!r}={b!r}" for a, b in zip(x, y))
    return Loss(spec, f"loss table with {len(x)} breakpoints", tuple(_table_pieces(x, y, slopes)))


def _table_pieces(x: list[float], y: list[float], slopes: list[float]) -> Iterable[Piece]:
    """Linear pieces over the breakpoints and 0; equal neighbours (0 inside a segment) stay apart."""
    cuts = sorted({*x, 0.0})
    for lo, hi in zip([-math.inf, *cuts], [*cuts, math.inf]):
        inside = hi - 1 if math.isinf(lo) else lo + 1 if math.isinf(hi) else 0.5 * (lo + hi)
        segment = min(max(int(np.searchsorted(x, inside)) - 1, 0), len(slopes) - 1)
        slope = slopes[segment]
        # From the end nearer to 0: mirror images get the same constant, and less of it cancels.
        near = segment + (abs(x[segment + 1]) < abs(x[segment]))
        constant = y[near] - slope * x[near]
        if slope == 0:
            yield Piece(lo, hi, y[segment])
        else:
            yield Piece(lo, hi, constant, slope if hi > 0 else -slope)


_FAMILIES: dict[str, tuple[Callable[..., Loss], int, str]] = {
    "l1": (absolute, 0, "l1"),
    "l2": (squared, 0, "l2"),
    "lp": (power, 1, "lp:EXPONENT"),
    "pinball": (pinball, 1, "pinball:TAU"),
    "asym": (asymmetric, 2, "asym:SLOPE_BELOW:SLOPE_ABOVE"),
    "huber": (huber, 1, "huber:THRESHOLD"),
    "exceed": (exceedance, 1, "exceed:THRESHOLD"),
}


def parse_loss(spec: str) -> Loss:
    """The loss a text names: l1, l2, lp:1.5, pinball:0.8, asym:1:3, huber:1, exceed:2,
    table:x=c,x=c,…"""
    family, _, rest = str(spec).strip().partition(":")
    if family == "table":
        pairs = [pair.partition("=")[::2] for pair in rest.split(",")]
        return table([p[0] for p in pairs], [p[1] for p in pairs])
    if family not in _FAMILIES:
        raise InputError("loss", spec, f"one of {', '.join(form for _, _, form in _FAMILIES.values())}, table:FILE")
    build, count, form = _FAMILIES[family]
    arguments = rest.split(":") if rest else []
    if len(arguments) != count:
        raise InputError("loss", spec, f"the form {form}")
    return build(*(real(**{f"loss {family}": a}) for a in arguments))
