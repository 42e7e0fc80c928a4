"""Composition on a grid of privacy losses: a lower and an upper bound of the joint δ(ε), with rounding accounted for.

Every pair is replaced by one on a grid that dominates it or is dominated by it (`loss_grids`). Products keep the order
[ZDW22, Thm. 10], so the composed curves enclose the truth. Convolutions and the cut of their tails are dp_accounting's.
They are done with masses tilted by e^(θ loss), θ + 1 being the Rényi order that matters at the δ asked for: what the
transforms round is then small against δ itself, however small δ is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..extras import needs
from ..loss import UNIT
from ..search import bisection, whole_half
from .loss_grids import CLOSED_FORM, LossGrid, curve_of

Array = NDArray[np.float64]

TAIL = 1e-15
"""Tilted mass that a convolution may wrap around."""


@dataclass(frozen=True, eq=False)
class Composed:
    """The composed loss: finite part e^(scale − tilt·loss)·weights at losses offset + (first + i)·step, tilted and
    normalised; an infinite part; a bound of what rounding may have done."""

    step: float
    first: int
    weights: Array
    tilt: float
    scale: float
    infinite: float
    error: float
    upper: bool
    relative: float
    offset: float = 0.0

    @cached_property
    def losses(self) -> Array:
        """The finite losses, in step with `weights`."""
        places: Array = self.offset + (self.first + np.arange(len(self.weights), dtype=float)) * self.step
        return places

    @cached_property
    def _curve(self) -> tuple[Array, Array, Array]:
        """(losses ≥ 0 of the grid, H there, C there) of the finite part (see `curve_of`)."""
        start = int(np.searchsorted(self.losses, -1e-6 * self.step))
        losses, weights = self.losses[start:], self.weights[start:]
        with np.errstate(under="ignore", divide="ignore"):  # no mass exceeds 1: far from its tilt it is rounding
            masses = np.exp(np.minimum(self.scale - self.tilt * losses + np.log(weights), 0.5))
        return losses, *curve_of(masses, self.step)

    def _errors(self, losses: ArrayLike) -> Array:
        """What δ may be off at ε = losses."""
        with np.errstate(over="ignore"):
            return np.exp(np.minimum(self.scale - self.tilt * np.asarray(losses), 700.0)) * self.error

    def delta(self, epsilon: float) -> float:
        """δ at ε ≥ 0, rounded up (upper) or down."""
        losses, values, heights = self._curve
        sign, finite = 1.0 if self.upper else -1.0, 0.0
        i = int(np.searchsorted(losses, epsilon, side="right"))
        if i < len(losses):
            finite = values[i] - heights[i] * math.expm1(epsilon - losses[i])
        value = self.infinite + finite * (1 + sign * self.relative) + sign * float(self._errors(epsilon))
        return float(min(max(value, 0.0), 1.0))

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 with δ(ε) ≤ delta, rounded up (upper: ∞ if none is proved) or down."""
        losses, values, heights = self._curve
        sign = 1.0 if self.upper else -1.0
        goal = delta - self.infinite
        if goal <= 0:
            return math.inf
        if len(losses) == 0:
            return 0.0
        if self.upper and self.delta(0.0) <= delta:
            return 0.0
        bound = values * (1 + sign * self.relative) + sign * self._errors(losses)
        if not self.upper:  # what is proved further on is proved here too
            bound = np.maximum.accumulate(bound[::-1])[::-1]
        if not (bound <= goal).any():
            return math.inf if self.upper else float(losses[-1])
        i = int(np.argmax(bound <= goal))
        low = max(float(losses[i - 1]), 0.0) if i else 0.0  # the error is largest at the left end of a cell
        room = (goal - sign * float(self._errors(low))) / (1 + sign * self.relative) - values[i]
        share = room / heights[i] if heights[i] > 0 else 1.0
        found = float(losses[i]) + (math.log1p(-share) if share < 1 else -math.inf)
        return min(max(found, low), max(float(losses[i]), 0.0)) * (1 + sign * 1e-12)


Part = tuple[LossGrid, int]


