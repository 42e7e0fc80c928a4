"""A budget for a second loss and a second pair (ε₂, κ): against brute force, against each other, and exactly.
THOROUGH=2000 draws that many problems."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive import lattice_optimum
from strategies import log_floats

from dpcore import audit
from dpcore.errors import InfeasibleError, InputError
from dpcore.loss import parse_loss
from dpcore.loss.cells import node_values
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise
from dpcore.noise.staircase import Staircase
from dpcore.optimal import pareto_frontier, solve
from dpcore.optimal.additive import Search
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.laws import best_staircase, spiked_staircase, staircase_with_atom
from dpcore.optimal.peak import peak_bounds
from dpcore.optimal.program import BudgetRow, LatticeProgram
from dpcore.places import Places
from dpcore.privacy import Privacy
from dpcore.problem import Budget, NoiseProblem, SolverSettings, noise_problem

EXAMPLES = int(os.environ.get("THOROUGH", "0"))
QUICK = SolverSettings(gap=1e-2, time_limit=5)

LOSSES = (
    "l1",
    "l2",
    "lp:1.5",
    "exceed:0.5",
    "exceed:1.3",
    "huber:1",
    "asym:1:3",
    "pinball:0.3",
    "table:-1=1,0=0,1=0,3=7",
)


def problem_of(epsilon, delta, loss="l1", budget=None, second=None, **constraints) -> NoiseProblem:
    """A problem from plain numbers and texts: budget = (text of a loss, most), second = (ε₂, κ)."""
    limit = Budget(parse_loss(budget[0]), budget[1]) if budget else None
    pair = Privacy(*second) if second else None
    return noise_problem(epsilon, delta, 1.0, loss, budget=limit, second=pair, **constraints)


def exact_loss(noise: PiecewiseNoise, piece) -> Fraction:
    """E c(X) in rational numbers; piece(a, b): the exact mean of c over [a, b] (a = b: its value)."""
    unit = Fraction(noise.sensitivity) / noise.resolution
    edges = [Fraction(noise.origin) + int(b) * unit for b in noise.breaks]
    total = sum(int(w) * piece(a, b) for w, a, b in zip(noise.weights, edges, edges[1:]))
    at = Fraction(noise.origin) + noise.atom_unit * unit
    return (total + noise.atom_weight * piece(at, at)) / TOTAL


def mean_absolute(a: Fraction, b: Fraction) -> Fraction:
    if a * b >= 0:
        return abs(a + b) / 2
    return (a * a + b * b) / (2 * (b - a))


def mean_square(a: Fraction, b: Fraction) -> Fraction:
    return (a * a + a * b + b * b) / 3


def share_beyond_half(a: Fraction, b: Fraction) -> Fraction:
    if a == b:
        return Fraction(abs(a) > Fraction(1, 2))
    inside = max(Fraction(0), min(b, Fraction(1, 2)) - max(a, Fraction(-1, 2)))
    return 1 - inside / (b - a)


EXACT_MEANS = {"l1": mean_absolute, "l2": mean_square, "exceed:0.5": share_beyond_half}


# The program -----------------------------------------------------------------------------------------


@st.composite
def tiny_programs(draw):
    """(costs, k, reach, folded, pairs, second costs, share of the budget's range, atom) on few points."""
    k, folded = draw(st.integers(1, 3)), draw(st.booleans())
    reach = draw(st.integers(2 * k, 4 * k))
    half = np.array(draw(st.lists(st.integers(0, 12), min_size=reach + 1, max_size=reach + 1)), dtype=float) / 4
    other = np.array(draw(st.lists(st.integers(0, 12), min_size=reach + 1, max_size=reach + 1)), dtype=float) / 4
    costs, second_costs = (np.concatenate([v[:0:-1], v]) for v in (half, other))
    if not folded:
        costs = costs + np.array(draw(st.lists(st.integers(0, 8), min_size=len(costs), max_size=len(costs)))) / 4
    pairs = [(math.exp(draw(st.floats(0.1, 2))), draw(st.floats(0.05, 0.5)))]
    if draw(st.booleans()):
        pairs.append((pairs[0][0] * math.exp(draw(st.floats(0.1, 2))), pairs[0][1] * draw(st.floats(0.05, 0.9))))
    atom = draw(st.sampled_from([None, (0.0, 0.0), (0.5, 0.25)]))
    return costs, k, reach, folded, pairs, second_costs, draw(st.sampled_from([None, 0.1, 0.5, 0.9])), atom


@settings(max_examples=EXAMPLES or 40)
@given(tiny_programs())
def test_the_program_finds_what_brute_force_finds(tiny):
    """Events everywhere, no padding: the program of an upper bound."""
    costs, k, reach, folded, pairs, second_costs, share, atom = tiny
    budget = None
    if share is not None:  # a bound between the least possible second loss and that of the unconstrained optimum
        free, r, a = lattice_optimum(costs, k, pairs, atom=atom)
        least = lattice_optimum(second_costs, k, pairs, atom=None if atom is None else atom[::-1])[0]
        assume(math.isfinite(free))
        spent = float(second_costs @ r) + (a * atom[1] if atom else 0.0)
        assume(spent > least + 1e-3)
        budget = (second_costs, least + share * (spent - least))
    expected = lattice_optimum(costs, k, pairs, budget=budget, atom=atom)[0]
    assume(math.isfinite(expected))
    lattice = Lattice(k, -reach, reach, -reach, reach, folded)
    row = None
    if budget is not None:
        row = BudgetRow(second_costs[lattice.representatives], budget[1], atom[1] if atom else 0.0)
    program = LatticeProgram(
        lattice,
        costs[lattice.representatives],
        *pairs[0],
        1.0,
        np.exp(-np.abs(lattice.indices) / k),
        atom_cost=None if atom is None else atom[0],
        further=tuple(pairs[1:]),
        budget=row,
    )
    program.start(None)
    outcome = program.solve(math.inf, lambda: False, enough=lambda _: False)
    assert outcome.status == "optimal"
    # Both solvers are accurate to about 1e-7 relative.
    assert outcome.objective == pytest.approx(expected, rel=1e-6, abs=1e-7)
    if atom is None:
        levels = [program.multipliers(outcome, level) for level in range(len(pairs))]
        bound = audit.multiplier_bound_lower(
            costs,
            -reach,
            epsilon=math.log(pairs[0][0]),
            delta=pairs[0][1],
            shifts=levels[0][0],
            events=levels[0][1],
            weights=levels[0][2],
            mirrored=folded,
            further=[(math.log(E), delta, *own) for (E, delta), own in zip(pairs[1:], levels[1:])],
            budget=(outcome.budget_rate, second_costs, budget[1]) if budget else None,
        )
        assert bound <= expected + 1e-7 * (1 + expected)
        assert bound == pytest.approx(expected, rel=1e-5, abs=1e-6)


@st.composite
def multiplier_sets(draw):
    n, first = draw(st.integers(3, 9)), draw(st.integers(-6, 1))
    number = st.floats(0, 4)
    values = lambda: np.array(draw(st.lists(number, min_size=n, max_size=n)))  # noqa: E731

    def pair():
        keys = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(first, first + n - 1)), max_size=12, unique=True))
        shifts = [draw(st.sampled_from([j, -j])) for j, _ in keys]
        weights = np.array(draw(st.lists(number, min_size=len(keys), max_size=len(keys))), dtype=float)
        return np.array(shifts, dtype=np.int64), np.array([i for _, i in keys], dtype=np.int64), weights

    return (
        values(),
        first,
        pair(),
        pair(),
        (draw(number), values(), draw(number)),
        draw(st.floats(0, 3)),
        draw(st.floats(0, 3)),
    )


