"""Exact samplers that no float touches: coins of bias e^−r, staircase draws (χ²), releases on their lattice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaincc

from dpcore.errors import InputError
from dpcore.exact import coin, draw_staircase, exponential_coin, release
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
