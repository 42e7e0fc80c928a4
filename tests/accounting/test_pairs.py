"""Pairs of neighbours and their curves: brute force, drawn laws, published values, an accountant as referee."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism as referee
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import all_events
from strategies import ATOMS, CONTINUOUS, GAMMAS, INTEGER, LAWS, LOCATIONS, log_floats

from dpcore import audit
from dpcore.accounting.curves import (
    dominating_curve_upper,
    epsilon_at,
    group_privacy,
    privacy_profile,
    unbounded_mass,
)
from dpcore.accounting.pairs import FinitePair, dominating_pair, pair, privacy_loss
from dpcore.accounting.processing import binned_pair, rounding_edges
from dpcore.errors import InputError
from dpcore.noise import (
    Gaussian,
    Geometric,
    Laplace,
    LatticeNoise,
    PiecewiseNoise,
    Staircase,
    TruncatedLaplace,
    Uniform,
)
from dpcore.noise.lattice import stretched
from dpcore.optimal import solve
from dpcore.privacy import Privacy
from dpcore.problem import SolverSettings, noise_problem

some = settings(max_examples=15)
EPSILONS = np.linspace(-3, 3, 25)


@cache
def solved(epsilon: float, delta: float, loss: str = "l1") -> PiecewiseNoise:
    return solve(noise_problem(epsilon, delta, loss=loss), SolverSettings(gap=0.02)).noise


@cache
def on_a_lattice() -> LatticeNoise:
    return solve(noise_problem(0.8, 0.05, 3.0, "l1", granularity=1.0), SolverSettings(gap=0.02)).noise


masses = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1)), min_size=3, max_size=8)


@st.composite
def outcomes(draw) -> tuple[np.ndarray, np.ndarray]:
    """Two laws on a few outcomes, some of them impossible under one of the laws."""
    own = draw(masses.filter(any))
    other = draw(
        st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1)), min_size=len(own), max_size=len(own)).filter(any)
    )
    return np.array(own) / sum(own), np.array(other) / sum(other)


@settings(max_examples=60)
@given(laws=outcomes(), epsilon=st.floats(-3, 3), alpha=st.floats(0, 0.999), order=st.floats(1.01, 20))
def test_finite_pairs_against_all_events(laws, epsilon, alpha, order):
    own, other = laws
    found, events = FinitePair.of(own, other), all_events(len(own))
    worst = float((events @ (own - math.exp(epsilon) * other)).max())
    assert float(found.delta(epsilon)) == pytest.approx(worst, abs=1e-14)
    tests = np.column_stack([events @ own, 1 - events @ other])  # the neighbour is said on the event
    chords = [
        b + (alpha - a) / (c - a) * (d - b) for a, b in tests for c, d in tests if a <= alpha <= c and c - a > 1e-12
    ]
    assert float(found.tradeoff(alpha)) == pytest.approx(min(chords), abs=1e-12)
    if (other[own > 0] > 0).all():
        direct = math.log(math.fsum(own[own > 0] ** order * other[own > 0] ** (1 - order))) / (order - 1)
        assert float(found.renyi(order)) == pytest.approx(direct, rel=1e-9, abs=1e-12)
    else:
        assert float(found.renyi(order)) == math.inf
        assert found.infinite == pytest.approx(own[other == 0].sum())


@pytest.mark.parametrize("key", LAWS)
@some
@given(data=st.data(), share=st.floats(0.05, 4))
def test_a_pair_is_what_its_law_says(key, data, share):
    """δ(ε) is the law's own, tails are those of δ(ε), losses are likelihood ratios."""
    noise = data.draw(LAWS[key])
    spread = float(noise.quantile(0.9)) - noise.location + 1e-9
    shift = float(max(round(share * spread), 1)) if key in INTEGER else share * max(spread, 1e-3)
    found = pair(noise, shift=shift)
    expected = privacy_profile(noise, EPSILONS, sensitivity=shift)
    assert found.delta(EPSILONS) == pytest.approx(expected, abs=1e-10)
    own, other = found.tails(EPSILONS)
    assert own - np.exp(EPSILONS) * other == pytest.approx(expected, abs=1e-9)
    for loss, p, q in found.atoms:
        assert q == pytest.approx(p * math.exp(-loss), rel=1e-9, abs=1e-12) or math.isinf(loss)
    seen = noise.quantile((np.arange(4000) + 0.5) / 4000)  # 4000 equally probable places
    losses = privacy_loss(noise, seen, shift=shift)
    for epsilon in (-1.03, -0.11, 0.13, 0.9):
        near = np.abs(losses - epsilon) < 1e-9
        share_above, slack = np.mean(losses > epsilon), np.mean(near) + 0.02
        assert share_above == pytest.approx(float(found.tails(epsilon)[0]), abs=slack)


