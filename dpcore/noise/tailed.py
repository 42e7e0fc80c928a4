"""A solved law with tails that reach to infinity: what a privacy profile that vanishes at no finite ε′ asks for.

Noise of bounded support leaves δ(ε′) above some positive number at every ε′, for its outermost piece is never covered.
A small share of two-sided geometric noise covers it, and makes the mixture purely private: δ(ε′) = 0 from some ε′ on.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..places import Places
from ..script import LawScript, filled
from ..search import bisections
from . import heights
from .base import NEGLIGIBLE, Array
from .extended import ExtendedNoise
from .ladder import SUBDIVISIONS, point_of
from .piecewise import PiecewiseNoise
from .whole import TOTAL

CELLS_PER_MEAN = 80
"""Sums over the tail end after so many of its means, where e^−80 of it is left."""

CELL_ERROR = 2.5e-13
"""Relative error of a unit cell's probability, products included (`TailedNoise.unit_cells`: 2e-13)."""

_TAIL = """
# With probability TAIL_WEIGHT/2**62 the draw is two-sided geometric: a cell of one unit on either side.
TAIL_WEIGHT = $tail_weight
TAIL_MEAN = $tail_mean
"""

_TAIL_DRAW = """
    if secrets.randbelow(1 << 62) < TAIL_WEIGHT:
        cell = 0
        while secrets.randbelow(TAIL_MEAN):
            cell += 1
        cell = cell if secrets.randbelow(2) else -cell - 1
        return (rounded + point_of(cell, cell + 1, POINTS)) * STEP + ORIGIN"""


