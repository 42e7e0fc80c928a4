"""The page "What ε and δ mean" in a lecture: the picture is in the first screen, and a game survives a reload."""

from __future__ import annotations

import pytest
from sights import HEADLINE, quiet, still

pytestmark = pytest.mark.browser

LINKS = {
    "worst-event": "", "game": "&guesses=AB", "tradeoff": "&projector=true", "renyi": "&mechanism=truncated-laplace",
}  # fmt: skip
"""Topic → the rest of the link; among them the longest headline and the widest column beside a picture."""


def test_every_picture_is_in_the_first_screen(dashboard, visitor):
    page = visitor(1280, 720)
    for topic, rest in LINKS.items():
        page.goto(f"{dashboard}/what_epsilon_means?topic={topic}{rest}")
        chart = page.locator(f".st-key-chart_{topic} .js-plotly-plot .main-svg").first
        chart.wait_for()
        quiet(page)
        box = still(chart)
        assert box["y"] > 0 and box["y"] + box["height"] <= 720, f"{topic}: {box}"


def test_a_game_is_in_the_link(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/what_epsilon_means?topic=game&mechanism=laplace&seed=4")
    for number, letter in enumerate("ABA", 1):
        page.get_by_role("button", name=f"It was {letter}").click()
        page.get_by_role("heading", name=f"Round {number + 1}").wait_for()
        quiet(page)
    said = page.locator(HEADLINE).first.inner_text()
    assert "after 3 rounds" in said and "guesses=ABA" in page.url
    page.reload()
    page.get_by_role("heading", name="Round 4").wait_for()
    quiet(page)
    assert page.locator(HEADLINE).first.inner_text() == said


AT_TOP = "document.querySelector('[data-testid=\"stMain\"]').scrollTop === 0"


def test_the_next_topic_is_seen_from_its_top_and_back_leads_to_the_one_before(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/what_epsilon_means?epsilon=2")
    title = page.get_by_role("heading", level=1)
    quiet(page)
    for there, button in (("Privacy loss", "Privacy loss →"), ("The attacker's game", "The attacker's game →")):
        page.get_by_role("button", name=button).click()  # which scrolls down to it
        title.filter(has_text=there).wait_for()
        quiet(page)
        page.wait_for_function(AT_TOP)  # headline and picture are what is looked at
    page.get_by_role("button", name="Weak privacy: no contest").click()
    page.wait_for_function("location.search.includes('epsilon=5')")
    quiet(page)
    page.wait_for_function(AT_TOP)
    assert page.get_by_role("button", name="Weak privacy: no contest").is_disabled(), "it is on the screen"
    for there in ("The attacker's game", "Privacy loss", "The worst event"):
        page.go_back()
        title.filter(has_text=there).wait_for()
        quiet(page)
        assert "epsilon=2" in page.url
    page.go_forward()
    title.filter(has_text="Privacy loss").wait_for()
