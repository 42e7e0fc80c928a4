"""Noise on a lattice: laws of multiples of a step, for whole-number queries and other queries with a granularity.

The step is the number its decimal text says (0.1 is a tenth), so the points are exact, and points and breaks of a
loss that look the same are the same. Weights are whole numbers that add up to 2^62.
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
from ..pair import FinitePair
from ..script import LawScript, carried, filled, wrapped
from .base import Array, Noise
from .discrete import IntegerStaircase
from .ladder import chosen
from .solved import SolvedNoise
from .steps import LatticeLaw, floor_steps, lattice_points, released, told, whole_shift, whole_steps
from .whole import TOTAL, whole_weights

_LATTICE = '''\
# The noise is (FIRST + i) steps with probability WEIGHTS[i]/2**62.
STEP = Fraction("$step")
FIRST = $first
WEIGHTS = [
$weights
]
LADDER = list(accumulate(WEIGHTS))
assert LADDER[-1] == 1 << 62


$functions

def added(value):
    """The value, rounded to the nearest step, plus one exact draw."""
    steps = (2 * value + STEP) // (2 * STEP)
    return (steps + FIRST + chosen(LADDER)) * STEP'''


@dataclass(frozen=True, eq=False)
class LatticeNoise(LatticeLaw, SolvedNoise):
    """X = (first + i)·step with probability weights[i]/2^62.

    weights : int64 (n,), non-negative.
    """

    step: float
    first: int
    weights: NDArray[np.int64]
    name: str = "Optimal"

    def __post_init__(self) -> None:
        total = int(self.weights.sum(dtype=object))
        if total != TOTAL or self.weights.min(initial=0) < 0:
            raise ValueError(f"weights must be non-negative and add up to 2^62, not {total}")

    @classmethod
    def from_masses(
        cls, step: float, first: int, masses: ArrayLike, *, name: str = "Optimal", monotone: bool = False
    ) -> LatticeNoise:
        """The law with the given masses, normalised; points of no mass at either end are dropped.

        Mirror images stay mirror images; `monotone` laws do not rise away from 0 [noise.whole].
        """
        given: Array = np.maximum(np.asarray(masses, dtype=float), 0.0)
        used = np.flatnonzero(given > 5e-20 * given.max())  # what is far below a unit would be rounded up to one
        kept, first = given[used[0] : used[-1] + 1], first + int(used[0])
        ones = np.ones(len(kept), dtype=np.int64)
        weights, _ = whole_weights(kept, 0.0, ones, Fraction(1, 2) - first, monotone=monotone)
        return cls(float(step), first, weights, name)

    @cached_property
    def points(self) -> Array:
        """The places, in the query's unit, (n,)."""
        return lattice_points(self.first, len(self.weights), self.step)

    @cached_property
    def masses(self) -> Array:
        """Probabilities, (n,), each within a relative 2^−53."""
        return self.weights / float(TOTAL)

    @cached_property
    def is_symmetric(self) -> bool:
        """The law is its own mirror image (about its own centre)."""
        return bool((self.weights == self.weights[::-1]).all())

    @property
    def cell_count(self) -> int:
        return len(self.weights)

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]  # read only, like a field of a frozen class
        return tuple(zip(self.points.tolist(), self.masses.tolist()))

    @property
    def parameters(self) -> dict[str, float]:
        return {"points": len(self.weights), "step": self.step}

    @property
    def support(self) -> tuple[float, float]:
        return float(self.points[0]), float(self.points[-1])

    @cached_property
    def _cumulative(self) -> Array:
        """P(X ≤ points[i]), each correctly rounded. (n,)"""
        return np.array([w / TOTAL for w in accumulate(self.weights.tolist())])

    def pmf(self, x: ArrayLike) -> Array:
        """P(X = x), elementwise."""
        x = np.asarray(x, dtype=float)
        at = np.clip(np.rint(x / self.step) - self.first, 0, len(self.weights) - 1).astype(np.int64)
        near = 1e-12 * np.maximum(np.abs(x), self.step)
        return np.where(np.abs(self.points[at] - x) <= near, self.masses[at], 0.0)

    def cdf(self, x: ArrayLike) -> Array:
        at = np.clip(floor_steps(x, self.step) - self.first, -1, len(self.weights) - 1).astype(np.int64)
        return np.concatenate([[0.0], self._cumulative])[at + 1]

    def quantile(self, u: ArrayLike) -> Array:
        at = np.searchsorted(self._cumulative, np.asarray(u, dtype=float), side="left")
        return self.points[np.minimum(at, len(self.weights) - 1)]

    def expected_loss(self, loss: Loss) -> float:
        """Σ P(x) c(x)."""
        return math.fsum(self.masses * loss.value(self.points))

    @property
    def lattice_step(self) -> float:
        return self.step

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        used, step = self.weights.nonzero()[0].tolist(), decimal(self.step)
        return (self.first + used[0]) * step, (self.first + used[-1]) * step

    @property
    def centre(self) -> Fraction | float:
        middle = Fraction(2 * self.first + len(self.weights) - 1, 2)
        return middle * decimal(self.step) if self.is_symmetric else math.nan

    @property
    def cells_around_zero(self) -> tuple[Fraction, Sequence[int], list[int]]:
        """Every point in the middle of a cell."""
        return Fraction(1, 2), range(self.first, self.first + len(self.weights) + 1), self.weights.tolist()

    @property
    def own_sensitivity(self) -> float:
        return self.step

    def units(self, distance: float) -> int:
        """How many whole steps fit into a distance."""
        return whole_steps(distance, self.step)

    def pair(self, shift: float) -> FinitePair:
        return FinitePair.of(*self.outcomes(whole_shift(shift, self.step)))

    def shifts(self, limit: int) -> range:
        return range(1, min(limit, len(self.weights)) + 1)

    def outcomes(self, shift: float) -> tuple[Array, Array]:
        bare = np.zeros(min(abs(int(shift)), len(self.weights)))
        own, other = np.append(self.masses, bare), np.append(bare, self.masses)
        return (own, other) if shift > 0 else (other, own)

    # Exact sampling ----------------------------------------------------------------------------------

    @cached_property
    def _ladder(self) -> list[int]:
        return list(accumulate(self.weights.tolist()))

    def draw(self) -> int:
        """One exact draw in steps: whole numbers and the operating system's cryptographic source only."""
        return self.first + chosen(self._ladder)

    def release(self, value: float) -> float | int:
        """The value, rounded to the nearest multiple of the step, plus one exact draw."""
        return released(value, self.step, self.draw())

    def script(self) -> LawScript:
        imports, functions = carried(chosen)
        weights = wrapped(self.weights.tolist())
        law = filled(_LATTICE, step=repr(self.step), first=int(self.first), weights=weights, functions=functions)
        return LawScript(imports | {"from itertools import accumulate"}, law, *told(self.step))

    # Files -------------------------------------------------------------------------------------------

    def listed(self) -> tuple[Array, Array]:
        return self.points, self.masses

    def to_dict(self) -> dict[str, Any]:
        exact = {"family": "lattice", "step": self.step, "first": int(self.first)}
        return super().to_dict() | exact | {"weights": [str(w) for w in self.weights.tolist()], "total": str(TOTAL)}


