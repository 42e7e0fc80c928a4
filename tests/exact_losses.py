"""Losses in exact arithmetic, read from their text once more: what an error costs, over a cell and under tails.

Numbers are the decimals that their text says (0.1 is a tenth). Whatever is not rational (powers, e^ε) is enclosed
between two rational numbers about 1e-50 apart. Nothing here comes from `dpcore`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from flint import arb, ctx, fmpq
from mpmath import iv
from mpmath.libmp import from_rational, round_ceiling, round_floor

iv.dps = 90

Bounds = tuple[Fraction, Fraction]
"""A number, enclosed."""


def exact(number: tuple) -> Fraction:
    """A number as mpmath holds it (sign, mantissa, exponent, bits) as the fraction that it is."""
    sign, mantissa, exponent, _ = number
    value = Fraction(mantissa) * Fraction(2) ** exponent
    return -value if sign else value


def ends(interval: iv.mpf) -> Bounds:
    """Both ends of an interval."""
    low, high = interval._mpi_
    return exact(low), exact(high)


def enclosed(low: Fraction | int, high: Fraction | int | None = None) -> iv.mpf:
    """The interval around one or two fractions. (Made by hand: iv.mpf rounds long whole numbers to nearest.)"""
    high = low if high is None else high
    below = from_rational(low.numerator, low.denominator, iv.prec, round_floor)
    return iv.make_mpf((below, from_rational(high.numerator, high.denominator, iv.prec, round_ceiling)))


@lru_cache(maxsize=4096)
def exp_bounds(x: Fraction) -> Bounds:
    """e^x."""
    return (Fraction(1), Fraction(1)) if x == 0 else ends(iv.exp(enclosed(x)))


@lru_cache(maxsize=1 << 16)
def power_bounds(x: Fraction, p: Fraction) -> Bounds:
    """x^p, x ≥ 0 < p."""
    if p.denominator == 1 or x == 0:
        value = x**p.numerator
        return value, value
    with ctx.workdps(60):
        base, power = (arb(fmpq(v.numerator, v.denominator)) for v in (x, p))
        value = base**power
        low, high = value.lower().man_exp(), value.upper().man_exp()
    return int(low[0]) * Fraction(2) ** int(low[1]), int(high[0]) * Fraction(2) ** int(high[1])


@dataclass(frozen=True)
class Piece:
    """constant + coefficient·|x|^power on (lo, hi), which does not contain 0; an end may be infinite."""

    lo: Fraction | float
    hi: Fraction | float
    constant: Fraction
    coefficient: Fraction = Fraction(0)
    power: Fraction = Fraction(1)

    def value(self, x: Fraction) -> Bounds:
        if not self.coefficient:
            return self.constant, self.constant
        low, high = sorted(self.coefficient * v for v in power_bounds(abs(x), self.power))
        return self.constant + low, self.constant + high

    def integral(self, a: Fraction, b: Fraction) -> Bounds:
        """∫_a^b for lo ≤ a ≤ b ≤ hi."""
        flat = self.constant * (b - a)
        if not self.coefficient:
            return flat, flat
        if self.power == 1:
            whole = flat + self.coefficient * (b - a) * abs(a + b) / 2
            return whole, whole
        near, far = sorted((abs(a), abs(b)))
        (f0, f1), (n0, n1) = power_bounds(far, self.power + 1), power_bounds(near, self.power + 1)
        low, high = sorted(self.coefficient * v / (self.power + 1) for v in (f0 - n1, f1 - n0))
        return flat + low, flat + high

    @property
    def mirrored(self) -> Piece:
        return Piece(-self.hi, -self.lo, self.constant, self.coefficient, self.power)


@dataclass(frozen=True)
class ExactLoss:
    """Pieces that tile the line; at a break the smaller of both values counts."""

    pieces: tuple[Piece, ...]

    @cached_property
    def breaks(self) -> list[Fraction]:
        return [piece.lo for piece in self.pieces[1:]]

    @cached_property
    def mirrored(self) -> ExactLoss:
        """x ↦ c(−x)."""
        return ExactLoss(tuple(piece.mirrored for piece in reversed(self.pieces)))

    @property
    def even(self) -> bool:
        return self.mirrored == self

    def value(self, x: Fraction) -> Bounds:
        near = self.pieces[bisect_left(self.breaks, x) : bisect_right(self.breaks, x) + 1]
        return min(piece.value(x) for piece in near)

    def integral(self, a: Fraction, b: Fraction) -> Bounds:
        """∫_a^b c(x) dx, a < b."""
        low = high = Fraction(0)
        for piece in self.pieces[bisect_right(self.breaks, a) : bisect_left(self.breaks, b) + 1]:
            one, two = piece.integral(max(a, piece.lo), min(b, piece.hi))
            low, high = low + one, high + two
        return low, high

    def geometric(self, ratio, start: Fraction, end: Fraction | None, period: Fraction, number: Callable):
        """Σ_{m ≥ 0} ratio^m ∫_{start + m·period}^{end + m·period} c, or Σ ratio^m c(start + m·period) without an end.

        ratio : in (0, 1), an interval; or a float for a rough value, with number = float instead of `enclosed`.
        Whole periods inside one piece are summed in closed form; for powers that are not whole, one by one until
        nothing is left, and a bound for the rest.
        """
        last = start if end is None else end
        total, m = number(Fraction(0)), 0
        for index, piece in enumerate(self.pieces):
            while True:  # periods that touch the end of the piece before, or this one's
                x, y = start + m * period, last + m * period
                if index + 1 < len(self.pieces) and x >= piece.hi and not (end is None and x == piece.hi):
                    break
                inside = x > piece.lo or (end is not None and x >= piece.lo)
                room = math.inf if math.isinf(piece.hi) else (piece.hi - y) / period
                count = room if math.isinf(room) else math.ceil(room) if end is None else math.floor(room) + 1
                if inside and count >= 1:
                    part = _run(piece, ratio, x, None if end is None else y, period, count, number)
                    total = total + ratio**m * part
                    if math.isinf(count):
                        return total
                    m += count
                else:
                    low, high = self.value(x) if end is None else self.integral(x, y)
                    total, m = total + ratio**m * (number(low) if number is float else number(low, high)), m + 1
        return total


def _run(piece: Piece, ratio, x: Fraction, y: Fraction | None, period: Fraction, count: int | float, number: Callable):
    """Σ_{m < count} ratio^m times the piece's value at x + m·period, or its integral from there to y + m·period."""
    total = piece.constant * (1 if y is None else y - x)
    value = number(total) * power_sum(0, ratio, count, number)
    if not piece.coefficient:
        return value
    if piece.power.denominator > 1:
        return value + number(piece.coefficient) * _direct(piece.power, ratio, x, y, period, count, number)
    p, sign = int(piece.power), 1 if piece.hi > 0 else -1
    if y is None:
        coefficients = [math.comb(p, j) * (sign * x) ** (p - j) for j in range(p + 1)]
    else:
        (near, far), q = (x, y) if sign > 0 else (-y, -x), p + 1
        coefficients = [math.comb(q, j) * (far ** (q - j) - near ** (q - j)) / q for j in range(q)]
    for j, coefficient in enumerate(coefficients):
        if coefficient:
            factor = number(piece.coefficient * coefficient * (sign * period) ** j)
            value = value + factor * power_sum(j, ratio, count, number)
    return value


