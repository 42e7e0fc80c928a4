"""Piecewise constant laws: exact weights, samplers against the law (χ²), releases on the lattice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaincc

from dpcore.loss import parse_loss
from dpcore.noise.piecewise import TOTAL, PiecewiseNoise

FALSE_ALARM = 1e-10
"""Probability that a χ² test of a correct sampler fails; the cryptographic sampler cannot be seeded."""


def example_law() -> PiecewiseNoise:
    """Five cells of unequal widths, one of them empty, an atom inside a cell, an origin off the lattice."""
    return PiecewiseNoise.from_masses(
        sensitivity=2.0,
        resolution=3,
        breaks=[-7, -3, -1, 2, 4, 5],
        masses=[0.1, 0.25, 0.3, 0.0, 0.15],
        atom=0.2,
        atom_unit=1,
        origin=0.25,
    )


def chi_square_p_value(counts: np.ndarray, probabilities: np.ndarray) -> float:
    assert (counts[probabilities == 0] == 0).all()
    keep = probabilities > 0
    expected = counts.sum() * probabilities[keep]
    statistic = (((counts[keep] - expected) ** 2) / expected).sum()
    return float(gammaincc((keep.sum() - 1) / 2, statistic / 2))


def cell_counts(noise: PiecewiseNoise, units: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts and probabilities of the atom and of every cell cut into equal parts (units need not be whole)."""
    at_atom = units == noise.atom_unit
    edges = np.unique(np.concatenate([np.linspace(a, b, parts + 1) for a, b in zip(noise.breaks, noise.breaks[1:])]))
    counts = np.histogram(units[~at_atom], edges)[0]
    probabilities = np.repeat(noise.masses / parts, parts)
    return np.append(counts, at_atom.sum()), np.append(probabilities, noise.atom_mass)


masses = st.lists(st.floats(0, 1), min_size=1, max_size=12).filter(lambda m: sum(m) > 1e-3)


@given(masses, st.floats(0, 0.9), st.integers(1, 6))
def test_weights_are_whole_and_exact(values, atom, resolution):
    noise = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=resolution, breaks=np.arange(len(values) + 1), masses=values, atom=atom
    )
    assert sum(map(int, noise.weights)) + noise.atom_weight == TOTAL
    assert abs(math.fsum([*noise.masses, noise.atom_mass]) - 1) <= 1e-15
    total = math.fsum(values) + atom
    first = int(noise.breaks[0])
    for weight, value in zip(noise.weights.tolist(), values[first:]):
        assert abs(weight / TOTAL - value / total) <= 1e-13  # the rest of the rounding goes to one cell


@given(masses, st.floats(0, 0.9), st.booleans())
def test_mirror_images_stay_mirror_images(half, atom, odd):
    values = [*half[::-1], *half[1:]] if odd else [*half[::-1], *half]
    n = len(values)
    noise = PiecewiseNoise.from_masses(
        sensitivity=1.0, resolution=2, breaks=np.arange(-n, n + 1, 2), masses=values, atom=atom
    )
    assert np.abs(noise.weights - noise.weights[::-1]).max() <= 1  # an odd rest has to go somewhere
    assert (noise.breaks == -noise.breaks[::-1]).all()


def test_a_law_of_nothing_but_an_atom():
    noise = PiecewiseNoise.from_masses(sensitivity=1.0, resolution=1, breaks=[-1, 0, 1], masses=[0, 0], atom=1.0)
    assert noise.atom_weight == TOTAL
    assert {noise.draw() for _ in range(20)} == {0}
    assert float(noise.cdf(0.0)) == 1.0


