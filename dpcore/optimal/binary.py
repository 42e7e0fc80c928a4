"""What one release must keep if many together are (ε, δ)-DP: the yes-or-no answers computed from each of them compose.

Let an event have probability a under one data set and b under its neighbour. The answers "did it happen?" of T releases
are post-processing, so T-fold composition of the coins (a, b) is (ε, δ)-DP, in both directions. Hence the curve of one
release is at most t(ε′) = max {a − e^ε′ b : the coins (a, b) compose}, an upper bound of which is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..privacy import DELTA_RANGE, Privacy
from ..privacy_profile import Composed
from ..search import bisections
from .lattice import Array

ROUNDS, GRID = 6, 600
"""Refinements of the intervals of b among which the largest a − e^ε′ b is, and how many there are at first."""

TAIL_ERROR = 1e-10
"""Relative error allowed to scipy's binomial tails (tests: below 1e-12)."""


def binary_pairs(
    profile: Composed, places: tuple[float, ...], stop: Callable[[], bool] = lambda: False
) -> tuple[Privacy, ...]:
    """Pairs that one release keeps: (ε′, t(ε′)), t rounded up, at ε′ = μz for the given z (its own pair if
    none of them says anything); those found until `stop`, asked every few hundredths of a second, says so."""
    small = np.geomspace(1e-9, 0.5, GRID // 2)  # finer near 0 and 1, where the partner is steep
    edges = np.unique(np.concatenate([[0.0], small, 1 - small, [1.0]]))
    most = largest_partner(profile, edges)
    out = []
    for z in places:
        if stop():
            break
        epsilon = profile.sufficient.mu * z
        delta = _refined(profile, edges, most, math.exp(epsilon), stop) * (1 + 1e-12) + 1e-15  # a few roundings
        if delta <= DELTA_RANGE[1]:  # a larger one says less than a pair can
            out.append(Privacy(epsilon, max(delta, DELTA_RANGE[0])))
    return tuple(out) or (profile.privacy,)


def _refined(profile: Composed, edges: Array, most: Array, growth: float, stop: Callable[[], bool]) -> float:
    """An upper bound of max a − growth·b. a*(b) does not fall with b (move b's data set towards a's at random), so on
    [b, b′] it is at most a*(b′) − growth·b."""
    low, high, top = edges[:-1], edges[1:], most[1:]
    for _ in range(ROUNDS):
        reached = float((top - growth * high).max())
        bound = top - growth * low
        kept = bound > reached
        if not kept.any() or bound.max() - reached <= 1e-4 * max(reached, 1e-12):  # closer than the program's answer is
            break
        if stop():
            break
        low, high, top = low[kept], high[kept], top[kept]
        parts = max(2, min(8, 2000 // len(low)))
        inner = low[:, None] + (high - low)[:, None] * np.arange(1, parts + 1) / parts
        before = np.concatenate([low[:, None], inner[:, :-1]], axis=1)
        low, high = before.ravel(), np.minimum(inner.ravel(), 1.0)
        top = largest_partner(profile, high)
    return float(max((top - growth * low).max(), 0.0))


def largest_partner(profile: Composed, b: Array) -> Array:
    """a*(b): the coins (a, b) compose to (ε, δ) in both directions for no a above it; rounded up."""
    passes = lambda a: composed_delta_lower(profile, a, b) <= profile.privacy.delta  # noqa: E731
    return bisections(passes, b, np.ones_like(b), rounds=45)[1]


def composed_delta_lower(profile: Composed, a: Array, b: Array) -> Array:
    """The larger hockey-stick divergence of T coins (a, b), a ≥ b, of the two directions, rounded down.

    The loss grows with the number of successes, so the worst event is "at least n of T", a tail of binomial laws.
    """
    return np.maximum(_one_direction(profile, a, b), _one_direction(profile, 1 - b, 1 - a))


def _one_direction(profile: Composed, a: Array, b: Array) -> Array:
    from scipy.special import betainc

    T, epsilon = profile.releases, profile.privacy.epsilon
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = np.log(a) - np.log(b), np.log1p(-a) - np.log1p(-b)
        first = np.where(b <= 0, 1.0, np.where(a >= 1, T, np.ceil((epsilon - T * down) / (up - down))))
    first = np.clip(np.nan_to_num(first, nan=T + 1.0, posinf=T + 1.0, neginf=0.0), 0, T + 1)
    inside = (first >= 1) & (first <= T)
    n = np.where(inside, first, 1.0)
    tail: Callable[[Array], Array] = lambda p: np.where(inside, betainc(n, T - n + 1, p), np.where(first < 1, 1.0, 0.0))  # noqa: E731
    own, other = tail(a), math.exp(epsilon) * tail(b)
    return own - other - TAIL_ERROR * (own + other)
