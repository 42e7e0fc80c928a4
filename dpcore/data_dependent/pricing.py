"""Columns of a lower program that were left out: multipliers for their points, or the word that one is missing.

A lower program need not hold every release point. The laws' shares ν and the limits' rates λ that its multipliers come
to are kept; a point b that was left out costs nothing as soon as some 0 ≤ y ≤ λ lifts every D_ab above ν_a, which is a
small program of its own [docs/data_dependent.md, Thm 5]. Nothing here is believed: the referee takes the multipliers as
they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .referee import Multipliers

Array = NDArray[np.float64]

LEAST = 1e-9
"""Rates below this share of the largest one allow no multipliers worth a place."""


def unfolded(proof: Multipliers, rates: Array, points: int) -> tuple[Multipliers, Array]:
    """Multipliers of a folded program, half of each on its mirror image. rates : (G, G)."""
    laws = len(rates)
    both = replace(
        proof,
        laws=np.append(proof.laws, laws - 1 - proof.laws),
        others=np.append(proof.others, laws - 1 - proof.others),
        points=np.append(proof.points, points - 1 - proof.points),
        weights=np.tile(0.5 * proof.weights, 2),
    )
    return both, 0.5 * (rates + rates[::-1, ::-1])


def priced(
    costs: Array, proof: Multipliers, rates: Array, used: NDArray[np.bool_], amplification: float, *, enough: float
) -> tuple[Multipliers, Array]:
    """(multipliers with those of the points that were not used, θ of every point). Of a point with θ ≥ 0 nothing is
    missing; others lower the bound by at most G·|θ|.

    costs : (G, n), every law's own point on the diagonal.   proof, rates : of a program with atoms, not folded.
    enough : θ ≥ −enough will do.
    """
    from ..kernels.pricing import prices

    points = costs.shape[1]
    brackets = costs.copy()
    np.add.at(brackets, (proof.laws, proof.points), proof.weights)
    np.add.at(brackets, (proof.others, proof.points), -amplification * proof.weights)
    shares = np.minimum(brackets[:, used].min(axis=1), costs.diagonal() + rates.sum(axis=1))
    events, covers = np.nonzero(rates > LEAST * rates.max(initial=0.0))
    outside = np.flatnonzero(~used)
    scale = float(np.abs(shares).mean()) or 1.0
    reduced = np.ascontiguousarray((costs[:, outside] - shares[:, None]).T) / scale
    y, thetas = prices(reduced, events, covers, rates[events, covers] / scale, amplification, enough / scale)
    at, term = np.nonzero(y > 0)
    missing = np.zeros(points)
    missing[outside] = thetas * scale
    full = replace(
        proof,
        laws=np.append(proof.laws, events[term]),
        others=np.append(proof.others, covers[term]),
        points=np.append(proof.points, outside[at]),
        weights=np.append(proof.weights, y[at, term] * scale),
    )
    return full, missing
