"""The least ε that (ε_i, δ_i)-DP mechanisms are certain to have together, when nothing else is known of them.

Randomized response that now and then tells all is the worst mechanism of a pair (ε_i, δ_i), so its products are the
worst compositions [Kairouz, Oh and Viswanath 2017]: δ(ε) = 1 − Π (1 − δ_i)·(1 − d(ε)), where d(ε) is the sum over the
2^k outcomes of their probability minus e^ε times that under the neighbour, where positive. Equal ε_i leave k + 1
different losses (their Theorem 3.3). Unequal ones make it a counting problem that is #P-complete [Murtagh and Vadhan
2016]: where they are multiples of a common divisor the sums are on a grid and the answer is exact; else the worst
mechanisms' losses are composed on a grid that dominates them (`truth`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .._validate import decimal
from ..loss import UNIT
from .losses import Composed
from .mechanisms import Promised, Release
from .truth import FINE, Truth

Array = NDArray[np.float64]

Group = tuple[float, float, int]
"""(ε, δ, how many)."""

MOST_OUTCOMES = 2_000_000
"""Grid points of the sums that are enumerated."""

MOST_TERMS = 2e8
"""Terms of the sums that are enumerated."""

UNSEEN = 1e-60
"""Probability of the outcomes of equal mechanisms that are not enumerated on either side: above they count as infinite,
below as the lowest that is."""


def worst_composition(groups: Sequence[Group]) -> Composed | None:
    """The composition of the worst mechanisms with these pairs, its δ(ε) and ε(δ) rounded up; None where its outcomes
    are too many."""
    kept = sum(count * math.log1p(-delta) if delta < 1 else -math.inf for _, delta, count in groups)
    step, multiples = _grid([(epsilon, count) for epsilon, _, count in groups if epsilon > 0])
    ranges = [_range(multiple * step, count) for multiple, count in multiples]
    lengths = [2 * multiple * len(j) for (multiple, _), j in zip(multiples, ranges)]
    later = sum(len(j) for j in ranges[1:])
    if sum(lengths) > MOST_OUTCOMES or sum(lengths) * later > MOST_TERMS:
        return None
    weights, first, relative, unseen = np.ones(1), 0, 0.0, 0.0
    for (multiple, count), j in zip(multiples, ranges):
        masses, error = _binomial(multiple * step, count, j)
        if len(j) <= count:
            masses[0], unseen = masses[0] + UNSEEN, unseen + UNSEEN
        out = np.zeros(len(weights) + 2 * multiple * (len(j) - 1))
        if len(weights) == 1:
            out[:: 2 * multiple] = masses
        else:
            for i, mass in enumerate(masses.tolist()):  # sums of positive terms: no cancellation, unlike transforms
                out[2 * multiple * i :][: len(weights)] += mass * weights
        weights, first = out, first + multiple * (2 * int(j[0]) - count)
        relative += error + 2 * (len(j) + 1) * UNIT
    with np.errstate(under="ignore"):
        weights = weights * math.exp(kept)
    relative += 4 * len(weights) * UNIT
    infinite = -math.expm1(kept) * (1 + 8 * UNIT) + 1e-300 if kept < 0 else 0.0
    return Composed(step, first, weights, 0.0, 0.0, min(infinite + unseen, 1.0), 0.0, True, relative)


def optimal_epsilon(groups: Sequence[Group], delta: float) -> float:
    """The least ε ≥ 0 at δ that all mechanisms with these pairs have together, rounded up; ∞ if there is none. One
    mechanism at its own δ: its own ε."""
    if not _reachable(groups, delta):
        return math.inf
    found = worst_composition(groups)
    return min(_truth(groups, delta).epsilon_upper(delta) if found is None else found.epsilon(delta), sum_upper(groups))


def optimal_delta(groups: Sequence[Group], epsilon: float) -> float:
    """The least δ at ε ≥ 0 that all mechanisms with these pairs have together, rounded up."""
    found = worst_composition(groups)
    return _truth(groups, 1e-12).delta(epsilon).upper if found is None else found.delta(epsilon)


def _truth(groups: Sequence[Group], delta: float) -> Truth:
    worst = [Release(Promised("", epsilon, one), count) for epsilon, one, count in groups]
    return Truth(worst, points=FINE, delta=max(delta, 1e-15))


def sum_upper(groups: Sequence[Group]) -> float:
    """Σ ε_i, rounded up, of the numbers that the shortest texts of the ε_i name: basic composition [Awan, Thm. 3.3]."""
    exact = sum((decimal(epsilon) * count for epsilon, _, count in groups), Fraction(0))
    found = float(exact)
    return found if decimal(found) >= exact else math.nextafter(found, math.inf)


def _reachable(groups: Sequence[Group], delta: float) -> bool:
    """1 − Π (1 − δ_i) ≤ delta, decided exactly where it is close."""
    kept = sum(count * math.log1p(-one) if one < 1 else -math.inf for _, one, count in groups)
    infinite = -math.expm1(kept)
    if abs(infinite - delta) > 1e-9 * delta:
        return infinite < delta
    if sum(count for *_, count in groups) > 2000:
        return False
    return 1 - math.prod((1 - Fraction(one)) ** count for _, one, count in groups) <= Fraction(delta)


def _grid(epsilons: list[tuple[float, int]]) -> tuple[float, list[tuple[int, int]]]:
    """(step, [(multiple, count)]), the largest count first: every ε is its multiple of the step, rounded up."""
    counts: dict[float, int] = {}
    for epsilon, count in epsilons:
        counts[epsilon] = counts.get(epsilon, 0) + count
    if len(counts) < 2:
        return next(iter(counts), 1.0), [(1, count) for count in counts.values()]
    exact = {epsilon: decimal(epsilon) for epsilon in counts}
    below = math.lcm(*(e.denominator for e in exact.values()))
    common = Fraction(math.gcd(*(int(e * below) for e in exact.values())), below)
    ordered = sorted(counts.items(), key=lambda one: -one[1])
    return float(common) * (1 + 2 * UNIT), [(int(exact[epsilon] / common), count) for epsilon, count in ordered]


def _range(epsilon: float, count: int) -> Array:
    """The numbers of losses +ε among 0 … count that are enumerated; either side of them has probability at most UNSEEN,
    e^(−2t²/count) at a distance t from the mean [Hoeffding]."""
    mean, far = count * special.expit(epsilon), math.sqrt(-0.5 * count * math.log(UNSEEN)) + 1
    return np.arange(max(math.floor(mean - far), 0), min(math.ceil(mean + far), count) + 1, dtype=float)


def _binomial(epsilon: float, count: int, j: Array) -> tuple[Array, float]:
    """(probabilities of j losses +ε and count − j losses −ε, their relative error): logarithms of factorials are right
    to a few units in the last place of the largest of them."""
    largest = special.gammaln(count + 1.0)
    choices = largest - special.gammaln(j + 1.0) - special.gammaln(count - j + 1.0)
    more, less = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
    error = 8 * UNIT * (3 * float(largest) + count * (1 - less) + 4)
    with np.errstate(under="ignore"):
        return np.exp(choices + j * more + (count - j) * less), error
