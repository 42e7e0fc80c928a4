"""Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._validate import above, real
from ..errors import InputError
from ..privacy import Privacy
from ..search import nudged_up
from .base import Array
from .moments import falling_integral, rising_integral
from .symmetric import SymmetricNoise


@dataclass(frozen=True)
class Laplace(SymmetricNoise):
    """Density e^(−|x − location|/scale)/(2·scale)."""

    scale: float
    location: float = 0.0

    name = "Laplace"

    def __post_init__(self) -> None:
        above(0, 1e300, scale=self.scale)
        real(location=self.location)

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: float) -> Laplace:
        """The law of scale sensitivity/ε, moved past its rounding: (ε, 0)-DP, the textbook mechanism [Awan]; ε > 0."""
        if privacy.epsilon == 0:
            raise InputError("epsilon", privacy.epsilon, "a positive number for Laplace noise")
        private = lambda scale: cls(scale).shortfall(privacy.epsilon, sensitivity) == 0  # noqa: E731
        return cls(nudged_up(private, sensitivity / privacy.epsilon))

    @classmethod
    def relaxed(cls, privacy: Privacy, sensitivity: float) -> Laplace:
        """The Laplace law of least scale that is (ε, δ)-DP: D/(ε − 2 ln(1 − δ)), from δ(ε) below,
        moved past its rounding."""
        private = lambda scale: cls(scale).shortfall(privacy.epsilon, sensitivity) <= privacy.delta  # noqa: E731
        return cls(nudged_up(private, sensitivity / (privacy.epsilon - 2 * math.log1p(-privacy.delta))))

    @property
    def radius(self) -> float:
        return math.inf

    def _height(self, y: Array) -> Array:
        return np.exp(-y / self.scale) / (2 * self.scale)

    def _tail(self, y: Array) -> Array:
        return np.exp(-y / self.scale)

    def _tail_quantile(self, q: Array) -> Array:
        return -self.scale * np.log(q)

    def _side_moment(self, power: float, lo: float, hi: float, centre: float) -> float:
        return 0.5 * exponential_moment(power, lo, hi, centre, self.scale)

    def _hockey_stick(self, epsilon: float, shift: float) -> float:
        """1 − e^((ε − φ/scale)/2) for ε < φ/scale: with x* = (φ − ε·scale)/2, P(X < x*) − e^ε P(X < x* − φ)."""
        return -math.expm1(min(0.5 * (epsilon - shift / self.scale), 0.0))


def exponential_moment(power: float, lo: float, hi: float, centre: float, scale: float) -> float:
    """∫_lo^hi x^power e^(−|x − centre|/scale) dx/scale for 0 ≤ lo < hi on one side of the centre."""
    length = (hi - lo) / scale
    if lo >= centre:
        rest = falling_integral(power, lo / scale, length)
        return math.exp((centre - lo) / scale) * scale**power * rest
    return math.exp((hi - centre) / scale) * scale**power * rising_integral(power, hi / scale, length)
