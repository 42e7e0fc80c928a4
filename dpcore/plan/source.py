"""The data, read through DuckDB: totals over rows, and nothing else leaves it.

The connection may open the one file it is given and nothing besides: no network, no extensions, no other file. Names of
columns are quoted, values are parameters. What DuckDB says about a file may quote the file, so its messages are not
passed on.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..extras import needs
from . import sheet
from .public import Category, Column, Number, People, shown
from .statistics import Condition, Ranks, Total
from .ticks import tick

MEMORY = "1GB"
PAGE_MEMORY = "180MB"
"""Memory that DuckDB may use, on the command line and for a file in memory."""

NUMERIC = frozenset(
    {
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "FLOAT",
        "DOUBLE",
    }
)
"""Types of numbers in Parquet files; DECIMAL(p, s) are others."""

ROWS = "people_rows"


class Source:
    """Rows that can be added up."""

    def __init__(self, connection: Any, relation: str, name: str) -> None:
        self._connection, self._relation, self._name = connection, relation, name
        self._bound: str | None = None
        self._interrupted = False

    @classmethod
    @contextmanager
    def file(cls, path: str | Path, *, memory: str = MEMORY, spill: str | Path | None = None) -> Iterator[Source]:
        """A source of a CSV file (any separator, first line names) or a Parquet file.

        memory : that DuckDB may use.   spill : a folder for what does not fit; nothing is written elsewhere.

        Raises
        ------
        InputError : there is no such file, or it is neither.
        """
        where = Path(path)
        if not where.is_file():
            raise InputError("data", str(path), "a CSV or Parquet file")
        with where.open("rb") as opened:
            head = opened.read(sheet.HEAD)
        place = str(where.resolve())
        with _connection(place, memory, spill) as connection:
            yield cls(connection, _relation(place, head), str(path))

    @classmethod
    @contextmanager
    def held(cls, raw: bytes, name: str, *, memory: str = PAGE_MEMORY) -> Iterator[Source]:
        """A source of such a file that is in memory; nothing is written anywhere.

        name : of the file, for messages.

        Raises
        ------
        InputError : it is neither, or not fit for a page: see `sheet`.
        """
        head = raw[: sheet.HEAD]
        if sheet.is_parquet(head):
            size = int.from_bytes(raw[-8:-4], "little")
            if size > sheet.HEAD:
                raise InputError("data", f"a Parquet file with an index of {size} bytes", f"at most {sheet.HEAD} bytes")
        else:
            sheet.check_text(raw)
        with needs("data"):
            from .held import PLACE, Held
        relation = _relation(PLACE, head, sheet.MOST_COLUMNS)
        with _connection(PLACE, memory, None, Held(raw)) as connection:
            yield cls(connection, relation, name)

    @classmethod
    @contextmanager
    def table(cls, columns: Mapping[str, np.ndarray], *, memory: str = MEMORY) -> Iterator[Source]:
        """A source of columns in memory, all of one length."""
        with _connection("", memory, None) as connection:
            connection.register("people", dict(columns))
            yield cls(connection, "people", "the table")

    def interrupt(self) -> None:
        """End what is being read, from another thread: that and whatever is asked later raises `Interrupted`."""
        import duckdb

        self._interrupted = True
        with suppress(duckdb.Error):  # it was closed already
            self._connection.interrupt()

    def look(self) -> dict[str, bool]:
        """Name of every column → whether everything in it that is not missing is a number; the whole file is read.

        Raises
        ------
        InputError : rows differ in their number of cells, a cell is a formula, or there are too many columns.
        """
        sheet.check_names(list(self._types), sheet.MOST_COLUMNS)
        texts = [name for name, kind in self._types.items() if kind == "VARCHAR"]
        asked = [
            f"coalesce(bool_or({_formula(name)}), false), coalesce(bool_and({_plain(name)}), true)" for name in texts
        ]
        told = self._rows(f"SELECT count(*), {', '.join(asked)} FROM {self._relation}")[0][1:] if asked else ()
        for name, formula in zip(texts, told[::2]):
            if formula:
                raise InputError(f"columns.{name}", "a formula in a cell", "values: save the sheet as values alone")
        numbers = dict(zip(texts, told[1::2]))
        return {
            name: numbers.get(name, kind in NUMERIC or kind.startswith("DECIMAL")) for name, kind in self._types.items()
        }

    @cached_property
    def _types(self) -> dict[str, str]:
        """What DuckDB reads every column as."""
        described = self._rows(f"DESCRIBE SELECT * FROM {self._relation}")
        return {row[0]: row[1] for row in described}

    def check(self, people: People, columns: Mapping[str, Column]) -> None:
        """The file has the columns.

        Raises
        ------
        InputError : it has not.
        """
        names = self._types
        for field, name in [("people.identifier", people.identifier), *(("columns", one) for one in columns)]:
            if name and name not in names:
                raise InputError(field, name, f"a column of the file: {shown(sorted(names))}")

    def bind(self, people: People, columns: Mapping[str, Column]) -> None:
        """Keep the rows that count: of one person `rows_each` at most, which ones is left to chance; rows without an
        identifier are nobody's and are dropped.

        Raises
        ------
        InputError : as `check`.
        """
        self.check(people, columns)
        used = ", ".join(self._read(column) for column in columns.values()) or "1 AS nothing"
        if not people.identifier:
            self._bound = f"(SELECT {used} FROM {self._relation})"
            return
        self._rows(f"SELECT setseed({secrets.randbelow(1 << 53) / (1 << 53)})")
        whose = _name(people.identifier)
        drawn = f"{whose} AS whose_row, random() AS chance_of_row"
        chance = f"SELECT {used}, {drawn} FROM {self._relation} WHERE {whose} IS NOT NULL"
        turns = "row_number() OVER (PARTITION BY whose_row ORDER BY chance_of_row)"
        kept = f"SELECT * EXCLUDE (whose_row, chance_of_row) FROM ({chance}) QUALIFY {turns} <= {people.rows_each}"
        self._rows(f"CREATE OR REPLACE TEMP TABLE {ROWS} AS {kept}")
        self._bound = ROWS

    def _read(self, column: Column) -> str:
        """A column as numbers, NULL for what is none, or as text, under the name that it has from then on."""
        name, kept = _name(column.name), _kept(column.name)
        if isinstance(column, Category):
            return f"CAST({name} AS VARCHAR) AS {kept}"
        value = f"TRY_CAST({name} AS DOUBLE)" if self._types[column.name] != "VARCHAR" else _double(column.name)
        return f"CASE WHEN NOT isnan({value}) THEN {value} END AS {kept}"

    @property
    def rows(self) -> int:
        """How many rows count. Not for publishing."""
        return int(self._rows(f"SELECT count(*) FROM {self._bound}")[0][0])

    def totals(self, totals: Sequence[Total], where: Sequence[Condition]) -> list[list[int]]:
        """Every total of a statistic, exactly, cell by cell."""
        return self.all_totals([(totals, where)])[0]

    def all_totals(self, asked: Sequence[tuple[Sequence[Total], Sequence[Condition]]]) -> list[list[list[int]]]:
        """The totals of several statistics; what is no table is added up in one pass over the rows."""
        terms: list[str] = []
        values: list[Any] = []
        for totals, where in asked:
            for total in totals:
                if not total.by:
                    term = "1" if total.column is None else _term(total, total.column)
                    terms.append(f"sum(CASE WHEN {_where([*where, *total.also], values)} THEN {term} END)")
        sums = iter(self._rows(f"SELECT {', '.join(terms)} FROM {self._bound}", values)[0] if terms else ())
        return [
            [_clamped(total, self._cells(total, where) if total.by else [int(next(sums) or 0)]) for total in totals]
            for totals, where in asked
        ]

    def _cells(self, total: Total, where: Sequence[Condition]) -> list[int]:
        inner: list[Any] = []
        values: list[Any] = []
        conditions = _where([*where, *total.also], values)
        keys = ", ".join(f"{_group(column, inner)} AS g{i}" for i, column in enumerate(total.by))
        grouped = f"SELECT {keys} FROM {self._bound} WHERE {conditions}"
        places = ", ".join(f"g{i}" for i in range(len(total.by)))
        counted = np.zeros([len(column.labels) for column in total.by], dtype=object)
        for *cell, count in self._rows(f"SELECT {places}, count(*) FROM ({grouped}) GROUP BY ALL", [*inner, *values]):
            if all(cell):
                counted[tuple(int(i) - 1 for i in cell)] += int(count)
        return list(counted.ravel())

    def numbered(self, columns: Sequence[Column]) -> list[np.ndarray]:
        """Every row of columns that were bound, (rows,) each, in one order: numbers clamped to their bounds, places of
        values among those stated from 0 on; NaN for what is neither. Not for publishing."""
        terms: list[str] = []
        values: list[Any] = []
        for at, column in enumerate(columns):
            if isinstance(column, Category):
                values.append(list(column.values))
                place = f"list_position(CAST(? AS VARCHAR[]), trim({_kept(column.name)}))"
                terms.append(f"CAST(nullif(coalesce({place}, 0), 0) - 1 AS DOUBLE) AS v{at}")
            else:
                value = _kept(column.name)
                inside = f"least(greatest({value}, {column.low!r}), {column.high!r})"
                terms.append(f"CASE WHEN {value} IS NOT NULL THEN {inside} END AS v{at}")
        found = self._run(f"SELECT {', '.join(terms)} FROM {self._bound}", values, "fetchnumpy")
        return [np.ma.filled(np.ma.asarray(found[f"v{at}"], dtype=float), np.nan) for at in range(len(columns))]

    def occurring(self, ranks: Ranks, where: Sequence[Condition]) -> tuple[list[int], list[int]]:
        """(values of the column in steps, rising; how often each occurs)."""
        values: list[Any] = []
        conditions = _where(where, values)
        steps = _steps(ranks.column)
        counted = f"SELECT {steps} AS s, count(*) FROM {self._bound} WHERE {conditions}"
        rows = self._rows(f"{counted} GROUP BY s HAVING s IS NOT NULL ORDER BY s", values)
        return [int(value) for value, _ in rows], [int(times) for _, times in rows]

    def _rows(self, text: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self._run(text, values, "fetchall")
        return rows

    def _run(self, text: str, values: Sequence[Any], fetch: str) -> Any:
        import duckdb

        if self._interrupted:
            raise Interrupted
        tick()
        refusal: Exception
        try:
            return getattr(self._connection.execute(text, list(values)), fetch)()
        except duckdb.InterruptException:
            refusal = Interrupted()
        except duckdb.OutOfMemoryException:
            refusal = InputError("data", self._name, "a file that fits into the memory set aside for it")
        except duckdb.Error as error:
            refusal = _refusal(str(error), self._name)
        raise refusal  # here, where it has no context: what DuckDB says may quote the file


class Interrupted(Exception):
    """Reading was ended from outside."""


@contextmanager
def _connection(place: str, memory: str, spill: str | Path | None, held: Any = None) -> Iterator[Any]:
    """A database in memory that may open one file and nothing besides.

    held : the file system it is on, if it is none of the machine's.
    """
    with needs("data"):
        import duckdb
    connection = duckdb.connect(":memory:")
    try:
        if held is not None:
            connection.register_filesystem(held)
        folder = _text("" if spill is None else f"{Path(spill).resolve()}/")
        for setting in (
            f"allowed_paths = [{_text(place) if place else ''}]",
            *([] if spill is None else [f"allowed_directories = [{folder}]"]),
            f"temp_directory = {folder}", "enable_external_access = false", f"memory_limit = {_text(memory)}",
            "threads = 2", "autoinstall_known_extensions = false", "autoload_known_extensions = false",
            "enable_external_file_cache = false", "enable_progress_bar = false", "lock_configuration = true",
        ):  # fmt: skip
            connection.execute(f"SET {setting}")
        yield connection
    finally:
        connection.close()


def _relation(place: str, head: bytes, most: int | None = None) -> str:
    """The rows of a file that begins so; most : columns."""
    if sheet.is_parquet(head):
        return f"read_parquet({_text(place)})"
    separator, names = sheet.columns(head, most)
    told = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({_text(place)}, auto_detect = false, header = true, strict_mode = true, delim = {_text(separator)}, "
        f"quote = '\"', escape = '\"', columns = {{{told}}})"
    )


def _refusal(said: str, name: str) -> InputError:
    """What DuckDB said about a file, in our words: of its own only the numbers of a line and of cells are kept."""
    line = re.search(r"CSV Error on Line: (\d+)", said)
    where = f"line {line[1]}" if line else name
    if ragged := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", said):
        return InputError("data", f"{where} with {ragged[2]} cells", f"{ragged[1]} cells, as in the first line")
    if "unicode" in said or "utf-8" in said:
        return sheet.no_text(where)
    if "unterminated quote" in said:
        return InputError("data", f"{where} with a quote that is not closed", "quotes in pairs")
    told = "a CSV file in UTF-8 whose first line names the columns, with lines that end alike, or a Parquet file"
    return InputError("data", where, told)


def _name(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def _kept(name: str) -> str:
    """The name of a column among the rows that count: of letters and digits, so that it is no other column's also
    without regard to capitals, and none of the names that queries give to their own results. Under a name such as
    "s" a column would be grouped by itself and not by the steps that bear this name."""
    return f"column_{name.encode().hex()}"


def _text(text: str) -> str:
    """A literal, for what cannot be a parameter."""
    return "'" + text.replace("'", "''") + "'"


def _double(name: str) -> str:
    """A column of texts as numbers; 1_000 is none. Without `trim`, which changes nothing, DuckDB 2.0 has the reader of
    CSV files do the cast, and that one fails at the first text that is no number."""
    text = f"trim(CAST({_name(name)} AS VARCHAR))"
    return f"TRY_CAST(CASE WHEN NOT contains({text}, '_') THEN {text} END AS DOUBLE)"


def _formula(name: str) -> str:
    """Whether a text would be run by a spreadsheet; numbers, telephone numbers and lone signs would not."""
    text = f"ltrim({_name(name)})"
    return f"starts_with({text}, '=') OR starts_with({text}, '@') OR regexp_matches({text}, '^[+-].*[|!(]')"


def _plain(name: str) -> str:
    """Whether a text is missing or a number."""
    return f"{_double(name)} IS NOT NULL OR {_name(name)} IS NULL OR trim({_name(name)}) = ''"


def _steps(column: Number) -> str:
    """The value in whole steps, clamped to the bounds; NULL for what is none (`least` and `greatest` skip it)."""
    value = _kept(column.name)
    clamped = f"CAST(least(greatest(round({value} / {column.step!r}), {column.first}), {column.last}) AS BIGINT)"
    return f"CASE WHEN {value} IS NOT NULL THEN {clamped} END"


def _clamped(total: Total, cells: list[int]) -> list[int]:
    return [min(max(cell, -total.largest), total.largest) for cell in cells]


def _term(total: Total, column: Number) -> str:
    """What a row adds to a total of a column's values."""
    steps = _steps(column)
    away = f"({steps} - ({total.origin}))"
    if total.squares:
        away = f"({away} * {away} + {total.squares // 2}) // {total.squares}"
    return f"CASE WHEN {steps} IS NOT NULL THEN {'1' if total.counts else away} ELSE {total.missing} END"


def _group(column: Column, values: list[Any]) -> str:
    """The group of a row, from 1 on; 0 for none of them."""
    if isinstance(column, Category):
        values.append(list(column.values))
        return f"coalesce(list_position(CAST(? AS VARCHAR[]), {_kept(column.name)}), 0)"
    low, high, last = column.edges[0], column.edges[-1], len(column.edges) - 1
    value = _kept(column.name)
    values.append(list(column.edges))
    within = f"len(list_filter(CAST(? AS DOUBLE[]), lambda edge: edge <= {value}))"
    return f"CASE WHEN {value} >= {low!r} AND {value} <= {high!r} THEN least({within}, {last}) ELSE 0 END"


def _where(conditions: Sequence[Condition], values: list[Any]) -> str:
    """All of them, of one row; a missing value fulfils none."""
    parts = ["true"]
    for one in conditions:
        values.append(one.value)
        parts.append(f"coalesce({_kept(one.column)} {'<>' if one.operator == '!=' else one.operator} ?, false)")
    return " AND ".join(parts)
