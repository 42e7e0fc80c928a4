"""The mechanism that the page looks at, with what it promises."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpcore import audit
from dpcore.accounting.curves import privacy_profile
from dpcore.accounting.pairs import Pair, dominating_pair, pair
from dpcore.mechanisms import MECHANISMS
from dpcore.noise import Noise, PiecewiseNoise
from dpcore.privacy import Privacy
from dpcore.problem import NoiseProblem, SolverSettings, noise_problem
from pages.shared import prose

NAMES = {
    "laplace": "Laplace", "gaussian": "Gaussian", "truncated-laplace": "Truncated Laplace",
    "staircase": "Staircase", "optimal": "Certified optimum",
}  # fmt: skip
PURE = ("laplace", "staircase")
"""Mechanisms that keep the promise with δ = 0, whatever δ is asked for."""

SETTINGS = SolverSettings(gap=0.01, time_limit=10.0)


@dataclass(frozen=True)
class Law:
    """A mechanism on a query of sensitivity 1: X is released for the value 0, X + 1 for a neighbour's.

    key : of the palette.   privacy : what it promises.
    """

    key: str
    noise: Noise
    privacy: Privacy

    @property
    def name(self) -> str:
        return NAMES[self.key]

    @property
    def promise(self) -> str:
        """(1, 0.1)-DP, or 1-DP."""
        return promised(self.privacy)

    @property
    def solved(self) -> bool:
        """Whether its numbers are certified upper bounds, not exact formulas."""
        return self.key == "optimal"

    @property
    def tight(self) -> Pair:
        """The dominating pair of all changes up to the sensitivity."""
        return group(self.noise, 1.0)

    def profile(self, epsilons: np.ndarray | float, size: float = 1.0) -> np.ndarray:
        """δ(ε), certified for solved laws."""
        return privacy_profile(self.noise, epsilons, sensitivity=size)

    def delta(self, epsilon: float, size: float = 1.0) -> float:
        """δ(ε) at one ε ≥ 0, certified for solved laws (and by exact sums: at ε itself not above what it promises)."""
        return audit.delta_upper(self.noise, epsilon, size)

    def beyond(self, epsilon: float, shift: float = 1.0) -> tuple[float, float]:
        """(P{L > ε}, Q{L > ε}), losses equal to ε but for rounding left out."""
        own, other = at(self.noise, shift).tails(epsilon + 1e-9 * max(1.0, epsilon))
        return float(own), float(other)

    def worst_shift(self, epsilon: float) -> float:
        """A change at which the neighbour is easiest to tell at ε; the sensitivity, if it is one."""
        if isinstance(self.noise, PiecewiseNoise):
            worst, where = audit.shortfall_upper(self.noise, epsilon, 1.0)
            if float(at(self.noise, 1.0).delta(epsilon)) < worst * (1 - 1e-6):
                return abs(where) or 1.0
        return 1.0


@lru_cache(maxsize=128)
def group(noise: Noise, size: float) -> Pair:
    """The dominating pair of changes up to `size` sensitivities."""
    return dominating_pair(noise, size)


@lru_cache(maxsize=128)
def at(noise: Noise, shift: float) -> Pair:
    """The pair of one change."""
    return pair(noise, shift=shift)


def promised(privacy: Privacy) -> str:
    """(1, 0.1)-DP, or 1-DP."""
    if privacy.delta == 0:
        return f"{privacy.epsilon:g}-DP"
    return f"({privacy.epsilon:g}, {prose.delta_text(privacy.delta)})-DP"


@lru_cache(maxsize=64)
def closed_form(key: str, privacy: Privacy) -> Law:
    """A mechanism from the literature, calibrated."""
    noise = MECHANISMS[key].rule(privacy, 1.0, problem(privacy).loss)
    return Law(key, noise, Privacy(privacy.epsilon, 0.0) if key in PURE else privacy)


def problem(privacy: Privacy) -> NoiseProblem:
    """What the certified optimum is the optimum of: least mean absolute error."""
    return noise_problem(privacy.epsilon, privacy.delta, 1.0, "l1")
