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

from .exact import draw_geometric, exponential_coin

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

    k has weight e^(−k/2)·e^(−k(k−1)/2) = e^(−k²/2), and x is kept with probability e^(−x(2k + x)/2), which is k + 1
    times e^(−x(2k + x)/(2k + 2)).
    """
    while True:
        k = 0
        while exponential_coin(Fraction(1, 2)):
            k += 1
        if k > 1 and not exponential_coin(Fraction(k * (k - 1), 2)):
            continue
        x = Uniform()
        if all(_kept(x, 2 * k) for _ in range(k + 1)):
            return 1 - 2 * secrets.randbits(1), k, x


def draw_double_exponential() -> tuple[int, int, Uniform]:
    """(sign, k, x): sign·(k + x) is one exact draw of the density e^(−|y|)/2; weight e^(−k), density of x ∝ e^(−x)."""
    k = 0
    while exponential_coin(Fraction(1)):
        k += 1
    while not _kept(x := Uniform()):
        pass
    return 1 - 2 * secrets.randbits(1), k, x


def _kept(x: Uniform, twice: int | None = None) -> bool:
    """True with probability e^(−x·p), p = (twice + x)/(twice + 2), without `twice` 1 [K16, Algorithm B; von Neumann]:
    n steps and more are made with probability (x·p)^n/n!, so their number is even with Σ (−x·p)^n/n!."""
    even, last = True, x
    while less(z := Uniform(), last) and (twice is None or _goes_on(x, twice)):
        even, last = not even, z
    return even


def _goes_on(x: Uniform, twice: int) -> bool:
    """True with probability (twice + x)/(twice + 2)."""
    part = secrets.randbelow(twice + 2)
    return part < twice or (part == twice and less(Uniform(), x))


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


def plus_normal(value: Fraction, scale: Fraction, step: Fraction, bits: int = 0) -> Fraction:
    """value + scale·Z, Z one exact draw of N(0, 1), rounded to the nearest multiple of the step.

    bits : see `grid_points`.
    """
    return _plus(value, scale, draw_normal(), step, bits)


def plus_laplace(value: Fraction, scale: Fraction, step: Fraction, bits: int = 0) -> Fraction:
    """value + scale·Y, Y one exact draw of the density e^(−|y|)/2, rounded to the nearest multiple of the step.

    bits : see `grid_points`.
    """
    return _plus(value, scale, draw_double_exponential(), step, bits)


def plus_multi_normal(
    value: Fraction, scale: Fraction, spacing: Fraction, epsilon: Fraction, step: Fraction, bits: int = 0
) -> Fraction:
    """value + spacing·K + scale·Z, K whole with P(K) ∝ e^(−epsilon·|K|), rounded to the nearest multiple of the step.

    K is the difference of two geometric numbers. bits : see `grid_points`.
    """
    place = draw_geometric(epsilon) - draw_geometric(epsilon)
    return _plus(value + place * spacing, scale, draw_normal(), step, bits)


def plus_quasi_normal(
    value: Fraction, scale: Fraction, spacing: Fraction, epsilon: Fraction, step: Fraction, bits: int = 0
) -> Fraction:
    """value + X, X of density ∝ e^epsilon φ(x/scale) + φ((|x| − spacing)/scale), rounded to the nearest multiple of the
    step.

    A third of all tries is a normal number around 0; of the others, one in e^epsilon is a normal number around
    ±spacing, and is kept where it has that sign. bits : see `grid_points`.
    """
    while True:
        if secrets.randbelow(3) == 0:
            return _plus(value, scale, draw_normal(), step, bits)
        if exponential_coin(epsilon):
            side, (outwards, k, x) = 1 - 2 * secrets.randbits(1), draw_normal()
            if outwards > 0 or _below(x, spacing / scale - k):
                return _plus(value + side * spacing, scale, (side * outwards, k, x), step, bits)


def _below(x: Uniform, bound: Fraction) -> bool:
    """x is less than a rational number, by as many bits as that takes."""
    bits = WORD
    while True:
        n, aim = x.first(bits), bound.numerator << bits
        if (n + 1) * bound.denominator <= aim:
            return True
        if n * bound.denominator >= aim:
            return False
        bits += WORD


def _plus(value: Fraction, scale: Fraction, drawn: tuple[int, int, Uniform], step: Fraction, bits: int) -> Fraction:
    """value + scale·sign·(k + x) on the grid."""
    sign, k, x = drawn
    ratio = scale / step

    def enclose(bits: int) -> list[tuple[int, int]]:
        least = (k << bits) + x.first(bits)
        low = ratio.numerator * least // ratio.denominator
        high = -(-ratio.numerator * (least + 1) // ratio.denominator)
        return [(low, high) if sign > 0 else (-high, -low)]

    return grid_points([value / step], enclose, bits)[0] * step


def grid_step(scale: Fraction) -> Fraction:
    """The largest power of two up to 2^−GRID_BITS of a positive scale."""
    power = scale.numerator.bit_length() - scale.denominator.bit_length()
    step = Fraction(2) ** (power - GRID_BITS)
    return step if step <= scale / 2**GRID_BITS else step / 2
