"""A plan: what is public, what is to be published, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from .._validate import above, in_range
from ..errors import InputError
from ..privacy import DELTA, EPSILON
from .disjoint import together
from .laws import LAPLACE, LAWS
from .public import Column, People, distinct
from .statistics import Statistic

MOST_LINES = 50
WEIGHTS = (1e-3, 1e3)
LARGEST_ERROR = 1e15

BY_WEIGHT, BY_ERROR = "weights", "relative error"
SPLITS = (BY_WEIGHT, BY_ERROR)


@dataclass(frozen=True)
class Line:
    """One statistic with its noise.

    noise : a key of `LAWS`; quantiles choose by rank and have none.
    weight : of ε, against the other lines.   within : in place of it, the error to keep with 95 %.
    about : how large the number is likely to be, a public guess, to compare its error with; by default what the bounds
        of the column and the number of people suggest.
    full_support : no release may exclude a neighbour.
    non_negative : what is below 0 is published as 0, which costs nothing.
    """

    statistic: Statistic
    noise: str = LAPLACE
    weight: float = 1.0
    within: float | None = None
    about: float | None = None
    full_support: bool = True
    non_negative: bool = False

    def __post_init__(self) -> None:
        if self.noise not in LAWS:
            raise InputError(f"lines.{self.name}.noise", self.noise, f"one of {', '.join(LAWS)}")
        object.__setattr__(self, "weight", in_range(*WEIGHTS, also=(), **{f"lines.{self.name}.weight": self.weight}))
        for name in ("within", "about"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, above(0, LARGEST_ERROR, **{f"lines.{self.name}.{name}": given}))

    @property
    def name(self) -> str:
        return self.statistic.name


@dataclass(frozen=True)
class Plan:
    """What one release publishes.

    epsilon : of everything together, for one person; None where every line asks for an error.
    split : how lines that ask for no error share it, one of `SPLITS`: in proportion to their weights, or so that the
        errors of all are alike, relative to what each is about.
    """

    people: People
    columns: Mapping[str, Column] = field(hash=False)
    lines: tuple[Line, ...]
    epsilon: float | None
    delta: float
    title: str = ""
    split: str = BY_WEIGHT

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            epsilon = EPSILON.check(self.epsilon)
            if epsilon == 0:
                raise InputError("budget.epsilon", "0", f"a number from {EPSILON.low:g} to {EPSILON.high:g}")
            object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", DELTA.check(self.delta))
        if self.split not in SPLITS:
            raise InputError("budget.split", self.split, f"one of: {', '.join(SPLITS)}")
        if not 1 <= len(self.lines) <= MOST_LINES:
            raise InputError("lines", f"{len(self.lines)} of them", f"from 1 to {MOST_LINES}")
        distinct(self.columns)
        names = [line.name for line in self.lines]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError("lines.name", twice[0], "a name of its own for every line")
        for line in self.lines:
            line.statistic.totals(self.people, self.columns)
            line.statistic.ranks(self.people, self.columns)

    @cached_property
    def together(self) -> tuple[tuple[int, ...], ...]:
        """The largest sets of lines, by their places, that one person can change together; of sets with the same laws
        one. Usually there is one of all lines; of lines whose filters exclude each other there are several."""
        sets = together([line.statistic.conditions(self.columns) for line in self.lines], self.people, self.columns)
        laws = [_law(line) for line in self.lines]
        different: dict[tuple[int, ...], tuple[int, ...]] = {}
        for one in sets:
            different.setdefault(tuple(sorted(laws.index(laws[i]) for i in one)), one)
        return tuple(different.values())

    @cached_property
    def used(self) -> dict[str, Column]:
        """The columns that its lines are about."""
        about = [line.statistic for line in self.lines]
        names = {name for one in about for name in (*one.of, *(some.column for some in one.where))}
        return {name: column for name, column in self.columns.items() if name in names}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to think over before it is used."""
        if self.people.number is None or self.delta <= 1 / self.people.number:
            return ()
        return (f"δ = {self.delta:g} is more than 1/{self.people.number}: it would allow to publish a row",)


def _law(line: Line) -> tuple[Line, bool]:
    """What the noise of a line and its share depend on: not on what it is called, nor on which rows count."""
    statistic = replace(line.statistic, name="", where=())
    return replace(line, statistic=statistic, non_negative=False), bool(line.statistic.where)
