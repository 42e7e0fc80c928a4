"""Composition on a grid of privacy losses: a lower and an upper bound of the joint δ(ε), with rounding accounted for.

A pair of laws is replaced by one whose privacy loss takes values on a grid only: one that dominates it (every δ(ε) at
least as large) or one that it dominates. Both are read off the convex curve H(a) = sup_A P(A) − a Q(A), a = e^ε, at the
grid points: chords lie above it [DGKKM22, Alg. 1]; chords between values lowered by what the curve can sag in a cell
lie below it. Products keep the order [ZDW22, Thm. 10], so the composed curves enclose the truth; the error is of second
order in the step. Convolutions and the cut of their tails are dp_accounting's. They are done with masses tilted by
e^(θ loss), θ + 1 being the Rényi order that matters at the δ asked for: the rounding of the transforms is then small
against δ itself, however small δ is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..loss import UNIT
from .pairs import FinitePair, Pair

Array = NDArray[np.float64]

CLOSED_FORM = 1e-10
"""Relative error that values of H are allowed (see `curves.privacy_profile`)."""

TAIL = 1e-15
"""Tilted mass that a convolution may wrap around."""

MOST_CELLS = 1 << 19
"""Grid points of one pair."""

LARGEST_LOSS = 600.0
"""Losses beyond count as infinite (upper) or are forgotten (lower)."""


@dataclass(frozen=True, eq=False)
class LossGrid:
    """A privacy loss on the grid: P{L = (first + i)·step} = masses[i], P{L = ∞} = infinite.

    upper : it dominates the pair it was made of; else it is dominated.
    relative, slack : what H may be off beside CLOSED_FORM, relative and absolute, from rounding when it was made.
    """

    step: float
    first: int
    masses: Array
    infinite: float
    upper: bool
    relative: float = 0.0
    slack: float = 0.0

    @cached_property
    def losses(self) -> Array:
        return (self.first + np.arange(len(self.masses))) * self.step

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
    """(lowest, largest) finite loss; where they are unbounded, what lies beyond has probability at most `unseen`
    under P (above) and 1e-15 (below)."""
    finite = [atom[0] for atom in pair.atoms if math.isfinite(atom[0])]
    infinite = pair.infinite
    none_left = lambda e: float(pair.tails(e)[0]) - infinite <= unseen  # noqa: E731
    all_seen = lambda e: 1 - float(pair.tails(e)[0]) <= 1e-15  # noqa: E731
    if isinstance(pair, FinitePair):
        return (finite[-1], finite[0]) if finite else (0.0, 0.0)
    beside = [1e-9 * abs(loss) for loss in finite]
    if len(finite) > 1 and none_left(finite[0] + beside[0]) and all_seen(finite[-1] - beside[-1]):
        return finite[-1], finite[0]
    return -_edge(lambda e: all_seen(-e)), _edge(none_left)


def _edge(passes: Callable[[float], bool]) -> float:
    """The least e > 0, to a thousandth, at which a condition that stays true becomes true."""
    high = 1.0
    while not passes(high) and high < LARGEST_LOSS:
        high *= 2
    low = 0.0
    while high - low > 1e-3 * high and high > 1e-9:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return min(high, LARGEST_LOSS)


def on_grid(pair: Pair, step: float, *, upper: bool, unseen: float = 1e-22) -> LossGrid:
    """The pair on a grid, from above or from below; losses with probability `unseen` in all count as infinite
    (upper) or as the largest.

    Raises
    ------
    InputError : the grid would have more than MOST_CELLS points.
    """
    low, high = (min(max(x, -LARGEST_LOSS), LARGEST_LOSS) for x in reach(pair, unseen))
    near = 1e-9  # of a step: an end that is a grid point but for rounding
    first, last = math.floor(low / step + near), math.ceil(high / step - near)
    last = max(last, first + 1)
    if last - first > MOST_CELLS:
        raise InputError("step", step, f"at least {(high - low) / MOST_CELLS:.3g} for losses up to {high:.3g}")
    losses = (first + np.arange(last - first + 1)) * step
    curve = np.minimum.accumulate(np.clip(np.asarray(pair.delta(losses), dtype=float), 0.0, 1.0))
    if upper:
        if curve[-1] > pair.infinite:  # nothing that is finite but for rounding counts as infinite
            beyond = float(np.clip(pair.delta(np.array([losses[-1] + step]))[0], 0.0, 1.0))
            curve = np.append(curve, min(beyond, curve[-1]))
        return _with_masses(curve, 1.0, step, first, upper=True)
    total = float(pair.tails(losses[0] - 0.5 * step * near)[0])  # P{L ≥ first loss}; what is below is forgotten
    return _with_masses(*_lowered(pair, losses, curve, total), step, first, upper=False)


def _lowered(pair: Pair, losses: Array, curve: Array, total: float) -> tuple[Array, float]:
    """(values, total): a convex curve through these values at the grid points, and `total` at a = 0, lies below H.

    In a cell H is at least the larger of its tangents at both ends. They meet at the share w = (t − c)/(t − s) of its
    width Δ, with the slopes s, c, t of one tangent, the chord and the other tangent, (c − s)(t − c)/(t − s)·Δ below the
    chord. Lowering the ends by e and e′ with (1 − w)e + we′ at least that much brings the chord below H; the greatest
    convex function below all values then is, everywhere. The first value stays, lest Q have more mass than there is.
    """
    places = np.exp(losses)
    widths, slopes = np.diff(places), -np.asarray(pair.tails(losses)[1], dtype=float)
    chords = np.diff(curve) / widths
    rise, bend = np.maximum(chords - slopes[:-1], 0.0), np.maximum(slopes[1:] - chords, 0.0)
    both = rise + bend
    sag = np.divide(rise * bend, both, out=np.zeros_like(rise), where=both > 0) * widths
    meet = np.clip(np.divide(bend, both, out=np.full_like(rise, 0.5), where=both > 0), 1e-9, 1.0)
    lowering = np.maximum(np.append(sag, 0.0), np.append(0.0, sag))
    lowering[0] = 0.0
    for i in range(min(64, len(sag))):  # until the first value makes no difference any more
        needed = (sag[i] - (1 - meet[i]) * lowering[i]) / meet[i]
        later = lowering[i + 1] if i == 63 else sag[i]
        lowering[i + 1] = max(needed * (1 + 1e-12), later)
    values = curve - lowering
    # Beyond the last point the curve is what is infinite; the last chord must not rise above the tangent there, whose
    # slope is what Q has at the last point.
    floor = pair.infinite
    last = float(losses[-1])
    crown = sum(other for loss, _, other in pair.atoms if abs(loss - last) <= 1e-12 * max(1.0, abs(last)))
    values[-1] = floor
    values[-2] = min(values[-2], floor + crown * widths[-1]) if len(values) > 1 else floor
    below = np.flatnonzero(values[:-1] < floor)
    if below.size:
        values[max(below[0] - 1, 0) :] = floor
    return _convex(np.append(0.0, places), np.append(total, values))[1:], total


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


def _with_masses(values: Array, total: float, step: float, first: int, *, upper: bool) -> LossGrid:
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
    losses = (first + np.arange(len(values))) * step
    own = np.append(np.cumsum(masses[::-1])[::-1], 0.0)[1:]
    other = np.append(np.cumsum((masses * np.exp(-losses))[::-1])[::-1], 0.0)[1:]
    made = own - np.exp(losses) * other + values[-1]
    off = values - made if upper else made - values
    ends = total - float(masses.sum()) - values[-1]
    off, values = np.append(off, ends if upper else -ends), np.append(values, total)
    large = values > 1e-6
    relative = max(float((off[large] / values[large]).max(initial=0.0)), 0.0)
    slack = max(float((off - relative * values).max()), 0.0)
    return LossGrid(step, first, masses, float(values[-2]), upper, relative, slack)


# Composition -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Composed:
    """The composed loss: finite part e^(scale − tilt·loss)·weights at losses (first + i)·step, tilted and normalised;
    an infinite part; a bound of what rounding may have done."""

    step: float
    first: int
    weights: Array
    tilt: float
    scale: float
    infinite: float
    error: float
    upper: bool
    relative: float

    @cached_property
    def _curve(self) -> tuple[Array, Array, Array]:
        """(losses ≥ 0 of the grid, Σ of masses beyond, Σ of masses·e^(loss here − loss there) beyond)."""
        from scipy.signal import lfilter

        start = max(0, -self.first)  # index of loss 0, or of the first loss if that is larger
        ahead = max(0, self.first)
        weights = self.weights[start:]
        losses = (ahead + np.arange(len(weights))) * self.step
        with np.errstate(under="ignore", divide="ignore"):  # no mass exceeds 1: far from its tilt it is rounding
            masses = np.exp(np.minimum(self.scale - self.tilt * losses + np.log(weights), 0.5))
        beyond = np.append(np.cumsum(masses[::-1])[::-1], 0.0)[1:]
        drop = math.exp(-self.step)
        faded = lfilter([0.0, drop], [1.0, -drop], masses[::-1])[::-1]
        return losses, beyond, faded

    def _errors(self, losses: Array) -> Array:
        """What δ may be off at ε = losses."""
        with np.errstate(over="ignore"):
            return np.exp(np.minimum(self.scale - self.tilt * losses, 700.0)) * self.error

    def delta(self, epsilon: float) -> float:
        """δ at ε ≥ 0, rounded up (upper) or down."""
        losses, beyond, faded = self._curve
        sign = 1.0 if self.upper else -1.0
        error = float(self._errors(np.array([epsilon]))[0])
        if len(losses) == 0 or epsilon >= losses[-1]:
            finite = 0.0
        elif epsilon < losses[0]:
            own, other = beyond[0] + self._mass(0), faded[0] + self._mass(0)
            finite = own - math.exp(epsilon - losses[0]) * other
        else:
            i = min(int((epsilon - losses[0]) / self.step), len(losses) - 1)
            finite = beyond[i] - math.exp(epsilon - losses[i]) * faded[i]
        value = self.infinite + max(finite, 0.0) * (1 + sign * self.relative) + sign * error
        return float(min(max(value, 0.0), 1.0))

    def _mass(self, i: int) -> float:
        losses = self._curve[0]
        start = max(0, -self.first)
        weight = float(self.weights[start + i])
        return math.exp(min(self.scale - self.tilt * losses[i] + math.log(weight), 0.5)) if weight > 0 else 0.0

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 with δ(ε) ≤ delta, rounded up (upper: ∞ if none is proved) or down."""
        losses, beyond, faded = self._curve
        sign = 1.0 if self.upper else -1.0
        goal = delta - self.infinite
        if goal <= 0:
            return math.inf
        if len(losses) == 0:
            return 0.0
        if self.upper and self.delta(0.0) <= delta:
            return 0.0
        finite = np.maximum(beyond - faded, 0.0) * (1 + sign * self.relative)
        bound = finite + sign * self._errors(losses)
        if not self.upper:  # what is proved further on is proved here too
            bound = np.maximum.accumulate(bound[::-1])[::-1]
        if not (bound <= goal).any():
            return math.inf if self.upper else float(losses[-1])
        i = int(np.argmax(bound <= goal))
        if i == 0:
            return 0.0 if losses[0] == 0 else self._by_bisection(delta, 0.0, float(losses[0]))
        # within the cell δ(ε) = beyond − e^(ε − loss) faded; the error is largest at its left end
        own = (beyond[i - 1]) * (1 + sign * self.relative)
        error = sign * float(self._errors(losses[i - 1 : i])[0])
        excess = (own + error - goal) / (faded[i - 1] * (1 + sign * self.relative))
        found = losses[i - 1] + (math.log(excess) if excess > 0 else 0.0)
        found = min(max(found, losses[i - 1]), losses[i])
        return float(found * (1 + sign * 1e-12))

    def _by_bisection(self, delta: float, low: float, high: float) -> float:
        while high - low > 1e-10 * high:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high if self.upper else low


