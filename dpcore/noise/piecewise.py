"""Piecewise constant noise on an integer geometry: the laws the solver makes.

Breaks are whole numbers of a unit (sensitivity / resolution), cell weights are whole numbers that add up
to 2^62. The law is therefore exactly representable, exactly auditable and exactly samplable; floats are a
view of it.
"""

from __future__ import annotations

import math
import secrets
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import audit
from ..loss import Loss
from .base import Array, Noise

TOTAL = 1 << 62
"""Sum of all weights."""


@dataclass(frozen=True, eq=False)
class PiecewiseNoise(Noise):
    """X = origin + unit·(uniform on a cell [breaks[i], breaks[i+1]) with probability weights[i]/2^62,
    or atom_unit with probability atom_weight/2^62).

    sensitivity : the query's sensitivity, in its unit; unit = sensitivity/resolution.
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
    ) -> PiecewiseNoise:
        """The law with the given masses, normalised; cells of no mass at either end are dropped.

        Cells are rounded up to multiples of 2^−62 and the largest pays for it: rounding a covering cell down would
        cost e^ε times as much privacy as rounding the covered one up. Mirror images stay mirror images (up to the
        last unit, which makes an odd rest visible to the audit).
        """
        masses = np.maximum(np.asarray(masses, dtype=float), 0.0)
        breaks = np.asarray(breaks, dtype=np.int64)
        used = np.flatnonzero(masses > 1e-30)
        if used.size:
            masses, breaks = masses[used[0] : used[-1] + 1], breaks[used[0] : used[-1] + 2]
        total = math.fsum(masses) + atom
        weights = [math.ceil(m / total * TOTAL) for m in masses.tolist()]
        atom_weight = 2 * int(atom / total * (TOTAL // 2))  # even: two mirror images can share what is left over
        rest = TOTAL - sum(weights) - atom_weight
        best = int(np.argmax(weights))
        mirror = len(weights) - 1 - best if weights == weights[::-1] else best
        if weights[best] < abs(rest):
            atom_weight += rest
        else:
            weights[best] += rest - rest // 2
            weights[mirror] += rest // 2
        return cls(
            sensitivity, resolution, breaks, np.array(weights, dtype=np.int64), atom_unit, atom_weight, origin, name
        )

    def with_atom(self, share: float) -> PiecewiseNoise:
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
        )

    @cached_property
    def edges(self) -> Array:
        """Cell edges in the query's unit, (n + 1,)."""
        return self.origin + self.breaks * (self.sensitivity / self.resolution)

    @cached_property
    def masses(self) -> Array:
        """Cell probabilities, (n,), each within a relative 2^−53."""
        return self.weights / float(TOTAL)

    @property
    def atom_mass(self) -> float:
        return self.atom_weight / float(TOTAL)

    @property
    def atom_location(self) -> float:
        return self.origin + self.atom_unit * (self.sensitivity / self.resolution)

    @cached_property
    def is_symmetric(self) -> bool:
        """The continuous part is its own mirror image (about its own centre)."""
        widths = np.diff(self.breaks)
        return bool((self.weights == self.weights[::-1]).all() and (widths == widths[::-1]).all())

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]
        return ((self.atom_location, self.atom_mass),) if self.atom_weight else ()

    @property
    def parameters(self) -> dict[str, float]:
        return {"cells": len(self.weights), "atom": self.atom_mass}

    @property
    def support(self) -> tuple[float, float]:
        ends = [self.edges[0], self.edges[-1], *([self.atom_location] if self.atom_weight else [])]
        return float(min(ends)), float(max(ends))

    def density(self, x: ArrayLike) -> Array:
        heights = np.concatenate([[0.0], self.masses / np.diff(self.edges), [0.0]])
        return heights[np.searchsorted(self.edges, np.asarray(x, dtype=float), side="right")]

    def cdf(self, x: ArrayLike) -> Array:
        x = np.asarray(x, dtype=float)
        smooth = np.interp(x, self.edges, np.concatenate([[0.0], np.cumsum(self.masses)]))
        return np.minimum(smooth + self.atom_mass * (x >= self.atom_location), 1.0)

    def quantile(self, u: ArrayLike) -> Array:
        u = np.asarray(u, dtype=float)
        cumulative = np.concatenate([[0.0], np.cumsum(self.masses)])
        cumulative /= max(cumulative[-1] + self.atom_mass, 1e-300)
        if not self.atom_weight:
            return np.interp(u, cumulative, self.edges)
        below = float(np.interp(self.atom_location, self.edges, cumulative))
        shifted = np.where(u <= below, u, u - self.atom_mass)
        inside = (u > below) & (u <= below + self.atom_mass)
        return np.where(inside, self.atom_location, np.interp(shifted, cumulative, self.edges))

    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        a, b = np.clip(self.edges[:-1], lo, hi), np.clip(self.edges[1:], lo, hi)
        q = power + 1
        primitive = lambda x: np.sign(x) * np.abs(x) ** q / q  # noqa: E731
        heights = self.masses / np.diff(self.edges)
        return math.fsum(heights * np.where(b > a, primitive(b) - primitive(a), 0.0))

    def expected_loss(self, loss: Loss) -> float:
        """E c(X), exact up to rounding, narrow cells far from 0 included: no division by differences of edges."""
        parts = (self.masses * loss.mean(self.edges[:-1], self.edges[1:])).tolist()
        return math.fsum([*parts, *(mass * float(loss.value(x)) for x, mass in self.atoms)])

    def shortfall(self, epsilon: float, sensitivity: float) -> float:
        return audit.shortfall_upper(self, epsilon, sensitivity)[0]

    # Exact sampling ----------------------------------------------------------------------------------

    @cached_property
    def _ladder(self) -> list[int]:
        return list(accumulate([self.atom_weight, *self.weights.tolist()]))

    def draw(self, subdivisions: int = 1 << 20) -> int:
        """One exact draw in units of sensitivity/(resolution·subdivisions), relative to the origin.

        Integer arithmetic and the operating system's cryptographic source only. A cell is a uniform choice
        among its lattice points, so the law has exactly the audited probabilities and privacy on this lattice.
        """
        index = bisect_right(self._ladder, secrets.randbelow(TOTAL))
        if index == 0:
            return self.atom_unit * subdivisions
        lo, hi = int(self.breaks[index - 1]), int(self.breaks[index])
        return lo * subdivisions + secrets.randbelow((hi - lo) * subdivisions)

    def release(self, value: float, subdivisions: int = 1 << 20) -> float:
        """The value, rounded down to the sampling lattice, plus one exact draw.

        The sensitivity is a whole number of lattice points, so rounding down does not enlarge it, and the
        release is private for real-valued queries without any floating-point side channel.
        """
        from fractions import Fraction

        step = Fraction(self.sensitivity) / (self.resolution * subdivisions)
        floor = Fraction(value) // step
        return float((floor + self.draw(subdivisions)) * step + Fraction(self.origin))
