"""Closed forms and their neighbours: pairs of laws by formula, exact up to the rounding of sums of probabilities.

Three kinds [one mechanism: One pair]: a log-concave density, whose loss falls along the line; a law that falls by one
factor per period; the uniform law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._validate import above
from ..audit import delta_upper
from ..noise.discrete import IntegerStaircase
from ..noise.gaussian import Gaussian
from ..noise.laplace import Laplace
from ..noise.staircase import Staircase
from ..noise.truncated_laplace import TruncatedLaplace
from ..noise.uniform import Uniform
from .two_laws import Array, FinitePair, Pair, mirrored


@dataclass(frozen=True, eq=False)
class MonotonePair(Pair):
    """A law with a log-concave density and its copy moved up by `shift`: L falls along the line, so that every
    {L > ε} is a half-line, and the best test says Q above some place."""

    noise: Gaussian | Laplace | TruncatedLaplace
    shift: float

    def _threshold(self, epsilons: Array) -> Array:
        """The place below which L > ε."""
        noise, phi = self.noise, self.shift
        if isinstance(noise, Gaussian):
            return noise.location + phi / 2 - epsilons * noise.sigma**2 / phi
        top = phi / noise.scale
        t = np.where(epsilons < top, np.where(epsilons < -top, np.inf, (phi - epsilons * noise.scale) / 2), -np.inf)
        if isinstance(noise, TruncatedLaplace):  # below φ − A the loss is infinite, above A it is −∞
            t = np.clip(t, min(phi - noise.half_width, noise.half_width), noise.half_width)
        return noise.location + t

    @cached_property
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        noise, phi = self.noise, self.shift
        if isinstance(noise, Gaussian):
            return ()
        at, m = lambda x: float(noise.cdf(x)), noise.location
        start, end = m - noise.radius, m + noise.radius
        top = phi / noise.scale
        left = max(at(m) - at(start + phi), 0.0) if math.isfinite(start) else at(m)  # shared, below both centres
        found = [(math.inf, at(start + phi) if math.isfinite(start) else 0.0, 0.0)]
        found += [(top, left, left * math.exp(-top)), (-top, left * math.exp(-top), left)]
        found += [(-math.inf, 0.0, 1 - at(end - phi) if math.isfinite(end) else 0.0)]
        return tuple(one for one in found if one[1] > 0 or one[2] > 0)

    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        t = self._threshold(np.asarray(epsilons, dtype=float))
        return self.noise.cdf(t), self.noise.cdf(t - self.shift)

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        if isinstance(self.noise, Gaussian):
            return mirrored(epsilons, _gaussian_delta(self.shift / self.noise.sigma, np.abs(epsilons)))
        known = [delta_upper(self.noise, abs(e), self.shift) for e in epsilons.ravel().tolist()]
        return mirrored(epsilons, np.reshape(known, epsilons.shape))

    def tradeoff(self, alphas: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            t = 2 * self.noise.location - self.noise.quantile(np.clip(np.asarray(alphas, dtype=float), 0.0, 1.0))
        return self.noise.cdf(t - self.shift)

    def renyi(self, orders: ArrayLike) -> Array:
        """Gaussian αφ²/(2σ²) [Awan, Prop. 12.2]; Laplace ln(α/(2α − 1) e^((α−1)t) + (α − 1)/(2α − 1) e^(−αt))/(α − 1)
        with t = φ/scale [Mironov 2017, Table II]."""
        orders = np.asarray(orders, dtype=float)
        if self.infinite > 0:
            return np.full(orders.shape, math.inf)
        if isinstance(self.noise, Gaussian):
            return orders * (0.5 * (self.shift / self.noise.sigma) ** 2)
        t, s = self.shift / self.noise.scale, orders - 1
        rest = np.expm1(np.minimum(s * t, 1.0)), math.exp(-t) * np.expm1(-s * t)  # E e^(sL) − 1 without cancellation
        small = 0.5 * (rest[0] + rest[1] + (rest[0] - rest[1] + 2 * s * math.expm1(-t)) / (2 * s + 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            far, near = np.log(orders / (2 * orders - 1)) + s * t, np.log(s / (2 * orders - 1)) - orders * t
            found = np.where(s * t < 1, np.log1p(small), np.logaddexp(far, near)) / s
        return np.where(s > 0, found, t + math.expm1(-t))


def _gaussian_delta(mu: float, epsilons: Array) -> Array:
    """δ(ε) of N(0, 1) against N(μ, 1) at ε ≥ 0: Φ(−a) − e^ε Φ(−b), a, b = ε/μ ∓ μ/2, as φ(a)(m(a) − m(b)) with Mills'
    ratio m, since e^ε φ(b) = φ(a): where both are tiny, nothing but their difference is lost."""
    a, b = epsilons / mu - mu / 2, epsilons / mu + mu / 2
    density = np.exp(-0.5 * a * a) / math.sqrt(2 * math.pi)
    mills = lambda x: math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2))  # noqa: E731
    far = density * (mills(np.maximum(a, 0.0)) - mills(b))
    return np.clip(np.where(a > 0, far, special.ndtr(-a) - density * mills(b)), 0.0, 1.0)


def uniform_pair(noise: Uniform, shift: float) -> FinitePair:
    """The pair of one shift, in the query's unit."""
    bare = min(0.5 * shift / noise.half_width, 1.0)
    masses = np.array([bare, 1 - bare, 0.0])
    return _with_atom(masses, masses[::-1], noise.atom, np.array([math.inf, 0.0, -math.inf]))


