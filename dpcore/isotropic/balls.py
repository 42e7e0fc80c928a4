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
    from flint import arb as arb
    from flint import ctx as ctx
    from flint import fmpq

FIRST, MOST = 128, 1 << 15
"""Bits of the first try, doubled until the answer is narrow, and of the last."""

NARROW = 1e-12
"""Relative width of an answer at which it is good enough."""

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
    half = arb(dimension + 1) / 2
    return share.beta_lower(half, half, regularized=1)


def complete_beta(twice: int) -> Ball:
    """B(k, k), k = twice/2."""
    half = arb(twice) / 2
    return half.gamma() ** 2 / arb(twice).gamma()


def upper(compute: Callable[[], Ball], least: float = 0.0) -> float:
    """A float at or above what `compute` encloses, within a relative `NARROW` or an absolute least·NARROW of it."""
    bits = FIRST
    while bits <= MOST:
        with ctx.workprec(bits):
            value = compute()
            if value.is_finite():
                width = float(value.rad()) * 2
                if width <= NARROW * max(abs(float(value.mid())), least):
                    return above(value)
        bits *= 2
    raise SolverError("ball arithmetic did not narrow an audit down")


def above(value: Ball) -> float:
    """A float at or above a ball."""
    return math.nextafter(float(value.upper()), math.inf)


def below(value: Ball) -> float:
    """A float at or below a ball."""
    return math.nextafter(float(value.lower()), -math.inf)
