"""Integrals of a loss, fast: what searches among many laws that are constant on cells compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import Loss
from .piece import Piece
from .powers import power_integral

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Primitive:
    """x ↦ ∫ c from an origin to x, elementwise, for all pieces at once. Its differences err by a few units in the last
    place of themselves next to the origin and of the larger integral elsewhere: they serve to compare laws only."""

    loss: Loss
    origin: float

    def __call__(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=float)
        index = np.searchsorted(self.loss.breaks, x, side="right")
        begin, before, constant, coefficient, anchor = (column[index] for column in self._columns)
        far, near = np.abs(x), np.abs(begin)
        grown: Array = 0.5 * (far + near)  # mean of |x|^power
        for power, pieces in self._powers:
            mine = pieces[index]
            grown = np.where(mine, _mean_power(power, *(np.where(mine, end, 1.0) for end in (near, far))), grown)
        found: Array = before + (x - begin) * (constant + coefficient * (grown - anchor))
        return found

    @cached_property
    def _powers(self) -> list[tuple[float, NDArray[np.bool_]]]:
        """Powers other than 1, and which pieces have them."""
        powers = np.array([piece.power for piece in self.loss.pieces])
        return [(power, powers == power) for power in set(powers.tolist()) - {1.0}]

    @cached_property
    def _columns(self) -> tuple[Array, ...]:
        """Of every piece: the place nearest to the origin, the integral to there, and what c is made of."""
        pieces = self.loss.pieces
        own = int(np.searchsorted(self.loss.breaks, self.origin, side="right"))
        begin = [piece.lo if i > own else piece.hi for i, piece in enumerate(pieces)]
        begin[own] = self.origin
        before = [0.0] * len(pieces)
        for i in range(own + 1, len(pieces)):
            before[i] = before[i - 1] + _whole(pieces[i - 1], begin[i - 1], pieces[i - 1].hi)
        for i in range(own - 1, -1, -1):
            before[i] = before[i + 1] - _whole(pieces[i + 1], pieces[i + 1].lo, begin[i + 1])
        made_of = zip(*((p.constant, p.coefficient, p.anchor) for p in pieces))
        return tuple(np.array(column, dtype=float) for column in (begin, before, *made_of))


def _whole(piece: Piece, lo: float, hi: float) -> float:
    return (hi - lo) * float(piece.mean(np.array([lo]), np.array([hi]))[0]) if hi > lo else 0.0


def _mean_power(power: float, a: Array, b: Array) -> Array:
    """Mean of x^power between a and b ≥ 0, in either order."""
    lo, hi = np.minimum(a, b), np.maximum(a, b)
    wide = hi > lo
    return np.where(wide, power_integral(power, lo, hi) / np.where(wide, hi - lo, 1.0), hi**power)
