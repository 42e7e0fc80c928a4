"""A visitor's own table of people's data: in the memory of this tab's session, and nowhere else.

What the browser sends is taken out of Streamlit's hands at once, so that there is one place that can forget it. It is
forgotten on request and when the tab's connection ends. It is read in this process (`work.reading`), never by the pool.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.errors import InputError
from dpcore.plan.source import Source
from pages.shared import compute, prose, watching
from service import log, uploads
from work.reading import Reading, Task

MEGABYTES = 20
KINDS = ["csv", "tsv", "txt", "parquet", "pq"]

BARRED = {
    "address": "this server can be reached from other machines",
    "proxy": "this page came through another server, or under a name that is not this machine’s",
    "setting": "whoever runs this server has turned that off",
}
"""By what `service.uploads.barrier` says."""

uploads.keep_in_memory()


@dataclass(eq=False)
class Table:
    """What one tab has opened on one page.

    raw : the file's bytes, none where there is no file.   look : types of its columns.   further : what else is done
    with it, by name; each has `forget`.   stated : what its owner said about its columns.
    turn : of the box that takes the next file.   session, files : where Streamlit receives them.
    """

    session: str = ""
    files: Any = None
    name: str = ""
    raw: bytes = field(default=b"", repr=False)
    turn: int = 0
    look: Reading[dict[str, bool]] | None = None
    further: dict[str, Any] = field(default_factory=dict)
    stated: dict[str, Any] = field(default_factory=dict)

    def read(self, task: Task[Source, Any]) -> Reading[Any]:
        """Begin to do something with the data."""
        data: Callable[[], AbstractContextManager[Source]] = partial(Source.held, self.raw, self.name)
        return Reading(data, task, failed=failed)

    def take(self, name: str, raw: bytes) -> None:
        """Hold a file in place of the one before."""
        self.forget()
        self.name, self.raw = name, raw
        self.look = self.read(lambda source, _: source.look())

    def end(self, name: str) -> None:
        """End what is done under a name, and hold it no longer."""
        if (one := self.further.pop(name, None)) is not None:
            one.forget()

    def forget(self) -> None:
        """End what is being read, and hold nothing."""
        if self.look is not None:
            self.look.forget()
        for name in list(self.further):
            self.end(name)
        self.name, self.raw, self.look, self.stated = "", b"", None, {}
        if self.files is not None:
            self.files.remove_session_files(self.session)


def failed(error: Exception) -> None:
    """Log that a reading failed: the class of the error and the place in the program."""
    log.record("script error", level=logging.ERROR, error=type(error).__name__, place=log.place(error))


@st.cache_resource(scope="session", show_spinner=False, on_release=Table.forget)
def held(page: str) -> Table:
    """This session's on a page; forgotten when its connection ends."""
    context = get_script_run_ctx()
    return Table() if context is None else Table(context.session_id, context.uploaded_file_mgr)


def opened(page: str, texts: Mapping[str, str], command: str, told: Callable[[InputError], str]) -> Table | None:
    """Draw what takes a table; the table, once its columns are known.

    texts : "your data", where it stays; "not taken", what to do where none is taken, with `command`.
    told : the words for a refusal.
    """
    if barrier := uploads.barrier(st.context.headers):
        own = " On your own machine, `make run` opens this page for them." if barrier == "address" else ""
        st.info(
            f"People’s data are not taken here: {BARRED[barrier]}. {texts['not taken']}{own}", icon=":material/shield:"
        )
        st.code(command, language="sh")
        return None
    st.info(texts["your data"], icon=":material/memory:")
    own_table = held(page)
    if own_table.look is None:
        key = f"people_file {own_table.turn}"
        st.file_uploader(
            "CSV or Parquet", KINDS, key=key, max_upload_size=MEGABYTES, on_change=_take, args=(page, key)
        )  # fmt: skip
        return None
    left, right = st.columns([5, 1], vertical_alignment="center")
    size = len(own_table.raw) / 1e6
    left.markdown(f"**{prose.literal(own_table.name, 80)}**, {prose.number(max(size, 0.001), 2)} MB")
    right.button("Forget it", key="people_forget", on_click=_forget, args=(page,),
                 help="It is gone from the server at once.")  # fmt: skip
    if not follow(own_table.look, "stop_look"):
        return None
    if own_table.look.answer is None:
        refusal = own_table.look.error if isinstance(own_table.look.error, InputError) else None
        st.error(told(refusal) if refusal else "Reading was stopped. Forget the file to open it again.")
        return None
    return own_table


def _take(page: str, key: str) -> None:
    """A file has come: hold its bytes, and nobody else does any more."""
    upload = st.session_state[key]
    if upload is None:
        return
    own = held(page)
    own.turn += 1
    own.take(upload.name, upload.getvalue())
    if own.files is not None:
        own.files.remove_file(own.session, upload.file_id)
    if compute.deserted():
        own.forget()


def _forget(page: str) -> None:
    held(page).forget()


def follow(reading: Reading[Any], key: str) -> bool:
    """Whether it has ended; until then a word about it and a button that ends it, drawn again by themselves."""
    with compute.PAGE_LOCK.left():
        reading.wait(0.2)
    if not reading.done:
        strip(reading, lambda: st.markdown("Reading …"), key=key)
    return reading.done


def strip(reading: Reading[Any], say: Callable[[], object], *, key: str, help: str | None = None) -> None:
    """What `say` writes as long as a reading is under way, beside a button that ends it; then the page runs again."""
    left, right = st.columns([5, 1], vertical_alignment="center")
    right.button("Stop", key=key, on_click=reading.stop, help=help)

    @st.fragment(run_every=0.25)
    def watch() -> None:
        if reading.over:
            reading.stop()  # what began in that very moment
        if reading.done:
            watching.draw_again()
        if reading.waiting:
            st.markdown("Other tables are being read: this one waits for its turn …")
        else:
            say()

    with left:
        watch()
