"""Coarser problems: what group privacy leaves, chains of multipliers, brackets at small ε."""

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import audit
from dpcore._validate import decimal
from dpcore.audit_shape import keeps_shape
from dpcore.loss import parse_loss
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.optimal import solve, solve_many
from dpcore.optimal.chain import chain_proof, classes_proof
from dpcore.optimal.groups import coarser, group_proofs, grouped, lattice_bounds, level_stretch
from dpcore.optimal.laws import several_pairs, single_pairs, truncated_geometric, uniform
from dpcore.optimal.monotone_chain import monotone_chain
from dpcore.optimal.one_sided import monotone_lower
from dpcore.optimal.plateau import plateau, plateau_lower
from dpcore.optimal.step import Limits, Window
from dpcore.privacy import Privacy
from dpcore.problem import Budget, SolverSettings, noise_problem

HALF_LINE = (-math.inf, 0.168)


def limits(scale=1.0):
    return Limits(scale, 1e-3, time.perf_counter() + 30, lambda: False)


@given(
    masses=st.lists(st.floats(0.01, 1), min_size=3, max_size=12),
    cells=st.integers(1, 3),
    epsilon=st.floats(0.001, 2),
    m=st.integers(2, 6),
    atom=st.floats(0, 0.2),
)
def test_a_law_of_the_problem_is_one_of_the_coarser_problem(masses, cells, epsilon, m, atom):
    total = math.fsum(masses)
    noise = PiecewiseNoise.from_masses(
        sensitivity=1.0,
        resolution=cells,
        breaks=np.arange(len(masses) + 1),
        masses=np.array(masses) / total * (1 - atom),
        atom=atom,
    )
    delta = audit.shortfall_upper(noise, epsilon)[0]
    for pair in grouped((Privacy(epsilon, delta),), m) if delta <= 0.999 else ():
        assert audit.shortfall_upper(noise, pair.epsilon, float(m))[0] <= pair.delta * (1 + 1e-12)


def test_numbers_of_the_coarser_problem_are_rounded_to_the_safe_side():
    problem = noise_problem(0.01, 1e-6, 0.1, second=Privacy(9.0, 1e-7))
    coarse = coarser(problem, 3)
    assert decimal(coarse.sensitivity) <= 3 * decimal(0.1) and coarse.sensitivity == pytest.approx(0.3)
    pair = coarse.privacies[0]
    assert Fraction(pair.epsilon) >= 3 * Fraction(0.01)
    E = Fraction(math.exp(0.01))
    assert Fraction(pair.delta) > Fraction(1e-6) * (1 + E + E**2) * (1 - Fraction(1, 10**15))
    assert len(coarse.privacies) == 1  # nothing is left of the second pair
    whole = coarser(noise_problem(0.0, 0.1), 3).privacy
    assert whole.epsilon == 0 and 0.3 < whole.delta < 0.3 * (1 + 1e-13)
    assert coarser(noise_problem(0.5, 0.3), 4) is None


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "rest", "within"),
    [
        (0.001, 1e-7, "l1", {}, 2e-4),
        (0.01, 1e-12, "asym:1:3.28", {}, 1e-3),
        (0.02, 1e-5, "l2", {}, 1e-3),
        (0.02, 2.76e-9, "asym:1:2.34", {"support": HALF_LINE}, 5e-4),
        (0.00839, 6.94e-6, "lp:2.6", {"support": (-math.inf, 0.822)}, 1e-3),
        (0.05, 1e-10, "l1", {"support": (-0.3, math.inf)}, 1e-3),
        (0.02, 1e-3, "l2", {"support": (-20.0, 400.0)}, 1e-3),
        (0.01, 1e-10, "lp:3.2", {"support": (-5000.0, 500.0)}, 1e-3),
        (0.003, 1e-4, "l1", {"support": (-4000.0, 3000.0)}, 1e-3),
        (0.02, 1e-6, "table:-2=2,0=0,1=1,4=3,5=2,8=8", {}, 2e-3),
        (0.01, 1e-8, "l1", {"monotone": True}, 2e-3),
        (0.01, 1e-8, "asym:1:2", {"symmetric": True}, 2e-3),
        (0.0, 1e-3, "l1", {}, 2e-3),
        (0.01, 1e-5, "l1", {"second": Privacy(1.0, 1e-7)}, 2e-2),
        (0.01, 1e-5, "l2", {"budget": Budget(parse_loss("exceed:1"), 0.999)}, 1e-3),
    ],
)
def test_bounds_of_groups_lie_just_below_a_private_law(epsilon, delta, loss, rest, within):
    problem = noise_problem(epsilon, delta, 1.0, loss, **rest)
    law = min(
        (
            noise
            for single in single_pairs(problem)
            for noise in (truncated_geometric(single), uniform(single))
            if noise is not None and _holds(noise, problem)
        ),
        key=lambda noise: audit.loss_upper(noise, problem.loss),
    )
    upper = audit.loss_upper(law, problem.loss)
    bounds = []
    for found in group_proofs(problem, law.support, limits(upper)):
        bounds.append(found.lower(problem))
        if upper <= bounds[-1] * (1 + within):
            break
    assert max(bounds) <= upper <= max(bounds) * (1 + within)


