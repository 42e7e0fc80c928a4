"""Exponential mechanism, noisy max, private quantiles, subsample and aggregate: against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.integrate import quad

from dpcore.errors import InputError
from dpcore.gallery import exponential_mechanism, noisy_max, private_quantiles, subsample_aggregate

epsilons = some.floats(0.05, 6)

# Exponential mechanism ------------------------------------------------------------------------------


@given(epsilons, some.integers(1, 4))
@settings(max_examples=12, deadline=None)
def test_median_is_private_for_all_neighbours(epsilon, people):
    """All data sets over four values, every person replaced by every value."""
    values, candidates = (0, 1, 2, 3), np.arange(-1, 8) / 2
    for data in itertools.product(values, repeat=people):
        own = exponential_mechanism.probabilities(exponential_mechanism.rank_utilities(data, candidates), epsilon, 1)
        for who, value in itertools.product(range(people), values):
            other = (*data[:who], value, *data[who + 1 :])
            theirs = exponential_mechanism.rank_utilities(other, candidates)
            ratio = np.log(own / exponential_mechanism.probabilities(theirs, epsilon, 1))
            assert np.abs(ratio).max() <= epsilon * (1 + 1e-9)


@given(epsilons)
@settings(max_examples=10, deadline=None)
def test_pumpkin_prices_are_private_for_all_neighbours(epsilon):
    prices, worths = np.arange(0, 501, 50), (0, 100, 401, 500)
    for data in itertools.combinations_with_replacement(worths, 4):
        own = exponential_mechanism.probabilities(exponential_mechanism.revenues(data, prices), epsilon, 500)
        for who, value in itertools.product(range(4), worths):
            other = exponential_mechanism.revenues((*data[:who], value, *data[who + 1 :]), prices)
            ratio = np.log(own / exponential_mechanism.probabilities(other, epsilon, 500))
            assert np.abs(ratio).max() <= epsilon * (1 + 1e-9)


def test_the_utility_of_a_median_counts_people():
    """Between the data the notes' form; at a value that most people have, none is on the wrong side."""
    data = [1, 2, 5, 5, 5, 9]
    found = exponential_mechanism.rank_utilities(data, [1.5, 3, 5, 7, 9, 10])
    assert found.tolist() == [-2, -1, 0, -2, -2, -3]
    assert exponential_mechanism.rank_utilities(data, [0, 5], level=0.25).tolist() == [-1.5, -0.5]


def test_the_pumpkin_example():
    """[Awan, Example 7.1]: three buyers at $1, one at $4.01."""
    prices = [401, 100, 101, 402]
    assert exponential_mechanism.revenues([100, 100, 100, 401], prices).tolist() == [401, 400, 101, 0]


@given(some.lists(some.floats(-50, 50), min_size=1, max_size=8), epsilons, some.floats(0.1, 10))
def test_probabilities_and_the_utility_bound(utilities, epsilon, sensitivity):
    weights = [math.exp(epsilon * (u - max(utilities)) / (2 * sensitivity)) for u in utilities]
    found = exponential_mechanism.probabilities(utilities, epsilon, sensitivity)
    assert found == pytest.approx(np.array(weights) / math.fsum(weights), rel=1e-9, abs=1e-300)
    losses = np.linspace(0, 100, 41)
    tail = exponential_mechanism.shortfall_tail(utilities, epsilon, sensitivity, losses)
    bound = exponential_mechanism.shortfall_bound(utilities, epsilon, sensitivity, losses)
    assert (tail <= bound * (1 + 1e-9)).all() and tail[0] == pytest.approx(1)
    area = math.fsum(p * (max(utilities) - u) for p, u in zip(found, utilities))
    assert exponential_mechanism.expected_shortfall(utilities, epsilon, sensitivity) == pytest.approx(area, abs=1e-9)


# Subsample and aggregate, algorithm 2 -----------------------------------------------------------------


