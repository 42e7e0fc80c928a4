"""How private and how accurate a radial law is, proved: sums of few terms in ball arithmetic, rounded up.

For every E ≥ 1 and |s| ≤ the sensitivity, ∫ (f(x) − E f(x − s))₊ dx = ∫₀^∞ vol({f > t} ∖ ({E f > t} + s)) dt, both sets
balls about their centres, and non-decreasing in |s| (docs/isotropic.md, "One shift"). A density constant on N
shells has at most 2N levels, each with one crescent of volume known in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from .._validate import decimal
from ..audit.growth import amplification_bounds
from ..noise.whole import TOTAL
from . import balls, beta
from .balls import Ball
from .law import RadialNoise
from .problem import RadialLoss

PART = 64
"""Levels between two calls of `look`: hundredths of a second in 1000 dimensions."""

CAPS = 1 << 13
"""Caps in double precision between two calls of `look`."""

NARROW = 1e-8
"""Relative width at which an answer with caps in double precision is good enough."""

Share = tuple[int, int]
"""Numerator and denominator of a cap's height as a share of the diameter."""


def delta_upper(
    noise: RadialNoise, epsilon: float, sensitivity: float | Fraction | None = None,
    look: Callable[[], object] = lambda: None,
) -> float:  # fmt: skip
    """δ(ε) over all shifts of at most a length (None: the law's own sensitivity), rounded up; ε ≥ 0.

    look : called now and then; what it raises ends the audit.
    """
    shift = Fraction(noise.resolution)
    if sensitivity is not None:
        length = sensitivity if isinstance(sensitivity, Fraction) else decimal(sensitivity)
        shift *= length / decimal(noise.sensitivity)
    growth = Fraction(amplification_bounds(epsilon)[0])
    atom = noise.atom_weight
    steps = _levels(noise, max(growth, Fraction(1)))
    finer, whole = shift.denominator, shift.numerator
    breaks, d = [b * finer for b in noise.breaks.tolist()], noise.dimension
    shares = [cuts(breaks[own], breaks[other], whole) for (own, other), _ in steps]

    def compute(caps: Iterator[Ball]) -> Ball:
        heights = [balls.ratio(w, 1) / balls.ratio(v, 1) for w, v in zip(noise.weights.tolist(), noise.volumes)]
        powers = [balls.ratio(b, 1) ** d for b in breaks]
        raised = balls.ratio(growth.numerator, growth.denominator)
        total = zero = balls.exact(0.0)
        heights.append(zero)
        for number, ((own, other), (high, low)) in enumerate(steps):
            if number % PART == 0:
                look()
            cut, volume = shares[number], zero
            if cut is not None:
                volume = powers[own] * next(caps) - powers[other] * next(caps)
            elif breaks[own] + breaks[other] <= whole:
                volume = powers[own]
            elif breaks[own] >= breaks[other] + whole:
                volume = powers[own] - powers[other]
            total += (_height(heights, high, raised) - _height(heights, low, raised)) * volume
        return (total / finer**d + atom) / TOTAL

    wanted = [share for cut in shares if cut is not None for share in cut]
    quick = balls.upper_or_none(lambda: compute(_caps(d, wanted, look)), 2.0**-62, NARROW)
    if quick is None:
        quick = balls.upper(lambda: compute(balls.cap(d, balls.ratio(*share)) for share in wanted), least=2.0**-62)
    return min(1.0, max(0.0, quick))


def _caps(dimension: int, shares: list[Share], look: Callable[[], object]) -> Iterator[Ball]:
    """`balls.cap` with the error that double precision leaves."""
    for begin in range(0, len(shares), CAPS):
        look()
        floats = np.array([p / q for p, q in shares[begin : begin + CAPS]])  # the nearest ones
        low, high = (bound(dimension + 2, floats, beta.NEAREST) for bound in (beta.lower, beta.upper))
        yield from map(balls.between, low.tolist(), high.tolist())


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


def cuts(a: int, b: int, s: int) -> tuple[Share, Share] | None:
    """Where the spheres of B(a) and B(b) + s·e meet: the caps of the two balls beyond the plane of their common sphere
    and on this side of it."""
    if a == 0 or b >= a + s or a + b <= s or a >= b + s:
        return None
    rest = a + s - b
    return (rest * (a + s + b), 4 * s * a), (rest * (a + b - s), 4 * s * b)


def crescent(dimension: int, a: int, b: int, s: int) -> Ball:
    """Volume of B(a) ∖ (B(b) + s·e): the cap of B(a) beyond the plane of the common sphere less the cap of B(b)."""
    if a == 0 or b >= a + s:
        return balls.exact(0.0)
    whole = balls.ratio(a, 1) ** dimension
    if a + b <= s:
        return whole
    inner = balls.ratio(b, 1) ** dimension
    found = cuts(a, b, s)
    if found is None:
        return whole - inner
    own, other = (balls.cap(dimension, balls.ratio(*share)) for share in found)
    return whole * own - inner * other


def loss_upper(noise: RadialNoise, loss: RadialLoss) -> float:
    """E c(|X|), rounded up, in the query's unit; the atom costs nothing."""
    d, breaks, weights = noise.dimension, noise.breaks.tolist(), noise.weights.tolist()
    unit = decimal(noise.sensitivity) / noise.resolution
    far = None if loss.beyond is None else decimal(loss.beyond) / unit
    if far is not None and far >= breaks[-1]:
        return 0.0

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

    found = balls.upper(compute, least=2.0**-62)
    return found if far is None else min(1.0, found)
