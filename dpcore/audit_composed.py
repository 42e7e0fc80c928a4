"""The referee for several releases together: δ of T-fold composition of a law, rounded up.

The law is replaced by a privacy loss on a grid that dominates it: its curve δ̄(ε′) over all shifts, joined by chords
[DGKKM22]. Products keep the order [ZDW22, Thm. 10]; how the convolutions round is `accounting.losses`' business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .accounting.curves import dominating_curve_upper
from .accounting.losses import LossGrid, compose, on_grid
from .accounting.pairs import FinitePair, mirrored
from .audit import Array
from .loss import UNIT
from .noise.piecewise import PiecewiseNoise

MOST_POINTS = 1 << 14
"""Grid points of the positive losses of one release."""

LARGEST = 40.0
"""Losses beyond count as infinite, and so do those of cells that are less than 1e-14 of the highest."""


@dataclass(frozen=True, eq=False)
class _Worst(FinitePair):
    """What a grid asks of a pair of laws: δ̄(ε′) of a law over all shifts, rounded up; its losses only as far as to say
    how far they reach."""

    noise: PiecewiseNoise | None = None

    @classmethod
    def of_law(cls, noise: PiecewiseNoise) -> _Worst:
        density = noise.masses / np.diff(noise.breaks)
        positive = density[density > 1e-14 * density.max()]
        losses = np.linspace(0.0, min(math.log(positive.max() / positive.min()) + 0.01, LARGEST), 1025)
        curve = dominating_curve_upper(noise, losses)
        flat = int(np.argmax(curve <= curve[-1] * (1 + 1e-9) + 1e-18))  # beyond, all that is left is infinite
        top, bare = max(float(losses[flat]), 1e-3), float(curve[flat])
        own, other = np.array([bare, 0.5 - bare, 0.5]), np.array([0.0, 0.5, 0.5])
        return cls(np.array([math.inf, top, -top]), own, other, noise)

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        curve = dominating_curve_upper(self.noise, np.abs(epsilons))
        return np.minimum(mirrored(epsilons, curve) * (1 + 4 * UNIT), 1.0)


@dataclass(frozen=True, eq=False)
class Losses:
    """The privacy loss of one release over all shifts, on a grid that dominates it."""

    grid: LossGrid

    @classmethod
    def of(cls, noise: PiecewiseNoise, step: float) -> Losses:
        """With this step or, where the losses are large, a multiple of it."""
        pair = _Worst.of_law(noise)
        coarser = max(1, math.ceil(float(pair.losses[1]) / step / MOST_POINTS))
        return cls(on_grid(pair, coarser * step, upper=True))

    def delta_upper(self, releases: int, epsilon: float) -> float:
        """δ of so many releases together at ε, rounded up; 1 where no loss is finite."""
        if not self.grid.masses.any():
            return 1.0
        return compose([(self.grid, releases)], epsilon=epsilon).delta(epsilon)

    def sums(self, releases: int, epsilon: float) -> tuple[Array, Array]:
        """(values, probabilities) of the total loss of so many releases, best near ε: for choosing where to look."""
        if releases == 0:
            return np.zeros(1), np.ones(1)
        made = compose([(self.grid, releases)], epsilon=epsilon)
        values = (made.first + np.arange(len(made.weights))) * made.step
        with np.errstate(divide="ignore", under="ignore"):
            masses = np.exp(np.minimum(made.scale - made.tilt * values + np.log(made.weights), 0.0))
        return values, masses


def composed_delta_upper(noise: PiecewiseNoise, releases: int, epsilon: float) -> float:
    """δ of so many releases with independent noise of this law at ε, rounded up."""
    return Losses.of(noise, grid_step(releases, epsilon)).delta_upper(releases, epsilon)


def grid_step(releases: int, epsilon: float) -> float:
    """A grid on which what rounding up adds stays far below δ: errors are of second order in the step. ε/releases is a
    multiple of it, for laws that owe their privacy to basic composition."""
    wanted = max(epsilon, 0.05) / (1500 * max(1.0, releases**0.25))
    share = epsilon / releases
    return share / math.ceil(share / wanted) if share > 0.1 * wanted else wanted
