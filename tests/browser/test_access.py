"""By keyboard to the menu; nothing serious or critical for axe-core on a projector and during the tour. What it
finds on every page by itself `test_every_page` looks at."""

from __future__ import annotations

import pytest
from views import quiet, routes, serious

pytestmark = pytest.mark.browser


SMALL = """() => {
    const inside = (...names) => names.map((name) => `[data-testid="${name}"] *`).join();
    const boxes = inside("stSelectbox", "stMultiSelect", "stTextInput", "stDataFrame");
    const inText = 'p a, li a, td a, [data-testid="stSkipToContent"], [data-leads], .js-plotly-plot *';
    const beside = '[data-testid="stStatusWidget"] *, [class*="st-key-card_"] a';
    const found = [];
    for (const one of document.querySelectorAll('button, a, summary, [role="tab"]')) {
        if (one.closest('[data-testid="stSidebar"]')?.getBoundingClientRect().width < 200) continue;
        const { width, height } = one.getBoundingClientRect();
        if (!width || getComputedStyle(one).visibility !== "visible") continue;
        if (one.matches(`${boxes}, ${inText}, ${beside}`)) continue;
        if (height < 39.5 || width < 39.5) found.push(`${one.ariaLabel ?? one.innerText} ${width} × ${height}`);
    }
    return found;
}"""
"""What is pressed and smaller than a fingertip, but for words in a sentence, links that cover their card, a side bar
that is shut, and the insides of boxes, which are as high as their box but for its rim."""

NAMELESS = """() => [...document.querySelectorAll('button[aria-label="Help"]')]
    .filter((one) => one.offsetParent).map((one) => one.parentElement.outerHTML)"""

CRUSHED = """() => [...document.querySelectorAll('[role="tab"]')]
    .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText)"""
"""Tabs whose words reach into the next."""


@pytest.mark.parametrize("name", routes())
def test_a_finger_finds_everything_and_questions_have_names(dashboard, browser, name):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.add_init_script("localStorage.setItem('dp-frontier-tour-seen', 'yes')")
    try:
        page.goto(f"{dashboard}{routes()[name]}")
        page.get_by_role("heading", level=1).wait_for()
        quiet(page)
        page.wait_for_timeout(600)
        assert not page.evaluate(SMALL) and not page.evaluate(NAMELESS) and not page.evaluate(CRUSHED)
    finally:
        context.close()


def test_the_menu_is_reached_within_five_tabs(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/optimal_noise")
    quiet(page)
    page.wait_for_timeout(600)
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the menu"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.innerText").endswith("Start")
    page.keyboard.press("Tab")
    assert "Explore" in page.evaluate("document.activeElement.innerText")


def test_every_panel_of_the_home_page_on_a_projector(dashboard, visitor):
    page = visitor()
    page.goto(f"{dashboard}/?pins=epsilon%3D2&gap=5&support=interval&projector=true")
    for panel in ("Price of a constraint", "Try it", "Side by side", "Take it away"):
        page.get_by_role("tab", name=panel).click()
        page.get_by_role("heading", name=panel).wait_for()
        assert not serious(page)


def test_the_tour(dashboard, visitor):
    page = visitor(tour=True)
    page.goto(f"{dashboard}/?gap=5")
    page.get_by_label("A short tour").wait_for()
    assert not serious(page)
