"""Partitions of the noise axis: whole numbers of a unit, floats only on request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ._validate import whole
from .errors import InputError

MAX_CELLS = 100_000
"""Most units a partition may span."""


@dataclass(frozen=True)
class Partition:
    """Cells [breaks[j], breaks[j+1]) in units of sensitivity / resolution, the π of [SLW, §4.1].

    resolution : cells per sensitivity k; the unit is β = sensitivity / k.
    breaks : increasing whole numbers π, at least two.
    """

    resolution: int
    breaks: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "resolution", whole(1, 1000, cells_per_sensitivity=self.resolution))
        breaks = tuple(int(b) for b in self.breaks)
        increasing = all(a < b for a, b in zip(breaks, breaks[1:]))
        if len(breaks) < 2 or not increasing or breaks != tuple(self.breaks):
            raise InputError("partition breaks", self.breaks, "two or more increasing whole numbers")
        if breaks[-1] - breaks[0] > MAX_CELLS:
            raise InputError("partition breaks", breaks[-1] - breaks[0], f"a width of at most {MAX_CELLS} units")
        object.__setattr__(self, "breaks", breaks)

    @classmethod
    def uniform(cls, resolution: int, half_width: int) -> Partition:
        """Cells of one unit on [−half_width, half_width], in sensitivities."""
        n = whole(1, MAX_CELLS, half_width=half_width) * resolution
        return cls(resolution, tuple(range(-n, n + 1)))

    @classmethod
    def widening(cls, resolution: int, half_width: int) -> Partition:
        """Cells of one unit next to 0 that widen with every sensitivity: between m and m + 1 sensitivities
        from 0 the width is the largest divisor of `resolution` not above 2^m units.

        Widths divide the resolution, so every multiple of the sensitivity is a break: the worst shift of
        most laws moves cells onto cells.
        """
        k, m_max = resolution, whole(1, MAX_CELLS, half_width=half_width)
        right = [0]
        for m in range(m_max):
            width = max(w for w in range(1, k + 1) if k % w == 0 and w <= 2**m)
            right.extend(range(m * k + width, (m + 1) * k + 1, width))
        return cls(k, (*(-b for b in reversed(right[1:])), *right))

    def padded(self) -> Partition:
        """One sensitivity of unit cells added at either end, the index set 𝔑 of [SLW, §4.1]."""
        lo, hi, k = self.breaks[0], self.breaks[-1], self.resolution
        return Partition(k, (*range(lo - k, lo), *self.breaks, *range(hi + 1, hi + k + 1)))

    def refined(self) -> Partition:
        """Cells of one unit on the same interval."""
        return Partition(self.resolution, tuple(range(self.breaks[0], self.breaks[-1] + 1)))

    @property
    def cells(self) -> int:
        return len(self.breaks) - 1

    @property
    def is_symmetric(self) -> bool:
        """The partition is its own mirror image."""
        return self.breaks == tuple(-b for b in reversed(self.breaks))

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """The breaks as an array, (cells + 1,)."""
        return np.array(self.breaks, dtype=np.int64)

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Cell widths in units, (cells,)."""
        return np.diff(self.points)

    @cached_property
    def shifts(self) -> NDArray[np.int64]:
        """Shifts in units, in [−k, k] without 0, among which a worst one is: differences of breaks, and ±k
        [SLW, Alg. 2, Lemma C.16]."""
        k = self.resolution
        near = np.zeros(k + 1, dtype=bool)
        near[k] = True
        for lag in range(1, min(self.cells, k) + 1):
            distance = self.points[lag:] - self.points[:-lag]
            near[distance[distance <= k]] = True
        positive = np.flatnonzero(near[1:]) + 1
        return np.concatenate([-positive[::-1], positive])

    def edges(self, sensitivity: float) -> NDArray[np.float64]:
        """Cell edges in the query's unit, (cells + 1,), each within 2 units in the last place."""
        return self.points.astype(np.float64) * (sensitivity / self.resolution)
