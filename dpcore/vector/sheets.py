"""CSV text → lines of cells under the names of their columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import InputError
from ..numbers import WRITE, read_number, readings
from .profile import plain_name

MISSING = {"", "-", "–", "?", ".", "na", "n/a", "nan", "null", "none", "nil", "inf", "infinity", "missing"}
"""Cells that stand for no value, in lower case: never the name of a column."""

WIDEST = 1000
FIRST = 1000
"""Lines that tell what a column holds."""


@dataclass(frozen=True)
class Sheet:
    """header : the columns' names, () where the file has none.   rows : cells, stripped, in every row as many.
    lines : the line of the file on which each row ends, for messages."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    @property
    def width(self) -> int:
        return len(self.rows[0])

    def column(self, at: int) -> list[str]:
        """The cells of a column."""
        return [row[at] for row in self.rows]

    def label(self, at: int) -> str:
        """A column by its name, where there is one and no other column has it, else by its number."""
        name = plain_name(self.header[at]) if self.header else ""
        if not name:
            return f"column {at + 1}"
        return name if self.header.count(self.header[at]) == 1 else f"{name} (column {at + 1})"

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Columns of numbers, also where some are blank or not written as numbers are here: half of what stands
        there, or more, is a number, in the first lines at least."""
        return tuple(at for at in range(self.width) if _of_numbers(self.column(at)[:FIRST]))

    def numbers(self, at: int, accepted: str) -> list[float]:
        """The numbers of a column; `accepted` says what they are, for the message.

        Raises
        ------
        InputError : a cell that is blank or no number; it names the line.
        """
        cells = self.column(at)
        try:
            return [read_number(cell, "", accepted) for cell in cells]
        except InputError as error:
            line, value = self.lines[cells.index(str(error.value))], error.value or "a blank"
            raise InputError(place(line), f"{value} in {self.label(at)}", error.accepted) from None

    @cached_property
    def texts(self) -> tuple[int, ...]:
        """The other columns, but for blank ones."""
        return tuple(at for at in range(self.width) if at not in self.numeric and any(self.column(at)))


def read_sheet(text: str) -> Sheet:
    """The table in a text: cells between semicolons, tabs or commas, whichever its first line has, in that order;
    quotes around cells, a byte order mark and one line of names are allowed. Blank lines, and blank columns at the end,
    are left out.

    Raises
    ------
    InputError : no table, lines of different lengths, or commas that may be decimal ones.
    """
    text = text.removeprefix("\ufeff")
    rows, lines = _cut(text)
    if len(rows[0]) > WIDEST:
        raise InputError("file", _counted(len(rows[0])), f"up to {WIDEST} columns")
    for row, line in zip(rows, lines):
        if len(row) != len(rows[0]):
            raise InputError(place(line), _counted(len(row)), f"{_counted(len(rows[0]))}, as in the first line")
    width = max(at for at in range(len(rows[0])) if any(row[at] for row in rows)) + 1  # a separator may end every line
    rows = [row[:width] for row in rows]
    named = _is_header(rows)
    if named and len(rows) == 1:
        raise InputError("file", "one line of names and nothing below", "lines of cells below it")
    if not named:
        _refuse_decimal_commas(text)
    return Sheet(rows[0] if named else (), tuple(rows[named:]), tuple(lines[named:]))


def place(line: int) -> str:
    """Where in a file, for messages."""
    return f"line {line} of the file"


def is_running(cells: Sequence[str]) -> bool:
    """The cells count 0, 1, 2 … or from another whole number on."""
    first = cells[0]
    return first.isdecimal() and all(cell == str(number) for number, cell in enumerate(cells, int(first)))


def _cut(text: str) -> tuple[list[tuple[str, ...]], list[int]]:
    """(rows that are not blank, the lines on which they end)"""
    reader, rows, lines = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), strict=True), [], []
    try:
        for row in reader:
            cells = tuple(cell.strip() for cell in row)
            if any(cells):
                rows.append(cells)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(place(reader.line_num), "no cells", f"a CSV file ({error})") from None
    if not rows:
        raise InputError("file", "nothing", "a CSV file with lines of cells")
    return rows, lines


def _separator(text: str) -> str:
    first = next((line for line in io.StringIO(text, newline=None) if line.strip()), "")
    outside = re.sub(r'"[^"]*"', "", first)
    return next((mark for mark in ";\t," if mark in outside), ";")


def _is_header(rows: list[tuple[str, ...]]) -> bool:
    """The first row names columns: words in every cell. The first cell may be blank, as above numbered rows; whatever
    then stands beside it is a name."""
    first, body = rows[0], rows[1:]
    if not first[0] and body and is_running([row[0] for row in body]):
        return True
    return all(_is_word(cell) for cell in first[1:]) and (not first[0] or _is_word(first[0]))


def _is_word(cell: str) -> bool:
    return cell.lower() not in MISSING and not _is_number(cell)


def _is_number(cell: str) -> bool:
    """The cell is a number or would be one, were it written as numbers are here."""
    try:
        read_number(cell, "")
    except InputError:
        return bool(readings(cell))
    return True


def _of_numbers(cells: list[str]) -> bool:
    present = [cell for cell in cells if cell]
    return bool(present) and 2 * sum(map(_is_number, present)) >= len(present)


def _refuse_decimal_commas(text: str) -> None:
    """Without names 0,5 may be one number or two columns, unless some line can only be columns."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if _separator(text) == "," and all(readings(line) for line in lines):
        first = lines[0]
        offered = " or ".join([*readings(first), "; ".join(first.split(","))])
        accepted = f"one number, or names of the columns in the first line{WRITE}{offered}"
        raise InputError(place(1), first, accepted)


def _counted(count: int) -> str:
    return f"{count} column{'s' * (count != 1)}"
