"""Noisy sufficient statistics: sensitivities by brute force, ratios on drawn neighbours, post-processing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import InputError
from dpcore.gallery import regression as rg
from dpcore.noise.gaussian import gaussian_delta
from dpcore.privacy import Privacy

AXIS = np.linspace(-1, 1, 41)
X, Y, X2, Y2 = np.meshgrid(AXIS, AXIS[::4], AXIS, AXIS[::4], indexing="ij", sparse=True)
FIRST = np.abs(X - X2) + np.abs(Y - Y2)
SECOND = np.abs(X * X - X2 * X2) + np.abs(X * Y - X2 * Y2)
SQUARES = (X - X2) ** 2 + (Y - Y2) ** 2, (X * X - X2 * X2) ** 2 + (X * Y - X2 * Y2) ** 2
SHARE = st.floats(0.05, 0.95)


@settings(max_examples=30, deadline=None)
@given(SHARE)
def test_joint_sensitivities_by_brute_force(p):
    """Never exceeded on a grid of pairs of rows, and attained up to the grid (step 1/20: relative 1e-3)."""
    q = 1 - p
    found = float((p * FIRST + q * SECOND).max())
    assert found <= rg.change_l1(p, q) <= found * 1.001 + 1e-12
    found = float(np.sqrt((p * p * SQUARES[0] + q * q * SQUARES[1]).max()))
    assert found <= rg.change_l2(p, q) <= found * 1.001 + 1e-12


def test_known_values():
    assert rg.change_l1(1, 1) == pytest.approx(5, rel=1e-12) and rg.change_l1(1, 1) >= 5
    assert rg.change_l2(1, 1) == pytest.approx(math.sqrt(8), rel=1e-12)
    assert rg.SEPARATE == 2 + 2 + 1 + 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), SHARE, st.floats(0.05, 4))
def test_private_on_drawn_neighbours(seed, share, epsilon):
    """Log density ratios of Laplace releases stay within ε, Gaussian ones within δ, however wild the row."""
    rng = np.random.default_rng(seed)
    bounds = rg.Bounds((0.0, 50.0), (-3.0, 9.0))
    rows = rng.normal(size=(6, 2)) * 40
    other = rows.copy()
    other[2] = rng.choice([-1e6, -3.0, 0.0, 7.0, 25.0, 50.0, 1e9], 2)
    one, two = (rg.sums(bounds.unit(r)) for r in (rows, other))
    privacy = Privacy(epsilon, 1e-5)
    release = rg.calibrate("laplace", privacy, share=share)
    scales = np.array([release.first] * 2 + [release.second] * 2)
    z = one + release.noise(50, rng)
    ratio = (np.abs(z - two) - np.abs(z - one)) / scales
    assert np.abs(ratio.sum(axis=1)).max() <= epsilon * (1 + 1e-9)
    release = rg.calibrate("gaussian", privacy, share=share)
    scales = np.array([release.first] * 2 + [release.second] * 2)
    distance = float(np.linalg.norm((one - two) / scales))
    assert distance == 0 or gaussian_delta(1 / distance, epsilon) <= 1e-5 * (1 + 1e-9)


def test_the_whole_budget_is_used():
    """The worst pair of rows attains ε, so no smaller noise would do; noise for separate releases is 7/5 as large."""
    release = rg.calibrate("laplace", Privacy(1.0, 0.0), share=0.5)
    change = np.abs(rg.sums(np.array([[[1.0, 1.0]]])) - rg.sums(np.array([[[0.0, -1.0]]])))[0]
    assert change[:2].sum() / release.first + change[2:].sum() / release.second == pytest.approx(1, rel=1e-9)
    assert rg.separately(Privacy(1.0, 0.0)).first / release.first == pytest.approx(1.4, rel=1e-9)


def test_least_squares_without_noise_is_numpys():
    rng = np.random.default_rng(0)
    bounds = rg.Bounds((10.0, 30.0), (0.0, 5.0))
    rows = np.column_stack([rng.uniform(10, 30, 50), rng.uniform(0, 5, 50)])
    found, raised = rg.solve(rg.sums(bounds.unit(rows)), 50, floor=1e-9)
    slope, intercept = np.polyfit(*rows.T, 1)
    assert bounds.line(found) == pytest.approx([intercept, slope], rel=1e-9) and not raised


def test_a_negative_sum_of_squares_is_floored():
    found, raised = rg.solve(np.array([0.0, 0.0, -3.0, 1.0]), 10, floor=2.0)
    assert raised and found.tolist() == [0.0, 0.5]


def test_errors_and_intervals():
    """1000 tables of 400 rows: without noise the formula holds and 95 % intervals hold; with noise they do not."""
    rng = np.random.default_rng(1)
    line, bounds = rg.Line(55.0, 2.5, 8.0, -5.0, 15.0), rg.Bounds((-5.0, 15.0), (-50.0, 200.0))
    noisy = rg.calibrate("laplace", Privacy(1.0, 0.0), share=0.35)
    silent = rg.Release("laplace", Privacy(1.0, 0.0), 1e-9, 1e-9)
    found, calm = rg.repeat(line, 400, [noisy, silent], bounds, tables=1000, rng=rng)
    ordinary, private = found.errors
    assert ordinary == pytest.approx(line.slope_error(400), rel=0.1)
    assert private > 2 * ordinary and found.coverage < 0.75 and found.stretch > 1.8
    assert calm.coverage == pytest.approx(0.95, abs=0.035) and not calm.raised.any()
    assert calm.private == pytest.approx(calm.ordinary, abs=1e-6)  # nothing was clipped


def test_narrow_bounds_bias_the_slope():
    """Clipping flattens the line, and no number of people helps."""
    line, rng = rg.Line(0.0, 1.0, 0.1), np.random.default_rng(2)
    silent = rg.Release("laplace", Privacy(1.0, 0.0), 1e-9, 1e-9)
    (found,) = rg.repeat(line, 2000, [silent], rg.Bounds((-1.0, 1.0), (-0.5, 0.5)), tables=50, rng=rng)
    assert found.private.mean() < -0.2


def test_bad_input_is_named():
    with pytest.raises(InputError, match="share"):
        rg.calibrate("laplace", Privacy(1.0, 0.0), share=1.0)
    with pytest.raises(InputError, match="delta"):
        rg.calibrate("gaussian", Privacy(1.0, 0.0))
    with pytest.raises(InputError, match="epsilon"):
        rg.separately(Privacy(0.0, 0.1))
    with pytest.raises(InputError, match="bounds"):
        rg.Bounds((1.0, 1.0))
    with pytest.raises(InputError, match="rows"):
        rg.Bounds().unit([[math.inf, 0.0]])
