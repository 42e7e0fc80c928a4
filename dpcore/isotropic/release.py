"""Exact releases with radial noise: value + X, correctly rounded to a grid (docs/method.md, "Releases").

X is the centre with the atom's probability, or radius·direction: a shell by whole-number weights, in it the radius
(lo^d + u (hi^d − lo^d))^(1/d), u uniform, and as its direction a vector of exact normal draws over its length. All of
it is evaluated in balls from lazily drawn bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from .._validate import decimal
from ..errors import InputError
from ..noise.ladder import chosen
from ..rounded import Uniform, draw_normal, grid_points, grid_step
from .balls import Ball, arb, ctx
from .law import RadialNoise


def grid_of(noise: RadialNoise) -> Fraction:
    """The step of the grid on which releases lie, a power of two far below the sensitivity."""
    return grid_step(decimal(noise.sensitivity))


def extra_error(noise: RadialNoise) -> float:
    """h√d/2, in the query's unit: how much rounding adds at most to the root mean square error, and to the mean."""
    return float(grid_of(noise)) * math.sqrt(noise.dimension) / 2


def release(noise: RadialNoise, value: Sequence[Fraction | float], *, bits: int = 0) -> list[Fraction]:
    """One private release: the grid point nearest to value + X, X one exact draw of the law.

    Parameters
    ----------
    value : (dimension,) the true answer in the query's unit; a float is the decimal that it shows, 0.1 a tenth.
    bits : of the first enclosure, see `rounded.grid_points`. They do not change the answer.

    Returns
    -------
    list of Fraction, (dimension,)
        Multiples of `grid_of(noise)`. Every call spends the privacy once more.

    Raises
    ------
    InputError : another number of coordinates, or one that is not finite.
    MissingExtraError : python-flint is not installed.
    """
    if len(value) != noise.dimension:
        raise InputError("value", f"{len(value)} numbers", f"{noise.dimension} numbers, one per coordinate")
    exact = [_rational(one, i) for i, one in enumerate(value)]
    step = grid_of(noise)
    unit = decimal(noise.sensitivity) / noise.resolution / step
    points = noisy_points(
        [one / step for one in exact], noise.dimension, noise.ladder, noise.breaks.tolist(), unit, bits
    )  # fmt: skip
    return [point * step for point in points]


def _rational(value: Fraction | float, i: int) -> Fraction:
    if isinstance(value, Fraction):
        return value
    try:
        return decimal(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"value[{i}]", value, "a finite number") from None


def noisy_points(
    places: Sequence[Fraction], dimension: int, ladder: list[int], breaks: list[int], unit: Fraction, bits: int
) -> list[int]:
    """The grid points nearest to places + X, in grid steps; `unit` grid steps make a unit of the breaks, `ladder` holds
    the cumulative weights, the atom's first."""
    shell = chosen(ladder)
    if not shell:
        return grid_points(places, lambda bits: [(0, 0)] * dimension, bits)
    inner, outer = breaks[shell - 1] ** dimension, breaks[shell] ** dimension
    share, normals = Uniform(), [draw_normal() for _ in range(dimension)]

    def enclose(bits: int) -> list[tuple[int, int]]:
        with ctx.workprec(bits):
            radius = (inner + (outer - inner) * between(share.first(bits), bits)).root(dimension)
            axes = [sign * (k + between(x.first(bits), bits)) for sign, k, x in normals]
            length = sum((axis * axis for axis in axes), arb(0)).sqrt()
            scale = radius * unit.numerator / (unit.denominator * length)
            return [ends(scale * axis, bits) for axis in axes] if scale.is_finite() else []

    return grid_points(places, enclose, bits)


def between(n: int, bits: int) -> Ball:
    """The ball of all numbers from n/2^bits to (n + 1)/2^bits."""
    return arb((2 * n + 1, -bits - 1), (1, -bits - 1))


def ends(ball: Ball, bits: int) -> tuple[int, int]:
    """(low, high), low ≤ x·2^bits ≤ high for every x of a ball."""
    low, high = (
        (int(man), int(exp) + bits) for man, exp in (ball.lower().man_exp(), (-ball).lower().man_exp())
    )  # fmt: skip
    return floor_shift(*low), -floor_shift(*high)


def floor_shift(number: int, bits: int) -> int:
    """⌊number·2^bits⌋"""
    return number << bits if bits >= 0 else number >> -bits
