"""The page "What ε and δ mean" under AppTest, with the real core; its pictures as pure functions."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from screens import ROOT, settle, words
from streamlit.testing.v1 import AppTest

from dpcore.accounting import attack
from dpcore.accounting.curves import group_privacy
from dpcore.accounting.tradeoff import gaussian_guarantee
from dpcore.noise import Laplace
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from pages.meaning import laws
from pages.meaning.controls import PAGE, PRESETS
from pages.meaning.panels import texts
from pages.meaning.topics import TOPICS, game
from pages.shared.charts import DARK, LIGHT
from pages.shared.lessons import UNANSWERED

NAMES = [topic.name for topic in TOPICS]


def visit(**address: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "pages/what_epsilon_means.py"), default_timeout=60)
    for key, value in address.items():
        page.query_params[key] = value
    return settle(page.run())


def headline(page: AppTest) -> str:
    found = next(block.value for block in page.markdown if "**" in block.value and "60 seconds" not in block.value)
    return found.replace("\u00a0", " ")


def law_of(key: str, privacy: Privacy) -> laws.Law:
    if key != "optimal":
        return laws.closed_form(key, privacy)
    return laws.Law("optimal", solve(laws.problem(privacy), laws.SETTINGS).noise, privacy)


# The page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", NAMES)
def test_every_topic_has_its_texts_and_is_drawn(topic):
    page = visit(topic=topic)
    assert not page.error and "In 60 seconds" in words(page)
    parts = texts(topic)
    assert len(parts["in 60 seconds"].split()) <= 120 and "Awan" in parts["theorem"] + parts["references"]
    assert page.title[0].value == next(one.title for one in TOPICS if one.name == topic)
    assert len([button for button in page.button if button.key.startswith("step_")]) == 3


@pytest.mark.parametrize("mechanism", list(laws.NAMES))
def test_every_mechanism(mechanism):
    page = visit(topic="tradeoff", mechanism=mechanism, epsilon="1", delta="0.1", alpha="0.05")
    assert not page.error
    missed = 100 * float(law_of(mechanism, Privacy(1.0, 0.1)).tight.tradeoff(0.05))
    shown = float(re.search(r"at least \*\*([\d.]+)", headline(page)).group(1))
    assert missed - 0.02 <= shown <= missed + 1e-9


def test_the_headline_has_the_published_delta():
    """Gaussian noise calibrated to (1, 0.1): at ε′ = ε the worst event's surplus is δ = 0.1."""
    assert headline(visit()).endswith("δ = **0.1**.")


def test_the_score_survives_reruns_and_links():
    page = visit(topic="game", mechanism="laplace", seed="3")
    for letter in "ABBA":
        page.button(key=f"guess_{letter}").click().run()
    assert page.query_params["guesses"] in ("ABBA", ["ABBA"])
    first = headline(page)
    page.selectbox(key="topic").set_value("posterior").run()
    page.selectbox(key="topic").set_value("game").run()
    assert headline(page) == first == headline(visit(topic="game", mechanism="laplace", seed="3", guesses="ABBA"))
    page.selectbox(key="mechanism").set_value("gaussian").run()
    assert "after" not in headline(page)  # another mechanism, a new game


@pytest.mark.parametrize("topic", TOPICS, ids=NAMES)
def test_questions_are_checked_by_computing(topic):
    asked = topic.question
    right = asked.right()
    assert asked.passes(right) and not asked.passes(right * 1.5 + 1)
    good = str(int(right) + 1) if asked.options else repr(right)
    page = visit(topic=topic.name, **{topic.answer: good})
    assert page.success and page.success[0].value.startswith("Right.") and asked.because() in page.success[0].value
    wrong = str((int(right) + 1) % len(asked.options) + 1) if asked.options else repr(2 * right + 1)
    page = visit(topic=topic.name, **{topic.answer: wrong})
    assert page.warning and "Not quite" in page.warning[0].value
    assert not visit(topic=topic.name, **({topic.answer: UNANSWERED} if asked.options else {})).success


