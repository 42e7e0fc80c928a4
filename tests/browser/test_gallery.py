"""A lecture in the gallery: the attack wins and loses, the picture is in the first screen, the link reproduces it."""

from __future__ import annotations

import os
import re

import pytest
from views import HEADLINE, quiet, still

from pages.lessons.path import steps

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
    page.wait_for_function("() => location.search.includes('rc_noise=2')")
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


WORDS = """heading => {
    const words = document.createRange();
    words.selectNodeContents(heading);
    return words.getBoundingClientRect().toJSON();
}"""
"""Where the words of a heading are; its block is as wide as the page."""


@pytest.mark.parametrize(("way", "part"), [("projector=true", 0), ("explain=false", 1)], ids=["projector", "plain"])
def test_every_picture_is_in_the_first_screen(dashboard, visitor, way, part):
    """Along the path by its own buttons, a quarter of it this way and another the other; THOROUGH=1 all both ways."""
    page, path = visitor(1280, 720), steps()
    if not os.environ.get("THOROUGH"):
        path = path[(2 * part) * len(path) // 4 : (2 * part + 1) * len(path) // 4]
    page.goto(f"{dashboard}/{path[0].place.address}?topic={path[0].topic.name}&{way}")
    for number, step in enumerate(path, 1):
        name = step.topic.name
        picture = page.locator(f".st-key-chart_{name} .js-plotly-plot").first
        picture.wait_for()
        quiet(page)
        box, title = still(picture), page.get_by_role("heading", level=1).evaluate(WORDS)
        bar, end = page.locator(".st-key-bar").bounding_box(), box["y"] + 0.9 * box["height"]
        assert 0 < box["y"] and end <= 720, f"{name}: the picture ends at {end:.0f}"
        assert title["x"] + title["width"] <= bar["x"] + 1 or title["y"] >= bar["y"] + bar["height"], name
        if number < len(path):
            page.locator(".st-key-turn_1 button").click()
