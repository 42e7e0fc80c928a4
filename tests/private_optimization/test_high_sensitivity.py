"""Programs whose limits are the data: the largest probability of a feasible answer, against the whole program."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore.errors import InputError
from dpcore.private_optimization.high_sensitivity import answers, most_certain


@pytest.mark.parametrize(("epsilon", "people"), [(0.5, 1), (1.0, 2), (2.0, 3), (0.0, 2)])
def test_the_bound_is_the_optimum_over_all_mechanisms(epsilon, people):
    """Mechanisms that tell a database, as a linear program: maximise s with P_D(D) ≥ s and all rows ε-DP."""
    bits = list(itertools.product((0, 1), repeat=people))
    n = len(bits)
    rows, limits, totals = [], [], []
    for d in range(n):
        row = np.zeros(n * n + 1)
        row[d * n + d], row[-1] = -1.0, 1.0
        rows.append(row)
        total = np.zeros(n * n + 1)
        total[d * n : (d + 1) * n] = 1.0
        totals.append(total)
        for e in range(n):
            if sum(a != b for a, b in zip(bits[d], bits[e])) == 1:
                for x in range(n):
                    row = np.zeros(n * n + 1)
                    row[d * n + x], row[e * n + x] = 1.0, -math.exp(epsilon)
                    rows.append(row)
    limits = np.zeros(len(rows))
    costs = np.zeros(n * n + 1)
    costs[-1] = -1.0
    found = linprog(costs, A_ub=np.array(rows), b_ub=limits, A_eq=np.array(totals), b_eq=np.ones(n), method="highs")
    assert most_certain(epsilon, people) == pytest.approx(-found.fun, rel=1e-7)


def test_randomised_response_attains_it():
    met = answers(1.0, 5, 40_000, np.random.default_rng(1))
    expected = most_certain(1.0, 5)
    assert abs(met.mean() - expected) < 5 * math.sqrt(expected * (1 - expected) / len(met))


def test_refused():
    with pytest.raises(InputError, match="people"):
        most_certain(1.0, 0)
    with pytest.raises(InputError, match="epsilon"):
        most_certain(-1.0, 3)