@dataclass(frozen=True, eq=False)
class TailedNoise(ExtendedNoise):
    """X = body with probability 1 − tail_weight/2^62, else origin + unit·(uniform on a cell [u, u + 1), u whole, with
    probability (1 − 1/R)^d/(2R), d = u for u ≥ 0 and −u − 1 for u < 0, R = tail_mean).

    body : without an atom; its unit and origin are the tail's.   All probabilities are rational numbers.
    """

    body: PiecewiseNoise
    tail_weight: int
    tail_mean: int

    def __post_init__(self) -> None:
        if self.body.atom_weight or not 0 < self.tail_weight < TOTAL or self.tail_mean < 2:
            raise ValueError("a body without an atom, a share between 0 and 1 and a mean of at least 2 cells")

    @property
    def cells(self) -> PiecewiseNoise:
        return self.body

    @property
    def share(self) -> float:
        """Probability of the tail component."""
        return self.tail_weight / TOTAL

    @property
    def parameters(self) -> dict[str, float]:
        return {"cells": len(self.body.weights), "tail share": self.share, "tail mean": self.tail_mean * self.unit}

    @property
    def centre(self) -> Fraction | float:
        """0 or none: nobody asks for another."""
        return self.body.centre if self.body.origin == 0 and self.body.centre == 0 else math.nan

    @property
    def cells_around_zero(self) -> tuple[Fraction, Sequence[int], list[int]] | None:
        """What the body has: the tail falls from the origin on."""
        return self.body.cells_around_zero if self.body.origin == 0 else None

    @property
    def is_symmetric(self) -> bool:
        """The law is its own mirror image about the origin."""
        breaks = self.body.breaks
        return self.body.is_symmetric and int(breaks[0]) == -int(breaks[-1])

    def tail_cells(self, u: ArrayLike) -> Array:
        """Probability of the cells [u, u + 1) under the tail component, to a relative 1e-13 within `CELLS_PER_MEAN`."""
        u = np.asarray(u, dtype=float)
        cells: Array = np.exp(np.maximum(u, -u - 1) * math.log1p(-1 / self.tail_mean)) / (2 * self.tail_mean)
        return cells

    def unit_cells(self, first: int, last: int) -> Array:
        """Probability of every cell [u, u + 1), first ≤ u < last, to a relative 2e-13; what is below 2.2e−308 is known
        less exactly. (last − first,)"""
        u = np.arange(first, last)
        body = self.body
        own = heights.density(body.breaks, body.masses, u)
        return (1 - self.share) * own + self.share * self.tail_cells(u)

    def _position(self, x: ArrayLike) -> Array:
        return (np.asarray(x, dtype=float) - self.body.origin) / self.unit

    def density(self, x: ArrayLike) -> Array:
        tail = self.tail_cells(np.floor(self._position(x))) / self.unit
        return (1 - self.share) * self.body.density(x) + self.share * tail

    def cdf(self, x: ArrayLike) -> Array:
        y = self._position(x)
        u = np.floor(np.abs(y))
        rest = 0.5 * np.exp(u * math.log1p(-1 / self.tail_mean)) * (1 - (np.abs(y) - u) / self.tail_mean)
        return (1 - self.share) * self.body.cdf(x) + self.share * np.where(y < 0, rest, 1 - rest)

    def quantile(self, u: ArrayLike) -> Array:
        """By bisection, to rounding."""
        u = np.asarray(u, dtype=float)
        reach = self.unit * (CELLS_PER_MEAN * self.tail_mean + float(np.abs(self.body.breaks).max()))
        ends = np.full(u.shape, self.body.origin - reach), np.full(u.shape, self.body.origin + reach)
        return bisections(lambda x: self.cdf(x) < u, *ends, rounds=70)[1]

    @cached_property
    def listed_tail(self) -> tuple[Places, Array]:
        """(places of the ends, probabilities) of the cells of the tail component, all but e^−80 of it."""
        reach = CELLS_PER_MEAN * self.tail_mean
        u = np.arange(-reach, reach + 1)
        return replace(self.body.places, indices=u), self.tail_cells(u[:-1])

    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        places, masses = self.listed_tail
        tail = heights.moment(places.floats, masses, power, lo, hi)
        return (1 - self.share) * self.body.partial_moment(power, lo, hi) + self.share * tail

    cell_error = CELL_ERROR

    def shifts(self, limit: int) -> range:
        """All whole ones: a tail's cells are single units."""
        return range(1, limit + 1)

    def outcomes(self, shift: float) -> tuple[Array, Array]:
        """Unit cells, each in two parts if the shift is no whole number of them; where both laws are tails they fall
        alike, so all that lies beyond on one side is one outcome for each part."""
        whole = math.floor(shift)
        reach = int(np.abs(self.body.breaks).max()) + abs(whole) + 1
        cells = self.unit_cells(-2 * reach, 2 * reach)
        fall = math.log1p(-1 / self.tail_mean)
        rest = 0.5 * self.share * math.exp(reach * fall)
        own: list[Array | float] = []
        other: list[Array | float] = []
        rest_of = shift - whole  # of a cell; two parts of it, and by how many cells each moves
        for part, moved in ((1 - rest_of, whole), (rest_of, whole + 1)):
            ratio = math.exp(moved * fall)  # of the moved law on the far left
            own += [part * rest, part * cells[reach : 3 * reach], part * rest]
            other += [part * rest * ratio, part * cells[reach - moved : 3 * reach - moved], part * rest / ratio]
        return np.hstack(own), np.hstack(other)

    # Exact sampling ----------------------------------------------------------------------------------

    def _tail_point(self, subdivisions: int) -> int:
        """A lattice point of the tail component, in units of sensitivity/(resolution·subdivisions)."""
        cell = 0
        while secrets.randbelow(self.tail_mean):
            cell += 1
        cell = cell if secrets.randbelow(2) else -cell - 1
        return point_of(cell, cell + 1, subdivisions)

    def draw(self, subdivisions: int = SUBDIVISIONS) -> int:
        if secrets.randbelow(TOTAL) >= self.tail_weight:
            return self.body.draw(subdivisions)
        return self._tail_point(subdivisions)

    def script(self) -> LawScript:
        numbers = filled(_TAIL, tail_weight=int(self.tail_weight), tail_mean=int(self.tail_mean))
        return self.body.script(tail=numbers, tail_draw=_TAIL_DRAW)

    # Files -------------------------------------------------------------------------------------------

    def listed(self) -> tuple[Array, Array]:
        """Unit cells as far out as the tail's probability is not negligible; what lies beyond is left out."""
        far = max(0.0, math.log(self.share / NEGLIGIBLE)) * self.tail_mean
        reach = max(math.ceil(far), int(np.abs(self.body.breaks).max()))
        u = np.arange(-reach, reach + 1)
        edges = self.body.origin + u.astype(float) * self.unit
        return edges, self.unit_cells(-reach, reach)

    def to_dict(self) -> dict[str, Any]:
        """The body, and the tail."""
        tail = {"weight": str(self.tail_weight), "mean_cells": int(self.tail_mean), "share": self.share}
        return self.body.to_dict() | {"family": "tailed", "tail": tail}

    @property
    def heights(self) -> tuple[NDArray[np.int64], Array]:
        """(edges of unit cells, density between them per unit) of the body and the tail there, for a picture."""
        first, last = int(self.body.breaks[0]), int(self.body.breaks[-1])
        return np.arange(first, last + 1), self.unit_cells(first, last)
