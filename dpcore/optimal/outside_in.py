"""Lower bounds for laws that fall away from 0, with multipliers from outside in [Thm 11, method: from outside in].

Nothing is solved: for a level θ the largest multipliers that D can bear far out are known first, and those nearer to 0
follow, each e^ε times smaller than what they rest on, so that errors fade. What they are worth next to 0 decides
whether θ can be proved. All of this is a proposal, judged by `audit.falling`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._validate import decimal
from ..audit.falling import FallingMultipliers
from ..audit.growth import amplification_bounds
from ..loss.cells import means_lower, minorants
from ..places import Places
from ..problem import NoiseProblem
from ..search import bisection
from .lattice import Array, Ints

UNITS, PARTS = 1 << 40, 1 << 20
"""About so many units to a sensitivity; breaks of the loss that are such a part of one are whole numbers of units."""

CELLS, EVEN = 30_000, 64
"""About so many cells on a side, and up to so many of the same width to the sensitivity."""

NARROWEST = 1e-6
"""Cells next to whole sensitivities and to breaks of the loss are so narrow, and wider and wider from there on."""

WIDER = (0.03, 0.06, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Every place is farther away by such a share than the one before, the first with which cells are few enough."""

MOST_PERIODS = 1500
"""Sensitivities on a side."""

FADED = 20.0
"""Cells go on until a law has fallen by so many powers of e beyond where δ could end it."""

ROUNDS, EXCHANGES = 8, 6
"""Passes over one side, and exchanges between both sides, until neither changes."""

SETTLED = 1e-9
"""Relative change that counts as none."""

LEVELS = 16
"""Halvings of the bracket of a level."""

PRICE, LEAST, LARGEST = 1e-4, 1.01, 1e5
"""δ times the largest multipliers, those of both shifts added up, is such a share of the level at first; they are at
least and at most so many levels."""

STRIDES = (6.0, 2.0)
"""Factors by which larger and smaller ones are tried, as long as they prove more."""

FEW, STEPS = 4.0, (0.1, -0.1, 0.03, -0.03, 0.01, -0.01)
"""Below so many levels it matters how large those of either shift are: steps by which shares are tried."""

HOPELESS = 0.1
"""Where the first bound leaves more than this share of what a law costs, other ones hardly close it."""

LOWERED = (1e-7, 1e-5, 1e-4)
"""Shares by which the level whose multipliers are issued is lower."""


def outside_in_lower(problem: NoiseProblem, upper: float, done: Callable[[float], bool]) -> float:
    """A lower bound of the expected loss, rounded down, for the first pair (ε, δ), ε > 0, of a monotone problem.

    upper : what some law costs.   done : whether a bound is good enough.
    """
    sides = _Sides.of(problem, upper)

    def proved(at: tuple[float, float]) -> float:
        times, share = at
        return sides.lower((times * share * upper, times * (1 - share) * upper), upper, done)

    times = min(max(PRICE / problem.privacy.delta, LEAST), LARGEST)
    at = times, (sides.supply_to_right if times < FEW else 0.5)
    best = proved(at)
    moves = [(factor, 0.0) for stride in STRIDES for factor in (stride, 1 / stride)]
    if times < FEW and not problem.folds:
        moves = [(1.0, step) for step in STEPS] + moves
    for factor, step in moves:
        while not done(best) and best >= (1 - HOPELESS) * upper:
            other = at[0] * factor, at[1] + step
            bound = proved(other) if LEAST <= other[0] <= LARGEST and 0 <= other[1] <= 1 else 0.0
            if bound <= best:
                break
            best, at = bound, other
    return best


