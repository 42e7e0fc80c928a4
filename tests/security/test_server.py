"""The running server: what it answers to strangers, what it tells and what it keeps to itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import uuid

import pytest
from hostile import random_text
from running import apart
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from benchmarks.visitor import Visitor
from pages.registry import PAGES
from service.headers import HEADERS
from service.steps import SCRIPT


def test_headers_are_on_every_answer(service):
    for path in ("/", "/_stcore/health", "/static/nothing.js", "/nowhere", "/?x=" + "y" * 40_000, "/_stcore/metrics"):
        answer = service.ask("GET", path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, f"{path}: {name}"


def test_a_browser_that_takes_packed_pages_gets_what_the_server_puts_into_them(service):
    """A page that comes packed cannot be changed: title, snapshot and script would silently be left out."""
    page = service.ask("GET", "/optimal_noise", headers={"Accept-Encoding": "gzip, deflate, br"}).text
    assert "<title>Optimal noise · DP Frontier</title>" in page and SCRIPT in page


def test_the_policy_lets_the_page_load_from_nowhere_else():
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["connect-src"] == "'self'"
    assert policy["object-src"] == "'none'" and policy["frame-ancestors"] == policy["base-uri"] == "'self'"
    for name, sources in policy.items():
        for source in sources.split():
            assert re.fullmatch(r"'self'|'none'|data:|blob:|'sha256-[\w+/=]+'|'unsafe-inline'", source), source
            assert source != "'unsafe-inline'" or name == "style-src"
            assert source not in ("data:", "'unsafe-eval'") or name in ("img-src", "font-src")


@pytest.mark.parametrize("length", [33_000, 60_000])
def test_an_address_that_is_too_long_is_named_with_its_limit(service, length):
    answer = service.ask("GET", "/?unit=" + "x" * length)
    assert answer.status == 414
    assert re.fullmatch(r"address = \d+ bytes: expected at most 32768 bytes\n", answer.text)
    assert service.ask("GET", "/optimal_noise?unit=" + "x" * 30_000).status == 200


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/agent/openapi.json", "/_stcore/agent/mcp", "/metrics"])
def test_figures_and_interfaces_for_programs_are_shut(service, path):
    answer = service.ask("GET", path)
    assert not any(word in answer.text for word in ("dp_frontier_", "active_sessions", '"openapi"'))
    assert answer.status == 404 or answer.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    "folder", ["/", "/static/", "/media/", "/component/", "/_stcore/bidi-components/", "/app/static/"]
)
@pytest.mark.parametrize(
    "path",
    ["../server.py", "..%2fserver.py", "%2e%2e/server.py", "..%5cserver.py", "....//server.py", "%252e%252e/server.py",
     "../../../../../../etc/passwd", "..%2f..%2f..%2f..%2f..%2fetc%2fpasswd", "/etc/passwd", "%2fetc%2fpasswd",
     "..%00/server.py", "x/../../server.py", ".streamlit/config.toml", "file:%2f%2f%2fetc/passwd"],
)  # fmt: skip
def test_no_path_leads_out_of_what_is_served(service, folder, path):
    """Files of the machine and of the program are not served under any spelling."""
    answer = service.ask("GET", folder + path)
    assert "root:" not in answer.text and "st.App(" not in answer.text and "gatherUsageStats" not in answer.text
    assert answer.status != 500


def test_uploads_need_the_token_of_the_session(service):
    """XSRF: a form of another site cannot upload; the token of the cookie must come in a header, too."""
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhello\r\n--x--\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    path = f"/_stcore/upload_file/{uuid.uuid4()}/{uuid.uuid4()}"
    assert service.ask("PUT", path, headers=kind, body=form).status == 403
    cookie = service.ask("GET", "/_stcore/health").headers["Set-Cookie"].split(";")[0]
    assert "SameSite=Lax" in service.ask("GET", "/_stcore/health").headers["Set-Cookie"]
    assert service.ask("PUT", path, headers={**kind, "Cookie": cookie}, body=form).status == 403
    forged = {**kind, "Cookie": cookie, "X-Xsrftoken": "2|00000000|00|1"}
    assert service.ask("PUT", path, headers=forged, body=form).status == 403
    known = {**kind, "Cookie": cookie, "X-Xsrftoken": cookie.split("=", 1)[1]}
    assert service.ask("PUT", path, headers=known, body=form).status == 400, "no such session"


def test_other_sites_may_not_read_answers_nor_open_sessions(service):
    """CORS: no permission for a foreign origin; a websocket from one is refused."""
    evil = {"Origin": "http://evil.example"}
    for path in ("/_stcore/health", "/_stcore/host-config", "/"):
        assert "Access-Control-Allow-Origin" not in service.ask("GET", path, headers=evil).headers

    async def attempt() -> None:
        where = f"ws://127.0.0.1:{service.port}/_stcore/stream"
        async with connect(where, origin="http://evil.example", subprotocols=["streamlit"]) as socket:
            await asyncio.wait_for(socket.recv(), 5)

    with pytest.raises((ConnectionClosed, InvalidStatus)):
        apart(attempt())


def test_nonsense_on_the_websocket_ends_that_session_alone(service):
    async def send(message: bytes | str) -> None:
        where = f"ws://127.0.0.1:{service.port}/_stcore/stream"
        try:
            async with connect(where, subprotocols=["streamlit"]) as socket:
                await socket.send(message)
                await asyncio.wait_for(socket.recv(), 0.5)
        except (ConnectionClosed, TimeoutError):
            pass

    large, cut = b"\x00" * (2 << 20), b"\x0a\xff\xff\xff\x7f"
    for message in (b"", b"\xff" * 100, secrets.token_bytes(5000), large, b"\x5a\x00", cut, "text"):
        apart(send(message))
    assert service.ask("GET", "/_stcore/health").status == 200
    assert not service.visit({"gap": "50"}).exceptions


def test_a_message_above_the_limit_ends_its_session(service):
    async def send(size: int) -> int:
        async with connect(f"ws://127.0.0.1:{service.port}/_stcore/stream", subprotocols=["streamlit"]) as socket:
            message = BackMsg()
            message.rerun_script.query_string = "x" * size
            await socket.send(message.SerializeToString())
            try:
                while True:
                    await asyncio.wait_for(socket.recv(), 1)
            except TimeoutError:
                return 0
            except ConnectionClosed as closed:
                return closed.rcvd.code

    assert apart(send(3 << 20)) == 1009
    assert apart(send(100_000)) == 0


def test_every_page_opens_one_after_the_other_in_one_session(service):
    """No page is left out, and none disturbs the next; THOROUGH=1 a second time each, behind all others."""

    async def walk() -> list[str]:
        visitor = Visitor(service.address)
        async with visitor.visit():
            await visitor.finished(60)
            again = list(visitor.pages)[: None if os.environ.get("THOROUGH") else 1]
            for title in [*visitor.pages, *again]:
                await visitor.turn_to(title)
                await visitor.finished(60)
                assert not visitor.exceptions, title
            return list(visitor.pages)

    assert apart(walk()) == [page.title for page in PAGES]


def test_the_log_says_nothing_about_visitors_or_what_they_asked(service):
    """Words planted in addresses, labels, headers and a session's values appear in no line."""
    mark = "zq" + secrets.token_hex(6)
    number = "0.0123456"
    planted = {"User-Agent": mark, "Referer": f"http://{mark}/", "Cookie": mark}
    service.ask("GET", f"/{mark}?{mark}={mark}", headers=planted)
    service.ask("GET", f"/_stcore/{mark}", headers={"X-Forwarded-For": mark})
    service.visit({"unit": mark, "epsilon": "1", "delta": number, "gap": "50", mark: mark, "table": f"{mark},1"})
    service.visit({"epsilon": mark, "loss": mark, "delta": "-" + number})

    async def foreign() -> None:
        try:
            async with connect(f"ws://127.0.0.1:{service.port}/_stcore/stream", origin=f"http://{mark}.example"):
                pass
        except (ConnectionClosed, InvalidStatus):
            pass

    apart(foreign())
    service.visit({"gap": "50", "delta": "0.3"}, until="0.3")
    events = service.events()
    assert any(event["event"] == "start" for event in events)
    assert any(event["event"] == "solve" for event in events)
    assert mark not in service.log and number not in service.log and "127.0.0.1" not in json.dumps(events)