def _holds(noise, problem):
    return all(audit.shortfall_upper(noise, pair.epsilon)[0] <= pair.delta for pair in problem.privacies)


@given(
    epsilon=st.floats(0.02, 0.3),
    delta=st.floats(1e-6, 0.2),
    loss=st.sampled_from(["l1", "l2", "asym:1:3", "table:-2=1,0=0,1=2,2=1,4=5", "huber:0.5"]),
    ends=st.sampled_from([(-math.inf, math.inf), (-math.inf, 1.5), (0.0, math.inf), (-300.0, 40.0)]),
    m=st.integers(1, 3),
)
@settings(max_examples=25)
def test_no_bound_of_groups_passes_a_law(epsilon, delta, loss, ends, m):
    """Whatever the chain is told about peak and window."""
    try:
        problem = noise_problem(epsilon, delta, 1.0, loss, support=ends)
    except ValueError:
        return
    law, coarse = truncated_geometric(problem), coarser(problem, m)
    if law is None or coarse is None:
        return
    reach = coarse.joint.truncation()
    for window, peak in ((Window(-3 * reach, 3 * reach), 0.0), (Window(-2.0, reach), -1.0)):
        chain = chain_proof(coarse, window, peak, reach)
        for found in (chain, *(classes_proof(coarse, window, chain, k) for k in (2, 16, 32))):
            assert found.proof.lower(*coarse.privacies) <= audit.loss_upper(law, problem.loss)


@pytest.mark.parametrize("mirrored", [False, True])
def test_chains_end_inside_their_window_where_costs_are_flat_far_out(mirrored):
    """Up to some level the multipliers fall to 0 beyond the ramp; above it they grow for ever. At that very level they
    stay as they are, and the last node would be worth nothing."""
    loss, support = parse_loss("table:-4.4=0.35,-0.99=0.35,-0.66=0.02,-0.62=0,0=0,0.44=0"), (-1716.0, 1551.0)
    if mirrored:
        loss, support = loss.mirrored, (-support[1], -support[0])
    problem = noise_problem(0.00935, 2.19e-7, 1.0, loss, support=support)
    law = truncated_geometric(problem)
    most, ends = audit.loss_upper(law, problem.loss), (float(law.edges[0]), float(law.edges[-1]))
    bounds = [
        found.lower(problem)
        for found in group_proofs(problem, ends, Limits(1.0, 1e-3, math.inf, lambda: False), float(law.quantile(0.5)))
    ]
    assert min(bounds) > 0.88 * most and 0.9996 * most < max(bounds) <= most


def test_small_epsilon_is_solved_without_large_programs():
    asked = SolverSettings(gap=1e-3, time_limit=20)
    for problem in (
        noise_problem(0.001, 1e-7, 1.0, "l1"),
        noise_problem(0.00231, 1.3e-5, 1.0, "asym:1:3.28"),
        noise_problem(0.0252, 2.76e-9, 1.0, "asym:1:2.34", support=HALF_LINE),
        noise_problem(0.0294, 2.6e-9, 1.0, "l2", support=(-737.6, 635.8)),
        noise_problem(0.0995, 1.5e-8, 1.0, "l2", support=(-80.68, 722.8)),
        noise_problem(0.131, 3.99e-8, 1.0, "lp:3.47", support=(-math.inf, 0.0)),
        noise_problem(0.0201, 1.39e-11, 1.0, "table:-5.7=0.7,-1.4=0.7,0=0,1.4=0.7,5.7=0.7"),
    ):
        solution = solve(problem, asked)
        assert solution.certificate.upper <= solution.certificate.lower * (1 + 1e-3)
        assert solution.source == "closed form"


