"""The page "Trade-off maps" in a real browser: cells appear, a click opens one, and coming back finds the map."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SMALL = "low_epsilon=0.5&high_epsilon=2&low_delta=0.05&high_delta=0.2&steps=3&target=1&second=l1"


def test_a_click_on_a_cell_opens_it_on_the_first_page(browser, dashboard):
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(dashboard)
    page.wait_for_selector("h1", timeout=60_000)
    page.goto(f"{dashboard}/tradeoff_maps?{SMALL}")
    cells = page.locator(".st-key-chart_map .heatmap-label")
    cells.nth(8).wait_for(timeout=60_000)
    page.wait_for_selector(".st-key-stop", state="detached", timeout=60_000)
    page.wait_for_timeout(1500)
    skip = page.get_by_role("button", name="Skip")
    if skip.count():
        skip.click()
    picture = page.locator(".st-key-chart_map .heatmaplayer image").first.bounding_box()
    x, y = picture["x"] + picture["width"] * 5 / 6, picture["y"] + picture["height"] / 6
    page.mouse.move(x - 4, y)
    page.mouse.move(x, y)
    page.locator(".st-key-chart_map .hovertext").wait_for(timeout=10_000)
    page.mouse.click(x, y)
    page.wait_for_url("**/?epsilon=2", timeout=30_000)
    page.get_by_text("(2, 0.2)-DP noise").first.wait_for(timeout=30_000)
    page.close()