@pytest.mark.parametrize("key", LAWS)
@some
@given(data=st.data(), alpha=st.floats(1e-3, 1))
def test_the_tradeoff_function_touches_its_supporting_lines(key, data, alpha):
    """f(α) ≥ 1 − δ(ε) − e^ε α for every ε, and at the best ε they are equal [Awan, Props. 13.8, 13.9]."""
    noise = data.draw(LAWS[key])
    shift = 2.0 if key in INTEGER else 0.7
    found, epsilons = dominating_pair(noise, shift), np.append(np.linspace(-12, 12, 241), np.linspace(-0.3, 0.3, 121))
    finite = [loss for loss, _, _ in found.atoms if abs(loss) < 300]
    epsilons = np.append(epsilons, finite)
    lines = 1 - privacy_profile(noise, epsilons, sensitivity=shift) - np.exp(epsilons) * alpha
    value = float(found.tradeoff(alpha))
    assert value >= lines.max() - 1e-9
    assert value <= max(float(lines.max()), 0.0) + 2e-3  # of the grid of ε, for smooth curves


# Published values and a referee ----------------------------------------------------------------------


def test_published_delta_of_the_gaussian():
    """δ(1) of N(0, 1) at sensitivity 1: Φ(−1/2) − e Φ(−3/2) = 0.12693674 [BW18, Thm. 8]."""
    assert privacy_profile(Gaussian(1.0), [1.0], sensitivity=1.0)[0] == pytest.approx(0.12693674, abs=5e-9)


@some
@given(ratio=log_floats(0.1, 10), epsilon=st.floats(-4, 6))
def test_closed_forms_against_an_accountant(ratio, epsilon):
    """dp_accounting's mechanisms know their hockey-stick divergence exactly."""
    laplace, gaussian = referee.LaplacePrivacyLoss(1 / ratio), referee.GaussianPrivacyLoss(1 / ratio)
    for law, other in ((Laplace(1 / ratio), laplace), (Gaussian(1 / ratio), gaussian)):
        expected = other.get_delta_for_epsilon(epsilon)
        assert float(privacy_profile(law, epsilon, sensitivity=1.0)) == pytest.approx(expected, rel=1e-7, abs=1e-12)
        assert float(pair(law, shift=1.0).delta(epsilon)) == pytest.approx(expected, rel=1e-7, abs=1e-12)
    if 0 < epsilon < ratio:
        assert float(privacy_profile(Laplace(1 / ratio), epsilon, sensitivity=1.0)) == pytest.approx(
            1 - math.exp((epsilon - ratio) / 2), abs=1e-14
        )
    steps = 3
    expected = referee.DiscreteLaplacePrivacyLoss(ratio, sensitivity=steps).get_delta_for_epsilon(epsilon)
    found = privacy_profile(Geometric(ratio), epsilon, sensitivity=float(steps))
    assert float(found) == pytest.approx(expected, rel=1e-7, abs=1e-12)


