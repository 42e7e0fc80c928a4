"""Staircases in a support whose top step leans over a whole number of sensitivities from an end, with an atom that is
spread a little [method: spread atoms].

In a support from `end` on let w be p whole sensitivities from it. What the top step T has left of w, u wide, loses its
cover with the last shifts only; an atom lacks one at every shift. Both need not share δ: spread next to w, the atom
weighs nearly δ and is uncovered at most shifts, but covered at the last ones, by what stands a little higher one
sensitivity before it. While T's part left of w loses its cover, step by step, that may be lower, step by step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..loss import Loss
from ..noise.piecewise import PiecewiseNoise
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import least_argument
from .cut import LEFT_OUT, MARGINS, MOST_PERIODS, UNITS, units_inside
from .lattice import Array
from .step import AUDIT_ROOM

SPREAD_FROM = 5.5
"""At smaller ε programs do better."""

STEPS = 8
"""The cover of the spread atom falls in so many steps, and the density of the sensitivity between the end and the top
step."""

NEAR = 2.0
"""Whole sensitivities from an end may be so many widths of the best staircase's top step away from the minimiser."""

WIDER, SPREAD = 0.1, -3.5
"""Logarithms of the width of the top step, over the best staircase's, and of the spread over it that a search begins
with."""

REACH, HALVED = 0.7, 6
"""They change by at most so much, or twice as much, and half of that so many times."""

SEARCHED_TO = 1e-4
"""Accuracy of these logarithms and of the part."""

ROUNDS = 8
"""The atom's weight and the densities next to it depend on each other; they are found one after the other so often."""

MOST_PART = 1 - 1e-6
"""Largest share of the atom's weight that the last shift may uncover of the top step."""

Law = tuple[Array, Array]
"""Breaks, in sensitivities from the loss's minimiser, and masses."""


def spread_laws(
    problem: NoiseProblem, top: tuple[float, float], done: Callable[[], bool]
) -> Iterator[Iterator[PiecewiseNoise]]:
    """For either end of the support that is near whole sensitivities from the minimiser the best such law with ever
    more room for rounding, for the audit to judge. top : ends of the best staircase's top step [optimal.cut], in the
    query's unit.   done : whether a search is to end with what it has."""
    (lo, hi), D = problem.support, problem.sensitivity
    if problem.folds or problem.monotone or problem.privacy.epsilon < SPREAD_FROM or problem.privacy.delta == 0:
        return
    origin = problem.loss.minimiser(lo, hi)[0]
    width = (top[1] - top[0]) / D
    for side, loss in ((1, problem.loss), (-1, problem.loss.mirrored)):
        away = (origin - lo if side > 0 else hi - origin) / D
        periods = round(away) if math.isfinite(away) else 0
        if not 0 < periods < MOST_PERIODS or not abs(away - periods) < min(NEAR * width, 0.5):
            continue
        if end_uncovers(problem.privacy, periods):
            yield _rounded(problem, side, loss, origin, periods, width, done)


def end_uncovers(privacy: Privacy, periods: int) -> bool:
    """Whether an end of the support that lies so many whole sensitivities before the top step may uncover much of it
    at e^−ε for each but one."""
    return privacy.delta > 0 and (periods - 1) * privacy.epsilon <= -math.log(privacy.delta)


def _rounded(
    problem: NoiseProblem, side: int, loss: Loss, origin: float, periods: int, width: float, done: Callable[[], bool]
) -> Iterator[PiecewiseNoise]:
    """The best law, its breaks whole numbers of units, with ever more room; none where none was found."""
    privacy, inside = problem.privacy, [place / UNITS for place in units_inside(problem, origin, UNITS)]
    end, last = inside if side > 0 else (-inside[1], -inside[0])
    rooms = [privacy.delta * (1 - margin) - min(AUDIT_ROOM, 0.01 * privacy.delta) for margin in MARGINS]
    family = Spread(loss, problem.sensitivity, side * origin, privacy.epsilon, rooms[0], end, last, periods)
    best = family.best(width, done)
    for room in rooms:
        found = replace(family, delta=room).law(*best)
        if found is None:
            return
        breaks, masses = np.round(found[0] * UNITS).astype(np.int64), found[1]
        yield PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity,
            resolution=UNITS,
            breaks=side * breaks[::side],
            masses=masses[::side],
            origin=origin,
            name="Staircase in a support",
        )


