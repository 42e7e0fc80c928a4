"""Trade-off functions: the least type II error of a test at every type I error, and what lies below them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .._validate import above, in_range, whole
from ..noise.base import Noise
from .pairs import dominating_pair

Array = NDArray[np.float64]


def guarantee_tradeoff(epsilon: float, delta: float, alphas: ArrayLike) -> Array:
    """f_(ε,δ)(α) = max(0, 1 − δ − e^ε α, e^−ε (1 − δ − α)): what (ε, δ)-DP alone promises [Awan, Thm. 3.4 and Rem.
    13.3]. Below 700 in ε."""
    alphas = np.asarray(alphas, dtype=float)
    epsilon, delta = in_range(0, 700, epsilon=epsilon), in_range(0, 1, delta=delta)
    steep, flat = 1 - delta - math.exp(epsilon) * alphas, math.exp(-epsilon) * (1 - delta - alphas)
    return np.maximum(np.maximum(steep, flat), 0.0)


def gaussian_tradeoff(mu: float, alphas: ArrayLike) -> Array:
    """G_μ(α) = Φ(Φ^−1(1 − α) − μ) [Awan, Def. 13.3]."""
    return special.ndtr(-special.ndtri(np.asarray(alphas, dtype=float)) - in_range(0, 1e300, mu=mu))


def tradeoff(noise: Noise, alphas: ArrayLike, *, sensitivity: float) -> Array:
    """The mechanism's trade-off function: the largest one below those of all shifts up to the sensitivity. For any ε it
    lies above f_(ε,δ(ε)), and touches it [Awan, Props. 13.8 and 13.9]."""
    return dominating_pair(noise, sensitivity).tradeoff(alphas)


def group_tradeoff(curve: Callable[[Array], Array], alphas: ArrayLike, *, size: int) -> Array:
    """1 − (1 − f)^∘k: what f-DP promises to groups of `size` [Awan, Thm. 13.3]."""
    accepted = np.asarray(alphas, dtype=float)
    for _ in range(whole(1, 10**4, size=size)):
        accepted = 1 - curve(np.clip(accepted, 0.0, 1.0))
    return 1 - accepted


@dataclass(frozen=True)
class GaussianGuarantee:
    """mu : the least μ for which the mechanism is μ-GDP; None if there is none.
    infinite : probability of releases that give the truth away, which no μ allows."""

    mu: float | None
    infinite: float


def gaussian_guarantee(noise: Noise, *, sensitivity: float) -> GaussianGuarantee:
    """The best μ with G_μ below the trade-off function.

    G_μ(α) > 0 for α < 1, but the trade-off function is 0 from α = 1 − δ(∞) on: with δ(∞) > 0 there is none. Gaussian
    noise: sensitivity/σ.
    """
    if (mu := noise.gaussian_mu(above(0, 1e300, sensitivity=sensitivity))) is not None:
        return GaussianGuarantee(mu, 0.0)
    found = dominating_pair(noise, sensitivity)
    if found.infinite > 0:
        return GaussianGuarantee(None, found.infinite)
    return GaussianGuarantee(found.least_mu(), 0.0)
