"""Corners where a certified number was once not what it says, or none came."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcore.accounting.mechanisms import Promised, Release, parse_mechanism
from dpcore.accounting.optimal_composition import optimal_epsilon
from dpcore.accounting.rules import advanced_tight, divergences, totals
from dpcore.accounting.subsampling import Sampling, parse_sampling
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
