"""Cells that cover a plateau: what they see of it, and that bounds from them are no higher than laws cost."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore._validate import decimal
from dpcore.loss import parse_loss, table
from dpcore.optimal import solve
from dpcore.optimal.additive import Search
from dpcore.optimal.covering import Covering
from dpcore.optimal.lower import CELL, lower_step
from dpcore.optimal.schedule import Schedule
from dpcore.optimal.step import Limits, Window, places_of
from dpcore.problem import SolverSettings, noise_problem

FOREVER = Limits(1.0, 1e-3, math.inf, lambda: False)
PLATEAU = "table:-2.2=2.98,-0.99=0.56,-0.71=0,0=0,0.32=0,2.5=1.09"


@given(
    st.integers(1, 300), st.integers(0, 300), st.integers(1, 400), st.floats(1e-9, 0.02),
    st.sampled_from([(-math.inf, math.inf), (-0.05, math.inf), (-math.inf, 0.0)]), st.sampled_from([1.0, 0.3, 7.0]),
)  # fmt: skip
def test_cells_begin_before_a_plateau_and_end_beyond_it(left, right, cells, cost, support, D):
    places = (-1 - left, -left, 0, right, 1 + right)
    loss = table([x * D / 100 for x in dict.fromkeys(places)], [1.0, 0, *[0] * (len(set(places)) - 3), 1.0])
    problem = noise_problem(12.0, 0.01, D, loss, support=(support[0] * D, support[1] * D))
    found = Covering.of(problem, cost, 1.0)
    assert found is not None
    k = found.size(cells)
    start, cell, beyond = decimal(found.origin(k)), CELL * decimal(D) / k, found.beyond * decimal(D)
    assert float(beyond) == pytest.approx(cost, rel=1e-12)
    first, last = (decimal(x) for x in loss.bottom(*problem.support))
    ends = {decimal(x) for x in problem.support if math.isfinite(x)}
    if problem.folds:
        first, ends = Fraction(0), {Fraction(0)}
    first -= 0 if first in ends else beyond
    last += 0 if last in ends else beyond
    number = math.ceil((last - first) / cell)
    left, right = (start - number * cell, start) if start == last else (start, start + number * cell)
    rounded = Fraction(1, 10**9)  # an origin is a float
    assert left - rounded <= first and last <= right + rounded
    assert cells <= k // CELL <= 1.2 * cells + 1
    others = (
        Fraction(math.ceil((last - first) / decimal(D) * n), n) for n in range(cells, math.floor(1.2 * cells) + 2)
    )
    assert abs(number * cell / decimal(D) - min(others)) < rounded


@pytest.mark.parametrize(
    ("level", "support"),
    [("table:-0.87=0,-0.4=0,0=0,0.4=0,0.87=0", (-1.728, 3.683)), ("table:-4=1,-3=0,0=0,3=0,4=1", (-2.8, 2.9))],
)
def test_a_loss_that_rises_nowhere_in_the_support_costs_nothing(level, support):
    problem = noise_problem(13.0, 9.56e-7, 1.0, level, support=support)
    assert Covering.of(problem, 1e-9, 0.0) is None and Covering.of(problem, math.inf, 1.0) is None
    assert solve(problem, SolverSettings(time_limit=5)).certificate.upper == 0


@pytest.mark.parametrize("spec", ["l1", "table:-1=1,0=0,1=2", "exceed:0.3"])
def test_nothing_is_covered_where_a_loss_is_least_at_a_point_or_epsilon_is_small(spec):
    assert Schedule(noise_problem(12.0, 0.1, 1.0, spec), 1e-3, (0.3,), ("offset",), 1000, upper=1e-3).covering is None
    small = noise_problem(5.0, 0.1, 1.0, PLATEAU)
    assert Schedule(small, 1e-3, (0.3,), ("offset",), 1000, upper=1e-4).covering is None


@settings(max_examples=25)
@given(
    st.floats(4, 15), st.floats(1e-6, 0.5), st.integers(1, 40), st.integers(1, 40), st.floats(-0.5, 0.5),
    st.integers(2, 10), st.sampled_from([(-math.inf, math.inf), (-2.0, math.inf)]),
)  # fmt: skip
def test_wherever_cells_begin_no_law_costs_less(epsilon, delta, left, right, start, half, support):
    loss = table([-1 - left / 40, -left / 40, 0, right / 40, 1 + right / 40], [2, 0, 0, 0, 1])
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support)
    upper = Search(problem, SolverSettings()).first().certificate.upper
    briefly = replace(FOREVER, deadline=time.perf_counter() + 1.0)
    step = lower_step(problem, CELL * half, Window(-2.0, 2.0), None, briefly, ends=True, origin=start)
    assert step.bound <= upper


def test_a_plateau_is_seen_as_wide_as_it_is():
    """At some 25 ends of cells to the sensitivity, where nodes at both ends of a plateau prove less."""
    problem = noise_problem(11.2, 0.0953, 1.0, PLATEAU)
    upper = solve(problem, SolverSettings(gap=0.01, time_limit=20)).certificate.upper
    found = Covering.of(problem, upper, 2.0)
    assert found is not None
    window, k = Window(-1.6, 1.2), found.size(12)
    covered = lower_step(problem, k, window, None, FOREVER, ends=True, origin=found.origin(k))
    assert 0.96 * upper < covered.bound <= upper
    assert lower_step(problem, k, window, None, FOREVER).bound < 0.975 * covered.bound


@given(st.integers(1, 400), st.integers(1, 400), st.integers(2, 200), st.sampled_from([0, 1]))
def test_cells_of_laws_lie_inside_of_a_plateau(left, right, k, centred):
    """Of lattices of about that size the one of which least of the plateau is left over."""
    found = Covering(Fraction(-left, 400), Fraction(right, 400), None, Fraction(0), Fraction(1))
    half, chosen = Fraction(centred, 2), found.inside(k, Fraction(0), Fraction(centred, 2))

    def inside(k: int) -> Fraction:
        return (math.floor(found.right * k - half) + math.floor(-found.left * k - half) + 2 * half) / Fraction(k)

    assert k <= chosen <= 1.2 * k + 1
    assert inside(chosen) == max(inside(other) for other in range(k, math.floor(1.2 * k) + 2))


@pytest.mark.parametrize("origin", [0.0, -0.31, 0.123])
def test_level_functions_below_the_loss(origin):
    """Constants where a chord below a corner would end below 0."""
    from dpcore.loss.cells import minorants

    problem = noise_problem(11.2, 0.0953, 1.0, PLATEAU)
    cells = places_of(problem, 20, np.arange(-60, 60, CELL), origin)
    for level in (False, True):
        left, right = minorants(problem.loss, cells, level=level)
        for t in np.linspace(0, 1, 11):
            value = problem.loss.value(cells.floats[:-1] + t * np.diff(cells.floats))
            assert np.all((1 - t) * left + t * right <= value + 1e-12)
        assert (min(left.min(), right.min()) >= 0) == level or origin == 0.0
    assert parse_loss(PLATEAU).bottom() == (-0.71, 0.32)
    assert parse_loss(PLATEAU).bottom(-0.2, 5.0) == (-0.2, 0.32)
    assert parse_loss("l1").bottom() == (0.0, 0.0)


def test_a_plateau_without_an_end_is_not_covered() -> None:
    """The least loss is that of any law far enough to the left."""
    problem = noise_problem(8.1, 0.0, 1e-6, "table:0=5,0.000001=5,0.000002=6")
    assert Covering.of(problem, 5.0, 1e6) is None
    certificate = solve(problem, SolverSettings(time_limit=1)).certificate
    assert certificate.lower <= 5 * (1 + 1e-9) <= certificate.upper * (1 + 1e-8)
