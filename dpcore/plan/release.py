"""A plan carried out: the numbers, drawn exactly, with intervals; and the ledger of what was spent on a data set."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..noise import Noise
from ..numbers import write_number
from . import laws, sheet
from . import ranks as choice
from .budget import Priced, Split
from .files import plan_to_toml
from .intervals import Draws, Sums, mean_interval
from .source import Source
from .statistics import Proportion, Total, ratio
from .ticks import tick, ticking

Ends = tuple[float, float]

DRAWS = 9999
"""Draws of the bootstrap, for one release."""

ROUNDING = 1e-12
"""Relative, of sums of what has been spent."""


@dataclass(frozen=True)
class Released:
    """One line's numbers.

    labels : of the cells of a table or of several numbers, else empty.   values : what is published, in that order.
    by : of a table, the columns whose groups the cells are.
    measured : for each value, between which numbers what the data say lies with at least 95 %, by the quantiles of the
        noise; None where they do not tell.
    population : the same for the population that the people of the data are a sample of, by bootstrap; an estimate.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    values: tuple[float, ...]
    measured: tuple[Ends | None, ...]
    population: tuple[Ends | None, ...]
    by: tuple[str, ...] = ()

    @property
    def rows(self) -> list[tuple[str, float, Ends | None, Ends | None]]:
        """(label, value, measured, population) of every number."""
        labels = [" · ".join(label) for label in self.labels] or [""]
        return list(zip(labels, self.values, self.measured, self.population))


def carry_out(
    split: Split, source: Source, call: Callable[[], object] = lambda: None, spend: Callable[[], object] = lambda: None
) -> tuple[Released, ...]:
    """Every line's numbers. Each call spends the plan's budget once more.

    call : see `ticking`; what it raises ends the work, with nothing released.
    spend : called once the data are found to be as the plan says, before anything is drawn; it may refuse by raising.

    Raises
    ------
    InputError : the data are not as the plan says.
    """
    with ticking(call):
        return _carried_out(split, source, spend)


def _carried_out(split: Split, source: Source, spend: Callable[[], object]) -> tuple[Released, ...]:
    plan = split.plan
    source.bind(plan.people, plan.columns)
    if plan.people.counted and (rows := source.rows) != plan.people.number:
        raise InputError(
            "people.number", plan.people.number, f"the number of rows in the data, {rows}, which is public"
        )
    tick()
    spend()
    found = []
    for one, true in zip(split.lines, source.all_totals([(one.totals, one.conditions) for one in split.lines])):
        tick()
        found.append(_line(one, source, split, true))
    return tuple(found)


