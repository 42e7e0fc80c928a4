"""The certified bracket against known answers, against other mechanisms, and against itself on easier problems."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import log_floats, losses

from dpcore.audit import delta_upper
from dpcore.literature import amplitude_lower
from dpcore.loss import parse_loss, table
from dpcore.mechanisms import baselines
from dpcore.noise import Staircase, TruncatedLaplace
from dpcore.optimal import solve, solve_many
from dpcore.optimal.laws import far_uniform
from dpcore.privacy import Privacy
from dpcore.privacy_profile import GaussianProfile
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.solution import Solution

ROUNDING = 1e-12
"""Relative rounding of the closed forms that are compared with certified bounds."""


@cache
def solved(problem: NoiseProblem, gap: float = 1e-3, limit: float = 5.0) -> Solution:
    """The answer, kept: many tests look at the same ones."""
    solution = solve(problem, SolverSettings(gap=gap, time_limit=limit))
    assert solution.certificate.delta_upper <= problem.privacy.delta
    return solution


def bracket(*arguments, gap: float = 1e-3, limit: float = 5.0, **constraints) -> tuple[float, float]:
    certificate = solved(noise_problem(*arguments, **constraints), gap, limit).certificate
    return certificate.lower, certificate.upper


# Figures found by other programs ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "gap", "low", "high"),
    [
        (1, 0.2, "l1", 1e-3, 0.5579, 0.5592),
        (0.2, 0.05, "l1", 1e-3, 2.352, 2.357),
        (0.005, 0.005, "l1", 1e-3, 37.85, 37.93),
        (3, 0.3, "l1", 1e-2, 0.1617, 0.1645),
        (1, 0.2, "l2", 1e-3, 0.5113, 0.5132),
    ],
)
def test_published_problems(epsilon, delta, loss, gap, low, high):
    """Figures of an independent program on other grids and cuts; the gap asked for is reached well within 5 s."""
    solution = solved(noise_problem(epsilon, delta, 1, loss), gap)
    assert low <= solution.certificate.lower <= solution.certificate.upper <= high
    assert solution.certificate.gap <= gap


def test_tiny_delta():
    """At δ = 1e-6 the optimum is just below the staircase's .959517 [GV14; Thm 6]; .9595 found elsewhere."""
    solution = solved(noise_problem(1, 1e-6), 1e-3)
    lower, upper = solution.certificate.lower, solution.certificate.upper
    staircase = math.exp(0.5) / math.expm1(1)
    assert staircase == pytest.approx(0.959517376, abs=5e-10)
    assert lower <= staircase * (1 - 1e-6)
    assert lower <= 0.9595 <= upper
    assert solution.certificate.gap <= 0.005
    assert solution.certificate.delta_upper <= 1e-6


def test_monotone_costs_two_percent():
    lower, upper = bracket(1, 0.2, monotone=True)
    assert 0.568 <= lower <= upper <= 0.571
    assert lower > bracket(1, 0.2)[1]


@pytest.mark.parametrize(("epsilon", "delta", "finest"), [(5, 0.25, 0.12973), (1, 0.2, 1.13932)])
def test_monotone_upper_bounds_of_the_paper(epsilon, delta, finest):
    """[SLW, Figure 3, data independent], D = 2, β = 1/32, 5 digits as printed: the loss of a monotone law, so no less
    than our lower bound; and ours, nearly optimal, is above it by no more than the gap."""
    lower, upper = bracket(epsilon, delta, 2, "l1", monotone=True, gap=5e-3)
    assert lower <= finest + 5e-6
    assert upper <= finest * 1.005


@pytest.mark.parametrize(
    ("epsilon", "delta", "low", "high"), [(1, 0.2, 1.055056, 1.118129), (0.2, 0.05, 4.583860, 4.708860)]
)
def test_valid_bounds_of_the_reference(epsilon, delta, low, high):
    """Valid first-order bounds at D = 2, β = 1/8 and 1/4 [published values, recomputed]: ours intersect them."""
    lower, upper = bracket(epsilon, delta, 2)
    assert max(low, lower) <= min(high, upper)
    assert upper - lower < 0.1 * (high - low)


def test_reference_method_agrees():
    problem = noise_problem(1, 0.2, 1)
    other = solve(problem, SolverSettings(method="reference", cells_per_sensitivity=4, time_limit=10)).certificate
    lower, upper = bracket(1, 0.2)
    assert max(lower, other.lower) <= min(upper, other.upper)
    assert upper - lower < 0.1 * (other.upper - other.lower)


