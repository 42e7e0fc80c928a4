"""How private and how accurate piecewise constant laws are: exact but for parts of cells.

Notation [Thms 1–3]: u = 2^−53; E = e^ε; a law has a density p, constant between
integer breaks, and an atom a. h_φ = a + ∫ (p(x) − E p(x − φ))₊ dx is its shortfall at shift φ ≠ 0: the shifted
law never covers the atom. Between the differences of breaks φ ↦ h_φ is affine, so its largest value over
0 < |φ| ≤ D is attained at such a difference, at D, or is the limit a at 0. Where p rises up to some place and falls
from there on, D is the worst shift [Thm 11].
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._validate import decimal
from ..loss import UNIT, Loss
from ..loss.cells import means_upper, value_upper
from ..noise.base import Array
from ..noise.piecewise import PiecewiseNoise, candidate_shifts
from ..places import Places, float_up
from .growth import BITS, growth_lower

POINTS = 2.0**60
"""Lattice points to a unit in a release, at least."""

FEW = 16
"""Up to so many parts of cells are added exactly."""


def worst_shift_upper(noise: PiecewiseNoise, epsilon: float, sensitivity: float | None = None) -> tuple[float, float]:
    """(bound, shift): sup of h_φ over 0 < |φ| ≤ sensitivity is at most `bound`, attained at `shift`.

    `sensitivity` defaults to the noise's own; any other is rounded up to a multiple of its unit.
    Cost: O(shifts · cells), shifts ≤ the number of different distances between breaks.
    """
    limit = noise.resolution
    if sensitivity is not None:
        limit = math.ceil(decimal(sensitivity) / noise.unit)
    worst: int | Fraction = noise.atom_weight << BITS
    where = 0
    signs = (1,) if noise.is_symmetric else (1, -1)
    shifts = [limit] if limit and _rises_then_falls(noise) else candidate_shifts(noise, limit).tolist()
    for shift in shifts:
        for sign in signs:
            value = _uncovered_upper(noise, epsilon, sign * shift)
            if value > worst:
                worst, where = value, sign * shift
    return _share(worst), where * noise.sensitivity / noise.resolution


def _rises_then_falls(noise: PiecewiseNoise) -> bool:
    """The density has one top, decided in whole numbers."""
    weights, widths = noise.weights.tolist(), np.diff(noise.breaks).tolist()
    falls = False
    for near, far, near_width, far_width in zip(weights, weights[1:], widths, widths[1:]):
        step = far * near_width - near * far_width
        if step > 0 and falls:
            return False
        falls = falls or step < 0
    return True


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
    growth = growth_lower(epsilon)
    E = growth * 2.0**-BITS
    if growth == 1 << BITS:
        more, doubt = weights > cover, np.zeros(len(weights), dtype=bool)
    else:
        covering = E * cover
        more = weights > covering * (1 + 8 * UNIT)
        doubt = ~more & (weights > covering * (1 - 8 * UNIT))
    exact: int = (int(weights[more].sum()) << BITS) - growth * int(cover[more].sum())
    exact += sum(max((w << BITS) - growth * c, 0) for w, c in zip(weights[doubt].tolist(), cover[doubt].tolist()))
    exact += noise.atom_weight << BITS
    if parts is None:
        return exact
    if len(parts[0]) <= FEW:
        terms = (Fraction(length, width) * (w << BITS) - Fraction(length, other) * growth * c
                 for w, width, c, other, length in zip(*(column.tolist() for column in parts)))  # fmt: skip
        partly: int | Fraction = sum(max(term, Fraction(0)) for term in terms)
        return exact + partly
    here, there, length = parts[0] / parts[1], parts[2] / parts[3], parts[4].astype(float)
    positive = here * (1 + 8 * UNIT) > E * there
    here, there, length = here[positive], there[positive], length[positive]
    blur = math.fsum(np.maximum(here - E * there, 0.0) * length) + 16 * UNIT * math.fsum(here * length)
    return exact + math.ceil(Fraction(blur * (1 + 8 * UNIT)) * (1 << BITS))


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


def beyond_upper(loss: Loss, edges: Array, step: float, share: float) -> float:
    """What a law pays at most beyond its listed cells, where it has at most `share`, farther out by Y with
    E Y^p ≤ 24 step^p for p ≤ 4: |x| ≤ far + Y, (far + Y)^p ≤ 2^p (far^p + Y^p), and a piece of the loss counts only if
    it reaches that far."""
    far = max(abs(float(edges[0])), abs(float(edges[-1]))) * (1 + 1e-12)
    size: float = max(
        abs(p.constant) + abs(p.coefficient) * (abs(p.anchor) + 2**p.power * (far**p.power + 24 * step**p.power))
        for p in loss.pieces
        if p.lo < edges[0] or p.hi > edges[-1]
    )
    return size * share
