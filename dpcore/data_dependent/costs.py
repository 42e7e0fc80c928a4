"""What a release costs: averages over cells, rounded up for upper bounds, node values, rounded down, for lower ones.

Lengths are in the query's unit, positions are measured from the low end of the range, so that a range far from 0
loses no digits. The weight is normalised to mean 1 over the range: costs are averages over the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .._validate import decimal
from ..loss import UNIT, Loss
from ..loss.cells import node_values
from ..places import Places
from .channel import Grid
from .problem import DataDependentProblem
from .weight import PartOfWeight

Array = NDArray[np.float64]

SLACK = 1024 * UNIT
"""Times c(width of the range): more than the rounding of positions (16u of the width) and of the few operations on
weights and means (64u) can change a mean cost; c grows, and its slope times the width is at most 4 c(width)."""

SPREAD_PARTS = 8
"""Stretches per cell on which a spread release's cost is bounded by its middle and its slopes."""


def is_convex(loss: Loss) -> bool:
    """c is convex: no jumps, no concave piece, slopes that grow."""
    if not loss.continuous or any(p.curvature < 0 for p in loss.pieces):
        return False
    joints = zip(loss.pieces, loss.pieces[1:])
    return all(float(a.slope(a.hi)) <= float(b.slope(b.lo)) + 1e-12 * abs(float(b.slope(b.lo))) for a, b in joints)


def slope_range(loss: Loss, lo: Array, hi: Array) -> tuple[Array, Array]:
    """Least and largest slope of a continuous c on every [lo, hi]."""
    least, most = np.full(lo.shape, np.inf), np.full(lo.shape, -np.inf)
    for piece in loss.pieces:
        here = (piece.hi >= lo) & (piece.lo <= hi)
        for end in (lo, hi):
            slope = piece.slope(np.clip(end, piece.lo, piece.hi))
            least, most = np.where(here, np.minimum(least, slope), least), np.where(here, np.maximum(most, slope), most)
    return least, most


def cell_costs_upper(problem: DataDependentProblem, grid: Grid, *, spread: bool = False) -> Array:
    """C[g, b] ≥ ∫ w(f) c(y_b − f) df over the cells f of law g, (G, K): the middle y_b of cell b, or, `spread`, the
    mean over its points.

    Where w is linear on [u, v], ∫ w c = w(m)·∫ c + w′·∫ (f − m) c with m the middle, and the last integral lies between
    the extreme slopes of f ↦ c(y − f), times (v − u)³/12 (Thm 4); for losses with jumps it is at most
    (v − u)²/8 times the range of values.
    """
    ends, middles = _floats(grid.edges), _floats(grid.middles)
    cell_costs = np.zeros((grid.cells, grid.cells))
    total, width = problem.density.total, grid.width
    for cell, (left, right) in enumerate(zip(grid.edges, grid.edges[1:])):
        for u, v, w_u, w_v, loss in _signed_pieces(problem, left / width, right / width):
            parts = SPREAD_PARTS if spread else 1
            for i in range(parts):
                a, b = u + (v - u) * i / parts, u + (v - u) * (i + 1) / parts
                mean = 0.5 * (w_u + w_v) if parts == 1 else w_u + (w_v - w_u) * (i + 0.5) / parts
                start, stop = float(a * width), float(b * width)
                means = _mean_upper(loss, ends, middles, start, stop, spread=spread)
                tilt = (w_v - w_u) / parts * _moment_upper(loss, ends, middles, start, stop, w_v >= w_u, spread)
                cell_costs[cell] += float((b - a) / total) * (mean * means + tilt)
    top = max(float(loss.value(np.array([-float(width), float(width)])).max()) for loss in problem.losses)
    weights = _cell_weights(problem, grid)
    cell_costs = np.maximum(cell_costs, 0.0) * (1 + SLACK) + SLACK * top * weights[:, None]
    return np.add.reduceat(cell_costs, np.array(grid.breaks[:-1]), axis=0)


def _signed_pieces(
    problem: DataDependentProblem, start: Fraction, stop: Fraction
) -> Iterator[tuple[Fraction, Fraction, float, float, Loss]]:
    """Linear pieces of the weight that tile [start, stop], each with the loss of its true values."""
    turn = problem.turn
    below = problem.loss if problem.loss_below is None else problem.loss_below
    if start < turn:
        yield from ((*piece, below) for piece in problem.density.pieces(start, min(turn, stop)))
    if turn < stop:
        yield from ((*piece, problem.loss) for piece in problem.density.pieces(max(turn, start), stop))


def _floats(numbers: list[Fraction]) -> Array:
    return np.array([float(x) for x in numbers])


def _cell_weights(problem: DataDependentProblem, grid: Grid) -> Array:
    """Share of every cell in the weight, within 64u, (K,)."""
    edges, width = grid.edges, grid.width
    parts = [problem.density.pieces(a / width, b / width) for a, b in zip(edges, edges[1:])]
    total = problem.density.total
    return np.array([sum(float((v - u) / total) * 0.5 * (p + q) for u, v, p, q in pieces) for pieces in parts])


def _mean_upper(loss: Loss, ends: Array, middles: Array, start: float, stop: float, *, spread: bool) -> Array:
    """Mean over f in [start, stop] of the cost of releasing in each cell, rounded up."""
    if not spread:
        a, b = middles - stop, middles - start
        return loss.mean(a, b) + loss.rounding(a, b)
    f, h = 0.5 * (start + stop), stop - start
    a, b = ends[:-1] - f, ends[1:] - f
    least, most = _spread_slopes(loss, ends, start, stop)
    return loss.mean(a, b) + loss.rounding(a, b) + h / 8 * (most - least)


