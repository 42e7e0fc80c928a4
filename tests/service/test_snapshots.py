"""What the server puts into the page it sends: for pages only, from what is there at once, never in the way."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from running import apart
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from service import snapshot
from service.snapshot import ROOT, Snapshots

INDEX = b"<html><head></head><body>" + ROOT + b"</body></html>"


class Server:
    """Snapshots around something that answers every request; `asked` : what it was asked for."""

    def __init__(self, draw, answer=lambda: Response(INDEX, media_type="text/html", headers={"etag": '"1"'})):
        async def inside(scope, receive, send):
            self.asked.append(scope)
            await answer()(scope, receive, send)

        self.asked, self._app = [], Snapshots(inside, draw=draw)

    def get(self, *addresses, method="GET", headers=(), wait=0.0) -> list[tuple[dict, bytes]]:
        """(headers, body) of each address, one after the other."""
        return apart(self._all(addresses, method, list(headers), wait))

    async def _all(self, addresses, method, headers, wait):
        found = []
        for address in addresses:
            path, _, query = address.partition("?")
            sent = []

            async def send(message, sent=sent):
                sent.append(message)

            async def receive():
                return await asyncio.Future()  # the visitor stays

            scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": headers}
            await self._app(scope, receive, send)
            assert sent[0]["type"] == "http.response.start"
            told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
            found.append((told, b"".join(message.get("body", b"") for message in sent[1:])))
            await asyncio.sleep(wait)
        return found


def test_a_page_is_sent_with_its_snapshot_and_a_length_that_is_right():
    server = Server(lambda path, query, theme: f"<p>{path}|{sorted(query.items())}|{theme}</p>")
    headers = [(b"cookie", b"a=b; dp-frontier-theme=dark"), (b"if-none-match", b'"1"'), (b"accept-encoding", b"gzip")]
    ((told, body),) = server.get("/tradeoff_maps?epsilon=1&x=%3Cb%3E", headers=headers)
    assert body == INDEX.replace(ROOT, ROOT + b"<p>tradeoff_maps|[('epsilon', '1'), ('x', '<b>')]|dark</p>")
    assert told["content-length"] == str(len(body)) and "etag" not in told
    passed = {name for name, _ in server.asked[0]["headers"]}
    assert passed == {b"cookie"}, "the snapshot may have changed, and is put into what is not compressed"


def test_what_is_known_a_moment_later_is_seen_a_moment_later():
    known = iter(["", "<p>known</p>"])
    first, second = Server(lambda *_: next(known)).get("/", "/", wait=0.1)
    assert (first[1], second[1]) == (INDEX, INDEX.replace(ROOT, ROOT + b"<p>known</p>"))


@pytest.mark.parametrize("cookie", [b"", b"dp-frontier-theme=<script>", b"dp-frontier-theme", b"=;;;\xff"])
def test_of_a_theme_only_its_two_names_are_read(cookie):
    seen = []
    Server(lambda path, query, theme: seen.append(theme)).get("/", headers=[(b"cookie", cookie)])
    assert seen == [""]


@pytest.mark.parametrize("answer", [
    lambda: PlainTextResponse(INDEX), lambda: Response(INDEX, 404, media_type="text/html"),
    lambda: Response(b"<html>no place</html>", media_type="text/html"),
])  # fmt: skip
def test_anything_else_passes_as_it_is(answer):
    ((told, body),) = Server(lambda *_: "<p>", answer).get("/")
    assert b"<p>" not in body and len(body) == int(told["content-length"])


def test_a_page_that_comes_in_parts_is_put_together():
    parts = lambda: StreamingResponse(iter([INDEX[:30], INDEX[30:]]), media_type="text/html")  # noqa: E731
    ((_, body),) = Server(lambda *_: "<p>", parts).get("/")
    assert body == INDEX.replace(ROOT, ROOT + b"<p>")


@pytest.mark.parametrize(
    ("address", "method"),
    [
        ("/static/index.html", "GET"),
        ("/_stcore/health", "GET"),
        ("/a/b", "GET"),
        ("/", "POST"),
        ("/favicon.png", "GET"),
    ],
)
def test_only_pages_have_one(address, method):
    asked = []
    Server(lambda *told: asked.append(told)).get(address, method=method)
    assert asked == []


def test_it_is_drawn_once_for_a_while_and_anew_for_another_address():
    drawn = []
    server = Server(lambda path, query, theme: drawn.append(path) or "<p>")
    assert all(b"<p>" in body for _, body in server.get("/a", "/a", "/b", "/a"))
    assert drawn == ["a", "b"]


def test_a_page_does_not_wait_for_a_slow_one_which_the_next_visitor_sees(monkeypatch):
    monkeypatch.setattr(snapshot, "PATIENCE", 0.05)
    go = threading.Event()
    server = Server(lambda *_: go.wait(10) and "<p>")
    began = time.monotonic()
    threading.Timer(0.3, go.set).start()
    first, second = server.get("/", "/", wait=0.6)
    assert b"<p>" not in first[1] and b"<p>" in second[1]
    assert time.monotonic() - began < 5


def test_one_that_fails_leaves_the_page_as_it_is():
    def draw(*_):
        raise RuntimeError("a visitor's secret")

    ((_, body),) = Server(draw).get("/")
    assert body == INDEX


def test_a_long_address_is_not_drawn():
    drawn = []
    Server(lambda *told: drawn.append(told)).get("/?q=" + "x" * 5000)
    assert drawn == []


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(snapshot, "REMEMBERED", 10_000)
    server = Server(lambda *_: "x" * 3000)
    server.get(*(f"/?epsilon={number}" for number in range(20)))
    assert server._app._drawn.currsize <= 10_000
