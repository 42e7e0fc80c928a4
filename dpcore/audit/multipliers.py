"""What multipliers of lattice programs prove [Thm 3]: rows on nodes, judged by `rows.referee`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..loss import UNIT
from ..rows.referee import Brackets
from .growth import amplification_bounds

Array = NDArray[np.float64]


def multiplier_bound_lower(
    costs: Array,
    first: int,
    *,
    epsilon: float,
    delta: float,
    shifts: NDArray[np.int64],
    events: NDArray[np.int64],
    weights: Array,
    monotone: Array | None = None,
    mirrored: bool = False,
    at_zero: tuple[float, float] | None = None,
    further: Sequence[tuple[float, float, NDArray[np.int64], NDArray[np.int64], Array]] = (),
    budget: tuple[float, Array, float] | None = None,
) -> float:
    """A lower bound of the optimal value, valid for *any* weights ≥ 0 [Thm 3].

    Parameters
    ----------
    costs : (n,) node values whose interpolant lies below the loss; node i sits at index i − first, and the
        end nodes carry the infimum of the loss beyond them unless the support ends there.
    shifts, events, weights : (m,) the multiplier weights[t] of max(0, r_i − e^ε r_{i−j}), i = events[t],
        j = shifts[t]; a cover i − j outside the nodes has no mass.
    monotone : (n,) multipliers ≥ 0 of the rows r_i ≥ r_{i+1} (at i ≥ 0) and r_i ≥ r_{i−1} (at i < 0);
        at 0 the row is 2r_0 ≥ r_1 + r_{−1}.
    mirrored : the law is symmetric, shifts are all positive, and D may be averaged over i and −i.
    at_zero : multipliers ≥ 0 of r_0 ≥ r_1 and r_0 ≥ r_{−1}, which hold for monotone laws on the lattice itself (not for
        those that were rounded to it). Node 0 must exist; a neighbour outside has no mass.
    further : (ε, δ, shifts, events, weights) of every other pair that the law satisfies too.
    budget : (μ, node values C₂, most), the multiplier of E c₂ ≤ most; C₂ is made like `costs`, from the second loss.

    Lagrange: E c ≥ Σ r_i D_i − δ Σ_j λ_j ≥ min_i D_i − δ Σ_j λ_j with λ_j = max_i y_{j,i} and
    D_i = C_i + Σ_j y_{j,i} − e^ε Σ_j y_{j,i+j} − (what monotone rows add). Every further pair adds its own y's to D_i
    and its own −δ Σ_j λ_j, a budget adds μ C₂_i and −μ·most.

    Rounding as in `rows.referee`, with room for the at most 8 terms of monotone rows and a budget.
    """
    n, brackets = len(costs), Brackets.of(costs)
    for pair in ((epsilon, delta, shifts, events, weights), *further):
        pair_epsilon, pair_delta, j, i, y = pair
        E = amplification_bounds(pair_epsilon)[1]
        brackets = brackets.with_terms(i - first, i - j - first, E, y, j, pair_delta)
    if budget is not None:
        rate, second_costs, most = max(budget[0], 0.0), budget[1], budget[2]
        # Their product may be too small for a float.
        price = math.nextafter(rate * most * (1 + 4 * UNIT), math.inf) if rate > 0 and most > 0 else 0.0
        brackets = brackets.with_rows(rate * second_costs, rate * np.abs(second_costs), price=price)
    if monotone is not None:
        order, size = _monotone_terms(np.maximum(monotone, 0.0), -first)
        brackets = brackets.with_rows(-order, size)
    if at_zero is not None:
        order = np.zeros(n)
        right, left = (max(0.0, m) for m in at_zero)
        for at, multiplier in ((0, right + left), (1, -right), (-1, -left)):
            if 0 <= at - first < n:
                order[at - first] = multiplier
        brackets = brackets.with_rows(-order, np.abs(order))
    return brackets.lower(mirrored=mirrored)


def _monotone_terms(multipliers: Array, zero: int) -> tuple[Array, Array]:
    """(Σ, Σ of absolute values) of what the monotone rows contribute to each D_i; `zero` is the index of node 0
    (outside the array when the support does not reach it)."""
    n = len(multipliers)
    i = np.arange(n)
    peak = i == zero
    places = np.stack([i, np.where(i >= zero, i + 1, i - 1), np.where(peak, i - 1, -1)], axis=1).ravel()
    values = np.stack([np.where(peak, 2.0, 1.0), np.full(n, -1.0), np.full(n, -1.0)], axis=1) * multipliers[:, None]
    inside = (places >= 0) & (places < n)
    places, values = places[inside], values.ravel()[inside]
    added, size = np.bincount(places, values, n), np.bincount(places, np.abs(values), n)
    return cast(Array, added), cast(Array, size)  # weights make floats, of which NumPy's types know nothing
