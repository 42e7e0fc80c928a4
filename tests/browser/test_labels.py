"""Names at their lines instead of a legend."""

from __future__ import annotations

import pytest
from views import quiet

pytestmark = pytest.mark.browser

LOOK = """() => [...document.querySelectorAll(".js-plotly-plot")].map((chart) => {
  const boxes = (what) => [...chart.querySelectorAll(what)].map((one) => one.getBoundingClientRect().toJSON());
  const traces = chart._fullData.filter((one) => one.visible === true && one.showlegend && one.name);
  const legend = chart.querySelector(".legend");
  return {
    names: traces.map((one) => one.name.replace(/<br>/g, " ")),
    told: [...chart.querySelectorAll(".names-at-lines text")].map((one) => one.textContent),
    boxes: boxes(".names-at-lines text"),
    others: boxes(".xtick text, .ytick text, .annotation-text, .textpoint text"),
    plot: boxes(".bglayer .bg, .gridlayer")[0],
    legend: legend !== null && getComputedStyle(legend).visibility === "visible",
  };
})[0]"""


DOTS = ".st-key-chart_randomised_response_2 .scatterlayer .point"


def overlap(one: dict, other: dict) -> bool:
    return (
        one["left"] < other["right"] - 1 and other["left"] < one["right"] - 1
        and one["top"] < other["bottom"] - 1 and other["top"] < one["bottom"] - 1
    )  # fmt: skip


def look(page) -> dict:
    quiet(page)
    page.wait_for_timeout(500)
    return page.evaluate(LOOK)


def words(names: list[str]) -> list[str]:
    """A long name stands on two rows."""
    return sorted(" ".join(names).split())


def test_names_stand_at_their_lines_on_a_desk_on_a_phone_and_while_the_picture_moves(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/what_epsilon_means?topic=processing")
    rail = page.locator(".slider-rail-touch-rect").first
    rail.wait_for()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.locator(".names-at-lines text").first.wait_for()
        seen = look(page)
        assert words(seen["told"]) == words(seen["names"]) and len(seen["names"]) > 1 and not seen["legend"]
        boxes = seen["boxes"]
        assert not any(overlap(one, other) for n, one in enumerate(boxes) for other in [*boxes[:n], *seen["others"]])
        assert all(0 <= one["left"] and one["right"] <= width for one in boxes)
    box = rail.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 4, steps=6)
    page.wait_for_timeout(400)
    moved = page.evaluate(LOOK)
    assert words(moved["told"]) == words(moved["names"]) and moved["boxes"] != boxes
    page.mouse.up()


def test_names_stand_at_bars_and_at_lines_and_areas_that_are_no_traces(dashboard, visitor):
    page = visitor(1280, 720)
    for link in ("mechanism_gallery?topic=neighbours", "what_epsilon_means?topic=posterior"):
        page.goto(f"{dashboard}/{link}")
        page.locator(".names-at-lines text").first.wait_for()
        seen = look(page)
        assert words(seen["told"]) == words(seen["names"]) and len(seen["names"]) > 2 and not seen["legend"]
        assert not any(overlap(one, other) for n, one in enumerate(seen["boxes"]) for other in seen["boxes"][:n])


def test_dots_in_every_row_keep_their_legend(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/composition?topic=budget")
    page.wait_for_function(f"() => (({LOOK})() ?? {{}}).legend === true")
    quiet(page)
    assert not page.locator(".st-key-chart_budget .names-at-lines text").count()


def test_draws_fall_one_by_one(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/mechanism_gallery?topic=randomised_response")
    chart = page.locator(".st-key-chart_randomised_response_2")
    dots = page.locator(DOTS)
    chart.locator(".updatemenu-button").first.wait_for()
    quiet(page)
    assert dots.count() == 200, "the page begins with all of them"
    chart.locator(".updatemenu-button").first.click()
    page.wait_for_function("found => document.querySelectorAll(found).length < 30", arg=DOTS)
    chart.locator(".updatemenu-button").last.click()
    page.wait_for_timeout(300)
    halted = dots.count()
    page.wait_for_timeout(500)
    assert dots.count() == halted < 200
    chart.locator(".updatemenu-button").first.click()
    page.wait_for_function("found => document.querySelectorAll(found).length === 200", arg=DOTS)
