"""The linear program of one bound: a channel on a grid, generated pair by pair [Thm 5].

Unknowns are Q[a, b], the probability that law a releases point b, and for upper bounds an atom per law. For every two
related laws a, a′ the shortfall atom_a + Σ_b max(0, Q_ab − E Q_a′b) must not exceed δ. A slack stands for one term of
such a row; rows and slacks enter when a solution violates them, so every program along the way is a relaxation and its
multipliers prove a lower bound. Mirror images Q[a, b] and Q[G−1−a, n−1−b] share one column where the problem allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..lp import INFINITY
from ..rows.program import KEEP, TIE, PrivacyProgram, Rows, Uncovered
from .referee import Multipliers

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTNERS = 4
"""Terms per entry that enter with a seed in any case."""

LARGE = 10_000
"""From so many slacks on the interior point method is faster, although it starts anew in every round."""

FEW = 1e-3
"""A round with less than this share of new slacks hardly raises a lower bound."""

FLOOR = 1e-3
"""Privacy rows are divided by δ or, if larger, by this."""


@dataclass(frozen=True)
class FurtherRows:
    """Further rows Σ values·(Q, atoms) ≤ limits: entry t belongs to row rows[t] and to the flat index columns[t] of
    Q (G·n entries) followed by the atoms (G)."""

    rows: Ints
    columns: Ints
    values: Array
    limits: Array

    @classmethod
    def none(cls) -> FurtherRows:
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, np.empty(0), np.empty(0))

    def multipliers(self, terms: tuple[Ints, Ints, Ints], weights: Array, rates: Array, entries: int) -> Multipliers:
        """Multipliers of terms (laws, others, points) and of these rows, for the referee, whose columns are the
        entries of Q alone."""
        own = self.columns < entries
        return Multipliers(
            *terms, weights, self.rows[own], self.columns[own], self.values[own], self.limits, rates
        )  # fmt: skip

    def joined(self, other: FurtherRows) -> FurtherRows:
        """Both sets of rows."""
        return FurtherRows(
            np.concatenate([self.rows, other.rows + len(self.limits)]),
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.limits, other.limits]),
        )


@dataclass(frozen=True)
class Outcome:
    """A solved program: the channel (rows normalised), multipliers, which pairs of laws mattered, how many slacks, how
    it ended; rates : (G, G) multipliers of the pairs' limits, where all of them are there."""

    masses: Array
    atoms: Array
    multipliers: Multipliers
    active: NDArray[np.bool_]
    pairs: int
    status: str
    rates: Array | None = None


