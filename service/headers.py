"""In front of everything: headers that browsers obey, addresses of bounded length, doors that stay shut."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import log, steps


def _scripts_in_the_page() -> list[str]:
    """The scripts that Streamlit's own page carries in itself, and what is put into it, as a policy names them."""
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text(encoding="utf-8")
    scripts = [*re.findall(r"<script>(.*?)</script>", page, re.S), steps.SCRIPT, steps.HOME]
    digests = [hashlib.sha256(text.encode()).digest() for text in scripts]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


CONTENT = {
    "default-src": "'self'",
    "script-src": " ".join(["'self'", "blob:", *_scripts_in_the_page()]),
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "worker-src": "'self' blob:",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'self'",
}
"""The content security policy: the page may load and call nothing but its own server. Streamlit writes styles into the
page, hence 'unsafe-inline' for these; of scripts in the page only those of its index and those of `service.steps` are
allowed, and blobs, which only a script that already runs can make (Streamlit's components come that way)."""

HEADERS = {
    "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in CONTENT.items()),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

SHUT = ("_stcore/metrics", "_stcore/agent/")
"""Streamlit's own figures (they name what runs here) and its interface for programs: nobody needs them from outside."""


class Headers:
    """ASGI middleware that refuses what is too long or shut and adds `HEADERS` to every answer.

    address_length : longest path and query together, in bytes.
    """

    def __init__(self, app: ASGIApp, *, address_length: int) -> None:
        self._app, self._longest = app, address_length

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if scope["type"] == "websocket":
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (refusal or self._app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        path, query = scope.get("raw_path") or scope["path"].encode(), scope.get("query_string", b"")
        length = len(path) + len(query)
        if length > self._longest:
            log.record("refused", reason="address too long")
            return PlainTextResponse(f"address = {length} bytes: expected at most {self._longest} bytes\n", 414)
        if any(part in scope["path"] for part in SHUT):
            return PlainTextResponse("not found\n", 404)
        return None
