"""What the closed-form laws share: a density that falls away from a centre on both sides, and an atom there."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import fields, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from ..loss import Loss
from .base import Array, Noise


def has_two_slopes(loss: Loss) -> bool:
    """The loss is linear on either side of 0 and 0 there: a law that is symmetric about 0 pays ½(sum of the
    slopes)·E|X|, so what is optimal for |x| is optimal for it."""
    return all(p.at_zero == 0 and (p.power == 1 or p.coefficient == 0) for p in loss.pieces) and len(loss.pieces) == 2


class SymmetricNoise(Noise):
    """X = location with probability `atom`, else location ± Y; the density of ±Y is even, non-increasing in |y|.

    Subclasses give the continuous part in terms of y = |x − location|, as if the atom were absent.

    Rationale for `shortfall`: with f the continuous density, E = e^ε ≥ 1 and a shift φ > 0,
    S = {f(x) > E f(x − φ)} lies in x − location ≤ φ/2, hence x − φ is to the left of the centre, where a larger
    shift makes f(x − φ) smaller. So (f(x) − E f(x − φ))₊ is non-decreasing in φ at every x, and the worst shift
    of at most D is D itself; mirror images give the same for φ < 0. For φ ≠ 0 the atom is never covered and
    adds its whole mass. Hence δ(ε) = atom + (1 − atom)·h_D for every ε ≥ 0.
    """

    location: float
    atom: float = 0.0

    def at(self, location: float) -> Self:
        """This law about another place."""
        return replace(self, location=location)  # type: ignore[type-var]  # every law is a dataclass

    @property
    @abstractmethod
    def radius(self) -> float:
        """Largest |x − location|, possibly infinite."""

    @abstractmethod
    def _height(self, y: Array) -> Array:
        """Density at distance y ≥ 0 (any value beyond the radius)."""

    @abstractmethod
    def _tail(self, y: Array) -> Array:
        """P(Y > y), 0 ≤ y ≤ radius."""

    @abstractmethod
    def _tail_quantile(self, q: Array) -> Array:
        """y with P(Y > y) = q, 0 < q ≤ 1."""

    @abstractmethod
    def _side_moment(self, power: float, lo: float, hi: float, centre: float) -> float:
        """∫_lo^hi x^power height(|x − centre|) dx, 0 ≤ lo < hi, on one side of the centre, within the radius."""

    @abstractmethod
    def _hockey_stick(self, epsilon: float, shift: float) -> float:
        """∫ (f(x) − e^ε f(x − shift))₊ dx for shift > 0."""

    @property
    def parameters(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # subclasses are dataclasses

    @property
    def support(self) -> tuple[float, float]:
        return self.location - self.radius, self.location + self.radius

    @property
    def centre(self) -> float:
        return self.location

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]  # read only, like a field of a frozen class
        return ((self.location, self.atom),) if self.atom else ()

    def density(self, x: ArrayLike) -> Array:
        y = np.abs(np.asarray(x, dtype=float) - self.location)
        return np.where(y <= self.radius, (1 - self.atom) * self._height(np.minimum(y, self.radius)), 0.0)

    def cdf(self, x: ArrayLike) -> Array:
        y = np.asarray(x, dtype=float) - self.location
        half = 0.5 * (1 - self.atom) * self._tail(np.minimum(np.abs(y), self.radius))
        return np.where(y < 0, half, 1 - half)

    def beyond(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=float)
        return np.where(x > self.location, self.cdf(2 * self.location - x), 1 - self.cdf(x))

    def quantile(self, u: ArrayLike) -> Array:
        u = np.asarray(u, dtype=float)
        nearer = np.minimum(u, 1 - u)
        q = np.minimum(2 * nearer / (1 - self.atom), 1.0)
        y = np.where(q < 1, self._tail_quantile(q), 0.0)
        return self.location + np.where(u < 0.5, -y, y)

    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        centre = self.location
        if hi <= 0:
            lo, hi, centre = -hi, -lo, -centre
        lo, hi = max(lo, centre - self.radius, 0.0), min(hi, centre + self.radius)
        parts = [(lo, min(hi, centre)), (max(lo, centre), hi)]
        total = math.fsum(self._side_moment(power, a, b, centre) for a, b in parts if a < b)
        return (1 - self.atom) * total

    def shortfall(self, epsilon: float, sensitivity: float) -> float:
        return min(1.0, self.atom + (1 - self.atom) * self._hockey_stick(epsilon, sensitivity))
