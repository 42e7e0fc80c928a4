"""A lower bound in closed form for monotone laws whose support ends within one sensitivity of 0 [Thm 9]."""

from __future__ import annotations

import math

import numpy as np

from .. import audit
from ..loss import UNIT, Loss
from ..noise.periods import integral_bounds
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import least_argument

PLACES = 41
"""Widths of the uniform law that a search begins with."""

NARROWEST = 1e-3
"""The smallest of them, in sensitivities."""


def monotone_lower(problem: NoiseProblem) -> float:
    """A lower bound on the expected loss, rounded down; 0 for laws that are not monotone, supports whose ends are
    further than D from 0, and losses that do not grow away from 0."""
    if not problem.monotone or not problem.paid_loss.grows_from_zero:
        return 0.0
    lo, hi = problem.support
    found = 0.0
    for end, loss in ((-lo, problem.paid_loss), (hi, problem.paid_loss.mirrored)):
        if 0 <= end < problem.sensitivity:
            found = max(found, *(_lower(loss, pair, problem.sensitivity, end) for pair in problem.privacies))
    return found


def _lower(loss: Loss, privacy: Privacy, D: float, a: float) -> float:
    """The best bound over L."""
    if privacy.delta == 0:
        return 0.0
    most = math.log(4 * D / privacy.delta)
    least = math.log(NARROWEST * D)
    logs = [least + (most - least) * i / (PLACES - 1) for i in range(PLACES)]
    best = least_argument(lambda log: -_bound(loss, privacy, D, a, math.exp(log)), [*logs, math.log(D / privacy.delta)])
    return max(0.0, _bound(loss, privacy, D, a, math.exp(best)))


def _bound(loss: Loss, privacy: Privacy, D: float, a: float, L: float) -> float:
    """v − δ (λ + v) of theorem 9, rounded down.

    Rounding: I(L′) − vL′ ≥ I(L) − c(L) L for every v ≤ c(L), so either side takes its own bound of c(L). D_e is rounded
    down and λ up, of which any larger one serves; D − a errs by u (D + a), each product and sum by u of its terms.
    """
    (low,), (high,) = audit.lattice_costs(np.array([L]), loss)
    E = audit.amplification_bounds(privacy.epsilon)[1]
    reach = (D - a * (1 - 1 / E)) - 8 * UNIT * (D + a)
    room = max(0.0, (D - a) - 4 * UNIT * (D + a))
    need = high * L - integral_bounds(loss, 0.0, L)[0] - low * room + 16 * UNIT * high * (L + D)
    rate = max(0.0, need, low * a * (1 + 4 * UNIT)) / reach * (1 + 4 * UNIT)
    price = privacy.delta * (rate + low) * (1 + 8 * UNIT)
    return float(low - price - 4 * UNIT * (low + price))
