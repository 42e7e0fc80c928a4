"""Values of a session that are looked up one by one, and what is worked out once, are those that Streamlit has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest
from running import apart
from streamlit import config
from streamlit.components.v2.bidi_component import main as components
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.runtime import app_session
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.runtime.state.common import WidgetMetadata
from streamlit.testing.v1 import AppTest

import pages  # noqa: F401 - from here on
from pages.session_state import News


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

        st.session_state.setdefault("name", None)
        st.text_input("Name", "nobody", key="name")
        st.selectbox("One", ["a", "b"], key="one")
        st.write(sorted(st.session_state.to_dict()))

    run = AppTest.from_function(page).run()
    assert not run.exception and run.text_input(key="name").value is None and run.selectbox(key="one").value == "a"
    run.text_input(key="name").set_value("x").run()
    assert run.session_state["name"] == "x"


def test_what_a_component_was_asked_is_seen_and_nothing_else_is_made_anew():
    kept, session = {"stop": 3}, SessionState()
    present = components.make_bidi_component_presenter("asks", "component", {"stop"})
    assert present(kept, session) is kept  # no such component is there
    about = {"id": "asks", "deserializer": lambda value: value, "serializer": lambda value: value}
    session._new_widget_state.set_widget_metadata(WidgetMetadata(**about, value_type="json_trigger_value"))
    session._new_widget_state.set_from_value("asks", None)
    assert present(kept, session) is kept
    session._new_widget_state.set_from_value("asks", [{"event": "settled", "value": 7}])
    assert present(kept, session) == {"stop": 3, "settled": 7}


@pytest.mark.parametrize("section", ["theme", "theme.light", "theme.dark", "theme.sidebar", "theme.dark.sidebar"])
def test_themes_are_those_of_the_configuration(section):
    options = {name: value for name, value in config.get_options_for_section(section).items() if value is not None}
    told = NewSession()
    app_session._populate_theme_msg(told.custom_theme, section)
    assert told.HasField("custom_theme") == bool(options)
    if "primaryColor" in options:
        assert told.custom_theme.primary_color == options["primaryColor"]
    again = NewSession()
    app_session._populate_theme_msg(again.custom_theme, section)
    assert again == told and again.custom_theme is not told.custom_theme


def test_the_loop_is_woken_once_for_all_that_waits_and_hears_it_in_order():
    wakes: list[Callable[[], None]] = []
    heard: list[int] = []
    news = News(wakes.append)
    for number in range(3):
        news.add(partial(heard.append, number))
    assert len(wakes) == 1 and not heard
    wakes[0]()
    news.add(partial(heard.append, 3))
    assert len(wakes) == 2 and heard == [0, 1, 2]
    wakes[1]()
    assert heard == [0, 1, 2, 3] and len(wakes) == 2


def test_nothing_waits_behind_news_that_failed():
    wakes: list[Callable[[], None]] = []
    heard: list[str] = []
    news = News(wakes.append)
    news.add(lambda: 1 / 0)
    news.add(partial(heard.append, "next"))
    with pytest.raises(ZeroDivisionError):
        wakes[0]()
    wakes[1]()
    assert heard == ["next"]


def test_nothing_is_lost_that_several_threads_have_to_say():
    async def told() -> list[tuple[int, int]]:
        heard: list[tuple[int, int]] = []
        news = News(asyncio.get_running_loop().call_soon_threadsafe)

        def talk(thread: int) -> None:
            for number in range(2000):
                news.add(partial(heard.append, (thread, number)))

        await asyncio.gather(*(asyncio.to_thread(talk, thread) for thread in range(4)))
        await asyncio.sleep(0)
        return heard

    heard = apart(told())
    for thread in range(4):
        assert [number for one, number in heard if one == thread] == list(range(2000))