# Solved laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2.5, 4])
@pytest.mark.parametrize(("epsilon", "delta", "loss"), [(1.0, 0.2, "l1"), (3.0, 0.3, "l1"), (0.5, 0.1, "pinball:0.3")])
def test_solved_laws(epsilon, delta, loss, size):
    """The profile is the audit's shortfall, both rounded up, at every ε."""
    noise = solved(epsilon, delta, loss)
    points = np.linspace(0, 2 * epsilon * size, 12)
    bound = privacy_profile(noise, points, sensitivity=size)
    audited = np.array([audit.shortfall_upper(noise, e, size)[0] for e in points.tolist()])
    assert (bound >= audited * (1 - 1e-9)).all() and bound == pytest.approx(audited, abs=1e-9)
    tight = dominating_pair(noise, size)
    everywhere = np.linspace(-3 * epsilon, 3 * epsilon, 31)
    profile = privacy_profile(noise, everywhere, sensitivity=size)
    assert tight.delta(everywhere) == pytest.approx(profile, abs=1e-12)
    alphas = np.linspace(0, 1, 41)
    for share in (0.3, 0.5, 0.77, 1.0):
        for sign in (1, -1):
            one = pair(noise, shift=share * size)
            if sign < 0:
                one = FinitePair.of(one.other, one.own)
            assert (tight.tradeoff(alphas) <= one.tradeoff(alphas) + 1e-9).all()
    assert unbounded_mass(noise, sensitivity=size) == pytest.approx(
        privacy_profile(noise, 60.0, sensitivity=size), abs=1e-12
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (3.0, 1e-9)])
def test_small_deltas_are_as_exact_as_large_ones(epsilon, delta):
    """Against rational arithmetic on the law's whole-number weights: never below, and nothing in the pair cancels."""
    noise = solved(epsilon, delta)
    breaks, weights = noise.breaks.tolist(), noise.weights.tolist()
    heights = [Fraction(w, (b - a) * 2**62) for a, b, w in zip(breaks, breaks[1:], weights)]
    height = lambda x: heights[bisect_right(breaks, x) - 1] if breaks[0] <= x < breaks[-1] else Fraction(0)  # noqa: E731
    for level in (0.0, 0.9 * epsilon, 1.1 * epsilon, 2 * epsilon):
        growth, worst = Fraction(math.exp(level)), Fraction(0)
        for j in audit.candidate_shifts(noise, noise.resolution).tolist():
            points = sorted({*breaks, *(x + j for x in breaks)})
            excess = [(b - a) * max(height(a) - growth * height(a - j), 0) for a, b in zip(points, points[1:])]
            worst = max(worst, sum(excess))
        exact = worst + Fraction(noise.atom_weight, 2**62)
        found = float(dominating_pair(noise, 1.0).delta(level))
        assert exact <= Fraction(found) <= exact * Fraction(1 + 1e-9) + Fraction(1e-18)


def test_the_largest_shift_is_not_the_worst_one_at_every_epsilon():
    """Two peaks that lie one sensitivity apart cover each other at that shift, and at no smaller one."""
    noise = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=12, breaks=[0, 1, 12, 13, 24], masses=[0.45, 0.05, 0.45, 0.05]
    )
    at_end = float(pair(noise, shift=1.0).delta(2.0))
    inside = max(float(pair(noise, shift=j / 12).delta(2.0)) for j in range(1, 12))
    assert inside > at_end + 0.01
    assert float(dominating_pair(noise, 1.0).delta(2.0)) == pytest.approx(inside, abs=1e-12)


@pytest.mark.parametrize("sensitivity", [1.0, 3.0, 7.0])
def test_laws_on_a_lattice(sensitivity):
    noise = on_a_lattice()
    points = np.linspace(0, 4, 9)
    bound = dominating_curve_upper(noise, points, sensitivity)
    audited = [audit.lattice_shortfall_upper(noise.masses, e, int(sensitivity))[0] for e in points.tolist()]
    assert bound == pytest.approx(np.array(audited), abs=1e-12)
    assert (dominating_pair(noise, sensitivity).delta(points) == bound).all()


def test_a_stretched_law_counts_its_steps():
    half, whole = stretched(Geometric(0.7), 0.5), Geometric(0.7)
    assert pair(half, shift=1.0).atoms == pair(whole, shift=2.0).atoms == pair(half, shift=1.4).atoms
    found = privacy_profile(half, EPSILONS, sensitivity=1.0)
    assert found == pytest.approx(privacy_profile(whole, EPSILONS, sensitivity=2.0))
    assert float(privacy_loss(half, -0.5, shift=1.0)) == pytest.approx(1.4)


# Further processing, groups, inverses -----------------------------------------------------------------