@dataclass
class ChannelProgram:
    """The growing program of one bound.

    costs : (G, n).   related : (G, G) pairs of laws with a privacy row.   atom_costs : (G,) or None for no atoms.
    further : rows every admissible channel meets.   mirrored : fold mirror images.
    """

    costs: Array
    related: NDArray[np.bool_]
    amplification: float
    delta: float
    atom_costs: Array | None = None
    further: FurtherRows = field(default_factory=FurtherRows.none)
    mirrored: bool = False

    def __post_init__(self) -> None:
        laws, points = self.costs.shape
        self._laws, self._points = laws, points
        self._scale = max(float(self.costs.sum(axis=1).mean() / points), 1e-300)
        flat = np.arange(laws * points)
        kept = np.minimum(flat, flat[::-1]) if self.mirrored else flat
        self._column = np.unique(kept, return_inverse=True)[1]
        self._law_column = np.minimum(np.arange(laws), np.arange(laws)[::-1]) if self.mirrored else np.arange(laws)
        unknowns = int(self._column.max()) + 1
        self._atom = unknowns + self._law_column if self.atom_costs is not None else np.empty(0, dtype=np.int64)
        columns = unknowns + len(np.unique(self._atom))
        units = np.full(laws * laws, max(self.delta, FLOOR))
        self.rows = PrivacyProgram(self._rows_of, units, np.ones(columns))
        self.lp = self.rows.lp
        self._add_unknowns()
        self._add_further()

    # Growing -----------------------------------------------------------------------------------------

    def _add_unknowns(self) -> None:
        """One mass row per law (or pair of mirror images) and the columns of Q and of the atoms."""
        rows = int(self._law_column.max()) + 1
        self.lp.add_rows(np.ones(rows), np.ones(rows), starts=np.zeros(rows, dtype=int), columns=[], values=[])
        law = np.repeat(np.arange(self._laws), self._points)
        first = law < rows
        entries = np.unique(self._column[first] * rows + law[first], return_counts=True)
        count = int(self._column.max()) + 1
        self.lp.add_columns(
            np.bincount(self._column, self.costs.ravel()) / self._scale,
            starts=np.searchsorted(entries[0], np.arange(count) * rows),
            rows=entries[0] % rows,
            values=entries[1].astype(float),
        )
        if self.atom_costs is not None:
            costs = np.bincount(self._law_column, self.atom_costs) / self._scale
            self.lp.add_columns(
                costs, 0.0, self.delta, starts=np.arange(rows), rows=np.arange(rows), values=np.ones(rows)
            )

    def _add_further(self) -> None:
        """Further rows; of two mirror images the second adds nothing, but does no harm either."""
        self._further_row = self.lp.rows + np.arange(len(self.further.limits))
        if not len(self.further.limits):
            return
        every = np.concatenate([self._column, self._atom])
        width = int(every.max()) + 1
        keys, index = np.unique(self.further.rows * width + every[self.further.columns], return_inverse=True)
        values = np.bincount(index, self.further.values)
        starts = np.searchsorted(keys // width, np.arange(len(self.further.limits)))
        self.lp.add_rows(-INFINITY, self.further.limits, starts=starts, columns=keys % width, values=values)

    # A limit is named by its laws (a, a′), a term by its laws and point.

    def add_terms(self, laws: Ints, others: Ints, points: Ints) -> int:
        """Slacks, with their rows and limits, for terms (a, a′, b) not yet there; how many were new."""
        if self.mirrored:
            swap = laws * self._laws + others > (self._laws - 1 - laws) * self._laws + self._laws - 1 - others
            laws, others = (np.where(swap, self._laws - 1 - v, v) for v in (laws, others))
            points = np.where(swap, self._points - 1 - points, points)
        event, cover = self._column[laws * self._points + points], self._column[others * self._points + points]
        limits = (laws * self._laws + others)[event != cover]
        self._add_limits(np.unique(limits))
        return self.rows.add_terms(limits * self._points + points[event != cover])

    def _add_limits(self, names: Ints) -> None:
        """Rows Σ slacks + atom ≤ δ that are not yet there."""
        names = names[self.rows.limit_rows[names] < 0]
        atoms = self._atom[names // self._laws] if len(self._atom) else self._atom
        uncovered = Uncovered(np.arange(len(atoms)), atoms, np.ones(len(atoms)))
        self.rows.add_limits(names, np.full(len(names), self.delta), uncovered)

    def _terms(self, names: Ints) -> tuple[Ints, Ints, Ints]:
        """(laws, others, points) of terms."""
        limits, points = np.divmod(names, self._points)
        return *np.divmod(limits, self._laws), points

    def _rows_of(self, names: Ints) -> Rows:
        (laws, others, points), n = self._terms(names), len(names)
        columns = self._column[np.stack([laws, others], axis=1) * self._points + points[:, None]]
        values = np.tile([1.0, -self.amplification], n)
        limits = names // self._points
        return Rows(2 * np.arange(n), columns.ravel(), values, np.ones(n), np.arange(n), limits)

    def seed(self, events: Array, covers: Array, active: NDArray[np.bool_]) -> None:
        """Terms that nearly bind, in a channel like the one to be found, between laws of active rows; and for every
        entry its `PARTNERS` terms with the smallest covering entries, lest it look free where the coarse channel has no
        mass."""
        covering, terms = TIE * self.amplification * covers, []
        for a in range((self._laws + 1) // 2 if self.mirrored else self._laws):
            mates = np.flatnonzero(active[a] & self.related[a])
            mates = mates if len(mates) else np.flatnonzero(self.related[a])
            if not len(mates):
                continue
            tied = (events[a] >= covering[mates]) & (events[a] > 1e-9)
            far_first = covers[mates] - 1e-9 * np.abs(mates - a)[:, None]
            low = np.argsort(far_first, axis=0, kind="stable")[:PARTNERS]
            np.put_along_axis(tied, low, True, axis=0)
            at, points = np.nonzero(tied)
            terms.append((np.full(len(at), a), mates[at], points))
        if terms:
            self.add_terms(*(np.concatenate(parts) for parts in zip(*terms)))

    # Solving -----------------------------------------------------------------------------------------

    def solve(
        self, deadline: float, stop: Callable[[], bool], *, enough: float, gain: float = 0.0, rounds: int = 200
    ) -> Outcome | None:
        """Rounds of solving and adding violated terms, until no shortfall exceeds δ by more than the relative
        `enough`, or (for lower bounds, which every round proves) a round raises the value by less than the relative
        `gain`, or `FEW` slacks are missing.

        None: the solver had nothing to show in time.
        """
        outcome, value = None, -math.inf
        for _ in range(rounds):
            status = self.rows.run(deadline, stop, interior=len(self.rows.names) >= LARGE)
            if status in ("infeasible", "unbounded", "failed") or (status != "optimal" and outcome is not None):
                return outcome
            masses, atoms = self._channel()
            if masses is None:
                return outcome
            shortfalls = self._shortfalls(masses, atoms)
            outcome = Outcome(masses, atoms, self._multipliers(), self._active(), len(self.rows.names), status)
            violated = shortfalls > self.delta * (1 + enough) + 1e-9
            before, value = value, float((self.costs * masses).sum())
            if value <= before * (1 + gain) and gain:
                return outcome
            if status != "optimal" or not violated.any() or stop():
                return outcome
            added = self._add_violated(masses, violated, KEEP) or self._add_violated(masses, violated, 0.0)
            if not added or (gain and added < FEW * len(self.rows.names)):
                return outcome
        return outcome

    def _channel(self) -> tuple[Array | None, Array]:
        x = self.rows.solution()
        if not len(x):
            return None, np.empty(0)
        masses = x[self._column].reshape(self._laws, self._points)
        atoms = np.minimum(x[self._atom], self.delta) if len(self._atom) else np.zeros(self._laws)
        total = masses.sum(axis=1) + atoms
        if not (total > 0.5).all():
            return None, atoms
        return masses / total[:, None], atoms / total

    def _shortfalls(self, masses: Array, atoms: Array) -> Array:
        """(G, G), 0 between laws that are not related."""
        out, covering = np.zeros(self.related.shape), self.amplification * masses
        for a in range((self._laws + 1) // 2 if self.mirrored else self._laws):
            mates = np.flatnonzero(self.related[a])
            out[a, mates] = np.maximum(masses[a] - covering[mates], 0.0).sum(axis=1) + atoms[a]
        return out

    def _add_violated(self, masses: Array, violated: NDArray[np.bool_], share: float) -> int:
        laws, others = np.nonzero(violated)
        excess = masses[laws] - self.amplification * masses[others]
        at, points = np.nonzero(excess > share * excess.max(axis=1, keepdims=True))
        return self.add_terms(laws[at], others[at], points)

    def _multipliers(self) -> Multipliers:
        duals = self.lp.row_duals()
        weights = self.rows.multipliers(duals, self._scale)[1]
        rates = np.maximum(-duals[self._further_row], 0.0) * self._scale
        return self.further.multipliers(self._terms(self.rows.names), weights, rates, self.costs.size)

    def _active(self) -> NDArray[np.bool_]:
        """Pairs of laws whose row has a positive multiplier."""
        duals = np.append(self.lp.row_duals(), 0.0)
        active = (duals[self.rows.limit_rows] < -1e-12).reshape(self._laws, self._laws)
        return active | active[::-1, ::-1] if self.mirrored else active
