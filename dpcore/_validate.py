"""Checks of user input, each naming the field, the value and the accepted range.

Every check takes its value as a keyword, so that the message carries the name:
``in_range(0, 1, delta=delta)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from .errors import InputError
from .numbers import ascii_number, read_number


def decimal(number: float) -> Fraction:
    """The number that the shortest text of a float names: a tenth for 0.1."""
    return Fraction(repr(float(number)))


def real(**named: object) -> float:
    """The value as a finite float."""
    ((name, value),) = named.items()
    return _number(name, value, "a finite number", math.isfinite)


def in_range(low: float, high: float, *, also: tuple[float, ...] = (), **named: object) -> float:
    """The value as a float in [low, high], or one of `also`."""
    ((name, value),) = named.items()
    accepted = " or ".join([*(f"{v:g}" for v in also), f"a number from {low:g} to {high:g}"])
    return _number(name, value, accepted, lambda number: low <= number <= high or number in also)


def above(low: float, high: float, **named: object) -> float:
    """The value as a float in (low, high]."""
    ((name, value),) = named.items()
    accepted = f"a number above {low:g}, at most {high:g}"
    return _number(name, value, accepted, lambda number: low < number <= high)


def whole(low: int, high: int, **named: object) -> int:
    """The value as an integer in [low, high]."""
    ((name, value),) = named.items()
    accepted = f"a whole number from {low} to {high}"
    number = _number(name, value, accepted, lambda number: low <= number <= float(high) and number == int(number))
    exact = Decimal(ascii_number(value)) if isinstance(value, str) else number  # digits beyond what a float holds
    if not low <= exact <= high or exact != int(exact):
        raise InputError(name, value, accepted)
    return int(exact)


def _number(name: str, value: object, accepted: str, fits: Callable[[float], bool]) -> float:
    """The value as a finite float that fits."""
    if isinstance(value, str):
        number = read_number(value, name, accepted, fits)
    else:
        try:
            number = float(value)  # type: ignore[arg-type]  # what is no number raises
        except (TypeError, ValueError, OverflowError):
            raise InputError(name, value, accepted) from None
    if not math.isfinite(number) or isinstance(value, bool) or not fits(number):
        raise InputError(name, value, accepted)
    return number
