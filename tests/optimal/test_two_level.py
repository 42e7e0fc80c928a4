"""The closed lower bound for large ε: its dual function, its place below every law, its distance from the optimum."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import log_floats

from dpcore.loss import parse_loss, table
from dpcore.mechanisms import baselines
from dpcore.optimal import solve
from dpcore.optimal.additive import Search
from dpcore.optimal.laws import best_staircase
from dpcore.optimal.two_level import open_level, two_level_lower
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem

LEVEL_LEFT = "table:-3.3=1.24,-3.2=1.24,-0.72=0,0=0,0.51=1.02,1.8=2.31"
GROWING = ["l1", "l2", "lp:1.5", "lp:3", "huber:0.5", "exceed:0.3", "asym:2:2"]


@given(st.floats(0.5, 20), log_floats(1e-12, 0.9), log_floats(1e-2, 1e2), st.sampled_from(GROWING))
def test_no_textbook_law_costs_less(epsilon, delta, sensitivity, loss):
    problem = noise_problem(epsilon, delta, sensitivity, loss)
    lower = two_level_lower(problem)
    assert 0 <= lower
    for entry in baselines(problem):
        if entry.valid and entry.loss is not None:
            assert lower <= entry.loss * (1 + 1e-9), entry.name  # 1e-9: closed forms of textbook losses round


@given(st.floats(1, 20), log_floats(1e-12, 0.99), log_floats(1e-3, 1e3))
def test_absolute_error_has_a_formula(epsilon, delta, sensitivity):
    formula = (1 - delta) * sensitivity / (1 + math.sqrt(1 + math.exp(epsilon)))
    lower = two_level_lower(noise_problem(epsilon, delta, sensitivity))
    assert formula * (1 - 2e-12) <= lower <= formula  # no slack beyond rounding


@pytest.mark.parametrize("epsilon", [1.0, 3.0, 6.0, 8.0])
def test_the_dual_function_is_feasible(epsilon):
    """D(x) = |x| + Y(x) − E (π∗Y)(x) ≥ g for the π of the proof, integrated numerically."""
    E = math.exp(epsilon)
    g = 1 / (1 + math.sqrt(1 + E))
    phi = np.linspace(2 * g, 1, 20001)
    density = (phi - g) / (E * g * g)
    total = 2 * np.trapezoid(density, phi)
    assert total == pytest.approx(1, rel=1e-7)
    for x in np.concatenate([np.linspace(0, 1.5, 301), g * np.linspace(0.9, 3.5, 60)]):
        cover = np.trapezoid(density * np.maximum(0, g - abs(x - phi)), phi)
        value = x + max(0.0, g - x) - E * cover
        assert value >= g * (1 - 1e-3)  # steps of 1/20000 against a peak of 2g > 1/50: a thousandth, squared, and kinks


@pytest.mark.parametrize(("epsilon", "delta"), [(14, 0.3), (16, 0.2), (18, 1e-6), (20, 0.9)])
def test_bracket_closes_where_lattices_cannot_follow(epsilon, delta):
    """(1 + e^(−ε/2)) is the ratio of the two closed forms."""
    certificate = solve(noise_problem(epsilon, delta), SolverSettings(time_limit=5)).certificate
    assert certificate.gap <= 1e-3


def test_other_losses_get_nothing():
    assert two_level_lower(noise_problem(10, 0.1, 1, "pinball:0.8")) == 0
    assert two_level_lower(noise_problem(10, 0.1, 1, parse_loss("table:-2=1,-1=0,0=1,1=0,2=1"))) == 0


def interpolated(points: list[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    """An even table, the first value around 0, the last slope continued."""
    x = abs(x)
    if x <= points[0][0]:
        return points[0][1]
    i = min(max(sum(a < x for a, _ in points), 1), len(points) - 1)
    (a, low), (b, high) = points[i - 1 : i + 1]
    return low + (high - low) * (x - a) / (b - a)


def integral(points: list[tuple[Fraction, Fraction]], lo: Fraction, hi: Fraction) -> Fraction:
    cuts = sorted({lo, hi, *(a for a, _ in points if lo < a < hi)})
    return sum((interpolated(points, a) + interpolated(points, b)) * (b - a) / 2 for a, b in zip(cuts, cuts[1:]))


def exact_bound(points: list[tuple[Fraction, Fraction]], epsilon: float, delta: float) -> Fraction:
    """(1 − δ) c(g) + δ c(0) for the largest g that the theorem allows, D = 1, in fractions."""
    with mpmath.workdps(50):
        E = Fraction(mpmath.nstr(mpmath.exp(mpmath.mpf(epsilon)), 45))

    def covered(g: Fraction) -> bool:
        level = interpolated(points, g)
        peak = 2 * (g * level - integral(points, Fraction(0), g))
        return 2 * (integral(points, g, 1 - g) - (1 - 2 * g) * level) >= E * peak

    places = [Fraction(1, 2), *(a for a, _ in reversed(points) if a < Fraction(1, 2)), Fraction(0)]
    low, high = next((lo, hi) for hi, lo in zip(places, places[1:]) if lo == 0 or covered(lo))
    for _ in range(120):
        middle = (low + high) / 2
        low, high = (middle, high) if covered(middle) else (low, middle)
    exact_delta = Fraction(repr(delta))
    return (1 - exact_delta) * interpolated(points, high) + exact_delta * points[0][1]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(1, 150), st.integers(0, 5)), min_size=2, max_size=5, unique_by=lambda pair: pair[0]),
    st.sampled_from([0, 3, 9, 15]),
    st.floats(0.5, 20),
    st.sampled_from([0.0, 1e-9, 0.2]),
)
@example(rises=[(1, 0), (38, 0)], ramp=0, epsilon=13.0, delta=0.0)  # a level of 1e-7 of the loss at the bound's g
@example(rises=[(1, 0), (40, 0)], ramp=0, epsilon=17.0, delta=0.0)  # and one of 1e-8
def test_the_bound_is_the_theorem_s_rounded_down(rises, ramp, epsilon, delta):
    """Tables with ramps down to a relative width of 1e-15: sums that cancel cost the bound, never its truth."""
    points, level = [(Fraction(0), Fraction(0))], Fraction(0)
    for at, rise in sorted(rises):
        start = Fraction(at, 100)
        points.append((start, level := level + rise))
        if ramp:
            points.append((start * (1 + Fraction(3, 10**ramp)), level := level + rise))
    points.append((Fraction(2), level + 1))
    floats = [(float(x), float(y)) for x, y in points]
    mirrored = [(-x, y) for x, y in reversed(floats[1:])] + floats
    loss = table(*zip(*mirrored))
    exact = exact_bound([(Fraction(repr(x)), Fraction(repr(y))) for x, y in floats], epsilon, delta)
    lower = two_level_lower(noise_problem(epsilon, delta, 1.0, loss))
    assert Fraction(lower) <= exact
    # e^ε times an integral is the difference that counts, and costs err by some units of their terms, up to c(2D)
    rounding = 64 * 2.0**-53 * max(math.exp(epsilon), float(points[-1][1] / exact) if exact else 0.0)
    assert ramp or lower >= float(exact) * (1 - max(1e-7, rounding))


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec"),
    [
        (20, 1e-9, "asym:1:3"),
        (19, 0.3, "pinball:0.97"),
        (18, 1e-6, "table:-1=3,-0.3=0.2,0=0,2=5"),
        (16, 0.01, "pinball:0.2"),
    ],
)
def test_losses_that_are_not_even(epsilon: float, delta: float, spec: str) -> None:
    """Close below the best staircase with an atom, and the mirror image has the same bound."""
    problem = NoiseProblem(Privacy(epsilon, delta), 1.0, parse_loss(spec))
    upper = (1 - delta) * best_staircase(problem).expected_loss(problem.loss)
    lower = two_level_lower(problem)
    assert upper / 1.001 <= lower <= upper
    mirrored = replace(problem, loss=problem.loss.mirrored)
    assert two_level_lower(mirrored) == pytest.approx(lower, rel=1e-9)


def test_the_peak_of_a_table_is_covered() -> None:
    """The condition of theorem 7 at the level proved, by quadrature; and D ≥ ℓ on a grid."""
    epsilon, spec = 12.0, "table:-1=3,-0.3=0.2,0=0,2=5"
    loss = parse_loss(spec)
    level = two_level_lower(NoiseProblem(Privacy(epsilon, 1e-12), 1.0, loss))
    x = np.linspace(-1.5, 1.5, 600_001)
    c = loss.value(x)
    inside = x[c < level]
    left, right = -inside[0], inside[-1]
    peak = np.maximum(level - c, 0).sum() * (x[1] - x[0])
    covers = [np.where((x >= a) & (x <= 1 - b), c - level, 0).sum() for a, b in ((right, left),)]
    covers += [np.where((-x >= left) & (-x <= 1 - right), c - level, 0).sum()]
    assert sum(covers) * (x[1] - x[0]) >= np.exp(epsilon) * peak * (1 - 1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0193, 0.231), (0.5, 1e-3), (2.0, 0.6)])
@pytest.mark.parametrize("side", [1, -1])
def test_a_uniform_law_without_end_is_optimal_where_its_level_is_covered(epsilon, delta, side):
    """The loss stays at .07 on one side and rises to 1.93 on the other."""
    rows = [(-3.8, 1.93), (-1.1, 1.93), (-0.18, 0.09), (0, 0), (0.12, 0), (0.19, 0.07), (6.7, 0.07)]
    problem = noise_problem(
        epsilon, delta, 1.0, table([side * x for x, _ in rows][::side], [c for _, c in rows][::side])
    )
    proof = solve(problem).certificate
    assert two_level_lower(problem) == pytest.approx((1 - delta) * 0.07, rel=1e-11)
    assert two_level_lower(problem) <= (1 - delta) * 0.07 <= proof.upper <= proof.lower * 1.001


def test_a_level_that_shifts_cannot_cover_proves_nothing():
    """As much room below .07 as within a sensitivity above it: there is a law that costs less."""
    loss = table([-2, -1, -0.6, 0, 0.6, 0.7, 5], [0.14, 0.14, 0, 0, 0, 0.07, 0.07])
    problem = noise_problem(0.5, 0.01, 1.0, loss)
    assert two_level_lower(problem) == 0
    assert solve(problem, SolverSettings(gap=1e-2)).certificate.upper < 0.98 * (1 - 0.01) * 0.07


@pytest.mark.parametrize("spec", ["table:-2=0.25,-1.75=0.25,0=0,0.25=0.5", "table:-0.25=0.5,0=0,1.75=0.25,2=0.25"])
def test_a_level_that_is_reached_far_out_proves_nothing(spec: str) -> None:
    """Half a sensitivity away from 0 the loss is .07, below its level of .25; a plateau costs .1504."""
    problem = NoiseProblem(Privacy(1.0, 0.36787944117144233), 1.0, parse_loss(spec))
    assert open_level(problem) == pytest.approx(0.25)
    assert two_level_lower(problem) == 0
    assert two_level_lower(replace(problem, loss=parse_loss("table:-2=0.25,-0.2=0.25,0=0,0.25=0.5"))) > 0


@pytest.mark.parametrize(
    ("epsilon", "delta", "more"),
    [(0.00889, 2.26e-10, {"support": (-0.271, math.inf)}), (0.00222, 2.41e-12, {"monotone": True})],
)
def test_a_level_towards_one_open_end_is_reached(epsilon, delta, more):
    """Beyond an end of the support no law is; small groups do not cover what is below the level, larger ones do."""
    loss = parse_loss("table:-1=0.09,-0.2=0.09,0=0,0.27=0.54,3.1=0.54" if "support" in more else LEVEL_LEFT)
    problem = NoiseProblem(Privacy(epsilon, delta), 1.0, loss, **more)
    level = open_level(problem)
    certificate = Search(problem, SolverSettings()).first().certificate
    assert level * (1 - 1e-6) < certificate.lower <= certificate.upper < level * (1 + 1e-6)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), min_size=1, max_size=4, unique_by=lambda pair: pair[0]),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), min_size=1, max_size=4, unique_by=lambda pair: pair[0]),
    st.tuples(st.booleans(), st.booleans()),
    st.floats(0.05, 14),
    st.floats(1e-6, 0.7),
    st.sampled_from([0, 1, 4, 20, 50]),
)
def test_no_law_costs_less(left, right, level, epsilon, delta, end):
    """Rises on either side of 0, places in twentieths of a sensitivity, that may end in a level: of closed bounds and
    laws no bound is above a law's cost, or a certificate would be refused."""
    points = {0.0: 0.0}
    for rises, sign, stays in ((left, -1, level[0]), (right, 1, level[1])):
        value = 0
        for at, rise in sorted(rises):
            points[sign * at / 20] = float(value := value + rise)
        if stays:
            points[sign * (max(rises)[0] + 1) / 20] = float(value)
    support = (-end / 20 if end and level[1] else -math.inf, end / 20 if end and not level[1] else math.inf)
    problem = NoiseProblem(Privacy(epsilon, delta), 1.0, table(*zip(*sorted(points.items()))), support=support)
    certificate = Search(problem, SolverSettings()).first().certificate
    assert two_level_lower(problem) <= certificate.lower <= certificate.upper
