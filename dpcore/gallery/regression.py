"""Private linear regression y ≈ α + βx: noise on the sums that least squares needs, not on its coefficients.

Rows are clipped to stated bounds and mapped to [−1, 1]². Released are Σx, Σy with noise of scale 1/p and Σx², Σxy with
noise of scale 1/q; everything after is post-processing [Awan, §3.8]. Neighbours differ in one row; n is public.

How much one row can change all four sums together decides the noise. For Laplace noise it is

    s(p, q) = max p(|x − x′| + |y − y′|) + q(|x² − x′²| + |xy − x′y′|) ≤ ε.

In y and y′ this is convex, so y, y′ = ±1; with s = |x − x′| and t = |x + x′|, s + t = 2 max(|x|, |x′|) ≤ 2 and the
maximum has t = 2 − s. Equal signs give s(p + q + qt), opposite ones p(s + 2) + q(s + 1)t: the larger of two parabolas'
maxima over s ∈ [0, 2]. For p = q: 5, where the four sums' own sensitivities 2, 2, 1, 2 add up to 7. For Gaussian noise
the squares add up in the same way to s²(p² + q² + q²t²) and p²(s² + 4) + q²(s² + 1)t².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import in_range, real
from ..errors import InputError
from ..noise import Gaussian
from ..privacy import Privacy

Array = NDArray[np.float64]

SEPARATE = 7.0
"""Sum of the four sums' own ℓ1 sensitivities 2, 2, 1, 2: what adding up four separate releases pays for."""


def change_l1(p: float, q: float) -> float:
    """s(p, q): the largest p(|Δx| + |Δy|) + q(|Δx²| + |Δxy|) over two rows, rounded up."""
    same = np.polynomial.Polynomial([0.0, p + 3 * q, -q])
    opposite = np.polynomial.Polynomial([2 * p + 2 * q, p + q, -q])
    return _largest(same, opposite)


def change_l2(p: float, q: float) -> float:
    """The largest √(p²(Δx² + Δy²) + q²((Δx²)² + (Δxy)²)) over two rows, rounded up."""
    s, t = np.polynomial.Polynomial([0.0, 1.0]), np.polynomial.Polynomial([2.0, -1.0])
    same = s**2 * (p**2 + q**2 + q**2 * t**2)
    opposite = p**2 * (s**2 + 4) + q**2 * (s**2 + 1) * t**2
    return math.sqrt(_largest(same, opposite)) * (1 + 2**-50)


def _largest(*polynomials: np.polynomial.Polynomial) -> float:
    """Over s ∈ [0, 2], at an end or where the derivative vanishes. Roots come with an error, possibly with an imaginary
    part, which shows in second order only; any s within [0, 2] is safe to look at."""
    points = ((f, s) for f in polynomials for s in (0.0, 2.0, *np.clip(f.deriv().roots().real, 0.0, 2.0)))
    return max(float(f(s)) for f, s in points) * (1 + 2**-44)


@dataclass(frozen=True)
class Bounds:
    """x and y are clipped to [low, high]; chosen without looking at the data."""

    x: tuple[float, float] = (-1.0, 1.0)
    y: tuple[float, float] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        for name, (low, high) in (("x bounds", self.x), ("y bounds", self.y)):
            real(**{name: low}), real(**{name: high})
            if not low < high:
                raise InputError(name, f"[{low:g}, {high:g}]", "two numbers, the smaller one first")

    def unit(self, rows: ArrayLike) -> Array:
        """Rows (x, y), (…, n, 2), clipped and mapped to [−1, 1]²."""
        rows = np.asarray(rows, dtype=float)
        if rows.ndim < 2 or rows.shape[-1] != 2 or not rows.size or not np.isfinite(rows).all():
            raise InputError("rows", f"{rows.shape} values", "at least one row of two finite numbers")
        low, high = (np.array([self.x[i], self.y[i]]) for i in (0, 1))
        mapped: Array = np.clip((2 * np.clip(rows, low, high) - low - high) / (high - low), -1.0, 1.0)
        return mapped

    def line(self, coefficients: Array) -> Array:
        """(α, β) of lines in the data's units from those in [−1, 1]², (…, 2)."""
        alpha, beta = coefficients[..., 0], coefficients[..., 1]
        (a, b), (c, d) = self.x, self.y
        slope = beta * (d - c) / (b - a)
        return np.stack([(c + d) / 2 + alpha * (d - c) / 2 - slope * (a + b) / 2, slope], axis=-1)


@dataclass(frozen=True)
class Release:
    """Noise on the four sums. law : "laplace" or "gaussian".   first, second : scale (Laplace) or deviation (Gaussian)
    of the noise on Σx, Σy and on Σx², Σxy."""

    law: str
    privacy: Privacy
    first: float
    second: float

    @property
    def deviations(self) -> tuple[float, float]:
        """Standard deviations of the noise."""
        factor = math.sqrt(2) if self.law == "laplace" else 1.0
        return factor * self.first, factor * self.second

    def noise(self, draws: int, rng: np.random.Generator) -> Array:
        """(draws, 4) in the order Σx, Σy, Σx², Σxy."""
        scales = [self.first, self.first, self.second, self.second]
        draw = rng.laplace if self.law == "laplace" else rng.normal
        return draw(0.0, scales, (draws, 4))


