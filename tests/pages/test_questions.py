"""The questions of the Learn pages: answers computed and hidden, hints, other numbers, the score."""

from __future__ import annotations

import math
import re

import pytest
from screens import ROOT, answer, number, settle, turn, words
from streamlit.testing.v1 import AppTest

from dpcore.figures import palette
from dpcore.privacy import Privacy
from pages.lessons import path
from pages.lessons.course import UNANSWERED
from pages.what_epsilon_means import laws

by_topic = pytest.mark.parametrize("step", path.steps(), ids=lambda step: step.topic.name)


def visit(name: str, **query: str) -> AppTest:
    page = turn(AppTest.from_file(str(ROOT / "app.py"), default_timeout=60), name)
    for key, value in query.items():
        page.query_params[key] = value
    return settle(page.run())


@by_topic
def test_every_question_knows_its_answer_whatever_its_numbers(step):
    topic = step.topic
    for asked in map(topic.asked, range(4)):
        right = asked.right()
        assert asked.passes(right) and len(asked.because()) > 20 and asked.hint
        if asked.options:
            assert right in range(len(asked.options)) and not asked.passes((right + 1) % len(asked.options))
        else:
            assert math.isfinite(right) and right != 0 and not asked.passes(1.1 * right + 1)
    if topic.vary is not None:
        assert len({topic.asked(number).text for number in range(6)}) > 2


@by_topic
def test_no_answer_is_on_the_page_that_asks(step):
    """Neither in the headline nor in the notes, of the defaults and of what a visit begins with."""
    topic, values = step.topic, step.course.page.read({})[0]
    if topic.work is not None or topic.question.options:
        return
    right, texts = topic.question.right(), [step.course.texts(topic)["in 60 seconds"]]
    for more in ({}, topic.start):
        given = {**values, **more}
        if step.place.name == "what_epsilon_means":
            given["law"] = laws.closed_form(given["mechanism"], Privacy(given["epsilon"], given["delta"]))
        picture = topic.picture(given, palette(False))
        texts += [picture.headline, *picture.notes]
    shown = re.findall(r"\d+(?:\.\d+)?", " ".join(texts).replace("\u202f", ""))
    assert f"{right:.3g}" not in {f"{float(text):.3g}" for text in shown if "." in text or len(text) > 2}


def test_a_miss_brings_a_hint_and_the_solution_comes_on_demand():
    page = visit("mechanism_gallery", topic="randomised_response")
    asked = next(one.topic for one in path.steps() if one.topic.name == "randomised_response").question
    assert not page.success and asked.because() not in words(page)
    page = answer(page, "randomised_response", "60")
    assert asked.hint in words(page) and asked.because() not in words(page)
    page = answer(page, "randomised_response", "61")
    assert asked.hint not in words(page), "one hint, on the first miss"
    page.button(key="solution").click().run()
    assert "The answer is: 70.00 %" in words(page) and asked.because() in words(page)
    page = answer(page, "randomised_response", "70")
    assert page.success[0].value.startswith("Right.") and "1 of 1 questions solved" in words(page)
    assert page.query_params.keys() == {"topic"}, "an answer is nobody else's"


def test_nothing_is_judged_before_check():
    page = visit("mechanism_gallery", topic="randomised_response")
    number(page, "randomised_response_answer").set_value("70").run()
    assert not page.success and not page.warning
    page = visit("mechanism_gallery", topic="reconstruction")
    page.button(key="check").click().run()
    assert "Think first" in words(page)
    assert answer(page, "reconstruction", "2").success


def test_another_question_has_other_numbers_and_an_empty_box():
    page = answer(visit("what_epsilon_means", topic="worst-event"), "worst-event", "0.127")
    assert page.success
    before = words(page)
    page.button(key="another").click().run()
    assert words(page) != before and number(page, "worst-event_answer").value == "" and not page.success
    assert "standard deviation 1," not in words(page)


def test_the_score_is_that_of_the_whole_session():
    page = answer(visit("mechanism_gallery", topic="reconstruction"), "reconstruction", "2")
    page.selectbox(key="topic").set_value("additive_noise").run()
    assert "1 of 1 questions solved" in words(page)
    assert "1 of 2 questions solved" in words(answer(page, "additive_noise", "9"))


def test_an_answer_in_a_link_is_not_read():
    page = visit("mechanism_gallery", topic="reconstruction", reconstruction_answer="2")
    assert page.radio(key="reconstruction_answer").value == UNANSWERED and not page.success
