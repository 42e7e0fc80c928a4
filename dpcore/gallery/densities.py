"""Two laws on an interval that mechanisms of the gallery draw from, with exact masses, quantiles and mean distances.

* `LogLinear`: the logarithm of the density is linear between knots, with jumps at knots allowed;
* `TruncatedNormal`: a normal density cut to an interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, special

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LogLinear:
    """Density ∝ exp(left + (right − left)(x − a)/(b − a)) on each cell [a, b] between neighbouring knots.

    knots : (m + 1,) increasing.   left, right : (m,) logarithms of the unnormalised density at the cells' ends.
    """

    knots: Array
    left: Array
    right: Array

    @cached_property
    def _top(self) -> float:
        return float(np.maximum(self.left, self.right).max())

    @cached_property
    def _masses(self) -> Array:
        """Masses of the cells in units of exp(top); a cell of height h and log-drop d has h·e^high·(1 − e^−d)/d."""
        high = np.maximum(self.left, self.right) - self._top
        return np.diff(self.knots) * np.exp(high) * _flat(np.abs(self.left - self.right))

    @cached_property
    def log_normaliser(self) -> float:
        """ln ∫ of the unnormalised density."""
        return self._top + math.log(math.fsum(self._masses))

    @cached_property
    def _below(self) -> Array:
        """P(X ≤ knot)."""
        sums = np.concatenate([[0.0], np.cumsum(self._masses)])
        below: Array = sums / sums[-1]
        return below

    def log_density(self, x: ArrayLike) -> Array:
        """ln p(x); −∞ outside. At a knot the cell to its right counts (at the last one the cell to its left)."""
        x = np.asarray(x, dtype=float)
        cell = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.left) - 1)
        a, width = self.knots[cell], np.diff(self.knots)[cell]
        inside = (self.knots[0] <= x) & (x <= self.knots[-1])
        value = self.left[cell] + (self.right - self.left)[cell] * (x - a) / width - self.log_normaliser
        return np.where(inside, value, -np.inf)

    def quantile(self, u: ArrayLike) -> Array:
        """The x with P(X ≤ x) = u."""
        u = np.asarray(u, dtype=float)
        cell = np.clip(np.searchsorted(self._below, u, side="right") - 1, 0, len(self.left) - 1)
        share = (u - self._below[cell]) / np.maximum(self._below[cell + 1] - self._below[cell], 1e-300)
        place = _within(np.clip(share, 0, 1), (self.right - self.left)[cell])
        return self.knots[cell] + np.diff(self.knots)[cell] * place

    def mean_distance(self, centre: float) -> float:
        """E|X − centre|, the cells cut at the centre; each has the closed form of an exponential's first moment."""
        law = self._cut(centre)
        width, drop = np.diff(law.knots), np.abs(law.left - law.right)
        high = np.maximum(law.left, law.right) - law._top
        peak = np.where(law.left >= law.right, law.knots[:-1], law.knots[1:])  # the cell's end with more density
        other = np.where(law.left >= law.right, law.knots[1:], law.knots[:-1])
        heights = width * np.exp(high)
        near, far = np.abs(peak - centre), np.abs(other - centre)
        parts = heights * (near * _flat(drop) + (far - near) * _tilted(drop))
        return math.fsum(parts) / math.fsum(law._masses)

    def _cut(self, x: float) -> LogLinear:
        """This law with a knot at x."""
        if not self.knots[0] < x < self.knots[-1] or x in self.knots:
            return self
        cell = int(np.searchsorted(self.knots, x)) - 1
        a, b = self.knots[cell], self.knots[cell + 1]
        middle = self.left[cell] + (self.right[cell] - self.left[cell]) * (x - a) / (b - a)
        return LogLinear(
            np.insert(self.knots, cell + 1, x),
            np.insert(self.left, cell + 1, middle),
            np.insert(self.right, cell, middle),
        )


def _flat(drop: Array) -> Array:
    """∫_0^1 e^(−d t) dt."""
    small = drop < 1e-8
    safe = np.where(small, 1.0, drop)
    return np.where(small, 1 - drop / 2, -np.expm1(-safe) / safe)


