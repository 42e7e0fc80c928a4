"""A request of a timer never takes the place of a turn to another page."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType

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

    def shutdown(self) -> None:
        pass

    def has_fragment(self, fragment_id: str) -> bool:
        return True

    def _create_scriptrunner(self, rerun_data: RerunData) -> None:
        self.ran.append(rerun_data)


@pytest.mark.parametrize(("page", "automatic", "runs"), [("here", True, 1), ("before", True, 0), ("before", False, 1)])
def test_only_timers_are_let_go_of_and_only_those_of_another_page(page, automatic, runs):
    session = Session("here")
    session.request_rerun(ClientState(page_script_hash=page, fragment_id="panel", is_auto_rerun=automatic))
    assert len(session.ran) == runs
    session.request_rerun(None)
    assert len(session.ran) == runs + 1


def test_a_timer_does_not_silence_a_run_that_has_just_ended():
    """No runner is made for it as long as the one before has news; for a visitor, or with none before, one is."""
    session = Session("here")
    session._scriptrunner = SimpleNamespace(request_rerun=lambda asked: False)
    AppSession._create_scriptrunner(session, timer("here"))
    with pytest.raises(AttributeError):  # a real runner needs more than this session has
        AppSession._create_scriptrunner(session, RerunData(page_script_hash="here"))
    session._scriptrunner = None
    with pytest.raises(AttributeError):
        AppSession._create_scriptrunner(session, timer("here"))
