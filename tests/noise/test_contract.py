"""What every noise law promises, with drawn parameters: distribution functions, moments, samples, privacy."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panels import integral, kinks
from strategies import CONTINUOUS, INTEGER, LAWS, log_floats, losses

EXACT = 1e-10
"""Relative error that the laws promise; the quadrature they are compared with is good to about 1e-13."""

some = settings(max_examples=20)
every_law = pytest.mark.parametrize("key", LAWS)
every_density = pytest.mark.parametrize("key", CONTINUOUS)
every_integer_law = pytest.mark.parametrize("key", INTEGER)


@every_law
@some
@given(data=st.data(), u=st.floats(1e-9, 1 - 1e-9))
def test_the_quantile_inverts_the_cdf(key, data, u):
    """cdf(x) ≥ u at x = quantile(u), and cdf < u a little to its left; slack: rounding of both."""
    noise = data.draw(LAWS[key])
    x = float(noise.quantile(u))
    step = 1e-9 * (1 + abs(x) + abs(x - noise.location)) if key in CONTINUOUS else 1.0
    assert float(noise.cdf(x + (step if key in CONTINUOUS else 0))) >= u * (1 - 1e-11)
    assert float(noise.cdf(x - step)) <= u + 1e-11 * min(u, 1 - u) + 1e-15


@every_law
@some
@given(data=st.data())
def test_the_cdf_rises_from_0_to_1_and_is_symmetric_about_the_location(key, data):
    noise = data.draw(LAWS[key])
    m, distance = noise.location, data.draw(log_floats(1e-3, 100))
    x = np.sort(m + distance * np.linspace(-3, 3, 61))
    values = noise.cdf(x)
    assert (np.diff(values) >= -1e-15).all() and values.min() >= 0 and values.max() <= 1
    point = m + (distance if key in CONTINUOUS else math.ceil(distance))
    mirror = 2 * m - point if key in CONTINUOUS else 2 * m - point - 1
    assert float(noise.cdf(point) + noise.cdf(mirror)) == pytest.approx(1, abs=1e-13 + 1e-13 * abs(m / distance))
    low, high = noise.interval(0.9)
    assert low <= m <= high
    before = low - 1 if key in INTEGER else np.nextafter(low, -np.inf)
    assert float(noise.cdf(high)) - float(noise.cdf(before)) >= 0.9 - 1e-9


@every_density
@some
@given(data=st.data())
def test_the_density_and_the_atoms_make_up_the_cdf(key, data):
    noise = data.draw(CONTINUOUS[key])
    atoms = sum(mass for _, mass in noise.atoms)
    assert integral(noise, np.ones_like, -math.inf, math.inf) == pytest.approx(1 - atoms, rel=EXACT)
    a, b = np.sort(noise.quantile(np.array([data.draw(st.floats(1e-6, 0.999)) for _ in range(2)])))
    inside = sum(mass for x, mass in noise.atoms if a < x <= b)
    assert float(noise.cdf(b) - noise.cdf(a)) == pytest.approx(integral(noise, np.ones_like, a, b) + inside, abs=1e-11)


@every_density
@settings(max_examples=40)
@given(data=st.data(), power=st.one_of(st.integers(0, 4), st.floats(0, 4)))
def test_partial_moments_are_those_of_the_density(key, data, power):
    """Relative to the moment itself: also narrow intervals and tails, where differences would cancel."""
    noise = data.draw(CONTINUOUS[key])
    spread = float(noise.quantile(0.999)) - noise.location + 0.01
    lo = data.draw(st.one_of(st.just(0.0), log_floats(1e-4, 3).map(lambda v: v * spread)))
    width = data.draw(st.one_of(st.just(math.inf), log_floats(1e-4, 3).map(lambda v: v * spread)))
    lo, hi = (lo, lo + width) if data.draw(st.booleans()) else (-lo - width, -lo)
    expected = integral(noise, lambda x: np.abs(x) ** power, lo, hi)
    left_out = 1e-25 * (spread + abs(noise.location)) ** power  # by the quadrature
    assert noise.partial_moment(power, lo, hi) == pytest.approx(expected, rel=EXACT, abs=left_out)


@every_density
@settings(max_examples=30)
@given(data=st.data(), loss=losses())
def test_expected_loss_is_the_integral_of_the_loss(key, data, loss):
    noise = data.draw(CONTINUOUS[key])
    breaks = loss.breaks.tolist()
    expected = integral(noise, loss.value, -math.inf, math.inf, breaks)
    expected += sum(mass * float(loss.value(x)) for x, mass in noise.atoms)
    # constants of Huber and table losses cancel against slopes: relative to the size of the terms
    size = 1 + max(abs(p.constant) for p in loss.pieces)
    assert noise.expected_loss(loss) == pytest.approx(expected, rel=EXACT, abs=1e-13 * size)


@every_integer_law
@settings(max_examples=30)
@given(data=st.data(), loss=losses())
def test_whole_number_laws_sum_to_their_expected_loss(key, data, loss):
    """Brute force over every point that carries more than e^−60 of a period."""
    noise = data.draw(INTEGER[key])
    reach = noise.sensitivity * (int(60 / noise.epsilon) + 3)
    k = noise.location + np.arange(-reach, reach + 1)
    masses = noise.pmf(k)
    assert math.fsum(masses) == pytest.approx(1, rel=1e-13)
    assert np.cumsum(masses) == pytest.approx(noise.cdf(k), abs=1e-12)
    assert float(noise.pmf(noise.location + 0.5)) == 0
    assert math.fsum(mass for _, mass in noise.atoms) == pytest.approx(1, abs=1e-13)
    size = 1 + max(abs(p.constant) for p in loss.pieces)
    assert noise.expected_loss(loss) == pytest.approx(math.fsum(masses * loss.value(k)), rel=EXACT, abs=1e-13 * size)


@every_law
@settings(max_examples=5)
@given(data=st.data())
def test_samples_follow_the_cdf(key, data):
    """Dvoretzky–Kiefer–Wolfowitz: the largest distance exceeds t with probability at most 2e^(−2nt²), here 1e-9."""
    noise = data.draw(LAWS[key])
    n = 20_000
    x, counts = np.unique(noise.sample(np.random.default_rng(7), n), return_counts=True)
    after = np.cumsum(counts) / n
    before = after - counts / n
    limit = math.sqrt(math.log(2e9) / (2 * n))
    assert np.abs(noise.cdf(x) - after).max() <= limit
    assert np.abs(noise.cdf(np.nextafter(x, -np.inf)) - before).max() <= limit + 1e-9


@every_integer_law
@some
@given(data=st.data(), epsilon=st.one_of(st.just(0.0), log_floats(0.01, 10)), halves=st.integers(2, 40))
def test_shortfall_of_whole_numbers_is_the_worst_event_at_the_worst_shift(key, data, epsilon, halves):
    noise = data.draw(INTEGER[key])
    sensitivity = halves / 2
    reach = noise.sensitivity * (int(50 / noise.epsilon) + 2) + int(sensitivity)
    k = noise.location + np.arange(-reach, reach + 1)
    shifts = [s for s in range(-int(sensitivity), int(sensitivity) + 1) if s]
    excesses = [np.maximum(noise.pmf(k) - math.exp(epsilon) * noise.pmf(k - shift), 0).sum() for shift in shifts]
    assert noise.shortfall(epsilon, sensitivity) == pytest.approx(max(excesses), rel=1e-11, abs=1e-14)


@every_density
@settings(max_examples=25)
@given(data=st.data(), epsilon=st.one_of(st.just(0.0), log_floats(0.01, 6)))
def test_shortfall_is_the_worst_event_at_the_worst_shift(key, data, epsilon):
    """Events made of 6000 cells, cut at every jump of either density: never above the exact value, and almost
    reaching it.

    Rounding: a cdf errs by about 1e-16, times e^ε, in each cell. The grid: at most one change of sign lies
    inside a cell of a smooth density, which loses less than its mass times the change of the density in it.
    """
    noise = data.draw(CONTINUOUS[key])
    spread = float(noise.quantile(1 - 1e-7)) - noise.location + 0.01
    sensitivity = data.draw(log_floats(0.02, 2)) * spread
    grid = np.linspace(noise.location - 3 * spread, noise.location + 3 * spread, 6001)
    jumps = np.array(kinks(noise))
    alone = np.nextafter(noise.location, -np.inf)  # the atom is an event of its own
    amplification, best = math.exp(epsilon), 0.0
    for shift in (*(np.array([0.1, 0.37, 0.5, 0.77, 0.93, 1, -0.5, -1]) * sensitivity),):
        edges = np.unique(np.concatenate([grid, jumps, jumps + shift, [alone]]))
        excess = np.diff(noise.cdf(edges)) - amplification * np.diff(noise.cdf(edges - shift))
        best = max(best, float(np.maximum(excess, 0).sum()))
    exact = noise.shortfall(epsilon, sensitivity)
    assert best <= exact + 1e-12 * amplification
    assert best >= exact * (1 - 1e-3) - 1e-4


@every_law
@some
@given(data=st.data(), epsilon=log_floats(0.01, 20), sensitivity=log_floats(0.1, 30))
def test_shortfall_falls_with_epsilon_and_grows_with_sensitivity(key, data, epsilon, sensitivity):
    noise = data.draw(LAWS[key])
    more = 1 + data.draw(st.floats(0, 3))
    here = noise.shortfall(epsilon, sensitivity)
    assert 0 <= here <= 1
    assert noise.shortfall(epsilon * more, sensitivity) <= here + 1e-14
    assert noise.shortfall(epsilon, sensitivity * more) >= here - 1e-14


@every_law
@some
@given(data=st.data())
def test_laws_are_values(key, data):
    """Equal parameters, equal laws; they survive pickling and their parameters rebuild them."""
    noise = data.draw(LAWS[key])
    assert pickle.loads(pickle.dumps(noise)) == noise
    assert type(noise)(**noise.parameters) == noise
    assert hash(noise) == hash(type(noise)(**noise.parameters))
    lo, hi = noise.support
    assert float(noise.cdf(lo)) <= 1e-12 and float(noise.cdf(hi)) >= 1 - 1e-12


@every_law
@some
@given(data=st.data(), coverage=st.floats(0.01, 0.99))
def test_within_is_the_least_width_that_holds_the_noise(key, data, coverage):
    """Against the two tails by themselves, atoms at the ends included; a little less is not enough."""
    noise = data.draw(LAWS[key])
    width = noise.within(coverage)

    def held(end: float) -> float:
        return float(noise.cdf(end)) - float(noise.cdf(np.nextafter(-end, -np.inf) if key in CONTINUOUS else -end - 1))

    assert held(width) >= coverage - 1e-11 and noise.inside(width) >= coverage
    less = width - (1e-9 * (width + abs(noise.location)) if key in CONTINUOUS else 1)
    assert less < 0 or width == 0 or held(less) <= coverage + 1e-9
