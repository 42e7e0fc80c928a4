"""How private and how accurate laws with tails to infinity are, cell by cell as far as floats reach.

For one shift, h(ε′) = Σ max(0, f_u − e^ε′ f_(u−j)) over unit cells is convex and piecewise linear in x = e^ε′, and so
is the largest over shifts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..loss import UNIT, Loss
from ..noise.base import Array
from ..noise.tailed import CELL_ERROR, CELLS_PER_MEAN, TailedNoise
from . import cells
from .growth import amplification_bounds

LEAST = float(np.finfo(float).tiny)
"""Smaller probabilities are known less exactly than `CELL_ERROR` says, the smallest not at all."""


def curve_upper(noise: TailedNoise, epsilons: Sequence[float] | Array, sensitivity: float | None = None) -> Array:
    """δ̄(ε′) = max over shifts up to the sensitivity (the law's own by default) of h_φ(ε′), at ε′ ≥ 0, rounded up."""
    body, limit = noise.body, noise.body.resolution
    if sensitivity is not None:
        limit = math.ceil(sensitivity / body.sensitivity * body.resolution * (1 - 4 * UNIT))
    growth = np.array([amplification_bounds(float(e))[0] for e in epsilons])
    reach = int(np.abs(body.breaks).max()) + limit
    unit = noise.unit_cells(-reach - limit, reach + limit)
    here = np.maximum(unit[limit : len(unit) - limit], LEAST) * (1 + CELL_ERROR)
    covers = np.where(unit < LEAST, 0.0, unit) * (1 - CELL_ERROR)
    beyond = noise.share * 0.5 * math.exp(reach * math.log1p(-1 / noise.tail_mean)) * (1 + 1e-12)
    best = np.zeros(len(growth))
    for shift in range(1, limit + 1):
        fall = math.exp(shift * math.log1p(-1 / noise.tail_mean)) * (1 - 1e-12)
        outside = beyond * np.maximum(1 - growth * fall, 0.0)
        for sign in (1,) if noise.is_symmetric else (1, -1):
            start = limit - sign * shift
            there = covers[start : start + len(here)]
            best = np.maximum(best, _one_shift_upper(here, there, growth) + outside)
    return np.minimum(best * (1 + 8 * UNIT), 1.0)


def _one_shift_upper(here: Array, there: Array, growth: Array) -> Array:
    """Σ max(0, here − x·there) for every x of `growth`, rounded up. For every x the terms that are positive are those
    whose ratio exceeds it: two cumulative sums serve all x. Sums of n terms err by n·u of their size."""
    with np.errstate(divide="ignore"):
        ratio = here / there
    order = np.argsort(-ratio)
    own = np.concatenate([[0.0], np.cumsum(here[order])])
    other = np.concatenate([[0.0], np.cumsum(there[order])])
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
    in the cells between body and reach."""
    limit = noise.body.resolution
    reach = int(np.abs(noise.body.breaks).max()) + limit
    unit = noise.unit_cells(-reach - limit, reach + limit)
    if (unit < LEAST).any():
        return math.inf
    here = unit[limit : len(unit) - limit]
    places = [limit + sign * j for j in range(1, limit + 1) for sign in (1, -1)]
    return math.log(max(float((here / unit[i : i + len(here)]).max()) for i in places)) + 1e-11
