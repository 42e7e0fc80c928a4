"""The page "Published figures" in a real browser: a click on a cell of a table opens its problem on the first page."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError
from views import quiet, still

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]


def test_a_click_on_a_cell_of_a_table_opens_it_on_the_first_page(visitor, dashboard):
    page = visitor(1280, 1000)
    page.goto(f"{dashboard}/reproduction?table=4")
    points = page.locator(".st-key-chart_table .textpoint")
    points.nth(3).wait_for()
    stops = page.get_by_role("button", name="Stop")  # cells still to come would draw the table anew
    while stops.count():
        with suppress(TimeoutError):  # it may be done before the click
            stops.first.click(timeout=5000)
        page.wait_for_timeout(1000)
    quiet(page)
    cell = still(points.nth(2))
    x, y = cell["x"] + cell["width"] / 2, cell["y"] + cell["height"] / 2
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    said = page.locator(".st-key-chart_table .hovertext").text_content()
    epsilon, delta = re.match(r"ε = ([\d.]+), δ = ([\d.]+?)published", said).groups()
    page.mouse.click(x, y)
    page.get_by_text(f"({epsilon}, {delta})-DP noise").first.wait_for()
    assert page.url.split("?")[0] == f"{dashboard}/optimal_noise"
