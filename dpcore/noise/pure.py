"""The referee for δ = 0: what staircase laws pay, and what every law that is (ε, 0)-DP pays at least [Thm 8].

Built on the enclosed sums of `noise.periods`; every slack is derived where it is added.
"""

from __future__ import annotations

import math

import numpy as np

from ..loss import UNDERFLOW, UNIT
from ..loss.cells import lattice_costs
from .periods import Side


def staircase_loss_bounds(side: Side, inner: float) -> tuple[float, float]:
    """(lower, upper) bounds of E c(X) for the staircase whose first step ends `inner` from the centre of `side`."""
    sides = [side] if side.loss.even and side.centre == 0 else [side, side.mirrored]
    sums = [one.sums(inner) for one in sides]
    low, high = (2 / len(sides) * sum(near[end] + side.decay * far[end] for near, far in sums) for end in (0, 1))
    weight = 2 * (inner + side.decay * (side.period - inner))
    if side.lattice:  # both sides counted the centre
        least, most = lattice_costs(np.array([side.centre]), side.loss)
        weight, low, high = weight - side.rest, low - float(most[0]), high - float(least[0])
    if weight == 0:  # no first step, and a second one too low for a float
        return 0.0, math.inf
    share = side.rest / weight
    return max(share * low * (1 - 64 * UNIT), 0.0), share * high * (1 + 64 * UNIT)


def pure_lower(side: Side, inner: float, outer: float) -> float:
    """A lower bound of E c(X) over all laws that are (ε, 0)-DP, for an even loss that grows away from 0 = centre,
    rounded down: valid for any 0 ≤ inner ≤ outer ≤ period (equal, whole and inside on a lattice), best where the first
    step of the optimum ends between them [Thm 8].

    E c(X) ≥ (1 − b) v whenever Σ w (G − v) ≥ 0 for every b ≤ w ≤ 1 (on the line the sum is an integral over [0, 1]; on
    a lattice it runs over u = 0 … period, the two ends counting half). Where u < inner the least of it is at least
    G − v − (1 − b)(G(inner) − v)₊, for u > outer b(G − v) − (1 − b)(v − G(outer))₊, between −(v − G(inner))₊: G grows.
    """
    b, rest, u = side.decay, side.rest, UNIT
    if side.lattice:
        inside, outside = side.sums(inner)
        weights = (inner - 0.5, 0.0, side.period - inner + 0.5)
        most, least = side.at(inner - 1)[1], side.at(inner)[0]
        low = most
        total = inside[0] + b * outside[0] - 0.5 * float(lattice_costs(np.array([0.0]), side.loss)[1][0])
    else:
        inside, _, outside = side.sums(inner, outer)
        weights = (inner, outer - inner, 1 - outer)
        (low, most), least = side.at(inner), side.at(outer)[0]
        total = inside[0] + b * outside[0]
    mass = weights[0] + b * weights[2]

    def spare(v: float) -> float:
        wrong = rest * (weights[0] * max(most - v, 0.0) + weights[2] * max(v - least, 0.0))
        wrong += weights[1] * max(v - low, 0.0)
        return total - v * mass - wrong - 32 * u * (total + v * mass + wrong)

    everywhere = side.at(0)[0]  # G grows
    if not total > 0:
        return max(rest * everywhere * (1 - 16 * u) - UNDERFLOW, 0.0)
    best, loss = total / mass, 2.0**-52
    while loss < 1 and spare(best * (1 - loss)) < 0:
        loss *= 2
    v = max(best * (1 - min(loss, 1.0)), everywhere)
    return max(rest * v * (1 - 16 * u) - UNDERFLOW, 0.0)