def integer_pair(law: IntegerStaircase, shift: int) -> FinitePair:
    """The pair of one shift, in steps."""
    left, middle = np.arange(law.period, dtype=float), np.arange(1, shift, dtype=float)
    ones = np.ones(len(left)), np.ones(len(middle))
    return _stairs(law.rate, law.rise, law.period, shift, (left, ones[0]), (middle, ones[1]), atom=0.0)


def staircase_pair(noise: Staircase, shift: float) -> FinitePair:
    """The pair of one shift, in units of the law's sensitivity."""
    above(0, 1e4, shift=shift)
    gamma = noise.gamma
    edges = gamma + np.arange(math.ceil(shift) + 1)
    left = np.unique([0.0, gamma, (gamma - shift) % 1.0, 1.0])
    middle = np.unique(np.clip(np.concatenate([[0.0, shift], edges, shift - edges]), 0.0, shift))
    cells = [(0.5 * (x[:-1] + x[1:]), np.where(np.diff(x) > 1e-12, np.diff(x), 0.0)) for x in (left, middle)]
    return _stairs(noise.epsilon, gamma, 1.0, shift, *cells, atom=noise.atom)


def _stairs(
    rate: float,
    rise: float,
    period: float,
    shift: float,
    left: tuple[Array, Array],
    middle: tuple[Array, Array],
    *,
    atom: float,
) -> FinitePair:
    """The pair of a law that falls by e^−rate per period from its centre, with one period of cells (distance from the
    centre, length) on the far side of it, and the cells between the two centres.

    Beyond the centre both laws fall alike, so one period stands for all, times 1/(1 − e^−rate); beyond the other
    centre the same is true with P and Q exchanged.
    """
    level = lambda i: np.floor((i - rise) / period) + 1  # noqa: E731
    near, far = level(left[0]), level(left[0] + shift)
    many = left[1] / -math.expm1(-rate)
    here, there = level(middle[0]), level(shift - middle[0])
    own = np.concatenate([np.exp(-rate * near) * many, np.exp(-rate * here) * middle[1], np.exp(-rate * far) * many])
    other = np.concatenate([np.exp(-rate * far) * many, np.exp(-rate * there) * middle[1], np.exp(-rate * near) * many])
    losses = rate * np.concatenate([far - near, there - here, near - far])
    return _with_atom(own / own.sum(), other / other.sum(), atom, losses)


def _with_atom(own: Array, other: Array, atom: float, losses: Array) -> FinitePair:
    """The pair of a law that is a point with probability `atom`: neither covers the other's point."""
    return FinitePair.of(
        np.append((1 - atom) * own, [atom, 0.0]),
        np.append((1 - atom) * other, [0.0, atom]),
        np.append(losses, [math.inf, -math.inf]),
    )
