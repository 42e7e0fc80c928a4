"""Mixed kinds and LP-optimal coordinates: never worse, certified jointly."""

from __future__ import annotations

import math
import os
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import audit
from dpcore.accounting.accountant import Accountant
from dpcore.accounting.curves import dominating_curve_upper
from dpcore.noise import Gaussian, Staircase
from dpcore.noise.gaussian import gaussian_delta
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings, noise_problem
from dpcore.vector import VectorQuery, parse_profile
from dpcore.vector.compare import MECHANISMS, allocations
from dpcore.vector.mixed import Mixture, starting_points
from dpcore.vector.pure import best_blocks
from dpcore.vector.scalar_optima import lp_optimal


def everything(text, epsilon, delta, p=2.0, norm="none"):
    asked = VectorQuery(Privacy(epsilon, delta), parse_profile(text, normalise=norm), p)
    return {found.key: found for found in allocations(asked)}


THOROUGH = pytest.mark.skipif("THOROUGH" not in os.environ, reason="half a minute; set THOROUGH=1")

PAPER = ("gaussian-iid", "gaussian-spr", "gaussian-optimal", "laplace-iid", "laplace-spr", "laplace-optimal",
         "laplace-relaxed-optimal", "planar-staircase")  # fmt: skip


@pytest.mark.parametrize(
    ("text", "epsilon", "delta", "p", "gain"),
    [
        ("exponential:20", 0.5, 1e-6, 2.0, 0.34),  # 60.04 → 39.3
        ("0.85,0.15", 0.5, 0.0, 1.0, 0.125),  # 3.4283 → 2.9972
        ("0.85,0.15", 3.0, 0.0, 1.0, 0.23),  # 0.5714 → 0.4392
        pytest.param("0.85,0.15", 1.0, 0.01, 1.0, 0.13, marks=THOROUGH),  # 1.6971 → 1.469
        pytest.param("0.85,0.15", 2.0, 0.1, 1.0, 0.10, marks=THOROUGH),  # 0.7482 → 0.65
        ("uniform:20", 0.5, 1e-6, 2.0, 0.5),  # 1298.5 → 616
    ],
)
def test_strictly_better_than_the_paper(text, epsilon, delta, p, gain):
    found = everything(text, epsilon, delta, p, "l2" if ":" in text else "none")
    best = min(found[key].error for key in PAPER)
    assert found["mixed"].error <= min(one.error for one in found.values())
    assert found["mixed"].error < (1 - gain) * best
    assert found["mixed"].guarantee == Privacy(epsilon, delta)


@settings(max_examples=6)
@given(
    st.lists(st.floats(0.05, 5), min_size=1, max_size=5), st.floats(0.2, 5), st.sampled_from([0.0, 1e-9, 1e-5]),
    st.sampled_from([1.0, 2.0]),
)  # fmt: skip
def test_never_worse_than_any_single_kind(values, epsilon, delta, p):
    found = everything(",".join(map(str, values)), epsilon, delta, p)
    assert found["mixed"].error <= min(one.error for key, one in found.items() if key != "mixed")


def test_linear_programs_beat_every_scale_where_delta_is_large():
    """(2, 0.1), E‖T‖₁: 0.748 with the best scales; the clock may end the search early, but not before it pays."""
    found = lp_optimal(VectorQuery(Privacy(2.0, 0.1), parse_profile("0.85,0.15"), 1.0), time_limit=6.0)
    assert found.guarantee == Privacy(2.0, 0.1) and found.error < 0.748


