"""A lecture of states of pages: its text in a link, what is refused, and the menu and buttons on the pages."""

from __future__ import annotations

import base64
import json
import random
import zlib
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from screens import settle, turn, words
from test_path import told, visit

from dpcore.errors import InputError
from pages.registry import PAGES
from pages.shared import playlist, slides
from pages.shared.slides import Slide


def packed(lines: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(lines.encode())).decode().rstrip("=")


TWO = (
    Slide("Half, before and after", "what_epsilon_means", "topic=posterior&epsilon=2"),
    Slide("Optimal noise", "optimal_noise", "epsilon=1.5&delta=0.1&loss=l2&seconds=5&gap=5"),
)


def test_a_lecture_is_read_as_it_was_written():
    assert slides.read(slides.written(TWO)) == TWO
    assert slides.written(()) == "" and slides.read("") == ()


def test_twelve_states_of_the_longest_queries_of_lessons_fit_into_a_link_of_a_thousand_letters():
    many = tuple(Slide(f"State {k}", "composition", f"topic=growth&co_epsilon=0.{k}&co_count={k}00") for k in range(12))
    assert len(slides.written(many)) < 1000


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (slides.written(TWO)[:-9], "cut off or changed"),
        (slides.written(TWO)[:20] + "AAAA" + slides.written(TWO)[24:], "cut off or changed"),
        ("<script>", "cut off or changed"),
        ("é", "cut off or changed"),
        (packed("no tab"), "lines of a name"),
        (packed("name\tsomewhere?a=1"), "a page of the dashboard"),
        (packed("<b>\toptimal_noise?a=1"), "letters, digits"),
        (packed("[a](b)\toptimal_noise?a=1"), "letters, digits"),
        (packed("a\toptimal_noise?a=<script>"), "controls of a page"),
        (packed("a\toptimal_noise?" + "a" * 3001), "at most 3000"),
        (packed("\n".join(["a\toptimal_noise?a=1"] * 61)), "at most 60"),
        (packed("a" * 3_000_000), "at most 64000 bytes"),
        ("A" * 6001, "at most 6000"),
    ],
)
def test_what_is_no_lecture_is_refused_with_a_reason(text, what):
    with pytest.raises(InputError, match=what):
        slides.read(text)


def test_too_much_for_a_link_is_refused_when_it_is_written():
    with pytest.raises(InputError, match="at most 60"):
        slides.written([TWO[0]] * 61)
    rng = random.Random(1)
    many = [Slide("x", "composition", "q=" + "".join(rng.choices("abcdefghij0123456789", k=2900))) for _ in range(5)]
    with pytest.raises(InputError, match="at most 6000"):
        slides.written(many)


def test_titles_of_all_topics_and_pages_become_names():
    for page in PAGES:
        topics = page.controls.controls.get("topic")
        for title in [page.title, *(topics.options.values() if topics else ())]:
            assert len(slides.named(title)) > 3 and Slide(slides.named(title), page.name, "")


def add(page):
    page.button(key="slide_add").click()
    return settle(page.run())


def test_states_are_collected_named_put_in_order_removed_and_shown():
    page = add(visit("what_epsilon_means", topic="posterior", epsilon="2"))
    page.selectbox(key="topic").set_value("renyi").run()
    page = add(page)
    page.select_slider(key="epsilon").set_value(4.0).run()
    page = add(page)
    names = lambda: [one.name for one in slides.read(told(page)["slides"])]  # noqa: E731
    assert names() == ["From prior to posterior", "Rényi and zCDP", "Rényi and zCDP"]
    page.text_input(key="slide_name_2").set_value("At 4").run()
    page.button(key="slide_up_2").click().run()
    page.button(key="slide_down_0").click().run()
    assert names() == ["At 4", "From prior to posterior", "Rényi and zCDP"]
    page.text_input(key="slide_name_0").set_value("[x](y)").run()
    assert "name of a state" in words(page) and names()[0] == "At 4"
    page.button(key="slide_drop_2").click().run()
    link = urlsplit(playlist_link(page))
    assert link.path == "/what_epsilon_means" and dict(parse_qsl(link.query))["slide"] == "1"
    page.button(key="slide_present").click()
    page = settle(page.run())
    assert page.title[0].value == "12 Rényi and zCDP" and told(page)["epsilon"] == "4"
    assert told(page)["projector"] == "true" and "1 of 2" in words(page) and page.button(key="turn_-1").disabled
    page.button(key="turn_1").click()
    page = settle(page.run())
    assert page.title[0].value == "3.6 From prior to posterior" and "2 of 2" in words(page)
    assert page.button(key="turn_1").disabled
    page.button(key="slide_end").click()
    page = settle(page.run())
    assert "slide" not in told(page) and len(names()) == 2, "the states are kept"


def playlist_link(page) -> str:
    """What "Copy the lecture's link" copies."""
    return next(one for one in copied(page) if "slide=1" in one)


def copied(page) -> list[str]:
    found = []
    for node in page.get("bidi_component"):
        for action in json.loads(node.proto.json or "{}").get("actions", []):
            found.append(action.get("text", ""))
    return found


def test_the_lecture_leads_to_other_pages_whose_defaults_are_told_as_well():
    here = Slide("All defaults", "composition", playlist_query("composition"))
    text = slides.written((TWO[0], here))
    page = visit("what_epsilon_means", topic="posterior", epsilon="2", slides=text, slide="1")
    page.button(key="turn_1").click()
    page = turn(page.run(), "composition")  # where it is by now, which AppTest does not know
    assert page.title[0].value.endswith("Composition") and "co_epsilon" not in told(page)
    page.button(key="turn_-1").click().run()
    assert page.title[0].value == "3.6 From prior to posterior" and told(page)["epsilon"] == "2"


def playlist_query(name: str) -> str:
    address = next(one for one in PAGES if one.name == name).controls
    return urlencode(playlist.told(address, address.read({})[0]))


def test_a_malformed_lecture_is_named_and_the_page_is_there():
    page = visit("what_epsilon_means", slides=slides.written(TWO)[:30], slide="2")
    assert any("was cut off or changed" in error.value for error in page.error)
    assert page.title[0].value == "3.1 The worst event" and "slides" not in told(page)


def test_a_state_that_its_page_does_not_understand_is_named_there():
    text = slides.written((TWO[0], Slide("Odd", "what_epsilon_means", "topic=renyi&epsilon=77")))
    page = visit("what_epsilon_means", slides=text, slide="1")
    page.button(key="turn_1").click()
    page = settle(page.run())
    assert "Not understood in the link" in words(page) and "epsilon = 77" in words(page)


def test_the_menu_is_on_learn_pages_and_elsewhere_only_once_there_are_states():
    keys = lambda page: {button.key for button in page.button}  # noqa: E731
    assert "slide_add" in keys(visit("composition"))
    assert "slide_add" not in keys(visit("optimal_noise", sensitivity="-1"))
    assert "slide_add" in keys(visit("optimal_noise", sensitivity="-1", slides=slides.written(TWO)))
