"""The page "Mechanism gallery" under AppTest, and its topics as a list."""

from __future__ import annotations

import itertools
import math
import random
import re

import pytest
from streamlit.testing.v1 import AppTest

from dpcore.errors import InputError
from dpcore.figures import palette
from pages.lessons.course import UNANSWERED
from pages.lessons.topic import Picture, Topic
from pages.lessons.widgets import Stops
from pages.mechanism_gallery.controls import COURSE, PAGE
from pages.mechanism_gallery.topics import TOPICS
from pages.shared.address import Choice, Choices, Number, Switch

by_name = pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
NONSENSE = ("", "x", "nan", "-1", "1e308", "<script>", "0", "99999999999999999999", "∞", "[]")


def visit(**query: str) -> AppTest:
    page = AppTest.from_file("../../pages/mechanism_gallery/page.py", default_timeout=60)
    for key, value in query.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception, page.exception[0].value
    return page


def checked(topic: Topic, values: dict) -> Picture:
    """The topic's picture, complete and finite."""
    picture = topic.picture(values, palette(random.random() < 0.5))
    assert "**" in picture.headline and not re.search(r"\bnan\b|\binf\b|None", picture.headline)
    for panel in picture.panels:
        assert panel.title and len(panel.alt) > 20 and not re.search(r"\bnan\b", panel.alt)
        assert len({len(column) for column in panel.table.values()}) == 1 and next(iter(panel.table.values()))
        assert panel.figure.layout.height and panel.figure.data
    return picture


@by_name
def test_every_topic_is_drawn(topic):
    page = visit(topic=topic.name)
    assert page.title[0].value == topic.numbered and not page.error and not page.info
    assert any("In 60 seconds" in block.value for block in page.markdown)
    assert len([button for button in page.button if str(button.key).startswith("step_")]) == 3


@by_name
def test_texts_are_whole(topic):
    texts = COURSE.texts(topic)
    assert len(texts["in 60 seconds"].split()) <= 120
    assert {"theorem", "references"} <= set(texts)
    picture = topic.picture(PAGE.read({})[0], palette(False))
    assert {panel.about for panel in picture.panels} <= set(texts)


@by_name
def test_experiments_change_what_is_shown(topic):
    values = PAGE.read({})[0]
    headlines = []
    for one in topic.experiments:
        assert set(one.values) <= set(topic.controls), one.label
        for key, value in one.values.items():
            control = topic.controls[key]
            assert control.read(control.write(value)) == value, (one.label, key)
        headlines.append(checked(topic, {**values, **one.values}).headline)
    assert len(set(headlines)) == 3


def test_an_old_link_with_an_answer_opens_without_it():
    page = visit(topic="reconstruction", reconstruction_answer="2", rc_rows="400")
    assert page.radio(key="reconstruction_answer").value == UNANSWERED and not page.success
    assert not [block for block in page.info if "Not understood" in block.value]
    assert page.query_params.keys() == {"rc_rows"}


def choices(control: object) -> list:
    """Values of a control at its ends and in between."""
    if isinstance(control, Stops):
        return [control.stops[0], control.stops[-1], control.stops[len(control.stops) // 2]]
    if isinstance(control, Choice):
        return list(control.options)
    if isinstance(control, Choices):
        return [[], list(control.options)]
    if isinstance(control, Switch):
        return [True, False]
    if isinstance(control, Number) and math.isfinite(control.low) and math.isfinite(control.high):
        return [control.default, *(int(v) if control.whole else v for v in (control.low, control.high))]
    return [control.default]


@by_name
def test_the_ends_of_all_controls_together(topic):
    """Every picture bears every corner of what its controls can hold, or refuses by name."""
    rng, values = random.Random(topic.name), PAGE.read({})[0]
    corners = list(itertools.product(*(choices(control) for control in topic.controls.values())))
    for corner in rng.sample(corners, min(8, len(corners))):
        try:
            checked(topic, {**values, **dict(zip(topic.controls, corner))})
        except InputError:
            pass


@by_name
def test_nonsense_in_the_link_is_named_and_survived(topic):
    rng = random.Random(topic.name)
    for _ in range(2):
        query = {key: rng.choice(NONSENSE) for key in topic.controls}
        page = visit(topic=topic.name, **query)
        assert page.title[0].value == topic.numbered
        assert page.info or not PAGE.read(query)[1]


def test_an_unknown_topic_is_the_first():
    page = visit(topic="<b>")
    assert page.title[0].value == "2 Reconstruction attack" and "topic" in page.info[0].value


def test_a_lecture_starts_from_any_example():
    page = visit()
    box = page.selectbox(key="lecture")
    box.set_value(next(option for option in box.options if "pumpkin" in option or "4000 buyers" in option)).run()
    assert page.title[0].value == "7 Exponential mechanism" and not page.exception
    assert "4000" in page.query_params["em_people"] and page.selectbox(key="lecture").value is None


def test_the_attack_succeeds_and_fails_as_the_noise_grows():
    recovered = []
    for noise in ("0.1", "0.3", "2", "4"):
        words = " ".join(block.value for block in visit(topic="reconstruction", rc_noise=noise).markdown)
        recovered.append(int(re.search(r"\*\*(\d+) of 200\*\*", words).group(1)))
    assert recovered[0] == 200 and recovered == sorted(recovered, reverse=True) and recovered[-1] < 130
