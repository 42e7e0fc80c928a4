"""The K-norm gradient mechanism beside the exponential mechanism, for parameters that minimise a sum of losses.

Exponential mechanism: density ∝ exp(−ε/(2Δ)·Σ ℓ(θ, x_i)), Δ the sensitivity of the loss [Awan, §7.4]. Near the minimum
the sum is a parabola, so the error is of order √(1/(nε)), like sampling error itself. K-norm gradient mechanism:
density ∝ exp(−ε/(2Δ′)·|Σ ℓ′(θ, x_i)|), Δ′ the sensitivity of the gradient [Awan, Thm. 7.11; Reimherr and Awan, 2019]:
the exponent has a kink at the minimum and the error is of order 1/(nε). In one dimension every norm is |·|.

Neighbours differ in one row; n is public. Data are clipped to the stated bounds first, so that the sensitivities hold.
Both densities are exact, with respect to the uniform law on the stated interval.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .._validate import in_range, whole
from ..errors import InputError
from ..privacy import EPSILON_RANGE
from .densities import LogLinear, TruncatedNormal

Array = NDArray[np.float64]
Law = LogLinear | TruncatedNormal


class Target(ABC):
    """What is estimated: a minimiser θ over [low, high] of a sum of convex losses, one per row."""

    low: float
    high: float

    @property
    @abstractmethod
    def loss_sensitivity(self) -> float:
        """Δ: the largest |ℓ(θ, x) − ℓ(θ, x′)| over θ and two rows."""

    @property
    @abstractmethod
    def gradient_sensitivity(self) -> float:
        """Δ′: the largest |ℓ′(θ, x) − ℓ′(θ, x′)| over θ and two rows."""

    @abstractmethod
    def clip(self, rows: ArrayLike) -> Array:
        """The rows within their bounds.

        Raises
        ------
        InputError : no rows, or something that is no number.
        """

    @abstractmethod
    def loss(self, theta: ArrayLike, rows: Array) -> Array:
        """Σ ℓ(θ, x_i), elementwise in θ."""

    @abstractmethod
    def gradient(self, theta: ArrayLike, rows: Array) -> Array:
        """Σ ℓ′(θ, x_i), elementwise in θ (almost everywhere)."""

    @abstractmethod
    def estimate(self, rows: Array) -> float:
        """The minimiser without privacy; the middle of them where there are several."""

    @abstractmethod
    def norm_gradient(self, rows: Array, epsilon: float) -> Law:
        """The K-norm gradient mechanism's law, ε-DP."""

    @abstractmethod
    def exponential(self, rows: Array, epsilon: float) -> Law:
        """The exponential mechanism's law, ε-DP."""


@dataclass(frozen=True)
class Mean(Target):
    """The mean of numbers in [0, 1]: ℓ = (x − θ)². Loss sensitivity 1, gradient sensitivity 2."""

    low, high = 0.0, 1.0
    loss_sensitivity = 1.0
    gradient_sensitivity = 2.0

    def clip(self, rows: ArrayLike) -> Array:
        return np.clip(_numbers(rows, 1), 0.0, 1.0)

    def loss(self, theta: ArrayLike, rows: Array) -> Array:
        total: Array = ((rows - np.asarray(theta, dtype=float)[..., None]) ** 2).sum(axis=-1)
        return total

    def gradient(self, theta: ArrayLike, rows: Array) -> Array:
        slope: Array = 2 * (np.asarray(theta, dtype=float)[..., None] - rows).sum(axis=-1)
        return slope

    def estimate(self, rows: Array) -> float:
        return float(rows.mean())

    def norm_gradient(self, rows: Array, epsilon: float) -> LogLinear:
        """exp(−(ε/2)·n|θ − x̄|): Laplace of scale 2/(nε) cut to [0, 1]."""
        return _peak(self, self.estimate(rows), _epsilon(epsilon) * 2 * len(rows) / (2 * self.gradient_sensitivity))

    def exponential(self, rows: Array, epsilon: float) -> TruncatedNormal:
        """exp(−(ε/2)·n(θ − x̄)²): normal of variance 1/(nε) cut to [0, 1]."""
        sigma = (_epsilon(epsilon) * len(rows) / self.loss_sensitivity) ** -0.5
        return TruncatedNormal(self.estimate(rows), sigma, self.low, self.high)


