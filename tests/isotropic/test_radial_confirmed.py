"""Certified laws by what the benchmark confirms them with: drawn vectors, and integration in the plane and in space."""

from __future__ import annotations

import pytest

from benchmarks.bench_isotropic import BRACKETS, integrated, monte_carlo
from dpcore.isotropic.audit import delta_upper
from dpcore.isotropic.problem import IsotropicProblem, parse_loss
from dpcore.isotropic.search import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings

CASES = [(1, 1.0, 0.05), (2, 2.0, 0.2), (3, 1.0, 1e-3), (20, 4.0, 1e-6), (100, 8.0, 1e-6)]


@pytest.mark.parametrize(("dimension", "epsilon", "delta"), CASES)
def test_a_certified_law_keeps_its_delta(dimension, epsilon, delta):
    problem = IsotropicProblem(dimension, Privacy(epsilon, delta), parse_loss("squared"), 3.0)
    found = solve(problem, SolverSettings(gap=0.5, time_limit=60.0))
    for at in (epsilon, 0.7 * epsilon):
        mean, error = monte_carlo(found.noise, at, 60_000)
        assert abs(mean - delta_upper(found.noise, at)) <= 5 * error <= 0.5 * mean
    if dimension in (2, 3):
        assert integrated(found.noise, epsilon) == pytest.approx(found.delta_upper, rel=1e-5)


def test_the_benchmark_asks_for_what_the_documentation_lists():
    assert len({(one.dimension, one.epsilon, one.delta, one.loss) for one in BRACKETS}) == len(BRACKETS)
    assert {one.dimension for one in BRACKETS} == {2, 3, 10, 20, 50, 100, 1000}
