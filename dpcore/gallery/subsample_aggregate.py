"""Subsample and aggregate: any function, privately, through disjoint blocks [NRS07; S11; Awan, §8].

One person is in one block and changes one block's value. Whatever the function is, its values on the k blocks, clamped
to a range of width R, have a mean of sensitivity R/k, and a median whose ranks change by at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._validate import above, real, whole
from ..errors import InputError
from ..noise.laplace import Laplace
from ..privacy import Privacy
from .private_quantiles import Law
from .private_quantiles import law as quantile_law

Array = NDArray[np.float64]

STATISTICS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda rows: rows.mean(axis=-1),
    "median": lambda rows: np.median(rows, axis=-1),
    "deviation": lambda rows: rows.std(axis=-1),
    "maximum": lambda rows: rows.max(axis=-1),
}
"""Functions of a block's data, along the last axis."""

AGGREGATES = {
    "mean": "clamped mean + Laplace noise", "median": "private median", "winsorised": "widened winsorised mean",
}  # fmt: skip


def blocks(data: Array, count: int, rng: np.random.Generator) -> Array:
    """The data divided at random into `count` blocks of equal size, (count, size); what is left over is not used."""
    count = whole(1, len(data), count=count)
    size = len(data) // count
    return rng.permutation(data)[: count * size].reshape(count, size)


@dataclass(frozen=True, eq=False)
class Release:
    """The law of what is released, given the blocks' values: a mixture of Laplace laws, or a private median.

    centre : the aggregate without noise.   law : Laplace laws, (weights, places, scales), or the release's own law.
    """

    centre: float
    law: tuple[Array, Array, Array] | Law

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, on average; 0 for a private median."""
        return 0.0 if isinstance(self.law, Law) else float(self.law[0] @ self.law[2])

    def squared_error(self, about: float) -> float:
        """E (release − about)² given the blocks."""
        if isinstance(self.law, Law):
            mean, variance = self.law.moments()
            return float((mean - about) ** 2 + variance)
        weights, places, scales = self.law
        return float(weights @ ((places - about) ** 2 + 2 * scales**2))

    def density(self, x: Array) -> Array:
        """Density of the release."""
        if isinstance(self.law, Law):
            widths = np.diff(self.law.ends)
            place = np.clip(np.searchsorted(self.law.ends, x, side="right") - 1, 0, len(widths) - 1)
            inside = (x >= self.law.ends[0]) & (x <= self.law.ends[-1]) & (widths[place] > 0)
            return np.where(inside, self.law.masses[place] / np.where(widths[place] > 0, widths[place], 1.0), 0.0)
        found = np.zeros_like(x)
        for weight, place, scale in zip(*_gathered(*self.law)):
            found += weight / (2 * scale) * np.exp(-np.abs(x - place) / scale)
        return found


def release(values: Array, epsilon: float, aggregate: str, *, low: float, high: float) -> Release:
    """The ε-DP release from the blocks' values, for one person replaced by another.

    low, high : to which the values are clamped; not read from the data.
    """
    epsilon, low, high = above(0, 1e6, epsilon=epsilon), real(low=low), real(high=high)
    if not low < high:
        raise InputError("high", high, f"a number above {low:g}")
    clamped = np.clip(np.asarray(values, float), low, high)
    if aggregate == "mean":
        noise = Laplace.calibrate(Privacy(epsilon, 0.0), (high - low) / len(clamped))
        return Release(float(clamped.mean()), (np.ones(1), clamped.mean(keepdims=True), np.array([noise.scale])))
    if aggregate == "median":
        return Release(float(np.median(clamped)), quantile_law(clamped, 0.5, epsilon, low=low, high=high))
    if aggregate == "winsorised":
        return Release(float(clamped.mean()), _winsorised(np.sort(clamped), epsilon, low, high))
    raise InputError("aggregate", aggregate, " or ".join(AGGREGATES))


WIDENING = 0.1
"""η in [Awan, Algorithm 2]."""

_NODES = np.array([0.5 - math.sqrt(1 / 12), 0.5 + math.sqrt(1 / 12)])
"""Nodes of Gauss's rule on [0, 1], of weight ½ each: exact for what is cubic in the place."""