@dataclass(frozen=True)
class Quantile(Target):
    """The τ-quantile of numbers in [0, 1]: pinball loss. Loss sensitivity max(τ, 1 − τ), gradient sensitivity 1.

    The K-norm gradient law is the rank-based private quantile: its exponent counts rows between θ and the quantile.
    """

    tau: float = 0.5

    low, high = 0.0, 1.0
    gradient_sensitivity = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", in_range(0.01, 0.99, tau=self.tau))

    @property
    def loss_sensitivity(self) -> float:
        return max(self.tau, 1 - self.tau)

    def clip(self, rows: ArrayLike) -> Array:
        return np.sort(np.clip(_numbers(rows, 1), 0.0, 1.0))

    def loss(self, theta: ArrayLike, rows: Array) -> Array:
        theta, rows = np.asarray(theta, dtype=float), np.sort(rows)
        rank, sums = np.searchsorted(rows, theta, side="right"), np.append(0.0, np.cumsum(rows))
        behind, ahead = rank * theta - sums[rank], sums[-1] - sums[rank] - (len(rows) - rank) * theta
        total: Array = (1 - self.tau) * behind + self.tau * ahead
        return total

    def gradient(self, theta: ArrayLike, rows: Array) -> Array:
        below = np.searchsorted(np.sort(rows), np.asarray(theta, dtype=float), side="right")
        return below.astype(np.float64) - self.tau * len(rows)

    def estimate(self, rows: Array) -> float:
        """The middle of all θ with gradient from ≤ 0 to ≥ 0."""
        rank = self.tau * len(rows)
        nearest = round(rank)
        if abs(rank - nearest) < 1e-9 and 0 < nearest < len(rows):
            return 0.5 * float(rows[nearest - 1] + rows[nearest])
        return float(rows[min(int(rank), len(rows) - 1)])

    def norm_gradient(self, rows: Array, epsilon: float) -> LogLinear:
        """exp(−(ε/2)·|#{x_i ≤ θ} − nτ|): constant between neighbouring rows."""
        knots, counts = self._cells(rows)
        height = -_epsilon(epsilon) / (2 * self.gradient_sensitivity) * np.abs(counts - self.tau * len(rows))
        return LogLinear(knots, height, height)

    def exponential(self, rows: Array, epsilon: float) -> LogLinear:
        """exp(−ε/(2 max(τ, 1 − τ))·Σ pinball): log-linear between neighbouring rows."""
        knots, counts = self._cells(rows)
        slopes = counts - self.tau * len(rows)
        values = np.concatenate([[0.0], np.cumsum(slopes * np.diff(knots))])  # the loss up to a constant
        height = -_epsilon(epsilon) / (2 * self.loss_sensitivity) * (values - values.min())
        return LogLinear(knots, height[:-1], height[1:])

    def _cells(self, rows: Array) -> tuple[Array, NDArray[np.intp]]:
        """(ends of the intervals between rows, number of rows at or below each interval)."""
        knots = np.unique(np.concatenate([[self.low], rows, [self.high]]))
        return knots, np.searchsorted(rows, knots[:-1], side="right")


