"""Differencing and linkage: laws against quadrature and enumeration, uniqueness by counting."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from scipy.integrate import quad

from dpcore.errors import InputError
from dpcore.gallery import differencing as core
from dpcore.noise import Laplace


@given(some.floats(0.05, 10), some.floats(1, 500), some.floats(0.01, 3))
@settings(deadline=None, max_examples=20)
def test_the_difference_of_two_laplace_variables(epsilon, cap, share):
    """Against the convolution of the law with itself."""
    law = core.TwoTotals(cap, epsilon)
    noise, b = Laplace(2 * cap / epsilon), 2 * cap / epsilon
    x = share * b
    product = lambda t: float(noise.density(np.array([t]))[0] * noise.density(np.array([x - t]))[0])  # noqa: E731
    parts = [quad(product, *ends, epsabs=0, epsrel=1e-10)[0] for ends in ((-40 * b, 0), (0, x), (x, 40 * b))]
    assert float(law.density(x)) == pytest.approx(math.fsum(parts), rel=1e-8)
    assert law.within(x) == pytest.approx(2 * quad(law.density, 0, x)[0], rel=1e-8)
    assert law.mean_error == pytest.approx(2 * quad(lambda t: t * law.density(t), 0, 60 * b)[0], rel=1e-6)
    assert law.within(1e-9 * b) == pytest.approx(0.5e-9, rel=1e-6)


@given(some.floats(0.2, 10), some.integers(1, 8))
@settings(deadline=None, max_examples=20)
def test_pairs_of_counts_by_enumeration(epsilon, bits):
    law = core.PairsOfCounts(bits, epsilon)
    a = math.exp(-epsilon / (2 * bits))
    reach = math.ceil(40 / -math.log(a))
    one = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1.0))
    both = np.convolve(one, one)
    middle = len(both) // 2
    assert law.error(np.arange(-5, 6)) == pytest.approx(both[middle - 5 : middle + 6], rel=1e-9)
    below, above = both[: middle + 1].sum(), both[middle:].sum()
    assert law.answered == pytest.approx(below, rel=1e-9) == pytest.approx(above, rel=1e-9)
    assert law.found == pytest.approx(below**bits, rel=1e-8)


@given(some.floats(0.05, 10))
@settings(deadline=None)
def test_neither_attack_is_better_than_any_can_be(epsilon):
    assert core.TwoTotals(255, epsilon).within(10) <= core.best_attack(epsilon, 21 / 256)
    for bits in (1, 4, 8):
        assert core.PairsOfCounts(bits, epsilon).found <= core.best_attack(epsilon, 2.0**-bits)


def test_alone_by_enumeration_of_small_towns():
    for people, values in itertools.product((1, 2, 3, 4), (1, 2, 3)):
        towns = itertools.product(range(values), repeat=people)
        share = np.mean([sum(town.count(one) == 1 for one in town) / people for town in towns])
        assert float(core.alone(people, values)) == pytest.approx(share)


def test_the_join_finds_whom_a_loop_finds():
    rng = np.random.default_rng(3)
    register = core.town(400, 3, rng)
    rows = register[:25]
    for birth, days in (("year", 360), ("month", 30), ("day", 1)):
        found = core.candidates(register, rows, birth)
        for row, counted in zip(rows, found):
            left = register
            for column, width in enumerate((1, 1, days)):
                left = left[left[:, column] // width == row[column] // width]
                assert counted[column] == len(left) >= 1


def test_an_evenly_spread_town_is_as_unique_as_expected():
    rng, people, areas = np.random.default_rng(5), 3000, 4
    found = core.candidates(core.town(people, areas, rng), (register := core.town(people, areas, rng)), "month")
    assert register.max(axis=0).tolist() < [2, areas, core.BIRTHS["day"]]
    none = (found[:, 2] == 0).mean()  # of another town: nobody agrees with probability (1 − 1/m)^n
    assert none == pytest.approx(float(core.alone(people + 1, 2 * areas * 960)), abs=0.03)


def test_bad_input_is_named():
    for call in (
        lambda: core.TwoTotals(0.0, 1.0), lambda: core.TwoTotals(1.0, -1.0), lambda: core.PairsOfCounts(0, 1.0),
        lambda: core.town(0, 1, np.random.default_rng(0)),
    ):  # fmt: skip
        with pytest.raises(InputError):
            call()
