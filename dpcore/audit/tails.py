"""How private and how accurate laws with tails to infinity are, piece by piece as far as floats reach.

For one shift, h(ε′) = ∫ max(0, f(u) − e^ε′ f(u − j)) du is convex and piecewise linear in x = e^ε′, and so is the
largest over shifts. The body's density is constant on pieces; what the tail adds there is taken at its largest for an
event and at its least for what covers it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..loss import UNIT, Loss
from ..noise import heights
from ..noise.base import Array
from ..noise.piecewise import distances
from ..noise.tailed import CELL_ERROR, CELLS_PER_MEAN, TailedNoise
from . import cells
from .growth import amplification_bounds

LEAST = float(np.finfo(float).tiny)
"""Smaller probabilities are known less exactly than `CELL_ERROR` says, the smallest not at all."""

FEW, DEARER, MERGED = 4000, 5, 2e-10
"""So many cells are looked at one by one, and more if pieces, which take so many times as long as a cell each, would
not pay; what cells that are taken together may add to an event's probability, and to what covers it, e^ε′ times."""


@dataclass(frozen=True)
class _Pieces:
    """The law between −reach − limit and reach + limit, in units.

    edges : (n + 1,) of the pieces, 0 among them.   most, least : (n,) largest and least density on them, rounded up and
    down.
    """

    reach: int
    limit: int
    edges: NDArray[np.int64]
    most: Array
    least: Array

    @classmethod
    def of(cls, noise: TailedNoise, limit: int) -> _Pieces:
        """Pieces of the body's density, cut where the tail falls by too much on them, or single cells."""
        breaks = noise.body.breaks
        reach = int(np.abs(breaks).max()) + limit
        far = reach + limit
        widest = max(1, int(min(noise.tail_mean * MERGED / noise.share, far)))
        edges = np.unique(np.concatenate([breaks, [-far, -reach, 0, reach, far]]))
        parts = -(-np.diff(edges) // widest)
        if 2 * far <= max(FEW, DEARER * int(parts.sum())):
            widest, parts = 1, np.diff(edges)
        each = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        edges = np.append(np.repeat(edges[:-1], parts) + widest * each, far)
        own = (1 - noise.share) * heights.density(breaks, noise.body.masses, edges[:-1])
        ends = noise.share * noise.tail_cells(np.array([edges[:-1], edges[1:] - 1]))
        most, least = own + ends.max(axis=0), own + ends.min(axis=0)
        most, least = np.maximum(most, LEAST) * (1 + CELL_ERROR), np.where(least < LEAST, 0.0, least) * (1 - CELL_ERROR)
        return cls(reach, limit, edges, most, least)

    @property
    def shifts(self) -> list[int]:
        """0 and those between which what overlaps what is the same [Thm 1], up to the limit."""
        return [0, *distances(self.edges, self.limit).tolist()]

    def overlaps(self, shift: int) -> tuple[Array, Array, Array]:
        """The densities of the law and of the law moved to the right by a shift on all pieces of both within reach, and
        their widths."""
        if len(self.most) == 2 * (self.reach + self.limit):  # single cells
            first, last = self.limit, len(self.most) - self.limit
            return self.most[first:last], self.least[first - shift : last - shift], np.ones(last - first)
        moved = self.edges + shift
        inside, within = ((edges >= -self.reach) & (edges <= self.reach) for edges in (self.edges, moved))
        cuts = np.concatenate([self.edges[inside], moved[within]])
        order = np.argsort(cuts)
        widths, own = np.diff(cuts[order]), order[:-1] < inside.sum()
        begins = widths > 0
        here, there = np.cumsum(own)[begins] + inside.argmax() - 1, np.cumsum(~own)[begins] + within.argmax() - 1
        return self.most[here], self.least[there], widths[begins].astype(float)

    @property
    def steepest(self) -> float:
        """The largest ratio of densities at places no farther apart than the limit."""
        inside = (self.edges[:-1] >= -self.reach) & (self.edges[1:] <= self.reach)
        begins, ends = self.edges[:-1][inside], self.edges[1:][inside]
        first = np.searchsorted(self.edges[1:], begins - self.limit, side="right")
        last = np.searchsorted(self.edges[:-1], ends + self.limit)
        lowest = np.minimum.reduceat(np.append(self.least, math.inf), np.array([first, last]).T.ravel())[::2]
        return float((self.most[inside] / lowest).max())


def curve_upper(noise: TailedNoise, epsilons: Sequence[float] | Array, sensitivity: float | None = None) -> Array:
    """δ̄(ε′) = max over shifts up to the sensitivity (the law's own by default) of h_φ(ε′), at ε′ ≥ 0, rounded up."""
    return _over_shifts(noise, epsilons, sensitivity)[0]


def worst_shifts(noise: TailedNoise, epsilons: Sequence[float] | Array) -> NDArray[np.int64]:
    """Where h is largest at every ε′, in units."""
    return _over_shifts(noise, epsilons, None)[1]


def _over_shifts(
    noise: TailedNoise, epsilons: Sequence[float] | Array, sensitivity: float | None
) -> tuple[Array, NDArray[np.int64]]:
    """Largest h, rounded up, and where it is. Where no two edges of pieces meet h is affine in the shift [Thm 1]; what
    lies beyond reach rises with it."""
    body, limit = noise.body, noise.body.resolution
    if sensitivity is not None:
        limit = math.ceil(sensitivity / body.sensitivity * body.resolution * (1 - 4 * UNIT))
    growth = np.array([amplification_bounds(float(e))[0] for e in epsilons])
    pieces = _Pieces.of(noise, limit)
    beyond = noise.share * 0.5 * math.exp(pieces.reach * math.log1p(-1 / noise.tail_mean)) * (1 + 1e-12)
    best, at, shifts = np.zeros(len(growth)), np.zeros(len(growth), dtype=np.int64), pieces.shifts
    for sign in (1,) if noise.is_symmetric else (1, -1):
        before = np.zeros(len(growth))
        for last, shift in zip(shifts, shifts[1:]):
            fall = math.exp(shift * math.log1p(-1 / noise.tail_mean)) * (1 - 1e-12)
            outside = beyond * np.maximum(1 - growth * fall, 0.0)
            if last == 0 and shift > 1:
                before = _one_shift_upper(*pieces.overlaps(0), growth)
            found = _one_shift_upper(*pieces.overlaps(sign * shift), growth)
            most = (np.maximum(before, found) if shift > last + 1 else found) + outside
            best, at = np.maximum(best, most), np.where(most > best, sign * shift, at)
            before = found
    return np.minimum(best * (1 + 8 * UNIT), 1.0), at


def _one_shift_upper(here: Array, there: Array, widths: Array, growth: Array) -> Array:
    """Σ widths·max(0, here − x·there) for every x of `growth`, rounded up. For every x the terms that are positive are
    those whose ratio exceeds it: two cumulative sums serve all x. Sums of n terms err by n·u of their size."""
    with np.errstate(divide="ignore"):
        ratio = here / there
    order = np.argsort(-ratio)
    own = np.concatenate([[0.0], np.cumsum((here * widths)[order])])
    other = np.concatenate([[0.0], np.cumsum((there * widths)[order])])
    last = np.searchsorted(-ratio[order], -growth * (1 - 4 * UNIT), side="left")
    found: Array = np.maximum(own[last] - growth * other[last], 0.0) + 4 * len(here) * UNIT * own[last]
    return found


def loss_upper(noise: TailedNoise, loss: Loss) -> float:
    """An upper bound of E c(X); sums and products err by less than 1e-9 of what is listed of the tail."""
    places, masses = noise.listed_tail
    tail = cells.cells_loss_upper(masses, places, loss) * (1 + 1e-9) + _unlisted_upper(noise, loss)
    inner = cells.loss_upper(noise.body, loss)
    return ((1 - noise.share) * inner * (1 + 2 * UNIT) + noise.share * tail) * (1 + 8 * UNIT)


def _unlisted_upper(noise: TailedNoise, loss: Loss) -> float:
    """What the tail component pays beyond its listed cells: less than e^−79.99 of it is there, farther out by Y with
    E Y^p ≤ 24 (mean + unit)^p for p ≤ 4."""
    step = (noise.tail_mean + 1) * noise.unit
    return cells.beyond_upper(loss, noise.listed_tail[0].floats, step, math.exp(-CELLS_PER_MEAN + 0.02))


def pure_from_upper(noise: TailedNoise) -> float:
    """An ε′ from which on δ̄ is 0; infinite for a tail too thin for floats. Ratios further out are those of the tail, as
    in the pieces between body and reach."""
    pieces = _Pieces.of(noise, noise.body.resolution)
    return math.log(pieces.steepest) + 1e-11 if pieces.least.all() else math.inf
