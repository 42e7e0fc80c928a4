"""Staircases inside a support: a top step, steps down by e^−ε after every sensitivity, cut where the support ends.

Density e^{−ε n} where the top step [A, B] is more than n − 1 and at most n sensitivities away. Any shift keeps such a
law within the factor e^ε but at the ends of the support, where it uncovers at most the last sensitivity, whatever is
beyond. So what lies there on either side, with an atom, must not weigh more than δ. If an end is near, the top step
stands whole sensitivities away from it, or is wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..places import Places
from ..problem import NoiseProblem
from ..search import least_argument
from .lattice import Array
from .step import AUDIT_ROOM

UNITS, MOST_UNITS = 1 << 30, 1 << 60
"""Units per sensitivity of the laws' breaks, and from end to end."""

LEFT_OUT = 1e-6
"""Share of δ that lies in the last period where nothing ends the support."""

MOST_PERIODS = 400
"""Longest staircase to either side."""

ANCHORS = 8
"""An end of the top step is tried at so many whole sensitivities from either end of the support, and about as far away
as truncated Laplace noise reaches."""

WIDTHS = 20
"""Widths of the top step that a search begins with, evenly spread on a log scale."""

MARGINS = (1e-9, 1e-6, 1e-4)
"""Tried one after the other until an audit passes."""

SEARCHED_TO = 1e-7
"""Relative accuracy of ends."""


