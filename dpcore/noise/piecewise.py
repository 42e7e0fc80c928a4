"""Piecewise constant noise on an integer geometry: the laws the solver makes.

Breaks are whole numbers of a unit (sensitivity / resolution), cell weights are whole numbers that add up
to 2^62. The law is therefore exactly representable, exactly auditable and exactly samplable; floats are a
view of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import decimal
from ..loss import Loss
from ..loss.cells import means
from ..places import Places
from ..script import LawScript, carried, filled, wrapped
from . import heights
from .base import Array
from .ladder import POINTS, SUBDIVISIONS, chosen, point_of
from .solved import SolvedNoise
from .whole import TOTAL, whole_weights

_PIECEWISE = '''\
# Cell i reaches from BREAKS[i] to BREAKS[i + 1], in units of SENSITIVITY/RESOLUTION from ORIGIN, and has probability
# WEIGHTS[i]/2**62; the point ATOM_UNIT has probability ATOM_WEIGHT/2**62.
SENSITIVITY = Fraction("$sensitivity")
RESOLUTION = $resolution
ORIGIN = Fraction("$origin")
BREAKS = [
$breaks
]
WEIGHTS = [
$weights
]
ATOM_UNIT = $atom_unit
ATOM_WEIGHT = $atom_weight
$tail
POINTS = $points  # lattice points per unit
STEP = SENSITIVITY / (RESOLUTION * POINTS)
LADDER = list(accumulate([ATOM_WEIGHT, *WEIGHTS]))
assert LADDER[-1] == 1 << 62


$functions

def added(value):
    """The value plus one exact draw: the point is added to the value itself, other draws to the value rounded up to the
    lattice, so that the error lies in the cell drawn."""
    rounded = -(-value // STEP)$tail_draw
    cell = chosen(LADDER)
    if cell == 0:
        return value + ATOM_UNIT * POINTS * STEP + ORIGIN$outwards
    return (rounded + point_of(BREAKS[cell - 1], BREAKS[cell], POINTS)$moved) * STEP + ORIGIN'''


@dataclass(frozen=True, eq=False)
class PiecewiseNoise(SolvedNoise):
    """X = origin + unit·(uniform on a cell [breaks[i], breaks[i+1]) with probability weights[i]/2^62,
    or atom_unit with probability atom_weight/2^62).

    sensitivity : the query's sensitivity, in its unit; unit = sensitivity/resolution, origin and sensitivity being the
        decimal numbers that they show.
    breaks : int64 (n + 1,), increasing.   weights : int64 (n,), non-negative.
    """

    sensitivity: float
    resolution: int
    breaks: NDArray[np.int64]
    weights: NDArray[np.int64]
    atom_unit: int = 0
    atom_weight: int = 0
    origin: float = 0.0
    name: str = "Optimal"

    def __post_init__(self) -> None:
        total = int(self.weights.sum(dtype=object)) + self.atom_weight
        if total != TOTAL or self.weights.min(initial=0) < 0 or self.atom_weight < 0:
            raise ValueError(f"weights must be non-negative and add up to 2^62, not {total}")
        if len(self.breaks) != len(self.weights) + 1 or (np.diff(self.breaks) <= 0).any():
            raise ValueError("breaks must increase and be one more than the weights")

    @classmethod
    def from_masses(
        cls,
        *,
        sensitivity: float,
        resolution: int,
        breaks: ArrayLike,
        masses: ArrayLike,
        atom: float = 0.0,
        atom_unit: int = 0,
        origin: float = 0.0,
        name: str = "Optimal",
        monotone: bool = False,
    ) -> PiecewiseNoise:
        """The law with the given masses, normalised; cells of no mass at either end are dropped.

        Mirror images stay mirror images; `monotone` densities do not rise away from 0 [noise.whole].
        """
        kept: Array = np.maximum(np.asarray(masses, dtype=float), 0.0)
        breaks = np.asarray(breaks, dtype=np.int64)
        used = np.flatnonzero(kept > 1e-30)
        if used.size:
            kept, breaks = kept[used[0] : used[-1] + 1], breaks[used[0] : used[-1] + 2]
        zero = Places.of(origin, sensitivity, resolution, breaks).position(0.0) - int(breaks[0])
        weights, atom_weight = whole_weights(kept, atom, np.diff(breaks), zero, monotone=monotone)
        return cls(sensitivity, resolution, breaks, weights, atom_unit, atom_weight, origin, name)

    def with_atom(self, share: float, *, monotone: bool = False) -> PiecewiseNoise:
        """(1 − share)·this law + share·(a point at the atom's place, 0 if there was none)."""
        return self.from_masses(
            sensitivity=self.sensitivity,
            resolution=self.resolution,
            breaks=self.breaks,
            masses=(1 - share) * self.masses,
            atom=share + (1 - share) * self.atom_mass,
            atom_unit=self.atom_unit,
            origin=self.origin,
            name=self.name,
            monotone=monotone,
        )

    @cached_property
    def places(self) -> Places:
        """Where the breaks are, exactly, in the query's unit."""
        return Places.of(self.origin, self.sensitivity, self.resolution, self.breaks)

    @property
    def unit(self) -> Fraction:
        """sensitivity/resolution."""
        return self.places.unit

    @property
    def atom_place(self) -> Fraction:
        """Where the atom is, exactly."""
        return self.places.at(self.atom_unit)

    @property
    def edges(self) -> Array:
        """Cell edges in the query's unit, the nearest floats, (n + 1,)."""
        return self.places.floats

    @cached_property
    def masses(self) -> Array:
        """Cell probabilities, (n,), each within a relative 2^−53."""
        return self.weights / float(TOTAL)

    @property
    def cell_count(self) -> int:
        return len(self.weights)

    @property
    def atom_mass(self) -> float:
        return self.atom_weight / float(TOTAL)

    @property
    def atom_location(self) -> float:
        return float(self.atom_place)

    @cached_property
    def is_symmetric(self) -> bool:
        """The continuous part is its own mirror image (about its own centre)."""
        widths = np.diff(self.breaks)
        return bool((self.weights == self.weights[::-1]).all() and (widths == widths[::-1]).all())

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]  # read only, like a field of a frozen class
        return ((self.atom_location, self.atom_mass),) if self.atom_weight else ()

    @property
    def parameters(self) -> dict[str, float]:
        return {"cells": len(self.weights), "atom": self.atom_mass}

    @property
    def support(self) -> tuple[float, float]:
        ends = [self.edges[0], self.edges[-1], *([self.atom_location] if self.atom_weight else [])]
        return float(min(ends)), float(max(ends))

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        used = self.weights.nonzero()[0]
        places = [self.places.at(self.breaks[i]) for i in ((used[0], used[-1] + 1) if len(used) else ())]
        places += [self.atom_place] if self.atom_weight else []
        return min(places), max(places)

    @property
    def centre(self) -> Fraction | float:
        middle = (self.places.at(self.breaks[0]) + self.places.at(self.breaks[-1])) / 2
        own = self.is_symmetric and not (self.atom_weight and self.atom_place != middle)
        return middle if own else math.nan

    @property
    def cells_around_zero(self) -> tuple[Fraction, Sequence[int], list[int]] | None:
        if self.atom_weight and self.atom_place:
            return None
        return self.places.index_of(0.0), self.breaks.tolist(), self.weights.tolist()

    def density(self, x: ArrayLike) -> Array:
        return heights.density(self.edges, self.masses, x)

    def cdf(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=float)
        smooth = np.interp(x, self.edges, np.concatenate([[0.0], np.cumsum(self.masses)]))
        below: Array = np.minimum(smooth + self.atom_mass * (x >= self.atom_location), 1.0)
        return below

    def quantile(self, u: ArrayLike) -> Array:
        u = np.asarray(u, dtype=float)
        cumulative = np.concatenate([[0.0], np.cumsum(self.masses)])
        cumulative /= max(cumulative[-1] + self.atom_mass, 1e-300)
        if not self.atom_weight:
            values: Array = np.interp(u, cumulative, self.edges)
            return values
        below = float(np.interp(self.atom_location, self.edges, cumulative))
        shifted = np.where(u <= below, u, u - self.atom_mass)
        inside = (u > below) & (u <= below + self.atom_mass)
        return np.where(inside, self.atom_location, np.interp(shifted, cumulative, self.edges))

    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        return heights.moment(self.edges, self.masses, power, lo, hi)

    def expected_loss(self, loss: Loss) -> float:
        """E c(X), exact up to rounding, narrow cells far from 0 included."""
        parts = (self.masses * means(loss, self.places)).tolist()
        return math.fsum([*parts, *(mass * float(loss.value(x)) for x, mass in self.atoms)])

    @property
    def own_sensitivity(self) -> float:
        return self.sensitivity

    def units(self, distance: float) -> float:
        """A distance in units of sensitivity/resolution."""
        return distance / self.sensitivity * self.resolution

    def shifts(self, limit: int) -> list[int]:
        shifts: list[int] = candidate_shifts(self, limit).tolist()
        return shifts

    def outcomes(self, shift: float) -> tuple[Array, Array]:
        here, there, length = shared_cells(self, shift)
        atom = self.atom_mass  # never covered
        return np.append(here * length, [atom, 0.0]), np.append(there * length, [0.0, atom])

    # Exact sampling ----------------------------------------------------------------------------------

    @cached_property
    def ladder(self) -> list[int]:
        """Cumulative weights, the atom's first."""
        return list(accumulate([self.atom_weight, *self.weights.tolist()]))

    def _cell(self) -> int:
        """The number of a cell, from 1, with its probability, or 0 for the atom."""
        return chosen(self.ladder)

    def _point(self, cell: int, subdivisions: int) -> int:
        """One of the cell's lattice points, all alike: its left end is among them, its right end is not."""
        return point_of(int(self.breaks[cell - 1]), int(self.breaks[cell]), subdivisions)

    def draw(self, subdivisions: int = SUBDIVISIONS) -> int:
        """One exact draw in units of sensitivity/(resolution·subdivisions), relative to the origin.

        Integer arithmetic and the operating system's cryptographic source only. A cell is a uniform choice
        among its lattice points, so the law has exactly the audited probabilities and privacy on this lattice.
        """
        cell = self._cell()
        return self._point(cell, subdivisions) if cell else self.atom_unit * subdivisions

    def release(self, value: float, subdivisions: int = SUBDIVISIONS) -> float:
        """The value plus one exact draw, as the nearest float.

        The atom is added to the value itself. Where a cell is drawn, the value is first rounded *up* to the lattice:
        plus one of the cell's points the error then lies in the cell, right end excluded, whatever the value is. So
        errors stay in the law's support and on the sides of a jump where they were audited.

        Privacy: the sensitivity is a whole number of lattice points, so rounding up does not enlarge it, and cells are
        as private on the lattice as on the line [Thm 1]. That the atom's place tells values apart which round alike
        costs nothing: the audit never counts the atom as covered.
        """
        exact, cell = decimal(value), self._cell()
        if not cell:
            return float(exact + self.atom_place)
        step = self.unit / subdivisions
        return float((math.ceil(exact / step) + self._point(cell, subdivisions)) * step + self.places.origin)

    @property
    def release_step(self) -> float:
        return float(self.unit / SUBDIVISIONS)

    def script(self, **tail: str) -> LawScript:
        """tail, tail_draw, outwards : what laws with tails add."""
        imports, functions = carried(chosen, point_of)
        law = filled(
            _PIECEWISE,
            sensitivity=repr(float(self.sensitivity)),
            resolution=int(self.resolution),
            origin=repr(float(self.origin)),
            breaks=wrapped(self.breaks.tolist()),
            weights=wrapped(self.weights.tolist()),
            atom_unit=int(self.atom_unit),
            atom_weight=int(self.atom_weight),
            points=POINTS,
            functions=functions,
            **{"tail": "", "tail_draw": "", "outwards": "", "moved": ""} | tail,
        )
        return LawScript(imports | {"from itertools import accumulate"}, law)

    # Files -------------------------------------------------------------------------------------------

    def listed(self) -> tuple[Array, Array]:
        return self.edges, self.masses

    def to_dict(self) -> dict[str, Any]:
        """Weights are text: most readers of JSON keep 53 bits of a number, a weight has 62."""
        out = super().to_dict()
        out["atom"] |= {"unit": int(self.atom_unit), "weight": str(int(self.atom_weight))}
        return out | {
            "family": "piecewise",
            "origin": self.origin,
            "resolution": int(self.resolution),
            "breaks": self.breaks.tolist(),
            "weights": [str(w) for w in self.weights.tolist()],
            "total": str(TOTAL),
        }


