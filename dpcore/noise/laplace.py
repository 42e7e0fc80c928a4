"""Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._validate import above, decimal, real
from ..errors import InputError
from ..loss import Loss
from ..privacy import Privacy
from ..rounded import plus_laplace
from ..search import nudged_up
from .base import Array
from .drawn import Drawn, DrawnNoise
from .moments import falling_integral, rising_integral
from .monotone import MonotonePair

if TYPE_CHECKING:
    from .truncated_laplace import TruncatedLaplace


@dataclass(frozen=True)
class Laplace(DrawnNoise):
    """Density e^(−|x − location|/scale)/(2·scale)."""

    scale: float
    location: float = 0.0

    name = "Laplace"

    def __post_init__(self) -> None:
        above(0, 1e300, scale=self.scale)
        real(location=self.location)

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: float, loss: Loss | None = None) -> Laplace:
        """The textbook mechanism, (ε, 0)-DP [Awan]; ε > 0."""
        if privacy.epsilon == 0:
            raise InputError("epsilon", privacy.epsilon, "a positive number for Laplace noise")
        return cls.pure(privacy.epsilon, sensitivity)

    @classmethod
    def pure(cls, epsilon: float, sensitivity: float) -> Laplace:
        """The law of scale sensitivity/ε, moved past its rounding; numbers are the decimal ones that they show."""

        def private(scale: float) -> bool:
            enough = Fraction(scale) * decimal(epsilon) >= decimal(sensitivity)
            return enough and cls(scale).shortfall(epsilon, sensitivity) == 0

        return cls(nudged_up(private, sensitivity / epsilon))

    @classmethod
    def relaxed(cls, privacy: Privacy, sensitivity: float) -> Laplace:
        """The Laplace law of least scale that is (ε, δ)-DP: D/(ε − 2 ln(1 − δ)), from δ(ε) below,
        moved past its rounding."""
        private = lambda scale: cls(scale).shortfall(privacy.epsilon, sensitivity) <= privacy.delta  # noqa: E731
        return cls(nudged_up(private, sensitivity / (privacy.epsilon - 2 * math.log1p(-privacy.delta))))

    @property
    def drawn(self) -> Drawn:
        return plus_laplace, {"scale": Fraction(self.scale)}

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

    def pair(self, shift: float) -> ExponentialPair:
        return ExponentialPair(self, shift)

    def privacy_loss(self, outputs: ArrayLike, shift: float) -> Array:
        y = np.asarray(outputs, dtype=float)
        return (np.abs(y - self.location - shift) - np.abs(y - self.location)) / self.scale


@dataclass(frozen=True, eq=False)
class ExponentialPair(MonotonePair):
    """Two laws that fall by e^(−1/scale) a unit, as far as they reach: L is ±φ/scale but between the centres."""

    noise: Laplace | TruncatedLaplace

    def threshold(self, epsilons: Array) -> Array:
        phi, scale, radius = self.shift, self.noise.scale, self.noise.radius
        top = phi / scale
        t = np.where(epsilons < top, np.where(epsilons < -top, np.inf, (phi - epsilons * scale) / 2), -np.inf)
        t = np.clip(t, min(phi - radius, radius), radius)  # below φ − A the loss is infinite, above A it is −∞
        return self.noise.location + t

    @cached_property
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        noise, phi = self.noise, self.shift
        at: Callable[[float], float] = lambda x: float(noise.cdf(x))  # noqa: E731
        m = noise.location
        start, end = m - noise.radius, m + noise.radius
        top = phi / noise.scale
        left = max(at(m) - at(start + phi), 0.0) if math.isfinite(start) else at(m)  # shared, below both centres
        found = [(math.inf, at(start + phi) if math.isfinite(start) else 0.0, 0.0)]
        found += [(top, left, left * math.exp(-top)), (-top, left * math.exp(-top), left)]
        found += [(-math.inf, 0.0, 1 - at(end - phi) if math.isfinite(end) else 0.0)]
        return tuple(one for one in found if one[1] > 0 or one[2] > 0)

    def least_mu(self) -> float:
        """With t = φ/scale the trade-off function has chords at both ends and e^−t/(4α) between, where the necessary μ
        is g(ln α) + g(−t − ln 4 − ln α) with g(u) = Φ^−1(1 − e^u); g′ = −(Mills' ratio at g), so g is concave and the
        middle is the worst."""
        return -2 * float(special.ndtri(0.5 * math.exp(-0.5 * self.shift / self.noise.scale)))

    def renyi(self, orders: ArrayLike) -> Array:
        """ln(α/(2α − 1) e^((α−1)t) + (α − 1)/(2α − 1) e^(−αt))/(α − 1) with t = φ/scale [Mironov 2017, Table II]; ∞
        where the laws end."""
        orders = np.asarray(orders, dtype=float)
        if self.infinite > 0:
            return np.full(orders.shape, math.inf)
        t, s = self.shift / self.noise.scale, orders - 1
        rest = np.expm1(np.minimum(s * t, 1.0)), math.exp(-t) * np.expm1(-s * t)  # E e^(sL) − 1 without cancellation
        small = 0.5 * (rest[0] + rest[1] + (rest[0] - rest[1] + 2 * s * math.expm1(-t)) / (2 * s + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            far, near = np.log(orders / (2 * orders - 1)) + s * t, np.log(s / (2 * orders - 1)) - orders * t
            found = np.where(s * t < 1, np.log1p(small), np.logaddexp(far, near)) / s
        return np.where(s > 0, found, t + math.expm1(-t))


def exponential_moment(power: float, lo: float, hi: float, centre: float, scale: float) -> float:
    """∫_lo^hi x^power e^(−|x − centre|/scale) dx/scale for 0 ≤ lo < hi on one side of the centre."""
    length = (hi - lo) / scale
    unit: float = scale**power
    if lo >= centre:
        rest = falling_integral(power, lo / scale, length)
        return math.exp((centre - lo) / scale) * unit * rest
    return math.exp((hi - centre) / scale) * unit * rising_integral(power, hi / scale, length)
