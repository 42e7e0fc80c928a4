"""A loss on cells between exact places: means and values from above, node values and infima from below.

Cells are cut at the breaks of the loss with rational numbers, so that a place next to a jump lies on the side where it
lies. What is left are parts in one smooth piece each, on which floats err by some units in the last place of what they
add (`_slack`); nor can a monotone piece leave the range of its values at its ends, which steep ones know better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import decimal
from ..places import Places
from .base import UNIT, Array, Loss
from .piece import Piece

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """Cells cut at the breaks of a loss, in order.

    cell, piece : (m,) of every part.   left, right : (m,) its ends, the floats nearest to them.   share : (m,) of its
    cell, within u.
    """

    cell: Ints
    piece: Ints
    left: Array
    right: Array
    share: Array

    def by_piece(self, loss: Loss) -> Iterator[tuple[slice, Piece, Array, Array]]:
        """Parts in one piece, for every piece that has some: which, the piece, left and right ends."""
        starts = np.searchsorted(self.piece, np.arange(len(loss.pieces) + 1))
        for index in np.flatnonzero(np.diff(starts)).tolist():
            here = slice(int(starts[index]), int(starts[index + 1]))
            yield here, loss.pieces[index], self.left[here], self.right[here]


def cut(loss: Loss, places: Places) -> Parts:
    """The cells between neighbouring places, cut."""
    first, last = _spans(loss, places)
    counts = last - first + 1
    cell = np.repeat(np.arange(len(counts)), counts)
    piece = first[cell] + np.arange(len(cell)) - np.repeat(np.cumsum(counts) - counts, counts)
    floats, breaks = places.floats, loss.breaks
    inner_left, inner_right = piece > first[cell], piece < last[cell]
    left = np.where(inner_left, breaks[np.maximum(piece - 1, 0)], floats[cell])
    right = np.where(inner_right, breaks[np.minimum(piece, len(breaks) - 1)], floats[cell + 1])
    share = np.ones(len(cell))
    for part in np.flatnonzero(inner_left | inner_right).tolist():
        start, stop = _exact_ends(places, int(cell[part]))
        lo = decimal(left[part]) if inner_left[part] else start
        hi = decimal(right[part]) if inner_right[part] else stop
        share[part] = float((hi - lo) / (stop - start))
    return Parts(cell, piece, left, right, share)


def _exact_ends(places: Places, cell: int) -> tuple[Fraction, Fraction]:
    return places.at(places.indices[cell]), places.at(places.indices[cell + 1])


def _spans(loss: Loss, places: Places) -> tuple[Ints, Ints]:
    """First and last piece that meets each open cell. (n − 1,) each"""
    floats, breaks = places.floats, loss.breaks
    below = np.searchsorted(floats, breaks, side="left")  # how many places are below each break
    upto = np.searchsorted(floats, breaks, side="right")  # and how many are at most it
    for j in np.flatnonzero(below < upto).tolist():  # floats keep the order; where they tie, the places decide
        below[j], upto[j] = (places.below(float(breaks[j]), inclusive=yes) for yes in (False, True))
    cells = np.arange(len(floats) - 1)
    return np.searchsorted(below, cells, side="right"), np.searchsorted(upto, cells + 1, side="right")


def _slack(piece: Piece, a: Array, b: Array) -> Array | float:
    """More than values, means and tangents on [a, b], as floats, may be off: they are below 64 operations on terms no
    larger than `Piece.size`, and their places are rounded, which is worth u times `Piece.sway` each."""
    if piece.coefficient == 0:
        return 2 * UNIT * abs(piece.constant)
    size = np.maximum(piece.size(a), piece.size(b))
    return UNIT * (128 * size + 64 * piece.sway(np.maximum(np.abs(a), np.abs(b))))


def _range(piece: Piece) -> tuple[float, float]:
    """Bounds of c on the whole piece from the values at its ends, whose places are no rounded numbers; (0, ∞) where it
    has no end."""
    if math.isinf(piece.lo) or math.isinf(piece.hi):
        return (0.0, math.inf) if piece.coefficient else (piece.constant, piece.constant * (1 + 2 * UNIT))
    ends = np.array([piece.lo, piece.hi])
    values, blur = piece.value(ends), 16 * UNIT * piece.size(ends)
    return float((values - blur).min()), float((values + blur).max())


# From above -------------------------------------------------------------------------------------------


def means(loss: Loss, places: Places) -> Array:
    """The mean of c on each cell, but for rounding. (n − 1,)"""
    parts = cut(loss, places)
    found = np.zeros(len(parts.cell))
    for here, piece, a, b in parts.by_piece(loss):
        found[here] = piece.mean(a, b)
    return np.maximum(np.bincount(parts.cell, parts.share * found, len(places.indices) - 1), 0.0)


def means_upper(loss: Loss, places: Places) -> tuple[Parts, Array, Array]:
    """(parts, upper bounds of the mean of c on each, upper bounds of c itself there)."""
    parts = cut(loss, places)
    mean, most = np.zeros(len(parts.cell)), np.zeros(len(parts.cell))
    for here, piece, a, b in parts.by_piece(loss):
        slack, top = _slack(piece, a, b), _range(piece)[1]
        mean[here] = np.minimum(piece.mean(a, b) + slack, top)
        most[here] = np.minimum(np.maximum(piece.value(a), piece.value(b)) + slack, top)
    return parts, np.maximum(mean, 0.0), np.maximum(most, 0.0)


def value_upper(loss: Loss, place: Fraction) -> float:
    """An upper bound of c at a place."""
    return _value_bounds(loss, place)[1]


def _value_bounds(loss: Loss, place: Fraction) -> tuple[float, float]:
    """(lower, upper) bounds of c at a place, the smaller of both sides at a jump."""
    x = float(place)
    first, last = (int(np.searchsorted(loss.breaks, x, side=side)) for side in ("left", "right"))
    if first < last and place != (tie := decimal(loss.breaks[first])):
        first, last = (first, first) if place < tie else (last, last)
    found = []
    for piece in loss.pieces[first : last + 1]:
        blur = float(piece.size(x)) + (float(piece.sway(x)) if first == last else 0.0)
        blur = 16 * UNIT * blur if piece.coefficient else 2 * UNIT * abs(piece.constant)
        value, (least, most) = float(piece.value(x)), _range(piece)
        found.append((max(value - blur, least), min(value + blur, most)))
    low, high = (min(bounds) for bounds in zip(*found))
    if place == decimal(x) and float(loss.value(x)) < low:  # a loss that knows single points
        return 0.0, float(loss.value(x))
    return max(0.0, low), max(0.0, high)


# From below -------------------------------------------------------------------------------------------


def infima_lower(loss: Loss, places: Places) -> Array:
    """Lower bounds of c on every open cell. (n − 1,)"""
    parts = cut(loss, places)
    out = np.full(len(places.indices) - 1, np.inf)
    for here, piece, a, b in parts.by_piece(loss):
        least = np.minimum(piece.value(a), piece.value(b)) - _slack(piece, a, b)  # pieces are monotone
        np.minimum.at(out, parts.cell[here], np.maximum(least, _range(piece)[0]))
    return out


def means_lower(loss: Loss, places: Places) -> Array:
    """Lower bounds of the mean of c on every cell. (n − 1,)"""
    parts = cut(loss, places)
    mean = np.zeros(len(parts.cell))
    for here, piece, a, b in parts.by_piece(loss):
        mean[here] = np.maximum(piece.mean(a, b) - _slack(piece, a, b), _range(piece)[0])
    found = np.bincount(parts.cell, parts.share * np.maximum(mean, 0.0), len(places.indices) - 1)
    lower: Array = np.maximum(found * (1 - 16 * UNIT), 0.0)
    return lower


def node_values(loss: Loss, places: Places, touch: ArrayLike = 0.5) -> Array:
    """Values C at the places whose linear interpolant lies below c between the first and the last [Thm 2]. (n,)

    C is the smaller of the two minorants of cells that meet at a node.   touch : see `minorants`.
    """
    left, right = minorants(loss, places, touch)
    out = np.full(len(left) + 1, np.inf)
    out[:-1] = left
    out[1:] = np.minimum(out[1:], right)
    for end in (0, -1):  # a jump there may have its smaller value on the other side
        out[end] = min(out[end], _value_bounds(loss, places.at(places.indices[end]))[0])
    return out


def minorants(loss: Loss, places: Places, touch: ArrayLike = 0.5, *, level: bool = False) -> tuple[Array, Array]:
    """Values at the left and the right end of every open cell of a linear function below c in it. (n − 1,) each

    It is the loss itself where that is linear, a tangent where it is convex, the chord where it is concave, a lowered
    chord across a break.   touch : where on its cell (0 left end, 1 right end; one number or one per cell) a tangent
    touches; any choice is valid.   level : a constant where one of its ends would lie below the infimum.
    """
    first, last = _spans(loss, places)
    u, v = places.floats[:-1], places.floats[1:]
    touch = np.broadcast_to(touch, u.shape)
    left, right = np.empty(u.shape), np.empty(u.shape)
    for index in np.unique(first[first == last]).tolist():
        here, piece = (first == index) & (last == index), loss.pieces[index]
        left[here], right[here] = _tangents(piece, u[here], v[here], touch[here])
    for cell in np.flatnonzero(first < last).tolist():
        pieces = loss.pieces[first[cell] : last[cell] + 1]
        left[cell], right[cell] = _across(pieces, *_exact_ends(places, cell))
    if level:
        least = infima_lower(loss, places)
        poor = np.minimum(left, right) < least
        return np.where(poor, least, left), np.where(poor, least, right)
    return left, right


def _tangents(piece: Piece, a: Array, b: Array, touch: Array) -> tuple[Array, Array]:
    """End values of linear functions below one piece on cells [a, b]."""
    slack, least = _slack(piece, a, b), _range(piece)[0]
    if piece.curvature > 0:
        before = touch * (b - a)
        value, slope = piece.value(a + before), piece.slope(a + before)
        left, right = value - slope * before, value + slope * (b - a - before)
    else:
        left, right = piece.value(a), piece.value(b)
    left, right = left - slack, right - slack
    poor = np.maximum(left, right) < least
    return np.where(poor, least, left), np.where(poor, least, right)


def _across(pieces: tuple[Piece, ...], start: Fraction, stop: Fraction) -> tuple[float, float]:
    """End values of a linear function below c on a cell that contains breaks: the chord, lowered. Where the parts lie
    is known as shares of the cell, so nothing cancels far from 0."""
    cuts = [start, *(decimal(piece.lo) for piece in pieces[1:]), stop]
    shares = [float((x - start) / (stop - start)) for x in cuts]
    ends = [float(x) for x in cuts]
    rise = float(pieces[-1].value(ends[-1])) - float(pieces[0].value(ends[0]))
    lowest, size = math.inf, abs(rise)
    for piece, a, b, one, two in zip(pieces, ends, ends[1:], shares, shares[1:]):
        if piece.curvature > 0:
            middle, half = 0.5 * (a + b), 0.5 * (two - one)
            bend = abs(float(piece.slope(middle)) * float(stop - start) - rise) * half
            below = float(piece.value(middle) - _slack(piece, np.asarray(a), np.asarray(b)))
            found = [below - rise * 0.5 * (one + two) - bend * (1 + 16 * UNIT)]
        else:
            inner = [a != ends[0], b != ends[-1]]
            found = [_end_lower(piece, x, known) - rise * t for x, known, t in zip((a, b), inner, (one, two))]
        lowest, size = min(lowest, *found), max(size, *map(abs, found))
    lowest -= 16 * UNIT * size
    return lowest, lowest + rise - 8 * UNIT * (abs(lowest) + abs(rise))


def _end_lower(piece: Piece, x: float, known: bool) -> float:
    """A lower bound of c at the end of a part; at a break (`known`) its place is no rounded number."""
    blur = 16 * float(piece.size(x)) + (0.0 if known else 4 * float(piece.sway(x)))
    return max(float(piece.value(x)) - UNIT * blur, _range(piece)[0])


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
