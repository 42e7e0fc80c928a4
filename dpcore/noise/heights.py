"""Densities that are constant on cells: (edges, probabilities) as floats, for looking and for moments."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import Array

Ints = NDArray[np.int64]


def density(edges: Array | Ints, masses: Array, x: ArrayLike) -> Array:
    """At x; 0 beyond the cells."""
    heights = np.concatenate([[0.0], masses / np.diff(edges), [0.0]])
    found: Array = heights[np.searchsorted(edges, np.asarray(x, dtype=float), side="right")]
    return found


def moment(edges: Array, masses: Array, power: float, lo: float, hi: float) -> float:
    """∫_lo^hi |x|^power density(x) dx, exact up to rounding; the interval does not straddle 0."""
    a, b, q = np.clip(edges[:-1], lo, hi), np.clip(edges[1:], lo, hi), power + 1
    parts = np.sign(b) * np.abs(b) ** q / q - np.sign(a) * np.abs(a) ** q / q
    return math.fsum(masses / np.diff(edges) * np.where(b > a, parts, 0.0))
