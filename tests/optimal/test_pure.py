"""δ = 0: what is proved about even losses that grow away from 0, and what staircases pay, against exact arithmetic.

A law's exact cost, of any staircase, is no less than a true lower bound; the costs are those of the referee's module.
"""

from __future__ import annotations

import math
import os
import time
from fractions import Fraction

import exact_laws
import pytest
from exact_losses import ExactLoss, exact_loss
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import log_floats

from dpcore.loss import Loss, parse_loss, table
from dpcore.noise import DiscreteStaircase, Staircase
from dpcore.noise.lattice import stretched
from dpcore.noise.periods import Side
from dpcore.noise.pure import pure_lower, staircase_loss_bounds
from dpcore.optimal import solve
from dpcore.optimal.integer_bounds import Limits, lower_bound
from dpcore.problem import SolverSettings, noise_problem


def exact_cost(spec: str, epsilon: float, D: float, gamma: Fraction, place: Fraction = Fraction(0)) -> tuple:
    """Bounds of E c(X) of a staircase."""
    law = exact_laws.Staircase(Fraction(repr(epsilon)), Fraction(repr(D)), gamma, Fraction(0), place)
    return law.cost(exact_loss(spec))


def widths(loss: ExactLoss, D: Fraction, found: float) -> list[Fraction]:
    """First steps worth a look: what was found, a few others, and those that end at, or just before, a break."""
    kinks = [(b / D) % 1 for b in loss.breaks if b > 0][:12]
    near = [k * (1 - Fraction(1, 10**n)) for k in kinks for n in (14, 18)]
    return [Fraction(found), *(Fraction(n, 8) for n in range(9)), *kinks, *near]


def check(epsilon: float, D: float, spec: str, *, gap: float = 1e-9) -> None:
    """The bracket of the problem encloses the exact cost of its law and lies below no other staircase's."""
    solution = solve(noise_problem(epsilon, 0.0, D, spec))
    found, law = solution.certificate, solution.noise
    assert exact_cost(spec, epsilon, D, Fraction(law.gamma))[1] <= Fraction(found.upper)
    assert all(
        Fraction(found.lower) <= exact_cost(spec, epsilon, D, gamma)[1]
        for gamma in widths(exact_loss(spec), Fraction(repr(D)), law.gamma)
    )
    assert found.lower <= found.upper <= found.lower * (1 + gap)


EXAMPLES = int(os.environ.get("THOROUGH", "0")) * 300

RAMP = "table:-2.4=1,-1.20000000000001=1,-1.2=0,1.2=0,1.20000000000001=1,2.4=1"
STEEP = "table:-0.02=1,-0.01000000000000001=1,-0.01=0,0.01=0,0.01000000000000001=1,0.02=1"


@pytest.mark.parametrize(
    ("epsilon", "spec"),
    [(3.0, RAMP), (1.0, RAMP), (8.0, RAMP), (20.0, RAMP), (8.0, STEEP), (1.0, STEEP), (0.1, STEEP), (20.0, STEEP)],
)
def test_steep_tables(epsilon, spec):
    check(epsilon, 1.0, spec)


@pytest.mark.parametrize("spec", ["exceed:1e-13", "exceed:3e-15", "exceed:0.3", "exceed:5", "exceed:7.25"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 20.0])
def test_thresholds_far_below_the_sensitivity_and_beyond_it(epsilon, spec):
    check(epsilon, 1.0, spec)


def many_breaks(count: int) -> str:
    right = [(Fraction(i, 7) + Fraction(i * i, 1000), Fraction(i * (3 if i % 3 else 7), 40)) for i in range(1, count)]
    level, pairs = Fraction(0), []
    for x, rise in right:
        level += rise
        pairs.append((float(x), float(level)))
    points = [(-x, y) for x, y in reversed(pairs)] + [(0.0, 0.0), *pairs]
    return "table:" + ",".join(f"{x!r}={y!r}" for x, y in points)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0, 12.0])
@pytest.mark.parametrize("count", [12, 30])
def test_tables_with_many_breaks(epsilon, count):
    check(epsilon, 1.0, many_breaks(count))


