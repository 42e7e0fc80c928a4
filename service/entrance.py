"""Addresses of the time before there was a start page: "/" with parameters of Optimal noise leads to that page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import parse_qs

from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class Entrance:
    """ASGI middleware. An answer of the server, not of the page: the browser's history then has one entry for it.

    page : where such addresses lead, beside "/", whatever a proxy puts before it.   meant : says of the names of an
    address's parameters whether it is one.
    """

    def __init__(self, app: ASGIApp, *, page: str, meant: Callable[[Iterable[str]], bool]) -> None:
        self._app, self._page, self._meant = app, page, meant

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["query_string"] and _root(scope):
            query = scope["query_string"].decode("latin-1")
            if self._meant(parse_qs(query, keep_blank_values=True)):
                app = RedirectResponse(f"{self._page}?{query}")
        await app(scope, receive, send)


def before(*, page: str, meant: Callable[[Iterable[str]], bool]) -> Middleware:
    """The entrance as an application takes it."""
    return Middleware(Entrance, page=page, meant=meant)


def _root(scope: Scope) -> bool:
    """The path ends where the service begins: "/", or "/" after what the server was told to put before it."""
    from streamlit import get_option

    before = str(get_option("server.baseUrlPath") or "").strip("/")
    return scope["path"] in ("/", f"/{before}/")
