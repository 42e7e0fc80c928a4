"""A page is seen before the framework's scripts have come: the server puts a still picture of it into what it sends.

What is put there is drawn by the pages (`draw`), from what is known already: a request never starts a solve, and where
nothing is known, or it takes too long to find out, the page is sent as it is. The live page takes the snapshot away.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qsl

from cachetools import TTLCache
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service import log
from service.answers import changed, page_asked
from service.preview import PICTURE, Preview

Draw = Callable[[str, Mapping[str, str], str], "str | None"]
"""`draw(path, query, theme)`: the page's address without slashes, its parameters, and the theme that the visitor chose
("" for that of the machine) → HTML, or None."""

ROOT = b'<div id="root"></div>'
"""Where Streamlit's scripts will draw."""

REMEMBERED = 32 << 20
"""Bytes of snapshots that are kept."""

FRESH = 60.0
"""Seconds after which a snapshot is drawn anew: better bounds may be known by then."""

PATIENCE = 0.25
"""Seconds that an answer waits for its snapshot."""

AT_ONCE = 2
"""Snapshots that are drawn at the same time."""

LONGEST = 4096
"""Bytes of an address that is drawn."""

THEME = "dp-frontier-theme"
"""Name of the cookie that says which theme the visitor looks at."""


class Snapshots:
    """ASGI middleware: the page that Streamlit sends for every address, with what it says of itself and a snapshot."""

    def __init__(self, app: ASGIApp, *, draw: Draw, preview: Preview | None = None) -> None:
        self._app, self._draw, self._preview = app, draw, preview
        self._drawn: TTLCache = TTLCache(REMEMBERED, FRESH, getsizeof=lambda drawn: 200 + len(drawn))
        self._under_way: dict[tuple, asyncio.Future] = {}
        self._threads = ThreadPoolExecutor(AT_ONCE, "snapshot")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._preview and scope["type"] == "http" and scope["path"] == PICTURE:
            await Response(self._preview.picture, media_type="image/png")(scope, receive, send)
            return
        if not page_asked(scope):
            await self._app(scope, receive, send)
            return

        async def change(body: bytes) -> bytes:
            if ROOT in body and (snapshot := await self._snapshot(scope)):
                body = body.replace(ROOT, ROOT + snapshot, 1)
            return self._preview.put(body, scope) if self._preview else body

        await changed(self._app, scope, receive, send, change)

    async def _snapshot(self, scope: Scope) -> bytes:
        """The snapshot of the address asked for; empty where there is none, or none yet."""
        query, theme = scope.get("query_string", b""), _theme(Headers(scope=scope).get("cookie", ""))
        key = scope["path"], query, theme
        if (known := self._drawn.get(key)) is not None:
            return known
        if key not in self._under_way:
            if len(query) > LONGEST or len(self._under_way) >= AT_ONCE:
                return b""
            future = asyncio.get_running_loop().run_in_executor(self._threads, self._try, *key)
            future.add_done_callback(lambda done: self._keep(key, done))
            self._under_way[key] = future
        await asyncio.wait({self._under_way[key]}, timeout=PATIENCE)
        return self._drawn.get(key, b"")

    def _keep(self, key: tuple, done: asyncio.Future) -> None:
        """For whoever comes next, if it came too late; where nothing is known yet, something may be in a moment."""
        self._under_way.pop(key, None)
        if not done.cancelled() and (drawn := done.result()):
            self._drawn[key] = drawn

    def _try(self, path: str, query: bytes, theme: str) -> bytes:
        told = dict(parse_qsl(query.decode("utf-8", "replace"), keep_blank_values=True))
        try:
            return (self._draw(path.strip("/"), told, theme) or "").encode()
        except Exception as error:  # the page itself will say what is wrong
            log.record("script error", level=logging.ERROR, error=type(error).__name__, place=log.place(error))
            return b""


def _theme(cookie: str) -> str:
    told = dict(part.strip().partition("=")[::2] for part in cookie.split(";"))
    return value if (value := told.get(THEME, "")) in ("light", "dark") else ""
