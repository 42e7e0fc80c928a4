"""How private and how accurate a radial law is, proved: sums of few terms in ball arithmetic, rounded up.

For every E ≥ 1 and |s| ≤ the sensitivity, ∫ (f(x) − E f(x − s))₊ dx = ∫₀^∞ vol({f > t} ∖ ({E f > t} + s)) dt, both sets
balls about their centres, and non-decreasing in |s| (docs/isotropic.md, "One shift"). A density constant on N
shells has at most 2N levels, each with one crescent of volume known in closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from .._validate import decimal
from ..audit.growth import amplification_bounds
from ..noise.whole import TOTAL
from . import balls
from .balls import Ball
from .law import RadialNoise
from .problem import RadialLoss

PART = 64
"""Levels between two calls of `look`: hundredths of a second in 1000 dimensions."""


def delta_upper(
    noise: RadialNoise, epsilon: float, sensitivity: float | None = None, look: Callable[[], object] = lambda: None
) -> float:
    """δ(ε) over all shifts of at most a length (None: the law's own sensitivity), rounded up; ε ≥ 0.

    look : called now and then; what it raises ends the audit.
    """
    shift = Fraction(noise.resolution)
    if sensitivity is not None:
        shift *= decimal(sensitivity) / decimal(noise.sensitivity)
    growth = Fraction(amplification_bounds(epsilon)[0])
    atom = noise.atom_weight
    steps = _levels(noise, max(growth, Fraction(1)))
    finer, whole = shift.denominator, shift.numerator
    breaks = [b * finer for b in noise.breaks.tolist()]
    d = noise.dimension

    def compute() -> Ball:
        volumes = [balls.ratio(v, 1) for v in noise.volumes]
        heights = [balls.ratio(w, 1) / v for w, v in zip(noise.weights.tolist(), volumes)]
        raised = balls.ratio(growth.numerator, growth.denominator)
        zero = balls.exact(0.0)
        heights.append(zero)
        total = zero
        for number, ((own, other), (high, low)) in enumerate(steps):
            if number % PART == 0:
                look()
            width = _height(heights, high, raised) - _height(heights, low, raised)
            total += width * crescent(d, breaks[own], breaks[other], whole)
        return (total / finer**d + atom) / TOTAL

    return min(1.0, max(0.0, balls.upper(compute, least=2.0**-62)))


Level = tuple[bool, int]
"""(of E f rather than of f, shell)."""


def _height(heights: list[Ball], level: Level, raised: Ball) -> Ball:
    return heights[level[1]] * raised if level[0] else heights[level[1]]


def _levels(noise: RadialNoise, growth: Fraction) -> list[tuple[tuple[int, int], tuple[Level, Level]]]:
    """((i, j), (top, bottom)): between the two levels {f > t} is the ball out to break i and {E f > t} that to j.
    Their order is decided in whole numbers."""
    volumes, weights = noise.volumes, noise.weights.tolist()
    p, q = growth.numerator, growth.denominator
    count = len(weights)
    found: list[tuple[tuple[int, int], tuple[Level, Level]]] = []
    own = other = 0  # levels passed on the way down
    last: Level = (True, 0)
    while own < count:
        # Is E f of the next shell at or above f of the next shell?
        if other < count and p * weights[other] * volumes[own] >= q * weights[own] * volumes[other]:
            reached: Level = (True, other)
        else:
            reached = (False, own)
        if own:
            found.append(((own, other), (last, reached)))
        last = reached
        if reached[0]:
            other += 1
        else:
            own += 1
    # Below the last level of f both sets are the whole ball: of the same radius, and E f still positive.
    while other < count:
        found.append(((own, other), (last, (True, other))))
        last = (True, other)
        other += 1
    found.append(((own, other), (last, (False, count))))
    return found


def crescent(dimension: int, a: int, b: int, s: int) -> Ball:
    """Volume of B(a) ∖ (B(b) + s·e): the cap of B(a) beyond the plane of the common sphere less the cap of B(b)."""
    if a == 0 or b >= a + s:
        return balls.exact(0.0)
    whole = balls.ratio(a, 1) ** dimension
    if a + b <= s:
        return whole
    inner = balls.ratio(b, 1) ** dimension
    if a >= b + s:
        return whole - inner
    own = balls.cap(dimension, balls.ratio((a + s - b) * (a + s + b), 4 * s * a))
    other = balls.cap(dimension, balls.ratio((a + s - b) * (a + b - s), 4 * s * b))
    return whole * own - inner * other


def loss_upper(noise: RadialNoise, loss: RadialLoss) -> float:
    """E c(|X|), rounded up, in the query's unit; the atom costs nothing."""
    d, breaks, weights = noise.dimension, noise.breaks.tolist(), noise.weights.tolist()
    unit = decimal(noise.sensitivity) / noise.resolution
    far = None if loss.beyond is None else decimal(loss.beyond) / unit

    def compute() -> Ball:
        total = balls.exact(0.0)
        if far is None:
            power = balls.exact(loss.power)
            grown = [balls.ratio(b, 1) ** (d + power) for b in breaks]
            for weight, volume, lo, hi in zip(weights, noise.volumes, grown, grown[1:]):
                total += weight * (hi - lo) / volume
            scale = balls.ratio(unit.numerator, unit.denominator) ** power
            return total * scale * d / (d + power) / TOTAL
        cut = balls.ratio(far.numerator, far.denominator) ** d
        for weight, volume, lo, hi in zip(weights, noise.volumes, breaks, breaks[1:]):
            if hi > far:
                total += weight * ((balls.ratio(hi, 1) ** d - cut) / volume if lo < far else balls.exact(1.0))
        return total / TOTAL

    return balls.upper(compute, least=2.0**-62)
