"""Whole-number queries: both bounds meet at the optimum of the problem itself, found by brute force or known."""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import deltas, log_floats, losses

from dpcore.errors import InfeasibleError, InputError
from dpcore.mechanisms import baselines
from dpcore.noise import DiscreteStaircase, Geometric, LatticeNoise
from dpcore.noise.lattice import lattice_points
from dpcore.noise.piecewise import TOTAL
from dpcore.optimal import solve
from dpcore.optimal.integer import coarsenings
from dpcore.optimal.integer_bounds import Limits, lower_bound, spread, upper_bound
from dpcore.privacy import Privacy
from dpcore.problem import Budget, NoiseProblem, SolverSettings, noise_problem

INF = math.inf
EXAMPLES = int(os.environ.get("THOROUGH", "0"))


def counting(epsilon, delta, sensitivity=1, loss="l1", *, step=1.0, **constraints) -> NoiseProblem:
    return noise_problem(epsilon, delta, sensitivity * step, loss, granularity=step, **constraints)


def brute_force(problem: NoiseProblem, low: int, high: int) -> float:
    """The least expected loss on the points low … high: every shift, every slack, no folding, no scaling."""
    k, E, n = round(problem.sensitivity / problem.granularity), math.exp(problem.privacy.epsilon), high - low + 1
    costs = problem.loss.value(lattice_points(low, n, problem.granularity))
    shifts = [*range(-k, 0), *range(1, k + 1)]
    columns = n + n * len(shifts)
    rows, limits = [], []
    for t, j in enumerate(shifts):
        total = np.zeros(columns)
        for i in range(n):
            row = np.zeros(columns)
            slack = n + t * n + i
            row[i], row[slack], total[slack] = 1.0, -1.0, 1.0
            if 0 <= i - j < n:
                row[i - j] -= E
            rows.append(row)
            limits.append(0.0)
        rows.append(total)
        limits.append(problem.privacy.delta)
    if problem.monotone:
        for i in range(n - 1):
            row = np.zeros(columns)
            row[i], row[i + 1] = (1.0, -1.0) if low + i < 0 else (-1.0, 1.0)
            rows.append(row)
            limits.append(0.0)
    equal, sums = [np.concatenate([np.ones(n), np.zeros(columns - n)])], [1.0]
    if problem.symmetric:
        for i in range(n // 2):
            row = np.zeros(columns)
            row[i], row[n - 1 - i] = 1.0, -1.0
            equal.append(row)
            sums.append(0.0)
    objective = np.concatenate([costs, np.zeros(columns - n)])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(objective, rows, limits, equal, sums, method="highs", options=options)
    assert found.status == 0, found.message
    return float(found.fun)


@pytest.mark.parametrize("loss", ["l1", "l2", "lp:1.5", "pinball:0.8", "asym:1:3", "huber:2", "exceed:1",
                                  "table:-3=1,-2=0,0=3,1=0.5,4=9"])  # fmt: skip
@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1.0, 0.2, 2), (0.3, 0.25, 1), (0.0, 0.3, 2), (3.0, 0.1, 3)])
def test_both_bounds_are_the_brute_force_optimum(loss, epsilon, delta, k):
    """On a support of 15 points, which all of these laws fit into."""
    problem = counting(epsilon, delta, k, loss, support=(-7.4, 7.0))
    certificate = solve(problem).certificate
    exact = brute_force(problem, -7, 7)
    assert certificate.lower <= exact * (1 + 1e-8) and exact <= certificate.upper * (1 + 1e-8)
    assert certificate.upper - certificate.lower <= 1e-8 * certificate.upper