@dataclass(frozen=True)
class Cut:
    """The family for one problem; places in sensitivities from `origin`, the loss's minimiser inside the support (0 for
    mirror images and monotone laws).

    lo, hi : the support.   margin : share of δ that is left for the rounding of breaks, each unit of which may show
    e^ε.
    """

    problem: NoiseProblem
    origin: float
    lo: float
    hi: float
    margin: float = MARGINS[0]

    @staticmethod
    def of(problem: NoiseProblem, margin: float = MARGINS[0]) -> Cut:
        lo, hi = problem.support
        origin = 0.0 if problem.folds or problem.monotone else problem.loss.minimiser(lo, hi)[0]
        D = problem.sensitivity
        return Cut(problem, origin, (lo - origin) / D, (hi - origin) / D, margin)

    # One law -------------------------------------------------------------------------------------------

    def cells(self, left: float, right: float) -> tuple[Array, Array]:
        """(breaks, masses before they are normalised) of the top step [left, right]."""
        epsilon = self.problem.privacy.epsilon
        most = math.ceil(math.log(1 / (LEFT_OUT * self.problem.privacy.delta)) / epsilon) + 1
        below, above = (min(room, most) for room in (left - self.lo, self.hi - right))
        before = left - np.append(np.arange(math.ceil(below)), below) if below > 0 else np.array([left])
        after = right + np.append(np.arange(math.ceil(above)), above) if above > 0 else np.array([right])
        breaks = np.concatenate([before[::-1], after])
        level = np.concatenate([np.arange(len(before) - 1, 0, -1), [0], np.arange(1, len(after))])
        return breaks, np.exp(-epsilon * level) * np.diff(breaks)

    def uncovered(self, breaks: Array, masses: Array) -> float:
        """Share of the last sensitivity, on the side where it is larger."""
        below = np.clip((breaks[0] + 1 - breaks[:-1]) / np.diff(breaks), 0.0, 1.0)
        above = np.clip((breaks[1:] - breaks[-1] + 1) / np.diff(breaks), 0.0, 1.0)
        return float(max(masses @ below, masses @ above) / masses.sum())

    def atom(self, uncovered: float) -> float:
        """What δ leaves for an atom, negative where it is exceeded; room for what an audit rounds up."""
        delta = self.problem.privacy.delta
        spare = delta - uncovered - min(AUDIT_ROOM, 0.01 * delta) - self.margin * delta
        return spare / (1 - uncovered) if uncovered < 1 else -1.0

    def cost(self, left: float, right: float) -> float:
        """Expected loss; infinite for laws that are not private or not in the support."""
        if not self.lo <= left < right <= self.hi or (self.problem.monotone and not left <= 0 <= right):
            return math.inf
        breaks, masses = self.cells(left, right)
        if len(masses) > 2 * MOST_PERIODS:
            return math.inf
        atom = self.atom(self.uncovered(breaks, masses))
        if atom < 0:
            return math.inf
        loss, ends = self.problem.paid_loss, self.origin + breaks * self.problem.sensitivity
        wide = np.diff(ends) > 0  # a last cell may be a point, without mass
        mean = float(loss.mean(ends[:-1][wide], ends[1:][wide]) @ masses[wide]) / float(masses.sum())
        return (1 - atom) * mean + atom * float(loss.value(self.origin))

    def law(self, left: float, right: float) -> PiecewiseNoise:
        """The law with this top step."""
        problem = self.problem
        span = float(np.ptp(self.cells(left, right)[0]))
        units = min(UNITS, 1 << max(0, math.floor(math.log2(MOST_UNITS / span))))
        grid = Places.of(self.origin, problem.sensitivity, units, [0])
        lo, hi = (grid.position(end) for end in problem.support)
        inside = tuple(float(x if math.isinf(x) else whole(x)) for x, whole in ((lo, math.ceil), (hi, math.floor)))
        first, last = (_snapped(x, units, self, inside) for x in (left, right))
        first = max(first, inside[0])
        last = min(max(last, first + 1), inside[1])
        whole = Cut(problem, self.origin, inside[0] / units, inside[1] / units, 0.5 * self.margin)
        breaks, masses = whole.cells(first / units, last / units)
        atom = max(0.0, self.atom(self.uncovered(breaks, masses)))
        return PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity,
            resolution=units,
            breaks=np.round(breaks * units).astype(np.int64),
            masses=masses / masses.sum() * (1 - atom),
            atom=atom,
            origin=self.origin,
            name="Staircase in a support",
            monotone=problem.monotone,
        )

    # The best one --------------------------------------------------------------------------------------

    def best(self, staircase: Staircase) -> tuple[float, float] | None:
        """Ends of the cheapest top step found; None if no law is private. staircase : the best on the whole line."""
        privacy = self.problem.privacy
        least, most = -privacy.epsilon - 3, math.log(min(self.hi - self.lo, 4 / privacy.delta))
        logs = np.linspace(least, most, WIDTHS)
        found = [self._widest(side, place, logs) for side, places in self._anchors(staircase) for place in places]
        cost, left, right = min(found)
        if math.isinf(cost):
            return None
        for share in (0.5, 0.05, 0.005):  # of the width, by which either end moves at most
            step = share * (right - left) * np.linspace(-1, 1, 5)
            if self.problem.folds:
                right = least_argument(lambda x: self.cost(-x, x), right + step / 2, tolerance=SEARCHED_TO)
                left = -right
                continue
            left = least_argument(lambda x: self.cost(x, right), left + step, tolerance=SEARCHED_TO)  # noqa: B023
            right = least_argument(lambda x: self.cost(left, x), right + step, tolerance=SEARCHED_TO)  # noqa: B023
        return min((self.cost(left, right), left, right), (cost, *min(found)[1:]))[1:]

    def _anchors(self, staircase: Staircase) -> list[tuple[int, list[float]]]:
        """Places for the left end (−1), the right end (1) or the middle (0) of the top step."""
        if self.problem.folds:
            return [(0, [0.0])]
        place = (staircase.location - self.origin) / self.problem.sensitivity
        sides = []
        for side, end in ((-1, self.lo), (1, self.hi)):
            places = [place + side * staircase.gamma, 0.0]
            if math.isfinite(end):
                far = math.floor(self.problem.privacy.truncation())
                periods = {*range(ANCHORS), *range(max(far - 1, 0), far + 3)}
                places += [end - side * n for n in sorted(periods)]
            sides.append((side, places))
        return sides

    def _widest(self, side: int, place: float, logs: Array) -> tuple[float, float, float]:
        """(cost, left, right) of the best width of a top step with an end, or its middle, at a place."""

        def ends(log: float) -> tuple[float, float]:
            width = math.exp(log)
            left = place - 0.5 * (1 + side) * width
            return left, left + width

        log = least_argument(lambda log: self.cost(*ends(log)), logs, tolerance=SEARCHED_TO)
        return self.cost(*ends(log)), *ends(log)


def _snapped(x: float, units: int, family: Cut, inside: tuple[float, ...]) -> float:
    """A place in units: whole sensitivities from an end of the support if it is that for floats, for one unit more
    would show e^ε as much of a step there."""
    for end, exact in zip((family.lo, family.hi), inside):
        whole = round(x - end) if math.isfinite(end) else 0
        if math.isfinite(end) and abs(x - end - whole) * units <= 2:
            return exact + whole * units
    return round(x * units)