def calibrate(law: str, privacy: Privacy, *, share: float = 0.5) -> Release:
    """The noise whose joint privacy is exactly `privacy`.

    share : weight of the sums of first order, p : q = share : 1 − share. Laplace noise is ε-DP and does not use δ.
    """
    share = in_range(0.05, 0.95, share=share)
    if law == "laplace":
        if privacy.epsilon == 0:
            raise InputError("epsilon", privacy.epsilon, "a positive number for Laplace noise")
        weight = privacy.epsilon / change_l1(share, 1 - share)
    elif law == "gaussian":
        weight = 1 / Gaussian.calibrate(privacy, change_l2(share, 1 - share)).sigma
    else:
        raise InputError("law", law, "laplace or gaussian")
    return Release(law, privacy, 1 / (weight * share), 1 / (weight * (1 - share)))


def separately(privacy: Privacy) -> Release:
    """Laplace noise as if the four sums were released one by one, each with its share of ε: scale 7/ε for all."""
    if privacy.epsilon == 0:
        raise InputError("epsilon", privacy.epsilon, "a positive number for Laplace noise")
    return Release("laplace", privacy, SEPARATE / privacy.epsilon, SEPARATE / privacy.epsilon)


def sums(unit: Array) -> Array:
    """(Σx, Σy, Σx², Σxy) of rows in [−1, 1]²."""
    x, y = unit[..., 0], unit[..., 1]
    return np.stack([x.sum(-1), y.sum(-1), (x * x).sum(-1), (x * y).sum(-1)], axis=-1)


def solve(released: Array, people: int, *, floor: float) -> tuple[Array, NDArray[np.bool_]]:
    """((α, β) of each release, whether its Σ(x − x̄)² had to be raised to `floor`): post-processing only.

    released : (…, 4) as `sums`, with or without noise. With noise the sum of squares can come out too small, even
    negative; the floor, which must not depend on the data, keeps the slope finite.
    """
    sx, sy, sxx, sxy = np.moveaxis(released, -1, 0)
    squares = sxx - sx * sx / people
    beta = (sxy - sx * sy / people) / np.maximum(squares, floor)
    return np.stack([(sy - beta * sx) / people, beta], axis=-1), squares < floor


def floor_of(release: Release) -> float:
    """A floor for `solve` that depends on the noise alone: two standard deviations of the noise on Σx²."""
    return 2 * release.deviations[1]


@dataclass(frozen=True)
class Line:
    """y = intercept + slope·x + normal noise of deviation sigma, x uniform on [low, high]: tables are drawn from it."""

    intercept: float
    slope: float
    sigma: float
    low: float = -1.0
    high: float = 1.0

    def rows(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Rows, (*shape, 2)."""
        x = rng.uniform(self.low, self.high, shape)
        return np.stack([x, self.intercept + self.slope * x + self.sigma * rng.standard_normal(shape)], axis=-1)

    def slope_error(self, people: int) -> float:
        """Standard error of the least squares slope, σ/√(n Var x) up to a relative 1/n."""
        return self.sigma / ((self.high - self.low) * math.sqrt(people / 12))


@dataclass(frozen=True, eq=False)
class Repeated:
    """One simulated release of each of many tables. ordinary, private : (tables,) errors of the slopes, in the data's
    units.   half : (tables,) half-widths of the textbook 95 % intervals.   raised : whether the floor was needed."""

    ordinary: Array
    private: Array
    half: Array
    raised: NDArray[np.bool_]

    @property
    def coverage(self) -> float:
        """Share of textbook intervals around private slopes that hold the truth."""
        return float(np.mean(np.abs(self.private) <= self.half))

    @property
    def stretch(self) -> float:
        """Factor by which the textbook interval has to be wider to hold the truth in 95 % of the tables."""
        return float(np.quantile(np.abs(self.private) / self.half, 0.95))

    @property
    def errors(self) -> tuple[float, float]:
        """Root mean squared errors: (ordinary, private)."""
        return _rms(self.ordinary), _rms(self.private)


def repeat(
    line: Line, people: int, releases: Sequence[Release], bounds: Bounds, *, tables: int, rng: np.random.Generator
) -> list[Repeated]:
    """Tables drawn afresh, clipped, each released once by every kind of noise.

    The textbook interval is told the true sigma and Σ(x − x̄)²; it leaves out the noise, and the clipping.
    """
    rows = line.rows((tables, people), rng)
    exact = sums(bounds.unit(rows))
    ordinary = solve(sums(rows), people, floor=1e-300)[0][:, 1] - line.slope
    half = 1.959963984540054 * line.sigma / np.sqrt(people * rows[..., 0].var(axis=1))
    found = []
    for release in releases:
        unit, raised = solve(exact + release.noise(tables, rng), people, floor=floor_of(release))
        found.append(Repeated(ordinary, bounds.line(unit)[:, 1] - line.slope, half, raised))
    return found


def _rms(errors: Array) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))
