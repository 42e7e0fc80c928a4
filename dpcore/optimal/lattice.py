"""The integer geometry of a lattice program: indices, classes of mirror images, shifts, shortfalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..kernels import faster
from . import lattice_terms, polygons

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDED = 1e-9
"""Added before a quotient is rounded down: whole numbers come out but for a few units of 2^−53."""

NOT_ZERO = 1e-300
"""What is divided by is at least this."""


@dataclass(frozen=True)
class Tests:
    """Test functions of all shifts, one after the other, those of a shift adding up to at most 1 everywhere: what of a
    law is in the event, and what covers it.

    shift, place : (tests,) their shift and the event where they are 1.
    test, column, event, cover : (entries,) what test number `test` makes of a unit of mass at every index of class
    `column`: so much of it is in the event, so much covers.
    """

    shift: Ints
    place: Ints
    test: Ints
    column: Ints
    event: Array
    cover: Array

    @property
    def count(self) -> int:
        return len(self.shift)

    @cached_property
    def begins(self) -> Ints:
        """Number of the first test of every shift."""
        return np.flatnonzero(np.append(True, self.shift[1:] != self.shift[:-1]))

    def by_shift(self) -> Ints:
        """Numbers of the tests, a row to each shift, filled up with `count`."""
        starts, sizes = self.begins, np.diff(self.begins, append=self.count)
        across = np.arange(sizes.max())
        numbers: Ints = np.where(across < sizes[:, None], starts[:, None] + across, self.count)
        return numbers

    def means(self, r: Array, shifts: Ints | None = None) -> tuple[Array, Array]:
        """Every test's mean under a law, given per index of every class, and its cover's; if `shifts` are given, of
        tests of other shifts than those with these numbers perhaps 0. (tests,) each."""
        entries = self.test, self.column, self.event, self.cover
        if shifts is not None and len(shifts) < len(self.begins) / 2:
            ends = np.append(self._starts[self.begins], len(self.test))
            chosen = np.concatenate([np.arange(0), *(np.arange(ends[j], ends[j + 1]) for j in shifts.tolist())])
            entries = tuple(x[chosen] for x in entries)
        found: tuple[Array, Array] = faster("polygons", polygons).means(*entries, r, self.count)
        return found

    def rows(self, tests: Ints, owners: Ints, count: int, classes: int) -> tuple[Array, Array]:
        """Coefficients of the sums of the tests that belong to each of `count` owners, and of those of their covers.
        (count, classes) each"""
        found: tuple[Array, Array] = faster("polygons", polygons).rows(
            self._starts, self.column, self.event, self.cover, tests, owners, count, classes
        )
        return found

    @cached_property
    def _starts(self) -> Ints:
        """Where the entries of every test begin, and where the last one's end."""
        return np.searchsorted(self.test, np.arange(self.count + 1))