def test_pinball_noise_is_lopsided():
    solution = solved(noise_problem(1, 0.1, 1, "pinball:0.8"))
    assert solution.certificate.gap <= 1e-3
    assert not solution.noise.is_symmetric
    # Errors above 0 cost four times as much: the median sits below 0.
    assert float(solution.noise.cdf(-1e-9)) > 0.6
    mirrored = bracket(1, 0.1, 1, "pinball:0.2")
    assert max(mirrored[0], solution.certificate.lower) <= min(mirrored[1], solution.certificate.upper)


def test_half_line():
    """Noise that never exceeds 0, loss |x|: private right-hand sides [method: one-sided]. The optimum is about 4.35; a
    truncated Laplace law pushed below 0, MSVV's mechanism with the tight constant, has mean s = 4.465."""
    solution = solved(noise_problem(1, 0.01, 1, "l1", support=(-math.inf, 0)), 5e-3, 1.5)
    lower, upper = solution.certificate.lower, solution.certificate.upper
    assert solution.noise.support[1] <= 0
    tight = Privacy(1, 0.01).truncation()
    assert tight == pytest.approx(4.465, abs=5e-4)
    assert math.log(2 * math.expm1(1) / 0.01 + 1) > tight  # MSVV's own, m = 2
    assert lower <= tight
    assert upper < 4.40
    assert 4.30 < lower
    assert solution.certificate.gap <= 0.015  # first order in the grid


def test_a_half_line_and_its_mirror_image():
    one = bracket(1, 0.05, 2, "pinball:0.3", support=(-3, math.inf), gap=2e-2, limit=2.0)
    two = bracket(1, 0.05, 2, "pinball:0.7", support=(-math.inf, 3), gap=2e-2, limit=2.0)
    assert max(one[0], two[0]) <= min(one[1], two[1])


# Limits with closed answers [method: border] ---------------------------------------------------------------


@pytest.mark.parametrize("delta", [1 / 8, 1 / 4, 0.05, 0.01])
def test_total_variation_uniform(delta):
    """ε = 0, 1/(2δ) a whole number: D/(4δ) [G19]."""
    lower, upper = bracket(0, delta, 3)
    assert lower <= 3 / (4 * delta) <= upper
    assert upper <= lower * 1.001


@pytest.mark.parametrize("delta", [0.5, 0.6, 0.8, 0.99])
def test_total_variation_with_atom(delta):
    """ε = 0, δ ≥ ½: D(1 − δ), a uniform law and an atom of mass 2δ − 1 [G19]."""
    lower, upper = bracket(0, delta)
    assert lower <= (1 - delta) * (1 + ROUNDING)
    assert upper >= (1 - delta) * (1 - ROUNDING)
    assert upper <= lower * 1.001


def test_total_variation_in_between():
    """δ = .3: better than the uniform law of width D/δ, .8333; an independent program found a law of .8277,
    and a finer lattice does a little better still."""
    lower, upper = bracket(0, 0.3)
    assert 0.826 < lower <= upper <= 0.8277 + 5e-5
    assert upper <= lower * 1.001


STAIRCASE_AMPLITUDE = {1: 0.959517376, 2: 0.425459064, 5: 0.082641835}
STAIRCASE_POWER = {1: 1.918103531, 2: 0.422732849, 5: 0.029711024}


@pytest.mark.parametrize("epsilon", [1, 2, 5])
@pytest.mark.parametrize("monotone", [False, True])
def test_pure_privacy(epsilon, monotone):
    """δ = 0: the staircase [GV14; published values, recomputed], 9 digits."""
    for loss, figures in (("l1", STAIRCASE_AMPLITUDE), ("l2", STAIRCASE_POWER)):
        lower, upper = bracket(epsilon, 0, 1, loss, monotone=monotone)
        assert lower == pytest.approx(figures[epsilon], abs=4e-9)
        assert upper == pytest.approx(figures[epsilon], abs=4e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2])
@pytest.mark.parametrize("loss", ["l1", "l2", "exceed:0.7", "huber:0.5", "lp:1.5"])
def test_no_staircase_beats_the_pure_optimum(epsilon, loss):
    """The lower bound rests on the best γ: it must be below every other one."""
    lower, _ = bracket(epsilon, 0, 1, loss)
    for gamma in np.linspace(0, 1, 201):
        noise = Staircase(epsilon=float(epsilon), sensitivity=1.0, gamma=float(gamma))
        assert noise.expected_loss(parse_loss(loss)) >= lower


