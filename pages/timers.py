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
"""

from __future__ import annotations

from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests, ScriptRequestType


def keep_to_their_page() -> None:
    """Let go of the requests of timers of a page that was left, from now on in this process."""
    if getattr(ScriptRequests._request_rerun_locked, "keeps", False):
        return
    fold, request = ScriptRequests._request_rerun_locked, AppSession.request_rerun
    make, hear = AppSession._create_scriptrunner, AppSession._handle_scriptrunner_event_on_event_loop

    def folded(self: Any, asked: RerunData) -> bool:
        if not asked.is_auto_rerun:
            self.page_asked_for = asked.page_script_hash
        elif getattr(self, "page_asked_for", "") not in ("", asked.page_script_hash):
            return True
        return fold(self, asked)

    def requested(self: Any, state: ClientState | None) -> None:
        """As `folded`, when no script runs any more that could have been asked for another page; and nothing that the
        runner has not begun is lost when the whole page is run anew."""
        shown, runner = self._pages_manager.current_page_script_hash, self._scriptrunner
        if state and state.is_auto_rerun and shown not in ("", state.page_script_hash):
            return
        whole = not (state and state.fragment_id) and self._state != AppSessionState.SHUTDOWN_REQUESTED
        if whole and runner is not None and (unheard := _ended(runner._requests)):
            vars(self).setdefault("waiting", ScriptRequests()).request_rerun(unheard)
        request(self, state)

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
    AppSession._create_scriptrunner = made
    AppSession._handle_scriptrunner_event_on_event_loop = heard


def _ended(requests: ScriptRequests) -> RerunData | None:
    """End a runner's requests as Streamlit will; what it was asked for and has not begun."""
    with requests._lock:
        unheard = requests._rerun_data if requests._state == ScriptRequestType.RERUN else None
        requests._state = ScriptRequestType.STOP
    return unheard
