"""Theorems 3.4 and 3.7 of [MSVV]: what released plans lose is never above the one, and the other is where it says."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.private_optimization import Model, Planner, PrivateProgram, quality, row_noise, stories
from dpcore.private_optimization.quality import spectral_condition, stable_condition, system
from dpcore.private_optimization.release import sampled_limits

PROGRAMS = (int(os.environ.get("THOROUGH", "0")) and 10_000) or 150


@st.composite
def conditioned(draw) -> PrivateProgram:
    """Diagonal, nonsingular, strongly stable and small bounded systems; linear and quadratic objectives."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    kind = draw(st.sampled_from(["diagonal", "square", "stable", "bounded"]))
    n = int(rng.integers(1, 5))
    m = n if kind in ("diagonal", "square") else int(rng.integers(1, 5))
    if kind == "diagonal":
        matrix = np.diag(rng.uniform(0.2, 4, n))
    elif kind == "square":
        matrix = rng.normal(size=(n, n)) + 2 * np.eye(n)
    else:
        matrix = rng.uniform(0.1, 2, (m, n))  # all rows hold strictly for a small enough x
    # Costs in the cone of the rows: the maximum exists.
    costs = rng.uniform(0, 2, m) @ matrix
    limits = rng.uniform(5, 20, m)
    lower = 0.0 if kind == "bounded" else -math.inf
    guaranteed = limits - rng.uniform(0, 30, m) if kind != "bounded" else np.zeros(m)
    quadratic = None
    if kind == "bounded" and rng.random() < 0.5:
        root = rng.normal(size=(n, n)) * 0.3
        quadratic = -root @ root.T
    model = Model(costs, matrix, np.full(m, -math.inf), limits, lower, math.inf, quadratic, maximise=True)
    rows = np.flatnonzero(rng.random(m) < 0.8)
    rows = rows if rows.size else np.array([0])
    return PrivateProgram(
        model, rows, guaranteed[rows], rng.uniform(0.1, 2), rng.uniform(0.2, 3), 10 ** rng.uniform(-6, -1)
    )


@given(conditioned())
@settings(max_examples=PROGRAMS)
def test_losses_stay_below_theorem_3_4(program):
    planner = Planner(program)
    rng = np.random.default_rng(2)
    best = planner.solve(program.limits, prove=True)
    for key in ("tight", "truncated-laplace"):
        noise = row_noise(program, key)
        sure = quality(program, noise, planner)
        assert sure.bounds, sure.missing
        least = program.private_limits(np.full(len(program.rows), -noise.largest))
        for private in [*sampled_limits(program, noise, 2, rng), least]:
            plan = planner.solve(private)
            loss = best.objective - plan.objective
            assert loss <= min(bound.value for bound in sure.bounds) * (1 + 1e-6) + 1e-6
            assert sure.worst is None or loss <= sure.worst * (1 + 1e-6) + 1e-6


def test_published_constant_of_a_diagonal_system():
    """α_{∞,1} = Σ 1/a_i; with the published s the bound is 2LΔ/ε·Σ 1/a_i·ln(1 + m(e^ε − 1)/δ), and Theorem 3.7 is below
    it."""
    a, eps, delta, big = np.array([0.5, 2.0, 4.0]), 0.7, 1e-3, 3.0
    model = Model(np.ones(3), np.diag(a), np.full(3, -math.inf), np.full(3, 50.0), -math.inf, maximise=True)
    program = PrivateProgram(model, [0, 1, 2], [-50.0] * 3, big, eps, delta)
    sure = quality(program, row_noise(program, "truncated-laplace"))
    published = 2 * big / eps * (1 / a).sum() * math.log(3 * math.expm1(eps) / delta + 1)
    assert sure.bounds[0].value == pytest.approx(published, rel=1e-5)  # exact releases round limits down
    lower = big / (4 * eps) * (1 / a).sum() * math.log(math.expm1(eps) / (2 * delta) + 1)
    assert sure.lower == pytest.approx(lower, rel=1e-9) and sure.lower <= lower
    tight = quality(program, row_noise(program, "tight"))
    assert sure.lower < tight.bounds[0].value < published


