"""Lattices that keep few of their nodes: many near 0, near the steps of a staircase and their copies one sensitivity
on, few elsewhere [method: graded].

A law rounded to the kept nodes is rounded more coarsely than to all, and a test function that is linear between kept
nodes is one on the whole lattice: multipliers found on the mesh are audited on the lattice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..loss import UNIT
from .lattice import Array, Ints, Lattice

BEYOND = 1.3
"""Nodes are graded up to this multiple of the outermost step's distance."""

PERIODS = 2
"""Nodes are graded around so many whole sensitivities on either side; further out there is hardly any mass."""


@dataclass(frozen=True)
class Grading:
    """How the nodes thin out.

    coarse : a power of 2, lattice steps between nodes where they are farthest apart.   steps : distances of a
    staircase's steps from 0, in sensitivities.   slope : nodes d from 0 and all of these are about d/slope apart.
    """

    coarse: int
    steps: tuple[float, ...]
    slope: float

    def offsets(self, k: int) -> Ints:
        """Distances of the nodes from 0, in lattice steps, k per sensitivity: multiples of their spacing, all powers
        of 2 up to `coarse` among them, for which the shifts that fall short of the sensitivity ask."""
        out, x = [], 0
        while x <= max(self.coarse, BEYOND * max(self.steps) * k):
            spacing, near = 1, min(x, *(abs(x - step * k) for step in self.steps))
            while 2 * spacing <= min(self.coarse, near / self.slope):
                spacing *= 2
            out.append(x)
            x = (x // spacing + 1) * spacing
        return np.array(out)


@dataclass(frozen=True)
class _Hats:
    """Test functions of all shifts, one after the other.

    shift, place : (hats,) their shift and the event where they are 1.
    hat, column, event, cover : (entries,) what hat number `hat` makes of a unit of mass at every index of class
    `column`: so much of it is in the event, so much covers.
    """

    shift: Ints
    place: Ints
    hat: Ints
    column: Ints
    event: Array
    cover: Array


@dataclass(frozen=True)
class Mesh(Lattice):
    """A folded lattice that keeps the nodes ±`nodes` (from 0 outwards) and the shifts that are whole numbers of
    `coarse` steps, or 1, 2, 4, … steps short of the sensitivity.

    A test function of shift j is linear between those nodes whose cover i − j is a node too, so that the kinks of it
    and of its shifted copy are nodes. A pair is one hat function: its event is the number of the hat, its cover −1.
    """

    nodes: tuple[int, ...] = (0,)
    coarse: int = 1

    @staticmethod
    def of(lattice: Lattice, grading: Grading, reach: float) -> Mesh:
        """Nodes within `reach` sensitivities graded, those of `lattice` kept; `grading.coarse` new steps to each."""
        coarse = grading.coarse
        k, last, event_last = (coarse * v for v in (lattice.k, lattice.last + 2, lattice.event_last))
        centres = k * np.arange(min(int(reach), PERIODS) + 1)
        offsets = grading.offsets(k)
        graded = np.abs(np.add.outer(centres, np.concatenate([offsets, -offsets])).ravel())
        nodes = np.union1d(np.arange(0, last + 1, coarse), graded[graded <= last])
        return Mesh(k, -last, last, -event_last, event_last, True, nodes=tuple(nodes.tolist()), coarse=coarse)

    # Geometry ------------------------------------------------------------------------------------------

    @property
    def cells(self) -> int:
        return self.k // self.coarse

    @cached_property
    def indices(self) -> Ints:
        return np.array([*(-i for i in self.nodes[:0:-1]), *self.nodes])

    @property
    def classes(self) -> int:
        return len(self.nodes)

    def classify(self, i: Ints) -> Ints:
        return np.searchsorted(self.nodes, np.abs(i))

    @property
    def representatives(self) -> Ints:
        return self.classes - 1 + np.arange(self.classes)

    @cached_property
    def shifts(self) -> Ints:
        short = self.k - 2 ** np.arange(self.coarse.bit_length() - 1)
        return np.union1d(np.arange(self.coarse, self.k + 1, self.coarse), short)

    @cached_property
    def fineness(self) -> Array:
        return self.k / np.gradient(self.indices.astype(float))

    def locate(self, x: Array) -> Ints:
        middles = 0.5 * (self.indices[1:] + self.indices[:-1])
        return np.searchsorted(middles, x * self.k, side="right")

    # Pairs ---------------------------------------------------------------------------------------------

    @cached_property
    def _hats(self) -> _Hats:
        column = self.classify(self.indices)
        numbers, entries = [], []
        total = 0
        for j in self.shifts.tolist():
            kinks, used = self._kinks(j)
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
        hat, column, covers, value = (np.concatenate(v) for v in zip(*entries))
        keys, index = np.unique(hat * self.classes + column, return_inverse=True)
        event, cover = (np.bincount(index, value * mine, len(keys)) for mine in (~covers, covers))
        shift, place = (np.concatenate(v) for v in zip(*numbers))
        return _Hats(shift, place, keys // self.classes, keys % self.classes, event, cover)

    def _kinks(self, shift: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Nodes where test functions of a shift may bend, and at which of them they need not vanish."""
        kinks = self.indices[np.isin(self.indices - shift, self.indices)]
        used = np.isin(kinks, self.events)
        used[[0, -1]] = False
        return kinks, used

    @property
    def names(self) -> int:
        return len(self._hats.shift)

    def events_at(self, shift: int) -> Ints:
        return self._hats.place[self._hats.shift == shift]

    def pairs(self, shift: int, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        events = np.flatnonzero(self._hats.shift == shift)[chosen]
        return events, np.full(len(events), -1)

    def terms(self, event: Ints, cover: Ints) -> list[tuple[Ints, Ints]]:
        return [(self._hats.shift[event], self._hats.place[event])]

    def rows(self, event: Ints, cover: Ints, amplification: float) -> tuple[Ints, Ints, Array]:
        hats = self._hats
        first, last = np.searchsorted(hats.hat, event), np.searchsorted(hats.hat, event, side="right")
        widths = last - first + 1
        starts = np.cumsum(widths) - widths
        mine = np.arange(widths.sum()) + np.repeat(first - starts, widths)
        mine[starts + widths - 1] = -1
        values = hats.event[mine] - amplification * hats.cover[mine]
        return starts, np.where(mine < 0, -1, hats.column[mine]), np.where(mine < 0, -1.0, values)

    def sizes(self, event: Ints, reference: Array) -> Array:
        hats = self._hats
        return np.bincount(hats.hat, hats.event * reference[hats.column], self.names)[event]

    # Shortfalls ----------------------------------------------------------------------------------------

    def masses(self, density: Array) -> Array:
        return density / self.fineness

    def _balance(self, r: Array, amplification: float) -> Array:
        """Every hat's mean under the law less e^ε times that of its shifted copy; `r` is per index."""
        hats = self._hats
        return np.bincount(
            hats.hat, (hats.event - amplification * hats.cover) * r[self.representatives][hats.column], self.names
        )

    def excess(self, r: Array, shift: int, amplification: float) -> Array:
        return self._balance(r, amplification)[self._hats.shift == shift]

    def shortfalls(self, r: Array, amplification: float) -> Array:
        positive = np.maximum(self._balance(r, amplification), 0.0)
        return np.bincount(np.searchsorted(self.shifts, self._hats.shift), positive, len(self.shifts))

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
            out.append((np.full(int(used.sum()), j), everywhere[used], heights[used]))
        if not out:
            return shifts, events, weights
        shifts, events, weights = (np.concatenate(v) for v in zip(*out))
        return shifts, events, weights

    def everywhere(self, values: Array) -> Array:
        between = np.interp(np.arange(self.first, self.last + 1), self.indices, values)
        return between - 16 * UNIT * np.abs(values).max()  # a difference, a quotient, a product and a sum
