"""A plan carried out: the numbers, drawn exactly, and the ledger of what has been spent on a data set."""

from __future__ import annotations

import hashlib
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
from . import ranks as choice
from .budget import Priced, Split
from .files import plan_to_toml
from .source import Source
from .statistics import Total

ROUNDING = 1e-12
"""Relative, of sums of what has been spent."""


@dataclass(frozen=True)
class Released:
    """One line's numbers. labels : of the cells of a table, else empty.   values : what is published, in that order."""

    name: str
    labels: tuple[tuple[str, ...], ...]
    values: tuple[float, ...]


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
    if priced.line.non_negative:
        values = np.maximum(values, 0.0).tolist()
    return Released(statistic.name, priced.cells, tuple(values))


def _noisy(total: Total, noise: Any, number: int) -> float:
    """A total plus one exact draw, in the unit of the statistic."""
    return float(noise.release(float(Fraction(number) * total.step)))


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
