"""Gaussian noise: the analytic calibration of Balle and Wang, the classical formula, and exact releases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._validate import above, real
from ..errors import InputError
from ..loss import Loss
from ..pair import mirrored
from ..privacy import Privacy
from ..rounded import plus_normal
from ..search import smallest_passing
from .base import Array
from .drawn import Drawn, DrawnNoise
from .moments import gauss_nodes
from .monotone import MonotonePair

_MARGIN = 1e-11
"""Relative error that the evaluation of δ(ε) is allowed (tests: below 1e-11 against 50 digits)."""


@dataclass(frozen=True)
class Gaussian(DrawnNoise):
    """Normal law with standard deviation sigma around location."""

    sigma: float
    location: float = 0.0

    name = "Gaussian"

    def __post_init__(self) -> None:
        above(0, 1e300, sigma=self.sigma)
        real(location=self.location)

    @classmethod
    def calibrate(cls, privacy: Privacy, sensitivity: float, loss: Loss | None = None) -> Gaussian:
        """The Gaussian of least sigma that is (ε, δ)-DP [BW18, Thm. 8], δ > 0.

        δ(ε) falls strictly with sigma; bisection to the last bit against δ reduced by the evaluation's error,
        so that the law is (ε, δ)-DP in exact arithmetic too.
        """
        epsilon, delta = privacy.epsilon, privacy.delta
        if delta == 0:
            raise InputError("delta", delta, "a positive number for Gaussian noise")
        passes = lambda ratio: gaussian_delta(ratio, epsilon) <= delta * (1 - _MARGIN)  # noqa: E731
        return cls(sensitivity * smallest_passing(passes, 1.0) * (1 + 2**-50))

    @classmethod
    def classical(cls, privacy: Privacy, sensitivity: float, loss: Loss | None = None) -> Gaussian:
        """sigma = D √(2 ln(1.25/δ))/ε, ε > 0 and δ > 0. Proved (ε, δ)-DP for ε < 1 only [Awan; BW18]:
        callers check `shortfall`."""
        if privacy.epsilon == 0 or privacy.delta == 0:
            raise InputError("epsilon, delta", (privacy.epsilon, privacy.delta), "positive numbers for this formula")
        return cls(sensitivity * math.sqrt(2 * math.log(1.25 / privacy.delta)) / privacy.epsilon)

    @classmethod
    def on_curve(cls, mu: float, sensitivity: float) -> Gaussian:
        """The law that is μ-GDP, moved past its rounding."""
        return cls(sensitivity / mu * (1 + 2**-50))

    @property
    def radius(self) -> float:
        return math.inf

    def _height(self, y: Array) -> Array:
        return np.exp(-0.5 * (y / self.sigma) ** 2) / (math.sqrt(2 * math.pi) * self.sigma)

    def _tail(self, y: Array) -> Array:
        return special.erfc(y / (math.sqrt(2) * self.sigma))

    def _tail_quantile(self, q: Array) -> Array:
        return math.sqrt(2) * self.sigma * special.erfcinv(q)

    def _side_moment(self, power: float, lo: float, hi: float, centre: float) -> float:
        """About 0: incomplete gamma functions. About another centre, or over a narrow interval where those
        cancel, Gauss quadrature on panels (no closed form exists for real powers), to rounding."""
        a, b = lo / self.sigma, hi / self.sigma
        if centre != 0 or b - a < min(1.0, a):
            unit: float = self.sigma**power
            return unit * _panels(power, a, b, centre / self.sigma)
        half = (power + 1) / 2
        lower, upper = 0.5 * a * a, 0.5 * b * b
        if upper <= half + 1:
            between = float(special.gammainc(half, upper) - special.gammainc(half, lower))
        else:
            between = float(special.gammaincc(half, lower) - special.gammaincc(half, upper))
        scale: float = (math.sqrt(2) * self.sigma) ** power
        return scale * math.gamma(half) * between / (2 * math.sqrt(math.pi))

    def _hockey_stick(self, epsilon: float, shift: float) -> float:
        return gaussian_delta(self.sigma / shift, epsilon)

    def pair(self, shift: float) -> GaussianPair:
        return GaussianPair(self, shift)

    def privacy_loss(self, outputs: ArrayLike, shift: float) -> Array:
        y = np.asarray(outputs, dtype=float)
        return shift * (shift - 2 * (y - self.location)) / (2 * self.sigma**2)

    def gaussian_mu(self, sensitivity: float) -> float:
        return sensitivity / self.sigma

    @property
    def drawn(self) -> Drawn:
        return plus_normal, {"scale": Fraction(self.sigma)}


@dataclass(frozen=True, eq=False)
class GaussianPair(MonotonePair):
    """Two normal laws of the same σ: L is normal itself."""

    noise: Gaussian

    def threshold(self, epsilons: Array) -> Array:
        return self.noise.location + self.shift / 2 - epsilons * self.noise.sigma**2 / self.shift

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        return mirrored(epsilons, _deltas(self.shift / self.noise.sigma, np.abs(epsilons)))

    def renyi(self, orders: ArrayLike) -> Array:
        """αφ²/(2σ²) [Awan, Prop. 12.2]."""
        return np.asarray(orders, dtype=float) * (0.5 * (self.shift / self.noise.sigma) ** 2)


def gaussian_delta(ratio: float, epsilon: float) -> float:
    """δ(ε) of a Gaussian with sigma = ratio·sensitivity [BW18, Thm. 8], relative error below 1e-11.

    With h = 1/(2·ratio), t = ε·ratio: Φ(h − t) − e^ε Φ(−h − t) = φ(t − h)·(M(t − h) − M(t + h)), M = (1 − Φ)/φ
    Mills' ratio, because e^ε φ(t + h) = φ(t − h). This avoids the cancellation of the first form for small δ;
    for small h the difference of M is integrated: −M'(x) = 1 − x M(x).
    """
    h, t = 0.5 / ratio, epsilon * ratio
    if epsilon == 0:
        return math.erf(h / math.sqrt(2))
    if t < h and h > 0.05:
        return float(special.ndtr(h - t)) - math.exp(epsilon + float(special.log_ndtr(-h - t)))
    if h > 0.05:
        difference = float(_mills(t - h) - _mills(t + h))
    else:
        nodes, weights = gauss_nodes(12)
        x = t - h + 2 * h * nodes
        difference = 2 * h * float(weights @ _mills_descent(x))
    return math.exp(-0.5 * (t - h) ** 2) / math.sqrt(2 * math.pi) * difference


def _deltas(mu: float, epsilons: Array) -> Array:
    """`gaussian_delta(1/μ, ε)` at many ε ≥ 0; where the difference of Mills' ratios is not integrated, 1e-14/μ of
    it is lost."""
    a, b = epsilons / mu - mu / 2, epsilons / mu + mu / 2
    density = np.exp(-0.5 * a * a) / math.sqrt(2 * math.pi)
    far: Array = density * (_mills(np.maximum(a, 0.0)) - _mills(b))
    near: Array = special.ndtr(-a) - density * _mills(b)
    return np.clip(np.where(a > 0, far, near), 0.0, 1.0)


def _mills(x: Array | float) -> Array | np.float64:
    return math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2))


def _mills_descent(x: Array) -> Array:
    """1 − x M(x); beyond 40 by its asymptotic series 1/x² − 3/x⁴ + 15/x⁶ − 105/x⁸, where the difference cancels."""
    y = 1 / np.maximum(x, 40.0) ** 2
    series = y * (1 - y * (3 - y * (15 - y * (105 - 945 * y))))
    return np.where(x > 40, series, 1 - x * _mills(np.minimum(x, 40.0)))


def _panels(power: float, a: float, b: float, centre: float) -> float:
    """∫_a^b x^power φ(x − centre) dx, 0 ≤ a < b on one side of the centre.

    Panels are at most as wide as the distance over which φ changes by e², and as their distance from 0
    (where x^power is singular); the one that starts at 0 uses the Gauss rule for x^power. What lies beyond
    φ < e^−50 of the largest value is left out.
    """
    near = max(a - centre, centre - b, 0.0)
    reach = math.sqrt(near * near + 100.0)
    a, b = max(a, centre - reach), min(b, centre + reach)
    width = min(0.5, 2 / reach)
    parts = []
    while a < b:
        end = min(b, a + (min(width, a) if a > 0 else width))
        nodes, weights = gauss_nodes(16, float(power) if a == 0 else 0.0)
        x = a + (end - a) * nodes
        values = np.exp(-0.5 * (x - centre) ** 2) * (x**power if a > 0 else end**power)
        parts.append((end - a) * float(weights @ values))
        a = end
    return math.fsum(parts) / math.sqrt(2 * math.pi)
