"""The script that makes one step of the history of one step of the visitor: first in every page, and allowed."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from pathlib import Path

import pytest
import streamlit
from running import apart
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

from service.headers import CONTENT
from service.steps import HOME, SCRIPT, Steps

INDEX = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_bytes()


def got(path: str, *headers: tuple[bytes, bytes], method: str = "GET") -> tuple[dict[str, str], bytes]:
    """(headers, body) of an application that answers everything with Streamlit's page, packed if asked to."""

    async def inside(scope, receive, send):
        await Response(INDEX, media_type="text/html", headers={"etag": '"1"'})(scope, receive, send)

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": list(headers)}
    apart(Steps(GZipMiddleware(inside), pages={"optimal_noise"})(scope, None, send))
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return told, b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("headers", [(), ((b"accept-encoding", b"gzip, br"), (b"if-none-match", b'"1"'))])
def test_it_is_the_first_script_of_every_page(headers):
    told, body = got("/optimal_noise", *headers)
    assert re.search(rb"<script.*?>", body).group() == b"<script>"
    assert re.search(rb"<script>(.*?)</script>", body, re.S).group(1).decode() == SCRIPT
    assert body.replace(f"<script>{SCRIPT}</script><script>{HOME}</script>".encode(), b"") == INDEX
    assert told["content-length"] == str(len(body)) and "etag" not in told


@pytest.mark.parametrize("path", ["/dashboard", "/"])
def test_a_name_that_is_no_page_may_be_where_the_dashboard_lies(path):
    """Behind a proxy that takes a prefix away the front page is asked for as "/", however it is written."""
    assert HOME.encode() not in got(path)[1] and SCRIPT.encode() in got(path)[1]


def test_every_script_in_the_page_is_allowed_by_the_policy_and_no_other():
    scripts = re.findall(rb"<script>(.*?)</script>", got("/optimal_noise")[1], re.S)
    digests = {f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in scripts}
    assert {source for source in CONTENT["script-src"].split() if source.startswith("'sha256-")} == digests


@pytest.mark.parametrize("path", ["/static/index.html", "/_stcore/health"])
def test_anything_else_passes_as_it_is(path):
    told, body = got(path, (b"accept-encoding", b"gzip"))
    assert gzip.decompress(body) == INDEX and told["etag"] == '"1"'