@pytest.mark.parametrize(
    ("loss", "constraints", "ends"),
    [
        ("l1", {"monotone": True}, (-8, 8)),
        ("pinball:0.8", {"monotone": True}, (-8, 8)),
        ("table:-3=1,-2=0,0=3,1=0.5,4=9", {"monotone": True}, (-8, 8)),
        ("pinball:0.8", {"symmetric": True}, (-8, 8)),
        ("asym:1:3", {"symmetric": True, "monotone": True}, (-8, 8)),
        ("l1", {}, (-12, 0)),
        ("pinball:0.3", {"monotone": True}, (0, 14)),
        ("pinball:0.3", {"monotone": True}, (-2, 9)),
        ("exceed:2", {"monotone": True}, (-1, 9)),
        ("l2", {}, (3, 16)),
    ],
)
def test_constraints_against_brute_force(loss, constraints, ends):
    problem = counting(0.8, 0.15, 2, loss, support=tuple(map(float, ends)), **constraints)
    solution = solve(problem)
    exact = brute_force(problem, *ends)
    assert solution.certificate.lower <= exact * (1 + 1e-8) and exact <= solution.certificate.upper * (1 + 1e-8)
    assert solution.certificate.gap <= 1e-8
    check_law(problem, solution)


def test_equal_probabilities_on_one_side_of_0_stay_monotone():
    """What whole numbers leave over goes next to 0, not half of it to the far end."""
    problem = counting(0.0, 0.5, 1, "table:0=0,0.25=0,0.5=0.25", support=(-2.0, 1.0), monotone=True)
    solution = solve(problem)
    assert solution.certificate.upper == 0.0 and solution.certificate.delta_upper <= 0.5
    assert check_law(problem, solution) is None


@st.composite
def tiny_problems(draw) -> NoiseProblem:
    """At most 11 points and 4 steps per sensitivity; supports with and without 0, some of which no law fits."""
    symmetric, monotone = draw(st.booleans()), draw(st.booleans())
    first = draw(st.integers(-5, 2))
    last = first + draw(st.integers(2, 10))
    if symmetric or monotone:
        first, last = -draw(st.integers(1, 5)), draw(st.integers(1, 5))
    if symmetric:
        first = -last
    epsilon = draw(st.one_of(st.just(0.0), log_floats(0.01, 6)))
    arguments = (epsilon, draw(st.floats(0.02, 0.9)), draw(st.integers(1, 4)), draw(losses()))
    ends = (float(first), float(last))
    try:
        return counting(*arguments, support=ends, symmetric=symmetric, monotone=monotone)
    except InfeasibleError:
        assume(False)


@settings(max_examples=EXAMPLES or 170)
@given(tiny_problems())
def test_bounds_enclose_the_brute_force_optimum(problem):
    first, last = (int(end) for end in problem.support)
    try:
        certificate = solve(problem).certificate
    except InfeasibleError:
        event("no law")
        tighter = Privacy(problem.privacy.epsilon, problem.privacy.delta * (1 - 1e-6))
        # Nor does linprog find one, with room for its own tolerance, unless the problem is refused before.
        with pytest.raises((AssertionError, InfeasibleError)):
            brute_force(replace(problem, privacy=tighter), first, last)
        return
    exact, size = brute_force(problem, first, last), float(problem.loss.value(np.array(problem.support)).max())
    rounding = 1e-8 * (exact + 1e-3 * size)  # linprog's
    assert certificate.lower <= exact + rounding
    assert certificate.upper >= exact - rounding
    assert certificate.upper - certificate.lower <= 1e-6 * max(size, exact)


