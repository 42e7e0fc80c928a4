"""Bounds by curves: proofs against brute force, slopes against differences, brackets in many dimensions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from dpcore.isotropic import audit
from dpcore.isotropic.ascent import Ascent, _cost, _gain
from dpcore.isotropic.curves import Curve
from dpcore.isotropic.problem import IsotropicProblem, RadialLoss, parse_loss
from dpcore.isotropic.proof import Judge
from dpcore.isotropic.search import COARSEST, group_size, solve
from dpcore.isotropic.start import best_known, first_law
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings


def random_curve(rng: np.random.Generator, shift: float, *, rough: bool) -> Curve:
    """Levels that wander, so fast that ψ falls in places if rough."""
    nodes = np.concatenate([[0.0], np.cumsum(rng.uniform(0.05, 0.4, 12))])
    levels = rng.uniform(0, 1.2, 13) if rough else np.cumsum(rng.uniform(-0.02, 0.04, 13)) + 0.3
    return Curve(shift, nodes, np.clip(levels, 0.0, 2 * shift), 3.0)


def directions(dimension: int, count: int = 20_001) -> np.ndarray:
    """Evenly probable cosines."""
    half = (dimension - 1) / 2
    return 2 * special.betaincinv(half, half, (np.arange(count) + 0.5) / count) - 1


def brute(t: np.ndarray, growth: float, loss: RadialLoss, one: Curve, r: float) -> float:
    """F at a radius by a sum over directions: who is in the event, before and after the shift."""
    landed = np.sqrt(np.maximum(r * r + one.shift**2 + 2 * r * one.shift * t, 0.0))

    def inside(first, second):
        return (first <= one.nodes[-1]) & (first + one.shift - second <= np.interp(first, one.nodes, one.levels))

    gain, cost = inside(np.full_like(landed, r), landed).mean(), inside(landed, np.full_like(landed, r)).mean()
    return float(loss(r)) + one.rate * (gain - growth * cost)


@pytest.mark.parametrize("rough", [False, True])
@pytest.mark.parametrize("dimension", [2, 3, 9, 200])
@pytest.mark.parametrize("shift", [1.0, 0.8])
def test_the_proof_stays_below_brute_force(dimension, shift, rough):
    rng, loss, growth = np.random.default_rng(dimension), parse_loss("squared"), math.exp(0.7)
    one = random_curve(rng, shift, rough=rough)
    judge = Judge(dimension, 0.7, 0.01, loss, [one])
    radii = np.sort(np.append(rng.uniform(0.01, one.nodes[-1] + 1.2, 40), [1e-6, 1e-3]))
    t = directions(dimension)
    true = np.array([brute(t, growth, loss, one, r) for r in radii])
    near = 2e-4 * one.rate
    values = judge.values(radii)
    assert (values <= true + near).all()
    assert rough or (values >= true - near).all()  # where ψ falls, the bound takes a larger event
    ends = np.unique(np.concatenate([one.cuts[one.cuts > 0], [0.0, one.nodes[-1] + 2]]))
    for r, value in zip(radii, true):
        i = np.searchsorted(ends, r)
        lo, hi = np.array([ends[i - 1]]), np.array([ends[i]])
        assert judge.bounds(lo, hi, 0)[0] <= value + near
        lo, hi = np.maximum(lo, 0.999 * r), np.minimum(hi, 1.001 * r)
        assert rough or judge.bounds(lo, hi, 0)[0] >= value - 0.05 * (1 + r * r)
    proved = judge.prove(1e-2)
    assert proved.least <= true.min() + near
    assert rough or proved.least >= true.min() - 0.5


@pytest.mark.parametrize("dimension", [4, 30])
def test_slopes_are_those_of_differences(dimension):
    one = random_curve(np.random.default_rng(1), 1.0, rough=False)
    radii = np.array([0.3, 0.77, 1.3, 1.9])
    for part in (_gain, _cost):
        value, slopes = part(dimension, one, radii)
        for k in range(len(one.nodes)):
            moved = one.levels.copy()
            moved[k] += 1e-7
            there = part(dimension, Curve(1.0, one.nodes, moved, one.rate), radii)[0]
            slope = sum(np.where(s.node == k, s.value, 0.0) for s in slopes)
            assert (there - value) / 1e-7 == pytest.approx(slope, rel=1e-3, abs=2e-5)


def test_an_ascent_only_rises():
    law = best_known(10, Privacy(5.0, 0.01), RadialLoss(2.0))
    nodes = np.linspace(0, 4.5, 40)
    curve = Curve(1.0, nodes, np.minimum(nodes, 1 - 5 * law.sigma), 14.0)
    ascent = Ascent(10, math.exp(5), 0.01, RadialLoss(2.0), 2.4, [curve])
    first = ascent.value
    found = ascent.run(math.inf, lambda: False)
    assert ascent.value > max(first, 2.2) and ascent.value <= law.loss(RadialLoss(2.0))
    proved = Judge(10, 5.0, 0.01, RadialLoss(2.0), found).prove(1e-3)
    assert proved.lower <= ascent.value + 1e-9


MANY = [
    (10, 1.0, 1e-6, 0.015),
    (20, 4.0, 1e-6, 0.015),
    (50, 8.0, 1e-6, 0.01),
    (100, 1.0, 1e-6, 0.015),
    (1000, 8.0, 1e-6, 0.01),
]


@pytest.mark.parametrize(("dimension", "epsilon", "delta", "gap"), MANY)
def test_brackets_close_in_many_dimensions(dimension, epsilon, delta, gap):
    found = solve(
        IsotropicProblem(dimension, Privacy(epsilon, delta), parse_loss("squared")),
        SolverSettings(gap=gap, time_limit=60.0),
    )
    assert found.gap <= gap and found.delta_upper <= delta


@pytest.mark.parametrize(
    ("dimension", "epsilon", "delta"),
    [(1000, 1.0, 1e-6), (2, 0.004, 1e-6), (3, 0.0, 0.01), (300, 0.2, 1e-12)],
)
def test_every_problem_has_a_first_law_next_to_the_known_one(dimension, epsilon, delta):
    privacy, loss = Privacy(epsilon, delta), RadialLoss(2.0)
    law = best_known(dimension, privacy, loss)
    found = first_law(law, privacy, 1.0, lambda: False)
    assert found is not None and audit.delta_upper(found[0], epsilon) == found[1] <= delta
    assert audit.loss_upper(found[0], loss) <= law.loss(loss) * 1.003


@pytest.mark.parametrize(("dimension", "loss"), [(2, "norm"), (20, "exceed:30")])
def test_groups_bound_from_below_at_small_epsilon(dimension, loss):
    """What holds for groups holds for one; a law next to the bound shows that little is lost."""
    problem = IsotropicProblem(dimension, Privacy(0.01, 1e-5), parse_loss(loss), 0.5)
    m = group_size(problem.privacy, 1e4)
    assert m == 8 and 0.01 * 2 * m > COARSEST
    found = solve(problem, SolverSettings(gap=0.06, time_limit=30.0))
    assert (
        0
        < found.lower
        <= best_known(dimension, problem.privacy, problem.loss.in_units(0.5)).loss(problem.loss.in_units(0.5))
        * (problem.factor)
    )
    assert found.gap <= 0.06


@pytest.mark.parametrize("levels", [[0.0, 2.5], [-0.1, 0.0], [0.0, math.nan]])
def test_levels_out_of_range_are_refused(levels):
    with pytest.raises(ValueError, match="levels"):
        Curve(1.0, np.array([0.0, 1.0]), np.array(levels), 1.0)
