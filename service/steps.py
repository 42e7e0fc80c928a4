"""One step of the visitor is one step of the browser's history (assets/history.js), and a page asks its own server at
once: scripts in the page itself, since Streamlit writes the address and connects before it draws anything.

Nothing is fetched ahead, not what draws charts either: it came no sooner for it, and the first words came later."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from service.answers import changed, page_asked

SCRIPT = (Path(__file__).parents[1] / "assets/history.js").read_text(encoding="utf-8")
HOME = "window.__streamlit = { BACKEND_BASE_URL: new URL('.', location.href).href };"
"""In pages with an address: their server is where they lie, not below them, where Streamlit would look for it
first. The front page's is its own address, which a proxy may have shortened: there Streamlit looks for it itself."""

HEAD = b"<head>"


class Steps:
    """ASGI middleware: the scripts in front of all others.

    pages : addresses of the router, without the front page's.
    """

    def __init__(self, app: ASGIApp, *, pages: Collection[str]) -> None:
        self._app, self._pages = app, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if page_asked(scope):
            known = scope["path"].removeprefix("/") in self._pages
            scripts = [SCRIPT, HOME] if known else [SCRIPT]
            tags = "".join(f"<script>{script}</script>" for script in scripts).encode()

            async def with_scripts(body: bytes) -> bytes:
                return body.replace(HEAD, HEAD + tags, 1)

            await changed(self._app, scope, receive, send, with_scripts)
        else:
            await self._app(scope, receive, send)
