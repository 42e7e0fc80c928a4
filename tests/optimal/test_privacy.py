"""Solved laws are private: exact arithmetic at any real shift, and an accountant that others wrote."""

from __future__ import annotations

import math
from bisect import bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from strategies import noise_problems

from dpcore import audit
from dpcore.errors import InfeasibleError
from dpcore.loss import Loss
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise
from dpcore.optimal import solve
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem

INFINITE = math.inf

PROBLEMS = {
    "plain": noise_problem(1, 0.2),
    "atom": noise_problem(3, 0.3, 2.5),
    "repaired": noise_problem(1, 1e-6, 0.1),
    "small": noise_problem(0.05, 0.002, 7),
    "total variation": noise_problem(0, 0.3),
    "lopsided": noise_problem(1, 0.1, 1, "pinball:0.8"),
    "half-line": noise_problem(1, 0.01, 1, "l1", support=(-INFINITE, 0)),
    "interval beside 0": noise_problem(0.7, 0.08, 1, "l2", support=(-0.3, 8.9)),
    "monotone": noise_problem(2, 0.05, 1, "l2", monotone=True),
    "moved minimum": noise_problem(1.5, 0.2, 1 / 3, "table:0=3,0.7=0,2=5"),
    "jump": noise_problem(1, 0.1, 1, "exceed:0.8"),
    "two valleys": noise_problem(2, 0.3, 1, "table:-3=1,-2=0,0=2,2=0,3=1", symmetric=True),
    "far closed form": noise_problem(9, 0.02),
}


@cache
def law(name: str) -> PiecewiseNoise:
    """A law after a short search: not the best one, but one that is shown."""
    solution = solve(PROBLEMS[name], SolverSettings(gap=5e-3, time_limit=0.4))
    assert solution.certificate.delta_upper <= PROBLEMS[name].privacy.delta
    return solution.noise


def exact_exp(epsilon: float) -> Fraction:
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp())


def exact_shortfall(noise: PiecewiseNoise, E: Fraction, shift: Fraction) -> Fraction:
    """sup over events of P(A) − e^ε P(A − shift), shift ≠ 0 in units: the merged partition, part by part.

    The atom is a part of its own that the shifted law does not charge; the shifted atom is a part without mass.
    """
    breaks = [int(b) for b in noise.breaks]
    densities = [Fraction(int(w), b - a) for w, a, b in zip(noise.weights, breaks, breaks[1:])]

    def density(x: Fraction) -> Fraction:
        index = bisect_right(breaks, x) - 1
        return densities[index] if 0 <= index < len(densities) else Fraction(0)

    points = sorted({*map(Fraction, breaks), *(b + shift for b in breaks)})
    total = Fraction(noise.atom_weight)
    for a, b in zip(points, points[1:]):
        middle = (a + b) / 2
        total += max(Fraction(0), density(middle) - E * density(middle - shift)) * (b - a)
    return total / TOTAL


def shifts(noise: PiecewiseNoise, count: int, seed: int) -> list[Fraction]:
    """Real shifts in (0, D]: anywhere, near 0, near D, and beside distances of breaks."""
    rng = np.random.default_rng(seed)
    D = noise.resolution
    out = [Fraction(float(x)) * D for x in rng.random(count) if x]
    out += [Fraction(D), D * (1 - Fraction(1, 10**9)), Fraction(D, 10**9), Fraction(D, 10**30)]
    near = rng.choice(audit.candidate_shifts(noise, D), 3)
    out += [Fraction(int(j)) + offset for j in near for offset in (Fraction(-1, 10**12), Fraction(1, 3))]
    return [s for s in out if 0 < s <= D]


@pytest.mark.parametrize("name", PROBLEMS)
def test_private_at_any_real_shift(name):
    """Both signs, exactly: no tolerance."""
    noise, privacy = law(name), PROBLEMS[name].privacy
    E, delta = exact_exp(privacy.epsilon), Fraction(privacy.delta)
    for shift in shifts(noise, 6, seed=len(name)):
        for signed in (shift, -shift):
            assert exact_shortfall(noise, E, signed) <= delta, float(signed / noise.resolution)


