"""Intervals for the population behind a private release: parametric bootstrap of data and noise.

A release errs twice: the people in the data are a sample, and noise was added. An interval made of the released
numbers as if they were exact, `naive`, forgets the second and is too short. Here both are drawn again: values like
those that the released sums speak of, and noise by the very law that was added; by what the estimate then misses its
own model, the interval reaches to both sides of the released one [Ferrando, Wang and Sheldon 2022, "Parametric
bootstrap for differentially private confidence intervals"]. All of it is post-processing of what is published and
costs no privacy.

The spread of the values is private too. Either a noisy sum of squares was released, or (high − m)(m − low) stands in
for it, the most that values in [low, high] with mean m can have [Bhatia and Davis 2000]: such an interval is longer
than needed. Of values that are 0 or 1 it is p(1 − p), and nothing is lost.

What is covered is the mean of the values *as they are added up*: clamped to the bounds and rounded to steps. Where
many values lie beyond the bounds that is another number than their own mean, and no interval made of clamped sums
knows it.

Arrays: R releases at once; B draws of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Draws = Callable[[np.random.Generator, tuple[int, ...]], Array]
"""Noise by its law, in a shape."""

LEVEL = 0.95
DRAWS = 999
"""Draws of the bootstrap; (DRAWS + 1)·(1 − LEVEL)/2 is a whole number."""

STEEPEST = 0.5 * np.pi - 1e-6
"""Angle of a slope that stands for ∞."""

HALVINGS = 24
"""How often the angle between the estimate and that one is halved, for each end."""


@dataclass(frozen=True)
class Sums:
    """What was released about the values of a column.

    total : Σ(x − centre) plus noise, (R,).   rows : how many values, (R,), with noise unless that is public.
    noise, rows_noise : the laws added; None where nothing was.   low, high : public bounds of the values.
    squares : Σ(x − centre)² plus noise, (R,), if it was released.   binary : the values are 0 or 1.
    """

    total: Array
    rows: Array
    noise: Draws
    low: float
    high: float
    centre: float = 0.0
    rows_noise: Draws | None = None
    squares: Array | None = None
    binary: bool = False

    @cached_property
    def estimate(self) -> Array:
        """Estimate of the mean, (R,); with noise it may lie beyond the bounds."""
        return self.centre + self.total / self.size

    @property
    def size(self) -> Array:
        """Number of values, at least 1."""
        return np.maximum(self.rows, 1.0)

    @property
    def mean(self) -> Array:
        """The estimate, between the bounds."""
        return np.clip(self.estimate, self.low, self.high)

    @property
    def variance(self) -> Array:
        """Variance of the values: by the released squares, at most what the bounds allow; without them that most."""
        most = (self.high - self.mean) * (self.mean - self.low)
        if self.squares is None:
            return most
        return np.clip(self.squares / self.size - (self.mean - self.centre) ** 2, 0.0, most)


@dataclass(frozen=True)
class Interval:
    """Both ends, (R,) each."""

    low: Array
    high: Array

    def covers(self, truth: float | Array) -> NDArray[np.bool_]:
        return (self.low <= truth) & (truth <= self.high)


def mean_interval(sums: Sums, rng: np.random.Generator, *, level: float = LEVEL, draws: int = DRAWS) -> Interval:
    """An interval for the mean of the population, or the proportion of it, between the bounds."""
    shape = len(sums.total), draws
    mean, size = sums.mean[:, None], np.rint(sums.size)[:, None]
    if sums.binary:
        again = rng.binomial(size.astype(np.int64), mean, shape) - size * sums.centre
    else:
        again = size * (mean - sums.centre) + np.sqrt(size * sums.variance[:, None]) * rng.standard_normal(shape)
    again += sums.noise(rng, shape)
    if sums.rows_noise is not None:
        size = np.maximum(size + sums.rows_noise(rng, shape), 1.0)
    low, high = _quantiles(sums.centre + again / size - mean, level)
    return Interval(*np.clip([sums.estimate - high, sums.estimate - low], sums.low, sums.high))


def naive(sums: Sums, *, level: float = LEVEL) -> Interval:
    """What the textbook makes of the released numbers as if they were exact: it fails."""
    half = _normal_quantile(level) * np.sqrt(sums.variance / sums.size)
    return Interval(sums.estimate - half, sums.estimate + half)


@dataclass(frozen=True)
class Moments:
    """What was released about pairs of values in [−1, 1], a regression's.

    sums : Σu, Σw, Σu², Σuw, Σw², each plus noise, (5, R).   rows : how many pairs, public.
    noise : the five laws added, in the shape (5, R, B).
    """

    sums: Array
    rows: int
    noise: Draws

    @cached_property
    def centred(self) -> tuple[Array, Array, Array]:
        """Σ(u − ū)², Σ(u − ū)(w − w̄), Σ(w − w̄)², (R,) each; with noise the first may be negative."""
        u, w, uu, uw, ww = self.sums
        return uu - u * u / self.rows, uw - u * w / self.rows, ww - w * w / self.rows

    @property
    def slope(self) -> Array:
        """Least squares, (R,)."""
        uu, uw, _ = self.centred
        return uw / uu


class SlopeTest:
    """Which slopes the released sums of a regression are compatible with.

    With the slope b, T(b) = Σ(u − ū)(w − w̄) − b·Σ(u − ū)² is residuals and noise alone. It is drawn again for the very
    b that is asked about, so nothing is divided by a noisy sum that may be near 0 [after Fieller 1954]: the test keeps
    its level even where the interval has no end.
    """

    def __init__(self, moments: Moments, rng: np.random.Generator, *, level: float = LEVEL, draws: int = DRAWS) -> None:
        rows = moments.rows
        shape = moments.sums.shape[1], draws
        self._moments, self._level = moments, level
        u, w = np.clip(moments.sums[:2] / rows, -1.0, 1.0)[:, :, None]
        noise = moments.noise(rng, (5, *shape))
        self._of_product = noise[3] - u * noise[1] - w * noise[0] - noise[0] * noise[1] / rows
        self._of_square = noise[2] - 2 * u * noise[0] - noise[0] ** 2 / rows
        self._sample = rng.standard_normal(shape)
        self._spread = np.clip(moments.centred[0] / rows, 0.0, 1.0)

    def accepts(self, slopes: float | Array) -> NDArray[np.bool_]:
        """(R,), one slope for each release or the same for all."""
        uu, uw, ww = self._moments.centred
        rows, slopes = self._moments.rows, np.broadcast_to(slopes, uu.shape)
        residual = np.clip(ww / rows, 0, 1) - 2 * slopes * np.clip(uw / rows, -1, 1) + slopes**2 * self._spread
        sample = np.sqrt(rows * self._spread * np.maximum(residual, 0.0))[:, None] * self._sample
        low, high = _quantiles(sample + self._of_product - slopes[:, None] * self._of_square, self._level)
        seen = uw - slopes * uu
        accepted: NDArray[np.bool_] = (low <= seen) & (seen <= high)
        return accepted

    def interval(self) -> Interval:
        """From the least slope that is accepted to the largest; ±∞ where arbitrarily steep ones are."""
        steep = np.full(len(self._spread), np.tan(STEEPEST))
        endless = self.accepts(steep) | self.accepts(-steep)
        estimate = np.arctan(self._moments.slope)
        ends = []
        for side in (-1.0, 1.0):
            inner, outer = estimate, np.full_like(estimate, side * STEEPEST)
            for _ in range(HALVINGS):
                middle = 0.5 * (inner + outer)
                inside = self.accepts(np.tan(middle))
                inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
            ends.append(np.where(endless, side * np.inf, np.tan(outer)))
        return Interval(*ends)


def naive_slope(moments: Moments, *, level: float = LEVEL) -> Interval:
    """The textbook's interval, of the released sums as if they were exact: it fails."""
    uu, uw, ww = moments.centred
    residual = np.maximum(ww - uw**2 / uu, 0.0) / (moments.rows - 2)
    half = _normal_quantile(level) * np.sqrt(residual / np.maximum(uu, 1e-9))
    return Interval(moments.slope - half, moments.slope + half)


def _quantiles(drawn: Array, level: float) -> tuple[Array, Array]:
    """Order statistics of rank (B + 1)(1 ± level)/2 along the last axis; `drawn` is reordered."""
    count = drawn.shape[-1]
    behind = max(round((count + 1) * (1 - level) / 2), 1)
    drawn.partition([behind - 1, count - behind], axis=-1)
    return drawn[..., behind - 1], drawn[..., count - behind]


def _normal_quantile(level: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))
