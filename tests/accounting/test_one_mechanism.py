"""Gaussian guarantees, Rényi curves, zCDP and attackers, each against another way to get it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, LaplaceDpEvent
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from strategies import LAWS, log_floats

from dpcore.accounting import attack
from dpcore.accounting.curves import privacy_profile
from dpcore.accounting.pairs import dominating_pair, pair, privacy_loss
from dpcore.accounting.renyi import disagreement, renyi_curve, zero_concentrated
from dpcore.accounting.tradeoff import (
    gaussian_guarantee,
    gaussian_tradeoff,
    group_tradeoff,
    guarantee_tradeoff,
    tradeoff,
)
from dpcore.errors import InputError
from dpcore.noise import Gaussian, Geometric, Laplace, Staircase, TruncatedLaplace, Uniform
from dpcore.privacy import Privacy

some = settings(max_examples=20)
ALPHAS = np.linspace(0.001, 0.999, 401)
BOUNDED_LOSS = {
    "laplace": lambda e: Laplace(1 / e), "staircase": lambda e: Staircase(e, 1.0, 0.3), "geometric": Geometric
}  # fmt: skip


# Trade-off functions and Gaussian guarantees ----------------------------------------------------------


@some
@given(privacy=st.builds(Privacy, log_floats(1e-3, 8), st.floats(1e-6, 0.9)))
def test_what_a_guarantee_alone_promises(privacy):
    """The promise lies below every calibrated mechanism's trade-off function, for all α [Awan, Thm. 3.4]."""
    promise = guarantee_tradeoff(privacy.epsilon, privacy.delta, ALPHAS)
    for law in (TruncatedLaplace.calibrate(privacy, 1.0), Gaussian.calibrate(privacy, 1.0)):
        assert (tradeoff(law, ALPHAS, sensitivity=1.0) >= promise - 1e-9).all()


@given(mu=log_floats(0.01, 8), size=st.integers(1, 5))
def test_gaussians_are_gaussian(mu, size):
    """N(0, 1/μ²) is μ-GDP exactly, and groups of k have kμ [Awan, Thms. 13.1 and 13.3]."""
    law = Gaussian(1 / mu)
    assert gaussian_guarantee(law, sensitivity=1.0).mu == pytest.approx(mu, rel=1e-12)
    assert tradeoff(law, ALPHAS, sensitivity=1.0) == pytest.approx(gaussian_tradeoff(mu, ALPHAS), abs=1e-12)
    group = group_tradeoff(lambda x: gaussian_tradeoff(mu, x), ALPHAS, size=size)
    assert group == pytest.approx(gaussian_tradeoff(size * mu, ALPHAS), abs=1e-9)


@pytest.mark.parametrize("key", BOUNDED_LOSS)
@some
@given(epsilon=log_floats(0.05, 8))
def test_the_best_mu_and_no_smaller_one(key, epsilon):
    law = BOUNDED_LOSS[key](epsilon)
    mu, alphas = gaussian_guarantee(law, sensitivity=1.0).mu, np.append(ALPHAS, np.geomspace(1e-6, 0.5, 4000))
    corners = [x for x in np.cumsum([own for _, own, _ in dominating_pair(law, 1.0).atoms]) if 0 < x < 1]
    alphas = np.concatenate([alphas, corners, 1 - np.array(corners), [math.exp(-epsilon / 2) / 2]])
    curve = tradeoff(law, alphas, sensitivity=1.0)
    assert (curve >= gaussian_tradeoff(mu, alphas) - 1e-12).all()
    assert (curve < gaussian_tradeoff(mu * (1 - 1e-6), alphas)).any()


def test_no_mu_where_releases_give_the_truth_away():
    law = TruncatedLaplace.calibrate(Privacy(1.0, 0.01), 1.0)
    found = gaussian_guarantee(law, sensitivity=1.0)
    assert found.mu is None and found.infinite == pytest.approx(0.01, rel=1e-9)
    assert gaussian_guarantee(Uniform(2.0, 0.1), sensitivity=1.0).mu is None


# Rényi ------------------------------------------------------------------------------------------------


@some
@given(ratio=log_floats(0.05, 6), orders=st.lists(st.floats(1.01, 60), min_size=1, max_size=5))
def test_renyi_curves_against_an_accountant(ratio, orders):
    for law, event in (
        (Gaussian(1 / ratio), GaussianDpEvent(1 / ratio)),
        (Laplace(1 / ratio), LaplaceDpEvent(1 / ratio)),
    ):
        accountant = RdpAccountant(orders)
        accountant.compose(event)
        assert renyi_curve(law, orders, sensitivity=1.0) == pytest.approx(accountant._rdp, rel=1e-8, abs=1e-12)


@some
@given(t=log_floats(1e-4, 6), order=log_floats(1e-12, 5).map(lambda s: 1 + s))
def test_renyi_of_laplace_by_quadrature(t, order):
    """Near order 1 too, where the published formula cancels."""
    s = order - 1
    middle = quad(lambda y: 0.5 * math.exp(-y) * math.expm1(s * (t - 2 * y)), 0, t, epsabs=1e-16, epsrel=1e-11)[0]
    total = 0.5 * math.expm1(s * t) + 0.5 * math.exp(-t) * math.expm1(-s * t) + middle
    assert float(pair(Laplace(1.0), shift=t).renyi(order)) == pytest.approx(math.log1p(total) / s, rel=1e-5)


