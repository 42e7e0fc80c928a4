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
from numpy.typing import NDArray

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
    mean : of the clamped values.   unclamped : of the values themselves.   deviation : of the clamped ones, standard.
    """

    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    low: float
    high: float
    mean: float
    unclamped: float
    deviation: float


def _clamped_log_normal(high: float, power: int = 1) -> float:
    """E min(e^Z, high)^power of a standard normal Z."""
    from scipy.special import ndtr

    log = math.log(high)
    return float(math.exp(0.5 * power**2) * ndtr(log - power) + high**power * ndtr(-log))


def _clamped_normal(high: float) -> float:
    """Standard deviation of a standard normal Z clamped to [−high, high]."""
    from scipy.special import ndtr

    beyond = float(ndtr(-high))
    inside = 1 - 2 * beyond - 2 * high * math.exp(-0.5 * high**2) / math.sqrt(2 * math.pi)
    return math.sqrt(inside + 2 * high**2 * beyond)


SHARE = 0.3

KINDS: dict[str, Kind] = {
    "normal": Kind(lambda rng, shape: rng.standard_normal(shape), -4.0, 4.0, 0.0, 0.0, _clamped_normal(4.0)),
    "log-normal": Kind(
        lambda rng, shape: np.exp(rng.standard_normal(shape)),
        0.0,
        10.0,
        _clamped_log_normal(10.0),
        math.exp(0.5),
        math.sqrt(_clamped_log_normal(10.0, 2) - _clamped_log_normal(10.0) ** 2),
    ),
    "Bernoulli": Kind(
        lambda rng, shape: (rng.random(shape) < SHARE).astype(float),
        0.0,
        1.0,
        SHARE,
        SHARE,
        math.sqrt(SHARE * (1 - SHARE)),
    ),
}


@dataclass(frozen=True, eq=False)
class Simulated:
    """Some simulated releases with their intervals.

    estimate : (R,).   truth : of the values as they are added up.   unclamped : of the values themselves.
    interval : of data and noise drawn again; None where only `holds` was asked for.   textbook : the naive one.
    holds : (R,) whether `interval` covers the truth; of a slope, whether the truth is compatible with the release.
    """

    estimate: Array
    truth: float
    unclamped: float
    interval: Interval | None
    textbook: Interval
    holds: NDArray[np.bool_]


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


def simulated(
    statistic: str, name: str, rows: int, epsilon: float, releases: int, rng: np.random.Generator, *,
    squares: bool = True, draws: int = intervals.DRAWS, ends: bool = True,
) -> Simulated:  # fmt: skip
    """So many releases, each of data of its own, with their intervals; the arguments are those of `coverage`.

    ends : both ends of the interval are wanted; those of a slope take most of the time.
    """
    if statistic == "slope":
        moments, truth = released_moments(name, rows, epsilon, releases, rng)
        test = intervals.SlopeTest(moments, rng, draws=draws)
        found = test.interval() if ends else None
        return Simulated(moments.slope, truth, truth, found, intervals.naive_slope(moments), test.accepts(truth))
    kind = KINDS[name]
    spread = squares and kind is not KINDS["Bernoulli"]
    sums = released_sums(kind, rows, epsilon, releases, rng, squares=spread)
    found = intervals.mean_interval(sums, rng, draws=draws)
    return Simulated(
        sums.estimate, kind.mean, kind.unclamped, found, intervals.naive(sums), found.covers(kind.mean)
    )  # fmt: skip


def coverage(
    statistic: str, name: str, rows: int, epsilon: float, releases: int = 4000, *, seed: int = 0,
    squares: bool = True, draws: int = intervals.DRAWS, tick: Callable[[], object] = lambda: None,
) -> Coverage:  # fmt: skip
    """How often intervals cover, of so many simulated releases.

    statistic : "mean" (of Bernoulli data the proportion) or "slope".   name : one of `KINDS`.
    squares : see `released_sums`; otherwise the bounds stand in for the spread of the values.
    tick : called every `AT_ONCE` releases; what it raises ends the work.
    """
    rng = np.random.default_rng(seed)
    parts = []
    for start in range(0, releases, AT_ONCE):
        tick()
        count = min(AT_ONCE, releases - start)
        one = simulated(statistic, name, rows, epsilon, count, rng, squares=squares, draws=draws)
        assert one.interval is not None
        unclamped = one.holds if statistic == "slope" else one.interval.covers(one.unclamped)
        parts.append((one.holds, one.textbook.covers(one.truth), unclamped, one.interval.high - one.interval.low))
    valid, naive, unclamped, widths = (np.concatenate(one) for one in zip(*parts))
    return Coverage(
        float(np.mean(valid)), float(np.mean(naive)), float(np.mean(unclamped)), float(np.median(widths)),
        float(np.mean(np.isinf(widths))),
    )  # fmt: skip


def textbook_share(deviation: float, scale: float | Array, level: float = intervals.LEVEL) -> Array:
    """How often ±zσ around T + σZ + sE covers T: Z standard normal, E standard Laplace, z the level's normal quantile.

    What many people's textbook interval comes to: σ is the standard error of the sample, s the scale of the noise in
    the same unit. P{σZ + sE ≤ x} = Φ(x/σ) + (A(−x) − A(x))/2, A(x) = exp(σ²/2s² − x/s)·Φ(x/σ − σ/s)
    [Reed 2006, normal-Laplace distribution], here 2P − 1 at x = zσ.
    """
    from scipy.special import log_ndtr, ndtri

    z, ratio = float(ndtri(0.5 + level / 2)), deviation / np.asarray(scale, dtype=float)
    near, far = (np.exp(0.5 * ratio**2 - sign * z * ratio + log_ndtr(sign * z - ratio)) for sign in (1.0, -1.0))
    share: Array = level + far - near
    return share


def released_scale(name: str, rows: int, epsilon: float) -> float:
    """Scale of the Laplace noise in a released mean, or proportion; of a mean half of ε pays for the spread."""
    kind = KINDS[name]
    return (kind.high - kind.low) * (1 if kind is KINDS["Bernoulli"] else 2) / (rows * epsilon)


def rows_alike(epsilon: float, share: float) -> float:
    """People at whom a proportion `share` errs as much by its noise as by its sample: √2/(nε) = √(p(1 − p)/n)."""
    return 2 / (epsilon**2 * share * (1 - share))
