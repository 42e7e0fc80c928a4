"""Several limits at once: the joint release of tight truncated Laplace and of shift-proportional laws is (ε, δ)-DP for
every split of the sensitivity, with no factor for the number of limits. Brute force over fine meshes of shifts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import epsilons, log_floats

from dpcore.errors import SolverError
from dpcore.lp import LinearProgram
from dpcore.noise.piecewise import TOTAL
from dpcore.noise.truncated_laplace import TruncatedLaplace
from dpcore.private_optimization import row_noise, stories
from dpcore.private_optimization.noises import half_width
from dpcore.private_optimization.proportional import (
    mean_lower,
    optimal_law,
    truncated_geometric,
    truncation_steps,
    usage_upper,
)


def splits(m: int, k: int):
    """All vectors of m whole numbers with Σ|j| = k or k − 1 (smaller sums are no worse), first entry ≥ 0."""
    for j in itertools.product(range(-k, k + 1), repeat=m):
        if j[0] >= 0 and k - 1 <= sum(map(abs, j)) <= k and any(j):
            yield j


def moved(masses: np.ndarray, j: int) -> np.ndarray:
    out = np.zeros_like(masses)
    if j >= 0:
        out[j:] = masses[: len(masses) - j]
    else:
        out[:j] = masses[-j:]
    return out


def product(laws) -> np.ndarray:
    out = np.array(1.0)
    for law in laws:
        out = np.multiply.outer(out, law)
    return out


def joint_shortfall(masses: np.ndarray, epsilon: float, j: tuple[int, ...]) -> float:
    """Σ (Π p(x_t) − e^ε Π p(x_t − j_t))₊ over the joint law, by listing it."""
    return float(
        np.maximum(product([masses] * len(j)) - math.exp(epsilon) * product([moved(masses, s) for s in j]), 0).sum()
    )


def cells(law: TruncatedLaplace, k: int, sensitivity: float) -> np.ndarray:
    """The law's probabilities of cells of width Δ/k, a cell edge at its lower end."""
    lo, hi = law.support
    edges = lo + sensitivity / k * np.arange(math.ceil((hi - lo) * k / sensitivity) + 1)
    return np.diff(law.cdf(np.minimum(edges, hi)))


CASES = [(1.0, 0.01), (0.1, 0.05), (2.0, 1e-3), (0.5, 0.4), (5.0, 1e-6)]


@pytest.mark.parametrize("epsilon, delta", CASES)
@pytest.mark.parametrize("m, k", [(2, 12), (3, 4)])
def test_tight_truncated_laplace_listed_cell_by_cell(epsilon, delta, m, k):
    """Cells are a post-processing, and grid shifts map cells to cells: the listed shortfall is one of the true
    release."""
    program = stories.two_products(epsilon=epsilon, delta=delta)
    law = row_noise(program, "tight").law
    masses = cells(law, k, 1.0)
    if len(masses) ** m > 400_000:
        k = max(2, int(k * (400_000 / len(masses) ** m) ** (1 / m)))
        masses = cells(law, k, 1.0)
    worst = max(joint_shortfall(masses, epsilon, j) for j in splits(m, k))
    assert worst <= delta * (1 + 1e-9) + 1e-12  # the cells are differences of floats
    edges = [1 - math.prod(1 - masses[: abs(s)].sum() for s in j) for j in splits(m, k)]
    assert worst == pytest.approx(max(edges), rel=1e-6, abs=1e-15)  # only what is uncovered counts, as the proof says


@given(epsilons(1e-3, 20.0), st.one_of(log_floats(1e-12, 0.5), st.floats(0.01, 0.5)), st.integers(1, 3))
@settings(max_examples=60)
def test_uncovered_mass_over_a_fine_mesh(epsilon, delta, m):
    """In the common support losses add up to at most ε; what is left is 1 − Π(1 − F(φ_t)), F the mass of an edge."""
    law = row_noise(stories.two_products(epsilon=epsilon, delta=delta), "tight").law
    assert 1.0 <= law.scale * epsilon  # the density's ratio at shift φ is at most e^{φ/scale}
    lo, _ = law.support
    n = {1: 400, 2: 120, 3: 40}[m]
    share = np.array([s for s in itertools.product(range(n + 1), repeat=m) if sum(s) == n]) / n
    edge = (
        0.5
        * np.expm1(share / law.scale)
        * math.exp(-law.half_width / law.scale)
        / -math.expm1(-law.half_width / law.scale)
    )
    uncovered = -np.expm1(np.log1p(-edge).sum(axis=1))
    assert uncovered.max() <= delta * (1 + 1e-12)
    assert edge == pytest.approx(law.cdf(lo + share), rel=1e-5, abs=1e-12)


