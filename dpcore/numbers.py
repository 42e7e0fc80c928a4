"""Text → numbers, the same everywhere: on the command line, in links, fields and files.

A number is written in ASCII digits with a point, an exponent, a sign (- or −) and blanks around it, or not at all:
what people write in other ways (0,5; 1 000; ½) is refused with what to write instead, never read by guesswork.
"""

from __future__ import annotations

import csv
import math
import re
import unicodedata
from collections.abc import Callable, Iterator
from fractions import Fraction

from .errors import InputError

WRITE = "; write "
"""Before the texts that a message offers in place of the one refused."""

LONGEST = 60
"""Characters of a text for which other readings are looked for."""

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_MINUS = str.maketrans("−", "-")
_ALIKE = str.maketrans("−–—‐‑﹣－＋٫．，٬⁄", "-------+..,'/")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_GROUPED = re.compile(r"(?<=\d)['’_\s](?=\d{3}(?!\d))")
_POWER = re.compile(r"(?:(.+?)\s*[·×x*]\s*)?10\s*\^\s*\(?\s*([+-]?\d{1,4})\s*\)?")
_SEPARATOR = re.compile(r"\s*(?:;|,(?=\s|;|$))\s*|\s+")


def read_number(
    text: str, field: str, accepted: str = "a finite number", fits: Callable[[float], bool] = math.isfinite
) -> float:
    """The number that the text is, to the nearest float; 0 for −0.

    Parameters
    ----------
    field, accepted : name of the input and what it takes, for the message.
    fits : which numbers it takes; no other is offered.

    Raises
    ------
    InputError : the text is no number; it says what to write where the meaning can be guessed. Numbers beyond the
        range of floats are refused as well, large and small ones, for they would become another number.
    """
    plain = ascii_number(text)
    if not _NUMBER.fullmatch(plain):
        raise InputError(field, text, accepted + _offer([one for one in readings(text) if fits(float(one))]))
    number = float(plain)
    if math.isinf(number):
        raise InputError(field, text, f"{accepted}, not so large")
    if number == 0 and re.match(r"[^eE]*[1-9]", plain):
        raise InputError(field, text, f"{accepted}, not so near to 0")
    return number + 0.0


def ascii_number(text: str) -> str:
    """The text of a number without blanks around it, − as -: what `float` and `Decimal` read as well."""
    return text.strip().translate(_MINUS)


def write_number(number: float) -> str:
    """The shortest text that `read_number` reads as this finite number: 0.5, 1e-6, 1000."""
    return re.sub(r"e([+-]?)0*", lambda mark: "e" + mark[1].replace("+", ""), repr(float(number))).removesuffix(".0")


def read_numbers(text: str, field: str, accepted: str = "numbers", *, commas: bool = False) -> list[float]:
    """The numbers of a list. Semicolons, blanks and new lines separate, and so does a comma before a blank.

    A comma between two characters separates only where the text between two blanks can be no single number and some
    of its items has a point or an exponent: 0.5,0.25 are two numbers, 0,5 is refused with both readings. With
    `commas`, those of a text without blanks and semicolons always separate: the lists of the command line.

    Raises
    ------
    InputError : an item is missing or is not a number, or a comma can be read in two ways.
    """
    text = text.strip()
    plain = commas and not re.search(r"[\s;]", text)
    words = text.split(",") if plain else _SEPARATOR.split(text)
    if not words[-1]:
        words.pop()  # after the last separator
    if not all(words):
        raise InputError(field, text, f"{accepted}, one between any two separators")
    return [number for word in words for number in _read_word(word, field, accepted)]


def read_exactly(text: str, field: str, accepted: str = "numbers") -> list[Fraction]:
    """The numbers of a list of the command line, as the decimals that are written there and not as floats."""
    read_numbers(text, field, accepted, commas=True)
    return [Fraction(ascii_number(word)) for word in re.split(r"[\s;,]+", text) if word]


def read_columns(text: str, names: tuple[str, ...], field: str, accepted: str) -> dict[int, tuple[str, ...]]:
    """Line → its cells, of a table in text: texts for `read_number` or a check, one for each of the columns' `names`.

    Cells stand between semicolons or tabs, else between commas, else between blanks: a comma beside semicolons is part
    of a number, which will be refused. One line of names is allowed, what follows a # is a remark.

    Raises
    ------
    InputError : a line has another number of cells.
    """
    lines = {number: line.partition("#")[0].strip() for number, line in enumerate(text.splitlines(), 1)}
    rows = {number: _cells(line) for number, line in lines.items() if line}
    for number, cells in rows.items():
        if len(cells) != len(names):
            raise InputError(f"{field} line {number}", lines[number][:40], accepted)
    first = next(iter(rows), 0)
    if all(map(_is_name, rows.get(first, ("1",)))):
        del rows[first]
    return rows


