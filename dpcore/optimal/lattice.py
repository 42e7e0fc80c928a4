"""The integer geometry of a lattice program: indices, classes of mirror images, shifts, shortfalls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Lattice:
    """Integer geometry of a program, in lattice steps (k per sensitivity).

    first, last : indices that may carry mass.   event_first, event_last : indices that may be in an event.
    folded : unknowns are classes of mirror images i ↔ −i − edge.   edge : 1 when 0 is a cell edge (upper bounds
    on the offset lattice), else 0.   reach : events lie within so many steps of a whole number of sensitivities (None:
    anywhere), where a nearly staircase-like optimum has its steps; any choice of events proves a lower bound.
    """

    k: int
    first: int
    last: int
    event_first: int
    event_last: int
    folded: bool
    edge: int = 0
    reach: int | None = None

    @cached_property
    def events(self) -> Ints:
        """Indices that may be in an event."""
        everywhere = np.arange(self.event_first, self.event_last + 1)
        if self.reach is None:
            return everywhere
        off = (everywhere + self.reach) % self.k
        return everywhere[off <= 2 * self.reach]

    @property
    def indices(self) -> Ints:
        return np.arange(self.first, self.last + 1)

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

    def excess(self, r: Array, shift: int, amplification: float) -> Array:
        """r_i − E r_{i−shift} for every event index i; `r` is per index; outside the lattice r = 0."""
        cover = self.events - shift - self.first
        inside = (cover >= 0) & (cover < len(r))
        covering = np.where(inside, r[np.clip(cover, 0, len(r) - 1)], 0.0)
        return r[self.events - self.first] - amplification * covering

    def shortfalls(self, r: Array, amplification: float) -> Array:
        """Σ_i max(0, r_i − E r_{i−j}) for every shift j in `shifts`."""
        n = len(r)
        padded = np.zeros(n + 2 * self.k)
        padded[self.k : self.k + n] = r
        here, covered = r[self.events - self.first], amplification * padded
        at = self.events - self.first + self.k
        out = np.empty(len(self.shifts))
        for t, j in enumerate(self.shifts.tolist()):
            z = here - covered[at - j]
            out[t] = z[z > 0].sum()
        return out
