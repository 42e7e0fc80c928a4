"""A link to any page works as the very first visit to a server that has just started; THOROUGH=1 as well to one without
its headers."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect
from serving import serving

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("entry", ["server.py", *(["app.py"] if os.environ.get("THOROUGH") else [])])
def test_a_link_to_a_page_opens_it_inside_the_frame(entry, visitor):
    with serving(entry) as address:
        page = visitor()
        page.goto(f"{address}/vector_queries?epsilon=0.7")
        page.get_by_role("button", name="Copy link").wait_for()  # the frame's
        page.get_by_role("heading", name="Vector queries").wait_for()
        assert page.title() == "DP Frontier"
        assert "epsilon=0.7" in page.url
        expect(page.get_by_label("ε", exact=True).first).to_have_value("0.7", timeout=30_000)
