"""What was last seen at an address: headline and first picture, for whoever comes to that address next.

`frame`, `drawing` and the map note what they draw during a run of the page; the frame keeps it once the run is whole.
What is kept follows from the address alone: nothing is while a control that no address tells is moved (an answer, a
guess, a true value), and pages that read people's data are never noted (`PRIVATE`). Nothing is computed for it: it
becomes a still picture only when it is asked for (`pages.snapshot`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from cachetools import LRUCache
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.registry import Page

from .address import FRAME, OWN, Address

PRIVATE = ("release_plan", "private_learning")
"""Pages on which a visitor's own people may be: nothing of theirs outlives a run."""

MOST = 64
"""Addresses that are remembered, the ones asked for last."""

LARGEST = 20_000
"""Points of a picture that is remembered: together at most about 20 MB."""


@dataclass
class Seen:
    """What a run has drawn so far.   heading : the last panel's."""

    title: str = ""
    verdict: str = ""
    headline: str = ""
    heading: str = ""
    picture: tuple[str, go.Figure, str] | None = None


_run: ContextVar[Seen | None] = ContextVar("seen", default=None)
_kept: LRUCache = LRUCache(MOST)
_lock = threading.Lock()


def begin(page: Page) -> None:
    """A run of the page begins."""
    _run.set(None if page.name in PRIVATE or not page.controlled else Seen(page.title))


def note(**said: str) -> None:
    """Of the run under way: `title`, `verdict`, `headline`, `heading`; what is said last counts."""
    if (seen := _run.get()) is not None:
        for name, text in said.items():
            setattr(seen, name, text)


def picture(figure: go.Figure, alt: str) -> None:
    """The first figure of the run is the one that is seen first."""
    seen = _run.get()
    if (
        seen is not None
        and seen.picture is None
        and sum(np.size(trace[part]) for trace in figure.data for part in ("x", "z") if part in trace) <= LARGEST
    ):
        seen.picture = seen.heading, figure, alt


def keep(page: Page, *, light: bool) -> None:
    """The run has ended as it should: keep what it showed under its address. Pictures in light colours alone become
    those of both themes."""
    seen = _run.get()
    _run.set(None)
    if seen is None or not light or seen.picture is None or not seen.headline:
        return
    state, first = st.session_state.to_dict(), page.controls.unlinked()
    own = any(isinstance(value, UploadedFile) for value in state.values())
    if own or any(state.get(key, value) != value for key, value in first.items()):
        return
    if (key := _key(page, st.query_params.to_dict())) is not None:
        with _lock:
            _kept[key] = seen


def at(page: Page, query: Mapping[str, str]) -> Seen | None:
    """What was last seen there."""
    if not page.controlled:
        return None
    with _lock:
        return _kept.get(_key(page, query))


def _key(page: Page, query: Mapping[str, str]) -> tuple[str, frozenset] | None:
    """What an address says, however it says it; None where something of it is not understood."""
    controls: Address = page.controls
    (around, wrong), (values, refused) = FRAME.read(query), controls.read(query)
    if wrong or refused:
        return None
    values |= dict(controls.first or {}) if not query else {}
    told = {**FRAME.query(around), **controls.query(values)}
    return page.name, frozenset((key, text) for key, text in told.items() if key not in OWN)
