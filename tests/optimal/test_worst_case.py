"""A second pair with κ = 0: laws whose ends go on, their audit, their programs and the whole search."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_laws import Cells, Flanked
from exact_losses import exact_loss
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from naive import lattice_optimum
from referee import asked, refutations

from dpcore import audit, audit_shape, export
from dpcore.errors import InputError
from dpcore.loss import parse_loss
from dpcore.noise.flanked import FlankedNoise
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.whole import TOTAL
from dpcore.optimal import solve
from dpcore.optimal.covered import Bounded, CoveredSearch, ratio_of, worst_pair
from dpcore.optimal.lattice import Lattice
from dpcore.optimal.program import LatticeProgram
from dpcore.privacy import Privacy
from dpcore.privacy_profile import PairList
from dpcore.problem import Budget, SolverSettings, noise_problem

QUICK = SolverSettings(gap=0.004, time_limit=60)
"""The gap ends these solves long before."""


def problem_of(epsilon, delta, worst, loss="l1", **more):
    return noise_problem(epsilon, delta, 1.0, loss, second=Privacy(worst, 0), **more)


# Laws ----------------------------------------------------------------------------------------------------------


@st.composite
def flanked_laws(draw) -> FlankedNoise:
    """Few cells of any widths, symmetric or not."""
    D = draw(st.integers(1, 4))

    def flank():
        inner = draw(st.sets(st.integers(1, D - 1), max_size=2)) if D > 1 else set()
        return sorted({0, *inner, D})

    left, right = flank(), flank()
    middle = np.cumsum([D, *draw(st.lists(st.integers(1, 3), max_size=3))])
    breaks = np.unique([*left, *middle, *(middle[-1] + np.array(right))]) + draw(st.integers(-6, 3))
    masses = draw(st.lists(st.floats(0.01, 1), min_size=len(breaks) - 1, max_size=len(breaks) - 1))
    core = PiecewiseNoise.from_masses(
        sensitivity=draw(st.sampled_from([1.0, 0.3, 7.0])), resolution=D, breaks=breaks, masses=masses,
        origin=draw(st.sampled_from([0.0, 0.25])),
    )  # fmt: skip
    return FlankedNoise(core, draw(st.integers(TOTAL // 50, TOTAL - TOTAL // 9)))


def exact(noise: FlankedNoise) -> Flanked:
    """The same law, as the referee knows it."""
    core, D = noise.core, Fraction(str(noise.core.sensitivity))
    cells = Cells(
        D / core.resolution, Fraction(core.origin), tuple(core.breaks.tolist()), tuple(core.weights.tolist()), TOTAL
    )
    return Flanked(cells, core.resolution, noise.ratio_weight)


@settings(max_examples=40, deadline=None)
@given(flanked_laws(), st.floats(0, 3))
def test_the_audit_is_that_of_exact_arithmetic(noise, epsilon):
    law, D = exact(noise), Fraction(str(noise.core.sensitivity))
    worst = max(h for _, h in law.shortfalls(Fraction(epsilon), D))
    bound = audit.delta_upper(noise, epsilon, noise.core.sensitivity)
    assert worst <= Fraction(bound) <= worst + Fraction(1, 10**13)


@settings(max_examples=40, deadline=None)
@given(flanked_laws())
def test_from_some_point_on_it_is_purely_private(noise):
    """e^ε times the least density within a sensitivity reaches the largest, just."""
    cells, reach = exact(noise)._cells, noise.core.resolution
    heights = [(a, b, Fraction(w, b - a)) for a, b, w in cells]
    inner = heights[len(noise.core.weights) // 8 :]
    largest = max(h / g for a, b, h in heights for c, d, g in inner if a - d < reach and c - b < reach)
    least = audit.pure_from_upper(noise)
    assert math.log(largest) <= least <= math.log(max(largest, 1)) + 1e-12
    assert audit.delta_upper(noise, least, noise.core.sensitivity) == 0.0
    if largest > 1 + 1e-6:
        assert audit.delta_upper(noise, max(least - 1e-6, 0), noise.core.sensitivity) > 0


@settings(max_examples=25, deadline=None)
@given(flanked_laws(), st.sampled_from(["l1", "l2", "asym:1:3", "exceed:1", "huber:0.5", "lp:1.5", "lp:4"]))
def test_the_loss_is_that_of_exact_arithmetic(noise, text):
    low, high = exact(noise).cost(exact_loss(text))
    loss = parse_loss(text)
    assert high <= Fraction(audit.loss_upper(noise, loss))
    assert audit.loss_upper(noise, loss) == pytest.approx(float(low), rel=1e-9)
    assert noise.expected_loss(loss) == pytest.approx(float(low), rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(flanked_laws(), st.floats(-8, 8))
def test_views_of_a_law_agree(noise, x):
    edges, masses = noise.listed()
    assert masses.sum() == pytest.approx(1, abs=1e-14)
    assert noise.cdf(np.inf) == pytest.approx(1, abs=1e-14) and noise.cdf(-np.inf) == 0
    u = float(noise.cdf(x))
    if 1e-6 < u < 1 - 1e-6:
        assert float(noise.cdf(noise.quantile(u))) == pytest.approx(u, abs=1e-12)
    inside = (edges[:-1] + edges[1:]) / 2
    assert noise.density(inside) * np.diff(edges) == pytest.approx(masses, rel=1e-10)
    mean = sum(noise.partial_moment(1, *side) for side in ((-np.inf, 0), (0, np.inf)))
    assert mean == pytest.approx(noise.expected_loss(parse_loss("l1")), rel=1e-9)
    assert exact(noise).symmetric == audit_shape.is_mirrored(noise)
    assert exact(noise).monotone == audit_shape.falls_from_zero(noise)


@settings(max_examples=15, deadline=None)
@given(flanked_laws(), st.floats(0, 2))
def test_the_pair_of_all_shifts_has_the_audited_delta(noise, epsilon):
    D = noise.core.sensitivity
    found = float(noise.dominating_pair(D).delta(epsilon))
    assert found == pytest.approx(audit.delta_upper(noise, epsilon, D), rel=1e-9, abs=1e-12)
    assert float(noise.pair(D).delta(epsilon)) <= found + 1e-12


# Programs ------------------------------------------------------------------------------------------------------


@st.composite
def tiny_programs(draw):
    """(costs, k, reach, folded, the first pair, e^ε₂) on few points."""
    k, folded = draw(st.integers(1, 3)), draw(st.booleans())
    reach = draw(st.integers(2 * k, 3 * k))
    half = np.array(draw(st.lists(st.integers(0, 12), min_size=reach + 1, max_size=reach + 1)), dtype=float) / 4
    costs = np.concatenate([half[:0:-1], half])
    if not folded:
        costs = costs + np.array(draw(st.lists(st.integers(0, 8), min_size=len(costs), max_size=len(costs)))) / 4
    growth = math.exp(draw(st.floats(0.1, 2)))
    return costs, k, reach, folded, (growth, draw(st.floats(0.1, 0.6))), growth * math.exp(draw(st.floats(0.1, 2)))


@settings(max_examples=40, deadline=None)
@given(tiny_programs())
def test_the_program_of_a_lower_bound_finds_what_brute_force_finds(tiny):
    """Events stay one sensitivity inside, as in programs for lower bounds on the line."""
    costs, k, reach, folded, pair, worst = tiny
    inner = range(k, 2 * reach + 1 - k)
    expected = lattice_optimum(costs, k, [pair, (worst, 0.0)], events=inner)[0]
    assume(math.isfinite(expected))
    lattice = Lattice(k, -reach, reach, k - reach, reach - k, folded)
    program = LatticeProgram(
        lattice, costs[lattice.representatives], *pair, 1.0, np.exp(-np.abs(lattice.indices) / k),
        open_left=True, open_right=True, further=((worst, 0.0),),
    )  # fmt: skip
    program.start(None)
    outcome = program.solve(math.inf, lambda: False, enough=lambda _: False)
    assert outcome.status == "optimal"
    assert outcome.objective == pytest.approx(expected, rel=1e-4, abs=1e-6)  # rows count as met a little above 0
    (j, i, y), second = (program.multipliers(outcome, level) for level in range(2))
    bound = audit.multiplier_bound_lower(
        costs, -reach, epsilon=math.log(pair[0]), delta=pair[1], shifts=j, events=i, weights=y, mirrored=folded,
        further=[(math.log(worst), 0.0, *second)],
    )  # fmt: skip
    assert bound <= expected + 1e-7 * (1 + expected)
    assert bound == pytest.approx(outcome.objective, rel=1e-5, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 4), st.integers(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=14), st.floats(0.2, 3),
    st.sampled_from([(0.0, 1), (0.3, 2), (0.01, 8)]),
)  # fmt: skip
def test_ends_that_go_on_keep_the_worst_case(k, edge, masses, worst, spike):
    """Whatever the masses are, and nothing is taken away."""
    half = np.array(masses) + 1e-3
    own = np.concatenate([half[::-1], half[1 - edge :]])
    lattice = Lattice(k, -len(half) + 1 - edge, len(half) - 1, -len(half) + 1 - edge, len(half) - 1, True, edge)
    pure, problem = Privacy(worst, 0), problem_of(0.1, 0.1, worst)
    law = Bounded(lattice, own, *spike).gone_on(ratio_of(pure) / TOTAL * (1 + 1e-8))
    assert (law.masses[k:-k] >= own).all()
    noise = law.noise(problem, ratio_of(pure))
    assert audit.pure_from_upper(noise) <= worst
    total = law.whole(ratio_of(pure) / TOTAL)
    bound = (law.shortfalls(math.exp(0.1), ratio_of(pure) / TOTAL) / total).max()
    assert audit.delta_upper(noise, 0.1, 1.0) <= bound * (1 + 1e-6)


# Answers -------------------------------------------------------------------------------------------------------

CASES = [
    "--epsilon=1 --delta=1e-6 --second=2:0",
    "--epsilon=1 --delta=1e-6 --second=2:0 --loss=l2",
    "--epsilon=5 --delta=0.01 --second=10:0",
    "--epsilon=5 --delta=0.01 --second=10:0 --loss=l2",
    "--epsilon=1 --delta=0.2 --second=2:0 --monotone --symmetric",
    "--epsilon=0 --delta=0.3 --second=0.5:0",
    "--epsilon=1 --delta=0.1 --second=3:0 --loss=asym:1:3",
    "--epsilon=0.5 --delta=0.05 --second=1.5:0 --loss=exceed:2",
    "--epsilon=2 --delta=0.1 --second=4:0 --loss=pinball:0.8 --monotone --sensitivity=0.3",
]


@pytest.mark.parametrize("words", CASES)
def test_both_bounds_are_close_and_a_referee_agrees(words):
    from dpcore.cli import build_parser
    from dpcore.cli.reading import read_problem

    problem = read_problem(build_parser().parse_args(["solve", *words.split()]))
    solution = solve(problem, QUICK)
    assert solution.certificate.gap <= QUICK.gap
    assert solution.certificate.second_delta_upper == 0.0
    assert isinstance(solution.noise, FlankedNoise)
    question = asked(words.split())
    assert refutations(export.solution_to_json(solution), question) == []


def test_the_price_lies_between_what_either_pair_asks():
    """V(ε, δ) ≤ V ≤ V(ε, 0), V(ε₂, 0) ≤ V, and V falls as ε₂ grows."""
    solved = [solve(problem_of(1, 0.2, worst), QUICK).certificate for worst in (1.2, 2, 5)]
    for tight, loose in zip(solved, solved[1:]):
        assert loose.lower <= tight.upper
    bounded = solve(noise_problem(1, 0.2), QUICK).certificate
    pure, worst = (solve(noise_problem(e, 0.0), QUICK).certificate for e in (1, 2))
    for proof in solved:
        assert bounded.lower <= proof.upper and proof.lower <= pure.upper
    assert worst.lower <= solved[1].upper
    assert solved[1].lower > bounded.upper * 1.05  # at (1, 0.2) it costs 6.8 % or more


def test_a_pair_with_zero_that_the_first_one_implies_changes_nothing():
    assert worst_pair(noise_problem(1, 0.0, second=Privacy(2, 0))) is None
    assert worst_pair(noise_problem(2, 0.1, second=Privacy(1, 0))) is None
    assert worst_pair(problem_of(1, 0.1, 2)) == Privacy(2, 0)


def test_the_search_can_be_stopped_at_once():
    seen = []

    def stop(record):
        seen.append(record)
        return True

    solution = solve(problem_of(0.3, 0.1, 0.5), SolverSettings(gap=1e-6, time_limit=60), stop)
    assert solution.certificate.second_delta_upper == 0.0 and len(seen) < 50


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: noise_problem(2, 0, second=Privacy(1, 0.1)), "second"),
        (lambda: problem_of(1, 0.1, 2, support=(-5, math.inf)), "support"),
        (lambda: problem_of(1, 0.1, 2, budget=Budget(parse_loss("l2"), 5)), "budget"),
        (lambda: problem_of(1, 0.1, 2, profile=PairList((Privacy(1, 0.1), Privacy(0.5, 0.2)))), "second"),
        (lambda: solve(problem_of(1, 0.1, 2, granularity=1.0)), "second"),
        (lambda: solve(problem_of(1, 0.1, 2), SolverSettings(method="reference")), "method"),
    ],
)
def test_what_cannot_be_asked_next_to_it_is_named(build, field):
    with pytest.raises(InputError) as caught:
        build()
    assert caught.value.field == field


# Files ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written():
    return json.loads(export.solution_to_json(solve(problem_of(1, 0.2, 2), QUICK)))


def test_a_file_comes_back_and_is_audited_again(written):
    again = export.solution_from_dict(json.loads(json.dumps(written)))
    assert isinstance(again.noise, FlankedNoise)
    assert again.problem.second == Privacy(2, 0)
    assert again.certificate.second_delta_upper == 0.0
    assert again.certificate.upper == written["upper"]
    assert again.noise.to_dict() == written["noise"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda noise: noise["flanks"].update(ratio_weight=str(TOTAL // 20)), "noise"),  # ends fall too fast
        (lambda noise: noise["flanks"].update(ratio_weight=str(TOTAL)), "noise.flanks.ratio_weight"),
        (lambda noise: noise["flanks"].update(ratio_weight=str(TOTAL - 1)), "noise.flanks"),
        (lambda noise: noise.pop("flanks"), "flanks"),
        (lambda noise: noise.update(family="piecewise"), "noise"),
        (lambda noise: noise.update(resolution=noise["resolution"] * 64), "noise.breaks"),
    ],
)
def test_a_file_that_claims_too_much_is_refused(written, change, field):
    data = json.loads(json.dumps(written))
    change(data["noise"])
    with pytest.raises(InputError) as caught:
        export.solution_from_dict(data)
    assert caught.value.field == field


def test_neighbouring_problems_share_a_search():
    from dpcore.optimal.solve import solve_many

    problem = problem_of(1, 0.05, 3)
    solved = list(solve_many([problem, replace(problem, privacy=Privacy(1, 0.1))], QUICK))
    assert all(one.certificate.second_delta_upper == 0.0 and one.certificate.gap <= QUICK.gap for one in solved)
    assert CoveredSearch(problem, QUICK).problem == problem
