"""Tables to learn from: columns with public ranges or values, and one label in every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..extras import needs
from ..numbers import read_number
from ..plan.public import Category, Number, People
from ..plan.source import Source
from ..vector.sheets import Sheet, read_sheet

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Column = Number | Category

FOLDER = Path(__file__).parent / "data"
LEAST_ROWS, MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 20, 50_000, 200, 20
MOST_CELLS = 10_000_000
"""Rows times sums that naïve Bayes adds up for each class: 80 MB."""

FROM_DATA = "data"
"""In place of stated ranges: read them from the table itself, which no promise covers."""

IGNORED = "ignored"
"""In place of a column's range: it is left out."""


@dataclass(frozen=True, eq=False)
class LearningTable:
    """values : (n, columns), numbers clamped to their ranges, codes of categories.   labels : (n,) codes of classes.

    public : ranges and values were stated; else they were read from the table, which no promise covers.
    classes_public : the same of the classes.
    """

    name: str
    columns: tuple[Column, ...]
    values: Array
    classes: tuple[str, ...]
    labels: Codes
    public: bool = True
    classes_public: bool = True

    def __post_init__(self) -> None:
        sums = 1 + sum(len(one.values) if isinstance(one, Category) else 2 for one in self.columns)
        if len(self.labels) * sums > MOST_CELLS:
            accepted = f"at most {MOST_CELLS // sums} rows with so many columns and values"
            raise InputError("data", f"{len(self.labels)} rows", accepted)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Places of the columns of numbers."""
        return tuple(at for at, one in enumerate(self.columns) if isinstance(one, Number))

    @property
    def categories(self) -> tuple[int, ...]:
        """Places of the columns of categories."""
        return tuple(at for at, one in enumerate(self.columns) if isinstance(one, Category))

    def against(self, name: str) -> LearningTable:
        """This table with two classes: one and the rest, in that order.

        Raises
        ------
        InputError : no such class.
        """
        if name not in self.classes:
            raise InputError("positive", name, ", ".join(self.classes))
        others = (self.labels != self.classes.index(name)).astype(np.intp)
        return replace(self, classes=(name, f"not {name}"), labels=others)

    def binary(self, name: str | None = None) -> LearningTable:
        """Itself if it has two classes, else one of them, or the one with the most rows, against the rest."""
        return self if len(self.classes) == 2 else self.against(self.majority if name is None else name)

    @property
    def majority(self) -> str:
        """The class with the most rows."""
        return self.classes[int(np.bincount(self.labels, minlength=len(self.classes)).argmax())]


@dataclass(frozen=True)
class Bundled:
    """A data set of the product.   ranges : as `read_table` takes them: what the published set spans, as in [SLW]."""

    title: str
    file: str
    label: str
    ranges: str
    positive: str


_GRADES = "|".join(map(str, range(1, 11)))
BUNDLED = {
    "contraceptive": Bundled(
        "Contraceptive method (1473 × 9, 3 classes)", "contraceptive", "method",
        "wife_age=16:49; children=0:16; wife_education=1|2|3|4; husband_education=1|2|3|4; wife_religion=0|1; "
        "wife_working=0|1; husband_occupation=1|2|3|4; living_standard=1|2|3|4; media_exposure=0|1", "1",
    ),
    "breast-cancer": Bundled(
        "Breast cancer, Wisconsin (683 × 9, 2 classes)", "breast_cancer_wisconsin", "class",
        "; ".join(
            f"{name}={_GRADES}"
            for name in (
                "clump_thickness", "cell_size", "cell_shape", "adhesion", "epithelial_size", "bare_nuclei",
                "bland_chromatin", "normal_nucleoli", "mitoses",
            )
        ), "2",
    ),
    "ecoli": Bundled(
        "Ecoli (336 × 7, majority against the rest)", "ecoli", "site",
        "mcg=0:0.89; gvh=0.16:1; lip=0.48|1.00; chg=0.50|1.00; aac=0:0.88; alm1=0.03:1; alm2=0:0.99", "cp",
    ),
}  # fmt: skip
"""Sets of the UCI repository that come with the product (data/README.md)."""

SCIKIT = {
    "wine": "Wine (178 × 13, 3 classes)",
    "iris": "Iris (150 × 4, 3 classes)",
    "diagnostic": "Breast cancer, diagnostic (569 × 30, 2 classes)",
}
"""Sets that come with scikit-learn. Their ranges are what the published sets span."""

SETS = {**{key: one.title for key, one in BUNDLED.items()}, **SCIKIT}


@lru_cache(maxsize=8)
def load(name: str) -> LearningTable:
    """A data set of `SETS` by its name."""
    if name in BUNDLED:
        one = BUNDLED[name]
        text = (FOLDER / f"{one.file}.csv").read_text(encoding="utf-8")
        table = replace(read_table(text, one.label, one.ranges, name=one.title), classes_public=True)
        return table.against(one.positive) if name == "ecoli" else table
    if name not in SCIKIT:
        raise InputError("data", name, f"{', '.join(SETS)}, or a CSV file")
    with needs("learning"):
        from sklearn import datasets

    data = getattr(datasets, "load_breast_cancer" if name == "diagnostic" else f"load_{name}")()
    rows, names = np.asarray(data.data, dtype=float), [str(one) for one in data.feature_names]
    columns = tuple(_spanning(one, rows[:, at]) for at, one in enumerate(names))
    classes = tuple(str(one) for one in data.target_names)
    return LearningTable(SCIKIT[name], columns, rows, classes, np.asarray(data.target, dtype=np.intp))


def read_table(text: str, label: str, ranges: str, *, name: str = "Uploaded table") -> LearningTable:
    """A table from CSV text with a line of names.

    label : the column of the classes.   ranges : "age=16:49; education=1|2|3|4; note=ignored": what is publicly known
    about every other column, its ends or its values, and the classes if they are stated; `FROM_DATA`: what the table
    spans.

    Raises
    ------
    InputError : no such column, a column about which nothing is stated, a value that is not among those stated.
    """
    sheet = read_sheet(text)
    if not sheet.header:
        raise InputError("data", "no line of names", "a CSV file whose first line names the columns")
    if label not in sheet.header:
        raise InputError("label", label, f"one of the columns: {', '.join(sheet.header)}")
    places = {title: at for at, title in enumerate(sheet.header)}
    known: dict[str, Column | None]
    if ranges.strip() == FROM_DATA:
        known = {title: _from_data(sheet, at) for title, at in places.items() if title != label}
    else:
        known = read_ranges(ranges, list(places), label)
    stated = known.pop(label, None)
    if stated is None:
        _count_classes(label, len(found := np.unique(np.array(sheet.column(places[label])))))
        classes = Category(label, tuple(map(str, found)))
    else:
        classes = checked_classes(stated)
    columns = tuple(one for one in known.values() if one is not None)
    check_size(len(sheet.rows), len(columns))
    values = np.column_stack([_values(sheet, places[one.name], one) for one in columns])
    labels = _values(sheet, places[label], classes).astype(np.intp)
    public = ranges.strip() != FROM_DATA
    return LearningTable(name, columns, values, classes.values, labels, public, stated is not None)


def read_source(source: Source, name: str, columns: Sequence[Column], classes: Category) -> LearningTable:
    """A table from a file of people's data, with what is publicly known about the columns that are used.

    Raises
    ------
    InputError : the file is none, it has no such column, or a row without one of the values stated. What stands in it
        is not repeated.
    """
    checked_classes(classes)
    every = {one.name: one for one in (*columns, classes)}
    source.bind(People(), every)
    check_size(source.rows, len(columns))
    found = source.numbered(list(every.values()))
    for one, values in zip(every.values(), found):
        if missing := int(np.isnan(values).sum()):
            accepted = f"{'one of the values stated' if isinstance(one, Category) else 'a number'} in every row"
            raise InputError(f"columns.{one.name}", f"nothing of the kind in {missing} rows", accepted)
    values = np.column_stack(found[:-1])
    return LearningTable(name, tuple(columns), values, classes.values, found[-1].astype(np.intp))


def check_size(rows: int, columns: int) -> None:
    """A table of so many rows and columns, besides that of the classes, can be learnt from.

    Raises
    ------
    InputError : it cannot.
    """
    if not (LEAST_ROWS <= rows <= MOST_ROWS and 1 <= columns <= MOST_COLUMNS):
        accepted = f"{LEAST_ROWS} to {MOST_ROWS} lines and 1 to {MOST_COLUMNS} columns besides the label"
        raise InputError("data", f"{rows} lines, {columns} columns", accepted)


def checked_classes(stated: Column) -> Category:
    """The column of the classes.

    Raises
    ------
    InputError : it holds numbers, or too few or many classes.
    """
    if not isinstance(stated, Category):
        raise InputError("label", f"{stated.name} between {stated.low:g} and {stated.high:g}", "classes: A|B|…")
    _count_classes(stated.name, len(stated.values))
    return stated


def _count_classes(name: str, count: int) -> None:
    if not 2 <= count <= MOST_CLASSES:
        raise InputError("label", f"{count} classes in {name}", f"2 to {MOST_CLASSES}")


def read_ranges(text: str, names: Sequence[str], label: str) -> dict[str, Column | None]:
    """What is publicly known about columns, from "age=16:49; education=1|2|3|4; note=ignored", None of those that are
    ignored; of the label only if it is told.

    Raises
    ------
    InputError : a name that is not in the table, one that is missing, or what is neither LOW:HIGH nor A|B|….
    """
    found: dict[str, Column | None] = {}
    for part in filter(None, (word.strip() for word in text.split(";"))):
        name, sign, rest = (word.strip() for word in part.partition("="))
        if name not in names or not sign:
            accepted = f"NAME=LOW:HIGH, NAME=A|B|… or NAME={IGNORED} with NAME one of {', '.join(names)}"
            raise InputError("ranges", part, accepted)
        if rest == IGNORED and name != label:
            found[name] = None
        elif "|" in rest:
            found[name] = Category(name, tuple(word.strip() for word in rest.split("|")))
        else:
            low, _, high = rest.partition(":")
            accepted = f"{name}=LOW:HIGH, two numbers, {name}=A|B|… or {name}={IGNORED}"
            found[name] = Number(name, read_number(low, "ranges", accepted), read_number(high, "ranges", accepted))
    if missing := [name for name in names if name not in found and name != label]:
        accepted = f"{missing[0]}=LOW:HIGH or {missing[0]}=A|B|…: ranges are public, they are not taken from the data"
        raise InputError("ranges", f"nothing about {', '.join(missing[:3])}", accepted)
    return {name: found[name] for name in names if name in found}


def columns_of(rows: ArrayLike, ranges: Sequence[tuple[float, float]], values: Mapping[int, int]) -> tuple[Column, ...]:
    """Columns of an array: numbers in ranges, and for places in `values` so many categories 0, 1, ….

    rows : (n, columns).   ranges : one pair for every column, or for all of them.
    """
    width = np.shape(rows)[1]
    pairs = list(ranges) * width if len(ranges) == 1 else list(ranges)
    if len(pairs) != width:
        raise InputError("ranges", f"{len(pairs)} pairs", f"one pair, or {width}: one for every column")
    return tuple(
        Category(str(at), tuple(map(str, range(values[at])))) if at in values else Number(str(at), *pairs[at])
        for at in range(width)
    )


def _spanning(name: str, column: Array) -> Number:
    """A column of numbers with the range that it spans."""
    low, high = float(column.min()), float(column.max())
    return Number(name, low, high if low < high else low + max(abs(low), 1.0))


def _from_data(sheet: Sheet, at: int) -> Column:
    """A column as the table itself shows it."""
    if at not in sheet.numeric:
        return Category(sheet.header[at], tuple(sorted(set(sheet.column(at)))))
    return _spanning(sheet.header[at], np.array(sheet.numbers(at, "a number")))


def _values(sheet: Sheet, at: int, column: Column) -> Array:
    if isinstance(column, Number):
        clamped: Array = np.clip(np.array(sheet.numbers(at, "a number")), column.low, column.high)
        return clamped
    codes = {value: float(code) for code, value in enumerate(column.values)}
    cells = sheet.column(at)
    if odd := next((cell for cell in cells if cell not in codes), None):
        raise InputError(column.name, odd, f"one of the values stated: {', '.join(column.values)}")
    return np.array([codes[cell] for cell in cells])
