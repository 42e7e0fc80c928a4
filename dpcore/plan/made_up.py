"""People who do not exist: data of the shapes that a plan states, to look at before any data are touched.

Columns are drawn independently of each other. Nothing here is private, and nothing has to be.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import numpy as np

from ..numbers import write_number
from .public import SHAPES, Category, Column, People
from .ticks import tick

EXAMPLE = """\
format = 1
title = "Survey of adults"

[people]
neighbours = "add or remove one person"
number = 30000

[columns.age]
type = "number"
low = 17
high = 90
step = 1
edges = [17, 25, 35, 45, 55, 65, 90]
shape = "falling"

[columns.hours]
type = "number"
low = 0
high = 80
step = 1

[columns.income]
type = "number"
low = 0
high = 200000
step = 100
shape = "falling"

[columns.schooling]
type = "number"
low = 0
high = 20
step = 1

[columns.sex]
type = "category"
values = ["female", "male"]

[columns.married]
type = "category"
values = ["yes", "no"]

[columns.work]
type = "category"
values = ["employed", "self-employed", "public service", "none"]
shape = "falling"

[columns.region]
type = "category"
values = ["north", "east", "south", "west"]

[[lines]]
name = "people by age"
what = "histogram"
of = ["age"]
non_negative = true

[[lines]]
name = "mean hours of work"
what = "mean"
of = ["hours"]

[[lines]]
name = "median income"
what = "quantile"
of = ["income"]

[budget]
epsilon = 1
delta = 1e-6
"""
"""A plan to begin with: a census-like survey of eight columns."""

USUAL, MOST = 10_000, 1_000_000
"""Made-up rows where the number of people is private, and at most."""

MOST_VALUES, COPIES = 8_000_000, 3
"""Made-up rows times columns; and how much more room they take where it is looked up which rows are one person's."""


def rows_of(people: People, columns: int) -> int:
    """How many rows of so many columns are made up."""
    most = MOST_VALUES // COPIES if people.identifier else MOST_VALUES
    return min(people.number or USUAL, MOST, most // max(columns, 1))


def table(columns: Mapping[str, Column], people: People, rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Columns of made-up rows by name; with an identifier everybody has `rows_each` of them."""
    rng = np.random.default_rng(seed)
    found = {name: _column(column, rows, rng) for name, column in columns.items()}
    if people.identifier:
        found[people.identifier] = np.arange(rows) // people.rows_each
    if not found:  # of a plan that counts rows and nothing else
        found["row"] = np.arange(rows)
    return found


def as_csv(columns: Mapping[str, Column], people: People, most: int = MOST) -> str:
    """Made-up people as a CSV file, at most so many rows."""
    made = table(columns, people, min(rows_of(people, len(columns)), most))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(made)
    writer.writerows(zip(*(map(_text, column.tolist()) for column in made.values())))
    return text.getvalue()


def _text(value: object) -> str:
    return write_number(value) if isinstance(value, float) else str(value)


def _column(column: Column, rows: int, rng: np.random.Generator) -> np.ndarray:
    tick()
    place = rng.beta(*SHAPES[column.shape], rows)
    if isinstance(column, Category):
        last = len(column.values) - 1
        texts = np.array(column.values, dtype=object)  # every row refers to one of few texts
        made: np.ndarray = texts[np.minimum((place * (last + 1)).astype(int), last)]
    else:
        made = (column.first + np.rint(place * (column.last - column.first))) * float(column.step or 1.0)
    return made
