"""What multipliers that are step functions on the line prove, whatever the cells and shifts [method: jumps]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..loss import UNIT, Loss
from ..loss.cells import infima_lower
from ..places import Places
from ..rows.referee import Brackets
from .growth import amplification_bounds

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StepMultipliers:
    """Multipliers y_φ(x) ≥ 0 of P(A) ≤ e^ε P(A + φ) + δ, constant between neighbouring edges.

    Everything is counted in sensitivity/resolution, from 0 on.

    edges : (n,) increasing.   shifts : (m,) different from each other and from 0, at most `resolution`.
    weights : (m, n + 1) y of every shift, left of the first edge, between neighbours, right of the last.
    monotone : the law's density does not rise away from 0.   falls : multipliers of that for every two neighbouring
    cells, (cells − 1,); those where 0 lies between, or a cell has no end, are ignored.
    """

    sensitivity: float
    resolution: int
    support: tuple[float, float]
    edges: Ints
    shifts: Ints
    weights: Array
    monotone: bool = False
    falls: Array | None = None

    @cached_property
    def ends(self) -> Ints:
        """Where D may jump, from the support's left end to its right: inner ends of `cells`, and the support's rounded
        outwards if it has any."""
        lo, hi = (Places.of(0.0, self.sensitivity, self.resolution, [0]).position(x) for x in self.support)
        moved = (self.edges[None, :] + self.shifts[:, None]).ravel()
        ends = np.unique(np.concatenate([self.edges, moved, [0]]))
        ends = ends[(ends > lo) & (ends < hi)]
        left = [math.floor(lo)] if math.isfinite(lo) else []
        right = [math.ceil(hi)] if math.isfinite(hi) else []
        return np.concatenate([left, ends, right]).astype(np.int64)

    @cached_property
    def starts(self) -> Ints:
        """A place in every cell, its left end but for a first one without: of every interval between neighbouring
        ends, and of what lies beyond them where the support goes on. (cells,)"""
        left = [] if math.isfinite(self.support[0]) else [self.ends[0] - 1]
        right = self.ends if math.isinf(self.support[1]) else self.ends[:-1]
        return np.concatenate([left, right]).astype(np.int64)

    def numbers(self, shift: int = 0) -> Ints:
        """In which interval between edges, moved by a shift, every cell lies: the column of `weights`. (cells,)"""
        return np.searchsorted(self.edges + shift, self.starts, side="right")

    def costs(self, loss: Loss) -> Array:
        """What mass in every open cell pays at least; point masses and singular parts are thought to sit at the loss's
        minimiser (those of monotone laws at 0), whose cell, or both beside it, counts it. (cells,)"""
        places = Places.of(0.0, self.sensitivity, self.resolution, self.ends)
        costs = [infima_lower(loss, places)]
        first, last = places.floats[[0, -1]]
        if math.isinf(self.support[0]):
            costs.insert(0, np.array([loss.infimum(-math.inf, math.nextafter(first, math.inf))]))
        if math.isinf(self.support[1]):
            costs.append(np.array([loss.infimum(math.nextafter(last, -math.inf), math.inf)]))
        out = np.concatenate(costs)
        best = 0.0 if self.monotone else loss.minimiser(*self.support)[0]
        offset = int(math.isinf(self.support[0])) - 1
        for cell in {places.below(best, inclusive=yes) + offset for yes in (False, True)} & set(range(len(out))):
            out[cell] = min(out[cell], loss.infimum(best, best))
        return out

    def lower(self, loss: Loss, epsilon: float, delta: float) -> float:
        """A lower bound of the expected loss of every (ε, δ)-DP law in the support, rounded down; for any weights.

        For every shift E[y(X)] ≤ e^ε E[y(X − φ)] + δ max y, so E c(X) ≥ min D − δ Σ_φ max y_φ with
        D(x) = c(x) + Σ_φ y_φ(x) − e^ε Σ_φ y_φ(x − φ), which is constant on every cell but for c.
        """
        shifts = self.shifts.tolist()
        if len(set(shifts)) < len(shifts) or not all(0 < abs(shift) <= self.resolution for shift in shifts):
            raise ValueError("different shifts within the sensitivity")
        E, weights = amplification_bounds(epsilon)[1], np.maximum(self.weights, 0.0)
        brackets = Brackets.of(self.costs(loss))
        plus = np.zeros(len(self.starts))
        minus = np.zeros(len(self.starts))
        for shift, own in zip(shifts, weights):
            plus += own[self.numbers()]
            minus += E * own[self.numbers(shift)]
        price = delta * math.fsum(weights.max(axis=1, initial=0.0).tolist()) * (1 + 4 * UNIT)
        brackets = brackets.with_rows(plus - minus, plus + minus, 4 * len(self.shifts), price)
        if self.monotone and self.falls is not None:
            added, size = self._falls(np.maximum(self.falls, 0.0))
            brackets = brackets.with_rows(added, size)
        return brackets.lower()

    def fall_rows(self) -> tuple[Ints, Ints, Array]:
        """(inner cell, outer cell, inner length/outer length): mass in the inner one is at least so many times that in
        the outer one. One for each of `falls`; where 0 lies between, or a cell has no end, the cells are −1."""
        left, right = np.arange(len(self.starts) - 1), np.arange(1, len(self.starts))
        offset = int(math.isinf(self.support[0]))
        between = self.ends[1 - offset :][: len(left)]
        inner, outer = np.where(between > 0, left, right), np.where(between > 0, right, left)
        lengths = np.full(len(self.starts), np.inf)
        lengths[offset : offset + len(self.ends) - 1] = np.diff(self.ends)
        known = np.isfinite(lengths[left]) & np.isfinite(lengths[right]) & (between != 0)
        ratio = np.ones(len(left))
        ratio[known] = lengths[inner[known]] / lengths[outer[known]]
        return np.where(known, inner, -1), np.where(known, outer, -1), ratio

    def _falls(self, falls: Array) -> tuple[Array, Array]:
        """What the rows r_inner − ratio·r_outer ≥ 0 add to D, and its size."""
        inner, outer, ratio = self.fall_rows()
        known = inner >= 0
        n = len(self.starts)
        own = cast(Array, np.bincount(inner[known], falls[known], n))  # weights make floats
        other = cast(Array, np.bincount(outer[known], falls[known] * ratio[known], n))
        return other - own, own + other
