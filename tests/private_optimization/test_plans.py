"""Plans keep every limit exactly, and nothing that is claimed about the optimum is the solver's word."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dpcore.errors import InfeasibleError, InputError
from dpcore.private_optimization import (
    FEASIBLE,
    Model,
    Planner,
    PrivateProgram,
    quality,
    row_noise,
    simulate,
    stories,
)
from dpcore.private_optimization.duality import implied_box
from dpcore.private_optimization.feasibility import Checker
from dpcore.private_optimization.release import sampled_limits

THOROUGH = int(os.environ.get("THOROUGH", "0"))

STORIES = {
    "transport": lambda: stories.transport(4, 5).program,
    "portfolio": stories.portfolio,
    "advertising": lambda: stories.advertising(12, 4, granularity=10.0),
    "picture": stories.two_products,
}


def exactly_kept(model: Model, x: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether the plan keeps every limit, in fractions, entry by entry."""
    dense = model.matrix.toarray()
    for a, lo, hi in zip(dense.tolist(), low.tolist(), high.tolist()):
        value = sum(Fraction(c) * Fraction(v) for c, v in zip(a, x.tolist()) if c and v)
        if (lo > -math.inf and value < Fraction(lo)) or (hi < math.inf and value > Fraction(hi)):
            return False
    return bool((x >= model.lower).all() and (x <= model.upper).all())


@functools.cache
def noise_of(story: str, key: str):
    """As good as a second of solving makes it: privacy and limits do not depend on that."""
    return row_noise(STORIES[story](), key, gap=0.02, time_limit=2.0)


def mechanisms(program: PrivateProgram) -> list[str]:
    real = len(program.rows) > 1 and program.granularity is None
    return [key for key in FEASIBLE if not (real and key == "optimal")]


@pytest.mark.parametrize("story", STORIES)
def test_plans_keep_the_true_limits(story):
    """10 000 draws with THOROUGH; fewer otherwise."""
    program = STORIES[story]()
    low, high = program.row_limits(program.limits)
    planner = Planner(program, time_limit=600)
    for key in mechanisms(program):
        run = simulate(
            program, noise_of(story, key), draws=10_000 if THOROUGH else 25, keep_plans=True, planner=planner
        )
        assert not run.violated.any() and not run.infeasible and not run.excess.any()
        for limits, x in zip(run.limits, run.plans):
            assert exactly_kept(program.model, x, *program.row_limits(limits))
            assert exactly_kept(program.model, x, low, high)
        assert run.shrunk.max() < 1e-5
        assert (program.model.sign * (run.objectives - run.optimum.best) >= 0).all()


@pytest.mark.parametrize("story", STORIES)
def test_a_million_released_limits(story):
    program = STORIES[story]()
    draws = (1_000_000 if THOROUGH else 200_000) // len(program.rows) // len(mechanisms(program)) + 1
    for key in mechanisms(program):
        released = sampled_limits(program, noise_of(story, key), draws, np.random.default_rng(7))
        signed = program.signs * released
        assert (signed <= program.signs * program.limits).all()
        assert (signed >= program.signs * program.guaranteed).all()


def test_baselines_violate_and_are_told_apart():
    program = stories.transport(4, 5).program
    for key in ("laplace", "gaussian"):
        run = simulate(program, row_noise(program, key), draws=200)
        share = run.violated.sum() / (200 * 5)
        assert 0.4 < share < 0.6
        assert (run.excess[run.violated > 0] > 0).all()


@pytest.mark.parametrize("delta, epsilon", [(0.3, 0.01), (0.01, 0.1)])
def test_shifted_laplace_violates_as_often_as_its_tail_says(delta, epsilon):
    """P(Laplace > s) = ½/(1 + m(e^ε − 1)/δ): a large share at small ε [MSVV, Fig. 4]."""
    program = stories.transport(3, 10, epsilon=epsilon, delta=delta, most_patients=10**6).program
    run = simulate(program, row_noise(program, "laplace-shifted"), draws=400, seed=3)
    expected = 0.5 / (1 + 10 * math.expm1(epsilon) / delta)
    assert run.violated.sum() / 4000 == pytest.approx(expected, abs=4 * math.sqrt(expected / 4000))


