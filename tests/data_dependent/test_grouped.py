"""Lower programs whose pairs share rates, and channels of intervals, against programs with all pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore.data_dependent import data_dependent_problem, referee
from dpcore.data_dependent.bounds import _row_costs, interval_step, lower_step
from dpcore.data_dependent.costs import queries, row_costs_lower
from dpcore.data_dependent.grouped import GroupedProgram
from dpcore.data_dependent.intervals import best_intervals
from dpcore.data_dependent.whole import WholeProgram

NEVER = 1e18


def programs(epsilon, delta, k, *, distances, laws, mirrored=True):
    """(bound of the grouped program by the referee, optimum of the whole one)."""
    problem = data_dependent_problem(epsilon, delta, 2, query_range=(0, 4))
    (term,) = queries(problem, k)
    costs = _row_costs(term, row_costs_lower(problem, term, problem.width / (2 * k)))
    E = problem.privacy.amplification
    grouped = GroupedProgram(costs, term.related, E, delta, k, mirrored, distances=distances, laws=laws)
    found = grouped.solve(NEVER, lambda: False, accuracy=1e-5)
    whole = WholeProgram(costs, term.related, E, delta, None, None, True).solve(NEVER, lambda: False, accuracy=1e-6)
    bound = referee.multiplier_bound_lower(
        costs, found.multipliers, epsilon=epsilon, delta=delta, related=term.related, mirrored=False
    )
    return bound, float((costs * whole.masses).sum())


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.2), (5, 0.25), (0.3, 0.05)])
@pytest.mark.parametrize("mirrored", [True, False])
def test_blocks_of_one_pair_prove_the_optimum(epsilon, delta, mirrored):
    bound, optimum = programs(epsilon, delta, 8, distances=1, laws=1, mirrored=mirrored)
    assert bound <= optimum * (1 + 1e-6)
    assert bound == pytest.approx(optimum, rel=2e-4)


def test_larger_blocks_prove_a_little_less():
    bounds = [programs(1, 0.2, 12, distances=size, laws=laws)[0] for size, laws in ((1, 1), (2, 1), (3, 2))]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] > 0.99 * bounds[0]


def test_an_odd_number_of_laws_has_a_middle_law_of_its_own():
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, 5))
    (even, odd) = (lower_step(problem, k, None, (), NEVER, lambda: False).bound for k in (14, 15))
    assert even == pytest.approx(odd, rel=0.02)


def test_intervals_are_those_of_the_linear_program():
    """Against all monotone pure laws of a small grid: among them nothing is cheaper."""
    rng = np.random.default_rng(5)
    n, k, E, delta = 6, 3, math.exp(3), 0.2
    costs = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * (1 + 0.1 * rng.random(n))[:, None] / n
    found = best_intervals(costs, k, E, delta, n, NEVER, lambda: False)
    assert found.masses.sum(axis=1) == pytest.approx(np.full(n, 1 - delta))
    rows = []
    for a in range(n):
        for other in range(n):
            if 0 < abs(a - other) <= k:
                for b in range(n):
                    row = np.zeros((n, n))
                    row[a, b], row[other, b] = 1, -E
                    rows.append(row.ravel())
                    assert found.masses[a, b] <= E * found.masses[other, b] * (1 + 1e-9) + 1e-15
    laws = np.kron(np.eye(n), np.ones(n))
    best = linprog(costs.ravel(), rows, np.zeros(len(rows)), laws, np.full(n, 1 - delta)).fun
    assert best * (1 - 1e-9) <= (costs * found.masses).sum() <= 1.02 * best


def test_a_channel_of_intervals_is_private_and_beats_the_coarse_programs():
    problem = data_dependent_problem(5, 0.25, 2, query_range=(0, 4))
    step, longest = interval_step(problem, 48, 16, NEVER, lambda: False)
    assert referee.shortfall_upper(step.channel, 5)[0] <= 0.25
    assert 0.0976 < step.bound < 0.0979
    assert longest < 16
