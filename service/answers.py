"""Pages on their way to the browser, held back as a whole and changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOT_PASSED_ON = (b"if-none-match", b"if-modified-since", b"accept-encoding")
"""Headers by which a page would come as news only, or packed."""


def page_asked(scope: Scope) -> bool:
    """It may be the address of a page: one name, and no file."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    name = scope["path"].strip("/")
    return "/" not in name and "." not in name and not name.startswith("_")


async def changed(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, change: Callable[[bytes], Awaitable[bytes]]
) -> None:
    """The answer of an application, its HTML changed.

    The file behind it has not changed, what is made of it may have: the browser gets it anew.
    """
    kept = [(name, value) for name, value in scope["headers"] if name not in NOT_PASSED_ON]
    answer = _Answer(send)
    await app({**scope, "headers": kept}, receive, answer.take)
    if (start := answer.start) is None:
        return
    body = await change(answer.body)
    if body != answer.body:
        headers = MutableHeaders(scope=start)
        for name in ("etag", "last-modified", "accept-ranges"):
            del headers[name]
        headers["content-length"] = str(len(body))
        headers["vary"] = "Cookie"
    await send(start)
    await send({"type": "http.response.body", "body": body})


class _Answer:
    """An answer that is HTML, held back as a whole; any other one passes as it comes."""

    def __init__(self, send: Send) -> None:
        self._send, self.start, self.body = send, None, b""
        self._held: Message | None = None

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            if message["status"] == 200 and headers.get("content-type", "").startswith("text/html"):
                self._held = message
                return
        elif self._held is not None and message["type"] == "http.response.body":
            self.body += message.get("body", b"")
            if not message.get("more_body", False):
                self.start = self._held
            return
        await self._send(message)
