"""The page "Release plan": its draft, and its steps under AppTest with the real core."""

from __future__ import annotations

import base64
import csv
import io
import re
import zlib
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from screens import ROOT, AppTest, controls, settle, turn, words

from dpcore.errors import InputError
from dpcore.plan.files import plan_from_toml, plan_to_toml
from dpcore.plan.plan import Line, Plan
from dpcore.plan.public import Category, Number, People
from dpcore.plan.release import to_csv
from dpcore.plan.statistics import Condition, Count
from pages.release_plan import draft
from pages.release_plan.controls import HOSPITAL, PAGE, PRESETS, SURVEY
from pages.release_plan.draft import ColumnDraft, LineDraft, pack, unpack

FIRST = PAGE.read({})[0]


def read(**changed):
    return draft.read(FIRST | SURVEY | changed)


# The draft -------------------------------------------------------------------------------------------


LINES = st.builds(
    LineDraft, name=st.text(max_size=20), of=st.tuples(st.text(max_size=9)), where=st.text(max_size=30),
    full_support=st.booleans(),
)  # fmt: skip


@settings(max_examples=20)
@given(st.lists(LINES, max_size=4))
def test_rows_come_back_from_a_link(rows):
    assert unpack(LineDraft, pack(rows)) == rows


HALF_A_CHARACTER = base64.urlsafe_b64encode(zlib.compress(rb'[{"name":"\ud800"}]')).decode().rstrip("=")


@pytest.mark.parametrize(
    "text", ["x", "====", "e30", HALF_A_CHARACTER, pack([ColumnDraft("a", kind="number")])[:-9], "A" * 5000]
)
def test_what_is_no_list_is_refused(text):
    values, malformed = PAGE.read({"columns": text, "lines": pack([ColumnDraft(low="1")])})
    assert values["columns"] == values["lines"] == "" and set(malformed) == {"columns", "lines"}


def test_a_list_that_unpacks_to_too_much_is_refused():
    bomb = pack([ColumnDraft(name="a" * 10**6)])
    assert len(bomb) < 5000
    with pytest.raises(ValueError):
        unpack(ColumnDraft, bomb)


@pytest.mark.parametrize("values", [one for one in PRESETS.values() if one["lines"]], ids=lambda one: one["title"])
def test_a_plan_comes_back_from_its_controls_and_its_file(values):
    plan = draft.read(FIRST | values).plan
    assert plan is not None
    again = draft.values_of(plan_from_toml(plan_to_toml(plan)))
    assert draft.read(FIRST | again).plan == plan


def test_names_with_anything_in_them_come_back():
    odd = (
        'format = 1\n[columns."a and b = c"]\ntype = "category"\nvalues = ["x, y", "u; v", "r and b"]\n'
        + """
[[lines]]
name = "n.1"
what = "count"
where = [["a and b = c", "=", "r and b"]]
[budget]
epsilon = 1
"""
    )
    plan = plan_from_toml(odd)
    assert draft.read(FIRST | draft.values_of(plan)).plan == plan


@pytest.mark.parametrize(
    ("text", "found"),
    [("age > 65 and sex = female", [("age", ">", 65.0), ("sex", "=", "female")]), (" ", []),
     ("age≤17; sex != male", [("age", "<=", 17.0), ("sex", "!=", "male")])],
)  # fmt: skip
def test_filters_are_read(text, found):
    columns = {"age": Number("age", 0, 100), "sex": Category("sex", ("female", "male"))}
    assert [(one.column, one.operator, one.value) for one in draft.conditions(text, columns)] == found


ODD_TEXTS = st.text(st.sampled_from('ab "=<≥;,and\n'), max_size=8)


@given(ODD_TEXTS.filter(str.strip), ODD_TEXTS.filter(str.strip), ODD_TEXTS.filter(str.strip))
def test_a_plan_from_a_file_is_shown_as_it_is_or_refused(name, value, other):
    """No quote, sign or "and" in a name or a value makes another filter of it."""
    assume(value != other)
    category = Category(name, (value, other))
    line = Line(Count("n", (), (Condition(name, "=", value), Condition(name, "!=", other))), about=7.0)
    plan = Plan(People(), {name: category}, (line,), 1.0, 0.0)
    try:
        values = draft.opened(plan)
    except InputError:
        assert name != name.strip() or any(one != one.strip() or "\n" in one for one in (value, other))
    else:
        assert draft.read(FIRST | values).plan == plan


def test_what_a_page_cannot_hold_is_refused_when_it_is_opened():
    many = {f"c{i}": Number(f"c{i}", 0, 1) for i in range(60)}
    lines = (Line(Count("n")),)
    for plan, told in (
        (Plan(People(), many, lines, 1.0, 0.0), "60 of them"),
        (Plan(People(), {}, lines, 1.0, 0.0, title="t" * 300), "300 characters"),
    ):
        with pytest.raises(InputError, match=told):
            draft.opened(plan)