@dataclass(frozen=True)
class Slope(Target):
    """The slope θ ∈ [−B, B] of y ≈ θx for x, y ∈ [−1, 1]: ℓ = (y − θx)² [Awan, Ex. 7.6 and 7.7 with d = 1].

    Loss sensitivity (1 + B)². Gradient sensitivity: −2(yx − θx²) has, over rows, the range 2(1 + |θ| + r), where
    r = 1/(4|θ|) for |θ| ≥ ½ (at x = 1/(2|θ|)) and 1 − |θ| below; so 2(1 + B + 1/(4B)) for B ≥ ½, else 4. (The
    example's bound is 4(1 + B).)
    """

    bound: float = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", in_range(0.1, 100, bound=self.bound))

    @property
    def low(self) -> float:  # type: ignore[override]  # read only, like a field of a frozen class
        return -self.bound

    @property
    def high(self) -> float:  # type: ignore[override]  # read only, like a field of a frozen class
        return self.bound

    @property
    def loss_sensitivity(self) -> float:
        return (1 + self.bound) ** 2

    @property
    def gradient_sensitivity(self) -> float:
        return 2 * (1 + self.bound + 1 / (4 * self.bound)) if self.bound >= 0.5 else 4.0

    def clip(self, rows: ArrayLike) -> Array:
        return np.clip(_numbers(rows, 2), -1.0, 1.0)

    def loss(self, theta: ArrayLike, rows: Array) -> Array:
        x, y = rows.T
        total: Array = ((y - np.asarray(theta, dtype=float)[..., None] * x) ** 2).sum(axis=-1)
        return total

    def gradient(self, theta: ArrayLike, rows: Array) -> Array:
        x, y = rows.T
        slope: Array = 2 * ((np.asarray(theta, dtype=float)[..., None] * x - y) * x).sum(axis=-1)
        return slope

    def estimate(self, rows: Array) -> float:
        square, product = _products(rows)
        return min(max(product / square, self.low), self.high) if square > 0 else 0.0

    def norm_gradient(self, rows: Array, epsilon: float) -> LogLinear:
        """exp(−ε/(2Δ′)·2|Σxy − θΣx²|): a peak at the unrestricted least squares slope, wherever that is."""
        square, product = _products(rows)
        rate = _epsilon(epsilon) / self.gradient_sensitivity
        ends = np.array([self.low, self.high])
        knots = np.unique([*ends, self.estimate(rows)])
        height = -rate * np.abs(product - knots * square)
        return LogLinear(knots, height[:-1], height[1:])

    def exponential(self, rows: Array, epsilon: float) -> Law:
        """exp(−ε/(2(1 + B)²)·Σ(y − θx)²): normal around the least squares slope, cut to [−B, B]."""
        square, product = _products(rows)
        if square < 1e-12:  # all x are 0: the loss does not depend on θ
            return LogLinear(np.array([self.low, self.high]), np.zeros(1), np.zeros(1))
        sigma = (_epsilon(epsilon) * square / self.loss_sensitivity) ** -0.5
        return TruncatedNormal(product / square, sigma, self.low, self.high)


def _products(rows: Array) -> tuple[float, float]:
    """(Σx², Σxy)."""
    x, y = rows.T
    return float(x @ x), float(x @ y)


def _peak(target: Target, centre: float, rate: float) -> LogLinear:
    """exp(−rate·|θ − centre|) on the target's interval, which holds the centre."""
    knots = np.unique([target.low, centre, target.high])
    height = -rate * np.abs(knots - centre)
    return LogLinear(knots, height[:-1], height[1:])


def _epsilon(value: float) -> float:
    return in_range(*EPSILON_RANGE, epsilon=value)


def _numbers(rows: ArrayLike, columns: int) -> Array:
    form = "at least one row of numbers" if columns == 1 else f"at least one row of {columns} numbers"
    try:
        found = np.asarray(rows, dtype=float)
    except (TypeError, ValueError):
        raise InputError("rows", "something that is no number", form) from None
    shaped = found.ndim == columns and found.size > 0 and (columns == 1 or found.shape[1] == columns)
    if not shaped or not np.isfinite(found).all():
        raise InputError("rows", f"{found.shape} values", form)
    return found


def evenly_spread(people: int) -> Array:
    """n numbers in [0, 1] without randomness: the quantiles at (i − ½)/n of the law with density 12 x(1 − x)², a skewed
    hump. For curves against n that show the mechanism and no sampling."""
    return special.betaincinv(2.0, 3.0, _levels(people))


def evenly_sloped(people: int) -> Array:
    """n points around y = 0.7 x without randomness: x evenly on [−1, 1], residuals the quantiles of a normal law with
    deviation 0.2 in an order that has nothing to do with x (multiples of the golden section)."""
    x = 2 * _levels(people) - 1
    shuffled = np.argsort(np.argsort(np.arange(people) * 0.6180339887498949 % 1.0))
    return np.column_stack([x, 0.7 * x + 0.2 * special.ndtri(_levels(people))[shuffled]])


def _levels(people: int) -> Array:
    people = whole(1, 10**6, people=people)
    return (np.arange(people) + 0.5) / people
