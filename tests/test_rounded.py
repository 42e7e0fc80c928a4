"""Correctly rounded releases of Gaussian noise: against the exact law on coarse grids, whatever the starting precision,
at boundaries and with atoms; in a script that runs alone."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import gammaincc, ndtr
from test_samplers import follows

from dpcore import rounded
from dpcore.exact import release
from dpcore.noise import Gaussian, Laplace, Noise
from dpcore.noise.mixture import MultiGaussian, QuasiGaussian
from dpcore.rounded import (
    Uniform,
    draw_double_exponential,
    draw_normal,
    grid_points,
    grid_step,
    plus_laplace,
    plus_multi_normal,
    plus_normal,
    plus_quasi_normal,
)
from dpcore.snippet import noise_script

LONG = 6000
"""Bits of the numbers that are fixed from the start."""


class Fixed(Uniform):
    """A number all of whose bits are there, and how many were looked at."""

    made: list[Fixed] = []  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.whole = secrets.randbits(LONG)
        self.most = 0
        Fixed.made.append(self)

    def first(self, bits: int) -> int:
        self.most = max(self.most, bits)
        return self.whole >> (LONG - bits)

    @property
    def exactly(self) -> mpmath.mpf:
        return mpmath.mpf(self.whole) / mpmath.mpf(2) ** LONG


def seed(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The operating system's source, replaced by one that repeats itself."""
    source = random.Random(number)
    monkeypatch.setattr("secrets.randbelow", source.randrange)
    monkeypatch.setattr("secrets.randbits", source.getrandbits)


