"""The inverse of a privacy profile, groups, profiles at negative ε: against closed forms, on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_losses import exp_bounds

from dpcore import audit
from dpcore.accounting.curves import (
    dominating_curve_upper,
    epsilon_at,
    group_privacy,
    least_epsilon,
    privacy_profile,
    unbounded_mass,
)
from dpcore.accounting.pairs import dominating_pair, pair, privacy_loss
from dpcore.errors import InputError
from dpcore.noise import Laplace, PiecewiseNoise, TruncatedLaplace, Uniform
from dpcore.privacy import Privacy

PEAKS = PiecewiseNoise.from_masses(
    sensitivity=0.5, resolution=4, breaks=[0, 1, 4, 5, 8], masses=[0.45, 0.05, 0.3, 0.05], atom=0.15, atom_unit=2
)


def falling(rate: float, asked: list[float] | None = None):
    """ε → e^(−rate·ε)/2, and what it was asked for."""

    def curve(epsilon: float) -> float:
        if asked is not None:
            asked.append(epsilon)
        return 0.5 * math.exp(-rate * epsilon)

    return curve


@pytest.mark.parametrize("rate", [100.0, 3.0, 1.0, 0.2, 0.05])
@pytest.mark.parametrize("delta", [0.4, 1e-3, 1e-9])
def test_the_least_epsilon_of_an_exponential(rate, delta):
    """Asked for, passed, and as near as was said; in few steps, none of them twice."""
    root, asked = math.log(0.5 / delta) / rate, []
    for within in (1e-12, 1e-3):
        asked.clear()
        found = least_epsilon(falling(rate, asked), delta, within=within)
        assert found in asked and falling(rate)(found) <= delta
        assert root * (1 - 1e-12) <= found <= root * (1 + 1.1 * within)
        assert len(asked) == len(set(asked)) <= 40
    assert least_epsilon(falling(rate), delta) <= root * (1 + 2e-12)


@pytest.mark.parametrize("delta", [0.5, 0.6, 1.0])
def test_nothing_is_searched_where_0_is_enough(delta):
    asked: list[float] = []
    assert least_epsilon(falling(1.0, asked), delta) == 0.0 and asked == [0.0]


@pytest.mark.parametrize("most", [0.3, 1.0, 5.0, 64.0, 700.0])
def test_as_far_as_the_largest_epsilon_and_no_further(most):
    step = lambda turn: lambda epsilon: 0.1 if epsilon >= turn else 0.7  # noqa: E731
    for turn in (most, 0.99 * most):
        found = least_epsilon(step(turn), 0.2, most=most)
        assert turn <= found <= turn * (1 + 2e-12)
    beyond: list[float] = []
    assert least_epsilon(lambda e: (beyond.append(e), 0.7)[1], 0.2, most=most) == math.inf
    assert max(beyond) == most and len(beyond) <= 12


def test_up_to_700_unless_told_otherwise():
    assert least_epsilon(lambda e: 0.1 if e >= 700 else 0.7, 0.2) == 700
    assert least_epsilon(lambda e: 0.1 if e >= 700.1 else 0.7, 0.2) == math.inf


@pytest.mark.parametrize("turn", [0.25, 1.0, 2.0, 3.7])
def test_the_epsilon_of_no_delta(turn):
    found = least_epsilon(lambda e: max(0.0, 1 - e / turn), 0.0)
    assert turn <= found <= turn * (1 + 2e-12)
    assert least_epsilon(falling(1.0), 0.0) == math.inf


@pytest.mark.parametrize("curve", [lambda e: 1e-320 if e >= 2.5 else 1.0, lambda e: 1.0 if e < 2.5 else 0.0])
def test_curves_that_jump(curve):
    """From 1 to next to nothing: logarithms of quotients go beyond floats."""
    for delta in (1e-310, 0.5, 1 - 2.0**-53):
        found = least_epsilon(curve, delta)
        assert 2.5 <= found <= 2.5 * (1 + 2e-12)


def test_a_curve_that_stays_at_delta_is_left_at_once():
    """A flat tail at δ itself passes; the least place of it is what is looked for."""
    found = least_epsilon(lambda e: 0.2 + max(0.0, 0.3 * (1.5 - e)), 0.2)
    assert 1.5 * (1 - 1e-12) <= found <= 1.5 * (1 + 2e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_groups_against_exact_sums(epsilon, size):
    """δ Σ e^(iε), rounded up by less than 40 units in the last place, and no probability above 1."""
    for delta in (1e-9, 0.01):
        total, bound = group_privacy(Privacy(epsilon, delta), size)
        exact = Fraction(delta) * sum((exp_bounds(Fraction(epsilon) * i)[1] for i in range(size)), Fraction(0))
        assert total == size * epsilon
        assert min(exact, Fraction(1)) * (1 - Fraction(1, 10**25)) <= bound <= min(exact * (1 + Fraction(40, 2**53)), 1)


def test_groups_at_the_ends():
    assert group_privacy(Privacy(2.0, 0.0), 10**6) == (2e6, 0.0)
    assert group_privacy(Privacy(2.0, 1e-12), 10**6) == (2e6, 1.0), "e^2000000 is no float"
    assert group_privacy(Privacy(0.0, 1e-9), 10**6)[1] == pytest.approx(1e-3)
    for size in (0, 10**6 + 1):
        with pytest.raises(InputError, match=r"^size"):
            group_privacy(Privacy(1.0, 0.1), size)


def test_a_solved_law_at_negative_epsilon():
    """1 − e^ε (1 − δ(−ε)), not below that of the audit, and at most 1."""
    epsilons = np.array([[-3.0, -0.7, -0.1], [0.0, 0.7, 3.0]])
    found = privacy_profile(PEAKS, epsilons, sensitivity=0.25)
    assert found.shape == epsilons.shape
    assert found[1].tolist() == dominating_curve_upper(PEAKS, epsilons[1], 0.25).tolist(), "nothing is added at ε ≥ 0"
    for epsilon, delta in zip(epsilons.ravel().tolist(), found.ravel().tolist()):
        audited = Fraction(audit.delta_upper(PEAKS, abs(epsilon), 0.25))
        exact = audited if epsilon >= 0 else 1 - exp_bounds(Fraction(epsilon))[1] * (1 - audited)
        assert exact * (1 - Fraction(1, 10**15)) <= Fraction(delta) <= exact * (1 + Fraction(1, 10**11))
    certain = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=1, breaks=[0, 1], masses=[1.0])
    assert privacy_profile(certain, [-40.0, -1.0, 0.0], sensitivity=1.0).tolist() == [1.0, 1.0, 1.0]


def test_a_closed_form_at_negative_epsilon():
    epsilons = np.array([[-1.0, -0.2], [0.2, 1.0]])
    found = privacy_profile(Laplace(2.0), epsilons, sensitivity=1.0)
    sizes = np.abs(epsilons)
    deltas = np.maximum(-np.expm1((sizes - 0.5) / 2), 0.0)
    assert found == pytest.approx(np.where(epsilons < 0, 1 - np.exp(epsilons) * (1 - deltas), deltas), rel=1e-12)
    fraction = privacy_profile(Laplace(2.0), [Fraction(1, 4)], sensitivity=1.0)
    assert fraction.tolist() == privacy_profile(Laplace(2.0), [0.25], sensitivity=1.0).tolist()


def test_the_sensitivity_is_a_laws_own_unless_told():
    epsilons = [0.0, 0.5, 2.0]
    own = dominating_curve_upper(PEAKS, epsilons)
    assert own.tolist() == dominating_curve_upper(PEAKS, epsilons, 0.5).tolist()
    assert own.tolist() != dominating_curve_upper(PEAKS, epsilons, 0.25).tolist()
    assert own == pytest.approx([audit.delta_upper(PEAKS, e, 0.5) for e in epsilons], rel=1e-11)
    assert unbounded_mass(PEAKS, sensitivity=0.25) == pytest.approx(audit.delta_upper(PEAKS, 600.0, 0.25), rel=1e-11)
    law = TruncatedLaplace(1.0, 2.0)
    assert epsilon_at(law, 0.3, sensitivity=0.5) < epsilon_at(law, 0.3, sensitivity=1.0)


def test_what_is_no_sensitivity_or_no_law_is_named():
    for size in (0.0, -1.0, 1.1e300, math.inf):
        for call in (
            lambda: privacy_profile(Uniform(1.0), 1.0, sensitivity=size),  # noqa: B023
            lambda: dominating_pair(Uniform(1.0), size),  # noqa: B023
        ):
            with pytest.raises(InputError, match=r"^sensitivity"):
                call()
        with pytest.raises(InputError, match=r"^shift"):
            pair(Uniform(1.0), shift=size)
    assert float(privacy_profile(Uniform(1e300), 0.0, sensitivity=1e300)) == pytest.approx(0.5)
    assert dominating_pair(Uniform(1e300), 1e300).infinite == pair(Uniform(1e300), shift=1e300).infinite
    for call in (lambda: pair(3.0, shift=1.0), lambda: dominating_pair(3.0, 1.0)):  # type: ignore[arg-type]
        with pytest.raises(
            InputError, match=r"^noise.*float.* expected a law of dpcore\.noise: one number is released$"
        ):
            call()
    assert float(pair(Laplace(2.0), shift=0.5).delta(0.0)) == pytest.approx(-math.expm1(-0.125))
    assert float(privacy_loss(Laplace(2.0), 0.25, shift=1.0)) == pytest.approx(0.25)
