"""δ(ε) of laws made of normal densities of one σ, over all shifts up to a sensitivity, rounded up.

Such laws have several peaks, so the largest shift need not be the worst one. Everything is in units of the distance of
the peaks. With E = e^ε and r_φ(x) = f(x) − E f(x − φ) the shortfall at φ is ∫ max(0, r_φ) [method: mixtures].

* *One shift.* Cells of the line on which r, with a bound of |r″|, provably has one sign, or is monotone and so has at
  most one root; cells that are neither are cut, and what they may hold at most is counted. What r is worth between the
  roots are differences of distribution functions.
* *All shifts.* h_φ is the supremum over events A ⊂ B of functions of φ whose second derivative is at least −M, where B
  are the places at which r_φ > 0 for some φ of an interval, and M = E ∫_B |f″(x − φ)|. Hence h_φ + Mφ²/2 is convex, and
  on an interval of width w no h_φ exceeds the larger of those at its ends by more than Mw²/8. Intervals whose bound is
  above the largest h_φ known are halved.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EVERYWHERE = 2**40
"""No peak is further away."""

TAILS = 2e-14
"""Relative error of a tail probability (tests: below 1e-14 against 50 digits)."""

SPREADS = 9.0
"""Terms so many σ further from their largest one are left out: below e^−40 of it."""

LEFT_OUT = 1e-17
"""What is left out, relative to what is kept."""

FAR = 12.0
"""Of laws with finitely many peaks the line is looked at so many σ beyond them; what lies there is below 2e-33."""

BEYOND = 4e-33

CELLS_PER_SIGMA = 4
"""Width of the first cells."""

SMALLEST = 1e-20
"""Shortfalls below are not told apart from 0."""

ROUNDS = 7
"""Most times undecided cells are cut in four."""

MOST_OPEN = 8_000
"""More undecided cells than this are not cut."""

MOST_CELLS = 200_000
"""Most cells of one shift; sensitivities so many σ large are answered with 1."""

FINER = 2
"""So often cells on which r may be positive are cut in four before their curvature counts."""

HALVINGS = 40
"""Most times intervals of shifts are halved."""

BATCH = 4_000
"""Cells that are looked at together."""


class Peaks(ABC):
    """A symmetric density Σ w_k φ_s(x − k) on x ≥ 0, over whole numbers k, of either sign; another list w_−k on x < 0.

    spread : s, the standard deviation of every term.
    rate : the law falls by e^−rate per unit far out, for ever; None where there are finitely many peaks.
    window : terms k from ⌊x⌋ − window to ⌊x⌋ + window + 1 count at x.   furthest : there are none of larger |k|.
    """

    spread: float
    rate: float | None
    furthest: int = EVERYWHERE

    @property
    def window(self) -> int:
        return EVERYWHERE

    @abstractmethod
    def weights(self, k: Array, side: Array) -> Array:
        """w_k on the side (±1) of 0."""

    @abstractmethod
    def terms(self, x: Array) -> Array:
        """Numbers k, (T, …), of all terms that count at x."""

    @abstractmethod
    def tail(self, y: Array) -> Array:
        """P(X > y), y ≥ 0, in relative terms."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """Beyond this distance from 0 the law is periodic but for the factor, or BEYOND is all that is left."""

    @property
    def periodic_from(self) -> float:
        """The distance from 0 from which on one period is the one before times e^−rate."""
        return math.inf

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> Array:
        """Floating-point samples."""

    def height(self, y: Array) -> Array:
        """Density at y ≥ 0."""
        k = self.terms(y)
        bells = self.weights(k, np.ones(y.shape)) * np.exp(-0.5 * ((y - k) / self.spread) ** 2)
        density: Array = bells.sum(0) / (self.spread * math.sqrt(2 * math.pi))
        return density

    @property
    def kink(self) -> float:
        """By how much f′ jumps up at 0."""
        return 0.0


class Looked(NamedTuple):
    """r, r′ at places, the rounding error of r, a bound of |r″| around, and what f′ and f″ are at most at x − φ."""

    value: Array
    slope: Array
    error: Array
    bend: Array
    steepest: Array
    bent: Array


class Shortfalls(NamedTuple):
    """Figures of several shifts: h_φ rounded up; P(A) and P(A − φ) for the event found."""

    upper: Array
    own: Array
    other: Array


@dataclass(frozen=True)
class Worst:
    """The largest h_φ rounded up, and a shift that attains it but for that."""

    upper: float
    shift: float


def look(law: Peaks, x: Array, shift: Array, growth: Array, radius: Array | float, more: Array | None = None) -> Looked:
    """r_φ = f − growth·f(· − φ) at x; the bounds hold within `radius` of x, those of f at x − φ within radius + more.

    Terms are taken in pairs k, k + φ − u with |u| ≤ ½: what cancels is never subtracted.
    """
    from ..kernels.peaks import look as compiled

    steps = math.ceil(float(shift.max(initial=0.0)))
    lowest = max(math.floor(float(x.min(initial=0.0))) - law.window, -law.furthest) - steps
    last = min(math.floor(float(x.max(initial=0.0))) + law.window + 1, law.furthest + steps)
    right, left = _weights(law, lowest, last)
    within = radius if isinstance(radius, np.ndarray) else np.full(len(x), radius)
    at = compiled(
        x, shift, growth, within, NONE if more is None else more,
        right, left, lowest, law.window, law.furthest, law.spread,
    )  # fmt: skip
    return Looked(*at)


NONE = np.zeros(0)


@lru_cache(maxsize=64)
def _weights(law: Peaks, lowest: int, last: int) -> tuple[Array, Array]:
    """w_k for k from `lowest` to `last`, right and left of 0."""
    k = np.arange(float(lowest), last + 1)
    return law.weights(k, np.ones(k.shape)), law.weights(k, -np.ones(k.shape))


def _signed_tail(law: Peaks, x: Array) -> Array:
    """P(X < x) for x < 0, −P(X > x) from 0 on: differences are probabilities, but for 1 across 0."""
    return np.where(x < 0, 1.0, -1.0) * law.tail(np.abs(x))


def _count(law: Peaks, top: float) -> float:
    """About how many first cells a shift up to `top` has."""
    return (2 * law.reach + top) * CELLS_PER_SIGMA / law.spread


def _first_cells(law: Peaks, shifts: Array) -> tuple[Array, Array]:
    """(ends of cells, (J, N + 1); how much each counts, (J, N)): over all places that matter, for every shift."""
    reach, top = law.reach, float(shifts.max())
    first, last = -reach, reach + top
    if law.rate is not None:
        last = math.ceil(last)
    base = np.linspace(first, last, math.ceil((last - first) * CELLS_PER_SIGMA / law.spread) + 1)
    extra = [0.0, None] if law.rate is None else [first + 1, last - 1]
    columns = [np.broadcast_to(base, (len(shifts), len(base)))]
    columns += [(shifts if e is None else np.full(len(shifts), e))[:, None] for e in extra]
    ends = np.sort(np.concatenate(columns, axis=1), axis=1)
    weights = np.ones((len(shifts), ends.shape[1] - 1))
    if law.rate is not None:
        middle = 0.5 * (ends[:, 1:] + ends[:, :-1])
        weights[(middle < first + 1) | (middle > last - 1)] = -1 / math.expm1(-law.rate)
    return ends, weights


def _quarters(a: Array, b: Array) -> tuple[Array, Array]:
    """Ends of cells → ends of the four parts of every cell."""
    inner = np.linspace(a, b, 5, axis=1)
    return inner[:, :-1].ravel(), inner[:, 1:].ravel()


def shortfalls(law: Peaks, shifts: Array, epsilons: Array, tolerance: float, *, compared: bool = False) -> Shortfalls:
    """h_φ(ε) at pairs of shifts φ > 0 and ε ≥ 0, rounded up by about the relative tolerance, of the largest of them if
    they are compared. (J,)"""
    cells = _count(law, float(shifts.max()))
    if cells > MOST_CELLS:
        return Shortfalls(np.ones(len(shifts)), np.ones(len(shifts)), np.zeros(len(shifts)))
    size = max(1, int(BATCH / cells))
    parts = [
        _shortfalls(law, shifts[i : i + size], np.exp(epsilons[i : i + size]), tolerance, compared)
        for i in range(0, len(shifts), size)
    ]
    return Shortfalls(*(np.concatenate(column) for column in zip(*parts)))


def _shortfalls(law: Peaks, shifts: Array, growths: Array, tolerance: float, compared: bool) -> Shortfalls:
    ends, counts = _first_cells(law, shifts)
    rows = np.broadcast_to(np.arange(len(shifts))[:, None], counts.shape).ravel()
    a, b, count = ends[:, :-1].ravel(), ends[:, 1:].ravel(), counts.ravel()
    J = len(shifts)
    found: list[tuple[NDArray[Any], ...]] = []
    slack, known = np.zeros(J), np.zeros(J)
    for round_ in range(ROUNDS + 1):
        middle, radius = 0.5 * (a + b), 0.5 * (b - a)
        at = look(law, middle, shifts[rows], growths[rows], radius)
        spread = radius * np.abs(at.slope) + 0.5 * radius**2 * at.bend + at.error
        inside = at.value > spread
        found.append((rows[inside], a[inside], b[inside], count[inside]))
        known += np.bincount(rows, np.where(inside, count * at.value * (b - a), 0.0), J)
        open_ = np.flatnonzero(~inside & (at.value > -spread))
        steep = np.abs(at.slope[open_]) - radius[open_] * at.bend[open_]
        one = steep > 0
        turning = open_[one]
        if turning.size:
            begin, end, missed = _roots(
                law, a[turning], b[turning], middle[turning] - at.value[turning] / at.slope[turning],
                shifts[rows[turning]], growths[rows[turning]], at.slope[turning] > 0, steep[one],
            )  # fmt: skip
            missed = np.minimum(missed, (b - a)[turning] * (np.abs(at.value) + spread)[turning])
            found.append((rows[turning], begin, end, count[turning]))
            slack += np.bincount(rows[turning], count[turning] * missed, J)
            known += np.bincount(rows[turning], count[turning] * np.abs(at.slope[turning]) * (end - begin) ** 2 / 2, J)
        rest = open_[~one]
        if not rest.size:
            break
        value, slope, wide = at.value[rest], np.abs(at.slope[rest]), radius[rest]
        tilt = slope * wide > np.abs(value)
        chord = np.where(
            tilt, (value + slope * wide) ** 2 / (2 * np.where(tilt, slope, 1.0)), 2 * wide * np.maximum(value, 0.0)
        )  # fmt: skip
        held = count[rest] * (chord + at.bend[rest] * wide**3 / 3 + 2 * wide * at.error[rest])
        worth, per_row = known + slack, np.bincount(rows[rest], held, J)
        largest = np.full(J, worth.max()) if compared else worth
        allowed = tolerance * np.maximum(largest, SMALLEST)
        cut = (per_row > allowed)[rows[rest]] & (held > 1e-3 * allowed[rows[rest]])
        cut &= at.bend[rest] * wide**2 > 6 * at.error[rest]  # the rest is rounding
        if round_ == ROUNDS or not cut.any() or cut.sum() > MOST_OPEN:
            slack += per_row
            break
        slack += np.bincount(rows[rest[~cut]], held[~cut], J)
        rest = rest[cut]
        a, b = _quarters(a[rest], b[rest])
        rows, count = np.repeat(rows[rest], 4), np.repeat(count[rest], 4)
    row, a, b, count = (np.concatenate(column) for column in zip(*found))
    order = np.lexsort((a, row))
    row, a, b, count = row[order], a[order], b[order], count[order]
    joined = (row[1:] == row[:-1]) & (b[:-1] == a[1:]) & (count[1:] == count[:-1])
    starts, stops = np.append(True, ~joined), np.append(~joined, True)
    if not row.size:
        starts = stops = np.zeros(0, dtype=bool)
    row, a, b, count = row[starts], a[starts], b[stops], count[starts]
    masses, errors = [], []
    for away in (0.0, shifts[row]):
        begin, end = a - away, b - away
        tails = _signed_tail(law, begin), _signed_tail(law, end)
        mass = count * np.maximum(tails[1] - tails[0] + ((begin < 0) & (end >= 0)), 0.0)
        masses.append(np.bincount(row, mass, J).astype(float))
        errors.append(np.bincount(row, count * (np.abs(tails[0]) + np.abs(tails[1]) + mass), J))
    own, other = masses
    slack += TAILS * (errors[0] + growths * errors[1])
    slack += BEYOND if law.rate is None else LEFT_OUT * law.tail(np.array([law.reach])) * (1 + growths)
    upper = np.minimum(np.maximum(own - growths * other, 0.0) + slack, 1.0)
    return Shortfalls(upper, own, other)


def _roots(
    law: Peaks, a: Array, b: Array, guess: Array, shifts: Array, growths: Array, rising: NDArray[np.bool_], steep: Array
) -> tuple[Array, Array, Array]:
    """(begin, end) of where a monotone r is positive in [a, b], and what that misses at most; |r′| ≥ steep there."""
    place = np.clip(guess, a, b)
    for _ in range(2):
        here = look(law, place, shifts, growths, 0.0)
        slope = np.where(rising, np.maximum(here.slope, steep), np.minimum(here.slope, -steep))
        place = np.clip(place - here.value / slope, a, b)
    here = look(law, place, shifts, growths, 0.0)
    off = np.where(rising, here.value, -here.value)  # positive: the root is to the left
    off = np.where(place == a, np.maximum(-off, 0.0), np.where(place == b, np.maximum(off, 0.0), np.abs(off)))
    missed = (off + here.error) ** 2 / (2 * steep)
    return np.where(rising, place, a), np.where(rising, b, place), missed


def _curvature(law: Peaks, low: Array, high: Array, epsilon: float) -> Array:
    """M for intervals [low, high] of shifts. (n,)"""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    growth = np.full(len(low), math.exp(epsilon))
    ends, counts = _first_cells(law, middle)
    row = np.repeat(np.arange(len(low)), counts.shape[1])
    a, b, count = ends[:, :-1].ravel(), ends[:, 1:].ravel(), counts.ravel()
    for finer in range(FINER + 1):
        x, radius, m, more, e = 0.5 * (a + b), 0.5 * (b - a), middle[row], half[row], growth[row]
        at = look(law, x, m, e, radius, more)
        most = at.value + radius * np.abs(at.slope) + 0.5 * radius**2 * at.bend + at.error + more * e * at.steepest
        used = most > 0
        row, a, b, count, bent = row[used], a[used], b[used], count[used], at.bent[used]
        if finer < FINER:
            a, b = _quarters(a, b)
            row, count = np.repeat(row, 4), np.repeat(count, 4)
    bound: Array = growth * np.bincount(row, count * (b - a) * bent, len(low))
    if law.kink:
        near = np.bincount(row, (a <= high[row]) & (b >= low[row]), len(low)) > 0
        bound = bound + np.where(near, growth * law.kink, 0.0)
    return bound * (1 + 1e-9)


def worst_shift(law: Peaks, epsilon: float, sensitivity: float, *, tolerance: float) -> Worst:
    """The largest h_φ(ε) over 0 < φ ≤ sensitivity, ε ≥ 0, rounded up by a few of the relative tolerance."""
    cells = _count(law, sensitivity)
    if cells > MOST_CELLS:
        return Worst(1.0, sensitivity)
    count = min(max(math.ceil(2 * sensitivity / law.spread), 4), 4000)
    places = np.linspace(0, sensitivity, count + 1)
    known = _known(law, places[1:], epsilon, tolerance)
    low, high = places[:-1], places[1:]
    at_low = np.append(0.0, known.upper[:-1])
    at_high = known.upper
    best = int(np.argmax(at_high))
    top = Worst(float(at_high[best]), float(high[best]))
    size = max(1, int(BATCH / cells))
    for halving in range(HALVINGS):
        bends = np.concatenate([
            _curvature(law, low[i : i + size], high[i : i + size], epsilon) for i in range(0, len(low), size)
        ])  # fmt: skip
        bound = np.maximum(at_low, at_high) + bends * (high - low) ** 2 / 8
        left = bound > top.upper * (1 + tolerance) + 1e-300
        if not left.any():
            return Worst(min(top.upper * (1 + tolerance), 1.0), top.shift)
        if halving == HALVINGS - 1 or left.sum() > 4000:
            return Worst(min(float(bound.max()), 1.0), top.shift)
        low, high, at_low, at_high = low[left], high[left], at_low[left], at_high[left]
        parts = 4
        inner = np.linspace(low, high, parts + 1, axis=1)
        new = _known(law, inner[:, 1:-1].ravel(), epsilon, tolerance)
        best = int(np.argmax(new.upper))
        if new.upper[best] > top.upper:
            top = Worst(float(new.upper[best]), float(inner[:, 1:-1].ravel()[best]))
        values = np.column_stack([at_low, new.upper.reshape(len(low), parts - 1), at_high])
        low, high = inner[:, :-1].ravel(), inner[:, 1:].ravel()
        at_low, at_high = values[:, :-1].ravel(), values[:, 1:].ravel()
    raise AssertionError("the loop returns")


def _known(law: Peaks, shifts: Array, epsilon: float, tolerance: float) -> Shortfalls:
    return shortfalls(law, shifts, np.full(len(shifts), epsilon), 0.1 * tolerance, compared=True)
