"""A solved law whose ends go on for ever, period by period: what a promise at δ = 0 asks for.

No release may exclude a neighbour, so the density is positive everywhere, and between places at most D apart it changes
by at most e^ε₂. Outside the cells that a program chose nothing is lost by the least such tail: what it is one
sensitivity further in, divided by e^ε₂.
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

from ..loss import Loss
from ..loss.cells import means
from ..places import Places
from ..script import LawScript, filled
from . import heights
from .base import NEGLIGIBLE, Array
from .extended import ExtendedNoise
from .ladder import SUBDIVISIONS
from .piecewise import PiecewiseNoise, distances
from .whole import TOTAL

Ints = NDArray[np.int64]

LEFT_OUT = 80.0
"""Sums over the periods of a flank end where e^−80 of it is left."""

_FLANKS = """
# A draw from the outermost RESOLUTION units of either end moves on outwards by a sensitivity, again and again, each
# time with probability RATIO/2**62.
RATIO = $ratio
"""

_OUTWARDS = """
    moved = 0
    while secrets.randbelow(1 << 62) < RATIO:
        moved += RESOLUTION
    moved *= -1 if BREAKS[cell] <= BREAKS[0] + RESOLUTION else int(BREAKS[cell - 1] >= BREAKS[-1] - RESOLUTION)"""


@dataclass(frozen=True, eq=False)
class FlankedNoise(ExtendedNoise):
    """X = core, but a draw from its first or last sensitivity, a *flank*, is moved outwards by G sensitivities,
    P(G = g) = (1 − q) q^g, q = ratio_weight/2^62.

    core : without an atom; at least two sensitivities long, with a break one sensitivity from either end.   All
    probabilities are rational numbers. Beyond the flanks the density is that one sensitivity further in, times q.
    """

    core: PiecewiseNoise
    ratio_weight: int

    def __post_init__(self) -> None:
        breaks, D = self.core.breaks, self.core.resolution
        inside = {int(breaks[0]) + D, int(breaks[-1]) - D} <= set(breaks.tolist())
        if self.core.atom_weight or not inside or breaks[-1] - breaks[0] < 2 * D or not 0 < self.ratio_weight < TOTAL:
            raise ValueError("a core of two sensitivities, breaks at its flanks, no atom, a ratio between 0 and 1")

    @property
    def cells(self) -> PiecewiseNoise:
        return self.core

    @property
    def ratio(self) -> float:
        """q, rounded to nearest."""
        return self.ratio_weight / TOTAL

    @property
    def parameters(self) -> dict[str, float]:
        return {"cells": len(self.core.weights), "ratio": self.ratio}

    @property
    def centre(self) -> Fraction | float:
        return self.core.centre

    @property
    def is_symmetric(self) -> bool:
        """The law is its own mirror image (about its own centre)."""
        return self.core.is_symmetric

    @property
    def cells_around_zero(self) -> tuple[Fraction, Sequence[int], list[int]] | None:
        """The cells with a further period on either side, in parts of 2^−124."""
        breaks, weights = self._stretched_exactly
        return self.core.places.index_of(0.0), breaks.tolist(), weights

    # Cells -------------------------------------------------------------------------------------------

    @cached_property
    def flanks(self) -> tuple[int, int]:
        """How many cells the left flank has, and the right one."""
        breaks, D = self.core.breaks, self.core.resolution
        left = int(np.searchsorted(breaks, breaks[0] + D))
        return left, len(breaks) - 1 - int(np.searchsorted(breaks, breaks[-1] - D))

    def breaks(self, periods: int) -> Ints:
        """Ends of the cells of the core and of so many periods beyond either end."""
        own, D = self.core.breaks, self.core.resolution
        left, right = self.flanks
        on = D * np.arange(1, periods + 1)
        before = (own[:left] - on[::-1, None]).ravel()
        return np.concatenate([before, own, (own[len(own) - right :] + on[:, None]).ravel()])

    def masses(self, periods: int) -> Array:
        """Masses of the cells between `breaks(periods)`, each within a relative (periods + 8)·2^−53."""
        own, q = self.core.masses.copy(), self.ratio
        left, right = self.flanks
        stays = (TOTAL - self.ratio_weight) / TOTAL
        own[:left] *= stays
        own[len(own) - right :] *= stays
        falls = np.multiply.accumulate(np.full(periods, q))
        before, after = (falls[::-1, None] * own[:left]).ravel(), (falls[:, None] * own[len(own) - right :]).ravel()
        return np.concatenate([before, own, after])

    @property
    def _stretched_exactly(self) -> tuple[Ints, list[int]]:
        """(breaks, weights in 2^−124) with one period beyond either end."""
        weights, (left, right), q = self.core.weights.tolist(), self.flanks, self.ratio_weight
        inner = [w * TOTAL for w in weights[left : len(weights) - right]]
        before, after = weights[:left], weights[len(weights) - right :]
        stays = TOTAL - q
        own = [w * stays for w in before] + inner + [w * stays for w in after]
        beyond = [[w * stays * q >> 62 for w in flank] for flank in (before, after)]
        return self.breaks(1), [*beyond[0], *own, *beyond[1]]

    @property
    def count(self) -> int:
        """How many periods hold all of a flank but e^−80 of it."""
        q = self.ratio_weight
        return math.ceil(LEFT_OUT / (math.log(TOTAL / q) if 2 * q < TOTAL else -math.log1p((q - TOTAL) / TOTAL)))

    @cached_property
    def listed_cells(self) -> tuple[Places, Array]:
        """(places of the ends, probabilities) of all cells but e^−80 of the flanks."""
        return replace(self.core.places, indices=self.breaks(self.count)), self.masses(self.count)

    def moved(self, shift: float, periods: int) -> tuple[Array, Array, Array]:
        """(density, density of the law moved by `shift` units, length) on the parts of core and `periods` periods
        beyond either end, where periods·resolution ≥ |shift|. Further out both fall from period to period by q, so
        the parts of the last period have 1/(1 − q) times their length."""
        breaks, end = self.breaks(2 * periods), periods * self.core.resolution
        first, last = int(self.core.breaks[0]) - end, int(self.core.breaks[-1]) + end
        levels = np.concatenate([[0.0], self.masses(2 * periods) / np.diff(breaks), [0.0]])
        other = breaks + shift
        points = np.unique(np.concatenate([breaks, other]))
        points = points[(points >= first) & (points <= last)]
        here = levels[np.searchsorted(breaks, points[:-1], side="right")]
        there = levels[np.searchsorted(other, points[:-1], side="right")]
        D = self.core.resolution
        outer = (points[:-1] < first + D) | (points[1:] > last - D)
        length = np.diff(points) / np.where(outer, (TOTAL - self.ratio_weight) / TOTAL, 1.0)
        return here, there, length

    # Views -------------------------------------------------------------------------------------------

    @cached_property
    def _view(self) -> tuple[Array, Array, Array]:
        """(edges, masses, cumulative masses) of all listed cells."""
        places, masses = self.listed_cells
        return places.floats, masses, np.concatenate([[0.0], np.cumsum(masses)])

    def density(self, x: ArrayLike) -> Array:
        edges, masses, _ = self._view
        return heights.density(edges, masses, x)

    def cdf(self, x: ArrayLike) -> Array:
        edges, _, below = self._view
        share: Array = np.minimum(np.interp(np.asarray(x, dtype=float), edges, below), 1.0)
        return share

    def quantile(self, u: ArrayLike) -> Array:
        edges, _, below = self._view
        found: Array = np.interp(np.asarray(u, dtype=float), below / below[-1], edges)
        return found

    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        edges, masses, _ = self._view
        return heights.moment(edges, masses, power, lo, hi)

    def expected_loss(self, loss: Loss) -> float:
        places, masses = self.listed_cells
        return math.fsum(masses * means(loss, places))

    # Neighbours --------------------------------------------------------------------------------------

    @property
    def cell_error(self) -> float:  # type: ignore[override]  # grows with the periods that are looked at
        return 64 * 2.0**-53

    def shifts(self, limit: int) -> list[int]:
        found: list[int] = distances(self.breaks(1 + math.ceil(limit / self.core.resolution)), limit).tolist()
        return found

    def outcomes(self, shift: float) -> tuple[Array, Array]:
        here, there, length = self.moved(shift, max(1, math.ceil(abs(shift) / self.core.resolution)))
        return here * length, there * length

    # Exact sampling ----------------------------------------------------------------------------------

    def draw(self, subdivisions: int = SUBDIVISIONS) -> int:
        core = self.core
        cell, (left, right) = core._cell(), self.flanks
        point, side = core._point(cell, subdivisions), int(cell > len(core.weights) - right) - int(cell <= left)
        while side and secrets.randbelow(TOTAL) < self.ratio_weight:
            point += side * core.resolution * subdivisions
        return point

    def script(self) -> LawScript:
        return self.core.script(
            tail=filled(_FLANKS, ratio=int(self.ratio_weight)), outwards=_OUTWARDS, moved=" + moved * POINTS"
        )

    # Files -------------------------------------------------------------------------------------------

    def listed(self) -> tuple[Array, Array]:
        """Cells as far out as the flanks' probability is not negligible; what lies beyond is left out."""
        (left, right), own = self.flanks, self.core.masses
        flank = float(own[:left].sum() + own[len(own) - right :].sum())
        periods = math.ceil(max(0.0, math.log(max(flank, NEGLIGIBLE) / NEGLIGIBLE)) / -math.log(self.ratio))
        core = self.core
        return Places.of(core.origin, core.sensitivity, core.resolution, self.breaks(periods)).floats, self.masses(
            periods
        )

    def to_dict(self) -> dict[str, Any]:
        """The core, and how its ends go on."""
        edges, probabilities = self.listed()
        listed = {"edges": edges.tolist(), "probabilities": probabilities.tolist()}
        flanks = {"ratio_weight": str(self.ratio_weight), "ratio": self.ratio}
        return self.core.to_dict() | listed | {"family": "flanked", "flanks": flanks}