@pytest.mark.parametrize("epsilon, delta", CASES[:3])
@pytest.mark.parametrize("m", [2, 3])
def test_an_accountant_agrees(epsilon, delta, m):
    """dp_accounting composes the coordinates; its rounding of losses upwards is worth less than m·h in ε."""
    k, h = 12, 1e-3
    masses = cells(row_noise(stories.two_products(epsilon=epsilon, delta=delta), "tight").law, k, 1.0)
    for j in [(k, *[0] * (m - 1)), (k // 2, k - k // 2, *[0] * (m - 2)), tuple([k // m] * m)]:
        parts = []
        for s in filter(None, j):
            p = {i: float(v) for i, v in enumerate(masses) if v > 0}
            parts.append(
                pld.from_two_probability_mass_functions(
                    {i: math.log(v) for i, v in p.items()},
                    {i + s: math.log(v) for i, v in p.items()},
                    value_discretization_interval=h,
                    symmetric=False,
                )
            )
        total = parts[0]
        for part in parts[1:]:
            total = total.compose(part)
        assert total.get_delta_for_epsilon(epsilon + (m + 1) * h) <= delta * (1 + 1e-6)


def test_the_published_factor_is_not_needed_and_the_tight_one_is():
    program = stories.advertising()
    tight, published = half_width(program, published=False), half_width(program, published=True)
    assert published - tight == pytest.approx(math.log(20) * 100, rel=2e-3)  # ln 2m, in units of Δ/ε
    law = row_noise(stories.two_products(epsilon=1.0, delta=0.01), "tight").law
    shorter = TruncatedLaplace(law.scale, law.half_width * (1 - 1e-6))
    assert shorter.shortfall(1.0, 1.0) > 0.01 >= law.shortfall(1.0, 1.0)  # shift Δ in one coordinate already fails


# Laws on a grid ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon, delta", [(1.0, 0.01), (0.3, 0.1), (2.0, 1e-3), (0.5, 0.4)])
@pytest.mark.parametrize("m, k", [(2, 1), (2, 3), (2, 5), (3, 2), (3, 3)])
def test_optimal_laws_are_jointly_private(epsilon, delta, m, k):
    masses = optimal_law(epsilon, delta, k).noise.masses
    if len(masses) ** m > 300_000:
        pytest.skip("too many points to list")
    assert max(joint_shortfall(masses, epsilon, j) for j in splits(m, k)) <= delta * (1 + 1e-9)


@pytest.mark.parametrize("key", ["tight", "optimal"])
def test_ordinary_one_row_noise_would_fail(key):
    """Staircase-like noise spends all of ε on a small shift: the test above can fail."""
    from dpcore.optimal import solve
    from dpcore.problem import noise_problem

    problem = noise_problem(1.0, 0.01, 1.0, "l1", support=(-math.inf, 0.0), granularity=1 / 4)
    masses = solve(problem).noise.masses
    worst = max(joint_shortfall(masses, 1.0, j) for j in splits(2, 4))
    assert worst > 0.0101
    assert usage_upper(masses, 1.0, 0.01, 4) > 1.01
    good = optimal_law(1.0, 0.01, 4).noise.masses if key == "optimal" else truncated_geometric(1.0, 0.01, 4)
    assert max(joint_shortfall(good, 1.0, j) for j in splits(2, 4)) <= 0.01 * (1 + 1e-9)


@given(epsilons(0.02, 10.0), log_floats(1e-9, 0.5), st.integers(1, 40))
@settings(max_examples=60)
def test_truncated_geometric_is_proportional(epsilon, delta, k):
    if truncation_steps(epsilon, delta, k) > 4000:
        return
    masses = truncated_geometric(epsilon, delta, k)
    assert usage_upper(masses, epsilon, delta, k) <= 1 + 1e-9 + 1e-14 * k / delta
    assert (len(masses) - 1) / 2 <= k / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta)) * (1 + 1e-9)


def test_usage_by_hand():
    masses, eps, delta, k = np.array([0.2, 0.5, 0.3]), math.log(2), 0.8, 2
    by_hand = []
    for j in (1, 2):
        for sign in (1, -1):
            short = sum(
                max(0.0, masses[i] - 2 ** (j / 2) * (masses[i - sign * j] if 0 <= i - sign * j < 3 else 0))
                for i in range(3)
            )
            by_hand.append(short / (delta * j / k))
    assert usage_upper(masses, eps, delta, k) == pytest.approx(max(by_hand), rel=1e-12)
    assert usage_upper(masses, eps, delta, k) >= max(by_hand)


