"""Total losses of randomised responses: by listing all outcomes, by another accountant, by moments."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpcore.accounting.mechanisms import Release, parse_mechanism
from dpcore.accounting.rules import limit
from dpcore.accounting.truth import Truth
from dpcore.errors import InputError
from dpcore.gallery.converging_losses import Responses


@pytest.mark.parametrize(("epsilon", "count"), [(0.5, 1), (0.3, 4), (1.2, 6)])
def test_law_and_delta_by_listing_all_outcomes(epsilon, count):
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    found = Responses(epsilon, count)
    masses, delta = dict.fromkeys(range(count + 1), 0.0), 0.0
    for told in itertools.product((True, False), repeat=count):
        one, other = math.prod(p if t else 1 - p for t in told), math.prod(1 - p if t else p for t in told)
        masses[sum(told)] += one
        delta += max(one - math.exp(0.4) * other, 0.0)
    losses, probabilities = found.law()
    assert probabilities == pytest.approx(list(masses.values()), rel=1e-12)
    assert found.delta(0.4) == pytest.approx(delta, abs=1e-14)
    assert found.mean == pytest.approx(losses @ probabilities)
    assert found.deviation**2 == pytest.approx((losses - found.mean) ** 2 @ probabilities)


def test_limit_and_error_are_the_accountant_s():
    """By the grids of `dpcore.accounting`, and the third moment by its definition."""
    found = Responses(0.2, 100)
    release = Release(parse_mechanism("response:epsilon=0.2"), 100)
    mu, error = limit((release,))
    assert found.mu == pytest.approx(mu, rel=1e-3) and found.error == pytest.approx(error, rel=1e-2)
    assert found.mu == pytest.approx(20 * math.sinh(0.1))
    band = Truth((release,)).delta(1.0)
    assert band.lower * (1 - 1e-9) <= found.delta(1.0) <= band.upper * (1 + 1e-9)
    p, kl = math.exp(0.2) / (1 + math.exp(0.2)), 0.2 * math.tanh(0.1)
    third = p * abs(0.2 - kl) ** 3 + (1 - p) * abs(-0.2 - kl) ** 3
    assert found.error == pytest.approx(0.56 * 100 * third / (100 * (0.04 - kl**2)) ** 1.5)


def test_distances_are_real_and_fall_within_the_bound():
    before = 1.0
    for count in (1, 4, 16, 64, 256, 1024):
        found = Responses(1 / math.sqrt(count), count)
        losses, masses = found.law()
        x = np.concatenate([losses - 1e-9, losses + 1e-9])
        steps = np.array([masses[losses <= one].sum() for one in x])
        real = np.abs(steps - stats.norm(found.mean, found.deviation).cdf(x)).max()
        assert found.distance() == pytest.approx(real, abs=1e-6)
        assert found.distance() <= min(found.error, before)
        before = found.distance()
    assert before < 0.02


def test_the_centre_that_the_notes_print_is_not_the_mean():
    """log|f′| has mean −kl: the sum of squares about −kl is the variance, about +kl it is more."""
    p, kl = math.exp(0.8) / (1 + math.exp(0.8)), 0.8 * math.tanh(0.4)
    logs, weights = np.array([0.8, -0.8]), np.array([1 - p, p])
    assert logs @ weights == pytest.approx(-kl)
    assert np.abs(logs - kl) ** 3 @ weights > 1.5 * (np.abs(logs + kl) ** 3 @ weights)


def test_refused():
    for bad in ((0.0, 3), (1.0, 0)):
        with pytest.raises(InputError):
            Responses(*bad)
