"""Every law of the project through every function of `dpcore.accounting`: closed forms and whatever a solver makes."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accounting import attack
from dpcore.accounting.curves import dominating_curve_upper, epsilon_at, privacy_profile, unbounded_mass
from dpcore.accounting.mechanisms import Additive, Release, solved
from dpcore.accounting.pairs import FinitePair, dominating_pair, pair, privacy_loss
from dpcore.accounting.processing import binned_pair, rounding_edges
from dpcore.accounting.renyi import renyi_curve, zero_concentrated
from dpcore.accounting.rules import totals
from dpcore.accounting.subsampling import Sampling
from dpcore.accounting.tradeoff import gaussian_guarantee, gaussian_tradeoff, tradeoff
from dpcore.accounting.truth import Truth
from dpcore.audit import curve_upper, delta_upper
from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.export import solution_from_json, solution_to_json
from dpcore.noise import (
    DiscreteStaircase,
    Gaussian,
    Geometric,
    Laplace,
    Noise,
    PiecewiseNoise,
    Staircase,
    TruncatedLaplace,
    Uniform,
)
from dpcore.noise.lattice import stretched
from dpcore.noise.piecewise import TOTAL
from dpcore.noise.tailed import TailedNoise
from dpcore.optimal import solve
from dpcore.privacy_profile import parse_profile
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from dpcore.solution import Solution

CLOSED: dict[str, tuple[Noise, float]] = {
    "laplace": (Laplace(1.3, 0.4), 1.0), "gaussian": (Gaussian(1.2, -3.0), 1.0),
    "staircase": (Staircase(1.0, 1.0, 0.3), 1.0), "staircase with an atom": (Staircase(1.0, 2.0, 0.3, 0.05, 1.0), 2.0),
    "truncated Laplace": (TruncatedLaplace(1.0, 5.0), 1.0), "uniform": (Uniform(3.0, 0.1), 1.0),
    "geometric": (Geometric(0.7, 2), 2.0), "discrete staircase": (DiscreteStaircase(0.7, 4, 2), 4.0),
    "stretched": (stretched(Geometric(0.7, 2), 0.5), 1.0),
}  # fmt: skip
PROBLEMS: dict[str, NoiseProblem] = {
    "plain": noise_problem(1, 0.01),
    "pure": noise_problem(1, 0),
    "tiny δ": noise_problem(0.5, 1e-9),
    "ε = 0": noise_problem(0, 0.1),
    "monotone": noise_problem(1, 0.01, loss="pinball:0.3", monotone=True),
    "bounded": noise_problem(1, 0.1, support=(-4, 4)),
    "one-sided": noise_problem(1, 0.01, support=(0, math.inf)),
    "integer": noise_problem(1, 0.01, 3, granularity=1),
    "pure integer": noise_problem(1, 0, 3, granularity=1),
    "gdp": noise_problem(1, 0.13, profile=parse_profile("gdp:1")),
    "gdp, skewed": noise_problem(1, 0.13, 2, loss="pinball:0.3", profile=parse_profile("gdp:0.7")),
    "list": noise_problem(0.5, 0.1, profile=parse_profile("list:0.5:0.1;2:0.001")),
    "composed": noise_problem(2, 1e-5, profile=parse_profile("composed:3:2:1e-5")),
}
EPSILONS, ALPHAS = np.linspace(-2, 4, 13), np.linspace(0, 1, 21)


@cache
def solution(key: str) -> Solution:
    """Solved, written and read back."""
    return solution_from_json(solution_to_json(solve(PROBLEMS[key], SolverSettings(gap=0.05, time_limit=1))))


def law(key: str) -> tuple[Noise, float]:
    return CLOSED[key] if key in CLOSED else (solution(key).noise, solution(key).problem.sensitivity)


@pytest.mark.parametrize("key", [*CLOSED, *PROBLEMS])
def test_every_curve_of_every_noise(key):
    """All functions answer, and agree with each other where one implies the other."""
    noise, D = law(key)
    profile = privacy_profile(noise, EPSILONS, sensitivity=D)
    one, tight = pair(noise, shift=D), dominating_pair(noise, D)
    assert (one.delta(EPSILONS) <= profile * (1 + 1e-9) + 1e-12).all()
    assert tight.delta(EPSILONS) == pytest.approx(profile, rel=1e-9, abs=1e-12)
    direct = np.array([delta_upper(noise, e, D) for e in EPSILONS[EPSILONS >= 0].tolist()])
    assert profile[EPSILONS >= 0] == pytest.approx(direct, rel=1e-9, abs=1e-12)
    own, other = tight.tails(EPSILONS)
    assert own - np.exp(EPSILONS) * other == pytest.approx(profile, abs=1e-9)
    least = epsilon_at(noise, 0.2, sensitivity=D)
    assert least == math.inf or float(privacy_profile(noise, least, sensitivity=D)) <= 0.2
    infinite = unbounded_mass(noise, sensitivity=D)
    assert infinite == pytest.approx(float(tight.delta(600.0)), abs=1e-15)
    curve = tradeoff(noise, ALPHAS, sensitivity=D)
    assert (curve <= one.tradeoff(ALPHAS) + 1e-9).all()
    lines = 1 - profile[:, None] - np.exp(EPSILONS)[:, None] * ALPHAS
    assert (curve >= lines.max(axis=0) - 1e-9).all()
    mu, rho = gaussian_guarantee(noise, sensitivity=D).mu, zero_concentrated(noise, sensitivity=D).rho
    divergences = renyi_curve(noise, [1.0, 2.0, 10.0], sensitivity=D)
    if infinite > 0:
        assert mu is None and rho == math.inf and (divergences == math.inf).all()
    else:
        assert (curve >= gaussian_tradeoff(mu, ALPHAS) - 1e-9).all()
        assert (divergences <= rho * np.array([1.0, 2.0, 10.0]) * (1 + 1e-9)).all()
    assert 0.5 + 0.5 * profile[4] == pytest.approx(attack.success(noise, sensitivity=D))
    losses = privacy_loss(noise, noise.quantile(np.linspace(0.01, 0.99, 9)), shift=D)
    assert not np.isnan(losses).any()
    edges = rounding_edges(noise, shift=D, step=0.5 * D)
    assert (binned_pair(noise, edges, shift=D).delta(EPSILONS) <= profile + 1e-9).all()


@pytest.mark.parametrize(
    ("key", "sampling"),
    [*((key, None) for key in (*CLOSED, *PROBLEMS)), *((key, Sampling("poisson", 0.1)) for key in (*CLOSED, "gdp")),
     *((key, Sampling("fixed", 0.1)) for key in ("uniform", "stretched", "plain", "integer", "composed"))],
)  # fmt: skip
def test_every_noise_composes(key, sampling):
    noise, D = law(key)
    mechanism = Additive(key, noise, D) if key in CLOSED else solved(solution(key), key)
    release = Release(mechanism, 5, sampling)
    band = Truth((release,), points=1 << 13, delta=1e-3).delta(1.0)
    assert 0 <= band.lower <= band.upper <= 1
    for asked in ({"delta": 0.05}, {"epsilon": 3.0}) if key in ("plain", "composed", "uniform") else ({"delta": 0.05},):
        found = totals([release], **asked, points=1 << 12)
        assert all(row.upper >= found[-1].lower for row in found if row.certified)


@pytest.mark.parametrize("key", ["pure", "integer", "gdp", "composed"])
def test_account_reads_what_solve_wrote(key, tmp_path, capsys):
    file = tmp_path / "law.json"
    file.write_text(solution_to_json(solution(key)))
    assert main(["account", "--mechanism", f"file:{file}", "--count", "3", "--delta", "0.1"]) == 0
    told = capsys.readouterr()
    exact = json.loads(told.out)["totals"][-1]
    assert not told.err and 0 < exact["epsilon_lower"] <= exact["epsilon"]


def test_a_vector_law_is_refused():
    class Block:
        """No law of one number."""

    with pytest.raises(InputError, match="noise = Block"):
        dominating_pair(Block(), 1.0)


# Laws with a tail -------------------------------------------------------------------------------------


@st.composite
def tailed(draw) -> TailedNoise:
    """Small ones: few cells, any body, symmetric or not."""
    cells = draw(st.integers(1, 6))
    widths = draw(st.lists(st.integers(1, 3), min_size=cells, max_size=cells))
    masses = draw(st.lists(st.floats(0.01, 1), min_size=cells, max_size=cells))
    breaks = draw(st.integers(-5, 2)) + np.append(0, np.cumsum(widths))
    body = PiecewiseNoise.from_masses(
        sensitivity=draw(st.sampled_from([1.0, 0.3, 7.0])), resolution=draw(st.integers(1, 4)), breaks=breaks,
        masses=masses, origin=draw(st.sampled_from([0.0, 0.25])),
    )  # fmt: skip
    return TailedNoise(body, draw(st.integers(1, TOTAL // 2)), draw(st.integers(2, 6)))


def cell(noise: TailedNoise, u: int) -> Fraction:
    """Probability of [u, u + 1), a rational number."""
    share, R = Fraction(noise.tail_weight, TOTAL), noise.tail_mean
    tail = Fraction(R - 1, R) ** (u if u >= 0 else -u - 1) / (2 * R)
    body = Fraction(0)
    for a, b, w in zip(noise.body.breaks.tolist(), noise.body.breaks.tolist()[1:], noise.body.weights.tolist()):
        if a <= u < b:
            body = Fraction(w, (b - a) * TOTAL)
    return (1 - share) * body + share * tail


def exact_delta(noise: TailedNoise, shift: Fraction, growth: Fraction) -> tuple[Fraction, Fraction]:
    """(δ of one shift in units, what the cells that are left out may add), in rational arithmetic."""
    whole, part = shift // 1, shift % 1
    total = Fraction(0)
    for u in range(-40, 40):
        for length, moved in ((1 - part, whole), (part, whole + 1)):
            total += length * max(cell(noise, u) - growth * cell(noise, u - moved), 0)
    return total, Fraction(noise.tail_weight, TOTAL) * Fraction(noise.tail_mean - 1, noise.tail_mean) ** 40


@settings(max_examples=12, deadline=None)
@given(tailed(), st.floats(0, 4), st.sampled_from([1.0, 0.5, 1.7]))
def test_tails_against_rational_arithmetic(noise, epsilon, size):
    """δ of all shifts is never below the exact one; a single shift, whole or not, is right to rounding."""
    growth, D = Fraction(math.exp(epsilon)), size * noise.body.sensitivity
    limit = math.ceil(Fraction(size) * noise.body.resolution)
    each = [exact_delta(noise, Fraction(s * j), growth) for j in range(1, limit + 1) for s in (1, -1)]
    worst = max(found for found, _ in each)
    bound = float(dominating_pair(noise, D).delta(epsilon))
    assert worst <= Fraction(bound) * (1 + Fraction(1, 10**14)) and bound <= float(worst + each[0][1]) + 1e-11
    assert bound == pytest.approx(float(curve_upper(noise, [epsilon], D)[0]), rel=1e-9, abs=1e-11)
    one, rest = exact_delta(noise, Fraction(size) * noise.body.resolution, growth)
    found = float(pair(noise, shift=D).delta(epsilon))
    assert float(one) - 1e-12 <= found <= float(one + rest) + 1e-12


def test_a_tail_as_dp_accounting_sees_it():
    """Its discretised loss encloses our δ(ε) at the largest shift; composed three times too."""
    noise = solution("gdp").noise
    shift, far = noise.body.resolution, 40 * noise.tail_mean
    cells = noise.unit_cells(-far, far)
    as_log = lambda p: {i: math.log(v) for i, v in enumerate((p / p.sum()).tolist()) if v > 1e-290}  # noqa: E731
    truth = Truth((Release(Additive("gdp", noise, 1.0), 3),), delta=1e-6, points=1 << 15)
    bands = {epsilon: truth.delta(epsilon) for epsilon in (0.0, 1.0, 3.5)}
    for pessimistic in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = pld.from_two_probability_mass_functions(
                as_log(cells[shift:]), as_log(cells[:-shift]), value_discretization_interval=1e-3,
                pessimistic_estimate=pessimistic, symmetric=True,
            )  # fmt: skip
        together = theirs.self_compose(3)
        for epsilon, band in bands.items():
            ours, sign = float(pair(noise, shift=1.0).delta(epsilon)), 1 if pessimistic else -1
            assert sign * theirs.get_delta_for_epsilon(epsilon) >= sign * ours - 1e-9
            bound = band.lower if pessimistic else band.upper
            assert sign * together.get_delta_for_epsilon(epsilon) >= sign * bound - 1e-9


def test_a_law_with_a_gaussian_guarantee_reveals_less_than_the_gaussian():
    """Its own composition, not the Gaussian's: the lower bound is what its own neighbours show."""
    noise, release = solution("gdp").noise, Release(solved(solution("gdp"), "gdp"), 4)
    mu = gaussian_guarantee(noise, sensitivity=1.0).mu
    assert 0.9 < mu <= 1
    band = Truth((release,), delta=1e-6).epsilon(1e-6)
    gaussian = epsilon_at(Gaussian(0.5), 1e-6, sensitivity=1.0)
    assert band.lower <= band.upper < gaussian
    assert zero_concentrated(noise, sensitivity=1.0).rho <= 0.5


@pytest.mark.parametrize("key", ["plain", "one-sided", "integer", "gdp", "composed", "tiny δ"])
def test_the_dominating_pair_of_a_solved_law_is_a_pair(key):
    """Probabilities, losses that are their quotients, and nothing beyond what rounding up adds."""
    noise, D = law(key)
    found = dominating_pair(noise, D)
    assert isinstance(found, FinitePair)
    assert found.own.sum() == pytest.approx(1, abs=1e-9) and found.other.sum() == pytest.approx(1, abs=1e-9)
    assert (np.diff(found.losses) <= 0).all()
    finite = np.isfinite(found.losses)
    assert np.log(found.own[finite] / found.other[finite]) == pytest.approx(found.losses[finite], abs=1e-9)
    assert float(dominating_curve_upper(noise, np.array([0.5]))[0]) > 0
