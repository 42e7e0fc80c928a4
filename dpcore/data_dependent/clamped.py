"""Data-independent noise whose releases are clamped to the query range: free of charge for privacy, and never worse."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..exact import release
from ..loss import UNIT, Loss
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from .costs import slope_range
from .problem import DataDependentProblem

Array = NDArray[np.float64]

STRETCHES = 2000
"""Stretches of the range on which the average loss is bounded by middle values and slopes."""


@dataclass(frozen=True, eq=False)
class ClampedNoise:
    """release = true value + noise, moved to the nearer end of the range if it lies outside."""

    noise: Noise
    query_range: tuple[float, float]

    @property
    def name(self) -> str:
        return f"{self.noise.name}, clamped to the range"

    @property
    def parameters(self) -> dict[str, float]:
        return self.noise.parameters

    def release(self, value: float) -> float:
        """One exact private release; values outside the range count as its nearer end.

        Raises
        ------
        InputError : the noise has no exact sampler.
        """
        low, high = self.query_range
        released, _ = release(self.noise, min(max(float(value), low), high))
        return min(max(released, low), high)

    def expected_loss(self, loss: Loss, values: ArrayLike) -> Array:
        """E c(release − f) for true values f in the range; in floating point, for drawings and tests."""
        low, high = self.query_range
        out = []
        for f in np.atleast_1d(np.asarray(values, dtype=float)).tolist():
            left, right = low - f, high - f
            inside = [mass * float(loss.value(min(max(x, left), right))) for x, mass in self.noise.atoms]
            for piece in loss.pieces:
                a, b = max(piece.lo, left), min(piece.hi, right)
                if a < b:
                    inside.append(piece.at_zero * self.noise.partial_moment(0.0, a, b))
                    inside.append(piece.coefficient * self.noise.partial_moment(piece.power, a, b))
            atoms = [(x, mass) for x, mass in self.noise.atoms]
            below = float(self.noise.cdf(left)) - sum(m for x, m in atoms if x <= left)
            beyond = 1 - float(self.noise.cdf(right)) - sum(m for x, m in atoms if x > right)
            ends = below * float(loss.value(left)) + beyond * float(loss.value(right))
            out.append(math.fsum(inside) + ends)
        return np.array(out)


def clamped_loss_upper(noise: PiecewiseNoise, problem: DataDependentProblem) -> float:
    """An upper bound of the average loss of the clamped noise.

    A draw x > 0 costs c(min(x, s)) at a true value s below the high end; averaged over s with the weight that is
    G(x) = c(x) A(x) + B(x), A(x) = ∫_{s > x} w, B(x) = ∫_{s < x} w c. G grows, with slope c′(x) A(x). On a
    stretch of length h where the noise has constant density the mean of G is at most its middle value plus h/8 times
    the difference of its extreme slopes; where c jumps, at most its value at the right end. Draws x < 0 likewise.
    """
    total = 0.0
    for sign in (1, -1):
        total += _side_upper(noise, problem, sign)
    centre = sum(mass * float(problem.loss.value(0.0)) for x, mass in noise.atoms if x == 0)
    top = float(problem.loss.value(np.array(problem.support)).max())
    return (total + centre) * (1 + 4096 * UNIT) + 4096 * UNIT * top


def _side_upper(noise: PiecewiseNoise, problem: DataDependentProblem, sign: int) -> float:
    """What draws of one sign add."""
    width, loss, density = float(problem.width), problem.loss, problem.density
    left, right = (density.left, density.right) if sign < 0 else (density.right[::-1], density.left[::-1])
    starts, stops, masses = _draws(noise, sign, width)
    middles = 0.5 * (starts + stops)
    nodes = width * np.arange(density.parts + 1) / density.parts
    s = np.unique(np.concatenate([nodes, starts, stops, middles, np.linspace(0, width, STRETCHES + 1)]))
    part = np.minimum((0.5 * (s[:-1] + s[1:]) / width * density.parts).astype(int), density.parts - 1)
    u = np.array(left)[part], np.array(right)[part]
    inside = [np.clip(x / width * density.parts - part, 0.0, 1.0) for x in (s[:-1], s[1:])]
    w_a, w_b = (u[0] * (1 - t) + u[1] * t for t in inside)
    h, scale = np.diff(s), float(density.total) * width
    c = _upper_values(loss, sign * s, width)
    a, b = (s[:-1], s[1:]) if sign > 0 else (-s[1:], -s[:-1])
    means = loss.mean(a, b) + loss.rounding(a, b)
    weight = 0.5 * h * (w_a + w_b) / scale
    paid = (weight * means) + np.abs(w_b - w_a) * h * np.maximum(c[1:] - c[:-1], 0.0) / 8 / scale
    beyond = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
    G = c * beyond + np.append(0.0, np.cumsum(paid))
    if loss.continuous:
        low, high = slope_range(loss, *((starts, stops) if sign > 0 else (-stops, -starts)))
        slopes = np.stack([sign * low, sign * high])
        A = [beyond[np.searchsorted(s, x)] for x in (starts, stops)]
        most = slopes.max(axis=0) * A[0]
        least = slopes.min(axis=0) * A[1]
        values = G[np.searchsorted(s, middles)] + (stops - starts) / 8 * np.maximum(most - least, 0.0)
    else:
        values = G[np.searchsorted(s, stops)]
    out = [masses * values]
    reached = float(masses.sum()) if len(masses) else 0.0
    side = float((noise.masses * _share(noise.edges, sign)).sum())
    atoms = [(min(abs(x), width), mass) for x, mass in noise.atoms if sign * x > 0]
    out.append(np.array([max(side - reached, 0.0) * G[-1]]))
    out.extend(np.array([mass * G[np.searchsorted(s, x)]]) for x, mass in atoms)  # G grows: the next point to the right
    return math.fsum(np.concatenate(out).tolist())


def _upper_values(loss: Loss, x: Array, width: float) -> Array:
    """c at x, rounded up; at a jump its larger side."""
    blur = 0.0 if loss.continuous else 16 * UNIT * width
    return np.maximum(loss.value(x - blur), loss.value(x + blur))


def _share(edges: Array, sign: int) -> Array:
    """Share of every cell on the side of one sign."""
    a, b = edges[:-1], edges[1:]
    positive = np.clip(b, 0, None) - np.clip(a, 0, None)
    return (positive if sign > 0 else (b - a) - positive) / (b - a)


def _draws(noise: PiecewiseNoise, sign: int, width: float) -> tuple[Array, Array, Array]:
    """(starts, stops, masses): stretches of |x| in [0, width] of draws of one sign, with constant density."""
    edges, densities = sign * noise.edges[::sign], (noise.masses / np.diff(noise.edges))[::sign]
    cuts = np.linspace(0, width, STRETCHES + 1)
    points = np.unique(np.concatenate([edges[(edges > 0) & (edges < width)], cuts]))
    middle = 0.5 * (points[:-1] + points[1:])
    index = np.searchsorted(edges, middle) - 1
    inside = (index >= 0) & (index < len(densities))
    heights = np.where(inside, densities[np.clip(index, 0, len(densities) - 1)], 0.0)
    used = heights > 0
    return points[:-1][used], points[1:][used], (heights * np.diff(points))[used]
