"""Laws on a lattice against exact rational arithmetic, and their samplers against the laws."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaincc
from strategies import log_floats, losses

from dpcore import audit
from dpcore.exact import draw_discrete_staircase, release
from dpcore.noise import DiscreteStaircase, Geometric, LatticeNoise
from dpcore.noise.lattice import Stretched, lattice_points, stretched
from dpcore.noise.piecewise import TOTAL

STEPS = st.sampled_from([1.0, 0.1, 0.3, 7.0, 1e-6, 250.0])


@st.composite
def laws(draw, most: int = 9) -> LatticeNoise:
    """Small laws, with gaps, sometimes symmetric, with masses of very different sizes."""
    masses = draw(st.lists(st.sampled_from([0.0, 1e-9, 1e-3, 0.3, 1.0, 2.0, 5.0]), min_size=1, max_size=most))
    if draw(st.booleans()):
        masses = [*masses[::-1], *masses[1:]]
    if not sum(masses):
        masses[0] = 1.0
    return LatticeNoise.from_masses(draw(STEPS), draw(st.integers(-20, 20)), masses)


def exact_exp(epsilon: float) -> Fraction:
    """e^ε to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return Fraction(Decimal(epsilon).exp())


def exact_shortfall(noise: LatticeNoise, epsilon: float, shifts: int) -> Fraction:
    """max over 0 < |j| ≤ shifts of Σ (p_i − e^ε p_{i−j})₊, in whole numbers."""
    p, E = {i: Fraction(int(w), TOTAL) for i, w in enumerate(noise.weights)}, exact_exp(epsilon)
    return max(
        sum((max(p[i] - E * p.get(i - j, 0), Fraction(0)) for i in p), Fraction(0))
        for j in [*range(-shifts, 0), *range(1, shifts + 1)]
    )


@given(laws(), st.one_of(st.just(0.0), log_floats(0.001, 20)), st.integers(1, 12))
def test_the_audited_shortfall_is_the_exact_one_rounded_up(noise, epsilon, shifts):
    bound, where = audit.lattice_shortfall_upper(noise.masses, epsilon, shifts)
    exact = exact_shortfall(noise, epsilon, shifts)
    assert exact <= bound <= float(exact) + 1e-14
    assert 0 < abs(where) <= shifts
    assert audit.delta_upper(noise, epsilon, shifts * noise.step) == bound
    assert audit.delta_upper(noise, epsilon, 0.9 * noise.step) == 0


@given(laws(), losses())
def test_the_audited_loss_is_the_exact_one_rounded_up(noise, loss):
    upper = audit.lattice_loss_upper(noise.masses, noise.points, loss)
    mean = noise.expected_loss(loss)
    size = 1e-13 * max(abs(p.constant) for p in loss.pieces)
    assert mean <= upper * (1 + 1e-15) and upper <= mean * (1 + 1e-13) + size
    below, above = audit.lattice_costs(noise.points, loss)
    assert (below <= loss.value(noise.points)).all() and (loss.value(noise.points) <= above).all()


@settings(max_examples=50)
@given(laws(), st.floats(1e-12, 1 - 1e-12))
def test_distribution_functions_agree(noise, u):
    assert int(noise.weights.sum(dtype=object)) == TOTAL
    assert math.fsum(mass for _, mass in noise.atoms) == pytest.approx(1, abs=1e-15)
    assert noise.pmf(noise.points) == pytest.approx(noise.masses, abs=0)
    assert noise.pmf(noise.points + 0.4 * noise.step).sum() == 0
    assert noise.cdf(noise.points) == pytest.approx(np.cumsum(noise.masses), abs=1e-15)
    assert noise.cdf(noise.points - 0.5 * noise.step)[1:] == pytest.approx(np.cumsum(noise.masses)[:-1], abs=1e-15)
    assert float(noise.cdf(noise.support[0] - noise.step)) == 0 and float(noise.cdf(noise.support[1])) == 1
    x = float(noise.quantile(u))
    assert float(noise.cdf(x)) >= u > float(noise.cdf(x - noise.step))
    assert (noise.density(noise.points) == 0).all() and noise.partial_moment(1.0, 0.0, 9.0) == 0


def test_points_are_what_their_text_says():
    """Three tenths is the float 0.3, not 3·0.1."""
    assert lattice_points(1, 5, 0.1).tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    noise = LatticeNoise.from_masses(0.1, -3, [1, 1, 1, 1, 1, 1, 1])
    assert noise.release(0.3) in lattice_points(0, 7, 0.1).tolist()
    assert float(noise.cdf(0.3)) == 1.0 and float(noise.cdf(3 * 0.1)) == 1.0


def agrees(draws: list[int], probability) -> bool:
    """χ² over the points that are expected at least five times; the rest is one more class. False alarm: 1e-9."""
    n, (values, counts) = len(draws), np.unique(draws, return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist()))
    common = [k for k in range(min(draws) - 3, max(draws) + 4) if n * probability(k) >= 5]
    expected = np.array([n * probability(k) for k in common])
    observed = np.array([seen.get(k, 0) for k in common])
    expected, observed = np.append(expected, n - expected.sum() + 1e-9), np.append(observed, n - observed.sum())
    if expected[-1] < 5:
        expected, observed = expected[:-1], observed[:-1]
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return gammaincc((len(expected) - 1) / 2, statistic / 2) > 1e-9


def test_draws_follow_the_law():
    noise = LatticeNoise.from_masses(0.5, -2, [0.1, 0.0, 0.4, 0.2, 0.3])
    assert agrees([noise.draw() for _ in range(20_000)], lambda k: float(noise.pmf(0.5 * k)))
    assert not agrees([noise.draw() for _ in range(20_000)], lambda k: float(noise.pmf(0.5 * k - 0.5)))
    assert {round(2 * noise.release(10.2)) for _ in range(200)} <= {18, 20, 21, 22}  # 10 and a draw


@pytest.mark.parametrize("law", [Geometric(0.7), DiscreteStaircase(1.0, 3, 2, 4), DiscreteStaircase(0.4, 5, 1)])
def test_draws_of_discrete_staircases_follow_the_law(law):
    drawn = [draw_discrete_staircase(Fraction(law.rate), law.rise, law.period) + law.location for _ in range(8000)]
    assert agrees(drawn, lambda k: float(law.pmf(k)))
    value, step = release(stretched(law, 0.25), 10.0)
    assert step == 0.25 and value == round(4 * value) / 4


@given(
    st.builds(DiscreteStaircase, log_floats(0.1, 5), st.just(4), st.integers(1, 4), st.integers(-3, 3)), STEPS, losses()
)
@settings(max_examples=30)
def test_a_stretched_law_is_the_law_times_its_step(law, step, loss):
    noise = Stretched(law, step)
    k = np.arange(-9, 10)
    x = lattice_points(-9, 19, step)
    assert (noise.pmf(x) == law.pmf(k)).all() and (noise.cdf(x) == law.cdf(k)).all()
    assert noise.pmf(x + 0.5 * step).sum() == 0
    u = np.array([0.01, 0.3, 0.77, 0.999])
    assert noise.quantile(u) == pytest.approx(law.quantile(u) * step, rel=1e-15)
    assert noise.shortfall(0.3, 4 * step) == law.shortfall(0.3, 4)
    far = np.arange(-4000, 4001)
    direct = math.fsum(law.pmf(far) * loss.value(lattice_points(-4000, 8001, step)))
    size = 1e-12 * max(abs(p.constant) for p in loss.pieces)
    assert noise.expected_loss(loss) == pytest.approx(direct, rel=1e-10, abs=size)
    assert stretched(law, 1.0) is law