def test_smallest_singular_value():
    matrix = np.array([[2.0, 1.0], [0.0, 3.0]])
    model = Model([1.0, 1.0], matrix, [-math.inf] * 2, [5.0, 5.0], -math.inf, maximise=True)
    program = PrivateProgram(model, [0, 1], [-9.0, -9.0], 1.0, 1.0, 1e-3)
    bound = next(b for b in quality(program, row_noise(program, "truncated-laplace")).bounds if b.norm == "ℓ2")
    assert bound.condition == pytest.approx(1 / np.linalg.svd(matrix, compute_uv=False)[-1], rel=1e-9)
    s = math.log(2 * math.expm1(1.0) / 1e-3 + 1)  # Example 3.5
    assert bound.value == pytest.approx(2 * math.sqrt(2) * math.sqrt(2) * s * bound.condition, rel=1e-6)


def test_strongly_stable_by_its_own_linear_program():
    """ᾱ by the primal of [MSVV, Ex. 3.6] and another solver."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(0)
    for _ in range(10):
        m, n = rng.integers(1, 5, 2)
        matrix = rng.uniform(0.1, 2, (m, n)) * np.where(rng.random(n) < 0.5, 1, -1)
        model = Model(np.ones(n), matrix, np.full(m, -math.inf), np.ones(m), -math.inf)
        program = PrivateProgram(model, np.arange(m), np.zeros(m), 1.0, 1.0, 0.1)
        rows, private = system(program)
        costs = -np.concatenate([np.ones(m), np.zeros(n)])
        top = np.hstack([matrix.T, -np.eye(n)])
        low = np.hstack([-matrix.T, -np.eye(n)])
        one = np.concatenate([np.zeros(m), np.ones(n)])[None, :]
        best = linprog(costs, np.vstack([top, low]), np.zeros(2 * n), one, [1.0])
        assert stable_condition(rows, private) == pytest.approx(-best.fun, rel=1e-6)


def test_not_applicable_is_said():
    program = stories.transport(4, 5).program
    sure = quality(program, row_noise(program, "tight"))
    assert sure.bounds == () and "row rank" in sure.missing and sure.lower is None and sure.worst > 0
    equal = Model([1.0, 1.0], [[1.0, 1.0], [1.0, -1.0]], [-math.inf, 0.0], [4.0, 0.0], maximise=True)
    program = PrivateProgram(equal, [0], [1.0], 1.0, 1.0, 0.1)
    assert "equality" in quality(program, row_noise(program, "tight")).missing


def test_objectives_without_a_lipschitz_constant_are_said():
    model = Model([0.0, 0.0], [[1.0, 0.0]], [1.0], [math.inf], -math.inf, quadratic=np.eye(2))
    program = PrivateProgram(model, [0], [2.0], 0.1, 1.0, 0.1)
    assert "not Lipschitz" in quality(program, row_noise(program, "tight")).missing


def test_subsets_of_rows():
    """Rows that nearly depend settle nothing; few enough independent ones do."""
    program = stories.two_products()
    value, method = spectral_condition(system(program)[0])
    assert value > 1 and "subsets" in method
    from scipy import sparse

    value, _ = spectral_condition(sparse.csr_array(np.array([[1.0, 0.0], [1.0, 1e-12], [0.0, 1.0]])))
    assert value is None or value >= 1e11
    # So nearly dependent that floating-point singular values cannot tell: α is about 1e14, not that of the single rows.
    value, _ = spectral_condition(sparse.csr_array(np.array([[1.0, 0.0], [-1.0, 1e-14]])))
    assert value is None or value >= 1e13
    value, _ = spectral_condition(sparse.csr_array(np.array([[1.0, 3.0], [0.5, 1.5]])))  # dependent to the last bit
    assert value == pytest.approx(2 / math.sqrt(10), rel=1e-9)


@pytest.mark.parametrize("room", [0.0, 3.9, 4.0, 50.0])
def test_theorem_3_7_needs_room_for_its_data_sets(room):
    """Its proof moves limits down by ⌊t⌋Δ, here 4Δ; where b − b* is less, the optimum over S* may lose less."""
    model = Model(np.ones(2), np.diag([2.0, 4.0]), np.full(2, -math.inf), np.full(2, 50.0), -math.inf, maximise=True)
    program = PrivateProgram(model, [1, 0], [50.0 - 3.9, 50.0 - room], 1.0, 1.0, 0.01)
    lower = quality(program, row_noise(program, "tight")).lower
    assert (lower is None) == (room < 4)
    if room >= 4:
        # Of the row with a = 2 alone.
        assert lower == pytest.approx(math.log1p(math.expm1(1.0) / 0.02) / 4 / 2, rel=1e-9)
