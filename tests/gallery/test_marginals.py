"""One-way marginals: sensitivities by enumeration, errors against quadrature of their own and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.gallery import marginals
from dpcore.noise.gaussian import gaussian_delta
from dpcore.privacy import Privacy


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_noise_covers_every_replacement(columns):
    """All pairs of rows: Laplace noise keeps the log ratio within ε, Gaussian noise keeps δ; both are attained."""
    people, privacy = 7, Privacy(0.8, 1e-4)
    rows = np.array(list(itertools.product((-1, 1), repeat=columns)))
    change = (rows[:, None, :] - rows[None, :, :]) / people
    b, sigma = (marginals.scale(law, people, columns, privacy) for law in marginals.LAWS)
    assert np.abs(change).sum(axis=2).max() / b == pytest.approx(privacy.epsilon, rel=1e-12)
    farthest = np.linalg.norm(change, axis=2).max()
    assert 0.99 * privacy.delta < gaussian_delta(sigma / farthest, privacy.epsilon) <= privacy.delta


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 2000), st.floats(0.05, 5), st.sampled_from(marginals.MEASURES), st.sampled_from(marginals.LAWS))
def test_people_needed_turns_the_error_around(columns, epsilon, measure, law):
    privacy = Privacy(epsilon, 1e-6)
    n = marginals.people_needed(law, columns, privacy, error=0.05, measure=measure)
    assert marginals.error(law, n, columns, privacy, measure=measure) == pytest.approx(0.05, rel=1e-12)
    free = marginals.free_from(law, columns, privacy, measure=measure)
    assert marginals.error(law, free, columns, privacy, measure=measure) == pytest.approx(
        marginals.sampling_error(free, columns, measure=measure), rel=1e-12
    )


@pytest.mark.parametrize("columns", [1, 2, 10, 1000])
def test_largest_errors_against_simulation(columns):
    """20 000 maxima: within 5 standard errors."""
    rng = np.random.default_rng(columns)
    for law, draw in (("laplace", rng.laplace), ("gaussian", rng.normal)):
        largest = np.concatenate([np.abs(draw(size=(500, columns))).max(axis=1) for _ in range(20)])
        error = largest.std() / math.sqrt(len(largest))
        assert abs(largest.mean() - marginals.spread(law, columns, "largest")) < 5 * error


def test_slopes_are_one_and_a_half():
    """n = Θ(d) for ε-DP, Θ(√d) for (ε, δ)-DP [Awan, Ex. 10.1]."""
    privacy = Privacy(1.0, 1e-6)
    for law, factor in (("laplace", 4.0), ("gaussian", 2.0)):
        few, many = (marginals.people_needed(law, d, privacy, error=0.1) for d in (100, 400))
        assert many / few == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("measure", marginals.MEASURES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_where_gaussian_noise_wins(measure, epsilon):
    privacy = Privacy(epsilon, 1e-6)
    start = marginals.gaussian_wins_from(privacy, measure=measure)
    ratio = [
        marginals.error("gaussian", 1, d, privacy, measure=measure)
        / marginals.error("laplace", 1, d, privacy, measure=measure)
        for d in range(1, start + 40)
    ]
    assert all(r >= 1 for r in ratio[: start - 1]) and all(r < 1 for r in ratio[start - 1 :])


def test_simulated_tables():
    means, released = marginals.simulate("laplace", 100, 5000, Privacy(1.0, 0.0), rng=np.random.default_rng(3))
    assert np.abs(means).mean() == pytest.approx(marginals.sampling_error(100, 1), rel=0.05)
    assert np.abs(released - means).mean() == pytest.approx(100.0, rel=0.07)  # scale 2·5000/100


def test_bad_input_is_named():
    with pytest.raises(InputError, match="delta"):
        marginals.scale("gaussian", 10, 2, Privacy(1.0, 0.0))
    with pytest.raises(InputError, match="law"):
        marginals.scale("cauchy", 10, 2, Privacy(1.0, 0.1))
    with pytest.raises(InputError, match="measure"):
        marginals.spread("laplace", 2, "median")
    with pytest.raises(InputError, match="columns"):
        marginals.spread("laplace", 0, "mean")
