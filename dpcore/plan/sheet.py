"""What a CSV or Parquet file of people's data has to be, seen in its first bytes before anything reads the rest.

A file that is something else is refused by the name of what it is. What stands in its cells is never repeated: only the
first line, which names the columns, is.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence

from ..errors import InputError
from ..numbers import ascii_number
from .public import LONGEST_NAME

HEAD = 4 << 20
"""Bytes that the first line of a CSV file may have, and the index at the end of a Parquet file in memory."""

MOST_COLUMNS = 1000
"""Most columns of a file that a page takes."""

CHUNK = 1 << 20

SEPARATORS = ",;\t|"

SIGNS = "=@+-\t\r"
"""A spreadsheet takes a text that begins with one of them for a formula."""

PARQUET = b"PAR1"


def harmless(text: str) -> str:
    """The text for a cell of a CSV file, with an apostrophe before what a spreadsheet would run."""
    return f"'{text}" if text.lstrip()[:1] in tuple(SIGNS) and text.strip() and not _number(text) else text


OTHERS = {
    b"PK\x03\x04": "a zip archive or a workbook", b"PK\x05\x06": "an empty zip archive", b"\x1f\x8b": "a gzip archive",
    b"BZh91AY&SY": "a bzip2 archive", b"\xfd7zXZ": "an xz archive", b"(\xb5/\xfd": "a zstd archive",
    b"7z\xbc\xaf": "a 7z archive", b"Rar!\x1a": "a rar archive", b"\xd0\xcf\x11\xe0": "a workbook of an old kind",
    b"%PDF-": "a PDF",
}  # fmt: skip
"""By their first bytes."""


def is_parquet(head: bytes) -> bool:
    """Whether a file that begins so is a Parquet file; else it is read as CSV.

    Raises
    ------
    InputError : it is neither.
    """
    if not head.strip():
        raise InputError("data", "an empty file", "a CSV file whose first line names the columns, or a Parquet file")
    for magic, what in OTHERS.items():
        if head.startswith(magic):
            raise InputError("data", what, "a CSV or Parquet file as it is: unpack it, or save the sheet as CSV UTF-8")
    return head.startswith(PARQUET)


def columns(head: bytes, most: int | None = None) -> tuple[str, list[str]]:
    """(separator, names of the columns) of a CSV file that begins so; most : columns.

    Raises
    ------
    InputError : its first line does not name every column, each by a name of its own.
    """
    if b"\x00" in head:
        raise InputError("data", f"a file with a byte 0 at place {head.index(0)}", "text in UTF-8 without such bytes")
    wrong = _undecodable(head)
    if wrong is not None and wrong < len(head) - 4:  # else the end of the head cuts a character
        raise no_text(f"line {_line(head, wrong)}")
    text = head[:wrong].decode("utf-8-sig")
    rows = {one: _first_row(text, one) for one in SEPARATORS}
    separator = max(rows, key=lambda one: len(rows[one]))
    names = rows[separator]
    if len(head) >= HEAD and len(names) < 2:
        raise InputError("data", f"a first line of more than {HEAD >> 20} MB", "a first line that names the columns")
    check_names(names, most)
    return separator, names


def check_text(raw: bytes) -> None:
    """The whole of a CSV file is text in UTF-8 without a byte 0.

    Raises
    ------
    InputError : it is not; the line is named.
    """
    at = raw.find(0)
    if at >= 0:
        raise InputError("data", f"a byte 0 in line {_line(raw, at)}", "text in UTF-8 without such bytes")
    wrong = _undecodable(raw)
    if wrong is not None:
        raise no_text(f"line {_line(raw, wrong)}")


def check_names(names: Sequence[str], most: int | None = None) -> None:
    """Every column has a name of its own.

    most : columns.

    Raises
    ------
    InputError : one has not. A number is no name: a file without a line of names would have the first person's values
        for names, and tell them.
    """
    if most is not None and len(names) > most:
        raise InputError("data", f"{len(names)} columns", f"at most {most} columns")
    accepted = "names of the columns in the first line, each one different"
    found: set[str] = set()
    for at, name in enumerate(names, 1):
        if not name.strip():
            raise InputError("data", f"no name for column {at}", accepted)
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(
                "data", f"a name of {len(name)} characters for column {at}", f"{accepted}, short and printable"
            )
        if name.lstrip()[0] in SIGNS and not _number(name):
            raise InputError("data", f"a formula in place of a name for column {at}", accepted)
        if _number(name):
            raise InputError("data", f"a number in place of a name for column {at}", accepted)
        if name.casefold() in found:
            raise InputError("data", f"the name of column {at} again", f"{accepted} also without capitals")
        found.add(name.casefold())


def _number(name: str) -> bool:
    return re.fullmatch(r"[+-]?[\d.,]+([eE][+-]?\d+)?%?", ascii_number(name).strip()) is not None


def _first_row(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), [])
    except csv.Error:
        return []


def no_text(where: str) -> InputError:
    """The error that a place is not in UTF-8."""
    return InputError("data", f"{where} in another encoding", "text in UTF-8: a spreadsheet saves it as “CSV UTF-8”")


def _undecodable(raw: bytes) -> int | None:
    """Where it is not UTF-8, if anywhere; never a copy of the whole."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(0, len(raw), CHUNK):
        chunk = raw[at : at + CHUNK]
        try:
            decoder.decode(chunk, final=at + CHUNK >= len(raw))
        except UnicodeDecodeError as error:
            return at + len(chunk) - len(error.object) + error.start
    return None


def _line(raw: bytes, at: int) -> int:
    return raw.count(b"\n", 0, at) + 1