@given(multiplier_sets())
def test_the_bound_of_any_multipliers_is_below_its_exact_value(given_set):
    """Rational arithmetic with the upper end of e^ε: the bound is not above it, and not far below."""
    costs, first, one, two, (rate, second_costs, most), epsilon, epsilon2 = given_set
    delta, kappa = 0.3, 0.01
    n = len(costs)
    D = [Fraction(c) + Fraction(rate) * Fraction(d) for c, d in zip(costs.tolist(), second_costs.tolist())]
    price = Fraction(rate) * Fraction(most)
    size = sum(D)
    for e, d, (shifts, events, weights) in ((epsilon, delta, one), (epsilon2, kappa, two)):
        E = Fraction(audit.amplification_bounds(e)[1])
        rates: dict[int, Fraction] = {}
        for j, i, w in zip(shifts.tolist(), events.tolist(), weights.tolist()):
            D[i - first] += Fraction(w)
            size += Fraction(w) * (1 + E)
            if 0 <= i - j - first < n:
                D[i - j - first] -= E * Fraction(w)
            rates[j] = max(rates.get(j, Fraction(0)), Fraction(w))
        price += Fraction(d) * sum(rates.values())
    exact = min(D) - price
    bound = audit.multiplier_bound_lower(
        costs,
        first,
        epsilon=epsilon,
        delta=delta,
        shifts=one[0],
        events=one[1],
        weights=one[2],
        further=[(epsilon2, kappa, *two)],
        budget=(rate, second_costs, most),
    )
    assert Fraction(bound) <= exact
    # The slack is some 30 units in the last place of all that is added up.
    assert Fraction(bound) >= exact - Fraction(1e-13) * (size + price + 1)


