"""What a page says of itself where its link is shown, and in its tab until it is alive: title, a sentence, a picture.

Streamlit sends one page for all addresses: it is called "Streamlit", has Streamlit's icon, and says nothing else.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Scope

Words = Callable[[str, Mapping[str, str]], tuple[str, str]]
"""`words(path, query)`: the page's address without slashes and its parameters → title and a sentence, as plain text."""

NAME = "DP Frontier"
TITLE = b"<title>Streamlit</title>"
ICON = b'href="./favicon.png"'
PICTURE = "/social.png"
"""Where the picture is, beside the pages."""

HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:\d{1,5})?")
"""Names of this server that are written into a page."""


class Preview:
    """words : of a page.   icon, picture : files, an SVG and a PNG."""

    def __init__(self, words: Words, *, icon: Path, picture: Path) -> None:
        self._words = words
        self._icon = b'href="data:image/svg+xml;base64,' + base64.b64encode(icon.read_bytes()) + b'"'
        self.picture = picture.read_bytes()

    def put(self, body: bytes, scope: Scope) -> bytes:
        """The page that Streamlit sends, with what it says of itself."""
        query = dict(parse_qsl(scope.get("query_string", b"").decode("utf-8", "replace")))
        title, about = self._words(scope["path"].strip("/"), query)
        told = {"og:site_name": NAME, "og:type": "website", "og:title": title, "og:description": about}
        if origin := _origin(scope):
            told |= {"og:image": origin + PICTURE, "og:image:width": "1200", "og:image:height": "630"}
        lines = [
            f"<title>{escape(title)} · {NAME}</title>",
            f'<meta name="description" content="{escape(about)}">',
            '<meta name="twitter:card" content="summary_large_image">',
            *(f'<meta property="{name}" content="{escape(text)}">' for name, text in told.items()),
        ]
        return body.replace(TITLE, "".join(lines).encode(), 1).replace(ICON, self._icon, 1)


def _origin(scope: Scope) -> str:
    """This server as the browser calls it: pictures of links need a whole address; "" if it is not a plain name."""
    headers = Headers(scope=scope)
    host, scheme = headers.get("host", ""), headers.get("x-forwarded-proto", scope.get("scheme", "http"))
    return f"{scheme}://{host}" if HOST.fullmatch(host) and scheme in ("http", "https") else ""
