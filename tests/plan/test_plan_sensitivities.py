"""Sensitivities against every neighbour of small data sets, and totals by SQL against totals by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.plan import rows, script
from dpcore.plan.public import ADD_REMOVE, CHANGE_ONE, Category, Number, People
from dpcore.plan.source import Source
from dpcore.plan.statistics import Condition, Count, Histogram, Mean, Proportion, Quantile, Sum

AGE = Number("age", -1, 2, step=1, edges=(-1, 1, 2))
SEX = Category("sex", ("f", "m"))
COLUMNS = {"age": AGE, "sex": SEX}

ROWS = [(age, sex) for age in (-7.0, -1.0, 0.0, 1.0, 2.0, 9.0, None) for sex in ("f", "m", "x")]
"""Values beyond the bounds, missing ones and a category that nobody stated are among them."""

STATISTICS = [
    Count("count", (), (Condition("sex", "=", "f"),)),
    Count("old", (), (Condition("age", ">=", 1.0), Condition("sex", "!=", "f"))),
    Histogram("by sex", ("sex",)),
    Histogram("by both", ("age", "sex")),
    Sum("sum", ("age",)),
    Sum("sum of some", ("age",), (Condition("sex", "=", "m"),)),
    Mean("mean", ("age",)),
    Mean("mean of some", ("age",), (Condition("sex", "=", "m"),)),
    Mean("spread", ("age",), spread=True),
    Mean("spread of some", ("age",), (Condition("sex", "=", "m"),), spread=True),
    Proportion("share", ("sex",), is_="f"),
    Proportion("share of some", ("sex",), (Condition("age", "<", 1.0),), is_="f"),
]
MEDIANS = [Quantile("median", ("age",)), Quantile("lower", ("age",), (Condition("sex", "=", "f"),), q=0.2)]

COMPARE = {
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def fulfils(row, conditions):
    values = dict(zip(("age", "sex"), row))
    return all(
        values[one.column] is not None and COMPARE[one.operator](values[one.column], one.value) for one in conditions
    )


def steps(value):
    if value is None:
        return None
    away = math.floor(abs(value) + 0.5)  # halves away from 0
    return min(max(away if value > 0 else -away, -1), 2)


def group(row, column):
    if column is SEX:
        return SEX.values.index(row[1]) if row[1] in SEX.values else None
    if row[0] is None or not -1 <= row[0] <= 2:
        return None
    return 0 if row[0] < 1 else 1


def by_hand(total, rows, where):
    """Every cell of a total."""
    cells = [0] * math.prod(len(column.labels) for column in total.by)
    for row in rows:
        if not fulfils(row, (*where, *total.also)):
            continue
        if total.column is None:
            term = 1
        elif steps(row[0]) is None:
            continue
        else:
            term = 1 if total.counts else (steps(row[0]) - total.origin) ** (2 if total.squares else 1)
        places = [group(row, column) for column in total.by]
        if None in places:
            continue
        at = 0
        for place, column in zip(places, total.by):
            at = at * len(column.labels) + place
        cells[at] += term
    return cells


def neighbours(people):
    """Rows of one person in the one data set and in the other. With one row each they are always there or, added, never
    more than one; with two, a person may have none."""
    some = ROWS if people.rows_each == 1 else ROWS[::4]
    own = [[]] if people.identifier or people.neighbours == ADD_REMOVE else []
    for count in range(1, people.rows_each + 1):
        own += [list(rows) for rows in itertools.combinations_with_replacement(some, count)]
    if people.neighbours == CHANGE_ONE:
        return itertools.product(own, repeat=2)
    return ((rows, []) for rows in own)


RELATIONS = [
    People(ADD_REMOVE), People(ADD_REMOVE, None, "id", 2), People(CHANGE_ONE, 100), People(CHANGE_ONE, 100, "id", 2),
]  # fmt: skip


@pytest.mark.parametrize("people", RELATIONS, ids=lambda p: f"{p.neighbours}, {p.rows_each}")
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: s.name)
def test_no_neighbour_changes_a_total_more(statistic, people):
    """And some neighbour changes it as much: the sensitivity is exact."""
    rest = [(1.0, "f"), (0.0, "m"), (None, "f")]
    for total in statistic.totals(people, COLUMNS):
        largest, most_cells, summed = 0, 0, 0
        for one, other in neighbours(people):
            a, b = (by_hand(total, rest + rows, statistic.where) for rows in (one, other))
            changes = [abs(x - y) for x, y in zip(a, b)]
            largest, summed = max(largest, *changes), max(summed, sum(changes))
            most_cells = max(most_cells, sum(change > 0 for change in changes))
        assert largest == total.change * total.rows
        assert most_cells <= total.moved * total.rows
        assert summed == total.change * total.rows * min(total.moved, len(a))


@pytest.mark.parametrize("people", RELATIONS, ids=lambda p: f"{p.neighbours}, {p.rows_each}")
@pytest.mark.parametrize("bounds", [(2, 5), (-5, -2)], ids=str)
def test_no_neighbour_changes_a_total_more_where_0_is_beyond_the_bounds(bounds, people):
    """A row without a value may neither leave a sum whose bounds are those of every row, nor be worth 0 in it."""
    columns = {"age": Number("age", *bounds, step=1)}
    conditions = (Condition("age", "!=", 3.0),)
    for statistic in (
        Sum("sum", ("age",)), Sum("sum of some", ("age",), conditions), Mean("mean", ("age",), spread=True),
        Mean("mean of some", ("age",), conditions, spread=True),
    ):  # fmt: skip
        for total in statistic.totals(people, columns):
            told = script._total(total, statistic.where)
            largest = 0
            for one, other in neighbours(people):
                a, b = ([{"age": "" if age is None else str(age)} for age, _ in rows] for rows in (one, other))
                largest = max(largest, abs(rows.total(a, told)[0] - rows.total(b, told)[0]))
            assert largest == total.change * total.rows, statistic.name


@pytest.mark.parametrize("people", RELATIONS[::2], ids=lambda p: p.neighbours)
def test_a_missing_value_adds_the_same_by_sql_and_in_scripts(people):
    column = Number("age", 17, 90, step=1)
    with Source.table({"age": np.array([20.0, math.nan, 300.0])}) as source:
        source.bind(people, {"age": column})
        totals = Sum("sum", ("age",)).totals(people, {"age": column})
        found = source.totals(totals, ())
    assert found == [[110 + (53 if people.neighbours == CHANGE_ONE else 0)]]
    read = [{"age": "20"}, {"age": ""}, {"age": "300"}]
    assert [rows.total(read, script._total(one, ())) for one in totals] == found


@pytest.mark.parametrize("people", RELATIONS, ids=lambda p: f"{p.neighbours}, {p.rows_each}")
@pytest.mark.parametrize("statistic", MEDIANS, ids=lambda s: s.name)
def test_no_neighbour_changes_a_score_more(statistic, people):
    ranks = statistic.ranks(people, COLUMNS)

    def score(rows, candidate):
        values = [steps(row[0]) for row in rows if fulfils(row, statistic.where) and steps(row[0]) is not None]
        below, above = sum(v < candidate for v in values), sum(v > candidate for v in values)
        return -abs((1 - ranks.q) * below - ranks.q * above)

    largest = Fraction(0)
    for rest in ([], [(-1.0, "f")] * 9, [(2.0, "f")] * 9):
        for one, other in neighbours(people):
            for candidate in range(AGE.first, AGE.last + 1):
                change = abs(score(rest + one, candidate) - score(rest + other, candidate))
                largest = max(largest, Fraction(change))
    assert largest == ranks.change


ODD = [(0.5, "f"), (1.5, "m"), (-0.5, None), (None, "f"), (None, "m")]
"""Halves, blanks around a number, and what only Python takes for one."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Every kind of row several times, as a file, and numbers that are none."""
    path = tmp_path_factory.mktemp("data") / "people.csv"
    rows = [row for i, row in enumerate(ROWS) for _ in range(1 + i % 3)]
    lines = ["id;age;sex", *(f"{i};{'' if age is None else age};{sex}" for i, (age, sex) in enumerate(rows))]
    lines += ["100;nan;f", "101;none;m", "102;inf;f", '103;1e999;"m"', "104;0.5;f", "105; 1.5 ;m",
              "106;-0.5;", "107;1_0;f", "108;0x1;m"]  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, [*rows, (None, "f"), (None, "m"), (math.inf, "f"), (math.inf, "m"), *ODD]


