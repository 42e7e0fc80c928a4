"""Losses c(x): how much an error x hurts.

A loss is a list of monotone *pieces*, ``constant + coefficient·(|x| − anchor)^power`` between two breaks; a break
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

from ._validate import above, decimal, in_range, real
from .errors import InputError
from .numbers import read_number
from .piece import Piece

Array = NDArray[np.float64]

UNIT = 2.0**-53
"""Unit round-off of double precision."""

UNDERFLOW = 2.0**-1000
"""More than all that is lost by products too small for a float, 2^−1074 each."""

MAX_BREAKPOINTS = 1000
MAX_MAGNITUDE = 1e12


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
        left, right = (np.searchsorted(self.breaks, x, side=side) for side in ("left", "right"))
        return np.minimum(self.terms(left, x)[0], self.terms(right, x)[0])

    def terms(self, index: Array, x: Array) -> tuple[Array, Array, Array]:
        """(value at x, `Piece.size`, `Piece.sway`) of the pieces with these numbers, elementwise."""
        constant, coefficient, anchor, power = (column[index] for column in self._columns)
        grown = np.abs(x)
        for p in self._powers:
            grown = np.where(power == p, np.abs(x) ** p, grown)
        with np.errstate(invalid="ignore"):  # no slope times an infinite distance
            sloped = np.where(coefficient == 0, 0.0, coefficient * (grown - anchor))
            sway = np.where(coefficient == 0, 0.0, np.abs(coefficient) * power * (grown + np.abs(anchor)))
        return constant + sloped, np.abs(constant) + np.abs(sloped), sway

    @cached_property
    def _columns(self) -> tuple[Array, ...]:
        return tuple(np.array(v) for v in zip(*((p.constant, p.coefficient, p.anchor, p.power) for p in self.pieces)))

    @cached_property
    def _powers(self) -> tuple[float, ...]:
        return tuple({p.power for p in self.pieces} - {1.0})

    def mean(self, a: ArrayLike, b: ArrayLike) -> Array:
        """Mean of c over [a, b], a < b, elementwise; the absolute error is at most `rounding(a, b)`."""
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        total = np.zeros(np.broadcast(a, b).shape)
        for piece, lo, hi in self._overlaps(a, b):
            total = total + np.where(hi > lo, (hi - lo) / (b - a) * piece.mean(lo, hi), 0.0)
        return total

    def rounding(self, a: ArrayLike, b: ArrayLike) -> Array:
        """A bound on the rounding error of any value, mean or minorant of c on [a, b].

        Each is a handful (below 16) of operations on terms no larger than `Piece.size`, at places that are rounded
        themselves, which is worth a few units of `Piece.sway`; next to a jump the rounding of the cell's own ends
        multiplies this by max(|a|, |b|)/(b − a).
        """
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        size = np.zeros(np.broadcast(a, b).shape)
        for piece, lo, hi in self._overlaps(a, b):
            far = np.maximum(np.abs(lo), np.abs(hi))
            here = np.maximum(piece.size(lo), piece.size(hi)) + piece.sway(far)
            size = np.maximum(size, np.where(hi > lo, here, 0.0))
        if self.continuous:
            return 128 * UNIT * size
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
        size = max(float(p.size(x)) for p in self.pieces if p.lo <= x <= p.hi)
        return max(0.0, least - 8 * UNIT * size)

    def minimiser(self, lo: float = -math.inf, hi: float = math.inf) -> tuple[float, float]:
        """(x, c(x)) with c(x) least over [lo, hi]; of several, the x nearest 0.

        Every piece is monotone, so a minimum sits at a break or at an end of the interval.
        """
        points = [x for x in (*self.breaks.tolist(), lo, hi) if lo <= x <= hi and math.isfinite(x)]
        values = self.value(np.array(points)).tolist()
        least, best = min(zip(values, points), key=lambda pair: (pair[0], abs(pair[1])))
        return best, least

    def scaled(self, factor: float) -> Loss:
        """x ↦ c(factor·x), factor > 0. Breaks are the quotients of the numbers that the texts name, rounded once: 0.3
        is three tenths, so in steps of 0.1 it is 3."""
        if factor == 1:
            return self
        unit = decimal(factor)
        shrunk = lambda x: float(decimal(x) / unit) if math.isfinite(x) else x  # noqa: E731
        pieces = tuple(
            Piece(shrunk(p.lo), shrunk(p.hi), p.constant, p.coefficient * factor**p.power, p.power, shrunk(p.anchor))
            for p in self.pieces
        )
        return Loss(self.spec, self.title, pieces)

    @cached_property
    def mirrored(self) -> Loss:
        """x ↦ c(−x)."""
        return self if self.even else Loss(self.spec, self.title, tuple(p.mirrored for p in reversed(self.pieces)))

    def symmetrised(self) -> Loss:
        """x ↦ ½(c(x) + c(−x)): what a symmetric law pays. Even losses are returned as they are."""
        return self if self.even else self._symmetrised

    @cached_property
    def _symmetrised(self) -> Loss:
        breaks = sorted({abs(x) for x in self.breaks.tolist()} | {0.0})
        right = []
        for lo, hi in zip(breaks, [*breaks[1:], math.inf]):
            one = self.pieces[int(np.searchsorted(self.breaks, lo, side="right"))]
            two = self.pieces[int(np.searchsorted(self.breaks, -lo, side="left"))]
            if one.power != two.power:
                raise NotImplementedError("pieces of different powers")
            constant, coefficient = 0.5 * (one.constant + two.constant), 0.5 * (one.coefficient + two.coefficient)
            anchor = 0.0
            if one.power == 1:
                start, anchor = (one.exactly(lo) + two.exactly(-lo)) / 2, lo
                constant = float(start)
                if math.isfinite(hi):
                    coefficient = float((one.exactly(hi) + two.exactly(-hi)) / 2 - start) / (hi - lo)
            right.append(Piece(lo, hi, constant, coefficient, one.power, anchor))
        return Loss(self.spec, self.title, (*(p.mirrored for p in reversed(right)), *right))

    @cached_property
    def even(self) -> bool:
        """c(−x) = c(x)."""
        return tuple(p.mirrored for p in reversed(self.pieces)) == self.pieces

    @cached_property
    def jumps(self) -> tuple[float, ...]:
        """Breaks at which the one-sided values differ by more than the rounding of the terms they are made of."""
        found = []
        for one, other in zip(self.pieces, self.pieces[1:]):
            x = one.hi
            if abs(float(one.value(x)) - float(other.value(x))) > 1e-9 * float(one.size(x) + other.size(x)):
                found.append(x)
        return tuple(found)

    @property
    def continuous(self) -> bool:
        """No jumps."""
        return not self.jumps

    @cached_property
    def grows_from_zero(self) -> bool:
        """c is non-decreasing away from 0 on both sides, up to the rounding of its values."""
        if any(p.coefficient < 0 for p in self.pieces):
            return False
        for inner, outer in zip(self.pieces, self.pieces[1:]):
            x = outer.lo
            if x == 0:
                continue
            near, far = (inner, outer) if x > 0 else (outer, inner)
            if float(near.value(x)) > float(far.value(x)) + 16 * UNIT * float(near.size(x) + far.size(x)):
                return False
        return True


def _two_sided(spec: str, title: str, right: Iterable[tuple]) -> Loss:
    """An even loss from its pieces (lo, hi, constant, coefficient, power, anchor) on the right of 0."""
    right = [Piece(*args) for args in right]
    return Loss(spec, title, (*(p.mirrored for p in reversed(right)), *right))


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
    pieces = (Piece(-math.inf, 0.0, 0.0, float(1 - decimal(t))), Piece(0.0, math.inf, 0.0, t))
    return Loss(f"pinball:{_text(t)}", f"pinball loss, τ = {t:g}", pieces)


def huber(threshold: float) -> Loss:
    """x²/2 for |x| ≤ t, t·(|x| − t/2) beyond."""
    t = above(0, MAX_MAGNITUDE, threshold=threshold)
    right = [(0.0, t, 0.0, 0.5, 2.0), (t, math.inf, 0.5 * t * t, t, 1.0, t)]
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
    """Linear pieces over the breakpoints and 0; equal neighbours (0 inside a segment) stay apart.

    A slope is the quotient of the floats, with which the line meets the values at both ends; the outermost ones, which
    are continued, that of the numbers as they were written.
    """
    cuts = sorted({*x, 0.0})
    for lo, hi in zip([-math.inf, *cuts], [*cuts, math.inf]):
        segment = min(max(int(np.searchsorted(x, lo, side="right")) - 1, 0), len(slopes) - 1)
        slope, side = slopes[segment], 1 if lo >= 0 else -1
        near = segment + (abs(x[segment + 1]) < abs(x[segment]))  # mirror images get the same anchor
        if lo >= x[-1] or hi <= x[0]:
            near = segment + (lo >= x[-1])
            (x0, x1), (y0, y1) = ([decimal(v) for v in column[segment : segment + 2]] for column in (x, y))
            slope = float((y1 - y0) / (x1 - x0))
        if slope == 0:
            yield Piece(lo, hi, y[segment])
        else:
            yield Piece(lo, hi, y[near], side * slope, 1.0, side * x[near])


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
        pairs = [pair.partition("=") for pair in rest.split(",")]
        if wrong := [pair[0] for pair in pairs if not pair[1]]:
            raise InputError("loss table", wrong[0], "pairs x=c with points in their numbers: table:x=c,x=c,…")
        return table(*([read_number(pair[at], "loss table") for pair in pairs] for at in (0, 2)))
    if family not in _FAMILIES:
        raise InputError("loss", spec, f"one of {', '.join(form for _, _, form in _FAMILIES.values())}, table:FILE")
    build, count, form = _FAMILIES[family]
    arguments = rest.split(":") if rest else []
    if len(arguments) != count:
        raise InputError("loss", spec, f"the form {form}")
    return build(*(real(**{f"loss {family}": a}) for a in arguments))
