"""Privacy losses on a grid: a pair of laws from above or from below.

A pair is replaced by one whose privacy loss takes values on a grid only: one that dominates it (every δ(ε) at least as
large) or one that it dominates. Both are read off the convex curve H(a) = sup_A P(A) − a Q(A), a = e^ε, at the grid
points: chords lie above it [DGKKM22, Alg. 1]; chords between values lowered by what the curve can sag in a cell lie
below it. The error is of second order in the step, but where much probability sits between grid points: so the grid
passes through the likeliest loss (from below, if that is the lowest one: through that of all low ones taken as one).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..loss import UNIT
from ..pair import FinitePair, Pair
from ..search import bisection

Array = NDArray[np.float64]

CLOSED_FORM = 1e-10
"""Relative error that values of H are allowed (see `curves.privacy_profile`)."""

MOST_CELLS = 1 << 19
"""Grid points of one pair."""

NEAR = 1e-9
"""Share of a step: what is so close to a grid point is there but for rounding."""

LARGEST_LOSS = 600.0
"""Losses beyond count as infinite (upper) or are forgotten (lower)."""


@dataclass(frozen=True, eq=False)
class LossGrid:
    """A privacy loss on the grid: P{L = offset + (first + i)·step} = masses[i], P{L = ∞} = infinite.

    upper : it dominates the pair it was made of; else it is dominated.
    relative, slack : what the finite part of H may be off beside CLOSED_FORM, relative and absolute, from rounding when
        it was made.
    """

    step: float
    first: int
    masses: Array
    infinite: float
    upper: bool
    relative: float = 0.0
    slack: float = 0.0
    offset: float = 0.0

    @cached_property
    def losses(self) -> Array:
        places: Array = self.offset + (self.first + np.arange(len(self.masses), dtype=float)) * self.step
        return places

    @cached_property
    def thetas(self) -> Array:
        """Tilts to choose from, (m,)."""
        return np.geomspace(1e-4, 0.2 / self.step, 160)

    @cached_property
    def _known(self) -> dict[int, float]:
        return {}

    def growth(self, number: int) -> float:
        """ln E e^(θL) over the finite losses at thetas[number], remembered."""
        if number not in self._known:
            self._known[number] = float(self.log_moments(self.thetas[number : number + 1])[0])
        return self._known[number]

    def log_moments(self, thetas: Array) -> Array:
        """ln E e^(θL) over the finite losses at every θ of an array."""
        used = self.masses > 0
        losses, logs = self.losses[used], np.log(self.masses[used])
        out = np.empty(len(thetas))
        for i, theta in enumerate(np.asarray(thetas).tolist()):
            terms = logs + theta * losses
            top = terms.max()
            out[i] = top + math.log(np.exp(terms - top).sum())
        return out

    def renyi_upper(self, orders: Array) -> Array:
        """Rényi divergences at orders > 1, rounded up when the grid is an upper one; ∞ with an infinite loss."""
        if self.infinite > 0:
            return np.full(len(orders), math.inf)
        with np.errstate(divide="ignore"):
            found = self.log_moments(orders - 1) / (orders - 1)
        return np.maximum(found, 0.0) + 2 * CLOSED_FORM / (orders - 1)

    def moments(self) -> tuple[float, float, float]:
        """(mean, variance, third absolute central moment) of the finite losses, as exact as the grid is fine."""
        weights = self.masses / self.masses.sum()
        mean = float(weights @ self.losses)
        off = np.abs(self.losses - mean)
        return mean, float(weights @ off**2), float(weights @ off**3)


def reach(pair: Pair, unseen: float = 1e-22) -> tuple[float, float]:
    """(lowest, largest) finite loss but for those with probability at most `unseen` under P above and 1e-15 below."""
    infinite, finite = pair.infinite, [atom[0] for atom in pair.atoms if math.isfinite(atom[0])]
    if isinstance(pair, FinitePair):
        own = pair.own[np.isfinite(pair.losses)]
        above, below = np.cumsum(own) > unseen, np.cumsum(own[::-1]) > 1e-15
        return (finite[len(own) - 1 - int(np.argmax(below))], finite[int(np.argmax(above))]) if finite else (0.0, 0.0)
    none_left: Callable[[float], bool] = lambda e: float(pair.tails(e)[0]) - infinite <= unseen  # noqa: E731
    all_seen: Callable[[float], bool] = lambda e: 1 - float(pair.tails(e)[0]) <= 1e-15  # noqa: E731
    beside = [1e-9 * abs(loss) for loss in finite]
    if len(finite) > 1 and none_left(finite[0] + beside[0]) and all_seen(finite[-1] - beside[-1]):
        return finite[-1], finite[0]
    return -_edge(lambda e: all_seen(-e), 1e-12), _edge(none_left, 1e-3)


def _edge(passes: Callable[[float], bool], within: float) -> float:
    """The least e > 0, to a relative `within`, at which a condition that stays true becomes true."""
    high = 1.0
    while not passes(high) and high < LARGEST_LOSS:
        high *= 2
    high, _ = bisection(passes, high, 0.0, near=lambda high, low: high - low <= within * high or high <= 1e-9)
    return min(high, LARGEST_LOSS)


def on_grid(pair: Pair, step: float, *, upper: bool, unseen: float = 1e-22) -> LossGrid:
    """The pair on a grid through its likeliest loss, from above or from below; losses with probability `unseen` in all
    count as infinite (upper) or as the largest.

    Raises
    ------
    InputError : the grid would have more than MOST_CELLS points.
    """
    low, high = (min(max(x, -LARGEST_LOSS), LARGEST_LOSS) for x in reach(pair, unseen))
    if (high - low) / step > MOST_CELLS:
        raise InputError("step", step, f"at least {(high - low) / MOST_CELLS:.3g} for losses up to {high:.3g}")
    own_kept, other_kept = pair.tails(low - NEAR * step)  # what is below the lowest loss is forgotten
    kept = float(own_kept), float(other_kept)
    lowest, largest = kept[0] - float(pair.tails(low + step)[0]), float(pair.tails(high - step)[0])
    own, start = max(((own, loss) for loss, own, _ in pair.atoms if low <= loss <= high), default=(0.0, low))
    if max(lowest, largest) > 2 * own:  # no single loss, but many that are next to an end
        start = low if lowest >= largest else high
    if start <= low + step and not upper:
        together, cell = _lowest_together(pair, low, high, step, kept), np.array([low, low + step])
        if largest * (low + step - together) <= float(_sags(pair, cell, np.asarray(pair.delta(cell)))[0][0]):
            start = low = together  # cheaper than what H sags, though it moves the largest loss to the point below
    offset = math.remainder(start, step)
    offset = 0.0 if abs(offset) <= NEAR * step else offset
    first = math.floor((low - offset) / step + NEAR)
    count = max(math.ceil((high - offset) / step - NEAR) - first, 1) + 1
    losses: Array = offset + (first + np.arange(count, dtype=float)) * step
    curve = np.minimum.accumulate(np.clip(np.asarray(pair.delta(losses), dtype=float), 0.0, 1.0))
    if upper:
        if curve[-1] > pair.infinite:  # nothing that is finite but for rounding counts as infinite
            beyond = float(np.clip(pair.delta(np.array([losses[-1] + step]))[0], 0.0, 1.0))
            curve = np.append(curve, min(beyond, curve[-1]))
        return _with_masses(curve, 1.0, step, first, offset, upper=True)
    return _with_masses(_lowered(pair, losses, curve, kept), kept[0], step, first, offset, upper=False)


def _lowest_together(pair: Pair, low: float, high: float, step: float, kept: tuple[float, float]) -> float:
    """The loss of all outcomes between the lowest loss and a step beyond what is found here, taken as one.

    As one they are no easier to tell apart than one by one, and nothing of them sits between grid points: most of what
    a sampled mechanism releases has a loss next to the lowest one. In terms of H: the line P − a Q it begins with meets
    the tangent one step later."""
    excess: Callable[[float], float] = lambda x: float(_line(kept, x) - _tangent(pair, x + step, x))  # noqa: E731
    reached = 0.0
    while excess(low + reached) > 0 and low + reached < high:
        reached = 2 * reached + step
    before = (reached - step) / 2
    close = 1e-12 * step + 4e-16 * abs(low)
    near: Callable[[float, float], bool] = lambda reached, before: reached - before <= close or reached <= 0  # noqa: E731
    return low + bisection(lambda x: excess(low + x) <= 0, reached, before, near=near)[0]


def _line(kept: tuple[float, float], loss: float) -> float:
    """P − a Q of all that is kept, rounded down by what the two may be off."""
    return kept[0] - kept[1] - kept[1] * math.expm1(loss) - 4 * UNIT


def _tangent(pair: Pair, at: float, loss: float) -> float:
    """The value at one loss of the tangent at another."""
    return float(pair.delta(at)) + float(pair.tails(at)[1]) * (math.exp(at) - math.exp(loss))


def _lowered(pair: Pair, losses: Array, curve: Array, kept: tuple[float, float]) -> Array:
    """Values at the grid points such that the convex curve through them, and through P at a = 0, lies below H.

    Both ends of a cell lowered by what H sags there bring the chord below it; the greatest convex function below all
    values then is, everywhere. Q may have more mass than it had: products keep the order of measures too. The first
    value is on the line H begins with, if that is lower.
    """
    curve[0] = min(curve[0], max(_line(kept, float(losses[0])), 0.0))
    places, (sag, meet) = np.exp(losses), _sags(pair, losses, curve)
    lowering = np.maximum(np.append(sag, 0.0), np.append(0.0, sag))
    if meet[0] > 0.25:  # the second value alone does it for both, and Q keeps its mass
        lowering[:2] = 0.0, max(lowering[1], float(sag[0] / meet[0]) * (1 + 1e-12))
    values = curve - lowering
    # Beyond the last point the curve is what is infinite; the last chord must not rise above the tangent there, whose
    # slope is what Q has at the last point.
    floor, last = pair.infinite, float(losses[-1])
    crown = sum(other for loss, _, other in pair.atoms if abs(loss - last) <= 1e-12 * max(1.0, abs(last)))
    values[-1] = floor
    values[-2] = min(values[-2], floor + crown * (places[-1] - places[-2]))
    below = np.flatnonzero(values[:-1] < floor)
    if below.size:
        values[max(below[0] - 1, 0) :] = floor
    return _convex(np.append(0.0, places), np.append(kept[0], values))[1:]


def _sags(pair: Pair, losses: Array, curve: Array) -> tuple[Array, Array]:
    """(how far H may lie below its chords, at which share of the cell): it is at least the larger of its tangents at
    both ends, which meet (c − s)(t − c)/(t − s)·Δ below the chord, at (t − c)/(t − s)·Δ, with the slopes s, c, t of one
    tangent, the chord and the other tangent and the width Δ."""
    widths, slopes = np.diff(np.exp(losses)), -np.asarray(pair.tails(losses)[1], dtype=float)
    chords = np.diff(curve) / widths
    rise, bend = np.maximum(chords - slopes[:-1], 0.0), np.maximum(slopes[1:] - chords, 0.0)
    both = rise + bend
    meet = np.divide(bend, both, out=np.zeros_like(rise), where=both > 0)
    return rise * meet * widths, meet


def lower_hull(points: Array) -> Array:
    """The corners of the convex hull that face downwards, by rising first coordinate [Andrew's monotone chain]."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    chain: list[tuple[float, float]] = []
    for x, y in points.tolist():
        while len(chain) > 1:
            (a, b), (c, d) = chain[-2:]
            if (d - b) * (x - c) < (y - d) * (c - a):
                break
            chain.pop()
        chain.append((x, y))
    return np.array(chain)


def _convex(x: Array, y: Array) -> Array:
    """The greatest convex function below the points, which end at their lowest, at their places."""
    if (np.diff(np.diff(y) / np.diff(x)) >= 0).all():
        return y
    hull = lower_hull(np.column_stack([x, y]))
    return np.interp(x, hull[:, 0], hull[:, 1])


def _with_masses(values: Array, total: float, step: float, first: int, offset: float, *, upper: bool) -> LossGrid:
    """The law of the loss whose curve joins the values at the grid points by chords [DGKKM22, Alg. 1].

    Second differences round; what they make of the curve is measured against the values and kept as slack.
    """
    rise, fall = math.expm1(step), math.expm1(-step)
    steps = np.diff(values)
    masses = np.empty(len(values))
    masses[0] = total - values[0] + steps[0] / rise
    masses[1:-1] = (steps[1:] - math.exp(step) * steps[:-1]) / rise
    masses[-1] = steps[-1] / fall
    masses = np.maximum(masses, 0.0)
    infinite = float(values[-1])
    finite, made = np.append(values, total) - infinite, np.append(curve_of(masses, step)[0], float(masses.sum()))
    off, large = finite - made if upper else made - finite, finite > 1e-6
    relative = max(float((off[large] / finite[large]).max(initial=0.0)), 0.0)
    slack = max(float((off - relative * finite).max()), 0.0)
    return LossGrid(step, first, masses, infinite, upper, relative, slack, offset)


def curve_of(masses: Array, step: float) -> tuple[Array, Array]:
    """(H, C) at the losses of a grid with these masses: H(ε) = H(L_i) + C_i (1 − e^(ε − L_i)) between L_(i−1) and L_i.
    Everything adds up, nothing cancels: relative errors are below 4·n·u."""
    from scipy.signal import lfilter

    heights = lfilter([1.0], [1.0, -math.exp(-step)], masses[::-1])[::-1]
    return -math.expm1(-step) * np.append(np.cumsum(heights[::-1])[-2::-1], 0.0), heights
