"""Objective perturbation: its density by a route without the determinant, ratios over neighbours, the minimiser."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from dpcore.errors import InputError
from dpcore.gallery import objective_perturbation as op

ROWS = list(itertools.product((-1.0, -0.4, 0.0, 1.0), (-1.0, 1.0)))


def table(rows):
    return op.Table.clipped([[x] for x, _ in rows], [y for _, y in rows])


def cdf(rows, theta, spent):
    """P(θ̃ ≤ θ) in one dimension: the perturbed derivative increases, so θ̃ ≤ θ iff it is ≥ 0 at θ, iff
    V ≥ −(Σ loss′(θ) + γθ); V is a Laplace variable."""
    x, y = np.array(rows).T
    drift = -(y * x / (1 + np.exp(y * x * theta))).sum() + spent.ridge * theta
    rate = spent.noise / op.GRADIENT_CHANGE
    return 0.5 * math.exp(-rate * -drift) if -drift > 0 else 1 - 0.5 * math.exp(rate * -drift)


def worst_ratio(rows, spent, thetas):
    """Largest |ln| of the ratio of probabilities of short intervals over all replacements of one row."""
    chances = lambda table_: np.diff([cdf(table_, t, spent) for t in thetas])  # noqa: E731
    here = chances(rows)
    others = ([*rows[:i], new, *rows[i + 1 :]] for i in range(len(rows)) for new in ROWS)
    return max(np.abs(np.log(chances(other) / here)).max() for other in others)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(ROWS), min_size=1, max_size=3), st.floats(0.2, 3), st.floats(0.1, 0.9), st.floats(0, 2))
def test_private_over_all_replacements_in_one_dimension(rows, epsilon, share, ridge):
    spent = op.split(epsilon, share=share, ridge=ridge)
    assert spent.epsilon == pytest.approx(epsilon, rel=1e-12) and spent.noise >= share * epsilon * (1 - 1e-9)
    assert worst_ratio(rows, spent, np.linspace(-4, 4, 60)) <= epsilon * (1 + 1e-6)


def test_without_the_ridge_it_would_not_be_private():
    """The same noise, no curvature paid for: the determinant alone breaks the promise."""
    spent = op.Split(1.0, 0.0, 1e-3)
    assert worst_ratio([(0.0, 1.0)], spent, np.linspace(-1, 1, 41)) > 3.0


def test_the_losses_parts_make_up_the_density():
    """ln ratio = noise + curvature, against finite differences of the distribution function."""
    rows, other, spent = [(1.0, 1.0), (-0.4, 1.0)], [(1.0, 1.0), (1.0, -1.0)], op.split(1.3, share=0.4)
    for theta in (-1.0, 0.1, 2.0):
        noise, curvature = op.privacy_loss(table(rows), table(other), [[theta]], spent)
        here, there = (cdf(r, theta + 1e-6, spent) - cdf(r, theta - 1e-6, spent) for r in (rows, other))
        assert float(noise[0] + curvature[0]) == pytest.approx(math.log(here / there), abs=1e-4)
        assert abs(noise[0]) <= spent.noise and abs(curvature[0]) <= spent.curvature


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(0.1, 4), st.floats(0.05, 0.95))
def test_private_on_drawn_neighbours_in_more_dimensions(seed, dimension, epsilon, share):
    """Determinants by NumPy at drawn outcomes, from both tables' laws."""
    rng = np.random.default_rng(seed)
    people, spent = int(rng.integers(1, 8)), op.split(epsilon, share=share)
    x = rng.normal(size=(people, dimension)) * 2
    y = rng.choice([-1.0, 1.0], people)
    one = op.Table.clipped(x, y)
    x[0], y[0] = rng.normal(size=dimension) * 5, -y[0]
    other = op.Table.clipped(x, y)
    theta = np.concatenate([
        op.perturbed_objective(t, np.full(20, spent.noise), np.full(20, spent.ridge), rng) for t in (one, other)
    ])  # fmt: skip
    noise, curvature = op.privacy_loss(one, other, theta, spent)
    assert np.abs(noise).max() <= spent.noise * (1 + 1e-9)
    assert np.abs(curvature).max() <= spent.curvature * (1 + 1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 5))
