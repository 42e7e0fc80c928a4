"""What the server sends leaves at once, whatever loop it runs on and whichever way its socket was bound."""

from __future__ import annotations

import socket
import threading
import time

import pytest
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from service import connections


def without_delay(loop: str) -> bool:
    """Does a connection to a server on a socket bound as Streamlit binds its own, without a protocol, wait for no
    acknowledgements?"""

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"here"})

    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()
        server = uvicorn.Server(uvicorn.Config(app, loop=loop, lifespan="off", log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            with socket.create_connection(door.getsockname()) as visitor:
                visitor.sendall(b"GET / HTTP/1.1\r\nhost: here\r\n\r\n")
                assert visitor.recv(4096)
                (one,) = server.server_state.connections
                end = one.transport.get_extra_info("socket")
                return bool(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        finally:
            server.should_exit = True
            thread.join()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_no_part_of_an_answer_waits_for_the_one_before(monkeypatch, loop):
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    monkeypatch.setattr(AutoHTTPProtocol, "connection_made", AutoHTTPProtocol.connection_made)
    connections.at_once()
    assert without_delay(loop)


def test_without_it_asyncio_would_wait(monkeypatch):
    """What is mended is still broken: else this module can go."""
    monkeypatch.setattr(AutoHTTPProtocol, "connection_made", connections._made)
    assert not without_delay("asyncio")
