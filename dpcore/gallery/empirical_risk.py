"""Three private minimisers of one empirical risk, with exact laws: logistic regression with one coefficient θ.

Rows are s = y·x in [−1, 1] (label times feature); L(θ) = Σ ln(1 + e^(−s_i θ)) on |θ| ≤ B. Neighbours differ in one row.

* Exponential mechanism [Awan, §7.4, Thm. 7.10]: density ∝ exp(−ε/(2Δ)·L(θ)). At θ the losses of two rows differ by at
  most ln(1 + e^|θ|) − ln(1 + e^−|θ|) = |θ|, so Δ = B exactly.
* K-norm gradient mechanism [Awan, Thm. 7.11]: density ∝ exp(−ε/(2Δ′)·|L′(θ)|), Δ′ = `gradient_sensitivity(B)`.
* Objective perturbation [Awan, Thm. 6.1]: θ̃ solves L′(θ) + γθ + V = 0 with V of density ∝ exp(−(ε_V/Δ′)|v|), so
  P(θ̃ ≤ t) = P(V ≥ −(L′(t) + γt)); θ̃ is cut off at ±B afterwards, which leaves two point masses there.

Masses and mean errors are Gauss sums over cells that shrink towards every kink, L and its derivatives Chebyshev sums:
both to about 1e-9 relative.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from .._validate import in_range
from ..errors import InputError
from ..privacy import EPSILON_RANGE
from .objective_perturbation import Split, Table, split

Array = NDArray[np.float64]
Function = Callable[[ArrayLike], Array]

BOUND_RANGE = (0.5, 10.0)
DEGREE = 256
"""Degree of the Chebyshev sums: the poles of L′ nearest to the real axis are ±πi, so for B = 10 they err by e^(−78)."""

PEAK = float(special.lambertw(math.exp(-1)).real)
"""max u/(1 + e^u) = W(1/e), at u = 1 + W(1/e)."""


def gradient_sensitivity(bound: float) -> float:
    """Δ′: the largest difference of two rows' derivatives −s/(1 + e^(sθ)) over |θ| ≤ bound, which may be ∞.

    One row is s = −1 with derivative σ(θ), θ ≥ 0. The other has s = 1, together 1, or, for θ > 1 + W(1/e), the s with
    sθ = 1 + W(1/e): together σ(θ) + W(1/e)/θ, which rises until σ(θ)σ(−θ)θ² = W(1/e) a second time, and falls then.
    """
    highest = optimize.brentq(lambda t: special.expit(t) * special.expit(-t) * t * t - PEAK, 2.5, 8.0)
    theta = min(bound, highest)
    return 1.0 if theta <= 1 + PEAK else float(special.expit(theta) + PEAK / theta)


def limit_deviation(epsilon: float, bound: float, curvature: float) -> float:
    """Standard deviation of the exponential mechanism's limit law, √(2Δ/(ε L″)) with Δ = B [Awan, Thm. 7.10]."""
    return math.sqrt(2 * bound / (epsilon * curvature))


@dataclass(frozen=True, eq=False)
class Risk:
    """L of a table with one feature, on |θ| ≤ bound."""

    table: Table
    bound: float

    def __post_init__(self) -> None:
        in_range(*BOUND_RANGE, bound=self.bound)
        if self.table.features.shape[1] != 1:
            raise InputError("features", f"{self.table.features.shape[1]} columns", "one column")

    @cached_property
    def loss(self) -> Function:
        """L."""
        return self._sum(lambda s, theta: np.logaddexp(0.0, -theta * s))

    @cached_property
    def slope(self) -> Function:
        """L′."""
        return self._sum(lambda s, theta: -s * special.expit(-theta * s))

    @cached_property
    def curvature(self) -> Function:
        """L″."""
        return self._sum(lambda s, theta: s * s * special.expit(-theta * s) * special.expit(theta * s))

    def _sum(self, term: Callable[[Array, Array], Array]) -> Function:
        """θ → Σ term(s_i, θ), elementwise."""
        rows = self.table.signed[:, 0]
        total: Callable[[Any], Any] = lambda u: term(rows, self.bound * np.asarray(u)[:, None]).sum(axis=1)  # noqa: E731
        series = chebyshev.chebinterpolate(total, DEGREE)
        return lambda theta: np.asarray(
            chebyshev.chebval(np.asarray(theta, dtype=float) / self.bound, series), dtype=np.float64
        )

    @cached_property
    def minimiser(self) -> float:
        """θ̂ over [−B, B], without privacy."""
        return self.root(0.0)

    def root(self, ridge: float) -> float:
        """The minimiser of L + (γ/2)θ² over [−B, B]."""
        slope: Callable[[float], float] = lambda t: float(self.slope(t)) + ridge * t  # noqa: E731
        if slope(-self.bound) >= 0:
            return -self.bound
        if slope(self.bound) <= 0:
            return self.bound
        return float(optimize.brentq(slope, -self.bound, self.bound, xtol=1e-14))

    @cached_property
    def cells(self) -> tuple[Array, Array]:
        """(places, weights) of Gauss rules with an end at θ̂."""
        return graded(np.unique([-self.bound, self.minimiser, self.bound]))

    @cached_property
    def _excess(self) -> tuple[Function, Array]:
        """L − L(θ̂), and its values at the cells."""
        score: Function = lambda theta: self.loss(theta) - self.loss(self.minimiser)  # noqa: E731
        return score, score(self.cells[0])

    @cached_property
    def _steepness(self) -> tuple[Function, Array]:
        """|L′| − |L′(θ̂)|, and its values at the cells."""
        score: Function = lambda theta: np.abs(self.slope(theta)) - np.abs(self.slope(self.minimiser))  # noqa: E731
        return score, score(self.cells[0])

    def exponential(self, epsilon: float) -> Density:
        """The exponential mechanism's law."""
        return Density(self, in_range(*EPSILON_RANGE, epsilon=epsilon) / (2 * self.bound), *self._excess)

    def norm_gradient(self, epsilon: float) -> Density:
        """The K-norm gradient mechanism's law."""
        rate = in_range(*EPSILON_RANGE, epsilon=epsilon) / (2 * gradient_sensitivity(self.bound))
        return Density(self, rate, *self._steepness)

    def perturbed(self, epsilon: float, *, share: float = 0.5) -> Perturbed:
        """Objective perturbation's law, with the share q of ε for the noise, cut off at ±B."""
        return Perturbed(self, split(epsilon, share=share))


