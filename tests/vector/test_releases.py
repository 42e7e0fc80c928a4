"""Noise of vector queries released: exact draws against their laws, samples against the displayed errors, privacy on
small lattices by enumeration."""

from __future__ import annotations

import itertools
import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaincc, ndtr

from dpcore.errors import InputError
from dpcore.noise import Laplace
from dpcore.privacy import Privacy
from dpcore.vector import VectorQuery, parse_profile
from dpcore.vector.compare import MECHANISMS, allocations
from dpcore.vector.exact import (
    draw_cube,
    draw_diamond,
    draw_laplace,
    draw_smooth_radius,
    draw_stepped_radius,
    fall_upper,
)
from dpcore.vector.joint import Boxes, JointNoise, Normal, Scaled
from dpcore.vector.scalar_optima import lp_optimal

EXACT = (
    "gaussian-iid", "gaussian-optimal", "laplace-iid", "laplace-optimal", "laplace-relaxed-optimal",
    "staircase-optimal", "k-norm", "blocks-optimal", "planar-staircase",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _seeded(monkeypatch):
    """The operating system's source, replaced by one that repeats itself."""
    monkeypatch.setattr("secrets.randbelow", random.Random(20_261).randrange)
    monkeypatch.setattr("secrets.randbits", random.Random(20_262).getrandbits)


def asked(text, *, epsilon=0.8, delta=1e-3, power=2.0, norm="none", **coupled):
    return VectorQuery(Privacy(epsilon, delta), parse_profile(text, normalise=norm), power, None, **coupled)


def fits(draws, law):
    """χ² of whole numbers against {outcome: probability}; the rest is one more outcome. P-value."""
    known = {x: p for x, p in law.items() if p * len(draws) > 5}
    seen = np.array([sum(d == x for d in draws) for x in known])
    counts = np.append(seen, len(draws) - seen.sum())
    expected = np.append(list(known.values()), max(1 - sum(known.values()), 1e-12)) * len(draws)
    statistic = ((counts - expected) ** 2 / np.maximum(expected, 1)).sum()
    return float(gammaincc((len(counts) - 1) / 2, statistic / 2))


# Draws --------------------------------------------------------------------------------------------------


def test_laplace_draws_are_floors():
    """P(⌊X⌋ = i) = ½(1 − e^−r) e^(−r·i) for i ≥ 0, and the mirror image about −½."""
    r = 0.3
    draws = [draw_laplace(Fraction(3, 10)) for _ in range(20_000)]
    law = {i: 0.5 * -math.expm1(-r) * math.exp(-r * (i if i >= 0 else -i - 1)) for i in range(-60, 60)}
    assert fits(draws, law) > 1e-4


def radius_law(cells, fall, inner, period, most=400):
    weights = {inner + k * period: cells(inner + k * period) * fall**k for k in range(most)}
    total = math.fsum(weights.values())
    return {radius: weight / total for radius, weight in weights.items()}


@pytest.mark.parametrize(("size", "rate"), [(1, 0.5), (2, 0.5), (3, 1.0), (5, 0.4)])
def test_smooth_radii(size, rate):
    draws = [draw_smooth_radius(size, Fraction(rate)) for _ in range(5000)]
    assert fits(draws, radius_law(lambda r: float(2 * r) ** size, math.exp(-rate), 1, 1)) > 1e-4


@pytest.mark.parametrize(("epsilon", "inner"), [(0.5, 3), (2.0, 1), (2.0, 8), (9.0, 1), (1.0, 0)])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_stepped_radii(size, epsilon, inner):
    """Also where e^−ε is rare, and where the innermost cube is empty."""
    draws = [draw_stepped_radius(size, fall_upper(epsilon), inner, 8) for _ in range(3000)]
    assert fits(draws, radius_law(lambda r: float(2 * r) ** size, math.exp(-epsilon), inner, 8)) > 1e-4


@pytest.mark.parametrize(("epsilon", "inner"), [(0.7, 3), (6.0, 1), (1.0, 9)])
def test_stepped_radii_of_diamonds(epsilon, inner):
    draws = [draw_stepped_radius(2, fall_upper(epsilon), inner, 9, diamond=True) for _ in range(4000)]
    assert fits(draws, radius_law(lambda r: 2 * r * r - 2 * r + 1, math.exp(-epsilon), inner, 9)) > 1e-4


def test_cells_are_alike():
    diamond = [(x, y) for x, y in itertools.product(range(-3, 4), repeat=2) if abs(x) + abs(y) < 4]
    assert len(diamond) == 2 * 4 * 4 - 2 * 4 + 1
    assert fits([tuple(draw_diamond(4)) for _ in range(10_000)], dict.fromkeys(diamond, 1 / len(diamond))) > 1e-4
    cube = list(itertools.product(range(-2, 2), repeat=2))
    assert fits([tuple(draw_cube(2, 2)) for _ in range(5000)], dict.fromkeys(cube, 1 / len(cube))) > 1e-4
    assert draw_diamond(1) == [0, 0]


@settings(max_examples=15)
@given(st.floats(0.01, 30))
def test_falls_are_rounded_to_the_private_side(epsilon):
    """By the series of e^−ε in fractions: alternating, so a partial sum that ends on a positive term is above."""
    fall, x = fall_upper(epsilon), Fraction(epsilon)
    term, total = Fraction(1), Fraction(1)
    for n in range(1, 2 * math.ceil(epsilon) * 3 + 120):
        term *= -x / n
        total += term
    assert abs(term) < Fraction(1, 2**140)
    assert total + abs(term) <= fall <= total + Fraction(1, 2**126)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("inner", [0, 2, 4])
def test_laws_on_cells_are_private(size, inner):
    """Enumerated: the mixture of cubes falls by at most e^ε over a change of one period in every coordinate."""
    epsilon, period, most = 0.9, 4, 40
    fall = float(fall_upper(epsilon))
    law = radius_law(lambda r: float(2 * r) ** size, fall, inner, period, most)
    density = {}
    for place in range(inner + 12 * period):  # the largest of the cells' indices decides
        density[place] = math.fsum(p / (2 * r) ** size for r, p in law.items() if r > place)
    for place, other in itertools.product(range(8 * period), repeat=2):
        if abs(place - other) <= period:
            assert density[place] <= math.exp(epsilon) * density[other] * (1 + 1e-9)


# Mechanisms ---------------------------------------------------------------------------------------------


def within_chance(one, query, draws, allowed=0.0):
    """w_i E|T_i|^p coordinate by coordinate: six standard errors."""
    lost = np.abs(draws) ** query.power
    spread = 6 * lost.std(axis=0) / math.sqrt(len(lost))
    assert (np.abs(lost.mean(axis=0) * query.weight_array - one.errors) <= spread + allowed * one.errors).all(), one.key


@pytest.mark.parametrize("query", [
    asked("0.85, 0.15", epsilon=3.0, power=1.0), asked("3, 2, 1, 0", delta=0.1), asked("uniform:6", norm="l2"),
    asked("4, 1", l1=4.2, power=1.0), asked("2, 1, 1", l2=2.1), asked("1e-6, 1", epsilon=8.0),
], ids=["two", "zero", "equal", "l1", "l2", "apart"])  # fmt: skip
def test_samples_have_the_displayed_errors(query):
    for one in allocations(query, MECHANISMS[:-2]):
        if one.reason:
            assert one.noise is None
            continue
        draws = one.noise.sample(np.random.default_rng(5), 40_000)
        assert draws.shape == (40_000, len(query.profile))
        within_chance(one, query, draws)


def test_solved_laws_release():
    """The errors of solved laws are upper bounds, a thousandth off at most."""
    query = asked("0.85, 0.15", epsilon=2.0, delta=0.1, power=1.0)
    solved = lp_optimal(query, time_limit=8.0)
    within_chance(solved, query, solved.noise.sample(np.random.default_rng(5), 40_000), 1e-3)
    exact = np.array([solved.noise.release([5.0, 6.0]) - [5.0, 6.0] for _ in range(2000)])
    within_chance(solved, query, exact, 1e-3)


@pytest.mark.parametrize("query", [
    asked("0.85, 0.15", epsilon=3.0, power=1.0), asked("4, 1", l1=4.2), asked("1, 0.8, 0.1, 0", delta=0.05),
], ids=["two", "l1", "four"])  # fmt: skip
def test_exact_releases_have_the_displayed_errors(query):
    value = np.array([7.25, -1e3, 0.0, 42.0])[: len(query.profile)]
    for one in allocations(query, EXACT):
        if one.reason:
            continue
        draws = np.array([one.noise.release(value) - value for _ in range(1000)])
        within_chance(one, query, draws)
        assert (np.ptp(draws, axis=0) > 0).tolist() == (one.errors > 0).tolist()


def test_mixtures_with_gaussian_parts_release():
    query = asked("exponential:7", epsilon=1.0, delta=1e-2, norm="l2")
    (one,) = allocations(query, ("mixed",))
    assert [type(part) for part in one.noise.parts] == [Boxes, Normal]
    within_chance(one, query, one.noise.sample(np.random.default_rng(2), 40_000))
    value = np.arange(7.0)
    within_chance(one, query, np.array([one.noise.release(value) - value for _ in range(1000)]))


def test_blocks_move_together():
    """In a K-norm block the radius max_i |T_i|/λ_i is shared and has the Gamma(m, 1/ε) law."""
    query = asked("uniform:5", epsilon=1.5, delta=0.0)
    (one,) = allocations(query, ("k-norm",))
    exact = np.array([one.noise.release(np.zeros(5)) for _ in range(3000)])
    looked = one.noise.sample(np.random.default_rng(1), 30_000)
    for draws in (exact, looked):
        radius = np.abs(draws).max(axis=1)
        assert abs(radius.mean() - 5 / 1.5) < 5 * radius.std() / math.sqrt(len(radius))
        assert radius.std() == pytest.approx(math.sqrt(5) / 1.5, rel=0.06)


def test_gaussian_noise_is_released_exactly():
    """Every coordinate on its own grid of 2⁻⁴⁰ σ or less, with its normal law; the insensitive one untouched."""
    query = asked("3, 1, 0")
    (one,) = allocations(query, ("gaussian-optimal",))
    assert not one.noise.inexact
    value, scales = np.array([1.0, 2.0, 3.0]), one.noise.parts[0].scales
    draws = np.array([one.noise.release(value) for _ in range(3000)])
    assert (draws[:, 2] == 3.0).all()
    for i, scale in enumerate(scales.tolist()):
        step = 2.0 ** (math.floor(math.log2(scale)) - 40)
        assert (draws[:, i] / step == np.round(draws[:, i] / step)).all()
        cells = np.floor(20 * ndtr((draws[:, i] - value[i]) / scale)).astype(int).tolist()
        assert fits(cells, dict.fromkeys(range(20), 1 / 20)) > 1e-4


def test_a_sample_is_the_same_for_the_same_generator():
    (one,) = allocations(asked("3, 1, 0"), ("gaussian-optimal",))
    looked = [one.noise.release([1.0, 2.0, 3.0], np.random.default_rng(3)) for _ in range(2)]
    assert looked[0][2] == 3.0 and (looked[0][:2] != [1.0, 2.0]).all() and looked[0].tolist() == looked[1].tolist()


def test_laws_that_cannot_be_scaled_exactly_refuse():
    law = Scaled(np.array([0]), np.array([2.0]), Laplace(1.0))
    noise = JointNoise(1, (law,))
    assert "Laplace noise has no exact sampler" in noise.inexact
    with pytest.raises(InputError, match="exact sampler"):
        noise.release([1.0])


@pytest.mark.parametrize("value", [1.0, [1.0], [1.0, math.nan], [1.0, math.inf], ["a", 2], [[1.0, 2.0]], None])
def test_answers_of_the_wrong_kind_are_refused(value):
    (one,) = allocations(asked("1, 2"), ("laplace-optimal",))
    with pytest.raises(InputError, match="value"):
        one.noise.release(value)


@pytest.mark.parametrize(
    ("text", "norm"),
    [("7", "none"), ("one-hot:4", "none"), ("0,0,3,1e-12", "none"), ("1e12,1e-25", "none"), ("exponential:300", "l2")],
)
@pytest.mark.parametrize(("epsilon", "power"), [(0.001, 1.0), (20.0, 2.0), (20.0, 9.5)])
def test_extremes_are_released(text, norm, epsilon, power):
    """Every exact mechanism, at both ends of ε: finite numbers, zeros untouched, and a copy that releases too."""
    query = asked(text, epsilon=epsilon, delta=1e-6, power=power, norm=norm)
    value = np.arange(1.0, len(query.profile) + 1)
    for one in allocations(query, MECHANISMS[:-2]):
        if one.reason or one.noise.inexact:
            continue
        released = pickle.loads(pickle.dumps(one.noise)).release(value)
        assert np.isfinite(released).all(), one.key
        if "iid" not in one.key and "planar" not in one.key:
            still = query.profile.array == 0
            assert (released[still] == value[still]).all(), one.key
