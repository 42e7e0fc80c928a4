"""What draws charts is fetched while Streamlit's first scripts run: it would ask for it only when the first chart has
come. Only that: each of the many small parts that draw controls, fetched so early, delays those first scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import streamlit

STATIC = Path(streamlit.__file__).with_name("static")

CHARTS = "PlotlyChart"
"""Streamlit's name of the part."""

_IMPORT = re.compile(rb"""(?:\bfrom|\bimport)\s*["']\./([^"']+\.js)["']""")


def links(names: Iterable[str]) -> bytes:
    """Tags for a page's head that have the browser fetch and compile parts and all they import, without what the page
    asks for anyway; nothing for a part that this version of Streamlit does not have."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    asked = set(re.findall(r'"\./static/js/([^"]+)"', page))
    found: dict[str, None] = {}
    for name in names:
        for file in sorted((STATIC / "static/js").glob(f"{name}.*.js")):
            _gather(file.name, found, asked)
    return "".join(f'<link rel="modulepreload" crossorigin href="./static/js/{name}">' for name in found).encode()


def _gather(name: str, found: dict[str, None], asked: set[str]) -> None:
    if name in found or name in asked:
        return
    found[name] = None
    for imported in _IMPORT.findall((STATIC / "static/js" / name).read_bytes()):
        _gather(imported.decode(), found, asked)
