"""Every page in one visit to the server as it is operated: nothing serious or critical for axe-core in both themes and
on a phone, nothing wider than its window, no words of a chart on each other, nobody else asked for anything."""

from __future__ import annotations

import pytest
from views import Watched, quiet, routes, serious

pytestmark = pytest.mark.browser

DESK, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
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
def test_every_page(service, visitor, name):
    page = visitor(*DESK.values())
    watched = Watched(page, service.address)
    query = "&".join(filter(None, (SHOWN.get(name), "" if name == "start" else "explain=true")))
    page.goto(f"{service.address}{routes()[name]}?{query}")
    page.get_by_role("heading", level=1).wait_for()
    fits(page)
    assert not serious(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(700)  # the page notices the change within half a second
    assert not serious(page, "color-contrast")
    page.mouse.wheel(0, 3000)  # what is seen later is asked for later
    page.set_viewport_size(PHONE)
    fits(page)
    assert not serious(page), "on a phone"
    assert not watched.outside
    assert not [text for text in watched.complaints if "Content Security Policy" in text or "Refused" in text]
    page.evaluate("localStorage.clear()")  # of this server; a profile is cleared for the other one


def fits(page) -> None:
    """Nothing sticks out of the window, and no words of a chart lie on each other."""
    quiet(page)
    page.wait_for_timeout(1500)  # charts are drawn again for a new width
    assert page.evaluate(WIDER) <= 0 and page.evaluate(SCROLLS) <= 0, "too wide"
    assert not page.evaluate(COLLISIONS)
