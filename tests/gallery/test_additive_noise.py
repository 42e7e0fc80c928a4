"""Four noises for a count: closed forms, and privacy by each law's own exact shortfall."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from dpcore.errors import InputError
from dpcore.gallery import additive_noise as core


@given(some.floats(0.05, 8))
@settings(deadline=None)
def test_mean_absolute_errors_in_closed_form(epsilon):
    found = core.errors(epsilon, 1e-6)
    assert found["laplace"] == pytest.approx(1 / epsilon)
    assert found["geometric"] == pytest.approx(1 / math.sinh(epsilon))
    assert found["staircase"] == pytest.approx(math.exp(epsilon / 2) / math.expm1(epsilon))
    assert found["geometric"] <= found["staircase"] <= found["laplace"]


@given(some.floats(0.1, 6), some.sampled_from((1e-9, 1e-5, 0.1)), some.sampled_from(("l1", "l2")))
@settings(deadline=None, max_examples=20)
def test_every_noise_keeps_its_promise(epsilon, delta, loss):
    noises = core.laws(epsilon, delta, loss)
    assert noises.pop("gaussian").shortfall(epsilon, 1.0) <= delta
    assert all(noise.shortfall(epsilon, 1) == 0 for noise in noises.values())


@given(some.floats(0.1, 4))
def test_geometric_noise_is_private_by_enumeration(epsilon):
    k = np.arange(-60.0, 61)
    masses = core.laws(epsilon, 1e-6)["geometric"].pmf(k)
    assert np.abs(np.diff(np.log(masses))).max() <= epsilon * (1 + 1e-9)
    alpha = math.exp(-epsilon)
    assert masses == pytest.approx((1 - alpha) / (1 + alpha) * alpha ** np.abs(k), rel=1e-9)


def test_bad_input_is_named():
    for call in (lambda: core.laws(0.0, 1e-6), lambda: core.laws(1.0, 0.0), lambda: core.laws(1.0, 1e-6, "x")):
        with pytest.raises(InputError):
            call()
