"""The door to ball arithmetic (Arb in FLINT, by python-flint): every number comes with a proved error.

Volumes are counted in volumes of the unit ball of R^d.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import SolverError
from ..extras import needs

with needs("release"):
    from flint import acb, fmpq
    from flint import arb as arb
    from flint import ctx as ctx

FIRST, MOST = 128, 1 << 15
"""Bits of the first try, doubled until the answer is narrow, and of the last."""

NARROW = 1e-12
"""Relative width of an answer at which it is good enough."""

MOST_VALUES = 30_000
"""About so many values of a function that is integrated: what is not narrow by then stays wide."""

WHOLE_SHAPE = 80
"""Twice the shape of Beta laws from which whole shapes have a series of their own."""

LARGE_SHAPE = 30
"""Shape of Gamma laws from which they count as large."""

Ball = Any
"""An `arb`; the package brings no types."""


def ratio(numerator: int, denominator: int) -> Ball:
    """The nearest ball of the working precision."""
    return arb(fmpq(numerator, denominator))


def exact(number: float) -> Ball:
    """The float itself."""
    return arb(number)


def cap(dimension: int, share: Ball) -> Ball:
    """Share of a ball that is cut off by a plane at height share·diameter: the first coordinate of a uniform point,
    moved to [0, 1], has the Beta((d + 1)/2, (d + 1)/2) law."""
    return _below(share, dimension + 1)


def _below(u: Ball, twice: int) -> Ball:
    """I_u(k, k), k = twice/2. For large whole k, where Arb takes up to a thousand times as long as for half ones,
    by (u(1 − u))^k/(k B(k, k))·Σ (2k)_n/(k + 1)_n u^n [DLMF 8.17.8], which Arb sums when a pair of ones is put in."""
    half = arb(twice) / 2
    if twice % 2 or twice < WHOLE_SHAPE:
        return u.beta_lower(half, half, regularized=1)
    if u.real > 0.5:
        return 1 - _below(1 - u, twice)
    one = arb(1)
    return (u * (1 - u)) ** half / half * u.hypgeom([2 * half, one, one], [half + 1, one]) / complete_beta(twice)


def complete_beta(twice: int) -> Ball:
    """B(k, k), k = twice/2."""
    half = arb(twice) / 2
    return half.gamma() ** 2 / arb(twice).gamma()


def upper(compute: Callable[[], Ball], least: float = 0.0, narrow: float = NARROW) -> float:
    """A float at or above what `compute` encloses, within a relative `narrow` or an absolute least·narrow of it."""
    bits = FIRST
    while bits <= MOST:
        found = upper_or_none(compute, least, narrow, bits)
        if found is not None:
            return found
        bits *= 2
    raise SolverError("ball arithmetic did not narrow an audit down")


def upper_or_none(compute: Callable[[], Ball], least: float, narrow: float, bits: int = FIRST) -> float | None:
    """`upper` with so many bits; None where they leave it wider."""
    with ctx.workprec(bits):
        value = compute()
        if value.is_finite() and float(value.rad()) * 2 <= narrow * max(abs(float(value.mid())), least):
            return above(value)
    return None


def above(value: Ball) -> float:
    """A float at or above a ball."""
    return math.nextafter(float(value.upper()), math.inf)


def below(value: Ball) -> float:
    """A float at or below a ball."""
    return math.nextafter(float(value.lower()), -math.inf)


def share(u: Ball, twice: int, complete: Ball) -> Ball:
    """I_u(k, k), k = twice/2, on a complex ball: its value in the middle, and how far it can be from that by the
    largest slope on the ball. complete : B(k, k). For k = 0 two ends have probability ½ each."""
    if twice == 0:
        return acb(0.5)
    middle, power = u.mid(), arb(twice) / 2
    if twice == 1:
        value = 2 * middle.sqrt().asin() / arb.pi()
    elif middle.real > 0.5:
        value = 1 - _below(1 - middle, twice)
    else:
        value = _below(middle, twice)
    if u.is_exact():
        return acb(value)
    apart = u * (1 - u)
    steepest = (apart.abs_upper() if twice >= 2 else apart.abs_lower()) ** (power - 1) / complete
    off = arb(0, ((u - middle).abs_upper() * steepest).upper())
    return value + acb(off, off)


def integral(function: Callable[[Ball, bool], Ball], start: float, stop: float, within: float) -> Ball:
    """∫ function over [start, stop] [Johansson 2018]; `function` gets a complex ball and whether it has to be analytic
    there (else NaN is the answer it should give). within : the absolute error to aim at."""
    return acb.integral(
        function, start, stop, rel_tol=arb(2) ** -40, abs_tol=arb(within), eval_limit=MOST_VALUES
    ).real  # fmt: skip


def unknown() -> Ball:
    """What a function says where it is not analytic."""
    return acb("nan")


def gamma_below(shape: Ball, x: Ball) -> Ball:
    """P(Y ≤ x), Y with the Gamma law of a shape."""
    if shape < LARGE_SHAPE or 4 * x < shape:
        return x.gamma_lower(shape, regularized=1)
    return 1 - gamma_above(shape, x)  # the series of the other takes thousands of bits there


def gamma_above(shape: Ball, x: Ball) -> Ball:
    """P(Y > x)."""
    return x.gamma_upper(shape, regularized=1)


def between(low: float, high: float) -> Ball:
    """The ball of an interval."""
    return exact(low).union(exact(high))


def positive(x: Ball) -> bool | None:
    """Whether a number is positive; None where that is not known."""
    return True if x > 0 else False if x < 0 else None


def precision(bits: int) -> Any:
    """A context with so many bits."""
    return ctx.workprec(bits)