@dataclass(frozen=True)
class Lattice:
    """Integer geometry of a program, in lattice steps (k per sensitivity).

    first, last : indices that may carry mass.   event_first, event_last : indices that may be in an event.
    folded : unknowns are classes of mirror images i ↔ −i − edge.   edge : 1 when 0 is a cell edge (upper bounds
    on the offset lattice), else 0.   near : events lie in one of these stretches (first, last), or whole sensitivities
    away from it (none: anywhere); any choice of events proves a lower bound.
    """

    k: int
    first: int
    last: int
    event_first: int
    event_last: int
    folded: bool
    edge: int = 0
    near: tuple[tuple[int, int], ...] = ()

    @cached_property
    def events(self) -> Ints:
        """Indices that may be in an event."""
        everywhere = self.indices[(self.indices >= self.event_first) & (self.indices <= self.event_last)]
        if not self.near:
            return everywhere
        stretches = ((everywhere - first) % self.k <= last - first for first, last in self.near)
        return everywhere[np.logical_or.reduce(list(stretches))]

    @cached_property
    def _event_positions(self) -> Ints:
        """Positions of the events in `indices`."""
        return self.events - self.first

    @property
    def open_left(self) -> bool:
        """The line goes on beyond the first index."""
        return self.event_first > self.first

    @property
    def open_right(self) -> bool:
        """The line goes on beyond the last index."""
        return self.event_last < self.last

    @property
    def cells(self) -> int:
        """Lattice steps per sensitivity, of the larger ones where they differ."""
        return self.k

    @property
    def indices(self) -> Ints:
        return np.arange(self.first, self.last + 1)

    @property
    def places(self) -> Array:
        """Where the indices are, in sensitivities from the origin."""
        return (self.indices + 0.5 * self.edge) / self.k

    @property
    def ends(self) -> Ints:
        """Where the cells around the indices begin and end, in half steps from the origin."""
        return 2 * np.arange(self.first, self.last + 2) - (1 - self.edge)

    @property
    def classes(self) -> int:
        return self.last + 1 if self.folded else self.last - self.first + 1

    def classify(self, i: Ints) -> Ints:
        """Class of every index."""
        return np.where(i >= 0, i, -i - self.edge) if self.folded else i - self.first

    @property
    def multiplicity(self) -> Array:
        """How many indices each class stands for."""
        out = np.full(self.classes, 2.0 if self.folded else 1.0)
        if self.folded and not self.edge:
            out[0] = 1.0
        return out

    @property
    def representatives(self) -> Ints:
        """Position in `indices` of one index per class."""
        return np.arange(self.classes) - (self.first if self.folded else 0)

    @property
    def shifts(self) -> Ints:
        positive = np.arange(1, self.k + 1)
        return positive if self.folded else np.concatenate([positive, -positive])

    def unfold(self, values: Array) -> Array:
        """Values per index from values per class."""
        return values[self.classify(self.indices)]

    def shares(self, values: Array) -> Array:
        """Mean of values per index over each class of mirror images, on which they agree."""
        return values[self.representatives]

    @property
    def fineness(self) -> Array | float:
        """Indices per sensitivity, around each."""
        return self.k

    def locate(self, x: Array) -> Ints:
        """Position in `indices` of the index nearest to places x, in sensitivities; beyond its ends where x is."""
        return np.floor(x * self.k + 0.5 * (1 - self.edge) + ROUNDED).astype(int) - self.first

    @cached_property
    def tests(self) -> Tests:
        """Every event of every shift as a test function."""
        shift, place = np.repeat(self.shifts, len(self.events)), np.tile(self.events, len(self.shifts))
        return self._tests_of(shift, place, np.ones(len(place)))

    def _tests_of(self, shift: Ints, place: Ints, size: Array) -> Tests:
        """Tests of `size` indices of one class each, that begin at a place, and their covers."""
        cover, number = place - shift, np.arange(len(place))
        inside = (cover >= self.first) & (cover <= self.last)
        column = self.classify(np.concatenate([place, cover[inside]]))
        event = np.concatenate([size, np.zeros(int(inside.sum()))])
        covers = np.concatenate([np.zeros(len(place)), size[inside]])
        test = np.concatenate([number, number[inside]])
        order = np.argsort(test, kind="stable")
        return Tests(shift, place, test[order], column[order], event[order], covers[order])

    def gathered(self, masses: Array) -> Array:
        """A law per index of the whole lattice as one on this, as private and nearly the same."""
        return masses

    # Unknowns ------------------------------------------------------------------------------------------

    def of_unknowns(self, unknowns: Array) -> Array:
        """Values per class that a program's unknowns stand for: themselves."""
        return unknowns

    def for_unknowns(self, coefficients: Array) -> Array:
        """Coefficients of unknowns for those of values per class, along the last axis."""
        return coefficients

    def unknowns_of(self, values: Array) -> Array:
        """Unknowns that stand for about these values per class."""
        return values

    # Pairs ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> int:
        """How many names there are for events and for covers."""
        return self.classes

    def events_at(self, shift: int) -> Ints:
        """Events of a shift."""
        return self.events

    def bare(self, shift: int) -> Ints:
        """Events of a shift without a cover."""
        covers = self.events - shift
        return self.events[(covers < self.first) | (covers > self.last)]

    def pairs(self, shift: int, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Names (event, cover) of the pairs of a shift at the chosen of its events, covers outside dropped."""
        events = self.events[chosen]
        covers = events - shift
        inside = (covers >= self.first) & (covers <= self.last)
        return self.classify(events[inside]), self.classify(covers[inside])

    def terms(self, event: Ints, cover: Ints) -> list[tuple[Ints, Ints]]:
        """(shift, event index) of the terms max(0, r_i − E r_{i−j}) of each pair, one or two; shift 0: none."""
        if not self.folded:
            return [(event - cover, event + self.first)]
        around = event + cover + self.edge
        if not self.edge:
            around = np.where((event == 0) | (cover == 0), 0, around)
        direct = np.where(event > cover, event, -event - self.edge)
        shifts = [np.where(j <= self.k, j, 0) for j in (np.abs(event - cover), around)]
        return [(shifts[0], direct), (shifts[1], event)]

    def counted(self, event: Ints, cover: Ints) -> tuple[Ints, Ints, Array | float]:
        """The terms as (position of the pair, shift, how many terms of the shift it is)."""
        each = [shift for shift, _ in self.terms(event, cover)]
        shifts, owners = np.concatenate(each), np.tile(np.arange(len(event)), len(each))
        return owners[shifts != 0], shifts[shifts != 0], 1.0

    def rows(self, event: Ints, cover: Ints, amplification: Array) -> tuple[Ints, Ints, Array]:
        """r_event − E r_cover of each pair as a row: where it starts, classes and coefficients, row after row."""
        classes = np.stack([event, cover], axis=1)
        values = np.stack([np.ones(len(event)), -amplification], axis=1)
        return 2 * np.arange(len(event)), classes.ravel(), values.ravel()

    def sizes(self, event: Ints, reference: Array) -> Array:
        """Mass of the pairs' events under a reference given per class."""
        return reference[event]

    # Shortfalls ----------------------------------------------------------------------------------------

    def masses(self, density: Array) -> Array:
        """Masses per index of a law with this density at every index, up to a factor."""
        return density

    def excess(self, r: Array, shift: int, amplification: float) -> Array:
        """r_i − E r_{i−shift} for every event index i; `r` is per index; outside the lattice r = 0."""
        found: Array = faster("lattice_terms", lattice_terms).excess(r, self._event_positions, shift, amplification)
        return found

    def excesses(self, r: Array, shifts: Ints, amplification: float) -> Iterator[Array]:
        """`excess` at each of the shifts."""
        return (self.excess(r, shift, amplification) for shift in shifts.tolist())

    def excesses_up_to(self, shifts: Ints, least: Array, most: Array, amplification: float) -> Iterator[Array]:
        """The largest `excess` at each of the shifts of laws between these two, given per index."""
        width, at = len(least), self._event_positions
        for shift in shifts.tolist():
            covers = at - shift
            inside = (covers >= 0) & (covers < width)
            yield most[at] - amplification * np.where(inside, least[np.clip(covers, 0, width - 1)], 0.0)

    def shortfalls(self, r: Array, amplification: float) -> Array:
        """Σ_i max(0, r_i − E r_{i−j}) for every shift j in `shifts`."""
        terms = faster("lattice_terms", lattice_terms)
        found: Array = terms.shortfalls(r, self._event_positions, self.shifts, amplification)
        return found

    # The whole lattice ---------------------------------------------------------------------------------

    def spread(self, shifts: Ints, events: Ints, weights: Array) -> tuple[Ints, Ints, Array]:
        """The multipliers of single terms on all nodes from first to last."""
        return shifts, events, weights

    def everywhere(self, values: Array) -> Array:
        """Values on all nodes from first to last whose interpolant lies below that of values per index."""
        return values