@pytest.mark.parametrize("key", BOUNDED_LOSS)
@some
@given(epsilon=log_floats(0.01, 10))
def test_zero_concentration(key, epsilon):
    """ρ is above D_α/α everywhere, hardly so, and at most ε²/2 [Bun and Steinke 2016, Prop. 1.4]."""
    law = BOUNDED_LOSS[key](epsilon)
    rho = zero_concentrated(law, sensitivity=1.0).rho
    orders = 1 + np.geomspace(1e-8, 1e4, 3000)
    ratios = renyi_curve(law, orders, sensitivity=1.0) / orders
    assert ratios.max() <= rho * (1 + 1e-9) and rho <= ratios.max() * (1 + 1e-4)
    assert rho <= 0.5 * epsilon * epsilon * (1 + 1e-9)


def test_zero_concentration_of_gaussians_and_of_bounded_noise():
    assert zero_concentrated(Gaussian(2.0), sensitivity=3.0).rho == pytest.approx(9 / 8)
    for law in (TruncatedLaplace(1.0, 3.0), Uniform(2.0), Staircase(1.0, 1.0, 0.5, atom=0.1)):
        found = zero_concentrated(law, sensitivity=1.0)
        assert found.rho == math.inf and found.infinite > 0
        assert (renyi_curve(law, [1.0, 2.0], sensitivity=1.0) == math.inf).all()


@given(epsilon=st.floats(0.05, 4.8))
def test_renyi_and_testing_disagree(epsilon):
    """[Awan, Prop. 13.7]: smaller divergences at every order, and easier to tell apart."""
    found, easier, harder = disagreement(epsilon)
    orders = 1 + np.geomspace(1e-6, 1e4, 400)
    assert (found.renyi(orders) <= orders * epsilon**2 / 2).all()
    assert easier > harder
    assert float(found.delta(0.0)) == pytest.approx(easier)
    assert float(pair(Gaussian(1 / epsilon), shift=1.0).delta(0.0)) == pytest.approx(harder)


# Attackers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", LAWS)
@settings(max_examples=6)
@given(data=st.data(), prior=st.floats(0.05, 0.95), seed=st.integers(0, 2**31))
def test_the_best_attacker_wins_as_often_as_said(key, data, prior, seed):
    """20 000 games against Bayes' rule: Hoeffding's bound at probability 1e-9."""
    noise, rng, n = data.draw(LAWS[key]), np.random.default_rng(seed), 20_000
    truth = rng.random(n) < prior
    released = noise.sample(rng, n) + np.where(truth, 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        believed = attack.posterior(prior, privacy_loss(noise, released, shift=1.0))
    wins = np.where(believed == 0.5, 0.5, (believed > 0.5) == truth).mean()
    expected = attack.success(noise, sensitivity=1.0, prior=prior)
    assert wins == pytest.approx(expected, abs=math.sqrt(math.log(2e9) / (2 * n)))


@some
@given(privacy=st.builds(Privacy, log_floats(1e-2, 5), st.floats(1e-6, 0.6)), prior=st.floats(0.02, 0.98))
def test_what_a_guarantee_alone_says_about_attackers(privacy, prior):
    for law in (TruncatedLaplace.calibrate(privacy, 1.0), Gaussian.calibrate(privacy, 1.0)):
        bound = attack.success_upper(privacy, prior=prior)
        assert attack.success(law, sensitivity=1.0, prior=prior) <= bound + 1e-12
        for threshold in np.linspace(privacy.epsilon, privacy.epsilon + 3, 4)[1:].tolist():
            beyond = float(pair(law, shift=1.0).tails(threshold)[0])
            assert beyond <= attack.beyond_upper(privacy, threshold) + 1e-12
    even = (math.exp(privacy.epsilon) + privacy.delta) / (1 + math.exp(privacy.epsilon))
    assert attack.success_upper(privacy) == pytest.approx(even, rel=1e-12)


def test_posteriors_and_guesses():
    low, high = attack.posterior_bounds(0.2, 1.0)
    assert low == pytest.approx(0.2 / (0.2 + 0.8 * math.e)) and high == pytest.approx(
        0.2 * math.e / (0.2 * math.e + 0.8)
    )
    assert attack.posterior(0.3, [math.inf, -math.inf, 0.0]) == pytest.approx([1.0, 0.0, 0.3])
    assert attack.likelier([math.inf, 0.2, 0.0, -3.0, -math.inf]).tolist() == [1, 1, 0, -1, -1]
    law = Laplace(2.0)
    assert attack.total_variation(law, sensitivity=1.0) == float(privacy_profile(law, 0.0, sensitivity=1.0))


def test_the_salary_example():
    """[SLW, Example 1]: at a release of 165.5 the likelihoods 1.389 and 0.688 of 140.9k and 120k … 190k; their ratio
    e^0.7 is below e^ε = e. (The published scale 0.36 is the sensitivity 70/194 rounded.)"""
    law, sensitivity = Laplace(0.36), 70 / 194
    known, release = 165.65 * 194 - 170, 165.5
    likelihood = lambda salary: float(law.density(release - (known + salary) / 194))  # noqa: E731
    best = release * 194 - known
    assert best == pytest.approx(140.9, abs=0.05)
    assert likelihood(best) == pytest.approx(1.389, abs=5e-4) and likelihood(190) == pytest.approx(0.688, abs=1.5e-3)
    loss = float(privacy_loss(law, release - (known + best) / 194, shift=(190 - best) / 194))
    assert loss == pytest.approx(0.7, abs=0.01) and loss <= sensitivity / 0.36


def test_bad_input_is_named():
    for call in (
        lambda: attack.success(Laplace(1.0), sensitivity=1.0, prior=0.0), lambda: disagreement(0.0),
        lambda: renyi_curve(Laplace(1.0), [0.5], sensitivity=1.0),
        lambda: guarantee_tradeoff(-1.0, 0.1, [0.5]), lambda: gaussian_tradeoff(math.nan, [0.5]),
    ):  # fmt: skip
        with pytest.raises(InputError):
            call()
