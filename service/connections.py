"""What the server sends leaves at once.

Streamlit binds its socket itself, without a protocol's number, and asyncio turns Nagle's algorithm off only where it
finds TCP's: so every small part of an answer, and every message after another, would wait some 40 ms for the browser
to have acknowledged the one before (https://github.com/Kludex/uvicorn/issues/3149).
"""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.auto import AutoHTTPProtocol as Protocol

_made = Protocol.connection_made


def at_once() -> None:
    """From now on, for every connection that is made, WebSockets included: they begin as HTTP."""
    Protocol.connection_made = _made_and_told


def _made_and_told(self: Protocol, transport: asyncio.Transport) -> None:
    end: socket.socket | None = transport.get_extra_info("socket")
    if end is not None and end.family in (socket.AF_INET, socket.AF_INET6):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _made(self, transport)
