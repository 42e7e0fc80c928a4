"""Exact draws of noise for several coordinates: whole numbers and the operating system's cryptographic source only.

A law whose density depends on a norm alone, e^(−ε·level(‖t‖)), is a mixture of uniform laws on balls of that norm
(summation by parts). On a lattice the balls are cubes or diamonds of whole numbers of cells; their number of cells is
drawn by rejection from sums of geometric variables, with coins of rational bias (docs/vector.md, "Releases").
"""

from __future__ import annotations

import math
import secrets
from decimal import Context, Decimal
from fractions import Fraction

from ..exact import coin, draw_geometric

FINE = 1 << 60
"""Lattice steps to the sensitivity, or to the scale; a power of two, so that most staircases' γ·FINE is whole."""


def draw_laplace(rate: Fraction) -> int:
    """⌊X⌋ for X with density ∝ e^(−rate·|x|)."""
    distance = draw_geometric(rate)
    return distance if secrets.randbelow(2) else -distance - 1


def draw_cube(size: int, radius: int) -> list[int]:
    """A cell of the cube [−radius, radius)^size, all alike."""
    return [secrets.randbelow(2 * radius) - radius for _ in range(size)]


def draw_diamond(radius: int) -> list[int]:
    """A point of the plane with |x| + |y| < radius, all alike: in x + y and x − y a square's points of one parity."""
    while True:
        total, difference = (secrets.randbelow(2 * radius - 1) - radius + 1 for _ in range(2))
        if (total - difference) % 2 == 0:
            return [(total + difference) // 2, (total - difference) // 2]


def draw_smooth_radius(size: int, rate: Fraction) -> int:
    """R ≥ 1 with P(R) ∝ (2R)^size e^(−rate·R).

    With k = R − 1 a sum of m + 1 geometric variables has P(k) ∝ (k + 1)…(k + m) e^(−rate·k).
    """
    while True:
        k = sum(draw_geometric(rate) for _ in range(size + 1))
        if all(coin(Fraction(k + 1, k + j)) for j in range(2, size + 1)):
            return k + 1


def draw_stepped_radius(size: int, fall: Fraction, inner: int, period: int, *, diamond: bool = False) -> int:
    """R = inner + k·period, k ≥ 0, with P(k) ∝ cells(R)·fall^k: (2R)^size cells of a cube, 2R² − 2R + 1 of a diamond
    (size 2, inner ≥ 1), 0 ≤ inner ≤ period.

    k = 0 is a case of its own, because fall may be tiny. For k ≥ 1, with i = k − 1 and next = inner + period,
    R^m ≤ next·period^(m−1)·(i + 1)…(i + m), factor by factor, and the right-hand side is the law of a sum again.
    """
    whole = 2 if diamond else 2**size  # cells(R) ≤ whole·R^m
    cells = (lambda r: 2 * r * r - 2 * r + 1) if diamond else (lambda r: (2 * r) ** size)
    following = inner + period
    beyond = fall * whole * following * period ** (size - 1) * math.factorial(size) / (1 - fall) ** (size + 1)
    first = Fraction(cells(inner)) / (cells(inner) + beyond)
    while not coin(first):
        i = sum(_falls(fall) for _ in range(size + 1))
        radius = following + i * period
        if (
            coin(Fraction(radius, (i + 1) * following))
            and all(coin(Fraction(radius, (i + j) * period)) for j in range(2, size + 1))
            and coin(Fraction(cells(radius), whole * radius**size))
        ):
            return radius
    return inner


def fall_upper(epsilon: float) -> Fraction:
    """e^−ε rounded up to a multiple of 2^−128: levels that fall by this factor are ε-DP, and a little more private."""
    exponential = Decimal(-epsilon).exp(Context(prec=60))  # correctly rounded
    return Fraction(math.floor(Fraction(exponential) * 2**128) + 2, 2**128)


def _falls(fall: Fraction) -> int:
    """P(i) ∝ fall^i, i ≥ 0."""
    count = 0
    while coin(fall):
        count += 1
    return count