def test_pure_optimum_from_small_delta():
    """The value at δ > 0 tends to the staircase's, from below."""
    for loss, figures in (("l1", STAIRCASE_AMPLITUDE), ("l2", STAIRCASE_POWER)):
        lower, upper = bracket(1, 1e-9, 1, loss, gap=2e-3)
        assert lower <= figures[1]
        assert upper >= figures[1] * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", [0.001, 1, 6])
def test_delta_near_one(epsilon):
    """Nearly all mass in an atom: V ≤ (1 − δ)·staircase [Thm 6], V ≤ D(1 − δ) [G19]."""
    lower, upper = bracket(epsilon, 0.999)
    staircase = math.exp(epsilon / 2) / math.expm1(epsilon)
    assert 0 < lower <= 0.001 * min(staircase, 1) * (1 + 1e-6)
    assert upper <= 0.001 * min(staircase, 1) * (1 + 1e-3)


def test_value_over_one_minus_delta_falls():
    """V(δ)/(1 − δ) does not increase: mixing with an atom [Thm 6]."""
    deltas = [0.01, 0.1, 0.3, 0.6, 0.9]
    brackets = [bracket(1, delta, gap=5e-3) for delta in deltas]
    for (d, one), (e, two) in zip(zip(deltas, brackets), zip(deltas[1:], brackets[1:])):
        assert two[0] / (1 - e) <= one[1] / (1 - d)


@pytest.mark.parametrize(("epsilon", "delta", "figure"), [(5, 0.25, 0.392281), (1, 0.2, 1.22392), (0.2, 0.05, 4.72669)])
def test_truncated_laplace_figures(epsilon, delta, figure):
    """E|X| at D = 2 [published values, recomputed], and what it means: above our lower bound, and not optimal."""
    noise = TruncatedLaplace.calibrate(Privacy(epsilon, delta), 2.0)
    assert noise.expected_loss(parse_loss("l1")) == pytest.approx(figure, abs=5e-6)
    lower, upper = bracket(epsilon, delta, 2, gap=5e-3)
    assert lower <= upper < figure


@pytest.mark.parametrize("delta", [1e-4, 1e-3])
def test_truncated_laplace_is_nearly_optimal_for_small_epsilon(delta):
    """ε, δ → 0 [G20]: within the discreteness of one sensitivity."""
    noise = TruncatedLaplace.calibrate(Privacy(0.01, delta), 1.0)
    lower, upper = bracket(0.01, delta, gap=2e-3)
    value = noise.expected_loss(parse_loss("l1"))
    assert lower <= value <= upper * 1.002


def test_an_optimum_of_zero():
    """1{|x| > t} with t beyond the truncated Laplace support: a law that never exceeds t."""
    reach = Privacy(1, 0.1).truncation()
    solution = solved(noise_problem(1, 0.1, 1, f"exceed:{reach * 1.01}"))
    assert solution.certificate.lower == solution.certificate.upper == 0
    assert solution.certificate.gap == 0


def test_an_optimum_of_zero_on_one_side_of_a_monotone_law():
    """Nothing is lost on (−∞, 0]: a uniform law of length D/δ that ends at 0 falls away from it."""
    solution = solved(noise_problem(0.043, 0.00152, 1, "table:-6.3=0,0=0,0.52=0.52,1.2=0.28,5.8=0.28", monotone=True))
    assert solution.certificate.lower == solution.certificate.upper == 0


@pytest.mark.parametrize("rows", ["-3.3=0,-1.4=0,-0.16=0.16,0=0,0.43=0.43", "-1=2,0=0,0.5=1,2=0,39=0,40=1"])
def test_an_optimum_of_zero_away_from_the_minimiser(rows):
    """Nothing is lost on a stretch beyond a ridge, of which another point of no loss is no part."""
    solution = solved(noise_problem(1.07, 5.42e-6, 1, f"table:{rows}"))
    assert solution.certificate.lower == solution.certificate.upper == 0


