"""The control "Promise" of the page "Optimal noise" under AppTest, with the real core."""

from __future__ import annotations

import pytest
from screens import number, settle, until, visit, words

from dpcore.privacy import Privacy
from dpcore.privacy_profile import Composed, GaussianProfile, PairList
from dpcore.problem import noise_problem
from pages.optimal_noise import inputs


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ({"promise": "gdp"}, ("Any 1-GDP noise", "Below the curve at every ε′ ≥ 0", "curve kept | at every ε′")),
        ({"promise": "list"}, ("(0.5, 0.2), (1, 0.1), (2, 0.02)-DP", "keeps all 3 pairs", "pairs kept | 3 of 3")),
        (
            {"promise": "composed", "epsilon": "4", "delta": "1e-5", "releases": "4", "gap": "40"},
            ("for 4 releases that are (4, 10⁻⁵)-DP together", "An accountant that only rounds up", "δ of 4 releases"),
        ),
    ],
    ids=["gdp", "list", "composed"],
)
def test_every_promise_is_solved_drawn_and_proved(address, said):
    page = visit(**address)
    text = words(page)
    for part in said:
        assert part in text
    assert page.query_params["promise"] == address["promise"] or address["promise"] in page.query_params["promise"]


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ({"promise": "gdp", "mu": "9"}, "μ = 9"),
        ({"promise": "gdp", "support": "negative"}, "no limit on either side"),
        ({"promise": "gdp", "values": "whole"}, "granularity"),
        ({"promise": "list", "pairs": "1, 2, 3"}, "one pair a line"),
        ({"promise": "list", "pairs": "1, x"}, "δ = x"),
        ({"promise": "list", "pairs": "0,5; 0,2"}, "ε = 0,5: expected 0 or a number from 0.001 to 20; write 0.5"),
        ({"promise": "composed", "epsilon": "0.1", "delta": "1e-9", "releases": "100000"}, "leaves each release a mu"),
        ({"promise": "composed", "delta": "0"}, "δ = 0"),
    ],
    ids=str,
)
def test_bad_values_are_named(address, complaint):
    assert any(complaint in error.value for error in visit(**address).error)


def test_the_control_changes_what_is_asked_and_goes_into_the_link():
    page = visit()
    page.selectbox(key="promise").set_value("gdp")
    settle(page.run())
    number(page, "mu").set_value("2")
    assert "Any 2-GDP noise" in words(settle(page.run()))
    assert page.query_params["promise"] == "gdp" and page.query_params["mu"] == "2"
    page.button(key="step_2").click()
    assert "Any (1, 0.2)-DP noise" in words(settle(page.run()))


@pytest.mark.parametrize(
    "profile",
    [
        GaussianProfile(0.7),
        PairList((Privacy(0.5, 0.2), Privacy(2, 0.01))),
        Composed(12, Privacy(4, 1e-6)),
    ],
    ids=["gdp", "list", "composed"],
)
def test_a_problem_comes_back_from_its_controls(profile):
    anchor = profile.anchor
    problem = noise_problem(anchor.epsilon, anchor.delta, 2.0, "l2", profile=profile)
    values = inputs.HOME.read({})[0] | inputs.values_of(problem)
    assert inputs.read_problem(values) == problem


def test_the_price_of_a_whole_curve():
    page = until(visit(promise="gdp", mu="2", panel="Price of a constraint"), "the whole promise")
    assert "the whole promise, not just (2, " in words(page)