_APART, _CLOSE = (4 + np.array([-1, 1]) * math.sqrt(6)) / 10, (9 + np.array([1, -1]) * math.sqrt(6)) / 18
"""Nodes and weights of Gauss's rule for the distance of two places in one interval: density 2(1 − d) on [0, 1]."""

_CELLS = 48
"""Into which places, and scales, are gathered where only a picture is asked for."""


def width(count: int, quartiles: float) -> float:
    """u − l, of the range that `count` values are clamped to by [Awan, Algorithm 2], their quartiles so far apart."""
    return float(8 * count ** (1 / 3 + WIDENING) * quartiles)


def _winsorised(z: Array, epsilon: float, low: float, high: float) -> tuple[Array, Array, Array]:
    """The noisy widened winsorised mean of sorted values [Awan, Algorithm 2; S11]: (weights, places, scales).

    Private quartiles â, b̂ for ε/4 each [Algorithm 3] give the range l, u = (â + b̂)/2 ∓ 4 k^(1/3 + η) |b̂ − â|; the
    values' mean, clamped to it, gets Laplace noise of scale 2(u − l)/(kε), for the other ε/2.

    By Gauss's rule in every pair of intervals between neighbouring values: moments are exact but where the range passes
    a value inside a pair. O(k²).
    """
    count, widths = len(z), np.diff([low, *z, high])
    one, other = (quantile_law(z, level, epsilon / 4, low=low, high=high) for level in (0.25, 0.75))
    places = (one.ends[:-1, None] + widths[:, None] * _NODES).ravel()
    a, b = np.broadcast_arrays(places[:, None], places[None, :])
    crude, apart = 0.5 * (a + b), np.abs(a - b)
    weights = np.repeat(0.5 * one.masses, 2)[:, None] * np.repeat(0.5 * other.masses, 2)
    same = np.arange(0, 2 * count + 2, 2)
    for i, j in np.ndindex(2, 2):  # both in one interval: nodes for their distance, and for their middle given it
        share = (1 - _APART[i]) * (_NODES[j] - 0.5)
        crude[same + i, same + j] = one.ends[:-1] + widths * (0.5 + share)
        apart[same + i, same + j] = widths * _APART[i]
        weights[same + i, same + j] = one.masses * other.masses * 0.5 * _CLOSE[i]
    told = weights > 1e-15 * weights.max()
    crude, range_, weights = crude[told], width(count, 1.0) * apart[told], weights[told] / weights[told].sum()
    return weights, _clamped_mean(z, crude - 0.5 * range_, crude + 0.5 * range_), 2 * range_ / (count * epsilon)


def _gathered(weights: Array, places: Array, scales: Array) -> tuple[Array, Array, Array]:
    """Laplace laws of a mixture that are alike as one: at most `_CELLS`² of them, with the same mean."""
    number = _cell(places) * _CELLS + _cell(np.log(scales))
    total = np.bincount(number, weights).astype(float)
    full = total > 0
    means = [np.bincount(number, weights * x)[full] / total[full] for x in (places, scales)]
    return total[full], means[0], means[1]


def _cell(x: Array) -> NDArray[np.int64]:
    """The one of `_CELLS` equal parts of their range that values lie in."""
    found: NDArray[np.int64] = ((_CELLS - 1e-9) * (x - x.min()) / max(float(np.ptp(x)), 1e-300)).astype(np.int64)
    return found


def _clamped_mean(z: Array, lower: Array, upper: Array) -> Array:
    """Mean of sorted z clamped to [lower, upper], elementwise."""
    sums = np.append(0.0, np.cumsum(z))
    first, last = np.searchsorted(z, lower), np.searchsorted(z, upper, side="right")
    mean: Array = (first * lower + (sums[last] - sums[first]) + (len(z) - last) * upper) / len(z)
    return mean
