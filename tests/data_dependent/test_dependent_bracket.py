"""Brackets: against published and independent figures, brute force, limits with known answers, the reference method."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcore.data_dependent import data_dependent_problem, solve
from dpcore.data_dependent.bounds import lower_step, upper_step
from dpcore.data_dependent.costs import queries
from dpcore.data_dependent.reference import solve_reference
from dpcore.data_dependent.search import DEFAULT, Search
from dpcore.errors import InputError
from dpcore.optimal import solve as solve_independent
from dpcore.problem import SolverSettings, noise_problem

FOREVER = math.inf


def steps(problem, k, cap=None):
    """Lower and upper bound on one grid."""
    lower = lower_step(problem, k, cap, (), FOREVER, lambda: False)
    return lower, upper_step(problem, k, cap, (), FOREVER, lambda: False)


def test_a_long_range_gains_where_the_weight_is_concentrated():
    """50 sensitivities: the mean of |f| is what the constant release 0 costs, by integration, and already less than all
    additive noise; the refusal of still longer ranges claims nothing else."""
    values = np.linspace(-25, 25, 500_001)
    weight = np.exp(-0.5 * (values / 0.5) ** 2)
    constant = float(np.abs(values) @ weight / weight.sum())
    problem = data_dependent_problem(1, 0.1, query_range=(-25, 25), weight="normal:0:0.5")
    upper = upper_step(problem, 1, None, (), FOREVER, lambda: False).bound
    additive = solve_independent(noise_problem(1, 0.1)).certificate.lower
    assert upper <= constant < 0.6 * additive
    with pytest.raises(InputError) as refused:
        data_dependent_problem(1, 0.1, query_range=(-1001, 1000))
    assert "at most 2000 sensitivities" in refused.value.accepted and "loses" not in refused.value.accepted


KNOWN = [(1, 0.2, 0.6421, 0.6644), (0.2, 0.05, 0.9381, 0.9504), (5, 0.25, 0.0922, 0.1185)]
"""(ε, δ, lower, upper) at range 4, sensitivity 2, |x|, found with another pair of bounds on a grid of 1/4 or 1/8."""


@pytest.mark.parametrize(("epsilon", "delta", "low", "high"), KNOWN)
def test_brackets_agree_with_independent_ones(epsilon, delta, low, high):
    problem = data_dependent_problem(epsilon, delta, 2, query_range=(0, 4))
    found = solve(problem, SolverSettings(gap=0.12 if epsilon > 3 else 0.01, time_limit=60)).certificate
    assert found.gap <= (0.12 if epsilon > 3 else 0.01)
    assert found.lower <= high and low <= found.upper


def test_every_lower_bound_is_below_every_upper_bound():
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, 4))
    found = [steps(problem, k) for k in range(2, 9)]
    assert max(a.bound for a, _ in found) <= min(b.bound for _, b in found)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.2), (0.2, 0.05)])
def test_ten_times_narrower_than_the_reference_method(epsilon, delta):
    problem = data_dependent_problem(epsilon, delta, 2, query_range=(0, 4))
    published = solve_reference(problem, 4)
    lower, upper = steps(problem, 4)
    assert published.finished
    assert published.lower <= upper.bound and lower.bound <= published.upper
    assert upper.bound - lower.bound <= (published.upper - published.lower) / 10


def test_ten_times_narrower_where_the_optimum_is_nearly_a_staircase():
    """At (5, .25) no single coarse grid is enough: the whole search, and how little it needs for that."""
    problem = data_dependent_problem(5, 0.25, 2, query_range=(0, 4))
    published = solve_reference(problem, 8)
    width = published.upper - published.lower
    found = solve(problem, SolverSettings(gap=1e-4), lambda record: record.upper - record.lower <= width / 10)
    lower, upper = found.certificate.lower, found.certificate.upper
    assert published.finished
    assert published.lower <= upper and lower <= published.upper
    assert upper - lower <= width / 10
    assert max(record.pairs for record in found.trace) <= 10_000  # all terms of a program, where they enter at once


def test_noise_that_ignores_the_value_is_sharp_in_the_answer():
    problem = data_dependent_problem(5, 0.25, 2, query_range=(0, 4))
    found = solve(problem, SolverSettings(gap=0.5, time_limit=60))
    assert found.independent.certificate.gap <= 1e-3
    assert found.certificate.upper <= found.clamped_upper


def test_reference_method_matches_its_own_implementation_elsewhere():
    """Valid P′ and D′ at β = 1/4 found with the authors' cutting planes: .733/.537 at (1, .2)."""
    published = solve_reference(data_dependent_problem(1, 0.2, 2, query_range=(0, 4)), 8, 100.0)
    assert published.finished
    assert published.upper == pytest.approx(0.733, abs=6e-4) and published.lower == pytest.approx(0.537, abs=6e-4)


