"""Private choice of the columns of a linear model by noisy max [Awan, Examples 5.3 and 5.4; Lei et al., 2018].

A model is a set M of the d columns. With |y| ≤ r, |x_j| ≤ 1 and ‖β‖₁ ≤ R its score is

    L(M) = min Σ (y − xᵀβ)² + φ_n·|M|   over β with ‖β‖₁ ≤ R and β_j = 0 outside M,

and the model of least L(M) + 2(r + R)²/ε·Lap(1) is named. For every β one row contributes between 0 and (r + R)², so a
replaced row changes every score by at most (r + R)²: noisy max with scores −L/(r + R)², ε-DP [Awan, Prop. 5.1]. A score
falls short of the best by at most (r + R)²·(2/ε)(2 ln(2^d − 1) + 1 + 2 ln 2) on average [Awan, Prop. 5.2].

Scores are exact to rounding (a closed form for every face of the ball), probabilities as in `noisy_max`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import above, in_range
from ..errors import InputError
from . import noisy_max

Array = NDArray[np.float64]

MOST_COLUMNS = 6

COEFFICIENTS = (0.6, -0.3)
"""Coefficients of the columns that matter in `example`."""

PENALTIES = {"none": "none: φ = 0", "aic": "AIC: φ = 2", "bic": "BIC: φ = ln n"}


def penalty(kind: str, people: int) -> float:
    """φ_n."""
    if kind not in PENALTIES:
        raise InputError("penalty", kind, ", ".join(PENALTIES))
    return {"none": 0.0, "aic": 2.0, "bic": math.log(people)}[kind]


@dataclass(frozen=True, eq=False)
class Sums:
    """What the scores need of a table. people : n.   gram : Σ x xᵀ, (d, d).   moment : Σ x y, (d,).   square : Σ y²."""

    people: int
    gram: Array
    moment: Array
    square: float

    @classmethod
    def of(cls, x: ArrayLike, y: ArrayLike, *, response: float) -> Sums:
        """Sums of rows clipped to |x_j| ≤ 1 and |y| ≤ `response`.

        Raises
        ------
        InputError : shapes that do not match, numbers that are not finite, no or too many columns.
        """
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        fits = x.ndim == 2 and y.shape == x.shape[:1] and len(y) and 1 <= x.shape[1] <= MOST_COLUMNS
        if not fits or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InputError("x", f"{x.shape} values", f"one row of 1 to {MOST_COLUMNS} finite numbers for every y")
        rows, answers = np.clip(x, -1, 1), np.clip(y, -above(0, 1e6, response=response), response)
        return cls(len(answers), rows.T @ rows, rows.T @ answers, float(answers @ answers))

    @property
    def columns(self) -> int:
        return len(self.moment)

    def residual(self, beta: Array) -> Array:
        """Σ (y − xᵀβ)² for every row β of (B, d)."""
        squares = ((beta @ self.gram) * beta).sum(axis=-1)
        left: Array = np.maximum(self.square - 2 * beta @ self.moment + squares, 0.0)
        return left


@dataclass(frozen=True, eq=False)
class Choice:
    """A table's scores and their noise.

    response : r.   radius : R.   penalty : φ_n.
    """

    sums: Sums
    response: float
    radius: float
    penalty: float

    def __post_init__(self) -> None:
        above(0, 1e6, response=self.response)
        above(0, 1e6, radius=self.radius)
        in_range(0, 1e6, penalty=self.penalty)

    @property
    def sensitivity(self) -> float:
        """(r + R)², of every score, for one replaced row."""
        return (self.response + self.radius) ** 2

    @cached_property
    def models(self) -> tuple[tuple[int, ...], ...]:
        """All 2^d sets of columns, the smaller first."""
        return models(self.sums.columns)

    @cached_property
    def scores(self) -> Array:
        """L(M) of every model."""
        sizes = np.array([len(model) for model in self.models])
        return fits(self.sums, self.radius) + self.penalty * sizes

    def probabilities(self, epsilon: float) -> Array:
        """Probability that each model is named, to about 1e-12."""
        return noisy_max.probabilities(self._groups, epsilon, "laplace")

    @cached_property
    def excess(self) -> Array:
        """By how much every model's score is above the least one."""
        above_least: Array = self.scores - self.scores.min()
        return above_least

    def gap_bound(self, epsilon: float) -> float:
        """The bound of [Awan, Prop. 5.2] on the mean excess of the named model: of order d(r + R)²/ε, for any table."""
        return self.sensitivity * noisy_max.gap_bound(2**self.sums.columns, epsilon)

    def scale(self, epsilon: float) -> float:
        """Scale of the Laplace noise: 2(r + R)²/ε."""
        return 2 * self.sensitivity / above(0, 1e6, epsilon=epsilon)

    @property
    def _groups(self) -> list[tuple[float, int]]:
        return [(-float(score) / self.sensitivity, 1) for score in self.scores]


def models(columns: int) -> tuple[tuple[int, ...], ...]:
    """All sets of so many columns, the smaller first."""
    return tuple(one for size in range(columns + 1) for one in itertools.combinations(range(columns), size))


def fits(sums: Sums, radius: float) -> Array:
    """min Σ (y − xᵀβ)² of every model over ‖β‖₁ ≤ R, in the order of `models`.

    The minimum lies inside the ball, where the gradient on the support vanishes, or inside a face of it, that of the
    β with given signs and s·β = R, where it is a multiple of s. All those points that lie in the ball are tried
    (3^d of them); a model's minimum is the least of its subsets'. Where equations are singular, the minimum is
    attained on a smaller support as well.
    """
    every = models(sums.columns)
    place = {model: number for number, model in enumerate(every)}
    least = np.array([_on_support(sums, model, radius) for model in every])
    for number, model in enumerate(every):  # subsets come first
        smaller = (place[tuple(one for one in model if one != gone)] for gone in model)
        least[number] = min([least[number], *(least[other] for other in smaller)])
    return least


def _on_support(sums: Sums, support: tuple[int, ...], radius: float) -> float:
    """The least sum of squares among the points described at `fits`, for one support; ∞ if none lies in the ball."""
    size = len(support)
    if not size:
        return sums.square
    gram, moment = sums.gram[np.ix_(support, support)], sums.moment[list(support)]
    part = Sums(sums.people, gram, moment, sums.square)
    inverse = np.linalg.pinv(gram, hermitian=True)
    free = inverse @ moment
    if np.abs(free).sum() <= radius:
        return float(part.residual(free[None])[0])
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=size)))
    pull = signs @ inverse
    reach = (pull * signs).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        beta = free + ((radius - signs @ free) / reach)[:, None] * pull
    length = np.abs(beta).sum(axis=1)
    inside = (reach > 0) & (length <= radius * (1 + 1e-9))
    if not inside.any():
        return math.inf
    beta = beta[inside] / np.maximum(length[inside, None] / radius, 1.0)
    return float(part.residual(beta).min())


def example(people: int, columns: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """A table to show: x uniform on [−1, 1]^d, y = 0.6 x₁ − 0.3 x₂ + noise of deviation 0.2, cut to [−1, 1]."""
    x = rng.uniform(-1, 1, (people, columns))
    truth = np.pad(COEFFICIENTS, (0, MOST_COLUMNS - len(COEFFICIENTS)))[:columns]
    return x, np.clip(x @ truth + 0.2 * rng.standard_normal(people), -1, 1)
