"""Checks of what a JSON file holds, each naming the field, the value and what is accepted."""

from __future__ import annotations

from typing import Any

from .errors import InputError


def mapping(value: Any, name: str) -> dict[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise InputError(name, _shown(value), "an object")
    return value


def text(value: Any, name: str, accepted: str, longest: int) -> str:
    """A text of so many characters at most."""
    if not isinstance(value, str) or len(value) > longest:
        raise InputError(name, _shown(value), accepted)
    return value


def switch(value: Any, name: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise InputError(name, short(value), "true or false")
    return value


def integer(value: Any, name: str, low: int, high: int) -> int:
    """A whole number given as such or as text."""
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit() and len(value) < 25:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(name, short(value), f"whole numbers from {low} to {high}")
    return value


def number(value: Any, name: str) -> float:
    """A JSON number; text that reads like one is refused. Its range is not looked at."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(name, short(value), "a number")
    return value


def finite(value: Any, name: str, limit: float) -> float:
    """A number of this size at most."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -limit <= value <= limit:
        raise InputError(name, short(value), f"numbers up to {limit:g}")
    return float(value)


def short(value: Any, length: int = 60) -> str:
    """The value as text, cut off."""
    try:
        shown = value if isinstance(value, str) else repr(value)
    except ValueError:  # an integer of thousands of digits
        shown = "a number too long to show"
    return shown if len(shown) <= length else shown[:length] + "…"


def _shown(value: Any) -> str:
    return "(missing)" if value is None else short(value)
