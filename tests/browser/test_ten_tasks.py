"""Ten tasks from the start page to a page filled in, by keyboard alone and on a phone: what is pressed is counted."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from views import HEADLINE, quiet

from pages.registry import PAGES
from pages.start.cards import CARDS

pytestmark = pytest.mark.browser
NAMED = {page.name: page for page in PAGES}
QUESTION = "Which question do you have?"
MOST = 4

FOCUSED = "one => one === document.activeElement || one.contains(document.activeElement)"


class Hand:
    """Presses what a visitor presses and counts it.   by : "keyboard", which walks there with Tab, or "phone"."""

    def __init__(self, page, by: str) -> None:
        self.page, self.by, self.presses = page, by, 0

    def press(self, role: str, name: str) -> None:
        self.presses += 1
        target = self.page.get_by_role(role, name=name).locator("visible=true").first
        target.wait_for()
        quiet(self.page)
        if self.by == "phone":
            target.click()
        else:
            self.reach(target, among_tabs=role == "tab")
            self.page.keyboard.press("Enter")

    def reach(self, target, *, among_tabs: bool) -> None:
        """Walk to it; from a tab to another with an arrow, as is usual."""
        for _ in range(120):
            at_tab = self.page.evaluate("document.activeElement.getAttribute('role')") == "tab"
            self.page.keyboard.press("ArrowRight" if at_tab and among_tabs else "Tab")
            if target.evaluate(FOCUSED):
                return
        raise AssertionError(f"Tab never reached {target}")


@pytest.fixture(params=["keyboard", "phone"])
def hand(request, dashboard, visitor) -> Hand:
    """On the start page."""
    page = visitor(*((1280, 720) if request.param == "keyboard" else (390, 844)))
    page.goto(dashboard)
    page.get_by_role("heading", name=QUESTION).wait_for()
    return Hand(page, request.param)


def filled_in(page, card) -> None:
    """The page of the card is there with what the card said."""
    page.wait_for_url(re.compile(f"/{card.page}"))
    page.wait_for_function("title => document.querySelector('h1')?.innerText !== title", arg=QUESTION)
    quiet(page)
    told = {key: one[0] for key, one in parse_qs(urlsplit(page.url).query).items()}
    controls = NAMED[card.page].controls
    values, refused = controls.read(told)
    assert not refused and controls.query(values | dict(card.values)) == controls.query(values), card.question
    assert not page.get_by_test_id("stException").count()


@pytest.mark.timeout(400)
def test_the_eight_cards(hand):
    """And back to the questions with one press of the browser's Back; every other card by keyboard, the rest on a
    phone, THOROUGH=1 all both ways."""
    for card in CARDS if os.environ.get("THOROUGH") else CARDS[hand.by == "phone" :: 2]:
        hand.page.get_by_role("heading", name=QUESTION).wait_for()
        hand.presses = 0
        hand.press("link", card.question)
        filled_in(hand.page, card)
        assert hand.presses <= MOST
        hand.page.go_back()
        hand.page.get_by_role("heading", name=QUESTION).wait_for()
        assert urlsplit(hand.page.url).path == "/"


def test_a_link_that_somebody_sent(hand, dashboard):
    """Nothing has to be pressed."""
    page = hand.page
    page.goto(f"{dashboard}/vector_queries?epsilon=0.7&dimension=5")
    quiet(page)
    page.locator(HEADLINE).first.wait_for()
    said = page.locator(HEADLINE).first.inner_text().replace("\u00a0", " ")
    # Laplace noise, which is 0.7-DP, leads until the mixture is found, which needs δ.
    assert re.match(r"5 coordinates, (0\.7-DP|\(0\.7, 10⁻⁶\)-DP)", said), said
    assert hand.presses <= MOST


FILE = """{"format": 1, "kind": "isotropic", "dimension": 3, "epsilon": 2.0, "delta": 1e-05, "sensitivity": 1.0,
"loss": "norm"}"""


def test_a_file_that_is_opened_again(hand, dashboard, tmp_path):
    """One that Optimal noise wrote sets its controls; one of another page opens that page."""
    page = hand.page
    other = tmp_path / "vector.json"
    other.write_text(FILE)
    hand.press("link", CARDS[0].question)
    filled_in(page, CARDS[0])
    hand.press("tab", "Take it away")
    page.get_by_role("heading", name="Take it away").wait_for()
    quiet(page)
    with page.expect_file_chooser() as chooser:
        hand.press("button", "Upload")
    chooser.value.set_files(other)
    page.get_by_text("This comes from Vectors in d dimensions: open it there.").wait_for()
    hand.press("button", "Open Vectors in d dimensions with its problem")
    page.get_by_role("heading", name="Vectors in d dimensions").wait_for()
    quiet(page)
    assert {"dimension=3", "epsilon=2", "loss=norm"} <= set(urlsplit(page.url).query.split("&"))
    assert hand.presses <= MOST