# The search ------------------------------------------------------------------------------------------


def brute_force_bracket(problem: NoiseProblem, k: int, reach: int) -> tuple[float, float]:
    """(lower, upper) from full programs on one lattice: rounding to nodes with padding, and cells of width 1/k with an
    atom at 0. Even losses only: the atom is then at the minimiser."""
    pairs = [(p.amplification, p.delta) for p in problem.privacies]
    n = reach * k
    nodes = Places.of(0.0, 1.0, k, np.arange(-n - k, n + k + 1))
    costs = [node_values(loss, nodes) for loss in problem.paid_losses]
    most = problem.budget.most if problem.budget else None
    budget = None if most is None else (costs[1], most)
    lower = lattice_optimum(costs[0], k, pairs, events=range(k, 2 * n + k + 1), budget=budget)[0]
    left = np.arange(-n, n) / k
    means = [loss.mean(left, left + 1 / k) for loss in problem.paid_losses]
    at = [float(loss.value(0.0)) for loss in problem.paid_losses]
    budget = None if most is None else (means[1], most)
    upper = lattice_optimum(means[0], k, pairs, budget=budget, atom=(at[0], at[-1]))[0]
    return lower, upper


@pytest.mark.parametrize(
    ("problem", "reach"),
    [
        (problem_of(1, 0.2, "l1", ("l2", 0.513)), 3),
        (problem_of(1, 0.1, "l2", ("exceed:0.5", 0.488)), 3),
        (problem_of(1, 0.1, "lp:1.5", second=(3, 0.02)), 3),
        (problem_of(0.8, 0.2, "l1", ("l2", 0.759), (2, 0.01)), 4),
        (problem_of(0, 0.3, "l1", second=(1, 0.1)), 3),
    ],
)
def test_brackets_meet_those_of_brute_force(problem, reach):
    lower, upper = brute_force_bracket(problem, 2, reach)
    certificate = solve(problem, QUICK).certificate
    assert certificate.lower <= upper * (1 + 1e-7)  # linprog's own accuracy
    assert certificate.upper >= lower * (1 - 1e-7)
    assert certificate.gap <= 0.02
    assert lower <= certificate.lower * 1.01  # and it is better than brute force on a coarse lattice
    assert upper >= certificate.upper * (1 - 1e-3)


def check_law(problem: NoiseProblem, solution) -> None:
    """The law keeps every requirement by the audit, without tolerance."""
    noise, certificate = solution.noise, solution.certificate
    assert solution.problem == problem
    assert certificate.lower <= certificate.upper
    for privacy, stated in (
        (problem.privacy, certificate.delta_upper),
        (problem.second, certificate.second_delta_upper),
    ):
        if privacy is not None:
            assert audit.delta_upper(noise, privacy.epsilon, 1.0) == stated <= privacy.delta
    if problem.budget is not None:
        assert certificate.budget_upper <= problem.budget.most
    if not isinstance(noise, PiecewiseNoise):
        assert isinstance(noise, Staircase) and problem.simplified.privacy.delta == 0
        return
    assert audit.loss_upper(noise, problem.loss) == certificate.upper
    if problem.budget is not None:
        assert audit.loss_upper(noise, problem.budget.loss) == certificate.budget_upper
        mean = EXACT_MEANS.get(problem.budget.loss.spec)
        assert mean is None or exact_loss(noise, mean) <= Fraction(problem.budget.most)


