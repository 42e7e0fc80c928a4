"""No page is wider than its window, and no words of a chart lie on each other: boxes as the browser lays them out."""

from __future__ import annotations

import pytest
from views import quiet, routes

pytestmark = pytest.mark.browser

SIZES = ((1280, 720), (390, 844))
SHOWN = {"tradeoff_maps": "low_epsilon=0.5&high_epsilon=2&low_delta=0.05&high_delta=0.2&steps=3&target=1&second=l1",
         "optimal_noise": "epsilon=1&delta=0.2&gap=5"}  # fmt: skip

COLLISIONS = """() => {
    const found = [];
    const box = (one) => one.getBoundingClientRect();
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    for (const chart of document.querySelectorAll(".js-plotly-plot")) {
        const kinds = ".xtick text, .ytick text, .legendtext, .xtitle, .ytitle, .annotation-text, .names-at-lines text";
        const words = [...chart.querySelectorAll(kinds)].filter(
            (one) => one.textContent.trim() && box(one).width > 0 && getComputedStyle(one).opacity !== "0"
                && getComputedStyle(one).visibility === "visible");
        words.forEach((one, at) => words.slice(at + 1).forEach((other) => {
            if (over(box(one), box(other))) found.push(`${one.textContent} | ${other.textContent}`);
        }));
    }
    return found;
}"""
"""Pairs of tick labels, titles, names of lines, legend entries and annotations of a chart whose boxes share
more than a line's rim."""

WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
SCROLLS = """() => { const main = document.querySelector('[data-testid="stMain"]');
    return main.scrollWidth - main.clientWidth; }"""


@pytest.mark.parametrize("name", routes())
def test_nothing_lies_on_anything_and_nothing_sticks_out(dashboard, visitor, name):
    page = visitor(*SIZES[0])
    page.goto(f"{dashboard}{routes()[name]}" + (f"?{SHOWN[name]}" if name in SHOWN else ""))
    page.get_by_role("heading", level=1).wait_for()
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        quiet(page)
        page.wait_for_timeout(1500)  # charts are drawn again for the new width
        assert page.evaluate(WIDER) <= 0 and page.evaluate(SCROLLS) <= 0, f"{name} at {width} is too wide"
        assert not page.evaluate(COLLISIONS), f"{name} at {width}"
