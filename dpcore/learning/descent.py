"""Proximal coordinate descent for ℓ1-regularised logistic regression with noisy partial derivatives [SLW, §5.3].

T iterations of K updates each. An update sees the data through one sum, Σ_i −y_i x_il/(1 + e^(y_i h·x_i)), of which one
person's term lies in [−1, 1]: its sensitivity is 2 when a person is replaced. Every sum is released with noise, so the
whole is T·K releases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._validate import in_range, whole
from ..plan.public import Category
from ..vector.descent import logistic_residual, soft_threshold
from .design import scaled
from .tables import Array, LearningTable

SENSITIVITY = 2.0


@dataclass(frozen=True)
class Descent:
    """iterations : T.   regularisation : λ.   The number K of updates in an iteration is a quarter of the features,
    rounded up, as in the paper."""

    iterations: int = 100
    regularisation: float = 1e-8

    def __post_init__(self) -> None:
        object.__setattr__(self, "iterations", whole(1, 1000, iterations=self.iterations))
        object.__setattr__(self, "regularisation", in_range(0, 1e3, regularisation=self.regularisation))

    @staticmethod
    def updates(features: int) -> int:
        """K for so many features, the constant included."""
        return math.ceil(features / 4)

    def releases(self, features: int) -> int:
        """T·K."""
        return self.iterations * self.updates(features)


def features(table: LearningTable) -> Array:
    """(n, d) in [−1, 1]: a constant, every number scaled from its range, of every category of m values m − 1
    indicators as −1 and 1."""
    return features_of(table.values, table.columns)


def width(columns: tuple[object, ...]) -> int:
    """d of `features`."""
    return int(features_of(np.zeros((1, len(columns))), columns).shape[1])


def features_of(values: Array, columns: tuple[object, ...]) -> Array:
    """What `features` makes of a table, from its values, (n, columns)."""
    z = scaled(values, columns)  # type: ignore[arg-type]  # columns of numbers and categories
    parts = [np.ones((len(values), 1))]
    for at, one in enumerate(columns):
        if isinstance(one, Category):
            parts.append(2.0 * (values[:, at, None] == np.arange(1, len(one.values))) - 1)
        else:
            parts.append(z[:, at, None])
    return np.hstack(parts)


def descend(
    X: Array,
    y: Array,
    asked: Descent,
    path: np.random.Generator,
    release: Callable[[Array], Array] | None = None,
    *,
    grain: float = 0.0,
    draws: int = 1,
    stop: Callable[[], bool] = lambda: False,
) -> Array | None:
    """The coefficients after the last iteration, (draws, d); None where `stop` said so.

    X : (n, d).   y : (n,) of −1 and 1.   Starts at a random point of [−1, 1]^d and takes random subsets of the
    coordinates, both by `path` and the same for all draws; the iterate is the mean of an iteration's K points.

    release : sums, (draws,), of sensitivity `SENSITIVITY` → the same with noise; None: none.   grain : every person's
    term is rounded to multiples of it, so that the sums have no rounding of their own; 0: as it comes.
    """
    n, d = X.shape
    K = asked.updates(d)
    h = np.repeat(path.uniform(-1, 1, (1, d)), draws, axis=0)
    signed = X * y[:, None]
    ones = np.ones(n)
    for _ in range(asked.iterations):
        total = np.zeros_like(h)
        scores = h @ signed.T
        for l in path.permutation(d)[:K]:
            if stop():
                return None
            residual = logistic_residual(scores, ones)
            slope = np.rint(residual * signed[:, l] / grain).sum(axis=1) * grain if grain else residual @ signed[:, l]
            if release is not None:
                slope = release(slope)
            moved = soft_threshold(h[:, l] - slope / n, asked.regularisation)
            scores += (moved - h[:, l])[:, None] * signed[:, l]
            h[:, l] = moved
            total += h
        h = total / K
    return h