@st.composite
def constrained(draw) -> NoiseProblem:
    """Problems with a budget, a second pair or both, and shapes."""
    epsilon, delta = draw(log_floats(0.1, 5)), draw(log_floats(1e-5, 0.5))
    monotone, symmetric = draw(st.booleans()), draw(st.booleans())
    problem = noise_problem(epsilon, delta, 1, draw(st.sampled_from(LOSSES)), monotone=monotone, symmetric=symmetric)
    kind = draw(st.sampled_from(["budget", "second", "both"]))
    if kind != "budget":
        second = Privacy(min(epsilon * draw(st.floats(1.1, 4)), 20), max(delta * draw(st.floats(0.01, 0.9)), 1e-12))
        problem = replace(problem, second=second)
    if kind != "second":
        loss = parse_loss(draw(st.sampled_from(LOSSES)))
        cheapest = solve(replace(problem, loss=loss), SolverSettings(gap=0.05, time_limit=0.3))
        most = cheapest.certificate.upper * draw(st.sampled_from([0.5, 0.98, 1.0, 1.001, 1.05, 1.3, 3.0]))
        problem = replace(problem, budget=Budget(loss, most))
    return problem


@settings(max_examples=EXAMPLES or 10)
@given(constrained())
def test_an_answer_keeps_its_promises(problem):
    hurry = SolverSettings(gap=1e-2, time_limit=0.3)
    free = solve(replace(problem, budget=None, second=None), hurry).certificate
    try:
        solution = solve(problem, hurry)
    except InfeasibleError as error:
        assert error.field == "budget"
        least = solve(replace(problem, loss=problem.budget.loss, budget=None), hurry).certificate
        assert problem.budget.most <= least.upper * 1.01  # or the bracket is too wide to tell
        return
    check_law(problem, solution)
    assert free.lower <= solution.certificate.upper  # constraints do not make noise cheaper
    for record in solution.trace:
        assert record.lower <= solution.certificate.upper and solution.certificate.lower <= record.upper


def bracket(*args, **kwargs) -> tuple[float, float]:
    certificate = solve(problem_of(*args, **kwargs), QUICK).certificate
    return certificate.lower, certificate.upper


def intersect(one: tuple[float, float], two: tuple[float, float]) -> bool:
    return max(one[0], two[0]) <= min(one[1], two[1])


@pytest.mark.parametrize(
    ("loss", "other", "budgets", "idle"),
    [
        ("l1", "l2", (0.513, 0.5138), 0.6),
        ("l1", "asym:1:3", (0.935, 0.96, 1.05), 2.0),
        ("l2", "exceed:1.3", (0.058, 0.065), 1),
    ],
)
def test_a_tighter_budget_never_costs_less_and_an_idle_one_nothing(loss, other, budgets, idle):
    found = [bracket(1, 0.2, loss, (other, most)) for most in budgets]
    for tight, loose in zip(found, found[1:]):
        assert loose[0] <= tight[1]
    free = bracket(1, 0.2, loss)
    assert intersect(bracket(1, 0.2, loss, (other, idle)), free)
    assert all(free[0] <= upper for _, upper in found)


def test_a_budget_that_binds_costs_something():
    """The constraint is not ignored: both ends of the bracket are above the unconstrained optimum."""
    assert bracket(1, 0.05, "l1", ("asym:1:3", 1.36))[0] > 1.05 * bracket(1, 0.05)[1]


def test_a_second_pair_that_is_implied_changes_nothing():
    free = solve(problem_of(1, 0.1), QUICK).certificate
    for second in ((1, 0.1), (2, 0.1), (1.5, 0.4)):
        solution = solve(problem_of(1, 0.1, second=second), QUICK)
        check_law(solution.problem, solution)
        assert (solution.certificate.lower, solution.certificate.upper) == (free.lower, free.upper)


