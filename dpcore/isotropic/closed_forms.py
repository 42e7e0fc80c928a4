"""Radial laws with a closed form that falls outwards, in floats: what they cost, and nearly how private they are.

`enclosed` proves what is said of privacy; the levels here are where it looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special

from ..errors import SolverError
from ..noise.moments import gauss_nodes
from ..privacy import Privacy
from .geometry import beta_law
from .problem import Array, RadialLoss

NODES, PANELS = 12, 24
"""Nodes of a panel, and panels, of the quadrature between two kinks, graded towards both."""

FAR = 1e-12
"""Share of δ that is left out at either end of the radii."""

GRID = 400
"""Places among which kinks are looked for."""

WIDEST = 100.0
"""Logarithms of scales are looked at in steps up to this one."""

NEAR = 1e-9
"""Relative error of a calibrated scale."""


@dataclass(frozen=True)
class PowerLaw:
    """Density ∝ |x|^k e^(−(|x|/sigma)^q) in R^d, −d < k ≤ 0 < q: a spherical generalised Gamma law that falls outwards.

    The worst event at ε > 0 is {|x − e| > b(|x|)} with f(a) = e^ε f(b(a)). With y = (a/σ)^q, c = −k/q ≥ 0 and
    (b/σ)^q = (1 + w) y that is y = (ε − c ln(1 + w))/w, so that s = ln w gives both radii; both fall in s.
    """

    dimension: int
    sigma: float
    q: float
    k: float = 0.0

    @property
    def shape(self) -> float:
        """(|X|/σ)^q has the Gamma law of this shape."""
        return (self.dimension + self.k) / self.q

    @property
    def bend(self) -> float:
        """c."""
        return -self.k / self.q

    @property
    def parameters(self) -> dict[str, float]:
        named = {"sigma": self.sigma, "exponent": self.q}
        return {"sigma": self.sigma} if (self.q, self.k) == (1, 0) else named | {"k": self.k}

    @property
    def scale(self) -> float:
        return self.sigma

    @property
    def outermost(self) -> float:
        """The largest radius that occurs."""
        return math.inf

    def with_scale(self, sigma: float) -> PowerLaw:
        return replace(self, sigma=sigma)

    def level(self, s: Array, epsilon: float) -> tuple[Array, Array, Array]:
        """(y, a, b − a) at places s."""
        w = np.exp(s)
        longer = np.log1p(w)
        y = np.maximum((epsilon - self.bend * longer) / w, 1e-300)
        a = self.sigma * y ** (1 / self.q)
        return y, a, a * np.expm1(longer / self.q)

    def ends(self, epsilon: float, unseen: float) -> tuple[float, float]:
        """Places beyond which |X| is with a probability of about `unseen` each."""
        high = float(special.gammainccinv(self.shape, unseen))
        low = max(float(special.gammaincinv(self.shape, unseen)), 1e-290)
        return self._place(high, epsilon), self._place(low, epsilon)

    def _place(self, y: float, epsilon: float) -> float:
        c = self.bend
        if c == 0:
            return math.log(epsilon / y)
        most = epsilon / c
        last = most if most > 700 else math.log(math.expm1(most))
        last -= 1e-12 * max(1.0, abs(last))  # nearer to the end y is rounding
        excess: Callable[[float], float] = lambda s: (epsilon - c * float(np.logaddexp(0.0, s))) * math.exp(-s) - y  # noqa: E731
        first = min(math.log(epsilon / y), last) - 60.0
        if excess(first) <= 0 or excess(last) >= 0:
            return last if excess(last) >= 0 else first
        return float(optimize.brentq(excess, first, last, xtol=1e-13))

    def kinks(self, epsilon: float, unseen: float) -> list[float]:
        """Places from end to end: the ends, and where the spheres of radii a and b, one shift apart, touch each other
        from without (a + b = 1) or from within (b = a + 1)."""
        first, last = self.ends(epsilon, unseen)

        def gaps(s: Array) -> tuple[Array, Array]:
            _, a, rise = self.level(s, epsilon)
            return 2 * a + rise - 1, 1 - rise

        grid = np.linspace(first, last, GRID)
        found = [first, last]
        for which, values in enumerate(gaps(grid)):
            for i in np.flatnonzero(np.sign(values[1:]) != np.sign(values[:-1])):

                def gap(s: float, which: int = which) -> float:
                    return float(gaps(np.asarray(s))[which])

                found.append(float(optimize.brentq(gap, grid[i], grid[i + 1], xtol=1e-14)))
        return sorted(found)

    def delta(self, epsilon: float, unseen: float = 1e-14) -> float:
        """δ(ε) of shift 1, ε > 0: ∫ p(a) P(a → beyond b) da − e^ε ∫ p(b) P(b → within a) db over the levels."""
        kinks = self.kinks(epsilon, unseen)
        s, weights = (np.concatenate(part) for part in zip(*map(_panels, kinks, kinks[1:])))
        y, a, rise = self.level(s, epsilon)
        n, b, c, w = 1 - rise, a + rise, self.bend, np.exp(s)
        base = self.shape * np.log(y) - y - special.gammaln(self.shape)
        own, other = np.exp(base), np.exp(base + (self.dimension / self.q - 1) * np.log1p(w))
        inside = (n > 0) & (2 * a + rise > 1)
        leaves = np.where(inside, n * (0.5 + (1 + rise) / (4 * a)), (n > 0).astype(float))
        enters = np.where(inside, n * (0.5 - (1 + rise) / (4 * b)), 0.0)
        gain = own * (1 + c / ((1 + w) * y)) * _share(self.dimension, leaves)
        beyond = float(special.gammainc(self.shape, self.level(np.asarray(kinks[-1]), epsilon)[0]))
        return beyond + float(weights @ (gain - other * (1 + c / y) * _share(self.dimension, enters)))

    def loss(self, loss: RadialLoss) -> float:
        if loss.beyond is not None:
            return float(special.gammaincc(self.shape, (loss.beyond / self.sigma) ** self.q))
        return float(self.sigma**loss.power * float(special.poch(self.shape, loss.power / self.q)))

    @classmethod
    def calibrated(cls, dimension: int, privacy: Privacy, q: float, k: float = 0.0, sigma: float = 1.0) -> PowerLaw:
        """The least sigma as far as quadrature knows; sigma : where to begin."""
        law = cls(dimension, sigma, q, k)
        unseen = FAR * privacy.delta
        return law.with_scale(
            calibrated(lambda scale: law.with_scale(scale).delta(privacy.epsilon, unseen), privacy, sigma)
        )


@dataclass(frozen=True)
class TruncatedLaw:
    """Density ∝ e^(−ε|x|) within a radius: what the shifted ball leaves uncovered is all of δ(ε)."""

    dimension: int
    epsilon: float
    radius: float

    @property
    def parameters(self) -> dict[str, float]:
        return {"radius": self.radius}

    @property
    def scale(self) -> float:
        return self.radius

    @property
    def outermost(self) -> float:
        return self.radius

    def with_scale(self, radius: float) -> TruncatedLaw:
        return replace(self, radius=radius)

    def mean(self, gain: Callable[[Array], Array], start: float = 0.0) -> float:
        """E gain(|X|), gain 0 below a radius and smooth above."""
        below, weights = _panels(0.0, self.radius)
        above, own = _panels(start, self.radius)
        top = self._log(np.concatenate([below, above])).max()
        whole = float(weights @ np.exp(self._log(below) - top))
        return float(own @ (np.exp(self._log(above) - top) * gain(above))) / whole

    def _log(self, radius: Array) -> Array:
        out: Array = (self.dimension - 1) * np.log(radius / self.radius) - self.epsilon * (radius - self.radius)
        return out

    def delta(self, epsilon: float) -> float:
        """δ of shift 1 at the law's own ε, which must not be above the one that is asked for: there it is as much."""
        if self.epsilon > epsilon:
            raise ValueError("a truncated law is made for its own epsilon")
        whole, edge = self.radius - 1, 0.0
        if whole < 0:  # within 1 − radius everything is uncovered
            whole = min(-whole, self.radius)
            edge = 1 - self.mean(np.ones_like, whole)
        leaves: Callable[[Array], Array] = lambda r: (r + 1 - self.radius) * (r + 1 + self.radius) / (4 * r)  # noqa: E731
        return edge + self.mean(lambda r: _share(self.dimension, np.minimum(leaves(r), 1.0)), whole)

    def loss(self, loss: RadialLoss) -> float:
        if loss.beyond is not None:
            return self.mean(np.ones_like, loss.beyond) if loss.beyond < self.radius else 0.0
        return self.mean(loss)

    @classmethod
    def calibrated(cls, dimension: int, privacy: Privacy) -> TruncatedLaw:
        """The least radius as far as quadrature knows."""
        law = cls(dimension, privacy.epsilon, 1.0)
        return law.with_scale(calibrated(lambda radius: law.with_scale(radius).delta(privacy.epsilon), privacy, 1.0))


