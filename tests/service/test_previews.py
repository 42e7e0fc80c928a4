"""What a link to a page says where it is shown: every page's own title and words, whole addresses, nothing planted."""

from __future__ import annotations

import re
import struct
from html.parser import HTMLParser
from pathlib import Path

import pytest
import streamlit
from running import apart
from starlette.responses import Response

from pages import preview
from pages.lessons import path
from pages.registry import PAGES
from service.preview import PICTURE, Preview
from service.snapshot import Snapshots

ASSETS = Path(__file__).parents[2] / "assets"
INDEX = Path(streamlit.__file__).with_name("static") / "index.html"


class Head(HTMLParser):
    """The title, what the page's `meta` say by name, and its icon."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.title, self.said, self.icon, self._in = "", {}, "", ""
        self.feed(page.decode())

    def handle_starttag(self, tag, attrs):
        told, self._in = dict(attrs), tag
        if tag == "meta" and "content" in told:
            self.said[told.get("property") or told.get("name")] = told["content"]
        if tag == "link" and "icon" in told.get("rel", ""):
            self.icon = told["href"]

    def handle_data(self, data):
        if self._in == "title":
            self.title += data

    def handle_endtag(self, tag):
        self._in = ""


def got(address: str, *headers: tuple[bytes, bytes], words=preview.words) -> tuple[dict[str, str], bytes]:
    """(headers, body) of Streamlit's own page at an address."""

    async def ask():
        async def inside(scope, receive, send):
            await Response(INDEX.read_bytes(), media_type="text/html")(scope, receive, send)

        sent = []

        async def send(message):
            sent.append(message)

        shown = Preview(words, icon=ASSETS / "favicon.svg", picture=ASSETS / "social.png")
        where, _, query = address.partition("?")
        scope = {"type": "http", "method": "GET", "path": where, "query_string": query.encode(), "scheme": "http",
                 "headers": [(b"host", b"dp.example:8501"), *headers]}  # fmt: skip
        await Snapshots(inside, draw=lambda *_: None, preview=shown)(scope, None, send)
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return told, b"".join(message.get("body", b"") for message in sent[1:])

    return apart(ask())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_says_what_it_is(page):
    told, body = got(f"/{page.address}?epsilon=1")
    head = Head(body)
    assert told["content-length"] == str(len(body))
    assert head.said["og:description"] == head.said["description"] == page.about and len(page.about) > 40
    assert head.title == f"{head.said['og:title']} · DP Frontier" and (page.title in head.title or not page.menu)
    assert head.said["og:image"] == f"http://dp.example:8501{PICTURE}"
    assert head.icon.startswith("data:image/svg+xml;base64,") and body.count(b"<title>") == 1


def test_a_link_to_a_topic_says_its_claim():
    for step in path.steps():
        _, body = got(f"/{step.place.address}?topic={step.topic.name}&epsilon=1")
        assert Head(body).said["og:title"] == step.topic.numbered
        assert Head(body).said["og:description"] == step.course.texts(step.topic)["claim"]
    assert Head(got("/composition?topic=%3Cscript%3E")[1]).said["og:title"] == "Composition"


def test_the_picture_has_the_size_that_is_told():
    told, raw = got(PICTURE)
    assert told["content-type"] == "image/png" and struct.unpack(">II", raw[16:24]) == (1200, 630)
    assert len(raw) < 100_000


@pytest.mark.parametrize("host", [b'x"><script>', b"a b", b"", b"x/y", b"a" * 300])
def test_a_name_that_is_none_is_not_written_into_the_page(host):
    shown = Preview(preview.words, icon=ASSETS / "favicon.svg", picture=ASSETS / "social.png")
    scope = {"type": "http", "path": "/", "scheme": "http", "headers": [(b"host", host)]}
    body = shown.put(INDEX.read_bytes(), scope)
    assert b"og:title" in body and b"og:image" not in body and b"<script>" not in body.split(b"og:title")[0]


def test_behind_a_proxy_the_address_is_that_of_the_proxy():
    assert b"https://dp.example:8501/social.png" in got("/", (b"x-forwarded-proto", b"https"))[1]
    assert b"og:image" not in got("/", (b"x-forwarded-proto", b"javascript"))[1]


def test_words_are_escaped():
    _, body = got("/", words=lambda address, query: ('<b>"x"', "<script>alert(1)</script>"))
    assert b"<script>alert" not in body and Head(body).said["og:description"] == "<script>alert(1)</script>"
    assert re.search(rb"<title>&lt;b&gt;&quot;x&quot; \xc2\xb7 DP Frontier</title>", body)