def test_a_second_pair_that_implies_the_first_takes_its_place():
    strict = solve(problem_of(0.5, 0.1), QUICK).certificate
    solution = solve(problem_of(1, 0.1, second=(0.5, 0.1)), QUICK)
    check_law(solution.problem, solution)
    assert (solution.certificate.lower, solution.certificate.upper) == (strict.lower, strict.upper)
    assert solution.certificate.delta_upper < 0.1 == solution.problem.privacy.delta


@pytest.mark.parametrize(("one", "two"), [((1, 0.2), (3, 0.01)), ((0.2, 0.05), (1, 1e-6)), ((1.5, 0.3), (3, 0.2))])
def test_two_pairs_cost_more_than_either_and_less_than_the_joint_one(one, two):
    both, swapped = bracket(*one, second=two), bracket(*two, second=one)
    assert intersect(both, swapped)
    for single in (one, two):
        assert bracket(*single)[0] <= both[1]
    assert both[0] <= bracket(min(one[0], two[0]), min(one[1], two[1]))[1]
    solution = solve(problem_of(*one, second=two), QUICK)
    check_law(solution.problem, solution)


@pytest.mark.parametrize(("loss", "second"), [("l1", (13.74, 0.00661)), ("asym:1:3", (14, 1e-3)), ("l2", (13, 0.05))])
def test_an_atom_that_the_second_pair_forbids_becomes_a_spike(loss, second):
    problem = problem_of(12.6, 0.127, loss, second=second)
    law = spiked_staircase(problem)
    for pair in problem.privacies:
        assert audit.shortfall_upper(law, pair.epsilon)[0] <= pair.delta
    assert law.atom_mass > 0.99 * second[1]
    single = replace(problem, second=None)
    least = audit.loss_upper(staircase_with_atom(single, best_staircase(single)), problem.loss)
    assert audit.loss_upper(law, problem.loss) < 1.02 * least  # 7 % with an atom of 0.00661 and nothing else
    assert spiked_staircase(single) is None


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "second", "gap"),
    [
        (12, 0.4, "l1", (12.9, 0.05), 1e-3),
        (14, 0.4, "pinball:0.7", (15, 0.1), 2e-3),
        (9, 0.2, "asym:1:3", (10, 0.01), 2e-3),
    ],
)
def test_a_spike_and_multipliers_of_both_pairs_meet(epsilon, delta, loss, second, gap):
    """The first pair alone proves 9, 7 and 1.7 % less, and a spike with the atom in its middle costs 1 % more."""
    problem = problem_of(epsilon, delta, loss, second=second)
    upper = audit.loss_upper(spiked_staircase(problem), problem.loss)
    staircases = [best_staircase(replace(problem, privacy=pair, second=None)) for pair in problem.privacies]
    lower = max(peak_bounds(problem, staircases, lambda bound: upper <= bound * (1 + gap)))
    assert lower <= upper <= (1 + gap) * lower


def test_a_loss_of_nothing_costs_nothing_under_two_pairs():
    certificate = solve(problem_of(10, 4.75e-7, "table:-4.9=0,0=0,4.9=0", second=(10.66, 5.33e-8)), QUICK).certificate
    assert certificate.lower == certificate.upper == 0


def test_multipliers_of_both_pairs_prove_no_more_than_the_optimum():
    problem = problem_of(4, 0.2, second=(4.6, 0.05))
    staircases = [best_staircase(replace(problem, privacy=pair, second=None)) for pair in problem.privacies]
    upper = solve(problem, SolverSettings(gap=2e-3, time_limit=20)).certificate.upper
    assert 0.9 * upper < max(peak_bounds(problem, staircases, lambda _: False)) <= upper


def test_two_pairs_pay_what_the_first_one_alone_asks_for():
    problem = problem_of(12.6, 0.127, second=(13.74, 0.00661))
    search = Search(problem, QUICK)
    search._start()
    single = replace(problem, second=None)
    assert search.lower >= 0.999 * max(peak_bounds(single, [best_staircase(single)], lambda _: False))


