"""Profiles from the text of CSV files."""

from __future__ import annotations

import csv
import io

import numpy as np

from ..errors import InputError
from .profile import SensitivityProfile


def profile_from_csv(text: str, column: str | None = None) -> SensitivityProfile:
    """The numbers of one column: by name, by number (1 is the first) or, by default, the first. A header is
    recognised by not being a number; empty lines are skipped."""
    rows = _rows(text)
    header = rows[0] if not _is_number(rows[0][0]) or not all(map(_is_number, rows[0])) else None
    at = _column(header, column, len(rows[0]))
    cells = [(number, row[at] if at < len(row) else "") for number, row in enumerate(rows[header is not None :], 1)]
    if not cells:
        raise InputError("profile", "a file without rows", "one number per line")
    try:
        values = np.array([cell for _, cell in cells], dtype=float)
    except ValueError:
        number, cell = next((n, c) for n, c in cells if not _is_number(c))
        raise InputError("profile", f"{cell[:40]!r} (row {number})", "one number per row") from None
    return SensitivityProfile(values, "CSV column")  # type: ignore[arg-type]


def profile_from_bounds_csv(
    text: str, *, statistic: str = "sum", records: int = 1, replace: bool = True
) -> SensitivityProfile:
    """The profile of column sums or means of a table, from a CSV file with the columns name, lower, upper (or lower,
    upper), one line per column of the table."""
    rows = _rows(text)
    if not _is_number(rows[0][-1]):
        rows = rows[1:]
    if any(len(row) < 2 for row in rows) or not rows:
        raise InputError("bounds", "a line with fewer than two columns", "name, lower, upper in every line")
    return SensitivityProfile.from_bounds(
        ((row[-2], row[-1]) for row in rows),
        statistic=statistic,
        records=records,
        replace=replace,  # type: ignore[misc]
    )


def _rows(text: str) -> list[list[str]]:
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if any(map(str.strip, row))]
    except csv.Error as error:
        raise InputError("profile", "a file", f"a CSV file ({error})") from None
    if not rows:
        raise InputError("profile", "an empty file", "a CSV file with one number per row")
    return rows


def _column(header: list[str] | None, column: str | None, width: int) -> int:
    if column is None:
        return 0
    if header and column in header:
        return header.index(column)
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    names = ", ".join(header[:10]) if header else f"1 to {width}"
    raise InputError("profile", f"column {column}", f"one of the file's columns: {names}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