@pytest.mark.parametrize("spec", ["l1", "l2", "lp:1.5", "lp:3.7", "huber:1", "huber:0.03", "exceed:0.3"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 9.0])
def test_the_usual_losses_are_bracketed_to_rounding(spec, epsilon):
    check(epsilon, 0.7, spec, gap=1e-12)


@st.composite
def growing_tables(draw) -> str:
    """Even tables that grow away from 0, with steep ramps from a relative width of 1e-15 on."""
    count = draw(st.integers(1, 6))
    x = sorted(draw(st.lists(st.integers(1, 400), min_size=count, max_size=count, unique=True)))
    ramp, level, pairs = draw(st.sampled_from([0, 3, 9, 13, 15])), draw(st.integers(0, 3)), []
    pairs.append((Fraction(x[0], 100), level))
    for at in x[1:]:
        start = Fraction(at, 100)
        level += draw(st.integers(0, 5))
        pairs.append((start, level))
        if ramp:
            level += draw(st.integers(0, 5))
            pairs.append((start * (1 + Fraction(draw(st.integers(2, 9)), 10**ramp)), level))
    kept = [pairs[0]]
    for at, y in pairs[1:]:
        if float(at) > float(kept[-1][0]) * (1 + 4e-16):
            kept.append((at, y))
    return "table:" + ",".join(
        f"{float(s * a)!r}={y}" for s, part in ((-1, reversed(kept)), (1, kept)) for a, y in part
    )


@settings(max_examples=EXAMPLES or 25)
@given(growing_tables(), log_floats(0.05, 20), st.sampled_from([1.0, 0.1, 0.37, 12.5]))
def test_random_tables(spec, epsilon, D):
    check(epsilon, D, spec, gap=1e-7)


@settings(max_examples=EXAMPLES or 25)
@given(growing_tables(), log_floats(0.05, 15), st.floats(0, 1), st.floats(0, 1))
def test_bad_widths_make_bounds_poor_never_false(spec, epsilon, one, other):
    side = Side.line(parse_loss(spec), epsilon, 1.0)
    bound = pure_lower(side, min(one, other), max(one, other))
    best = solve(noise_problem(epsilon, 0.0, 1.0, spec)).certificate
    assert 0 <= bound <= best.upper and best.lower >= bound * (1 - 1e-9)


LOSSES = ["l1", "l2", "lp:1.5", "lp:4", "huber:0.4", "exceed:0.3", "pinball:0.8", RAMP, STEEP,
          "table:-3=1,-2=0,0=3,1=0.5,4=9", "table:-1=2,-0.3=2,0.2=0,0.20000000000001=1,1=1"]  # fmt: skip


@settings(max_examples=EXAMPLES or 40)
@given(
    st.sampled_from(LOSSES), log_floats(0.02, 20), st.floats(1e-3, 1), st.sampled_from([0.0, 0.0, 0.3, -1.2, 4.75]),
    st.sampled_from([1.0, 0.1, 2.7]),
)  # fmt: skip
@example("l1", 7.38905609893065, 2.0**-7, 4.75, 0.1)
def test_what_staircases_pay_is_enclosed(spec, epsilon, gamma, location, D):
    lower, upper = staircase_loss_bounds(Side.line(parse_loss(spec), epsilon, D, location), gamma)
    least, most = exact_cost(spec, epsilon, D, Fraction(gamma), Fraction(repr(location)))
    assert Fraction(lower) <= least and most <= Fraction(upper)
    assert Fraction(Staircase(epsilon, D, gamma, 0.0, location).loss_upper(parse_loss(spec))) >= most
    # An end of a step near 0 is off by u of its place: next to a ramp or a jump the loss shows it.
    assert upper - lower <= 1e-11 * upper + 1e-13 / gamma * max(abs(location) / D, 1.0)


# Lattices --------------------------------------------------------------------------------------------------------


def exact_lattice_cost(spec: str, rate: float, rise: int, period: int, place: int, step: float) -> tuple:
    law = exact_laws.DiscreteStaircase(Fraction(repr(rate)), rise, period, place, Fraction(repr(step)))
    return law.cost(exact_loss(spec))