@pytest.mark.parametrize("rows", ["-3.8=1.9,0=0,0.2=0.07,6.7=0.07", "-6.7=0.07,-0.2=0.07,0=0,3.8=1.9"])
def test_a_level_without_end_costs_no_more_than_that(rows):
    """A law spread along it shows next to nothing, and an atom of δ costs nothing."""
    level, delta = 0.07, 0.231
    problem = noise_problem(0.0193, delta, 1, f"table:{rows}")
    _, upper = bracket(0.0193, delta, 1, f"table:{rows}", limit=1.0)
    assert upper <= (1 - delta) * level * (1 + 1e-4)
    law = far_uniform(problem)
    assert law.atom_mass < delta and delta_upper(law, 0.0, 1.0) <= delta
    assert far_uniform(noise_problem(0.0193, delta, 1, "l1")) is None


# One problem at least as hard as another: lower(easier) ≤ upper(harder), exactly ----------------------------


SMALL = SolverSettings(gap=1e-3, time_limit=0.25)


@st.composite
def plain_problems(draw) -> NoiseProblem:
    return noise_problem(draw(log_floats(0.05, 8)), draw(log_floats(1e-6, 0.8)), 1.0, draw(losses()))


def _ordered(easier: NoiseProblem, harder: NoiseProblem) -> None:
    easy, hard = solve(easier, SMALL).certificate, solve(harder, SMALL).certificate
    assert easy.lower <= hard.upper


@settings(max_examples=6)
@given(plain_problems(), st.floats(0.3, 1), st.floats(0.3, 1))
def test_stricter_privacy_costs_more(problem, less_epsilon, less_delta):
    privacy = problem.privacy
    assume(privacy.epsilon * less_epsilon > 0.01)
    _ordered(problem, replace(problem, privacy=Privacy(privacy.epsilon * less_epsilon, privacy.delta * less_delta)))


@settings(max_examples=6)
@given(plain_problems(), st.booleans(), st.booleans(), st.floats(1.3, 6))
def test_constraints_cost(problem, symmetric, monotone, room):
    wide = room * problem.privacy.truncation() + 1
    _ordered(problem, replace(problem, symmetric=symmetric, monotone=monotone, support=(-wide, wide)))
    # The constrained problem itself is easier than with a still smaller support.
    _ordered(replace(problem, support=(-wide, math.inf)), replace(problem, support=(-wide, wide), symmetric=symmetric))


@settings(max_examples=5)
@given(plain_problems(), log_floats(1e-6, 1e6))
def test_scaling(problem, scale):
    """D ↦ sD with c(x) ↦ c(x/s) is the same problem in another unit."""
    one = solve(problem, SMALL).certificate
    other = solve(replace(problem, sensitivity=scale, loss=problem.loss.scaled(1 / scale)), SMALL).certificate
    assert one.lower <= other.upper * (1 + ROUNDING)
    assert other.lower <= one.upper * (1 + ROUNDING)


@settings(max_examples=6)
@given(plain_problems(), st.floats(1.01, 5))
def test_larger_sensitivity_costs_more(problem, factor):
    _ordered(problem, replace(problem, sensitivity=factor))


@settings(max_examples=6)
@given(plain_problems(), st.floats(0, 3))
def test_larger_loss_costs_more(problem, more):
    """c + constant costs that constant more."""
    assume(not problem.loss.jumps)
    added = replace(problem.loss, pieces=tuple(replace(p, constant=p.constant + more) for p in problem.loss.pieces))
    one, other = solve(problem, SMALL).certificate, solve(replace(problem, loss=added), SMALL).certificate
    assert one.lower + more <= other.upper * (1 + ROUNDING)
    assert other.lower <= (one.upper + more) * (1 + ROUNDING)


# Closed forms never beat the lower bound ------------------------------------------------------------------


@settings(max_examples=12)
@given(plain_problems(), st.booleans(), st.booleans(), st.sampled_from(["none", "both", "half"]))
def test_no_mechanism_beats_the_lower_bound(problem, symmetric, monotone, limit):
    wide = 1.5 * problem.privacy.truncation() + 1
    support = {"none": (-math.inf, math.inf), "both": (-wide, wide), "half": (-wide, math.inf)}[limit]
    problem = replace(problem, symmetric=symmetric and limit != "half", monotone=monotone, support=support)
    lower = solve(problem, SMALL).certificate.lower
    for baseline in baselines(problem):
        if baseline.valid:
            assert baseline.loss >= lower * (1 - ROUNDING), baseline.key


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 0.3), (0.005, 0.25), (0.2, 0.05), (1, 0.2), (1, 1e-6), (3, 0.3), (5, 0.75), (10, 0.01)]
)
def test_amplitude_between_literature_and_mechanisms(epsilon, delta):
    """The literature's lower bound is below our upper one, valid mechanisms are above our lower one, and ours is the
    narrower bracket."""
    lower, upper = bracket(epsilon, delta, gap=5e-3)
    assert amplitude_lower(Privacy(epsilon, delta), 1.0) <= upper
    best = min(b.loss for b in baselines(noise_problem(epsilon, delta)) if b.valid)
    assert lower * (1 - ROUNDING) <= best
    assert upper <= best * (1 + 5e-3)


