"""The independent referee: how private and how accurate a given law is, and what multipliers prove.

Plain NumPy and exact summation (`math.fsum`); no kernel, no linear program, no tolerance. Every function
ends in `_upper` or `_lower` and is rounded to that side; the slack is derived where it is added.

Notation [Thms 1–3]: u = 2^−53; E = e^ε; a law has a density p, constant between
integer breaks, and an atom a. h_φ = a + ∫ (p(x) − E p(x − φ))₊ dx is its shortfall at shift φ ≠ 0: the shifted
law never covers the atom. Between the differences of breaks φ ↦ h_φ is affine, so its largest value over
0 < |φ| ≤ D is attained at such a difference, at D, or is the limit a at 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .loss import UNDERFLOW, UNIT, Loss

if TYPE_CHECKING:
    from .noise.piecewise import PiecewiseNoise

Array = NDArray[np.float64]


def amplification_bounds(epsilon: float) -> tuple[float, float]:
    """(lower, upper) bounds of e^ε; `math.exp` errs by less than one unit in the last place."""
    if epsilon == 0:
        return 1.0, 1.0
    middle = math.exp(epsilon)
    return middle * (1 - 4 * UNIT), middle * (1 + 4 * UNIT)


def shortfall_upper(noise: PiecewiseNoise, epsilon: float, sensitivity: float | None = None) -> tuple[float, float]:
    """(bound, shift): sup of h_φ over 0 < |φ| ≤ sensitivity is at most `bound`, attained at `shift`.

    `sensitivity` defaults to the noise's own; any other is rounded up to a multiple of its unit.
    Cost: O(shifts · cells), shifts ≤ the number of different distances between breaks.
    """
    limit = noise.resolution
    if sensitivity is not None:
        limit = math.ceil(sensitivity / noise.sensitivity * noise.resolution * (1 - 4 * UNIT))
    worst, where = noise.atom_mass * (1 + 4 * UNIT), 0
    signs = (1,) if noise.is_symmetric else (1, -1)
    for shift in candidate_shifts(noise, limit):
        for sign in signs:
            value = hockey_stick_upper(noise, epsilon, sign * int(shift))
            if value > worst:
                worst, where = value, sign * int(shift)
    return min(worst, 1.0), where * noise.sensitivity / noise.resolution


def candidate_shifts(noise: PiecewiseNoise, limit: int) -> NDArray[np.int64]:
    """The shifts in (0, limit], in units, among which the worst one is: distances between breaks, and limit."""
    widths = np.diff(noise.breaks)
    step = int(np.gcd.reduce(widths))
    if limit // step <= 2000 or len(widths) > 4000:
        return np.unique(np.append(np.arange(step, limit + 1, step), limit))
    distances = np.unique(np.abs(np.subtract.outer(noise.breaks, noise.breaks)))
    return np.unique(np.append(distances[(distances > 0) & (distances <= limit)], limit))


def hockey_stick_upper(noise: PiecewiseNoise, epsilon: float, shift: int) -> float:
    """An upper bound of h_φ for φ = shift units ≠ 0.

    Rounding: a density is a weight made a float and divided (2 u), its product with E ≤ e^ε another u, the difference
    and the product with a length one each; where a term can be positive the subtrahend is below the minuend, but for
    such errors, so a term errs by at most 8u·p·length (terms that rounding may have made negative included); the sum
    is exact.
    """
    E = amplification_bounds(epsilon)[0]
    breaks, other = noise.breaks, noise.breaks + shift
    points = np.sort(np.concatenate([breaks, other]), kind="stable")  # two runs to merge; equal points: no length
    density = np.concatenate([[0.0], noise.masses / np.diff(breaks), [0.0]])
    here = density[np.searchsorted(breaks, points[:-1], side="right")]
    there = density[np.searchsorted(other, points[:-1], side="right")]
    length = np.diff(points).astype(float)
    positive = here * (1 + 8 * UNIT) > E * there
    if not positive.any():
        return noise.atom_mass * (1 + 4 * UNIT)
    here, there, length = here[positive], there[positive], length[positive]
    excess = math.fsum(np.maximum(here - E * there, 0.0) * length) + 8 * UNIT * math.fsum(here * length)
    return (excess + noise.atom_mass) * (1 + 8 * UNIT)


def loss_upper(noise: PiecewiseNoise, loss: Loss) -> float:
    """An upper bound of E c(X): Σ mass·(mean of c on the cell) + atom·c(location), each rounded up."""
    left, right = noise.edges[:-1], noise.edges[1:]
    means = np.maximum(loss.mean(left, right) + loss.rounding(left, right), 0.0)
    total = math.fsum(noise.masses * means)
    if noise.atom_mass:
        x = noise.atom_location
        near = max(noise.sensitivity / noise.resolution, 1e-3 * abs(x))
        total += noise.atom_mass * (float(loss.value(x)) + float(loss.rounding(x - near, x + near)))
    return total * (1 + 8 * UNIT)


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


def lattice_costs(points: Array, loss: Loss) -> tuple[Array, Array]:
    """(lower, upper) bounds of the loss at points that are the floats nearest to the true ones. (n,) each

    A value is exact where the loss is constant and else below 16 operations on numbers no larger than |constant| +
    |coefficient·x^power|, power ≤ 4; a point that is rounded to a break counts as the break.
    """
    size = np.zeros(len(points))
    for piece in loss.pieces:
        here = (points >= piece.lo) & (points <= piece.hi) & (piece.coefficient != 0)
        terms = abs(piece.constant) + abs(piece.coefficient) * np.abs(points) ** piece.power
        size = np.where(here, np.maximum(size, terms), size)
    value = loss.value(points)
    return np.maximum(value - 32 * UNIT * size, 0.0), value + 32 * UNIT * size


def lattice_loss_upper(masses: Array, points: Array, loss: Loss) -> float:
    """An upper bound of E c(X) for a law with these masses (within u) at these points (nearest floats)."""
    return math.fsum(masses * lattice_costs(points, loss)[1]) * (1 + 8 * UNIT)


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
