"""Made-up data, rehearsals on them, repeated releases, and how narrow the best possible noise can be."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.loss import exceedance
from dpcore.optimal import solve
from dpcore.plan import laws, ticks
from dpcore.plan.budget import split, total
from dpcore.plan.files import plan_from_toml, plan_to_toml
from dpcore.plan.made_up import EXAMPLE, MOST_VALUES, rows_of, table
from dpcore.plan.plan import Line, Plan
from dpcore.plan.public import ADD_REMOVE, CHANGE_ONE, Category, Number, People
from dpcore.plan.rehearsal import on_stage, rehearse
from dpcore.plan.release import carry_out
from dpcore.plan.report import expected
from dpcore.plan.source import Source
from dpcore.plan.statistics import Condition, Count, Histogram, Mean, Sum

OLD = (Condition("age", ">", 65.0),)


def test_the_command_writes_a_plan_and_people_that_belong_together(tmp_path, capsys):
    plan, people = tmp_path / "plan.toml", tmp_path / "people.csv"
    assert main(["plan", "example", "--people", str(people), "--out", str(plan)]) == 0
    assert capsys.readouterr().out.strip() == EXAMPLE.strip()
    assert main(["plan", "run", str(plan), "--data", str(people)]) == 0
    counts, mean, median = (line["values"] for line in json.loads(capsys.readouterr().out)["lines"])
    assert abs(sum(counts) - 30_000) < 200 and 35 < mean[0] < 45 and 0 < median[0] < 200_000


def test_a_plan_to_fill_in_has_the_columns_of_a_file_and_nothing_of_its_values(tmp_path, capsys):
    people, out = tmp_path / "people.csv", tmp_path / "plan.toml"
    people.write_text('age,"s ""e"" x",note\n41.75,secret,\n3,words,\n', encoding="utf-8")
    assert main(["plan", "columns", "--data", str(people), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert text.strip() == out.read_text(encoding="utf-8").strip()
    assert not any(value in text for value in ("41.75", "secret", "words"))
    with pytest.raises(InputError, match=r"columns\.age\.low = \(missing\): expected a public statement"):
        plan_from_toml(text)
    text = (
        text.replace("# low = ", "low = 0").replace("# high = ", "high = 9").replace("# values = []", "values = ['f']")
    )
    assert {name: type(one) for name, one in plan_from_toml(text).columns.items()} == {
        "age": Number, 's "e" x': Category, "note": Number,
    }  # fmt: skip
    assert main(["plan", "columns"]) == 2 and "data = (missing)" in capsys.readouterr().err


@pytest.fixture(scope="module")
def example():
    return split(plan_from_toml(EXAMPLE))


def counts(noise="laplace", delta=1e-6, people=People(), **more):
    column = Number("age", 0, 100, step=1)
    return Plan(people, {"age": column}, (Line(Count("old", (), OLD), noise=noise, **more),), 1.0, delta)


def test_made_up_people_are_as_the_plan_says(example):
    plan = example.plan
    made = table(plan.columns, plan.people, rows_of(plan.people, 8))
    assert len(made) == 8 and {len(column) for column in made.values()} == {30_000}
    for name, column in plan.columns.items():
        if isinstance(column, Category):
            assert set(made[name]) == set(column.values)
        else:
            assert column.low <= made[name].min() <= made[name].max() <= column.high
            assert np.allclose(made[name] % column.step, 0)
    with pytest.raises(InputError, match=r"columns\.age\.shape = round: expected one of even, bell, falling"):
        Number("age", 0, 1, shape="round")
    assert plan_from_toml(plan_to_toml(plan)) == plan


def test_a_rehearsal_finds_the_errors_that_are_promised(example):
    table_of_ages, mean, median = rehearse(example)
    promised = expected(example)[0].error
    # of 400 draws a share of .95 ± .04 is within it, in whole numbers
    assert all(promised - 3 <= width <= promised + 3 for width in table_of_ages.width)
    assert len(table_of_ages.labels) == 6 and sum(table_of_ages.true) <= 30_000
    assert 0 < mean.width[0] < 0.1 and median.width[0] <= 500
    with Source.table(table(example.plan.columns, example.plan.people, 30_000)) as source:
        released = carry_out(example, source)
    for one, line in zip(released, (table_of_ages, mean, median)):
        assert np.abs(np.array(one.values) - line.true).max() <= 3 * max(max(line.width), 500 * (line is median))


def test_made_up_people_take_little_room_whatever_the_plan_is():
    """Columns that no line is about are not drawn, texts are kept once, and a public number beyond what is made up is
    that of the people there are."""
    columns = {f"c{i}": Category(f"c{i}", ("a category with a long name", "x")) for i in range(20)}
    lines = tuple(Line(Count(name, (), (Condition(name, "=", "x"),))) for name in list(columns)[:16])
    for people, rows in (
        (People(CHANGE_ONE, 5_000_000), 500_000), (People(ADD_REMOVE, 5_000_000, "id", 2), 166_666),
        (People(), 10_000), (People(number=300), 300),
    ):  # fmt: skip
        staged, made = on_stage(split(Plan(people, columns, lines, 5.0, 0.0)))
        assert list(staged.plan.columns) == list(columns)[:16]
        assert {len(one) for one in made.values()} == {rows}
        assert sum(one.nbytes for one in made.values()) <= 8 * MOST_VALUES
    staged, made = on_stage(split(Plan(People(CHANGE_ONE, 5_000_000), columns, lines[:1], 5.0, 0.0)))
    with Source.table(made) as source:
        (released,) = carry_out(staged, source)
    assert staged.plan.people.number == 1_000_000 and abs(released.values[0] - 5e5) < 5e3


def test_a_large_table_is_rehearsed_less_often_and_shown_in_part():
    columns = {name: Category(name, tuple(f"v{i}" for i in range(100))) for name in "ab"}
    made = split(Plan(People(), columns, (Line(Histogram("table", ("a", "b"))),), 1.0, 0.0))
    (one,) = rehearse(made)
    assert len(one.true) == len(one.width) == 10_000 and {len(shown) for shown in one.shown} == {200}
    assert np.mean(one.width) == pytest.approx(made.lines[0].widths[0], rel=0.15)  # whole numbers, of 50 draws each


class Ended(Exception):
    """Whoever asked no longer wants it."""


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("what", ["split", "expected", "rehearse", "carry out"])
def test_work_on_a_plan_ends_at_any_moment(what, at, monkeypatch):
    """Also while a law is solved, within a table and between two draws of a line."""
    monkeypatch.setattr(ticks, "EVERY", 0.0)
    column = Category("kind", tuple(f"v{i}" for i in range(30)))
    lines = (Line(Histogram("table", ("kind",)), "optimum"), Line(Count("v3", (), (Condition("kind", "=", "v3"),))))
    plan = Plan(People(number=300), {"kind": column}, lines, 1.0, 1e-6)
    laws.optimum.cache_clear()
    laws.noise_of.cache_clear()
    made = split(plan) if what != "split" else None
    calls = []

    def call():
        calls.append(None)
        if len(calls) == at:
            raise Ended

    with pytest.raises(Ended), ticks.ticking(call):
        if what == "split":
            split(plan)
        elif what == "expected":
            [(one.error, one.least, one.best) for one in expected(replace(made))]
        elif what == "rehearse":
            rehearse(made, call=call)
        else:
            staged, people = on_stage(made)
            with Source.table(people) as source:
                carry_out(staged, source, call)
    assert len(calls) == at
    ticks.tick()
    assert len(calls) == at, "nobody is called afterwards"


def test_repeated_releases_cost_together_what_was_set_aside(example, times=52):
    made = split(example.plan, times)
    assert made.total <= 1.0 < made.added
    assert 3 / times < total(made.lines, made.together, 1e-6) < made.total
    pure = split(plan_from_toml(EXAMPLE.replace("delta = 1e-6", "delta = 0")), times)
    assert pure.total == pytest.approx(1.0) and pure.lines[0].privacy.epsilon == pytest.approx(1 / (3 * times))


def test_a_budget_too_small_for_the_parts_of_a_line_is_named():
    column = Number("age", 0, 100, step=1)
    plan = Plan(People(), {"age": column}, (Line(Mean("mean", ("age",))),), 0.0015, 0.0)
    with pytest.raises(InputError, match=r"budget\.epsilon = 0\.0015"):
        split(plan)


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "optimum"])
@pytest.mark.parametrize("full", [True, False])
def test_no_noise_is_narrower_than_the_least_width(noise, full):
    for people, line in (
        (People(), Line(Count("old", (), OLD), noise=noise, full_support=full)),
        (People(CHANGE_ONE, 100), Line(Sum("sum", ("age",)), noise=noise, full_support=full)),
    ):
        plan = Plan(people, {"age": Number("age", 0, 100, step=1)}, (line,), 1.0, 1e-6)
        (one,) = expected(split(plan))
        priced, unit = one.priced, one.priced.totals[0]
        assert one.least <= one.error
        made = split(Plan(people, plan.columns, (Line(line.statistic, "optimum", full_support=full),), 1.0, 1e-6))
        assert made.lines[0].privacy == priced.privacy or noise == "laplace"
        if noise != "laplace":  # which has no δ of its own
            best = laws.problem(unit, priced.part, full, exceedance(max(one.least - 1, 0.1)))
            assert solve(best, laws.SETTINGS).certificate.upper >= 0.05 * (1 - 1e-9)
            assert one.least <= math.ceil(made.lines[0].widths[0])
