"""Staircases near an end of the support: lower bounds by multipliers, against laws and linear programs."""

import random
from dataclasses import replace

import numpy as np
import pytest

from dpcore import audit
from dpcore.loss import parse_loss
from dpcore.optimal import laws
from dpcore.optimal.cut import Cut
from dpcore.optimal.near_end import near_end_lower
from dpcore.optimal.peak import Slices
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem

INFINITY = float("inf")


def bracket(epsilon: float, delta: float, spec: str, support: tuple[float, float], gap: float) -> tuple[float, float]:
    problem = NoiseProblem(Privacy(epsilon, delta), 1.0, parse_loss(spec), support=support)
    family = Cut.of(problem)
    ends = family.best(laws.best_staircase(replace(problem, support=(-INFINITY, INFINITY))))
    assert ends is not None
    noise = family.law(*ends)
    assert audit.shortfall_upper(noise, epsilon)[0] <= delta
    upper = audit.loss_upper(noise, problem.loss)
    left, right = (family.origin + float(end) for end in ends)
    return near_end_lower(problem, (left, right), lambda bound: upper <= bound * (1 + gap)), upper


def test_closed_forms_meet() -> None:
    lower, upper = bracket(9.86, 1.26e-8, "asym:1:1.42", (-0.183, INFINITY), 2e-3)
    assert lower <= upper <= lower * 1.002


def test_a_top_step_may_be_narrower_than_any_lattice_shows() -> None:
    lower, upper = bracket(14.1, 2.27e-9, "asym:1.45:1", (-0.324, INFINITY), 1e-3)
    assert lower <= upper <= lower * 1.001


def test_a_mirrored_problem_has_the_same_bound() -> None:
    one = bracket(5.33, 9.51e-5, "pinball:0.86", (-0.1861, INFINITY), 1e-2)
    other = bracket(5.33, 9.51e-5, "pinball:0.14", (-INFINITY, 0.1861), 1e-2)
    assert one == pytest.approx(other, rel=1e-9)
    assert one[0] <= one[1] <= one[0] * 1.01


def test_never_above_a_law() -> None:
    rng = random.Random(11)
    found = 0
    for _ in range(8):
        epsilon, delta = rng.uniform(4, 10), 10 ** rng.uniform(-9, -2)
        spec = rng.choice(("l1", "l2", "asym:1:4", "huber:0.5"))
        lower, upper = bracket(epsilon, delta, spec, (-rng.choice((0.0, 0.2, 0.7)), INFINITY), 1.0)
        assert lower <= upper
        found += lower > 0.5 * upper
    assert found >= 3


def test_slices_hand_on_what_they_say() -> None:
    """Multipliers of slices take no more than the supply, and what they hand on and leave is the demand at least."""
    rng = np.random.default_rng(2)
    for stride in (1, 4):
        supply = np.concatenate([rng.random(30), np.zeros(7), rng.random(30)]) * 0.1
        demand = np.array([0.1, 0.3, 0.6, 0.7, 0.4, 0.2, 0.1])
        slices = Slices(supply.copy(), 30, demand.copy(), 3, 20, 1e-9, stride=stride)
        far, nodes, weights = slices.terms()
        taken = np.bincount(nodes + far, weights, len(supply))
        handed = np.bincount(nodes - 30, weights, 7)
        assert np.all(taken <= supply + 1e-12)
        assert np.all(handed + slices.rest >= demand - 1e-6)
        assert np.all((far + 20) % stride == 0)
        assert slices.supply == pytest.approx(supply - taken)
