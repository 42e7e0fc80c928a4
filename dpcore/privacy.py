"""The privacy requirement (ε, δ)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .errors import InputError
from .quantity import Quantity

EPSILON = Quantity(
    "epsilon", 1e-3, 20.0, 1.0, "ε", "ε", also=(0.0,), help="how much one person may shift the odds of a result"
)
DELTA = Quantity(
    "delta", 1e-12, 0.999, 0.2, "δ", "δ", also=(0.0,),
    help="how much more probable any event may become beyond the factor e^ε",
)  # fmt: skip
SENSITIVITY = Quantity(
    "sensitivity", 1e-9, 1e12, 1.0, label="Sensitivity", in_unit=True,
    help="The most that one person can change the true answer, in its unit.",
)  # fmt: skip

EPSILON_RANGE, DELTA_RANGE, SENSITIVITY_RANGE = ((one.low, one.high) for one in (EPSILON, DELTA, SENSITIVITY))


@dataclass(frozen=True)
class Privacy:
    """(ε, δ)-differential privacy: P(A) ≤ e^ε P(A − φ) + δ for every event A and |φ| ≤ sensitivity.

    ε is 0 or in [0.001, 20]; δ is 0 or in [1e-12, 0.999]; not both 0.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", EPSILON.check(self.epsilon))
        object.__setattr__(self, "delta", DELTA.check(self.delta))
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
