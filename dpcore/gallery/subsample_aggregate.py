"""Subsample and aggregate: any function, privately, through disjoint blocks [NRS07; S11; Awan, §8].

One person is in one block and changes one block's value. Whatever the function is, its values on the k blocks, clamped
to a range of width R, have a mean of sensitivity R/k, and a median whose ranks change by at most 1.
"""

from __future__ import annotations

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

AGGREGATES = {"mean": "clamped mean + Laplace noise", "median": "private median"}


def blocks(data: Array, count: int, rng: np.random.Generator) -> Array:
    """The data divided at random into `count` blocks of equal size, (count, size); what is left over is not used."""
    count = whole(1, len(data), count=count)
    size = len(data) // count
    return rng.permutation(data)[: count * size].reshape(count, size)


@dataclass(frozen=True, eq=False)
class Release:
    """The law of what is released, given the blocks' values: around their clamped mean, or a private median.

    centre : the aggregate without noise.   law : of the noise around it, or of the release itself.
    """

    centre: float
    law: Laplace | Law

    def squared_error(self, about: float) -> float:
        """E (release − about)², exact given the blocks."""
        if isinstance(self.law, Law):
            mean, variance = self.law.moments()
        else:
            mean, variance = self.centre, 2 * self.law.scale**2
        return (mean - about) ** 2 + variance

    def density(self, x: Array) -> Array:
        """Density of the release."""
        if isinstance(self.law, Laplace):
            return self.law.density(x - self.centre)
        widths = np.diff(self.law.ends)
        place = np.clip(np.searchsorted(self.law.ends, x, side="right") - 1, 0, len(widths) - 1)
        inside = (x >= self.law.ends[0]) & (x <= self.law.ends[-1]) & (widths[place] > 0)
        return np.where(inside, self.law.masses[place] / np.where(widths[place] > 0, widths[place], 1.0), 0.0)


def release(values: Array, epsilon: float, aggregate: str, *, low: float, high: float) -> Release:
    """The ε-DP release from the blocks' values, for one person replaced by another.

    low, high : to which the values are clamped; not read from the data.
    """
    epsilon, low, high = above(0, 1e6, epsilon=epsilon), real(low=low), real(high=high)
    if not low < high:
        raise InputError("high", high, f"a number above {low:g}")
    clamped = np.clip(np.asarray(values, float), low, high)
    if aggregate == "mean":
        return Release(float(clamped.mean()), Laplace.calibrate(Privacy(epsilon, 0.0), (high - low) / len(clamped)))
    if aggregate == "median":
        return Release(float(np.median(clamped)), quantile_law(clamped, 0.5, epsilon, low=low, high=high))
    raise InputError("aggregate", aggregate, " or ".join(AGGREGATES))
