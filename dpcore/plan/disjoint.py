"""Which lines one person can change together: of lines whose filters exclude each other, as of women and of men, a row
counts in one at most (parallel composition).

Every column falls into parts between which no condition tells; a row is a part of every column. What is in the data,
also beyond the bounds or none of the stated values, is in one of these parts. A missing value fulfils no condition, so
that it counts in no more lines than another one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from .public import Column, Number, People
from .statistics import Condition

MOST = 256
"""Sets of lines that are looked at; where there are more, a person may change all lines."""

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def together(
    conditions: Sequence[Sequence[Condition]], people: People, columns: Mapping[str, Column]
) -> tuple[tuple[int, ...], ...]:
    """The largest sets of lines, by their places, that one person's rows in both neighbours can change together.

    conditions : of every line.
    """
    everything = (1 << len(conditions)) - 1
    rows = {everything}
    for name in dict.fromkeys(one.column for some in conditions for one in some):
        rows = _largest(row & part for row in rows for part in _parts(name, conditions, columns[name]))
        if len(rows) > MOST:
            return (_places(everything),)
    found = rows
    for _ in range(people.rows_each * people.cells - 1):
        before, found = found, _largest(one | row for one in found for row in rows)
        if len(found) > MOST:
            return (_places(everything),)
        if found == before:
            break
    nobody = {1 << i for i in range(len(conditions)) if not any(one >> i & 1 for one in found)}  # filters of no row
    return tuple(sorted(map(_places, found | nobody)))


def _parts(name: str, conditions: Sequence[Sequence[Condition]], column: Column) -> set[int]:
    """The lines, as bits, that a row may count in with each value of a column."""
    own = [[one for one in some if one.column == name] for some in conditions]
    named = {one.value for some in own for one in some}
    values: list[Any]
    if isinstance(column, Number):
        edges = sorted(float(value) for value in named)
        between = [low / 2 + high / 2 for low, high in pairwise(edges)]
        values = [-float("inf"), *edges, *between, float("inf")]
    else:
        values = [*named, None]  # any other text
    return _largest(
        sum(1 << i for i, some in enumerate(own) if all(COMPARE[one.operator](value, one.value) for one in some))
        for value in values
    )


def _largest(sets: Iterable[int]) -> set[int]:
    """The sets that are part of no other one."""
    found: list[int] = []
    for one in sorted(set(sets), key=int.bit_count, reverse=True):
        if not any(one & other == one for other in found):
            found.append(one)
    return set(found)


def _places(bits: int) -> tuple[int, ...]:
    return tuple(i for i in range(bits.bit_length()) if bits >> i & 1)
