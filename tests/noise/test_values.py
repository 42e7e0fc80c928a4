"""Closed forms against the literature, many digits, another implementation, and their own calibration."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from panels import integral
from strategies import deltas, epsilons, log_floats, losses, privacies, sensitivities

from dpcore.errors import InputError
from dpcore.loss import absolute, exceedance, parse_loss, power, squared
from dpcore.noise import DiscreteStaircase, Gaussian, Geometric, Laplace, Staircase, TruncatedLaplace, Uniform
from dpcore.noise.gaussian import gaussian_delta
from dpcore.noise.moments import falling_integral, geometric_sum, rising_integral
from dpcore.privacy import Privacy

# Literature ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "amplitude"), [(5, 0.25, 0.392281), (1, 0.2, 1.22392), (0.2, 0.05, 4.72669)]
)
def test_truncated_laplace_amplitude(epsilon, delta, amplitude):
    """Sensitivity 2 [G20, as recomputed in SLW]; six digits are printed."""
    noise = TruncatedLaplace.calibrate(Privacy(epsilon, delta), 2.0)
    assert noise.expected_loss(absolute()) == pytest.approx(amplitude, rel=5e-6)
    assert noise.half_width == pytest.approx(2 * Privacy(epsilon, delta).truncation(), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (1, 0.2, 0.8359987109),
        (1, 1e-5, 3.7306316348),
        (0.1, 1e-5, 30.749566132),
        (5, 0.25, 0.3546573106),
        (10, 1e-5, 0.4998886197),
    ],
)
def test_analytic_gaussian_sigma(epsilon, delta, sigma):
    """[BW18] at sensitivity 1; ten digits are known."""
    noise = Gaussian.calibrate(Privacy(epsilon, delta), 1.0)
    assert noise.sigma == pytest.approx(sigma, rel=2e-10)
    assert noise.expected_loss(squared()) == pytest.approx(sigma**2, rel=1e-9)
    assert noise.expected_loss(absolute()) == pytest.approx(sigma * math.sqrt(2 / math.pi), rel=1e-9)


def test_gaussian_delta_at_one():
    assert Gaussian(1.0).shortfall(1.0, 1.0) == pytest.approx(0.12693674, abs=5e-9)


@given(mu=log_floats(1e-3, 20), share=st.floats(0, 8))
def test_gaussian_deltas_of_one_and_of_many_epsilons_are_the_same(mu, share):
    """What is lost of the difference of Mills' ratios, which the one integrates and the other does not, is 1e-14/μ."""
    one, many = Gaussian(1 / mu).shortfall(share * mu, 1.0), Gaussian(1 / mu).pair(1.0).delta([share * mu])
    assert many[0] == pytest.approx(one, rel=1e-13 + 2e-14 / mu, abs=1e-300)


def test_classical_gaussian_is_not_private_at_large_epsilon():
    """[BW18]: at (10, 1e-5) the classical sigma is .48448 and its true δ 2.27e-5."""
    noise = Gaussian.classical(Privacy(10.0, 1e-5), 1.0)
    assert noise.sigma == pytest.approx(0.48448, abs=5e-6)
    assert noise.shortfall(10.0, 1.0) == pytest.approx(2.27e-5, abs=5e-8)


@settings(max_examples=50)
@given(epsilon=epsilons(high=1.0), delta=deltas(high=0.5))
def test_classical_gaussian_is_private_up_to_epsilon_one(epsilon, delta):
    privacy = Privacy(epsilon, delta)
    noise = Gaussian.classical(privacy, 1.0)
    assert noise.shortfall(epsilon, 1.0) <= delta
    assert noise.sigma >= Gaussian.calibrate(privacy, 1.0).sigma


@pytest.mark.parametrize(
    ("epsilon", "amplitude", "second_moment"),
    [(1, 0.959517376, 1.918103531), (2, 0.425459064, 0.422732849), (5, 0.082641835, 0.029711024)],
)
def test_staircase(epsilon, amplitude, second_moment):
    """Nine digits; γ is optimal for the loss that is paid [GV15]."""
    privacy = Privacy(epsilon, 0.0)
    assert Staircase.calibrate(privacy, 1.0, absolute()).expected_loss(absolute()) == pytest.approx(
        amplitude, abs=6e-10
    )
    assert Staircase.calibrate(privacy, 1.0, squared()).expected_loss(squared()) == pytest.approx(
        second_moment, abs=6e-10
    )