@dataclass(frozen=True)
class _Sides:
    """Both sides of 0, cut alike: places n + u in sensitivities, u among those of one.

    number : of cells in a sensitivity.   places : (n + 1,) from 0 outwards.   units : they in sensitivity/resolution.
    paid : (2, n + 1) ∫ c from 0 to the place, to the right and to the left, less what D may lack inside of a cell that
    ends there; ∞ beyond the support.
    open_ : whether a side goes on beyond the last place.
    """

    problem: NoiseProblem
    resolution: int
    number: int
    units: Ints
    places: Array
    paid: Array
    open_: tuple[bool, bool]

    @staticmethod
    def of(problem: NoiseProblem, upper: float) -> _Sides:
        D, epsilon, loss = problem.sensitivity, problem.privacy.epsilon, problem.paid_loss
        parts, k = 1, 0
        known = [decimal(x) / decimal(D) for x in (*problem.support, *loss.breaks.tolist()) if math.isfinite(x)]
        for place in known:
            common = math.lcm(parts, place.denominator)
            parts = common if common <= PARTS else parts
        k = parts << max(1, math.floor(math.log2(UNITS / parts)))
        reach = (problem.privacy.truncation() / D if problem.privacy.delta else 0.0) + FADED / epsilon
        low = [0.0, *(abs(x) for x in loss.breaks.tolist() if loss.value(x) <= upper)]
        periods = math.ceil(min(MOST_PERIODS, reach + max(low) / D + 3))
        ends = [abs(end) / D for end in problem.support]
        if all(map(math.isfinite, ends)):
            periods = min(periods, math.ceil(max(ends)) + 1)
        marks = sorted({math.floor(place * k) % k for place in known} | {0})
        for wider in WIDER:
            classes = _classes(k, marks, wider)
            if len(classes) * periods <= CELLS:
                break
        units = np.append((np.arange(periods)[:, None] * k + classes[None, :]).ravel(), periods * k).astype(np.int64)
        paid, bends = [], []
        for side in (loss, loss.mirrored):
            cells = Places.of(0.0, D, k, units)
            near, far = minorants(side, cells)
            mean = np.maximum(means_lower(side, cells), 0.5 * (near + far))
            widths = np.diff(units) / k
            paid.append(np.concatenate([[0.0], np.cumsum(mean * widths)]))
            bend = np.maximum(far - near, 0.0) / 8 + mean - 0.5 * (near + far)
            bends.append(np.maximum(np.append(bend * widths, 0.0), np.append(0.0, bend * widths)))
        hi, lo = ends[1], ends[0]
        for row, end in zip(paid, (hi, lo)):
            row[units / k > end * (1 + 1e-12)] = np.inf
        return _Sides(
            problem,
            k,
            len(classes),
            units,
            units / k,
            np.array(paid) - np.array(bends),
            (hi > periods, lo > periods),
        )

    @property
    def supply_to_right(self) -> float:
        """About the share of what may be handed on that lies right of 0: as much as the loss has there."""
        m, E = self.number, math.exp(self.problem.privacy.epsilon)
        last = len(self.places) - 1
        first, second = (np.nan_to_num(self.paid[:, min(at, last)], posinf=0.0) for at in (m, 2 * m))
        right, left = first + np.maximum(second - first, 0.0) / E
        return float(right / (right + left)) if right + left > 0 else 0.5

    def lower(self, most: tuple[float, float], upper: float, done: Callable[[float], bool]) -> float:
        """What multipliers of at most so much prove at the largest level that they reach, rounded down; the level is
        hardly above `upper` and what δ takes off."""
        loss, privacy = self.problem.paid_loss, self.problem.privacy

        def holds(level: float) -> bool:
            return not done(0.0) and self.at(level, most) is not None

        top = upper + privacy.delta * sum(most)
        low = next((top * share for share in (0.99, 0.9, 0.5) if holds(top * share)), 0.0)
        level, _ = bisection(holds, low, top, rounds=LEVELS)
        best = 0.0
        for share in LOWERED:
            found = self.at(level * (1 - share), most)
            if found is not None:
                best = max(best, found.lower(loss, privacy.epsilon, privacy.delta, level * (1 - share)))
        return best

    def at(self, level: float, most: tuple[float, float]) -> FallingMultipliers | None:
        """Multipliers of at most so much with which all means of D over intervals from 0 reach the level; None if these
        are none. What crosses 0 is exchanged until both sides have what they need [method]."""
        E, x = amplification_bounds(self.problem.privacy.epsilon)[1], self.places
        m = self.number
        near = slice(0, m + 1)
        spare = self.paid - level * x
        given = [0.0, 0.0]  # to the right side by the left one, and the other way round
        for _ in range(EXCHANGES):
            before, own = list(given), []
            for side in (0, 1):
                lost = E * given[1 - side]
                y = self._own(spare[side] + given[side] - lost, most[side], E, self.open_[side])
                if y is None:
                    return None
                taken = E * np.maximum(given[1 - side] - np.minimum(given[1 - side], most[side] * x[near]), 0.0)
                lack = taken[::-1] - spare[side][near] - y[near]
                lack = np.where(np.isfinite(lack), lack, 0.0)
                given[side] = max(given[side], float(lack.max()))
                own.append(y)
            change = max(abs(a - b) for a, b in zip(given, before))
            if change <= SETTLED * max(given):
                break
        else:
            return None
        return self._multipliers(own, given, most[::-1])

    def _own(self, spare: Array, most: float, E: float, open_: bool) -> Array | None:
        """The largest W, 0 ≤ W′ ≤ most, W(0) = 0, with W(x) + spare(x) ≥ E W(x − 1) for x ≥ 1; None if there is none.
        On an open side W is level over the last sensitivity and beyond."""
        m, x = self.number, self.places
        slope = most * x
        W = slope.copy()
        n = len(x) - 1
        for _ in range(ROUNDS):
            before = W.copy()
            if open_:
                W[n - m :] = min(W[n - m], spare[n] / (E - 1))
            for stop in range(n - m, 0, -m):
                here = slice(stop - m, stop)
                W[here] = np.minimum(W[here], (W[stop : stop + m] + spare[stop : stop + m]) / E)
                W[here] = np.minimum.accumulate(np.minimum(W[here], W[stop])[::-1])[::-1]
            if W[0] < 0:
                return None
            W = np.minimum.accumulate(W - slope) + slope
            if np.max(np.abs(W - before)) <= SETTLED * W[-1]:
                break
        return np.maximum.accumulate(np.maximum(W, 0.0))

    def _multipliers(self, own: list[Array], given: list[float], most: tuple[float, float]) -> FallingMultipliers:
        """most : of what is given to the right side, to the left side."""
        x, widths = self.places, np.diff(self.places)
        right, left = (np.diff(W) / widths for W in own)
        to_right, to_left = (np.diff(np.minimum(all_, rate * x)) / widths for all_, rate in zip(given, most))
        edges = np.concatenate([-self.units[:0:-1], self.units])
        return FallingMultipliers(
            self.problem.sensitivity,
            self.resolution,
            self.problem.support,
            edges,
            right=np.concatenate([left[::-1], to_right]),
            left=np.concatenate([to_left[::-1], right]),
        )


def _classes(k: int, marks: list[int], wider: float) -> Ints:
    """Where cells begin within a sensitivity of k units, in either direction."""
    steps = np.exp(np.arange(math.log(NARROWEST), 0.0, math.log1p(wider)))
    near = np.unique(np.round(steps * k)).astype(np.int64)
    even = np.arange(EVEN) * (k // EVEN)
    found = np.concatenate([even, *(np.concatenate([[0], near, -near]) + mark for mark in marks)]) % k
    classes: Ints = np.unique(np.concatenate([found, -found % k]))
    return classes