@st.composite
def programs(draw, quadratic: bool = False) -> PrivateProgram:
    """Small random programs with a bounded feasible region around a known point."""
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    scale = 10.0 ** rng.integers(-3, 6)
    matrix = rng.integers(-4, 5, (m, n)) * rng.choice([1.0, 0.1, 1 / 3])
    point = rng.random(n) * scale
    room = (0.2 + rng.random(m)) * scale
    upward = rng.random(m) < 0.4
    value = matrix @ point
    private = rng.random(m) < 0.6
    private[rng.integers(m)] = True
    guaranteed = np.where(upward, value - 0.1 * scale, value + 0.1 * scale)
    limits = np.where(upward, guaranteed - room, guaranteed + room)
    q = None
    maximise = bool(rng.integers(2))
    if quadratic:
        root = rng.normal(size=(n, max(1, n - 1)))
        q = root @ root.T * (-1 if maximise else 1) / scale
    model = Model(
        rng.integers(-5, 6, n).astype(float),
        matrix,
        np.where(upward, limits, -math.inf),
        np.where(upward, math.inf, limits),
        upper=5 * scale,
        quadratic=q,
        maximise=maximise,
    )
    rows = np.flatnonzero(private)
    return PrivateProgram(
        model, rows, guaranteed[rows], 0.05 * scale, draw(st.floats(0.1, 4)), draw(st.sampled_from([1e-6, 1e-2]))
    )


@given(st.booleans().flatmap(lambda q: programs(q)))
@settings(max_examples=120)
def test_random_programs(program):
    planner = Planner(program)
    model = program.model
    rng = np.random.default_rng(1)
    limits = sampled_limits(program, row_noise(program, "tight"), 3, rng)
    for private in [program.limits, *limits, program.guaranteed]:
        plan = planner.solve(private, prove=True)
        low, high = program.row_limits(private)
        assert plan is not None and exactly_kept(model, plan.x, low, high)
        assert plan.best is not None
        assert model.sign * plan.best <= model.sign * plan.objective
        size = abs(plan.objective) + np.abs(model.costs).max() * 5 * float(np.max(model.upper)) + 1e-9
        # 1e-9: HiGHS works to absolute tolerances, and a program may be tiny.
        assert model.sign * (plan.objective - plan.best) <= 1e-5 * size + 1e-9
        if model.quadratic is None:
            a = model.matrix.toarray()
            rows = np.vstack([a[np.isfinite(high)], -a[np.isfinite(low)]])
            rhs = np.concatenate([high[np.isfinite(high)], -low[np.isfinite(low)]])
            other = linprog(model.sign * model.costs, rows, rhs, bounds=list(zip(model.lower, model.upper)))
            assert model.sign * other.fun == pytest.approx(plan.objective, abs=1e-6 * size)


@given(programs())
@settings(max_examples=40)
def test_proved_optima_hold_for_any_multipliers(program):
    planner = Planner(program)
    low, high = program.row_limits(program.limits)
    best = planner.solve(program.limits, prove=True)
    rng = np.random.default_rng(5)
    for _ in range(5):
        y = rng.normal(size=len(low)) * rng.exponential(3)
        x = np.clip(rng.normal(size=len(best.x)), program.model.lower, program.model.upper)
        bound = planner.proved(x, y, low, high)
        assert bound is None or program.model.sign * bound <= program.model.sign * best.objective


