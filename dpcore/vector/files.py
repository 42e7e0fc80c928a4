"""Sensitivity profiles from the text of CSV files: which column, which names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from ..errors import InputError
from .people import refuse_people, says_sensitivity, words_of
from .profile import SensitivityProfile
from .sheets import Sheet, is_running, read_sheet

LOWER, UPPER = {"lower", "low", "min", "minimum"}, {"upper", "high", "max", "maximum"}


@dataclass(frozen=True)
class Choice:
    """One way to read sensitivities: a column of them, or (lower, upper), the bounds between which a column of data
    lies, so that its sum moves by upper − lower when one person's row is replaced."""

    columns: tuple[int] | tuple[int, int]
    label: str


@dataclass(frozen=True)
class SensitivityFile:
    """A file with a line per coordinate."""

    sheet: Sheet

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """What can be the sensitivities: columns of numbers, and a pair of bounds. Numbers that count lines from 0 or 1
        on are none where another column is."""
        sheet = self.sheet
        columns = [at for at in sheet.numeric if not self._is_index(at)] or [*sheet.numeric]
        pairs = [Choice(pair, f"{sheet.label(pair[1])} − {sheet.label(pair[0])}") for pair in self._bounds(columns)]
        return (*pairs, *(Choice((at,), sheet.label(at)) for at in columns))

    @cached_property
    def suggested(self) -> Choice | None:
        """The choice that goes without saying: named sensitivity, named as bounds, or the only one."""
        header, choices = self.sheet.header, self.choices
        said = [one for one in choices if len(one.columns) == 1 and header and says_sensitivity(header[one.columns[0]])]
        pairs = [one for one in choices if len(one.columns) == 2] if header else []
        return next((group[0] for group in (said, pairs, choices) if len(group) == 1), None)

    def labels(self, choice: Choice) -> list[int]:
        """Columns that can be the coordinates' names: words, or numbers that are not chosen."""
        return [at for at in (*self.sheet.texts, *self.sheet.numeric) if at not in choice.columns]

    def label(self, choice: Choice) -> int | None:
        """The column of names that goes without saying: the first of words, else of numbers that count nothing."""
        columns = [at for at in self.labels(choice) if len({*self.sheet.column(at)}) == len(self.sheet.rows)]
        named = (at for at in columns if at in self.sheet.texts or (at < choice.columns[0] and not self._is_index(at)))
        return next(named, next((at for at in self.labels(choice) if at in self.sheet.texts), None))

    def profile(self, choice: Choice, label: int | None) -> SensitivityProfile:
        """The sensitivities with their names, in the order of the lines.

        Raises
        ------
        InputError : a blank or what is no number, with its line; numbers that only count the lines from 0 on; numbers
            that are no sensitivities.
        """
        sheet, (first, *second) = self.sheet, choice.columns
        wanted = "a number (0 only where nothing depends on the data)"
        values = sheet.numbers(first, wanted)
        if second:
            pairs = zip(values, sheet.numbers(second[0], wanted))
            values = list(SensitivityProfile.from_bounds(pairs).values)
        elif self._is_index(first) and values[0] == 0 and len(values) > 2:
            accepted = "sensitivities, not running numbers; if they are that, call the column “sensitivity”"
            raise InputError("file", "0, 1, 2 …", accepted)
        names = () if label is None else tuple(sheet.column(label))
        return SensitivityProfile(tuple(values), "file", names)

    def _is_index(self, at: int) -> bool:
        name, cells = self.sheet.header[at] if self.sheet.header else "", self.sheet.column(at)
        stated = says_sensitivity(name) or words_of(name) & (LOWER | UPPER)
        return not stated and len(cells) > 1 and cells[0] in ("0", "1") and is_running(cells)

    def _bounds(self, columns: list[int]) -> Iterator[tuple[int, int]]:
        """(lower, upper) by their names; without names, the only two columns of numbers if they can be that."""
        header = self.sheet.header
        if header:
            lower, upper = ([at for at in columns if words_of(header[at]) & words] for words in (LOWER, UPPER))
            if len(lower) == len(upper) == 1:
                yield lower[0], upper[0]
        elif len(columns) == 2 and self.sheet.texts:
            yield columns[0], columns[1]


def read_file(text: str) -> SensitivityFile:
    """A file with a line for every coordinate, or with all coordinates on one line.

    Raises
    ------
    InputError : no table, a table without numbers, or one that looks like people.
    """
    sheet = read_sheet(text)
    if not sheet.numeric:
        raise InputError("file", "no column of numbers", "one number per line, or columns such as name and sensitivity")
    refuse_people(sheet)
    return SensitivityFile(_upright(sheet))


def profile_from_csv(text: str, column: str | None = None) -> SensitivityProfile:
    """The sensitivities in one column: by name, by number (1 is the first) or, by default, the one that goes without
    saying; with the names beside them."""
    file = read_file(text)
    choice = file.suggested if column is None else _chosen(file, column)
    if choice is None:
        raise InputError("column", "none", f"one of {_some(file)}: each could be the sensitivities")
    return file.profile(choice, file.label(choice))


def _chosen(file: SensitivityFile, column: str) -> Choice:
    sheet = file.sheet
    by_name = [at for at, name in enumerate(sheet.header) if name == column]
    if len(by_name) == 1:
        return Choice((by_name[0],), column)
    if not by_name and column.isdecimal() and 1 <= int(column) <= sheet.width:
        return Choice((int(column) - 1,), sheet.label(int(column) - 1))
    raise InputError("column", column, f"one of the file's columns: {_some(file)}")


def _some(file: SensitivityFile) -> str:
    return ", ".join(file.sheet.label(at) for at in range(min(10, file.sheet.width)))


def _upright(sheet: Sheet) -> Sheet:
    """The sheet with a line per coordinate, where all of them stand on a single one."""
    said = any(says_sensitivity(name) or words_of(name) & (LOWER | UPPER) for name in sheet.header)
    if len(sheet.rows) > 1 or sheet.width == 1 or said or len(sheet.numeric) < sheet.width:
        return sheet
    rows = zip(sheet.header, sheet.rows[0]) if sheet.header else ((cell,) for cell in sheet.rows[0])
    header = ("name", "sensitivity") if sheet.header else ()
    return replace(sheet, header=header, rows=tuple(rows), lines=sheet.lines * sheet.width)
