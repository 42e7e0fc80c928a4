"""People who do not exist, made of a released table: as many in every cell as it says. They tell no more than the table
does, and cost nothing: this is post-processing of what was published."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping

import numpy as np

from .._validate import decimal
from ..errors import InputError
from ..numbers import write_number
from . import sheet
from .public import Category, Column
from .release import Released

MOST = 1_000_000
"""Rows; of more people the cells keep their proportions."""


def synthetic(table: Released, columns: Mapping[str, Column], most: int = MOST, seed: int | None = None) -> str:
    """A CSV file of the table's columns. Counts below 0 are none, others are rounded; numbers lie evenly on the steps
    within their group.

    Raises
    ------
    InputError : what was released is no table.
    """
    if not table.by:
        raise InputError("synthetic", table.name, "counts by group")
    counts = np.rint(np.maximum(np.array(table.values, dtype=float), 0.0))
    if (people := counts.sum()) > most:
        counts = np.rint(counts * (most / people))
    rng = np.random.default_rng(seed)
    by = [columns[name] for name in table.by]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.by)
    for labels, count in zip(table.labels, counts.astype(int).tolist()):
        writer.writerows(zip(*(_values(column, label, count, rng) for column, label in zip(by, labels))))
    return text.getvalue()


def _values(column: Column, label: str, count: int, rng: np.random.Generator) -> list[str]:
    if isinstance(column, Category):
        return [sheet.harmless(label)] * count
    place, step = column.labels.index(label), column.exact_step
    low, high = (decimal(edge) for edge in column.edges[place : place + 2])
    first = math.ceil(low / step)
    last = math.floor(high / step) if place == len(column.labels) - 1 else math.ceil(high / step) - 1
    drawn = rng.integers(first, max(first, last) + 1, count)
    return [write_number(float(int(value) * step)) for value in drawn]
