"""Private model selection: scores against a solver, sensitivity by brute force, probabilities against draws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from dpcore.errors import InputError
from dpcore.gallery import model_selection as core

RNG = np.random.default_rng(7)


def solved(x: np.ndarray, y: np.ndarray, model: tuple[int, ...], radius: float) -> float:
    """The least sum of squares over the ball, with β = u − v, u, v ≥ 0, by SLSQP from a few starts."""
    part = x[:, list(model)]
    size = len(model)
    if not size:
        return float(y @ y)
    lost = lambda w: float(((y - part @ (w[:size] - w[size:])) ** 2).sum())  # noqa: E731
    slope = lambda w: np.concatenate([g := -2 * part.T @ (y - part @ (w[:size] - w[size:])), -g])  # noqa: E731
    ball = {"type": "ineq", "fun": lambda w: radius - w.sum(), "jac": lambda w: -np.ones(2 * size)}
    found = minimize(
        lost, np.full(2 * size, radius / (4 * size)), jac=slope, bounds=[(0, radius)] * (2 * size), constraints=[ball],
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return float(found.fun)


@pytest.mark.parametrize(("columns", "radius"), [(1, 0.3), (2, 0.4), (3, 0.7), (4, 1.5), (6, 0.8)])
def test_scores_against_a_solver(columns, radius):
    x, y = core.example(30, columns, RNG)
    if columns == 4:
        x[:, 3] = x[:, 1]  # singular
    sums = core.Sums.of(x, y, response=1.0)
    found = core.fits(sums, radius)
    for model, value in zip(core.models(columns), found):
        assert value == pytest.approx(solved(x, y, model, radius), rel=1e-6, abs=1e-9), model
    choice = core.Choice(sums, 1.0, radius, core.penalty("bic", 30))
    assert choice.scores == pytest.approx([v + math.log(30) * len(m) for m, v in zip(core.models(columns), found)])


@pytest.mark.parametrize(("response", "radius"), [(1.0, 1.0), (1.0, 0.5), (0.5, 2.0)])
def test_sensitivity_by_brute_force(response, radius):
    """All tables of two rows over a few values, every row replaced by every other: no score moves more."""
    values = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 1) for c in (-response, 0.0, response)]
    scores = {}
    for rows in itertools.combinations_with_replacement(values, 2):
        table = np.array(rows, dtype=float)
        scores[rows] = core.fits(core.Sums.of(table[:, :2], table[:, 2], response=response), radius)
    limit, most = (response + radius) ** 2, 0.0
    for rows, found in scores.items():
        for who, value in itertools.product(range(2), values):
            other = tuple(sorted((rows[1 - who], value), key=values.index))
            most = max(most, float(np.abs(found - scores[other]).max()))
    assert response**2 <= most <= limit * (1 + 1e-12)


def test_sensitivity_is_nearly_reached():
    """Many rows hold β at R; one row that fits is replaced by one that could not fit less."""
    r, radius, many = 1.0, 1.0, 10_000
    x, y = np.full((many, 1), 0.9), np.full(many, r)
    score = lambda one: core.fits(core.Sums.of(np.append(x, [[one]], axis=0), np.append(y, r), response=r), radius)[1]  # noqa: E731
    change = score(-1.0) - score(1.0)
    assert 0.999 * (r + radius) ** 2 < change <= (r + radius) ** 2 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("columns", "people", "epsilon", "kind"), [(2, 500, 0.5, "none"), (4, 3000, 1.0, "bic"), (6, 800, 2.0, "aic")]
)
def test_probabilities_against_draws(columns, people, epsilon, kind):
    """10⁵ simulated choices: argmin of score + 2(r + R)²/ε·Laplace, as [Awan, Example 5.4] prints it."""
    draws = 100_000
    choice = core.Choice(
        core.Sums.of(*core.example(people, columns, RNG), response=1.0), 1.0, 1.0, core.penalty(kind, people)
    )
    exact = choice.probabilities(epsilon)
    noisy = choice.scores + 2 * 4 / epsilon * RNG.laplace(size=(draws, 2**columns)).astype(np.float32)
    counted = np.bincount(noisy.argmin(axis=1), minlength=2**columns) / draws
    deviation = np.sqrt(exact * (1 - exact) / draws)
    assert math.fsum(exact) == pytest.approx(1) and (np.abs(counted - exact) < 5 * deviation + 2e-5).all()
    gap = float(counted @ choice.excess)
    spread = math.sqrt(float(exact @ choice.excess**2) / draws)
    assert abs(exact @ choice.excess - gap) < 5 * spread


def test_the_choice_is_private_and_its_bound_holds():
    """Exact probabilities of neighbours differ by at most e^ε; the gap stays below the bound of Proposition 5.2."""
    for columns in (1, 2, 3, 4):
        x, y = core.example(40, columns, RNG)
        for epsilon, radius, kind in ((0.3, 0.5, "bic"), (1.0, 1.0, "none"), (6.0, 2.0, "aic")):
            choice = lambda x, y: core.Choice(core.Sums.of(x, y, response=1.0), 1.0, radius, core.penalty(kind, 40))  # noqa: B023, E731
            own = choice(x, y)
            assert own.scale(epsilon) == pytest.approx(2 * (1 + radius) ** 2 / epsilon)
            bound = (1 + radius) ** 2 * 2 / epsilon * (2 * math.log(2**columns - 1) + 1 + 2 * math.log(2))
            assert own.gap_bound(epsilon) == pytest.approx(bound) and own.probabilities(epsilon) @ own.excess <= bound
            for value in (-1.0, 1.0):
                there, answers = x.copy(), y.copy()
                there[0], answers[0] = value, 1.0
                ratio = np.log(own.probabilities(epsilon) / choice(there, answers).probabilities(epsilon))
                assert np.abs(ratio).max() <= epsilon * (1 + 1e-9)


def test_the_bound_holds_for_the_worst_scores_too():
    """Scores with any lead over all the other models."""
    for columns in (2, 6):
        for lead in (1.0, 3.0, 6.0, 10.0, 20.0):
            groups = [(0.0, 1), (-lead, 2**columns - 1)]
            assert core.noisy_max.expected_gap(groups, 1.0, "laplace") <= core.noisy_max.gap_bound(2**columns, 1.0)


def test_bad_input_is_named():
    good = core.Sums.of([[0.5]], [0.5], response=1.0)
    for call in (
        lambda: core.penalty("cp", 10), lambda: core.Sums.of(np.zeros((3, 7)), np.zeros(3), response=1.0),
        lambda: core.Sums.of([[math.nan]], [0.0], response=1.0), lambda: core.Choice(good, 1.0, 0.0, 2.0),
        lambda: core.Choice(good, 1.0, 1.0, -1.0), lambda: core.Choice(good, 1.0, 1.0, 2.0).probabilities(0.0),
    ):  # fmt: skip
        with pytest.raises(InputError):
            call()
