"""Folds: what is in one is drawn while it is unfolded, and no sooner."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


def script() -> None:
    import streamlit as st

    from pages.shared import folding

    st.session_state["drawn"] = False

    def draw() -> None:
        st.session_state["drawn"] = True
        st.text_input("Inside", key="inside")

    wanted, again = (st.session_state.get(name, False) for name in ("wanted", "again"))
    folding.fold("More", draw, key="more", unfolded=wanted, folded_again=again)


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
    assert run(page, wanted=False), "a field in it was emptied, and is in use"
    assert run(page, wanted=True)
    assert not run(page, wanted=False, again=True)
    assert run(page, wanted=True)


def test_a_page_may_want_it_from_the_first_run_on(page):
    assert run(page, wanted=True)
