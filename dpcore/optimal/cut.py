"""Staircases inside a support: a top step, steps down by e^−ε after every sensitivity, cut where the support ends.

Density e^{−ε n} where the top step [A, B] is more than n − 1 and at most n sensitivities away. Any shift keeps such a
law within the factor e^ε but at the ends of the support, where it uncovers at most the last sensitivity, whatever is
beyond. So what lies there on either side, with an atom, must not weigh more than δ. If an end is near, the top step
stands whole sensitivities away from it, or is wide. All of one side may be higher by a factor of at most e^ε, or of
every sensitivity there the part next to the top step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..loss.primitive import Primitive
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..places import Places
from ..problem import FARTHEST, NoiseProblem
from ..search import least_argument_vectorised
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

NEXT = sorted(itertools.product((-1, 0, 1), repeat=2), key=lambda moves: (abs(moves[0]) + abs(moves[1]), moves))
"""Units by which ends of a top step move after they are rounded, where the law would not be private."""

SEARCHED = 4
"""Rounds of a search, each of which looks twenty times as closely."""


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

    # Laws ----------------------------------------------------------------------------------------------

    @cached_property
    def _most(self) -> float:
        """What may be uncovered: δ less what an audit rounds up."""
        delta = self.problem.privacy.delta
        return delta - min(AUDIT_ROOM, 0.01 * delta) - self.margin * delta

    @cached_property
    def _integral(self) -> Primitive:
        return Primitive(self.problem.paid_loss, self.origin)

    @cached_property
    def _at_atom(self) -> float:
        return float(self.problem.paid_loss.value(self.origin))

    def laws(self, left: ArrayLike, right: ArrayLike, part: ArrayLike | None = None) -> _Laws:
        """The laws with these top steps, private or not, in every way that uses up δ: with an atom, or with all of one
        side (of mirror images both) so much higher, at most as high as the top step, that the last sensitivity there
        weighs δ.   part : in place of the family's own."""
        problem, D, most = self.problem, self.problem.sensitivity, self._most
        left, right, part = np.broadcast_arrays(
            *(np.atleast_1d(x) for x in (left, right, self.part if part is None else part))
        )
        serves = (self.lo <= left) & (left < right) & (right <= self.hi)
        if problem.monotone:
            serves &= (left <= 0) & (right >= 0)
        periods = math.ceil(math.log(1 / (LEFT_OUT * problem.privacy.delta)) / problem.privacy.epsilon) + 1
        rooms = [np.where(serves, np.minimum(room, periods), 0.0) for room in (left - self.lo, self.hi - right)]
        serves &= np.ceil(rooms[0]) + np.ceil(rooms[1]) < 2 * MOST_PERIODS
        below, above = (_steps(np.where(serves, room, 0.0), part) for room in rooms)
        breaks = np.concatenate([left[:, None] - below[0][:, ::-1], right[:, None] + above[0]], axis=1)
        level = np.concatenate([below[1][::-1], [0], above[1]])
        side = np.concatenate([-below[2][::-1], [0], above[2]])
        widths, density = np.diff(breaks), np.exp(-problem.privacy.epsilon * level)
        sides = [side != 0] if problem.folds else [side < 0, side > 0]
        paid = np.diff(self._integral(self.origin + breaks * D)) / D
        first, last = breaks[:, :1] + 1 - breaks[:, :-1], breaks[:, 1:] - breaks[:, -1:] + 1
        sums = np.stack([widths, np.clip(first, 0.0, widths), np.clip(last, 0.0, widths), paid])
        mass, *open_, cost = sums @ density
        found = [self._filled(np.zeros(len(mass)), mass, np.maximum(*open_), cost)]
        highest = problem.privacy.amplification
        for raised, here in enumerate(sides, 1 - (len(sides) > 1)):
            more, *own, dearer = sums @ (density * here)
            free = own[raised] - most * more
            factor = np.where(free > 0, (most * mass - open_[raised]) / np.where(free > 0, free, 1.0), highest - 1)
            factor = np.where(more > 0, np.minimum(factor, highest - 1), 0.0)
            uncovered = [one + factor * other for one, other in zip(open_, own)]
            found.append(self._filled(factor, mass + factor * more, np.maximum(*uncovered), cost + factor * dearer))
        costs, missed, parts, atoms, factors = (np.stack(v) for v in zip(*found))
        costs[:, ~serves] = math.inf
        costs[1:][factors[1:] <= 0] = math.inf
        return _Laws(breaks, widths * density, np.stack([side == 2, *sides]), costs, missed, parts, atoms, factors)

    def _filled(self, factor: Array, mass: Array, uncovered: Array, paid: Array) -> tuple[Array, ...]:
        """(cost, share of δ that is missed, of the masses, atom, factor) of masses that with an atom use up δ."""
        with np.errstate(divide="ignore", invalid="ignore"):  # where there is no such law
            spare = self._most - uncovered / mass
            atom = np.maximum(0.0, spare) / (1 + spare - self._most)
            part = (1 - atom) / mass
            return paid * part + atom * self._at_atom, np.maximum(0.0, -spare / self._most), part, atom, factor

    def costs(
        self, left: ArrayLike, right: ArrayLike, raised: bool | None = None, part: ArrayLike | None = None
    ) -> Array:
        """Least expected loss of the private laws with each of these top steps; infinite where there are none in the
        support. raised : asked for only with, or without a side that is raised."""
        laws = self.laws(left, right, part)
        chosen = slice(None) if raised is None else slice(1, None) if raised else slice(1)
        costs: Array = np.where(laws.missed <= ROUNDED, laws.costs, math.inf)[chosen].min(axis=0)
        return costs

    def cost(self, left: float, right: float, raised: bool | None = None) -> float:
        """Of one."""
        return float(self.costs(left, right, raised)[0])

    def law(self, left: float, right: float) -> PiecewiseNoise | None:
        """The cheapest private law with this top step, rounded, for the audit to judge; None where there is none."""
        problem, tried = self.problem, self.laws(left, right)
        way = int(np.argmin(np.where(tried.missed <= ROUNDED, tried.costs, math.inf)))
        if not (tried.missed[way, 0] <= ROUNDED and tried.costs[way, 0] < math.inf):
            return None
        units = min(UNITS, 1 << max(0, math.floor(math.log2(MOST_UNITS / float(np.ptp(tried.breaks))))))
        inside = units_inside(problem, self.origin, units)
        first, last = (_snapped(x, units, self, inside) for x in (left, right))
        part = max(1, round(self.part * units)) / units
        whole = Cut(problem, self.origin, inside[0] / units, inside[1] / units, 0.5 * self.margin, part)
        near = np.array([(max(first + i, inside[0]), min(max(last + j, first + i + 1), inside[1])) for i, j in NEXT])
        found = whole.laws(*(near.T / units))
        ranked = np.lexsort((found.costs[way], found.missed[way] > ROUNDED, np.isinf(found.costs[way])))
        at = 0 if found.missed[way, 0] <= ROUNDED and found.costs[way, 0] < math.inf else int(ranked[0])
        if not found.costs[way, at] < math.inf:
            return None
        breaks, masses = np.round(found.breaks[at] * units).astype(np.int64), found.masses(way, at)
        wide = np.diff(breaks) > 0
        return PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity,
            resolution=units,
            breaks=np.append(breaks[:1], breaks[1:][wide]),
            masses=masses[wide],
            atom=float(found.atoms[way, at]),
            origin=self.origin,
            name="Staircase in a support",
            monotone=problem.monotone,
        )

    # The best one --------------------------------------------------------------------------------------

    def best(self, staircase: Staircase) -> tuple[float, float] | None:
        """Ends of the cheapest top step found; None if no law is private. staircase : the best on the whole line."""
        privacy = self.problem.privacy
        least, most = -privacy.epsilon - 3, math.log(min(self.hi - self.lo, 4 / privacy.delta))
        logs, found = np.linspace(least, most, WIDTHS), []
        for raised in (False, True):  # each has its own best top step
            near = []
            for side, places in self._anchors(staircase):
                ends = _ends(side, np.repeat(places, WIDTHS), np.tile(logs, len(places)))
                costs = self.costs(*ends, raised).reshape(-1, WIDTHS)
                near += [(float(c.min()), side, place, int(c.argmin())) for place, c in zip(places, costs)]
            for cost, side, place, i in sorted(near)[:ANCHORS_KEPT]:
                if cost < math.inf:
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
                part = least_argument_vectorised(lambda x: self.costs(*ends, part=x), PARTS, SEARCHED)  # noqa: B023
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
                step = least_argument_vectorised(
                    lambda x: self.costs(left + here * x, right + there * x),  # noqa: B023
                    steps,
                    SEARCHED,
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
        log = least_argument_vectorised(lambda log: self.costs(*_ends(side, place, log), raised), logs, SEARCHED)
        left, right = (float(end) for end in _ends(side, place, log))
        return self.cost(left, right, raised), left, right


@dataclass(frozen=True)
class _Laws:
    """Laws of the family, one to each of m top steps in each of the ways in which they use up δ, the first without a
    raised side.

    breaks : (m, n + 1), some cells are points.   plain : (m, n) masses before any is raised.   higher : (ways, n) cells
    that are raised.   costs, missed, parts, atoms, factors : (ways, m) expected loss, infinite where there is no such
    law; by which share of δ it misses that; how much of every mass there is; its atom; by how much cells are raised.
    """

    breaks: Array
    plain: Array
    higher: NDArray[np.bool_]
    costs: Array
    missed: Array
    parts: Array
    atoms: Array
    factors: Array

    def masses(self, way: int, at: int) -> Array:
        """Of one of them."""
        found: Array = self.parts[way, at] * self.plain[at] * (1 + self.factors[way, at] * self.higher[way])
        return found


def _steps(room: Array, part: Array) -> tuple[Array, Ints, Ints]:
    """(places, level, 1 for what may be higher) of the cells on one side, from the top step on. (m, n + 1), (n,)"""
    level: Ints = np.arange(math.ceil(float(room.max(initial=0.0))))
    if (part >= 1).all():
        begin = np.broadcast_to(level.astype(float), (len(room), len(level)))
        higher: Ints = np.ones(len(level), dtype=np.int64)
    else:
        begin = np.repeat(level, 2) + np.tile([0.0, 1.0], len(level)) * part[:, None]
        level, higher = np.repeat(level, 2), np.tile([1, 0], len(level))
    return np.minimum(np.column_stack([begin, room]), room[:, None]), level + 1, higher


def _ends(side: float, place: ArrayLike, log: ArrayLike) -> tuple[Array, Array]:
    """Top steps so wide whose left end (−1), right end (1), middle (0) or what lies in between is at a place."""
    width = np.exp(log)
    left: Array = np.asarray(place) - 0.5 * (1 + side) * width
    return left, left + width


def _snapped(x: float, units: int, family: Cut, inside: tuple[float, ...]) -> float:
    """A place in units: whole sensitivities from an end of the support if it is that for floats, for one unit more
    would show e^ε as much of a step there."""
    for end, exact in zip((family.lo, family.hi), inside):
        whole = round(x - end) if math.isfinite(end) else 0
        if math.isfinite(end) and abs(x - end - whole) * units <= 2:
            return exact + whole * units
    return round(x * units)
