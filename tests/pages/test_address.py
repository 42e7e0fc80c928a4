"""Addresses: what a page writes it reads again; what anybody else writes does no harm."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from screens import number
from streamlit.testing.v1 import AppTest

from pages.optimal_noise.inputs import HOME
from pages.shared.address import Address, Choice, Choices, Number, Switch, Text

OPTIONS = {"a": "first", "b": "second", "c": "third"}
PAGE = Address(
    "test", x=Number(1.0), empty=Number(None), whole=Number(8, 1, 64, whole=True), on=Switch(), name=Text("hi", 30),
    one=Choice("a", OPTIONS), several=Choices(("a", "b"), OPTIONS),
)  # fmt: skip
finite = st.floats(allow_nan=False, allow_infinity=False)
printable = st.text(st.characters(exclude_categories=("C",)), max_size=30)


@given(
    st.fixed_dictionaries(
        {
            "x": finite,
            "empty": finite | st.none(),
            "whole": st.integers(1, 64),
            "on": st.booleans(),
            "name": printable,
            "one": st.sampled_from("abc"),
            "several": st.lists(st.sampled_from("abc"), unique=True),
        }
    )
)
def test_what_is_written_is_read_again(values):
    query = PAGE.query(values)
    assert PAGE.read(query) == (values, {})
    assert not [key for key in query if values[key] == PAGE.default(key)], "defaults are not in the address"


@given(st.dictionaries(st.sampled_from(list(PAGE.controls)), st.text(max_size=60)))
def test_foreign_text_gives_values_that_every_widget_accepts(query):
    values, malformed = PAGE.read(query)
    assert values.keys() == PAGE.controls.keys() and malformed.keys() <= query.keys()
    assert all(values[key] == PAGE.default(key) for key in malformed)
    assert 1 <= (values["whole"] or 1) <= 64 and values["one"] in OPTIONS and set(values["several"]) <= OPTIONS.keys()
    assert all(value is None or math.isfinite(value) for value in (values["x"], values["empty"]))
    assert type(values["on"]) is bool and len(values["name"]) <= 30


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("x", "nan"), ("x", "1e999"), ("x", "0x10"), ("x", ""), ("x", "0,5"), ("x", "1_000"), ("x", "١"),
        ("whole", "8,0"), ("whole", ""), ("whole", "99"), ("whole", "8.5"), ("whole", "9" * 5000),
        ("on", "perhaps"), ("name", "a" * 31), ("name", "\x00"), ("one", "A"), ("several", "a,,b"), ("several", "d"),
    ],
)  # fmt: skip
def test_malformed_values_are_named(key, text):
    assert PAGE.read({key: text})[1] == {key: text}


def test_every_default_of_the_home_page_is_one_of_its_own_values():
    assert HOME.read({key: control.write(control.default) for key, control in HOME.controls.items()}) == (
        {key: HOME.default(key) for key in HOME.controls}, {},
    )  # fmt: skip


def test_a_page_with_a_first_visit_of_its_own_never_has_an_empty_address():
    page = Address("test", {"x": 2.0}, x=Number(1.0), on=Switch())
    assert page.query({"x": 1.0, "on": False}) == {"x": "1"} and page.read({}) == ({"x": 1.0, "on": False}, {})
    assert page.query({"x": 1.0, "on": True}) == {"on": "true"} and page.query({"x": 2.0, "on": False}) == {"x": "2"}


def _page():
    import streamlit as st

    from pages.shared import fields
    from pages.shared.address import Address, Choice, Number

    page = Address("script", x=Number(1.0), way=Choice("left", ("left", "right")), deep=Number(4.0))
    page.open()
    page.note()
    fields.number(page, "x", "x")
    st.selectbox("way", page.options("way"), key="way")
    if page["way"] == "left":
        fields.number(page, "deep", "deep")
    st.button("set", key="set", on_click=page.choose, args=({"deep": 9.0, "way": "right"},))
    first = {key: page.default(key) for key in page.controls}
    st.button("reset", key="reset", on_click=page.choose, args=(first,))


def test_a_control_that_is_not_drawn_keeps_its_value_and_stays_in_the_address():
    page = AppTest.from_function(_page).run()
    number(page, "deep").set_value("7").run()
    page.selectbox(key="way").set_value("right").run()
    number(page, "x").set_value("2").run()
    number(page, "x").set_value("3").run()
    assert page.query_params == {"x": "3", "way": "right", "deep": "7"}
    page.selectbox(key="way").set_value("left").run()
    assert number(page, "deep").value == "7"


def test_callbacks_set_controls_drawn_or_not_and_first_values_empty_the_address():
    page = AppTest.from_function(_page).run()
    page.button(key="set").click().run()
    assert page.query_params == {"way": "right", "deep": "9"}
    page.button(key="reset").click().run()
    assert page.query_params == {} and number(page, "deep").value == "4"


def test_a_note_goes_when_its_control_is_changed():
    page = AppTest.from_function(_page)
    page.query_params["x"] = "`<b>`"
    page.run()
    assert "x =  <b> " in page.info[0].value and page.query_params == {}
    number(page, "x").set_value("2").run()
    assert not page.info


def _segments():
    import streamlit as st

    from pages.shared.address import Address, Choice

    page = Address("segments", side=Choice("left", ("left", "right")))
    page.open()
    st.segmented_control("Side", page.options("side"), key="side")
    st.button("Right", on_click=page.show, args=({"side": "right"},))
    st.markdown(f"side {page['side']}, link {page.link()}")


def test_a_segment_that_is_let_go_stays_chosen():
    """A choice is never nothing: neither for the page nor in the link."""
    page = AppTest.from_function(_segments).run()
    page.button[0].click().run()
    assert page.markdown[0].value == "side right, link ?side=right"
    page.button_group[0].set_value([]).run()
    assert not page.exception and page.markdown[0].value == "side right, link ?side=right"


def _panel():
    import streamlit as st

    from pages.shared.address import Address, Choice, Number

    page = Address("test", one=Choice("a", {"a": "first", "b": "second"}), open=Number(None))
    page.open()
    page.choose({"one": "b"})
    page.open()
    st.session_state["one"] = None  # as a panel meets it that is drawn by itself, without the page
    st.write(f"{page['one']} {page['open']}")


def test_a_panel_has_the_choice_made_before_where_the_browser_tells_none_yet():
    """Controls report themselves as they are drawn, and the timer of a panel may come between."""
    page = AppTest.from_function(_panel).run()
    assert not page.exception and [one.value for one in page.markdown] == ["b None"]
