"""Cells of unequal width for upper bounds: narrow ones near 0, near the steps of a staircase and their
copies one sensitivity on, wide ones elsewhere [method: graded; Thm 1].

A law constant on blocks of a fine lattice's cells is a law on the fine lattice; only its program is smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .lattice import Array, Ints, Lattice, Tests
from .mesh import Grading
from .polygons import sums_at

PARTS = 4
"""Blocks between two nodes, at most."""


@dataclass(frozen=True)
class Blocks(Lattice):
    """A lattice of cells with an edge at 0, the classes of which are blocks of cells, if it is folded with their mirror
    images.

    starts : index of the first cell of every block, if it is folded of those right of 0.   coarse : cells to each of
    the lattice that was cut.
    """

    starts: tuple[int, ...] = (0,)
    coarse: int = 1

    @staticmethod
    def of(lattice: Lattice, grading: Grading) -> Blocks:
        """The cells of `lattice`, cut into `grading.coarse` new ones each and joined between the grading's nodes."""
        k, first, end = (grading.coarse * i for i in (lattice.k, lattice.first, lattice.last + 1))
        starts = grading.nodes(k, first, end)[:-1]
        if lattice.folded:
            starts = starts[starts >= 0]
        bare = Blocks(k, first, end - 1, first, end - 1, lattice.folded, edge=1, coarse=grading.coarse)
        return replace(bare, starts=tuple(starts.tolist()))

    @cached_property
    def _starts(self) -> Ints:
        return np.array(self.starts, dtype=np.int64)

    @cached_property
    def _widths(self) -> Ints:
        """Cells to a block, if it is folded on one side of 0."""
        return np.diff(self._starts, append=self.last + 1)

    @property
    def classes(self) -> int:
        return len(self.starts)

    def classify(self, i: Ints) -> Ints:
        i = np.where(i >= 0, i, -i - 1) if self.folded else i
        return np.searchsorted(self._starts, i, side="right") - 1

    @property
    def pieces(self) -> int:
        """Pieces of a law that are chosen one by one, if it is folded on one side of 0."""
        return self.classes

    @property
    def multiplicity(self) -> Array:
        return (1.0 + self.folded) * self._widths.astype(np.float64)

    @property
    def representatives(self) -> Ints:
        return self._starts - self.first

    def shares(self, values: Array) -> Array:
        begin = self._starts[0]
        means: Array = np.add.reduceat(values[begin - self.first :], self._starts - begin) / self._widths
        return means

    def counted(self, event: Ints, cover: Ints) -> tuple[Ints, Ints, Array]:
        """A slack max(0, r_a − E r_b) of two blocks serves every shift that brings a cell of b, or of its mirror image,
        onto one of a, as often as it does."""
        first, wide = self._starts, self._widths
        owners, shifts = [], []
        near = first[event] - first[cover] - wide[cover] + 1
        if self.folded:  # shifts to the right only
            near = np.where(event > cover, near, first[cover] - first[event] - wide[event] + 1)
        beyond = first[event] + first[cover] + 1
        reach = wide[event] + wide[cover] - 1
        mine = np.repeat(np.arange(len(event)), reach)
        step = np.arange(len(mine)) - np.repeat(np.cumsum(reach) - reach, reach)
        most = np.minimum(wide[event], wide[cover])[mine]
        count = np.minimum(np.minimum(step + 1, reach[mine] - step), most).astype(float)
        for begin, there in ((near, event != cover), (beyond, np.full(len(event), self.folded))):
            shift = begin[mine] + step
            used = there[mine] & (np.abs(shift) <= self.k)
            owners.append(np.where(used, mine, -1))
            shifts.append(shift)
        owner, shift = np.concatenate(owners), np.concatenate(shifts)
        names = 2 * self.k + 1
        keys, index = np.unique((owner * names + shift + self.k)[owner >= 0], return_inverse=True)
        counts = sums_at(index, np.tile(count, 2)[owner >= 0], len(keys))
        return keys // names, keys % names - self.k, counts

    @property
    def borders(self) -> Ints:
        """Of all blocks, from end to end."""
        starts = np.append(self._starts, self.last + 1)
        return np.union1d(-starts, starts) if self.folded else starts

    @cached_property
    def looked_at(self) -> Ints:
        """Shifts that bring an edge of a block onto one: in between shortfalls are affine [Thm 1]."""
        shifts = np.unique(np.subtract.outer(self.borders, self.borders))
        found: Ints = shifts[(shifts != 0) & (shifts >= (1 if self.folded else -self.k)) & (shifts <= self.k)]
        return found

    @cached_property
    def tests(self) -> Tests:
        """Cells of one block covered by cells of one block, or by none, at every shift that is looked at."""
        ends, found = self.borders, []
        for j in self.looked_at.tolist():
            cuts = np.union1d(ends, ends + j)
            cuts = cuts[(cuts >= self.first) & (cuts <= self.last + 1)]
            found.append((np.full(len(cuts) - 1, j), cuts[:-1], np.diff(cuts).astype(np.float64)))
        shift, place, size = (np.concatenate(v) for v in zip(*found))
        return self._tests_of(shift, place, size)

    def gathered(self, masses: Array) -> Array:
        """Evenly over the cells of which this lattice's are parts."""
        whole: Array = np.repeat(masses.reshape(-1, self.coarse).mean(axis=1), self.coarse)
        return whole


