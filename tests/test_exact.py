"""Exact samplers that no float touches: coins of bias e^−r, staircase draws (χ²), releases on their lattice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from draws_tree import Chance
from scipy.special import gammaincc

from dpcore import exact
from dpcore.errors import InputError
from dpcore.exact import (
    coin,
    draw_discrete_staircase,
    draw_geometric,
    draw_staircase,
    exponential_coin,
    release,
)
from dpcore.noise.ladder import POINTS, SUBDIVISIONS, chosen, point_of
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.staircase import Staircase
from dpcore.noise.uniform import Uniform

FALSE_ALARM = 1e-10
"""Probability that a correct sampler fails one test; cryptographic draws cannot be seeded."""


def within_chance(hits: int, trials: int, probability: float) -> bool:
    """7 standard deviations: two-sided false alarm below 1e-11."""
    return abs(hits - trials * probability) <= 7 * math.sqrt(trials * probability * (1 - probability)) + 1


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(7, 2)])
def test_exponential_coin(rate):
    hits = sum(exponential_coin(rate) for _ in range(20_000))
    assert within_chance(hits, 20_000, math.exp(-rate))
    assert rate or hits == 20_000


def test_coin():
    assert not any(coin(Fraction(0)) for _ in range(50)) and all(coin(Fraction(1)) for _ in range(50))
    assert within_chance(sum(coin(Fraction(0.3)) for _ in range(20_000)), 20_000, 0.3)


@pytest.mark.parametrize(("epsilon", "gamma", "atom"), [(1.0, 0.375, 0.0), (0.5, 0.0, 0.25), (3.0, 0.2, 0.1)])
def test_staircase_draws_follow_the_law(epsilon, gamma, atom):
    law = Staircase(epsilon, 1.0, gamma, atom)
    points = 1 << 12
    draws = np.array(
        [draw_staircase(Fraction(epsilon), Fraction(gamma), Fraction(atom), points) for _ in range(20_000)]
    )
    # Bins of whole lattice cells [x, x + 1), so that the left end points stand for the cells exactly.
    cuts = np.unique(np.round(np.linspace(-3, 3, 25) * points)).astype(int)
    cuts = np.unique(np.append(cuts, [0, 1]))  # the lattice point 0, where the atom sits, by itself
    inner = np.diff(law.cdf(cuts / points - 1e-12))
    tails = [float(law.cdf(cuts[0] / points)), 1 - float(law.cdf(cuts[-1] / points))]
    probabilities = np.concatenate([tails[:1], inner, tails[1:]])
    counts = np.bincount(np.searchsorted(cuts, draws, side="right"), minlength=len(probabilities))
    keep = probabilities * len(draws) > 5
    assert keep.sum() > 15
    counts = np.append(counts[keep], counts[~keep].sum())
    expected = np.append(probabilities[keep], probabilities[~keep].sum()) * len(draws)
    statistic = ((counts - expected) ** 2 / np.maximum(expected, 1)).sum()
    assert float(gammaincc((len(counts) - 1) / 2, statistic / 2)) > FALSE_ALARM


def test_release_stays_on_the_lattice():
    for value in (0.0, -7.3, 1e6 + 0.1):
        for sensitivity in (1.0, 0.1):
            released, step = release(Staircase(1.0, sensitivity, 0.4), value)
            assert abs(released - value) < 200 * sensitivity
            assert step <= sensitivity / 2**60
    grid = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=2, breaks=[-1, 0, 1], masses=[0.5, 0.5])
    assert abs(release(grid, 3.0)[0] - 3.0) <= 0.5


def test_laws_without_an_exact_sampler_are_refused():
    with pytest.raises(InputError, match="exact sampler"):
        release(Uniform(1.0), 3.0)


# Every way to draw -----------------------------------------------------------------------------------------------


def holds(law: dict, found: dict, rest: float) -> None:
    """Probabilities agree up to the ways that were not gone to the end."""
    assert set(found) <= set(law) and rest < 0.03
    for outcome, probability in law.items():
        assert -1e-12 <= probability - found.get(outcome, 0) <= rest + 1e-12


@pytest.fixture
def chance(monkeypatch) -> Chance:
    source = Chance()
    monkeypatch.setattr("secrets.randbelow", source.below)
    return source


@pytest.fixture
def chance_of_coins(chance, monkeypatch) -> Chance:
    """The same, with coins of bias e^−rate made at once, none of them for a negative rate."""

    def flip(rate: Fraction) -> bool:
        assert rate >= 0
        return chance.coin(math.exp(-rate))

    monkeypatch.setattr(exact, "exponential_coin", flip)
    return chance


@pytest.mark.parametrize("probability", [Fraction(0), Fraction(2, 5), Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_every_way_of_a_coin(chance, probability):
    found, rest = chance.law(lambda: coin(probability))
    assert not rest and found.get(True, 0) == probability


@pytest.mark.parametrize(
    "rate", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(4, 3), Fraction(2), Fraction(5, 2)]
)
def test_every_way_of_a_coin_of_bias_e_to_the_minus_rate(chance, monkeypatch, rate):
    """Coins of rational bias, of which none may be biased by more than 1."""

    def flip(probability: Fraction) -> bool:
        assert 0 <= probability <= 1
        return chance.coin(probability)

    monkeypatch.setattr(exact, "coin", flip)
    found, rest = chance.law(lambda: exponential_coin(rate), 1e-9)
    assert rest < 1e-7
    holds({True: math.exp(-rate), False: -math.expm1(-rate)}, found, rest)


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(5, 2)])
def test_every_way_to_draw_a_geometric_number(chance_of_coins, rate):
    found, rest = chance_of_coins.law(lambda: draw_geometric(rate), 1e-6)
    holds({i: -math.expm1(-rate) * math.exp(-rate * i) for i in range(200)}, found, rest)


@pytest.mark.parametrize(("gamma", "atom", "points"), [
    (Fraction(0), Fraction(0), 1), (Fraction(1, 2), Fraction(0), 3), (Fraction(1, 3), Fraction(1, 4), 3),
    (Fraction(1), Fraction(2, 3), 2), (Fraction(1, 2), Fraction(1), 2),
])  # fmt: skip
def test_every_way_to_draw_from_a_staircase(chance_of_coins, gamma, atom, points):
    """The inner step is a whole number of points: of 3/2 of them it has two."""
    inner = round(gamma * points)
    weights = {i: math.exp(-1.5 * (0 if i < inner else (i - inner) // points + 1)) for i in range(99)}
    law = {side: (1 - atom) * w / (2 * sum(weights.values())) for i, w in weights.items() for side in (i, -i - 1)}
    law[0] += atom
    found, rest = chance_of_coins.law(lambda: draw_staircase(Fraction(3, 2), gamma, atom, points), 1e-5)
    holds(law, found, rest)


@pytest.mark.parametrize(("rise", "period"), [(1, 1), (2, 3), (3, 3)])
def test_every_way_to_draw_from_a_staircase_of_whole_numbers(chance_of_coins, rise, period):
    level = lambda i: 0 if i < rise else (i - rise) // period + 1  # noqa: E731
    weights = {i: math.exp(-1.5 * level(abs(i))) for i in range(-99, 100)}
    found, rest = chance_of_coins.law(lambda: draw_discrete_staircase(Fraction(3, 2), rise, period), 1e-5)
    holds({i: w / sum(weights.values()) for i, w in weights.items()}, found, rest)


@pytest.mark.parametrize("heights", [[1], [2, 3], [1, 0, 4], [0, 0, 2, 1, 0, 5]])
def test_every_way_to_choose_a_step_by_its_height(chance, heights):
    found, rest = chance.law(lambda: chosen(np.cumsum(heights).tolist()))
    assert not rest and found == {i: Fraction(h, sum(heights)) for i, h in enumerate(heights) if h}


@pytest.mark.parametrize(("left", "right", "points"), [(0, 1, 1), (-2, 1, 1), (-3, -1, 4), (2, 5, 2)])
def test_every_way_to_choose_a_point_of_a_cell(chance, left, right, points):
    found, rest = chance.law(lambda: point_of(left, right, points))
    count = (right - left) * points
    assert not rest and found == {left * points + i: Fraction(1, count) for i in range(count)}


def test_the_number_of_lattice_points_as_it_is_written():
    assert eval(POINTS) == SUBDIVISIONS and "<<" in POINTS
