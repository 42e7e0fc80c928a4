"""Staircases near an end of the support: lower bounds by multipliers, against laws and linear programs."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from dpcore import audit
from dpcore.loss import parse_loss
from dpcore.optimal import laws, near_end
from dpcore.optimal.cut import Cut
from dpcore.optimal.near_end import EndLattice, NearEnd, near_end_bounds
from dpcore.optimal.peak import Slices
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, noise_problem

INFINITY = float("inf")


def near_end_lower(*given, **known) -> float:
    return max(near_end_bounds(*given, **known), default=0.0)


def bracket(epsilon: float, delta: float, spec: str, support: tuple[float, float], gap: float) -> tuple[float, float]:
    problem = NoiseProblem(Privacy(epsilon, delta), 1.0, parse_loss(spec), support=support)
    family = Cut.of(problem)
    ends = family.best(laws.best_staircase(replace(problem, support=(-INFINITY, INFINITY))))
    assert ends is not None
    family, ends = family.narrowed(*ends)
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


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support"),
    [  # handed on by whole sensitivities alone 1.9, .83 and 2.6 % remain
        (7.14, 9.01e-8, "pinball:0.21", (-0.2432, 15.07)),
        (8.29, 1.72e-9, "l2", (-5.976, 1.448)),
        (15.7, 3.55e-9, "lp:3.55", (-3.904, 1.782)),
    ],
)
def test_demand_is_spread_over_the_period_before_the_top_step(
    epsilon: float, delta: float, spec: str, support: tuple[float, float]
) -> None:
    lower, upper = bracket(epsilon, delta, spec, support, 1.5e-3)
    assert lower <= upper <= lower * 1.0015


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support", "gap"),
    [  # from an end to the top step 1.11 (the first also from the right), 1.02 and 2.46 sensitivities
        (20, 1.72e-7, "l1", (-3.294, 1.118), 2.5e-3),
        (20, 1.72e-7, "l1", (-1.118, 3.294), 2.5e-3),
        (14, 3e-5, "pinball:0.4", (-1.03, INFINITY), 2e-3),
        (13, 1e-10, "huber:0.1", (-2.47, 5.0), 3e-3),
    ],
)
def test_a_top_step_may_stand_between_whole_sensitivities(
    epsilon: float, delta: float, spec: str, support: tuple[float, float], gap: float
) -> None:
    lower, upper = bracket(epsilon, delta, spec, support, 1e-3)
    assert lower <= upper <= lower * (1 + gap)


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec", "support"),
    [(8.23, 2.61e-9, "pinball:0.039", (-2.447, 13.76)), (8.23, 2.61e-9, "pinball:0.961", (-13.76, 2.6))],
)
def test_what_the_end_takes_anyway_costs_nothing(
    epsilon: float, delta: float, spec: str, support: tuple[float, float]
) -> None:
    """.14 % remain where nodes of the period before the top step take no more than what all of them may."""
    lower, upper = bracket(epsilon, delta, spec, support, 5e-4)
    assert lower <= upper <= lower * 1.0008


def test_what_is_too_much_for_nodes_later_ones_take() -> None:
    room = np.array([2.0, -1.0, 0.5, 3.0, -1.0])
    left = near_end._left_of(room)
    assert left.tolist() == [2.0, 0.0, 0.0, 2.5, 0.0]
    assert near_end._tail_means(np.array([1.0, 2.0, 6.0])).tolist() == [3.0, 4.0, 6.0]


def test_less_demand_goes_where_one_step_more_leads_to_the_end() -> None:
    """All of T's demand arrives, at most e^−ε of the cap in the first part of the period before T, so that no node next
    to the end is asked for more than the cap allows."""
    lattice = EndLattice.of(parse_loss("l1"), 1.0, 1000, -1.2, 1)
    unit = NearEnd(lattice, 14.0, 0.01, None).unit
    end = NearEnd(lattice, 14.0, 0.01, 1.001 * unit)
    assert end.met
    end._hand_on()
    assert end.left[:1000].max() <= 1.001 * unit * (1 + 1e-9)
    assert 0 < end.left[1000:1189].max() <= math.exp(-14) * 1.001 * unit


@pytest.mark.parametrize("demand", [np.linspace(1, 0, 97), np.sin(np.linspace(0, 3, 97)), np.linspace(0, 1, 97)])
def test_what_is_spread_arrives(demand: np.ndarray) -> None:
    """All demand leaves its node to the right, by a sensitivity to the left at most, and no node is asked for more than
    the largest mean over an end of the period, up to the width of a block."""
    lattice = EndLattice(np.ones(5 * 97), 97, 2)
    end = NearEnd(lattice, 9.0, 1.0, 0.0)
    end._need = np.zeros(5 * 97)
    taken = end._on(97, demand)
    far, nodes, weights = (np.concatenate(x) for x in zip(*end.spread)) if end.spread else (np.zeros(0, int),) * 3
    handed = np.bincount(nodes, weights, 5 * 97)[97 : 2 * 97] + end.left[97 : 2 * 97]
    assert handed == pytest.approx(demand)
    assert taken.sum() == pytest.approx(demand.sum())
    assert np.all((far >= -97) & (far < 0) & (nodes + far < 97))
    means = np.cumsum(demand[::-1]) / np.arange(1, 98)
    assert taken.max() <= 1.05 * means.max() + 0.02


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


def test_a_top_step_between_whole_sensitivities_says_nothing_about_monotone_laws():
    problem = NoiseProblem(Privacy(6.59, 4.53e-7), 1.0, parse_loss("l2"), support=(-2.688, 12.07))
    top = (0.0, 0.3)
    assert near_end_lower(problem, top, lambda _: False) > 0
    assert near_end_lower(replace(problem, monotone=True), top, lambda _: False) == 0.0


def test_finer_lattices_are_left_out_where_the_first_one_proves_far_less() -> None:
    problem = noise_problem(9.05, 9.53e-5, 1.0, "lp:3.37", support=(-1.92, math.inf))
    top = (-0.09386408, 0.12018725)
    first = near_end_lower(problem, top, lambda lower: False, known=5e-4)
    assert 0 < first < near_end_lower(problem, top, lambda lower: False) < 5e-4


def test_a_level_that_no_cost_reaches_has_no_top_step() -> None:
    """Nor has it multipliers: what is cheaper than the level does not end on the lattice."""
    lattice = EndLattice.of(parse_loss("table:-2=1,0=0,2=1,3=1"), 1.0, 40, -1.0, 1)
    assert NearEnd(lattice, 6.0, 0.4).unit > 0
    for leaving in (1.0, 0.5):
        assert NearEnd(lattice, 6.0, 9.0, None, leaving).unit == 0


def test_many_periods_at_large_epsilon_do_not_overflow() -> None:
    """e^(37 · 20) is no float."""
    problem = noise_problem(20, 1e-5, 1.0, "l1", support=(-38, 60))
    assert near_end_lower(problem, (-4.5e-5, 4.5e-5), lambda lower: False) <= 4.6e-5
