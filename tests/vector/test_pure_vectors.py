"""ε-DP noise beyond scales: staircases, blocks, the planar staircase."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import minimize

from dpcore.loss import absolute, power, squared
from dpcore.noise import Staircase
from dpcore.privacy import Privacy
from dpcore.vector import SensitivityProfile, VectorQuery, parse_profile
from dpcore.vector.compare import MECHANISMS, NAMES, allocation, flip_dimension
from dpcore.vector.pure import best_blocks
from dpcore.vector.radial import (
    face_factor,
    planar_staircase,
    radial_moment,
    smooth_cost,
    staircase_unit,
    steps_exist,
)


def query(text, epsilon, p=2.0, norm="none", delta=0.0):
    return VectorQuery(Privacy(epsilon, delta), parse_profile(text, normalise=norm), p)


def test_table_2_staircase_row():
    """[MK, Table II], recomputed from the density of [GKOV15]: the least E‖X‖₁ over γ for ℓ1-sensitivity 1."""
    for step, printed in enumerate((3.9962, 1.9862, 1.3050, 0.9546, 0.7366, 0.5856), 1):
        asked = query("0.85,0.15", step / 2, 1)
        assert allocation(asked, "planar-staircase").error == pytest.approx(printed, abs=5.01e-5)


@settings(max_examples=20)
@given(st.floats(0.2, 6), st.floats(0.02, 0.98), st.sampled_from([(1, 1), (1, 2.5), (2, 1), (2, 3), (3, 2), (4, 1)]))
def test_radial_moments_are_integrals(epsilon, gamma, sizes):
    """E ρ^p under the density proportional to ρ^(m−1) e^(−ε·level(ρ)), by quadrature step by step."""
    m, p = sizes

    def integral(exponent):
        edges = [0.0, *(k + gamma for k in range(int(60 / epsilon) + 3))]
        return math.fsum(
            math.exp(-epsilon * level) * quad(lambda v: v**exponent, a, b)[0]
            for level, (a, b) in enumerate(pairwise(edges))
        )

    expected = integral(m - 1 + p) / integral(m - 1)
    assert float(radial_moment(m, p, epsilon, np.array(gamma))) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("p", "loss"), [(1, absolute()), (2, squared()), (1.5, power(1.5)), (4, power(4))])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 5, 20])
def test_a_block_of_one_is_the_staircase_law(epsilon, p, loss):
    known = Staircase.calibrate(Privacy(epsilon, 0), 1.0, loss)
    assert staircase_unit(1, float(p), epsilon)[0] == pytest.approx(known.expected_loss(loss), rel=1e-9)


def cube_surface(rng, radii, size):
    """Points uniform on the surface of cubes of these radii."""
    points = rng.uniform(-1, 1, (len(radii), size))
    face = rng.integers(0, size, len(radii))
    points[np.arange(len(radii)), face] = rng.choice([-1.0, 1.0], len(radii))
    return radii[:, None] * points


@pytest.mark.parametrize(("size", "p"), [(1, 2.0), (2, 1.0), (3, 2.0), (6, 1.5)])
def test_errors_of_the_k_norm_law_by_simulation(size, p):
    """200 000 draws: five standard errors."""
    epsilon, rng = 1.3, np.random.default_rng(size)
    draws = np.abs(cube_surface(rng, rng.gamma(size, 1 / epsilon, 200_000), size)[:, 0]) ** p
    expected = smooth_cost(size, p) / epsilon**p
    assert abs(draws.mean() - expected) < 5 * draws.std() / math.sqrt(len(draws))
    radius_moment = math.gamma(size + p) / math.gamma(size) / epsilon**p
    assert expected == pytest.approx(radius_moment * face_factor(size, p), rel=1e-12)


@given(
    st.lists(st.floats(0.1, 10), min_size=1, max_size=4),
    st.floats(0.1, 5),
    st.floats(0.01, 0.99),
    st.integers(0, 10**6),
)
def test_laws_of_a_box_are_private(values, epsilon, gamma, seed):
    """The logarithm of the density, −ε·level(max |t_i|/λ_i), moves by at most ε under changes inside the box."""
    lam, rng = np.array(values), np.random.default_rng(seed)
    points = lam * rng.normal(0, 3, (2000, len(lam)))
    moved = points + lam * rng.uniform(-1, 1, points.shape)
    rho, other = (np.abs(x / lam).max(axis=1) for x in (points, moved))
    assert np.abs(rho - other).max() <= 1 + 1e-12
    level = lambda r: np.floor(r - gamma) + 1  # noqa: E731
    assert np.abs(level(rho) - level(other)).max() <= 1


@settings(max_examples=10)
@given(st.lists(st.floats(0.05, 5), min_size=2, max_size=4), st.floats(0.3, 6), st.sampled_from([1.0, 2.0]))
def test_the_split_of_epsilon_is_optimal(values, epsilon, p):
    """SciPy's Nelder–Mead on the staircase's own expected loss finds nothing better; ε is spent and not exceeded."""
    asked = VectorQuery(Privacy(epsilon, 0), SensitivityProfile(tuple(values)), p)
    found = allocation(asked, "staircase-optimal")
    loss = absolute() if p == 1 else squared()
    budgets = found.shares * epsilon
    assert 1 - 1e-9 <= math.fsum(found.shares) <= 1

    def error(parts):
        laws = [Staircase.calibrate(Privacy(max(e, 1e-3), 0), v, loss) for e, v in zip(parts, values)]
        return math.fsum(law.expected_loss(loss) for law in laws)

    if budgets.min() > 0.02:  # below, Laplace noise is used
        assert found.error == pytest.approx(error(budgets), rel=1e-6)

    def softmax(x):
        return epsilon * np.exp(x - x.max()) / np.exp(x - x.max()).sum()

    start = np.log(np.maximum(found.shares, 1e-9)) + np.linspace(0, 0.2, len(values))
    quick = lambda parts: sum(v**p * staircase_unit(1, p, max(float(e), 1e-3))[0] for e, v in zip(parts, values))  # noqa: E731
    rival = minimize(lambda x: quick(softmax(x)), start, method="Nelder-Mead", options={"maxfev": 120}).fun
    assert found.error <= rival * (1 + 1e-5)


def partitions(items):
    """All partitions of a list into sets."""
    if not items:
        yield []
        return
    head, *rest = items
    for partition in partitions(rest):
        yield [[head], *partition]
        for i, block in enumerate(partition):
            yield [*partition[:i], [head, *block], *partition[i + 1 :]]


@settings(max_examples=25)
@given(st.lists(st.floats(0.05, 5), min_size=1, max_size=6), st.sampled_from([1.0, 2.0, 3.5]))
def test_the_partition_is_the_best_of_all(values, p):
    """Brute force over all set partitions, smooth laws (ε so small that steps gain nothing): the error is
    (Σ_b (a_b c_b)^(1/(p+1)))^(p+1)/ε^p."""
    epsilon = 0.005
    asked = VectorQuery(Privacy(epsilon, 0), SensitivityProfile(tuple(values)), p)
    gains = [v**p for v in values]
    best = min(
        sum((sum(block) * smooth_cost(len(block), p)) ** (1 / (p + 1)) for block in partition)
        for partition in partitions(gains)
    )
    assert allocation(asked, "blocks-optimal").error == pytest.approx(best ** (p + 1) / epsilon**p, rel=1e-9)


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.01, 5), min_size=1, max_size=30),
    st.floats(0.01, 20),
    st.sampled_from([1.0, 1.7, 2.0, 3.0, 6.0]),
)
def test_blocks_are_never_worse_than_what_they_contain(values, epsilon, p):
    asked = VectorQuery(Privacy(epsilon, 0), SensitivityProfile(tuple(values)), p)
    best = allocation(asked, "blocks-optimal")
    for key in ("laplace-optimal", "staircase-optimal", "k-norm"):
        assert best.error <= allocation(asked, key).error * (1 + 2e-5), key
    found = best_blocks(asked, epsilon)
    assert math.fsum(found.budgets) <= epsilon and (found.budgets > 0).all()
    assert sorted(found.order.tolist()) == list(range(len(values)))
    assert best.error == pytest.approx(found.error, rel=1e-9)


def test_where_blocks_stop_beating_gaussian_noise():
    """Laplace noise loses to Gaussian noise from nine equal coordinates on; one K-norm block for all only much
    later."""
    assert flip_dimension("uniform", Privacy(0.5, 1e-6), pure="k-norm") > 4 * 9


def test_planar_law_knows_less_than_a_block():
    asked = query("0.85,0.15", 1.0, 1)
    assert allocation(asked, "blocks-optimal").error < 0.76 * allocation(asked, "planar-staircase").error
    assert "two" in allocation(query("1,2,3", 1.0), "planar-staircase").reason
    assert planar_staircase(1.0, 0.02)[0] == pytest.approx(2 / 0.02 / 2, rel=1e-3)  # tends to the ℓ1 K-norm law


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 20])
@pytest.mark.parametrize(
    ("text", "norm"),
    [("7", "none"), ("one-hot:6", "none"), ("exponential:700", "l1"), ("0,0,3,1e-12", "none"), ("uniform:3", "none")],
)
@pytest.mark.parametrize("p", [1.0, 2.0, 9.5])
def test_extremes(text, norm, epsilon, p):
    """K = 1, zeros, ratios beyond the range of floats: finite errors, zeros without noise."""
    asked = query(text, epsilon, p, norm, delta=1e-6)
    for key in MECHANISMS[:-2]:
        found = allocation(asked, key)
        if found.reason:
            continue
        assert found.name == NAMES[key]
        assert 0 < found.error < math.inf and np.isfinite(found.scales).all(), key
        if "iid" not in key and "planar" not in key:
            assert ((found.scales == 0) == (asked.profile.array == 0)).all(), key
        assert len(found.kinds) == len(asked.profile)


def test_steps_are_offered_where_their_sums_are_tested():
    assert steps_exist(1, 4.0) and steps_exist(3, 2.0) and not steps_exist(4, 2.0) and not steps_exist(1, 4.5)


@pytest.mark.parametrize("size", [1, 1000, 1_000_000])
def test_the_cost_of_a_large_block_keeps_its_digits(size):
    """Γ(m + p + 1)/Γ(m + 1) = (m + 1)…(m + p) for whole p."""
    assert smooth_cost(size, 1) == pytest.approx((size + 1) / 2, rel=1e-14)
    assert smooth_cost(size, 2) == pytest.approx((size + 1) * (size + 2) / 3, rel=1e-14)
