"""Independent quadrature for the contract: Gauss panels between the kinks of a law and a loss, graded near 0."""

from __future__ import annotations

import math

import numpy as np

from dpcore.noise import Gaussian, Laplace, Noise, Staircase

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def kinks(noise: Noise) -> list[float]:
    """Where a density is not smooth, within its bulk."""
    points = [noise.location, *(x for x in noise.support if np.isfinite(x))]
    if isinstance(noise, Staircase):
        k = np.arange(int(60 / noise.epsilon) + 3)
        steps = noise.sensitivity * np.concatenate([k, k + noise.gamma])
        points += [*(noise.location + steps), *(noise.location - steps)]
    return points


def bulk(noise: Noise) -> tuple[float, float]:
    """The support, or an interval around the location outside of which the density is below e^−60 of its peak."""
    low, high = noise.support
    if math.isfinite(high):
        return low, high
    reach = {
        Laplace: lambda: 80 * noise.scale,
        Gaussian: lambda: 13 * noise.sigma,
        Staircase: lambda: noise.sensitivity * (60 / noise.epsilon + 2),
    }[type(noise)]()
    return noise.location - reach, noise.location + reach


def integral(noise: Noise, function, lo: float, hi: float, breaks=()) -> float:
    """∫_lo^hi function(x) density(x) dx; the function is smooth but at `breaks` and 0, where it may be a power."""
    low, high = bulk(noise)
    lo, hi = max(lo, low), min(hi, high)
    if not lo < hi:
        return 0.0
    scale = (high - low) / 160
    cuts = {lo, hi, *(x for x in (*kinks(noise), *breaks, 0.0) if lo < x < hi)}
    cuts = np.array(sorted(cuts))
    edges = [cuts[:1]]
    for a, b in zip(cuts, cuts[1:]):
        count = int(np.ceil((b - a) / scale))
        inner = np.linspace(a, b, count + 1)[1:]
        # towards 0 panels shrink by halves, so that |x|^p is smooth on each
        halves = 2.0 ** -np.arange(60) * scale
        zoom = [z for z in (*halves, *-halves) if a < z < b]
        edges.append(np.union1d(inner, zoom))
    points = np.concatenate(edges)
    half, middle = np.diff(points) / 2, (points[1:] + points[:-1]) / 2
    x = middle[:, None] + half[:, None] * NODES
    return float(np.sum(half[:, None] * WEIGHTS * function(x) * noise.density(x)))
