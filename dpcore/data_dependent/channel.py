"""The releasing object: which law of the release belongs to which true value, in whole numbers.

The range is cut into K equal cells. A true value f is known by its cell alone, but for one thing: with the
probability of the *atom* f itself is released. Otherwise the release is the middle of some cell b (or, for `spread`
channels, a uniform point of it), with a probability that depends on the cell of f. Two values within the sensitivity
lie at most `reach` cells apart, so finitely many pairs of laws decide about the privacy of all pairs of real values
[docs/data_dependent.md, Thm 2].
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import decimal, real
from ..loss import Loss
from ..noise.ladder import chosen
from ..noise.whole import TOTAL

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SUBDIVISIONS = 1 << 20
"""Points per cell of a spread release."""


def _margin(query_range: tuple[float, float], sensitivity: Fraction) -> Fraction:
    """What `reach` cells are longer than the sensitivity: more than the last digits of a query's floats, whose
    difference may be the sensitivity as binary numbers and a little more as decimals."""
    return sensitivity / 2**36 + 8 * Fraction(math.ulp(max(map(abs, query_range))))


@dataclass(frozen=True)
class Grid:
    """Cells of the query range and the laws they share.

    query_range, sensitivity : as in the problem.
    cells : K.   reach : values within the sensitivity lie at most so many cells apart.
    breaks : whole numbers 0 = b₀ < … < b_G = K; cells b_g … b_{g+1} − 1 share law g.

    A range longer than the sensitivity has reach = k cells per sensitivity and step D/k and a trifle (cells may
    stick out at both ends of the range alike); in a shorter one every pair counts, reach = K and the step is (range)/K.
    """

    query_range: tuple[float, float]
    sensitivity: float
    cells: int
    reach: int
    breaks: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.cells < 1 or self.reach < 1 or self.breaks[0] != 0 or self.breaks[-1] != self.cells:
            raise ValueError("breaks must go from 0 to the number of cells")
        if any(a >= b for a, b in zip(self.breaks, self.breaks[1:])):
            raise ValueError("breaks must increase")
        spare = self.cells * self.step - self.width
        if not 0 <= spare < 2 * self.step:
            raise ValueError("the cells must cover the range, each of them a part of it")
        if self.step * self.reach < min(decimal(self.sensitivity), self.width):
            raise ValueError("the reach must cover the sensitivity")

    @classmethod
    def make(
        cls, query_range: tuple[float, float], sensitivity: float, resolution: int, breaks: tuple[int, ...] = ()
    ) -> Grid:
        """`resolution` cells per sensitivity, or in a range no longer than that, `resolution` cells."""
        width, D = decimal(query_range[1]) - decimal(query_range[0]), decimal(sensitivity)
        whole = D if breaks else D + _margin(query_range, D)
        cells = resolution if width <= D else math.ceil(width * resolution / whole)
        return cls(query_range, sensitivity, cells, resolution, breaks or tuple(range(cells + 1)))

    @cached_property
    def width(self) -> Fraction:
        """Length of the range."""
        return decimal(self.query_range[1]) - decimal(self.query_range[0])

    @cached_property
    def step(self) -> Fraction:
        """Length of a cell."""
        D = decimal(self.sensitivity)
        if self.width <= D:
            return self.width / self.cells
        return (D if self.tied else D + _margin(self.query_range, D)) / self.reach

    @cached_property
    def tied(self) -> bool:
        """Some cells share a law: the ends of the laws' intervals are given, so cells have exact lengths."""
        return self.laws < self.cells

    @cached_property
    def first(self) -> Fraction:
        """Left end of the first cell, from the low end of the range; never positive."""
        return (self.width - self.cells * self.step) / 2

    @property
    def laws(self) -> int:
        return len(self.breaks) - 1

    @cached_property
    def law_of_cell(self) -> Ints:
        return np.repeat(np.arange(self.laws), np.diff(self.breaks))

    @cached_property
    def edges(self) -> list[Fraction]:
        """Ends of the cells inside the range, (K + 1,), from the low end."""
        ends = [self.first + i * self.step for i in range(self.cells + 1)]
        return [Fraction(0), *ends[1:-1], self.width]

    @cached_property
    def middles(self) -> list[Fraction]:
        """The points of release, (K,), from the low end: the middles of the cells' parts inside the range, but for the
        trifle by which cells are longer than D/k, so that they are round numbers."""
        plain = min(self.step, decimal(self.sensitivity) / self.reach)
        first = (self.width - self.cells * plain) / 2
        inner = [first + i * plain for i in range(1, self.cells)]
        edges = [Fraction(0), *inner, self.width]
        return [(a + b) / 2 for a, b in zip(edges, edges[1:])]

    @cached_property
    def points(self) -> Array:
        """`middles` in the query's unit; increasing, so that a release gives its cell away and nothing else."""
        low = decimal(self.query_range[0])
        return np.array([float(low + m) for m in self.middles])

    @cached_property
    def related(self) -> NDArray[np.bool_]:
        """Pairs of different laws that belong to two values within the sensitivity, (G, G)."""
        first, last = np.array(self.breaks[:-1]), np.array(self.breaks[1:]) - 1
        apart = np.maximum(first[None, :] - last[:, None], first[:, None] - last[None, :])
        near: NDArray[np.bool_] = (apart <= self.reach + self.tied) & ~np.eye(self.laws, dtype=bool)
        return near

    def cell_of(self, value: float | Fraction) -> int:
        """The cell of a true value; values outside the range count as its nearer end."""
        x = (value if isinstance(value, Fraction) else decimal(value)) - decimal(self.query_range[0])
        return cell_of(x, self.first, self.step, self.cells)