@dataclass(frozen=True)
class Stretched(LatticeLaw):
    """step·N for a whole-number law N."""

    law: IntegerStaircase
    step: float

    @property
    def name(self) -> str:  # type: ignore[override]  # read only, like a field of a frozen class
        return self.law.name

    @property
    def lattice_step(self) -> float:
        return self.step

    def pair(self, shift: float) -> FinitePair:
        return self.law.pair(whole_shift(shift, self.step))

    @property
    def centre(self) -> Fraction:
        return decimal(self.step) * self.law.location

    @property
    def location(self) -> float:
        return float(decimal(self.step) * self.law.location)

    @property
    def atoms(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]  # read only, like a field of a frozen class
        return tuple((float(decimal(self.step) * int(x)), mass) for x, mass in self.law.atoms)

    @property
    def parameters(self) -> dict[str, float]:
        return self.law.parameters | {"step": self.step}

    @property
    def support(self) -> tuple[float, float]:
        return self.law.support

    def pmf(self, x: ArrayLike) -> Array:
        """P(X = x), elementwise."""
        whole = floor_steps(x, self.step)
        near = np.abs(whole * self.step - np.asarray(x)) <= 1e-12 * np.maximum(np.abs(x), self.step)
        return np.where(near, self.law.pmf(whole), 0.0)

    def cdf(self, x: ArrayLike) -> Array:
        return self.law.cdf(floor_steps(x, self.step))

    def beyond(self, x: ArrayLike) -> Array:
        return self.law.beyond(floor_steps(x, self.step))

    def quantile(self, u: ArrayLike) -> Array:
        return self.law.quantile(u) * self.step

    def expected_loss(self, loss: Loss) -> float:
        return self.law.expected_loss(loss.scaled(self.step))

    def loss_upper(self, loss: Loss) -> float:
        return self.law.loss_upper(loss, self.step)

    def shortfall(self, epsilon: float, sensitivity: float) -> float:
        return self.law.shortfall(epsilon, float(floor_steps(sensitivity, self.step)))

    def release(self, value: float) -> float | int:
        return self.law.release(value, self.step)

    def script(self) -> LawScript:
        return self.law.script(self.step)

    def listed(self) -> tuple[Array, Array]:
        return self.law.listed(self.step)

    def to_dict(self) -> dict[str, Any]:
        return self.law.to_dict(self.step)


def whole_law(noise: Noise) -> tuple[IntegerStaircase, float] | None:
    """(law of whole numbers, step) of a closed form on a lattice; None for other laws."""
    if isinstance(noise, Stretched):
        return noise.law, noise.step
    return (noise, 1.0) if isinstance(noise, IntegerStaircase) else None


def stretched(law: IntegerStaircase, step: float) -> IntegerStaircase | Stretched:
    """The law on multiples of the step; itself when that is 1."""
    return law if step == 1 else Stretched(law, float(step))
