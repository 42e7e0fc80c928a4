"""What is known without looking at the data: who counts as a neighbour, and which values a column may have.

Bounds, categories and numbers of people must not come from the data: a bound that is the largest salary tells that
salary. They are stated by whoever makes the plan, and whatever lies beyond is clamped or left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from .._validate import decimal
from ..errors import InputError
from ..numbers import write_number
from ..quantity import Quantity

NUMBER = Quantity("number", 1, 1e10, 1000, "people", "People in the data", whole=True)
ROWS_EACH = Quantity("rows_each", 1, 1000, 1, "rows of one person", "Rows of one person, at most", whole=True)
BOUND = Quantity("bound", -1e15, 1e15, 0.0)
STEP = Quantity("step", 1e-9, 1e12, 1.0, label="Values are multiples of")

ADD_REMOVE, CHANGE_ONE = "add or remove one person", "change one person"
NEIGHBOURS = (ADD_REMOVE, CHANGE_ONE)

MOST_CATEGORIES = 1000
LONGEST_NAME = 200
SHOWN, LONGEST_SHOWN = 20, 40
"""Names in a message, and characters of each."""

SHAPES = {"even": (1.0, 1.0), "bell": (3.0, 3.0), "falling": (1.0, 3.0)}
"""How made-up values lie between the bounds, or among the categories: the numbers of a beta law."""

FINENESS = 1000
"""Steps between the bounds of a column whose user states no step."""

MOST_STEPS = 10**7
"""Between the bounds of a column."""


def _shaped(field: str, shape: object) -> None:
    if shape not in tuple(SHAPES):
        raise InputError(f"{field}.shape", shape, f"one of {', '.join(SHAPES)}")


def _named(field: str, name: object) -> str:
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise InputError(field, name, f"a text of 1 to {LONGEST_NAME} characters")
    return name


@dataclass(frozen=True)
class People:
    """Whose privacy is meant.

    neighbours : which two data sets one release may not tell apart, one of `NEIGHBOURS`.
    number : how many people there are, where everybody may know it; None if that is private.
    identifier : the column that says whose row it is; "" where every row is a person of its own.
    rows_each : the most rows of one person that are used; further ones are dropped.
    """

    neighbours: str = ADD_REMOVE
    number: int | None = None
    identifier: str = ""
    rows_each: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in NEIGHBOURS:
            raise InputError("people.neighbours", self.neighbours, f"one of: {', '.join(NEIGHBOURS)}")
        if self.number is not None:
            object.__setattr__(self, "number", int(NUMBER.check(self.number)))
        object.__setattr__(self, "rows_each", int(ROWS_EACH.check(self.rows_each)))
        if self.identifier:
            _named("people.identifier", self.identifier)
        elif self.rows_each > 1:
            raise InputError("people.rows_each", self.rows_each, "1, or a column that says whose row it is")
        if self.neighbours == CHANGE_ONE and self.number is None:
            raise InputError("people.number", "(missing)", "a number: changing one person keeps it, so it is public")

    @property
    def counted(self) -> bool:
        """The number of rows is public: everybody has one, and a neighbour has as many."""
        return self.neighbours == CHANGE_ONE and not self.identifier

    def most(self, low: int, high: int, *, always: bool) -> int:
        """How much one person can change a sum over rows whose terms lie in [low, high] or, unless `always`, are
        missing.

        Adding a person adds at most `rows_each` terms. Changing one takes some away and adds others: the sum of all of
        a person's terms lies between rows_each·min(low, 0) and rows_each·max(high, 0), and in [low, high] where there
        is exactly one, always.
        """
        if self.neighbours == CHANGE_ONE:
            return high - low if always and self.counted else self.rows_each * (max(high, 0) - min(low, 0))
        return self.rows_each * max(abs(low), abs(high))

    @property
    def cells(self) -> int:
        """How many cells of a table one row can change by 1: its own and, where it is changed, the one it moves to."""
        return 1 if self.neighbours == ADD_REMOVE else 2


@dataclass(frozen=True)
class Number:
    """A column of numbers between two public bounds; what lies beyond counts as the bound.

    step : values are rounded to multiples of it; by default about a thousandth of the width, 1, 2 or 5 times a power
        of ten. Sums are then sums of whole numbers, and their sensitivity is exact.
    edges : between groups, for tables by this column: [a, b) each, the last one [a, b].
    shape : of made-up data, one of `SHAPES`; nothing else depends on it.
    """

    name: str
    low: float
    high: float
    step: float | None = None
    edges: tuple[float, ...] = ()
    shape: str = "bell"

    def __post_init__(self) -> None:
        field = f"columns.{_named('columns', self.name)}"
        _shaped(field, self.shape)
        low, high = (BOUND.check(end) for end in (self.low, self.high))
        if not low < high:
            raise InputError(f"{field}.high", f"{high:g}", f"a number above the lower bound {low:g}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        step = float(_round_step((high - low) / FINENESS)) if self.step is None else STEP.check(self.step)
        object.__setattr__(self, "step", step)
        if not 1 <= self.last - self.first <= MOST_STEPS:
            fits = f"at least one step between {low:g} and {high:g}, and at most {MOST_STEPS:g}"
            raise InputError(f"{field}.step", f"{step:g}", fits)
        edges = tuple(float(BOUND.check(edge)) for edge in self.edges)
        if edges and (len(edges) < 2 or any(a >= b for a, b in zip(edges, edges[1:]))):
            raise InputError(f"{field}.edges", edges, "at least two rising numbers")
        if len(edges) > MOST_CATEGORIES:
            raise InputError(f"{field}.edges", f"{len(edges)} numbers", f"at most {MOST_CATEGORIES}")
        object.__setattr__(self, "edges", edges)

    @property
    def exact_step(self) -> Fraction:
        """The step as the number that its text names."""
        assert self.step is not None  # set by __post_init__
        return decimal(self.step)

    @property
    def middling(self) -> float:
        """Half of the bound that is further from 0."""
        return 0.5 * max(abs(self.low), abs(self.high))

    @property
    def first(self) -> int:
        """The lower bound in steps, rounded up."""
        return math.ceil(decimal(self.low) / self.exact_step)

    @property
    def last(self) -> int:
        """The upper bound in steps, rounded down."""
        return math.floor(decimal(self.high) / self.exact_step)

    @property
    def centre(self) -> int:
        """The middle of the bounds in steps, rounded down."""
        return (self.first + self.last) // 2

    @property
    def labels(self) -> tuple[str, ...]:
        """The groups of a table by this column.

        Raises
        ------
        InputError : no edges are stated.
        """
        if not self.edges:
            raise InputError(f"columns.{self.name}.edges", "(missing)", "edges, for a table by this column")
        edges = [write_number(edge) for edge in self.edges]
        return tuple(f"{a} to {b}" for a, b in zip(edges, edges[1:]))


@dataclass(frozen=True)
class Category:
    """A column of one of some public values; rows with any other value are left out of tables by it.

    shape : as of a `Number`; "falling": the first values are the most frequent.
    """

    name: str
    values: tuple[str, ...]
    shape: str = "even"

    def __post_init__(self) -> None:
        _shaped(f"columns.{_named('columns', self.name)}", self.shape)
        field = f"columns.{self.name}.values"
        values = tuple(self.values)
        if not 1 <= len(values) <= MOST_CATEGORIES:
            raise InputError(field, f"{len(values)} values", f"1 to {MOST_CATEGORIES}")
        for value in values:
            _named(field, value)
        if len(set(values)) < len(values):
            raise InputError(field, next(v for v in values if values.count(v) > 1), "every value once")
        object.__setattr__(self, "values", values)

    @property
    def labels(self) -> tuple[str, ...]:
        """The groups of a table by this column."""
        return self.values


Column = Number | Category


def shown(names: Iterable[str]) -> str:
    """Names or values for a message: printable, short, and not all of hundreds."""
    known = list(names)
    short = ["".join(c for c in name if c.isprintable()) for name in known[:SHOWN]]
    listed = ", ".join(name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…" for name in short)
    return listed + (" …" if len(known) > SHOWN else "") or "(none)"


def distinct(names: Iterable[str]) -> None:
    """Names of columns differ by more than capitals, which files are read without regard to.

    Raises
    ------
    InputError : two do not.
    """
    known: set[str] = set()
    for name in names:
        if name.casefold() in known:
            raise InputError("columns", name, "a name of its own for every column, also without capitals")
        known.add(name.casefold())


def _round_step(width: float) -> Fraction:
    """1, 2 or 5 times a power of ten, at most the width."""
    size = math.floor(math.log10(width))
    power = Fraction(10) ** size
    return max(
        factor * power for factor in (Fraction(1), Fraction(2), Fraction(5)) if factor * power <= width * (1 + 1e-9)
    )
