"""The page "Trade-off maps" in a real browser: cells appear before the drawing library is there, and in the same place;
a click opens one."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from views import quiet, still

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

SMALL = "low_epsilon=0.5&high_epsilon=2&low_delta=0.05&high_delta=0.2&steps=3&target=5&second=l1"


def test_a_click_on_a_cell_opens_it_on_the_first_page(visitor, dashboard):
    page = visitor(1280, 1000)
    page.goto(dashboard)
    page.wait_for_selector("h1")
    page.goto(f"{dashboard}/tradeoff_maps?{SMALL}")
    page.locator(".st-key-chart_map .textpoint").nth(8).wait_for()
    page.wait_for_selector(".st-key-stop", state="detached")
    quiet(page)
    picture = still(page.locator(".st-key-chart_map .heatmaplayer image").first)
    x, y = picture["x"] + picture["width"] * 5 / 6, picture["y"] + picture["height"] / 6
    page.mouse.move(x - 4, y)
    page.mouse.move(x, y)
    page.locator(".st-key-chart_map .hovertext").wait_for()
    page.mouse.click(x, y)
    page.wait_for_url("**/optimal_noise?epsilon=2")
    page.get_by_text("(2, 0.2)-DP noise").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_table_stands_where_the_picture_will(visitor, dashboard, scheme):
    page = visitor(1280, 900, color_scheme=scheme)
    page.goto(dashboard)  # the first visit to a server that has just started opens slowly
    page.wait_for_selector("h1")
    held = []
    page.route("**/*lotly*", lambda route: held.append(route))  # the library does not come
    page.goto(f"{dashboard}/tradeoff_maps?{SMALL}")
    cells = page.locator(".map-cells td[style]")
    cells.nth(8).wait_for()
    assert held and not page.locator(".st-key-chart_map .main-svg").count()
    quiet_but_for_the_library(page)
    texts = cells.all_inner_texts()
    assert all(text.endswith("%") for text in texts)
    findings = Axe().run(page, context=".map-cells").response["violations"]
    assert not [finding["id"] for finding in findings if finding["impact"] in ("serious", "critical")]
    table = [cells.nth(n).bounding_box() for n in (0, 8)]
    colours = cells.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) > 2

    for route in held:
        route.continue_()
    page.unroute("**/*lotly*")
    page.locator(".st-key-chart_map .textpoint").nth(8).wait_for()
    quiet(page)
    picture = still(page.locator(".st-key-chart_map .heatmaplayer image").first)
    first, last = table
    assert abs(first["x"] - picture["x"]) <= 2 and abs(first["y"] - picture["y"]) <= 2
    assert abs(last["x"] + last["width"] - picture["x"] - picture["width"]) <= 2
    assert abs(last["y"] + last["height"] - picture["y"] - picture["height"]) <= 2
    assert not cells.first.is_visible()
    assert sorted(page.locator(".st-key-chart_map .textpoint").all_text_contents()) == sorted(texts)


def quiet_but_for_the_library(page) -> None:
    """All cells are there and no script runs."""
    page.wait_for_selector(".st-key-stop", state="detached")
    page.wait_for_timeout(500)
