"""The privacy requirement (ε, δ)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ._validate import in_range
from .errors import InputError

EPSILON_RANGE = (1e-3, 20.0)
DELTA_RANGE = (1e-12, 0.999)
SENSITIVITY_RANGE = (1e-9, 1e12)


@dataclass(frozen=True)
class Privacy:
    """(ε, δ)-differential privacy: P(A) ≤ e^ε P(A − φ) + δ for every event A and |φ| ≤ sensitivity.

    ε is 0 or in [0.001, 20]; δ is 0 or in [1e-12, 0.999]; not both 0.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", in_range(*EPSILON_RANGE, also=(0.0,), epsilon=self.epsilon))
        object.__setattr__(self, "delta", in_range(*DELTA_RANGE, also=(0.0,), delta=self.delta))
        if self.epsilon == 0 and self.delta == 0:
            raise InputError("delta", self.delta, "a positive number when epsilon = 0")

    @property
    def amplification(self) -> float:
        """e^ε, rounded to nearest."""
        return math.exp(self.epsilon)

    def implies(self, other: Privacy) -> bool:
        """Every law private at this pair is private at the other one, whose two numbers are no smaller."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def truncation(self, delta: float | None = None) -> float:
        """A = ln(1 + (e^ε − 1)/(2δ))/ε, the half-width of truncated Laplace noise in units of the sensitivity [G20];
        1/(2δ) for ε = 0; infinite for δ = 0. `delta`: any other δ, however small."""
        delta = self.delta if delta is None else delta
        if delta == 0:
            return math.inf
        if self.epsilon == 0:
            return 1 / (2 * delta)
        return math.log1p(math.expm1(self.epsilon) / (2 * delta)) / self.epsilon
