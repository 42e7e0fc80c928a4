"""Multi-Gaussian and quasi-Gaussian noise: δ(ε) over all shifts, least σ, what is paid; against other people's code."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from look import look as plain
from mpmath import mp, mpf
from scipy import integrate

from dpcore.accounting.mechanisms import Additive, Release
from dpcore.accounting.pairs import dominating_pair, pair
from dpcore.accounting.truth import Truth
from dpcore.audit import shortfall_upper
from dpcore.loss import parse_loss
from dpcore.mechanisms import baseline, baselines
from dpcore.noise import MultiGaussian, QuasiGaussian
from dpcore.noise.mixture import TOLERANCE, Ladder, Mixture, Shoulders
from dpcore.noise.worst_shift import look
from dpcore.privacy import Privacy
from dpcore.problem import noise_problem

KINDS = {"multi-gaussian": MultiGaussian, "quasi-gaussian": QuasiGaussian}
POINTS = {
    (0.5, 1e-3): {"multi-gaussian": (0.388801, 1.995383, 0.812), "quasi-gaussian": (4.54489, 3.787801, 1.0)},
    (1.0, 1e-5): {"multi-gaussian": (0.357541, 0.982936, 0.945), "quasi-gaussian": (3.68531, 3.062192, 1.0)},
    (2.0, 1e-6): {"multi-gaussian": (0.308375, 0.463129, 0.970), "quasi-gaussian": (2.17594, 1.800801, 1.0)},
    (5.0, 1e-6): {"multi-gaussian": (0.236887, 0.199955, 0.956), "quasi-gaussian": (0.893911, 0.719096, 1.0)},
    (8.0, 1e-2): {"multi-gaussian": (0.193730, 0.155141, 0.884), "quasi-gaussian": (0.193810, 0.155205, 0.885)},
}  # fmt: skip
"""(ε, δ) → σ, E|X| and the worst shift, sensitivity 1."""
EVERY = [(key, at) for at in POINTS for key in KINDS]


def weights(noise: Mixture) -> list[tuple[int, mpf]]:
    """(k, weight of the normal density around k) on the right-hand side of 0; mpmath, straight from the definition."""
    e = mp.exp(mpf(noise.epsilon))
    if isinstance(noise, QuasiGaussian):
        total = e + 2 * mp.ncdf(1 / mpf(noise.sigma))
        return [(0, e / total), (1, 1 / total)]
    reach = max(12, int(60 / noise.epsilon))
    return [(k, (e - 1) / (e + 1) * e ** -abs(k)) for k in range(-reach, reach + 1)]


def density(noise: Mixture, x: mpf) -> mpf:
    y = abs(x)
    if isinstance(noise, MultiGaussian):
        y = x
    return mp.fsum(w * mp.npdf(y, k, noise.sigma) for k, w in weights(noise) if abs(y - k) < 20 * noise.sigma + 3)


@pytest.mark.parametrize(("key", "at"), EVERY)
def test_the_figures_of_both_at_five_points(key, at):
    noise = KINDS[key].calibrate(Privacy(*at), 1.0)
    sigma, amplitude, worst = POINTS[at][key]
    assert noise.sigma == pytest.approx(sigma, rel=1e-4)
    assert noise.expected_loss(parse_loss("l1")) == pytest.approx(amplitude, rel=1e-4)
    delta, shift = shortfall_upper(noise, at[0], 1.0)
    assert delta <= at[1] and shift == pytest.approx(worst, abs=2e-3)


@pytest.mark.parametrize(("key", "at"), EVERY)
def test_a_little_less_sigma_is_not_private(key, at):
    """Seen from below, by quadrature at the worst shift: the σ shown is the least to a part in a thousand."""
    noise = KINDS[key].calibrate(Privacy(*at), 1.0)
    less = KINDS[key](at[0], 1.0, noise.sigma * (1 - 1e-3))
    assert by_quadrature(less, at[0], shortfall_upper(noise, *at[:1], 1.0)[1]) > at[1]


def by_quadrature(noise: Mixture, epsilon: float, shift: float) -> float:
    """∫ max(0, f(x) − e^ε f(x − φ)) dx by narrow Gauss panels: where r > 0 in narrow windows, 40 to a σ err by .2 %."""
    reach = 40 / epsilon + 3 if isinstance(noise, MultiGaussian) else 1 + 12 * noise.sigma
    ends = np.linspace(-reach, reach + 1, int((2 * reach + 1) / noise.sigma * 160))
    nodes, share = np.polynomial.legendre.leggauss(4)
    half = np.diff(ends) / 2
    x = (ends[1:] + ends[:-1])[:, None] / 2 + half[:, None] * nodes
    excess = noise.density(x) - math.exp(epsilon) * noise.density(x - shift)
    return float((np.maximum(excess, 0) * share * half[:, None]).sum())


@pytest.mark.parametrize(("key", "at"), EVERY)
def test_no_shift_is_worse_by_quadrature(key, at):
    """A sum over a grid of shifts that knows nothing of where the worst one is."""
    noise = KINDS[key].calibrate(Privacy(*at), 1.0)
    upper, worst = shortfall_upper(noise, at[0], 1.0)
    for shift in (0.3, 0.6, 0.8, 0.9, 1.0, worst):
        assert by_quadrature(noise, at[0], shift) <= upper * (1 + 5e-5) + 1e-15
    assert by_quadrature(noise, at[0], worst) == pytest.approx(upper, rel=2e-4)


@pytest.mark.parametrize("key", KINDS)
def test_density_tail_and_moments_against_mpmath(key):
    noise = KINDS[key](1.3, 1.0, 0.31)
    with mp.workdps(30):
        for x in (0.0, 0.2, 0.9, 1.7, 3.2):
            assert float(noise.density(x)) == pytest.approx(float(density(noise, mpf(x))), rel=1e-12)
        side = [(k, w) for k, w in weights(noise)]
        beyond = mp.fsum(w * mp.ncdf((k - mpf("0.7")) / mpf(noise.sigma)) for k, w in side)
    assert float(noise.beyond(0.7)) == pytest.approx(float(beyond), rel=1e-12)
    reach = 60 / 1.3
    for spec in ("l1", "l2", "lp:1.5", "huber:0.4", "exceed:0.8"):
        loss = parse_loss(spec)
        ends = [-reach, *np.arange(-12, 12, 0.1), reach]
        ends = sorted({*ends, -0.4, 0.4, -0.8, 0.8, 0.0})
        parts = [integrate.fixed_quad(lambda x, f=loss: f.value(x) * noise.density(x), a, b, n=20)[0]
                 for a, b in zip(ends, ends[1:])]  # fmt: skip
        assert noise.expected_loss(loss) == pytest.approx(math.fsum(parts), rel=2e-5)


@pytest.mark.parametrize("key", KINDS)
def test_distribution_quantile_and_samples_agree(key):
    noise = KINDS[key](1.0, 2.0, 0.7, 0.3)
    u = np.array([1e-9, 0.01, 0.3, 0.5, 0.77, 0.999])
    assert noise.cdf(noise.quantile(u)) == pytest.approx(u, rel=1e-9)
    x = np.sort(noise.sample(np.random.default_rng(3), 40_000))
    assert np.abs(noise.cdf(x) - np.linspace(0, 1, x.size)).max() <= math.sqrt(math.log(2e9) / (2 * x.size))
    assert type(noise)(**noise.parameters) == noise


@pytest.mark.parametrize("key", KINDS)
def test_an_independent_accountant_confirms_the_curve_and_three_releases(key):
    """dp-accounting, given the probabilities of 60 000 cells, rounds losses up to its grid."""
    noise = KINDS[key].calibrate(Privacy(1.0, 0.01), 1.0)
    shift = noise.worst(1.0, 1.0)[1]
    edges = np.linspace(-45, 46, 60_001)
    own, other = (np.maximum(np.diff(noise.cdf(edges - s)), 0) for s in (0.0, shift))
    kept = (own > 1e-300) & (other > 1e-300)
    found = pld.from_two_probability_mass_functions(
        dict(enumerate(np.log(own[kept]))), dict(enumerate(np.log(other[kept]))),
        value_discretization_interval=1e-3, log_mass_truncation_bound=-40,
    )  # fmt: skip
    mine = pair(noise, shift=shift)
    for epsilon in (0.2, 0.6, 1.0):
        known = found.get_delta_for_epsilon(epsilon)
        assert float(mine.delta(epsilon)) * (1 - 1e-3) <= known <= float(mine.delta(epsilon)) * 1.02
    assert found.get_delta_for_epsilon(1.0) == pytest.approx(0.01, rel=2e-2)
    several = Truth((Release(Additive(key, noise, 1.0), 3),), points=1 << 13, delta=1e-3).delta(3.0)
    known = found.self_compose(3).get_delta_for_epsilon(3.0)
    assert several.lower <= known <= 1.1 * several.upper  # losses rounded up
    tight = dominating_pair(noise, 1.0)
    assert (tight.delta([0.0, 0.5, 1.0]) >= mine.delta([0.0, 0.5, 1.0]) * (1 - 1e-4)).all()
    assert float(tight.delta(1.0)) <= 0.01 * 1.05


LAWS = st.builds(
    lambda kind, spread, epsilon: kind(spread, epsilon),
    st.sampled_from((Ladder, Shoulders)), st.floats(0.1, 6), st.floats(0.02, 12),
)  # fmt: skip


@given(law=LAWS, top=st.floats(0.01, 5), epsilon=st.floats(0, 12), seed=st.integers(0, 99))
def test_the_compiled_sums_are_those_of_numpy(law, top, epsilon, seed):
    """Bounds to a part in 10⁹; values and slopes, where terms cancel, to the rounding that is counted."""
    rng = np.random.default_rng(seed)
    x, shift = rng.uniform(-law.reach, law.reach + top, 60), rng.uniform(1e-3, top, 60)
    growth, radius, more = np.full(60, math.exp(epsilon)), *rng.uniform(0, law.spread / 8, (2, 60))
    found, known = look(law, x, shift, growth, radius, more), plain(law, x, shift, growth, radius, more)
    assert np.abs(found.value - known[0]).max() <= (found.error + known[2]).max()
    scale = 1e-9 * np.abs(known).max(axis=1) + 1e-300
    for mine, theirs, off in zip(found, known, scale):
        assert mine == pytest.approx(theirs, rel=1e-9, abs=off)


@settings(max_examples=8)
@given(law=LAWS, shift=st.floats(0.05, 2.5), epsilon=st.floats(0, 8), share=st.floats(-1, 2))
def test_what_is_proved_of_a_place_holds_around_it(law, shift, epsilon, share):
    """r by 40 digits, its second difference, and those of f at x − φ, at places around. Sums are cut 12 σ away."""
    x, radius, more = share * (1 + 3 * law.spread), law.spread / 8, law.spread / 20
    if min(abs(x), abs(x - shift)) <= radius + more:
        return  # a kink
    column = lambda value: np.array([value])  # noqa: E731
    found = look(law, column(x), column(shift), column(math.exp(epsilon)), column(radius), column(more))
    kind = MultiGaussian if isinstance(law, Ladder) else QuasiGaussian
    noise = kind(law.rate or law.epsilon, 1.0, law.spread)
    terms = weights(noise)

    def f(y: float) -> mpf:
        at = abs(mpf(y)) if isinstance(noise, QuasiGaussian) else mpf(y)
        return mp.fsum(w * mp.npdf(at, k, noise.sigma) for k, w in terms if abs(at - k) < 12 * noise.sigma + 3)

    with mp.workdps(40):
        r = lambda y: f(y) - mp.exp(mpf(epsilon)) * f(y - mpf(shift))  # noqa: E731
        cut = 1e-16 * float(f(x) + mp.exp(epsilon) * f(x - shift))  # more than what either leaves out
        assert abs(float(r(x)) - found.value[0]) <= found.error[0] + cut
        h = radius / 8
        for y in (x - radius + h, x, x + radius - h):
            assert abs(r(y - h) - 2 * r(y) + r(y + h)) <= found.bend[0] * h**2 * (1 + 1e-9)
        for y in (x - shift - radius - more + h, x - shift + radius + more - h):
            assert abs(f(y + h) - f(y - h)) <= 2 * h * found.steepest[0] * (1 + 1e-9)
            assert abs(f(y - h) - 2 * f(y) + f(y + h)) <= h**2 * found.bent[0] * (1 + 1e-9)


def test_a_larger_sensitivity_and_a_smaller_epsilon_cost_privacy():
    for kind in KINDS.values():
        noise = kind.calibrate(Privacy(1.0, 0.01), 3.0)
        assert noise.shortfall(1.0, 3.0) <= 0.01 < noise.shortfall(1.0, 6.0)
        assert noise.shortfall(0.5, 3.0) > 0.01 > noise.shortfall(1.2, 3.0)
        assert noise.sigma == pytest.approx(3 * kind.calibrate(Privacy(1.0, 0.01), 1.0).sigma, rel=1e-12)
    assert TOLERANCE <= 1e-4


def test_they_stand_among_the_baselines():
    found = {b.key: b for b in baselines(noise_problem(1.0, 0.2))}
    assert found["multi-gaussian"].valid and found["quasi-gaussian"].loss < found["gaussian"].loss
    assert "epsilon" in baseline("multi-gaussian", noise_problem(0.0, 0.2)).reason
    assert "delta = 1e-07" in baseline("multi-gaussian", noise_problem(1.0, 1e-9)).reason
    assert "peaks" in baseline("multi-gaussian", noise_problem(1.0, 0.2, monotone=True)).reason
