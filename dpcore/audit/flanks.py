"""How private and how accurate laws are whose ends go on period by period.

Beyond the core's ends the law repeats itself, scaled by q from one sensitivity to the next, so the shortfall of one
shift is a sum over the core, a period beyond either end, and a geometric series of the latter. It is affine in the
shift between distances of breaks, as without flanks [Thm 1]. u = 2^−53.
"""

from __future__ import annotations

import math

import numpy as np

from .._validate import decimal
from ..loss import UNIT, Loss
from ..noise.flanked import LEFT_OUT, FlankedNoise
from ..noise.whole import TOTAL
from . import cells
from .growth import amplification_bounds


def _rounded(periods: int) -> float:
    """What a density so many periods beyond the core is off at most, relatively: a weight made a float, a product with
    1 − q and a power of q, each factor of which is off and so is each product, two quotients."""
    return (16 + 4 * periods) * UNIT


def worst_shift_upper(noise: FlankedNoise, epsilon: float, sensitivity: float | None = None) -> tuple[float, float]:
    """(bound, shift): sup of h_φ over 0 < |φ| ≤ sensitivity (the law's own by default) is at most `bound`, attained at
    `shift`; 0 from the ε on at which no density exceeds e^ε times another one within the sensitivity."""
    core, limit = noise.core, noise.core.resolution
    if sensitivity is not None:
        limit = math.ceil(decimal(sensitivity) / core.unit)
    if epsilon >= pure_from_upper(noise, limit):
        return 0.0, limit * core.sensitivity / core.resolution
    periods = math.ceil(limit / core.resolution)
    growth, worst, where, blur = amplification_bounds(epsilon)[0], 0.0, limit, _rounded(2 * periods)
    signs = (1,) if noise.is_symmetric else (1, -1)
    for shift in noise.shifts(limit):
        for sign in signs:
            here, there, length = noise.moved(sign * shift, periods)
            more = here * (1 + blur) - growth * there * (1 - blur)
            value = math.fsum((more * length)[more > 0])
            if value > worst:
                worst, where = value, sign * shift
    # The difference of two products, its product with a length, and the length's quotient with 1 − q.
    return min(worst * (1 + 16 * UNIT), 1.0), where * core.sensitivity / core.resolution


def pure_from_upper(noise: FlankedNoise, limit: int | None = None) -> float:
    """An ε′ from which on δ̄ is 0: the logarithm of the largest ratio of densities at places less than `limit` units (a
    sensitivity) apart. Further out than the periods looked at ratios repeat themselves."""
    limit = noise.core.resolution if limit is None else limit
    periods = math.ceil(limit / noise.core.resolution)
    breaks = noise.breaks(2 * periods)
    heights = noise.masses(2 * periods) / np.diff(breaks)
    # Cells less than the limit apart: those that end beyond x − limit and begin before x + limit.
    first = np.searchsorted(breaks[1:], breaks[:-1] - limit, side="right")
    last = np.searchsorted(breaks[:-1], breaks[1:] + limit, side="left")
    # An even number of indices, the last of them within the array.
    spans = np.stack([first, last], axis=1).ravel()
    least = np.minimum.reduceat(np.append(heights, heights[-1]), spans)[::2]
    if not (least > 0).all():
        return math.inf
    return math.log(float((heights / least).max()) * (1 + 4 * _rounded(2 * periods))) * (1 + 4 * UNIT) + 4 * UNIT


def loss_upper(noise: FlankedNoise, loss: Loss) -> float:
    """An upper bound of E c(X); a cell n periods out is off by a relative (n + 8)u."""
    places, masses = noise.listed_cells
    own = (len(places.indices) + 8) * UNIT
    listed = cells.cells_loss_upper(masses, places, loss) * (1 + own)
    return (listed + _unlisted_upper(noise, loss)) * (1 + 8 * UNIT)


def _unlisted_upper(noise: FlankedNoise, loss: Loss) -> float:
    """What is paid beyond the listed cells: at most e^−79.99 is there, farther out by Y ≤ (G + 1) sensitivities,
    P(G = g) = (1 − q) q^g, E (G + 1)^p ≤ 24/(1 − q)^p for p ≤ 4."""
    step = noise.core.sensitivity * TOTAL / (TOTAL - noise.ratio_weight) * (1 + 1e-12)
    return cells.beyond_upper(loss, noise.listed_cells[0].floats, step, math.exp(-LEFT_OUT + 0.01))
