"""Exact releases of several coordinates: whole numbers and the operating system's cryptographic source only.

A law whose density depends on a norm alone, e^(−ε·level(‖t‖)), is a mixture of uniform laws on balls of that norm
(summation by parts). On a lattice the balls are cubes or diamonds of whole numbers of cells; their number of cells is
drawn by rejection from sums of geometric variables, with coins of rational bias (docs/vector.md, "Releases").
"""

from __future__ import annotations

import math
import secrets
from decimal import Context, Decimal
from fractions import Fraction

from ..exact import coin, draw_geometric, draw_staircase
from ..noise.ladder import chosen, point_of
from ..rounded import grid_step, plus_normal

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

    def cells(r: int) -> int:
        count: int = 2 * r * r - 2 * r + 1 if diamond else (2 * r) ** size
        return count

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


# Parts of an answer -----------------------------------------------------------------------------------
#
# (steps drawn, length of a step) of each coordinate, `fine` steps to the sensitivity or the scale. Plain numbers go in,
# so that exported scripts carry these functions as they are.


def laplace_steps(scales: list[float], resource: float, fine: int) -> list[tuple[int, Fraction]]:
    """Laplace noise of these scales β_i; resource R ≥ Σ |d_i|/β_i for every change d.

    A step is β_i/N. Rounding makes Σ |d_i|/step_i at most N·R + n; a rate of 1/(N + n/R) a step makes R of that again.
    """
    rate = Fraction(1, fine + math.ceil(len(scales) / Fraction(resource)))
    return [(draw_laplace(rate), Fraction(scale) / fine) for scale in scales]


def block_steps(
    sensitivities: list[float], ends: list[int], budgets: list[float], gammas: list[float | None], fine: int
) -> list[tuple[int, Fraction]]:
    """Blocks that end at `ends`, densities ∝ e^(−budget·level(max_i |t_i|/λ_i)); gamma None: level(ρ) = ρ."""
    out, start = [], 0
    for end, budget, gamma in zip(ends, budgets, gammas):
        points, cells = drawn_block(end - start, budget, gamma, fine)
        out += [(cell, Fraction(value) / points) for value, cell in zip(sensitivities[start:end], cells)]
        start = end
    return out


def drawn_block(size: int, budget: float, gamma: float | None, fine: int) -> tuple[int, list[int]]:
    """(steps to the sensitivity, cells). One coordinate: the very law of the accountant, rounded down to the lattice;
    a larger block: an ε-DP law within 2⁻⁶⁰ of the one displayed."""
    if gamma is None:
        rate = Fraction(budget) / fine
        return fine, [draw_laplace(rate)] if size == 1 else draw_cube(size, draw_smooth_radius(size, rate))
    points = max(fine, Fraction(gamma).denominator)  # both powers of two: γ·points is whole
    if size == 1:
        return points, [draw_staircase(Fraction(budget), Fraction(gamma), Fraction(0), points)]
    radius = draw_stepped_radius(size, fall_upper(budget), int(Fraction(gamma) * points), points)
    return points, draw_cube(size, radius)


def plane_steps(total: float, epsilon: float, gamma: float, fine: int) -> list[tuple[int, Fraction]]:
    """Two coordinates with the density ∝ e^(−ε·level(‖t‖₁/Δ₁)), Δ₁ = total.

    Rounding down moves a pair by at most N + 1 steps of Δ₁/N, so that is the width of the levels.
    """
    inner = max(1, round(gamma * fine))
    radius = draw_stepped_radius(2, fall_upper(epsilon), inner, fine + 1, diamond=True)
    return [(steps, Fraction(total) / fine) for steps in draw_diamond(radius)]


def cell_steps(
    sensitivities: list[float], ladder: list[int], breaks: list[int], atom: int, resolution: int, fine: int
) -> list[tuple[int, Fraction]]:
    """λ_i times a law of cells between `breaks`, in units of 1/resolution, with the point `atom`; `ladder` holds the
    cumulative weights, the atom's first."""
    out = []
    for value in sensitivities:
        cell = chosen(ladder)
        drawn = point_of(breaks[cell - 1], breaks[cell], fine) if cell else atom * fine
        out.append((drawn, Fraction(value) / (resolution * fine)))
    return out


def staircase_steps(
    sensitivities: list[float], epsilon: float, gamma: float, atom: float, fine: int
) -> list[tuple[int, Fraction]]:
    """λ_i times staircase noise with an atom at 0."""
    points = max(fine, Fraction(gamma).denominator)
    law = Fraction(epsilon), Fraction(gamma), Fraction(atom)
    return [(draw_staircase(*law, points), Fraction(value) / points) for value in sensitivities]


def noisy(value: float, drawn: int, step: Fraction) -> float:
    """The value, rounded down to the lattice, plus the steps drawn, as the nearest float."""
    return float((Fraction(value) // step + drawn) * step)


def with_normal(value: float, sigma: float) -> float:
    """The value plus Gaussian noise, their sum rounded correctly to a grid, as the nearest float."""
    scale = Fraction(sigma)
    return float(plus_normal(Fraction(value), scale, grid_step(scale)))
