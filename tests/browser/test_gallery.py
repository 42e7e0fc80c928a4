"""A lecture in the gallery: the attack wins and loses, the picture is in the first screen, the link reproduces it."""

from __future__ import annotations

import re

import pytest
from views import HEADLINE, quiet, still

from pages.mechanism_gallery.topics import TOPICS

pytestmark = pytest.mark.browser


def recovered(page) -> int:
    """Bits given away, as the headline says."""
    return int(re.match(r"(\d+) of 200", page.locator(f"{HEADLINE} strong").first.inner_text()).group(1))


def test_the_attack_wins_and_loses_by_one_click_and_one_question_is_answered(dashboard, visitor):
    page = visitor(1280, 720)
    page.goto(f"{dashboard}/mechanism_gallery?topic=reconstruction")
    page.wait_for_selector(HEADLINE)
    assert recovered(page) >= 185
    page.get_by_role("button", name="Enough noise").click()
    page.wait_for_function("location.search.includes('rc_noise=2')")
    quiet(page)
    assert recovered(page) <= 140
    page.get_by_text("about 69 %").click()
    page.get_by_role("button", name="Check").click()
    page.get_by_text(re.compile("^Right")).wait_for()
    again = visitor(1280, 720)
    again.goto(page.url)
    again.wait_for_selector(HEADLINE)
    quiet(again)
    assert recovered(again) == recovered(page)
    assert not again.get_by_text(re.compile("^Right")).count(), "an answer stays with the one who gave it"


@pytest.mark.parametrize("way", ["projector=true", "explain=false"])
def test_every_picture_is_in_the_first_screen(dashboard, visitor, way):
    page = visitor(1280, 720)
    for topic in TOPICS:
        page.goto(f"{dashboard}/mechanism_gallery?topic={topic.name}&{way}")
        picture = page.locator(f".st-key-chart_{topic.name} .js-plotly-plot").first
        picture.wait_for()
        quiet(page)
        box, title = still(picture), page.get_by_role("heading", level=1).bounding_box()
        bar, end = page.locator(".st-key-bar").bounding_box(), box["y"] + 0.9 * box["height"]
        assert end <= 720, f"{topic.name}: the picture ends at {end:.0f}"
        assert title["x"] + title["width"] <= bar["x"] + 1 or title["y"] >= bar["y"] + bar["height"], topic.name