def test_pure_privacy_with_a_budget():
    """δ = 0: a staircase whose mean square is the budget, between the two best staircases."""
    free = solve(problem_of(1, 0), QUICK)
    spent = free.noise.expected_loss(parse_loss("exceed:0.3"))
    least = solve(problem_of(1, 0, "exceed:0.3"), QUICK).certificate.upper
    problem = problem_of(1, 0, "l1", ("exceed:0.3", 0.5 * (spent + least)))
    solution = solve(problem, QUICK)
    check_law(problem, solution)
    assert free.certificate.upper < solution.certificate.upper
    assert solution.certificate.gap < 0.01
    idle = solve(problem_of(1, 0, "l1", ("exceed:0.3", 0.99)), QUICK).certificate
    assert idle.upper == free.certificate.upper


def test_no_error_beyond_the_support_is_a_support():
    """A budget of 0 for errors beyond 5 is the support [−5, 5]."""
    problem = problem_of(1, 0.01, "l1", ("exceed:5", 0.0))
    solution = solve(problem, QUICK)
    check_law(problem, solution)
    low, high = solution.noise.support
    assert -5 <= low < high <= 5
    assert intersect((solution.certificate.lower, solution.certificate.upper), bracket(1, 0.01, support=(-5, 5)))


def test_a_support_with_room_for_one_cell():
    problem = problem_of(0, 0.9, "huber:0.1", ("l2", 0.5), (0.01, 0.99), support=(0.0, 1.8))
    check_law(problem, solve(problem, QUICK))


# Refusals --------------------------------------------------------------------------------------------


def test_an_impossible_budget_is_refused_with_the_least_possible_one():
    least = solve(problem_of(1, 0.01, "exceed:2"), QUICK).certificate
    with pytest.raises(InfeasibleError) as caught:
        solve(problem_of(1, 0.01, "l1", ("exceed:2", 0.05)))
    assert caught.value.field == "budget"
    assert caught.value.value == "0.05"
    enough, below = (float(x) for x in re.findall(r"(?:at least|below) ([\d.e+-]+\d)", caught.value.accepted))
    assert enough >= least.lower and below <= least.upper
    assert below <= enough <= below * 1.002
    assert solve(problem_of(1, 0.01, "l1", ("exceed:2", enough)), QUICK).certificate.budget_upper <= enough


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: problem_of(2, 0, second=(1, 0.1)), "second"),
        (lambda: problem_of(1, 0.1, budget=("l2", -1)), "budget"),
        (lambda: problem_of(1, 0.1, budget=("l2", math.nan)), "budget"),
        (lambda: solve(problem_of(1, 0.1, second=(3, 0.01)), SolverSettings(method="reference")), "method"),
        (lambda: solve(problem_of(1, 0.1, budget=("l2", 5)), SolverSettings(method="reference")), "method"),
        (lambda: pareto_frontier(problem_of(1, 0.1), parse_loss("l2"), 1), "count"),
    ],
)
def test_what_cannot_be_answered_is_refused(build, field):
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.field == field


# The frontier ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "other"), [("l1", "exceed:0.5"), ("l2", "asym:1:3")])
def test_the_frontier_falls_and_is_convex_within_its_brackets(loss, other):
    problem = problem_of(1, 0.05, loss)
    seen = []
    points = pareto_frontier(problem, parse_loss(other), 3, QUICK, each=seen.append)
    assert len(seen) == len(points) >= 2
    budgets = [point.problem.budget.most for point in points]
    assert budgets == sorted(set(budgets))
    for point in points:
        check_law(point.problem, point)
    proofs = [point.certificate for point in points]
    for tight, loose in zip(proofs, proofs[1:]):
        assert tight.lower >= loose.lower and tight.upper >= loose.upper
    for (a, left), (b, middle), (c, right) in zip(*(list(zip(budgets, proofs))[t:] for t in range(3))):
        chord = ((c - b) * left.upper + (b - a) * right.upper) / (c - a)
        assert middle.lower <= chord * (1 + 1e-12)
    free = solve(problem, QUICK).certificate
    assert proofs[-1].lower <= free.upper and free.lower <= proofs[-1].upper
