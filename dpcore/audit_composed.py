"""The referee for several releases together: δ of T-fold composition of a law, rounded up.

The law is replaced by the tight pair of all its shifts, rounded up (`noise.solved`), and that by a privacy
loss on a grid that dominates it; products keep the order [ZDW22, Thm. 10], and how the convolutions round is
`accounting.losses`' business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .accounting.loss_grids import LossGrid, on_grid, reach
from .accounting.losses import compose
from .accounting.pairs import dominating_pair
from .noise.base import Array
from .noise.piecewise import PiecewiseNoise

MOST_POINTS = 1 << 14
"""Grid points of the positive losses of one release."""

UNSEEN = 1e-18
"""Probability of the losses that count as infinite."""


@dataclass(frozen=True, eq=False)
class Losses:
    """The privacy loss of one release over all shifts, on a grid that dominates it."""

    grid: LossGrid

    @classmethod
    def of(cls, noise: PiecewiseNoise, step: float) -> Losses:
        """The losses of a law, with this step or, where the losses are large, a multiple of it."""
        pair = dominating_pair(noise, noise.sensitivity)
        coarser = max(1, math.ceil(reach(pair, UNSEEN)[1] / step / MOST_POINTS))
        return cls(on_grid(pair, coarser * step, upper=True, unseen=UNSEEN))

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
        values = made.losses
        with np.errstate(divide="ignore", under="ignore"):
            masses = np.exp(np.minimum(made.scale - made.tilt * values + np.log(made.weights), 0.0))
        return values, masses


def composed_delta_upper(noise: PiecewiseNoise, releases: int, epsilon: float) -> float:
    """δ of so many releases with independent noise of this law at ε, rounded up."""
    return Losses.of(noise, grid_step(releases, epsilon)).delta_upper(releases, epsilon)


def grid_step(releases: int, epsilon: float) -> float:
    """A grid on which what rounding up adds stays far below δ: errors are of second order in the step. ε/releases is a
    multiple of it, for laws that owe their privacy to basic composition."""
    wanted: float = max(epsilon, 0.05) / (1500 * max(1.0, releases**0.25))
    share = epsilon / releases
    return share / math.ceil(share / wanted) if share > 0.1 * wanted else wanted