# Each family of losses closes its gap, constrained or not ---------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "gap"),
    [
        ("lp:1.5", 1e-3),
        ("lp:4", 2e-3),
        ("huber:0.5", 1e-3),
        ("asym:1:3", 1e-3),
        ("pinball:0.95", 1e-3),
        ("exceed:1", 0.05),
    ],
)
@pytest.mark.parametrize("symmetric", [False, True])
def test_gap_is_closed(loss, gap, symmetric):
    solution = solved(noise_problem(0.5, 0.05, 1, loss, symmetric=symmetric), gap, 3.0)
    assert solution.certificate.gap <= 2 * gap


def test_a_law_may_be_where_events_need_not_be():
    """The loss is the same far out on the right: the best law so far has its median beyond the last event."""
    rows = "table:-6.7=3.405,-2.6=1.355,-0.11=0.11,0=0,0.13=0,0.29=0.32,0.42=0.32"
    lower, upper = bracket(0.327, 0.0349, 1.0, rows, limit=20.0)
    assert lower <= upper <= 1.001 * lower


def test_linear_losses_are_pieces_of_one_another():
    """Symmetric laws pay the mean of both sides: pinball(τ) costs ½|x| whatever τ is."""
    half = bracket(1, 0.2)
    for tau in (0.1, 0.8):
        lower, upper = bracket(1, 0.2, 1, f"pinball:{tau}", symmetric=True)
        assert lower <= half[1] / 2 * (1 + ROUNDING)
        assert half[0] / 2 * (1 - ROUNDING) <= upper


def test_a_table_is_the_loss_it_draws():
    one = solved(noise_problem(1, 0.1, 1, table([-1, 0, 2], [1, 0, 6]))).certificate
    lower, upper = bracket(1, 0.1, 1, "asym:1:3")
    assert max(lower, one.lower) <= min(upper, one.upper) * (1 + ROUNDING)


def test_a_minimum_away_from_zero_moves_the_law():
    """c(x − 5) has the same optimal value, and its law sits around 5."""
    centred = solved(noise_problem(1, 0.1, 1, table([-2, 0, 4], [2, 0, 3]))).certificate
    moved = solved(noise_problem(1, 0.1, 1, table([3, 5, 9], [2, 0, 3])))
    assert max(centred.lower, moved.certificate.lower) <= min(centred.upper, moved.certificate.upper)
    assert float(moved.noise.quantile(0.5)) == pytest.approx(5, abs=1.5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # A kink where rounding makes the two sides differ by 1e-16: no jump.
        (
            noise_problem(1.5, 0.2, 1 / 3, "table:0=3,0.7=0,2=5"),
            noise_problem(1.5, 0.2, 1 / 3, "table:-0.7=3,0=0,1.3=5"),
        ),
        # In another unit, with an atom: what is added for rounding must shrink with the unit.
        (noise_problem(5, 0.75, 1e-9, "table:-1=1e9,0=0,1=1e9"), noise_problem(5, 0.75, 1, "l1")),
    ],
)
def test_equal_problems_end_with_equal_gaps(one, other):
    first, second = solved(one, 1e-2, 30.0).certificate, solved(other, 1e-2, 30.0).certificate
    assert first.gap <= 0.02 and second.gap <= 0.02
    assert max(first.lower, second.lower) <= min(first.upper, second.upper) * (1 + ROUNDING)


def test_tiny_units_with_an_atom():
    """x² at D = 1e-9 and δ = .75: the same relative gap as at D = 1, whatever is added for rounding."""
    gaps = [solved(noise_problem(5, 0.75, unit, "l2"), 2e-2, 30.0).certificate.gap for unit in (1.0, 1e-9)]
    assert gaps[1] <= 2 * max(gaps[0], 0.02)


