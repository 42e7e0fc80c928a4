"""Private quantiles: the exponential mechanism on an interval, whose law is known exactly [S11; Awan, §7.3, §8]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import above, in_range, real
from ..errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Law:
    """The law of a private quantile: uniform within each interval between neighbouring data.

    ends : (n + 2,), the lower end, the sorted data, the upper end.   masses : (n + 1,), of the intervals.
    target : level·n, the number of data that should lie at or below.
    """

    ends: Array
    masses: Array
    target: float

    def cdf(self, x: ArrayLike) -> Array:
        """P(release ≤ x)."""
        ends, below = _distinct(self.ends, np.concatenate([[0.0], np.cumsum(self.masses)]))
        found: Array = np.interp(np.asarray(x, float), ends, np.minimum(below / below[-1], 1.0))
        return found

    def quantile(self, u: ArrayLike) -> Array:
        """The place below which the release lies with probability u."""
        below = np.concatenate([[0.0], np.cumsum(self.masses)])
        below /= below[-1]
        place = np.clip(np.searchsorted(below, u, side="left") - 1, 0, len(self.masses) - 1)
        share = (np.asarray(u, float) - below[place]) / np.maximum(below[place + 1] - below[place], 1e-300)
        found: Array = self.ends[place] + np.clip(share, 0, 1) * np.diff(self.ends)[place]
        return found

    def mean_error(self, about: float) -> float:
        """E|release − about|."""
        a, b = self.ends[:-1] - about, self.ends[1:] - about
        widths = np.where(b > a, b - a, 1.0)
        inside = np.where(b > a, (b * np.abs(b) - a * np.abs(a)) / (2 * widths), np.abs(a))
        return float(self.masses @ inside)

    def moments(self) -> tuple[float, float]:
        """(mean, variance)."""
        a, b = self.ends[:-1], self.ends[1:]
        mean = float(self.masses @ (0.5 * (a + b)))
        second = self.masses @ (((a - mean) ** 2 + (a - mean) * (b - mean) + (b - mean) ** 2) / 3)
        return mean, float(second)

    def rank_error(self, most: float) -> float:
        """P(the number of data at or below the release misses its target by more than `most`)."""
        missed = np.abs(np.arange(len(self.masses)) - self.target)
        return float(min(1.0, self.masses[missed > most].sum()))

    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Floating-point draws, for looking."""
        return self.quantile(rng.random(size))


def law(data: ArrayLike, level: float, epsilon: float, *, low: float, high: float) -> Law:
    """The law of the private quantile of data clamped to [low, high].

    Density proportional to e^(−ε/2·|#{x ≤ t} − level·n|) on [low, high]: ε-DP when one of the n people is replaced,
    because the count, and so the utility, changes by at most 1. (With the whole ε in the exponent, as the sampling
    algorithm in [Awan, §8] prints it, it would be 2ε.) low and high must not be read from the data.
    """
    level, epsilon = in_range(0, 1, level=level), above(0, 1e6, epsilon=epsilon)
    low, high = real(low=low), real(high=high)
    if not low < high:
        raise InputError("high", high, f"a number above {low:g}")
    data = np.asarray(data, float)
    if data.ndim != 1 or not len(data) or not np.all(np.isfinite(data)):
        raise InputError("data", data.tolist(), "at least one finite number")
    ends = np.concatenate([[low], np.sort(np.clip(data, low, high)), [high]])
    target = level * len(data)
    with np.errstate(divide="ignore"):
        weights = np.log(np.diff(ends)) - 0.5 * epsilon * np.abs(np.arange(len(data) + 1) - target)
    masses = np.exp(weights - weights.max())
    return Law(ends, masses / masses.sum(), target)


def laplace_error(quantile: float, epsilon: float, *, low: float, high: float) -> float:
    """E|release − quantile| of the quantile plus Laplace noise of scale (high − low)/ε, clamped to [low, high].

    The whole range is the sensitivity of a quantile [Awan, Example 7.4]. An end at a distance d contributes
    E min(|noise|, d)/2 = scale·(1 − e^(−d/scale))/2.
    """
    epsilon, low, high = above(0, 1e6, epsilon=epsilon), real(low=low), real(high=high)
    scale = (high - low) / epsilon
    ends = np.clip([quantile - low, high - quantile], 0, None)
    return float(0.5 * scale * -np.expm1(-ends / scale).sum())


def _distinct(x: Array, y: Array) -> tuple[Array, Array]:
    """The last y of every x, for interpolation."""
    last = np.append(np.diff(x) > 0, True)
    return x[last], y[last]
