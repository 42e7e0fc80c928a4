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
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._validate import decimal
from .loss import UNDERFLOW, UNIT, Loss
from .loss.cells import means_upper, value_upper
from .places import Places, float_up

if TYPE_CHECKING:
    from .noise.piecewise import PiecewiseNoise

Array = NDArray[np.float64]

POINTS = 2.0**60
"""Lattice points to a unit in a release, at least."""

FEW = 16
"""So many parts of cells are added exactly."""

BITS = 128
"""Exact sums count in units of 2^−(62 + BITS)."""


def amplification_bounds(epsilon: float) -> tuple[float, float]:
    """(lower, upper) bounds of e^ε for the float ε and for the decimal number that it shows, half a unit in its last
    place apart; `math.exp` errs by less than one unit in the last place."""
    if epsilon == 0:
        return 1.0, 1.0
    middle, slack = math.exp(epsilon), (4 + 2 * epsilon) * UNIT
    return middle * (1 - slack), middle * (1 + slack)


@lru_cache
def _growth_lower(epsilon: float) -> int:
    """e^ε·2^BITS rounded down, for the smaller of the float ε and the decimal number that it shows."""
    if epsilon == 0:
        return 1 << BITS
    smaller = min(Decimal(epsilon), Decimal(repr(float(epsilon))))
    return math.floor(Fraction(smaller.exp(Context(prec=60))) * (1 - Fraction(1, 10**50)) * 2**BITS)


def shortfall_upper(noise: PiecewiseNoise, epsilon: float, sensitivity: float | None = None) -> tuple[float, float]:
    """(bound, shift): sup of h_φ over 0 < |φ| ≤ sensitivity is at most `bound`, attained at `shift`.

    `sensitivity` defaults to the noise's own; any other is rounded up to a multiple of its unit.
    Cost: O(shifts · cells), shifts ≤ the number of different distances between breaks.
    """
    limit = noise.resolution
    if sensitivity is not None:
        limit = math.ceil(decimal(sensitivity) / noise.unit)
    worst, where = noise.atom_weight << BITS, 0
    signs = (1,) if noise.is_symmetric else (1, -1)
    for shift in candidate_shifts(noise, limit).tolist():
        for sign in signs:
            value = _uncovered_upper(noise, epsilon, sign * shift)
            if value > worst:
                worst, where = value, sign * shift
    return _share(worst), where * noise.sensitivity / noise.resolution


def candidate_shifts(noise: PiecewiseNoise, limit: int) -> NDArray[np.int64]:
    """The shifts in (0, limit], in units, among which the worst one is: distances between breaks, and limit."""
    breaks = noise.breaks
    widths = np.diff(breaks)
    step = int(np.gcd.reduce(widths))
    if limit // step <= 2000 or (widths == step).all():
        return np.unique(np.append(np.arange(step, limit + 1, step), limit))
    found = [np.array([limit])]
    for apart in range(1, len(breaks)):
        distances = breaks[apart:] - breaks[:-apart]
        distances = np.unique(distances[distances <= limit])
        if not distances.size:
            break
        found.append(distances)
    return np.unique(np.concatenate(found))


def hockey_stick_upper(noise: PiecewiseNoise, epsilon: float, shift: int) -> float:
    """An upper bound of h_φ for φ = shift units ≠ 0: the least float, but for parts of cells."""
    return _share(_uncovered_upper(noise, epsilon, shift))


def _share(scaled: int | Fraction) -> float:
    """scaled/2^(62 + BITS), at most 1, as the least float that is no smaller."""
    return min(float_up(Fraction(scaled) / (1 << (62 + BITS))), 1.0)