def _spread_slopes(loss: Loss, ends: Array, start: float, stop: float) -> tuple[Array, Array]:
    """Least and largest slope in f ∈ [start, stop] of the mean of c(y − f) over each cell of y."""
    if is_convex(loss):
        first, last = (
            -(loss.value(ends[1:] - f) - loss.value(ends[:-1] - f)) / (ends[1:] - ends[:-1]) for f in (start, stop)
        )
        return np.minimum(first, last), np.maximum(first, last)
    values = loss.value(np.stack([ends[:-1] - stop, ends[:-1] - start, ends[1:] - stop, ends[1:] - start]))
    most = (values.max(axis=0)) / (ends[1:] - ends[:-1])  # c ≥ 0 grows from 0, so differences are below the largest
    return -most, most


def _moment_upper(
    loss: Loss, ends: Array, middles: Array, start: float, stop: float, rising: bool, spread: bool
) -> Array:
    """Largest (rising weight) or least (falling) ∫ (f − m) G(f) df/(v − u)², G the cost at f, of each cell; times
    w(v) − w(u) it bounds what the tilt of the weight adds to the mean."""
    h = stop - start
    if spread:
        least, most = _spread_slopes(loss, ends, start, stop)
    elif loss.continuous:
        low, high = slope_range(loss, middles - stop, middles - start)
        least, most = -high, -low  # f ↦ c(y − f)
    else:
        values = loss.value(np.stack([middles - stop, middles - start, np.clip(0.0, middles - stop, middles - start)]))
        bound: Array = (values.max(axis=0) - values.min(axis=0)) / 8
        return bound if rising else -bound
    return (most if rising else least) * h / 12


# Lower bounds -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Queries:
    """True values β apart, and what each counts: one term of the lower bound [Thm 3].

    rows : their number n; releases are rounded to n points in line with them.   reach : those within so many steps are
    within the sensitivity.   weights : (n,) lower bounds.   laws : (n,) law of each (all different without a
    partition).   signs : (n,) −1 where the offset leaves a value below 0, if another loss counts there, 1 where it does
    not, 0 where it depends.
    """

    rows: int
    reach: int
    weights: Array
    laws: NDArray[np.int64]
    folds: bool
    signs: NDArray[np.int64]

    @property
    def related(self) -> NDArray[np.bool_]:
        """Pairs of different laws that belong to two of the values within the sensitivity."""
        count = int(self.laws[-1]) + 1
        first = np.searchsorted(self.laws, np.arange(count))
        last = np.searchsorted(self.laws, np.arange(count), side="right") - 1
        apart = np.maximum(first[None, :] - last[:, None], first[:, None] - last[None, :])
        near: NDArray[np.bool_] = (apart <= self.reach) & ~np.eye(count, dtype=bool)
        return near


def queries(problem: DataDependentProblem, resolution: int, breaks: tuple[int, ...] = ()) -> list[Queries]:
    """The terms whose optimal values add up to a lower bound [Thm 3]: offsets t from 0 to the remainder of the range,
    then from there to β, each with the weights at either end of the stretch (once where the ends agree)."""
    width, D = problem.width, decimal(problem.sensitivity)
    step = width / resolution if problem.narrow else D / resolution
    whole = math.floor(width / step)
    rest = width - whole * step
    density, total = problem.density, problem.density.total
    found = []
    stretches = [(Fraction(0), rest, whole + 1), (rest, step, whole)]
    if isinstance(problem.weight, PartOfWeight) and not density.constant:  # what is left of a window is dropped as well
        stretches = [(rest / 2, rest / 2 + step, whole)]
    for start, stop, rows in stretches:
        if start == stop or rows == 0:
            continue
        lines = [density.minorant((start + a * step) / width, (stop + a * step) / width) for a in range(rows)]
        share = float((stop - start) / width / total) / 2
        laws = np.repeat(np.arange(len(breaks) - 1), np.diff(breaks)) if breaks else np.arange(rows)
        turn = problem.turn * width
        above = [start + a * step >= turn for a in range(rows)]
        signs = np.array([is_above - (stop + a * step <= turn) for a, is_above in enumerate(above)], dtype=np.int64)
        sides = [share * np.array(side) for side in zip(*lines)]
        tiny = SLACK * share * density.largest
        if density.constant or problem.folds:  # mirror images but for rounding
            sides = [2 * np.minimum(sides[0], sides[0] if density.constant else sides[1][::-1])]
        for weights in sides:
            weights = np.maximum(weights * (1 - SLACK) - 2 * tiny, 0.0)
            found.append(Queries(rows, resolution, weights, laws, problem.folds and density.constant, signs))
    return found


def row_costs_lower(problem: DataDependentProblem, terms: Queries, step: Fraction) -> Array:
    """c̃(b − a) for every value a and point b, by the loss at a; the smaller one where that depends, (n, n)."""
    n = terms.rows
    steps = np.arange(n)[None, :] - np.arange(n)[:, None] + n - 1
    above: Array = node_costs_lower(problem.loss, terms, step)[steps]
    if problem.loss_below is None:
        return above
    below = node_costs_lower(problem.loss_below, terms, step)[steps]
    signs = terms.signs[:, None]
    chosen: Array = np.where(signs > 0, above, np.where(signs < 0, below, np.minimum(above, below)))
    return chosen


def node_costs_lower(loss: Loss, terms: Queries, step: Fraction) -> Array:
    """c̃ at −(n−1) … n − 1 steps: the interpolant lies below c, and c̃ does not fall away from 0, (2n − 1,)."""
    n = terms.rows
    values = node_values(loss, Places(Fraction(0), step, np.arange(-n, n + 1)))
    right = np.minimum.accumulate(values[n:][::-1])[::-1]
    left = np.minimum.accumulate(values[: n + 1])
    return np.concatenate([left[1:n], [min(left[-1], right[0])], right[1:n]])
