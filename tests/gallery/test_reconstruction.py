"""Reconstruction attacks: exact expectations against simulation, the exhaustive attack against its theorem."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from dpcore.errors import InputError
from dpcore.gallery import reconstruction as core

SEEDS = range(300)


@pytest.mark.parametrize("order", [4, 8, 12, 20, 24, 200, 400, 800])
def test_hadamard_matrices(order):
    matrix = core.hadamard(order).astype(float)
    assert set(np.unique(matrix)) == {-1, 1} and (matrix[:, 0] == 1).all()
    assert (matrix.T @ matrix == order * np.eye(order)).all()


def test_balanced_subsets_are_balanced_and_change_with_the_seed():
    asked = core.subsets(100, 400, "balanced", np.random.default_rng(1))
    together = asked.T @ asked
    assert (np.diag(together) == 200).all() and (together[~np.eye(100, dtype=bool)] == 100).all()
    assert (asked != core.subsets(100, 400, "balanced", np.random.default_rng(2))).any()


def test_200_rows_and_800_questions_fall_below_a_third_of_root_n_and_stand_at_twice_root_n():
    """The transition of [DN03]: 95 % and 60 % by the exact expectations, and means over seeds that agree with them."""
    sigmas = np.array([0.3, 2.0]) * math.sqrt(200)
    shares = core.recovered_by_seed(200, 800, "balanced", sigmas, SEEDS)
    attack = core.LeastSquares(core.subsets(200, 800, "balanced", np.random.default_rng(0)))
    exact = np.array([attack.expected_recovery(float(s)) for s in sigmas])
    assert exact[0] >= 0.95 and exact[1] <= 0.60
    error = shares.std(axis=0, ddof=1) / math.sqrt(len(SEEDS))
    assert (np.abs(shares.mean(axis=0) - exact) < 5 * error).all()


def test_independent_coins_ask_less_well():
    """n/m of what independent questions tell is redundant: below 95 % at 0.3 √n, as the first-order formula says."""
    sigma = 0.3 * math.sqrt(200)
    shares = core.recovered_by_seed(200, 800, "independent", np.array([sigma]), SEEDS)[:, 0]
    attack = core.LeastSquares(core.subsets(200, 800, "independent", np.random.default_rng(0)))
    exact, error = attack.expected_recovery(sigma), shares.std(ddof=1) / math.sqrt(len(SEEDS))
    assert abs(shares.mean() - exact) < 5 * error and shares.mean() < 0.95
    assert core.expected_recovery_estimate(200, 800, sigma) == pytest.approx(exact, abs=0.005)


def test_balanced_questions_in_closed_form():
    """(AᵀA)⁻¹ = 4/m (I − J/(n + 1)) for AᵀA = m/4 (I + J)."""
    attack = core.LeastSquares(core.subsets(100, 400, "balanced", np.random.default_rng(3)))
    for sigma in (1.0, 5.0, 30.0):
        spread = sigma * math.sqrt(4 / 400 * 100 / 101)
        assert attack.expected_recovery(sigma) == pytest.approx(0.5 * (1 + math.erf(0.5 / spread / math.sqrt(2))))
        assert attack.gaussian_mu(sigma) == pytest.approx(math.sqrt(200) / sigma)


@given(some.sampled_from(list(core.DESIGNS)), some.floats(0.05, 4), some.integers(0, 99))
@settings(max_examples=25)
def test_no_attack_beats_the_ceiling_in_expectation(design, ratio, seed):
    attack = core.LeastSquares(core.subsets(100, 200, design, np.random.default_rng(seed)))
    sigma = ratio * 10
    assert 0.5 < attack.expected_recovery(sigma) <= attack.ceiling(sigma) <= 1
    gaussian = 0.5 * (1 + math.erf(attack.gaussian_mu(sigma) / 2 / math.sqrt(2)))
    assert attack.ceiling(sigma) <= gaussian + 1e-12


def test_the_ceiling_is_reached_by_the_best_attack_on_two_rows():
    """Enumeration of all databases of two rows: the posterior's guess is below the ceiling and above least squares."""
    rng = np.random.default_rng(7)
    asked = core.subsets(2, 8, "independent", rng)
    attack, sigma, trials = core.LeastSquares(asked), 1.5, 4000
    databases = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    truth = databases[rng.integers(0, 4, trials)]
    answers = truth @ asked.T + sigma * rng.standard_normal((trials, 8))
    likelihood = np.exp(-((answers[:, None, :] - databases @ asked.T) ** 2).sum(-1) / (2 * sigma**2))
    posterior = likelihood @ databases / likelihood.sum(1, keepdims=True)
    best = ((posterior > 0.5) == (truth > 0.5)).mean()
    slack = 5 * math.sqrt(0.25 / (2 * trials))
    assert attack.expected_recovery(sigma) - slack <= best <= attack.ceiling(sigma) + slack


def test_least_squares_is_numpys_and_the_box_holds():
    rng = np.random.default_rng(5)
    asked = core.subsets(20, 60, "independent", rng)
    truth = rng.integers(0, 2, 20).astype(float)
    answers = asked @ truth + 2 * rng.standard_normal(60)
    attack = core.LeastSquares(asked)
    assert attack.estimates(answers) == pytest.approx(np.linalg.lstsq(asked, answers, rcond=None)[0])
    boxed = attack.within_box(answers)
    assert boxed.min() >= 0 and boxed.max() <= 1
    value = np.sum((asked @ boxed - answers) ** 2)
    for _ in range(200):  # no feasible point near it is better
        other = np.clip(boxed + 0.05 * rng.standard_normal(20), 0, 1)
        assert np.sum((asked @ other - answers) ** 2) >= value - 1e-9
    assert core.recovered(truth, attack.estimates(asked @ truth)) == 1


@given(some.integers(2, 8), some.floats(0, 2), some.integers(0, 2**16))
@settings(max_examples=40, deadline=None)
def test_theorem_2_1(rows, most, seed):
    """Everything that is consistent lies within 4E of the truth, and the truth is."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, rows)
    left = core.consistent(core.bounded_answers(truth, most, rng), most)
    distances = (core.all_subsets(rows) != truth).sum(axis=1)
    assert left[distances == 0].all() and distances[left].max() <= 4 * most


@pytest.mark.parametrize("rows, most", [(8, 1), (9, 2), (10, 2)])
def test_theorem_2_1_is_sharp(rows, most):
    truth = np.arange(rows) % 2
    answers = core.wary_answers(truth, most)
    assert np.abs(answers - core.all_subsets(rows) @ truth).max() <= most
    distances = (core.all_subsets(rows) != truth).sum(axis=1)
    assert distances[core.consistent(answers, most)].max() == min(4 * most, rows)


@pytest.mark.parametrize("call", [
    lambda: core.hadamard(300 // 2), lambda: core.subsets(10, 10, "independent", np.random.default_rng(0)),
    lambda: core.subsets(10, 20, "x", np.random.default_rng(0)), lambda: core.all_subsets(11),
    lambda: core.LeastSquares(np.ones((5, 2))), lambda: core.consistent(np.zeros(3), 1),
    lambda: core.expected_recovery_estimate(10, 20, 0.0),
])  # fmt: skip
def test_bad_input_is_named(call):
    with pytest.raises(InputError):
        call()
