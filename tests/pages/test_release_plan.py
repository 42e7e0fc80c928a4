"""The page "Release plan": its draft, and its steps under AppTest with the real core."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from screens import ROOT, AppTest, controls, settle, turn, words

from dpcore.errors import InputError
from dpcore.plan.files import plan_from_toml, plan_to_toml
from dpcore.plan.public import Category, Number
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


@pytest.mark.parametrize("text", ["x", "====", "e30", pack([ColumnDraft("a", kind="number")])[:-9], "A" * 5000])
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


def test_the_hospital_asks_for_an_error_and_keeps_it():
    found = draft.read(FIRST | HOSPITAL)
    assert found.plan.lines[0].within == 20 and found.plan.people.number is None