def check_law(problem: NoiseProblem, solution) -> None:
    """The law is private and keeps the constraints, in exact arithmetic."""
    noise, k = solution.noise, round(problem.sensitivity / problem.granularity)
    assert isinstance(noise, LatticeNoise) and noise.step == problem.granularity
    weights = [int(w) for w in noise.weights]
    assert sum(weights) == TOTAL and min(weights) >= 0
    with localcontext() as context:
        context.prec = 60
        E = Fraction(Decimal(problem.privacy.epsilon).exp())
    p = {noise.first + i: Fraction(w, TOTAL) for i, w in enumerate(weights)}
    for j in [*range(-k, 0), *range(1, k + 1)]:
        shortfall = sum((max(mass - E * p.get(i - j, 0), Fraction(0)) for i, mass in p.items()), Fraction(0))
        assert shortfall <= Fraction(solution.certificate.delta_upper) <= Fraction(problem.privacy.delta)
    lo, hi = problem.support
    assert lo <= noise.support[0] and noise.support[1] <= hi
    if problem.symmetric:
        assert all(abs(p[i] - p.get(-i, 0)) <= Fraction(1, TOTAL) for i in p)
    if problem.monotone:  # up to what the largest weight pays for the rounding of all
        slack = Fraction(1, 10**15)
        assert all(p[i] + slack >= p.get(i + (1 if i >= 0 else -1), 0) for i in p)
        assert p[0] + slack >= p.get(-1, 0)


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "value"),
    [
        (1.0, 1, 2 / (math.exp(1) - math.exp(-1))),  # the geometric law: 2b/(1 − b²), b = e^−ε [GV15]
        (2.0, 1, 2 / (math.exp(2) - math.exp(-2))),
        (1.0, 3, 2.8608324896),
        (2.0, 3, 1.1960005227),
    ],
)
def test_pure_privacy_is_the_geometric_law_and_the_discrete_staircase(epsilon, sensitivity, value):
    solution = solve(counting(epsilon, 0, sensitivity))
    assert solution.certificate.gap <= 1e-9
    assert solution.certificate.upper == pytest.approx(value, rel=1e-9)
    assert type(solution.noise) is (Geometric if sensitivity == 1 else DiscreteStaircase)
    best = min(b.loss for b in baselines(solution.problem))
    assert solution.certificate.lower <= best <= solution.certificate.upper
    # nearly δ = 0, which the linear program solves without knowing the closed form
    near = solve(counting(epsilon, 1e-9, sensitivity))
    assert near.source == "linear program"
    assert near.certificate.upper == pytest.approx(value, rel=1e-6) and near.certificate.lower <= value


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.05, 0.3, 0.9])
@pytest.mark.parametrize("k", [1, 3])
def test_lower_is_upper(epsilon, delta, k):
    if epsilon == 0 and delta < 0.05:
        return  # uniform laws of 1/δ points: the same program, much larger
    solution = solve(counting(epsilon, delta, k))
    assert solution.certificate.gap <= 1e-9
    check_law(solution.problem, solution)


@pytest.mark.parametrize("loss", ["l2", "pinball:0.8", "exceed:2", "huber:1"])
def test_lower_is_upper_for_other_losses(loss):
    solution = solve(counting(1, 0.1, 3, loss))
    assert solution.certificate.gap <= 1e-9
    check_law(solution.problem, solution)


def test_a_loss_that_vanishes_on_enough_points_costs_nothing():
    certificate = solve(counting(1, 0.1, 1, "exceed:2")).certificate
    assert certificate.lower == certificate.upper == certificate.gap == 0


@settings(max_examples=40)
@given(log_floats(0.05, 8), deltas(1e-5, 0.9), st.integers(1, 6), losses(), st.booleans(), st.booleans())
def test_random_problems(epsilon, delta, k, loss, symmetric, monotone):
    problem = counting(epsilon, delta, k, loss, symmetric=symmetric, monotone=monotone)
    solution = solve(problem, SolverSettings(time_limit=1.0))
    certificate = solution.certificate
    assert 0 <= certificate.lower <= certificate.upper < INF and certificate.delta_upper <= delta
    if isinstance(solution.noise, LatticeNoise) and len(solution.noise.weights) < 400:
        check_law(problem, solution)
    for entry in baselines(problem):  # valid for every δ ≥ 0
        if entry.valid:
            assert certificate.lower <= entry.loss * (1 + 1e-9)
    for before, after in zip(solution.trace, solution.trace[1:]):
        assert before.lower <= after.lower and before.upper >= after.upper
    rises = all(piece.coefficient > 0 for piece in (loss.pieces[0], loss.pieces[-1]))  # else the optimum is at infinity
    if certificate.gap is not None and solution.seconds < 0.9 and rises:
        event(f"gap {certificate.gap:.0e}")
        assert certificate.gap <= 1e-5