def calibrated(delta: Callable[[float], float], privacy: Privacy, scale: float) -> float:
    """The scale with delta(scale) = δ, delta falling.

    Raises
    ------
    SolverError : it is not reached.
    """

    def excess(log: float) -> float:
        return math.log(max(delta(math.exp(log)), 1e-200) / privacy.delta)

    low = high = math.log(scale)
    step, value = 0.1, excess(low)
    if value > 0:
        while excess(high := high + step) > 0:
            low, step = high, 2 * step
            if step > WIDEST:
                raise SolverError("no scale gives this law the δ asked for")
    else:
        while excess(low := low - step) <= 0:
            high, step = low, 2 * step
            if step > WIDEST:
                raise SolverError("no scale gives this law the δ asked for")
    return math.exp(float(optimize.brentq(excess, low, high, xtol=NEAR)))


def _share(dimension: int, share: Array) -> Array:
    """`beta_law`, 0 where nothing is left."""
    out: Array = np.where(share > 0, beta_law(dimension, share), 0.0)
    return out


def _panels(start: float, stop: float) -> tuple[Array, Array]:
    """(nodes, weights) of Gauss quadrature on panels that are finer towards both ends."""
    x, w = gauss_nodes(NODES, 0.0)
    even = np.linspace(0.0, 1.0, PANELS + 1)
    ends = start + (stop - start) * even**3 * (10 - 15 * even + 6 * even**2)
    nodes = ends[:-1, None] + np.diff(ends)[:, None] * x
    return nodes.ravel(), (np.diff(ends)[:, None] * w).ravel()