def cell_of(place: Fraction, first: Fraction, step: Fraction, cells: int) -> int:
    """The cell of a place, where the cells begin at `first`; beyond them the nearest one."""
    return min(max((place - first) // step, 0), cells - 1)


def part_of(left: Fraction, right: Fraction, parts: int) -> Fraction:
    """The middle of one of so many equal parts of an interval, all alike: the operating system's random source."""
    return left + (right - left) * Fraction(2 * secrets.randbelow(parts) + 1, 2 * parts)


@dataclass(frozen=True, eq=False)
class Channel:
    """One law of the release per true value.

    weights : int64 (G, K), of releasing the middle of cell b (or a uniform point of it: `spread`) under law g.
    atoms : int64 (G,), of releasing the true value itself. Every row of weights and its atom add up to 2^62.
    """

    grid: Grid
    weights: Ints
    atoms: Ints
    spread: bool = False
    name: str = "Optimal, data dependent"

    def __post_init__(self) -> None:
        if self.weights.shape != (self.grid.laws, self.grid.cells) or self.atoms.shape != (self.grid.laws,):
            raise ValueError("one row of weights and one atom per law")
        totals = [int(row.sum(dtype=object)) + int(atom) for row, atom in zip(self.weights, self.atoms)]
        if any(t != TOTAL for t in totals) or self.weights.min() < 0 or self.atoms.min() < 0:
            raise ValueError("weights must be non-negative and add up to 2^62")

    @classmethod
    def from_masses(cls, grid: Grid, masses: Array, atoms: Array, *, spread: bool = False) -> Channel:
        """The channel with these probabilities, (G, K) and (G,), each row normalised.

        The largest entry takes the rounding; in `spread` channels every entry is rounded down and the cells nearest to
        the law's own get one unit more, so that laws that fall away from it still do.
        """
        masses, atoms = (
            np.maximum(np.asarray(masses, dtype=float), 0.0),
            np.maximum(np.asarray(atoms, dtype=float), 0.0),
        )
        weights, own = np.zeros(masses.shape, dtype=np.int64), np.zeros(len(atoms), dtype=np.int64)
        for g, (line, atom) in enumerate(zip(masses.tolist(), atoms.tolist())):
            total = math.fsum([*line, atom]) * (1 + 2.0**-50)
            row = [int(m / total * TOTAL) for m in line]
            own[g] = int(atom / total * TOTAL)
            rest = TOTAL - sum(row) - int(own[g])
            if spread:
                nearest = sorted(range(len(row)), key=lambda b: abs(b - g))
                each, more = divmod(rest, len(row))
                row = [w + each for w in row]
                for b in nearest[:more]:
                    row[b] += 1
            else:
                row[int(np.argmax(masses[g]))] += rest
            weights[g] = row
        return cls(grid, weights, own, spread)

    @classmethod
    def constant(cls, grid: Grid) -> Channel:
        """The middle of the range whatever the true value: no information at all."""
        masses = np.zeros((grid.laws, grid.cells))
        masses[:, grid.cells // 2] += 0.5
        masses[:, (grid.cells - 1) // 2] += 0.5
        return cls.from_masses(grid, masses, np.zeros(grid.laws))

    @cached_property
    def masses(self) -> Array:
        """Probabilities, (G, K), each within a relative 2^−53."""
        return self.weights / float(TOTAL)

    @cached_property
    def atom_masses(self) -> Array:
        return self.atoms / float(TOTAL)

    @property
    def parameters(self) -> dict[str, float]:
        return {"laws": self.grid.laws, "points": self.grid.cells}

    def law_of(self, value: float | Fraction) -> int:
        """The law that a true value is released by."""
        return int(self.grid.law_of_cell[self.grid.cell_of(value)])

    def expected_loss(self, loss: Loss, values: ArrayLike) -> Array:
        """E c(release − f) for true values f in the range; in floating point, for drawings and tests."""
        f = np.atleast_1d(np.asarray(values, dtype=float))
        laws = np.array([self.law_of(v) for v in f.tolist()], dtype=int)
        if self.spread:
            edges = float(decimal(self.grid.query_range[0])) + np.array([float(e) for e in self.grid.edges])
            costs = loss.mean(edges[None, :-1] - f[:, None], edges[None, 1:] - f[:, None])
        else:
            costs = loss.value(self.grid.points[None, :] - f[:, None])
        means: Array = (self.masses[laws] * costs).sum(axis=1) + self.atom_masses[laws] * float(loss.value(0.0))
        return means

    @cached_property
    def _ladders(self) -> list[list[int]]:
        return [
            list(accumulate([int(atom), *row]))
            for atom, row in zip(self.atoms.tolist(), self.weights.tolist())
        ]  # fmt: skip

    def release(self, value: float) -> float:
        """One exact private release: whole numbers and the operating system's cryptographic source only.

        Values outside the range count as its nearer end, which costs no privacy. The sensitivity must bound the change
        of `value` as it is handed over, the query's own rounding included: cells have sharp ends.
        """
        value = real(value=value)
        ladder = self._ladders[self.law_of(value)]
        index = chosen(ladder)
        low, high = self.grid.query_range
        if index == 0:
            return min(max(value, low), high)
        if not self.spread:
            return float(self.grid.points[index - 1])
        return float(decimal(low) + part_of(self.grid.edges[index - 1], self.grid.edges[index], SUBDIVISIONS))
