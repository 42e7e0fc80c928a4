"""K-norm gradient and exponential mechanisms against their definitions, normalised by quadrature, over small tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from dpcore.errors import InputError
from dpcore.gallery import private_quantiles
from dpcore.gallery.densities import LogLinear, TruncatedNormal
from dpcore.gallery.norm_gradient import Mean, Quantile, Slope, evenly_spread

NUMBERS = (0.0, 0.3, 0.75, 1.0)
PAIRS = ((-1.0, 1.0), (0.0, 0.5), (1.0, 1.0), (0.5, -1.0))
TARGETS = [
    (Mean(), NUMBERS),
    (Quantile(0.5), NUMBERS),
    (Quantile(0.8), NUMBERS),
    (Slope(2.0), PAIRS),
    (Slope(0.3), PAIRS),
]


def defined(target, rows, epsilon, mechanism, theta):
    """Log density at θ from the definition: loss or gradient, sensitivity, normaliser by a fine midpoint rule."""
    if mechanism == "exponential":
        exponent = lambda t: -epsilon / (2 * target.loss_sensitivity) * target.loss(t, rows)  # noqa: E731
    else:
        exponent = lambda t: -epsilon / (2 * target.gradient_sensitivity) * np.abs(target.gradient(t, rows))  # noqa: E731
    width = (target.high - target.low) / 40_000
    grid = target.low + width * (np.arange(40_000) + 0.5)
    return exponent(theta) - math.log(np.exp(exponent(grid)).sum() * width)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TARGETS), st.floats(0.1, 5), st.sampled_from(["norm_gradient", "exponential"]), st.data())
def test_densities_are_the_defined_ones_and_private(case, epsilon, mechanism, data):
    """Neighbours: every replacement of one row. Agreement to the midpoint rule's error, privacy up to 1e-9."""
    target, values = case
    rows = data.draw(st.lists(st.sampled_from(values), min_size=2, max_size=3))
    theta = np.linspace(target.low, target.high, 203)[1:-1] + 1e-4
    law = getattr(target, mechanism)(target.clip(rows), epsilon)
    here = law.log_density(theta)
    assert here == pytest.approx(defined(target, target.clip(rows), epsilon, mechanism, theta), abs=2e-4)
    for i, value in itertools.product(range(len(rows)), values):
        other = target.clip([*rows[:i], value, *rows[i + 1 :]])
        there = getattr(target, mechanism)(other, epsilon).log_density(theta)
        assert np.abs(here - there).max() <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("target", [Mean(), Quantile(0.2), Slope(0.2), Slope(0.5), Slope(0.8), Slope(3.0)], ids=str)
def test_sensitivities_are_attained_and_never_exceeded(target):
    grid = np.linspace(0, 1, 81) if not isinstance(target, Slope) else None
    if grid is None:
        axis = np.linspace(-1, 1, 161)
        rows = np.array(list(itertools.product(axis, axis[[0, 40, 80, 120, 160]])))
    theta = np.linspace(target.low, target.high, 41)
    one = (lambda r: r[None, :]) if grid is None else (lambda r: np.array([r]))
    table = rows if grid is None else grid
    losses = np.array([target.loss(theta, one(r)) for r in table])
    gradients = np.array([target.gradient(theta, one(r)) for r in table])
    for found, stated in ((losses, target.loss_sensitivity), (gradients, target.gradient_sensitivity)):
        widest = np.ptp(found, axis=0).max()
        assert 0.995 * stated <= widest <= stated * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.floats(0, 40), st.integers(0, 10**6))
