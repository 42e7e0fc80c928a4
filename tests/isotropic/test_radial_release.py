"""Exact releases with radial laws: radius and direction against the law, the same point whatever the precision, atoms,
boundaries, and errors of rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import mpmath
import numpy as np
import pytest
from scipy.special import betainc, gammaincc
from test_rounded import Fixed, seed
from test_rounded import fix as fix_normals

from dpcore import rounded
from dpcore.errors import InputError
from dpcore.isotropic import release as radial
from dpcore.isotropic.law import RadialNoise
from dpcore.isotropic.release import extra_error, grid_of, release

DIMENSIONS = (1, 2, 3, 20)


def law(dimension: int, *, sensitivity: float = 1.0, atom: float = 0.0) -> RadialNoise:
    """Five shells, probable all of them, whatever the dimension."""
    breaks = np.array([0, 16, 20, 32, 40, 64])
    heights = 3.0 ** -np.arange(5) / np.array([1.0, 2.0, 8.0, 20.0, 90.0]) ** (dimension / 3)
    masses = heights * np.diff((breaks / 64) ** dimension)
    masses *= (1 - atom) / masses.sum()
    return RadialNoise.from_masses(
        dimension=dimension, sensitivity=sensitivity, resolution=16, breaks=breaks, masses=masses, atom=atom
    )


def fix(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Every number has all its bits from the start."""
    fix_normals(monkeypatch, number)
    monkeypatch.setattr(radial, "Uniform", Fixed)


def drawn(noise: RadialNoise, count: int) -> np.ndarray:
    """Releases of zeros, (count, dimension)."""
    zeros = [Fraction(0)] * noise.dimension
    return np.array([[float(x) for x in release(noise, zeros)] for _ in range(count)])


def even(values: np.ndarray, cells: int = 20) -> float:
    """P-value of χ²: values that should be uniform on [0, 1]."""
    seen = np.histogram(values, cells, (0, 1))[0]
    expected = len(values) / cells
    return float(gammaincc((cells - 1) / 2, ((seen - expected) ** 2 / expected).sum() / 2))


def rank(noise: RadialNoise, radius: np.ndarray) -> np.ndarray:
    """P(|X| ≤ radius), atom excluded."""
    below = np.append(0.0, np.cumsum(noise.masses))
    shell = np.clip(np.searchsorted(noise.edges, radius, side="right") - 1, 0, len(noise.masses) - 1)
    lo, hi = noise.edges[shell], noise.edges[shell + 1]
    share = (radius**noise.dimension - lo**noise.dimension) / (hi**noise.dimension - lo**noise.dimension)
    return (below[shell] + noise.masses[shell] * np.clip(share, 0, 1)) / below[-1]


@pytest.fixture(scope="module")
def draws() -> dict[int, np.ndarray]:
    with pytest.MonkeyPatch.context() as patch:
        seed(patch, 2026)
        return {d: drawn(law(d, sensitivity=0.3), 4000 if d < 20 else 1500) for d in DIMENSIONS}


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_radii_have_the_law(draws, dimension):
    radius = np.linalg.norm(draws[dimension], axis=1)
    assert even(rank(law(dimension, sensitivity=0.3), radius)) > 1e-3


@pytest.mark.parametrize("dimension", DIMENSIONS[1:])
def test_directions_are_uniform(draws, dimension):
    """Along a fixed direction t has the density ∝ (1 − t²)^((d−3)/2); so has every coordinate, and in the plane angles
    are uniform. Radius and direction are independent."""
    x = draws[dimension]
    radius = np.linalg.norm(x, axis=1)
    fixed = np.arange(1.0, dimension + 1) / np.linalg.norm(np.arange(1.0, dimension + 1))
    for axis in (fixed, np.eye(dimension)[0], np.eye(dimension)[-1]):
        t = x @ axis / radius
        assert even(betainc((dimension - 1) / 2, (dimension - 1) / 2, (1 + t) / 2)) > 1e-3
    if dimension == 2:
        assert even(np.arctan2(x[:, 1], x[:, 0]) / (2 * math.pi) + 0.5) > 1e-3
    far = radius > np.median(radius)
    counts = np.array([[(far & (x[:, 0] > 0)).sum(), (far & (x[:, 0] <= 0)).sum()],
                       [(~far & (x[:, 0] > 0)).sum(), (~far & (x[:, 0] <= 0)).sum()]])  # fmt: skip
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    assert float(gammaincc(0.5, ((counts - expected) ** 2 / expected).sum() / 2)) > 1e-3


def test_on_the_line_both_sides_are_alike(draws):
    right = int((draws[1] > 0).sum())
    assert abs(right - 2000) < 5 * math.sqrt(1000)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_same_bits_give_the_same_point_whatever_the_starting_precision(monkeypatch, dimension):
    """And it is the one nearest to the sum that 300 digits give, from the draws and by another route: logarithms."""
    noise = law(dimension, sensitivity=0.3)
    value = [Fraction(i, 10) for i in range(dimension)]
    for number in range(4):
        found = set()
        for bits in (2, 30, 64, 128, 999):
            fix(monkeypatch, number)
            found.add(tuple(release(noise, value, bits=bits)))
        assert len(found) == 1
        assert list(found.pop()) == by_logarithms(monkeypatch, number, noise, value)


