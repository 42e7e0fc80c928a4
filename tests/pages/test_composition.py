"""The page "Composition" under AppTest, with the real core; its pictures as pure functions."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import laplace, norm
from screens import ROOT, settle, words
from streamlit.testing.v1 import AppTest

from dpcore.accounting.budget import Query
from dpcore.errors import InputError
from dpcore.figures import DARK, LIGHT, Palette
from pages.composition.controls import COURSE, PAGE, PRESETS
from pages.composition.topics import TOPICS, budget, growth, subsampling, training
from pages.lessons.topic import Picture

BY_NAME = {topic.name: topic for topic in TOPICS}


def visit(**address: str) -> AppTest:
    page = AppTest.from_file(str(ROOT / "pages/composition/page.py"), default_timeout=60)
    for key, value in address.items():
        page.query_params[key] = value
    return settle(page.run())


def headline(page: AppTest) -> str:
    found = next(block.value for block in page.markdown if "**" in block.value and "60 seconds" not in block.value)
    return found.replace("\u00a0", " ")


def drawn(topic: str, /, colours: Palette = LIGHT, **values: object) -> Picture:
    """The picture, with what is worked out in the background worked out here."""
    known, work = {**{key: PAGE.default(key) for key in PAGE.controls}, **values}, BY_NAME[topic].work
    if work is not None:
        asked = work.asked(known)
        if topic == "training_run":  # the other trainings take seconds
            asked = replace(asked, targets=(), runs=1)
        known["found"] = work.task(asked, None, progress=lambda _: False)
    return BY_NAME[topic].picture(known, colours)


SHORT = {"training_run": {"dr_steps": "50"}}
"""Topic → its controls where the default ones train for long."""


@pytest.mark.parametrize("topic", list(BY_NAME))
def test_every_topic_has_its_texts_and_is_drawn(topic):
    page = visit(topic=topic, **SHORT.get(topic, {}))
    assert not page.error and "In 60 seconds" in words(page)
    parts = COURSE.texts(BY_NAME[topic])
    assert len(parts["in 60 seconds"].split()) <= 120 and "Awan" in parts["references"]
    assert page.title[0].value == BY_NAME[topic].numbered
    assert len([button for button in page.button if str(button.key).startswith("step_")]) == 3


def test_the_published_example_is_the_first_screen():
    """Of a link that names no values; a visit without any begins with small steps, which show why √k."""
    assert headline(visit(topic="growth")).startswith(
        "100 uses of Laplace noise, ε = 1 each, cost ε = **68.3** at δ = 10⁻⁵. Adding up says **100**"
    )
    assert headline(visit()).startswith("100 uses of Laplace noise, ε = 0.1 each, cost ε = **4.22")


@pytest.mark.parametrize("mechanism", list(growth.MECHANISMS))
def test_every_mechanism_grows(mechanism):
    picture = drawn("growth", co_mechanism=mechanism, co_epsilon=0.3, co_count=40, co_each=1e-9)
    table = picture.panels[0].table
    exact = [float(text.replace("\u202f", "")) for text in table["exact, at most"] if text != "nothing"]
    assert exact == sorted(exact) and len(exact) >= 8
    for name in ("basic", "optimal (ε, δ)"):
        for text, low in zip(table[name], table["exact, at least"]):
            assert text == "nothing" or float(text.replace("\u202f", "")) >= float(low.replace("\u202f", ""))


@pytest.mark.parametrize("axes", ["linear", "log", "each"])
def test_every_axis_holds_the_exact_curve(axes):
    figure = drawn("growth", co_axes=axes, co_epsilon=0.1).panels[0].figure
    curve = next(line for line in figure.data if line.name == "exact, certified")
    low, high = figure.layout.yaxis.range
    values = [math.log10(y) if axes == "log" else y for y in curve.y]
    assert low <= min(values) and max(values) <= high


@settings(max_examples=settings.default.max_examples // 5)
@given(st.data())
def test_pictures_bear_whatever_a_link_may_say(data):
    topic = data.draw(st.sampled_from(TOPICS))
    values = {key: PAGE.default(key) for key in PAGE.controls}
    for key, control in topic.controls.items():
        if hasattr(control, "stops"):
            values[key] = data.draw(st.sampled_from(control.stops))
        elif hasattr(control, "options"):
            values[key] = data.draw(st.sampled_from(list(control.options)))
            if isinstance(PAGE.default(key), list):
                values[key] = [values[key]]
    picture = drawn(topic.name, DARK, **values)
    assert re.search(r"\*\*.+\*\*", picture.headline) and picture.panels[0].alt and picture.panels[0].table
    assert all("nan" not in panel.alt for panel in picture.panels)


@pytest.mark.parametrize("topic", list(BY_NAME))
def test_experiments_and_presets_are_controls(topic):
    for one in BY_NAME[topic].experiments:
        drawn(topic, **one.values)
    for values in PRESETS.values():
        for key, value in values.items():
            assert PAGE.controls[key].read(PAGE.controls[key].write(value)) == value


def test_the_question_about_counting_queries_is_certified():
    from dpcore.accounting.mechanisms import Release, parse_mechanism
    from dpcore.accounting.truth import Truth

    for each, delta, slack in ((0.01, 1e-6, 5), (0.02, 1e-5, 2)):
        fits = growth.fitting(each, delta)
        release = Release(parse_mechanism(f"laplace:epsilon={each}"))
        assert Truth((release,), times=600).epsilon(delta, times=fits).upper <= 1.0
        assert Truth((release,), times=600).epsilon(delta, times=fits + slack).lower > 1.0


# The budget -------------------------------------------------------------------------------------------


def test_a_budget_in_the_link():
    page = visit(topic="budget", bu_queries="a:1:3:1;b:2:1:2", bu_epsilon="2", bu_family="gaussian")
    assert "4 releases within ε = **2**" in headline(page) and not page.error


@pytest.mark.parametrize("text", ["", "a", "a:1:1", "a:0:1:1", "a:1:0.5:1", "[x](y):1:1:1", ";".join(["a:1:1:1"] * 30)])
def test_budgets_that_are_none_fall_back(text):
    page = visit(topic="budget", bu_queries=text)
    assert not page.exception and (text == "" or "Not understood" in words(page))


def test_changes_of_the_table():
    rows = [dict(zip(budget.COLUMNS, ("a", 1.0, 1, 1.0))), dict(zip(budget.COLUMNS, ("b", 2.0, 5, 1.0)))]
    changes = {"edited_rows": {0: {"uses": 7}}, "added_rows": [{"query": "c", "weight": 3.0}], "deleted_rows": [1]}
    assert budget.changed(rows, changes) == [Query("a", 1.0, 7, 1.0), Query("c", 1.0, 1, 3.0)]
    with pytest.raises(InputError):
        budget.changed(rows, {"edited_rows": {0: {"uses": None}}, "added_rows": [], "deleted_rows": []})
    with pytest.raises(InputError):
        budget.changed(rows, {"edited_rows": {}, "added_rows": [], "deleted_rows": [0, 1]})
    assert budget.plain("<b>[x](y)</b>") == "bx(y)/b"


MANY = ";".join(f"q{n}:{1 + n}:{10 + 37 * n}:{1 + n / 10:g}" for n in range(20))
"""A budget that takes longer than a page waits."""


def test_while_a_picture_is_worked_out_the_one_before_stays():
    page = visit(topic="budget", bu_family="gaussian", bu_queries="a:1:3:1")
    before = headline(page)
    page.session_state["bu_queries"] = MANY
    page.run()
    assert before not in words(page) and "that of the values before" in words(page)
    assert any(panel.value == "Error of each query" for panel in page.header)
    assert "7230 releases" in headline(settle(page)) and "before" not in words(page)


def test_working_out_can_be_stopped_and_begun_again():
    page = AppTest.from_file(str(ROOT / "pages/composition/page.py"), default_timeout=60)
    page.query_params.update({"topic": "budget", "bu_family": "gaussian", "bu_epsilon": "2", "bu_queries": MANY})
    page.run()
    assert "Working it out" in words(page) and "In 60 seconds" in words(page)
    page.button(key="stop").click().run()
    page.run()
    assert "Stopped before there was an answer" in words(page)
    page.button(key="again").click().run()
    assert "Working it out" in words(page) and page.button(key="stop")


def test_the_central_limit_goes_on_to_the_last_mark():
    """The normal law of 1000 Laplace losses: mean and variance by integration, ε by normal distribution functions."""
    loss = lambda y: min(max(1 - 2 * y, -1.0), 1.0)  # noqa: E731
    moment = lambda power: quad(lambda y: loss(y) ** power * laplace.pdf(y), -40, 40, points=[0, 1])[0]  # noqa: E731
    mu = 2 * math.sqrt(1000 / (moment(2) - moment(1) ** 2)) * moment(1)

    def excess(epsilon: float) -> float:
        """ln of Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), and of 1/δ."""
        own, other = norm.logcdf(mu / 2 - epsilon / mu), epsilon + norm.logcdf(-mu / 2 - epsilon / mu)
        return own + math.log(-math.expm1(other - own)) - math.log(1e-5)

    for epsilon in (1.0, 5.0):
        lines = {trace.name: trace for trace in drawn("growth", co_epsilon=epsilon).panels[0].figure.data}
        line = lines["central limit (estimate)"]
        assert None not in line.y and line.x[-1] == 1000 and line.y[-1] > 1.1 * line.y[-2]
        if epsilon == 1.0:
            assert line.y[-1] == pytest.approx(brentq(excess, 1, 5000), rel=1e-2)


# Samples and training ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "rate", "delta"), [(2.0, 0.1, 1e-3), (1.0, 0.5, 1e-4)])
def test_both_directions_are_shown(epsilon, rate, delta):
    """Laplace noise on a Poisson sample: the mixture against one world, and the world against the mixture, by sums."""
    text = drawn("subsampling", su_mechanism="laplace", su_epsilon=epsilon, su_rate=rate, delta=delta).headline
    cells = np.arange(-30, 31, 1e-4)
    p, q = (np.diff(laplace.cdf((cells - answer) * epsilon)) for answer in (0, 1))
    mixed = (1 - rate) * q + rate * p
    for words_, own, other in (("a person is removed", mixed, q), ("one is added", q, mixed)):
        shown = float(re.search(rf"\*\*([\d.]+)\*\* if {words_}", text)[1])
        excess = lambda e, own=own, other=other: float(np.maximum(own - math.exp(e) * other, 0).sum())  # noqa: E731
        assert shown == pytest.approx(brentq(lambda e, excess=excess: excess(e) - delta, 0, 10), rel=1e-2)


def test_exact_amplification_is_below_the_formula():
    for rate in (0.01, 0.1, 0.5, 1.0):
        found = subsampling.exact("laplace:epsilon=1", "poisson", rate, 1e-6)
        assert max(found.values()) <= math.log1p(rate * (math.e - 1)) * (1 + 1e-9)


def test_training_headline_is_within_one_per_cent_of_dp_accounting():
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant()
    accountant.compose(dp_event.PoissonSampledDpEvent(256 / 60_000, dp_event.GaussianDpEvent(1.1)), 14_063)
    shown = float(re.search(r"training is \(\*\*([\d.]+)", drawn("training").headline).group(1))
    assert abs(shown - accountant.get_epsilon(1e-5)) < 0.01 * shown


def test_the_noise_for_a_target_is_found():
    page = visit(topic="training", tr_people="1000", tr_batch="128", tr_epochs="5", tr_target="3")
    told = re.search(r"σ = \*\*([\d.]+)\*\* makes it \(3, 10⁻⁵\)-DP, certified", words(page))
    made = training.training(
        {**{key: PAGE.default(key) for key in PAGE.controls}, "tr_people": 1000, "tr_batch": 128, "tr_epochs": 5}
    )
    assert type(made)(made.rate, float(told.group(1)), made.steps).epsilon(1e-5).upper <= 3


def test_nonsense_in_the_link():
    page = visit(topic="x", co_count="7.5", delta="2", co_rules="a,b", tr_noise="inf", su_rate="-1", bu_queries="%%%")
    assert not page.exception and "Not understood" in words(page) and "68.3" in headline(page)
