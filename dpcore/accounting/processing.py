"""What happens to a pair of neighbours when the release is processed further: it never gets easier to tell apart."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import above, real
from ..errors import InputError
from ..noise.base import Noise
from .pairs import FinitePair

Array = NDArray[np.float64]

MOST_CELLS = 20_000


def binned_pair(noise: Noise, edges: ArrayLike, *, shift: float) -> FinitePair:
    """The pair of a release of which only the interval (edges[i − 1], edges[i]] is told; the outer ones reach to ±∞."""
    edges = np.asarray(edges, dtype=float)
    return FinitePair.of(_cells(noise, edges), _cells(noise, edges - shift))


def _cells(noise: Noise, edges: Array) -> Array:
    """Probabilities of the intervals between edges: differences of P(X ≤ x) in the lower half, of P(X > x) in the upper
    one, so that nothing is lost in either tail."""
    below, beyond = noise.cdf(edges), noise.beyond(edges)
    low, high = np.diff(np.concatenate([[0.0], below, [1.0]])), -np.diff(np.concatenate([[1.0], beyond, [0.0]]))
    return np.maximum(np.where(np.append(below, 1.0) <= 0.5, low, high), 0.0)


def rounding_edges(noise: Noise, *, shift: float, step: float, low: float = -math.inf, high: float = math.inf) -> Array:
    """Where a release changes its value that is rounded to the nearest multiple of `step` after it was clamped to
    [low, high]; beyond a probability of 1e-15 on either side releases count as one.

    Raises
    ------
    InputError : low > high, or more than 20 000 cells.
    """
    step, shift = above(0, 1e300, step=step), real(shift=shift)
    if low > high:
        raise InputError("low", low, f"a number up to {high:g}")
    ends = noise.quantile(np.array([1e-15, 1 - 1e-15]))
    first = math.floor(max(float(ends[0]) + min(shift, 0.0), low) / step)
    last = math.ceil(min(float(ends[1]) + max(shift, 0.0), high) / step)
    if last - first > MOST_CELLS:
        raise InputError("step", step, f"a step so large that at most {MOST_CELLS} of them cover the noise")
    edges: Array = (np.arange(first, last, dtype=float) + 0.5) * step
    return edges[(edges >= low) & (edges < high)]
