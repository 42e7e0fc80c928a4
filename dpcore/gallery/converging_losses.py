"""k randomised responses together: the law of their total privacy loss, exactly, and the normal law that it tends to.

Each answers truthfully with probability p = e^ε/(1 + e^ε), so its loss is ε with probability p and −ε else, and k of
them have L = ε(2B − k) with B binomial. Mean ε·tanh(ε/2), standard deviation ε/cosh(ε/2) each, so that the μ of the
central limit theorem [Awan, Thm. 13.5; Dong, Roth and Su 2022, Thm. 3.4] is 2√k·sinh(ε/2). Binomial probabilities are
exact to rounding (about 1e-12 relative for k ≤ 10⁴).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .._validate import in_range, whole

Array = NDArray[np.float64]

BERRY_ESSEEN = 0.56


@dataclass(frozen=True)
class Responses:
    """k randomised responses of ε each."""

    epsilon: float
    count: int

    def __post_init__(self) -> None:
        in_range(1e-6, 20.0, epsilon=self.epsilon)
        whole(1, 10_000, count=self.count)

    @property
    def mean(self) -> float:
        """Mean of the total loss: k·kl."""
        return self.count * self.epsilon * math.tanh(self.epsilon / 2)

    @property
    def deviation(self) -> float:
        return math.sqrt(self.count) * self.epsilon / math.cosh(self.epsilon / 2)

    @property
    def mu(self) -> float:
        """μ of the Gaussian guarantee in the limit: 2Σkl/√(Σκ₂ − Σkl²)."""
        return 2 * self.mean / self.deviation

    @property
    def error(self) -> float:
        """γ = 0.56 Σκ̄₃/(Σκ₂ − Σkl²)^(3/2), within which the trade-off function is of G_μ; κ̄₃ is about the loss's own
        mean: E|X − kl|³ = 8ε³pq(p² + q²)."""
        p = float(special.expit(self.epsilon))
        third = 8 * self.epsilon**3 * p * (1 - p) * (p * p + (1 - p) ** 2)
        return BERRY_ESSEEN * self.count * third / self.deviation**3

    def law(self) -> tuple[Array, Array]:
        """(losses, rising, (k + 1,); their probabilities)."""
        k, p = self.count, float(special.expit(self.epsilon))
        ones = np.arange(k + 1, dtype=np.float64)
        log = special.gammaln(k + 1) - special.gammaln(ones + 1) - special.gammaln(k - ones + 1)
        losses: Array = np.asarray(self.epsilon * (2.0 * ones - k), dtype=np.float64)
        masses: Array = np.exp(log + ones * math.log(p) + (k - ones) * math.log1p(-p))
        return losses, masses

    def distance(self) -> float:
        """The largest difference of the loss's distribution function from the normal one of its mean and deviation."""
        losses, masses = self.law()
        normal = special.ndtr((losses - self.mean) / self.deviation)
        after = np.cumsum(masses)
        return float(max(np.abs(after - normal).max(), np.abs(after - masses - normal).max()))

    def delta(self, epsilon: float) -> float:
        """δ(ε) of all together: E max(0, 1 − e^(ε − L))."""
        losses, masses = self.law()
        return float(masses @ np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))
