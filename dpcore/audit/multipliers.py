"""What multipliers prove: a lower bound of the optimal value, valid for any of them [Thm 3]."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..loss import UNDERFLOW, UNIT
from ..noise.base import Array
from .growth import amplification_bounds


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

    Rounding: D_i is a sum of at most m_i + 8 terms of total size S_i; each is at most two operations off its exact
    value (e^ε is rounded up), so the sum errs by at most (m_i + 12)·u·S_i; (m_i + 16)·u·S_i is subtracted. The
    sums of λ are exact. Products too small for a float err by 2^−1074 each; 2^−1000 is subtracted.
    """
    n = len(costs)
    total, size, terms, price = costs, np.abs(costs), 16, 0.0
    for pair in ((epsilon, delta, shifts, events, weights), *further):
        plus, minus, count, paid = _privacy_terms(n, first, *pair)
        total, size, terms, price = total + plus - minus, size + plus + minus, terms + count, price + paid
    if budget is not None:
        rate, second_costs, most = max(budget[0], 0.0), budget[1], budget[2]
        total, size = total + rate * second_costs, size + rate * np.abs(second_costs)
        if rate > 0 and most > 0:  # their product may be too small for a float
            price += math.nextafter(rate * most * (1 + 4 * UNIT), math.inf)
    if monotone is not None:
        order, order_size = _monotone_terms(np.maximum(monotone, 0.0), -first)
        total, size = total - order, size + order_size
    if at_zero is not None:
        order = np.zeros(n)
        right, left = (max(0.0, m) for m in at_zero)
        for at, multiplier in ((0, right + left), (1, -right), (-1, -left)):
            if 0 <= at - first < n:
                order[at - first] = multiplier
        total, size = total - order, size + np.abs(order)
    D = total - terms * UNIT * size
    if mirrored:
        D = 0.5 * (D + D[::-1])
        D = D - 4 * UNIT * np.abs(D)
    price *= 1 + 4 * UNIT
    bound = float(D.min()) - price
    return bound - 2 * UNIT * (abs(bound) + price) - UNDERFLOW


def _privacy_terms(
    n: int,
    first: int,
    epsilon: float,
    delta: float,
    shifts: NDArray[np.int64],
    events: NDArray[np.int64],
    weights: Array,
) -> tuple[Array, Array, NDArray[np.int64], float]:
    """What the multipliers of one pair (ε, δ) add to D_i and take from it, in how many terms; δ Σ_j λ_j rounded up."""
    E = amplification_bounds(epsilon)[1]
    shifts, events, weights = _one_each(shifts, events, np.maximum(weights, 0.0))
    at, cover = events - first, events - shifts - first
    inside = (cover >= 0) & (cover < n)
    plus = np.bincount(at, weights, n)
    minus = np.bincount(cover[inside], E * weights[inside], n)
    terms = np.bincount(at, minlength=n) + np.bincount(cover[inside], minlength=n)
    names, index = np.unique(shifts, return_inverse=True)
    rates = np.zeros(len(names))
    np.maximum.at(rates, index, weights)
    return plus, minus, terms, delta * math.fsum(rates) * (1 + 4 * UNIT)


def _one_each(
    shifts: NDArray[np.int64], events: NDArray[np.int64], weights: Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """The multipliers with one weight for every term: λ_j is the largest of them, so a term named twice must not count
    as two."""
    order = np.lexsort((events, shifts))
    shifts, events, weights = shifts[order], events[order], weights[order]
    new = np.ones(len(shifts), dtype=bool)
    new[1:] = (np.diff(shifts) != 0) | (np.diff(events) != 0)
    return shifts[new], events[new], np.bincount(np.cumsum(new) - 1, weights, int(new.sum()))


def _monotone_terms(multipliers: Array, zero: int) -> tuple[Array, Array]:
    """(Σ, Σ of absolute values) of what the monotone rows contribute to each D_i; `zero` is the index of node 0
    (outside the array when the support does not reach it)."""
    n = len(multipliers)
    total, size = np.zeros(n), np.zeros(n)
    for i in range(n):
        m = float(multipliers[i])
        if m == 0:
            continue
        if i == zero:
            entries = [(i, 2 * m), (i + 1, -m), (i - 1, -m)]
        else:
            entries = [(i, m), (i + 1 if i > zero else i - 1, -m)]
        for at, value in entries:
            if 0 <= at < n:
                total[at] += value
                size[at] += abs(value)
            elif value > 0:
                raise ValueError("a monotone row without its own node")
    return total, size
