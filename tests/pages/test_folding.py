"""Folds: what is in one is drawn while it is unfolded, and no sooner."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.fields import typed


def script() -> None:
    import streamlit as st

    from pages.shared import folding

    st.session_state["drawn"] = False

    def draw() -> None:
        st.session_state["drawn"] = True
        st.text_input("Inside", key="inside")

    if st.session_state.get("elsewhere"):
        return
    folding.fold("More", draw, key="more", unfolded=st.session_state.get("wanted", False))


def run(page: AppTest, **state: bool) -> bool:
    """Whether the part is drawn after a change of the session."""
    for key, value in state.items():
        page.session_state[key] = value
    page.run()
    assert not page.exception
    assert bool(page.text_input) == page.session_state["drawn"]
    return page.session_state["drawn"]


@pytest.fixture
def page() -> AppTest:
    return AppTest.from_function(script)


def test_nothing_is_drawn_before_it_is_unfolded(page):
    assert not run(page)
    assert run(page, more=True)
    assert not run(page, more=False)


def test_a_fold_follows_what_the_page_says_when_that_changes_and_else_the_visitor(page):
    assert run(page, wanted=True)
    assert not run(page, more=False), "folded by the visitor, though the page still wants it"
    assert run(page, more=True)
    assert not run(page, wanted=False)
    assert run(page, wanted=True)


def test_a_page_may_want_it_from_the_first_run_on(page):
    assert run(page, wanted=True)


def test_it_is_unfolded_again_where_the_page_is_come_back_to(page):
    assert run(page, wanted=True)
    assert not run(page, elsewhere=True)
    assert run(page, elsewhere=False)


def test_controls_in_use_stay_unfolded_when_their_field_is_as_at_first_again():
    page = AppTest.from_file("../../pages/isotropic/page.py", default_timeout=60)
    keys = lambda: {box.key for box in page.text_input}  # noqa: E731
    page.run()
    assert typed("seconds") not in keys()
    page.session_state["further on isotropic"] = True
    page.run()
    page.text_input(key=typed("seconds")).set_value("5").run()
    page.text_input(key=typed("seconds")).set_value("20").run()
    assert page.session_state["seconds"] == 20 and typed("seconds") in keys()
