"""The main journey in a real browser: open, read, change ε, read again, type nonsense, follow a link."""

from __future__ import annotations

import re
import time

import pytest

pytestmark = pytest.mark.browser

HEADLINE = ".st-key-headline p"
CHART = ".st-key-chart_density .js-plotly-plot .main-svg"
WAIT = 20_000


def bounds(page) -> list[float]:
    """The two numbers of the headline."""
    page.wait_for_selector(HEADLINE, timeout=WAIT)
    texts = page.locator(f"{HEADLINE} strong").all_inner_texts()
    return [float(text.replace("\u202f", "")) for text in texts]


def settled(page, before: list[float] | None = None) -> list[float]:
    """The headline's numbers once the solver has finished and they are no longer `before`."""
    deadline, last = time.monotonic() + 20, None
    while time.monotonic() < deadline:
        now = bounds(page)
        if page.get_by_role("button", name="Stop here").count() or len(now) != 2 or now == before:
            now = None
        if now and now == last:  # twice the same: the button that says "still solving" comes after the headline
            return now
        last = now
        page.wait_for_timeout(500)
    raise AssertionError(f"the headline still reads {before} or is not there")


def test_first_visit_change_epsilon_and_nonsense(dashboard, browser, artifacts):
    page = browser.new_page(viewport={"width": 1440, "height": 1750}, color_scheme="light")
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    start = time.monotonic()
    page.goto(dashboard)
    bounds(page)
    page.wait_for_selector(CHART, timeout=WAIT)
    seconds = time.monotonic() - start
    first = settled(page)
    assert 0.5579 <= first[0] <= first[1] <= 0.5592
    assert seconds < 15, "headline and chart within seconds of the first visit (5 s on an idle machine)"
    page.wait_for_timeout(500)
    page.screenshot(path=artifacts / "optimal_noise.png")

    box = page.get_by_role("spinbutton", name="ε exactly")
    box.fill("2")
    box.press("Enter")
    second = settled(page, first)
    assert second[1] < first[0], "less privacy, less noise"
    page.wait_for_function("location.search.includes('epsilon=2')", timeout=WAIT)

    box = page.get_by_role("spinbutton", name="ε exactly")
    box.fill("-7")
    box.press("Enter")
    message = page.locator('[data-testid="stSidebar"] [data-testid="stAlert"]')
    message.first.wait_for(timeout=WAIT)
    assert re.search(r"ε = −7: expected", message.first.inner_text())
    assert bounds(page) == second, "the last good picture stays"
    assert "Traceback" not in page.content()
    assert not faults
    page.close()


def test_a_link_opens_the_same_screen_in_the_dark_on_a_phone(dashboard, browser, artifacts):
    page = browser.new_page(viewport={"width": 420, "height": 900}, color_scheme="dark")
    page.goto(f"{dashboard}/?epsilon=5&delta=0.25&loss=l1&unit=patients&gap=2&panel=Try+it")
    lower, upper = settled(page)
    assert 0.055 <= lower <= upper <= 0.065
    page.wait_for_selector(CHART, timeout=WAIT)
    page.wait_for_selector(".st-key-chart_draws_optimal .main-svg", timeout=WAIT)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 420, "nothing sticks out on a narrow screen"
    page.wait_for_timeout(500)
    page.screenshot(path=artifacts / "optimal_noise_dark_narrow.png")
    page.close()