def power_sum(j: int, ratio, count: int | float, number: Callable):
    """Σ_{0 ≤ m < count} m^j ratio^m, j ≤ 4."""
    if count != math.inf and count <= 8:
        return sum((number(Fraction(m**j)) * ratio**m for m in range(count)), number(Fraction(0)))
    nothing = number(Fraction(0))
    eulerian = ([1], [0, 1], [0, 1, 1], [0, 1, 4, 1], [0, 1, 11, 11, 1])
    whole = [
        sum((c * ratio**i for i, c in enumerate(eulerian[t])), nothing) / (1 - ratio) ** (t + 1) for t in range(j + 1)
    ]
    if count == math.inf:
        return whole[j]
    beyond = sum((math.comb(j, t) * number(Fraction(count)) ** (j - t) * whole[t] for t in range(j + 1)), nothing)
    return whole[j] - ratio**count * beyond


MOST_TERMS = 60_000


def _direct(
    p: Fraction, ratio, x: Fraction, y: Fraction | None, period: Fraction, count: int | float, number: Callable
):
    """Σ_{m < count} ratio^m |x + m·period|^p (or its integrals) term by term, what is left bounded by a whole power."""
    rate = -math.log(float(ratio if number is float else ends(ratio)[1]))
    terms = min(count, math.ceil(70 / rate))
    if terms > MOST_TERMS:
        raise OverflowError("too many terms")
    if number is float:
        return _rough(float(p), ratio, float(x), None if y is None else float(y), float(period), terms)
    unit = Piece(-math.inf, math.inf, Fraction(0), Fraction(1), p)
    total, weight = number(Fraction(0)), number(Fraction(1))
    for m in range(terms):
        a = x + m * period
        low, high = unit.value(a) if y is None else unit.integral(a, y + m * period)
        total = total + weight * number(low, high)
        weight = weight * ratio
    if terms < count:
        size = max(abs(x), abs(x if y is None else y)) + period * (terms + 1)
        bound = number(max(size, Fraction(1)) ** math.ceil(p) * (1 if y is None else y - x))
        # |x + (terms + m)·period| ≤ size·(1 + m)
        rest = bound * weight * sum(math.comb(4, t) * power_sum(t, ratio, math.inf, number) for t in range(5))
        total = total + enclosed(0, ends(rest)[1])
    return total


