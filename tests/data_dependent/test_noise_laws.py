"""Noise laws that intervals share: the audit against exact arithmetic, brackets, losses that know the sign, files."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore import SolverSettings
from dpcore.audit import shortfall_upper as additive_shortfall_upper
from dpcore.data_dependent import data_dependent_problem, solve
from dpcore.data_dependent.files import channel_to_csv, solution_from_json, solution_to_json
from dpcore.data_dependent.noise_laws import NoiseLaws, average_upper, shortfall_upper
from dpcore.data_dependent.script import script
from dpcore.errors import InputError
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.noise.whole import TOTAL


def law(masses, first: int, k: int, sensitivity: float = 1.0, atom: float = 0.0) -> PiecewiseNoise:
    breaks = np.arange(first, first + len(masses) + 1)
    return PiecewiseNoise.from_masses(sensitivity=sensitivity, resolution=k, breaks=breaks, masses=masses, atom=atom)


def exact_shortfall(one: PiecewiseNoise, other: PiecewiseNoise, shift: Fraction, E: Fraction) -> Fraction:
    """∫ max(0, γ(x) − E γ′(x − φ)) + atom in fractions; the shift in units, not 0."""
    points = sorted({*map(Fraction, one.breaks.tolist()), *(Fraction(b) + shift for b in other.breaks.tolist())})

    def height(noise, x):
        i = int(np.searchsorted(noise.breaks, float(x), side="right")) - 1
        return Fraction(int(noise.weights[i]), TOTAL) if 0 <= i < len(noise.weights) else Fraction(0)

    total = Fraction(one.atom_weight, TOTAL)
    for a, b in zip(points, points[1:]):
        x = (a + b) / 2
        total += max(Fraction(0), height(one, x) - E * height(other, x - shift)) * (b - a)
    return total


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=25)
def test_no_pair_of_true_values_misses_more_than_the_audit_says(seed):
    """Random laws of three sets on [0, 3.5], k = 2: shortfalls at random real pairs of values in exact arithmetic; the
    bound is attained by the shifts of the lattice."""
    rng = np.random.default_rng(seed)
    laws = tuple(law(rng.dirichlet(np.ones(6)) * (1 - a), -3, 2, atom=a) for a in rng.uniform(0, 0.1, 3))
    mechanism = NoiseLaws((0.0, 0.5, 2.0, 3.5), laws)
    bound, _ = shortfall_upper(mechanism, 0.7)
    E = Fraction(math.exp(0.7))
    seen = Fraction(0)
    for _ in range(60):
        f, g = (Fraction(int(v), 8) for v in rng.integers(0, 29, 2))
        if 0 < abs(f - g) <= 1:
            pair = laws[mechanism.law_of(f)], laws[mechanism.law_of(g)]
            seen = max(seen, exact_shortfall(*pair, 2 * (g - f), E))
    assert seen <= Fraction(bound)
    every = [
        exact_shortfall(laws[mechanism.law_of(f)], laws[mechanism.law_of(f + s)], 2 * s, E)
        for f in (Fraction(i, 2**40) for i in (0, 2**39 - 1, 2**39, 2**41 - 1, 2**41, 7 * 2**39))
        for s in (Fraction(j, 2) for j in (-2, -1, 1, 2))
        if 0 <= f + s <= Fraction(7, 2)
    ]
    assert float(max(every)) <= bound


def test_equal_laws_are_additive_noise():
    """Where all laws are one, the audit is that of additive noise."""
    one = law(np.array([1, 2, 4, 4, 2, 1.0]), -3, 2)
    mechanism = NoiseLaws((0.0, 1.0, 2.0, 4.0), (one,) * 3)
    assert shortfall_upper(mechanism, 1.0)[0] == pytest.approx(additive_shortfall_upper(one, 1.0, 1.0)[0], rel=1e-13)


def test_a_value_at_a_border_may_have_either_law_as_neighbour():
    """Two laws that never meet on intervals that touch: values next to the border tell them apart, at the shift 0."""
    left, right = law(np.ones(2), -2, 2), law(np.ones(2), 0, 2)
    bound, shift = shortfall_upper(NoiseLaws((0.0, 2.0, 4.0), (left, right)), 1.0)
    assert bound == pytest.approx(1.0) and shift <= 1


NINE = {"query_range": (0, 18), "partition": range(2, 18, 2), "shared": "noise"}


@pytest.fixture(scope="module")
def nine():
    return solve(data_dependent_problem(1, 0.2, 10, **NINE), SolverSettings(gap=0.03, time_limit=60))


def test_nine_laws_of_the_paper(nine):
    """Figure 5 of the paper: between what any release may save and what one law for all costs."""
    proof, problem = nine.certificate, nine.problem
    assert proof.gap <= 0.03 and proof.delta_upper <= 0.2 and nine.laws == 9
    released = data_dependent_problem(1, 0.2, 10, query_range=(0, 18))
    anything = solve(released, SolverSettings(gap=0.1, time_limit=30)).certificate
    assert anything.lower <= proof.upper < nine.independent.certificate.lower
    # Fair coins between this and one law for all are noise of this kind, too.
    plain = nine.mechanism.laws[4]
    same = NoiseLaws(nine.mechanism.ends, (plain,) * 9)
    if shortfall_upper(same, 1.0)[0] <= 0.2:
        assert average_upper(same, problem) >= proof.lower


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_no_private_laws_undercut_the_lower_bound(nine, seed):
    """Laws near the best ones, mixed with others until they are private, cost at least the lower bound."""
    rng = np.random.default_rng(seed)
    best, k = nine.mechanism, nine.mechanism.laws[0].resolution
    noisy = best.masses * np.exp(0.3 * rng.standard_normal(best.masses.shape))
    noisy /= noisy.sum(axis=1, keepdims=True)
    flat = np.full(noisy.shape[1], 1 / noisy.shape[1])
    for share in (0.0, 0.05, 0.1, 0.2, 0.4, 0.7):
        laws = tuple(law((1 - share) * row + share * flat, best.first, k, 10.0) for row in noisy)
        other = NoiseLaws(best.ends, laws)
        if shortfall_upper(other, 1.0)[0] <= 0.2:
            assert average_upper(other, nine.problem) >= nine.certificate.lower
            return


def test_a_loss_that_knows_the_sign_of_the_value():
    """|x|, steep where an error turns a positive value negative, and its mirror image below 0: cheaper than steep on
    both sides, dearer than |x|; laws of values and of their negatives are mirror images; the average is what it says.
    """
    asked = {"query_range": (-2, 2), "partition": (-1, 0, 1), "shared": "noise"}
    problem = data_dependent_problem(1, 0.2, 1, "steep-below:1.5", **asked, loss_below="mirrored")
    answer = solve(problem, SolverSettings(gap=1.0, time_limit=10))
    both, neither = (
        solve(data_dependent_problem(1, 0.2, 1, loss, **asked), SolverSettings(gap=1.0, time_limit=10)).certificate
        for loss in ("steep:1.5", "l1")
    )
    assert answer.certificate.lower <= both.upper and neither.lower <= answer.certificate.upper
    mechanism = answer.mechanism
    middles = 0.5 * (mechanism.edges[1:] + mechanism.edges[:-1])
    means = mechanism.masses @ middles
    assert answer.independent is None and np.allclose(means, -means[::-1], atol=0.02)
    signed = ((-1.5, problem.loss_below), (-0.5, problem.loss_below), (0.5, problem.loss), (1.5, problem.loss))
    paid = [mechanism.expected_loss(loss, [value])[0] for value, loss in signed]
    assert np.mean(paid) <= answer.certificate.upper <= np.mean(paid) * (1 + 1e-9)
    again = solution_from_json(solution_to_json(answer))
    assert again.problem == problem and again.certificate.upper == answer.certificate.upper


def test_laws_of_unlike_losses_lean_to_unlike_sides():
    """Errors below the value are three times as dear for positive values, errors above it for negative ones."""
    problem = data_dependent_problem(
        1, 0.2, 1, "asym:1:3", query_range=(-3, 3), partition=(-1, 1), shared="noise", loss_below="mirrored"
    )
    answer = solve(problem, SolverSettings(gap=0.05, time_limit=30))
    mechanism = answer.mechanism
    means = mechanism.masses @ (0.5 * (mechanism.edges[1:] + mechanism.edges[:-1]))
    right, wrong = mechanism.expected_loss(problem.loss, [2.0, -2.0])
    assert answer.certificate.gap <= 0.05 and abs(means[0] + means[2]) < 0.02
    assert abs(means[2]) > 0.01 and right < wrong


def test_uneven_intervals_of_a_long_range():
    """The supplement's partition of (−432, 432), coarser: one law for all costs more, certified."""
    problem = data_dependent_problem(
        1, 0.1, 2, query_range=(-432, 432), partition=(-6, -4, -2, 0, 2, 4, 6), weight="normal:0:4", shared="noise"
    )
    answer = solve(problem, SolverSettings(gap=0.03, time_limit=60))
    assert answer.certificate.gap <= 0.03
    additive = answer.independent.certificate
    assert answer.certificate.lower <= additive.upper and answer.certificate.upper <= additive.upper * 1.03