def brute_force(costs, amplification, delta, reach, atoms):
    """The program of one bound with all its rows, one slack per term."""
    from scipy.optimize import linprog
    from scipy.sparse import lil_matrix

    n = len(costs)
    pairs = [(a, b) for a in range(n) for b in range(n) if 0 < abs(a - b) <= reach]
    free, slacks = n * n, n * n + (n if atoms else 0)
    rows = lil_matrix((len(pairs) * (n + 1), slacks + len(pairs) * n))
    limits = np.zeros(rows.shape[0])
    for t, (a, b) in enumerate(pairs):
        for y in range(n):
            rows[t * n + y, a * n + y] = 1
            rows[t * n + y, b * n + y] = -amplification
            rows[t * n + y, slacks + t * n + y] = -1
            rows[len(pairs) * n + t, slacks + t * n + y] = 1
        if atoms:
            rows[len(pairs) * n + t, free + a] = 1
        limits[len(pairs) * n + t] = delta
    mass = lil_matrix((n, rows.shape[1]))
    for a in range(n):
        mass[a, a * n : (a + 1) * n] = 1
        if atoms:
            mass[a, free + a] = 1
    cost = np.concatenate([costs.ravel(), np.zeros(rows.shape[1] - n * n)])
    bounds = [(0, None)] * n**2 + [(0, delta)] * (n if atoms else 0) + [(0, None)] * (len(pairs) * n)
    answer = linprog(cost, A_ub=rows.tocsr(), b_ub=limits, A_eq=mass.tocsr(), b_eq=np.ones(n), bounds=bounds)
    assert answer.status == 0
    return answer.fun


@pytest.mark.parametrize("loss", ["l1", "pinball:0.8"])
def test_programs_solve_what_they_say(loss):
    """Three cells per sensitivity over a range of two: costs written down by hand, no folding, every row present."""
    problem = data_dependent_problem(1, 0.2, 3, loss, query_range=(0, 6))
    x = np.arange(6)[None, :] - np.arange(6)[:, None]
    slopes = (1, 1) if loss == "l1" else (0.8, 0.2)
    node = np.where(x > 0, slopes[0] * x, -slopes[1] * x) / 6
    cell = node + np.eye(6) * (slopes[0] + slopes[1]) / 8 / 6
    lower, upper = steps(problem, 3)
    least = brute_force(node, math.e, 0.2, 3, False)
    most = brute_force(cell, math.e, 0.2, 3, True)
    assert least * (1 - 1e-6) <= lower.bound <= least * (1 + 1e-12)
    assert most * (1 - 1e-12) <= upper.bound <= most * (1 + 1e-5)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    epsilon=st.sampled_from([0.0, 0.1, 1.0, 3.0]),
    delta=st.floats(0.01, 0.6),
    width=st.sampled_from([0.5, 1.0, 1.7, 2.0, 3.0]),
    weight=st.sampled_from(["uniform", "triangular", "normal:0.3:0.8", "histogram:1,0,2"]),
    loss=st.sampled_from(["l1", "l2", "pinball:0.3", "huber:0.4", "lp:1.5", "exceed:0.5", "steep:0.6"]),
)
def test_bounds_never_cross(epsilon, delta, width, weight, loss):
    problem = data_dependent_problem(epsilon, delta, 1, loss, query_range=(-0.2, width - 0.2), weight=weight)
    found = [steps(problem, k) for k in (2, 3, 5)]
    best = max(lower.bound for lower, _ in found)
    for _, upper in found:
        assert upper is not None and best <= upper.bound and upper.delta_upper <= delta


def test_wide_ranges_approach_the_optimum_that_ignores_the_true_value_from_below():
    independent = solve_independent(noise_problem(1, 0.2, 1.0)).certificate
    before = 0.0
    for width in (2, 6):
        problem = data_dependent_problem(1, 0.2, 1, query_range=(0, width))
        found = solve(problem, SolverSettings(gap=0.05, time_limit=20)).certificate
        assert found.upper <= independent.upper
        assert found.upper > before  # the wider the range, the less there is to gain
        before = found.lower
    assert found.lower > 0.8 * independent.lower


def test_narrow_ranges_scale():
    """All pairs are neighbours: the value is a constant times the range."""
    ratios = []
    for width in (0.01, 0.5, 1.0):
        problem = data_dependent_problem(1, 0.2, 1, query_range=(7, 7 + width))
        found = solve(problem, SolverSettings(gap=0.01, time_limit=20)).certificate
        ratios.append((found.lower / width, found.upper / width))
    assert max(low for low, _ in ratios) <= min(high for _, high in ratios)
    assert np.ptp([low for low, _ in ratios]) < 1e-9


def test_scaling():
    one = solve(data_dependent_problem(1, 0.2, 2, query_range=(0, 4)), SolverSettings(gap=0.02)).certificate
    other = solve(data_dependent_problem(1, 0.2, 6, query_range=(-6, 6)), SolverSettings(gap=0.02)).certificate
    assert other.lower == pytest.approx(3 * one.lower, rel=1e-9)
    assert other.upper == pytest.approx(3 * one.upper, rel=1e-9)


