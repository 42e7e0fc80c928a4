"""The library that draws charts of lines and bars in the browser: sent packed, and kept there for good, since its name
changes with it.

Streamlit's own, for charts of every kind, is four times as large and sent unpacked; a first visitor's controls and
charts came a second later with it.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

_SCRIPT = Path(__file__).parents[1].joinpath("assets/plotly/plotly-basic.min.js").read_bytes()
_VERSION = re.search(rb"\bv(\d+\.\d+\.\d+)", _SCRIPT)
assert _VERSION

NAME = f"plotly-basic-{_VERSION[1].decode()}.js"
"""Where it lies, beside the pages."""

KEPT = "public, max-age=31536000, immutable"


class Library:
    """ASGI middleware that answers with the library where its name is asked for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._packed = gzip.compress(_SCRIPT, 6, mtime=0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if asked and scope["path"].rpartition("/")[2] == NAME:
            packs = "gzip" in Headers(scope=scope).get("accept-encoding", "")
            headers = {"Cache-Control": KEPT, "Vary": "Accept-Encoding"} | (
                {"Content-Encoding": "gzip"} if packs else {}
            )
            app = Response(self._packed if packs else _SCRIPT, headers=headers, media_type="text/javascript")
        await app(scope, receive, send)
