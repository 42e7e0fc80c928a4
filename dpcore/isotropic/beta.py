"""The Beta(k, k) law's distribution function with a proved error, for whole arrays.

I_u(k, k) = u^k (1 − u)^k/(k B(k, k)) Σ_n u^n Π_{i<n} (2k + i)/(k + 1 + i)  [DLMF 8.17.8] has positive
terms only, so that in double precision it errs by less than the number of its roundings; the factor in front comes from
ball arithmetic.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from . import balls
from .problem import Array

TERMS = 4000
"""More than the series ever takes for k ≤ 500 and u ≤ ½."""

ROUNDING = 2.0**-53
"""Relative size of one."""

NEAR, NEAREST = 2e-15, 2.0**-51
"""Shares may be off by so much, relatively: more than what computing them takes; and where they are the nearest floats
of exact ones."""

BLOCK = 20_000

LEAST = 1e-290
"""More than what underflow loses; smaller bounds are 0 and this."""


@lru_cache(maxsize=256)
def _front(twice: int) -> float:
    """4^−k/(k B(k, k)), k = twice/2, within four roundings."""

    def compute() -> balls.Ball:
        return 1 / (balls.ratio(twice, 2) * balls.complete_beta(twice) * balls.ratio(2, 1) ** twice)

    return balls.upper(compute, narrow=ROUNDING)


def _series(k: float, u: Array) -> tuple[Array, Array]:
    """(lower, upper) for 0 < u ≤ ½.

    The n-th term has 3n roundings and its sum n more. 4u(1 − u) has two, which the power multiplies by k; those of
    its logarithm x/k and of x, at most four units in the last place each, count |x| times; some 30 are left.
    """
    total, term = np.ones_like(u), np.ones_like(u)
    ratio = u
    n = 0
    while n < TERMS:
        ratio = np.maximum((2 * k + n) / (k + 1 + n), 1.0) * u
        term = term * ((2 * k + n) / (k + 1 + n) * u)
        total = total + term
        n += 1
        if n % 8 == 0 and bool((term * ratio <= 1e-17 * total * (1 - ratio)).all()):
            break
    tail = np.where(ratio < 1, term * ratio / np.maximum(1 - ratio, 1e-300), np.inf)
    exponent = k * np.log(4 * u * (1 - u))
    front = _front(round(2 * k)) * np.exp(exponent)
    slack = ROUNDING * (5 * n + 3 * k + 20 * np.abs(exponent) + 100)
    low, high = front * total * (1 - slack), front * (total + tail) * (1 + slack)
    return np.where(low < LEAST, 0.0, low), high + LEAST


def lower(dimension: int, share: Array, near: float = NEAR) -> Array:
    """A lower bound of P(U ≤ share), U of the Beta((d − 1)/2, (d − 1)/2) law, for all shares within a relative
    `near` of those given, which may lie outside [0, 1]. d = 1: U is 0 or 1, each with probability ½."""
    return _bound(dimension, share * (1 - near), upwards=False)


def upper(dimension: int, share: Array, near: float = NEAR) -> Array:
    """An upper bound of what `lower` bounds from below."""
    return _bound(dimension, share * (1 + near), upwards=True)


def _bound(dimension: int, share: Array, *, upwards: bool) -> Array:
    if dimension == 1:
        return np.where(share >= 1, 1.0, np.where(share >= 0, 0.5, 0.0))
    k = (dimension - 1) / 2
    flat = np.clip(share, 0.0, 1.0).ravel()
    found = np.where(flat >= 1, 1.0, 0.0)
    small = np.where(flat <= 0.5, flat, 1 - flat)  # exact: 1 − u is a float for u ≥ ½
    order = np.argsort(small, kind="stable")
    order = order[small[order] > 0]
    for start in range(0, len(order), BLOCK):  # like sizes together: they take as many terms
        part = order[start : start + BLOCK]
        low, high = _series(k, small[part])
        near = flat[part] <= 0.5
        found[part] = (
            np.where(near, high, (1 - low) * (1 + 2**-50)) if upwards else np.where(near, low, 1 - high - 2**-50)
        )
    return np.clip(found, 0.0, 1.0).reshape(share.shape)