class Law(ABC):
    """The law of a released θ in [−B, B]."""

    risk: Risk

    @abstractmethod
    def log_density(self, theta: ArrayLike) -> Array:
        """ln p(θ) for |θ| < B."""

    @abstractmethod
    def mean_error(self) -> float:
        """E|θ̃ − θ̂|."""


@dataclass(frozen=True, eq=False)
class Density(Law):
    """Density ∝ exp(−rate·score(θ)), smooth but for a kink at θ̂ where the score is 0.

    at_cells : the score at the places of the risk's cells.
    """

    risk: Risk
    rate: float
    score: Function
    at_cells: Array

    @cached_property
    def _masses(self) -> Array:
        """Weights times the unnormalised density at the places of the cells."""
        return self.risk.cells[1] * np.exp(-self.rate * self.at_cells)

    def log_density(self, theta: ArrayLike) -> Array:
        value: Array = -self.rate * self.score(theta) - math.log(self._masses.sum())
        return value

    def mean_error(self) -> float:
        return float(np.abs(self.risk.cells[0] - self.risk.minimiser) @ self._masses / self._masses.sum())


@dataclass(frozen=True, eq=False)
class Perturbed(Law):
    """Objective perturbation, cut off at ±B."""

    risk: Risk
    spent: Split

    @property
    def rate(self) -> float:
        """ε_V/Δ′. Before it is cut off θ̃ is unbounded, so Δ′ is the largest over all θ."""
        return self.spent.noise / gradient_sensitivity(math.inf)

    def _hidden(self, theta: ArrayLike) -> Array:
        """−V for which θ is released."""
        value: Array = self.risk.slope(theta) + self.spent.ridge * np.asarray(theta, dtype=float)
        return value

    def log_density(self, theta: ArrayLike) -> Array:
        rise = self.risk.curvature(theta) + self.spent.ridge
        value: Array = np.log(self.rate / 2 * rise) - self.rate * np.abs(self._hidden(theta))
        return value

    def below(self, theta: ArrayLike) -> Array:
        """P(θ̃ ≤ θ) for |θ| < B."""
        return _laplace(self.rate * self._hidden(theta))

    def above(self, theta: ArrayLike) -> Array:
        """P(θ̃ > θ) for |θ| < B."""
        return _laplace(-self.rate * self._hidden(theta))

    @property
    def cut_off(self) -> float:
        """Probability of ±B."""
        return float(self.below(-self.risk.bound) + self.above(self.risk.bound))

    def mean_error(self) -> float:
        """∫ P(θ̃ ≤ t) dt up to θ̂ + ∫ P(θ̃ > t) dt from there."""
        bound, best = self.risk.bound, self.risk.minimiser
        at, weights = graded(np.unique([-bound, best, self.risk.root(self.spent.ridge), bound]))
        return float(weights @ np.where(at < best, self.below(at), self.above(at)))


def _laplace(x: Array) -> Array:
    """P(X ≤ x) of the standard Laplace law."""
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, tail, 1 - tail)


NODES = np.polynomial.legendre.leggauss(16)
HALVINGS = 16


def graded(ends: Array) -> tuple[Array, Array]:
    """(places, weights) of Gauss rules on cells that halve towards each of the ends, rising, from both sides."""
    shrinking = 0.5 ** np.arange(1, HALVINGS + 2)
    inner = np.concatenate([[0.0], shrinking[::-1], 1 - shrinking[1:], [1.0]])
    edges = np.unique(np.concatenate([a + (b - a) * inner for a, b in zip(ends, ends[1:])]))
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1] + edges[1:])[:, None] / 2
    return (middle + half * NODES[0]).ravel(), (half * NODES[1]).ravel()


def example(people: int, rng: np.random.Generator, *, truth: float = 2.0) -> Table:
    """A table to show: x uniform on [−1, 1], y drawn by a logistic model."""
    x = rng.uniform(-1, 1, people)
    return Table.clipped(x[:, None], np.where(rng.random(people) < special.expit(truth * x), 1.0, -1.0))
