"""The best law that is constant on given shells: a linear program with one slack per shell, cuts entering as needed.

For a density that falls outwards the part of shell i that is in the worst event is what lands beyond some edge m when
it is moved, so that its term is the largest of few linear ones:
    z_i ≥ P(i → beyond m) p_i − E Σ_{j > m} P(j → i) p_j  for every edge m,  Σ z_i + a ≤ δ,  p_i/v_i not increasing.
Edges enter where a solution violates them. What comes out is believed only after an audit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SolverError
from ..lp import INFINITY, SLICE, LinearProgram
from .geometry import log_volumes, shell_beyond
from .problem import Array, RadialLoss

Ints = NDArray[np.int64]

SPARE = 1e-6
"""The program keeps this share of δ back for its tolerances."""

ENOUGH = 1e-5
"""Rounds end when the violation is below this share of δ."""

SEEDED = 1
"""So many edges on either side of the worst one of a coarser law have cuts from the start."""

PART = 30_000
"""Pairs between two calls of `look`: about 0.1 s."""

FLOOR = 1e-13
"""Least reference mass of a shell."""


@dataclass
class Pairs:
    """Transitions outwards between shells of the same list of edges, in units of the sensitivity.

    source, target : (pairs,) shells i < j, row by row.   first : (n + 1,) where the pairs of a shell begin.
    beyond : (pairs,) P(i → beyond the inner edge of j).   back : (pairs,) P(j → i) = P(i → j) v_i/v_j.
    """

    source: Ints
    target: Ints
    first: Ints
    beyond: Array
    back: Array

    @classmethod
    def of(cls, dimension: int, edges: Array, look: Callable[[], object] = lambda: None) -> Pairs:
        n = len(edges) - 1
        stop = np.minimum(np.searchsorted(edges, edges[1:] + 1 - 1e-12, side="left"), n)
        # Edges i + 1 … stop − 1 are in reach of shell i, and one more stands for "outside" where nothing is left.
        counts = np.maximum(stop - np.arange(1, n + 1), 0)
        outside = (edges[1:] + 1 > edges[-1]) & (stop == n)
        counts = counts + outside
        first = np.concatenate([[0], np.cumsum(counts)])
        source = np.repeat(np.arange(n), counts)
        target = source + 1 + np.arange(first[-1]) - first[source]
        beyond = np.empty(first[-1])
        for low in range(0, len(source), PART):
            look()
            part = slice(low, low + PART)
            beyond[part] = shell_beyond(
                dimension, edges[source[part]], edges[source[part] + 1], edges[target[part]]
            )  # fmt: skip
        following = np.append(beyond[1:], 0.0)
        following[first[1:][counts > 0] - 1] = 0.0
        log_volume = log_volumes(dimension, edges)
        inside = target < n
        back = np.zeros(len(source))
        back[inside] = (beyond - following)[inside] * np.exp(
            np.minimum(log_volume[source[inside]] - log_volume[target[inside]], 0.0)
        )
        return cls(source, target, first, beyond, np.maximum(back, 0.0))


@dataclass
class Found:
    """masses : (n,) of the shells.   status : of the last run."""

    masses: Array
    atom: float
    status: str
    rounds: int


class ShellProgram:
    """The growing program of one list of edges.

    edges : (n + 1,) from 0, in units of the sensitivity.   reference : (n,) masses of a law of similar shape.
    look : called now and then while it is set up; what it raises ends that.
    """

    def __init__(
        self, dimension: int, edges: Array, loss: RadialLoss, amplification: float, delta: float, reference: Array,
        look: Callable[[], object] = lambda: None,
    ) -> None:  # fmt: skip
        self.dimension, self.edges, self.amplification, self.delta = dimension, edges, amplification, delta
        self.n = len(edges) - 1
        self.pairs = Pairs.of(dimension, edges, look)
        self.log_volume = log_volumes(dimension, edges)
        self.rho = np.maximum(reference / reference.sum(), FLOOR)
        costs = loss.mean(dimension, edges[:-1], edges[1:])
        self.scale = float(costs @ self.rho)
        self.lp = lp = LinearProgram(slice=SLICE // 15)  # cuts reach over many shells
        n, rho = self.n, self.rho
        most = 1 - SPARE
        lp.add_rows([1.0, -INFINITY], [1.0, most], starts=[0, 0], columns=[], values=[])
        lp.add_columns(rho * costs / self.scale, starts=np.arange(n), rows=np.zeros(n, dtype=int), values=rho)
        lp.add_columns(0.0, starts=[0], rows=[0, 1], values=[delta, 1.0])  # the atom, in δ
        self.z = n + 1 + np.arange(n)
        self.z_unit = np.full(n, delta / 10)
        lp.add_columns(np.zeros(n), starts=np.arange(n), rows=np.ones(n, dtype=int), values=self.z_unit / delta)
        # p_i/v_i − p_{i+1}/v_{i+1} ≥ 0, in units of the larger term
        inner, outer = np.log(rho[:-1]) - self.log_volume[:-1], np.log(rho[1:]) - self.log_volume[1:]
        top = np.maximum(inner, outer)
        values = np.stack([np.exp(inner - top), -np.exp(outer - top)], axis=1)
        columns = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
        lp.add_rows(
            np.zeros(n - 1), np.full(n - 1, INFINITY), starts=2 * np.arange(n - 1), columns=columns.ravel(),
            values=values.ravel(),
        )  # fmt: skip
        self.cuts = np.empty(0, dtype=np.int64)
        self._base = lp.rows

    def terms(self, masses: Array) -> Array:
        """(pairs,) the term of every shell and edge."""
        pairs = self.pairs
        part = pairs.back * np.append(masses, 0.0)[np.minimum(pairs.target, self.n)]
        total = np.concatenate([[0.0], np.cumsum(part[::-1])])[::-1]
        ends = pairs.first[pairs.source + 1]
        suffix = total[:-1] - total[ends]
        out: Array = pairs.beyond * masses[pairs.source] - self.amplification * suffix
        return out

    def worst(self, masses: Array) -> tuple[Ints, Array]:
        """(position of the largest term, the term) of every shell that has a positive one."""
        pairs, values = self.pairs, self.terms(masses)
        rows = np.flatnonzero(np.diff(pairs.first) > 0)
        top = np.maximum.reduceat(values, pairs.first[rows])
        best = np.full(self.n, -1)
        at = np.flatnonzero(values == np.repeat(top, np.diff(pairs.first)[rows]))
        best[pairs.source[at][::-1]] = at[::-1]
        chosen = best[rows]
        positive = top > 0
        return chosen[positive], top[positive]

    def add(self, positions: Ints) -> int:
        """Cuts that are not yet there."""
        new = np.setdiff1d(positions, self.cuts)
        pairs, starts, columns, values = self.pairs, [], [], []
        count = 0
        for at in new.tolist():
            i, end = int(pairs.source[at]), int(pairs.first[pairs.source[at] + 1])
            inside = np.arange(at, end)
            inside = inside[pairs.target[inside] < self.n]
            j = pairs.target[inside]
            size = pairs.beyond[at] * self.rho[i]
            unit = max(size, 1e-3 * self.z_unit[i])
            row = np.concatenate([[size], -self.amplification * pairs.back[inside] * self.rho[j], [-self.z_unit[i]]])
            starts.append(count)
            columns.append(np.concatenate([[i], j, [self.z[i]]]))
            values.append(row / unit)
            count += len(row)
        if len(new):
            self.lp.add_rows(
                np.full(len(new), -INFINITY), np.zeros(len(new)), starts=starts, columns=np.concatenate(columns),
                values=np.concatenate(values),
            )  # fmt: skip
            self.cuts = np.concatenate([self.cuts, new])
        return len(new)

    def seed(self, masses: Array) -> None:
        """Cuts at and next to the worst edges of a law."""
        positions, _ = self.worst(masses / masses.sum())
        first, end = self.pairs.first[self.pairs.source[positions]], self.pairs.first[self.pairs.source[positions] + 1]
        near = [np.clip(positions + k, first, end - 1) for k in range(-SEEDED, SEEDED + 1)]
        rows = np.flatnonzero(np.diff(self.pairs.first) > 0)
        self.add(np.unique(np.concatenate([*near, self.pairs.first[rows]])))

    def solve(self, deadline: float, stop: Callable[[], bool], rounds: int = 60) -> Found | None:
        """Rounds of solving and cutting."""
        found = None
        for round_ in range(rounds):
            try:
                status = self.lp.run(deadline, stop)
            except SolverError:
                return found
            if status != "optimal":
                if found is not None:
                    found.status = status
                return found
            x = self.lp.primal()
            masses, atom = np.maximum(x[: self.n], 0.0) * self.rho, max(0.0, float(x[self.n])) * self.delta
            positions, values = self.worst(masses)
            found = Found(masses, atom, status, round_ + 1)
            z = np.maximum(x[self.z], 0.0) * self.z_unit
            excess = values - z[self.pairs.source[positions]]
            total = values.sum() + atom
            if total <= self.delta * (1 + ENOUGH):
                return found
            wanted = positions[excess > ENOUGH * self.delta / self.n]
            if not self.add(wanted):
                return found
        return found

    def monotone(self, masses: Array) -> Array:
        """The masses with the density raised to what it is further out."""
        with np.errstate(divide="ignore"):
            height = np.log(masses) - self.log_volume
        raised = np.maximum.accumulate(height[::-1])[::-1]
        out: Array = np.exp(raised + self.log_volume)
        out *= masses.sum() / out.sum()
        return out
