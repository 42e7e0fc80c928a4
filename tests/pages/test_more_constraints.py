"""The second loss and the second pair of the page "Optimal noise" under AppTest, with the real core."""

from __future__ import annotations

import json

import pytest
from screens import bounds, number, settle, until, visit, words

from dpcore import export
from dpcore.loss import parse_loss
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ({"budget": "exceed", "budget_threshold": "1", "budget_most": "0.35"}, "P(error beyond 1) ≤ 0.35"),
        ({"budget": "l2", "budget_most": "0.6"}, "mean squared error ≤ 0.6"),
        ({"budget": "other", "budget_text": "asym:1:3", "budget_most": "1.05"}, "mean asymmetric loss (1:3) ≤ 1.05"),
        ({"second_epsilon": "3", "second_delta": "0.001"}, "(1, 0.2)- and (3, 10⁻³)-DP noise"),
        ({"second_epsilon": "4", "second_delta": "0"}, "(1, 0.2)- and (4, 0)-DP noise"),
    ],
    ids=str,
)
def test_every_constraint_is_solved_and_named(address, word):
    page = visit(**address)
    assert word in words(page)
    lower, upper = bounds(page)
    assert 0.55 <= lower <= upper <= 0.62


def test_the_certificate_names_what_the_law_spends():
    page = visit(budget="l2", budget_most="0.6", second_epsilon="3", second_delta="0.01")
    text = words(page)
    assert "second loss of this noise | at most" in text
    assert "δ of this noise at ε = 3 | at most" in text


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ({"budget": "exceed", "budget_threshold": "-1", "budget_most": "0.35"}, "budget threshold = −1"),
        ({"budget": "other", "budget_text": "nonsense", "budget_most": "1"}, "budget loss = nonsense"),
        ({"budget": "l2", "budget_most": "-1"}, "second loss = −1"),
        ({"budget": "l2", "budget_most": "0.1"}, "second loss = 0.1: expected at least 0.5"),
        ({"second_epsilon": "3"}, "second delta = nothing"),
        ({"second_epsilon": "3", "second_delta": "0", "support": "positive"}, "no release may exclude a neighbour"),
        ({"second_epsilon": "70", "second_delta": "0.1"}, "second epsilon = 70"),
    ],
    ids=str,
)
def test_bad_values_are_named(address, complaint):
    page = visit(**address)
    assert any(complaint in error.value for error in page.error)


def test_kappa_0_says_what_it_buys_and_costs():
    page = visit(second_epsilon="2", second_delta="0", panel="Price of a constraint", gap="0.5")
    text = words(page)
    assert "no release ever excludes a neighbour; at worst it is e^2 ≈ 7.39 times as probable" in text
    assert page.query_params["second_delta"] == "0"
    until(page, "(2, 0)-DP too")


def test_a_limit_left_empty_is_no_limit():
    page = visit(budget="l2")
    assert "≤" not in words(page).split("DP noise")[1][:40]
    number(page, "budget_most").set_value("0.6")
    assert "mean squared error ≤ 0.6" in words(settle(page.run()))
    assert page.query_params["budget"] == "l2"


def test_the_price_of_a_second_pair():
    page = visit(second_epsilon="3", second_delta="0.001", panel="Price of a constraint", gap="0.5")
    until(page, "(3, 10⁻³)-DP too")


def test_a_solution_brings_its_constraints_back():
    """What `restore` writes is what `read_problem` reads."""
    problem = noise_problem(1, 0.1, budget=Budget(parse_loss("asym:1:3"), 2.0), second=Privacy(3, 0.01))
    data = export.solution_to_dict(solve(problem, SolverSettings(gap=0.05, time_limit=2)))
    loaded = export.solution_from_dict(json.loads(json.dumps(data)))
    from pages.optimal_noise import inputs

    values = inputs._extra_values(loaded.problem)
    assert values == {
        "budget": "other", "budget_text": "asym:1:3", "budget_most": 2.0, "second_epsilon": 3.0, "second_delta": 0.01,
    }  # fmt: skip
    assert values.keys() <= inputs.HOME.controls.keys()