def by_logarithms(monkeypatch, number: int, noise: RadialNoise, value: list[Fraction]) -> list[Fraction]:
    fix(monkeypatch, number)
    ladder, d = list(accumulate([noise.atom_weight, *noise.weights.tolist()])), noise.dimension
    shell = radial.chosen(ladder)
    Fixed.made.clear()
    share = Fixed()
    normals = [rounded.draw_normal() for _ in range(d)]
    with mpmath.workdps(300):
        lo, hi = (mpmath.mpf(int(b)) for b in noise.breaks[shell - 1 : shell + 1])
        ratio = mpmath.mpf(0) if lo == 0 else (lo / hi) ** d
        radius = hi * mpmath.exp(mpmath.log(ratio + share.exactly * (1 - ratio)) / d) / noise.resolution * 3 / 10
        z = [sign * (k + x.exactly) for sign, k, x in normals]
        length = mpmath.sqrt(mpmath.fsum(one**2 for one in z))
        step = grid_of(noise)
        out = []
        for q, one in zip(value, z):
            place = (
                (mpmath.mpf(q.numerator) / q.denominator + radius * one / length) / step.numerator * step.denominator
            )
            out.append(int(mpmath.floor(place + 0.5)) * step)
        return out


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_next_to_a_boundary_more_bits_are_drawn(monkeypatch, dimension):
    """The first number of the value is moved next to the middle between two grid points: no start decides there, and
    the two sides of it are told apart."""
    noise, step = law(dimension), grid_of(law(dimension))
    fix(monkeypatch, 8)
    monkeypatch.setattr(radial, "grid_of", lambda _: step / 2**900)
    fine = release(noise, [Fraction(0)] * dimension)  # X to 900 bits beyond the grid
    monkeypatch.undo()
    for side in (-1, 1):
        fix(monkeypatch, 8)
        value = [-fine[0] + step / 2 + side * step / 2**800, *[Fraction(0)] * (dimension - 1)]
        found = release(noise, value)
        assert found[0] == (step if side > 0 else 0)
        assert max(one.most for one in Fixed.made) >= 800


def test_the_atom_releases_the_value_itself(monkeypatch):
    """Rounded by a fixed rule, halves up; the share of atoms is theirs."""
    noise = law(3, atom=0.25)
    step = grid_of(noise)
    assert step == Fraction(1, 2**40)
    value = [step / 2, Fraction(-7, 2) * step, Fraction(1, 10)]
    kept = [step, -3 * step, round(Fraction(1, 10) / step) * step]
    seed(monkeypatch, 5)
    hits = sum(release(noise, value) == kept for _ in range(2000))
    assert abs(hits - 500) < 5 * math.sqrt(2000 * 0.25 * 0.75)
    weights = noise.weights.copy()
    weights[:] = 0
    sure = RadialNoise(3, 1.0, 16, noise.breaks, weights, 1 << 62)
    assert release(sure, value) == kept


def test_releases_move_with_the_value(monkeypatch):
    """Whole steps of the grid more are whole steps more: nothing depends on how large the value is."""
    noise, step = law(4), grid_of(law(4))
    for number in range(5):
        fix(monkeypatch, number)
        near = release(noise, [0.1, 0.2, -0.3, 0.0])
        fix(monkeypatch, number)
        moved = [Fraction(1, 10) + 7 * step, Fraction(1, 5) - step, Fraction(-3, 10) + 2**300, Fraction(0)]
        assert release(noise, moved) == [near[0] + 7 * step, near[1] - step, near[2] + 2**300, near[3]]


def test_rounding_adds_next_to_nothing(monkeypatch):
    """|release − (q + X)| ≤ h/2 in every coordinate, so h√d/2 in length."""
    noise = law(20, sensitivity=3.0)
    step = grid_of(noise)
    fix(monkeypatch, 1)
    coarse = release(noise, [0.1] * 20)
    monkeypatch.setattr(radial, "grid_of", lambda _: step / 2**60)
    fix(monkeypatch, 1)
    fine = release(noise, [0.1] * 20)
    assert 0 < max(abs(a - b) for a, b in zip(coarse, fine)) <= step / 2 + step / 2**61
    assert extra_error(noise) == pytest.approx(float(step / 2**60) * math.sqrt(20) / 2)
    monkeypatch.undo()
    assert extra_error(noise) == pytest.approx(float(step) * math.sqrt(20) / 2) and extra_error(noise) < 1e-11


@pytest.mark.parametrize("value", [[1.0], [1.0, 2.0, 3.0], [1.0, math.nan], [math.inf, 0.0], ["x", 1.0], [None, 1]])
def test_values_of_the_wrong_kind_are_refused(value):
    with pytest.raises(InputError, match="value"):
        release(law(2), value)


def test_a_thousand_numbers(monkeypatch):
    """Powers of d = 1000 are whole numbers of thousands of bits."""
    seed(monkeypatch, 6)
    breaks = np.array([0, 2**40, 2**40 + 2**35])
    noise = RadialNoise.from_masses(dimension=1000, sensitivity=1.0, resolution=2**36, breaks=breaks, masses=[0, 1.0])
    radius = math.sqrt(math.fsum(float(x) ** 2 for x in release(noise, [Fraction(0)] * 1000)))
    assert noise.edges[-2] <= radius <= noise.edges[-1]
