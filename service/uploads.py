"""Tables of people's data: whether this server takes them, and that they are never on disk on the way into it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.formparsers import MultiPartParser
from streamlit import config

from . import configuration

FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via")
"""Headers of requests that came through another server."""


def keep_in_memory() -> None:
    """Uploads are received in memory, however large: Starlette would write what is above 1 MB to a temporary file.
    Streamlit ends those that are above the limit of `.streamlit/config.toml` while they arrive."""
    MultiPartParser.spool_max_size = 0


def barrier(headers: Mapping[str, str]) -> str:
    """Why people's data are not taken from a visitor with these headers: "setting", "address" or "proxy"; "" where they
    are, which is on a server that is bound to the loopback address and was asked under a name of this machine."""
    if not configuration.current().uploads:
        return "setting"
    if not is_loopback(config.get_option("server.address") or ""):
        return "address"
    asked = urlsplit(f"//{headers.get('Host') or 'localhost'}").hostname or ""
    return "" if is_loopback(asked) and not any(headers.get(name) for name in FORWARDED) else "proxy"


def is_loopback(name: str) -> bool:
    """Whether a host's name or address is this machine's own, which nobody else reaches."""
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return name.lower() == "localhost"