def _rough(p: float, ratio: float, x: float, y: float | None, period: float, terms: int) -> float:
    """That sum in floating point."""
    m = np.arange(terms)
    near = np.abs(x + m * period)
    parts = near**p if y is None else np.abs(np.abs(y + m * period) ** (p + 1) - near ** (p + 1)) / (p + 1)
    return float(ratio**m @ parts)


# From text ------------------------------------------------------------------------------------------------------


def two_sided(right: Iterable[Piece]) -> ExactLoss:
    right = tuple(right)
    return ExactLoss((*(piece.mirrored for piece in reversed(right)), *right))


def table(rows: Iterable[tuple[Fraction, Fraction]]) -> ExactLoss:
    """Linear between the rows, going on with the outer slopes."""
    rows = list(rows)
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in zip(rows, rows[1:])]
    cuts = sorted({x for x, _ in rows} | {Fraction(0)})
    pieces = []
    for lo, hi in zip([-math.inf, *cuts], [*cuts, math.inf]):
        inside = cuts[0] - 1 if math.isinf(lo) else cuts[-1] + 1 if math.isinf(hi) else (lo + hi) / 2
        segment = min(max(bisect_right([x for x, _ in rows], inside) - 1, 0), len(slopes) - 1)
        (x, y), slope = rows[segment], slopes[segment]
        pieces.append(Piece(lo, hi, y - slope * x, slope if inside > 0 else -slope))
    return ExactLoss(tuple(pieces))


def exact_loss(text: str) -> ExactLoss:
    """The loss that a text names (docs/cli.md, "Losses")."""
    family, _, rest = text.strip().partition(":")
    if family == "table":
        return table([tuple(Fraction(v) for v in row.split("=")) for row in rest.split(",")])
    numbers = [Fraction(v) for v in rest.split(":")] if rest else []
    one, inf = Fraction(1), math.inf
    if family in ("l1", "l2", "lp"):
        power = {"l1": one, "l2": Fraction(2)}.get(family) or numbers[0]
        return two_sided([Piece(Fraction(0), inf, Fraction(0), one, power)])
    if family in ("pinball", "asym"):
        below, above = numbers if family == "asym" else (1 - numbers[0], numbers[0])
        return ExactLoss((Piece(-inf, Fraction(0), Fraction(0), below), Piece(Fraction(0), inf, Fraction(0), above)))
    (t,) = numbers
    if family == "huber":
        outer = Piece(t, inf, -t * t / 2, t)
        return two_sided([Piece(Fraction(0), t, Fraction(0), one / 2, Fraction(2)), outer])
    assert family == "exceed", text
    return two_sided([Piece(Fraction(0), t, Fraction(0)), Piece(t, inf, one)])
