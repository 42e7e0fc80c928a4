"""One step of the visitor is one step of the browser's history (assets/history.js): a script in the page itself, since
Streamlit writes the address before it draws anything, components among it."""

from __future__ import annotations

from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from service.answers import changed, page_asked

SCRIPT = (Path(__file__).parents[1] / "assets/history.js").read_text(encoding="utf-8")
HEAD = b"<head>"


class Steps:
    """ASGI middleware: the script in front of all others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if page_asked(scope):
            await changed(self._app, scope, receive, send, _with_script)
        else:
            await self._app(scope, receive, send)


async def _with_script(body: bytes) -> bytes:
    return body.replace(HEAD, HEAD + f"<script>{SCRIPT}</script>".encode(), 1)