def fix(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The same, with numbers whose bits do not depend on how many are asked for at once."""
    seed(monkeypatch, number)
    Fixed.made = []
    monkeypatch.setattr(rounded, "Uniform", Fixed)


def release_of_script(noise: Noise) -> Callable[[float], float]:
    """`release` of the script that is handed out for a law."""
    space: dict = {"__name__": "script"}
    exec(compile(noise_script(noise, [noise.name], noise.parameters, {}), "script", "exec"), space)
    return space["release"]


def even(values: np.ndarray) -> float:
    """P-value of χ² over 60 cells of equal probability: values that should be uniform on [0, 1]."""
    seen, expected = np.histogram(values, 60, (0, 1))[0], len(values) / 60
    return float(gammaincc(59 / 2, ((seen - expected) ** 2 / expected).sum() / 2))


def normal_on_grid(centre: float, sigma: float, step: float) -> dict[int, float]:
    """P(round((centre + σZ)/step) = i), out to ten σ."""
    law = {}
    for i in range(math.floor((centre - 10 * sigma) / step), math.ceil((centre + 10 * sigma) / step) + 1):
        low, high = (((i + side) * step - centre) / sigma for side in (-0.5, 0.5))
        law[i] = float(ndtr(high) - ndtr(low) if low < 0 else ndtr(-low) - ndtr(-high))
    return law


# The law ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("centre", "sigma", "step"), [
    (Fraction(0), Fraction(1), Fraction(1)), (Fraction(1, 3), Fraction(2), Fraction(1, 2)),
    (Fraction(-7, 10), Fraction(3, 10), Fraction(1, 4)), (Fraction(10**9) + Fraction(1, 2), Fraction(5), Fraction(8)),
])  # fmt: skip
def test_rounded_normals_have_the_exact_law_of_the_grid(centre, sigma, step):
    law = normal_on_grid(float(centre - centre // step * step), float(sigma), float(step))
    base = centre // step
    follows(lambda: int(plus_normal(centre, sigma, step) / step - base), law)


def test_many_normals_have_the_law(monkeypatch):
    """So has k, the whole part, by itself."""
    seed(monkeypatch, 17)
    draws = [sign * (k + x.first(64) / 2**64) for sign, k, x in (draw_normal() for _ in range(30_000))]
    assert 1e-3 < even(ndtr(draws)) < 1 - 1e-3
    far = np.abs(draws)
    counts = np.array([((far >= k) & (far < k + 1)).sum() for k in range(3)] + [(far >= 3).sum()])
    shares = np.append(np.diff(2 * ndtr(np.arange(4)) - 1), 2 * ndtr(-3.0))
    assert float(gammaincc(3 / 2, ((counts - 3e4 * shares) ** 2 / (3e4 * shares)).sum() / 2)) > 1e-3


def laplace_on_grid(centre: float, scale: float, step: float) -> dict[int, float]:
    """P(round((centre + scale·Y)/step) = i), out to 40 scales."""
    below = lambda x: 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)  # noqa: E731
    law = {}
    for i in range(math.floor((centre - 40 * scale) / step), math.ceil((centre + 40 * scale) / step) + 1):
        low, high = (((i + side) * step - centre) / scale for side in (-0.5, 0.5))
        law[i] = below(high) - below(low) if low < 0 else below(-low) - below(-high)
    return law


@pytest.mark.parametrize(("centre", "scale", "step"), [
    (Fraction(0), Fraction(1), Fraction(1)), (Fraction(1, 3), Fraction(5), Fraction(1, 2)),
    (Fraction(-7, 10), Fraction(1, 3), Fraction(1, 8)),
])  # fmt: skip
def test_rounded_laplace_draws_have_the_exact_law_of_the_grid(centre, scale, step):
    law = laplace_on_grid(float(centre), float(scale), float(step))
    follows(lambda: int(plus_laplace(centre, scale, step) / step), law)


def test_many_double_exponentials_have_the_law(monkeypatch):
    seed(monkeypatch, 18)
    draws = np.array(
        [sign * (k + x.first(64) / 2**64) for sign, k, x in (draw_double_exponential() for _ in range(30_000))]
    )
    tails = np.exp(-np.abs(draws)) / 2
    assert 1e-3 < even(np.where(draws < 0, tails, 1 - tails)) < 1 - 1e-3


def test_laplace_laws_release(monkeypatch):
    monkeypatch.setattr(rounded, "GRID_BITS", 1)
    follows(lambda: int(release(Laplace(2.0, -3.0), 0.1)[0]), laplace_on_grid(-2.9, 2.0, 1.0))


def mixed(places: dict[float, float], sigma: float, step: float) -> dict[int, float]:
    """Distribution function of normal laws around places, with these probabilities."""
    law: dict[int, float] = {}
    for place, mass in places.items():
        for i, p in normal_on_grid(place, sigma, step).items():
            law[i] = law.get(i, 0.0) + mass * p
    return law


@pytest.mark.parametrize(("sigma", "epsilon"), [(0.3, 1.0), (1.5, 0.5), (0.1, 3.0)])
def test_several_normal_laws_have_the_exact_law_of_the_grid(sigma, epsilon):
    """Two apart, from 1/3 on, in steps of 1/4."""
    weights = {k: math.tanh(epsilon / 2) * math.exp(-epsilon * abs(k)) for k in range(-80, 81)}
    law = mixed({1 / 3 + 2 * k: w for k, w in weights.items()}, sigma, 0.25)
    numbers = Fraction(sigma), Fraction(2), Fraction(epsilon), Fraction(1, 4)
    follows(lambda: int(plus_multi_normal(Fraction(1, 3), *numbers) / numbers[-1]), law)


@pytest.mark.parametrize(("sigma", "epsilon"), [(0.3, 1.0), (1.5, 0.5), (5.0, 0.1)])
def test_a_normal_law_with_shoulders_has_the_exact_law_of_the_grid(sigma, epsilon):
    """Also where shoulders cross to the other side of 0 nearly half of the time; by quadrature over every cell."""

    def density(x: np.ndarray) -> np.ndarray:
        return math.exp(epsilon) * np.exp(-0.5 * (x / sigma) ** 2) + np.exp(-0.5 * ((np.abs(x) - 2) / sigma) ** 2)

    nodes, weights = np.polynomial.legendre.leggauss(12)
    reach = math.ceil(4 * (2 + 9 * sigma))
    # Cells are (i − ½, i + ½)/4 around 0; the kink at 0 is the middle of one of them.
    ends = np.sort(np.append(np.arange(-reach, reach + 1) - 0.5, 0.0)) / 4
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    masses = half * (density(middle[:, None] + half[:, None] * nodes) @ weights)
    law: dict[int, float] = {}
    for place, mass in zip(np.floor(4 * middle + 0.5).astype(int).tolist(), (masses / masses.sum()).tolist()):
        law[place] = law.get(place, 0.0) + mass
    numbers = Fraction(sigma), Fraction(2), Fraction(epsilon), Fraction(1, 4)
    follows(lambda: int(plus_quasi_normal(Fraction(0), *numbers) / numbers[-1]), law)


@pytest.mark.parametrize("noise", [MultiGaussian(0.7, 2.0, 0.6, -1.0), QuasiGaussian(0.7, 2.0, 0.6, -1.0)], ids=str)
def test_mixtures_release(monkeypatch, noise):
    """Steps of σ/2 at most; the law is the one that its distribution function says. Scripts draw it, too."""
    monkeypatch.setattr(rounded, "GRID_BITS", 1)
    step = noise.release_step
    places = np.arange(-100, 101)
    ends = noise.cdf((np.append(places, 101) - 0.5) * step - 0.3)
    law = dict(zip(places.tolist(), np.diff(ends).tolist()))
    follows(lambda: round(release(noise, 0.3)[0] / step), law)
    by_script = release_of_script(noise)
    follows(lambda: round(by_script(0.3) / step), law)


@pytest.mark.parametrize("location", [0.0, -3.0])
def test_gaussian_laws_release(monkeypatch, location):
    noise = Gaussian(2.0, location)
    released, step = release(noise, 0.1)
    assert step == 2.0**-39 and released / step == int(released / step)
    monkeypatch.setattr(rounded, "GRID_BITS", 1)  # grid steps of σ/2
    law = normal_on_grid(0.1 + location, 2.0, 1.0)
    follows(lambda: int(release(noise, 0.1)[0]), law)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3, 10), Fraction(10**20), Fraction(1, 3), Fraction(7, 2**90)])
def test_grid_steps_are_powers_of_two_far_below_the_scale(scale):
    step = grid_step(scale)
    assert step <= scale / 2**40 < 2 * step
    assert step.numerator & (step.numerator - 1) == 0 and step.denominator & (step.denominator - 1) == 0


# Whatever the bits -----------------------------------------------------------------------------------------------


def test_the_same_bits_give_the_same_point_whatever_the_starting_precision(monkeypatch):
    """Against 1 000 digits, too."""
    value, sigma, step = Fraction(1, 10), Fraction(13, 7), Fraction(1, 2**40)
    for number in range(30):
        found = set()
        for bits in (1, 2, 7, 64, 128, 1000, 5000):
            fix(monkeypatch, number)
            found.add(plus_normal(value, sigma, step, bits))
        assert len(found) == 1
        fix(monkeypatch, number)
        sign, k, x = draw_normal()
        with mpmath.workdps(1000):
            exact = mpmath.mpf(1) / 10 + mpmath.mpf(13) / 7 * sign * (k + x.exactly)
            assert found == {Fraction(int(mpmath.floor(exact / mpmath.mpf(2) ** -40 + 0.5)), 2**40)}


@pytest.mark.parametrize("side", [-1, 1])
def test_next_to_a_boundary_more_bits_are_drawn(monkeypatch, side):
    """The value is chosen so that the sum lies 2^−700 to one side of the middle between two grid points."""
    step = Fraction(1, 8)
    for number in range(5):
        fix(monkeypatch, number)
        sign, k, x = draw_normal()
        exact = sign * (k + Fraction(x.whole, 2**LONG))
        value = Fraction(5, 2) * step - exact + side * Fraction(1, 2**700)
        fix(monkeypatch, number)
        assert plus_normal(value, Fraction(1), step) == (3 if side > 0 else 2) * step
        assert max(one.most for one in Fixed.made) >= 700


def test_numbers_are_compared_by_as_many_bits_as_it_takes(monkeypatch):
    seed(monkeypatch, 3)
    one, other = Uniform(), Uniform()
    one.known = other.known = 5 << 297
    one.bits = other.bits = 300
    assert rounded.less(one, other) != rounded.less(other, one)
    assert one.bits > 300


def test_bits_once_drawn_stay(monkeypatch):
    seed(monkeypatch, 4)
    number = Uniform()
    first = number.first(40)
    assert number.first(200) >> 160 == first and number.first(40) == first and number.first(7) == first >> 33


def test_what_is_known_exactly_is_rounded_by_a_fixed_rule():
    """X = 0: halves go up, no bits are asked for."""
    places = [Fraction(1, 2), Fraction(-1, 2), Fraction(5, 2), Fraction(1, 3), Fraction(-2, 3), Fraction(10**40)]
    asked = []
    found = grid_points(places, lambda bits: (asked.append(bits), [(0, 0)] * 6)[1])
    assert found == [1, 0, 3, 0, -1, 10**40] and len(asked) == 1


def test_an_enclosure_that_says_nothing_is_made_again():
    asked = []
    found = grid_points([Fraction(1, 4)], lambda bits: (asked.append(bits), [(1, 2)] if bits > 100 else [])[1], 16)
    assert found == [0] and asked == [16, 32, 64, 128]


# Scripts ---------------------------------------------------------------------------------------------------------


def test_a_script_with_gaussian_noise_runs_alone(run_alone):
    text = noise_script(Gaussian(0.7, 0.1), ["Gaussian noise"], {"sigma": 0.7}, {"delta_upper": 0.1})
    said = run_alone(text).splitlines()
    told, released = said[-1].split(": ")
    assert len(said) == 12 and told == "One release of the made-up value 1234" and abs(float(released) - 1234) < 20


@pytest.mark.parametrize(("noise", "law"), [
    (Gaussian(2.0), normal_on_grid(0.1, 2.0, 1.0)), (Laplace(2.0), laplace_on_grid(0.1, 2.0, 1.0)),
], ids=["Gaussian", "Laplace"])  # fmt: skip
def test_a_script_draws_the_law(noise, law):
    by_script = release_of_script(noise)
    draws = np.array([by_script(0.1) for _ in range(4000)])
    follows(iter(np.floor(draws + 0.5).astype(int).tolist()).__next__, law)
    assert set((draws * 2**39) % 1) == {0.0}
