"""Multipliers written down around a staircase: proofs by the referee, near the best staircase with an atom."""

import random

import numpy as np
import pytest

from dpcore.loss import parse_loss
from dpcore.optimal import laws, peak, solve
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem


def problem_of(epsilon: float, delta: float, spec: str, **more: object) -> NoiseProblem:
    return NoiseProblem(Privacy(epsilon, delta), 1.0, parse_loss(spec), **more)


@pytest.mark.parametrize(
    ("epsilon", "delta", "spec"),
    [
        (8, 0.01, "asym:1:9"),
        (10, 0.001, "pinball:0.95"),
        (12, 1e-6, "l1"),
        (10.5, 1e-8, "l2"),
        (9, 1e-9, "lp:3"),
        (17, 0.01, "asym:1:5"),
        (11, 1e-4, "huber:0.1"),
        (18.7, 0.581, "l2"),
        (17, 0.3, "lp:1.5"),
        (6.02, 0.0112, "pinball:0.8"),  # supply from the second sensitivity beyond the top step
        (6.51, 0.163, "asym:1:6.04"),
    ],
)
def test_bracket_of_closed_forms_is_narrow(epsilon: float, delta: float, spec: str) -> None:
    problem = problem_of(epsilon, delta, spec)
    staircase = laws.best_staircase(problem)
    upper = (1 - delta) * staircase.expected_loss(problem.loss)
    lower = max(peak.peak_bounds(problem, [staircase], lambda bound: upper <= bound * 1.001))
    assert upper / 1.0012 <= lower <= upper


def test_no_staircase_with_an_atom_is_below() -> None:
    rng = random.Random(3)
    for _ in range(6):
        spec = rng.choice(
            [f"asym:1:{rng.uniform(1, 9):.3g}", f"lp:{rng.uniform(1.05, 4):.3g}", "table:-1=3,-0.3=0.2,0=0,2=5"]
        )
        epsilon, delta = rng.uniform(5, 13), 10 ** rng.uniform(-9, -0.3)
        problem = problem_of(epsilon, delta, spec)
        staircase = laws.best_staircase(problem)
        lower = max(peak.peak_bounds(problem, [staircase], lambda bound: bound > 0))
        assert lower <= (1 - delta) * staircase.expected_loss(problem.loss)


def test_slices_are_laid_within_the_supply() -> None:
    rng = np.random.default_rng(5)
    values = rng.random(60)
    for width in (1, 2, 5, 6, 60):
        count = 61 - width
        assert peak._least(values, width) == pytest.approx([values[p : p + width].min() for p in range(count)])
        covered = [values[max(x - width + 1, 0) : min(x + 1, count)].sum() for x in range(60)]
        assert peak._covered(values[:count], width) == pytest.approx(covered)


@pytest.mark.parametrize(("first", "top"), [(4, 2), (20, 3), (50, 0)])
def test_a_slice_takes_no_more_than_there_is(first: int, top: int) -> None:
    """Also where fewer nodes than a shift reaches lie on either side, and what it hands on is what is missing after."""
    rng = np.random.default_rng(first)
    k, demand = 12, 1 / (1 + np.abs(np.arange(5) - top))
    supply = rng.random(62)
    supply[first : first + 5] = 0.0
    slices = peak.Slices(supply.copy(), first, demand, top, k, 0.0)
    far, nodes, weights = slices.terms()
    taken = np.zeros(62)
    np.add.at(taken, nodes + far, weights)
    given = np.zeros(62)
    np.add.at(given, nodes, weights)
    assert (taken <= supply + 1e-12).all() and (slices.supply >= 0).all()
    assert (given[first : first + 5] >= demand - slices.rest - 1e-12).all()
    assert (supply - slices.supply >= taken - 1e-12).all()


