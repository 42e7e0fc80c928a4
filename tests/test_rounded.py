"""Correctly rounded releases of Gaussian noise: against the exact law on coarse grids, whatever the starting precision,
at boundaries and with atoms; in a script that runs alone."""

from __future__ import annotations

import itertools
import math
import random
import secrets
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from draws_tree import Chance
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
    assert found == [1, 0, 3, 0, -1, 10**40] and asked == [128]


def test_an_enclosure_that_says_nothing_is_made_again():
    asked = []
    found = grid_points([Fraction(1, 4)], lambda bits: (asked.append(bits), [(1, 2)] if bits > 100 else [])[1], 16)
    assert found == [0] and asked == [16, 32, 64, 128]


SUMS: dict[str, tuple[Callable, tuple[Fraction, ...]]] = {
    "normal": (plus_normal, ()), "Laplace": (plus_laplace, ()),
    "several": (plus_multi_normal, (Fraction(2), Fraction(1, 2))),
    "shoulders": (plus_quasi_normal, (Fraction(2), Fraction(1, 2))),
}  # fmt: skip


@pytest.mark.parametrize("kind", SUMS)
def test_so_many_bits_are_drawn_as_are_asked_for(monkeypatch, kind):
    """128 if nothing is said; in none of these releases are they too few."""
    draw, numbers = SUMS[kind]
    for number in range(6):
        for asked, most in ((), 128), ((1000,), 1000):
            fix(monkeypatch, number)
            draw(Fraction(1, 10), Fraction(13, 7), *numbers, Fraction(1, 2**20), *asked)
            assert max(one.most for one in Fixed.made) == most


@pytest.mark.parametrize(
    ("sign", "k", "ratio"), [(1, 0, Fraction(3, 7)), (-1, 2, Fraction(3, 7)), (-1, 0, Fraction(9))]
)
def test_enclosures_hold_the_number_and_little_else(monkeypatch, sign, k, ratio):
    """(value + ratio·sign·(k + x))/step for every x with the bits drawn so far: the ends rounded outwards."""
    seed(monkeypatch, 5)
    asked: list[Callable] = []
    monkeypatch.setattr(rounded, "grid_points", lambda places, enclose, bits: (asked.append(enclose), [0])[1])
    x, step = Uniform(), Fraction(1, 4)
    rounded._plus(Fraction(0), ratio * step, (sign, k, x), step, 0)
    for bits in (1, 3, 10, 64):
        ((low, high),) = asked[0](bits)
        ends = sorted(sign * ratio * (k * 2**bits + x.first(bits) + end) for end in (0, 1))
        assert (low, high) == (math.floor(ends[0]), math.ceil(ends[1]))


# Every way to draw -----------------------------------------------------------------------------------------------


@pytest.fixture
def chance(monkeypatch) -> Chance:
    source = Chance()
    monkeypatch.setattr("secrets.randbelow", source.below)
    monkeypatch.setattr("secrets.randbits", source.bits)
    monkeypatch.setattr(rounded, "exponential_coin", lambda rate: source.coin(math.exp(-rate)))
    return source


@pytest.mark.parametrize("word", [1, 3])
@pytest.mark.parametrize(
    "bound", [Fraction(-1, 2), Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(5, 7), Fraction(1), Fraction(3)]
)
def test_a_uniform_number_is_below_a_bound_with_that_probability(chance, monkeypatch, word, bound):
    """No further bit is drawn once it is certain: what is a multiple of 1/4 takes a word of three, or two of one."""
    monkeypatch.setattr(rounded, "WORD", word)
    kept = max(Fraction(0), min(bound, Fraction(1)))

    def draw() -> tuple[bool, bool]:
        x = Uniform()
        below, n = rounded._below(x, bound), x.known
        return below, Fraction(n + 1, 2**x.bits) <= bound if below else Fraction(n, 2**x.bits) >= bound

    found, rest = chance.law(draw, 2.0**-10)
    assert all(proved for _, proved in found) and rest <= (2**-6 if bound.denominator % 2 else 0)
    assert 0 <= kept - found.get((True, True), 0) <= rest


@pytest.mark.parametrize("word", [1, 2])
def test_which_number_is_smaller(chance, monkeypatch, word):
    """By as few words as it takes, and each of two is as often the smaller one."""
    monkeypatch.setattr(rounded, "WORD", word)

    def draw() -> tuple[bool, bool]:
        one, other = Uniform(), Uniform()
        found = rounded.less(one, other)
        told = one.bits == other.bits and (one.known < other.known) == found
        return found, told and one.known >> word == other.known >> word

    found, rest = chance.law(draw, 2.0**-12)
    assert set(found) == {(True, True), (False, True)} and found[True, True] == found[False, True] and rest < 0.02


