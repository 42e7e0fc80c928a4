"""Staircases inside a support: a top step, steps down by e^−ε after every sensitivity, cut where the support ends.

Density e^{−ε n} where the top step [A, B] is more than n − 1 and at most n sensitivities away. Any shift keeps such a
law within the factor e^ε but at the ends of the support, where it uncovers at most the last sensitivity, whatever is
beyond. So what lies there on either side, with an atom, must not weigh more than δ. If an end is near, the top step
stands whole sensitivities away from it, or is wide. All of one side may be higher by a factor of at most e^ε, or of
every sensitivity there the part next to the top step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..places import Places
from ..problem import FARTHEST, NoiseProblem
from ..search import least_argument
from .lattice import Array, Ints
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

ANCHORS_KEPT = 3
"""Next to so many places, of laws with and without a raised side, the width is searched for."""

MARGINS = (1e-9, 1e-6, 1e-4)
"""Tried one after the other until an audit passes."""

ROUNDED = 1e-12
"""Share of δ by which sums may miss it."""

MOVES = ((1, 0), (0, 1), (1, 1), (-0.5, 0.5))
"""Directions in which the ends of the best top step are searched for, in turn."""

MOVED = (0.5, 0.05, 0.005)
"""Shares of the best top step's width by which its ends move at most, in turn."""

PARTS, PARTS_SEARCHED, GAINED = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 2, 1e-5
"""Parts of a sensitivity that a search for those that may be higher begins with; how often it takes turns with one for
the ends, as long as it gains this share."""

PARTS_FROM = 2.0
"""At smaller ε laws fall so little within a sensitivity that programs serve."""

TRIED_TO, SEARCHED_TO = 1e-3, 1e-7
"""Relative accuracy of widths next to every anchor, and of ends."""


def free_stretch(problem: NoiseProblem) -> tuple[float, float] | None:
    """The stretch of the support, around the loss's minimiser, on which the loss is least, if a staircase cut at its
    ends may be private there: with n steps down on either side it uncovers e^(−nε)/w of D, w the width of its top step
    in sensitivities. None where there is no such stretch, or it has no end."""
    first, last = problem.paid_loss.bottom(*problem.support)
    if not math.isfinite(last - first) or problem.monotone or problem.privacy.delta == 0:
        return None
    if max(abs(first), abs(last)) > 0.5 * FARTHEST * problem.sensitivity or (problem.symmetric and first != -last):
        return None  # no support of a problem
    wide, decay = (last - first) / problem.sensitivity, math.exp(-problem.privacy.epsilon)
    fits = any(decay**n / problem.privacy.delta < wide - 2 * n for n in range(math.ceil(wide / 2)))
    return (first, last) if fits else None


def units_inside(problem: NoiseProblem, origin: float, units: int) -> tuple[float, float]:
    """The first and the last whole number of parts of a sensitivity, so many to one, from an origin inside the support;
    infinite where it is open."""
    grid = Places.of(origin, problem.sensitivity, units, [0])
    lo, hi = (grid.position(end) for end in problem.support)
    return float(lo if math.isinf(lo) else math.ceil(lo)), float(hi if math.isinf(hi) else math.floor(hi))