def to_csv(released: Sequence[Released]) -> str:
    """A row for every number: line, cell, value and the ends of its intervals. An apostrophe stands before a text that
    a spreadsheet would take for a formula."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("measured_95_low", "measured_95_high", "population_95_low", "population_95_high")
    writer.writerow(("line", "cell", "value", *names))
    for one in released:
        for label, value, measured, population in one.rows:
            ends = [map(write_number, found) if found else ("", "") for found in (measured, population)]
            around = [end for pair in ends for end in pair]
            writer.writerow((sheet.harmless(one.name), sheet.harmless(label), write_number(value), *around))
    return text.getvalue()


def _line(priced: Priced, source: Source, split: Split, true: list[list[int]]) -> Released:
    """The line with its exact totals `true`."""
    plan, statistic = split.plan, priced.line.statistic
    if priced.ranks is not None:
        column = priced.ranks.column
        occurring, times = source.occurring(priced.ranks, priced.conditions)
        runs = choice.runs(column.first, column.last, occurring, times, priced.ranks.q)
        drawn = [[float(choice.draw(*runs, priced.rank_rate) * column.exact_step)]]
    else:
        drawn = [
            [_noisy(total, noise, number) for number in cells]
            for total, noise, cells in zip(priced.totals, priced.noises, true)
        ]
    values = statistic.finish(drawn, plan.people, plan.columns)
    around = measured(priced, drawn) if priced.ranks is None else [None]
    if priced.line.non_negative:
        values = np.maximum(values, 0.0).tolist()
        around = [ends and (max(ends[0], 0.0), max(ends[1], 0.0)) for ends in around]
    if statistic.whole:
        values = [int(value) if float(value).is_integer() else value for value in values]
    beyond = [population(priced, drawn, plan.people.rows_each), *[None] * (len(values) - 1)]
    by = tuple(column.name for column in priced.totals[0].by) if priced.totals else ()
    return Released(statistic.name, priced.cells, tuple(values), tuple(around), tuple(beyond), by)


def _noisy(total: Total, noise: Any, number: int) -> float:
    """A total plus one exact draw, in the unit of the statistic."""
    tick()
    return float(noise.release(float(Fraction(number) * total.step)))


# Intervals -------------------------------------------------------------------------------------------


def measured(priced: Priced, drawn: list[list[float]]) -> list[Ends | None]:
    """For every number of a line, between which what was measured lies with at least 95 %: exact quantiles of the noise
    where it is one total, of both at half the risk where it is a ratio of two, and none for a standard deviation.

    drawn : the released totals, in the unit of the statistic.
    """
    if priced.ratio is None:
        return list(_around(drawn[0], priced.noises[0], laws.COVERAGE))
    rows, centre, low, high = priced.ratio
    coverage = laws.COVERAGE if rows is not None else 0.5 + laws.COVERAGE / 2
    (total,) = _around(drawn[0], priced.noises[0], coverage)
    (number,) = [(rows, rows)] if rows is not None else _around(drawn[1], priced.noises[1], coverage)
    corners = [ratio(one, many, centre, low, high) for one in total for many in number]
    return [(min(corners), max(corners)), *[None] * (len(priced.cells) - 1)]


def _around(values: list[float], noise: Noise, coverage: float) -> list[Ends]:
    """What was true, given what is true plus noise."""
    low, high = noise.interval(coverage)
    return [(value - high, value - low) for value in values]


def population(priced: Priced, drawn: list[list[float]], rows_each: int) -> Ends | None:
    """For the mean or proportion of a population of which the rows that count are independent draws, of values as they
    are clamped and rounded; None for other statistics, and where several rows of a person are not independent.

    Without a sum of squares (`spread`) it is as long as the bounds of the column allow.
    """
    if priced.ratio is None or rows_each > 1:
        return None
    rows, centre, low, high = priced.ratio
    of_rows = None if rows is not None else _sampled(priced.noises[1])
    place = priced.squares
    sums = Sums(
        np.array(drawn[0]), np.array([rows] if rows is not None else drawn[1]), _sampled(priced.noises[0]), low, high,
        centre, of_rows, None if place is None else np.array(drawn[place]),
        binary=isinstance(priced.line.statistic, Proportion),
    )  # fmt: skip
    found = mean_interval(sums, np.random.default_rng(0), level=laws.COVERAGE, draws=DRAWS)
    return float(found.low[0]), float(found.high[0])


def _sampled(noise: Noise) -> Draws:
    return lambda rng, shape: noise.sample(rng, math.prod(shape)).reshape(shape)


# The ledger ------------------------------------------------------------------------------------------


class Ledger:
    """What has been spent on one data set, in a file that two processes cannot write at once (SQLite).

    Releases add up by basic composition: Σε and Σδ of the plans carried out stay within what it was opened with.
    """

    def __init__(self, path: str | Path, epsilon: float, delta: float) -> None:
        self.path, self.epsilon, self.delta = Path(path), epsilon, delta
        with closing(self._open()) as book, book:
            book.execute("CREATE TABLE IF NOT EXISTS budget (epsilon REAL NOT NULL, delta REAL NOT NULL)")
            book.execute(
                "CREATE TABLE IF NOT EXISTS spent (at TEXT NOT NULL, plan TEXT NOT NULL, digest TEXT NOT NULL, "
                "epsilon REAL NOT NULL, delta REAL NOT NULL)"
            )
            known = book.execute("SELECT epsilon, delta FROM budget").fetchone()
            if known is None:
                book.execute("INSERT INTO budget VALUES (?, ?)", (epsilon, delta))
            else:
                self.epsilon, self.delta = known

    def _open(self) -> sqlite3.Connection:
        try:
            book = sqlite3.connect(self.path, timeout=10.0, isolation_level=None)
            book.execute("PRAGMA user_version").fetchone()
            return book
        except sqlite3.Error:
            raise InputError("ledger", str(self.path), "a ledger file, or a place where one can be made") from None

    @property
    def spent(self) -> tuple[float, float]:
        """(Σε, Σδ)."""
        with closing(self._open()) as book:
            return _sums(book)

    def spend(self, split: Split) -> None:
        """Enter a plan, before its numbers are drawn: what is drawn and not written down would be worse than the
        reverse.

        Raises
        ------
        InputError : it is more than is left.
        """
        text = plan_to_toml(split.plan)
        with closing(self._open()) as book:
            book.execute("BEGIN EXCLUSIVE")
            try:
                epsilon, delta = _sums(book)
                left = self.epsilon - epsilon, self.delta - delta
                if (
                    split.total > left[0] + ROUNDING * self.epsilon
                    or split.plan.delta > left[1] + ROUNDING * self.delta
                ):
                    told = f"({split.total:.6g}, {split.plan.delta:.6g})"
                    raise InputError(
                        "ledger", told, f"at most what is left, ({max(left[0], 0):.6g}, {max(left[1], 0):.6g})"
                    )
                row = datetime.now(UTC).isoformat(timespec="seconds"), text, hashlib.sha256(text.encode()).hexdigest()
                book.execute("INSERT INTO spent VALUES (?, ?, ?, ?, ?)", (*row, split.total, split.plan.delta))
                book.execute("COMMIT")
            except BaseException:
                book.execute("ROLLBACK")
                raise


def _sums(book: sqlite3.Connection) -> tuple[float, float]:
    row = book.execute("SELECT coalesce(sum(epsilon), 0), coalesce(sum(delta), 0) FROM spent").fetchone()
    return float(row[0]), float(row[1])