def dense_optimum(epsilon: float, delta: float, k: int, n: int) -> float:
    """The linear program with all slacks, by another solver."""
    from scipy.optimize import linprog

    pairs = [(j, i) for j in [*range(1, k + 1), *range(-k, 0)] for i in range(n + 1)]
    columns = n + 1 + len(pairs)
    rows, rhs = [], []
    for t, (j, i) in enumerate(pairs):
        row = np.zeros(columns)
        row[i] = 1
        if 0 <= i - j <= n:
            row[i - j] -= math.exp(epsilon * abs(j) / k)
        row[n + 1 + t] = -1
        rows.append(row)
        rhs.append(0.0)
    for j in [*range(1, k + 1), *range(-k, 0)]:
        row = np.zeros(columns)
        row[[n + 1 + t for t, (s, _) in enumerate(pairs) if s == j]] = 1
        rows.append(row)
        rhs.append(delta * abs(j) / k)
    costs = np.concatenate([np.arange(n + 1), np.zeros(len(pairs))])
    mass = np.concatenate([np.ones(n + 1), np.zeros(len(pairs))])
    return linprog(costs, np.array(rows), rhs, mass[None, :], [1.0], method="highs-ipm").fun


@pytest.mark.parametrize("epsilon, delta, k", [(1.0, 0.05, 1), (1.0, 0.05, 2), (0.5, 0.2, 3), (2.0, 0.01, 2)])
def test_against_the_whole_program(epsilon, delta, k):
    law = optimal_law(epsilon, delta, k)
    best = dense_optimum(epsilon, delta, k, len(law.noise.weights) + 3 * k)
    assert law.lower <= best * (1 + 1e-6) and best <= law.upper * (1 + 1e-6)
    assert law.upper - law.lower <= 1e-5 * law.upper


@given(st.floats(0.2, 3.0), log_floats(1e-4, 0.4), st.integers(1, 4), st.integers(0, 2**31))
@settings(max_examples=40)
def test_any_multipliers_bound_every_proportional_law(epsilon, delta, k, seed):
    rng = np.random.default_rng(seed)
    masses = truncated_geometric(epsilon, delta, k)
    count, n = int(rng.integers(1, 40)), len(masses) - 1
    shifts = rng.choice([j for j in range(-k, k + 1) if j], count)
    points = rng.integers(0, n + 1, count)
    keys = np.unique(shifts * 10_000 + points, return_index=True)[1]
    weights = rng.exponential(n, count)
    bound = mean_lower(n, epsilon, delta, k, shifts[keys], points[keys], weights[keys])
    assert bound <= masses @ np.arange(n + 1) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("m", [1, 10])
def test_mean_shifts_are_in_order(epsilon, delta, m):
    """Optimal ≤ tight ≤ published, with a valid bracket, on counts."""
    program = stories.transport(3, m, epsilon=epsilon, delta=delta).program
    optimal, tight, published = (row_noise(program, key) for key in ("optimal", "tight", "truncated-laplace"))
    assert optimal.shift_lower <= optimal.shift_upper
    assert optimal.shift_upper <= tight.shift_upper * (1 + 1e-12) <= published.shift_upper
    assert tight.shift_upper <= half_width(program, published=False)


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 0.5])
def test_steep_laws_keep_their_ends(k, delta):
    """ε = 20: a point of less than 2⁻⁶² at an end covers points e^20 times as heavy. In fractions, with e^{20j/k} from
    below by its series."""
    law = optimal_law(20.0, delta, k, time_limit=2.0)
    assert law.lower <= law.upper
    masses = dict(enumerate(law.noise.weights.tolist()))
    for j in range(1, k + 1):
        factor = sum(Fraction(20 * j, k) ** n / math.factorial(n) for n in range(90))
        for sign in (1, -1):
            excess = sum(max(0, w - factor * masses.get(i - sign * j, 0)) for i, w in masses.items())
            assert excess <= Fraction(delta) * j / k * TOTAL


def test_a_solver_that_fails_leaves_the_certified_law(monkeypatch):
    def fail(*_):
        raise SolverError("HiGHS ended with status Unknown")

    monkeypatch.setattr(LinearProgram, "run", fail)
    law = optimal_law(1.0, 1e-3, 4)
    tight = truncated_geometric(1.0, 1e-3, 4)
    assert law.lower == 0 and law.upper == pytest.approx(float(tight @ np.arange(len(tight))), rel=1e-9)