def test_even_tables_are_even():
    """Slopes of a third and the like: mirror images to the last bit, so that half the line is enough."""
    for x, y in (([1 / 3, 0.7, 2.9], [0.1, 1.7, 3.3]), ([0.1, 0.3, 7.0], [2.0, 0.6, 1e-3 + 5])):
        loss = table([*(-v for v in x[::-1]), 0, *x], [*y[::-1], 0.25, *y])
        assert loss.even
        assert noise_problem(1, 0.1, 1, loss).folds


def test_time_limit_is_kept():
    problem = noise_problem(2.5, 0.2, 1, "lp:1.3", monotone=True)
    began = time.thread_time()
    solution = solve(problem, SolverSettings(gap=1e-6, time_limit=0.5))
    assert time.thread_time() - began < 1.2  # of work: one step is not interrupted everywhere
    assert solution.certificate.gap > 1e-6


@pytest.mark.parametrize("order", [1, -1])
def test_neighbours_do_not_get_in_each_others_way(order):
    """At ε = 0.005 the window of δ = 1e-6 is hundreds of times that of δ = 0.2; either may come first."""
    problems = [noise_problem(0.005, delta, 1, "l1") for delta in (1e-6, 0.02, 0.2, 0.3)][::order]
    for solution in solve_many(problems, SolverSettings(gap=1e-3, time_limit=20)):
        assert solution.certificate.gap <= 1e-3
        assert solution.trace[-1].pairs < 10_000, "no more work than by itself: 6 600 pairs at most"


@pytest.mark.parametrize(("epsilon", "share"), [(0.05, 1), (0.5, 0.9), (5, 1.3)])
def test_neighbours_save_work(epsilon, share):
    """There is a next lattice after two of one node per sensitivity, and after one on which the staircase's steps lie
    so well that none near it does better."""
    problems = [noise_problem(epsilon, delta, 1, "l1") for delta in (1e-6, 1e-3, 0.01, 0.05)]
    settings = SolverSettings(gap=1e-3, time_limit=20)
    together, alone = list(solve_many(problems, settings)), [solve(problem, settings) for problem in problems]
    assert all(solution.certificate.gap <= 1e-3 for solution in together)
    assert sum(s.trace[-1].pairs for s in together) < share * sum(s.trace[-1].pairs for s in alone)


FREE = "table:-4.8=0,-1.2=0,0=0,0.27=1"
"""Errors below 0 cost nothing, those above ever more."""


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 0.01, "delta": 1e-9, "monotone": True},
        {"epsilon": 1.0, "delta": 1e-6, "second": Privacy(4.0, 0.0)},
        {"epsilon": 0.01, "delta": 1e-3, "sensitivity": 2.0, "granularity": 1.0},
        {"epsilon": 1.0, "delta": 1e-6, "profile": GaussianProfile(0.4)},
    ],
)
def test_noise_may_cost_as_little_as_one_likes(asked):
    """Where an end of the line is free; the search ends at once."""
    asked = {"sensitivity": 1.0, **asked}
    problem = noise_problem(asked.pop("epsilon"), asked.pop("delta"), asked.pop("sensitivity"), FREE, **asked)
    solution = solve(problem, SolverSettings(time_limit=20))
    assert solution.certificate.lower == 0 <= solution.certificate.upper <= 1e-5
    assert solution.source == "closed form" and len(solution.trace) <= 2


def test_a_level_that_groups_have_to_cover():
    """On the left 0.23 at most, on the right far more, and a dip between: closed forms prove the level."""
    steep, slow = (
        "table:-4.7=0.23,-0.7=0.23,-0.25=0.005,-0.13=0.065,0=0,5.1=10.2",
        "table:-4.7=0.23,-1.7=0.23,0=0,5.1=0.24",
    )
    for epsilon, delta, loss in ((0.00165, 6.45e-6, steep), (0.0034, 1.63e-9, steep), (0.00165, 6.45e-6, slow)):
        for monotone in (True, False):
            problem = noise_problem(epsilon, delta, 1.0, loss, monotone=monotone)
            proof = solve(problem, SolverSettings(gap=1e-6)).certificate
            assert 0.23 * (1 - 3 * delta * 2**6) <= proof.lower <= proof.upper <= 0.23 * (1 - delta) * (1 + 1e-8)
