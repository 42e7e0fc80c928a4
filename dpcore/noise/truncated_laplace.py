"""Truncated Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._validate import above, real
from ..errors import InputError
from ..loss import Loss
from ..privacy import Privacy
from ..search import nudged_up
from .base import Array
from .laplace import ExponentialPair, exponential_moment
from .symmetric import SymmetricNoise
from .uniform import Uniform


@dataclass(frozen=True)
class TruncatedLaplace(SymmetricNoise):
    """Density proportional to e^(−|x − location|/scale) on location ± half_width [G20]."""

    scale: float
    half_width: float
    location: float = 0.0

    name = "Truncated Laplace"

    def __post_init__(self) -> None:
        above(0, 1e300, scale=self.scale)
        above(0, 1e300, half_width=self.half_width)
        real(location=self.location)

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: float, loss: Loss | None = None) -> TruncatedLaplace | Uniform:
        """The narrowest law of scale D/ε that is (ε, δ)-DP; for ε = 0 its limit, a `Uniform`.

        δ ≤ ½: half-width (D/ε) ln(1 + (e^ε − 1)/(2δ)) [G20]. δ > ½: the edge [−A, D − A] contains the
        centre; t = e^(A/scale) then solves t² − 2(1 − δ)E t + (1 − 2δ)E = 0, E = e^ε (the same A at δ = ½).
        Either is moved outwards past its rounding, so that the law's own δ(ε) is at most δ.
        """
        epsilon, delta = privacy.epsilon, privacy.delta
        if delta == 0:
            raise InputError("delta", delta, "a positive number for truncated noise")
        build: Callable[[float], TruncatedLaplace | Uniform]
        if epsilon == 0:
            build = lambda width: Uniform(width, name="Truncated Laplace")  # noqa: E731
            width = sensitivity / (2 * delta)
        else:
            # The quotient rounded down would leave an (ε − 1 ulp) law with a positive interior shortfall.
            scale = nudged_up(lambda s: s * epsilon >= sensitivity, sensitivity / epsilon)
            build = lambda width: cls(scale, width)  # noqa: E731
            width = scale * _tight_exponent(epsilon, delta)
        return build(nudged_up(lambda w: build(w).shortfall(epsilon, sensitivity) <= delta, width))

    @property
    def radius(self) -> float:
        return self.half_width

    @property
    def _kept(self) -> float:
        """Mass of the untruncated law within the half-width."""
        return -math.expm1(-self.half_width / self.scale)

    def _height(self, y: Array) -> Array:
        return np.exp(-y / self.scale) / (2 * self.scale * self._kept)

    def _tail(self, y: Array) -> Array:
        cut = math.exp(-self.half_width / self.scale)
        return (
            np.where(
                self.half_width - y < self.scale,
                cut * np.expm1(np.minimum(self.half_width - y, self.scale) / self.scale),
                np.exp(-y / self.scale) - cut,
            )
            / self._kept
        )

    def _tail_quantile(self, q: Array) -> Array:
        cut = math.exp(-self.half_width / self.scale)
        near = np.log1p(-(1 - q) * self._kept)
        return np.clip(-self.scale * np.where(q < 0.5, np.log(cut + q * self._kept), near), 0.0, self.half_width)

    def _side_moment(self, power: float, lo: float, hi: float, centre: float) -> float:
        return 0.5 * exponential_moment(power, lo, hi, centre, self.scale) / self._kept

    def _hockey_stick(self, epsilon: float, shift: float) -> float:
        """Uncovered edge plus the covered part where the ratio of densities exceeds e^ε.

        With s the scale and centre 0: [−A, φ − A] is uncovered. If φ > εs, the ratio is e^(φ/s) on
        [φ − A, 0] and e^((φ − 2x)/s) on [0, φ], above e^ε up to x* = (φ − εs)/2; the last integral is
        ∫ (e^(−x/s) − e^ε e^((x − φ)/s)) dx = 4s e^(−x*/s) sinh²((x* − x₀)/2s) from x₀ = max(0, φ − A).
        Every term is positive: nothing cancels.
        """
        s, start = self.scale, shift - self.half_width
        if shift >= 2 * self.half_width:
            return 1.0
        edge = 0.5 * float(self._tail(np.asarray(abs(start))))
        total = edge if start <= 0 else 1 - edge
        excess = 0.5 * (shift / s - epsilon)
        if excess <= 0:
            return total
        if start < 0:
            total += -math.expm1(-2 * excess) * 0.5 * -math.expm1(start / s) / self._kept
        rise = excess - max(start, 0.0) / s
        if rise > 0:
            # 4 e^(−x*) sinh²(rise/2), written so that nothing overflows
            total += 0.5 * math.exp(rise - excess) * math.expm1(-rise) ** 2 / self._kept
        return min(total, 1.0)

    def pair(self, shift: float) -> ExponentialPair:
        return ExponentialPair(self, shift)


def _tight_exponent(epsilon: float, delta: float) -> float:
    """Half-width over scale of the narrowest (ε, δ)-DP truncated Laplace law of scale D/ε."""
    growth = math.expm1(epsilon)
    if delta <= 0.5:
        return math.log1p(growth / (2 * delta))
    # t − 1 is the positive root of r² + 2r(1 − (1 − δ)E) − (E − 1) = 0, in the form without cancellation.
    linear = 1 - (1 - delta) * (growth + 1)
    root = math.sqrt(linear * linear + growth)
    return math.log1p(root - linear if linear <= 0 else growth / (root + linear))