@settings(max_examples=EXAMPLES or 30)
@given(growing_tables(), log_floats(0.05, 20), st.integers(1, 9), st.sampled_from([1.0, 0.1, 0.01, 0.3]))
def test_on_lattices_no_first_step_is_cheaper(spec, epsilon, k, step):
    D = float(Fraction(repr(step)) * k)
    found = solve(noise_problem(epsilon, 0.0, D, spec, granularity=step))
    costs = [exact_lattice_cost(spec, epsilon, r, k, 0, step) for r in range(1, k + 1)]
    assert Fraction(found.certificate.lower) <= min(most for _, most in costs)
    assert max(0, min(least for least, _ in costs)) <= Fraction(found.certificate.upper)
    assert found.certificate.upper <= found.certificate.lower * (1 + 1e-9) + 1e-290


@settings(max_examples=EXAMPLES or 30)
@given(
    st.sampled_from(LOSSES), log_floats(0.1, 20), st.integers(1, 20), st.floats(0, 1), st.integers(-30, 30),
    st.sampled_from([1.0, 0.1, 0.3]),
)  # fmt: skip
def test_what_discrete_staircases_pay_is_enclosed(spec, epsilon, k, share, location, step):
    rise = 1 + int(share * (k - 1))
    lower, upper = staircase_loss_bounds(Side.points(parse_loss(spec), epsilon, k, step, location), rise)
    least, most = exact_lattice_cost(spec, epsilon, rise, k, location, step)
    assert Fraction(lower) <= least and most <= Fraction(upper)
    assert Fraction(stretched(DiscreteStaircase(epsilon, k, rise, location), step).loss_upper(parse_loss(spec))) >= most
    assert upper - lower <= 1e-11 * upper + 1e-300


@pytest.mark.parametrize("loss", ["l1", "lp:1.5", "exceed:2", "table:-3=4,-1=1,0=0,1=1,3=4"])
@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 3), (0.5, 2), (2.0, 5)])
def test_linear_programs_find_nothing_better_on_a_lattice(loss, epsilon, k):
    """Their multipliers prove the same lower bound without Theorem 8, as far as a program's rows are kept (1e-7)."""
    problem = noise_problem(epsilon, 0.0, k, loss, granularity=1.0)
    found = solve(problem).certificate
    wide = 40.0 * k / epsilon
    limits = Limits(found.upper, 1e-9, time.perf_counter() + 20, lambda: False)
    proved = lower_bound(problem, 1, (-wide, wide), None, limits).bound
    assert proved <= found.upper * (1 + 1e-12)
    assert proved >= found.lower * (1 - 1e-5)


def test_a_loss_that_is_never_met_is_not_called_impossible():
    """P(|X| > 1e6) at ε = 1 is e^−1000000: too small for a float, yet not 0; no program is asked."""
    for step in (None, 1.0):
        solution = solve(noise_problem(1.0, 0.0, 1.0, "exceed:1e6", granularity=step), SolverSettings(time_limit=5))
        assert solution.certificate.lower == 0 < solution.certificate.upper < 1e-290
        assert solution.source == "closed form" and len(solution.trace) <= 3


def test_growth_is_decided_by_values_not_by_slopes():
    """A table that falls by a trifle on a steep ramp does not grow; one that rises does."""
    falls = table([-2, -1.2 - 1e-15, -1.2, 1.2, 1.2 + 1e-15, 2], [1, 0.4999999, 0.5, 0.5, 0.4999999, 1])
    rises = table([-2, -1.2 - 1e-15, -1.2, 1.2, 1.2 + 1e-15, 2], [1, 0.5, 0.4999999, 0.4999999, 0.5, 1])
    assert not falls.grows_from_zero and rises.grows_from_zero
    assert isinstance(rises, Loss) and math.isclose(float(rises.value(3.0)), 1 + 0.5 / 0.8, rel_tol=1e-12)


@pytest.mark.parametrize("epsilon", [2.5, 2.72, 2.9, 3.9, 4.1])
@pytest.mark.parametrize("loss", ["pinball:0.95", "pinball:0.055", "asym:1:19"])
def test_very_uneven_losses_have_a_staircase_that_is_as_good_as_can_be(epsilon, loss):
    """Where one end of the top step depends on the other: 4 to 6 % more were left for good."""
    problem = noise_problem(epsilon, 0.0, 1.0, loss)
    solution = solve(problem, SolverSettings(gap=2e-3, time_limit=30))
    assert solution.certificate.lower <= solution.certificate.upper <= 1.002 * solution.certificate.lower
