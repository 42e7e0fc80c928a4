"""Exact releases: integer arithmetic and the operating system's cryptographic source, never a float in between.

Grid laws draw from their whole numbers (`PiecewiseNoise.draw`). Here are the staircases, whose infinitely many steps
shrink by the irrational factor e^−ε, and the one entry for all. Sources: [GV14] for the staircase as a mixture,
[CKS20] = Canonne, Kamath, Steinke, The Discrete Gaussian for Differential Privacy, Alg. 1, for a coin of exact
bias e^−r made of rational coins.
"""

from __future__ import annotations

import secrets
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .noise.base import Noise


def release(noise: Noise, value: float) -> tuple[float | int, float]:
    """(private release of value as the nearest float, or an int on a lattice of whole numbers; lattice step).

    An atom is added to the value itself, other draws to the value rounded up to a lattice of which the sensitivity is
    a whole number of steps (`PiecewiseNoise.release`). Laws of a query with a granularity are added to the nearest
    multiple of it.

    Raises
    ------
    InputError : the law has no exact sampler.
    """
    return noise.release(value), noise.release_step


def draw_staircase(epsilon: Fraction, gamma: Fraction, atom: Fraction, points: int) -> int:
    """One exact draw of staircase noise of period `points` lattice points: 0 with probability `atom`, else one
    whose weight is e^(−ε·level), level = steps passed on the way from 0.

    The inner step is gamma·points long, rounded: that costs accuracy, never privacy, because any inner step
    gives levels that differ by at most 1 at points at most one period apart.
    """
    if atom and coin(atom):
        return 0
    inner = round(gamma * points)
    point = secrets.randbelow(points)
    while point >= inner and not exponential_coin(epsilon):
        point = secrets.randbelow(points)
    while exponential_coin(epsilon):
        point += points
    return point if secrets.randbelow(2) else -point - 1


def draw_discrete_staircase(rate: Fraction, rise: int, period: int) -> int:
    """One exact draw of the law with P(±i) ∝ e^(−rate·level(i)), level 0 for i < rise and one more every `period`."""
    while True:
        point = secrets.randbelow(period)
        while point >= rise and not exponential_coin(rate):
            point = secrets.randbelow(period)
        while exponential_coin(rate):
            point += period
        if secrets.randbelow(2):
            return point
        if point:  # 0 has no mirror image: half of its draws are drawn again
            return -point


def coin(probability: Fraction) -> bool:
    """True with exactly this probability."""
    return secrets.randbelow(probability.denominator) < probability.numerator


def exponential_coin(rate: Fraction) -> bool:
    """True with probability exactly e^−rate, rate ≥ 0 (Canonne, Kamath, Steinke 2020, Alg. 1)."""
    while rate > 1:
        if not exponential_coin(Fraction(1)):
            return False
        rate -= 1
    count = 1
    while coin(rate / count):
        count += 1
    return count % 2 == 1


def draw_geometric(rate: Fraction) -> int:
    """One exact draw of P(i) ∝ e^{−rate·i}, i ≥ 0 [CKS20, Alg. 2]: ⌊X/a⌋ for rate = a/b and P(X) ∝ e^{−X/b}."""
    a, b = rate.numerator, rate.denominator
    while not exponential_coin(Fraction(rest := secrets.randbelow(b), b)):
        pass
    multiple = 0
    while exponential_coin(Fraction(1)):
        multiple += 1
    return (rest + b * multiple) // a