def candidate_shifts(noise: PiecewiseNoise, limit: int) -> NDArray[np.int64]:
    """The shifts in (0, limit], in units, among which the worst one is."""
    return distances(noise.breaks, limit)


def distances(breaks: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """The distances between breaks in (0, limit], others among them where that is no more work, and limit."""
    widths = np.diff(breaks)
    step = int(np.gcd.reduce(widths))
    if limit // step <= 2000 or (widths == step).all():
        return np.unique(np.append(np.arange(step, limit + 1, step), limit))
    found = [np.array([limit])]
    for apart in range(1, len(breaks)):
        distances = breaks[apart:] - breaks[:-apart]
        distances = _distinct(distances[distances <= limit])
        if not distances.size:
            break
        found.append(distances)
    return _distinct(np.concatenate(found))


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """In ascending order, each once, by sorting: `np.unique` hashes whole numbers, and those of a file can be such that
    nearly all of them collide."""
    ascending = np.sort(numbers)
    first: NDArray[np.bool_] = np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)]
    return ascending[first]


def shared_cells(noise: PiecewiseNoise, shift: float) -> tuple[Array, Array, Array]:
    """(density, density of the law moved by `shift` units, length) on the parts where one of them is positive."""
    breaks, other = noise.breaks, noise.breaks + shift
    points = np.unique(np.concatenate([breaks, other]))
    density = np.concatenate([[0.0], noise.masses / np.diff(breaks), [0.0]])
    here = density[np.searchsorted(breaks, points[:-1], side="right")]
    there = density[np.searchsorted(other, points[:-1], side="right")]
    used = (here > 0) | (there > 0)
    return here[used], there[used], np.diff(points)[used].astype(float)
