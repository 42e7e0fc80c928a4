"""Losses with one threshold: closed bounds on both sides, against the exact value where it is known and other laws."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import log_floats

from dpcore import audit
from dpcore.audit_shape import admitted
from dpcore.export import solution_to_dict
from dpcore.loss import parse_loss
from dpcore.noise.flanked import FlankedNoise
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.whole import TOTAL
from dpcore.optimal import jumps, solve
from dpcore.privacy import Privacy
from dpcore.privacy_profile import PairList
from dpcore.problem import SolverSettings, noise_problem
from dpcore.reload import solution_from_dict


def pure_value(epsilon: float, t: float) -> float:
    """At δ = 0 and sensitivity 1: what the staircase pays whose steps are at t, t + 1, …"""
    n, f, b = math.floor(t), t - math.floor(t), math.exp(-epsilon)
    return b ** (n + 1) / (f + b * (1 - f))


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.02])
@pytest.mark.parametrize("m", [1, 2, 4])
def test_the_value_is_known_where_whole_intervals_fill_the_sensitivity(epsilon, delta, m):
    """2t = 1/m: cells t − 1/m … tile the line, and m shifts of the interval prove (1 − δ)V₀."""
    t = 1 / (2 * m)
    found = noise_problem(epsilon, delta, 1.0, f"exceed:{t!r}")
    exact = (1 - delta) * pure_value(epsilon, t)
    lower = jumps.exceed_lower(found)
    upper = min(audit.loss_upper(law, found.loss) for law in jumps.cut_staircases(found))
    assert lower <= exact <= upper * (1 + 1e-12)
    assert upper - exact <= (3e-6 if m == 1 or delta > jumps.NO_MATTER else 1.0) * delta + 1e-12
    assert exact - lower <= 2 * delta * pure_value(epsilon, t) * (1 + 1e-9) + 1e-12


@given(log_floats(0.05, 20), log_floats(1e-12, 0.3), st.integers(1, 500), st.sampled_from([1.0, 0.1, 3.0]))
@example(8.509414217922158, 1.6907262941867465e-11, 310, 1.0)
@example(6.189, 4.24e-12, 492, 1.0)
def test_the_closed_laws_keep_their_promise_and_cost_no_less_than_the_bound(epsilon, delta, hundredths, D):
    problem = noise_problem(epsilon, delta, D, f"exceed:{hundredths / 100 * D!r}")
    lower = jumps.exceed_lower(problem)
    endless = jumps.endless_staircase(problem)
    for law in (*jumps.cut_staircases(problem), *([endless] if endless else [])):
        assert audit.shortfall_upper(law, epsilon)[0] <= delta
        assert audit.loss_upper(law, problem.loss) >= lower


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss"),
    [
        (1.0, 0.2, "exceed:0.4"), (0.2, 0.05, "exceed:1.5"), (3.0, 0.1, "exceed:0.9"), (1.0, 0.01, "exceed:2"),
        (6.0, 0.3, "exceed:0.2"), (0.05, 0.3, "exceed:3"),
    ],
)  # fmt: skip
def test_no_law_of_the_programs_undercuts_the_bound(epsilon, delta, loss):
    found = solve(noise_problem(epsilon, delta, 1.0, loss), SolverSettings(gap=1e-3, time_limit=1))
    assert jumps.exceed_lower(found.problem) <= found.certificate.upper


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss"),
    [
        (0.1, 1.7e-9, "exceed:0.55"), (5.9, 2.2e-8, "exceed:0.48"), (0.01, 1e-5, "exceed:0.221"),
        (4.78, 4.12e-10, "exceed:4.84"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("monotone", [False, True])
def test_small_delta_needs_no_program(epsilon, delta, loss, monotone):
    found = solve(noise_problem(epsilon, delta, 1.0, loss, monotone=monotone))
    assert found.certificate.gap <= 1e-3 and found.source == "closed form"


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "delta", "t"),
    [(18.2, 2.72e-10, 1.85), (18.2, 1e-12, 1.85), (19.2, 1e-12, 2.0), (19.2, 4.59e-9, 1.3), (17.0, 1e-12, 1.05)],
)
def test_rare_errors_are_not_rounded_to_whole_weights(epsilon, delta, t, monotone):
    """They are fewer than 1e-13, whole numbers of 2^−62: the bounds meet all the same, and in exact arithmetic no
    shift uncovers more than δ."""
    problem = noise_problem(epsilon, delta, 1.0, f"exceed:{t!r}", monotone=monotone)
    law = jumps.endless_staircase(problem)
    lower, upper = jumps.exceed_lower(problem), audit.loss_upper(law, problem.loss)
    assert isinstance(law, FlankedNoise) and admitted(law, problem) is not None
    assert 0 < lower <= upper <= lower * (1 + 1e-4) < 1e-13
    growth = Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**15))
    assert all(uncovered(law, law.core.resolution // parts, growth) <= delta for parts in (1, 2, 7))


def test_laws_that_need_no_error_have_none():
    """A staircase may end before the threshold: none that goes on for ever is offered in its place."""
    problem = noise_problem(17, 1e-12, 1.0, "exceed:2.05")
    (law,) = jumps.cut_staircases(problem)
    assert audit.loss_upper(law, problem.loss) == 0 and jumps.endless_staircase(problem) is None


def test_next_to_a_profile_laws_end():
    """A saved law is read again with its profile."""
    pairs = PairList((Privacy(17, 1e-10), Privacy(19.2, 1e-12)))
    found = solve(noise_problem(17, 1e-10, 1.0, "exceed:1.3", profile=pairs), SolverSettings(time_limit=1))
    assert isinstance(found.noise, PiecewiseNoise)
    assert solution_from_dict(solution_to_dict(found)).noise.name == found.noise.name


def uncovered(law: FlankedNoise, shift: int, growth: Fraction) -> Fraction:
    """What a shift by so many units leaves uncovered, in exact arithmetic, and what is farther out than two periods."""
    core, q, (left, right), on = law.core, Fraction(law.ratio_weight, TOTAL), law.flanks, law.core.resolution
    own, breaks = [Fraction(w, TOTAL) for w in core.weights.tolist()], core.breaks.tolist()
    cells = []
    for i, (mass, ends) in enumerate(zip(own, zip(breaks, breaks[1:]))):
        side = (i >= len(own) - right) - (i < left)
        for g in range(3 if side else 1):
            share = q**g * (1 - q) if side else 1
            cells.append((ends[0] + side * g * on, ends[1] + side * g * on, mass * share / (ends[1] - ends[0])))
    points = sorted({x + move for a, b, _ in cells for x in (a, b) for move in (0, shift)})

    def height(x: Fraction) -> Fraction:
        return next((h for a, b, h in cells if a < x < b), Fraction(0))

    total = (sum(own[:left]) + sum(own[-right:])) * q**3
    for a, b in zip(points, points[1:]):
        middle = Fraction(a + b, 2)
        total += max(Fraction(0), height(middle) - growth * height(middle - shift)) * (b - a)
    return total


@pytest.mark.parametrize("loss", ["l1", "pinball:0.3", "table:-1=1,0=0,1=1"])
def test_other_losses_have_no_threshold(loss):
    assert jumps.threshold(parse_loss(loss)) is None


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows", "support"),
    [
        (14.4, 2.08e-8, "-2.9=1.9,-1.2=0.2,-1=0,0=0,1=0,1.2=0.2,2.9=1.9", (-5.412, 6.85)),
        (5, 1e-6, "-3=1,-2=0,0=0,0.5=0,1=2", (-math.inf, math.inf)),
        (1, 0.01, "-3=1,-2=0.1,-1=0,0=0,0.5=0,1=2", (-math.inf, 0.7)),
    ],
)
def test_a_loss_is_at_least_a_sum_of_layers(epsilon, delta, rows, support):
    """Below a law's loss; and of a loss with a threshold, up to its size, the threshold's bound."""
    problem = noise_problem(epsilon, delta, 1.0, f"table:{rows}", support=support)
    lower, proof = jumps.layers_lower(problem), solve(problem, SolverSettings(gap=0.05, time_limit=3)).certificate
    assert 0 < lower <= proof.upper
    assert proof.lower >= lower


def test_a_steep_ramp_is_nearly_a_threshold():
    threshold = noise_problem(2, 1e-4, 1.0, "exceed:1.25")
    ramp = noise_problem(2, 1e-4, 1.0, "table:-9=1,-1.2500001=1,-1.25=0,0=0,1.25=0,1.2500001=1,9=1")
    far = noise_problem(2, 1e-4, 1.0, "exceed:1.29")
    assert jumps.exceed_lower(far) <= jumps.layers_lower(ramp) <= jumps.exceed_lower(threshold) * (1 + 1e-9)
    assert jumps.layers_lower(noise_problem(2, 1e-4, 1.0, "l1")) == 0