def test_fuzzed_addresses_over_the_websocket_leave_no_traceback(service):
    """The address as the browser sends it, raw: not even a valid query."""
    import random

    rng = random.Random(3)

    async def look(query: str) -> None:
        visitor = Visitor(service.address, query)
        async with visitor.visit():
            await visitor.finished(30)
        assert not visitor.exceptions, query

    for number in range(7):
        pieces = [random_text(rng, 30) for _ in range(rng.randrange(1, 6))]
        apart(look(["&".join(pieces), "&" * 3000, "=" * 3000, "%", "%zz=%ff&%00=%00", "epsilon"][number % 6]))
    assert "Traceback" not in service.log
    faults = [event for event in service.events() if event["event"] == "script error"]
    assert not faults, "; ".join(map(str, faults))


def test_no_visitor_empties_the_caches_of_all(service):
    """Streamlit would, on one message: jobs end, figures begin at 0, and the processes that solve are forgotten."""

    async def ask() -> None:
        visitor = Visitor(service.address)
        async with visitor.visit():
            await visitor.finished(60)
            await visitor._socket.send(BackMsg(clear_cache=True).SerializeToString())
            await visitor.run()
            await visitor.finished(60)

    service.visit({"gap": "50"}, until="-DP noise")
    before = service.figures()["dp_frontier_jobs_started_total"]
    apart(ask())
    assert service.figures()["dp_frontier_jobs_started_total"] >= before > 0
