"""Lines whose filters exclude each other cost the dearest of them: which lines one person changes, by brute force, and
what they cost together, by an independent accountant."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.plan import disjoint
from dpcore.plan.budget import split, total
from dpcore.plan.files import plan_from_toml, plan_to_toml
from dpcore.plan.made_up import EXAMPLE
from dpcore.plan.plan import BY_ERROR, Line, Plan
from dpcore.plan.public import ADD_REMOVE, CHANGE_ONE, Category, Number, People
from dpcore.plan.source import Source
from dpcore.plan.statistics import Condition, Count, Histogram, Mean, Proportion, Quantile, Sum, groups

AGE = Number("age", 0, 4, step=1, edges=(0, 2, 4))
SEX = Category("sex", ("f", "m", "d"))
COLUMNS = {"age": AGE, "sex": SEX}
ROWS = [(age, sex) for age in (-9.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 99.0, None) for sex in ("f", "m", "d", "x", None)]
"""Beyond the bounds, between the steps, of no stated category and missing ones are among them."""

WOMEN, MEN = (Condition("sex", "=", "f"),), (Condition("sex", "=", "m"),)
YOUNG, OLD = (Condition("age", "<", 2.0),), (Condition("age", ">=", 2.0),)

CONDITIONS = st.one_of(
    st.builds(Condition, st.just("age"), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
              st.sampled_from([0.0, 1.0, 2.0])),
    st.builds(Condition, st.just("sex"), st.sampled_from(["=", "!="]), st.sampled_from(SEX.values)),
)  # fmt: skip
RELATIONS = [
    People(ADD_REMOVE), People(CHANGE_ONE, 9), People(ADD_REMOVE, None, "id", 2), People(CHANGE_ONE, 9, "id", 2),
]  # fmt: skip


def counts(row, conditions):
    """Whether a row counts in a line, apart from the code."""
    values = dict(zip(("age", "sex"), row))
    return all(
        values[one.column] is not None and disjoint.COMPARE[one.operator](values[one.column], one.value)
        for one in conditions
    )


@given(st.lists(st.lists(CONDITIONS, max_size=3), min_size=1, max_size=5), st.sampled_from(RELATIONS))
def test_no_rows_of_a_person_count_in_other_lines_together(lines, people):
    """And every set is one that some rows reach, unless its line counts no row at all."""
    found = {frozenset(one) for one in disjoint.together(lines, people, COLUMNS)}
    assert frozenset().union(*found) == set(range(len(lines)))
    of_rows = {frozenset(i for i, some in enumerate(lines) if counts(row, some)) for row in ROWS}
    many = people.rows_each * people.cells
    reached = {frozenset().union(*some) for some in itertools.combinations_with_replacement(of_rows, many)}
    assert all(any(one <= other for other in found) for one in reached)
    anybody = frozenset().union(*of_rows)
    assert {one for one in found if one & anybody} <= reached


def test_too_many_sets_are_all_lines():
    columns = {f"c{i}": Category(f"c{i}", ("a", "b")) for i in range(9)}
    lines = [(Condition(name, "=", value),) for name in columns for value in ("a", "b")]
    assert disjoint.together(lines, People(), columns) == (tuple(range(18)),)
    assert len(disjoint.together(lines[:16], People(), columns)) == 256


@pytest.mark.parametrize("people", [People(ADD_REMOVE), People(CHANGE_ONE, 3)], ids=lambda one: one.neighbours)
def test_a_row_that_is_added_or_changed_changes_no_more_lines_by_sql(people):
    lines = (
        Line(Count("women", (), WOMEN)), Line(Mean("men", ("age",), MEN)), Line(Sum("old", ("age",), OLD)),
        Line(Quantile("young", ("age",), YOUNG)), Line(Histogram("all", ("sex",))),
        Line(Proportion("old men", ("sex",), (*MEN, *OLD), is_="m")),
    )  # fmt: skip
    plan = Plan(people, COLUMNS, lines, 1.0, 0.0)

    def read(rows):
        with Source.table({name: np.array(values) for name, values in zip(("age", "sex"), zip(*rows))}) as source:
            source.bind(people, COLUMNS)
            found = []
            for line in lines:
                where = line.statistic.conditions(COLUMNS)
                ranks = line.statistic.ranks(people, COLUMNS)
                totals = line.statistic.totals(people, COLUMNS)
                found.append(source.occurring(ranks, where) if ranks else source.totals(totals, where))
            return found

    rest = [(1.0, "f"), (3.0, "m")]
    some = [(0.0, "f"), (1.5, "m"), (3.0, "f"), (99.0, "m"), (2.0, "x")]
    true = {row: read([*rest, row]) for row in some} | {None: read(rest)}
    pairs = itertools.combinations(some, 2) if people.neighbours == CHANGE_ONE else ((row, None) for row in some)
    for one, other in pairs:
        changed = {i for i, (a, b) in enumerate(zip(true[one], true[other])) if a != b}
        assert any(changed <= set(places) for places in plan.together), (one, other)


# What it costs ---------------------------------------------------------------------------------------


def means(**budget):
    """By sex the mean, in three groups; a count of all who are old besides."""
    groups = [Line(Sum(value, ("age",), (Condition("sex", "=", value),))) for value in SEX.values]
    return Plan(People(), COLUMNS, (*groups, Line(Count("old", (), OLD))), budget.pop("epsilon", 1.0), **budget)


def test_lines_of_groups_cost_the_most_of_them_without_delta():
    made = split(means(delta=0.0))
    assert made.plan.together == ((0, 3),), "groups of equal share are alike"
    assert made.total == pytest.approx(1.0, rel=1e-9)
    assert [one.privacy.epsilon for one in made.lines] == pytest.approx([0.5] * 4)
    assert made.added == pytest.approx(2.0)


def test_weights_that_differ_make_different_sets_and_the_dearest_counts():
    plan = means(delta=0.0)
    women, *rest = plan.lines
    heavy = Line(women.statistic, weight=3.0)
    made = split(Plan(plan.people, COLUMNS, (heavy, *rest), 1.0, 0.0))
    assert set(made.plan.together) == {(0, 3), (1, 3)}
    assert [one.privacy.epsilon for one in made.lines] == pytest.approx([0.75, 0.25, 0.25, 0.25])
    asked = split(Plan(plan.people, COLUMNS, (Line(women.statistic, within=40), *rest), 1.0, 0.0))
    price = asked.lines[0].privacy.epsilon
    assert asked.total == pytest.approx(1.0)
    assert [one.privacy.epsilon for one in asked.lines[1:]] == pytest.approx([min(1 - price, 0.5)] * 3)


def test_the_total_is_an_independent_accountant_s_of_the_dearest_set(delta=1e-5):
    """Counts of disjoint groups with other shares, and one of everybody old."""
    lines = [
        Line(Count(f"{value} {i}", (), (Condition("sex", "=", value),)), weight=1 + j)
        for j, value in enumerate(SEX.values) for i in range(4)
    ]  # fmt: skip
    made = split(Plan(People(), COLUMNS, (*lines, Line(Count("old", (), OLD))), 2.0, delta))
    found = []
    for upper in (True, False):
        totals = []
        for value in SEX.values:
            parts = [
                pld.from_discrete_laplace_mechanism(one.privacy.epsilon, 1, pessimistic_estimate=upper,
                                                    value_discretization_interval=1e-4)
                for one in made.lines if one.line.name.startswith((value, "old"))
            ]  # fmt: skip
            totals.append(reduce(lambda a, b: a.compose(b), parts).get_epsilon_for_delta(delta))
        found.append(max(totals))
    assert found[1] * (1 - 1e-3) <= made.total <= found[0] * (1 + 1e-3)
    assert made.total <= 2.0 and made.added > 3.8


def test_delta_of_disjoint_lines_is_not_shared():
    plan = means(delta=1e-6)
    noisy = Plan(plan.people, COLUMNS, tuple(Line(one.statistic, "gaussian") for one in plan.lines), 1.0, 1e-6)
    made = split(noisy)
    assert [one.privacy.delta for one in made.lines] == pytest.approx([2.5e-7] * 4)
    assert made.total <= 1.0


def test_week_by_week_a_person_may_be_in_another_group():
    """At δ = 0 the dearest each time; with δ all lines, unless the groups are alike."""
    alike, times = means(delta=1e-6), 5
    weighted = (Line(alike.lines[0].statistic, weight=2.0), *alike.lines[1:])
    other = Plan(alike.people, COLUMNS, weighted, 1.0, 1e-6)
    pure = Plan(alike.people, COLUMNS, weighted, 1.0, 0.0)
    assert split(alike, times).together == ((0, 3),)
    assert split(other, times).together == ((0, 1, 2, 3),)
    assert split(pure, times).together == other.together
    assert split(pure, times).total == pytest.approx(1.0)
    for plan in (alike, other):
        made = split(plan, times)
        assert total(made.lines, made.together, 1e-6, times) <= 1.0 * (1 + 1e-9)


def test_relative_errors_of_groups_are_alike_for_the_price_of_one():
    plan = means(delta=1e-6)
    even = split(Plan(People(number=900), COLUMNS, plan.lines, 1.0, 1e-6, split=BY_ERROR))
    errors = [one.relative_error(even.plan) for one in even.lines]
    assert max(errors) <= 1.05 * min(errors) and even.total <= 1.0 < even.added


# One line for every group ----------------------------------------------------------------------------

GROUPS = """
format = 1
columns.age = {type = "number", low = 0, high = 100, step = 1, edges = [0, 18, 65, 100]}
columns.sex = {type = "category", values = ["f", "m"]}
lines = [
    {name = "mean age", what = "mean", of = "age", where = [["age", ">", 3]], each = EACH},
    {name = "median age", what = "quantile", of = "age", each = "sex"},
]
budget = {epsilon = 1, delta = 0}
"""


def test_one_line_for_every_group_costs_as_one():
    plan = plan_from_toml(GROUPS.replace("EACH", '["sex", "age"]'))
    assert [line.name for line in plan.lines[4:]] == [
        "mean age: m · 18 to 65", "mean age: m · 65 to 100", "median age: f", "median age: m",
    ]  # fmt: skip
    told = [(one.column, one.operator, one.value) for one in plan.lines[5].statistic.where]
    assert told == [("age", ">", 3), ("sex", "=", "m"), ("age", ">=", 65), ("age", "<=", 100)]
    made = split(plan)
    assert [one.privacy.epsilon for one in made.lines] == pytest.approx([0.5] * 8)
    assert made.total == pytest.approx(1.0) and plan_from_toml(plan_to_toml(plan)) == plan


def test_the_table_of_the_manual():
    """A table, means in four regions, medians in eight groups of the survey: 13 lines, of which a person is in 3."""
    before = EXAMPLE[: EXAMPLE.index("[[lines]]")]
    lines = (
        '{what = "histogram", of = "region"}, {what = "mean", of = "hours", each = "region"}, '
        '{what = "quantile", of = "income", each = ["region", "sex"]}'
    )
    made = split(plan_from_toml(f"lines = [{lines}]\n{before}[budget]\nepsilon = 1\ndelta = 0\n"))
    assert len(made.lines) == 13 and [len(one) for one in made.together] == [3]
    assert made.total == pytest.approx(1.0) and made.added == pytest.approx(13 / 3)


def test_the_groups_of_a_column_are_those_of_a_table_by_it():
    """A row is in the group of the filters that are fulfilled, and in one at most."""
    for column, values in ((AGE, (-9.0, 0.0, 1.9, 2.0, 4.0, 4.5)), (SEX, ("f", "d", "x"))):
        for value in values:
            inside = [
                all(disjoint.COMPARE[one.operator](value, one.value) for one in some) for _, some in groups(column)
            ]
            with Source.table({column.name: np.array([value])}) as source:
                source.bind(People(), {column.name: column})
                total = Histogram("table", (column.name,)).totals(People(), {column.name: column})
                assert source.totals(total, ())[0] == inside, value


@pytest.mark.parametrize(
    ("each", "told"),
    [
        ("3", "a list"),
        ("[]", "columns of the plan"),
        ('["weight"]', "columns of the plan: age, sex"),
        ("[[1]]", "of the"),
    ],
)
def test_groups_that_are_none_are_named(each, told):
    with pytest.raises(InputError, match=told):
        plan_from_toml(GROUPS.replace("EACH", each))
