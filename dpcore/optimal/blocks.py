"""Cells of unequal width for upper bounds of even problems: narrow ones near 0, near the steps of a staircase and their
copies one sensitivity on, wide ones elsewhere [method: graded; Thm 1].

A law constant on blocks of a fine lattice's cells is a law on the fine lattice; only its program is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .lattice import Array, Ints, Lattice, sums_at
from .mesh import Grading


@dataclass(frozen=True)
class Blocks(Lattice):
    """A folded lattice of cells with an edge at 0, the classes of which are blocks of cells and their mirror images.

    starts : index of the first cell of every block right of 0.
    """

    starts: tuple[int, ...] = (0,)

    @staticmethod
    def of(lattice: Lattice, grading: Grading) -> Blocks:
        """The cells of `lattice`, cut into `grading.coarse` new ones each and joined between the grading's nodes."""
        k, end = lattice.k * grading.coarse, (lattice.last + 1) * grading.coarse
        ends = grading.nodes(k, -end, end)
        return Blocks(
            k, -end, end - 1, -end, end - 1, True, edge=1, starts=tuple(ends[(ends >= 0) & (ends < end)].tolist())
        )

    @cached_property
    def _starts(self) -> Ints:
        return np.array(self.starts, dtype=np.int64)

    @cached_property
    def _widths(self) -> Ints:
        """Cells to a block, on one side of 0."""
        return np.diff(self._starts, append=self.last + 1)

    @property
    def classes(self) -> int:
        return len(self.starts)

    def classify(self, i: Ints) -> Ints:
        return np.searchsorted(self._starts, np.where(i >= 0, i, -i - 1), side="right") - 1

    @property
    def multiplicity(self) -> Array:
        return 2.0 * self._widths.astype(np.float64)

    @property
    def representatives(self) -> Ints:
        return self._starts - self.first

    def shares(self, values: Array) -> Array:
        means: Array = np.add.reduceat(values[-self.first :], self._starts) / self._widths
        return means

    def counted(self, event: Ints, cover: Ints) -> tuple[Ints, Ints, Array]:
        """A slack max(0, r_a − E r_b) of two blocks serves every shift that brings a cell of b, or of its mirror image,
        onto one of a, as often as it does."""
        first, wide = self._starts, self._widths
        owners, shifts = [], []
        near = np.where(
            event > cover, first[event] - first[cover] - wide[cover] + 1, first[cover] - first[event] - wide[event] + 1
        )
        beyond = first[event] + first[cover] + 1
        reach = wide[event] + wide[cover] - 1
        mine = np.repeat(np.arange(len(event)), reach)
        step = np.arange(len(mine)) - np.repeat(np.cumsum(reach) - reach, reach)
        most = np.minimum(wide[event], wide[cover])[mine]
        count = np.minimum(np.minimum(step + 1, reach[mine] - step), most).astype(float)
        for begin, there in ((near, event != cover), (beyond, np.ones(len(event), dtype=bool))):
            shift = begin[mine] + step
            used = there[mine] & (shift <= self.k)
            owners.append(np.where(used, mine, -1))
            shifts.append(shift)
        owner, shift = np.concatenate(owners), np.concatenate(shifts)
        keys, index = np.unique((owner * (self.k + 1) + shift)[owner >= 0], return_inverse=True)
        counts = sums_at(index, np.tile(count, 2)[owner >= 0], len(keys))
        return keys // (self.k + 1), keys % (self.k + 1), counts
