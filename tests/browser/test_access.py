"""By keyboard to the menu; nothing serious or critical for axe-core on a projector and during the tour. What is found
on every page by itself `test_every_page` looks at."""

from __future__ import annotations

import pytest
from views import quiet, serious

pytestmark = pytest.mark.browser


def test_the_menu_is_reached_within_five_tabs(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/optimal_noise")
    quiet(page)
    page.get_by_text("Skip to the menu").wait_for(state="attached")
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