def test_names_are_told_twice_where_they_stand_and_made_up_ones_stay_short():
    where = " and ".join(f"age > {i}" for i in range(40))
    lines = [LineDraft("a"), LineDraft("a"), LineDraft(where=where), LineDraft(where=where)]
    found = read(lines=pack(lines), columns=pack([ColumnDraft("age", low="0", high="9"), ColumnDraft("AGE", low="0")]))
    assert "own for every statistic" in found.complaints["lines", 1, "name"]
    assert all(len(title) <= 200 for _, title in draft.named(lines))
    again = read(columns=pack([ColumnDraft("age", low="0", high="9"), ColumnDraft("AGE", low="0", high="9")]))
    assert "also without capitals" in again.complaints["columns", 1, "name"]


@pytest.mark.parametrize("text", ["age", "weight > 3", "age > old", "age > 0,5"])
def test_filters_that_are_none_are_named(text):
    with pytest.raises(InputError, match="where = "):
        draft.conditions(text, {"age": Number("age", 0, 100)})


def test_every_wrong_value_is_named_in_its_place():
    columns = [
        ColumnDraft("age", low="0", high="1e99"), ColumnDraft("age", "category", values="a, a"),
        ColumnDraft("", low="", high="x"), ColumnDraft("pay", low="5", high="2"),
        ColumnDraft("hours", low="0", high="9", step="0,5", edges="3"), ColumnDraft("sex", "category"),
    ]  # fmt: skip
    lines = [
        LineDraft(what="mean", of=("nothing",)), LineDraft(what="count", amount="-1"),
        LineDraft(what="quantile", of=("hours",), q="2"), LineDraft(what="count", where="age"),
    ]  # fmt: skip
    found = read(columns=pack(columns), lines=pack(lines))
    assert found.plan is None
    expected = {
        ("columns", 0, "high"), ("columns", 1, "values"), ("columns", 2, "low"), ("columns", 2, "high"),
        ("columns", 3, "high"), ("columns", 4, "step"), ("columns", 5, "values"),
        ("lines", 0, "of"), ("lines", 1, "amount"), ("lines", 2, "of"), ("lines", 3, "where"),
    }  # fmt: skip
    assert expected <= set(found.complaints)
    assert found.complaints["columns", 0, "high"].startswith("upper bound = 1e99: expected a number from ")
    assert all(re.match(r"[\w ]+ = .+: expected .+", told) for told in found.complaints.values())


def test_names_in_complaints_are_no_markdown():
    evil = "[x](http://evil.example) ![i](//e) <b> :red[y] $z$"
    columns = [ColumnDraft(evil, low="0", high="1"), ColumnDraft("g", "category", values="a")]
    told = read(columns=pack(columns), lines=pack([LineDraft(what="mean", of=("g",))])).complaints
    assert told and not any(re.search(r"(?<!\\)[\[<$]", text) for text in told.values())


# The page --------------------------------------------------------------------------------------------


def page_at(panel: str, **address: str) -> AppTest:
    """The page with the survey at a step, once its jobs are done."""
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), "release_plan")
    query = PAGE.query(FIRST | SURVEY) | {"panel": panel} | address
    page.query_params.update(query)
    return settle(page.run())


def press(page: AppTest, key: str) -> AppTest:
    page.button(key=key).click()
    return settle(page.run())


def test_every_step_is_drawn_and_the_headline_says_what_to_expect():
    page = page_at("have")
    assert "3 statistics cost every person at most ε = 1" in words(page)
    assert "“people by age” by at most **±9**" in words(page)
    for panel, said in {
        "publish": "½ × (80 − 0) = 40", "cost": "ε = **0.33", "noise": "**Laplace: ±9. Best possible: ±9.**",
        "expect": "simulated releases of 30", "release": "The count ends with the tab", "take": "ledger in a file",
    }.items():  # fmt: skip
        page.segmented_control(key="panel").set_value(panel)
        page = settle(page.run())
        assert said in words(page), panel
    assert "plan = " not in words(page)


def test_rows_are_added_changed_and_removed_and_nothing_is_lost():
    page = page_at("have")
    press(page, "add_number")
    assert "to put right" in words(page)
    for name, text in {"name": "weight", "low": "20 kg", "high": "250"}.items():
        page.text_input(key=f"columns_8_{name}").set_value(text)
        page = settle(page.run())
    assert any("lower bound = 20 kg: expected a number" in one.value for one in page.error)
    again = page_at("have", **{key: page.query_params[key] for key in ("columns", "lines")})
    assert again.text_input(key="columns_8_low").value == "20 kg"
    page.text_input(key="columns_8_low").set_value("20")
    page = settle(page.run())
    assert "3 statistics cost" in words(page)
    press(page, "next_publish")
    press(page, "add_mean")
    page.selectbox(key="lines_3_of").set_value("weight")
    page = settle(page.run())
    assert "4 statistics cost" in words(page) and "½ × (250 − 20) = 115" in words(page)
    press(page, "lines_3_remove")
    assert "3 statistics cost" in words(page)


