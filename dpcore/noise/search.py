"""One-dimensional searches for parameters of noise laws; what they find is always checked by the caller."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

_GOLDEN = (math.sqrt(5) - 1) / 2


def least_argument(function: Callable[[float], float], grid: Iterable[float], *, tolerance: float = 1e-7) -> float:
    """The argument with the smallest value of `function` found on the grid and, by golden section, between
    the neighbours of its best point. Exact up to `tolerance` for a function with one valley."""
    points = sorted(set(grid))
    values = [function(x) for x in points]
    best = min(range(len(points)), key=values.__getitem__)
    found = [(values[best], points[best])]
    lo, hi = _bracket(points, points[best], tolerance)
    a, b = hi - _GOLDEN * (hi - lo), lo + _GOLDEN * (hi - lo)
    fa, fb = function(a), function(b)
    while hi - lo > tolerance * max(1.0, abs(lo), abs(hi)):
        found.append(min((fa, a), (fb, b)))
        if fa <= fb:
            hi, b, fb = b, a, fa
            a = hi - _GOLDEN * (hi - lo)
            fa = function(a)
        else:
            lo, a, fa = a, b, fb
            b = lo + _GOLDEN * (hi - lo)
            fb = function(b)
    return min([*found, (fa, a), (fb, b)])[1]


def least_argument_vectorised(function: Callable[[NDArray[np.float64]], NDArray[np.float64]], grid: ArrayLike) -> float:
    """As `least_argument` for a function of arrays: five times 41 points between the neighbours of the best."""
    points = np.unique(np.asarray(grid, dtype=float))
    found = []
    for _ in range(6):
        values = function(points)
        best = int(np.argmin(values))
        found.append((float(values[best]), float(points[best])))
        points = np.linspace(*_bracket(points.tolist(), float(points[best]), 1e-9), 41)
    return min(found)[1]


def _bracket(points: list[float], best: float, tolerance: float) -> tuple[float, float]:
    """The points next to the best one on either side (itself at an end). Points that all but coincide with it
    do not count: they would cut off the side on which the valley goes on."""
    margin = tolerance * max(1.0, abs(best))
    below, above = [x for x in points if x < best - margin], [x for x in points if x > best + margin]
    return below[-1] if below else best, above[0] if above else best


def smallest_passing(passes: Callable[[float], bool], guess: float) -> float:
    """The smallest positive x with passes(x), to the last bit; passes is monotone: false, then true."""
    hi = guess
    while not passes(hi):
        hi *= 2
    lo = hi / 2
    while passes(lo):
        lo, hi = lo / 2, lo
    while True:
        middle = 0.5 * (lo + hi)
        if not lo < middle < hi:
            return hi
        lo, hi = (lo, middle) if passes(middle) else (middle, hi)


def nudged_up(passes: Callable[[float], bool], value: float) -> float:
    """The value, or the first of value·(1 + 2^−52·2^i) that passes: a closed form moved past its own rounding."""
    step = 2.0**-52
    result = value
    while not passes(result):
        result = value * (1 + step)
        step *= 2
    return result
