"""One linear program for all privacy rows; slacks enter where a solution violates them [Thm 4].

    minimise c·x  subject to  Σ_{t ∈ r} max(0, a_t·x − f_t b_t·x) + u_r·x ≤ δ_r  for every limit r, and other rows.

A slack s_t stands for one term: s_t ≥ a_t·x − f_t b_t·x, s_t ≥ 0. Limits and slacks enter one by one, so every program
along the way is a relaxation and its multipliers prove a lower bound (`referee`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..lp import INFINITY, LinearProgram

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

KEEP = 0.02
"""Terms whose violation is below this share of their limit's largest wait for a later round."""

TIE = 0.98
"""A term of a coarser solution enters a finer program when its event reaches this share of its covered mass."""

LOOSER = 10.0
"""A tolerance with which a program seems unbounded is multiplied by this."""


@dataclass(frozen=True)
class Rows:
    """Terms max(0, a_t·x − f_t b_t·x) of limits, m of them.

    starts, columns, values : the entries of a_t − f_t b_t, term after term; a weight of a term is part of them.
    sizes : (m,) about how large the terms are.
    owners, limits : (entries,) term owners[e], a position, counts `counts[e]` times towards limit limits[e], a name.
    most : the largest value of every term's slack; 0 for a row a_t·x ≤ f_t b_t·x of its own.
    """

    starts: Ints
    columns: Ints
    values: Array
    sizes: Array
    owners: Ints
    limits: Ints
    most: Array | float = INFINITY
    counts: Array | float = 1.0


@dataclass(frozen=True)
class Uncovered:
    """What counts towards limits without a slack: Σ values·x over columns; entry e belongs to limit owners[e], a
    position, in ascending order."""

    owners: Ints
    columns: Ints
    values: Array


class PrivacyProgram:
    """The growing program. Its columns are x/scaling, so that they are of size 1, then the slacks.

    rows_of : the terms with the given names.   units : per name of a limit, what its row is divided by.
    scaling : per column of x.   `lp` takes these columns and all other rows from whoever owns the program.
    """

    def __init__(
        self, rows_of: Callable[[Ints], Rows], units: Array, scaling: Array, *, tolerance: float = 1e-9
    ) -> None:
        self.lp = LinearProgram(tolerance=tolerance, perturbed=False)
        self.units, self.scaling = units, scaling
        self.limit_rows = np.full(len(units), -1, dtype=np.int64)
        self.names = np.empty(0, dtype=np.int64)
        self._rows_of = rows_of
        self._sizes = np.empty(0)
        self.slack_rows, self.slacks = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self._owners, self._limits = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        self._counts = np.empty(0)

    def add_limits(self, names: Ints, most: Array, uncovered: Uncovered) -> None:
        """Rows of limits that are not yet there, with the slacks that are."""
        count, position = np.arange(len(names)), np.full(len(self.units), -1)
        if not len(names):
            return
        position[names], self.limit_rows[names] = count, self.lp.rows + count
        mine = np.flatnonzero(position[self._limits] >= 0)
        slacks, limits = self._owners[mine], position[self._limits[mine]]
        owners = np.concatenate([uncovered.owners, limits])
        columns = np.concatenate([uncovered.columns, self.slacks[slacks]])
        counted = self._sizes[slacks] * self._counts[mine]
        values = np.concatenate([uncovered.values * self.scaling[uncovered.columns], counted])
        order = np.argsort(owners, kind="stable")
        self.lp.add_rows(
            -INFINITY,
            most / self.units[names],
            starts=np.searchsorted(owners[order], count),
            columns=columns[order],
            values=(values / self.units[names[owners]])[order],
        )

    def add_terms(self, *groups: Ints, most: float = math.inf) -> int:
        """Slacks, with their rows, for the terms that are not yet there, group after group, by name in each; how many
        are new. Groups that would begin with more than `most` terms in the program are left out."""
        names = np.concatenate(groups) if groups else self.names[:0]
        group = np.repeat(np.arange(len(groups)), [len(one) for one in groups])
        order = np.lexsort((names, group))
        names, group = names[order], group[order]
        first = np.sort(np.unique(names, return_index=True)[1])
        first = first[~np.isin(names[first], self.names, assume_unique=True)]
        names, group = names[first], group[first]
        names = names[len(self.names) + np.searchsorted(group, group) <= most]
        if not len(names):
            return 0
        rows, count = self._rows_of(names), np.arange(len(names))
        slacks = self.lp.columns + count
        at = self.limit_rows[rows.limits]
        there = np.flatnonzero(at >= 0)
        there = there[np.argsort(rows.owners[there], kind="stable")]
        owners, limits = rows.owners[there], rows.limits[there]
        counts = np.broadcast_to(rows.counts, len(rows.owners))
        self.lp.add_columns(
            np.zeros(len(names)),
            0.0,
            rows.most,
            starts=np.searchsorted(owners, count),
            rows=at[there],
            values=rows.sizes[owners] * counts[there] / self.units[limits],
        )
        self.slack_rows = np.concatenate([self.slack_rows, self.lp.rows + count])
        widths, ends = np.diff(rows.starts, append=len(rows.columns)), np.append(rows.starts[1:], len(rows.columns))
        values = rows.values * self.scaling[rows.columns] / np.repeat(rows.sizes, widths)
        self.lp.add_rows(
            -INFINITY,
            0.0,
            starts=rows.starts + count,
            columns=np.insert(rows.columns, ends, slacks),
            values=np.insert(values, ends, -1.0),
        )
        self._owners = np.concatenate([self._owners, len(self.names) + rows.owners])
        self._limits = np.concatenate([self._limits, rows.limits])
        self._counts = np.concatenate([self._counts, counts])
        self.names = np.concatenate([self.names, names])
        self._sizes = np.concatenate([self._sizes, rows.sizes])
        self.slacks = np.concatenate([self.slacks, slacks])
        return len(names)

    def run(self, deadline: float, stop: Callable[[], bool], *, interior: bool = False) -> str:
        """Solve, by the interior point method if asked: the status of `LinearProgram.run`, or "failed". A law costs no
        less than the least loss: "unbounded" is what too small a tolerance makes of steep programs."""
        try:
            status = (self.lp.run_interior if interior else self.lp.run)(deadline, stop)
            if status == "unbounded":
                self.lp.loosen(LOOSER)
                status = self.lp.run(deadline, stop)
        except SolverError:
            return "failed"
        return "failed" if status == "unbounded" else status

    def solution(self) -> Array:
        """x, at least 0; empty if the solver has nothing to show."""
        values, n = self.lp.primal(), len(self.scaling)
        return np.maximum(values[:n], 0.0) * self.scaling if len(values) == self.lp.columns else values[:0]

    def multipliers(self, duals: Array, scale: float) -> tuple[Array, Array]:
        """(of the limits, per name; of the terms, in the order of `names`) for an objective counted in `scale`, each
        at least 0; 0 for limits that are not there. duals : of all rows."""
        rates = np.maximum(0.0, -np.append(duals, 0.0)[self.limit_rows]) * scale / self.units
        return rates, np.maximum(0.0, -duals[self.slack_rows]) * scale / self._sizes
