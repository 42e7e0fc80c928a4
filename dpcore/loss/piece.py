"""One monotone piece of a loss: a constant, a line or a power of the distance from 0."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import decimal

Array = NDArray[np.float64]

GAUSS = (
    (0.33998104358485626, 0.32607257743127307),
    (0.86113631159405258, 0.17392742256872693),
)
"""Places and weights of Gauss's rule with four points, for means over [−1, 1]."""


@dataclass(frozen=True)
class Piece:
    """c(x) = constant + coefficient·(|x| − anchor)^power on (lo, hi), which does not contain 0. power > 0.

    An anchor other than 0 belongs to power 1: at it a steep line far from 0 has its value without cancellation.
    """

    lo: float
    hi: float
    constant: float
    coefficient: float = 0.0
    power: float = 1.0
    anchor: float = 0.0

    def value(self, x: ArrayLike) -> Array:
        """c(x), continued to the closed interval."""
        x = np.asarray(x, dtype=float)
        if self.coefficient == 0:
            return np.full(x.shape, self.constant)
        value: Array = self.constant + self.coefficient * (np.abs(x) - self.anchor) ** self.power
        return value

    def slope(self, x: ArrayLike) -> Array:
        """c'(x)."""
        x = np.asarray(x, dtype=float)
        sign = 1.0 if self.lo >= 0 else -1.0
        slope: Array = sign * self.coefficient * self.power * np.abs(x) ** (self.power - 1)
        return slope

    def size(self, x: ArrayLike) -> Array:
        """What the terms of c(x) amount to: its value errs by a few units in the last place of this."""
        x = np.asarray(x, dtype=float)
        size: Array = abs(self.constant) + abs(self.coefficient) * np.abs(np.abs(x) - self.anchor) ** self.power
        return size

    def sway(self, x: ArrayLike) -> Array:
        """|c'(x)| (|x| + |anchor|): what a relative error of both is worth."""
        x = np.asarray(x, dtype=float)
        return np.abs(self.slope(x)) * (np.abs(x) + abs(self.anchor)) if self.coefficient else np.zeros(x.shape)

    def exactly(self, x: float) -> Fraction:
        """c(x), power 1, at the number that the text of a float names, from the values at the ends."""
        if math.isinf(self.lo) or math.isinf(self.hi):
            return decimal(self.constant) + Fraction(self.coefficient) * (abs(decimal(x)) - decimal(self.anchor))
        lo, hi = decimal(self.lo), decimal(self.hi)
        left, right = (Fraction(float(self.value(end))) for end in (self.lo, self.hi))
        return left + (right - left) * (decimal(x) - lo) / (hi - lo)

    @property
    def at_zero(self) -> float:
        """The constant term of c as a function of |x|."""
        return self.constant - self.coefficient * self.anchor

    @property
    def mirrored(self) -> Piece:
        """x ↦ c(−x)."""
        return replace(self, lo=-self.hi, hi=-self.lo)

    def mean(self, a: Array, b: Array) -> Array:
        """Mean of c over [a, b], lo ≤ a ≤ b ≤ hi, elementwise; short intervals far from 0 cancel nothing."""
        if self.coefficient == 0:
            return np.full(np.shape(a), self.constant)
        if self.power == 1:
            return self.constant + self.coefficient * 0.5 * ((np.abs(a) - self.anchor) + (np.abs(b) - self.anchor))
        if self.power == 2:
            return self.constant + self.coefficient * (a * a + a * b + b * b) / 3
        far, near = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
        q, short = self.power + 1, near > 0.9375 * far
        length = np.where(short, 1.0, np.where(far > near, far - near, 1.0))
        whole = (far**q - near**q) / (q * length)
        # Gauss's rule with 4 points errs by less than 3e-17 of far^power here.
        middle, half = 0.5 * (far + near), 0.5 * (far - near)
        parts = (w * (middle + t * half) ** self.power for x, w in GAUSS for t in (x, -x))
        return self.constant + self.coefficient * np.where(short, sum(parts), whole)

    @property
    def curvature(self) -> int:
        """1 strictly convex, 0 linear, −1 strictly concave."""
        return int(np.sign(self.coefficient * (self.power - 1)))