@pytest.mark.parametrize("name", ["plain", "atom", "lopsided", "moved minimum", "total variation"])
def test_candidate_shifts_are_enough(name):
    """The audit looks at distances of breaks only, at one sign only for mirror images wherever the atom sits: its bound
    holds at all of them, both signs, and is attained."""
    noise, privacy = law(name), PROBLEMS[name].privacy
    E = exact_exp(privacy.epsilon)
    bound, _ = audit.shortfall_upper(noise, privacy.epsilon)
    found = [
        exact_shortfall(noise, E, Fraction(sign * int(shift)))
        for shift in audit.candidate_shifts(noise, noise.resolution)
        for sign in (1, -1)
    ]
    worst = max(*found, Fraction(noise.atom_weight, TOTAL))
    assert worst <= Fraction(bound)
    assert bound <= float(worst) * (1 + 1e-12)


def exact_loss(noise: PiecewiseNoise, loss: Loss) -> Fraction:
    """E c(X) in rational arithmetic; powers 1 and 2 only."""
    unit, origin = Fraction(noise.sensitivity) / noise.resolution, Fraction(noise.origin)
    total = Fraction(0)

    def value(piece, x: Fraction) -> Fraction:
        return Fraction(piece.constant) + Fraction(piece.coefficient) * (abs(x) - Fraction(piece.anchor)) ** int(
            piece.power
        )

    for a, b, w in zip(noise.breaks, noise.breaks[1:], noise.weights):
        left, right = origin + int(a) * unit, origin + int(b) * unit
        for piece in loss.pieces:
            lo = left if math.isinf(piece.lo) else max(left, Fraction(piece.lo))
            hi = right if math.isinf(piece.hi) else min(right, Fraction(piece.hi))
            if lo < hi:  # Simpson's rule is exact for these powers
                mean = (value(piece, lo) + 4 * value(piece, (lo + hi) / 2) + value(piece, hi)) / 6
                total += int(w) * mean * (hi - lo) / (right - left)
    if noise.atom_weight:
        x = origin + noise.atom_unit * unit
        near = [p for p in loss.pieces if p.lo <= x <= p.hi]
        total += noise.atom_weight * min(value(p, x) for p in near)
    return total / TOTAL


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_loss_is_rounded_up(name):
    noise, loss = law(name), PROBLEMS[name].loss
    bound = audit.loss_upper(noise, loss)
    exact = exact_loss(noise, loss)
    assert exact <= Fraction(bound)
    scale = float(max(loss.value(noise.edges[0]), loss.value(noise.edges[-1])))
    assert bound <= float(exact) + 1e-12 * scale


# An accountant others wrote -----------------------------------------------------------------------------------


def masses_of(noise: PiecewiseNoise, shift: Fraction) -> tuple[dict[int, float], dict[int, float]]:
    """Logarithms of the masses of X and of X + shift on the parts of the merged partition, for dp_accounting."""
    breaks = [int(b) for b in noise.breaks]
    points = sorted({*map(Fraction, breaks), *(b + shift for b in breaks)})

    def mass(a: Fraction, b: Fraction, moved: Fraction) -> float:
        middle = (a + b) / 2 - moved
        index = bisect_right(breaks, middle) - 1
        if not 0 <= index < len(noise.weights):
            return 0.0
        return int(noise.weights[index]) / TOTAL * float((b - a) / (breaks[index + 1] - breaks[index]))

    one = [mass(a, b, Fraction(0)) for a, b in zip(points, points[1:])] + [noise.atom_mass, 0.0]
    other = [mass(a, b, shift) for a, b in zip(points, points[1:])] + [0.0, noise.atom_mass]
    logs = lambda values: {i: math.log(v) for i, v in enumerate(values) if v > 0}  # noqa: E731
    return logs(one), logs(other)


def accountant(noise: PiecewiseNoise, shift: Fraction, *, pessimistic: bool):
    """dp_accounting's privacy loss distribution of X against X + shift."""
    from dp_accounting.pld import privacy_loss_distribution

    upper, lower = masses_of(noise, shift)
    return privacy_loss_distribution.from_two_probability_mass_functions(
        lower, upper, pessimistic_estimate=pessimistic, value_discretization_interval=1e-3, symmetric=True
    )