@pytest.mark.parametrize(("count", "epsilon", "high"), [(10, 4.0, 100.0), (50, 5.0, 1000.0), (3, 0.5, 60.0)])
def test_the_widened_winsorised_mean_against_draws(count, epsilon, high):
    """The steps of [Awan, Algorithm 2], 200 000 times."""
    rng, draws = np.random.default_rng(count), 200_000
    z = np.clip(30 + 3 * rng.standard_normal(count), 0, high)
    a, b = (private_quantiles.law(z, level, epsilon / 4, low=0, high=high).sample(rng, draws) for level in (0.25, 0.75))
    reach = 4 * count ** (1 / 3 + 0.1) * np.abs(b - a)
    low, top = (a + b) / 2 - reach, (a + b) / 2 + reach
    total = np.zeros(draws)
    for one in z:
        total += np.clip(one, low, top)
    drawn = total / count + rng.laplace(size=draws) * 2 * (top - low) / (count * epsilon)
    errors = (drawn - 30.0) ** 2
    release = subsample_aggregate.release(z, epsilon, "winsorised", low=0, high=high)
    assert release.squared_error(30.0) == pytest.approx(
        errors.mean(), abs=5 * errors.std() / math.sqrt(draws), rel=2e-3
    )


def test_the_rate_of_the_winsorised_noise():
    """Exponents: radius 1/3 + η and quartiles ½ of k, and −½ of n; k = n^(½ − η). [Awan, Remark 8.4] has −0.57."""
    eta = 0.1
    assert (1 / 3 + eta + 0.5 - 1) * (0.5 - eta) - 0.5 == pytest.approx(-0.5267, abs=1e-4)


# Noisy max ------------------------------------------------------------------------------------------


def permute_and_flip(scores: list[float], epsilon: float) -> list[float]:
    """The mechanism that noisy max with exponential noise is [DKSSWXZ21]: in random order, heads with probability
    e^(ε(score − best)/2), the first head wins."""
    heads = [math.exp(epsilon * (score - max(scores)) / 2) for score in scores]
    found = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        alive = 1.0
        for one in order:
            found[one] += alive * heads[one] / len(orders)
            alive *= 1 - heads[one]
    return found


scores_of = some.lists(some.integers(-6, 6), min_size=1, max_size=5)


@given(scores_of, epsilons)
@settings(deadline=None)
def test_exponential_noise_is_permute_and_flip(scores, epsilon):
    found = noisy_max.probabilities([(score, 1) for score in scores], epsilon, "exponential")
    assert found == pytest.approx(permute_and_flip(scores, epsilon), abs=1e-11)


@given(scores_of, epsilons)
@settings(deadline=None)
def test_gumbel_noise_is_the_exponential_mechanism(scores, epsilon):
    found = noisy_max.probabilities([(score, 1) for score in scores], epsilon, "gumbel")
    assert found == pytest.approx(exponential_mechanism.probabilities(scores, epsilon, 1), rel=1e-12)


@given(some.floats(0, 20), epsilons)
@settings(max_examples=30, deadline=None)
def test_two_candidates_with_laplace_noise_in_closed_form(lead, epsilon):
    """P(L₁ − L₂ > −lead) for independent Laplace noise: 1 − e^(−t)(2 + t)/4, t = ε·lead/2."""
    t = epsilon * lead / 2
    found = noisy_max.probabilities([(0.0, 1), (-lead, 1)], epsilon, "laplace")
    assert found[0] == pytest.approx(1 - math.exp(-t) * (2 + t) / 4, abs=1e-12)


def test_many_candidates_with_laplace_noise_by_another_integration():
    scores, epsilon = [(0.0, 1), (-3.0, 40), (-7.5, 300)], 0.8
    scale = 2 / epsilon
    pdf = lambda x: math.exp(-abs(x) / scale) / (2 * scale)  # noqa: E731
    cdf = lambda x: 0.5 * math.exp(x / scale) if x < 0 else 1 - 0.5 * math.exp(-x / scale)  # noqa: E731
    best = lambda x: pdf(x) * cdf(x + 3) ** 40 * cdf(x + 7.5) ** 300  # noqa: E731
    exact = quad(best, -60, 120, points=[-7.5, -3, 0], limit=400, epsabs=1e-12)[0]
    assert noisy_max.probabilities(scores, epsilon, "laplace")[0] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("noise", list(noisy_max.NOISES))
