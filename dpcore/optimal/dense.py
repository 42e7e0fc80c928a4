"""Programs under a whole curve whose rows are kept here, one entry to every unknown [method: A whole profile].

Unknowns are masses in units of a reference, the law that a program begins with. What is left to ways of solving them:
where rows are looked for, and which point is next (`central`, `trust`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .curve import CurveProgram, Cut
from .lattice import Array, Ints
from .polygons import sums_at

PER_TEST = 2.0
"""What looking at a test once counts for, in entries of the rows of linear programs."""

LEAST_MASS = 1e-12
"""Least reference mass, relative to the largest, where points stay inside."""

AT_ONCE = 40
"""Shifts that are looked at in a round, about: neighbours have nearly the same rows."""


@dataclass
class DenseProgram(CurveProgram):
    """The same programs as `CurveProgram`.

    strict : (laws, n) masses of laws that are more private than asked, of which the first that is so on the lattice is
    mixed in.
    """

    floor: float = LEAST_MASS
    strict: tuple[Array, ...] = ()
    _rows: Array = field(init=False)

    def _set_up(self) -> None:
        lattice, shares = self.lattice, self.lattice.shares(self.inner)
        rho = lattice.unknowns_of(np.maximum(shares, self.floor * shares.max()))
        self._rho, self._mass = rho, lattice.for_unknowns(lattice.multiplicity) * rho
        shape = lattice.unfold(np.ones(self._classes))
        costs = sums_at(self._owners, self.costs * shape, self._classes)
        self._paid = lattice.for_unknowns(costs) * rho / self.scale
        self._rows = np.empty((0, len(rho)))

    def _unknowns(self) -> Array:
        """The best law, in units of the reference."""
        return self.lattice.unknowns_of(self.lattice.shares(self.inner)) / self._rho

    def _law_of(self, u: Array) -> Array:
        """The law of masses in units of the reference, per index."""
        shares = self.lattice.of_unknowns(u * self._rho)
        return self.lattice.unfold(shares / float(self.lattice.multiplicity @ shares))

    def _add(self, cuts: list[Cut]) -> None:
        if cuts:
            tests, owners, growth, limit = self._together(cuts)
            events, covers = self._tests.rows(tests, owners, len(cuts), self._classes)
            rows = self.lattice.for_unknowns(events - growth[:, None] * covers) * (self._rho / limit[:, None])
            self._rows = np.concatenate([self._rows, rows])
            self.cuts += cuts

    def _strict_law(self) -> Array | None:
        """The first strict law that is private on the lattice."""
        for masses in self.strict:
            law = self._levelled(masses / masses.sum())
            if not self.outside(law):
                return law
        return None

    def _some(self, shifts: Ints, number: int) -> Ints:
        """Every so manyth of these shifts, with each number others, and those by the whole sensitivity."""
        every = -(-len(shifts) // AT_ONCE)
        whole = np.abs(self._tests.shift[self._tests.begins[shifts]]) == self.lattice.k
        return np.union1d(shifts[number % every :: every], shifts[whole]) if every else shifts

    # What multipliers prove ----------------------------------------------------------------------------

    def _worth(self, kept: Ints, rates: Array) -> float:
        """What multipliers of some rows prove, but for rounding, in units of the scale [Thm 3]."""
        excess = (self._paid + self._rows[kept].T @ rates[kept]) / self._mass
        return float(excess.min() - rates[kept].sum())

    def _hold(self, kept: Ints, rates: Array) -> None:
        """The multipliers of some rows as the proof."""
        self.rates = [(self.cuts[i], float(rates[i]) * self.scale) for i in kept.tolist()]
        self._proofs = [(self.lower, self.rates)]
