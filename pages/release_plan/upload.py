"""A visitor's own table as data of a release: in the memory of this tab's session, and nowhere else.

What the browser sends is taken out of Streamlit's hands at once, so that there is one place that can forget it. It is
forgotten on request and when the tab's connection ends. It is read in this process (`work.reading`), never by the pool.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore.errors import InputError
from dpcore.plan.plan import Plan
from dpcore.plan.source import Source
from pages.shared import compute, prose, watching
from service import log, uploads
from work.reading import Reading, Task

from . import headline

TEXT = prose.sections("release_plan")

MEGABYTES = 20
KINDS = ["csv", "tsv", "txt", "parquet", "pq"]

uploads.keep_in_memory()


@dataclass(eq=False)
class Table:
    """What one tab has opened.

    raw : the file's bytes, none where there is no file.   look : types of its columns.   release : the numbers.
    turn : of the box that takes the next file.   session, files : where Streamlit receives them.
    """

    session: str = ""
    files: Any = None
    name: str = ""
    raw: bytes = field(default=b"", repr=False)
    turn: int = 0
    look: Reading[dict[str, bool]] | None = None
    release: Reading[Any] | None = None

    def read(self, task: Task[Any]) -> Reading[Any]:
        """Begin to do something with the data."""
        data: Callable[[], AbstractContextManager[Source]] = partial(Source.held, self.raw, self.name)
        return Reading(data, task, failed=_failed)

    def take(self, name: str, raw: bytes) -> None:
        """Hold a file in place of the one before."""
        self.forget()
        self.name, self.raw = name, raw
        self.look = self.read(lambda source, _: source.look())

    def forget(self) -> None:
        """End what is being read, and hold nothing."""
        for reading in (self.look, self.release):
            if reading is not None:
                reading.stop()
        self.name, self.raw, self.look, self.release = "", b"", None, None
        if self.files is not None:
            self.files.remove_session_files(self.session)


def _failed(error: Exception) -> None:
    log.record("script error", level=logging.ERROR, error=type(error).__name__, place=log.place(error))


@st.cache_resource(scope="session", show_spinner=False, on_release=Table.forget)
def held() -> Table:
    """This session's; forgotten when its connection ends."""
    context = get_script_run_ctx()
    return Table() if context is None else Table(context.session_id, context.uploaded_file_mgr)


def table(plan: Plan) -> Table | None:
    """Draw what takes a table for the plan; the table, once it is there and fits the plan."""
    if barrier := uploads.barrier(st.context.headers):
        st.info(TEXT[f"not taken: {barrier}"], icon=":material/shield:")
        st.code("python -m dpcore plan run plan.toml --data people.csv --ledger people.ledger", language="sh")
        return None
    st.info(TEXT["your data"], icon=":material/memory:")
    own = held()
    if own.look is None:
        key = f"people_file {own.turn}"
        st.file_uploader("CSV or Parquet", KINDS, key=key, max_upload_size=MEGABYTES, on_change=_take, args=(key,))
        return None
    left, right = st.columns([5, 1], vertical_alignment="center")
    size = len(own.raw) / 1e6
    left.markdown(f"**{prose.literal(own.name, 80)}**, {prose.number(max(size, 0.001), 2)} MB")
    right.button("Forget it", key="people_forget", on_click=_forget, help="It is gone from the server at once.")
    if not follow(own.look, "stop_look"):
        return None
    return own if _fits(own.look, plan) else None


def _take(key: str) -> None:
    """A file has come: hold its bytes, and nobody else does any more."""
    upload = st.session_state[key]
    if upload is None:
        return
    own = held()
    own.turn += 1
    own.take(upload.name, upload.getvalue())
    if own.files is not None:
        own.files.remove_file(own.session, upload.file_id)
    if compute.deserted():
        own.forget()


def _forget() -> None:
    held().forget()


def follow(reading: Reading[Any], key: str) -> bool:
    """Whether it has ended; until then a word about it and a button that ends it, drawn again by themselves."""
    with compute.PAGE_LOCK.left():
        reading.wait(0.2)
    if reading.done:
        return True
    left, right = st.columns([5, 1], vertical_alignment="center")
    right.button("Stop", key=key, on_click=reading.stop)

    @st.fragment(run_every=0.25)
    def watch() -> None:
        if reading.over:
            reading.stop()  # what began in that very moment
        if reading.done:
            watching.draw_again()
        st.markdown("Other tables are being read: this one waits for its turn …" if reading.waiting else "Reading …")

    with left:
        watch()
    return False


def _fits(look: Reading[dict[str, bool]], plan: Plan) -> bool:
    """Say what the table is; whether it is one and has the plan's columns."""
    if look.answer is None:
        refusal = look.error if isinstance(look.error, InputError) else None
        st.error(headline.told(refusal) if refusal else "Reading was stopped. Forget the file to open it again.")
        return False
    wanted = [*([plan.people.identifier] if plan.people.identifier else []), *plan.columns]
    rows = [
        {"column": name, "holds": "numbers" if numbers else "text", "in the plan": "yes" if name in wanted else ""}
        for name, numbers in look.answer.items()
    ]
    with st.expander(f"{len(rows)} columns"):
        st.dataframe(rows, hide_index=True)
    if missing := [name for name in wanted if name not in look.answer]:
        shown = ", ".join(prose.literal(name, 40) for name in missing[:10])
        st.error(f"The plan speaks of columns that the file does not have: {shown}. Names have to agree to the letter.")
    return not missing