@pytest.mark.parametrize(
    "change", [{"weights": [1, 2]}, {"weights": [-1, TOTAL + 1]}, {"breaks": [0, 0, 1]}, {"breaks": [0, 1]}]
)
def test_laws_that_are_none(change):
    arguments = {"breaks": [0, 1, 2], "weights": [TOTAL // 2, TOTAL // 2]} | change
    with pytest.raises((ValueError, OverflowError)):
        PiecewiseNoise(1.0, 1, **{k: np.array(v, dtype=np.int64) for k, v in arguments.items()})


def test_cdf_quantile_and_density_by_hand():
    noise = example_law()
    unit = 2.0 / 3
    assert noise.edges == pytest.approx(0.25 + unit * np.array([-7, -3, -1, 2, 4, 5]))
    assert float(noise.density(0.25 - 5 * unit)) == pytest.approx(0.1 / (4 * unit))
    assert float(noise.density(0.25 + 3 * unit)) == float(noise.density(99)) == float(noise.density(-99)) == 0
    at = noise.atom_location
    assert at == pytest.approx(0.25 + unit)
    assert float(noise.cdf(np.nextafter(at, -1))) == pytest.approx(0.55)
    assert float(noise.cdf(at)) == pytest.approx(0.75)
    assert float(noise.cdf(0.25 + 4 * unit)) == pytest.approx(0.85)
    assert float(noise.cdf(9)) == 1 and float(noise.cdf(-9)) == 0
    for u in (0.56, 0.6, 0.74):
        assert float(noise.quantile(u)) == at
    assert float(noise.quantile(0.05)) == pytest.approx(0.25 - 5 * unit)
    assert float(noise.quantile(0.925)) == pytest.approx(0.25 + 4.5 * unit)


@given(st.floats(1e-6, 1 - 1e-6))
def test_quantile_is_the_generalised_inverse(u):
    noise = example_law()
    x = float(noise.quantile(u))
    assert float(noise.cdf(x + 1e-9)) >= u - 1e-12
    assert float(noise.cdf(x - 1e-9)) <= u + 1e-12


@given(st.floats(-6, 5), st.floats(0.01, 5), st.sampled_from([0.0, 1.0, 2.0, 1.5]))
@settings(max_examples=60)
def test_partial_moments(lo, width, power):
    """Against a midpoint rule on cells cut at every edge; the interval does not straddle 0."""
    noise = example_law()
    hi = lo + width if lo >= 0 else min(lo + width, 0.0)
    cuts = np.unique(np.clip(np.concatenate([noise.edges, [lo, hi]]), lo, hi))
    fine = np.concatenate([np.linspace(a, b, 801) for a, b in zip(cuts, cuts[1:])]) if len(cuts) > 1 else cuts
    middle = 0.5 * (fine[1:] + fine[:-1])
    expected = (np.abs(middle) ** power * noise.density(middle) * np.diff(fine)).sum()
    assert noise.partial_moment(power, lo, hi) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_expected_loss_is_the_audited_loss():
    from dpcore import audit

    noise = example_law()
    for spec in ("l1", "l2", "lp:2.5", "huber:1", "exceed:1", "pinball:0.8", "table:-1=3,0.5=0,2=1"):
        loss = parse_loss(spec)
        assert noise.expected_loss(loss) == pytest.approx(audit.loss_upper(noise, loss), rel=1e-11)


def test_floating_sampler_follows_the_law():
    noise = example_law()
    x = noise.sample(np.random.default_rng(20240607), 200_000)
    units = (x - noise.origin) / (noise.sensitivity / noise.resolution)
    units[x == noise.atom_location] = noise.atom_unit
    counts, probabilities = cell_counts(noise, units, parts=4)
    assert chi_square_p_value(counts, probabilities) > FALSE_ALARM


@pytest.mark.parametrize("subdivisions", [1 << 20, 8])
def test_exact_sampler_follows_the_law(subdivisions):
    noise = example_law()
    draws = [noise.draw(subdivisions) for _ in range(40_000)]
    assert all(isinstance(d, int) for d in draws)
    # The atom's own lattice point is also one of its cell's: at 2^20 points per unit that is no count in 40 000.
    parts = 1 if subdivisions == 8 else 4
    units = np.array(draws) / subdivisions
    counts, probabilities = cell_counts(noise, units, parts)
    if subdivisions == 8:
        cell = noise.weights[2] / (3 * 8) / TOTAL  # this point's share of the cell around it
        probabilities[-1] += cell
        probabilities[2] -= cell
    assert chi_square_p_value(counts, probabilities) > FALSE_ALARM


def test_a_wrong_law_fails_the_test():
    noise = example_law()
    wrong = PiecewiseNoise.from_masses(
        sensitivity=2.0, resolution=3, breaks=noise.breaks, masses=[0.13, 0.22, 0.3, 0.0, 0.15], atom=0.2, atom_unit=1
    )
    units = np.array([wrong.draw(1 << 20) for _ in range(40_000)]) / (1 << 20)
    counts, probabilities = cell_counts(noise, units, parts=1)
    assert chi_square_p_value(counts, probabilities) < 1e-6


@given(st.floats(-1e9, 1e9), st.sampled_from([1.0, 0.1, 2.0, 1e-3, 12345.678]), st.integers(1, 7))
def test_release_stays_on_its_lattice(value, sensitivity, resolution):
    """Whatever the value, a release is a whole number of steps, correctly rounded, or the value itself, the atom."""
    noise = PiecewiseNoise.from_masses(
        sensitivity=sensitivity, resolution=resolution, breaks=[-2, 0, 1, 3], masses=[0.2, 0.5, 0.3], atom=0.1
    )
    step = Fraction(repr(sensitivity)) / (resolution * 16)
    released = noise.release(value, 16)
    if released == value:
        return
    point = round(Fraction(released) / step)
    assert float(point * step) == released
    assert Fraction(-2 * 16) * step <= point * step - Fraction(repr(value)) < Fraction(3 * 16) * step
