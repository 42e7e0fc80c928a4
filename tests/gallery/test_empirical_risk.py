"""Three private minimisers of one logistic risk: against midpoint rules, all tables on a grid, and draws."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest
from scipy import special

from dpcore.errors import InputError
from dpcore.figures import LIGHT
from dpcore.gallery import empirical_risk as core
from dpcore.gallery.objective_perturbation import Table, minimise, split
from pages.mechanism_gallery.controls import PAGE
from pages.mechanism_gallery.topics import empirical_risk as topic

LAWS = ("exponential", "norm_gradient", "perturbed")
CHANGE = 1.0516339915453223


def risk(rows: list[float], bound: float) -> core.Risk:
    return core.Risk(Table.clipped(np.array(rows)[:, None], np.ones(len(rows))), bound)


def loss(rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-theta[:, None] * rows)).sum(axis=1)


def slope(rows: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return (-rows / (1 + np.exp(theta[:, None] * rows))).sum(axis=1)


@pytest.mark.parametrize("bound", [0.5, 1.2, 2.0, 3.0, 5.0, 10.0])
def test_sensitivities_are_attained_and_never_exceeded(bound: float):
    s, theta = np.linspace(-1, 1, 801), np.linspace(-bound, bound, 401)
    losses = np.array([loss(np.array([one]), theta) for one in s])
    slopes = np.array([slope(np.array([one]), theta) for one in s])
    assert np.ptp(losses, axis=0).max() == pytest.approx(bound, rel=1e-12)
    widest = np.ptp(slopes, axis=0).max()
    assert core.gradient_sensitivity(bound) * (1 - 2e-5) <= widest <= core.gradient_sensitivity(bound) * (1 + 1e-12)
    assert core.gradient_sensitivity(math.inf) == pytest.approx(CHANGE, rel=1e-12)


@pytest.mark.parametrize("epsilon, bound", [(0.5, 1.0), (3.0, 4.0), (8.0, 6.0)])
def test_every_neighbour_of_every_table_on_a_grid(epsilon: float, bound: float):
    """Densities and point masses change by at most e^ε, and by more than half of it somewhere."""
    grid, theta = (-1.0, -0.5, 0.2, 1.0), np.linspace(-bound, bound, 61)[1:-1]
    told = {}
    for rows in itertools.combinations_with_replacement(grid, 2):
        found = risk(list(rows), bound)
        values = [getattr(found, name)(epsilon) for name in LAWS]
        ends = np.log([float(values[2].below(-bound)), float(values[2].above(bound))])
        told[rows] = [law.log_density(theta) for law in values] + [ends]
    worst = np.zeros(4)
    for one, other in itertools.combinations(told, 2):
        if set(one) & set(other):
            worst = np.maximum(worst, [np.abs(a - b).max() for a, b in zip(told[one], told[other])])
    assert (worst <= epsilon * (1 + 1e-9)).all()
    assert (worst[:3] > 0.3 * epsilon).all()


@pytest.mark.parametrize("people, bound, epsilon", [(60, 3.0, 0.3), (150, 5.0, 2.0), (150, 10.0, 8.0)])
def test_laws_by_midpoint_rules(people: int, bound: float, epsilon: float):
    found = core.Risk(core.example(people, np.random.default_rng(2)), bound)
    rows, best = found.table.signed[:, 0], found.minimiser
    width = 2 * bound / 40_000
    theta = -bound + width * (np.arange(40_000) + 0.5)
    value, change = loss(rows, theta), slope(rows, theta)
    assert abs(best - theta[value.argmin()]) < width
    rate = epsilon / 2 / core.gradient_sensitivity(bound)
    for law, exponent in (
        (found.exponential(epsilon), -epsilon / (2 * bound) * (value - value.min())),
        (found.norm_gradient(epsilon), -rate * np.abs(change)),
    ):
        mass = np.exp(exponent) * width
        assert law.mean_error() == pytest.approx(mass @ np.abs(theta - best) / mass.sum(), rel=2e-4)
        assert np.exp(law.log_density(theta)) @ np.full(40_000, width) == pytest.approx(1, rel=2e-4)
    perturbed = found.perturbed(epsilon)
    mass = np.exp(perturbed.log_density(theta)) * width
    low, high = float(perturbed.below(-bound)), float(perturbed.above(bound))
    assert mass.sum() + low + high == pytest.approx(1, rel=2e-4)
    by_density = mass @ np.abs(theta - best) + low * (bound + best) + high * (bound - best)
    assert perturbed.mean_error() == pytest.approx(by_density, rel=2e-4)


def test_objective_perturbation_by_draws():
    """Laplace noise, Newton's minimiser, cut off: mean error within 4 standard errors, distribution function too."""
    found, spent, rng = core.Risk(core.example(80, np.random.default_rng(5)), 3.0), split(0.8), np.random.default_rng(6)
    noise = rng.laplace(0, CHANGE / spent.noise, 4000)
    drawn = minimise(found.table, np.full(4000, spent.ridge), noise[:, None])[:, 0]
    law, missed = found.perturbed(0.8), np.abs(np.clip(drawn, -3, 3) - found.minimiser)
    assert law.mean_error() == pytest.approx(missed.mean(), abs=4 * missed.std() / math.sqrt(4000))
    at = np.linspace(-2.9, 2.9, 30)
    assert np.abs((drawn[:, None] <= at).mean(axis=0) - law.below(at)).max() < 2.0 / math.sqrt(4000)


def test_the_limit_of_theorem_7_10_and_the_first_order_of_the_others():
    found = core.Risk(core.example(20_000, np.random.default_rng(1)), 4.0)
    bend = float(found.curvature(found.minimiser))
    mean = math.sqrt(2 / math.pi) * core.limit_deviation(4.0, 4.0, bend)
    assert found.exponential(4.0).mean_error() == pytest.approx(mean, rel=2e-3)
    for law in (found.norm_gradient(4.0), found.perturbed(4.0)):
        assert law.mean_error() == pytest.approx(2 * CHANGE / (4.0 * bend), rel=0.02)


def test_a_table_whose_minimum_is_at_the_end():
    found = risk([1.0, 1.0, 0.5], 2.0)
    assert found.minimiser == 2.0
    theta = np.linspace(-2, 2, 40_001)
    for law in (found.exponential(1.0), found.norm_gradient(1.0)):
        density = np.exp(law.log_density(theta))
        assert law.mean_error() == pytest.approx((density * (2 - theta)).sum() * 1e-4, rel=2e-4)
    with pytest.raises(InputError):
        core.Risk(Table.clipped(np.zeros((3, 2)), np.ones(3)), 2.0)


def test_headline_and_question():
    values = PAGE.read({})[0]
    bold = [float(one) for one in re.findall(r"\*\*([\d.]+)\*\*", topic.picture(values, LIGHT).headline)]
    assert bold == pytest.approx(list(topic.errors(400, 5.0, 1, 0.5, 1.0).values()), rel=6e-3)
    assert 4.5 < bold[0] / bold[1] < 6 and bold[1] == pytest.approx(bold[2], rel=0.05)  # the prediction's answer
    for number in range(3):
        asked = topic.TOPIC.asked(number)
        bound, bend, epsilon = (
            float(re.search(pattern, asked.text).group(1))
            for pattern in (r"\|θ\| ≤ ([\d.]+\d|\d)", r"derivative (\d+)", r"ε = ([\d.]+\d)")
        )
        z = np.linspace(-40, 40, 400_001)
        mass = special.softmax(-epsilon / (2 * bound) * bend * z**2 / 2)
        assert asked.right() == pytest.approx(math.sqrt(mass @ z**2), rel=1e-6)
