"""Lattices that keep few of their shifts, and of their nodes all or few: many near 0, near the steps of a staircase and
their copies one sensitivity on, few elsewhere [method: graded].

A law rounded to the kept nodes is rounded more coarsely than to all, and a test function that is linear between kept
nodes is one on the whole lattice: multipliers found on the mesh are audited on the lattice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..loss import UNIT
from .lattice import Array, Ints, Lattice, Tests
from .polygons import sums_at

BEYOND = 1.3
"""Nodes are graded up to this multiple of the outermost step's distance."""


@dataclass(frozen=True)
class Grading:
    """How the nodes thin out.

    coarse : a power of 2, lattice steps between nodes where they are farthest apart.   steps : places, in sensitivities
    from the origin, near which, and near their copies by whole sensitivities, nodes are close together: those d away
    are about d/slope apart; none: all nodes are kept.   reach : as far as that, in sensitivities from the origin;
    further out there is hardly any mass.   finest : where it is given, the steps themselves are nodes, the nearest ones
    so many lattice steps away, and `coarse` is a power of 2 times that.
    """

    coarse: int
    steps: tuple[float, ...] = ()
    slope: float = 1.0
    reach: float = 0.0
    finest: int = 0

    def nodes(self, k: int, first: int, last: int) -> Ints:
        """Nodes of a lattice with k steps per sensitivity that are kept, between two that are: multiples of their
        spacing, all powers of 2 up to `coarse` next to the steps among them, for which the shifts that fall short of
        the sensitivity ask."""
        i, kept = np.arange(first, last + 1), np.zeros(k, dtype=bool)
        if not self.steps:
            return i
        if self.finest:
            away = self._away(k)
            for step in self.steps:
                kept[(round(step * k) + away) % k] = True
        else:
            kept[self._outwards(k, 1)] = kept[-self._outwards(k, -1)] = True
        graded = kept[i % k] & (np.abs(i) <= self.reach * k)
        nodes: Ints = i[graded | (i % self.coarse == 0) | (i == first) | (i == last)]
        return nodes

    def _away(self, k: int) -> Ints:
        """Distances of nodes from a step that is one, either sign."""
        out, x = [0], 0
        while x <= min(2 * self.slope * self.coarse, 0.5 * k):
            spacing = self.finest
            while 2 * spacing <= min(self.coarse, x / self.slope):
                spacing *= 2
            x += spacing
            out += [-x, x]
        return np.array(out)

    def _outwards(self, k: int, side: int) -> Ints:
        """Distances of the nodes from a whole number of sensitivities, on one side, up to half of one."""
        out, x, outermost = [], 0, max(0.0, *(side * step for step in self.steps))
        while x <= min(max(self.coarse, BEYOND * outermost * k), 0.5 * k):
            near = min(abs((side * x - step * k + 0.5 * k) % k - 0.5 * k) for step in self.steps)
            spacing = 1
            while 2 * spacing <= min(self.coarse, near / self.slope):
                spacing *= 2
            out.append(x)
            x = (x // spacing + 1) * spacing
        return np.array(out)


@dataclass(frozen=True)
class Mesh(Lattice):
    """A lattice that keeps `nodes`, and of the shifts, either sign, those that are whole numbers of `coarse` steps, or
    1, 2, 4, … steps short of the sensitivity; of labels at the ends of cells (edge 1), the sensitivity, those a whole
    number of `coarse` steps less 1, or 1, 3, 7, … short of it.

    A test function of shift j is linear between those nodes i whose cover i − j is a node too, or beyond an end of the
    support, so that the kinks of it and of its shifted copy are nodes. A pair is one hat function: its event is the
    number of the hat, its cover −1.
    """

    nodes: tuple[int, ...] = (0,)
    coarse: int = 1
    finest: int = 1

    @classmethod
    def of(cls, lattice: Lattice, grading: Grading) -> Self:
        """The nodes of `lattice`, `grading.coarse` new steps to each of its own, and those that the grading keeps."""
        coarse = grading.coarse
        first, last = lattice.first - 2 * lattice.open_left, lattice.last + 2 * lattice.open_right
        k, first, event_first = (coarse * i for i in (lattice.k, first, lattice.event_first))
        last, event_last = (coarse * (i + lattice.edge) - lattice.edge for i in (last, lattice.event_last))
        near = tuple((coarse * a, coarse * b) for a, b in lattice.near)
        bare = cls(k, first, last, event_first, event_last, lattice.folded, lattice.edge, near, coarse=coarse)
        bare = replace(bare, finest=max(1, grading.finest))
        return replace(bare, nodes=tuple(grading.nodes(bare.k, bare.first, bare.last).tolist()))

    # Geometry ------------------------------------------------------------------------------------------

    @property
    def cells(self) -> int:
        return self.k // self.coarse

    @cached_property
    def indices(self) -> Ints:
        return np.array(self.nodes)

    @cached_property
    def _kept(self) -> Ints:
        """One node of every class."""
        return self.indices[self.indices >= 0] if self.folded else self.indices

    @property
    def classes(self) -> int:
        return len(self._kept)

    def classify(self, i: Ints) -> Ints:
        return np.searchsorted(self._kept, np.abs(i) if self.folded else i)

    @property
    def representatives(self) -> Ints:
        return len(self.indices) - self.classes + np.arange(self.classes)

    @cached_property
    def shifts(self) -> Ints:
        if self.edge:
            short = self.k + 1 - 2 ** np.arange(1, self.coarse.bit_length())
            positive = np.union1d(np.arange(self.k - 1, 0, -self.coarse), np.append(short, self.k))
        else:
            short = self.k - self.finest * 2 ** np.arange((self.coarse // self.finest).bit_length() - 1)
            positive = np.union1d(np.arange(self.coarse, self.k + 1, self.coarse), short)
        return positive if self.folded else np.concatenate([-positive[::-1], positive])

    @cached_property
    def fineness(self) -> Array:
        fineness: Array = self.k / np.gradient(self.indices.astype(float))
        return fineness

    def locate(self, x: Array) -> Ints:
        middles = 0.5 * (self.indices[1:] + self.indices[:-1])
        return np.searchsorted(middles, x * self.k - 0.5 * self.edge, side="right")

    # Pairs ---------------------------------------------------------------------------------------------

    @cached_property
    def tests(self) -> Tests:
        column = self.classify(self.indices)
        numbers, entries = [], []
        total = 0
        for j in self.shifts.tolist():
            kinks, used = self._kinks(j)
            if not used.any():
                continue
            number = np.full(len(kinks), -1)
            number[used] = total + np.arange(used.sum())
            total += int(used.sum())
            numbers.append((np.full(int(used.sum()), j), kinks[used]))
            for at, covers in ((self.indices, False), (self.indices + j, True)):
                left = np.clip(np.searchsorted(kinks, at, side="right") - 1, 0, len(kinks) - 2)
                share = (at - kinks[left]) / (kinks[left + 1] - kinks[left])
                inside = (at >= kinks[0]) & (at <= kinks[-1])
                for hat, value in ((number[left], 1 - share), (number[left + 1], share)):
                    use = inside & (hat >= 0) & (value > 0)
                    entries.append((hat[use], column[use], np.full(int(use.sum()), covers), value[use]))
        hat, column, covering, value = (np.concatenate(v) for v in zip(*entries))
        keys, index = np.unique(hat * self.classes + column, return_inverse=True)
        event, cover = (sums_at(index, value * mine, len(keys)) for mine in (~covering, covering))
        shift, place = (np.concatenate(v) for v in zip(*numbers))
        return Tests(shift, place, keys // self.classes, keys % self.classes, event, cover)

    def _kinks(self, shift: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Nodes where test functions of a shift may bend, and at which of them they need not vanish."""
        covers, (a_node, an_event) = self.indices - shift, self._marked
        left, right = covers < self.first, covers > self.last
        beyond = left & (not self.open_left) | right & (not self.open_right)
        kinks = self.indices[beyond | ~(left | right) & a_node[np.clip(covers, self.first, self.last) - self.first]]
        used = an_event[kinks - self.first] & (len(kinks) > 1)
        if len(kinks):
            used[0] &= kinks[0] == self.first and not self.open_left
            used[-1] &= kinks[-1] == self.last and not self.open_right
        return kinks, used

    @cached_property
    def _marked(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which indices from first to last are nodes, and which are events."""
        everywhere = np.zeros((2, self.last - self.first + 1), dtype=bool)
        everywhere[0, self.indices - self.first] = everywhere[1, self.events - self.first] = True
        return everywhere[0], everywhere[1]

    def moves(self, shift: int) -> tuple[Ints, Array]:
        """The whole lattice's shifts that one stands for, and their weights, which add up to 1."""
        return np.array([shift]), np.ones(1)

    def bare(self, shift: int) -> Ints:
        return self.indices[:0]  # hats without a cover are pairs like the others

    @property
    def names(self) -> int:
        return len(self.tests.shift)

    def events_at(self, shift: int) -> Ints:
        events: Ints = self.tests.place[self.tests.shift == shift]
        return events

    def pairs(self, shift: int, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        events = np.flatnonzero(self.tests.shift == shift)[chosen]
        return events, np.full(len(events), -1)

    def terms(self, event: Ints, cover: Ints) -> list[tuple[Ints, Ints]]:
        return [(self.tests.shift[event], self.tests.place[event])]

    def rows(self, event: Ints, cover: Ints, amplification: Array) -> tuple[Ints, Ints, Array]:
        hats = self.tests
        first, last = np.searchsorted(hats.test, event), np.searchsorted(hats.test, event, side="right")
        widths = last - first
        starts = np.cumsum(widths) - widths
        mine = np.arange(widths.sum()) + np.repeat(first - starts, widths)
        values = hats.event[mine] - np.repeat(amplification, widths) * hats.cover[mine]
        return starts, hats.column[mine], values

    def sizes(self, event: Ints, reference: Array) -> Array:
        hats = self.tests
        return sums_at(hats.test, hats.event * reference[hats.column], self.names)[event]

    # Shortfalls ----------------------------------------------------------------------------------------

    def masses(self, density: Array) -> Array:
        return density / self.fineness

    def _balance(self, r: Array, amplification: float) -> Array:
        """Every hat's mean under the law, given per index, less e^ε times that of its shifted copy."""
        event, cover = self.tests.means(r[self.representatives])
        return event - amplification * cover

    def excess(self, r: Array, shift: int, amplification: float) -> Array:
        return next(self.excesses(r, np.array([shift]), amplification))

    def excesses(self, r: Array, shifts: Ints, amplification: float) -> Iterator[Array]:
        return self._by_shift(self._balance(r, amplification), shifts)

    def _by_shift(self, values: Array, shifts: Ints) -> Iterator[Array]:
        """A test function's value each, of every one of these shifts."""
        first, last = (np.searchsorted(self.tests.shift, shifts, side=side) for side in ("left", "right"))
        return (values[i:j] for i, j in zip(first.tolist(), last.tolist()))

    def shortfalls(self, r: Array, amplification: float) -> Array:
        positive = np.maximum(self._balance(r, amplification), 0.0)
        return sums_at(np.searchsorted(self.shifts, self.tests.shift), positive, len(self.shifts))

    # The whole lattice ---------------------------------------------------------------------------------

    def spread(self, shifts: Ints, events: Ints, weights: Array) -> tuple[Ints, Ints, Array]:
        everywhere = np.arange(self.first, self.last + 1)
        out = []
        for j in np.unique(shifts).tolist():
            mine, (kinks, _) = shifts == j, self._kinks(j)
            heights = np.zeros(len(kinks))
            heights[np.searchsorted(kinks, events[mine])] = weights[mine]
            heights = np.interp(everywhere, kinks, heights, left=0.0, right=0.0)
            used = heights > 0
            for move, weight in zip(*self.moves(j)):
                out.append((np.full(int(used.sum()), move), everywhere[used], weight * heights[used]))
        if not out:
            return shifts, events, weights
        shifts, events, weights = (np.concatenate(v) for v in zip(*out))
        return shifts, events, weights

    def everywhere(self, values: Array) -> Array:
        between = np.interp(np.arange(self.first, self.last + 1), self.indices, values)
        lost: float = 16 * UNIT * np.abs(values).max()
        return between - lost  # a difference, a quotient, a product and a sum
