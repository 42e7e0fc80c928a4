"""What of a law is worth drawing: a window on the axis and the outline of its density inside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .base import Array, Noise
from .piecewise import PiecewiseNoise

POINTS = 1201
"""Places at which a smooth density is drawn."""


def window(laws: Sequence[Noise]) -> tuple[float, float]:
    """The part of the axis worth drawing: the first law nearly whole, the others as far as they matter."""
    reach = [noise.interval(0.995) for noise in laws]
    low, high = reach[0]
    width = max(high - low, 1e-12)
    if width <= 1e-12:
        low, high = min(r[0] for r in reach), max(r[1] for r in reach)
        width = max(high - low, 1e-9)
    for other_low, other_high in reach[1:]:
        low, high = min(low, max(other_low, low - 0.8 * width)), max(high, min(other_high, high + 0.8 * width))
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def curve(noise: Noise, low: float, high: float, points: int = POINTS) -> tuple[Array, Array]:
    """(x, density) of the continuous part inside a window: exact steps where the law is piecewise constant, else at so
    many places."""
    if isinstance(noise, PiecewiseNoise):
        heights = noise.masses / np.diff(noise.edges)
        x = np.repeat(noise.edges, 2)
        y = np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
        inside = (x >= low) & (x <= high)
        return x[inside], y[inside]
    x = np.union1d(np.linspace(low, high, points), [0.0] if low < 0 < high else [])
    return x, noise.density(x)