def test_one_statistic_for_every_group_is_a_line_each_and_costs_as_one():
    lines = unpack(LineDraft, SURVEY["lines"])[1:2]
    page = page_at("publish", lines=pack(lines))
    press(page, "lines_0_turn")
    page.selectbox(key="lines_0_each").set_value("sex")
    page = settle(page.run())
    made = unpack(LineDraft, page.session_state["lines"])
    assert [(one.name, one.where) for one in made] == [
        ("mean hours of work: female", "sex = female"), ("mean hours of work: male", "sex = male"),
    ]  # fmt: skip
    assert "2 statistics cost every person at most ε = 1" in words(page)
    press(page, "next_cost")
    assert "out of all but 1 of the 2 statistics" in words(page)
    press(page, "next_noise")
    assert "ε" in words(page) and not page.error


def test_an_error_asked_for_has_its_price_and_what_is_none_is_named():
    lines = [replace(one, ask="within", amount="50") for one in unpack(LineDraft, SURVEY["lines"])[:1]]
    page = page_at("cost", lines=pack(lines))
    assert "This statistic costs every person at most ε = 0.05" in words(page)
    page.text_input(key="lines_0_amount").set_value("0,5")
    page = settle(page.run())
    assert any("error = 0,5: expected a number above 0" in one.value for one in page.error)


def test_a_large_delta_is_warned_of():
    page = page_at("have", delta="0.001")
    assert any("more than 1/n" in one.value for one in page.warning)


def test_releases_cost_and_more_than_is_left_is_refused():
    page = page_at("release")
    assert {one.label: one.value for one in page.metric}["Spent on these data in this tab"] == "0"
    press(page, "release_ask")
    assert "This spends **ε = 1 and δ = 10⁻⁶**" in words(page)
    press(page, "release_confirmed")
    metrics = {one.label: one.value for one in page.metric}
    assert metrics["Spent on these data in this tab"] == "1" and metrics["Left"] == "0"
    first = float(metrics["mean hours of work"])
    assert 35 < first < 45
    press(page, "release_ask")
    assert any("Refused: this costs ε = 1" in one.value for one in page.error)
    assert "release_confirmed" not in controls(page, "button")
    press(page, "release_raise")
    press(page, "release_confirmed")
    metrics = {one.label: one.value for one in page.metric}
    assert metrics["Spent on these data in this tab"] == "2"
    assert float(metrics["mean hours of work"]) != first, "other noise"


def test_the_second_of_two_quick_clicks_spends_nothing():
    page = page_at("release")
    press(page, "release_ask")
    button = page.button(key="release_confirmed")
    for _ in range(2):
        button.click()
        page = settle(page.run())
    assert {one.label: one.value for one in page.metric}["Spent on these data in this tab"] == "1"


def test_a_mean_with_its_spread_is_two_numbers_and_all_numbers_are_a_file():
    lines = [LineDraft("=1+1", "mean", ("hours",), spread=True), LineDraft("n", "count")]
    page = page_at("release", lines=pack(lines))
    press(page, "release_ask")
    press(page, "release_confirmed")
    mean, deviation, number = (float(one.value.replace("\u202f", "")) for one in list(page.metric)[-3:])
    assert 35 < mean < 45 and 5 < deviation < 25
    done = page.session_state["released made-up"]
    rows = list(csv.DictReader(io.StringIO(to_csv(done.numbers))))
    assert [(row["line"], row["cell"]) for row in rows] == [
        ("'=1+1", "mean"), ("'=1+1", "standard deviation"), ("n", ""),
    ]  # fmt: skip
    assert [float(row["value"]) for row in rows] == pytest.approx([mean, deviation, number], rel=1e-5)
    assert float(rows[0]["measured_95_low"]) < float(rows[0]["value"]) < float(rows[0]["population_95_high"])
    assert rows[1]["measured_95_low"] == rows[2]["population_95_low"] == ""


def test_a_plan_that_counts_rows_needs_no_columns():
    page = page_at("have", columns="", lines=pack([LineDraft("n", "count")]))
    assert "This statistic costs every person at most ε = 1" in words(page)
    page = page_at("expect", columns="", lines=pack([LineDraft("n", "count")]))
    assert len(page.dataframe) == 2 and page.dataframe[1].value["made-up people"].iloc[0] == "30\u202f000"


def test_the_hospital_asks_for_an_error_and_keeps_it():
    found = draft.read(FIRST | HOSPITAL)
    assert found.plan.lines[0].within == 20 and found.plan.people.number is None
