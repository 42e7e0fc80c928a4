"""Corners where a certified number was once not what it says, or none came."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import log_floats

from dpcore.accounting.loss_grids import on_grid
from dpcore.accounting.losses import compose
from dpcore.accounting.mechanisms import Promised, Release, parse_mechanism
from dpcore.accounting.optimal_composition import optimal_delta, optimal_epsilon
from dpcore.accounting.rules import advanced_tight, divergences, totals
from dpcore.accounting.subsampling import SampledPair, Sampling, parse_sampling
from dpcore.accounting.truth import Truth
from dpcore.errors import InputError


def worst_of_two_answers(epsilon0: float, rate: float, count: int, epsilon: float) -> float:
    """δ at ε of `count` adaptive randomized responses on samples of fixed size, over everything the other people may
    say: with probability 1 − rate the answer is theirs, the truth or the lie with any odds."""
    truth = 1 / (1 + math.exp(-epsilon0))
    rest = np.linspace(1 - truth, truth, 21)
    laws = [(rate * truth + (1 - rate) * r, rate * (1 - truth) + (1 - rate) * r) for r in rest.tolist()]

    def delta(left: int, at: float) -> float:
        if left == 0:
            return max(-math.expm1(at), 0.0)
        return max(
            p * delta(left - 1, at - math.log(p / q)) + (1 - p) * delta(left - 1, at - math.log((1 - p) / (1 - q)))
            for p, q in laws
        )

    return delta(count, epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.1, 0.3])
@pytest.mark.parametrize(("epsilon0", "rate", "count"), [(1.0, 0.1, 2), (2.0, 0.3, 2)])
def test_bounds_for_replaced_persons_enclose_what_real_neighbours_show(epsilon0, rate, count, epsilon):
    """The dominating pair of a replaced person is nobody's: composed, it shows more than any neighbours."""
    release = Release(parse_mechanism(f"response:epsilon={epsilon0}"), count, Sampling("fixed", rate))
    band = Truth((release,)).delta(epsilon)
    assert band.lower <= worst_of_two_answers(epsilon0, rate, count, epsilon) * (1 + 1e-9)
    assert band.upper >= worst_of_two_answers(epsilon0, rate, count, epsilon)


@pytest.mark.parametrize("points", [1 << 14, 1 << 17])
@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3, 1e-9])
@pytest.mark.parametrize(
    ("spec", "count"),
    [("geometric:epsilon=0.39,sensitivity=3", 1), ("laplace:epsilon=0.01", 1), ("laplace:epsilon=1", 10),
     ("truncated-laplace:epsilon=1,delta=1e-10", 5)],
)  # fmt: skip
def test_few_releases_have_a_thin_band_at_any_delta(spec, count, delta, points):
    """Rounding of the transforms is weighed at the ε that is found, not at the largest loss."""
    band = Truth((Release(parse_mechanism(spec), count),), points=points, delta=delta).epsilon(delta)
    assert 0 <= band.lower <= band.upper <= band.lower * (1 + 1e-4)


@pytest.mark.parametrize("delta", [0.05, 1e-6])
def test_one_laplace_release_is_its_own_formula(delta):
    """δ(ε) = 1 − e^((ε − ε₀)/2)."""
    band = Truth((Release(parse_mechanism("laplace:epsilon=2")),), delta=delta).epsilon(delta)
    exact = 2 + 2 * math.log1p(-delta)
    assert band.lower <= exact <= band.upper <= exact * (1 + 1e-5)


def test_gaussians_far_apart_beside_another_mechanism():
    """Alone they are exact; one more mechanism of ε = 0.1 can add at most that."""
    gaussian = Release(parse_mechanism("gaussian:sigma=1"), 10_000)
    alone = Truth((gaussian,), delta=1e-6).epsilon(1e-6)
    both = Truth((gaussian, Release(parse_mechanism("pure:epsilon=0.1"))), delta=1e-6).epsilon(1e-6)
    assert alone.lower <= both.upper and both.lower <= alone.upper + 0.1 and both.upper < both.lower * (1 + 1e-3)


