"""The audit of radial laws against Monte Carlo, integration in the plane and in space, and the audit of the line."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import integrate, special

from dpcore import audit as line
from dpcore.errors import CertificateError, InputError
from dpcore.isotropic import audit, balls
from dpcore.isotropic.audit import delta_upper, loss_upper
from dpcore.isotropic.geometry import log_volumes
from dpcore.isotropic.law import RadialNoise
from dpcore.isotropic.problem import parse_loss
from dpcore.noise.piecewise import PiecewiseNoise


def law(dimension: int, *, slope: float = 1.2, cells: int = 8, reach: float = 6.0, atom: float = 0.02) -> RadialNoise:
    """About e^(−slope·r), cut at a radius."""
    breaks = np.arange(0, int(reach * cells) + 1)
    middle = (breaks[1:] - 0.5) / cells
    log_volume = log_volumes(dimension, breaks / cells)
    masses = np.exp(log_volume - slope * middle - (log_volume - slope * middle).max())
    masses *= (1 - atom) / masses.sum()
    return RadialNoise.from_masses(
        dimension=dimension, sensitivity=2.0, resolution=cells, breaks=breaks, masses=masses, atom=atom
    )


def density(noise: RadialNoise, radius: np.ndarray) -> np.ndarray:
    """Up to a factor that all radii share."""
    outer = float(noise.edges[-1])
    volumes = np.diff((noise.edges / outer) ** noise.dimension)
    heights = np.append(noise.masses / volumes, 0.0)
    return heights[np.minimum(np.searchsorted(noise.edges, radius, side="right") - 1, len(heights) - 1)]


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_monte_carlo_agrees(dimension, share):
    noise, epsilon, rng = law(dimension), 0.8, np.random.default_rng(dimension)
    x = noise.draws(60_000, rng)
    moved = x.copy()
    moved[:, 0] -= share * noise.sensitivity
    here, there = (np.linalg.norm(v, axis=1) for v in (x, moved))
    own, other = density(noise, here), density(noise, there)
    gain = np.where(here == 0, 1.0, np.maximum(1 - math.exp(epsilon) * other / np.maximum(own, 1e-300), 0.0))
    error = gain.std() / math.sqrt(len(gain))
    assert abs(delta_upper(noise, epsilon, share * noise.sensitivity) - gain.mean()) <= 5 * error


@pytest.mark.parametrize("dimension", [2, 3])
def test_integration_over_the_sphere_agrees(dimension):
    """∫ f(r)·(share of the sphere with f(|x − s|) below, weighted) dr by quadrature between all kinks."""
    noise, epsilon = law(dimension, cells=2, reach=4.0, atom=0.1), 0.5
    growth, edges = math.exp(epsilon), noise.edges / noise.sensitivity
    half = (dimension - 1) / 2

    def shares(r: float) -> np.ndarray:
        u = np.clip((edges**2 - (r - 1) ** 2) / (4 * r), 0, 1)
        return np.append(np.diff(special.betainc(half, half, u)), 1 - special.betainc(half, half, u[-1]))

    heights = np.append(noise.masses / np.diff(edges**dimension), 0.0)
    total = noise.atom_mass
    kinks = np.unique(np.concatenate([edges, np.abs(edges - 1), edges + 1]))
    for lo, hi in zip(kinks, kinks[1:]):
        if hi <= edges[-1]:
            own = heights[np.searchsorted(edges, 0.5 * (lo + hi)) - 1]
            gain = np.maximum(own - growth * heights, 0.0)
            value = integrate.quad(lambda r, g=gain: r ** (dimension - 1) * (shares(r) @ g), lo, hi, limit=200)[0]
            total += dimension * value
    assert delta_upper(noise, epsilon) == pytest.approx(total, rel=2e-7)


def test_on_the_line_it_is_the_audit_of_the_line():
    noise = law(1, cells=16)
    breaks = np.concatenate([-noise.breaks[:0:-1], noise.breaks])
    masses = np.concatenate([noise.masses[::-1], noise.masses]) / 2
    same = PiecewiseNoise.from_masses(
        sensitivity=2.0, resolution=16, breaks=breaks, masses=masses, atom=noise.atom_mass, monotone=True
    )
    for epsilon in (0.0, 0.4, 1.0, 2.5):
        assert delta_upper(noise, epsilon) == pytest.approx(line.shortfall_upper(same, epsilon, 2.0)[0], rel=1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 7, 300])
def test_it_rises_with_the_shift_and_falls_with_epsilon(dimension):
    noise = law(dimension)
    shifts = [delta_upper(noise, 0.7, s) for s in (0.2, 0.6, 1.0, 1.4, 2.0)]
    assert shifts == sorted(shifts)
    curve = [delta_upper(noise, e) for e in (0.0, 0.3, 1.0, 3.0, 20.0)]
    assert curve == sorted(curve, reverse=True) and curve[-1] >= noise.atom_mass


@pytest.mark.parametrize("dimension", [1, 2, 5, 60, 300])
@pytest.mark.parametrize("share", [1.0, 0.37])
def test_caps_in_double_precision_lose_nothing_but_digits(dimension, share, monkeypatch):
    """What is proved with them is at or above what ball arithmetic alone proves to twelve digits, and near it."""
    noise = law(dimension, slope=0.9 + dimension / 4, reach=5.0)
    quick = delta_upper(noise, 0.8, share * noise.sensitivity)
    monkeypatch.setattr(audit, "NARROW", 0.0)
    exact = delta_upper(noise, 0.8, share * noise.sensitivity)
    assert exact * (1 - balls.NARROW) <= quick <= exact * (1 + 1e-8)


def test_far_balls_do_not_meet():
    """A uniform ball of radius ½ and a shift of 1 have nothing in common; of radius 2 a lens."""
    ball = RadialNoise.from_masses(dimension=3, sensitivity=1.0, resolution=2, breaks=[0, 1], masses=[1.0])
    assert delta_upper(ball, 1.0) == 1.0
    ball = RadialNoise.from_masses(dimension=3, sensitivity=1.0, resolution=1, breaks=[0, 2], masses=[1.0])
    lens = math.pi * (8 + 1) * (4 - 1) ** 2 / 12 / (4 / 3 * math.pi * 8)  # two spheres of radius 2, 1 apart
    assert delta_upper(ball, 0.0) == pytest.approx(1 - lens, rel=1e-12)
    assert delta_upper(ball, 5.0) == pytest.approx(1 - lens, rel=1e-12)


@pytest.mark.parametrize("text", ["norm", "squared", "power:0.7", "exceed:1.3"])
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_the_loss_is_the_mean(text, dimension):
    noise, loss = law(dimension), parse_loss(text)
    drawn = loss(np.linalg.norm(noise.draws(60_000, np.random.default_rng(1)), axis=1))
    assert abs(loss_upper(noise, loss) - drawn.mean()) <= 5 * drawn.std() / math.sqrt(len(drawn))
    edges, alone = noise.edges, loss.mean(dimension, noise.edges[:-1], noise.edges[1:])
    assert len(alone) == len(edges) - 1
    assert loss_upper(noise, loss) == pytest.approx(float(alone @ noise.masses), rel=1e-9)


def test_thin_slivers_in_many_dimensions_keep_their_digits():
    """What double precision loses: δ of a law whose worst event has probability about 1e-12."""
    noise = law(1000, slope=3.0, cells=1, reach=600.0, atom=0.0)
    first, second = delta_upper(noise, 3.5), delta_upper(noise, 3.6)
    assert 0 < second <= first < 1e-3


def test_a_density_that_rises_is_refused():
    with pytest.raises(CertificateError, match="must not increase"):
        RadialNoise(2, 1.0, 1, np.array([0, 1, 2]), np.array([1 << 10, (1 << 62) - (1 << 10)]))


def test_every_weight_counts():
    """One unit of 2^−62 more in the atom is seen."""
    noise = law(2, atom=0.0)
    weights = noise.weights.copy()
    weights[0] -= 1 << 20
    moved = RadialNoise(2, 2.0, noise.resolution, noise.breaks, weights, noise.atom_weight + (1 << 20))
    assert delta_upper(moved, 3.0) > delta_upper(noise, 3.0)


def test_narrow_answers_come_from_more_bits():
    seen = []

    def compute() -> balls.Ball:
        value = balls.ratio(1, 3) - balls.ratio(333333333333333333333333333333, 10**30)
        seen.append(value)
        return value

    assert balls.upper(compute) == pytest.approx(1 / 3e30, rel=1e-11) and len(seen) >= 1


@pytest.mark.parametrize("text", ["l1", "power", "power:0", "power:x", "exceed:-1", "norm:2"])
def test_unknown_losses_are_refused(text):
    with pytest.raises(InputError, match="norm, squared"):
        parse_loss(text)


@pytest.mark.parametrize("twice", [80, 96, 501, 1000])
@pytest.mark.parametrize("share", [0, Fraction(1, 10**9), Fraction(1, 10), Fraction(45, 100), Fraction(3, 5), 1])
def test_both_series_of_beta_laws_agree(twice, share):
    """Whole shapes have a series of their own; mpmath's is a third."""
    u = balls.ratio(Fraction(share).numerator, Fraction(share).denominator)
    found, power = balls._below(u, twice), balls.arb(twice) / 2
    assert found.overlaps(u.beta_lower(power, power, regularized=1)) and found.is_finite()
    with mpmath.workdps(60):
        exact = mpmath.mpf(Fraction(share).numerator) / Fraction(share).denominator
        third = mpmath.betainc(mpmath.mpf(twice) / 2, mpmath.mpf(twice) / 2, 0, exact, regularized=True)
        assert float(found.mid()) == pytest.approx(float(third), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("dimension", [2, 50])
def test_a_dilated_law_is_audited_by_a_shorter_shift(dimension):
    noise, longer = law(dimension), Fraction(3, 2)
    wider = noise.dilated(longer.numerator, longer.denominator)
    shorter = delta_upper(noise, 0.7, Fraction(2) / longer)
    assert shorter == pytest.approx(delta_upper(wider, 0.7), rel=1e-8) and shorter < delta_upper(noise, 0.7)
