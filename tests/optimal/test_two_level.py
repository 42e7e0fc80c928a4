"""The closed lower bound for large ε: its dual function, its place below every law, its distance from the optimum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import log_floats

from dpcore.loss import parse_loss
from dpcore.mechanisms import baselines
from dpcore.optimal import solve
from dpcore.optimal.two_level import two_level_lower
from dpcore.problem import SolverSettings, noise_problem

GROWING = ["l1", "l2", "lp:1.5", "lp:3", "huber:0.5", "exceed:0.3", "asym:2:2"]


@given(st.floats(0.5, 20), log_floats(1e-12, 0.9), log_floats(1e-2, 1e2), st.sampled_from(GROWING))
def test_no_textbook_law_costs_less(epsilon, delta, sensitivity, loss):
    problem = noise_problem(epsilon, delta, sensitivity, loss)
    lower = two_level_lower(problem)
    assert 0 <= lower
    for entry in baselines(problem):
        if entry.valid and entry.loss is not None:
            assert lower <= entry.loss * (1 + 1e-9), entry.name  # 1e-9: closed forms of textbook losses round


@given(st.floats(1, 20), log_floats(1e-12, 0.99), log_floats(1e-3, 1e3))
def test_absolute_error_has_a_formula(epsilon, delta, sensitivity):
    formula = (1 - delta) * sensitivity / (1 + math.sqrt(1 + math.exp(epsilon)))
    lower = two_level_lower(noise_problem(epsilon, delta, sensitivity))
    assert formula * (1 - 1e-8) <= lower <= formula


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 6.0, 8.0])
def test_the_dual_function_is_feasible(epsilon):
    """D(x) = |x| + Y(x) − E (π∗Y)(x) ≥ g for the π of the proof, integrated numerically."""
    E = math.exp(epsilon)
    g = 1 / (1 + math.sqrt(1 + E))
    phi = np.linspace(2 * g, 1, 20001)
    density = (phi - g) / (E * g * g)
    total = 2 * np.trapezoid(density, phi)
    assert total == pytest.approx(1, rel=1e-7)
    for x in np.concatenate([np.linspace(0, 1.5, 301), g * np.linspace(0.9, 3.5, 60)]):
        cover = np.trapezoid(density * np.maximum(0, g - abs(x - phi)), phi)
        value = x + max(0.0, g - x) - E * cover
        assert value >= g * (1 - 1e-3)  # steps of 1/20000 against a peak of 2g > 1/50: a thousandth, squared, and kinks


@pytest.mark.parametrize(("epsilon", "delta"), [(14, 0.3), (16, 0.2), (18, 1e-6), (20, 0.9)])
def test_bracket_closes_where_lattices_cannot_follow(epsilon, delta):
    """(1 + e^(−ε/2)) is the ratio of the two closed forms."""
    certificate = solve(noise_problem(epsilon, delta), SolverSettings(time_limit=5)).certificate
    assert certificate.gap <= 1e-3


def test_other_losses_get_nothing():
    assert two_level_lower(noise_problem(10, 0.1, 1, "pinball:0.8")) == 0
    assert two_level_lower(noise_problem(10, 0.1, 1, parse_loss("table:-2=1,-1=0,0=1,1=0,2=1"))) == 0
