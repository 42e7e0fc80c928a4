"""Links of an older version (tests/corpus), drawn."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlsplit

import pytest
from screens import ROOT, settle, turn
from streamlit.testing.v1 import AppTest

LINKS = [kept["link"] for kept in json.loads((ROOT / "tests/corpus/links.json").read_text(encoding="utf-8"))]
DRAWN = (
    "/?epsilon=1&panel=Side+by+side", "/data_dependent?loss=huber", "/vector_queries?shape=list",
    "/private_optimisation?story=picture", "/what_epsilon_means?topic=tradeoff", "/composition?topic=growth",
    "/mechanism_gallery?topic=randomised",
)  # fmt: skip
"""How the links that are drawn begin."""


@pytest.mark.parametrize("start", DRAWN)
def test_an_old_link_is_drawn_without_a_complaint(start):
    (link,) = (link for link in LINKS if link.startswith(start))
    parts = urlsplit(link)
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    if address := parts.path.strip("/"):
        turn(page, address)
    for key, text in parse_qsl(parts.query, keep_blank_values=True):
        page.query_params[key] = text
    page.query_params["seconds"] = "2"  # pages that solve do not do so for long
    settle(page.run())
    assert not page.error and not [box for box in page.info if "Not understood" in box.value]
    assert page.query_params, "the page wrote its address"