@dataclass(frozen=True)
class Slopes(Blocks):
    """Blocks that cut what lies between neighbouring nodes into up to `PARTS` each, for laws whose density is a + b/d
    between nodes, d the distance from the nearest whole sensitivity, but for the steps of these blocks. Unknowns are
    its heights at the nodes.

    nodes : from end to end, if it is folded from 0 on.   also : shifts that a program looks at besides.
    """

    nodes: tuple[int, ...] = (0,)
    also: tuple[int, ...] = ()

    @staticmethod
    def of(lattice: Lattice, grading: Grading) -> Slopes:
        """The cells of `lattice`, cut into `grading.coarse` new ones each, and the grading's nodes."""
        k, first, end = (grading.coarse * i for i in (lattice.k, lattice.first, lattice.last + 1))
        nodes = grading.nodes(k, first, end)
        nodes = nodes[nodes >= 0] if lattice.folded else nodes
        widths = np.diff(nodes)
        parts = np.minimum(widths, PARTS)
        each = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        starts = np.repeat(nodes[:-1], parts) + each * np.repeat(widths, parts) // np.repeat(parts, parts)
        bare = Slopes(k, first, end - 1, first, end - 1, lattice.folded, edge=1, coarse=grading.coarse)
        return replace(bare, starts=tuple(starts.tolist()), nodes=tuple(nodes.tolist()))

    @property
    def pieces(self) -> int:
        return len(self.nodes) - 1

    @cached_property
    def looked_at(self) -> Ints:
        """Whole numbers of half the widest blocks, and those 1, 2, 4, … cells short of the sensitivity, either sign: in
        between little happens that does not at them. Then the others, in their order, that tests keep their numbers."""
        half = max(1, self.coarse // (2 * PARTS))
        short = self.k - 2 ** np.arange(half.bit_length())
        positive = np.unique(np.concatenate([np.arange(half, self.k, half), short, [self.k]]))
        found = positive if self.folded else np.concatenate([-positive[::-1], positive])
        others = list(dict.fromkeys(shift for shift in self.also if shift not in found))
        return np.append(found, np.array(others, dtype=np.int64))

    @cached_property
    def _hats(self) -> Array:
        """Mean density over every block that is 1 at a node, 0 at the others and a + b/d between, d the distance from
        the whole sensitivity next to both nodes' middle; linear in d if that is not beyond them. (classes, nodes)"""
        nodes, middle = np.array(self.nodes), self._starts + 0.5 * self._widths
        left = np.searchsorted(nodes, middle, side="right") - 1
        begin, end = nodes[left], nodes[left + 1]
        share = (middle - begin) / (end - begin)
        pole = self.k * np.floor((begin + end) / (2 * self.k) + 0.5)
        sloped = (begin - pole) * (end - pole) > 0
        near, of_begin, of_end = (np.abs(x - pole)[sloped] for x in (self._starts, begin, end))
        more = np.abs(self._starts + self._widths - pole)[sloped] - near
        share[sloped] = (np.log1p(more / near) / more - 1 / of_begin) / (1 / of_end - 1 / of_begin)
        hats, each = np.zeros((self.classes, len(nodes))), np.arange(self.classes)
        hats[each, left], hats[each, left + 1] = 1 - share, share
        return hats

    def of_unknowns(self, unknowns: Array) -> Array:
        found: Array = self._hats @ unknowns
        return found

    def for_unknowns(self, coefficients: Array) -> Array:
        found: Array = coefficients @ self._hats
        return found

    def unknowns_of(self, values: Array) -> Array:
        weights = self.multiplicity[:, None] * self._hats
        found: Array = (values @ weights) / weights.sum(axis=0)
        return found