def check_with_accountant(problem: NoiseProblem, noise: PiecewiseNoise, more: list[Fraction]) -> None:
    """At the audit's worst shift, at D and at `more`: dp_accounting's optimistic δ(ε) is at most δ, its pessimistic one
    at most δ of a slightly smaller ε."""
    epsilon, delta = problem.privacy.epsilon, problem.privacy.delta
    bound, worst = audit.shortfall_upper(noise, epsilon)
    worst = Fraction(round(worst / noise.sensitivity * noise.resolution)) or Fraction(noise.resolution)
    slack = 1e-3 + 1e-9  # losses are rounded to multiples of 1e-3
    for shift in (worst, -worst, Fraction(noise.resolution), *more):
        optimistic = accountant(noise, shift, pessimistic=False).get_delta_for_epsilon(epsilon)
        pessimistic = accountant(noise, shift, pessimistic=True).get_delta_for_epsilon(epsilon)
        assert optimistic <= delta * (1 + 1e-9)
        assert optimistic - 1e-9 <= float(exact_shortfall(noise, exact_exp(epsilon), shift)) <= pessimistic + 1e-9
        assert pessimistic <= audit.shortfall_upper(noise, max(epsilon - slack, 0))[0] + 1e-9
    if worst != Fraction(noise.resolution) or bound > noise.atom_mass * (1 + 1e-9):
        found = max(accountant(noise, s, pessimistic=True).get_delta_for_epsilon(epsilon) for s in (worst, -worst))
        assert found >= bound * (1 - 1e-9) - 2e-15  # what the audit adds for its own rounding


@pytest.mark.parametrize("name", ["plain", "atom", "lopsided", "half-line", "moved minimum", "jump"])
def test_an_independent_accountant_agrees(name):
    noise = law(name)
    check_with_accountant(PROBLEMS[name], noise, [Fraction(noise.resolution) * Fraction(1234, 4321)])


@settings(max_examples=settings.default.max_examples // 2)
@given(noise_problems())
def test_an_independent_accountant_agrees_on_random_laws(problem):
    assume(problem.privacy.delta > 0)
    try:
        noise = solve(problem, SolverSettings(gap=0.02, time_limit=0.5)).noise
    except InfeasibleError:
        assume(False)
    assume(isinstance(noise, PiecewiseNoise) and len(noise.weights) < 1500)
    check_with_accountant(problem, noise, [])


def dominating(noise: PiecewiseNoise, epsilons: np.ndarray) -> np.ndarray:
    """δ̄(ε′): the largest shortfall over all shifts of the lattice, both signs (Thms 3 and 5)."""
    return np.array([audit.shortfall_upper(noise, float(e))[0] if e >= 0 else math.nan for e in epsilons])


@pytest.mark.parametrize("name", ["plain", "atom", "lopsided"])
def test_the_dominating_curve_dominates_compositions(name):
    """dp_accounting, fed with δ̄ at many ε′ [Connect the Dots], gives back (ε, δ) and bounds the two-fold composition of
    every single shift, on the lattice and off it."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.pld_pmf import create_pmf_pessimistic_connect_dots

    problem, noise = PROBLEMS[name], law(name)
    epsilon, delta = problem.privacy.epsilon, problem.privacy.delta
    step = epsilon / 16
    steps = np.arange(0, 64)
    curve = dominating(noise, steps * step)
    # For ε′ < 0 a pair (P, Q) and its mirror image give δ_PQ(−ε′) = 1 − e^−ε′ + e^−ε′ δ_QP(ε′).
    negative = 1 - np.exp(-steps[:0:-1] * step) * (1 - curve[:0:-1])
    pmf = create_pmf_pessimistic_connect_dots(
        step, np.arange(-63, 64), np.minimum.accumulate(np.concatenate([negative, curve]))
    )
    whole = pld.PrivacyLossDistribution(pmf)
    assert whole.get_delta_for_epsilon(epsilon) <= delta * (1 + 1e-9)
    twice = whole.self_compose(2)
    D = Fraction(noise.resolution)
    for shift in (D, -D, D / 2, D * Fraction(7, 11), -D * Fraction(11, 12)):
        one = accountant(noise, shift, pessimistic=False)
        for target in (0.3 * epsilon, epsilon, 2 * epsilon):
            assert one.get_delta_for_epsilon(target) <= whole.get_delta_for_epsilon(target) + 1e-9
            assert one.self_compose(2).get_delta_for_epsilon(target) <= twice.get_delta_for_epsilon(target) + 1e-9
