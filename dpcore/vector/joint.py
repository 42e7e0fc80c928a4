"""The noise itself: independent parts, each on some of the coordinates; exact releases and samples to look at.

Exact releases live on a lattice: the answer is rounded down to it and a whole number of steps is drawn (`exact`). The
steps are so fine, 2⁻⁶⁰ of a sensitivity or a scale, that errors are those displayed. Where the sensitivity is no whole
number of steps, rounding may cost one more step, and the law is made for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..exact import draw_staircase
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from .exact import FINE, draw_cube, draw_diamond, draw_laplace, draw_smooth_radius, draw_stepped_radius, fall_upper

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Drawn = tuple[int, int, Fraction]
"""(coordinate, steps drawn, length of a step)."""

MOST = 1e300
"""Largest magnitude of an answer that is released."""


class Part(Protocol):
    """Noise of some coordinates, independent of all other parts."""

    coordinates: Ints

    @property
    def sampler(self) -> str:
        """ "" if draws are exact, else why they are not."""

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Floating point, (size, len(coordinates))."""

    def draw(self) -> Iterator[Drawn]:
        """One exact draw, coordinate by coordinate."""


@dataclass(frozen=True, eq=False)
class Normal:
    """σ_i Z_i. scales : (n,)."""

    coordinates: Ints
    scales: Array
    sampler: ClassVar[str] = "Gaussian noise has no exact sampler here"

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        return rng.normal(size=(size, len(self.scales))) * self.scales

    def draw(self) -> Iterator[Drawn]:
        raise InputError("noise", "Gaussian", "a law with an exact sampler")


@dataclass(frozen=True, eq=False)
class DoubleExponential:
    """Laplace noise of scale β_i. scales : (n,).   resource : R ≥ Σ |d_i|/β_i for every change d.

    A step is β_i/N. Rounding makes Σ |d_i|/step_i at most N·R + n; a rate of 1/(N + n/R) a step makes R of that again.
    """

    coordinates: Ints
    scales: Array
    resource: float
    sampler: ClassVar[str] = ""

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        return rng.laplace(size=(size, len(self.scales))) * self.scales

    def draw(self) -> Iterator[Drawn]:
        rate = Fraction(1, FINE + math.ceil(len(self.scales) / Fraction(self.resource)))
        for i, scale in zip(self.coordinates.tolist(), self.scales.tolist()):
            yield i, draw_laplace(rate), Fraction(scale) / FINE


@dataclass(frozen=True, eq=False)
class Boxes:
    """Blocks with densities ∝ e^(−ε_b·level(max_i |t_i|/λ_i)), one after another.

    sensitivities : (n,) λ_i.   ends : (B,) where each block ends.   budgets : (B,) ε_b.   gammas : (B,) of the steps,
    NaN: level(ρ) = ρ.
    """

    coordinates: Ints
    sensitivities: Array
    ends: Ints
    budgets: Array
    gammas: Array
    sampler: ClassVar[str] = ""

    @property
    def sizes(self) -> Ints:
        return np.diff(self.ends, prepend=0)

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """λ_i·R·(uniform on [−1, 1]), R with density ∝ R^m e^(−εR), or R = k + γ with P ∝ R^m e^(−εk)."""
        sizes = self.sizes
        radii = rng.gamma(sizes + 1.0, size=(size, len(sizes))) / self.budgets
        for b in np.flatnonzero(~np.isnan(self.gammas)).tolist():
            radii[:, b] = _stepped(rng, size, int(sizes[b]), float(self.budgets[b]), float(self.gammas[b]))
        uniform = rng.uniform(-1.0, 1.0, (size, len(self.coordinates)))
        return uniform * np.repeat(radii, sizes, axis=1) * self.sensitivities

    def draw(self) -> Iterator[Drawn]:
        start = 0
        for end, budget, gamma in zip(self.ends.tolist(), self.budgets.tolist(), self.gammas.tolist()):
            points, cells = _drawn_block(end - start, budget, gamma)
            for at, cell in zip(range(start, end), cells):
                yield int(self.coordinates[at]), cell, Fraction(float(self.sensitivities[at])) / points
            start = end


def _drawn_block(size: int, budget: float, gamma: float) -> tuple[int, list[int]]:
    """(steps to the sensitivity, cells). One coordinate: the very law of the accountant, rounded down to the lattice;
    a larger block: an ε-DP law within 2⁻⁶⁰ of the one displayed."""
    if math.isnan(gamma):
        rate = Fraction(budget) / FINE
        return FINE, [draw_laplace(rate)] if size == 1 else draw_cube(size, draw_smooth_radius(size, rate))
    points = max(FINE, Fraction(gamma).denominator)  # both powers of two: γ·points is whole
    if size == 1:
        return points, [draw_staircase(Fraction(budget), Fraction(gamma), Fraction(0), points)]
    radius = draw_stepped_radius(size, fall_upper(budget), int(Fraction(gamma) * points), points)
    return points, draw_cube(size, radius)


