"""Events bounded by a curve: x is in the event of a shift s where |x| + s − |x − s·e| ≤ T(|x|), T linear between nodes.

The simplest multipliers, W(r, τ) = y·1[τ ≤ T(r)]: both means of F are one value of a Beta law each, so that proofs
take a few ten thousand of them instead of many millions (docs/isotropic.md, "Curves").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import beta
from .problem import Array

ABSOLUTE = 1e-12
"""More than what sums and differences of radii and levels lose; what is compared is widened by it."""

RELATIVE = 2e-15
"""More than what interpolating between two levels loses, as a share of the larger one."""

LEAST_RADIUS = 1e-300
"""Radius that stands for 0 in denominators."""


@dataclass(frozen=True)
class Curve:
    """W(r, τ) = rate·1[τ ≤ T(r)], T linear between nodes, no event beyond the last one.

    shift : s in (0, 1].   nodes : (n,) from 0 upwards.   levels : (n,) T at the nodes, within [0, 2s].
    """

    shift: float
    nodes: Array
    levels: Array
    rate: float

    def __post_init__(self) -> None:
        if not (0 < self.shift <= 1 and self.nodes[0] == 0 and (np.diff(self.nodes) > 0).all()):
            raise ValueError("nodes must increase from 0, shifts lie in (0, 1]")
        if not (
            len(self.levels) == len(self.nodes) and (self.levels >= 0).all() and self.levels.max() <= 2 * self.shift
        ):
            raise ValueError("levels must lie within [0, 2s]")
        if not (self.rate >= 0 and np.isfinite(self.rate)):
            raise ValueError("a rate must be a number of at least 0")

    @property
    def turns(self) -> Array:
        """(n,) ψ − s, ψ the least radius that belongs to the event after the shift."""
        out: Array = self.nodes - self.levels
        return out

    @property
    def cuts(self) -> Array:
        """Radii at which F may turn or jump."""
        return np.concatenate([self.nodes, self.turns + self.shift])


class CurveSide:
    """A curve, ready for evaluation: bounds of both means over pieces of r."""

    cells = 2
    """Values of the Beta law per piece."""

    def __init__(self, dimension: int, curve: Curve) -> None:
        self.d, self.s, self.curve = dimension, curve.shift, curve
        self.nodes, self.levels = curve.nodes, curve.levels
        # The event after the shift, seen from r: all R up to the last one with R − T(R) ≤ r − s.
        self.least = np.minimum.accumulate(curve.turns[::-1])[::-1]

    def gain_lower(self, lo: Array, hi: Array) -> Array:
        """A lower bound of E[W(r, r + s − R)] over [lo, hi], which contains no node inside: P(τ ≤ T) falls in r, and
        T(r)/r and 2(r + s) − T(r) are least at an end. At r = 0 every direction has τ = 0."""
        n, middle, s = len(self.nodes), 0.5 * (lo + hi), self.s
        i = np.clip(np.searchsorted(self.nodes, middle, side="right") - 1, 0, n - 2)
        left, right = self.levels[i], self.levels[i + 1]
        size, error = self.nodes[i + 1] - self.nodes[i], RELATIVE * np.maximum(left, right)

        def level(r: Array) -> Array:
            found: Array = left + (right - left) * np.clip((r - self.nodes[i]) / size, 0.0, 1.0)
            return found

        first, last = level(lo), level(hi)
        least = np.maximum(np.minimum(first, last) - error, 0.0)
        first, last = np.where((lo > 0) | (first > 0), first, np.inf), np.where(hi > 0, last, np.inf)
        slope = np.minimum(
            np.maximum(first - error, 0.0) / np.maximum(lo, LEAST_RADIUS),
            np.maximum(last - error, 0.0) / np.maximum(hi, LEAST_RADIUS),
        )
        rest = np.minimum(2 * (lo + s) - level(lo), 2 * (hi + s) - level(hi)) - error
        with np.errstate(over="ignore"):
            even = least * (2 * (hi + s) - least) / (4 * np.maximum(hi, LEAST_RADIUS) * s)
            share = np.maximum(even, slope * np.maximum(rest, 0.0) / (4 * s))
        out: Array = np.where(hi <= self.nodes[-1], beta.lower(self.d, share), 0.0) * self.curve.rate
        return out * (1 - RELATIVE)

    def cost_upper(self, lo: Array, hi: Array) -> Array:
        """An upper bound of E[W(R, R + s − r)] over [lo, hi] without a cut inside: P(τ ≤ T) rises in r."""
        level = np.maximum(self._level(lo), self._level(hi)) + 2 * ABSOLUTE
        r = np.maximum(hi, LEAST_RADIUS)
        with np.errstate(over="ignore"):
            share = level * (2 * (r - self.s) + level + 4 * ABSOLUTE) / (4 * r * self.s)
        found = np.where((level >= 0) & (share >= 0), beta.upper(self.d, share), 0.0)
        out: Array = found * self.curve.rate * (1 + RELATIVE)
        return out

    def _level(self, radius: Array) -> Array:
        """φ(r) + s − r, φ the last radius of the event seen from r, rounded up; −1 where there is none."""
        moved = radius - self.s + ABSOLUTE
        n = len(self.nodes)
        j = np.searchsorted(self.least, moved, side="right") - 1
        i = np.clip(j, 0, n - 2)
        turns = self.curve.turns
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip((moved - turns[i]) / (turns[i + 1] - turns[i]), 0.0, 1.0)
        last = np.where(j >= n - 1, self.nodes[-1], self.nodes[i] + share * (self.nodes[i + 1] - self.nodes[i]))
        return np.where(j < 0, -1.0, last + self.s - radius)
