"""The dashboard as a service: `streamlit run server.py`. The pages are app.py's; this is what stands around them."""

from __future__ import annotations

import gc
import logging
import platform
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from streamlit import net_util
from streamlit.runtime.app_session import AppSession

from app import AROUND
from dpcore import __version__, figures
from pages import preview, snapshot
from pages.shared import compute
from pages.shared.prose import ASSETS
from service import configuration, log, metrics, uploads
from service.headers import Headers
from service.preview import Preview
from service.snapshot import Snapshots
from work import warm

# Streamlit would ask a server on the internet for this machine's public address, to name it or to check an origin.
net_util.get_external_ip = lambda: None

# Any browser may send the word to empty all caches: every visitor's jobs would end, and the pool would be forgotten.
AppSession._handle_clear_cache_request = lambda self: None

uploads.keep_in_memory()

# Loaded before there are two threads that might load them at the same time.
for name in ("pandas", "plotly.graph_objects", "plotly.io", "scipy.optimize", "scipy.special"):
    import_module(name)

try:
    settings = configuration.current()
except configuration.ConfigurationError as error:
    sys.exit("\n".join(["The dashboard does not start:", *error.faults]))


FIRST = 6.0
"""Seconds that whoever comes right after a start has the machine for: only then do the processes that solve start."""


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """From the first request possible to the last one answered."""
    if settings.log == "json":
        log.install()
    sys.setswitchinterval(0.001)  # the event loop is one thread among many: it waits for its turn
    started = time.monotonic()
    log.record(
        "start", version=__version__, python=platform.python_version(), workers=settings.workers,
        store=settings.store is not None, metrics=settings.metrics is not None,
    )  # fmt: skip
    stop_metrics = metrics.serve(settings.metrics, compute.figures)
    threading.Thread(target=prepare, name="prepare", daemon=True).start()
    yield
    stop_metrics()
    log.record("stop", seconds=round(time.monotonic() - started, 1))


def prepare() -> None:
    """What need not be there before the first visitor is."""
    load()
    time.sleep(FIRST)
    compute.open_pool()
    preload()


def load() -> None:
    """Load, compile and draw what the first visitor would otherwise wait for."""
    solution = warm.warm()
    figures.density([figures.Law("optimal", "", solution.noise)], unit="", colours=figures.LIGHT).to_json()
    _keep()


def preload() -> None:
    """Load what the first visitor of another page would otherwise wait for."""
    for place in sorted(Path(__file__).parent.glob("pages/*/[a-z]*.py")):
        if place.stem == "page":
            continue  # it runs when it is imported
        import_module(f"pages.{place.parent.name}.{place.stem}")
    _keep()


def _keep() -> None:
    """What is there now stays: a full collection of garbage need not look through it again, which would hold up every
    session for a tenth of a second."""
    gc.collect()
    gc.freeze()


def failed(error: Exception) -> None:
    """A page failed: a word in the log, without what the visitor had given; the page shows its own."""
    log.record("script error", level=logging.ERROR, error=type(error).__name__, place=log.place(error))


app = st.App(
    "app.py",
    lifespan=lifespan,
    middleware=[
        Middleware(Headers, address_length=settings.address_length),
        *AROUND,
        Middleware(
            Snapshots,
            draw=snapshot.draw,
            preview=Preview(preview.words, icon=ASSETS / "favicon.svg", picture=ASSETS / "social.png"),
        ),
    ],
    on_script_error=failed,
)