@settings(max_examples=20)
@given(epsilon=epsilons(), sensitivity=log_floats(1e-3, 1e3))
def test_staircase_amplitude_in_closed_form(epsilon, sensitivity):
    """E|X| = D e^(ε/2)/(e^ε − 1) [GV15] from the smallest to the largest ε; the search finds the same γ."""
    noise = Staircase.calibrate(Privacy(epsilon, 0.0), sensitivity)
    expected = sensitivity / (2 * math.sinh(epsilon / 2))
    assert noise.expected_loss(absolute()) == pytest.approx(expected, rel=1e-12)
    searched = Staircase.calibrate(Privacy(epsilon, 0.0), sensitivity, power(1 + 1e-13))
    assert searched.expected_loss(absolute()) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40)
@given(epsilon=epsilons(0.01))
@example(epsilon=1.6487212707001282)  # here two points of the search grid all but coincide
def test_staircase_step_for_the_squared_error(epsilon):
    """γ = −b/(1 − b) + (b − 2b² + 2b⁴ − b⁵)^(1/3)/(2^(1/3)(1 − b)²), b = e^−ε [GV15]; flat near its optimum."""
    noise = Staircase.calibrate(Privacy(epsilon, 0.0), 1.0, squared())
    with mpmath.workdps(40):
        b = mpmath.exp(-mpmath.mpf(epsilon))
        gamma = -b / (1 - b) + mpmath.cbrt((b - 2 * b**2 + 2 * b**4 - b**5) / 2) / (1 - b) ** 2
    best = Staircase(epsilon, 1.0, float(gamma)).expected_loss(squared())
    assert noise.expected_loss(squared()) == pytest.approx(best, rel=1e-11, abs=0)


@pytest.mark.parametrize(("epsilon", "amplitude"), [(1, 2.8608), (2, 1.1960)])
def test_discrete_staircase_at_sensitivity_three(epsilon, amplitude):
    """δ = 0, whole-number query: the linear program over grid laws gives the same four decimals."""
    noise = DiscreteStaircase.calibrate(Privacy(epsilon, 0.0), 3, absolute())
    assert noise.expected_loss(absolute()) == pytest.approx(amplitude, abs=5e-5)


@settings(max_examples=30)
@given(epsilon=epsilons(), loss=losses())
def test_discrete_staircase_of_sensitivity_one_is_geometric(epsilon, loss):
    privacy = Privacy(epsilon, 0.0)
    geometric, staircase = Geometric.calibrate(privacy, 1), DiscreteStaircase.calibrate(privacy, 1, loss)
    assert staircase.expected_loss(loss) == pytest.approx(geometric.expected_loss(loss), rel=1e-13, abs=1e-300)
    k = np.arange(-5, 6)
    assert staircase.pmf(k) == pytest.approx(geometric.pmf(k), rel=1e-13)
    assert geometric.expected_loss(absolute()) == pytest.approx(1 / math.sinh(epsilon), rel=1e-12)


@settings(max_examples=30)
@given(epsilon=epsilons(0.05), sensitivity=st.integers(1, 30), loss=losses())
def test_discrete_staircase_takes_the_best_step(epsilon, sensitivity, loss):
    best = DiscreteStaircase.calibrate(Privacy(epsilon, 0.0), sensitivity, loss).expected_loss(loss)
    every = [DiscreteStaircase(epsilon, sensitivity, r).expected_loss(loss) for r in range(1, sensitivity + 1)]
    assert best <= min(every) * (1 + 1e-12)


@settings(max_examples=30)
@given(epsilon=epsilons(0.05), sensitivity=log_floats(0.1, 10), loss=losses(), gamma=st.floats(0, 1))
def test_no_other_staircase_is_better(epsilon, sensitivity, loss, gamma):
    best = Staircase.calibrate(Privacy(epsilon, 0.0), sensitivity, loss).expected_loss(loss)
    other = Staircase(epsilon, sensitivity, gamma).expected_loss(loss)
    if loss.grows_from_zero:  # one valley; the search stops at a relative 1e-6 in γ, at a kink this is the loss's error
        assert best <= other * (1 + 1e-6) + 1e-15


# Zero epsilon [method: border] ----------------------------------------------------------------------------


