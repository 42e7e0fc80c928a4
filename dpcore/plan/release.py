"""A plan carried out: the numbers, drawn exactly, with intervals; and the ledger of what was spent on a data set."""

from __future__ import annotations

import hashlib
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..noise import Noise
from . import laws
from . import ranks as choice
from .budget import Priced, Split
from .files import plan_to_toml
from .intervals import Draws, Sums, mean_interval
from .source import Source
from .statistics import Proportion, Total, ratio

Ends = tuple[float, float]

DRAWS = 9999
"""Of the bootstrap, for one release."""

ROUNDING = 1e-12
"""Relative, of sums of what has been spent."""


@dataclass(frozen=True)
class Released:
    """One line's numbers.

    labels : of the cells of a table or of several numbers, else empty.   values : what is published, in that order.
    measured : for each value, between which numbers what the data say lies with at least 95 %, by the quantiles of the
        noise; None where they do not tell.
    population : the same for the population that the people of the data are a sample of, by bootstrap; an estimate.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    values: tuple[float, ...]
    measured: tuple[Ends | None, ...]
    population: tuple[Ends | None, ...]


def carry_out(split: Split, source: Source, tick: Callable[[], object] = lambda: None) -> tuple[Released, ...]:
    """Every line's numbers. Each call spends the plan's budget once more.

    tick : called between lines; what it raises ends the work, with nothing released.

    Raises
    ------
    InputError : the data are not as the plan says.
    """
    plan = split.plan
    source.bind(plan.people, plan.columns)
    if plan.people.counted and (rows := source.rows) != plan.people.number:
        raise InputError(
            "people.number", plan.people.number, f"the number of rows in the data, {rows}, which is public"
        )
    found = []
    for one in split.lines:
        tick()
        found.append(_line(one, source, split))
    return tuple(found)


def _line(priced: Priced, source: Source, split: Split) -> Released:
    plan, statistic = split.plan, priced.line.statistic
    where = priced.conditions
    if priced.ranks is not None:
        column = priced.ranks.column
        occurring, times = source.occurring(priced.ranks, where)
        runs = choice.runs(column.first, column.last, occurring, times, priced.ranks.q)
        drawn = [[float(choice.draw(*runs, priced.rank_rate) * column.exact_step)]]
    else:
        true = source.totals(priced.totals, where)
        drawn = [
            [_noisy(total, noise, number) for number in cells]
            for total, noise, cells in zip(priced.totals, priced.noises, true)
        ]
    values = statistic.finish(drawn, plan.people, plan.columns)
    around = measured(priced, drawn) if priced.ranks is None else [None]
    if priced.line.non_negative:
        values = np.maximum(values, 0.0).tolist()
        around = [ends and (max(ends[0], 0.0), max(ends[1], 0.0)) for ends in around]
    beyond = [population(priced, drawn, plan.people.rows_each), *[None] * (len(values) - 1)]
    return Released(statistic.name, priced.cells, tuple(values), tuple(around), tuple(beyond))


def _noisy(total: Total, noise: Any, number: int) -> float:
    """A total plus one exact draw, in the unit of the statistic."""
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
