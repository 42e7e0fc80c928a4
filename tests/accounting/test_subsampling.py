"""Subsampling: pairs against mixtures written out, formulas against the operator C_p, dp_accounting as referee."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.accounting.mechanisms import Promised, Release, parse_mechanism
from dpcore.accounting.pairs import FinitePair, dominating_pair
from dpcore.accounting.subsampling import (
    SampledPair,
    Sampling,
    amplified,
    amplified_tradeoff,
    parse_sampling,
    subsampled_tradeoff,
)  # fmt: skip
from dpcore.errors import InputError
from dpcore.noise import Laplace, TruncatedLaplace
from dpcore.privacy import Privacy


@st.composite
def symmetric_pairs(draw) -> FinitePair:
    """Pairs of laws that are each other's mirror image, with outcomes that only one of them makes, sometimes."""
    n = draw(st.integers(2, 5))
    own = np.array(draw(st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n)))
    if draw(st.booleans()):
        own = np.append(own, 0.0)
    return FinitePair.of(own / own.sum(), own[::-1] / own.sum())


def written_out(base: FinitePair, rate: float, side: str) -> FinitePair:
    """The mixture of Theorem 14.3, outcome by outcome."""
    mixed = (1 - rate) * base.other + rate * base.own
    if side == "remove":
        return FinitePair.of(mixed, base.other)
    return FinitePair.of(base.other, mixed)


@settings(max_examples=60, deadline=None)
@given(symmetric_pairs(), st.floats(0.01, 0.99), st.sampled_from(["remove", "add"]))
def test_pairs_are_the_mixtures_of_the_theorem(base, rate, side):
    found, exact = SampledPair(base, rate, side), written_out(base, rate, side)
    epsilons = np.linspace(-4, 5, 73) + 1e-3
    np.testing.assert_allclose(found.delta(epsilons), exact.delta(epsilons), atol=1e-13)
    for ours, theirs in zip(found.tails(epsilons), exact.tails(epsilons)):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert abs(found.infinite - exact.infinite) < 1e-13
    tops = [max(loss for loss, own, _ in pair.atoms if math.isfinite(loss) and own > 0) for pair in (found, exact)]
    assert abs(tops[0] - tops[1]) < 1e-9


@settings(max_examples=30, deadline=None)
@given(symmetric_pairs(), st.floats(0.05, 0.95))
def test_replacing_is_removing_and_its_mirror_image(base, rate):
    found, remove = SampledPair(base, rate, "replace"), SampledPair(base, rate, "remove")
    epsilons = np.linspace(0, 4, 41)
    np.testing.assert_allclose(found.delta(epsilons), remove.delta(epsilons), atol=1e-14)
    back = 1 - np.exp(-epsilons) * (1 - found.delta(epsilons))
    np.testing.assert_allclose(found.delta(-epsilons), back, atol=1e-13)


def test_the_formula_of_the_corollary():
    epsilon, delta = amplified(1.0, 1e-6, 0.1)
    assert epsilon == pytest.approx(math.log(1 - 0.1 + 0.1 * math.e), rel=1e-14) and delta == pytest.approx(1e-7)
    assert amplified(1.0, 0.0, 1.0)[0] == 1.0
    assert amplified(1.0, 0.0, 0.3)[0] <= (math.e - 1) * 0.3  # Proposition 11.1


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.7, 1.0])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (3.0, 0.0), (2.0, 0.05), (3.0, 1e-3)])
def test_the_trade_off_function_of_corollary_13_2(rate, epsilon, delta):
    """For δ = 0 the closed form is the convex hull of min(f_p, f_p⁻¹); for δ > 0 it lies below it, on its line of
    slope −1 by pδ(e^ε − 1)/(e^ε + 1)."""
    alphas = np.linspace(0, 1, 201)
    closed = amplified_tradeoff(alphas, epsilon, delta, rate)
    computed = subsampled_tradeoff(Promised("", epsilon, delta).pair, alphas, rate)
    gap = rate * delta * math.tanh(epsilon / 2)
    assert (closed <= computed + 1e-12).all()  # a hull of finitely many points lies above the whole one
    assert (computed <= closed + gap + 2e-3).all()


