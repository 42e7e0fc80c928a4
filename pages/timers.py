"""Panels that the browser runs by itself, and a visitor who turns to another page at the same moment.

The browser's timers belong to the page it shows, and run until it has heard of the next one. Streamlit folds their
requests into the one it has, and takes the page of whichever came last: a turn to another page was lost, or panels of
the page before ran on the new one and left the screen white. A timer asks again soon, so that its request may be let
go wherever it comes from another page than the one that was last asked for.

Nor may anything else that runs one panel come between a run that has just ended and the news of that: Streamlit would
start a runner for it, no longer listen to the one before, and never tell the browser that the page is whole, which then
stays faded. Such requests wait until that runner is heard out, folded into one as Streamlit folds those of a runner.

And whatever runs the whole page ends the runner before it, with what that one has been asked for and has not begun: of
two presses within a few milliseconds the first was lost. It goes into the run that takes its place.

What was moved at nearly the same time the browser tells in one request, which names the panel of one control alone: the
panels of the others were never drawn anew, and folds that were pressed in quick succession stayed empty. Such a request
becomes one for each of those panels. Where a panel that something was moved in is no more, which a page that was drawn
meanwhile has done away with, the whole page is run: what was moved was lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.fragment import FragmentStorage
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import unpack_widget_state_value
from streamlit.runtime.state.session_state import Serialized


def keep_to_their_page() -> None:
    """Let go of the requests of timers of a page that was left, from now on in this process."""
    if getattr(ScriptRequests._request_rerun_locked, "keeps", False):
        return
    fold, request = ScriptRequests._request_rerun_locked, AppSession.request_rerun
    make, hear = AppSession._create_scriptrunner, AppSession._handle_scriptrunner_event_on_event_loop
    run = ScriptRunner._run_script

    def folded(self: Any, asked: RerunData) -> bool:
        if not asked.is_auto_rerun:
            self.page_asked_for = asked.page_script_hash
        elif getattr(self, "page_asked_for", "") not in ("", asked.page_script_hash):
            return True
        timers = asked.is_auto_rerun and (self._state != ScriptRequestType.RERUN or self._rerun_data.is_auto_rerun)
        taken = fold(self, asked)
        if taken and not timers and self._rerun_data.is_auto_rerun:
            self._rerun_data = replace(self._rerun_data, is_auto_rerun=False)
        return taken

    def requested(self: Any, state: ClientState | None) -> None:
        """As `folded`, when no script runs any more that could have been asked for another page; and nothing that the
        runner has not begun is lost when the whole page is run anew."""
        shown = self._pages_manager.current_page_script_hash
        if state and state.is_auto_rerun and shown not in ("", state.page_script_hash):
            return
        for one in _each(self, state):
            whole = not (one and one.fragment_id) and self._state != AppSessionState.SHUTDOWN_REQUESTED
            if whole and self._scriptrunner is not None and (unheard := _ended(self._scriptrunner._requests)):
                vars(self).setdefault("waiting", ScriptRequests()).request_rerun(unheard)
            request(self, one)

    def ran(self: Any, asked: RerunData) -> None:
        run(self, _still(asked, self._fragment_storage))

    def made(self: Any, asked: RerunData) -> None:
        """A runner for this request and those that waited, as soon as the one before is heard out."""
        waiting = vars(self).setdefault("waiting", ScriptRequests())
        waiting.request_rerun(asked)
        if self._scriptrunner is None:
            del self.waiting
            make(self, waiting.on_scriptrunner_ready().rerun_data)

    def heard(self: Any, *news: Any) -> None:
        """The news of a runner, and after its last a runner for what waited."""
        hear(self, *news)
        if self._scriptrunner is None and "waiting" in vars(self):
            waiting = vars(self).pop("waiting").on_scriptrunner_ready()
            if self._state != AppSessionState.SHUTDOWN_REQUESTED and waiting.type == ScriptRequestType.RERUN:
                make(self, waiting.rerun_data)

    folded.keeps = True  # a mark
    ScriptRequests._request_rerun_locked, AppSession.request_rerun = folded, requested
    AppSession._create_scriptrunner, ScriptRunner._run_script = made, ran
    AppSession._handle_scriptrunner_event_on_event_loop = heard


def _still(asked: RerunData, panels: FragmentStorage) -> RerunData:
    """What is to be run: the whole page where something was moved in a panel that is no more."""
    if asked.is_auto_rerun or all(map(panels.contains, asked.fragment_id_queue)):
        return asked
    return replace(asked, fragment_id_queue=[], is_fragment_scoped_rerun=False)


def _each(session: Any, asked: ClientState | None) -> list[ClientState | None]:
    """A request for every panel that something was moved in; one for the whole page where that was outside of all, or
    in one that is no more."""
    if asked is None or not asked.fragment_id or asked.is_auto_rerun:
        return [asked]
    panels = {asked.fragment_id: None} | dict.fromkeys(_moved(session._session_state, asked))
    if any(not panel or not session.has_fragment(panel) for panel in panels):
        panels = {"": None}
    requests: list[ClientState | None] = []
    for panel in panels:
        request = ClientState()
        request.CopyFrom(asked)
        request.fragment_id = panel
        requests.append(request)
    return requests


PLAIN = {
    "bool_value", "trigger_value", "string_value", "int_value", "double_value", "string_array_value",
    "int_array_value", "double_array_value",
}  # fmt: skip
"""Kinds of values that may be read any number of times."""


def _moved(state: SessionState, asked: ClientState) -> Iterator[str]:
    """The panels of controls of which the browser tells another value than is known; "" for those outside of all."""
    for told in asked.widget_states.widgets:
        control = state._new_widget_state.widget_metadata.get(told.id)
        if control is None or told.WhichOneof("value") not in PLAIN:
            continue
        if control.deserializer(unpack_widget_state_value(told)) != _known(state, told, control.deserializer):
            yield control.fragment_id or ""


def _known(state: SessionState, told: WidgetState, read: Any) -> object:
    """The value of a control, looked up without a trace: a script may be using the state."""
    key = state._key_id_mapper.id_key_mapping.get(told.id)
    if key is not None and key in state._new_session_state:
        return state._new_session_state[key]
    held = state._new_widget_state.states.get(told.id)
    if held is None:
        return state._old_state.get(told.id)
    return read(unpack_widget_state_value(held.value)) if isinstance(held, Serialized) else held.value


def _ended(requests: ScriptRequests) -> RerunData | None:
    """End a runner's requests as Streamlit will; what it was asked for and has not begun."""
    with requests._lock:
        unheard = requests._rerun_data if requests._state == ScriptRequestType.RERUN else None
        requests._state = ScriptRequestType.STOP
    return unheard
