"""The second quadratic solver answers degenerate programs, with multipliers of the stated signs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dpcore.private_optimization.interior import minimise


def degenerate_program(seed: int):
    """A feasible program with a singular Hessian, rows of small whole numbers, many of them tight at one point."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 30)), int(rng.integers(1, 40))
    factor = rng.normal(size=(int(rng.integers(1, n + 1)), n))
    point, matrix = rng.normal(size=n), rng.integers(-2, 3, size=(m, n)).astype(float)
    at = matrix @ point
    kind = rng.integers(4, size=m)  # at most, at least, between, equal
    room = np.maximum(rng.normal(size=(2, m)), 0.0)
    low = np.where(kind == 3, at, np.where(kind == 0, -np.inf, at - room[0]))
    high = np.where(kind == 3, at, np.where(kind == 1, np.inf, at + room[1]))
    box = np.minimum(point, -3.0), np.maximum(point, 3.0)
    return sparse.csc_array(factor.T @ factor), rng.normal(size=n), sparse.csr_array(matrix), low, high, *box


@pytest.mark.parametrize("seed", range(60))
def test_every_degenerate_program_is_solved_and_its_multipliers_prove_it(seed):
    hessian, costs, matrix, low, high, lower, upper = program = degenerate_program(seed)
    x, y = minimise(*program)
    values = matrix @ x
    assert (values >= low - 1e-8).all() and (values <= high + 1e-8).all()
    # Weak duality of the convex program: y ≥ 0 rests on lower limits, y ≤ 0 on upper ones; the box takes the rest.
    reduced = hessian @ x + costs - matrix.T @ y
    limits = np.where(y > 0, low, np.where(y < 0, high, 0.0))
    assert np.isfinite(limits[np.abs(y) > 1e-8]).all()
    proved = -0.5 * x @ hessian @ x + np.where(np.abs(y) > 1e-8, y * limits, 0.0).sum()
    proved += np.minimum(reduced * lower, reduced * upper).sum()
    assert proved == pytest.approx(0.5 * x @ hessian @ x + costs @ x, abs=1e-6 * (1 + np.abs(y).sum()))


def test_no_answer_where_there_is_none():
    one = sparse.csc_array(np.eye(1))
    row = sparse.csr_array(np.ones((1, 1)))
    limits = np.array([2.0]), np.array([np.inf]), np.array([0.0]), np.array([1.0])  # x ≥ 2 within [0, 1]
    assert minimise(one, np.zeros(1), row, *limits) is None
    assert minimise(one, np.zeros(1), row, np.zeros(1), *limits[1:], seconds=0.0) is None
