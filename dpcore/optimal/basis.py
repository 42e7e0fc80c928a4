"""A solved program as nothing but which of its unknowns and rows count, to be solved again at another (ε, δ) by one
system of linear equations [method: atlas].

Of a vertex of a linear program everything follows from its basis: which classes carry mass, which shifts' limits hold
with equality, and for every pair (event, cover) whether its excess is positive (*full*), 0 because both sides are equal
(*tie*), or nothing. With e^ε and δ put in anew, the same square matrix gives the masses, and its transpose the
multipliers. Both are proposals that the audit and the referee judge: where the basis is not optimal any more, they may
be negative or too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .lattice import Array, Ints, Lattice


@dataclass(frozen=True)
class Basis:
    """Of a program with one pair (ε, δ).

    columns : classes that carry mass; the number of classes stands for the atom.   shifts : of limits that are met with
    equality, 0 where the atom is δ.
    full, ties : (2, m) pairs (event, cover) whose excess is positive, or held at 0.   loose : (2, m) pairs whose slack
    is basic and whose row is idle, of degenerate vertices.
    """

    lattice: Lattice
    atom: bool
    columns: Ints
    shifts: Ints
    full: Ints
    ties: Ints
    loose: Ints

    def _counts(self, pairs: Ints) -> Array:
        """How often pairs are terms of the limits. (pairs, limits)"""
        shifts = [shift[:, None] for shift, _ in self.lattice.terms(*pairs)]
        counts: Array = np.sum([(shift == self.shifts) & (shift != 0) for shift in shifts], axis=0, dtype=float)
        return counts

    @cached_property
    def _matrices(self) -> tuple[Array, Array]:
        """What the rows of the basis (mass, limits, ties) say of classes, the atom and loose slacks, as A + e^ε B.
        (rows, classes + atom + loose) each."""
        lat, limits = self.lattice, len(self.shifts)
        whole = lat.classes + self.atom
        plain, grown = np.zeros((2, 1 + limits + self.ties.shape[1], whole + self.loose.shape[1]))
        plain[0, : lat.classes] = lat.multiplicity
        plain[0, lat.classes : whole] = 1.0
        counts, rows = self._counts(self.full), slice(1, 1 + limits)
        np.add.at(plain[rows].T, self.full[0], counts)
        np.add.at(grown[rows].T, self.full[1], -counts)
        for row, shift in enumerate(self.shifts.tolist()):
            plain[1 + row, : lat.classes] += np.bincount(lat.classify(lat.bare(shift)), minlength=lat.classes)
        plain[rows, lat.classes : whole] = 1.0
        plain[rows, whole:] = self._counts(self.loose).T
        ties = 1 + limits + np.arange(self.ties.shape[1])
        plain[ties, self.ties[0]] += 1.0
        grown[ties, self.ties[1]] -= 1.0
        return plain, grown

    @property
    def _carrying(self) -> Ints:
        """The columns of the basis in `_matrices`."""
        whole = self.lattice.classes + self.atom
        return np.append(self.columns, whole + np.arange(self.loose.shape[1]))

    def _matrix(self, amplification: float) -> Array:
        plain, grown = (part[:, self._carrying] for part in self._matrices)
        return plain + amplification * grown

    def multipliers(self, costs: Array, amplification: float) -> tuple[Array, Ints, Ints, Array] | None:
        """(rates of `shifts`, events, covers, weights) of the pairs, all at least 0 and no weight above its rates; None
        where the equations have no solution. costs : (classes,) of one unit of mass at an index of the class, the atom
        costing nothing."""
        lat = self.lattice
        paid = np.zeros(lat.classes + self.atom + self.loose.shape[1])
        paid[: lat.classes] = costs * lat.multiplicity
        solved = _solved(self._matrix(amplification).T, paid[self._carrying])
        if solved is None:
            return None
        limits = len(self.shifts)
        rates = np.maximum(-solved[1 : 1 + limits], 0.0)
        weights = np.clip(-solved[1 + limits :], 0.0, self._counts(self.ties) @ rates)
        event, cover = np.concatenate([self.full, self.ties], axis=1)
        return rates, event, cover, np.concatenate([self._counts(self.full) @ rates, weights])

    def masses(self, amplification: float, delta: float) -> tuple[Array, float] | None:
        """(masses per class, atom), at least 0; None where the equations have no solution."""
        lat, carrying = self.lattice, self._carrying
        right = np.zeros(len(carrying))
        right[0], right[1 : 1 + len(self.shifts)] = 1.0, delta
        solved = _solved(self._matrix(amplification), right)
        if solved is None:
            return None
        out = np.zeros(lat.classes + 1 + self.loose.shape[1])
        out[carrying] = np.maximum(solved, 0.0)
        return out[: lat.classes], float(out[lat.classes]) if self.atom else 0.0


def _solved(matrix: Array, right: Array) -> Array | None:
    try:
        found = np.linalg.solve(matrix, right).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    return found if np.isfinite(found).all() else None
