"""In front of the pages: limits, headers, shut doors; a page that fails leaves its class and place, nothing more."""

from __future__ import annotations

import pytest
from running import apart
from starlette.responses import PlainTextResponse

from service.headers import HEADERS, Headers


def answer(path: str, query: bytes = b"", kind: str = "http") -> list[dict]:
    """What headers with a limit of 100 bytes sends for a request; behind it everything is "inside"."""
    sent: list[dict] = []

    async def inside(scope, receive, send):
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await PlainTextResponse("inside", headers={"x-frame-options": "DENY"})(scope, receive, send)

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": kind, "method": "GET", "path": path, "query_string": query, "headers": []}
    apart(Headers(inside, address_length=100)(scope, receive, send))
    return sent


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [("/", b"", 200), ("/", b"q" * 99, 200), ("/", b"q" * 100, 414), ("/" + "p" * 100, b"", 414),
     ("/_stcore/metrics", b"", 404), ("/base/_stcore/metrics", b"", 404), ("/_stcore/agent/mcp", b"", 404),
     ("/_stcore/health", b"", 200)],
)  # fmt: skip
def test_who_passes(path, query, status):
    start, body = answer(path, query)
    assert start["status"] == status
    assert (body["body"] == b"inside") == (status == 200)
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    for name, value in HEADERS.items():
        assert headers[name.lower()] == ("DENY" if name == "X-Frame-Options" and status == 200 else value)


def test_websockets_pass_unless_their_address_is_too_long():
    assert answer("/_stcore/stream", kind="websocket") == [{"type": "websocket.accept"}]
    assert answer("/_stcore/stream", b"q" * 200, kind="websocket") == [{"type": "websocket.close", "code": 1008}]