def test_experiments_and_presets_are_valid_controls():
    for topic in TOPICS:
        for one in topic.experiments:
            for key, value in one.values.items():
                control = PAGE.controls[key]
                assert control.read(control.write(value)) == value
    for values in PRESETS.values():
        for key, value in values.items():
            assert PAGE.controls[key].read(PAGE.controls[key].write(value)) == value


def test_one_click_experiments_change_the_picture():
    page = visit(topic="renyi")
    before = headline(page)
    page.button(key="step_1").click().run()
    assert headline(settle(page)) != before
    page.button(key="turn_1").click().run()
    assert page.title[0].value == TOPICS[NAMES.index("renyi") + 1].title


def test_a_hostile_link_is_not_understood_but_noted():
    page = visit(topic="<script>", mechanism="x", epsilon="-1", delta="nan", guesses="ABC", seed="1e9", prior="2")
    assert not page.exception and page.selectbox(key="mechanism").value == "gaussian"
    assert "Not understood" in words(page)


# Pictures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", TOPICS, ids=NAMES)
@settings(max_examples=12)
@given(data=st.data())
def test_every_picture_bears_what_a_link_may_say(topic, data):
    values = {key: PAGE.default(key) for key in PAGE.controls}
    for key, control in topic.controls.items():
        if hasattr(control, "stops"):
            values[key] = data.draw(st.sampled_from(control.stops))
    epsilon = data.draw(st.sampled_from(PAGE.controls["epsilon"].stops))
    delta = data.draw(st.sampled_from(PAGE.controls["delta"].stops))
    key = data.draw(st.sampled_from([key for key in laws.NAMES if key != "optimal"]))
    law = laws.closed_form(key, Privacy(epsilon, delta))
    picture = topic.picture({**values, "law": law}, data.draw(st.sampled_from([LIGHT, DARK])))
    assert "nan" not in picture.headline and picture.panels[0].alt
    for panel in picture.panels:
        assert len({len(column) for column in panel.table.values()}) == 1
        assert panel.about in texts(topic.name)


@pytest.mark.parametrize("topic", TOPICS, ids=NAMES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.1), (5.0, 0.5), (0.1, 0.01)])
def test_pictures_of_solved_noise(topic, epsilon, delta):
    values = {key: PAGE.default(key) for key in PAGE.controls}
    picture = topic.picture({**values, "law": law_of("optimal", Privacy(epsilon, delta))}, LIGHT)
    assert "nan" not in picture.headline


def test_the_game_is_fair_and_its_machine_plays_by_likelihood():
    law = laws.closed_form("laplace", Privacy(1.0, 0.1))
    released, from_a = game.rounds(law.noise, 5, 2000)
    assert (game.rounds(law.noise, 5, 7)[0] == released[:7]).all()
    nearer = np.abs(released) < np.abs(released - 1)  # Laplace: the nearer answer is the likelier one
    assert game.machine(law.noise, released, from_a).sum() == (nearer == from_a).sum()
    share = (nearer == from_a).mean()
    assert share == pytest.approx(attack.success(law.noise, sensitivity=1.0), abs=4 * math.sqrt(0.25 / 2000))


def test_numbers_of_the_pictures_are_the_cores():
    values = {key: PAGE.default(key) for key in PAGE.controls}
    law = laws.closed_form("truncated-laplace", Privacy(1.0, 0.01))
    topics = dict(zip(NAMES, TOPICS))
    text = topics["groups"].picture({**values, "law": law, "size": 3}, LIGHT).headline
    assert f"{group_privacy(law.privacy, 3)[1]:.4f}"[:5] in text
    assert "none" in topics["renyi"].picture({**values, "law": law}, LIGHT).headline
    mu = gaussian_guarantee(Laplace(1.0), sensitivity=1.0).mu
    laplace = laws.closed_form("laplace", Privacy(1.0, 0.1))
    assert f"{mu:.3f}" in topics["tradeoff"].picture({**values, "law": laplace}, LIGHT).headline