@pytest.mark.parametrize("rate", [0.05, 0.5, 1.0])
def test_the_operator_is_dual_to_the_curve_of_replaced_persons(rate):
    base, alphas = Promised("", 2.0, 0.05).pair, np.linspace(0, 1, 20001)
    f = subsampled_tradeoff(base, alphas, rate)
    for epsilon in (0.0, 0.3, 1.0):
        best = float((1 - f - math.exp(epsilon) * alphas).max())
        assert abs(best - float(SampledPair(base, rate, "replace").delta(np.array([epsilon]))[0])) < 1e-3


@pytest.mark.parametrize("rate", [0.01, 0.2, 1.0])
@pytest.mark.parametrize("side", ["remove", "add"])
def test_trade_off_functions_are_dual_to_the_curves(rate, side):
    """H(ε) = sup over α of 1 − α − e^ε T(P, Q)(α)."""
    pair = SampledPair(dominating_pair(Laplace(0.7), 1.0), rate, side)
    alphas = np.concatenate([np.linspace(0, 1, 20001), 1 - np.geomspace(1e-6, 1e-3, 500)])
    f = pair.tradeoff(alphas)
    for epsilon in (0.0, 0.02, 0.1, 0.5):
        best = float((1 - alphas - math.exp(epsilon) * f).max())
        assert abs(max(best, 0.0) - float(pair.delta(np.array([epsilon]))[0])) < 2e-4


@pytest.mark.parametrize("rate", [0.01, 0.3])
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_curves_agree_with_dp_accounting(rate, scale):
    from dp_accounting.pld import privacy_loss_mechanism as theirs

    base = dominating_pair(Laplace(scale), 1.0)
    for side in ("remove", "add"):
        kind = theirs.AdjacencyType.REMOVE if side == "remove" else theirs.AdjacencyType.ADD
        loss = theirs.LaplacePrivacyLoss(scale, sampling_prob=rate, adjacency_type=kind)
        for epsilon in (-0.3, -0.001, 0.0, 0.003, 0.2, 1.0):
            ours = float(SampledPair(base, rate, side).delta(np.array([epsilon]))[0])
            assert ours == pytest.approx(float(loss.get_delta_for_epsilon(epsilon)), abs=1e-12)


def test_bounded_noise_on_a_sample_keeps_its_share_of_infinite_loss():
    noise = TruncatedLaplace.calibrate(Privacy(1.0, 0.01), 1.0)
    base = dominating_pair(noise, 1.0)
    assert SampledPair(base, 0.1, "remove").infinite == pytest.approx(0.1 * base.infinite)
    assert SampledPair(base, 0.1, "add").infinite == 0
    assert SampledPair(base, 0.1, "remove").renyi(np.array([2.0]))[0] == math.inf


def test_renyi_of_sampled_laplace_noise_is_between_brackets():
    """Numerical integration of E_Q (1 − γ + γλ)^α."""
    scale, rate, order = 1.0, 0.2, 3.0
    x = np.linspace(-40, 41, 2_000_001)
    q, p = np.exp(-np.abs(x) / scale) / (2 * scale), np.exp(-np.abs(x - 1) / scale) / (2 * scale)
    exact = math.log(float(np.trapezoid(q * (1 - rate + rate * p / q) ** order, x))) / (order - 1)
    found = float(SampledPair(dominating_pair(Laplace(scale), 1.0), rate, "remove").renyi(np.array([order]))[0])
    assert exact * (1 - 1e-6) <= found <= exact * (1 + 1e-4)


def test_everything_sampled_is_nothing_sampled():
    release = Release(parse_mechanism("laplace:epsilon=1"), 3, Sampling("poisson", 1.0))
    assert release.pair("remove") is release.mechanism.pair


@pytest.mark.parametrize(
    ("text", "kind", "rate"),
    [("poisson:0.01", "poisson", 0.01), ("fixed:60/6000", "fixed", 0.01), (" fixed:1 ", "fixed", 1.0)],
)
def test_sampling_from_text(text, kind, rate):
    assert parse_sampling(text) == Sampling(kind, rate)


@pytest.mark.parametrize(
    "text", ["", "poisson", "poisson:0", "poisson:2", "poisson:x", "fixed:1/0", "bernoulli:0.1", "fixed:nan"]
)
def test_sampling_that_is_none(text):
    with pytest.raises(InputError) as told:
        parse_sampling(text)
    assert told.value.field == "sampling" and "poisson:RATE" in told.value.accepted