@settings(max_examples=25)
@given(
    log_floats(0.3, 4), st.floats(0.02, 0.6), st.integers(5, 13), st.integers(2, 6),
    st.sampled_from(["l1", "l2", "pinball:0.8", "huber:3", "exceed:4.5", "table:-3=1,-2=0,0=3,1=0.5,4=9"]),
    st.sampled_from([{}, {"monotone": True}, {"symmetric": True}, {"support": (-35.0, INF)}]),
)  # fmt: skip
def test_coarse_lattices_enclose_the_optimum(epsilon, delta, k, m, loss, constraints):
    """Any m, a divisor of k or not: the bounds hold on their own."""
    problem = counting(epsilon, delta, k, loss, **constraints)
    certificate = solve(problem, SolverSettings(time_limit=2.0)).certificate
    wide = 40.0 + 3 * k / epsilon
    limits = Limits(certificate.upper or 1.0, 1e-9, time.perf_counter() + 2, lambda: False)
    below = lower_bound(problem, min(m, k), (-wide, wide), None, limits)
    above = upper_bound(problem, m, (-wide, wide), None, limits)
    assert below.bound <= certificate.upper * (1 + 1e-12) + 1e-12
    assert above.bound >= certificate.lower * (1 - 1e-12)
    if above.noise is not None:
        assert above.delta_upper <= delta


def test_coarse_bounds_close_in_on_the_optimum():
    problem = counting(1, 0.2, 12)
    limits = Limits(7.0, 1e-9, time.perf_counter() + 5, lambda: False)
    widths = [
        upper_bound(problem, m, (-70.0, 70.0), None, limits).bound
        - lower_bound(problem, m, (-70.0, 70.0), None, limits).bound
        for m in (6, 4, 2, 1)
    ]
    assert widths == sorted(widths, reverse=True) and widths[-1] < 1e-8 < widths[0] < 1.5


def test_nodes_spread_over_the_support_only():
    nodes = spread(counting(1, 0.2, 9, support=(-20.0, 31.0)), 4, (-100.0, 100.0))
    masses = np.ones(len(nodes.lattice.indices))
    law = nodes.law(1.0, masses, False)
    assert law.support[0] == -20 and law.support[1] <= 31
    values = np.arange(len(nodes.points(1.0))) ** 2.0
    direct = [sum(s * values[4 * i + t] for t, s in enumerate(nodes.shares)) for i in range(len(masses))]
    assert nodes.gathered(values) == pytest.approx(direct)
    assert nodes.shares.sum() == 1


def test_coarsenings_end_with_the_lattice_itself():
    assert coarsenings(3, 100) == [(1, 1)]
    for k in (2, 12, 13, 60, 97, 1000, 1009, 5000):
        chain = coarsenings(k, 1e6)
        assert chain[-1] == (1, 1)
        assert all(max(one) > max(two) for one, two in zip(chain, chain[1:]))
        assert all(1 <= m <= k for pair in chain for m in pair)


def test_many_steps_per_sensitivity_are_bracketed_in_time():
    """Nearly the real-valued problem, whose optimum at (1, 0.2) is .55876 sensitivities (to 1e-4)."""
    began = time.thread_time()
    solution = solve(counting(1, 0.2, 1000), SolverSettings(time_limit=10))
    assert solution.certificate.gap <= 1e-3
    assert solution.certificate.lower <= 558.9 and 558.6 <= solution.certificate.upper
    assert time.thread_time() - began < 10
    began = time.thread_time()
    short = solve(counting(1, 1e-6, 97), SolverSettings(time_limit=0.3))
    assert time.thread_time() - began < 1.5 and short.certificate.gap < 0.5


