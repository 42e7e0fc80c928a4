"""Correctly rounded releases: the nearest point of a fixed grid to value + X, X real, without an error of rounding.

What is released is a function of the ideal real sum, so it is as private as the ideal law, whatever the value and the
grid are (docs/method.md, "Releases"). X is known through lazily drawn bits: where an enclosure of value + X crosses the
boundary between two grid points, more bits of the same numbers are drawn and it is enclosed again. Sources: [K16] =
Karney, Sampling Exactly from the Normal Distribution, ACM TOMS 42(1), 2016, for normal variables; Haney et al.,
Precision-based attacks and interval refining, arXiv 2207.13793, for the refinement in one dimension.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

from .exact import exponential_coin

GRID_BITS = 40
"""A grid step is at most 2^−40 of the sensitivity or the standard deviation: nothing to see beside the noise, and a
float holds grid points out to thousands of times that."""

FIRST_BITS = 128
"""Bits of every number in the first enclosure: about one release in 2^70 needs more."""

WORD = 64
"""Bits that are drawn at once while numbers are compared."""


class Uniform:
    """A real number uniform on [0, 1] of which `bits` bits have been drawn so far."""

    __slots__ = ("bits", "known")

    def __init__(self) -> None:
        self.bits = self.known = 0

    def first(self, bits: int) -> int:
        """n with n ≤ number·2^bits ≤ n + 1."""
        if bits > self.bits:
            more = bits - self.bits
            self.known, self.bits = self.known << more | secrets.randbits(more), bits
        return self.known >> (self.bits - bits)


def less(one: Uniform, other: Uniform) -> bool:
    """Which of two numbers is the smaller one, by as many bits as that takes."""
    bits = WORD
    while (a := one.first(bits)) == (b := other.first(bits)):
        bits += WORD
    return a < b


def draw_normal() -> tuple[int, int, Uniform]:
    """(sign, k, x): sign·(k + x) is one exact draw of N(0, 1) [K16, Algorithm N]; the bits of x not drawn yet are
    still uniform, because decisions look at bits that have been drawn only.

    k has weight e^(−k/2)·e^(−k(k−1)/2) = e^(−k²/2), and x is kept with probability e^(−x(2k + x)/2).
    """
    while True:
        k = 0
        while exponential_coin(Fraction(1, 2)):
            k += 1
        if k > 1 and not exponential_coin(Fraction(k * (k - 1), 2)):
            continue
        x = Uniform()
        if all(_kept(k, x) for _ in range(k + 1)):
            return 1 - 2 * secrets.randbits(1), k, x


def _kept(k: int, x: Uniform) -> bool:
    """True with probability e^(−x(2k + x)/(2k + 2)) [K16, Algorithm B]: the number of steps is at least n with
    probability (x·p)^n/n!, p = (2k + x)/(2k + 2), and even with Σ (−x·p)^n/n!."""
    even, last = True, x
    while True:
        z = Uniform()
        if not less(z, last):
            return even
        j = secrets.randbelow(2 * k + 2)
        if j > 2 * k or (j == 2 * k and not less(Uniform(), x)):
            return even
        even, last = not even, z


def grid_points(
    places: Sequence[Fraction], enclose: Callable[[int], Sequence[tuple[int, int]]], bits: int = 0
) -> list[int]:
    """The whole numbers nearest to places + X, both in grid steps; of two as near the larger one.

    enclose : bits → (low, high) with low ≤ X_i·2^bits ≤ high for every i, the same X whatever the bits are; nothing
        where so few bits enclose nothing. Intervals shrink to a point as the bits grow.
    bits : of the first enclosure, 0 for as many as are usual. They do not change the answer.
    """
    bits = bits or FIRST_BITS
    while True:
        found = []
        for place, (low, high) in zip(places, enclose(bits)):
            own, whole = 2 * place.numerator + place.denominator << bits, 2 * place.denominator
            least, most = ((own + end * whole) // (whole << bits) for end in (low, high))
            if least != most:
                break
            found.append(least)
        if len(found) == len(places):
            return found
        bits *= 2


def plus_normal(value: Fraction, sigma: Fraction, step: Fraction, bits: int = 0) -> Fraction:
    """value + sigma·Z, Z one exact draw of N(0, 1), rounded to the nearest multiple of the step.

    bits : see `grid_points`.
    """
    sign, k, x = draw_normal()
    scale = sigma / step

    def enclose(bits: int) -> list[tuple[int, int]]:
        least = (k << bits) + x.first(bits)
        low = scale.numerator * least // scale.denominator
        high = -(-scale.numerator * (least + 1) // scale.denominator)
        return [(low, high) if sign > 0 else (-high, -low)]

    return grid_points([value / step], enclose, bits)[0] * step


def grid_step(scale: Fraction) -> Fraction:
    """The largest power of two up to 2^−GRID_BITS of a positive scale."""
    power = scale.numerator.bit_length() - scale.denominator.bit_length()
    step = Fraction(2) ** (power - GRID_BITS)
    return step if step <= scale / 2**GRID_BITS else step / 2