class Half(Uniform):
    """0 or 1/2, to every bit."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def first(self, bits: int) -> int:
        return self.number << bits - 1


@pytest.mark.parametrize("x", [0, 1])
@pytest.mark.parametrize("twice", [0, 2, 6])
def test_every_way_to_go_on(chance, monkeypatch, twice, x):
    """With probability (2k + x)/(2k + 2), for x = 0 and 1/2."""
    monkeypatch.setattr(rounded, "WORD", 2)
    found, rest = chance.law(lambda: rounded._goes_on(Half(x), twice), 1e-4)
    share = Fraction(2 * twice + x, 2 * twice + 4)
    assert rest < 2e-3 and 0 <= share - found.get(True, 0) <= rest and 0 <= 1 - share - found.get(False, 0) <= rest


def bias(x: float, twice: int | None) -> float:
    """How often x is kept: e^(−x·p), p = (2k + x)/(2k + 2), or 1 [K16]."""
    return math.exp(-x * (1 if twice is None else (twice + x) / (twice + 2)))


@pytest.mark.parametrize("x", [0, 1])
@pytest.mark.parametrize("twice", [None, 0, 4])
def test_every_way_to_keep_a_number(chance, monkeypatch, twice, x):
    """What is smaller, and what goes on, is drawn each time."""
    monkeypatch.setattr(rounded, "WORD", 2)
    found, rest = chance.law(lambda: rounded._kept(Half(x), twice), 1e-6)
    kept = bias(x / 2, twice)
    assert rest < 0.02 and -1e-12 <= kept - found.get(True, 0) <= rest
    assert -1e-12 <= 1 - kept - found.get(False, 0) <= rest


@pytest.mark.parametrize("ratio", [Fraction(4, 3), Fraction(5, 2)])
def test_every_way_to_draw_a_normal_law_with_shoulders(chance, monkeypatch, ratio):
    """A few numbers ±(k + x), x in halves, for normal ones: which are kept, where they go, and how often."""
    drawn = [(sign, k, half) for sign, k, half in itertools.product((1, -1), range(math.ceil(ratio)), range(2))]

    def number() -> tuple[int, int, Uniform]:
        sign, k, half = drawn[chance.below(len(drawn))]
        return sign, k, Half(half)

    monkeypatch.setattr(rounded, "draw_normal", number)
    epsilon, each = 0.1, 1 / len(drawn)
    weights: dict[Fraction, float] = {}
    for sign, k, half in drawn:
        size = k + Fraction(half, 2)
        weights[sign * size] = weights.get(sign * size, 0) + each
        for side in (1, -1):
            if sign > 0 or size < ratio:
                place = side * (ratio + sign * size)
                weights[place] = weights.get(place, 0) + math.exp(-epsilon) * each
    total = math.fsum(weights.values())
    found, rest = chance.law(
        lambda: plus_quasi_normal(Fraction(0), Fraction(1), ratio, Fraction(epsilon), Fraction(1, 6), 8), 1e-5
    )
    assert rest < 0.03 and set(found) == set(weights)
    for place, weight in weights.items():
        assert -1e-12 <= weight / total - found[place] <= rest


@pytest.mark.parametrize(("draw", "weight"), [
    (draw_normal, lambda y: math.exp(-y * y / 2)), (draw_double_exponential, lambda y: math.exp(-y)),
])  # fmt: skip
def test_every_way_to_draw_a_number(chance, monkeypatch, draw, weight):
    """±(k + x) has the density's weight; x is 0 or 1/2, and coins of bias e^(−x·p) are made at once."""

    def kept(x: Half, twice: int | None = None) -> bool:
        return chance.coin(bias(x.number / 2, twice))

    monkeypatch.setattr(rounded, "Uniform", lambda: Half(chance.below(2)))
    monkeypatch.setattr(rounded, "_kept", kept)

    def place() -> tuple[int, int, int]:
        sign, k, x = draw()
        return sign, k, x.number

    weights = {(s, k, half): weight(k + half / 2) for s in (1, -1) for k in range(40) for half in (0, 1)}
    found, rest = chance.law(place, 2e-5)
    assert rest < 0.15 and set(found) <= set(weights)
    for outcome, size in weights.items():
        assert -1e-12 <= size / math.fsum(weights.values()) - found.get(outcome, 0.0) <= rest


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
