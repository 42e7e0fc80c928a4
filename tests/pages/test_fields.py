"""Fields for numbers: what is typed is read as meant, or stays there with a complaint."""

from __future__ import annotations

import pytest
from screens import number
from streamlit.testing.v1 import AppTest

from pages.shared import address, prose


def _page():
    import streamlit as st

    from pages.shared import fields
    from pages.shared.address import Address, Number

    page = Address(
        "script", x=Number(1.0), open=Number(None), n=Number(8, 1, 64, whole=True), alone=Number(None, empty=False),
        secret=Number(2.0, linked=False),
    )  # fmt: skip
    page.open()
    fields.notice()
    with st.sidebar:
        for key in page.controls:
            fields.number(page, key, f"Field {key}", name=f"name {key}")
    fields.stops(page, "x", "Slider x", [1.0, 1.5, 2.0, 5.0], "{:g}".format)
    st.button("set", key="set", on_click=page.choose, args=({"x": 1.0},))
    st.markdown(f"{page.values()}")


@pytest.fixture
def page() -> AppTest:
    return AppTest.from_function(_page).run()


def type_in(page: AppTest, key: str, text: str) -> str:
    """The complaint about a text typed into a field, in the sidebar and on the page."""
    number(page, key).set_value(text)
    page.run()
    assert not page.exception
    complaints = [error.value for error in page.sidebar.error]
    assert len(complaints) <= 1 and len(page.main.error) == len(complaints)
    assert all(page.main.error[0].value == complaint for complaint in complaints)
    return complaints[0] if complaints else ""


@pytest.mark.parametrize(
    ("key", "text", "value", "echo"),
    [("x", " 0.5 ", 0.5, "0.5"), ("x", ".5", 0.5, "0.5"), ("x", "5e-1", 0.5, "0.5"), ("x", "−1e-6", -1e-6, "-1e-6"),
     ("open", "3", 3.0, "3"), ("n", "1e1", 10, "10")],
)  # fmt: skip
def test_what_is_read_is_echoed_and_in_the_link(page, key, text, value, echo):
    assert type_in(page, key, text) == ""
    assert number(page, key).value == echo and page.session_state[key] == value
    assert type(page.session_state[key]) is type(value)
    assert page.query_params == {key: echo}


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [("x", "0,5", "expected a number; write 0.5"), ("x", "", "name x = nothing: expected a number"),
     ("n", "65", "expected a whole number from 1 to 64"), ("n", "2.5", "expected a whole number from 1 to 64"),
     ("n", "1,5", "expected a whole number from 1 to 64"), ("n", "12,0", "from 1 to 64; write 12"),
     ("open", "½", "write 0.5")],
)  # fmt: skip
def test_what_is_refused_stays_and_changes_nothing(page, key, text, said):
    before = page.markdown[0].value
    complaint = type_in(page, key, text)
    assert said in complaint and complaint.startswith(f"name {key} = {text or 'nothing'}: ")
    assert "Until then it is " in complaint
    assert number(page, key).value == text and page.markdown[0].value == before and page.query_params == {}
    page.run()
    assert number(page, key).value == text and len(page.sidebar.error) == 1, "until something is accepted"
    type_in(page, key, "7")
    assert not page.error and page.session_state[key] == 7


def test_all_complaints_are_on_the_page(page):
    type_in(page, "x", "0,5")
    number(page, "n").set_value("½")
    page.run()
    assert not page.exception and len(page.sidebar.error) == 2
    (said,) = [error.value for error in page.main.error]
    assert "name x = 0,5" in said and "name n = " in said


def test_what_is_typed_stays_text_in_the_complaint(page):
    text = "![q](//192.0.2.1/q) <b> $x$ `0,5`"
    assert prose.literal(text) in type_in(page, "x", text)


def test_an_empty_field_is_nothing_where_that_is_an_answer(page):
    type_in(page, "open", "3")
    assert type_in(page, "open", " ") == "" and page.session_state["open"] is None and page.query_params == {}


def test_a_preset_takes_the_place_of_what_was_refused(page):
    type_in(page, "x", "1/2")
    page.button(key="set").click().run()
    assert number(page, "x").value == "1" and not page.error


@pytest.mark.parametrize(
    ("key", "text", "button", "value"),
    [("x", "0.3", "more", 0.31), ("x", "0.3", "less", 0.29), ("x", "2000", "more", 2100.0), ("open", "", "more", 0.1),
     ("n", "64", "more", 64), ("n", "8", "less", 7)],
)  # fmt: skip
def test_the_buttons_go_one_step(page, key, text, button, value):
    type_in(page, key, text)
    page.button(key=f"{key}_{button}").click().run()
    assert page.session_state[key] == value and number(page, key).value == f"{value:g}"


def test_a_step_takes_over_what_was_typed_but_not_what_is_refused(page):
    number(page, "x").set_value("3")
    page.button(key="x_more").click().run()
    assert page.session_state["x"] == 3.1
    number(page, "x").set_value("0,5")
    page.button(key="x_more").click().run()
    assert number(page, "x").value == "0,5" and page.session_state["x"] == 3.1, "it has not been seen yet"
    page.button(key="x_more").click().run()
    assert number(page, "x").value == "3.2" and not page.error


def test_what_the_browser_has_not_drawn_yet_is_no_wish(page):
    """A slider is moved twice, or a button pressed: the field beside it still reports what it held before."""
    move = lambda place: page.select_slider(key="x_stop").set_value(place).run()  # noqa: E731
    move(1.5)
    number(page, "x").set_value("1")
    move(2.0)
    assert page.session_state["x"] == 2.0 and number(page, "x").value == "2"
    type_in(page, "x", "5")
    page.select_slider(key="x_stop").set_value(2.0)
    page.button(key="x_more").click().run()
    assert page.session_state["x"] == 5.1 and page.select_slider(key="x_stop").value == 5.0


def test_a_value_can_be_taken_back(page, monkeypatch):
    """At once where the browser has reported what it was told, else after a while."""
    slider = page.select_slider(key="x_stop")
    slider.set_value(1.5).run()
    page.run()
    type_in(page, "x", "1")
    assert page.session_state["x"] == 1.0
    monkeypatch.setattr(address, "DRAWING", 0.0)
    page.select_slider(key="x_stop").set_value(1.5).run()
    type_in(page, "x", "1")
    assert page.session_state["x"] == 1.0 and page.select_slider(key="x_stop").value == 1.0


def test_what_stays_out_of_the_link(page):
    type_in(page, "secret", "5")
    assert page.query_params == {}
    linked = AppTest.from_function(_page)
    linked.query_params["secret"] = "5"
    assert linked.run().session_state["secret"] == 2.0


def _plain():
    import streamlit as st

    from pages.shared.address import Address, Number

    page = Address("script", e=Number(2.0))
    page.open()
    st.select_slider("e", [1.0, 2.0, 4.0], key="e")
    st.button("four", on_click=page.choose, args=({"e": 4.0},))
    st.button("news")


def test_a_control_that_was_told_otherwise_may_lag_behind():
    page = AppTest.from_function(_plain).run()
    page.button[0].click().run()
    page.select_slider(key="e").set_value(2.0)
    page.button[1].click().run()
    assert page.session_state["e"] == 4.0 == page.select_slider(key="e").value and page.query_params == {"e": "4"}
    page.button[1].click().run()
    page.select_slider(key="e").set_value(2.0).run()
    assert page.session_state["e"] == 2.0 and page.query_params == {}
