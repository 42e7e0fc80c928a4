"""Lower bounds for E‖X‖₁ in the plane against the whole program on small grids, laws and the line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from dpcore.isotropic import plane, square
from dpcore.isotropic.problem import IsotropicProblem, RadialLoss
from dpcore.isotropic.search import solve
from dpcore.noise.gaussian import Gaussian
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings


def whole_program(privacy: Privacy, resolution: int, half: int) -> float:
    """The least E‖R‖₁ of laws on the points |i|∞ ≤ half of the grid, under all of its shifts: no symmetry is used."""
    axis = range(-half, half + 1)
    points = {(x, y): number for number, (x, y) in enumerate((x, y) for x in axis for y in axis)}
    steps = range(-resolution, resolution + 1)
    shifts = [(i, j) for i in steps for j in steps if 0 < i * i + j * j <= resolution**2]
    n, slacks, rows = len(points), 0, []
    limits = []
    for limit, (i, j) in enumerate(shifts):
        for (x, y), number in points.items():
            rows.append((number, points.get((x - i, y - j)), n + slacks))
            limits.append((limit, n + slacks))
            slacks += 1
    entries = []
    for row, (event, cover, slack) in enumerate(rows):
        entries += [(row, event, 1.0), (row, slack, -1.0)]
        entries += [] if cover is None else [(row, cover, -math.exp(privacy.epsilon))]
    entries += [(len(rows) + limit, slack, 1.0) for limit, slack in limits]
    at, columns, values = zip(*entries)
    matrix = coo_matrix((values, (at, columns)), shape=(len(rows) + len(shifts), n + slacks))
    most = np.concatenate([np.zeros(len(rows)), np.full(len(shifts), privacy.delta)])
    costs = np.concatenate([[(abs(x) + abs(y)) / resolution for x, y in points], np.zeros(slacks)])
    total = np.concatenate([np.ones(n), np.zeros(slacks)])[None, :]
    return float(linprog(costs, matrix.tocsr(), most, total, [1.0], method="highs").fun)


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 0.2), (5.0, 0.2), (1.0, 0.3)])
def test_it_is_the_optimum_on_a_small_grid(epsilon, delta):
    """Fewer shifts and events, folded and unfolded again: the bound is below the whole program's value and near it."""
    privacy = Privacy(epsilon, delta)
    found, best = square.taxicab_lower(privacy, 2), whole_program(privacy, 2, 5)
    assert 0.9 * best <= found <= best * (1 + 1e-7)


@pytest.mark.parametrize(("epsilon", "delta"), plane.FIGURE_6)
def test_no_law_is_below_it_and_it_is_above_what_was_known(epsilon, delta):
    """Known was that E‖X‖₁ ≥ E‖X‖₂; it is above what laws have there at best, whatever time finds of their bounds."""
    privacy = Privacy(epsilon, delta)
    radial = solve(IsotropicProblem(2, privacy, RadialLoss(1.0)), SolverSettings(gap=0.02, time_limit=2.0))
    bounds = [square.taxicab_lower(privacy, k) for k in (1, 2, 5)]
    assert bounds == sorted(bounds) and bounds[-1] > radial.upper
    assert bounds[-1] <= plane.MEAN_OF_DIRECTIONS * radial.upper
    assert bounds[-1] <= 2 * Gaussian.calibrate(privacy, 1.0).sigma * math.sqrt(2 / math.pi)


def test_any_multipliers_prove_less_than_the_optimum():
    privacy, grid = Privacy(1.0, 0.3), square.Grid(2, 3)
    shift, x, y = grid.terms
    best, rng = whole_program(privacy, 2, 5), np.random.default_rng(0)
    for scale in (0.0, 1e-3, 0.03, 0.3):
        assert square.proved(privacy, grid, shift, x, y, scale * rng.random(len(shift))) <= best
    assert square.proved(privacy, grid, shift, x, y, np.zeros(len(shift))) == pytest.approx(0.0, abs=1e-12)


def test_terms_are_shared_by_all_images():
    """A multiplier of one term alone: D is that of its eight images, by the definition."""
    privacy, grid = Privacy(0.5, 0.1), square.Grid(3, 4)
    shift, x, y = grid.terms
    for chosen in (5, len(shift) // 2, len(shift) - 1):
        weights = np.zeros(len(shift))
        weights[chosen] = 0.4
        step = np.array(grid.shifts[shift[chosen]])
        total, rates = {}, {}
        for a, b, swap in square.SYMMETRIES:
            turn = np.array([[0, b], [a, 0]]) if swap else np.array([[a, 0], [0, b]])
            event, moved = turn @ (x[chosen], y[chosen]), turn @ step
            total[tuple(event)] = total.get(tuple(event), 0.0) + 0.05
            cover = tuple(event - moved)
            total[cover] = total.get(cover, 0.0) - 0.05 * math.exp(0.5)
            name = (tuple(moved), tuple(event))
            rates[name] = rates.get(name, 0.0) + 0.05
        most = {}
        for (moved, _), rate in rates.items():
            most[moved] = max(most.get(moved, 0.0), rate)
        least = min(0.0, *((abs(p) + abs(q)) / 3 + value for (p, q), value in total.items()))
        assert square.proved(privacy, grid, shift, x, y, weights) == pytest.approx(
            least - 0.1 * sum(most.values()), abs=1e-12
        )


def test_what_is_ended_or_too_large_is_no_bound():
    assert square.taxicab_lower(Privacy(2.0, 0.2), 5, stop=lambda: True) == 0.0
    assert square.taxicab_lower(Privacy(0.05, 1e-6), 10) == 0.0
