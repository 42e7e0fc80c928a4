"""Local and central releases against enumeration of all transcripts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.gallery import local_and_central as lc
from dpcore.noise import Geometric

EPSILON = st.floats(0.05, 6.0)


def transcript(bits, reports, epsilon):
    """P(reports | bits) of randomised response, from its definition."""
    return math.prod(math.exp(epsilon * (b == r)) / (1 + math.exp(epsilon)) for b, r in zip(bits, reports))


@settings(max_examples=20, deadline=None)
@given(EPSILON, st.integers(1, 4))
def test_responses_are_private_and_have_the_stated_variance(epsilon, people):
    truth = lc.truth_probability(epsilon)
    space = list(itertools.product((0, 1), repeat=people))
    for bits in space:
        chances = [transcript(bits, reports, epsilon) for reports in space]
        values = [(sum(reports) / people - (1 - truth)) / (2 * truth - 1) for reports in space]
        mean = math.fsum(p * v for p, v in zip(chances, values))
        assert mean == pytest.approx(sum(bits) / people, abs=1e-9)
        spread = math.fsum(p * (v - mean) ** 2 for p, v in zip(chances, values))
        assert spread == pytest.approx(lc.variance("response", people, epsilon), rel=1e-9)
        for i in range(people):
            other = (*bits[:i], 1 - bits[i], *bits[i + 1 :])
            worst = max(transcript(bits, z, epsilon) / transcript(other, z, epsilon) for z in space)
            assert worst == pytest.approx(math.exp(epsilon), rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(EPSILON, st.integers(1, 1000))
def test_the_central_release_is_private_and_has_the_stated_variance(epsilon, people):
    noise = Geometric(epsilon)
    assert noise.shortfall(epsilon, 1) == 0 and noise.shortfall(0.9 * epsilon, 1) > 0
    k = np.arange(-2000, 2001)
    assert float(noise.pmf(k) @ k**2) / people**2 == pytest.approx(lc.variance("central", people, epsilon), rel=1e-6)


@given(EPSILON, st.floats(10, 1e6))
def test_distrust_squares_the_number_of_people(epsilon, people):
    assert lc.price_of_distrust(people, epsilon) == pytest.approx(people**2 / 2, rel=1e-9)
    for model in lc.MODELS:
        error = math.sqrt(lc.variance(model, people, epsilon))
        assert lc.people_needed(model, error, epsilon) == pytest.approx(people, rel=1e-9)
    assert lc.variance("response", people, epsilon) < lc.variance("local-laplace", people, epsilon)


@pytest.mark.parametrize("model", lc.MODELS)
def test_simulations_follow_the_formulas(model):
    """20 000 draws: the mean within 5 standard errors, the variance within 5 % (its own error is about 1.5 %)."""
    found = lc.simulate(model, 400, 100, epsilon=0.7, draws=20_000, rng=np.random.default_rng(5))
    expected = lc.variance(model, 400, 0.7)
    assert abs(found.mean() - 0.25) < 5 * math.sqrt(expected / 20_000)
    assert found.var() == pytest.approx(expected, rel=0.05)


def test_rates_at_the_ends():
    """Awan, §4.2.2: at k = 2 the local squared error is of order 1/(ε√n), the central one 1/n + 1/(εn); at k = ∞
    1/(nε²) and 1/n + 1/(nε)²."""
    n, e = 1e4, 0.5
    assert lc.minimax_rates(n, e, 2.0) == pytest.approx((1e-4, 1e-4 + 1 / (n * e), 1 / (e * n**0.5)))
    assert lc.minimax_rates(n, e, math.inf) == pytest.approx((1e-4, 1e-4 + 1 / (n * e) ** 2, 1 / (n * e * e)))


def test_the_noise_is_free_from():
    n = lc.free_from(1.0, 0.5)
    assert lc.variance("central", n, 1.0) == pytest.approx(lc.sampling_variance(n, 0.5), rel=1e-12)
    assert lc.free_from(1.0, 0.0) == math.inf


def test_bad_input_is_named():
    with pytest.raises(InputError, match="model"):
        lc.variance("nobody", 10, 1.0)
    with pytest.raises(InputError, match="ones"):
        lc.simulate("central", 10, 11, epsilon=1.0, draws=1, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="moments"):
        lc.minimax_rates(10, 1.0, 1.5)
