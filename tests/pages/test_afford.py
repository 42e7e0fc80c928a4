"""From an error to ε: the answers by other routes, and the panel of Optimal noise."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from screens import controls, number, read, settle, until, visit, words

from dpcore.inversion import OPTIMAL, Inversion
from dpcore.loss import exceedance
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings, noise_problem
from pages.optimal_noise import afford, work
from pages.optimal_noise.inputs import HOME, read_problem


def answers(width: float, **problem) -> dict[str, Inversion]:
    asked = work.Afforded(noise_problem(1, 1e-6, **problem), width)
    return {one.mechanism: one for one in work.afford(asked, None, lambda _: False)}


def test_laplace_and_the_geometric_law_by_their_tails():
    assert answers(5.0)["laplace"].epsilon_upper == pytest.approx(math.log(20) / 5, rel=1e-9)
    ratio = math.exp(-answers(5.0, granularity=1)["geometric"].epsilon_upper)
    assert 2 * ratio**6 / (1 + ratio) == pytest.approx(0.05, rel=1e-6)  # P(|X| ≥ 6)


def test_the_best_possible_noise_keeps_the_error_at_the_one_end_and_none_does_at_the_other():
    one = answers(2.0)[OPTIMAL]
    for epsilon, kept in ((one.epsilon_upper, True), (one.epsilon_lower, False)):
        problem = noise_problem(epsilon, 1e-6, 1, "exceed:2")
        proof = solve(problem, SolverSettings(gap=0.002, time_limit=10)).certificate
        assert (proof.upper <= 0.05 * (1 + 1e-3)) if kept else proof.upper > 0.05 * (1 - 1e-3)


@pytest.mark.parametrize("epsilon", [0.5991464547107981, 1.0, 0.012345678, 19.999])
def test_what_is_taken_is_rounded_up(epsilon):
    taken = afford.taken(epsilon)
    assert epsilon * (1 - 1e-11) <= taken <= epsilon * 1.001 and len(f"{taken:g}".replace(".", "").lstrip("0")) <= 4


def test_what_is_taken_keeps_the_error():
    asked = work.Afforded(noise_problem(1, 1e-6), 2.0)
    for one in work.afford(asked, None, lambda _: False):
        values = HOME.read({})[0] | {"delta": 1e-6} | afford.settings(one)
        problem = read_problem(values)
        assert problem.privacy == Privacy(afford.taken(one.epsilon_upper), 1e-6)
        assert (problem.loss == exceedance(2.0)) == (one.mechanism == OPTIMAL)
    assert replace(asked, width=3.0).asked.loss == exceedance(3.0)


def test_the_page_answers_and_takes_the_answer():
    page = until(visit(delta="1e-6", afford="5"), "best possible noise: ε between")
    assert "Laplace: ε = **0.600**" in words(page)
    assert page.query_params["afford"] == "5"
    page.button(key="take_laplace").click()
    settle(page.run())
    assert page.query_params["epsilon"] == "0.5992"
    assert "within **±5.00 people**" in words(page)


def test_what_is_no_error_is_said_under_its_field():
    page = visit(delta="1e-6", afford="-1")
    assert "error you can afford = −1" in read(words(page))
    number(page, "afford").set_value("")
    settle(page.run())
    assert "Within ±" not in words(page)


def test_a_whole_curve_has_no_such_question():
    assert "For one pair (ε, δ)" in words(visit(promise="gdp", mu="2", afford="3"))


def test_more_is_unfolded_where_it_says_something():
    def unfolded(**address: str) -> bool:
        (fold,) = [one for one in visit(**address).sidebar.expander if one.label.startswith("More")]
        return fold.proto.expanded

    assert not unfolded(epsilon="2", gap="0.1", seconds="10") and unfolded(monotone="true", gap="0.1", seconds="10")
    assert {"symmetric", "promise", "method"} <= controls(visit().sidebar, "toggle", "selectbox", "radio")