@given(programs())
@settings(max_examples=40)
def test_the_box_contains_every_plan(program):
    model = replace(program.model, upper=math.inf)
    low, high = program.row_limits(program.limits)
    lo, hi = implied_box(model, low, high)
    a = model.matrix.toarray()
    rows = np.vstack([a[np.isfinite(high)], -a[np.isfinite(low)]])
    rhs = np.concatenate([high[np.isfinite(high)], -low[np.isfinite(low)]])
    for i in range(a.shape[1]):
        unit = np.eye(a.shape[1])[i]
        for sign, end in ((1, lo[i]), (-1, -hi[i])):
            found = linprog(sign * unit, rows, rhs)
            if found.status == 0:
                assert end <= found.fun + 1e-7 * (1 + abs(found.fun))
            elif found.status == 3:
                assert end == -math.inf


def test_an_offset_far_above_the_rest_is_in_the_proof():
    """Added to the objective it costs digits, which the certified optimum must allow for."""
    model = Model([1 / 3, 0.1], [[1.0, 1.0]], [-math.inf], [7.7], maximise=True, offset=1e12)
    program = PrivateProgram(model, [0], [1.0], 1.0, 1.0, 0.01)
    plan = Planner(program).solve(program.limits, prove=True)
    exact = Fraction(1 / 3) * Fraction(float(plan.x[0])) + Fraction(0.1) * Fraction(float(plan.x[1])) + 10**12
    assert exact <= Fraction(plan.best) <= exact + Fraction(1, 100)


@pytest.mark.parametrize("unit", [1e-5, 1.0, 1e6])
def test_units_do_not_matter(unit):
    """Minimise ½‖x − target‖² over x₁ + x₂ ≤ limit: solvers' tolerances are absolute."""
    model = Model(
        [-3.0 * unit, -2.0 * unit],
        [[1.0, 1.0], [1.0, -1.0]],
        [-math.inf] * 2,
        [4 * unit, 9 * unit],
        quadratic=np.eye(2),
    )
    program = PrivateProgram(model, [0], [unit], unit / 10, 1.0, 0.01)
    plan = Planner(program).solve(program.limits, prove=True)
    assert plan.x / unit == pytest.approx([2.5, 1.5], rel=1e-6)
    assert plan.objective - plan.best <= 1e-9 * unit**2


def test_proved_optima_allow_for_what_equality_rows_are_missed_by():
    """Plans keep an equality row up to a tolerance, also on the side that pays: the bound holds for those too."""
    model = Model([1.0, 0.0], [[1.0, 1.0], [1.0, 0.0]], [1.0, -math.inf], [1.0, 2.0], maximise=True)
    planner = Planner(PrivateProgram(model, [1], [1.5], 1.0, 1.0, 0.01))
    plan = planner.solve(planner.program.limits, prove=True)
    limits = planner.program.row_limits(planner.program.limits)
    over = np.array([1 + 1.2e-8, 0.0])  # 1e-9·((2·2 + 8)·1 + 1) is allowed
    assert planner.checker.keeps(over, *limits) and not planner.checker.keeps(over * (1 + 2e-9), *limits)
    assert model.objective(over) <= plan.best <= 1 + 1e-7


def test_proved_optima_are_about_the_limits_they_are_made_for():
    """Limits above the true ones: no multipliers, so the box alone proves, and it is that of these limits."""
    model = Model([1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]], [-math.inf] * 2, [1.0, 1.0], maximise=True)
    program = PrivateProgram(model, [0, 1], [0.5, 0.5], 1.0, 1.0, 0.01)
    planner = Planner(program)
    plan = planner.solve(np.array([3.0, 4.0]), prove=True)
    low, high = program.row_limits(np.array([3.0, 4.0]))
    assert plan.objective == pytest.approx(7.0) and plan.best >= plan.objective
    assert planner.proved(plan.x, np.zeros(2), low, high) >= 7.0