def test_files_bring_the_laws_back_and_are_audited(nine):
    text = solution_to_json(nine)
    again = solution_from_json(text)
    assert again.certificate.upper == nine.certificate.upper and again.laws == 9
    assert (again.mechanism.masses == nine.mechanism.masses).all()
    lines = channel_to_csv(nine).splitlines()
    assert len(lines) == 10 and sum(map(float, lines[1].split(",")[2:])) == pytest.approx(1)
    forged = json.loads(text)
    forged["mechanism"]["weights"][0] = forged["mechanism"]["weights"][8]  # a law that leans the other way
    forged["mechanism"]["first"][0] = forged["mechanism"]["first"][8]
    forged["mechanism"]["atoms"][0] = forged["mechanism"]["atoms"][8]
    with pytest.raises(InputError, match="delta"):
        solution_from_json(json.dumps(forged))
    forged = json.loads(text) | {"shared": "release"}
    with pytest.raises(InputError, match="share"):
        solution_from_json(json.dumps(forged))
    forged = json.loads(text)
    forged["mechanism"]["resolution"] = 7
    with pytest.raises(InputError):
        solution_from_json(json.dumps(forged))


def test_releases_and_scripts_err_by_the_noise_of_their_interval(nine):
    space: dict = {"__name__": "carried"}
    exec(script(nine), space)
    for value in (0.0, 1.9999, 2.0, 17.5, 18.0, 25.0):
        inside = min(value, 18.0)
        own = nine.mechanism.laws[nine.mechanism.law_of(inside)]
        low, high = own.support
        for released in (nine.mechanism.release(value), space["release"](value)):
            assert low - 1e-9 <= released - inside <= high + 1e-9
    assert [nine.mechanism.law_of(v) for v in (-1.0, 1.9999, 2.0, 18.0)] == [0, 0, 1, 8]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"partition": ()}, "shared"),
        ({"shared": "both"}, "shared"),
        ({"monotone": True, "partition": (1,)}, "partition"),
        ({"ordered": True}, "shared"),
        ({"instance_cap": 1.0}, "shared"),
        ({"shared": "release", "loss_below": "l2", "instance_cap": 1.0}, "instance_cap"),
        ({"shared": "release", "loss_below": "l2", "partition": (), "query_range": (-20, 20)}, "query_range"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, field):
    asked = {"query_range": (0, 4), "partition": (1, 2), "shared": "noise"} | changes
    with pytest.raises(InputError, match=field):
        data_dependent_problem(1, 0.2, 1, **asked)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"delta": 0.0}, "delta"),
        ({"partition": (1.0001,)}, "partition"),
        ({"epsilon": 1e-3, "delta": 1e-9}, "partition"),
    ],
)
def test_what_no_program_holds_is_refused(changes, field):
    asked = {"epsilon": 1.0, "delta": 0.2, "partition": (1, 2)} | changes
    with pytest.raises(InputError, match=field):
        solve(data_dependent_problem(**asked, query_range=(0, 4), shared="noise"))