def naive_delta(parts, epsilon):
    """δ of independent pairs of finite laws, all outcomes enumerated."""
    total = 0.0
    for outcome in product(*[list(zip(*part)) for part in parts]):
        p, q = (math.prod(x[i] for x in outcome) for i in (0, 1))
        total += max(p - math.exp(epsilon) * q, 0.0)
    return total


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0.1, 1.5), st.floats(0.1, 0.9)), min_size=1, max_size=4), st.floats(0.2, 0.95))
def test_accountant_against_enumeration(steps, share):
    """Staircase laws are three losses each: the composed δ is at least the exact one, and close."""
    epsilon = share * sum(e for e, _ in steps)
    accountant = Accountant.for_target(epsilon, points=8192)
    parts, laws = [], []
    for e, gamma in steps:
        gain = Staircase(e, 1.0, gamma).shortfall(0.0, 1.0) / -math.expm1(-e)
        parts.append(([gain, 1 - gain * (1 + math.exp(-e)), gain * math.exp(-e)],) * 2)
        upper = parts[-1][0]
        parts[-1] = (upper, upper[::-1])
        laws.append(accountant.staircase(e, gamma))
    exact, found = naive_delta(parts, epsilon), accountant.delta_upper(laws, epsilon)
    assert exact * (1 - 1e-9) <= found <= exact * 1.02 + 2e-3


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_accountant_on_gaussians_and_pure_laws(epsilon):
    accountant = Accountant.for_target(epsilon)
    found = accountant.delta_upper([accountant.gaussian(0.3), accountant.gaussian(0.4)], epsilon)
    exact = gaussian_delta(1 / 0.5, epsilon)
    assert exact <= found <= exact * 1.001 + 1e-9
    both = accountant.delta_upper([accountant.pure(epsilon / 2), accountant.pure(epsilon / 2)], epsilon)
    assert both <= 4 * accountant.step  # Σ ε = ε, up to the rounding of losses to the grid
    alone = accountant.delta_upper([accountant.pure(2 * epsilon)], epsilon)
    assert alone == pytest.approx((math.exp(2 * epsilon) - math.exp(epsilon)) / (1 + math.exp(2 * epsilon)), rel=2e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.2), (3.0, 0.3), (2.0, 0.01)])
def test_dominating_curve_is_the_largest_shortfall(epsilon, delta):
    """At every ε′ the curve is the audit's worst shift, not the shift at D, which is not the worst everywhere."""
    noise = solve(noise_problem(epsilon, delta), SolverSettings(gap=0.02)).noise
    points = np.linspace(0, 1.6 * epsilon, 9)
    for point, bound in zip(points, dominating_curve_upper(noise, points)):
        audited = audit.shortfall_upper(noise, float(point))[0]
        assert audited * (1 - 1e-9) <= bound * (1 + 1e-12) and bound <= audited * (1 + 1e-9) + 1e-12


def test_solved_laws_compose_to_no_less_than_enumeration():
    """Two LP-optimal coordinates, every pair of grid shifts enumerated exactly: the certificate is above them all."""
    noise = solve(noise_problem(1.0, 0.1), SolverSettings(gap=0.05)).noise
    epsilon = 1.6
    accountant = Accountant.for_target(epsilon, points=1024)
    bound = accountant.delta_upper([accountant.curve(noise)] * 2, epsilon)
    from dpcore.accounting.pairs import shared_cells

    worst, pairs = 0.0, []
    for shift in audit.candidate_shifts(noise, noise.resolution).tolist():
        here, there, length = shared_cells(noise, shift)
        p, q = np.append(here * length, noise.atom_mass), np.append(there * length, 0.0)
        pairs.append((p, q))
    for (p, q), (r, s) in [(pairs[i], pairs[j]) for i in (0, len(pairs) // 2, -1) for j in (0, len(pairs) // 2, -1)]:
        worst = max(worst, np.maximum(np.outer(p, r) - math.exp(epsilon) * np.outer(q, s), 0).sum())
    assert worst <= bound <= 1.5 * worst


def test_starting_points_are_private_by_basic_composition():
    asked = VectorQuery(Privacy(1.0, 1e-5), parse_profile("linear:12"), 2.0)
    for start in starting_points(asked):
        spent = math.fsum(start.blocks.budgets)
        if start.mu:
            assert gaussian_delta(1 / start.mu, 1.0 - spent) <= 1e-5
        else:
            assert spent <= 1.0
        covered = sorted([*start.blocks.order.tolist(), *start.rest.tolist()])
        assert covered == list(range(12))


def test_many_tiny_blocks_are_composed_as_one():
    asked = VectorQuery(Privacy(1.0, 1e-5), parse_profile("exponential:60", normalise="l2"), 2.0)
    accountant = Accountant.for_target(1.0, points=256)
    mixture = Mixture(asked, best_blocks(asked, 1.0), 0.0)
    assert len(mixture.parts(accountant)) < len(mixture.blocks.budgets)
    assert accountant.delta_upper(mixture.parts(accountant), 1.0 + 0.02) <= 1e-4


def test_a_stop_leaves_a_valid_answer():
    asked = VectorQuery(Privacy(2.0, 0.1), parse_profile("0.85,0.15"), 1.0)
    found = allocations(asked, MECHANISMS, progress=lambda error: True)
    assert found[-1].error <= min(one.error for one in found[:-1])
    assert found[-1].guarantee == asked.privacy
    assert found[0].scales[0] == pytest.approx(Gaussian.calibrate(asked.privacy, math.hypot(0.85, 0.15)).sigma)