def test_noisy_max_is_private_for_all_neighbours(noise):
    """Every score moved by −1, 0 or 1."""
    for epsilon, scores in itertools.product((0.3, 1.0, 3.0), ((0, 0, 0), (5, 4, 0), (2, 2, 1))):
        own = noisy_max.probabilities([(s, 1) for s in scores], epsilon, noise)
        worst = 0.0
        for moves in itertools.product((-1, 0, 1), repeat=3):
            other = noisy_max.probabilities([(s + m, 1) for s, m in zip(scores, moves)], epsilon, noise)
            worst = max(worst, np.abs(np.log(own / other)).max())
        assert worst <= epsilon + 1e-9 and worst > 0.2 * epsilon


@given(some.sampled_from(list(noisy_max.NOISES)), some.sampled_from(list(noisy_max.SHAPES)), some.integers(2, 10**5),
       some.floats(0, 100), epsilons)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_groups_expected_gap_and_its_bound(noise, shape, candidates, lead, epsilon):
    groups = noisy_max.scores(shape, candidates, lead)
    assert sum(count for _, count in groups) == candidates
    found = noisy_max.probabilities(groups, epsilon, noise)
    assert found.sum() == pytest.approx(1) and found.min() >= 0
    gap = noisy_max.expected_gap(groups, epsilon, noise)
    assert gap == pytest.approx(-sum(p * score for p, (score, _) in zip(found, groups)), abs=1e-9)
    assert gap <= noisy_max.gap_bound(candidates, epsilon) or noise != "laplace"


@pytest.mark.parametrize("noise", list(noisy_max.NOISES))
def test_the_worst_lead_is_the_worst(noise):
    for k, epsilon in ((2, 1.0), (1000, 0.3)):
        worst = noisy_max.worst_lead(k, epsilon, noise)
        most = noisy_max.expected_gap([(0.0, 1), (-worst, k - 1)], epsilon, noise)
        others = np.linspace(0.01, 3 * worst, 60)
        assert most >= max(noisy_max.expected_gap([(0.0, 1), (-x, k - 1)], epsilon, noise) for x in others) - 1e-6
        assert most <= noisy_max.gap_bound(k, epsilon) or noise != "laplace"


def test_exponential_noise_is_never_worse_than_gumbel():
    """[MS20, Theorem 1]: permute-and-flip never has the larger expected error."""
    for k, lead, epsilon in itertools.product((2, 10, 1000), (1.0, 5.0, 30.0), (0.1, 1.0, 4.0)):
        groups = noisy_max.scores("levels", k, lead)
        first, second = (noisy_max.expected_gap(groups, epsilon, noise) for noise in ("exponential", "gumbel"))
        assert first <= second * (1 + 1e-9)


# Private quantiles ----------------------------------------------------------------------------------


@given(epsilons, some.sampled_from((0.1, 0.25, 0.5, 0.9)))
@settings(max_examples=8, deadline=None)
def test_quantiles_are_private_for_all_neighbours(epsilon, level):
    """Densities at places between all values, all data sets of three people over four values."""
    values, places = (0.0, 1.0, 1.5, 4.0), np.array([0.3, 0.9, 1.2, 2.0, 3.9])

    def density(data: tuple) -> np.ndarray:
        law = private_quantiles.law(data, level, epsilon, low=0, high=4)
        return law.cdf(places + 1e-3) - law.cdf(places - 1e-3)

    for data in itertools.combinations_with_replacement(values, 3):
        own = density(data)
        for who, value in itertools.product(range(3), values):
            ratio = np.log(own / density((*data[:who], value, *data[who + 1 :])))
            assert np.abs(ratio).max() <= epsilon + 1e-6  # differences of cdfs round