def test_a_tiny_loss_beside_wide_ones_is_no_bad_input():
    releases = [Release(parse_mechanism("gaussian:sigma=1")), Release(Promised("", 1e-6))]
    assert math.isfinite(Truth(releases, delta=1e-9).epsilon_upper(1e-9))


def test_unequal_epsilons_are_not_lost_on_a_coarse_grid():
    groups = [(5.0, 0.0, 1), (0.0010107, 0.0, 50_000)]
    assert optimal_epsilon(groups, 1e-3) <= advanced_tight(groups, 1e-3)


@pytest.mark.parametrize("kind", ["poisson", "fixed"])
def test_sampled_laplace_has_finite_renyi_divergences(kind):
    """A largest loss that is a grid point but for rounding is no infinite loss."""
    release = Release(parse_mechanism("laplace:epsilon=1"), 1, Sampling(kind, 0.1))
    found = divergences(release, (2.0, 8.0))
    # E_Q λ² of remove: 1 + γ²·χ²(P‖Q), χ² by the formula for D₂ of Laplace noise
    chi = math.exp(math.log(2 / 3 * math.e + 1 / 3 * math.exp(-2))) - 1
    assert found[0] >= math.log1p(0.01 * chi) * (1 - 1e-9)
    assert np.isfinite(found).all()


def test_every_rule_answers_where_all_of_delta_is_spent():
    releases = [Release(parse_mechanism("approximate:epsilon=0.01,delta=0.4"), 10_000)]
    assert totals(releases, epsilon=0.01)[-1].upper <= 1


def test_nothing_revealed_is_zero():
    assert totals([Release(parse_mechanism("approximate:epsilon=0,delta=0"))], delta=1e-5)[-1].upper < 1e-9


@pytest.mark.parametrize(
    ("spec", "rate", "count", "delta"),
    [("pure:epsilon=11.6", 2.27e-6, 80, 2.3e-8), ("laplace:epsilon=7.94", 0.00139, 60_500, 8.73e-5),
     ("gaussian:sigma=0.174", 0.0137, 37_600, 2.38e-4), ("geometric:epsilon=12,sensitivity=1", 0.00112, 937, 1.03e-4),
     ("gaussian:sigma=0.0722", 1.55e-5, 8790, 3.71e-6), ("response:epsilon=41.8", 0.105, 27_700, 7.57e-6)],
)  # fmt: skip
def test_small_samples_of_revealing_mechanisms_have_a_thin_band(spec, rate, count, delta):
    """Nearly all probability is next to the lowest loss, all that counts is far from it: no lower bound was proved."""
    release = Release(parse_mechanism(spec), count, Sampling("poisson", rate))
    band = Truth((release,), delta=delta).epsilon(delta)
    assert band.lower <= band.upper <= band.lower * (1 + 1e-3)


@settings(max_examples=25, deadline=None)
@given(log_floats(1e-3, 10), log_floats(1e-6, 0.9), st.integers(1, 3), st.sampled_from(["remove", "add"]),
       log_floats(1e-3, 0.5), st.floats(0, 1.05), st.sampled_from([0.0, 1e-6, 0.05]))  # fmt: skip
def test_sampled_responses_against_rational_arithmetic(epsilon, rate, count, side, fineness, share, infinite):
    """At any step, however small beside 1: what is rounded is measured, nothing that cancels is added up."""
    base = Promised("", epsilon, infinite).pair
    pairs = [(Fraction(p), Fraction(q)) for p, q in zip(base.own.tolist(), base.other.tolist())]
    mixed = [((1 - Fraction(rate)) * q + Fraction(rate) * p, q) for p, q in pairs]
    mixed = mixed if side == "remove" else [(q, p) for p, q in mixed]
    together = [(Fraction(1), Fraction(1))]
    for _ in range(count):
        together = [(p * a, q * b) for p, q in together for a, b in mixed]
    top = math.log1p(rate * math.expm1(epsilon))
    at = share * count * top
    exact = sum(max(p - Fraction(math.exp(at)) * q, Fraction(0)) for p, q in together)
    one, step = SampledPair(base, rate, side), fineness * (top + rate)
    low, high = (
        compose([(on_grid(one, step, upper=upper), count)], epsilon=at).delta(at) for upper in (False, True)
    )  # fmt: skip
    assert Fraction(low) <= exact * (1 + Fraction(1, 10**12)) and exact <= Fraction(high) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize(("count", "share"), [(1, 0.0), (2, 0.3), (19, 0.1), (10**6 + 1, 3e-6), (10**7, 1e-6)])
