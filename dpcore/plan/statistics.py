"""The statistics a plan may publish, each as sums of whole numbers over rows with the most that one person changes.

A statistic says which `Total`s it needs and how the released totals are turned into what is published; the latter is
post-processing and free. Everything that a row adds to a total depends on that row alone: conditions compare a column
with a public value, and nothing looks at other rows. That is what the sensitivities rest on.

To add a statistic: a class with `key` and its line in `STATISTICS`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import ClassVar

from .._validate import decimal, in_range
from ..errors import InputError
from ..numbers import write_number
from .public import CHANGE_ONE, Category, Column, Number, People, shown

MOST_CELLS = 10_000
SQUARES = 1000
"""A square is told by a whole number up to this."""

MOST_CANDIDATES = 100_000
DIGITS = 15
"""Digits of a decimal with which the nearest float has the decimal as its shortest text."""

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
OF_CATEGORIES = ("=", "!=")


@dataclass(frozen=True)
class Condition:
    """A row counts only if its value in a column compares so with a public value."""

    column: str
    operator: str
    value: str | float

    def check(self, columns: Mapping[str, Column], line: str) -> Condition:
        """Itself.

        Raises
        ------
        InputError : no such column or operator, or a value of another kind.
        """
        field = f"{line}.where"
        column = columns.get(self.column)
        if column is None:
            raise InputError(field, self.column, f"a column of the plan: {shown(columns)}")
        accepted = OPERATORS if isinstance(column, Number) else OF_CATEGORIES
        if self.operator not in accepted:
            raise InputError(field, self.operator, f"one of {' '.join(accepted)} for the column {shown([self.column])}")
        if isinstance(column, Category):
            if self.value not in column.values:
                raise InputError(field, self.value, f"one of {shown(column.values)}")
            return self
        return Condition(self.column, self.operator, in_range(-1e15, 1e15, also=(), **{field: self.value}))


def groups(column: Column) -> list[tuple[str, tuple[Condition, ...]]]:
    """(label, conditions that the rows in it fulfil) of every group of a column; no row is in two.

    Raises
    ------
    InputError : no edges are stated.
    """
    if isinstance(column, Category):
        return [(value, (Condition(column.name, "=", value),)) for value in column.labels]
    ends = [
        (Condition(column.name, ">=", low), Condition(column.name, "<", high)) for low, high in pairwise(column.edges)
    ]
    ends[-1:] = [(low, replace(high, operator="<=")) for low, high in ends[-1:]]
    return list(zip(column.labels, ends))


@dataclass(frozen=True)
class Total:
    """A sum over rows of whole numbers, or one for every cell of a table.

    change : the most that one person changes one of them, in whole numbers.
    step : what 1 stands for, in the unit of the statistic.
    formula : where the change comes from, in words and signs.
    column : whose values, in its steps from `origin` on, are added; None: every row adds 1.
    counts : rows with a value in the column add 1 in place of it.
    squares : they add its square divided by this, rounded, in place of it; 0: they do not.
    missing : what rows without a value in the column add.
    also : conditions besides those of the statistic.
    by : columns whose groups are the cells.
    moved, rows : a person has so many rows, each of which changes so many cells by at most `change`.
    """

    change: int
    step: Fraction
    formula: str
    column: Number | None = None
    origin: int = 0
    counts: bool = False
    squares: int = 0
    missing: int = 0
    also: tuple[Condition, ...] = ()
    by: tuple[Column, ...] = ()
    moved: int = 1
    rows: int = 1

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The cells, one label for every column of `by`; one cell without labels where there are no such columns."""
        return tuple(product(*(column.labels for column in self.by)))

    @property
    def sensitivity(self) -> float:
        """`change` in the unit of the statistic, rounded up."""
        exact = self.change * self.step
        nearest = float(exact)
        return nearest if decimal(nearest) >= exact else math.nextafter(nearest, math.inf)

    @property
    def largest(self) -> int:
        """Totals beyond ± this count as ± this, so that each is a number that a float's text names exactly. Clamping
        brings no two totals further apart."""
        digits = self.step.numerator * self.step.denominator  # step = n·10^k, of which the digits of n count
        while digits % 10 == 0:
            digits //= 10
        return max(int(10**DIGITS) // digits, 1)


@dataclass(frozen=True)
class Ranks:
    """A choice among the steps of a column, by how far a candidate's rank is from the one asked for.

    The score of a candidate t is −|(1 − q)·#{x < t} − q·#{x > t}|, 0 at a q-quantile; one person changes it by at most
    `change`. (Values equal to t count on neither side.)
    """

    column: Number
    q: Fraction
    change: Fraction
    formula: str


@dataclass(frozen=True)
class Statistic(ABC):
    """One thing to publish.

    of : columns it is about.   where : conditions that all must hold for a row to count.
    whole : it counts rows, and what noise on whole numbers leaves whole is published as such.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    whole: ClassVar[bool] = False

    name: str
    of: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()

    @abstractmethod
    def totals(self, people: People, columns: Mapping[str, Column]) -> tuple[Total, ...]:
        """The sums it needs.

        Raises
        ------
        InputError : a column is missing or of the wrong kind.
        """

    def ranks(self, people: People, columns: Mapping[str, Column]) -> Ranks | None:
        """The choice by rank that it needs in place of sums, if it does."""
        return None

    def ends(self, people: People, columns: Mapping[str, Column]) -> tuple[float | None, float, float, float] | None:
        """(public number of rows or None, centre, low, high) of `ratio`, where that is what is published; None where
        the first total is."""
        return None

    def finish(self, released: Sequence[Sequence[float]], people: People, columns: Mapping[str, Column]) -> list[float]:
        """What is published, from the released totals in the unit of the statistic, cell by cell."""
        of_rows = self.ends(people, columns)
        if of_rows is None:
            return list(released[0])
        rows, *ends = of_rows
        return [ratio(released[0][0], released[1][0] if rows is None else rows, *ends)]

    def share(self, people: People, columns: Mapping[str, Column]) -> float | None:
        """What an error of the first total becomes in what is published; None where that is not a fixed factor."""
        of_rows = self.ends(people, columns)
        if of_rows is None:
            return 1.0
        return None if of_rows[0] is None else 1 / of_rows[0]

    def about(self, people: int, columns: Mapping[str, Column]) -> float:
        """How large what is published may be with so many people, for want of a guess: half of what it can be."""
        return 0.5 * people

    @property
    def published(self) -> tuple[str, ...]:
        """Names of the numbers published, where they are several and not the cells of a table."""
        return ()

    # What the kinds below share ----------------------------------------------------------------------

    @property
    def field(self) -> str:
        return f"lines.{self.name}"

    def conditions(self, columns: Mapping[str, Column]) -> tuple[Condition, ...]:
        return tuple(one.check(columns, self.field) for one in self.where)

    def column(self, columns: Mapping[str, Column]) -> Number:
        """The one column it is about."""
        if len(self.of) != 1:
            raise InputError(f"{self.field}.of", ", ".join(self.of) or "(missing)", "one column")
        column = columns.get(self.of[0])
        if not isinstance(column, Number):
            fits = f"one of the columns of numbers: {_named(columns, Number)}"
            raise InputError(f"{self.field}.of", self.of[0], fits)
        return column

    def _public(self, people: People) -> float | None:
        """How many rows count, where that is public."""
        return float(people.number) if self.every_row(people) and people.number else None

    def every_row(self, people: People) -> bool:
        """Every row counts, and how many there are is public."""
        return people.counted and not self.where


def ratio(total: float, rows: float, centre: float, low: float, high: float) -> float:
    """centre + total/rows, between two ends; fewer rows than one count as one."""
    return min(max(centre + total / max(rows, 1.0), low), high)


def deviation(total: float, squares: float, rows: float, centre: float, low: float, high: float) -> float:
    """Standard deviation of values from Σ(x − centre), Σ(x − centre)² and their number; at most what the ends allow."""
    mean = ratio(total, rows, centre, low, high)
    spread = squares / max(rows, 1.0) - (mean - centre) ** 2
    return math.sqrt(min(max(spread, 0.0), (high - mean) * (mean - low)))


def _named(columns: Mapping[str, Column], kind: type[Column]) -> str:
    """The columns of one kind, for a message."""
    return shown(name for name, column in columns.items() if isinstance(column, kind))


def _rows(people: People) -> str:
    """A person's rows as a factor in a formula."""
    return f"{people.rows_each} rows each × " if people.rows_each > 1 else ""


def _count(people: People) -> Total:
    """How many rows fulfil some conditions."""
    return Total(people.most(0, 1, always=False), Fraction(1), f"{_rows(people)}1")


@dataclass(frozen=True)
class Count(Statistic):
    """How many rows fulfil the conditions."""

    key, title, whole = "count", "Count", True

    def totals(self, people: People, columns: Mapping[str, Column]) -> tuple[Total, ...]:
        if self.of:
            raise InputError(f"{self.field}.of", ", ".join(self.of), "no columns: a count is of rows")
        if not self.conditions(columns) and people.counted:
            raise InputError(f"{self.field}.where", "(missing)", "a condition: the number of all people is public")
        return (_count(people),)


@dataclass(frozen=True)
class Histogram(Statistic):
    """How many rows there are in every group of one to three columns."""

    key, title, whole = "histogram", "Counts by group", True

    def totals(self, people: People, columns: Mapping[str, Column]) -> tuple[Total, ...]:
        self.conditions(columns)
        if not 1 <= len(self.of) <= 3 or len(set(self.of)) < len(self.of):
            raise InputError(f"{self.field}.of", ", ".join(self.of) or "(missing)", "one to three different columns")
        by = []
        for name in self.of:
            if name not in columns:
                raise InputError(f"{self.field}.of", name, f"columns of the plan: {shown(columns)}")
            by.append(columns[name])
        total = Total(
            1, Fraction(1), f"1 in {'one cell' if people.cells == 1 else 'each of two cells'}{_times(people)}",
            by=tuple(by), moved=people.cells, rows=people.rows_each,
        )  # fmt: skip
        if (cells := len(total.labels)) > MOST_CELLS:
            raise InputError(f"{self.field}.of", f"{cells} cells", f"at most {MOST_CELLS}")
        return (total,)

    def about(self, people: int, columns: Mapping[str, Column]) -> float:
        return people / math.prod(len(columns[name].labels) for name in self.of)


def _times(people: People) -> str:
    return f", for each of {people.rows_each} rows" if people.rows_each > 1 else ""


@dataclass(frozen=True)
class Sum(Statistic):
    """The sum of a column, its values clamped to the bounds. A missing value adds nothing; where every row counts and
    their number is public, it counts as the middle of the bounds, so that no row adds anything beyond them."""

    key, title = "sum", "Sum"

    def totals(self, people: People, columns: Mapping[str, Column]) -> tuple[Total, ...]:
        column = self.column(columns)
        self.conditions(columns)
        always = self.every_row(people)
        change = people.most(column.first, column.last, always=always)
        missing = column.centre if always else 0
        return (Total(change, column.exact_step, _width(people, column, always), column, missing=missing),)

    def about(self, people: int, columns: Mapping[str, Column]) -> float:
        return people * self.column(columns).middling


def _width(people: People, column: Number, always: bool) -> str:
    if people.neighbours == CHANGE_ONE:
        low, high = (column.low, column.high) if always else (min(column.low, 0.0), max(column.high, 0.0))
        top, sign, bottom = write_number(high), "−" if low >= 0 else "+", write_number(abs(low))
        return f"{_rows(people)}({top} {sign} {bottom})"
    return f"{_rows(people)}max(|{write_number(column.low)}|, |{write_number(column.high)}|)"


@dataclass(frozen=True)
class Mean(Statistic):
    """The mean of a column, its values clamped to the bounds.

    Where everybody has one row that counts, and their number n is public: c + Σ(x − c)/n. Elsewhere the sum of x − c
    and the number of rows are released, and their ratio is taken; c is the middle of the bounds, rounded to a step. A
    missing value counts as c in the first case, not at all in the second.

    spread : the standard deviation is published as well, from a sum of (x − c)² that takes its part of the line's
        budget. The interval for the population is shorter with it.
    """

    key, title = "mean", "Mean"
    spread: bool = False

    def totals(self, people: People, columns: Mapping[str, Column]) -> tuple[Total, ...]:
        column = self.column(columns)
        self.conditions(columns)
        middle, public = column.centre, self.every_row(people)
        low, high = column.first - middle, column.last - middle
        width = f"({write_number(column.high)} − {write_number(column.low)})"
        formula = f"{_rows(people)}{'1' if public else '½'} × {width}"
        if people.neighbours == CHANGE_ONE and not public:
            formula = f"{_rows(people)}{width}"
        first = Total(people.most(low, high, always=public), column.exact_step, formula, column, origin=middle)
        found = [first] if public else [first, replace(_count(people), column=column, counts=True)]
        if self.spread:
            found.append(self._squares(people, column, public, max(low * low, high * high)))
        return tuple(found)

    def about(self, people: int, columns: Mapping[str, Column]) -> float:
        return self.column(columns).middling

    @staticmethod
    def _squares(people: People, column: Number, public: bool, largest: int) -> Total:
        """Σ(x − c)², of squares of at most so many squared steps."""
        unit = -(-largest * people.rows_each // SQUARES)
        change = people.most(0, (largest + unit // 2) // unit, always=public)
        formula = f"{_rows(people)}(½ × ({write_number(column.high)} − {write_number(column.low)}))²"
        return Total(change, unit * column.exact_step**2, formula, column, origin=column.centre, squares=unit)

    @property
    def published(self) -> tuple[str, ...]:
        return ("mean", "standard deviation") if self.spread else ()

    def finish(self, released: Sequence[Sequence[float]], people: People, columns: Mapping[str, Column]) -> list[float]:
        found = super().finish(released, people, columns)
        if self.spread:
            rows, *ends = self.ends(people, columns)
            of_rows = released[1][0] if rows is None else rows
            found.append(deviation(released[0][0], released[-1][0], of_rows, *ends))
        return found

    def ends(self, people: People, columns: Mapping[str, Column]) -> tuple[float | None, float, float, float]:
        column = self.column(columns)
        return self._public(people), float(column.centre * column.exact_step), column.low, column.high


@dataclass(frozen=True)
class Proportion(Statistic):
    """The share of rows whose column has the value asked for: their number by n where n is public, else by a released
    number of rows.

    is_ : the value of the column `of`.
    """

    key, title = "proportion", "Proportion"
    is_: str = ""

    def totals(self, people: People, columns: Mapping[str, Column]) -> tuple[Total, ...]:
        self.conditions(columns)
        if len(self.of) != 1 or not isinstance(column := columns.get(self.of[0]), Category):
            fits = f"one column of categories: {_named(columns, Category)}"
            raise InputError(f"{self.field}.of", ", ".join(self.of) or "(missing)", fits)
        if self.is_ not in column.values:
            raise InputError(f"{self.field}.is", self.is_ or "(missing)", f"one of {shown(column.values)}")
        with_it = replace(_count(people), also=(Condition(column.name, "=", self.is_),))
        return (with_it,) if self.every_row(people) else (with_it, _count(people))

    def ends(self, people: People, columns: Mapping[str, Column]) -> tuple[float | None, float, float, float]:
        return self._public(people), 0.0, 0.0, 1.0

    def about(self, people: int, columns: Mapping[str, Column]) -> float:
        return 0.5


@dataclass(frozen=True)
class Quantile(Statistic):
    """A value of the column with about a share q of the rows below it, by the exponential mechanism over the steps
    between the bounds [McSherry and Talwar 2007; Awan, Thm. 7.1]."""

    key, title = "quantile", "Quantile"
    q: float = 0.5

    def totals(self, people: People, columns: Mapping[str, Column]) -> tuple[Total, ...]:
        return ()

    def ranks(self, people: People, columns: Mapping[str, Column]) -> Ranks:
        column = self.column(columns)
        self.conditions(columns)
        if column.last - column.first > MOST_CANDIDATES:
            fits = f"steps of at least {(column.high - column.low) / MOST_CANDIDATES:g}, for a quantile"
            raise InputError(f"columns.{column.name}.step", f"{column.step:g}", fits)
        q = decimal(in_range(0.01, 0.99, also=(), **{f"{self.field}.q": self.q}))
        if people.neighbours == CHANGE_ONE:
            return Ranks(column, q, Fraction(people.rows_each), f"{_rows(people)}1 rank")
        most = max(q, 1 - q)
        return Ranks(column, q, people.rows_each * most, f"{_rows(people)}{float(most):g} rank")

    def share(self, people: People, columns: Mapping[str, Column]) -> float | None:
        return None


STATISTICS: dict[str, type[Statistic]] = {one.key: one for one in (Count, Histogram, Sum, Mean, Proportion, Quantile)}
"""By the word that asks for them."""