@pytest.mark.parametrize("step", [0.1, 250.0])
def test_the_step_is_only_a_unit(step):
    one, other = solve(counting(1, 0.1, 3)).certificate, solve(counting(1, 0.1, 3, step=step)).certificate
    assert other.upper == pytest.approx(step * one.upper, rel=1e-12)
    assert other.worst_shift == pytest.approx(step * one.worst_shift)


def test_decimal_steps_meet_the_breaks_of_a_loss():
    """An error of three tenths is not beyond 0.3; the ends of a support are points."""
    whole, tenths = solve(counting(1, 0.1, 3, "exceed:3")), solve(counting(1, 0.1, 3, "exceed:0.3", step=0.1))
    assert tenths.certificate.upper == pytest.approx(whole.certificate.upper, rel=1e-9)
    assert counting(1, 0.1, 3, step=0.1, support=(-0.7, 0.6)).lattice_support == (-7, 6)
    assert counting(1, 0.1, 3, step=0.1, support=(-0.75, 0.65)).lattice_support == (-7, 6)


def test_whole_numbers_are_no_dearer_than_real_ones():
    """|x|: rounding real-valued noise stochastically costs nothing."""
    real = solve(noise_problem(1, 0.1, 2)).certificate
    assert solve(counting(1, 0.1, 2)).certificate.lower <= real.upper


def test_narrow_supports():
    # The uniform law on four points is (0, 1/4)-DP; the real-valued problem needs a third more room.
    assert solve(counting(0, 0.2501, support=(0.0, 3.0))).certificate.upper == pytest.approx(1.5, abs=1e-2)
    with pytest.raises(InfeasibleError):
        solve(counting(0, 0.2499, support=(0.0, 3.0)))
    with pytest.raises(InfeasibleError):
        solve(noise_problem(3, 0.9, 1.0, granularity=0.5, support=(0.1, 0.4)))


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"granularity": 0.3}, "granularity"),
        ({"granularity": 2}, "granularity"),
        ({"granularity": 0}, "granularity"),
        ({"granularity": "x"}, "granularity"),
        ({"granularity": 1e-5}, "granularity"),
        ({"granularity": 1, "second": Privacy(2, 0.01)}, "second"),
        ({"granularity": 1, "support": (0.0, 1.0)}, "support"),
    ],
)
def test_what_is_not_accepted_is_named(arguments, field):
    with pytest.raises(InputError) as caught:
        solve(noise_problem(1, 0.1, 1.0, **arguments))
    assert caught.value.field == field


def test_budgets_and_the_reference_method_are_refused():
    problem = counting(1, 0.1)
    with pytest.raises(InputError, match="granularity"):
        solve(problem, SolverSettings(method="reference"))
    budget = Budget(problem.loss, 3.0)
    with pytest.raises(InputError, match="granularity"):
        solve(counting(1, 0.1, budget=budget))


def test_a_stop_is_heeded():
    seen = []
    solution = solve(counting(1, 1e-3, 60), SolverSettings(), lambda record: seen.append(record) or len(seen) >= 3)
    assert len(seen) <= 6 and solution.certificate.lower <= solution.certificate.upper


def test_a_support_far_from_zero_does_not_send_the_search_back_to_zero(monkeypatch):
    """The loss is least at 0, which no law on the support reaches; walking there took minutes."""
    asked, plain = [], DiscreteStaircase.expected_loss
    monkeypatch.setattr(DiscreteStaircase, "expected_loss", lambda law, loss: asked.append(law) or plain(law, loss))
    problem = counting(0.5, 0.014, 2, "l1", step=0.7, support=(-75156989.18, -75156810.78))
    found = solve(problem, SolverSettings(gap=0.01, time_limit=0.15))
    assert found.certificate.lower <= 75156900 * (1 + 1e-5) and found.certificate.upper >= 75156810
    assert len(asked) < 1000