@settings(max_examples=60)
@given(delta=deltas(), sensitivity=sensitivities())
def test_total_variation_optimum(delta, sensitivity):
    """E|X| = D/(4δ) below δ = ½, D(1 − δ) with an atom 2δ − 1 above [G19]."""
    noise = Uniform.calibrate(Privacy(0.0, delta), sensitivity, absolute())
    expected = sensitivity / (4 * delta) if delta < 0.5 else sensitivity * (1 - delta)
    assert noise.expected_loss(absolute()) == pytest.approx(expected, rel=1e-11)
    assert noise.atom == pytest.approx(max(0, 2 * delta - 1), abs=1e-15)
    assert noise.shortfall(0.0, sensitivity) <= delta


@settings(max_examples=30)
@given(delta=deltas(0.01), loss=losses(), share=st.floats(0, 0.99))
def test_no_other_uniform_with_atom_is_better(delta, loss, share):
    best = Uniform.calibrate(Privacy(0.0, delta), 1.0, loss)
    atom = share * delta
    other = Uniform(0.5 * (1 - atom) / (delta - atom), atom)
    # the last term: atoms above δ(1 − e^−10) are not tried
    top = float(loss.value(np.array([-1e4, 1e4])).max()) if "exceed" in loss.spec else 0.0
    if loss.grows_from_zero:
        assert best.expected_loss(loss) <= other.expected_loss(loss) * (1 + 1e-6) + 1e-4 * top + 1e-15


# Calibration -----------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(privacy=privacies(), sensitivity=sensitivities())
def test_calibrated_laws_are_private_and_tight(privacy, sensitivity):
    """Shortfall ≤ δ without tolerance; a law shrunk by 1e-6 is not private any more."""
    epsilon, delta = privacy.epsilon, privacy.delta
    laws = [
        TruncatedLaplace.calibrate(privacy, sensitivity),
        Gaussian.calibrate(privacy, sensitivity),
        Uniform.calibrate(privacy, sensitivity),
        Laplace.relaxed(privacy, sensitivity),
    ]
    for noise in laws:
        assert noise.shortfall(epsilon, sensitivity) <= delta
        assert noise.shortfall(epsilon, sensitivity * (1 + 1e-6)) > delta
    if epsilon:
        for noise in (Laplace.calibrate(privacy, sensitivity), Staircase.calibrate(privacy, sensitivity)):
            assert noise.shortfall(epsilon, sensitivity) == 0
        assert Staircase.calibrate(privacy, sensitivity, atom=delta).shortfall(epsilon, sensitivity) == delta


@settings(max_examples=30)
@given(epsilon=epsilons(), sensitivity=st.integers(1, 1000), loss=losses())
def test_whole_number_laws_are_private(epsilon, sensitivity, loss):
    privacy = Privacy(epsilon, 0.0)
    for noise in (
        Geometric.calibrate(privacy, sensitivity),
        DiscreteStaircase.calibrate(privacy, sensitivity, absolute()),
    ):
        assert noise.shortfall(epsilon, sensitivity) == 0
        assert noise.shortfall(epsilon * (1 - 1e-6), sensitivity) > 0
        assert noise.expected_loss(loss) >= 0


@settings(max_examples=30)
@given(privacy=privacies(total_variation=False), factor=log_floats(1e-6, 1e6), exponent=st.floats(1, 4))
def test_scaling_the_sensitivity_scales_the_noise(privacy, factor, exponent):
    loss = power(exponent)
    for rule in (
        lambda s: Laplace.calibrate(privacy, s),
        lambda s: TruncatedLaplace.calibrate(privacy, s),
        lambda s: Gaussian.calibrate(privacy, s),
        lambda s: Gaussian.classical(privacy, s),
        lambda s: Staircase.calibrate(privacy, s),
        lambda s: Uniform.calibrate(privacy, s),
    ):
        one, other = rule(1.0), rule(factor)
        assert other.expected_loss(loss) == pytest.approx(factor**exponent * one.expected_loss(loss), rel=1e-9, abs=0)