@pytest.mark.parametrize("people", RELATIONS[::2], ids=lambda p: p.neighbours)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: s.name)
def test_totals_by_sql_are_those_by_hand(statistic, people, table):
    path, rows = table
    clamped = [(age if age is None else min(max(age, -1e6), 1e6), sex) for age, sex in rows]
    totals = statistic.totals(people, COLUMNS)
    with Source.file(path) as source:
        source.bind(people, COLUMNS)
        found = source.totals(totals, statistic.conditions(COLUMNS))
    assert found == [by_hand(total, clamped, statistic.where) for total in totals]


@pytest.mark.parametrize("statistic", [*STATISTICS, *MEDIANS], ids=lambda s: s.name)
def test_totals_of_scripts_are_those_by_sql(statistic, table):
    """Python's and DuckDB's reading of numbers, of missing values and of halves."""
    path, _ = table
    people = People()
    conditions = statistic.conditions(COLUMNS)
    ranked, totals = statistic.ranks(people, COLUMNS), statistic.totals(people, COLUMNS)
    data = rows.read(str(path), "", 1)
    with Source.file(path) as source:
        source.bind(people, COLUMNS)
        if ranked is not None:
            told = script._column(ranked.column) | {"where": script._where(conditions)}
            assert rows.occurring(data, told) == source.occurring(ranked, conditions)
        assert [rows.total(data, script._total(one, conditions)) for one in totals] == source.totals(totals, conditions)


