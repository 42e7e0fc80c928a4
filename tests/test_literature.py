"""The literature's lower bound: its recursion in exact arithmetic, and never above anything achievable."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from strategies import privacies, sensitivities

from dpcore.errors import InputError
from dpcore.literature import amplitude_lower, even_lower
from dpcore.loss import absolute, parse_loss
from dpcore.mechanisms import baselines
from dpcore.noise import Staircase
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem


def recursion(privacy: Privacy) -> mpmath.mpf:
    """2 Σ_{m≥1} q_m at sensitivity 1 with q_0 = ½, q_{m+1} = (q_m − δ)/e^ε while positive, in 60 digits."""
    with mpmath.workdps(60):
        q, total = mpmath.mpf(1) / 2, mpmath.mpf(0)
        while True:
            q = (q - mpmath.mpf(privacy.delta)) / mpmath.exp(mpmath.mpf(privacy.epsilon))
            if q <= mpmath.mpf(10) ** -45:
                return 2 * total
            total += q


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1, 0.2), (0.2, 0.05), (5, 0.25), (0.1, 1e-6), (0.02, 1e-3), (3, 1e-12), (20, 1e-12), (0.5, 0.49), (0, 0.003)],
)
def test_it_is_the_recursion_rounded_down(epsilon, delta):
    """Below the exact value, by a relative 1e-9 at most."""
    exact = recursion(Privacy(epsilon, delta))
    computed = amplitude_lower(Privacy(epsilon, delta), 1.0)
    assert computed <= exact
    assert computed >= exact * (1 - mpmath.mpf("1e-9")) - mpmath.mpf("1e-15")


def test_values_of_theory_14_by_hand():
    """(1, .2), D = 1: a = (δ + (e − 1)/2)/e, b = 1/e; only m = 1 is positive."""
    a = (0.2 + (math.e - 1) / 2) / math.e
    assert amplitude_lower(Privacy(1.0, 0.2), 1.0) == pytest.approx(2 * (0.5 - a), rel=1e-13)
    assert 0.5 - a * (1 - math.exp(-2)) / (1 - math.exp(-1)) < 0


@pytest.mark.parametrize("halves", [1, 2, 3, 7, 50])
def test_zero_epsilon(halves):
    """δ = 1/(2n): 2Σ_{m<n}(½ − m/(2n)) = (n − 1)/2, below the optimum n/2 of [G19]."""
    value = amplitude_lower(Privacy(0.0, 1 / (2 * halves)), 1.0)
    assert value <= Fraction(halves - 1, 2)
    assert value == pytest.approx((halves - 1) / 2, rel=1e-12, abs=1e-15)


def test_zero_delta_and_large_delta():
    """δ = 0: D/(e^ε − 1), which the staircase exceeds by the factor e^(ε/2). δ ≥ ½: nothing is known."""
    for epsilon in (0.001, 0.3, 1.0, 5.0, 20.0):
        privacy = Privacy(epsilon, 0.0)
        value = amplitude_lower(privacy, 3.0)
        assert value == pytest.approx(3 / math.expm1(epsilon), rel=1e-13, abs=0)
        amplitude = Staircase.calibrate(privacy, 3.0).expected_loss(absolute())
        assert amplitude == pytest.approx(value * math.exp(epsilon / 2), rel=1e-11)
    for epsilon in (0.0, 0.5, 3.0):
        assert amplitude_lower(Privacy(epsilon, 0.5), 1.0) == 0
        assert amplitude_lower(Privacy(epsilon, 0.9), 1.0) == 0


@settings(max_examples=80)
@given(privacy=privacies(pure=True), sensitivity=sensitivities())
def test_no_mechanism_is_better(privacy, sensitivity):
    bound = amplitude_lower(privacy, sensitivity)
    assert bound >= 0
    for baseline in baselines(NoiseProblem(privacy, sensitivity, absolute())):
        if baseline.valid:
            assert baseline.loss >= bound


@settings(max_examples=50)
@given(privacy=privacies(pure=True), sensitivity=sensitivities(1e-6, 1e6))
def test_it_scales_and_falls_with_either_parameter(privacy, sensitivity):
    bound = amplitude_lower(privacy, sensitivity)
    assert bound == pytest.approx(sensitivity * amplitude_lower(privacy, 1.0), rel=1e-13)
    easier = Privacy(min(privacy.epsilon * 1.1, 20.0), min(privacy.delta * 1.1, 0.999))
    assert amplitude_lower(easier, sensitivity) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("spec", ["l2", "lp:1.5", "huber:1", "exceed:0.5", "table:-2=2,-1=0.5,0=0.5,1=0.5,2=2"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 0.05), (1, 0.2), (3, 1e-4), (0, 0.1), (1, 0)])
def test_the_bound_for_other_even_losses_is_below_every_law(spec, epsilon, delta):
    problem = noise_problem(epsilon, delta, 1.0, spec)
    bound = even_lower(problem.privacy, 1.0, problem.loss)
    laws = [entry.loss for entry in baselines(problem) if entry.valid]
    assert 0 <= bound <= min(laws)
    assert bound > 0 or spec.startswith("exceed")
    certificate = solve(problem, SolverSettings(gap=0.05)).certificate
    assert bound <= certificate.upper


def test_a_sum_without_end_is_cut():
    """Of 5·10¹¹ terms; the uniform law on ±1/(2δ) costs 1/(12δ²)."""
    assert 0 < even_lower(Privacy(0, 1e-12), 1.0, parse_loss("l2")) <= 1e24 / 12


def test_the_bound_for_even_losses_is_the_known_one_for_absolute_errors():
    for pair in ((0.2, 0.05), (1, 0.2), (5, 0.25), (0, 0.1), (1, 0)):
        privacy = Privacy(*pair)
        known = amplitude_lower(privacy, 3.0)
        assert even_lower(privacy, 3.0, parse_loss("l1")) == known
        assert even_lower(privacy, 3.0, parse_loss("lp:1")) == pytest.approx(known, rel=1e-12)
    with pytest.raises(InputError, match="an even loss"):
        even_lower(Privacy(1, 0.1), 1.0, parse_loss("pinball:0.8"))


@pytest.mark.parametrize(("sensitivity", "threshold", "passed"), [(0.1, "0.3", 4), (0.1, "0.7", 8), (0.7, "2.1", 4)])
def test_a_threshold_that_is_a_multiple_of_the_sensitivity_is_not_passed_there(sensitivity, threshold, passed):
    """3·0.1 as a float is beyond 0.3; three tenths are not: an atom of δ at ±0.3 would be free."""
    privacy = Privacy(0.5, 0.001)
    with mpmath.workdps(30):
        tail = mpmath.mpf(1) / 2
        for _ in range(passed):
            tail = (tail - mpmath.mpf(privacy.delta)) / mpmath.exp(mpmath.mpf(privacy.epsilon))
        bound = even_lower(privacy, sensitivity, parse_loss(f"exceed:{threshold}"))
        assert 0 < bound <= 2 * tail and bound >= 2 * tail * (1 - mpmath.mpf("1e-12"))