def test_the_curvature_is_in_the_rounding_of_a_proof():
    """A form that rounding makes look concave costs κ‖z − x‖², whose own rounding the bound allows for."""
    model = Model([1.0, 0.0], [[1.0, 1.0]], [-math.inf], [1e6], 0.0, 1e6, quadratic=np.array([[1.0, 1.0], [1.0, 1.0]]))
    program = PrivateProgram(model, [0], [1e5], 1.0, 1.0, 0.01)
    plan = Planner(program).solve(program.limits, prove=True)
    assert model.curvature_lower < 0 and plan.best is not None and plan.best <= 0.0 <= plan.objective


def test_objectives_of_any_size_are_proved():
    model = Model([1e9], [[1.0]], [-math.inf], [1e9], -math.inf, maximise=True)
    program = PrivateProgram(model, [0], [1e8], 1.0, 1.0, 0.01)
    plan = Planner(program).solve(program.limits, prove=True)
    assert plan.objective == pytest.approx(1e18, rel=1e-8) and (plan.best is None or plan.best >= 1e18)


def test_checker_tells_an_ulp():
    model = Model(np.ones(2), [[1.0, 1.0]], [-math.inf], [0.3])
    checker, none = Checker(model), np.array([-math.inf])
    assert 0.1 + 0.2 > 0.3 and Fraction(0.1) + Fraction(0.2) > Fraction(0.3)
    assert not checker.keeps(np.array([0.1, 0.2]), none, np.array([0.3]))
    assert checker.keeps(np.array([0.1, math.nextafter(0.2, 0)]), none, np.array([0.3]))
    assert not checker.keeps(np.array([-1e-300, 0.2]), none, np.array([0.3]))
    assert not checker.keeps(np.array([math.nan, 0.2]), none, np.array([0.3]))


# δ = 0, and what cannot be solved ---------------------------------------------------------------------------


def test_pure_privacy_returns_the_optimum_over_all_data_sets():
    program = replace(stories.two_products(), delta=0.0, guaranteed=np.array([20.0, 30.0]))
    run = simulate(program, None, keep_plans=True)
    assert len(run.objectives) == 1
    best = linprog([-3, -2], [[1, 1], [2, 0.5]], [20, 30], bounds=[(0, None), (0, 50)])
    assert run.objectives[0] == pytest.approx(-best.fun, rel=1e-8)


def test_empty_intersection_names_the_rows():
    model = Model(
        np.ones(2),
        [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, -1.0]],
        [-math.inf, 1.0, 2.0, -math.inf],
        [10.0, math.inf, math.inf, 50.0],
        row_names=("budget", "need A", "need B", "other"),
    )
    program = PrivateProgram(model, np.array([0]), np.array([2.0]), 1.0, 1.0, 1e-3)
    with pytest.raises(InfeasibleError) as refused:
        Planner(program)
    message = str(refused.value)
    assert all(name in message for name in ("budget", "need A", "need B")) and "other" not in message
    Planner(replace(program, guaranteed=np.array([4.0])))


def test_unbounded_is_said():
    model = Model([1.0, 1.0], [[1.0, 0.0]], [-math.inf], [5.0], maximise=True)
    program = PrivateProgram(model, [0], [1.0], 1.0, 1.0, 1e-3)
    with pytest.raises(InputError, match="objective = unbounded"):
        simulate(program, row_noise(program, "tight"), draws=2)


def test_time_is_kept():
    with pytest.raises(TimeoutError):
        Planner(stories.transport(10, 10).program, time_limit=1e-9)


def test_a_simulation_can_be_stopped():
    program = stories.transport(3, 3).program
    run = simulate(program, row_noise(program, "tight"), draws=500, progress=lambda done, wanted: done >= 16)
    assert len(run.objectives) == 16 and run.wanted == 500


def test_worst_case_is_never_exceeded():
    for name in ("transport", "advertising", "picture", "portfolio"):
        program = STORIES[name]()
        planner = Planner(program)
        noise = row_noise(program, "tight")
        sure = quality(program, noise, planner)
        run = simulate(program, noise, draws=200, planner=planner)
        assert run.losses.max() <= sure.worst * (1 + 1e-6)