def like_number(text: str) -> bool:
    """The text is a number, or would be one if it were written as numbers are here."""
    return bool(_NUMBER.fullmatch(ascii_number(text)) or readings(text))


def _cells(line: str) -> tuple[str, ...]:
    separator = next((mark for mark in (";", "\t", ",") if mark in line), None)
    try:
        cells = line.split() if separator is None else next(csv.reader([line], delimiter=separator))
    except csv.Error:
        return (line,)
    return tuple(cell.strip() for cell in cells)


def _is_name(cell: str) -> bool:
    return not (like_number(cell) or cell.lower().strip("+-−") in ("nan", "inf", "infinity", ""))


def readings(text: str) -> list[str]:
    """Numbers that a person who wrote this text, which is not a number here, may have meant, as they are written
    here: none where nothing is plausible, two where there are two conventions."""
    if len(text) > LONGEST:
        return []
    found = []
    for reading in _readings(_ascii(text)):
        if reading is not None and math.isfinite(reading):
            found.append(write_number(reading + 0.0))
    return list(dict.fromkeys(found))


def _offer(texts: list[str]) -> str:
    return WRITE + " or ".join(texts) if texts else ""


def _read_word(word: str, field: str, accepted: str) -> Iterator[float]:
    """The numbers of a text without blanks."""
    items = word.split(",")
    if len(items) == 1:
        yield read_number(word, field, accepted)
        return
    plain = all(_NUMBER.fullmatch(ascii_number(item)) for item in items)
    single = readings(word)
    if not plain or single or not re.search("[.eE]", word):
        offered = single
        if plain:
            pairs = "; ".join(map(".".join, zip(items[::2], items[1::2])))  # 0,5,0,25
            even = len(items) % 2 == 0 and not re.search("[.eE]", word)
            offered = [*(single or [pairs] * even), "; ".join(items)]
        raise InputError(field, word, accepted + _offer(offered))
    for item in items:
        yield read_number(item, field, accepted)


def _ascii(text: str) -> str:
    """The text with digits, dashes and raised digits of all kinds as ASCII, and without signs of currencies."""
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+", lambda run: "^" + run[0].translate(_RAISED), text.translate(_ALIKE))
    kept = []
    for character in text:
        kind = unicodedata.category(character)
        if kind == "Nd":
            kept.append(str(unicodedata.digit(character)))
        elif kind == "No":  # ½
            share = Fraction(unicodedata.numeric(character)).limit_denominator(100)
            kept.append(f" {share.numerator}/{share.denominator}")
        elif kind != "Sc":
            kept.append(character)
    return "".join(kept).strip()


def _readings(text: str) -> Iterator[float | None]:
    """`readings` of a text in ASCII; None where a guess leads nowhere."""
    if text.endswith("%"):
        shares = [*_readings(text[:-1].strip())]
        yield from (share / 100 for share in shares if share is not None)
        yield from shares
    elif twice := re.fullmatch(r"([+-]\s*){2,}([^+-].*)", text):
        for sign in (-1, 1) if "+" not in text else (-1,):
            yield from (sign * number for number in _readings(twice[2]) if number is not None)
    elif "/" in text:
        yield _quotient(text)
    elif power := _POWER.fullmatch(text):
        yield from (_plain(f"{number!r}e{power[2]}") for number in _readings(power[1] or "1") if number is not None)
    else:
        text = _GROUPED.sub("", re.sub(r"^([+-])\s+", r"\1", text))
        if re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", text):
            yield _plain(text.replace(",", ""))
        if re.fullmatch(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?", text):
            text = text.replace(".", "")
        yield _plain(text.replace(",", ".")) if text.count(",") <= 1 else None


def _quotient(text: str) -> float | None:
    """1/2, and 1 1/2 for what was 1½."""
    parts = re.fullmatch(r"([+-]?)\s*(?:(\d{1,15})\s+)?([\d.,]+)\s*/\s*([\d.,]+)", text)
    above, below = (_plain(part.replace(",", ".")) for part in parts.group(3, 4)) if parts else (None, None)
    if above is None or not below:
        return None
    return (int(parts[2] or 0) + above / below) * (-1 if parts[1] == "-" else 1)  # type: ignore[index]  # `above` is None without `parts`


def _plain(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None