@dataclass(frozen=True)
class Cut:
    """The family for one problem; places in sensitivities from `origin`, the loss's minimiser inside the support (0 for
    mirror images and monotone laws).

    lo, hi : the support.   margin : share of δ that is left for the rounding of breaks, each unit of which may show
    e^ε.   part : of every sensitivity, next to the top step, that may be higher.
    """

    problem: NoiseProblem
    origin: float
    lo: float
    hi: float
    margin: float = MARGINS[0]
    part: float = 1.0

    @staticmethod
    def of(problem: NoiseProblem, margin: float = MARGINS[0]) -> Cut:
        lo, hi = problem.support
        origin = 0.0 if problem.folds or problem.monotone else problem.loss.minimiser(lo, hi)[0]
        D = problem.sensitivity
        return Cut(problem, origin, (lo - origin) / D, (hi - origin) / D, margin)

    # One law -------------------------------------------------------------------------------------------

    def cells(self, left: float, right: float) -> tuple[Array, Array, Ints]:
        """(breaks, masses before they are normalised, side: −1 for what may be higher left of the top step, 1 for what
        may be right of it, 0 for the rest)."""
        epsilon = self.problem.privacy.epsilon
        most = math.ceil(math.log(1 / (LEFT_OUT * self.problem.privacy.delta)) / epsilon) + 1
        below, above = (self._steps(min(room, most)) for room in (left - self.lo, self.hi - right))
        breaks = np.concatenate([left - below[0][::-1], right + above[0]])
        level = np.concatenate([below[1][::-1], [0], above[1]])
        side = np.concatenate([-below[2][::-1], [0], above[2]])
        wide = np.diff(breaks) > 0  # a last cell may be a point
        breaks, level = np.append(breaks[:1], breaks[1:][wide]), level[wide]
        return breaks, np.exp(-epsilon * level) * np.diff(breaks), side[wide]

    def _steps(self, room: float) -> tuple[Array, Ints, Ints]:
        """(places, level, 1 for what may be higher) of the cells on one side, from the top step on. (n + 1,), (n,)"""
        if room <= 0:
            return np.zeros(1), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        periods = np.arange(math.ceil(room), dtype=np.float64)
        ends: Array = np.union1d(periods, periods + self.part) if self.part < 1 else periods
        ends = np.append(ends[ends < room], room)
        level = np.floor(ends[:-1]).astype(np.int64)
        return ends, level + 1, (ends[:-1] - level < self.part).astype(np.int64)

    @property
    def _most(self) -> float:
        """What may be uncovered: δ less what an audit rounds up."""
        delta = self.problem.privacy.delta
        return delta - min(AUDIT_ROOM, 0.01 * delta) - self.margin * delta

    def fillings(self, breaks: Array, masses: Array, side: Ints) -> Iterator[tuple[Array, float, float, int]]:
        """(masses, atom, how much of δ they leave, side that is raised or 0) in ways that use up δ: an atom, or all of
        one side (of mirror images both) so much higher, at most as high as the top step, that the last sensitivity
        there weighs δ."""
        most, highest, widths = self._most, self.problem.privacy.amplification, np.diff(breaks)
        last = np.clip(np.stack([breaks[0] + 1 - breaks[:-1], breaks[1:] - breaks[-1] + 1]) / widths, 0.0, 1.0)
        mass, open_ = float(masses.sum()), last @ masses
        for raised in (0, 1) if self.problem.folds else (0, -1, 1):
            filled, total, uncovered = masses, mass, open_
            if raised:
                part = masses * ((side == raised) | (self.problem.folds & (side != 0)))
                more, own = float(part.sum()), last @ part
                which = int(raised > 0)
                free = own[which] - most * more
                factor = (most * mass - open_[which]) / free if free > 0 else highest - 1
                if not more or factor <= 0:
                    continue
                factor = min(factor, highest - 1)
                filled, total, uncovered = masses + factor * part, mass + factor * more, open_ + factor * own
            spare = most - float(uncovered.max()) / total
            atom = max(0.0, spare) / (1 + spare - most)
            yield filled * ((1 - atom) / total), atom, spare, raised

    def filled(self, left: float, right: float) -> list[_Filled]:
        """The laws with this top step, private or not; none that is not in the support."""
        if not self.lo <= left < right <= self.hi or (self.problem.monotone and not left <= 0 <= right):
            return []
        breaks, masses, side = self.cells(left, right)
        if len(masses) > 2 * MOST_PERIODS:
            return []
        loss, ends = self.problem.paid_loss, self.origin + breaks * self.problem.sensitivity
        means, at_atom = loss.mean(ends[:-1], ends[1:]), float(loss.value(self.origin))
        return [
            _Filled(float(means @ law) + atom * at_atom, breaks, law, atom, raised, max(0.0, -spare / self._most))
            for law, atom, spare, raised in self.fillings(breaks, masses, side)
        ]

    def private(self, left: float, right: float) -> list[_Filled]:
        """Those of them that are private."""
        return [one for one in self.filled(left, right) if one.missed <= ROUNDED]

    def cost(self, left: float, right: float, raised: bool | None = None) -> float:
        """Expected loss; infinite for laws that are not private or not in the support. raised : asked for only with, or
        without a side that is raised."""
        laws = (one for one in self.private(left, right) if raised in (None, one.raised != 0))
        return min((one.cost for one in laws), default=math.inf)

    def law(self, left: float, right: float) -> PiecewiseNoise | None:
        """The cheapest private law with this top step, rounded, for the audit to judge; None where there is none."""
        problem = self.problem
        span = float(np.ptp(self.cells(left, right)[0]))
        units = min(UNITS, 1 << max(0, math.floor(math.log2(MOST_UNITS / span))))
        inside = units_inside(problem, self.origin, units)
        first, last = (_snapped(x, units, self, inside) for x in (left, right))
        first = max(first, inside[0])
        last = min(max(last, first + 1), inside[1])
        part = max(1, round(self.part * units)) / units
        whole = Cut(problem, self.origin, inside[0] / units, inside[1] / units, 0.5 * self.margin, part)
        wanted = min(self.private(left, right), key=lambda one: one.cost, default=None)
        found = whole.filled(first / units, last / units)
        best = next((one for one in found if wanted is not None and one.raised == wanted.raised), None)
        if best is None:
            return None
        return PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity,
            resolution=units,
            breaks=np.round(best.breaks * units).astype(np.int64),
            masses=best.masses,
            atom=best.atom,
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
        tried = [
            (one.raised != 0, one.cost, side, place, i)
            for side, places in self._anchors(staircase)
            for place in places
            for i, log in enumerate(logs.tolist())
            for one in self.private(*_ends(side, place, log))
        ]
        found = []
        for raised in (False, True):  # each has its own best top step
            near = sorted(one[1:] for one in tried if one[0] == raised)
            for side, place in list(dict.fromkeys(one[1:3] for one in near))[:ANCHORS_KEPT]:
                i = next(one[3] for one in near if one[1:3] == (side, place))
                found.append(self._widest(side, place, logs[max(i - 1, 0) : i + 2], raised))
        if not found:
            return None
        cost, left, right = min(found)
        return min(self._moved(left, right, MOVED), (cost, left, right))[1:]

    def narrowed(self, left: float, right: float) -> tuple[Cut, tuple[float, float]]:
        """The family and ends of the top step of the cheapest law found near one if less than all of a side may be
        higher."""
        family, found = self, (self.cost(left, right), left, right)
        for _ in range(PARTS_SEARCHED if self.problem.privacy.epsilon >= PARTS_FROM else 0):
            tried = []
            for ends in self._next_to(*found[1:]):
                part = least_argument(lambda x: replace(self, part=x).cost(*ends), PARTS, tolerance=TRIED_TO)  # noqa: B023
                tried.append((replace(self, part=part).cost(*ends), part, ends))
            cost, part, ends = min(tried)
            if cost >= (1 - GAINED) * found[0]:
                break
            family = replace(self, part=part)
            found = family._moved(*ends, MOVED[1:])
        return family, found[1:]

    def _next_to(self, left: float, right: float) -> Iterator[tuple[float, float]]:
        """These ends of the top step, and those moved to whole sensitivities from an end of the support, where a side
        may be higher."""
        yield left, right
        for near, end in ((left, self.lo), (right, self.hi)):
            if math.isfinite(end):
                move = end + round(near - end) - near
                yield left + move, right + move

    def _moved(self, left: float, right: float, shares: tuple[float, ...]) -> tuple[float, float, float]:
        """(cost, left, right) of the best law near one. shares : of the top step's width, by which either end moves at
        most, in turn."""
        moves = MOVES[-1:] if self.problem.folds else MOVES
        for share in shares:
            steps = share * (right - left) * np.linspace(-1, 1, 5)
            for here, there in moves:
                step = least_argument(
                    lambda x: self.cost(left + here * x, right + there * x),  # noqa: B023
                    steps,
                    tolerance=SEARCHED_TO,
                )
                left, right = left + here * step, right + there * step
        return self.cost(left, right), left, right

    def _anchors(self, staircase: Staircase) -> list[tuple[float, list[float]]]:
        """Places for the left end (−1), the right end (1), the middle (0) or what lies in between of the top step: the
        loss's minimiser divides it as on the whole line."""
        if self.problem.folds:
            return [(0, [0.0])]
        place = (staircase.location - self.origin) / self.problem.sensitivity
        sides: list[tuple[float, list[float]]] = []
        if abs(place) < staircase.gamma:
            sides.append((-place / staircase.gamma, [0.0]))
        for side, end in ((-1, self.lo), (1, self.hi)):
            places = [place + side * staircase.gamma, 0.0]
            if math.isfinite(end):
                far = math.floor(self.problem.privacy.truncation())
                periods = {*range(ANCHORS), *range(max(far - 1, 0), far + 3)}
                places += [end - side * n for n in sorted(periods)]
            sides.append((side, places))
        return sides

    def _widest(self, side: float, place: float, logs: Array, raised: bool) -> tuple[float, float, float]:
        """(cost, left, right) of the best width of a top step with an end, or its middle, at a place."""
        log = least_argument(lambda log: self.cost(*_ends(side, place, log), raised), logs, tolerance=TRIED_TO)
        ends = _ends(side, place, log)
        return self.cost(*ends, raised), *ends


@dataclass(frozen=True)
class _Filled:
    """A law of the family: what it costs, its breaks, their masses, its atom, which side is raised (0: none), by which
    share of δ it misses that."""

    cost: float
    breaks: Array
    masses: Array
    atom: float
    raised: int
    missed: float


def _ends(side: float, place: float, log: float) -> tuple[float, float]:
    """A top step so wide whose left end (−1), right end (1), middle (0) or what lies in between is at a place."""
    width = math.exp(log)
    left = place - 0.5 * (1 + side) * width
    return left, left + width


def _snapped(x: float, units: int, family: Cut, inside: tuple[float, ...]) -> float:
    """A place in units: whole sensitivities from an end of the support if it is that for floats, for one unit more
    would show e^ε as much of a step there."""
    for end, exact in zip((family.lo, family.hi), inside):
        whole = round(x - end) if math.isfinite(end) else 0
        if math.isfinite(end) and abs(x - end - whole) * units <= 2:
            return exact + whole * units
    return round(x * units)
