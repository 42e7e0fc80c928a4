"""The library that draws charts: packed where the browser unpacks it, kept by it for good, its version in its name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from running import apart
from starlette.responses import PlainTextResponse

from service.library import NAME, Library

FOLDER = Path(__file__).parents[2] / "assets/plotly"
SCRIPT = (FOLDER / "plotly-basic.min.js").read_bytes()


def got(path: str, *headers: tuple[bytes, bytes], method: str = "GET") -> tuple[dict[str, str], bytes]:
    """(headers, body) of an application that answers everything else with a word."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": list(headers)}
    apart(Library(PlainTextResponse("else"))(scope, None, send))
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return told, b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("before", ["", "/below/a/proxy"])
def test_it_comes_packed_where_that_is_taken_and_is_kept(before):
    told, plain = got(f"{before}/{NAME}")
    assert plain == SCRIPT and "content-encoding" not in told
    packed_told, packed = got(f"{before}/{NAME}", (b"accept-encoding", b"gzip, br"))
    assert gzip.decompress(packed) == SCRIPT and len(packed) < 0.4 * len(SCRIPT)
    assert packed_told["content-encoding"] == "gzip" and int(packed_told["content-length"]) == len(packed)
    for one in (told, packed_told):
        assert one["content-type"].startswith("text/javascript") and "immutable" in one["cache-control"]
        assert one["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(("path", "method"), [("/", "GET"), (f"/{NAME}.map", "GET"), (f"/{NAME}", "POST")])
def test_everything_else_is_left_alone(path, method):
    assert got(path, method=method)[1] == b"else"


def test_its_name_changes_with_it_and_its_licence_lies_beside_it():
    version = NAME.removeprefix("plotly-basic-").removesuffix(".js")
    assert f"v{version}".encode() in SCRIPT[:200] and version.count(".") == 2
    assert "MIT License" in (FOLDER / "LICENSE").read_text()
