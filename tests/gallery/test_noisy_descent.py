"""DP-SGD: clipped sums by brute force, samples and noise by their laws, descent without privacy by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import InputError
from dpcore.gallery import noisy_descent as core

RNG = np.random.default_rng(5)
TASK = core.simulated(40, 6, RNG, fresh=50)
THETA = RNG.standard_normal(6)


def gradient(row: np.ndarray) -> np.ndarray:
    """Gradient of ln(1 + e^(−y xᵀθ)) at THETA, by differences."""
    value = lambda theta: np.logaddexp(0.0, -row @ theta)  # noqa: E731
    return np.array([(value(THETA + h) - value(THETA - h)) / 2e-6 for h in 1e-6 * np.eye(6)])


@pytest.mark.parametrize("clip", [0.05, 0.4, math.inf])
def test_clipped_sums_are_those_of_single_gradients(clip):
    expected = np.zeros(6)
    for row in TASK.signed:
        one = gradient(row)
        expected += one / max(1.0, np.linalg.norm(one) / clip)
    assert core.clipped_sum(TASK.signed, THETA, clip) == pytest.approx(expected, abs=1e-7)


def test_one_person_moves_the_sum_by_at_most_the_clipping_norm():
    """What the accountant's sensitivity 1 stands for."""
    whole = core.clipped_sum(TASK.signed, THETA, 0.1)
    for gone in range(40):
        less = core.clipped_sum(np.delete(TASK.signed, gone, axis=0), THETA, 0.1)
        assert np.linalg.norm(whole - less) <= 0.1 * (1 + 1e-12)


def test_without_noise_and_samples_it_is_gradient_descent():
    plan = core.Plan(1.0, 0.0, math.inf, 30, pace=1.5)
    *_, (steps, theta) = core.descend(TASK, plan, 2, np.random.default_rng(1))
    by_hand = np.zeros(6)
    for step in range(30):
        slopes = 1 / (1 + np.exp(TASK.signed @ by_hand))
        by_hand = by_hand + 1.5 * math.sqrt(1 - step / 30) * (slopes @ TASK.signed) / 40
    assert steps == 30 and theta == pytest.approx(np.stack([by_hand, by_hand]), abs=1e-12)


def test_noise_and_samples_of_a_step_have_their_laws():
    """One step from 0, where every gradient is −½yx, unclipped: its mean and spread are known."""
    plan = core.Plan(0.3, 2.0, 5.0, 1, pace=1.0)
    runs = 6000
    _, (_, theta) = core.descend(TASK, plan, runs, np.random.default_rng(2))
    moved = -theta * 5.0
    mean = -0.5 * TASK.signed.sum(axis=0) / 40
    variance = (0.3 * 0.7 * (0.25 * TASK.signed**2).sum(axis=0)) / 12**2 + plan.deviation(40) ** 2
    assert plan.deviation(40) == pytest.approx(2.0 * 5.0 / 12)
    assert moved.mean(axis=0) == pytest.approx(mean, abs=5 * math.sqrt(variance.max() / runs))
    assert moved.var(axis=0) == pytest.approx(variance, rel=5 * math.sqrt(2 / runs))
    assert stats.kstest(moved[:, 0], stats.norm(mean[0], math.sqrt(variance[0])).cdf).pvalue > 1e-4


def test_accuracy_counts_fresh_rows():
    right = sum(label * (row @ THETA) > 0 for row, label in zip(TASK.fresh, TASK.fresh_labels))
    assert TASK.accuracy(THETA[None]) == pytest.approx([right / 50])


@pytest.mark.parametrize("bad", [{"rate": 0.0}, {"noise": -1.0}, {"clip": 0.0}, {"steps": 0}, {"clip": math.inf}])
def test_plans_that_are_none_are_refused_by_name(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        core.Plan(**{"rate": 0.1, "noise": 1.0, "clip": 1.0, "steps": 5, **bad})