def test_mechanisms_that_do_not_exist_say_so():
    pure, total = Privacy(1.0, 0.0), Privacy(0.0, 0.1)
    for build in (TruncatedLaplace.calibrate, Gaussian.calibrate, Gaussian.classical, Uniform.calibrate):
        with pytest.raises(InputError, match="delta"):
            build(pure, 1.0)
    for build in (Laplace.calibrate, Gaussian.classical, Staircase.calibrate, Geometric.calibrate):
        with pytest.raises(InputError, match="epsilon"):
            build(total, 1)
    with pytest.raises(InputError, match="epsilon"):
        DiscreteStaircase.calibrate(total, 3, absolute())


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: Laplace(0.0), "scale"),
        (lambda: Gaussian(-1.0), "sigma"),
        (lambda: Gaussian(math.nan), "sigma"),
        (lambda: TruncatedLaplace(1.0, 0.0), "half_width"),
        (lambda: Uniform(1.0, 1.5), "atom"),
        (lambda: Uniform(1.0, location=math.inf), "location"),
        (lambda: Staircase(1.0, 1.0, 1.5), "gamma"),
        (lambda: Staircase(0.0, 1.0, 0.5), "epsilon"),
        (lambda: DiscreteStaircase(1.0, 3, 4), "r"),
        (lambda: Geometric(1.0, 0), "sensitivity"),
    ],
)
def test_parameters_are_checked(build, field):
    with pytest.raises(InputError) as error:
        build()
    assert error.value.field == field


# Digits ----------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(epsilon=st.one_of(epsilons(), st.just(0.0)), delta=deltas(1e-15))
def test_gaussian_delta_in_fifty_digits(epsilon, delta):
    """At the calibrated sigma: relative error below the margin 1e-11 that calibration leaves."""
    ratio = Gaussian.calibrate(Privacy(epsilon, max(delta, 1e-12)), 1.0).sigma
    ratio *= 1 + max(0.0, math.log(max(delta, 1e-12) / delta)) / 10  # smaller δ than Privacy accepts
    with mpmath.workdps(50):
        r, e = mpmath.mpf(ratio), mpmath.mpf(epsilon)
        a, b = 1 / (2 * r) - e * r, -1 / (2 * r) - e * r
        exact = mpmath.ncdf(a) - mpmath.exp(e) * mpmath.ncdf(b)
        assume(exact > 1e-16)
        assert abs(gaussian_delta(ratio, epsilon) / exact - 1) < 1e-11


def test_gaussian_delta_when_nearly_everything_cancels():
    """sigma a hundred million sensitivities: δ is of order 1e-9, the two terms of the formula of order 1."""
    with mpmath.workdps(50):
        for ratio, epsilon in ((1e8, 1e-9), (1e8, 3e-8), (1e4, 1e-4), (30.0, 0.2)):
            r, e = mpmath.mpf(ratio), mpmath.mpf(epsilon)
            exact = mpmath.ncdf(1 / (2 * r) - e * r) - mpmath.exp(e) * mpmath.ncdf(-1 / (2 * r) - e * r)
            assert abs(gaussian_delta(ratio, epsilon) / exact - 1) < 1e-12


@pytest.mark.parametrize("power_", [0, 1, 2.5, 4])
def test_moments_of_narrow_intervals_keep_their_digits(power_):
    """∫_0^h |x|^p f(x) dx where f is constant to 1e-14, or exactly: no difference of nearly equal tails."""
    h = 1e-3
    monomial = h ** (power_ + 1) / (power_ + 1)
    for noise in (Staircase(0.01, 1.0, 0.3), Uniform(2.0), TruncatedLaplace(1e12, 3.0), Gaussian(1e5), Laplace(1e12)):
        expected = float(noise.density(0.0)) * monomial
        for lo, hi in ((0.0, h), (-h, 0.0)):
            assert noise.partial_moment(power_, lo, hi) == pytest.approx(expected, rel=1e-12, abs=0)


@settings(max_examples=60)
@given(
    exponent=st.one_of(st.integers(0, 4), st.floats(0, 4)),
    start=st.one_of(st.just(0.0), log_floats(1e-6, 1e3)),
    length=st.one_of(st.just(math.inf), log_floats(1e-6, 1e3)),
)
def test_exponential_integrals_in_thirty_digits(exponent, start, length):
    with mpmath.workdps(60):
        p, x, y = mpmath.mpf(exponent), mpmath.mpf(start), mpmath.mpf(start) + mpmath.mpf(length)
        # two upper tails: mpmath's own difference loses all digits far out
        exact = mpmath.exp(x) * (mpmath.gammainc(p + 1, x) - (mpmath.gammainc(p + 1, y) if length < math.inf else 0))
        assert abs(falling_integral(exponent, start, length) / exact - 1) < 1e-12
        if math.isfinite(length) and start + length > 0:
            # ∫_0^L (c − t)^p e^−t dt with c = start + L, by Kummer's function
            lower = lambda c: c ** (p + 1) / (p + 1) * mpmath.hyp1f1(1, p + 2, -c)  # noqa: E731
            exact = lower(y) - mpmath.exp(-mpmath.mpf(length)) * lower(x)
            computed = rising_integral(exponent, start + length, length)
            # start + length is rounded once, which a narrow interval far from 0 does not feel
            assert abs(computed / exact - 1) < 1e-11


