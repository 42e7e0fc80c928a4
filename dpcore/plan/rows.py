"""Totals over rows by Python alone, for scripts that run without DuckDB; `source` is the same in SQL, and a test holds
them together."""

from __future__ import annotations

import csv
import math
import secrets
from typing import Any


def number(text: str | None) -> float | None:
    """A text as a number; None for what is none."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(found) or "_" in str(text) else found


def steps(value: float, step: float, first: int, last: int) -> int:
    """The value in whole steps, clamped; halves away from 0."""
    ratio = min(max(value / step, first), last)
    whole = math.floor(abs(ratio))
    whole += abs(ratio) - whole >= 0.5
    return int(math.copysign(whole, ratio))


def group(row: dict[str, str], name: str, labels: list[Any], numbers: bool) -> int | None:
    """The group of a row by a column: its place among the values or, for numbers, between the edges; None for none."""
    if not numbers:
        return labels.index(row[name]) if row[name] in labels else None
    value = number(row[name])
    if value is None or not labels[0] <= value <= labels[-1]:
        return None
    return int(min(sum(edge <= value for edge in labels), len(labels) - 1)) - 1


def fulfils(row: dict[str, str], name: str, operator: str, value: Any) -> bool:
    """Whether a row fulfils a condition; a missing value fulfils none."""
    own: Any = row[name] if isinstance(value, str) else number(row[name])
    if own is None or own == "":
        return False
    if operator == "!=":
        return bool(own != value)
    if own == value:
        return "=" in operator
    return bool(own < value) if operator[0] == "<" else operator[0] == ">" and bool(own > value)


def total(rows: list[dict[str, str]], told: dict[str, Any]) -> list[int]:
    """A total over the rows, cell by cell."""
    sizes = [len(labels) - numbers for _, labels, numbers in told["by"]]
    cells = [0] * math.prod(sizes)
    for row in rows:
        if not all(fulfils(row, *one) for one in told["where"]):
            continue
        term = 1
        if told["column"] is not None:
            value = number(row[told["column"]])
            if value is None:
                term = told["missing"]
            elif not told["counts"]:
                term = steps(value, told["step"], told["first"], told["last"]) - told["origin"]
                if told["squares"]:
                    term = (term * term + told["squares"] // 2) // told["squares"]
        place = 0
        for (name, labels, numbers), size in zip(told["by"], sizes):
            at = group(row, name, labels, numbers)
            if at is None:
                break
            place = place * size + at
        else:
            cells[place] += term
    return [min(max(cell, -told["largest"]), told["largest"]) for cell in cells]


def occurring(rows: list[dict[str, str]], told: dict[str, Any]) -> tuple[list[int], list[int]]:
    """(values of a column in steps, rising; how often each occurs)."""
    times: dict[int, int] = {}
    for row in rows:
        value = number(row[told["column"]])
        if value is not None and all(fulfils(row, *one) for one in told["where"]):
            at = steps(value, told["step"], told["first"], told["last"])
            times[at] = times.get(at, 0) + 1
    return sorted(times), [times[at] for at in sorted(times)]


def read(path: str, identifier: str, rows_each: int) -> list[dict[str, str]]:
    """The rows of a CSV file that count: of one person a few at most, which ones is left to chance."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        separator = csv.Sniffer().sniff(file.readline(), ",;\t|").delimiter
        file.seek(0)
        rows = list(csv.DictReader(file, delimiter=separator))
    if not identifier:
        return rows
    secrets.SystemRandom().shuffle(rows)
    turns: dict[str, int] = {}
    kept = []
    for row in rows:
        who = row[identifier]
        turns[who] = turns.get(who, 0) + 1
        if who and turns[who] <= rows_each:
            kept.append(row)
    return kept
