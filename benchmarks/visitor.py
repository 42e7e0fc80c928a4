"""A visitor of the dashboard without a browser: one websocket, Streamlit's own messages, sliders that move.

Does what the browser does with them: keeps the elements of the last run, sends a widget's new value, repeats fragments
that ask for it, and answers nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.util import calc_hash
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

LARGEST = 64 << 20
"""Bytes of one message."""

MOVED = ("checkbox", "slider", "number_input", "text_input", "text_area", "selectbox", "multiselect", "radio")
"""Widgets whose values this visitor knows and sends with every run, as browsers do."""


@dataclass
class Visitor:
    """One open page.

    address : of the server, such as http://127.0.0.1:8501.
    query : the address's parameters, as text.   page : its path, of the page that is opened first.
    on_element : called with every element and the time it came.
    fragments : the fragment that drew each element, "" for the page itself.
    """

    address: str
    query: str = ""
    page: str = "optimal_noise"
    on_element: Callable[[Element, float], None] = lambda *_: None
    elements: dict[tuple[int, ...], Element] = field(default_factory=dict)
    fragments: dict[tuple[int, ...], str] = field(default_factory=dict)
    exceptions: list[str] = field(default_factory=list)
    runs: int = 0
    pages: dict[str, str] = field(default_factory=dict)
    session: str = ""
    _page: str = ""
    _drawn: set[tuple[int, ...]] = field(default_factory=set)
    _finished: asyncio.Event = field(default_factory=asyncio.Event)
    _timers: dict[str, asyncio.Task] = field(default_factory=dict)
    _known: dict[str, ForwardMsg] = field(default_factory=dict)
    _states: dict[str, WidgetState] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._page = calc_hash(self.page) if self.page else ""

    @contextlib.asynccontextmanager
    async def visit(self):
        """Connect, run the page once, listen until the block is left."""
        where = re.sub(r"^http", "ws", self.address) + "/_stcore/stream"
        async with connect(where, subprotocols=["streamlit"], max_size=LARGEST, open_timeout=20) as socket:
            self._socket = socket
            listening = asyncio.create_task(self._listen(socket))
            await self.run()
            try:
                yield self
            finally:
                listening.cancel()
                for timer in self._timers.values():
                    timer.cancel()
                with contextlib.suppress(asyncio.CancelledError, ConnectionClosed):
                    await listening

    async def run(self, *, fragment: str = "", auto: bool = False, **widgets: object) -> None:
        """Ask for a run of the page, or of a fragment, with new values: widget key → value."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self.query, self._page
        state.fragment_id, state.is_auto_rerun = fragment, auto
        state.cached_message_hashes.extend(self._known)
        for key, value in widgets.items():
            element = self.widget(key)
            kind = element.WhichOneof("type")
            widget = getattr(element, kind)
            self._states[widget.id] = _state(widget, kind, value)
        state.widget_states.widgets.extend(self._states.values())
        if not fragment:
            self._finished.clear()
        await self._socket.send(message.SerializeToString())

    async def turn_to(self, page: str, query: str = "") -> None:
        """Open another page of the router by its title, with these parameters."""
        self._page, self.query = self.pages[page], query
        await self.run()

    async def finished(self, seconds: float = 20.0) -> None:
        """Wait for the run under way to end."""
        await asyncio.wait_for(self._finished.wait(), seconds)

    async def press(self, key: str) -> None:
        """Press a button."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self.query, self._page
        state.widget_states.widgets.extend(self._states.values())
        state.widget_states.widgets.append(WidgetState(id=self.widget(key).button.id, trigger_value=True))
        self._finished.clear()
        await self._socket.send(message.SerializeToString())

    def widget(self, key: str) -> Element:
        """The element of a widget by its key.

        Raises
        ------
        KeyError : there is none on the page now.
        """
        for element in self.elements.values():
            kind = element.WhichOneof("type")
            name = getattr(getattr(element, kind or "", None), "id", "")
            if name.endswith(f"-{key}"):
                return element
        raise KeyError(key)

    def texts(self) -> Iterator[str]:
        """The Markdown and the messages on the page now, in no order."""
        for element in self.elements.values():
            kind = element.WhichOneof("type")
            if kind in ("markdown", "alert"):
                yield getattr(element, kind).body

    def _remember(self, element: Element) -> None:
        """Keep a widget's value as the page says it is, if this visitor has not moved it or the page has."""
        kind = element.WhichOneof("type")
        widget = getattr(element, kind)
        if kind in MOVED and (widget.set_value or widget.id not in self._states):
            self._states[widget.id] = _state(widget, kind, _shown(widget, kind))

    async def _listen(self, socket: ClientConnection) -> None:
        async for raw in socket:
            message = ForwardMsg()
            message.ParseFromString(raw)
            if message.WhichOneof("type") == "ref_hash":
                known = self._known[message.ref_hash]
                known.metadata.CopyFrom(message.metadata)
                message = known
            elif message.metadata.cacheable and message.hash:
                self._known[message.hash] = message
            self._take(message, time.monotonic())

    def _take(self, message: ForwardMsg, now: float) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id
            self._page = message.new_session.page_script_hash
            if not message.metadata.run.fragment_ids:
                self._quiet(list(self._timers))
                self.runs += 1
                self._drawn.clear()
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "navigation":
            self.pages = {page.page_name: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            self.elements[tuple(message.metadata.delta_path)] = element
            self.fragments[tuple(message.metadata.delta_path)] = message.delta.fragment_id
            self._drawn.add(tuple(message.metadata.delta_path))
            if element.WhichOneof("type") == "exception":
                self.exceptions.append(f"{element.exception.type}: {element.exception.message}"[:500])
            self._remember(element)
            self.on_element(element, now)
        elif kind == "auto_rerun":
            name = message.auto_rerun.fragment_id
            self._quiet([name])
            self._timers[name] = asyncio.create_task(self._repeat(name, message.auto_rerun.interval))
        elif kind == "stop_auto_rerun":
            self._quiet(list(message.stop_auto_rerun.fragment_ids))
        elif kind == "script_finished":
            names = ForwardMsg.ScriptFinishedStatus
            if message.script_finished == names.FINISHED_SUCCESSFULLY:
                self.elements = {path: self.elements[path] for path in self._drawn}
                self._finished.set()
            elif message.script_finished == names.FINISHED_WITH_COMPILE_ERROR:
                self.exceptions.append("the script does not compile")
        elif kind == "session_event" and message.session_event.WhichOneof("type") == "script_compilation_exception":
            self.exceptions.append(message.session_event.script_compilation_exception.message[:500])

    def _quiet(self, names: list[str]) -> None:
        for name in names:
            if timer := self._timers.pop(name, None):
                timer.cancel()

    async def _repeat(self, name: str, seconds: float) -> None:
        with contextlib.suppress(Exception):
            while True:
                await asyncio.sleep(seconds)
                await self.run(fragment=name, auto=True)


def _shown(widget, kind: str) -> object:
    """The value that a widget's element shows."""
    if kind in ("selectbox", "radio", "multiselect") or (kind == "slider" and widget.options):
        if kind == "multiselect" or kind == "slider":
            now, first = list(getattr(widget, "raw_values", getattr(widget, "raw_value", ()))), list(widget.default)
            return now if widget.set_value else [widget.options[int(at)] for at in first]
        first = widget.options[widget.default] if widget.HasField("default") else None
        return widget.raw_value if widget.set_value else first
    if kind == "slider":
        return list(widget.value if widget.set_value else widget.default)
    if kind == "checkbox":
        return widget.value if widget.set_value else widget.default
    name = "value" if widget.set_value else "default"
    return getattr(widget, name) if widget.HasField(name) else None


def _state(widget, kind: str, value) -> WidgetState:
    """The message that a widget has a value; None is an empty box."""
    state = WidgetState(id=widget.id)
    if kind == "checkbox":
        state.bool_value = bool(value)
    elif kind == "number_input" and value is not None:
        state.double_value = float(value)
    elif kind == "slider" and not widget.options:
        state.double_array_value.data.extend(map(float, value))
    elif kind in ("slider", "multiselect"):
        state.string_array_value.data.extend([value] if isinstance(value, str) else value)
    elif kind != "number_input" and value is not None:
        state.string_value = value
    return state
