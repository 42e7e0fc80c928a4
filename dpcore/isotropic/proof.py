"""What no law whatsoever can undercut, proved from multipliers: independent of the program that found them.

Multipliers W_s(r, τ) ∈ [0, y_s] for shifts s and pairs of radii (r, r′ = r + s − τ) make events: x is in the event of
s with probability W_s(|x|, |x| + s − |x − s·e|)/y_s. If for every r ≥ 0
    F(r) = c(r) + Σ_s E[W_s(r, r + s − R)] − E Σ_s E[W_s(R, R + s − r)] ≥ λ,  R = |x + s·e|, |x| = r,
then every (ε, δ)-DP law costs at least λ − δ Σ y_s (docs/isotropic.md). Here W falls in τ, so that only the increasing
distribution functions of τ are needed, and both of them are monotone in r: F is bounded over small pieces of r.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..audit.growth import amplification_bounds
from . import beta
from .curves import Curve, CurveSide
from .problem import Array, RadialLoss

ROUNDING = 1e-12
"""More than what sums of a few hundred positive floats lose, relatively."""

ABSOLUTE = 1e-12
"""More than what differences of radii lose; intervals of radii are widened by it."""

TINY = 1e-300
"""In place of τ = 0, which has probability ½ for d = 1, but only where |r − s| = r − s."""

CELLS = 4000
"""Cells of τ at most, but for one per level."""

DEEPEST = 24
"""Halvings of a piece at most."""

PIECES = 400_000
"""Evaluated in one proof at most."""

FINEST = 12
"""Halvings of the cells where F itself is wanted."""

BATCH = 1 << 19
"""Values of the Beta law that are asked for at a time, at most."""

WORST, PARTS = 64, 4
"""Radii that a proof names where F is least, one in a quarter of an interval between cuts."""

PROBED = 8
"""Ends of pieces with the smallest bounds, at which F is evaluated."""


@dataclass(frozen=True)
class Multipliers:
    """W(r, τ) = Σ_{m: levels[m] ≥ τ} ω_m(r), ω_m linear between the nodes and 0 beyond the last one.

    shift : s in (0, 1].   nodes : (n,) from 0 upwards.   levels : (m,) within [0, 2s], increasing.
    weights : (n, m) ω ≥ 0 at the nodes; the last row is 0.
    """

    shift: float
    nodes: Array
    levels: Array
    weights: Array

    def __post_init__(self) -> None:
        if not (0 < self.shift <= 1 and self.nodes[0] == 0 and (np.diff(self.nodes) > 0).all()):
            raise ValueError("nodes must increase from 0, shifts lie in (0, 1]")
        if not ((np.diff(self.levels) > 0).all() and 0 <= self.levels[0] and self.levels[-1] <= 2 * self.shift):
            raise ValueError("levels must increase within [0, 2s]")
        if not ((self.weights >= 0).all() and np.isfinite(self.weights).all() and not self.weights[-1].any()):
            raise ValueError("weights must be at least 0, and 0 at the last node")

    @property
    def rate(self) -> float:
        """y, rounded up."""
        return float(self.weights.sum(axis=1).max()) * (1 + ROUNDING)

    @property
    def cuts(self) -> Array:
        """Radii at which F may turn or jump."""
        return np.concatenate([self.nodes, self.nodes + self.shift])

    @property
    def heights(self) -> Array:
        """(n, m) W at the nodes for τ in (levels[m − 1], levels[m]]."""
        out: Array = np.cumsum(self.weights[:, ::-1], axis=1)[:, ::-1]
        return out


class _Side:
    """The multipliers of one shift, ready for evaluation."""

    def __init__(self, dimension: int, multipliers: Multipliers, width: float) -> None:
        self.d, self.s = dimension, multipliers.shift
        self.nodes, self.levels, self.heights = multipliers.nodes, multipliers.levels, multipliers.heights
        fine, owner, low = [], [], 0.0
        for m, high in enumerate(self.levels.tolist()):
            parts = max(1, math.ceil((high - low) / width))
            fine.append(low + (high - low) * np.arange(1, parts + 1) / parts)
            fine[-1][-1] = high
            owner.append(np.full(parts, m))
            low = high
        self.fine, self.owner = np.concatenate(fine), np.concatenate(owner)
        self.below = np.concatenate([[0.0], self.fine[:-1]])
        self.cells = len(self.fine)
        self._spans = [self.heights]
        while 2 * (1 << len(self._spans)) <= 2 * len(self.nodes):
            last, step = self._spans[-1], 1 << (len(self._spans) - 1)
            self._spans.append(np.maximum(last[:-step], last[step:]) if len(last) > step else last)

    def at(self, radius: Array) -> Array:
        """(points, m) W(r, levels)."""
        i = np.clip(np.searchsorted(self.nodes, radius, side="right") - 1, 0, len(self.nodes) - 2)
        share = np.clip((radius - self.nodes[i]) / (self.nodes[i + 1] - self.nodes[i]), 0.0, 1.0)[:, None]
        out: Array = self.heights[i] * (1 - share) + self.heights[i + 1] * share
        return out

    def gain_lower(self, lo: Array, hi: Array) -> Array:
        """A lower bound of E[W(r, r + s − R)] over [lo, hi], which contains no node inside: P(τ ≤ T) falls in r."""
        least = np.minimum(self.at(lo), self.at(hi))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = self.levels * (2 * (hi[:, None] + self.s) - self.levels) / (4 * hi[:, None] * self.s)
        steps = least - np.append(least[:, 1:], np.zeros((len(lo), 1)), axis=1)
        used = np.flatnonzero((steps > 0).any(axis=0))
        out: Array = (beta.lower(self.d, share[:, used]) * steps[:, used]).sum(axis=1) * (1 - ROUNDING)
        return out

    def cost_upper(self, lo: Array, hi: Array) -> Array:
        """An upper bound of E[W(R, R + s − r)] over [lo, hi]: P(τ ≤ T) rises in r; in every cell of τ the largest W
        over all R that belong to it."""
        start = np.maximum(lo[:, None] - self.s + self.below - ABSOLUTE, 0.0)
        stop = hi[:, None] - self.s + self.fine + ABSOLUTE
        most = self._most(np.broadcast_to(self.owner, stop.shape), start, np.maximum(stop, 0.0))
        most[stop < 0] = 0.0  # no R below 0
        steps = most - np.append(most[:, 1:], np.zeros((len(lo), 1)), axis=1)
        total = self._part(beta.upper, hi, steps) * (1 + ROUNDING) - self._part(beta.lower, lo, -steps) * (1 - ROUNDING)
        out: Array = np.maximum(total, 0.0) + 4 * ROUNDING * most.max(axis=1, initial=0.0)
        return out

    def _part(self, bound: Callable[[int, Array], Array], radius: Array, steps: Array) -> Array:
        """Σ P(τ ≤ cell's end)·max(0, step) at radii."""
        r, t = np.broadcast_arrays(radius[:, None], self.fine)
        used = (steps > 0) & (r > 0)
        r, t, out = r[used], np.maximum(t[used], TINY), np.zeros(steps.shape)
        sign = 1 if bound is beta.upper else -1
        out[used] = bound(self.d, t * (2 * (r - self.s) + t + sign * ABSOLUTE) / (4 * r * self.s)) * steps[used]
        total: Array = out.sum(axis=1)
        return total

    def _most(self, level: Array, start: Array, stop: Array) -> Array:
        """The largest W(R, ·) of the given levels over start ≤ R ≤ stop."""
        nodes, n = self.nodes, len(self.nodes)
        first = np.clip(np.searchsorted(nodes, start, side="left"), 0, n - 1)
        last = np.clip(np.searchsorted(nodes, stop, side="right") - 1, 0, n - 1)
        out = np.maximum(self._value(level, start), self._value(level, stop))
        inside = last >= first
        length = np.maximum(last - first + 1, 1)
        power = np.floor(np.log2(length)).astype(int)
        for p in np.unique(power[inside]).tolist():
            table, chosen = self._spans[p], inside & (power == p)
            i, j, m = first[chosen], last[chosen] - (1 << p) + 1, level[chosen]
            out[chosen] = np.maximum(out[chosen], np.maximum(table[i, m], table[j, m]))
        return out * (1 + ROUNDING)

    def _value(self, level: Array, radius: Array) -> Array:
        i = np.clip(np.searchsorted(self.nodes, radius, side="right") - 1, 0, len(self.nodes) - 2)
        share = np.clip((radius - self.nodes[i]) / (self.nodes[i + 1] - self.nodes[i]), 0.0, 1.0)
        out: Array = self.heights[i, level] * (1 - share) + self.heights[i + 1, level] * share
        return out


@dataclass(frozen=True)
class Proved:
    """lower : no law costs less.   least : λ, the proved least value of F.   pieces : how many were looked at.
    worst : (k,) radii with the smallest bounds, spread out."""

    lower: float
    least: float
    pieces: int
    worst: Array


class Judge:
    """F of given multipliers, bounded from below. Radii and shifts in units of the sensitivity."""

    def __init__(
        self, dimension: int, epsilon: float, delta: float, loss: RadialLoss,
        multipliers: Sequence[Multipliers | Curve],
    ) -> None:  # fmt: skip
        self.dimension, self.delta, self.loss, self.multipliers = dimension, delta, loss, multipliers
        self.growth = amplification_bounds(epsilon)[1]
        self.spacing = min(float(np.median(np.diff(one.nodes))) for one in multipliers)
        self.far = max(float(one.nodes[-1]) + one.shift for one in multipliers)
        self._sides: dict[int, list[_Side | CurveSide]] = {}

    def bounds(self, lo: Array, hi: Array, halvings: int) -> Array:
        """Lower bounds of F on pieces [lo, hi] without nodes inside, with cells of τ halved so often."""
        if halvings not in self._sides:
            width = max(0.5 * self.spacing / 2**halvings, 2 / CELLS)
            self._sides[halvings] = [self._side(one, width) for one in self.multipliers]
        sides, step = self._sides[halvings], self._batch(halvings)
        out = np.empty(len(lo))
        for begin in range(0, len(lo), step):
            a, b = lo[begin : begin + step], hi[begin : begin + step]
            gain = np.sum([side.gain_lower(a, b) for side in sides], axis=0)
            cost = np.sum([side.cost_upper(a, b) for side in sides], axis=0) * self.growth
            value = _cost_lower(self.loss, a) + gain - cost
            out[begin : begin + step] = value - 4 * ROUNDING * (np.abs(value) + gain + cost)
        return out

    def _side(self, one: Multipliers | Curve, width: float) -> _Side | CurveSide:
        return CurveSide(self.dimension, one) if isinstance(one, Curve) else _Side(self.dimension, one, width)

    def _batch(self, halvings: int) -> int:
        """Pieces to evaluate at a time."""
        return max(64, BATCH // max((side.cells for side in self._sides.get(halvings, [])), default=CELLS))

    def values(self, radii: Array, halvings: int = 3) -> Array:
        """Lower bounds of F at radii, close to F."""
        return self.bounds(radii, radii, halvings)

    def prove(self, tolerance: float, deadline: float = math.inf, stop: Callable[[], bool] = lambda: False) -> Proved:
        """The lower bound of every law's loss. Pieces are halved until their bound is within a tolerance of the
        least value of F that was seen at any end of a piece."""
        ends = [one.cuts for one in self.multipliers]
        if self.loss.beyond is not None:
            ends.append(self.loss.beyond * np.array([1 - 2 * ROUNDING, 1 + 2 * ROUNDING]))
        cuts = np.unique(np.concatenate([*ends, [0.0, self.far]]))
        cuts = cuts[(cuts >= 0) & (cuts <= self.far)]
        lo, hi, level = cuts[:-1], cuts[1:], 0
        known = np.full(len(lo), -np.inf)
        # Beyond every node all multipliers vanish: F = c.
        least = float(_cost_lower(self.loss, np.array([self.far]))[0])
        seen, pieces, kept = least, 0, []
        over = False
        while len(lo):
            value = known.copy()
            halvings = max(0, level - 1)
            for begin in range(0, len(lo), step := self._batch(halvings)):
                over = over or time.perf_counter() > deadline or stop()
                if over and level:
                    break  # what is known of the whole holds for its halves
                part = slice(begin, begin + step)
                value[part] = np.maximum(value[part], self.bounds(lo[part], hi[part], halvings))
            pieces += len(lo)
            if over or level >= DEEPEST or pieces > PIECES:
                kept.append(np.stack([value, lo, hi]))
                break
            seen = min(seen, float(self.values(lo[np.argsort(value)[:PROBED]], FINEST).min()))
            fails = value < seen - tolerance
            kept.append(np.stack([value[~fails], lo[~fails], hi[~fails]]))
            middle = 0.5 * (lo[fails] + hi[fails])
            lo, hi = np.concatenate([lo[fails], middle]), np.concatenate([middle, hi[fails]])
            known = np.concatenate([value[fails], value[fails]])
            level += 1
        found = np.concatenate(kept, axis=1)
        least = min(least, float(found[0].min()))
        total = math.fsum(one.rate for one in self.multipliers) * self.delta
        bound = least - total - 4 * ROUNDING * (abs(least) + total)
        return Proved(max(0.0, bound), least, pieces, _spread(found[0], found[2], cuts))


def _spread(values: Array, radii: Array, cuts: Array) -> Array:
    """The radii with the least values, at most one in each part of the intervals between cuts."""
    ends = np.unique((cuts[:-1, None] + np.diff(cuts)[:, None] * np.arange(PARTS) / PARTS).ravel())
    order = np.argsort(values, kind="stable")
    _, first = np.unique(np.searchsorted(ends, radii[order], side="left"), return_index=True)
    out: Array = radii[order][np.sort(first)[:WORST]]
    return out


def _cost_lower(loss: RadialLoss, radius: Array) -> Array:
    """c at and beyond radii, rounded down. P(|x| > t): 1 beyond t, whose float may be the smaller one."""
    if loss.beyond is not None:
        return np.where(radius >= loss.beyond * (1 + ROUNDING), 1.0, 0.0)
    return np.asarray(loss(radius) * (1 - ROUNDING))