@given(st.lists(st.floats(-60, 160, width=32), min_size=1, max_size=12), st.integers(1, 4))
def test_squares_are_told_by_few_whole_numbers(values, rows_each):
    """Of a column with many steps: to half a unit a row, and the most that one row adds is the sensitivity."""
    columns = {"x": Number("x", -50, 150, step=0.1)}
    people = People(ADD_REMOVE, None, "id", rows_each) if rows_each > 1 else People()
    total = Mean("mean", ("x",), spread=True).totals(people, columns)[-1]
    assert total.change <= 1000
    told = script._total(total, ())
    (found,) = rows.total([{"x": repr(value)} for value in values], told)
    exact = sum((min(max(value, -50), 150) - 50) ** 2 for value in values)
    assert abs(found * float(total.step) - exact) <= len(values) * (0.5 * float(total.step) + 0.05 * 200)
    assert rows.total([{"x": "-50"}] * rows_each, told) == [total.change]


def test_rows_beyond_the_limit_are_dropped_by_chance(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("who,age\n" + "".join(f"{who},{age}\n" for who in "ab" for age in (0, 1, 2)) + ",2\n")
    columns = {"age": AGE}
    kept = set()
    for _ in range(40):
        with Source.file(path) as source:
            source.bind(People(ADD_REMOVE, None, "who", 1), columns)
            assert source.rows == 2  # and the row of nobody is gone
            kept.add(source.totals(Sum("sum", ("age",)).totals(People(), columns), ())[0][0])
    assert len(kept) >= 3


def test_a_file_opens_no_other_file(tmp_path):
    """Nor the network, nor an extension."""
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("a\n1\n")
    with Source.file(tmp_path / "one.csv") as source:
        for text in (
            f"SELECT * FROM read_csv('{tmp_path / 'two.csv'}')", "COPY (SELECT 1) TO '/tmp/out_of_reach.csv'",
            "INSTALL httpfs", "ATTACH ':memory:' AS m; SELECT * FROM read_text('/etc/passwd')",
            "SET enable_external_access = true",
        ):  # fmt: skip
            with pytest.raises(InputError):
                source._rows(text)


@pytest.mark.parametrize(
    "name",
    ["age\"; DROP TABLE x; --", "a'b", "sélection *", "x" * 199],
)  # fmt: skip
def test_names_of_columns_stay_names(name, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('"' + name.replace('"', '""') + '",b\n1,2\n2,3\n', encoding="utf-8")
    columns = {name: Number(name, 0, 5, step=1)}
    with Source.file(path) as source:
        source.bind(People(), columns)
        total = Sum("sum", (name,)).totals(People(), columns)
        assert source.totals(total, (Condition(name, ">", 1.0),)) == [[2]]


@pytest.mark.parametrize("name", ["s", "S", "g0", "whose_row", "chance_of_row", "nothing", "count", "column_73"])
def test_no_column_is_taken_for_what_a_query_calls_its_own_results(name):
    """Else values that round to one step were candidates each, and somebody's rows were not counted by the person."""
    column = Number(name, 0, 20, step=10, edges=(0, 10, 20))
    values = np.array([1.0, 2.0, 3.0, 11.0, 12.0, 19.0])
    with Source.table({name: values, "who": np.array([1, 1, 1, 2, 2, 2])}) as source:
        source.bind(People(), {name: column})
        ranks = Quantile("median", (name,)).ranks(People(), {name: column})
        assert source.occurring(ranks, ()) == ([0, 1, 2], [3, 2, 1])
        total = Histogram("by", (name,)).totals(People(), {name: column})
        assert source.totals(total, (Condition(name, ">", 2.0),)) == [[1, 3]]
        source.bind(People(ADD_REMOVE, None, "who", 1), {name: column})
        assert source.rows == 2


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02", b"PK\x03\x04" + bytes(200), b'a,b\n"1,2\n', b"\xff\xfe\xfa\n1\n"]
)
def test_files_that_are_none_are_refused_by_name(content, tmp_path):
    """The message holds nothing of the file."""
    path = tmp_path / "secret.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught, Source.file(path) as source:
        source.bind(People(), COLUMNS)
    assert caught.value.field in ("data", "columns") and "\x00" not in str(caught.value)
