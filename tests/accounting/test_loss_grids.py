"""Composition on grids: below and above brute force, exact formulas and dp_accounting, without tolerance."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accounting.loss_grids import MOST_CELLS, LossGrid, on_grid
from dpcore.accounting.losses import compose
from dpcore.accounting.pairs import FinitePair, Pair, dominating_pair
from dpcore.accounting.subsampling import SampledPair
from dpcore.errors import InputError
from dpcore.noise import Gaussian, Geometric, Laplace, Staircase, TruncatedLaplace
from dpcore.privacy import Privacy


def curve(grid: LossGrid, epsilon: float) -> float:
    """H of a grid at any ε, by its definition."""
    gain = np.maximum(-np.expm1(epsilon - grid.losses), 0.0)
    return float(grid.masses @ gain) + grid.infinite


def brute(pairs: list[FinitePair], epsilon: float) -> float:
    """δ(ε) of a product of finite pairs over all outcomes."""
    total = 0.0
    for outcome in itertools.product(*(zip(one.own.tolist(), one.other.tolist()) for one in pairs)):
        own, other = math.prod(p for p, _ in outcome), math.prod(q for _, q in outcome)
        total += max(own - math.exp(epsilon) * other, 0.0)
    return total


@st.composite
def finite_pairs(draw) -> FinitePair:
    """Pairs on two to six outcomes, some of which only one law makes; losses of at most 5."""
    n = draw(st.integers(2, 6))
    weights = st.floats(0.01, 1.0)
    own = np.array(draw(st.lists(weights, min_size=n, max_size=n)))
    other = np.array(draw(st.lists(weights, min_size=n, max_size=n)))
    if draw(st.booleans()):
        own, other = (
            np.append(own, [draw(st.floats(1e-6, 0.1)), 0.0]),
            np.append(other, [0.0, draw(st.floats(1e-6, 0.1))]),
        )
    return FinitePair.of(own / own.sum(), other / other.sum())


PAIRS: dict[str, Pair] = {
    "laplace": dominating_pair(Laplace(1.0), 1.0),
    "gaussian": dominating_pair(Gaussian(1.3), 1.0),
    "staircase": dominating_pair(Staircase.calibrate(Privacy(1.5, 0.0), 1.0), 1.0),
    "truncated": dominating_pair(TruncatedLaplace.calibrate(Privacy(1.0, 1e-3), 1.0), 1.0),
    "geometric": dominating_pair(Geometric.calibrate(Privacy(0.7, 0.0), 3), 3.0),
}
PAIRS |= {f"{name}, {side}": SampledPair(PAIRS[name], 0.2, side)
          for name in ("laplace", "gaussian", "truncated") for side in ("remove", "add", "replace")}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(finite_pairs(), st.floats(0.01, 0.7), st.lists(st.floats(-3.0, 5.0), min_size=1, max_size=5))
def test_grids_enclose_finite_pairs_at_every_loss(pair, step, epsilons):
    below, above = (on_grid(pair, step, upper=up) for up in (False, True))
    for epsilon in epsilons:
        exact = float(pair.delta(np.array([epsilon]))[0])
        assert curve(below, epsilon) <= exact * (1 + 1e-9) + 1e-14
        assert curve(above, epsilon) >= exact * (1 - 1e-9) - 1e-14


@pytest.mark.parametrize("name", list(PAIRS))
@pytest.mark.parametrize("step", [0.003, 0.05, 0.3])
def test_grids_enclose_laws_at_every_loss(name, step):
    below, above = (on_grid(PAIRS[name], step, upper=up) for up in (False, True))
    epsilons = np.linspace(-2, 4, 97)
    exact = PAIRS[name].delta(epsilons)
    for epsilon, value in zip(epsilons.tolist(), exact.tolist()):
        assert curve(below, epsilon) <= value * (1 + 1e-9) + 1e-13
        assert curve(above, epsilon) >= value * (1 - 1e-9) - 1e-13


@settings(max_examples=40, deadline=None)
@given(finite_pairs(), finite_pairs(), st.integers(1, 3), st.integers(0, 2), st.floats(0.0, 6.0))
def test_compositions_enclose_brute_force(one, two, first, second, epsilon):
    exact = brute([one] * first + [two] * second, epsilon)
    parts = [(one, first), *([(two, second)] if second else [])]
    below, above = ([(on_grid(pair, 0.02, upper=up), count) for pair, count in parts] for up in (False, True))
    low, high = compose(below, epsilon=epsilon).delta(epsilon), compose(above, epsilon=epsilon).delta(epsilon)
    assert low <= exact * (1 + 1e-12) + 1e-15 and exact * (1 - 1e-12) <= high
    if 1e-9 < exact < 1:
        at_low, at_high = compose(below, delta=exact).epsilon(exact), compose(above, delta=exact).epsilon(exact)
        assert at_low <= epsilon + 1e-9 and epsilon <= at_high + 1e-9 * (1 + epsilon)


@pytest.mark.parametrize("count", [1, 2, 7, 50, 400])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_gaussian_compositions_enclose_the_closed_form(count, delta):
    """k-fold N(0, 1) against N(μ, 1) is N(0, 1) against N(√k μ, 1) [Awan, §13.8]: also where δ is far below the
    rounding of a plain Fourier transform."""
    from dpcore.accounting.curves import epsilon_at

    mu = 0.25
    exact = epsilon_at(Gaussian(1 / (mu * math.sqrt(count))), delta, sensitivity=1.0)
    pair = dominating_pair(Gaussian(1 / mu), 1.0)
    low, high = (compose([(on_grid(pair, 0.004, upper=up), count)], delta=delta).epsilon(delta) for up in (False, True))
    assert low <= exact <= high
    assert high - low < 0.004 * (1 + exact)


@pytest.mark.parametrize("count", [3, 30, 300])
@pytest.mark.parametrize("rate", [1.0, 0.1])
def test_both_sides_against_dp_accounting(count, rate):
    """Our upper bound is not below dp_accounting's optimistic ε, our lower one not above its pessimistic ε."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    delta, base = 1e-5, PAIRS["laplace"]
    theirs = [
        pld.from_laplace_mechanism(1.0, sampling_prob=rate, pessimistic_estimate=up, use_connect_dots=up)
        .self_compose(count).get_epsilon_for_delta(delta) for up in (False, True)
    ]  # fmt: skip
    sides = ["remove", "add"] if rate < 1 else ["both"]
    ours = []
    for up in (False, True):
        pairs = [base if side == "both" else SampledPair(base, rate, side) for side in sides]
        ours.append(max(compose([(on_grid(one, 0.002, upper=up), count)], delta=delta).epsilon(delta) for one in pairs))
    assert ours[0] <= theirs[1] and theirs[0] <= ours[1]
    assert abs(ours[1] - theirs[1]) < 2e-3 * theirs[1]


def test_published_composition():
    """Laplace noise, ε = 1, a hundred times at δ = 1e-5: 68.253 (dp_accounting, pessimistic, interval 1e-4)."""
    low, high = (
        compose([(on_grid(PAIRS["laplace"], 0.001, upper=up), 100)], delta=1e-5).epsilon(1e-5) for up in (False, True)
    )
    assert 68.2529 < low <= 68.25295109 * (1 + 1e-6) and low <= high < 68.2530


def test_a_grid_of_too_many_points_is_refused():
    with pytest.raises(InputError, match="step"):
        on_grid(PAIRS["laplace"], 1.0 / MOST_CELLS, upper=True)
