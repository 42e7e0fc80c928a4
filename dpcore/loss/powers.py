"""Integrals of powers: what losses and the moments of laws are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def power_integral(power: float, lo: ArrayLike, hi: ArrayLike) -> Array:
    """∫_lo^hi x^power dx for 0 ≤ lo ≤ hi, elementwise, without cancellation for narrow intervals."""
    lo, hi = np.asarray(lo, dtype=float), np.asarray(hi, dtype=float)
    length: Array = hi - lo
    if power == 0:
        return length
    if power == 1:
        middle: Array = 0.5 * (hi + lo)
        return length * middle
    if power == 2:
        squares: Array = hi * hi + hi * lo + lo * lo
        return length * squares / 3
    q = power + 1
    narrow = hi - lo < lo
    near, ratio = np.where(narrow, lo, 1.0), np.where(narrow, hi - lo, 0.0)
    return np.where(narrow, near**q * np.expm1(q * np.log1p(ratio / near)), hi**q - lo**q) / q
