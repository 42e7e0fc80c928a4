"""Rényi divergences of one mechanism, zero-concentrated DP, and where they disagree with testing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .._validate import above
from ..errors import InputError
from ..noise.base import Noise
from .pairs import FinitePair, Pair, dominating_pair

Array = NDArray[np.float64]


def renyi_curve(noise: Noise, orders: ArrayLike, *, sensitivity: float) -> Array:
    """The largest D_α(P‖Q) over all shifts up to the sensitivity, at orders α ≥ 1 [Awan, Def. 12.2].

    Rényi divergences do not grow under post-processing, so that of a dominating pair is the largest; ∞ at every order
    if some release is impossible for the neighbour.
    """
    orders = np.asarray(orders, dtype=float)
    if not (orders >= 1).all():
        raise InputError("orders", orders.tolist(), "numbers from 1 on")
    return dominating_pair(noise, sensitivity).renyi(orders)


@dataclass(frozen=True)
class ZeroConcentrated:
    """rho : least ρ of ρ-zCDP, rounded up; ∞ if there is none.
    infinite : probability of releases of infinite privacy loss, the reason why."""

    rho: float
    infinite: float


def zero_concentrated(noise: Noise, *, sensitivity: float) -> ZeroConcentrated:
    """The least ρ with D_α ≤ ρα at every α > 1 [Bun and Steinke 2016; Awan, Cor. 13.1]: D²/(2σ²) for Gaussian noise,
    ∞ for every law of bounded support or with an atom."""
    found = dominating_pair(noise, sensitivity)
    if found.infinite > 0:
        return ZeroConcentrated(math.inf, found.infinite)
    if (mu := noise.gaussian_mu(sensitivity)) is not None:
        return ZeroConcentrated(0.5 * mu**2 * (1 + 1e-15), 0.0)
    return ZeroConcentrated(_slope_upper(found), 0.0)


def _slope_upper(pair: Pair, *, accuracy: float = 1e-9) -> float:
    """sup over α > 1 of D_α/α of a pair with bounded losses, rounded up.

    K(s) = s·D_(1+s) is convex with K(0) = 0, so between two points it lies below its chord k₀ + k₁s, k₀ ≤ 0, and
    D_α/α = K/(s + s²) below the chord's, which is largest at s = (−k₀ + √(k₀² − k₀k₁))/k₁. Beyond s with
    L_max/(1 + s) < the best value found nothing is larger.
    """
    largest = pair.largest
    s = np.append(0.0, np.geomspace(1e-9, 1e9, 400))
    for _ in range(40):
        values = pair.renyi(1 + s)
        best = float((values / (1 + s)).max())
        K = s * values
        k1 = np.diff(K) / np.diff(s)
        k0 = np.minimum(K[1:] - k1 * s[1:], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            top = np.clip(np.nan_to_num((np.sqrt(k0 * k0 - k0 * k1) - k0) / k1), s[:-1], s[1:])
            bound = np.where(s[:-1] > 0, (k0 + k1 * top) / (top + top * top), values[1:])
        bound = np.minimum(bound, largest / (1 + s[:-1]))
        upper = float(bound.max())
        if upper <= best * (1 + accuracy):
            break
        split = bound > best * (1 + 0.5 * accuracy)
        s = np.union1d(s, 0.5 * (s[:-1] + s[1:])[split])
    return upper * (1 + 1e-12)


def disagreement(epsilon: float) -> tuple[FinitePair, float, float]:
    """(randomized response at ε, its total variation, that of N(0, 1) against N(ε, 1)) [Awan, Prop. 13.7]: at every
    order the Rényi divergence of randomized response is the smaller one (at most αε²/2), and yet up to ε = 4.8 it is
    the easier one to tell apart.

    So no number of Rényi divergences decides which of two mechanisms is the more private one.
    """
    epsilon = above(0, 100, epsilon=epsilon)
    truth = special.expit(np.array([epsilon, -epsilon]))
    pair = FinitePair.of(truth, truth[::-1], [epsilon, -epsilon])
    return pair, math.tanh(epsilon / 2), float(special.erf(epsilon / (2 * math.sqrt(2))))
