"""Checks of user input, each naming the field, the value and the accepted range.

Every check takes its value as a keyword, so that the message carries the name:
``in_range(0, 1, delta=delta)``.
"""

from __future__ import annotations

import math
from fractions import Fraction

from .errors import InputError


def decimal(number: float) -> Fraction:
    """The number that the shortest text of a float names: a tenth for 0.1."""
    return Fraction(repr(float(number)))


def real(**named: object) -> float:
    """The value as a finite float."""
    ((name, value),) = named.items()
    return _number(name, value, "a finite number")


def in_range(low: float, high: float, *, also: tuple[float, ...] = (), **named: object) -> float:
    """The value as a float in [low, high], or one of `also`."""
    ((name, value),) = named.items()
    accepted = " or ".join([*(f"{v:g}" for v in also), f"a number from {low:g} to {high:g}"])
    number = _number(name, value, accepted)
    if not (low <= number <= high or number in also):
        raise InputError(name, value, accepted)
    return number


def above(low: float, high: float, **named: object) -> float:
    """The value as a float in (low, high]."""
    ((name, value),) = named.items()
    accepted = f"a number above {low:g}, at most {high:g}"
    number = _number(name, value, accepted)
    if not low < number <= high:
        raise InputError(name, value, accepted)
    return number


def whole(low: int, high: int, **named: object) -> int:
    """The value as an integer in [low, high]."""
    ((name, value),) = named.items()
    accepted = f"a whole number from {low} to {high}"
    number = _number(name, value, accepted)
    if number != int(number) or not low <= number <= high:
        raise InputError(name, value, accepted)
    return int(number)


def _number(name: str, value: object, accepted: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, value, accepted) from None
    if not math.isfinite(number) or isinstance(value, bool):
        raise InputError(name, value, accepted)
    return number