@settings(max_examples=30)
@given(exponent=st.one_of(st.integers(0, 5), st.floats(0, 5)), rate=log_floats(1e-3, 20), start=log_floats(1e-3, 1e4))
@example(exponent=3.5, rate=0.699, start=0.001)
@example(exponent=0.5, rate=0.701, start=0.001)
@example(exponent=4.5, rate=0.001, start=0.001)
def test_geometric_sums_in_thirty_digits(exponent, rate, start):
    """Against the plain sum in long double precision (64 bits), 60/rate terms and more."""
    k = np.arange(int(90 / rate) + 10, dtype=np.longdouble)
    terms = np.exp(-np.longdouble(rate) * k) * (np.longdouble(start) + k) ** np.longdouble(exponent)
    assert float(geometric_sum(exponent, rate, start)) == pytest.approx(float(terms.sum()), rel=1e-12)
    assert geometric_sum(exponent, rate, np.array([start, 0.5]))[0] == geometric_sum(exponent, rate, start)


@settings(max_examples=6)
@given(loss=losses())
def test_staircase_with_thousands_of_steps(loss):
    """ε = 0.02: tails of the sums are closed forms there; the quadrature goes cell by cell."""
    noise = Staircase(0.02, 1.0, 0.3)
    expected = integral(noise, loss.value, -math.inf, math.inf, loss.breaks.tolist())
    assert noise.expected_loss(loss) == pytest.approx(expected, rel=1e-10)


def test_small_probabilities_keep_their_digits():
    """P(|X| > t) far out: no 1 − (1 − q)."""
    far = exceedance(40.0)
    assert Laplace(1.0).expected_loss(far) == pytest.approx(math.exp(-40), rel=1e-13)
    assert Gaussian(4.0).expected_loss(far) == pytest.approx(math.erfc(10 / math.sqrt(2)), rel=1e-12)
    assert Staircase(1.0, 1.0, 0.5).expected_loss(far) == pytest.approx(math.exp(-40), rel=1e-12)
    assert parse_loss("l1").value(Laplace(1.0).quantile(1e-30)) == pytest.approx(math.log(0.5e30), rel=1e-13)


# Another implementation ------------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    epsilon=st.one_of(st.just(0.0), log_floats(0.01, 10)), scale=log_floats(0.1, 10), sensitivity=log_floats(0.1, 10)
)
def test_delta_agrees_with_dp_accounting(epsilon, scale, sensitivity):
    from dp_accounting.pld import privacy_loss_mechanism as accountant

    gaussian = accountant.GaussianPrivacyLoss(scale, sensitivity=sensitivity)
    laplace = accountant.LaplacePrivacyLoss(scale, sensitivity=sensitivity)
    assert Gaussian(scale).shortfall(epsilon, sensitivity) == pytest.approx(
        gaussian.get_delta_for_epsilon(epsilon), rel=1e-9, abs=1e-14
    )
    assert Laplace(scale).shortfall(epsilon, sensitivity) == pytest.approx(
        laplace.get_delta_for_epsilon(epsilon), rel=1e-9, abs=1e-14
    )


@settings(max_examples=10)
@given(epsilon=log_floats(0.1, 3), sensitivity=st.integers(1, 5), queried=log_floats(0.05, 4))
def test_geometric_delta_agrees_with_dp_accounting(epsilon, sensitivity, queried):
    from dp_accounting.pld import privacy_loss_mechanism as accountant

    noise = Geometric(epsilon, sensitivity)
    other = accountant.DiscreteLaplacePrivacyLoss(epsilon / sensitivity, sensitivity=sensitivity)
    assert noise.shortfall(queried, sensitivity) == pytest.approx(
        max(other.get_delta_for_epsilon(queried), 0.0), rel=1e-9, abs=1e-13
    )