def test_a_neighbour_learns_from_the_proof_for_groups():
    first = noise_problem(0.01, 1e-8, 1.0, "asym:1:3")
    problems = [first, replace(first, privacy=Privacy(0.01, 1e-7))]
    for solution, alone in zip(solve_many(problems, SolverSettings()), (solve(p) for p in problems), strict=True):
        assert solution.certificate.lower <= alone.certificate.upper
        assert solution.certificate.gap <= 1e-3


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "support"),
    [
        (0.00286, 3.82e-7, "pinball:0.59", (-1.23, math.inf)),
        (0.24, 0.00391, "pinball:0.081", (-0.166, math.inf)),
        (0.0276, 1.22e-8, "lp:1.25", (-math.inf, 0.125)),
        (0.01, 1e-6, "l2", (-math.inf, 2.7)),
        (0.02, 1e-6, "huber:3", (-7.5, 1e9)),
    ],
)
def test_monotone_laws_next_to_an_end_of_the_support_are_solved_in_closed_form(epsilon, delta, loss, support):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support, monotone=True)
    law = plateau(problem)
    assert keeps_shape(law, problem)
    assert audit.shortfall_upper(law, epsilon)[0] <= delta
    upper = audit.loss_upper(law, problem.loss)
    lower = max(plateau_lower(problem), monotone_lower(problem))
    assert lower <= upper <= lower * (1 + 2e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "support"),
    [
        (0.00119, 5.48e-11, "asym:1:1.51", (-math.inf, math.inf)),
        (0.00191, 2.76e-8, "pinball:0.4", (-math.inf, math.inf)),
        (0.00615, 9.29e-5, "asym:1:8.3", (-math.inf, math.inf)),
        (0.0373, 1.8e-4, "l1", (-84.77, 297.0)),
        (0.0373, 1.8e-4, "l2", (-30.77, math.inf)),
        (0.1, 0.0018, "l2", (-math.inf, 5.77)),
    ],
)
def test_monotone_laws_at_small_epsilon_meet_their_chains(epsilon, delta, loss, support):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=support, monotone=True)
    law = plateau(problem)
    found = next(group_proofs(problem, law.support, limits(), level=level_stretch(law, epsilon)))
    upper = audit.loss_upper(law, problem.loss)
    assert found.lower(problem) <= upper <= found.lower(problem) * (1 + 5e-4)


@given(
    epsilon=st.floats(0.01, 1),
    delta=st.floats(1e-4, 0.3),
    loss=st.sampled_from(["l1", "l2", "pinball:0.2", "asym:1:3", "huber:2", "table:-2=1,0=0,1=2,2=1,4=5"]),
    ends=st.tuples(st.floats(-30, -0.1), st.one_of(st.just(math.inf), st.floats(20, 300))),
    begin=st.floats(-20, 0),
    k=st.sampled_from([2, 4, 10]),
)
@settings(max_examples=25)
def test_no_monotone_chain_passes_a_law(epsilon, delta, loss, ends, begin, k):
    """Whatever it is told about the stretch and the window."""
    try:
        problem = noise_problem(epsilon, delta, 1.0, loss, support=ends, monotone=True)
    except ValueError:
        return
    law = plateau(problem)
    if law is None:
        return
    for window in (Window(-200.0, 300.0), Window(-3.0, 9.0)):
        chain = monotone_chain(problem, window, k, begin)
        assert chain is not None or ends[0] > -1
        assert chain is None or chain.proof.lower(problem.privacy) <= audit.loss_upper(law, problem.loss)


@given(
    epsilon=st.floats(0.01, 1),
    delta=st.floats(1e-4, 0.3),
    loss=st.sampled_from(["l1", "l2", "pinball:0.2", "asym:1:3", "huber:2"]),
    left=st.floats(0.1, 30),
)
@settings(max_examples=12)
def test_plateaus_are_private_and_no_bound_passes_them(epsilon, delta, loss, left):
    problem = noise_problem(epsilon, delta, 1.0, loss, support=(-left, math.inf), monotone=True)
    law = plateau(problem)
    assert law is not None and keeps_shape(law, problem)
    assert audit.shortfall_upper(law, epsilon)[0] <= delta
    assert plateau_lower(problem) <= audit.loss_upper(law, problem.loss)


