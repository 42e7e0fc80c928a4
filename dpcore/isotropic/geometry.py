"""Where a point lands when it is moved by s in a random direction, in floats: what the linear programs are made of.

|x + s·e|² = r² + s² + 2 r s t with (1 + t)/2 of the Beta((d − 1)/2, (d − 1)/2) law. Nothing here stands in a
certificate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .problem import Array

NODES = 12
"""Gauss nodes per shell."""

CLOSED = 3
"""Up to this dimension caps serve, whose differences keep enough digits; their edges are what quadrature is bad at."""


def beta_law(dimension: int, share: ArrayLike) -> Array:
    """P((1 + t)/2 ≤ share); for d = 1 the two ends have probability ½ each."""
    u = np.clip(np.asarray(share, dtype=float), 0.0, 1.0)
    if dimension == 1:
        halves: Array = np.where(u >= 1, 1.0, 0.5)
        return halves
    law: Array = special.betainc((dimension - 1) / 2, (dimension - 1) / 2, u)
    return law


def beyond(dimension: int, radius: ArrayLike, bound: ArrayLike, shift: float = 1.0) -> Array:
    """P(|x + s·e| > bound), |x| = radius."""
    r, b = np.broadcast_arrays(np.asarray(radius, dtype=float), np.asarray(bound, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (r + shift - b) * (r + shift + b) / (4 * r * shift)
    out: Array = np.where(b >= r + shift, 0.0, np.where(b < np.abs(r - shift), 1.0, beta_law(dimension, share)))
    return out


def _crescent(dimension: int, a: Array, b: Array) -> Array:
    """What `audit.crescent` is for shift 1 and b ≥ a."""
    half = (dimension + 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        own = special.betainc(half, half, np.clip((a + 1 - b) * (a + 1 + b) / (4 * a), 0, 1))
        other = special.betainc(half, half, np.clip((a + 1 - b) * (a + b - 1) / (4 * b), 0, 1))
        out: Array = np.where(
            (a == 0) | (b >= a + 1), 0.0, np.where(a + b <= 1, a**dimension, a**dimension * own - b**dimension * other)
        )
    return out


def shell_beyond(dimension: int, inner: Array, outer: Array, bounds: Array) -> Array:
    """P(|x + e| > bound), x uniform in a shell; elementwise, every bound at least the outer radius."""
    if dimension <= CLOSED:
        volume = outer**dimension - inner**dimension
        return np.maximum(_crescent(dimension, outer, bounds) - _crescent(dimension, inner, bounds), 0.0) / volume
    x, w = np.polynomial.legendre.leggauss(NODES)
    r = inner[:, None] + (outer - inner)[:, None] * 0.5 * (x + 1)
    weights = w * (r / outer[:, None]) ** (dimension - 1)
    weights /= weights.sum(axis=1, keepdims=True)
    mean: Array = (weights * beyond(dimension, r, bounds[:, None])).sum(axis=1)
    return mean


def log_volumes(dimension: int, edges: Array) -> Array:
    """ln of the shells' volumes in unit balls."""
    with np.errstate(divide="ignore"):
        ratio = np.log(edges[:-1]) - np.log(edges[1:])
        out: Array = dimension * np.log(edges[1:]) + np.log(-np.expm1(dimension * ratio))
    return out
