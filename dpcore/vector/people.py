"""Is this a table of people? A sensitivity is said in public about a query; nobody's row may go into it.

The rule, in the order in which it is applied:

1. A column called sensitivity or λ says what the file is: accepted.
2. A column called after persons (patient, user …), or a column of numbers called after what is known about them (age,
   salary …), makes a table of people. Where another column says that a line is a coordinate or a bound (column,
   feature, bin; bound, lower, upper …) it takes two of them: the age may well name the lines of a histogram.
3. A file that says neither is judged by its lines: names that repeat, addresses of e-mail; from 20 lines on several
   columns of numbers; from 100 lines on running numbers, or more than a dozen different whole numbers.

Whoever is refused in spite of that calls the column sensitivity.
"""

from __future__ import annotations

import re
from collections import Counter

from ..errors import InputError
from .profile import plain_name
from .sheets import Sheet, is_running

SENSITIVITY = ("sensitiv", "sensibilit", "empfindlichkeit", "lambda", "λ")
"""How a word begins that says: sensitivity."""

COORDINATE = frozenset(
    "coordinate coordinates column feature attribute variable query statistic bin bucket cell layer parameter "
    "component dimension dim i k spalte merkmal bound bounds clipping lower upper l1 l2 linf".split()
)
PERSON = frozenset(
    "patient person people user customer client employee student member respondent participant subject household "
    "forename surname firstname lastname email mail phone telephone ssn passport iban".split()
)
KNOWN = frozenset(
    "age alter birth birthday birthdate dob born sex gender geschlecht race ethnicity religion salary gehalt income "
    "einkommen wage wages earnings zip zipcode postcode plz diagnosis disease height weight bmi smoker marital "
    "education occupation job".split()
)
"""What is known about a person."""

FEW, MANY, DOZEN = 20, 100, 12


def refuse_people(sheet: Sheet) -> None:
    """Nothing for a file of coordinates.

    Raises
    ------
    InputError : the file looks like one line per person; it says why, where such data belong and what to do if not.
    """
    if sign := sign_of_people(sheet):
        raise InputError(
            "file", f"what looks like one line per person ({sign})",
            "one line per coordinate of the answer. A sensitivity is a public statement about the query, how far one "
            "person can move the answer; it is never computed from people's data, which stay where the query runs. If "
            "these are sensitivities, call their column “sensitivity”",
        )  # fmt: skip


def sign_of_people(sheet: Sheet) -> str:
    """Why the lines look like people, in a few words; "" where they do not."""
    if any(map(says_sensitivity, sheet.header)):
        return ""
    words = [words_of(name) for name in sheet.header]
    told = any(said & COORDINATE for said in words)
    known = [sheet.label(at) for at, said in enumerate(words)
             if not said & COORDINATE and (said & PERSON or (said & KNOWN and at in sheet.numeric))]  # fmt: skip
    if len(known) > told:
        shown = ", ".join(known[:4])
        return f"columns called {shown}" if len(known) > 1 else f"a column called {shown}"
    return "" if told else _sign_of_lines(sheet)


def says_sensitivity(name: str) -> bool:
    """A column's name says that it holds sensitivities."""
    return any(word.startswith(SENSITIVITY) for word in words_of(name))


def words_of(name: str) -> set[str]:
    """The words of a name, in lower case: patient_id, patientId and Patient-ID are patient and id."""
    return {word.lower() for word in re.findall(r"[^\W\d_]?[^\W\dA-Z_]+\d?|[^\W\d_]+\d?", name)}


def _sign_of_lines(sheet: Sheet) -> str:
    count = len(sheet.rows)
    texts = [sheet.column(at) for at in sheet.texts]
    numbers = [sheet.column(at) for at in sheet.numeric]
    values = [column for column in numbers if not is_running(column)]
    if any("@" in cell for column in texts for cell in column):
        return "addresses of e-mail"
    if texts and not any(len(set(column)) == count for column in texts):
        cell, often = Counter(texts[0]).most_common(1)[0]
        return f"“{plain_name(cell)}” in {often} of {count} lines"
    if count >= FEW and len(values) > 2 - (not texts):
        return f"{len(values)} columns of numbers in {count} lines"
    if count >= MANY and len(numbers) > len(values) and (not values or any(map(_varied, values))):
        return f"{count} lines with running numbers"
    if count >= MANY and any(_varied(column) and _whole(column) for column in values):
        return f"more than a dozen different whole numbers in {count} lines"
    return ""


def _varied(cells: list[str]) -> bool:
    return len(set(cells)) > DOZEN


def _whole(cells: list[str]) -> bool:
    return all(re.fullmatch(r"\d+(\.0*)?", cell) for cell in cells if cell)