def _uncovered_upper(noise: PiecewiseNoise, epsilon: float, shift: int) -> int | Fraction:
    """2^(62 + BITS) h_φ, rounded up, for φ = shift units ≠ 0.

    Where whole cells cover whole cells, weights are added as the whole numbers they are, terms in doubt (with weights
    within rounding of e^ε times each other) one by one. Parts of cells, unless they are few, are floats: a density is a
    weight made a float and divided (2u), its product with E another 3u, the difference and the product with a length
    one each.
    """
    weights, cover, parts = _overlaps(noise, shift)
    growth = _growth_lower(epsilon)
    E = growth * 2.0**-BITS
    if growth == 1 << BITS:
        more, doubt = weights > cover, np.zeros(len(weights), dtype=bool)
    else:
        covering = E * cover
        more = weights > covering * (1 + 8 * UNIT)
        doubt = ~more & (weights > covering * (1 - 8 * UNIT))
    exact = (int(weights[more].sum()) << BITS) - growth * int(cover[more].sum())
    exact += sum(max((w << BITS) - growth * c, 0) for w, c in zip(weights[doubt].tolist(), cover[doubt].tolist()))
    exact += noise.atom_weight << BITS
    if parts is None:
        return exact
    if len(parts[0]) <= FEW:
        terms = (Fraction(length, width) * (w << BITS) - Fraction(length, other) * growth * c
                 for w, width, c, other, length in zip(*(column.tolist() for column in parts)))  # fmt: skip
        return exact + sum(max(term, Fraction(0)) for term in terms)
    here, there, length = parts[0] / parts[1], parts[2] / parts[3], parts[4].astype(float)
    positive = here * (1 + 8 * UNIT) > E * there
    here, there, length = here[positive], there[positive], length[positive]
    blur = math.fsum(np.maximum(here - E * there, 0.0) * length) + 16 * UNIT * math.fsum(here * length)
    return exact + math.ceil(Fraction(blur * (1 + 8 * UNIT)) * 2**BITS)


def _overlaps(
    noise: PiecewiseNoise, shift: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[NDArray[np.int64], ...] | None]:
    """(weights of cells, weights of the moved cells that cover them, the rest): the rest are parts of cells, as weight
    and width of the cell and of what covers it, and length."""
    breaks, weights, widths = noise.breaks, noise.weights, np.diff(noise.breaks)
    cover = np.zeros_like(weights)
    if shift % int(widths[0]) == 0 and (widths == widths[0]).all():
        j, n = shift // int(widths[0]), len(weights)
        if 0 <= j < n:
            cover[j:] = weights[: n - j]
        elif -n < j < 0:
            cover[:j] = weights[-j:]
        return weights, cover, None
    other = breaks + shift
    points = np.sort(np.concatenate([breaks, other]), kind="stable")  # two runs to merge; equal points: no length
    length = np.diff(points)
    own, its = (np.searchsorted(b, points[:-1], side="right") - 1 for b in (breaks, other))
    inside = (length > 0) & (own >= 0) & (own < len(weights))
    own, its, length = own[inside], its[inside], length[inside]
    covered = (its >= 0) & (its < len(weights))
    its = np.where(covered, its, 0)
    there = np.where(covered, weights[its], 0)
    whole = (length == widths[own]) & (~covered | (length == widths[its]))
    part = ~whole & (weights[own] > 0)
    columns = (weights[own], widths[own], there, widths[its], length)
    return weights[own[whole]], there[whole], tuple(column[part] for column in columns)


def loss_upper(noise: PiecewiseNoise, loss: Loss) -> float:
    """An upper bound of E c(X), and of what a release of any value costs on average, before it is made a float."""
    total = cells_loss_upper(noise.masses, noise.places, loss)
    if noise.atom_weight:
        total += noise.atom_mass * value_upper(loss, noise.atom_place)
    return total * (1 + 8 * UNIT)


def cells_loss_upper(masses: Array, places: Places, loss: Loss) -> float:
    """Σ mass·(mean of c on the cell), rounded up; masses within a few u.

    A release puts a cell's mass on lattice points, whose places in their lattice cells depend on the value, with at
    least `POINTS` to a unit: that changes the cell's mean by at most (variation of c on it)/(number of points). A
    piece is monotone, so the variation is at most twice the sum of what c reaches on each part.
    """
    parts, mean, most = means_upper(loss, places)
    mass = masses[parts.cell]
    points = POINTS * np.diff(places.indices)[parts.cell].astype(float)
    return (math.fsum(mass * parts.share * mean) + 2.1 * math.fsum(mass * most / points)) * (1 + 16 * UNIT)


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

    A value is fewer than 16 operations on terms no larger than `Piece.size`, 2 where the loss is constant (which may be
    the mean of two); the point is within u|x|, worth u times `Piece.sway`, of the true one. A point that is rounded to
    a break counts as the break, where the smaller of two one-sided values is the loss.
    """
    left, right = (np.searchsorted(loss.breaks, points, side=side) for side in ("left", "right"))
    sides = []
    for index in (left, right):
        value, size, sway = loss.terms(index, points)
        slack = np.where(sway > 0, 16 * size + 2 * sway * (left == right), 2 * size)
        sides.append((value - UNIT * slack, value + UNIT * slack))
    return tuple(np.maximum(np.minimum(*ends), 0.0) for ends in zip(*sides))


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