@pytest.mark.parametrize("key", CONTINUOUS)
@some
@given(data=st.data(), step=log_floats(0.05, 3), shift=log_floats(0.1, 5), low=st.floats(-3, 0), width=st.floats(0, 6))
def test_processing_never_reveals_more(key, data, step, shift, low, width):
    noise, alphas = data.draw(CONTINUOUS[key]), np.linspace(0.01, 1, 21)  # at 0, cells too improbable for floats
    original = pair(noise, shift=shift)
    for limits in ((-math.inf, math.inf), (low, low + width)):
        try:
            edges = rounding_edges(noise, shift=shift, step=step, low=limits[0], high=limits[1])
        except InputError:
            continue
        found = binned_pair(noise, edges, shift=shift)
        assert (found.delta(EPSILONS) <= original.delta(EPSILONS) + 1e-11).all()
        assert (found.tradeoff(alphas) >= original.tradeoff(alphas) - 1e-11).all()
        back = FinitePair.of(found.other, found.own)
        assert found.swapped.delta(EPSILONS) == pytest.approx(back.delta(EPSILONS), abs=1e-14)
        assert (found.swapped.delta(EPSILONS) <= original.delta(EPSILONS) + 1e-11).all()


@given(epsilon=st.one_of(st.just(0.0), log_floats(1e-3, 3)), delta=st.floats(0.001, 0.5), size=st.integers(1, 6))
def test_groups_by_formula_and_exactly(epsilon, delta, size):
    """The formula bounds the exact curve at k sensitivities of any (ε, δ)-DP law; for the geometric law it is tight."""
    privacy = Privacy(epsilon, delta)
    total, bound = group_privacy(privacy, size)
    assert total == size * epsilon
    assert bound == pytest.approx(min(delta * sum(math.exp(i * epsilon) for i in range(size)), 1.0))
    for law in (TruncatedLaplace.calibrate(privacy, 1.0), Gaussian.calibrate(privacy, 1.0)):
        assert float(privacy_profile(law, total, sensitivity=float(size))) <= bound * (
            1 + 1e-10
        )  # what closed forms err
    if epsilon:
        assert group_privacy(Privacy(epsilon, 0.0), size) == (total, 0.0)
        last = dominating_pair(Geometric(epsilon), float(size)).atoms[0][0]
        assert last == pytest.approx(total)


@some
@given(scale=log_floats(0.2, 5), delta=st.floats(1e-9, 0.9))
def test_the_least_epsilon(scale, delta):
    for law in (Laplace(scale), Gaussian(scale)):
        found = epsilon_at(law, delta, sensitivity=1.0)
        assert float(privacy_profile(law, found, sensitivity=1.0)) <= delta
        assert found == 0 or float(privacy_profile(law, found * (1 - 1e-9) - 1e-12, sensitivity=1.0)) > delta
    assert epsilon_at(Uniform(scale + 1), 0.25 / (scale + 1), sensitivity=1.0) == math.inf


@some
@given(epsilon=log_floats(0.2, 3), gamma=GAMMAS, atom=ATOMS, location=LOCATIONS, shift=log_floats(0.05, 6))
def test_staircases_by_their_cells(epsilon, gamma, atom, location, shift):
    """One period for all of them: against a fine enumeration of cells."""
    noise = Staircase(epsilon, 1.0, gamma, atom, location)
    edges = location + np.arange(-80, 81)[:, None] + np.array([-gamma, gamma])
    edges = np.unique(np.concatenate([edges.ravel(), edges.ravel() + shift]))
    middles, lengths = 0.5 * (edges[:-1] + edges[1:]), np.diff(edges)
    own, other = noise.density(middles) * lengths, noise.density(middles - shift) * lengths
    direct = FinitePair.of(np.append(own, [atom, 0]), np.append(other, [0, atom]))
    found = pair(noise, shift=shift)
    assert found.delta(EPSILONS) == pytest.approx(direct.delta(EPSILONS), abs=1e-6)


def test_bad_input_is_named():
    for call in (
        lambda: pair(Laplace(1.0), shift=0.0), lambda: pair(Geometric(1.0), shift=0.5),
        lambda: dominating_pair(solved(1.0, 0.2), math.nan), lambda: group_privacy(Privacy(1.0, 0.0), 0),
        lambda: rounding_edges(Laplace(1.0), shift=1.0, step=1e-9),
        lambda: rounding_edges(Laplace(1.0), shift=1.0, step=1.0, low=2.0, high=1.0),
    ):  # fmt: skip
        with pytest.raises(InputError):
            call()
