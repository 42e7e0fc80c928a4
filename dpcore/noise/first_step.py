"""Where the first step of the best staircase ends, for even losses that grow away from 0 [Thm 8].

With G of `noise.pure`, the staircase whose first step ends at u pays (1 − b) V(u), V(u) the mean of G with weight 1
below u and b = e^−ε above. V falls while G(u) < V(u) and rises after that: the end lies where G passes V.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ..loss import UNIT
from ..search import bisection, whole_half
from .periods import MOST, Side
from .pure import pure_lower

CLOSE = 1e-7
"""Relative error of a best end: the mean is flat there, and bounds lose the square of it."""

WIDTHS = (0.0, 1e-13, 1e-10, CLOSE)
"""Brackets around an end, relatively: narrow ones lose little, wide ones hide what a steep loss makes of rounding."""


@dataclass(frozen=True)
class FirstStep:
    """end : of the best step found, in units of the side.   lower : what every law that is (ε, 0)-DP pays at least."""

    end: float
    lower: float


@lru_cache(maxsize=256)
def first_step(side: Side) -> FirstStep:
    """The best first step of a staircase about 0 for an even loss that grows, and the certified lower bound."""
    if side.sums()[0][0] == 0:  # nothing that a float can hold
        return FirstStep((side.period + 1) // 2 if side.lattice else 0.5, 0.0)
    if side.lattice:
        rise = _best_rise(side)
        return FirstStep(rise, pure_lower(side, rise, rise))
    brackets = _brackets(side)
    ends = [end for pair in brackets for end in pair if end > 0]
    best = min(ends, key=lambda end: float(f"{_means(side, end)[1]:.12g}"))  # the first where rounding is all
    return FirstStep(best, max(pure_lower(side, *pair) for pair in brackets))


def _means(side: Side, end: float) -> tuple[float, float]:
    """Bounds of V, but for a few roundings."""
    inside, outside = side.sums(end)
    weight = end + side.decay * (side.period - end)
    twice = 0.5 * float(side.loss.value(0.0)) if side.lattice else 0.0
    if side.lattice:
        weight -= 0.5 * side.rest
    low, high = (one + side.decay * other - twice for one, other in zip(inside, outside))
    return low / weight, high / weight


def _excess(side: Side, end: float) -> tuple[float, int]:
    """(G − V at the end of a step, its sign or 0 where rounding hides it)."""
    (low, high), (below, above) = side.at(end), _means(side, end)
    return 0.5 * (low + high - below - above), (low > above) - (high < below)


def _best_rise(side: Side) -> int:
    """The first r with G(r) ≥ V(r)."""
    return bisection(lambda r: _excess(side, r)[0] >= 0, side.period, 0, mean=whole_half)[0]


def _places(side: Side) -> list[float]:
    """0, 1 and in between, in turn, just before and just after each kink of G, where it may jump: ends of steps at
    breaks of the loss, as well as floats tell; kinks that they do not tell apart count as one."""
    kinks = sorted((x % 1.0, 32 * UNIT * x) for x in side.loss.breaks.tolist() if 0 < x * side.epsilon < MOST)
    out = [0.0]
    for kink, blur in kinks:
        if not 0 < kink - blur < kink + blur < 1:
            continue
        if kink - blur > out[-1] + 32 * blur * (len(out) > 1):
            out += [kink - blur, kink + blur]
        else:
            out[-1] = max(out[-1], kink + blur)
    return [*out, 1.0]


def _brackets(side: Side) -> list[tuple[float, float]]:
    """Pairs of ends of which one encloses the best: halving finds the kink of G, or the two neighbouring kinks between
    which false position finds the place."""
    places = _places(side)
    low, high = bisection(lambda i: _excess(side, places[i])[1] < 0, 0, len(places) - 1, mean=whole_half)
    a, b = places[low], places[high]
    if low % 2:  # before and after one kink
        return [(a, b)]
    end = _root(side, a, b)
    return [*((max(a, end * (1 - width)), min(b, end * (1 + width))) for width in WIDTHS), (a, b)]


def _root(side: Side, a: float, b: float) -> float:
    """Where G passes V between two ends, to a relative `CLOSE`: by Chandrupatla's mixture of halving and inverse
    quadratic interpolation, in x = end/(end + e^(−ε/2)), for best steps are about e^(−ε/2) long or much longer."""
    scale = math.exp(-side.epsilon / 2)
    to_end: Callable[[float], float] = lambda x: scale * x / (1 - x)  # noqa: E731
    x0, x1 = a / (a + scale), b / (b + scale)
    f0, f1 = _excess(side, a)[0], _excess(side, b)[0]
    share = 0.5
    for _ in range(100):
        x = x0 + share * (x1 - x0)
        f, sign = _excess(side, to_end(x))
        if sign == 0:
            break
        if (f < 0) == (f0 < 0):
            x2, f2 = x0, f0
        else:
            x2, x1, f2, f1 = x1, x0, f1, f0
        x0, f0 = x, f
        if abs(x1 - x0) <= 0.5 * CLOSE * x0 * (1 - x0):
            break
        share = 0.5
        if f1 != f2:
            ratio, part = (x0 - x1) / (x2 - x1), (f0 - f1) / (f2 - f1)
            if part * part < ratio and (1 - part) ** 2 < 1 - ratio:
                share = f0 / (f1 - f0) * f2 / (f1 - f2) + (x2 - x0) / (x1 - x0) * f0 / (f2 - f0) * f1 / (f2 - f1)
                share = min(max(share, 1e-3), 1 - 1e-3)
    return min(max(to_end(x), a), b)
