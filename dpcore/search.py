"""One-dimensional searches: where a condition turns, where a function is least.

SciPy's `brentq` and `minimize_scalar` find a place near a root or a minimum; a certificate needs to know on which side
of it a number lies. `bisection` and `directed_root` end with two places at which the condition itself was evaluated; a
caller takes the one on its safe side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_GOLDEN = (math.sqrt(5) - 1) / 2

FINEST = 1e-15
"""Finest tolerance that floats serve."""


def least_argument(function: Callable[[float], float], grid: Iterable[float], *, tolerance: float = 1e-7) -> float:
    """The argument with the smallest value of `function` found on the grid and, by golden section, between
    the neighbours of its best point. Exact up to `tolerance` for a function with one valley."""
    points, tolerance = sorted(set(grid)), max(tolerance, FINEST)
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


def least_argument_vectorised(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]], grid: ArrayLike, rounds: int = 6
) -> float:
    """As `least_argument` for a function of arrays: after the first round 41 points between the neighbours of the
    best."""
    points = np.unique(np.asarray(grid, dtype=float))
    found = []
    for _ in range(rounds):
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


Ends = TypeVar("Ends", int, float)


def half(a: float, b: float) -> float:
    """The arithmetic mean."""
    return 0.5 * (a + b)


def whole_half(a: int, b: int) -> int:
    """The arithmetic mean of whole numbers, rounded up."""
    return (a + b + 1) // 2


def geometric(a: float, b: float) -> float:
    """The geometric mean."""
    return math.sqrt(a * b)


def never(a: float, b: float) -> bool:
    """Two ends are never near enough: bisection goes on to the last bit."""
    return False


def bisection(
    passes: Callable[[Ends], bool],
    true: Ends,
    false: Ends,
    *,
    mean: Callable[[Ends, Ends], Ends] = half,  # type: ignore[assignment]  # of floats unless another is given
    near: Callable[[Ends, Ends], bool] = never,
    rounds: int | None = None,
) -> tuple[Ends, Ends]:
    """(a place where the condition holds, one where it does not), between which it turns.

    Both ends returned are the caller's own or were evaluated: for the largest argument that passes take the first, for
    a bound beyond it the second. Where the condition turns several times, one of the turns is enclosed.

    true, false : ends at which it holds and does not; neither is evaluated. Either may be the smaller one.
    mean : of two ends, between them; `whole_half` for whole numbers, `geometric` for scales.
    near : (true, false) → close enough.   rounds : at most so many evaluations. Without both, to neighbouring numbers.
    """
    while rounds != 0 and not near(true, false):
        middle = mean(true, false)
        if middle in (true, false):
            break
        true, false = (middle, false) if passes(middle) else (true, middle)
        rounds = None if rounds is None else rounds - 1
    return true, false


def directed_root(value: Callable[[float], float], true: float, false: float, *, within: float) -> tuple[float, float]:
    """(a place where value ≤ 0, one where value > 0), as `bisection` finds them, no further apart than a relative
    `within`: by secants, of which an end that stays twice loses half its weight ["Illinois", Dowell and Jarratt 1971].

    A smooth value takes a third to a half of the evaluations; every third step is a half, so that no value takes more
    than three times as many. Both ends are evaluated.
    """
    at_true, at_false, before = value(true), value(false), None
    for step in itertools.count(1):
        width, least, middle = abs(true - false), within * max(abs(true), abs(false)), half(true, false)
        if width <= least or middle in (true, false):
            break
        if step % 3 and 0 < at_false - at_true < math.inf:
            part = at_false / (at_false - at_true)  # of the way to `true`, but no step is idle
            secant = false + min(max(part, 0.5 * least / width), 1 - 0.5 * least / width) * (true - false)
            middle = middle if secant in (true, false) else secant
        found = value(middle)
        if found <= 0:
            true, at_true, at_false = middle, found, at_false * (0.5 if before is True else 1)
        else:
            false, at_false, at_true = middle, found, at_true * (0.5 if before is False else 1)
        before = found <= 0
    return true, false


def bisections(
    passes: Callable[[Array], NDArray[np.bool_]], true: ArrayLike, false: ArrayLike, *, rounds: int
) -> tuple[Array, Array]:
    """As `bisection` for many conditions at once, evaluated elementwise; after so many halvings."""
    true, false = np.asarray(true, dtype=float), np.asarray(false, dtype=float)
    for _ in range(rounds):
        middle = 0.5 * (true + false)
        holds = passes(middle)
        true, false = np.where(holds, middle, true), np.where(holds, false, middle)
    return true, false


def smallest_passing(passes: Callable[[float], bool], guess: float) -> float:
    """The smallest positive x with passes(x), to the last bit; passes is monotone: false, then true."""
    hi = guess
    while not passes(hi):
        hi *= 2
    lo = hi / 2
    while passes(lo):
        lo, hi = lo / 2, lo
    return bisection(passes, hi, lo)[0]


def nudged_up(passes: Callable[[float], bool], value: float) -> float:
    """The value, or the first of value·(1 + 2^−52·2^i) that passes: a closed form moved past its own rounding."""
    step = 2.0**-52
    result = value
    while not passes(result):
        result = value * (1 + step)
        step *= 2
    return result