def test_output_perturbation_covers_every_replacement(seed, ridge):
    """The minimiser moves by at most 2/γ."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(5, 2)) * 3, rng.choice([-1.0, 1.0], 5)
    one = op.Table.clipped(x, y)
    x[0], y[0] = -5 * y[0] * np.ones(2), 1.0
    other = op.Table.clipped(x, y)
    best = [op.minimise(t, [ridge], np.zeros((1, 2)))[0] for t in (one, other)]
    assert np.linalg.norm(best[0] - best[1]) <= 2 / ridge


def test_the_minimiser_is_scipys():
    rng = np.random.default_rng(4)
    t, v = op.example(80, rng), rng.normal(size=(6, 2)) * 30
    ridge = np.geomspace(0.01, 10, 6)
    for found, g, linear in zip(op.minimise(t, ridge, v), ridge, v):
        value = lambda theta: np.logaddexp(0, -t.signed @ theta).sum() + g / 2 * theta @ theta + linear @ theta  # noqa: B023, E731
        best = optimize.minimize(value, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
        assert value(found) <= best.fun + 1e-9 * abs(best.fun)
        hidden, _ = op.hidden_noise(t, found[None, :], g)
        assert hidden[0] == pytest.approx(linear, abs=1e-7)


def test_noise_has_the_stated_density():
    """In three dimensions ‖V‖ has density ∝ r² e^(−rate·r): mean 3/rate, P(‖V‖ ≤ 2/rate) by quadrature."""
    draws = op.draw_direction(np.full(40_000, 2.0), 3, np.random.default_rng(9))
    length = np.linalg.norm(draws, axis=1)
    assert length.mean() == pytest.approx(1.5, rel=0.02)  # standard error 0.3 %
    share = integrate.quad(lambda r: 4 * r * r * math.exp(-2 * r), 0, 1)[0]
    assert np.mean(length <= 1) == pytest.approx(share, abs=0.012)
    assert np.abs(draws.mean(axis=0)).max() < 5 * 1.0 / math.sqrt(40_000)


def test_more_privacy_costs_accuracy_and_objective_beats_output():
    """300 people, 200 draws each; standard errors are about one hundredth."""
    rng = np.random.default_rng(2)
    t = op.example(300, rng)
    exact = op.accuracy(t, op.minimise(t, [0.01], np.zeros((1, 2))))[0]
    score = {}
    for epsilon in (0.1, 0.5, 5.0):
        spent = op.split(epsilon, ridge=3.0)
        draws = op.perturbed_objective(t, np.full(200, spent.noise), np.full(200, spent.ridge), rng)
        score[epsilon] = op.accuracy(t, draws).mean()
    output = op.accuracy(t, op.perturbed_output(t, np.full(200, 0.5), 3.0, rng)).mean()
    assert score[0.1] < score[0.5] < score[5.0] <= exact + 0.02
    assert score[0.5] > output + 0.05


def test_bad_input_is_named():
    for x, y in (([[1.0]], [0.0]), ([[math.nan]], [1.0]), ([[1.0]], [1.0, 1.0]), ([], [])):
        with pytest.raises(InputError):
            op.Table.clipped(x, y)
    for arguments in ({"epsilon": 0}, {"epsilon": 1, "share": 1}, {"epsilon": 1, "ridge": -1}):
        with pytest.raises(InputError):
            op.split(**arguments)
    with pytest.raises(InputError, match="ridge"):
        op.minimise(table([(1.0, 1.0)]), [0.0], np.zeros((1, 1)))
    assert np.linalg.norm(op.Table.clipped([[3.0, 4.0]], [1.0]).features) <= 1
