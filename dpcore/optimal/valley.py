"""A lower bound for continuous losses, even or not, with plateaus or dips, where δ is small [method: valleys].

Around the middle s of the best staircase's top step, shifts by the sensitivity come first: from outside in, W(x) is
the most that x may be handed if it hands on outwards what it can. So within a sensitivity of s the *reduced* loss is
c(x) and W one sensitivity further out, whose bottom is narrow however wide the loss's own is. What is missing there is
handed to the supply around it, in order, for which the longest shift is shortest; δ pays for every shift.

All of this is a proposal. The bound is what the referee makes of the multipliers [Thm 3].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._validate import decimal
from ..loss import Loss
from ..loss.cells import node_values
from ..noise.staircase import Staircase
from ..places import Places
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import bisection
from .lattice import Array, Ints
from .peak import Slices, proof_of
from .polygons import sums_at
from .step import Proof

HALVES = (6, 12, 24, 48, 96, 400, 1600)
"""Lattices have about so many nodes to half of the top step."""

FINEST, COARSEST = 40_000, 40
"""Most and fewest nodes per sensitivity."""

MOST_NODES, MOST_TERMS = 400_000, 400_000
"""Most nodes of a lattice, and most multipliers of its slices."""

LEFT, PRICE = 1e-5, 0.3
"""What periods that are not looked at may add, in parts of the bound. But δ is paid for the most that any node is
handed, which grows outwards: they end where laws have fallen to PRICE·δ, to PRICE·δ/ε if ε is below 1."""

UNMET = 2e-5
"""Share of the level that may remain as demand; it is missing from the bound."""

LOWEST, HIGHEST, LOWER, LEVELS = 0.8, 1.0005, 0.003, 10
"""The lowest and the highest level that is tried, in parts of what the staircase costs, how much below the last one
levels of the next lattice begin, and how many there are."""

BLOCKS, BLOCKS_FROM = 8, 1e-7
"""From this δ on what is missing is handed on in order by so many blocks of nodes alike, too; by more where they are
so many nodes that these would be too many multipliers."""

SLACK = 1e-11
"""Nodes hand on this share more than they need to, for D is a small difference of large numbers there, of which the
referee takes off what rounding may be worth."""

WIDE = 0.5
"""Plateaus at least so wide, in sensitivities, are not for `peak`."""

WIDEST = 16.0
"""Plateaus wider than that, in sensitivities, are left to other searches."""


def valley_lower(problem: NoiseProblem, staircase: Staircase, done: Callable[[float], bool]) -> float:
    """A lower bound of the expected loss, rounded down, for the first pair (ε, δ) alone and any support; 0 where the
    multipliers prove nothing. staircase : the best one on the whole line.   done : whether a bound is good enough."""
    loss, D = problem.paid_loss, problem.sensitivity
    if not loss.continuous:
        return 0.0
    cost = staircase.expected_loss(loss)
    flat = [0.0, *(x / D for x in loss.breaks.tolist() if float(loss.value(x)) <= cost)]
    wide = max(flat) - min(flat)
    if not 0 < cost < math.inf or wide > WIDEST:
        return 0.0
    periods = math.ceil(wide) + 2
    epsilon = problem.privacy.epsilon
    least = PRICE * problem.privacy.delta / min(epsilon, 1.0)
    while (fall := math.exp(-epsilon * (periods - wide))) > least and _beyond(loss, D, periods) * fall > LEFT * cost:
        periods += 1
    found = 0.0
    for in_order in (True, False) if wide >= WIDE else (True,):
        low, gained = LOWEST, True
        for k in dict.fromkeys(_aligned(loss, D, nodes / staircase.gamma) for nodes in HALVES):
            nodes = math.ceil(staircase.gamma * k)
            large = (2 * periods + 1) * k > MOST_NODES or (4 * k * nodes > MOST_TERMS and not in_order)
            if done(found) or large or k > FINEST or not gained:
                break
            search = _Levels(
                _Lattice.of(loss, D, k, staircase.location, periods), problem.privacy, cost, in_order, done
            )
            low, bound = search.best(low, HIGHEST)
            gained, found, low = bound > found, max(found, bound), max(LOWEST, low - LOWER)
    return found


def _beyond(loss: Loss, sensitivity: float, periods: int) -> float:
    """The loss so many sensitivities from 0, on the side where it is more."""
    return float(loss.value(np.array([-periods, periods]) * sensitivity).max())


@dataclass(frozen=True)
class _Levels:
    """The search for the best level on a lattice; levels are shares of what the staircase costs.

    in_order : demand goes to supply in order, which δ makes dear; else in slices, as for `peak`.
    """

    lattice: _Lattice
    privacy: Privacy
    staircase: float
    in_order: bool
    done: Callable[[float], bool]

    def best(self, low: float, high: float) -> tuple[float, float]:
        """(level, bound): the largest level between two that leaves no demand unmet; no bound when time is up."""

        def passes(share: float) -> bool:
            return not self.done(0.0) and self._valley(share).unmet <= UNMET * self.staircase

        low = bisection(passes, low, high, rounds=LEVELS)[0]
        found = 0.0 if self.done(0.0) else self._valley(low).proof.lower(self.privacy)
        if found and self.in_order and self.privacy.delta >= BLOCKS_FROM and not self.done(found):
            found = max(found, self._valley(low, BLOCKS).proof.lower(self.privacy))
        return low, found

    def _valley(self, share: float, blocks: int = 0) -> _Valley:
        return _Valley(self.lattice, self.privacy.epsilon, share * self.staircase, self.in_order, blocks)


def _aligned(loss: Loss, sensitivity: float, wanted: float) -> int:
    """About so many nodes per sensitivity, on which breaks of the loss are nodes, if that is possible."""
    wanted = max(wanted, COARSEST)
    origin = decimal(loss.minimiser()[0])
    parts = math.lcm(*(((decimal(x) - origin) / decimal(sensitivity)).denominator for x in loss.breaks.tolist()))
    return parts * math.ceil(wanted / parts) if parts <= 4 * wanted else math.ceil(wanted)


@dataclass(frozen=True)
class _Lattice:
    """Nodes around the middle of the top step, node number `middle`, `periods` sensitivities of k to either side, and
    their costs [Thm 2]."""

    costs: Array
    middle: int
    k: int

    @staticmethod
    def of(loss: Loss, sensitivity: float, k: int, location: float, periods: int) -> _Lattice:
        origin = loss.minimiser()[0]
        at = round((location - origin) / sensitivity * k)
        places = Places.of(origin, sensitivity, k, np.arange(at - periods * k, at + periods * k + 1))
        costs = node_values(loss, places, np.full(2 * periods * k, 0.5))
        before, beyond = math.nextafter(places.floats[0], math.inf), math.nextafter(places.floats[-1], -math.inf)
        costs[0] = min(costs[0], loss.infimum(-math.inf, before))
        costs[-1] = min(costs[-1], loss.infimum(beyond, math.inf))
        return _Lattice(costs, periods * k, k)


@dataclass
class _Valley:
    """Multipliers for one level on the whole line.

    in_order : demand goes to supply in order, else in slices.   blocks : of demand, whose nodes hand on alike, 0 for
    every node by itself.   right, left : (nodes,) the most that nodes right and left of the middle may be handed.
    spread : (events, places, weights) of the rest, counted from a sensitivity left of the middle; None where the
    reduced loss is below the level nowhere or too far around.   unmet : the largest demand that finds no supply.
    """

    lattice: _Lattice
    epsilon: float
    level: float
    in_order: bool
    blocks: int = 0
    spread: tuple[Ints, Ints, Array] | None = field(default=None, init=False)
    unmet: float = field(default=math.inf, init=False)

    def __post_init__(self) -> None:
        costs, middle, k = self.lattice.costs, self.lattice.middle, self.lattice.k
        self._decay = math.exp(-self.epsilon)
        self.right = self._most(costs)
        self.left = self._most(costs[::-1])[::-1]
        on = np.zeros(len(costs))
        on[middle:-k] = self.right[middle + k :]
        on[k:middle] = self.left[: middle - k]
        self.reduced = costs + on
        around = slice(middle - k, middle + k + 1)
        poor = np.flatnonzero(self.reduced[around] < self.level)
        if not len(poor):
            self.unmet = 0.0
            return
        if poor[-1] - poor[0] >= k or not (self.in_order or poor[0] <= k <= poor[-1]):
            return
        supply = self._decay * (1 - 2 * SLACK) * np.maximum(self.reduced[around] - self.level, 0.0)
        supply[-1] = 0.0  # the middle itself hands on to it
        first, last = int(poor[0]), int(poor[-1])
        demand = np.maximum(self.level - self.reduced[around][first : last + 1], 0.0)
        if self.in_order:
            self.spread = _in_order(demand, supply, first, k)
            if self.blocks:
                self.spread = _in_blocks(self.spread, demand, supply, first, k, self.blocks)
        else:
            slices = Slices(supply, first, demand, int(np.argmax(demand)), k, 0.01 * UNMET * self.level)
            far, nodes, weights = slices.terms()
            self.spread = (nodes, nodes + far, weights)
        met = sums_at(self.spread[0] - first, self.spread[2], len(demand))
        self.unmet = float((demand - met).max())

    @property
    def proof(self) -> Proof:
        """All multipliers."""
        costs, middle, k, terms = self.lattice.costs, self.lattice.middle, self.lattice.k, []
        handed: Array = np.zeros(len(costs))
        if self.spread is not None:
            nodes, there, weights = self.spread
            nodes, there = nodes + middle - k, there + middle - k
            terms.append((there - nodes, nodes, weights))
            handed = sums_at(there, weights, len(costs))
        right = self._handed_on(costs, handed, self.right, middle)
        left = self._handed_on(costs[::-1], handed[::-1], self.left[::-1], len(costs) - middle)[::-1]
        for y, side in ((right, k), (left, -k)):
            used: Ints = np.flatnonzero(y)
            terms.append((np.full(len(used), side), used, y[used]))
        return proof_of(costs, middle, terms)

    def _most(self, costs: Array) -> Array:
        """The most that nodes may be handed if they hand on to the right, found from the last sensitivity inwards."""
        k, n = self.lattice.k, len(costs)
        most: Array = np.zeros(n + k)
        for stop in range(n, 0, -k):
            start = max(stop - k, 0)
            rest = costs[start:stop] - self.level + most[start + k : stop + k]
            most[start:stop] = self._decay * (1 - 2 * SLACK) * np.maximum(rest, 0.0)
        return most[:n]

    def _handed_on(self, costs: Array, handed: Array, most: Array, first: int) -> Array:
        """What nodes from the first on hand to the right, from inside out: what they lack, if they may."""
        k, handed, y = self.lattice.k, handed.copy(), np.zeros(len(costs))
        for start in range(first, len(costs) - k, k):
            here = slice(start, min(start + k, len(costs) - k))
            there = slice(here.start + k, here.stop + k)
            lack = self.level - costs[here] + math.exp(self.epsilon) * (1 + SLACK) * handed[here]
            y[here] = np.clip(lack, 0.0, most[there])
            handed[there] += y[here]
        return y


def _in_order(demand: Array, supply: Array, first: int, k: int) -> tuple[Ints, Ints, Array]:
    """Demand handed to supply on either side, in order: (events, places, weights). Both sides give the same share; what
    is farther away than k finds nothing.

    demand : from place number `first` on.   supply : (2k + 1,), 0 within the demand.
    """
    last = first + len(demand) - 1
    sides = ((0, first), (last + 1, len(supply)))
    totals = [float(supply[a:b].sum()) for a, b in sides]
    whole, needed = sum(totals), float(demand.sum())
    share = min(1.0, needed / whole) if whole > 0 else 0.0
    ahead = np.concatenate([[0.0], np.cumsum(demand)])
    ahead *= min(1.0, share * whole / needed) if needed > 0 else 0.0
    events, places, weights = [], [], []
    begin = 0.0
    for (a, b), total in zip(sides, totals):
        given = begin + share * np.concatenate([[0.0], np.cumsum(supply[a:b])])
        begin += share * total
        cuts = np.union1d(given, np.clip(ahead, given[0], given[-1]))
        middles, sizes = 0.5 * (cuts[1:] + cuts[:-1]), np.diff(cuts)
        event = np.clip(np.searchsorted(ahead, middles) - 1, 0, len(demand) - 1) + first
        place = np.clip(np.searchsorted(given, middles) - 1, 0, b - a - 1) + a
        near = (np.abs(event - place) <= k) & (sizes > 0)
        events.append(event[near])
        places.append(place[near])
        weights.append(sizes[near])
    return np.concatenate(events), np.concatenate(places), np.concatenate(weights)


def _in_blocks(
    given: tuple[Ints, Ints, Array], demand: Array, supply: Array, first: int, k: int, blocks: int
) -> tuple[Ints, Ints, Array]:
    """What is handed on in order, by blocks of nodes that share their shifts, so many or more, as far as there is
    supply, and the rest in order. All shifts of a block add up to one level, and δ is paid for few in all."""
    events, places, weights = given
    size = min(-(-len(demand) // blocks), MOST_TERMS // max(1, len(events)))
    if size < 2:
        return given
    block = np.arange(len(demand)) // size
    whole = sums_at(block, demand, block[-1] + 1)[block]
    wide = 2 * k + 1
    keys, index = np.unique(block[events - first] * wide + places - events + k, return_inverse=True)
    sums = sums_at(index, weights, len(keys))
    nodes = (keys // wide * size)[:, None] + np.arange(size)
    there = nodes + first + (keys % wide - k)[:, None]
    inside = (nodes < len(demand)) & (there >= 0) & (there < len(supply))
    nodes, there, sums = nodes[inside], there[inside], np.broadcast_to(sums[:, None], inside.shape)[inside]
    sums = sums * demand[nodes] / np.where(whole > 0, whole, 1.0)[nodes]
    handed = sums_at(there, sums, len(supply))
    sums = sums * np.minimum(supply / np.where(handed > 0, handed, 1.0), 1.0)[there]
    left = np.maximum(supply - sums_at(there, sums, len(supply)), 0.0)
    rest = _in_order(np.maximum(demand - sums_at(nodes, sums, len(demand)), 0.0), left, first, k)
    return np.append(nodes + first, rest[0]), np.append(there, rest[1]), np.append(sums, rest[2])
