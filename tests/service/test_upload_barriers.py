"""Where people's data are taken: on a server for this machine alone, asked by this machine alone."""

from __future__ import annotations

import tempfile

import pytest
from running import apart
from starlette.formparsers import MultiPartParser
from starlette.requests import Request
from streamlit import config

from service import configuration, uploads


@pytest.fixture
def bound(monkeypatch):
    """Bind the server to an address, as far as its settings say."""

    def bind(address: str | None, allowed: bool = True) -> None:
        monkeypatch.setattr(configuration, "current", lambda: configuration.Configuration(uploads=allowed))
        monkeypatch.setattr(config, "get_option", {"server.address": address}.get)

    return bind


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "localhost", "::1"])
@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1:8501", "[::1]:8501", "LOCALHOST", None])
def test_taken_on_the_loopback_address(bound, address, host):
    bound(address)
    assert uploads.barrier({"Host": host} if host else {}) == ""


@pytest.mark.parametrize(
    "address", [None, "", "0.0.0.0", "::", "192.0.2.1", "dashboard.example", "unix://run/x", "127.0.0.1.example"]
)
def test_not_taken_on_any_other(bound, address):
    bound(address)
    assert uploads.barrier({"Host": "localhost:8501"}) == "address"


def test_not_taken_where_the_setting_says_so(bound):
    bound("127.0.0.1", allowed=False)
    assert uploads.barrier({"Host": "localhost"}) == "setting"


@pytest.mark.parametrize(
    "headers",
    [{"Host": "data.example"}, {"Host": "192.0.2.1:80"}, {"Host": "localhost.example"},
     {"Host": "localhost", "Via": "1.1 x"},
     {"Host": "localhost", "X-Forwarded-For": "127.0.0.1"}, {"Host": "127.0.0.1", "Forwarded": "for=192.0.2.1"}],
)  # fmt: skip
def test_not_taken_through_a_proxy_or_under_another_name(bound, headers):
    bound("127.0.0.1")
    assert uploads.barrier(headers) == "proxy"


def test_what_is_received_is_never_a_file(monkeypatch):
    """And without `keep_in_memory` it would be one."""
    rolled = []
    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", lambda self: rolled.append(self))
    monkeypatch.setattr(MultiPartParser, "spool_max_size", 1 << 20)

    async def receive() -> None:
        head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        parts = iter([head, *[b"1,2\n" * (1 << 18)] * 3, b"\r\n--x--\r\n"])

        async def message():
            body = next(parts, b"")
            return {"type": "http.request", "body": body, "more_body": bool(body)}

        headers = [(b"content-type", b"multipart/form-data; boundary=x")]
        form = await Request({"type": "http", "method": "PUT", "headers": headers}, message).form()
        assert len(await form["file"].read()) == 3 << 20

    apart(receive())
    assert rolled
    rolled.clear()
    uploads.keep_in_memory()
    apart(receive())
    assert not rolled
