"""Values of a session that are looked up one by one are those that Streamlit has."""

from __future__ import annotations

import pytest
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.testing.v1 import AppTest


@pytest.fixture
def session() -> SafeSessionState:
    one = SafeSessionState(SessionState(), lambda: None)
    one["shown"], one["empty"] = 3, None
    one["$$STREAMLIT_INTERNAL_KEY"] = 1
    return one


def test_they_are_the_values_of_the_whole_session(session):
    values, whole = session.filtered_state, session._state.filtered_state
    assert dict(values) == dict(values.items()) == whole == {"shown": 3, "empty": None}
    assert sorted(values) == ["empty", "shown"] and len(values) == 2 and set(values.values()) == {3, None}
    for key in ("shown", "empty", "missing", "$$STREAMLIT_INTERNAL_KEY"):
        assert (key in values) == (key in whole)
        assert values.get(key, "none") == whole.get(key, "none")
    with pytest.raises(KeyError):
        values["missing"]


def test_a_field_is_empty_where_its_value_is_none():
    """What Streamlit looks them up for."""

    def page() -> None:
        import streamlit as st

        import pages  # noqa: F401

        st.session_state.setdefault("name", None)
        st.text_input("Name", "nobody", key="name")
        st.selectbox("One", ["a", "b"], key="one")
        st.write(sorted(st.session_state.to_dict()))

    run = AppTest.from_function(page).run()
    assert not run.exception and run.text_input(key="name").value is None and run.selectbox(key="one").value == "a"
    run.text_input(key="name").set_value("x").run()
    assert run.session_state["name"] == "x"
