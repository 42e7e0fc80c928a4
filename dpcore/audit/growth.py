"""e^ε, enclosed: what every audit multiplies with."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from ..loss import UNIT

BITS = 128
"""Exact sums count in units of 2^−(62 + BITS)."""


def amplification_bounds(epsilon: float) -> tuple[float, float]:
    """(lower, upper) bounds of e^ε for the float ε and for the decimal number that it shows, half a unit in its last
    place apart; `math.exp` errs by less than one unit in the last place."""
    if epsilon == 0:
        return 1.0, 1.0
    middle, slack = math.exp(epsilon), (4 + 2 * epsilon) * UNIT
    return middle * (1 - slack), middle * (1 + slack)


@lru_cache
def growth_lower(epsilon: float) -> int:
    """e^ε·2^BITS rounded down, for the smaller of the float ε and the decimal number that it shows."""
    if epsilon == 0:
        return 1 << BITS
    smaller = min(Decimal(epsilon), Decimal(repr(float(epsilon))))
    return math.floor(Fraction(smaller.exp(Context(prec=60))) * (1 - Fraction(1, 10**50)) * (1 << BITS))