def test_log_linear_laws_against_quadrature(cells, steep, seed):
    rng = np.random.default_rng(seed)
    knots = np.sort(np.unique(np.concatenate([[0.0, 1.0], rng.random(cells)])))
    left, right = rng.normal(size=(2, len(knots) - 1)) * steep
    law = LogLinear(knots, left, right)
    centre = rng.random()
    points = sorted({*knots.tolist(), centre})
    density = lambda x: math.exp(float(law.log_density(x)))  # noqa: E731
    total = sum(integrate.quad(density, a, b)[0] for a, b in zip(points, points[1:]))
    assert total == pytest.approx(1, abs=1e-6)
    mean = sum(integrate.quad(lambda x: density(x) * abs(x - centre), a, b)[0] for a, b in zip(points, points[1:]))
    assert law.mean_distance(centre) == pytest.approx(mean, rel=1e-6, abs=1e-9)
    u = rng.random(5)
    for share, x in zip(u, law.quantile(u)):
        below = sum(integrate.quad(density, a, min(b, x))[0] for a, b in zip(knots, knots[1:]) if a < x)
        assert below == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("centre", [0.4, 1.05, -3.0, 40.0])
@pytest.mark.parametrize("point", [0.0, 0.5, 1.0])
def test_truncated_normal_laws_against_quadrature(centre, point):
    law = TruncatedNormal(centre, 0.3, 0.0, 1.0)
    density = lambda x: math.exp(float(law.log_density(x)))  # noqa: E731
    cuts = np.unique([0, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999, 1])
    total = sum(integrate.quad(density, a, b)[0] for a, b in zip(cuts, cuts[1:]))
    assert total == pytest.approx(1, abs=1e-7)
    mean = sum(integrate.quad(lambda x: density(x) * abs(x - point), a, b)[0] for a, b in zip(cuts, cuts[1:]))
    assert law.mean_distance(point) == pytest.approx(mean, rel=1e-6)
    x = float(law.quantile(0.3))
    below = sum(integrate.quad(density, a, min(b, x))[0] for a, b in zip(cuts, cuts[1:]) if a < x)
    assert below == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("target", [Mean(), Quantile(0.5), Quantile(0.9)], ids=str)
def test_orders_of_the_errors(target):
    """1/n against 1/√n [Awan, Thms. 7.10 and 7.12]: a hundred times the rows, 100 and 10 times as accurate."""
    errors = {}
    for people in (100, 10_000):
        rows = target.clip(evenly_spread(people))
        for mechanism in ("norm_gradient", "exponential"):
            errors[people, mechanism] = getattr(target, mechanism)(rows, 1.0).mean_distance(target.estimate(rows))
    assert errors[100, "norm_gradient"] / errors[10_000, "norm_gradient"] == pytest.approx(100, rel=0.35)
    assert errors[100, "exponential"] / errors[10_000, "exponential"] == pytest.approx(10, rel=0.05)
    assert Mean().norm_gradient(evenly_spread(10_000), 1.0).mean_distance(float(evenly_spread(10_000).mean())) == (
        pytest.approx(2 / 10_000, rel=1e-9)
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-0.2, 1.2), min_size=1, max_size=30), st.floats(0.05, 0.95), st.floats(0.05, 5))
def test_the_quantile_is_the_rank_based_one(rows, tau, epsilon):
    """The same law written twice: pinball gradients here, ranks there."""
    target = Quantile(tau)
    here = target.norm_gradient(target.clip(rows), epsilon)
    there = private_quantiles.law(rows, target.tau, epsilon, low=0.0, high=1.0)
    u = np.linspace(0.01, 0.99, 21)
    assert here.quantile(u) == pytest.approx(there.quantile(u), abs=1e-7)
    assert here.mean_distance(0.4) == pytest.approx(there.mean_error(0.4), rel=1e-9)


def test_outliers_are_clipped_and_bad_input_is_named():
    assert Mean().clip([-5.0, 7.0]).tolist() == [0.0, 1.0]
    assert Slope().clip([[-5.0, 0.2]]).tolist() == [[-1.0, 0.2]]
    for target, rows in ((Mean(), []), (Mean(), ["a"]), (Quantile(), [math.nan]), (Slope(), [1.0, 2.0])):
        with pytest.raises(InputError, match="rows"):
            target.clip(rows)
    with pytest.raises(InputError, match="tau"):
        Quantile(1.0)
    with pytest.raises(InputError, match="epsilon"):
        Mean().exponential(Mean().clip([0.5]), 0.0)
