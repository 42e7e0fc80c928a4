"""The points of a loss table read from text: two columns, CSV or JSON."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import InputError
from ..numbers import read_columns, read_number

MAX_BYTES = 1 << 20
MAX_BREAKPOINTS = 1000

Columns = tuple[list[float], list[float]]
"""Errors, losses."""

_ACCEPTED = "two columns, error and loss, as CSV or as JSON [[error, loss], …]"


def load_points(path: str | Path) -> Columns:
    """The columns in a CSV or JSON file of at most 1 MB.

    Raises
    ------
    InputError : the file cannot be read, is too large, or `read_points` refuses its text.
    """
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError("loss table file", path, f"a readable file ({_reason(error)})") from None
    if len(raw) > MAX_BYTES:
        raise InputError("loss table file", path, "a file of at most 1 MB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("loss table file", path, "text in UTF-8") from None
    return read_points(text)


def read_points(text: str) -> Columns:
    """The columns in a text: lines ``error, loss`` (comma, semicolon, tab or spaces; # comments; one header line
    allowed), or JSON, a list of pairs or an object with two lists ``x`` and ``y``; at most 1 MB."""
    if len(text) > MAX_BYTES:
        raise InputError("loss table", f"{len(text)} characters", f"at most {MAX_BYTES}")
    text = text.strip()
    pairs = _from_json(text) if text[:1] in ("[", "{") else _from_lines(text)
    if len(pairs) > MAX_BREAKPOINTS:
        raise InputError("loss table", f"{len(pairs)} breakpoints", f"2 to {MAX_BREAKPOINTS} breakpoints")
    return [x for x, _ in pairs], [y for _, y in pairs]


def _from_json(text: str) -> list[tuple[float, float]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("loss table", text[:40], "well-formed JSON, or lines of two numbers") from None
    if isinstance(data, dict):
        x, y = data.get("x"), data.get("y")
        if not isinstance(x, list) or not isinstance(y, list) or len(x) != len(y):
            shown = ", ".join(map(str, data))[:40]
            raise InputError("loss table", shown, 'an object {"x": […], "y": […]}, equally long')
        data = list(zip(x, y))
    for row in data:
        if not isinstance(row, list | tuple) or len(row) != 2 or not all(type(v) in (int, float) for v in row):
            raise InputError("loss table row", str(row)[:40], _ACCEPTED)
    try:
        return [(float(x), float(y)) for x, y in data]
    except OverflowError:
        raise InputError("loss table", "a number beyond 1e308", "numbers up to 1e12") from None


def _from_lines(text: str) -> list[tuple[float, float]]:
    rows = read_columns(text, ("error", "loss"), "loss table", _ACCEPTED)
    return [tuple(read_number(cell, f"loss table line {at}", _ACCEPTED) for cell in row) for at, row in rows.items()]  # type: ignore[misc]  # two cells a row


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or "no file can have this name"
