"""The front door: what bare addresses lead to, the menu, a phone's side bar, light and dark."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from views import quiet

from pages.registry import PAGES
from pages.start.cards import CARDS

pytestmark = pytest.mark.browser
TITLES = {page.name: page.title for page in PAGES}
QUESTION = "Which question do you have?"


CONTENT = "[data-testid=stSidebarContent]"


def test_a_turn_is_one_step_of_the_history_and_forward_leads_there_again(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(dashboard)
    page.get_by_role("heading", name=QUESTION).wait_for()
    quiet(page)
    steps = page.evaluate("history.length")
    for card in CARDS[:2]:
        page.get_by_role("link", name=card.question).click()
        page.get_by_role("heading", name=TITLES[card.page], exact=True, level=1).wait_for()
        quiet(page)
        there = page.url
        assert page.evaluate("history.length") == steps + 1
        page.go_back()
        page.get_by_role("heading", name=QUESTION).wait_for()
        quiet(page)
        page.go_forward()
        page.get_by_role("heading", name=TITLES[card.page], exact=True, level=1).wait_for()
        quiet(page)
        assert page.url == there
        page.go_back()
        page.get_by_role("heading", name=QUESTION).wait_for()
        quiet(page)


def test_only_the_bare_address_is_the_start_page(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/?epsilon=2&gap=5")
    page.get_by_role("heading", name="Optimal noise").wait_for()
    page.get_by_text("(2, 0.2)-DP noise").first.wait_for()
    assert page.url.startswith(f"{dashboard}/optimal_noise?epsilon=2")
    page.goto(f"{dashboard}/?utm_source=letter")
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()


def test_the_menu_says_where_one_is_and_escape_ends_the_tour(dashboard, visitor):
    page = visitor(1280, 720, tour=True)
    page.goto(f"{dashboard}/optimal_noise?epsilon=1&gap=5")
    card = page.get_by_label("A short tour")
    card.wait_for()
    page.keyboard.press("Escape")
    card.wait_for(state="detached")
    page.get_by_role("button", name="Explore, this page: Optimal noise").wait_for()
    page.get_by_role("button", name="Help for The noise").wait_for()


def test_a_phone_s_side_bar_opens_at_the_controls_and_closes_on_the_answer(dashboard, visitor):
    page = visitor(390, 844)
    page.goto(f"{dashboard}/mechanism_gallery?topic=randomised_response")
    quiet(page)
    bar = page.get_by_test_id("stSidebar")
    page.get_by_test_id("stExpandSidebarButton").click()
    topic = bar.get_by_role("combobox").first
    page.wait_for_function("name => document.querySelector(name)?.scrollTop > 100", arg=CONTENT)
    page.wait_for_timeout(1000)
    assert 100 < topic.bounding_box()["y"] < 300, "the first control, and what is above it is seen to be there"
    topic.click()
    page.get_by_role("option", name="5 Report noisy max").click()
    page.wait_for_function("() => document.querySelector('h1')?.innerText.startsWith('5 Report noisy max')")
    page.wait_for_function("name => !(document.querySelector(name)?.getBoundingClientRect().right > 0)", arg=CONTENT)


def test_a_theme_is_chosen_in_one_place_and_kept_on_every_page(dashboard, visitor):
    page = visitor(1280, 720)
    scheme = "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme"
    page.goto(f"{dashboard}/mechanism_gallery?topic=gaussian")
    quiet(page)
    page.get_by_role("button", name="Light or dark, print").click()
    page.get_by_role("menuitemradio", name="Dark").click()
    page.wait_for_function("() => document.cookie.includes('dp-frontier-theme=dark')")  # the pictures are dark as well
    quiet(page)
    for address in ("composition", "mechanism_gallery"):
        page.goto(f"{dashboard}/{address}")
        quiet(page)
        assert page.evaluate(scheme) == "dark"
    page.get_by_role("button", name="Light or dark, print").click()
    page.get_by_role("menuitemradio", name="System").click()
    page.wait_for_function("() => !document.cookie.includes('dp-frontier-theme=dark')")
    page.goto(f"{dashboard}/composition")
    quiet(page)
    assert page.evaluate(scheme) == "light"


def test_a_machine_that_turns_light_is_followed_and_nothing_kept(dashboard, visitor):
    """What is drawn is dark for a moment longer; that is no choice of the visitor's."""
    page = visitor(1280, 720, color_scheme="dark")
    page.add_init_script("""window.stored = [];
        const set = Storage.prototype.setItem;
        Storage.prototype.setItem = function (...entry) {
            window.stored.push(entry[1]);
            return set.apply(this, entry);
        };""")
    page.goto(f"{dashboard}/what_epsilon_means")
    quiet(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_function("() => document.documentElement.dataset.drawn === 'light'")
    page.wait_for_timeout(1500)
    assert not [value for value in page.evaluate("window.stored") if "Dark" in value or "Light" in value]
    assert "dp-frontier-theme" not in page.evaluate("document.cookie")


def test_a_dark_page_is_printed_dark_on_white(dashboard, visitor):
    page = visitor(1280, 720, color_scheme="dark")
    page.goto(f"{dashboard}/optimal_noise")
    quiet(page)
    page.emulate_media(media="print", color_scheme="dark")
    look = page.evaluate("""() => {
        const style = getComputedStyle(document.querySelector('[data-testid=stApp]'));
        return [style.backgroundColor, style.filter];
    }""")
    assert look == ["rgb(0, 0, 0)", "invert(1) hue-rotate(180deg)"]
