"""The recipe behind the published tables: their grids, solved again, print their digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from dpcore import audit
from dpcore.errors import InputError
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.optimal import solve
from dpcore.optimal.midpoint import GRIDS, matching, recipe, recipe_support
from dpcore.problem import SolverSettings, noise_problem


def brute_force(epsilon: float, delta: float, k: int, half: int, power: int) -> tuple[float, float]:
    """(UB, Σ p·min) of the whole program, written down cell by cell and solved by SciPy: Δf = 1."""
    n, amplification = 2 * half * k, math.exp(epsilon)
    edges = np.arange(-half * k, half * k + 1) / k
    antiderivative = np.sign(edges) ** (power + 1) * np.abs(edges) ** (power + 1) / (power + 1)
    means = np.abs(np.diff(antiderivative if power == 2 else np.sign(edges) * edges**2 / 2)) * k
    least = np.minimum(np.abs(edges[:-1]), np.abs(edges[1:])) ** power
    shifts = [j for j in range(-k, k + 1) if j]
    columns = n * (1 + len(shifts))
    rows, limits = [], []
    for number, j in enumerate(shifts):
        slack = n * (1 + number)
        for i in range(n):
            row = np.zeros(columns)
            row[i] = 1.0
            if 0 <= i - j < n:
                row[i - j] -= amplification
            row[slack + i] = -1.0
            rows.append(row)
            limits.append(0.0)
        row = np.zeros(columns)
        row[slack : slack + n] = 1.0
        rows.append(row)
        limits.append(delta)
    costs = np.concatenate([means, np.zeros(columns - n)])
    total = np.concatenate([np.ones(n), np.zeros(columns - n)])[None, :]
    found = linprog(costs, A_ub=np.array(rows), b_ub=limits, A_eq=total, b_eq=[1.0], method="highs")
    return found.fun, float(found.x[:n] @ least)


@pytest.mark.parametrize(("epsilon", "delta", "k", "power"), [(1, 0.2, 4, 1), (2, 0.5, 5, 1), (0.5, 0.05, 2, 2)])
def test_the_value_is_that_of_the_whole_program(epsilon, delta, k, power):
    problem = noise_problem(epsilon, delta, 1.0, f"l{power}")
    found = recipe(problem, k)
    upper, least = brute_force(epsilon, delta, k, found.half_width, power)
    assert found.upper == pytest.approx(upper, rel=1e-7)
    if power == 1:  # for |x| the other end is UB − β/2, whatever the law
        assert found.least == pytest.approx(least, rel=1e-6)
        assert found.least == pytest.approx(found.upper - found.width / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "k", "upper", "middle"),
    [
        (2, 0.5, "l1", 100, 0.21543, 0.21293),
        (0.5, 0.05, "l2", 4, 2.9624, 2.7979),
    ],
)
def test_the_ends_of_two_published_cells(epsilon, delta, loss, k, upper, middle):
    found = recipe(noise_problem(epsilon, delta, 1.0, loss), k)
    assert found.upper == pytest.approx(upper, abs=5.1e-5 if loss == "l2" else 5.1e-6)
    assert found.middle == pytest.approx(middle, abs=5.1e-5 if loss == "l2" else 5.1e-6)
    if loss == "l2":
        assert found.least == pytest.approx(2.6333, abs=5e-5)
        assert found.gap == pytest.approx(0.125, abs=5e-4)  # where the paper says less than 1 %


def test_the_half_width_at_delta_one_half_is_one_sensitivity():
    assert [recipe_support(noise_problem(epsilon, 0.5)) for epsilon in (0.005, 0.1, 1, 5)] == [1, 1, 1, 1]


def test_a_printed_figure_finds_its_grid():
    """(1, 0.2): 5.82 % of truncated Laplace's .61195 above O."""
    problem = noise_problem(1, 0.2)
    match = matching(problem, 0.55376, 5e-5)
    assert match.exact
    assert match.found.width == 1 / 50
    assert 50 in GRIDS
    assert not matching(problem, 0.5, 5e-5).exact


def test_what_the_recipe_calls_a_lower_bound_is_none():
    """(2, .5) at β = 1/100: Σ p·min is .2104; a law that costs less than .2002 exists."""
    problem = noise_problem(2, 0.5)
    law = solve(problem, SolverSettings(gap=2e-3)).noise
    assert audit.shortfall_upper(law, 2.0)[0] <= 0.5
    assert audit.loss_upper(law, problem.loss) < 0.2005 < recipe(problem, 100).least


def test_an_explicit_law_disproves_the_cell_nothing_explains():
    """(.01, .75), printed O .2809: an atom 2δ − 1 at 0 and the rest uniform on ±1 is private at any ε and costs .25."""
    law = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=1, breaks=(-1, 0, 1), masses=np.array([0.25, 0.25]), atom=0.5
    )
    assert audit.shortfall_upper(law, 0.01)[0] <= 0.75
    assert audit.loss_upper(law, noise_problem(0.01, 0.75).loss) <= 0.25 + 1e-12


def test_refused():
    with pytest.raises(InputError, match="even loss"):
        recipe(noise_problem(1, 0.2, 1.0, "pinball:0.3"), 4)
    with pytest.raises(InputError, match="delta > 0"):
        recipe(noise_problem(1, 0.0), 4)