def test_equal_mechanisms_are_counted_however_many(count, share):
    """Against binomial sums of 50 digits; the outcomes that are not enumerated count as the worst."""
    epsilon = 0.0012
    at, p = share * count * epsilon, 1 / (1 + mpmath.exp(-epsilon))
    with mpmath.workdps(50):
        j = math.ceil((at / epsilon + count) / 2)
        term = mpmath.binomial(count, j) * p**j * (1 - p) ** (count - j)
        total = mpmath.mpf(0)
        while j <= count and term > 1e-40:
            total += term * max(-mpmath.expm1(at - (2 * j - count) * mpmath.mpf(epsilon)), 0)
            term *= mpmath.mpf(count - j) / (j + 1) * p / (1 - p)
            j += 1
    assert total <= optimal_delta([(epsilon, 0.0, count)], at) <= total * (1 + 1e-5)


def test_many_equal_mechanisms_do_not_fall_back_on_adding_up():
    few, many = (optimal_epsilon([(1e-3, 0.0, count)], 1e-6) for count in (10**6, 10**6 + 1))
    assert few < many < few * (1 + 2e-6)
    assert optimal_epsilon([(1e-3, 0.0, 10**7)], 1e-6) < advanced_tight([(1e-3, 0.0, 10**7)], 1e-6) < 25


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.1), (0.5, 0.1), (0.3, 0.7)])
def test_series_that_do_not_converge_are_dealt_with_in_silence(sigma, rate, capfd):
    """(α − 1) D_α is convex: chords bound what dp_accounting's series for fractional orders do not give."""
    orders = (1.5, 1.6, 2.0, 2.5, 3.0)
    found = divergences(Release(parse_mechanism(f"gaussian:sigma={sigma}"), 1, Sampling("poisson", rate)), orders)
    assert np.isfinite(found).all() and (np.diff(found) >= 0).all() and not capfd.readouterr().err
    for order, bound in zip(orders, found.tolist()):
        power = lambda x, a=order: (  # noqa: E731
            mpmath.npdf(x, 0, sigma) * (1 - rate + rate * mpmath.exp((2 * x - 1) / (2 * sigma**2))) ** a
        )
        exact = mpmath.log(mpmath.quad(power, [-12, -4, -1, 0, 1, 2, 4, 8, 14])) / (order - 1)
        assert exact * (1 - 1e-9) <= bound <= exact * 3


@pytest.mark.parametrize(
    "text",
    ["laplace:epsilon=1e-320", "pure:epsilon=1e-320", "response:epsilon=1e-300", "approximate:epsilon=1,delta=1",
     "gaussian:sigma=1,epsilon=1", "laplace:epsilon=1,epsilon=2"],
)  # fmt: skip
def test_parameters_that_mean_nothing_are_refused(text):
    with pytest.raises(InputError):
        parse_mechanism(text)


def test_a_sample_of_negative_sizes_is_refused():
    with pytest.raises(InputError):
        parse_sampling("fixed:-1/-2")


@pytest.mark.parametrize(
    ("spec", "rate", "count"), [("response:epsilon=2", 0.1, 50), ("approximate:epsilon=1,delta=0.01", 0.9, 5)]
)
def test_either_direction_of_a_sample_may_be_the_worse(spec, rate, count):
    """One person more here: whoever looks at one person less alone promises too small an ε."""
    release = Release(parse_mechanism(spec), count, Sampling("poisson", rate))
    truth = Truth((release,), points=1 << 12, delta=1e-3)
    uppers = [side.bound(1, upper=True, delta=0.5) for side in truth.sides]
    assert uppers[1] > 1.02 * uppers[0]
    assert truth.epsilon(0.5).upper == truth.epsilon_upper(0.5) == uppers[1]
