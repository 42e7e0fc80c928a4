"""People made of a released table have its counts, and are read back into its cells."""

from __future__ import annotations

import csv
import io
import json

import pytest

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.plan.budget import split
from dpcore.plan.plan import Line, Plan
from dpcore.plan.public import Category, Number, People
from dpcore.plan.release import Released, carry_out
from dpcore.plan.source import Source
from dpcore.plan.statistics import Histogram
from dpcore.plan.synthetic import synthetic

COLUMNS = {
    "pay": Number("pay", -1, 2, step=0.1, edges=(-1, 0, 0.25, 2)), "kind": Category("kind", ("=a", "b, c")),
}  # fmt: skip
TABLE = Histogram("table", ("pay", "kind"))
LABELS = TABLE.totals(People(), COLUMNS)[0].labels


def released(values):
    return Released("table", LABELS, values, (None,) * 6, (None,) * 6, ("pay", "kind"))


def test_the_counts_of_the_people_are_those_of_the_table(tmp_path):
    text = synthetic(released((3, -7, 0, 40.4, 5, 200)), COLUMNS, seed=0)
    path = tmp_path / "made.csv"
    path.write_text(text.replace("'=a", "=a"), encoding="utf-8")
    with Source.file(path) as source:
        source.bind(People(), COLUMNS)
        assert source.totals(TABLE.totals(People(), COLUMNS), ())[0] == [3, 0, 0, 40, 5, 200]
    pay = [float(row["pay"]) for row in csv.DictReader(io.StringIO(text))]
    assert {*pay[:3]} <= {-1 + i / 10 for i in range(10)} or all(-1 <= one < 0 for one in pay[:3])
    assert set(pay[3:43]) == {0.0, 0.1, 0.2} and set(pay[-200:]) <= {i / 10 for i in range(3, 21)} and max(pay) == 2.0
    assert "'=a" in text and "\n=a" not in text and ",=a" not in text


def test_of_very_many_people_the_cells_keep_their_proportions():
    rows = synthetic(released((1e9, 0, 0, 3e9, 0, 0)), COLUMNS, most=1000).splitlines()[1:]
    assert len(rows) == 1000 and sum(row.endswith('"b, c"') for row in rows) == 750


def test_what_is_no_table_makes_nobody():
    with pytest.raises(InputError, match="synthetic = mean: expected counts by group"):
        synthetic(Released("mean", (), (3.0,), (None,), (None,)), COLUMNS)


def test_the_command_makes_people_of_a_released_table(tmp_path, capsys):
    plan, people, made = (tmp_path / name for name in ("plan.toml", "people.csv", "made.csv"))
    assert main(["plan", "example", "--people", str(people), "--out", str(plan)]) == 0
    capsys.readouterr()
    run = ["plan", "run", str(plan), "--data", str(people)]
    assert main([*run, "--synthetic", str(made), "--table", "people by age"]) == 0
    counts = json.loads(capsys.readouterr().out)["lines"][0]["values"]
    assert made.read_text().splitlines()[0] == "age" and len(made.read_text().splitlines()) == 1 + sum(counts)
    assert main([*run, "--synthetic", str(made)]) == 0, "the only table there is"
    capsys.readouterr()
    assert main([*run, "--synthetic", str(made), "--table", "median income", "--ledger", str(tmp_path / "book")]) == 2
    assert "table = median income: expected one of people by age" in capsys.readouterr().err
    assert not (tmp_path / "book").exists(), "nothing is spent"


def test_a_whole_release_can_be_made_people(tmp_path):
    plan = Plan(People(), COLUMNS, (Line(Histogram("table", ("kind",)), non_negative=True),), 5.0, 0.0)
    people = tmp_path / "people.csv"
    people.write_text("pay,kind\n" + "1,=a\n" * 30, encoding="utf-8")
    with Source.file(people) as source:
        (one,) = carry_out(split(plan), source)
    assert len(synthetic(one, COLUMNS).splitlines()) == 1 + sum(one.values)
