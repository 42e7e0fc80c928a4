"""How private and how accurate laws on a lattice are, from their masses at consecutive points."""

from __future__ import annotations

import math

import numpy as np

from ..loss import UNIT, Loss
from ..loss.cells import lattice_costs
from ..noise.base import Array
from .growth import amplification_bounds


def lattice_shortfall_upper(masses: Array, epsilon: float, shifts: int) -> tuple[float, int]:
    """(bound, shift): for a law with these masses at consecutive lattice points the largest Σ_i (p_i − e^ε p_{i−j})₊
    over whole shifts 0 < |j| ≤ shifts is at most `bound`, attained at j = `shift`.

    masses : (n,) each within a relative u of the law's. A shift of n or more uncovers everything.

    Rounding: mass (u), product (2 u more, E ≤ e^ε) and difference (u) err by at most 8u·p_i in all where a term can be
    positive. Sums are rough at first (pairwise, below 64 u off) and exact (fsum) where they may be the largest.
    """
    E, n = amplification_bounds(epsilon)[0], len(masses)
    if shifts <= 0:
        return 0.0, 0
    reach = min(shifts, n)
    padded = np.zeros(n + 2 * reach)
    padded[reach : reach + n] = masses
    here, bare, covering = masses * (1 + 8 * UNIT), 8 * UNIT * masses, E * padded
    signs = (1,) if (masses == masses[::-1]).all() else (1, -1)

    def terms(j: int) -> Array:
        there = covering[reach - j : reach - j + n]
        return np.where(here > there, np.maximum(masses - there, 0.0) + bare, 0.0)

    where = np.array([sign * j for j in range(1, reach + 1) for sign in signs])
    rough = np.array([terms(j).sum() for j in where.tolist()])
    close = where[rough >= (1 - 1e-12) * rough.max()].tolist()
    worst, shift = max((math.fsum(terms(j)), -abs(j), j) for j in close)[::2]
    return min(worst * (1 + 8 * UNIT), 1.0), shift


def lattice_loss_upper(masses: Array, points: Array, loss: Loss) -> float:
    """An upper bound of E c(X) for a law with these masses (within u) at these points (nearest floats)."""
    return math.fsum(masses * lattice_costs(points, loss)[1]) * (1 + 8 * UNIT)