def test_monotone_chains_ask_nothing_of_labels_that_hold_what_lies_beyond():
    problem = noise_problem(0.02, 0.02, 1.0, "l1", support=(-7.0, math.inf), monotone=True)
    order = monotone_chain(problem, Window(-3.5, 1.7), 8, -1.0).proof.monotone
    assert order[1] == order[-2] == 0


def test_asymmetric_monotone_laws_have_their_plateau_on_the_cheaper_side():
    problem = noise_problem(0.0527, 2.3e-12, 1.0, "asym:1:3.53", monotone=True)
    law = plateau(problem)
    assert sum(law.support) < -10
    assert audit.loss_upper(law, problem.loss) <= 37.8911 * 1.0002  # 37.89108 is proved


@pytest.mark.parametrize("loss", ["l1", "l2", "asym:1:3", "table:-2=1,0=0,1=2,2=1,4=5", "exceed:1.5"])
@pytest.mark.parametrize("support", [(-math.inf, math.inf), (-math.inf, 1.0), (-9.0, 31.5)])
@pytest.mark.parametrize("step", [1.0, 0.5])
def test_groups_on_a_lattice_lie_below_the_exact_optimum(loss, support, step):
    problem = noise_problem(0.25, 0.02, 1.0, loss, support=support, granularity=step)
    exact = solve(problem, SolverSettings(gap=1e-6, time_limit=5)).certificate
    assert exact.upper <= exact.lower * (1 + 1e-5)
    bounds = list(lattice_bounds(problem, (-20.0, 20.0)))
    assert bounds and max(bounds) <= exact.upper
    for m in (2, 3):
        coarse = coarser(replace(problem, granularity=None), m)
        proof = chain_proof(coarse, Window(-20.0, 20.0), 0.0, 10.0).proof
        assert proof.lower(*coarse.privacies) <= exact.upper


def test_lattices_whose_step_is_no_exact_part_of_the_sensitivity_have_no_groups():
    problem = noise_problem(0.01, 1e-4, 1.0, "l1", granularity=1 / 60)
    assert list(lattice_bounds(problem, (-300.0, 300.0))) == []


def test_counts_at_small_epsilon():
    for loss, sensitivity in (("asym:1:3.6", 1.0), ("asym:1:1.35", 3.0)):
        problem = noise_problem(0.00439, 2.5e-7, sensitivity, loss, granularity=1.0)
        certificate = solve(problem, SolverSettings(time_limit=1)).certificate
        assert certificate.upper <= certificate.lower * (1 + 1e-3)


@pytest.mark.parametrize(
    "epsilon, delta, second", [(0.00164, 2.01e-8, (1.052, 5.83e-10)), (0.00121, 2.58e-7, (0.5822, 2.1e-8))]
)
def test_a_law_for_two_pairs_of_thousands_of_cells_passes_its_audit(epsilon, delta, second):
    problem = noise_problem(epsilon, delta, 1.0, "l2", second=Privacy(*second))
    law = several_pairs(problem)
    assert len(law.masses) > 10_000
    assert _holds(law, problem)


def test_a_law_for_several_pairs_keeps_them_all_and_is_nearly_optimal():
    problem = noise_problem(0.00324, 2.2e-5, 1.0, "pinball:0.24", second=Privacy(1.743, 3.04e-7))
    law = several_pairs(problem)
    assert _holds(law, problem)
    certificate = solve(problem, SolverSettings(time_limit=5)).certificate
    assert audit.loss_upper(law, problem.loss) <= certificate.lower * (1 + 1e-3)
    assert several_pairs(noise_problem(0.01, 1e-5)) is None


@pytest.mark.parametrize(("epsilon", "delta"), [(0.001, 1e-12), (0.001, 1e-6), (0.005, 1e-12), (0.1, 1e-12)])
def test_at_the_ends_of_what_is_accepted_there_is_a_law_at_once_that_is_no_worse_than_laplace(epsilon, delta):
    problem = noise_problem(epsilon, delta)
    law = truncated_geometric(problem)
    assert _holds(law, problem)
    assert audit.loss_upper(law, problem.loss) <= 1.001 / epsilon
