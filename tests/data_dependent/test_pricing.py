"""Lower programs that leave release points out, against programs with all of them and against HiGHS."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore.data_dependent import data_dependent_problem
from dpcore.data_dependent.bounds import MISSED, lower_step
from dpcore.kernels.pricing import price

NEVER = 1e18


def step(problem, resolution, seeds=()):
    return lower_step(problem, resolution, None, seeds, NEVER, lambda: False)


@pytest.mark.parametrize(
    "options", [{"query_range": (0, 4)}, {"query_range": (0, 4), "weight": "histogram:1,4,2"}], ids=["folded", "skewed"]
)
def test_the_bound_with_few_points_is_the_one_with_all_of_them(options):
    problem = data_dependent_problem(0.2, 0.05, 2, **options)
    coarse = step(problem, 11)
    few, all_ = step(problem, 13, coarse.seeds), step(problem, 13)
    assert few.bound == pytest.approx(all_.bound, rel=2 * MISSED)
    assert few.pairs < all_.pairs


def test_a_seed_that_names_the_wrong_points_is_mended():
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, 4))
    coarse = step(problem, 11)
    (seed,) = coarse.seeds
    seed.masses[:] = np.eye(*seed.masses.shape)
    mended = step(problem, 12, coarse.seeds)
    assert mended.bound == pytest.approx(step(problem, 12).bound, rel=2 * MISSED)


def test_prices_are_those_of_the_linear_program():
    rng = np.random.default_rng(3)
    for growth in (1.0, 2.5):
        laws = 6
        events, covers = np.nonzero(~np.eye(laws, dtype=bool))
        costs, most = rng.normal(size=laws), rng.uniform(0.01, 0.3, len(events))
        rises = np.zeros((laws, len(events) + 1))
        rises[events, np.arange(len(events))] = 1.0
        rises[covers, np.arange(len(events))] = -growth
        rises[:, -1] = -1.0  # θ
        bounds = [(0, m) for m in most] + [(None, None)]
        best = linprog(np.append(np.zeros(len(events)), -1.0), -rises, costs, bounds=bounds)
        y, theta = price(costs, events, covers, most, growth, 1e-7)
        assert (y >= 0).all() and (y <= most).all()
        assert theta == pytest.approx((costs + rises[:, :-1] @ y).min(), abs=1e-12)
        assert theta >= -1e-7 or theta == pytest.approx(-best.fun, abs=1e-5)
