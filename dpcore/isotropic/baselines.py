"""Known mechanisms for vectors under ℓ2-sensitivity 1, calibrated, with their losses. Closed forms and quadrature in
floats, on the private side by the margin of the quadrature; nothing here enters a certificate.

gaussian : the analytic Gaussian mechanism [BW18].   l2 : density ∝ e^(−ε|x|), which is ε-DP.   l2-delta : density
∝ e^(−|x|/σ) with the least σ for (ε, δ).   l2-truncated : density ∝ e^(−ε|x|) within the least radius.
exponential-power : density ∝ e^(−(|x|/σ)^q), a spherical generalised Gamma law, with the best of some q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from ..noise.gaussian import Gaussian
from ..noise.moments import gauss_nodes
from ..privacy import Privacy
from ..search import bisection
from .geometry import beyond
from .problem import Array, RadialLoss

NODES = 24
PANELS = 160
"""Of the quadrature over the radius, graded towards the ends of the worst event."""

FAR = 1e-16
"""Probability beyond the panels on either side."""

MARGIN, KINKED = 1e-6, 2e-3
"""Shares of δ kept back for the quadrature: from four dimensions on, and where the law of a direction has kinks or
infinite densities at its ends."""

EXPONENTS = (0.5, 0.75, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0)
"""Tried besides 1."""


@dataclass(frozen=True)
class KnownLaw:
    """A law that is known, calibrated.

    loss : E c(X) for sensitivity 1.   estimated : its parameters are from a search with quadrature, which proves
    nothing about δ; the others are closed forms.
    """

    key: str
    name: str
    loss: float
    parameters: dict[str, float] = field(default_factory=dict)
    estimated: bool = False

    def row(self, factor: float, sensitivity: float) -> dict[str, Any]:
        """What the command line prints; factor : of the loss, sensitivity : of lengths."""
        lengths = ("sigma", "radius")
        shown = {name: v * sensitivity if name in lengths else v for name, v in self.parameters.items()}
        known = {"valid": None if self.estimated else True, "estimate": self.estimated}
        return {"name": self.name, "key": self.key, "loss": self.loss * factor, **known, "parameters": shown}


@dataclass(frozen=True)
class PowerLaw:
    """Density ∝ e^(−(|x|/sigma)^q) in R^d."""

    dimension: int
    sigma: float
    q: float

    def loss(self, loss: RadialLoss) -> float:
        shape = self.dimension / self.q
        if loss.beyond is not None:
            return float(special.gammaincc(shape, (loss.beyond / self.sigma) ** self.q))
        return float(self.sigma**loss.power * float(special.poch(shape, loss.power / self.q)))

    def delta(self, epsilon: float) -> float:
        """δ(ε) for shift 1: P(A) − e^ε P(A − e) of the worst event {|x − e| > ψ(|x|)}, ψ(r)^q = r^q + ε σ^q."""
        d, sigma, q = self.dimension, self.sigma, self.q
        low = float(sigma * special.gammaincinv(d / q, FAR) ** (1 / q))
        high = float(sigma * special.gammainccinv(d / q, FAR) ** (1 / q))
        rise = epsilon * sigma**q

        def integral(gain: Callable[[Array], Array], start: float, stop: float) -> float:
            if stop <= start:
                return 0.0
            r, weights = _panels(start, stop)
            log = math.log(q / sigma) - special.gammaln(d / q) + (d - 1) * np.log(r / sigma) - (r / sigma) ** q
            return float(weights @ (np.exp(log) * gain(r)))

        def reach(r: Array) -> Array:
            out: Array = (r**q + rise) ** (1 / q)
            return out

        def back(r: Array) -> Array:
            out: Array = np.maximum(r**q - rise, 0.0) ** (1 / q)
            return out

        own = integral(lambda r: beyond(d, r, reach(r)), low, high)
        start = max(low, rise ** (1 / q))
        other = integral(lambda r: 1 - beyond(d, r, back(r)), start, high)
        return own - math.exp(epsilon) * other

    @classmethod
    def calibrated(cls, dimension: int, privacy: Privacy, q: float) -> PowerLaw:
        """The least sigma, to seven digits, on the private side by the margin of the quadrature."""

        def meets(sigma: float) -> bool:
            return cls(dimension, sigma, q).delta(privacy.epsilon) <= privacy.delta * (1 - _margin(dimension))

        good = 1.0
        while not meets(good):
            good *= 2
        bad = good / 2
        while meets(bad):
            good, bad = bad, bad / 2
        return cls(dimension, bisection(meets, good, bad, near=_near)[0], q)


@dataclass(frozen=True)
class TruncatedLaw:
    """Density ∝ e^(−ε|x|) within a radius: what is uncovered by the shifted ball is all of δ(ε)."""

    dimension: int
    epsilon: float
    radius: float

    def _integral(self, gain: Callable[[Array], Array], start: float, stop: float) -> float:
        x, w = _panels(start, stop)
        with np.errstate(divide="ignore"):
            log = (self.dimension - 1) * np.log(x / self.radius) - self.epsilon * (x - self.radius)
        top = self._top
        return float(w @ (np.exp(log - top) * gain(x)))

    @property
    def _top(self) -> float:
        """The largest exponent, so that nothing overflows."""
        mode = min(self.radius, max((self.dimension - 1) / self.epsilon, 1e-12 * self.radius))
        return (self.dimension - 1) * math.log(mode / self.radius) - self.epsilon * (mode - self.radius)

    def mean(self, gain: Callable[[Array], Array], start: float = 0.0) -> float:
        """E gain(|X|), gain 0 below a radius."""
        return self._integral(gain, start, self.radius) / self._integral(np.ones_like, 0.0, self.radius)

    def delta(self) -> float:
        return self.mean(lambda r: beyond(self.dimension, r, self.radius), max(0.0, self.radius - 1))

    def loss(self, loss: RadialLoss) -> float:
        if loss.beyond is not None:
            return self.mean(np.ones_like, loss.beyond) if loss.beyond < self.radius else 0.0
        return self.mean(loss)

    @classmethod
    def calibrated(cls, dimension: int, privacy: Privacy) -> TruncatedLaw:
        """The least radius, to seven digits."""

        def meets(r: float) -> bool:
            return cls(dimension, privacy.epsilon, r).delta() <= privacy.delta * (1 - _margin(dimension))

        good = 1.0
        while not meets(good):
            good *= 2
        return cls(dimension, privacy.epsilon, bisection(meets, good, good / 2, near=_near)[0])


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-7 * one


def _margin(dimension: int) -> float:
    return KINKED if dimension <= 3 else MARGIN


def _panels(start: float, stop: float) -> tuple[Array, Array]:
    """(nodes, weights) of Gauss quadrature on even panels, finer towards both ends."""
    x, w = gauss_nodes(NODES, 0.0)
    even = np.linspace(0.0, 1.0, PANELS + 1)
    ends = start + (stop - start) * even**2 * (3 - 2 * even)
    nodes = ends[:-1, None] + np.diff(ends)[:, None] * x
    return nodes.ravel(), (np.diff(ends)[:, None] * w).ravel()


def mechanisms(dimension: int, privacy: Privacy, loss: RadialLoss) -> list[KnownLaw]:
    """All that exist at (ε, δ), for sensitivity 1 and a loss in units of it."""
    d, found = dimension, []
    sigma = Gaussian.calibrate(privacy, 1.0).sigma
    gaussian = PowerLaw(d, math.sqrt(2) * sigma, 2.0)
    found.append(KnownLaw("gaussian", "Gaussian, analytic", gaussian.loss(loss), {"sigma": sigma}))
    if privacy.epsilon == 0:
        return found
    pure = PowerLaw(d, 1 / privacy.epsilon, 1.0)
    found.append(KnownLaw("l2", "ℓ2 mechanism, ε-DP", pure.loss(loss), {"sigma": pure.sigma}))
    relaxed = PowerLaw.calibrated(d, privacy, 1.0)
    found.append(KnownLaw("l2-delta", "ℓ2 mechanism with δ", relaxed.loss(loss), {"sigma": relaxed.sigma}, True))
    cut = TruncatedLaw.calibrated(d, privacy)
    found.append(KnownLaw("l2-truncated", "ℓ2 mechanism, truncated", cut.loss(loss), {"radius": cut.radius}, True))
    laws = [PowerLaw.calibrated(d, privacy, q) for q in EXPONENTS]
    best = min([relaxed, *laws], key=lambda law: law.loss(loss))
    name = "Spherical exponential power law, best exponent"
    parameters = {"sigma": best.sigma, "exponent": best.q}
    found.append(KnownLaw("exponential-power", name, best.loss(loss), parameters, True))
    return found