def tilt_for(parts: Sequence[Part], *, delta: float | None = None, epsilon: float | None = None) -> float:
    """The tilt at which Chernoff's bound e^(growth − θε), which rounding is in proportion to, is least, at the ε asked
    for, or at the least one where δ(ε) ≤ e^(growth − θε) θ^θ/(1 + θ)^(1 + θ) allows the δ asked for [CKS20, Prop. 12].
    """
    thetas: list[float] = parts[0][0].thetas.tolist()

    def growth(number: int) -> float:
        return sum(count * grid.growth(number) for grid, count in parts)

    if epsilon is None:
        assert delta is not None
        goal = delta - infinite_mass(parts)
        if goal <= 0:
            return thetas[0]

        def reached(number: int) -> float:
            theta = thetas[number]
            sharper = theta * math.log(theta) - (1 + theta) * math.log1p(theta)
            return (growth(number) + sharper - math.log(goal)) / theta

        epsilon = max(reached(_valley(reached, len(thetas))), 0.0)
    return thetas[_valley(lambda number: growth(number) - thetas[number] * epsilon, len(thetas))]


def _valley(score: Callable[[int], float], count: int) -> int:
    """Where a score of 0 … count − 1 is least that falls, then rises."""
    return bisection(lambda n: score(n) <= score(n + 1), count - 1, -1, mean=whole_half)[0]


def infinite_mass(parts: Sequence[Part]) -> float:
    """P{L = ∞} of the composition, 1 − Π (1 − infinite)^count."""
    kept = sum(count * math.log1p(-min(grid.infinite, 1 - 1e-16)) for grid, count in parts)
    upper = parts[0][0].upper
    return min(max(-math.expm1(kept) * (1 + (1 if upper else -1) * 1e-14), 0.0), 1.0)


def compose(parts: Sequence[Part], *, delta: float | None = None, epsilon: float | None = None) -> Composed:
    """The composition of independent (or adaptively chosen) releases, `count` of each; all grids of one step and side.

    delta or epsilon : where the curve is wanted; elsewhere it stays a bound, but a wider one.

    Rounding: an output of a Fourier transform of length n is a sum of its inputs through log₂ n stages, each of
    relative error below 7u [Higham, Thm. 24.2]; inputs add up to 1, a power multiplies the error by its exponent. So
    every entry of a convolution is off by at most (8 log₂ n + 16)·u·(number of releases), and mass of at most TAIL
    is wrapped around.
    """
    with needs("accounting"):
        from dp_accounting.pld import common
    from scipy.signal import fftconvolve

    theta = tilt_for(parts, delta=delta, epsilon=epsilon)
    upper = parts[0][0].upper
    first, offset, scale, weights, entry, total = 0, 0.0, 0.0, np.ones(1), 0.0, 0
    for grid, count in parts:
        with np.errstate(divide="ignore"):
            terms = np.log(grid.masses) + theta * grid.losses
        top = float(terms.max())
        tilted = np.exp(terms - top)
        size = float(tilted.sum())
        scale += count * (top + math.log(size))
        start, power = 0, tilted / size
        if count > 1:
            with np.errstate(all="ignore"):  # moments of empty cells
                start, power = common.self_convolve(power, count, TAIL)
            entry += count * _entry_error(len(power))
        power = np.maximum(power, 0.0)
        weights = power if len(weights) == 1 else np.maximum(fftconvolve(weights, power), 0.0)
        entry += 4 * _entry_error(len(weights)) if len(weights) > len(power) else 0.0
        first, offset = first + count * grid.first + start, offset + count * grid.offset
        total += count
    step = parts[0][0].step
    cells = min(float(len(weights)), 1 / -math.expm1(-theta * step))
    absolute = sum(count * grid.slack for grid, count in parts)
    error = (len(parts) + 1) * TAIL + entry * cells
    relative = sum(count * 2 * (CLOSED_FORM + grid.relative) for grid, count in parts)
    relative += 4 * len(weights) * UNIT + abs(scale) * 16 * UNIT
    extra = 2 * absolute * math.exp(min(absolute * total, 1.0))
    made = sum(count * 2 * grid.relative for grid, count in parts)  # of the finite losses that go with an infinite one
    infinite = infinite_mass(parts) * (1 + made if upper else max(1 - made, 0.0)) + (extra if upper else -extra)
    return Composed(step, first, weights, theta, scale, infinite, error, upper, relative, offset)


def _entry_error(length: int) -> float:
    return (8 * math.log2(max(length, 2)) + 16) * UNIT
