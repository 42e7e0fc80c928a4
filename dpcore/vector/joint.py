"""The noise itself: independent parts, each on some of the coordinates; exact releases and samples to look at.

Exact releases live on a lattice: the answer is rounded down to it and a whole number of steps is drawn (`exact`). The
steps are so fine, 2⁻⁶⁰ of a sensitivity or a scale, that errors are those displayed. Where the sensitivity is no whole
number of steps, rounding may cost one more step, and the law is made for that. With Gaussian noise the sum is rounded
instead, correctly, to steps of 2⁻⁴⁰ of a standard deviation (`rounded`): it is as private as the law on the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from .exact import FINE, block_steps, cell_steps, laplace_steps, noisy, plane_steps, staircase_steps, with_normal

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Drawn = tuple[int, int, Fraction]
"""(coordinate, steps drawn, length of a step)."""

Recipe = tuple[Callable[..., list[tuple[int, Fraction]]], dict[str, Any]]
"""A function of `exact` and its numbers but for `fine`, as plain Python has them."""

MOST = 1e300
"""Largest magnitude of an answer that is released."""


class Part(Protocol):
    """Noise of some coordinates, independent of all other parts."""

    @property
    def coordinates(self) -> Ints: ...

    @property
    def sampler(self) -> str:
        """ "" if draws are exact, else why they are not."""

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Floating point, (size, len(coordinates))."""

    def added(self, answer: Array) -> Iterator[tuple[int, float]]:
        """One exact release of the part's coordinates, (coordinate, number) each."""


class Exact:
    """A part that draws whole steps by a recipe."""

    coordinates: Ints

    @property
    def sampler(self) -> str:
        return ""

    @property
    def recipe(self) -> Recipe:
        """How exact draws are made."""
        raise NotImplementedError

    def draw(self) -> Iterator[Drawn]:
        """One exact draw, coordinate by coordinate."""
        if self.sampler:
            raise InputError("noise", self.sampler, "a law with an exact sampler")
        function, numbers = self.recipe
        for i, (steps, step) in zip(self.coordinates.tolist(), function(**numbers, fine=FINE)):
            yield i, steps, step

    def added(self, answer: Array) -> Iterator[tuple[int, float]]:
        for i, drawn, step in self.draw():
            yield i, noisy(float(answer[i]), drawn, step)


@dataclass(frozen=True, eq=False)
class Normal:
    """σ_i Z_i. scales : (n,)."""

    coordinates: Ints
    scales: Array

    @property
    def sampler(self) -> str:
        return ""

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        return rng.normal(size=(size, len(self.scales))) * self.scales

    def added(self, answer: Array) -> Iterator[tuple[int, float]]:
        for i, scale in zip(self.coordinates.tolist(), self.scales.tolist()):
            yield i, with_normal(float(answer[i]), scale)


@dataclass(frozen=True, eq=False)
class DoubleExponential(Exact):
    """Laplace noise of scale β_i. scales : (n,).   resource : R ≥ Σ |d_i|/β_i for every change d."""

    coordinates: Ints
    scales: Array
    resource: float

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        return rng.laplace(size=(size, len(self.scales))) * self.scales

    @property
    def recipe(self) -> Recipe:
        return laplace_steps, {"scales": self.scales.tolist(), "resource": float(self.resource)}


@dataclass(frozen=True, eq=False)
class Boxes(Exact):
    """Blocks with densities ∝ e^(−ε_b·level(max_i |t_i|/λ_i)), one after another.

    sensitivities : (n,) λ_i.   ends : (B,) where each block ends.   budgets : (B,) ε_b.   gammas : (B,) of the steps,
    NaN: level(ρ) = ρ.
    """

    coordinates: Ints
    sensitivities: Array
    ends: Ints
    budgets: Array
    gammas: Array

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

    @property
    def recipe(self) -> Recipe:
        numbers = {name: getattr(self, name).tolist() for name in ("sensitivities", "ends", "budgets", "gammas")}
        return block_steps, numbers | {"gammas": [None if math.isnan(gamma) else gamma for gamma in numbers["gammas"]]}


@dataclass(frozen=True, eq=False)
class Planar(Exact):
    """Two coordinates with the density ∝ e^(−ε·level(‖t‖₁/Δ₁)). total : Δ₁."""

    coordinates: Ints
    total: float
    epsilon: float
    gamma: float

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        radii = _stepped(rng, size, 2, self.epsilon, self.gamma)[:, None]
        total, difference = rng.uniform(-1.0, 1.0, (2, size, 1))
        drawn: Array = self.total * radii * np.hstack([total + difference, total - difference]) / 2
        return drawn

    @property
    def recipe(self) -> Recipe:
        return plane_steps, {"total": float(self.total), "epsilon": float(self.epsilon), "gamma": float(self.gamma)}


@dataclass(frozen=True, eq=False)
class Scaled(Exact):
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

    @property
    def recipe(self) -> Recipe:
        law, numbers = self.law, {"sensitivities": self.sensitivities.tolist()}
        if isinstance(law, PiecewiseNoise):
            cells = {"ladder": law.ladder, "breaks": law.breaks.tolist(), "atom": int(law.atom_unit)}
            return cell_steps, numbers | cells | {"resolution": int(law.resolution)}
        return staircase_steps, numbers | {name: float(getattr(law, name)) for name in ("epsilon", "gamma", "atom")}


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

        Without `rng` this is one exact private release: bits from the operating system's cryptographic source, no float
        in between. With `rng` it is the answer plus a floating-point sample: for looking only.

        Raises
        ------
        InputError : an answer that is not K finite numbers up to 1e300; or no exact sampler (`inexact` says why).
        """
        answer = _answer(value, self.dimension)
        if rng is not None:
            noise: Array = self.sample(rng, 1)[0]
            return answer + noise
        if self.inexact:
            accepted = f"one whose parts all have exact samplers: {self.inexact}, only samples for looking"
            raise InputError("mechanism", "inexact", accepted)
        out = answer.copy()
        for part in self.parts:
            for i, released in part.added(answer):
                out[i] = released
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
