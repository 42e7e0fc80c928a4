"""Events and laws for errors beyond ±t under a curve, on lattices that meet both the sensitivity and ±t
[method: A whole profile].

Lattices have 2q steps to the sensitivity D, and t is p of them for a fraction 2t/D = p/q. All places ±t + 2it + jD are
an even number of steps from t, so events and laws change there only, and shifts are even. A sensitivity beyond t events
end and half-lines begin: of what lies farther out a lower bound needs nothing but its mass. Laws go on in blocks as
wide as the sensitivity, of a given shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .blocks import Blocks
from .lattice import Array, Ints, Tests
from .polygons import sums_at


def _edges(k: int, mark: int, near: int) -> Ints:
    """Places two steps apart, up to `near` sensitivities beyond the mark, on both sides."""
    far = mark + near * k
    return np.arange(-far, far + 1, 2)


@dataclass(frozen=True)
class Events(Blocks):
    """Events between neighbouring edges, and half-lines beyond the last, for even shifts; classes are what events and
    their shifted copies have in common.

    Cells beyond the half-lines stand for all that lies farther out: multipliers go on as they are there, and so does
    what they prove, a sensitivity beyond the last edge.   edges : ends of the events, symmetric about 0.
    """

    edges: tuple[int, ...] = (0,)

    @staticmethod
    def around(k: int, mark: int, near: int = 1) -> Events:
        """k : steps to the sensitivity, even.   mark : the edge that stands for t.   near : events end so many
        sensitivities beyond it."""
        edges = _edges(k, mark, near)
        far = int(edges[-1]) + k
        starts = np.append(np.arange(mark % 2, far + 1, 2), 0)
        end = far + 2 * k
        return Events(
            k, -end, end - 1, -end, end - 1, folded=True, edge=1,
            starts=tuple(np.unique(starts).tolist()), edges=tuple(edges.tolist()),
        )  # fmt: skip

    @cached_property
    def _ends(self) -> Ints:
        """Where events begin, and where the last one ends."""
        return np.array([self.first, *self.edges, self.last + 1])

    @cached_property
    def tests(self) -> Tests:
        """Every event of every shift."""
        right = np.append(self._starts, self.last + 1)
        ends = np.union1d(-right, right)
        blocks, wide = ends[:-1], np.diff(ends)
        column, count, moves = self.classify(blocks), len(self._ends) - 1, np.arange(2, self.k + 1, 2)
        found, widths, covering = [], [], []
        for number, move in enumerate(moves.tolist()):
            for at, covers in ((blocks, False), (blocks + move, True)):
                own = np.searchsorted(self.edges, at, side="right")
                found.append((number * count + own) * self.classes + column)
                widths.append(wide)
                covering.append(np.full(len(at), covers))
        keys, index = np.unique(np.concatenate(found), return_inverse=True)
        width, covered = np.concatenate(widths), np.concatenate(covering)
        event, cover = (sums_at(index, width * mine, len(keys)) for mine in (~covered, covered))
        places = np.tile(self._ends[:-1], len(moves))
        return Tests(np.repeat(moves, count), places, keys // self.classes, keys % self.classes, event, cover)

    def gathered(self, masses: Array) -> Array:
        """As it is: classes tell apart what events and their copies do."""
        return masses

    def spread(self, shifts: Ints, events: Ints, weights: Array) -> tuple[Ints, Ints, Array]:
        """The multipliers of events on all of their cells."""
        wide = np.diff(self._ends)[np.searchsorted(self._ends, events)]
        cells = np.arange(wide.sum()) + np.repeat(events - np.cumsum(wide) + wide, wide)
        return np.repeat(shifts, wide), cells, np.repeat(weights, wide)


@dataclass(frozen=True)
class Shaped(Blocks):
    """Cells two steps wide, of which those farther out are joined in blocks of a given shape.

    shape : mass of every index for one unit of its class.
    """

    shape: tuple[float, ...] = ()

    @staticmethod
    def around(k: int, mark: int, masses: Array, near: int = 1) -> Shaped:
        """Blocks, a sensitivity wide, have the shape of the masses, given per index and levelled in cells, from `near`
        sensitivities beyond the mark on."""
        end = len(masses) // 2 - (len(masses) // 2 - mark) % 2  # where a cell ends
        masses = masses[len(masses) // 2 - end : len(masses) // 2 + end]
        masses = np.repeat(masses.reshape(-1, 2).mean(axis=1), 2)
        edges = _edges(k, mark, near)
        starts = np.unique(np.concatenate([[0], edges[edges > 0], np.arange(edges[-1], end, k)])).tolist()
        plain = Blocks(k, -end, end - 1, -end, end - 1, folded=True, edge=1, starts=tuple(starts))
        inside = np.abs(plain.indices + 0.5) < edges[-1]
        of_blocks = plain.unfold(sums_at(plain.classify(plain.indices), masses, plain.classes))
        shape = tuple(np.where(inside, 1.0, masses / of_blocks).tolist())
        return Shaped(k, -end, end - 1, -end, end - 1, folded=True, edge=1, starts=tuple(starts), shape=shape)

    @cached_property
    def _shape(self) -> Array:
        return np.array(self.shape)

    @cached_property
    def multiplicity(self) -> Array:
        return sums_at(self.classify(self.indices), self._shape, self.classes)

    def unfold(self, values: Array) -> Array:
        own: Array = values[self.classify(self.indices)] * self._shape
        return own

    def shares(self, values: Array) -> Array:
        own: Array = sums_at(self.classify(self.indices), values, self.classes) / self.multiplicity
        return own

    @cached_property
    def tests(self) -> Tests:
        """Every cell at every even shift: in between shortfalls are affine [Thm 1]."""
        cells = np.arange(self.first, self.last, 2)
        size = self._shape[::2] + self._shape[1::2]
        count, moves = len(cells), np.arange(1, self.k // 2 + 1)
        own, move = np.tile(np.arange(count), len(moves)), np.repeat(moves, count)
        number, covered = np.arange(len(own)), own >= move
        columns, sizes = self.classify(cells), np.concatenate([size[own], size[(own - move)[covered]]])
        test = np.concatenate([number, number[covered]])
        column = columns[np.concatenate([own, (own - move)[covered]])]
        covering = np.arange(len(test)) >= len(own)
        order = np.argsort(test, kind="stable")
        event, cover = (np.where(mine, sizes, 0.0)[order] for mine in (~covering, covering))
        return Tests(2 * move, cells[own], test[order], column[order], event, cover)
