"""How often intervals cover the truth: simulated data, simulated releases, every one with its interval.

Every person has one row, their number n is public, neighbours change one row; ε is shared evenly among the sums
released, each with Laplace noise. The truth is that of the values as they are added up: of log-normal ones the mean
once the largest are clamped, which is known in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import intervals
from .intervals import Array, Draws, Interval, Moments, Sums

AT_ONCE = 250
"""Releases simulated together: some 10⁵ to 10⁶ numbers."""

NOISE_OF_FIT = 0.25
"""Standard deviation of what a regression leaves, of values in [−1, 1]."""

SLOPE = 0.5


@dataclass(frozen=True)
class Kind:
    """A shape of data.

    draw : values, of a generator and a shape.   low, high : public bounds, to which they are clamped.
    mean : of the clamped values.   unclamped : of the values themselves.
    """

    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    low: float
    high: float
    mean: float
    unclamped: float


def _clamped_log_normal(high: float) -> float:
    """E min(e^Z, high) of a standard normal Z."""
    from scipy.special import ndtr

    log = math.log(high)
    return float(math.exp(0.5) * ndtr(log - 1) + high * ndtr(-log))


SHARE = 0.3

KINDS: dict[str, Kind] = {
    "normal": Kind(lambda rng, shape: rng.standard_normal(shape), -4.0, 4.0, 0.0, 0.0),
    "log-normal": Kind(
        lambda rng, shape: np.exp(rng.standard_normal(shape)), 0.0, 10.0, _clamped_log_normal(10.0), math.exp(0.5)
    ),
    "Bernoulli": Kind(lambda rng, shape: (rng.random(shape) < SHARE).astype(float), 0.0, 1.0, SHARE, SHARE),
}


@dataclass(frozen=True)
class Coverage:
    """Shares of the simulated releases.

    valid : whose interval covers the truth; of a slope, with which the truth is compatible.
    naive : whose textbook interval covers it.
    unclamped : whose interval covers the mean of the values as they are, not clamped; of a slope as `valid`.
    width : of the interval, the median.
    endless : whose interval has no end.
    """

    valid: float
    naive: float
    unclamped: float
    width: float
    endless: float


def laplace(scales: float | Array) -> Draws:
    """Laplace noise; several scales go along the first axis."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        size = np.asarray(scales, dtype=float)
        drawn: Array = rng.laplace(size=shape) * size.reshape(size.shape + (1,) * (len(shape) - size.ndim))
        return drawn

    return draw


def released_sums(
    kind: Kind, rows: int, epsilon: float, releases: int, rng: np.random.Generator, *, squares: bool
) -> Sums:
    """So many data sets of `rows` people, and what is released of each.

    squares : the sum of squares is released as well, for half of ε.
    """
    centre, half = 0.5 * (kind.low + kind.high), 0.5 * (kind.high - kind.low)
    values = np.clip(kind.draw(rng, (releases, rows)), kind.low, kind.high) - centre
    part = epsilon / 2 if squares else epsilon
    noise = laplace(2 * half / part)
    total = values.sum(axis=1) + noise(rng, (releases,))
    of_squares = (values**2).sum(axis=1) + laplace(half**2 / part)(rng, (releases,)) if squares else None
    binary = kind is KINDS["Bernoulli"]
    if binary:
        total, centre = total + rows * centre, 0.0
    return Sums(
        total, np.full(releases, float(rows)), noise, kind.low, kind.high, centre, squares=of_squares, binary=binary
    )


def released_moments(
    name: str, rows: int, epsilon: float, releases: int, rng: np.random.Generator
) -> tuple[Moments, float]:
    """Five sums of each of so many regressions, and the true slope: u is uniform, w = slope·u + what the kind of data
    leaves; all are in [−1, 1] by themselves."""
    u = rng.uniform(-1.0, 1.0, (releases, rows))
    if name == "Bernoulli":
        w = np.where(rng.random(u.shape) < 0.5 + 0.5 * SLOPE * u, 1.0, -1.0)
    else:
        kind = KINDS[name]
        rest = np.clip(kind.draw(rng, u.shape), *((-2.0, 2.0) if name == "normal" else (0.0, kind.high)))
        scale = NOISE_OF_FIT if name == "normal" else 0.5 / (kind.high - kind.mean)
        w = SLOPE * u + scale * (rest - kind.mean)
    scales = np.array([2.0, 2.0, 1.0, 2.0, 1.0]) * 5 / epsilon
    noise = laplace(scales)
    sums = np.stack([one.sum(axis=1) for one in (u, w, u * u, u * w, w * w)])
    return Moments(sums + noise(rng, sums.shape), rows, noise), SLOPE


def coverage(
    statistic: str, name: str, rows: int, epsilon: float, releases: int = 4000, *, seed: int = 0,
    squares: bool = True, draws: int = intervals.DRAWS, tick: Callable[[], object] = lambda: None,
) -> Coverage:  # fmt: skip
    """Of so many simulated releases.

    statistic : "mean" (of Bernoulli data the proportion) or "slope".   name : one of `KINDS`.
    squares : see `released_sums`; otherwise the bounds stand in for the spread of the values.
    tick : called every `AT_ONCE` releases; what it raises ends the work.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, releases, AT_ONCE):
        tick()
        count = min(AT_ONCE, releases - start)
        if statistic == "slope":
            parts.append(_slopes(*released_moments(name, rows, epsilon, count, rng), rng, draws))
        else:
            parts.append(_means(KINDS[name], rows, epsilon, count, rng, squares=squares, draws=draws))
    valid, naive, unclamped, widths = (np.concatenate(one) for one in zip(*parts))
    return Coverage(
        float(np.mean(valid)), float(np.mean(naive)), float(np.mean(unclamped)), float(np.median(widths)),
        float(np.mean(np.isinf(widths))),
    )  # fmt: skip


def _means(
    kind: Kind, rows: int, epsilon: float, count: int, rng: np.random.Generator, *, squares: bool, draws: int
) -> tuple[Array, Array, Array, Array]:
    binary = kind is KINDS["Bernoulli"]
    sums = released_sums(kind, rows, epsilon, count, rng, squares=squares and not binary)
    found = intervals.mean_interval(sums, rng, draws=draws)
    textbook = intervals.naive(sums)
    return _shares(found, found.covers(kind.mean), textbook.covers(kind.mean), found.covers(kind.unclamped))


def _slopes(moments: Moments, truth: float, rng: np.random.Generator, draws: int) -> tuple[Array, Array, Array, Array]:
    test = intervals.SlopeTest(moments, rng, draws=draws)
    accepted = test.accepts(truth)
    return _shares(test.interval(), accepted, intervals.naive_slope(moments).covers(truth), accepted)


def _shares(found: Interval, *covered: np.ndarray) -> tuple[Array, Array, Array, Array]:
    valid, naive, unclamped = (one.astype(float) for one in covered)
    return valid, naive, unclamped, found.high - found.low
