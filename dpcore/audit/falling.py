"""What multipliers of the shifts by a whole sensitivity prove about laws that fall away from 0 [Thm 11]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..loss import UNIT, Loss
from ..loss.cells import means_lower, minorants
from ..places import Places
from .growth import amplification_bounds

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class FallingMultipliers:
    """y₊(x) ≥ 0 of P(A) ≤ e^ε P(A − D) + δ and y₋(x) ≥ 0 of P(A) ≤ e^ε P(A + D) + δ, constant between edges.

    Places are counted in sensitivity/resolution, from 0 on.

    edges : (n + 1,) increasing.   right, left : (n,) y₊ and y₋ between neighbouring edges, covers lying a sensitivity
    to the left and to the right. Before the first edge y₊ is what it is next to it, after the last one y₋; elsewhere
    both are 0.
    """

    sensitivity: float
    resolution: int
    support: tuple[float, float]
    edges: Ints
    right: Array
    left: Array

    @cached_property
    def ends(self) -> Ints:
        """Where D − c may jump, within the support, whose own ends are rounded outwards."""
        lo, hi = (Places.of(0.0, self.sensitivity, self.resolution, [0]).position(x) for x in self.support)
        moved = [self.edges + shift for shift in (-self.resolution, 0, self.resolution)]
        ends = np.unique(np.concatenate([*moved, [0]]))
        if math.isfinite(lo):
            ends = np.append(math.floor(lo), ends[ends > math.floor(lo)])
        if math.isfinite(hi):
            ends = np.append(ends[ends < math.ceil(hi)], math.ceil(hi))
        return ends.astype(np.int64)

    def _at(self, values: Array, starts: Ints, before: float, after: float) -> Array:
        """y on cells that start there."""
        number = np.searchsorted(self.edges, starts, side="right") - 1
        padded = np.concatenate([[before], values, [after]])
        found: Array = padded[np.clip(number, -1, len(values)) + 1]
        return found

    def steps(self, starts: Ints, amplification: float) -> tuple[Array, Array]:
        """(D − c, the same sum of absolute values) on cells that start there."""
        first, last, k = float(self.right[0]), float(self.left[-1]), self.resolution
        own = self._at(self.right, starts, first, 0.0) + self._at(self.left, starts, 0.0, last)
        covers = self._at(self.right, starts + k, first, 0.0) + self._at(self.left, starts - k, 0.0, last)
        return own - amplification * covers, own + amplification * covers

    def lower(self, loss: Loss, epsilon: float, delta: float, level: float) -> float:
        """A lower bound of the loss of every (ε, δ)-DP law in the support that falls away from 0, rounded down.

        level : about the largest θ that all means of D reach; any number makes a bound.

        Theorem 11: θ − δ (max y₊ + max y₋) for every θ of at most c(0) + max y₊ + max y₋ and the means of D over
        [0, L] and [−L, 0], L > 0. With I(L) = ∫ (D − level) they are level + I(L)/L. On a cell [a, b] I(a) is a sum of
        means of the loss, and beyond it D is at least a line; where a > 0, I(L)/L is at least min(0, I(L))/a.

        Rounding, u = 2^−53: a step errs by 8u times the sum of its absolute values, a term of I by as much again, a sum
        of n of them by nu times the sum of theirs.
        """
        E = amplification_bounds(epsilon)[1]
        rates = float(self.right.max(initial=0.0) + self.left.max(initial=0.0)) * (1 + 4 * UNIT)
        places = Places.of(0.0, self.sensitivity, self.resolution, self.ends)
        near, far = minorants(loss, places)
        means = np.maximum(means_lower(loss, places), 0.5 * (near + far) - 4 * UNIT * (np.abs(near) + np.abs(far)))
        steps, sizes = self.steps(self.ends[:-1], E)
        theta = min(level, loss.infimum(0.0, 0.0) * (1 - 4 * UNIT) + rates * (1 - 8 * UNIT))
        for open_, tail, (a, b) in (
            (math.isinf(self.support[0]), float(self.right[0]), (-math.inf, places.floats[0])),
            (math.isinf(self.support[1]), float(self.left[-1]), (places.floats[-1], math.inf)),
        ):
            if open_:  # D = c + y − E y
                least, price = loss.infimum(math.nextafter(a, -math.inf), math.nextafter(b, math.inf)), (E - 1) * tail
                theta = min(theta, least - price - 8 * UNIT * (abs(least) + E * tail))
        zero = int(np.searchsorted(self.ends, 0))
        right = near[zero:], far[zero:], means[zero:], steps[zero:], sizes[zero:]
        left = tuple(rows[:zero][::-1] for rows in (far, near, means, steps, sizes))
        for ends, rows in ((self.ends[zero:], right), (-self.ends[zero::-1], left)):
            if len(ends) > 1:
                theta = min(theta, _least_mean(level, ends / self.resolution, *rows))
        return theta - delta * rates * (1 + 8 * UNIT) - 4 * UNIT * abs(theta)


def _least_mean(level: float, ends: Array, near: Array, far: Array, means: Array, steps: Array, sizes: Array) -> float:
    """The least of level + I(L)/L over L > 0 on one side, rounded down. ends : distances from 0, (n + 1,); the others
    of the cells between them, (n,), near and far being ends of a line below the loss."""
    widths = np.diff(ends)
    sizes = (sizes + np.abs(near) + np.abs(far) + np.abs(means) + abs(level)) * widths
    blur = UNIT * (len(widths) + 32) * np.cumsum(sizes)
    sums = np.concatenate([[0.0], np.cumsum((means + steps - level) * widths)[:-1]])
    rise, bend = (near + steps - level) * widths, (far - near) * widths
    turn = np.where(bend > 0, np.clip(-rise / np.where(bend > 0, bend, 1.0), 0.0, 1.0), 1.0)  # where I is least
    least = sums + np.minimum(rise * turn + 0.5 * bend * turn**2, 0.0) - blur
    first = level + min(float(rise[0]), float(rise[0] + 0.5 * bend[0])) / float(widths[0]) - float(blur[0] / widths[0])
    later = float((least[1:] / ends[1:-1]).min(initial=0.0)) * (1 + 8 * UNIT)
    return min(first, level + later) - 8 * UNIT * (abs(level) + abs(later))
