"""Losses c(x): how much an error x hurts.

A loss is a list of monotone *pieces*, ``constant + coefficient·(|x| − anchor)^power`` between two breaks; a break
always lies at 0. From this one list follow, exactly or with a proved direction of rounding, everything
the project needs: values, means over cells (upper bounds), node values of a piecewise linear function
below the loss (lower bounds), infima, and expectations under any noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import decimal
from ..search import bisection
from .piece import Piece

Array = NDArray[np.float64]

UNIT = 2.0**-53
"""Unit round-off of double precision."""

UNDERFLOW = 2.0**-1000
"""More than all that is lost by products too small for a float, 2^−1074 each."""

RAISED = 2.0**20
"""What a loss becomes, in levels, far beyond an end that no law passes."""


@dataclass(frozen=True)
class Loss:
    """A non-negative loss made of pieces that tile the real line in order.

    At a break the loss takes the smaller of the two one-sided values (lower semicontinuity).
    `spec` is the text that `parse_loss` reads; `title` is for people. `family` is the name of its entry in
    `families.FAMILIES` and `numbers` are what it was made with there; "" for one that has no entry.
    """

    spec: str
    title: str
    pieces: tuple[Piece, ...]
    family: str = ""
    numbers: tuple[float, ...] = ()

    def _made_of(self, pieces: Iterable[Piece]) -> Loss:
        """A loss of the same name with other pieces."""
        return Loss(self.spec, self.title, tuple(pieces), self.family, self.numbers)

    @cached_property
    def breaks(self) -> Array:
        """The inner breaks, increasing, 0 among them."""
        return np.array([piece.lo for piece in self.pieces[1:]])

    def value(self, x: ArrayLike) -> Array:
        """c(x), elementwise."""
        x = np.asarray(x, dtype=float)
        left, right = (np.searchsorted(self.breaks, x, side=side) for side in ("left", "right"))
        return np.minimum(self.terms(left, x)[0], self.terms(right, x)[0])

    def terms(self, index: NDArray[np.intp], x: Array) -> tuple[Array, Array, Array]:
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
        """Mean of c over [a, b], a ≤ b, elementwise; the absolute error is at most `rounding(a, b)`."""
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        total = np.zeros(np.broadcast(a, b).shape)
        point = a == b  # ends that floats do not tell apart
        width = np.where(point, 1.0, b - a) if point.any() else b - a
        for piece, lo, hi in self._overlaps(a, b):
            total = total + np.where(hi > lo, (hi - lo) / width * piece.mean(lo, hi), 0.0)
        return np.where(point, self.value(a), total) if point.any() else total

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
        narrow: Array = 64 + 8 * np.maximum(np.abs(a), np.abs(b)) / (b - a)
        return UNIT * narrow * size

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
        if (lo, hi) not in self._minima:
            points = [x for x in (*self.breaks.tolist(), lo, hi) if lo <= x <= hi and math.isfinite(x)]
            values = self.value(np.array(points)).tolist()
            least, best = min(zip(values, points), key=lambda pair: (pair[0], abs(pair[1])))
            self._minima[lo, hi] = best, least
        return self._minima[lo, hi]

    @cached_property
    def _minima(self) -> dict[tuple[float, float], tuple[float, float]]:
        """Those that were asked for so far."""
        return {}

    def bottom(self, lo: float = -math.inf, hi: float = math.inf) -> tuple[float, float]:
        """Ends of the stretch around the minimiser over [lo, hi] on which c is least: a point twice where it is one."""
        best, least = self.minimiser(lo, hi)
        first = last = best
        flat = [piece for piece in self.pieces if piece.coefficient == 0 and piece.constant == least]
        for piece in flat:
            last = piece.hi if piece.lo <= last < piece.hi else last
        for piece in reversed(flat):
            first = piece.lo if piece.lo < first <= piece.hi else first
        return max(lo, first), min(hi, last)

    def scaled(self, factor: float) -> Loss:
        """x ↦ c(factor·x), factor > 0. Breaks are the quotients of the numbers that the texts name, rounded once: 0.3
        is three tenths, so in steps of 0.1 it is 3."""
        if factor == 1:
            return self
        unit = decimal(factor)

        def shrunk(x: float) -> float:
            return float(decimal(x) / unit) if math.isfinite(x) else x

        return self._made_of(
            Piece(shrunk(p.lo), shrunk(p.hi), p.constant, p.coefficient * factor**p.power, p.power, shrunk(p.anchor))
            for p in self.pieces
        )

    @cached_property
    def mirrored(self) -> Loss:
        """x ↦ c(−x)."""
        return self if self.even else self._made_of(p.mirrored for p in reversed(self.pieces))

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
        return self._made_of((*(p.mirrored for p in reversed(right)), *right))

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

    def ended(self, hi: float, level: float, width: float) -> Loss:
        """This loss up to hi > 0; beyond, the level as far as a width goes, and then RAISED times as much."""
        inside = (replace(p, hi=min(p.hi, hi)) for p in self.pieces if p.lo < hi)
        return self._made_of((*inside, Piece(hi, hi + width, level), Piece(hi + width, math.inf, RAISED * level)))

    @cached_property
    def grown(self) -> Loss:
        """The largest loss below this one that is non-decreasing away from 0 on both sides, levels rounded down."""
        if self.grows_from_zero:
            return self
        right = _grown([p for p in self.pieces if p.lo >= 0])
        left = _grown([p for p in self.mirrored.pieces if p.lo >= 0])
        return self._made_of((*(p.mirrored for p in reversed(left)), *right))


def _grown(pieces: list[Piece]) -> list[Piece]:
    """Of pieces on the right of 0, from inside out: where the loss is more than somewhere farther out, it is level."""
    found, level = [], math.inf
    for p in reversed(pieces):
        below, level = level, max(0.0, min(level, _lower(p, p.hi if p.coefficient < 0 else p.lo)))
        if p.coefficient <= 0 or level == below:
            found.append(Piece(p.lo, p.hi, level))
        elif math.isinf(below) or _lower(p, p.hi) <= below:
            found.append(p)
        else:
            x, _ = bisection(partial(_reached, p, below), p.hi, p.lo, rounds=100)
            found += [Piece(x, p.hi, below)] * (x < p.hi) + [replace(p, hi=x)]
    return found[::-1]


def _lower(piece: Piece, x: float) -> float:
    """c(x), rounded down."""
    return float(piece.value(x) - 8 * UNIT * piece.size(x))


def _reached(piece: Piece, level: float, x: float) -> bool:
    return _lower(piece, x) >= level