@dataclass(frozen=True, eq=False)
class Planar:
    """Two coordinates with the density ∝ e^(−ε·level(‖t‖₁/Δ₁)). total : Δ₁.

    Rounding down moves a pair by at most N + 1 steps of Δ₁/N, so that is the width of the levels.
    """

    coordinates: Ints
    total: float
    epsilon: float
    gamma: float
    sampler: ClassVar[str] = ""

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        radii = _stepped(rng, size, 2, self.epsilon, self.gamma)[:, None]
        total, difference = rng.uniform(-1.0, 1.0, (2, size, 1))
        return self.total * radii * np.hstack([total + difference, total - difference]) / 2

    def draw(self) -> Iterator[Drawn]:
        inner = max(1, round(self.gamma * FINE))
        radius = draw_stepped_radius(2, fall_upper(self.epsilon), inner, FINE + 1, diamond=True)
        for i, steps in zip(self.coordinates.tolist(), draw_diamond(radius)):
            yield i, steps, Fraction(self.total) / FINE


@dataclass(frozen=True, eq=False)
class Scaled:
    """λ_i times independent draws of one law for sensitivity 1. sensitivities : (n,)."""

    coordinates: Ints
    sensitivities: Array
    law: Noise

    @property
    def sampler(self) -> str:
        law = self.law
        fits = not law.origin if isinstance(law, PiecewiseNoise) else isinstance(law, Staircase) and not law.location
        return "" if fits else f"{law.name} noise has no exact sampler here"

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        count = len(self.coordinates)
        return self.law.sample(rng, size * count).reshape(size, count) * self.sensitivities

    def draw(self) -> Iterator[Drawn]:
        law = self.law
        for i, value in zip(self.coordinates.tolist(), self.sensitivities.tolist()):
            if isinstance(law, PiecewiseNoise):
                yield i, law.draw(FINE), Fraction(value) / (law.resolution * FINE)
            else:
                points = max(FINE, Fraction(law.gamma).denominator)
                drawn = draw_staircase(Fraction(law.epsilon), Fraction(law.gamma), Fraction(law.atom), points)
                yield i, drawn, Fraction(value) / points


@dataclass(frozen=True, eq=False)
class JointNoise:
    """Noise of K coordinates; those in no part do not depend on the data and get none."""

    dimension: int
    parts: tuple[Part, ...]

    @property
    def inexact(self) -> str:
        """Why there is no exact release; "" if there is."""
        return next((part.sampler for part in self.parts if part.sampler), "")

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Draws of the noise, (size, K): floating point, for looking, no private release."""
        out = np.zeros((size, self.dimension))
        for part in self.parts:
            out[:, part.coordinates] = part.sample(rng, size)
        return out

    def release(self, value: ArrayLike, rng: np.random.Generator | None = None) -> Array:
        """An answer with noise, (K,) → (K,).

        Without `rng` this is one exact private release: whole numbers from the operating system's cryptographic source,
        no float in between. With `rng` it is the answer plus a floating-point sample: for looking only.

        Raises
        ------
        InputError : an answer that is not K finite numbers up to 1e300; or no exact sampler (`inexact` says why).
        """
        answer = _answer(value, self.dimension)
        if rng is not None:
            return answer + self.sample(rng, 1)[0]
        if self.inexact:
            accepted = f"one whose parts all have exact samplers: {self.inexact}, only samples for looking"
            raise InputError("mechanism", "inexact", accepted)
        out = answer.copy()
        for part in self.parts:
            for i, drawn, step in part.draw():
                out[i] = float((Fraction(float(answer[i])) // step + drawn) * step)
        return out


def _answer(value: ArrayLike, dimension: int) -> Array:
    try:
        answer = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError("value", value, f"{dimension} numbers") from None
    if answer.shape != (dimension,):
        raise InputError("value", f"an array of shape {answer.shape}", f"{dimension} numbers, one per coordinate")
    if (wrong := np.flatnonzero(~(np.abs(answer) <= MOST))).size:
        raise InputError(f"value[{wrong[0]}]", answer[wrong[0]], f"a finite number within ±{MOST:g}")
    return answer


def _stepped(rng: np.random.Generator, size: int, dimension: int, epsilon: float, gamma: float) -> Array:
    """(size,) k + γ with P(k) ∝ (k + γ)^dimension e^(−εk)."""
    k = np.arange(math.ceil((80 + 4 * dimension) / epsilon) + 2)
    weights = (k + gamma) ** dimension * np.exp(-epsilon * k)
    return rng.choice(k, size, p=weights / weights.sum()) + gamma
