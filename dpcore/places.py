"""Places on the line, exactly: origin + index·unit in rational numbers, and their nearest floats.

Numbers are the decimals that they show (0.1 is a tenth), so places and breaks of a loss that look the same are the
same, however far from 0 they lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._validate import decimal

EXACT = 1 << 53
"""Whole numbers up to here are floats."""


@dataclass(frozen=True, eq=False)
class Places:
    """origin + indices·unit.   indices : int64 (n,), increasing."""

    origin: Fraction
    unit: Fraction
    indices: NDArray[np.int64]

    @classmethod
    def of(cls, origin: float, sensitivity: float, k: int, indices: ArrayLike) -> Places:
        """Places at these indices, with k units to the sensitivity."""
        return cls(decimal(origin), decimal(sensitivity) / k, np.asarray(indices, dtype=np.int64))

    def at(self, index: int) -> Fraction:
        """The place of any index."""
        return self.origin + int(index) * self.unit

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """The floats nearest to the places, (n,): in the same order, and equal where the places are."""
        scale = math.lcm(self.origin.denominator, self.unit.denominator)
        start, step = (int(x * scale) for x in (self.origin, self.unit))
        most = int(np.abs(self.indices).max(initial=0)) * step + abs(start)
        if most <= EXACT and scale <= EXACT:
            return (start + step * self.indices) / float(scale)  # a quotient of floats: rounded once
        return np.array([(start + step * i) / scale for i in self.indices.tolist()])

    def position(self, x: float) -> Fraction | float:
        """The index, in between as well, of a number; infinite numbers are theirs."""
        return x if math.isinf(x) else self.index_of(x)

    def index_of(self, x: float) -> Fraction:
        """`position` of a finite number."""
        return (decimal(x) - self.origin) / self.unit

    def below(self, x: float, *, inclusive: bool) -> int:
        """How many places lie below a number, or are the number where that counts."""
        q = self.position(x)
        if math.isinf(q):
            return 0 if q < 0 else len(self.indices)
        first, last = int(self.indices[0]), int(self.indices[-1])
        whole = min(max(math.floor(q), first - 1), last + 1)  # within 64 bits
        at_most = int(np.searchsorted(self.indices, whole, side="right"))
        equal = not inclusive and whole == q and at_most > 0 and int(self.indices[at_most - 1]) == whole
        return at_most - equal


def float_up(x: Fraction) -> float:
    """A float that is at least x ≥ 0, as the decimal number that it shows too, and hardly more."""
    found = math.nextafter(float(x), 0.0)
    while min(Fraction(found), decimal(found)) < x:
        found = math.nextafter(found, math.inf)
    return found