@given(some.lists(some.floats(-3, 12), min_size=1, max_size=12), some.floats(0, 1), epsilons)
@settings(max_examples=40, deadline=None)
def test_quantile_law_against_fine_candidates(data, level, epsilon):
    """The law is the limit of the exponential mechanism on many candidates."""
    law = private_quantiles.law(data, level, epsilon, low=0, high=10)
    grid = (np.arange(40_000) + 0.5) / 4000
    utilities = exponential_mechanism.rank_utilities(np.clip(data, 0, 10), grid, level)
    masses = exponential_mechanism.probabilities(utilities, epsilon, 1)
    at = np.array([1.0, 2.5, 5.0, 9.0])
    below = np.array([masses[grid <= x].sum() for x in at])
    assert law.cdf(at) == pytest.approx(below, abs=5e-3)
    assert law.mean_error(3.0) == pytest.approx(float(masses @ np.abs(grid - 3.0)), abs=2e-2)
    mean, variance = law.moments()
    assert mean == pytest.approx(float(masses @ grid), abs=2e-2)
    assert variance == pytest.approx(float(masses @ (grid - mean) ** 2), abs=1e-1)
    u = np.array([0.01, 0.3, 0.5, 0.99])
    assert law.cdf(law.quantile(u)) == pytest.approx(u, abs=1e-6)
    assert law.rank_error(len(data)) == 0 and 0 <= law.rank_error(0.5) <= 1


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 10.0])
def test_clamped_laplace_noise_on_a_quantile(epsilon):
    """Against the mean over evenly spread levels of the noise; never more than the wider side of the range."""
    u = (np.arange(200_000) + 0.5) / 200_000
    noise = -100 / epsilon * np.sign(u - 0.5) * np.log1p(-2 * np.abs(u - 0.5))
    for place in (0.0, 30.0, 100.0):
        expected = np.abs(np.clip(place + noise, 0, 100) - place).mean()
        error = private_quantiles.laplace_error(place, epsilon, low=0, high=100)
        assert error == pytest.approx(expected, rel=1e-3) and error <= max(place, 100 - place)


# Subsample and aggregate ----------------------------------------------------------------------------


@given(some.integers(2, 6), epsilons, some.sampled_from(["mean", "median"]))
@settings(max_examples=30, deadline=None)
def test_one_block_changed_is_hidden(count, epsilon, aggregate):
    """One block's value anywhere in the range: the density changes by at most e^ε, for any function."""
    rng = np.random.default_rng(count)
    values, x = rng.uniform(-1, 3, count), np.linspace(-0.999, 2.999, 97)
    own = subsample_aggregate.release(values, epsilon, aggregate, low=-1, high=3).density(x)
    for worst in (-1.0, 0.5, 3.0):
        other = np.append(values[1:], worst)
        theirs = subsample_aggregate.release(other, epsilon, aggregate, low=-1, high=3).density(x)
        assert np.abs(np.log(own / theirs)).max() <= epsilon * (1 + 1e-6)


def test_blocks_are_disjoint_and_the_squared_error_is_the_laws():
    rng = np.random.default_rng(2)
    data = np.arange(103.0)
    blocks = subsample_aggregate.blocks(data, 10, rng)
    assert blocks.shape == (10, 10) and len(np.unique(blocks)) == 100
    for aggregate in ("mean", "median"):
        release = subsample_aggregate.release(blocks.mean(axis=1), 1.0, aggregate, low=0, high=103)
        x = np.linspace(-2000, 2000, 4_000_001)
        assert float(release.density(x) @ (x - 50) ** 2) * (x[1] - x[0]) == pytest.approx(
            release.squared_error(50.0), rel=1e-3
        )


@pytest.mark.parametrize("call", [
    lambda: exponential_mechanism.probabilities([], 1, 1),
    lambda: exponential_mechanism.probabilities([1, math.inf], 1, 1),
    lambda: exponential_mechanism.probabilities([1], 0, 1), lambda: noisy_max.probabilities([], 1, "laplace"),
    lambda: noisy_max.probabilities([(0, 0)], 1, "laplace"), lambda: noisy_max.probabilities([(0, 1)], 1, "x"),
    lambda: noisy_max.scores("x", 3, 1), lambda: noisy_max.gap_bound(1, 1),
    lambda: private_quantiles.law([1], 0.5, 1, low=1, high=1), lambda: private_quantiles.law([], 0.5, 1, low=0, high=1),
    lambda: private_quantiles.law([1], 2, 1, low=0, high=1),
    lambda: subsample_aggregate.release(np.ones(3), 1, "x", low=0, high=1),
    lambda: subsample_aggregate.release(np.ones(3), 1, "mean", low=1, high=0),
    lambda: subsample_aggregate.blocks(np.ones(3), 4, np.random.default_rng(0)),
])  # fmt: skip
def test_bad_input_is_named(call):
    with pytest.raises(InputError):
        call()