def _tilted(drop: Array) -> Array:
    """∫_0^1 t e^(−d t) dt = (1 − (1 + d) e^−d)/d²; its series where that cancels."""
    small = drop < 1e-2
    safe = np.where(small, 1.0, drop)
    exact = (-np.expm1(-safe) - safe * np.exp(-safe)) / safe**2
    series = 1 / 2 - drop * (1 / 3 - drop * (1 / 8 - drop * (1 / 30 - drop * (1 / 144 - drop / 840))))
    return np.where(small, series, exact)


def _within(share: Array, rise: Array) -> Array:
    """Where in a cell [0, 1] with density ∝ e^(rise·t) a share of its mass is reached."""
    flat = np.abs(rise) < 1e-9
    safe = np.where(flat, 1.0, rise)
    up = safe > 0
    # From the end with more density, so that nothing overflows.
    part = np.where(up, 1 - share, share)
    reached = -np.log1p(part * np.expm1(-np.abs(safe))) / np.abs(safe)
    return np.where(flat, share, np.where(up, 1 - reached, reached))


@dataclass(frozen=True)
class TruncatedNormal:
    """Normal density with mean `centre` and deviation `sigma`, cut to [low, high]."""

    centre: float
    sigma: float
    low: float
    high: float

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return (self.low - self.centre) / self.sigma, (self.high - self.centre) / self.sigma

    @cached_property
    def _log_mass(self) -> float:
        """ln P(low ≤ X ≤ high) of the uncut law."""
        return _log_mass(*self._ends)

    @property
    def log_normaliser(self) -> float:
        """ln ∫ exp(−(x − centre)²/(2σ²)) over the interval."""
        return self._log_mass + math.log(self.sigma * math.sqrt(2 * math.pi))

    def log_density(self, x: ArrayLike) -> Array:
        """ln p(x); −∞ outside."""
        x = np.asarray(x, dtype=float)
        value = -0.5 * ((x - self.centre) / self.sigma) ** 2 - self.log_normaliser
        return np.where((self.low <= x) & (x <= self.high), value, -np.inf)

    def quantile(self, u: ArrayLike) -> Array:
        """The x with P(X ≤ x) = u."""
        u, (a, b) = np.asarray(u, dtype=float), self._ends
        with np.errstate(divide="ignore"):
            if a > 0:  # in the upper tail, mirrored: Φ is flat there
                tail = np.logaddexp(special.log_ndtr(-b), np.log1p(-u) + self._log_mass)
                x = self.centre - self.sigma * special.ndtri_exp(np.minimum(tail, 0.0))
            else:
                tail = np.logaddexp(special.log_ndtr(a), np.log(u) + self._log_mass)
                x = self.centre + self.sigma * special.ndtri_exp(np.minimum(tail, 0.0))
        inside: Array = np.clip(x, self.low, self.high)
        return inside

    def mean_distance(self, point: float) -> float:
        """E|X − point|: closed form with the centre inside, else Gauss quadrature from the end nearer to the centre,
        in units of the density's fall there."""
        (a, b) = self._ends
        if a > 0 or b < 0:
            return self._distance_outside(point, max(a, -b))
        inside = min(max(point, self.low), self.high)
        c = (inside - self.centre) / self.sigma
        left = c * _mass(a, c) + _phi(c) - _phi(a)
        right = _phi(c) - _phi(b) - c * _mass(c, b)
        return abs(point - inside) + self.sigma * (left + right) / math.exp(self._log_mass)

    def _distance_outside(self, point: float, far: float) -> float:
        unit = self.sigma / max(far, 1.0)
        end, sign = (self.low, 1.0) if self.centre < self.low else (self.high, -1.0)
        length = min(self.high - self.low, 50 * unit)
        break_ = sign * (point - end)
        density: Callable[[float], float] = lambda t: math.exp(float(self.log_density(end + sign * t)))  # noqa: E731
        kinks = [break_] if 0 < break_ < length else None
        return float(integrate.quad(lambda t: density(t) * abs(t - break_), 0, length, points=kinks, limit=200)[0])


def _phi(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _mass(a: float, b: float) -> float:
    return float(special.ndtr(-a) - special.ndtr(-b)) if a > 0 else float(special.ndtr(b) - special.ndtr(a))


def _log_mass(a: float, b: float) -> float:
    if a > 0:
        a, b = -b, -a
    upper, lower = float(special.log_ndtr(b)), float(special.log_ndtr(a))
    return upper + math.log(-math.expm1(lower - upper))