@pytest.mark.parametrize(
    ("epsilon", "spec"),
    [
        (10, "pinball:0.95"),
        (8, "asym:1:9"),
        (16, "asym:1:3"),
        (4, "pinball:0.2"),
        (8.48, "table:-1.9=1.9,0=0,0.19=0,0.21=0.04,3=5.62"),
        (7.77, "table:-1=2,-0.63=1.26,0=0,0.18=0,1.5=1.32"),
    ],
)
def test_best_staircase_has_the_best_ends(epsilon: float, spec: str) -> None:
    """Each end alone moved either way costs more."""
    problem = problem_of(epsilon, 0.01, spec)
    best = laws.best_staircase(problem)
    ends = np.array([best.gamma - best.location, best.gamma + best.location])
    least = best.expected_loss(problem.loss)
    for factors in ((0.97, 1), (1.03, 1), (0.3, 1), (3, 1), (1, 0.97), (1, 1.03)):
        left, right = ends * factors
        other = type(best)(epsilon, 1.0, 0.5 * (left + right), 0.0, 0.5 * (right - left))
        assert other.expected_loss(problem.loss) >= least


def test_monotone_laws_keep_their_peak_at_zero() -> None:
    problem = problem_of(6, 0.001, "table:-3=4,-0.2=0,0=0,2=3", monotone=True)
    staircase = laws.best_staircase(problem)
    assert abs(staircase.location) <= staircase.gamma


@pytest.mark.parametrize(
    "spec", ["table:-5=2.75,-2.75=2.75,2.25=2.25,2.5=3,2.75=2.25,3.25=2.25", "table:-1=1,0=1,1=1", "table:-2=5,0=1,2=1"]
)
def test_losses_that_are_never_small_have_no_peak(spec):
    """The least value of the loss is all that is proved, and nothing crashes."""
    solution = solve(noise_problem(5.07, 0.6065, 1.0, spec), SolverSettings(gap=0.02, time_limit=0.5))
    proof = solution.certificate
    assert parse_loss(spec).minimiser()[1] * (1 - 1e-12) <= proof.lower <= proof.upper


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows", "gap"),
    [
        (10.2, 2.35e-6, "-1=1.62,-0.34=0.3,-0.19=0,0=0,0.14=0.14,0.28=0.41,3.1=6.05", 0.005),
        (8.0, 1e-4, "-2=1.8,-0.2=0,0=0,0.2=0,2=1.8", 0.003),
        (9.0, 1e-2, "-2=1.8,-0.2=0,0=0,0.3=0,2=1.7", 0.025),
    ],
)
def test_a_plateau_at_the_bottom_of_the_loss_has_its_ends_on_nodes(epsilon, delta, rows, gap):
    problem = noise_problem(epsilon, delta, 1.0, "table:" + rows)
    staircase = laws.best_staircase(problem)
    upper = (1 - delta) * staircase.expected_loss(problem.loss)
    lower = max(peak.peak_bounds(problem, [staircase], lambda found: False))
    assert lower <= upper * (1 + 1e-9)
    assert upper <= (1 + gap) * lower


def test_peaks_at_large_delta_and_a_power():
    problem = noise_problem(18.7, 0.581, 1.0, "l2")
    staircase = laws.best_staircase(problem)
    bounds = list(peak.peak_bounds(problem, [staircase], lambda found: False))
    upper = (1 - 0.581) * staircase.expected_loss(problem.loss)
    assert len(bounds) > 2 and bounds == sorted(bounds)
    assert bounds[-1] <= upper <= 1.001 * bounds[-1]


def test_the_level_of_a_third_lattice_is_known_beforehand():
    problem = noise_problem(16, 0.3, 1.0, "l2")
    staircase = laws.best_staircase(problem)
    lattice = peak._Lattice.of(problem.loss, 1.0, 3000, 0.5)
    levels = peak._Levels(lattice, problem.privacies, staircase.expected_loss(problem.loss), lambda found: False)
    best, bound = levels.best(0.99, 1.0005)
    assert levels.best(0.99, 1.0005, best - 1e-3)[0] <= best - 1e-3  # good enough
    assert levels.best(0.99, 1.0005, best + 1e-3) == pytest.approx((best, bound), rel=1e-4)  # too high
    assert peak._guess([0.995]) is None and peak._guess([0.995, 1.0]) is None
    assert 0.9998 > peak._guess([0.995, 0.999]) > 0.9997
