"""Requests for panels: none takes the place of a turn to another page, and nothing that was moved is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import MagicMock

import pytest
from running import apart
from streamlit import runtime
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner import ScriptRunnerEvent
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import WidgetMetadata

import pages.timers


def timer(page: str) -> RerunData:
    return RerunData(page_script_hash=page, fragment_id="panel", is_auto_rerun=True)


@pytest.fixture(autouse=True)
def installed() -> None:
    pages.timers.keep_to_their_page()


def test_a_turn_to_another_page_outlives_the_timer_of_the_page_before():
    requests = ScriptRequests()
    requests.request_rerun(RerunData(page_script_hash="before"))
    requests.on_scriptrunner_ready()
    requests.request_rerun(timer("before"))  # waits for the run that is under way
    requests.request_rerun(RerunData(page_script_hash="after"))
    requests.request_rerun(timer("before"))
    turned = requests.on_scriptrunner_yield()
    assert turned.type == ScriptRequestType.RERUN and turned.rerun_data.page_script_hash == "after"
    assert not turned.rerun_data.fragment_id_queue


def test_a_timer_of_the_page_before_runs_nothing_on_the_new_one():
    requests = ScriptRequests()
    requests.request_rerun(RerunData(page_script_hash="after"))
    requests.on_scriptrunner_ready()
    requests.request_rerun(timer("before"))
    assert requests.on_scriptrunner_ready().type == ScriptRequestType.STOP, "nothing is left to do"


@pytest.mark.parametrize("asked", ["", "here"], ids=["by its address", "by its name"])
def test_the_timer_of_this_page_runs(asked):
    requests = ScriptRequests()
    requests.request_rerun(RerunData(page_script_hash=asked))
    requests.on_scriptrunner_ready()
    requests.request_rerun(timer("here"))
    ready = requests.on_scriptrunner_ready()
    assert ready.type == ScriptRequestType.RERUN and ready.rerun_data.fragment_id_queue == ["panel"]


class Session(AppSession):
    """One that shows a page and keeps what it would run."""

    def __init__(self, shown: str) -> None:
        self.ran: list[RerunData] = []
        self._state, self._scriptrunner = None, None
        self._pages_manager = SimpleNamespace(current_page_script_hash=shown)
        self._session_state = SessionState()

    def shutdown(self) -> None:
        pass

    def has_fragment(self, fragment_id: str) -> bool:
        return fragment_id != "gone"

    def draw(self, key: str, value: str, panel: str | None) -> None:
        """A control, as a script draws it that is not told another value."""
        control = WidgetMetadata(key, str, str, "string_value", fragment_id=panel)
        self._session_state.register_widget(control, None)
        self._session_state._new_widget_state.set_from_value(key, value)

    def _create_scriptrunner(self, rerun_data: RerunData) -> None:
        self.ran.append(rerun_data)


@pytest.mark.parametrize(("page", "automatic", "runs"), [("here", True, 1), ("before", True, 0), ("before", False, 1)])
def test_only_timers_are_let_go_of_and_only_those_of_another_page(page, automatic, runs):
    session = Session("here")
    session.request_rerun(ClientState(page_script_hash=page, fragment_id="panel", is_auto_rerun=automatic))
    assert len(session.ran) == runs
    session.request_rerun(None)
    assert len(session.ran) == runs + 1


@pytest.mark.parametrize(
    ("named", "values", "runs"),
    [("panel", {"one": "old", "other": "old"}, ["panel"]), ("panel", {"one": "new"}, ["panel"]),
     ("panel", {"one": "new", "other": "new"}, ["panel", "line"]), ("panel", {"outside": "new"}, [""]),
     ("panel", {"one": "new", "outside": "old"}, ["panel"]), ("gone", {"one": "new"}, [""]),
     ("panel", {"stale": "new"}, [""]), ("", {"one": "new"}, [""])],
)  # fmt: skip
def test_whatever_was_moved_in_one_moment_is_drawn_anew(named, values, runs):
    """The browser names one panel for all that it tells, and perhaps one that a new page has done away with."""
    session = Session("here")
    for key, panel in {"one": "panel", "other": "line", "outside": None, "stale": "gone"}.items():
        session.draw(key, "old", panel)
    session.request_rerun(asks(named, **values))
    assert [one.fragment_id or "" for one in session.ran] == runs
    assert all({told.id: told.string_value for told in one.widget_states.widgets} == values for one in session.ran)


@pytest.mark.parametrize("compacted", [False, True], ids=["since its run", "before it"])
def test_what_the_page_has_set_itself_is_no_move(compacted):
    session = Session("here")
    session.draw("other", "old", "line")
    if compacted:
        session._session_state._compact_state()
    session.request_rerun(asks("panel", other="old"))
    assert [one.fragment_id for one in session.ran] == ["panel"]


def test_a_press_stays_one_beside_a_timer():
    """Timers may be let go of, and their panels be gone; nothing of that holds for what a visitor did."""
    for automatic in ((False, True), (True, False), (True, True)):
        requests = ScriptRequests()
        requests.request_rerun(RerunData(page_script_hash="here"))
        requests.on_scriptrunner_ready()
        for one in automatic:
            requests.request_rerun(RerunData(page_script_hash="here", fragment_id="panel", is_auto_rerun=one))
        assert requests.on_scriptrunner_ready().rerun_data.is_auto_rerun == all(automatic)


@pytest.mark.parametrize(("automatic", "runs"), [(False, []), (True, ["panel", "gone"])])
def test_the_page_is_run_where_something_was_moved_in_a_panel_that_went_meanwhile(automatic, runs):
    """It was still there when the request came, behind a run of the page that did without it."""
    storage = MemoryFragmentStorage()
    storage.register("panel", lambda: None)
    still = lambda *panels: pages.timers._still(  # noqa: E731
        RerunData(fragment_id_queue=list(panels), is_auto_rerun=automatic), storage
    )
    assert still("panel", "gone").fragment_id_queue == runs
    assert still("panel").fragment_id_queue == ["panel"]


class Running(Session):
    """One that makes its runners, and does nothing else."""

    _create_scriptrunner = property(lambda self: AppSession._create_scriptrunner.__get__(self))

    def __getattr__(self, name: str) -> MagicMock:
        return MagicMock()


class Runner:
    """What a session knows of one: here it has run its script and takes no more requests."""

    made: ClassVar[list[Runner]] = []

    def __init__(self, initial_rerun_data: RerunData, **ignored: object) -> None:
        self.asked, self.on_event, self._requests = initial_rerun_data, MagicMock(), ScriptRequests()
        self.made.append(self)

    def start(self) -> None:
        pass

    def request_rerun(self, asked: RerunData) -> bool:
        return False

    def request_stop(self) -> None:
        pass


@pytest.fixture
def ended(monkeypatch) -> Callable[[Callable[[AppSession], None]], list[RerunData]]:
    """What a session runs that is asked for more before and after the news that its first runner has ended."""
    monkeypatch.setattr(app_session, "ScriptRunner", Runner)
    monkeypatch.setattr(Runner, "made", [])

    async def runs(ask: Callable[[AppSession], None], state: AppSessionState) -> list[RerunData]:
        session = Running("here")
        session._event_loop = session._script_event_loop = asyncio.get_running_loop()
        session.request_rerun(asks())
        (first,) = Runner.made
        session._state = AppSessionState.APP_IS_RUNNING
        ask(session)
        session._state = state
        session._handle_scriptrunner_event_on_event_loop(first, ScriptRunnerEvent.SHUTDOWN)
        return [one.asked for one in Runner.made[1:]]

    return lambda ask, state=AppSessionState.APP_NOT_RUNNING: apart(runs(ask, state))


def asks(fragment: str = "", page: str = "here", automatic: bool = False, **values: str) -> ClientState:
    states = [WidgetState(id=name, string_value=value) for name, value in values.items()]
    return ClientState(
        page_script_hash=page, fragment_id=fragment, is_auto_rerun=automatic, widget_states=WidgetStates(widgets=states)
    )


def test_no_panel_silences_a_run_that_has_just_ended(ended):
    """No runner is made as long as the one before has news, and then one for all, with what was typed last."""

    def ask(session: AppSession) -> None:
        session.request_rerun(asks("panel", automatic=True))
        session.request_rerun(asks("line", typed="older"))
        session.request_rerun(asks("panel", typed="newer"))
        assert len(Runner.made) == 1

    (asked,) = ended(ask)
    assert asked.fragment_id_queue == ["panel", "line"]
    assert [one.string_value for one in asked.widget_states.widgets] == ["newer"]


def test_what_waits_goes_with_a_turn_to_another_page(ended):
    """Nor does it run once more when the news of the run before arrives."""

    def ask(session: AppSession) -> None:
        session.request_rerun(asks("panel"))
        session.request_rerun(asks(page="after"))

    (asked,) = ended(ask)
    assert asked.page_script_hash == "after" and not asked.fragment_id_queue


def pressed(name: str) -> WidgetStates:
    return WidgetStates(widgets=[WidgetState(id=name, trigger_value=True)])


@pytest.mark.parametrize("fragment", ["", "panel"])
def test_a_press_that_no_script_has_heard_of_goes_into_the_run_that_takes_its_place(ended, fragment):
    """The browser forgets presses once it has sent them; what has been begun is not run again."""

    def ask(session: AppSession) -> None:
        runner = Runner.made[0]._requests
        runner.request_rerun(RerunData(page_script_hash="here", widget_states=pressed("first")))
        runner.on_scriptrunner_ready()
        runner.request_rerun(RerunData(page_script_hash="here", fragment_id=fragment, widget_states=pressed("second")))
        session.request_rerun(ClientState(page_script_hash="here", widget_states=pressed("third")))
        assert runner.on_scriptrunner_ready().type == ScriptRequestType.STOP

    (asked,) = ended(ask)
    assert {one.id for one in asked.widget_states.widgets} == {"second", "third"} and not asked.fragment_id_queue


def test_nothing_waits_for_a_session_that_was_left(ended, monkeypatch):
    monkeypatch.setattr(runtime, "get_instance", MagicMock())
    monkeypatch.setattr(app_session, "_close_script_event_loop", lambda loop: None)
    assert not ended(lambda session: session.request_rerun(asks("panel")), AppSessionState.SHUTDOWN_REQUESTED)
