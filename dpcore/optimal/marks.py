"""Events and laws for errors beyond ±t under a curve: few classes of cells, between the places that t leads to
[method: orbits].

The places of depth d are ±t moved by at most d times 2t in either direction, and by whole sensitivities. Around ±t the
events of a lower bound lie between them, and are tried at their distances; further out they are a sensitivity wide, and
are tried at that. Classes are what events and their shifted copies have in common, so nothing is lost by them. Laws are
constant between the places, and further out on cells a sensitivity wide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .blocks import Blocks
from .lattice import Array, Ints, Lattice, Tests, sums_at


def _places(lattice: Lattice, mark: int, depth: int, near: int) -> tuple[Ints, Ints]:
    """The places of a depth on both sides, up to `near` sensitivities beyond the mark, and those further out."""
    k, end = lattice.k, lattice.event_last
    odd = mark * (2 * np.arange(-depth - 1, depth + 1) + 1)
    inner = np.unique((np.arange(-(end // k) - 1, end // k + 2)[:, None] * k + odd % k).ravel())
    return inner[np.abs(inner) <= min(mark + near * k, end)], np.arange(mark, end, k)


def between_marks(lattice: Lattice, mark: int, depth: int, near: int) -> Blocks:
    """The cells of a folded lattice with an edge at 0, joined between the places.

    mark : the edge of the lattice that stands for t.   near : sensitivities beyond it with places of a depth.
    """
    inner, outer = _places(lattice, mark, depth, near)
    starts = np.unique(np.concatenate([[0], inner[inner > 0], outer]))
    bare = Blocks(lattice.k, lattice.first, lattice.last, lattice.event_first, lattice.event_last, folded=True, edge=1)
    return replace(bare, starts=tuple(starts[starts <= lattice.last].tolist()))


@dataclass(frozen=True)
class Marked(Blocks):
    """Cells of a folded lattice, in blocks.

    moves : shifts to the right, in steps, the sensitivity last.   edges : of each of them the ends of its events.
    """

    moves: tuple[int, ...] = ()
    edges: tuple[tuple[int, ...], ...] = ()

    @staticmethod
    def around(lattice: Lattice, mark: int, depth: int, near: int) -> Marked:
        """mark : the edge of the lattice that stands for t.   near : sensitivities beyond it with places of a depth."""
        k = lattice.k
        inner, outer = _places(lattice, mark, depth, near)
        moved = np.unique(2 * mark * np.arange(-depth - 1, depth + 2) % k)
        moves = np.append(moved[moved > 0], k)
        edges = [*([inner] * (len(moves) - 1)), np.unique(np.concatenate([inner, outer, -outer]))]
        copies = [own + times * move for own, move in zip(edges, moves) for times in (-1, 0, 1)]
        cuts = np.unique(np.abs(np.concatenate([[0], *copies])))
        bare = Marked(k, lattice.first, lattice.last, lattice.event_first, lattice.event_last, folded=True, edge=1)
        return replace(
            bare,
            starts=tuple(cuts[cuts <= lattice.last].tolist()),
            moves=tuple(moves.tolist()),
            edges=tuple(tuple(own.tolist()) for own in edges),
        )

    @cached_property
    def tests(self) -> Tests:
        """Every event of every shift."""
        right = np.append(self._starts, self.last + 1)
        ends = np.union1d(-right, right)
        blocks, wide = ends[:-1], np.diff(ends)
        column, total = self.classify(blocks), 0
        names, entries = [], []
        for edges, shift in zip(self.edges, self.moves):
            count = len(edges) - 1
            for at, covers in ((blocks, False), (blocks + shift, True)):
                test = np.searchsorted(edges, at, side="right") - 1
                used = (test >= 0) & (test < count)
                entries.append((test[used] + total, column[used], np.full(int(used.sum()), covers), wide[used]))
            names.append((np.full(count, shift), np.array(edges[:-1])))
            total += count
        test, columns, covering, width = (np.concatenate(v) for v in zip(*entries))
        keys, index = np.unique(test * self.classes + columns, return_inverse=True)
        event, cover = (sums_at(index, width * mine, len(keys)) for mine in (~covering, covering))
        shifts, places = (np.concatenate(v) for v in zip(*names))
        return Tests(shifts, places, keys // self.classes, keys % self.classes, event, cover)

    def gathered(self, masses: Array) -> Array:
        """As it is: classes tell apart what events and their copies do."""
        return masses

    def spread(self, shifts: Ints, events: Ints, weights: Array) -> tuple[Ints, Ints, Array]:
        """The multipliers of events on all of their cells."""
        wide = np.empty(len(events), dtype=np.int64)
        for move, edges in zip(self.moves, self.edges):
            mine = shifts == move
            wide[mine] = np.diff(edges)[np.searchsorted(edges, events[mine])]
        cells = np.arange(wide.sum()) + np.repeat(events - np.cumsum(wide) + wide, wide)
        return np.repeat(shifts, wide), cells, np.repeat(weights, wide)