Part = tuple[LossGrid, int]


def tilt_for(parts: Sequence[Part], *, delta: float | None = None, epsilon: float | None = None) -> float:
    """The tilt at which Chernoff's bound e^(growth − θε), which rounding is in proportion to, is least, at the ε asked
    for, or at the least one where δ(ε) ≤ e^(growth − θε) θ^θ/(1 + θ)^(1 + θ) allows the δ asked for [CKS20, Prop. 12].
    """
    thetas = parts[0][0].thetas.tolist()
    growth = lambda number: sum(count * grid.growth(number) for grid, count in parts)  # noqa: E731
    if epsilon is None:
        assert delta is not None
        goal = delta - infinite_mass(parts)
        if goal <= 0:
            return thetas[0]

        def reached(number: int) -> float:
            theta = thetas[number]
            sharper = theta * math.log(theta) - (1 + theta) * math.log1p(theta)
            return (growth(number) + sharper - math.log(goal)) / theta

        epsilon = max(reached(_valley(reached, len(thetas))), 0.0)
    return thetas[_valley(lambda number: growth(number) - thetas[number] * epsilon, len(thetas))]


def _valley(score: Callable[[int], float], count: int) -> int:
    """Where a score of 0 … count − 1 is least that falls, then rises."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if score(middle) > score(middle + 1) else (low, middle)
    return low


def infinite_mass(parts: Sequence[Part]) -> float:
    """P{L = ∞} of the composition, 1 − Π (1 − infinite)^count."""
    kept = sum(count * math.log1p(-min(grid.infinite, 1 - 1e-16)) for grid, count in parts)
    upper = parts[0][0].upper
    return min(max(-math.expm1(kept) * (1 + (1 if upper else -1) * 1e-14), 0.0), 1.0)


def compose(parts: Sequence[Part], *, delta: float | None = None, epsilon: float | None = None) -> Composed:
    """The composition of independent (or adaptively chosen) releases, `count` of each; all grids of one step and side.

    delta or epsilon : where the curve is wanted; elsewhere it stays a bound, but a wider one.

    Rounding: an output of a Fourier transform of length n is a sum of its inputs through log₂ n stages, each of
    relative error below 7u [Higham, Thm. 24.2]; inputs add up to 1, a power multiplies the error by its exponent. So
    every entry of a convolution is off by at most (8 log₂ n + 16)·u·(number of releases), and mass of at most TAIL
    is wrapped around.
    """
    from dp_accounting.pld import common
    from scipy.signal import fftconvolve

    theta = tilt_for(parts, delta=delta, epsilon=epsilon)
    upper = parts[0][0].upper
    first, scale, weights, entry, total = 0, 0.0, np.ones(1), 0.0, 0
    for grid, count in parts:
        with np.errstate(divide="ignore"):
            terms = np.log(grid.masses) + theta * grid.losses
        top = float(terms.max())
        tilted = np.exp(terms - top)
        size = float(tilted.sum())
        scale += count * (top + math.log(size))
        start, power = 0, tilted / size
        if count > 1:
            with np.errstate(all="ignore"):  # moments of empty cells
                start, power = common.self_convolve(power, count, TAIL)
            entry += count * _entry_error(len(power))
        power = np.maximum(power, 0.0)
        weights = power if len(weights) == 1 else np.maximum(fftconvolve(weights, power), 0.0)
        entry += 4 * _entry_error(len(weights)) if len(weights) > len(power) else 0.0
        first += count * grid.first + start
        total += count
    step = parts[0][0].step
    cells = min(float(len(weights)), 1 / -math.expm1(-theta * step))
    absolute = sum(count * grid.slack for grid, count in parts)
    error = (len(parts) + 1) * TAIL + entry * cells
    relative = sum(count * 2 * (CLOSED_FORM + grid.relative) for grid, count in parts)
    relative += 4 * len(weights) * UNIT + abs(scale) * 16 * UNIT
    extra = 2 * absolute * math.exp(min(absolute * total, 1.0))
    infinite = infinite_mass(parts) + (extra if upper else -extra)
    return Composed(step, first, weights, theta, scale, infinite, error, upper, relative)


def _entry_error(length: int) -> float:
    return (8 * math.log2(max(length, 2)) + 16) * UNIT