def test_no_privacy_loss_costs_nothing_and_full_privacy_costs_a_quarter_of_the_range():
    """δ → 1: release the truth; ε = 0, δ → 0: release the middle, which errs by a quarter of the range."""
    almost = solve(data_dependent_problem(1, 0.999, 1, query_range=(0, 1)), SolverSettings(gap=0.5)).certificate
    assert almost.upper < 2e-3
    nothing = solve(data_dependent_problem(0, 1e-6, 1, query_range=(0, 1)), SolverSettings(gap=1e-2)).certificate
    assert nothing.lower <= 0.25 * (1 + 1e-5) and nothing.upper >= 0.25 * (1 - 1e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.2), (3, 0.01), (0.3, 0.0)])
def test_two_values_cannot_be_told_apart(epsilon, delta):
    """Whether a release lies beyond the middle of f and f + ½ is wrong, for the two together, with probability at least
    2(1 − δ)/(1 + e^ε), and then costs a quarter or more."""
    problem = data_dependent_problem(epsilon, delta, 1, query_range=(0, 1))
    found = solve(problem, SolverSettings(gap=0.05, time_limit=20)).certificate
    assert found.upper >= 0.25 * (1 - delta) / (1 + math.exp(epsilon))


@pytest.mark.parametrize("width", ["3", "4.33", "0.7"])
def test_terms_of_the_lower_bound_cover_the_range(width):
    """Weights add up to at most 1, and nearly to 1 where the weight is linear on cells."""
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, float(width)))
    total = sum(float(term.weights.sum()) for term in queries(problem, 5))
    assert 1 - 1e-9 <= total <= 1
    assert Fraction(width) == problem.width


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"query_range": (4, 4)}, "query_range"),
        ({"query_range": (0, math.inf)}, "query_range"),
        ({"query_range": (0, 1e9)}, "query_range"),
        ({"query_range": (0, 1e-9)}, "query_range"),
        ({"query_range": (0, 4), "weight": "histogram:0,0"}, "weight"),
        ({"query_range": (0, 4), "weight": "normal:900:1"}, "weight"),
        ({"query_range": (0, 4), "loss": "table:-1=0,1=2"}, "loss table first slope"),
        ({"query_range": (0, 4), "loss": "table:-1=2,1=0,2=1"}, "loss"),
        ({"query_range": (0, 4), "partition": (3, 2)}, "partition"),
        ({"query_range": (0, 4), "partition": (2,), "monotone": True}, "partition"),
        ({"query_range": (0, 4), "instance_cap": -1}, "instance_cap"),
    ],
)
def test_degenerate_input_is_named(arguments, field):
    with pytest.raises(InputError) as caught:
        data_dependent_problem(1, 0.2, **arguments)
    assert caught.value.field.startswith(field)


def test_an_impossible_cap_is_refused():
    problem = data_dependent_problem(1, 0.05, 1, query_range=(0, 1), instance_cap=0.01)
    with pytest.raises(InputError, match="instance_cap"):
        solve(problem, SolverSettings(time_limit=1))


def test_stopping_early_gives_a_valid_answer():
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, 4))
    found = solve(problem, SolverSettings(gap=1e-6, time_limit=60), lambda record: record.pairs > 50)
    assert found.certificate.lower <= found.certificate.upper < 0.9
    assert found.trace[-1].upper == found.certificate.upper


def test_a_range_far_from_zero_is_refused():
    """Its points could not be told apart in floats, which the averages assume."""
    with pytest.raises(InputError, match="query_range"):
        data_dependent_problem(1, 0.2, 2.0, query_range=(1e12, 1e12 + 4))


def test_bins_that_take_thousands_of_cells_do_not_keep_a_long_range_waiting():
    """Before any program the same release for every true value is offered; on cells that are bins as well it would take
    3024 laws of 3024 points."""
    problem = data_dependent_problem(1, 0.1, 2, query_range=(-432, 432), weight="histogram:1,2,5,9,5,2,1")
    search = Search(problem, DEFAULT)
    search._offer_constant()
    assert search.best.mechanism.grid.laws == 432 and 129 < search.upper < 130


def test_a_cap_by_the_optimal_noise_stays_what_it_was():
    """Where that noise is known roughly first, as on a busy machine, and better later, what was found in between keeps
    to the cap that is told."""
    problem = data_dependent_problem(1, 0.2, 2, query_range=(0, 4), instance_cap="auto", weight="histogram:1,9,9,1")
    search = Search(problem, SolverSettings(time_limit=30))
    search._solve_independent(0.3)
    rough = search._independent.certificate.upper
    search._step("upper", 8)
    search._solve_independent(1e-3)
    assert search._independent.certificate.upper < rough, "it is known better now"
    assert search.best.instance_upper <= search.cap
    assert search.best.source == "linear program" and search.best.instance_upper > search._independent.certificate.upper