@dataclass(frozen=True)
class Spread:
    """The family for one end of the support, at its left; places in sensitivities from `origin`, the loss's minimiser.

    delta : what may be uncovered.   end, last : ends of the support.   periods : the place near the minimiser, in whole
    sensitivities from `end`.
    """

    loss: Loss
    D: float
    origin: float
    epsilon: float
    delta: float
    end: float
    last: float
    periods: int

    @property
    def _whole(self) -> float:
        return self.end + self.periods

    def cells(self, left: float, right: float) -> tuple[Array, Array]:
        """(breaks, levels) of the staircase with this top step, the sensitivity left of it in `STEPS`."""
        most = math.ceil(math.log(1 / (LEFT_OUT * self.delta)) / self.epsilon) + 1
        below = [max(self.end, left - n) for n in range(1, self.periods + 2) if left - n + 1 > self.end]
        above = [min(self.last, right + n) for n in range(1, most + 1) if right + n - 1 < self.last]
        steps = _units(np.linspace(below[0], left, STEPS + 1))
        levels = [*range(len(below), 1, -1), *(STEPS * [1]), 0, *range(1, len(above) + 1)]
        return np.array([*below[:0:-1], *steps, right, *above]), np.array(levels, dtype=np.float64)

    def law(self, width: float, wide: float, part: float) -> Law | None:
        """width : of the top step.   wide : how far the atom is spread.   part : of the atom's weight, what the last
        shift uncovers of the top step. None where there is no such law."""
        decay, far = math.exp(-self.epsilon), math.exp((self.periods - 1) * self.epsilon)
        place, width, wide = max(0.0, self._whole), float(_units(width)), float(_units(wide))
        if part < 0 or width <= decay:
            return None
        atom, high = self.delta * width / (1 - self.delta), 1.0
        for _ in range(ROUNDS):
            lean = STEPS * float(_units(min(part * atom * far, 0.9 * width) / STEPS))
            left = self._whole - lean
            right, open_ = left + width, lean / far
            if not (wide and place + wide < right < self.last and left - 1 < place - 1 + wide + lean < left):
                return None
            breaks, levels = self.cells(left, right)
            densities, widths = np.exp(-self.epsilon * levels), np.diff(breaks)
            near = slice(int(levels.argmin()) - STEPS, int(levels.argmin()))
            if self.periods == 1:  # shifts that uncover less of this sensitivity may uncover more of the top step
                spare = decay * (1 - np.minimum(1.0, right - breaks[near])) * (1 - decay / width)
                densities[near] *= 1 - spare / width
            densities[near.stop + 1] *= high
            raised = decay * open_ * (1 + lean * (STEPS + 1) / (2 * STEPS * wide))
            total = densities @ widths + raised
            ends = (np.minimum(breaks[1:], self.end + 1), np.maximum(breaks[:-1], breaks[-1] - 1))
            below = densities @ np.clip(ends[0] - breaks[:-1], 0, widths) - open_ + raised
            above = densities @ np.clip(breaks[1:] - ends[1], 0, widths)
            atom = (self.delta * total - max(below, above)) / (1 - self.delta)
            if atom <= 0:
                return None
            high = min(1.0, max(0.0, 1 - (self.delta * (total + atom) - atom - above) / width))
        if open_ > atom:
            return None
        falls = place - 1 + wide + lean / STEPS * np.arange(STEPS + 1)
        cuts = np.union1d(breaks, [place, place + wide, place - 1, *falls])
        middle = 0.5 * (cuts[1:] + cuts[:-1])
        found = densities[np.searchsorted(breaks, middle) - 1]
        found[(middle > place) & (middle < place + wide)] += atom / wide
        step = np.searchsorted(falls, middle)  # 0 below the first of them
        found += np.where(middle > place - 1, np.maximum(STEPS + 1 - np.maximum(step, 1), 0), 0) * (
            decay * open_ / (STEPS * wide)
        )
        masses = found * np.diff(cuts)
        return cuts, masses / masses.sum()

    def cost(self, width: float, wide: float, part: float) -> float:
        """Expected loss; infinite where there is no such law."""
        found = self.law(math.exp(width), math.exp(wide), part)
        if found is None:
            return math.inf
        ends = self.origin + found[0] * self.D
        return float(self.loss.mean(ends[:-1], ends[1:]) @ found[1])

    def best(self, width: float, done: Callable[[], bool]) -> tuple[float, float, float]:
        """(width, wide, part) of the cheapest law found. width : to begin with.   done : asked now and then."""
        place = (math.log(width) + WIDER, math.log(width) + SPREAD, MOST_PART)
        for reach in (REACH * 0.5**n for n in range(HALVED)):
            for i, (times, most) in enumerate(((1.0, math.inf), (2.0, math.inf), (1.0, MOST_PART))):
                if done():
                    break
                tried = np.minimum(place[i] + times * reach * np.linspace(-1, 1, 5), most)
                tolerance = SEARCHED_TO / max(1.0, abs(place[i]))
                x = least_argument(lambda x: self.cost(*_with(place, i, x)), tried, tolerance=tolerance)  # noqa: B023
                place = _with(place, i, x)
        width, wide, part = place
        return math.exp(width), math.exp(wide), part


def _with(place: tuple[float, float, float], i: int, x: float) -> tuple[float, float, float]:
    """The place with x for its i-th coordinate."""
    found = [*place]
    found[i] = x
    return (found[0], found[1], found[2])


def _units(places: float | Array) -> Array:
    """Rounded to whole units."""
    return np.round(np.asarray(places) * UNITS) / UNITS
