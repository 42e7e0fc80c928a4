"""What Streamlit works out again for every widget and every run, worked out once.

Its fields and lists ask whether a value is None in a copy of the whole session that is made for each of them,
the values of all components included: on a page with thirty widgets a tenth of the run. What they get here looks up
what they ask for, and makes the copy for whoever wants to go through all of it.

A component's values are shown in a dictionary whose class is made for every look, so that they can be written as well,
which no page does: a twentieth of a busy server's time. Where nothing was clicked they are shown as they are kept.

And every run, of a panel alone as well, begins with all options of six themes, which never change.

The thread that speaks to the browsers is woken for every element that a page draws, and each time the page waits for it
to have looked. Here it is woken for all that wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from functools import cache, partial
from typing import Any

from streamlit.components.v2.bidi_component import main as components
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.safe_session_state import SafeSessionState


class Values(Mapping[str, Any]):
    """The values of a session by their keys, as `filtered_state` of Streamlit has them."""

    def __init__(self, session: SafeSessionState) -> None:
        self._session = session

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and not key.startswith(INTERNAL) and key in self._session

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(key)
        return self._session[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, Any]:
        return self._all().items()

    def values(self) -> ValuesView[Any]:
        return self._all().values()

    def _all(self) -> dict[str, Any]:
        with self._session._lock:
            return self._session._state.filtered_state


INTERNAL = "$$"
"""What the keys that Streamlit keeps for itself begin with."""


Presenter = Callable[[object, SessionState], object]


class News:
    """What the event loop is to hear of one session, in its order.   wake : has the loop call a function."""

    def __init__(self, wake: Callable[[Callable[[], None]], None]) -> None:
        self._wake, self._waiting, self._woken = wake, deque[Callable[[], None]](), False

    def add(self, one: Callable[[], None]) -> None:
        """From any thread."""
        self._waiting.append(one)
        if not self._woken:
            self._woken = True
            self._wake(self._tell)

    def _tell(self) -> None:
        self._woken = False  # first: what is added from now on is told below, or wakes the loop again
        try:
            while self._waiting:
                self._waiting.popleft()()
        finally:
            if self._waiting:  # one of them failed, which is no reason for the others to wait
                self._wake(self._tell)


def work_out_once() -> None:
    """From now on in this process."""
    SafeSessionState.filtered_state = property(Values)
    if getattr(components.make_bidi_component_presenter, "once", False):
        return
    make, fill = components.make_bidi_component_presenter, app_session._populate_theme_msg
    wake = AppSession._call_soon_on_event_loop

    def soon(self: Any, callback: Callable[[], None]) -> None:
        if "news" not in vars(self):
            vars(self).setdefault("news", News(partial(wake, self)))
        self.news.add(callback)

    def presenter(aggregator: str, *more: Any, **named: Any) -> Presenter:
        full = make(aggregator, *more, **named)

        def present(kept: object, session: SessionState) -> object:
            try:
                clicked = session._new_widget_state[aggregator]
            except KeyError:
                clicked = None
            return full(kept, session) if clicked else kept

        return present

    @cache
    def theme(section: str) -> CustomThemeConfig:
        filled = CustomThemeConfig()
        fill(filled, section)
        return filled

    def themed(message: CustomThemeConfig, section: str = "theme") -> None:
        if (filled := theme(section)).ByteSize():
            message.MergeFrom(filled)

    presenter.once = True  # a mark
    components.make_bidi_component_presenter, app_session._populate_theme_msg = presenter, themed
    AppSession._call_soon_on_event_loop = soon
