"""The classical formula of Gaussian noise: what it keeps, with 40 digits, and its proof step by step."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.stats import norm

from dpcore.errors import InputError
from dpcore.gallery import gaussian as core
from dpcore.noise import Gaussian
from dpcore.privacy import Privacy

deltas = some.floats(-12, -0.4).map(lambda power: 10**power)
constants = some.sampled_from(tuple(core.CONSTANTS.values()))


def delta_of(c: float, epsilon: float) -> mpmath.mpf:
    """Φ(ε/2c − c) − e^ε Φ(−ε/2c − c) with 40 digits."""
    with mpmath.workdps(40):
        half = mpmath.mpf(epsilon) / (2 * mpmath.mpf(c))
        return mpmath.ncdf(half - c) - mpmath.exp(epsilon) * mpmath.ncdf(-half - c)


@given(deltas, some.floats(0.05, 10), constants)
@settings(deadline=None, max_examples=30)
def test_what_the_formula_keeps_to_many_digits(delta, epsilon, constant):
    if delta >= constant:
        return
    c = core.factor(constant, delta)
    assert core.kept_delta(constant, Privacy(epsilon, delta)) == pytest.approx(float(delta_of(c, epsilon)), rel=1e-10)


@given(deltas, constants)
@settings(deadline=None, max_examples=30)
def test_the_formula_turns_at_one_epsilon(delta, constant):
    c, until = core.factor(constant, delta), core.valid_until(constant, delta)
    for share in (0.02, 0.3, 0.9, 1 - 1e-8):
        assert delta_of(c, share * until) < delta
    for share in (1 + 1e-8, 1.1, 3.0):
        assert delta_of(c, share * until) > delta
    assert core.least_constant(Privacy(until, delta)) == pytest.approx(constant, rel=1e-6)


def test_the_formula_is_the_one_of_the_registry():
    privacy = Privacy(0.7, 1e-6)
    assert core.factor(1.25, 1e-6) / 0.7 == pytest.approx(Gaussian.classical(privacy, 1.0).sigma, rel=1e-15)
    assert Gaussian.classical(privacy, 1.0).shortfall(0.7, 1.0) == pytest.approx(core.kept_delta(1.25, privacy))


@given(deltas, some.floats(0.001, 1))
@settings(deadline=None, max_examples=60)
def test_one_tail_proves_the_small_constant(delta, epsilon):
    """Every inequality of the topic's proof, and what it proves."""
    one_tail = core.CONSTANTS["0.66"]
    if delta > one_tail * math.exp(-9 / 8):
        return
    c = core.factor(one_tail, delta)
    t = c - epsilon / (2 * c)
    assert c >= 1.5 - 1e-12 and t >= 1 and t * t >= c * c - 1
    assert norm.sf(t) <= norm.pdf(t) / t <= one_tail * math.exp(-c * c / 2) * (1 + 1e-12)
    assert core.kept_delta(one_tail, Privacy(epsilon, delta)) <= norm.sf(t) <= delta * (1 + 1e-12)


def test_large_delta_needs_no_tail():
    """K = 1.25 where c < 3/2: total variation, which rises with ε and falls with c."""
    variation = lambda c: 2 * norm.cdf(1 / (2 * c)) - 1  # noqa: E731
    assert core.factor(1.25, 0.4) > 1.5 and core.factor(1.25, 0.41) < 1.5
    assert core.factor(1.25, 1 - 1e-12) > 0.667 and variation(2 / 3) < 0.55
    assert core.factor(1.25, 0.55) > 1.28 and variation(1.28) < 0.31 < 0.405


def test_a_step_of_the_published_proof_is_false():
    """[Awan, Remark 9.4]."""
    c, epsilon = 100.0, 1.0
    assert c**2 - epsilon + epsilon**2 / (4 * c**2) < c**2 - 8 / 9


def test_bad_input_is_named():
    with pytest.raises(InputError, match="delta"):
        core.factor(0.5, 0.6)
    for call in (lambda: core.factor(1.25, 0.0), lambda: core.kept_delta(-1.0, Privacy(1.0, 0.1))):
        with pytest.raises(InputError):
            call()
