"""The topic on DP-SGD that trains: its ε by other accounts, accuracies in their order, live looks, Stop."""

from __future__ import annotations

import re

import pytest
from screens import ROOT, settle, words
from streamlit.testing.v1 import AppTest

from dpcore.accounting.dpsgd import Training
from dpcore.figures import LIGHT
from pages.composition import work
from pages.composition.controls import PAGE
from pages.composition.topics import training_run
from service import configuration

VALUES = {key: PAGE.default(key) for key in PAGE.controls}
ASKED = work.Learning(0.1, 3.0, 0.1, 200, 1e-5, 4)


@pytest.fixture(scope="module")
def learnt() -> tuple[work.Learnt, list]:
    told: list = []
    return work.learn(ASKED, None, progress=lambda one: told.append(one)), told


def test_epsilon_is_what_other_accountants_say(learnt):
    """Within the finer interval of `Training`, and of dp_accounting's privacy-loss distributions."""
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    last = learnt[0].of("chosen")[-1]
    band = Training(0.1, 3.0, 200).epsilon(1e-5)
    assert last.least <= band.lower <= band.upper <= last.most <= 1.002 * band.upper
    accountant = PLDAccountant(value_discretization_interval=1e-3)
    step = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(3.0))
    accountant.compose(dp_event.SelfComposedDpEvent(step, 200))
    assert last.least <= accountant.get_epsilon(1e-5) <= 1.01 * last.most


def test_less_privacy_learns_more(learnt):
    """Accuracy rises with ε, and no privacy is best; every target is kept."""
    ends = [learnt[0].of(name)[-1] for name in ("0.5", "1", "4", "free")]
    assert [one.step for one in ends] == [200] * 4
    shares = [one.mean for one in ends]
    assert shares == sorted(shares) and shares[0] > 0.6 and shares[-1] > 0.8
    assert all(one.most <= float(one.name) for one in ends[:-1])
    assert all(one.low <= one.mean <= one.high for one in learnt[0].looks)


def test_looks_come_while_it_trains(learnt):
    found, told = learnt
    looks = [one for one in told if isinstance(one, work.Look)]
    assert tuple(looks) == found.looks and len(told) > len(looks) > 30
    early = training_run.so_far(looks[:4])
    picture = training_run.picture({**VALUES, "dr_steps": 200, "found": early}, LIGHT)
    assert "of 200 steps" in picture.headline and "no privacy" not in picture.headline
    assert training_run.so_far(looks[:1]) is None


def test_the_headline_is_what_was_found(learnt):
    found = learnt[0]
    picture = training_run.picture({**VALUES, "dr_steps": 200, "dr_noise": 3.0, "found": found}, LIGHT)
    numbers = [float(one) for one in re.findall(r"(\d+\.\d)\u202f%", picture.headline)]
    ends = [found.of(name)[-1].mean for name in ("chosen", "0.5", "1", "4", "free")]
    assert numbers == [round(100 * one, 1) for one in ends]
    promised = float(re.search(r"\(\*\*([\d.]+)\*\*", picture.headline).group(1))
    assert found.of("chosen")[-1].most <= promised <= 1.01 * found.of("chosen")[-1].most


def test_it_stops_with_what_it_has_and_keeps_only_what_is_whole():
    asked = work.Learning(0.1, 3.0, 0.1, 150, 1e-5, 9, targets=(), runs=1)
    told: list = []
    found = work.learn(asked, None, progress=lambda one: told.append(one) or len(told) > 5)
    assert len(told) == 6 and 0 < len(found.looks) <= 6
    whole = work.learn(asked, None, progress=lambda _: False)
    assert whole.of("free")[-1].step == 150
    if configuration.current().store is not None:
        assert work.learn(asked, None, progress=lambda _: pytest.fail("it was kept")) == whole


def test_the_question_by_its_own_words():
    """σC/(qn): the text's own numbers."""
    for number in range(4):
        asked = training_run.TOPIC.asked(number)
        people = float(re.sub(r"\s", "", re.match(r"[\d\s\u202f]+", asked.text).group()))
        rate, clip, noise = (float(re.search(f"{sign} = (\\d*\\.?\\d+)", asked.text).group(1)) for sign in "qCσ")
        assert asked.right() == pytest.approx(noise * clip / (rate * people))


def test_the_page_trains():
    page = AppTest.from_file(str(ROOT / "pages/composition/page.py"), default_timeout=60)
    for key, value in {"topic": "training_run", "dr_steps": "50", "dr_rate": "0.05"}.items():
        page.query_params[key] = value
    text = words(settle(page.run()))
    assert "After 50 steps with σ = 4" in text and "Poisson" in text
