"""A lower bound near a staircase at large ε: multipliers written down instead of solved for [method: peaks].

Let ℓ be the level to prove and T the nodes where the loss is below ℓ, the top step. D = c + Σ y is to be ℓ there, so
node x ∈ T has the *demand* ℓ − c(x); a node within one sensitivity of T may be covered by as much as its *supply*,
e^−ε (c(x) − ℓ). A multiplier of the event x and the shift φ hands demand of x on to x + φ. The larger ℓ, the larger all
demand and the smaller all supply: ℓ is the level at which supplies just do. What δ takes off is Σ_φ max_x y, least if
a shift serves nodes around the minimiser alike; so demand is cut into slices, intervals of nodes with one weight, and
the slices are laid over the supply.

All of this is a proposal. The bound is what the referee makes of the multipliers [Thm 3].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import minimum_filter1d

from ..loss import Loss
from ..loss.cells import node_values
from ..noise.staircase import Staircase
from ..places import Places
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import bisection
from .lattice import Array, Ints
from .step import Proof

HALVES = (6, 12, 24, 48)
"""Lattices have about so many nodes to half of the top step, more and more until the gap is reached."""

FINEST = 40_000
"""Most nodes per sensitivity."""

MOST_TERMS = 1_500_000
"""Most multipliers of a lattice: shifts times nodes of the top step."""

PERIODS = 3.5
"""Nodes reach so many sensitivities to either side: one for the top step's slices, two more for the chains beyond."""

ROUNDS = 3
"""A slice is laid over what is left of the supply so many times."""

UNMET = 2e-5
"""Share of the level that may remain as demand; it is missing from the bound."""

BRACKET = (0.97, 1.0005)
"""The level in parts of what the best staircase costs, for the first lattice."""

NEXT = (-0.0005, 0.01)
"""The same for finer ones, added to what the one before found."""

LEVELS = 8
"""So many levels are tried on a lattice."""


def peaks_lower(problem: NoiseProblem, staircase: Staircase, done: Callable[[float], bool]) -> float:
    """A lower bound of the expected loss, rounded down, for the first pair (ε, δ) alone and any support; 0 where the
    multipliers prove nothing. staircase : the best one on the whole line.   done : whether a bound is good enough."""
    loss, D = problem.paid_loss, problem.sensitivity
    if not loss.continuous:
        return 0.0
    place = (staircase.location - loss.minimiser()[0]) / D
    ends = (staircase.gamma - place, staircase.gamma + place)
    return peak_lower(loss, problem.privacy, D, staircase.expected_loss(loss), ends, done)


def peak_lower(
    loss: Loss,
    privacy: Privacy,
    sensitivity: float,
    staircase: float,
    ends: tuple[float, float],
    done: Callable[[float], bool],
) -> float:
    """A lower bound of the expected loss, rounded down; 0 if the top step is too wide or too narrow for lattices.

    staircase : what the best staircase costs.   ends : how far its top step reaches to either side of the minimiser,
    in sensitivities; the nearer end falls on a node.   done : whether a bound is good enough.
    """
    found, (low, high) = 0.0, BRACKET
    half, near = 0.5 * sum(ends), min(ends)
    for nodes in HALVES:
        steps = round(nodes * near / half)
        k = round(steps / near if steps else nodes / half)
        if not 4 * nodes < k <= FINEST or 4 * k * nodes > MOST_TERMS:
            break
        lattice = _Lattice.of(loss, sensitivity, k)
        passes = lambda share: _Slices(lattice, privacy.epsilon, share * staircase).unmet <= UNMET * staircase  # noqa: B023, E731
        low = bisection(passes, low, high, rounds=LEVELS)[0]
        found = max(found, _Slices(lattice, privacy.epsilon, low * staircase).proof.lower(privacy))
        if done(found) or found < 0.5 * low * staircase:
            break
        low, high = (low + step for step in NEXT)
    return found


@dataclass(frozen=True)
class _Lattice:
    """Nodes around the loss's minimiser, node number `zero`, k per sensitivity, and their costs [Thm 2]."""

    costs: Array
    zero: int
    k: int

    @staticmethod
    def of(loss: Loss, sensitivity: float, k: int) -> _Lattice:
        last = math.ceil(PERIODS * k)
        places = Places.of(loss.minimiser()[0], sensitivity, k, np.arange(-last, last + 1))
        costs = node_values(loss, places)
        before, beyond = math.nextafter(places.floats[0], math.inf), math.nextafter(places.floats[-1], -math.inf)
        costs[0] = min(costs[0], loss.infimum(-math.inf, before))
        costs[-1] = min(costs[-1], loss.infimum(beyond, math.inf))
        return _Lattice(costs, last, k)


@dataclass
class _Slices:
    """Multipliers for one level.

    right, left : (nodes,) of the shifts that hand a node's demand one sensitivity to the right and to the left.
    first, last : nodes of T.   handed : first and last node of a slice, counted from `zero`, and (2k + 1,) how much of
    it is handed so far to the right.
    unmet : the largest demand that finds no supply.
    """

    lattice: _Lattice
    epsilon: float
    level: float
    unmet: float = field(default=math.inf, init=False)

    def __post_init__(self) -> None:
        costs, zero, k = self.lattice.costs, self.lattice.zero, self.lattice.k
        self._decay = math.exp(-self.epsilon)
        dear = np.flatnonzero(costs >= self.level)
        cut = int(np.searchsorted(dear, zero))
        self.first, self.last = int(dear[cut - 1]) + 1, int(dear[cut]) - 1
        self.right, self.left = np.zeros(len(costs)), np.zeros(len(costs))
        self.handed: list[tuple[int, int, Array]] = []
        if 2 * max(self.last - zero, zero - self.first) < k:
            self._hand_on()

    # Handing demand on --------------------------------------------------------------------------------

    def _hand_on(self) -> None:
        zero, k = self.lattice.zero, self.lattice.k
        need = self._chains()
        supply = self._decay * np.maximum(-need, 0.0)
        supply[k:] -= self.right[:-k]
        supply[:-k] -= self.left[k:]
        self._supply = np.maximum(supply[self.first - k : self.last + k + 1], 0.0)
        self._middle = zero - self.first + k  # where the shift 0 of node `zero` lies
        waiting = [(a, b, left) for a, b, mass in self._cut(need) if (left := self._lay(a, b, mass)) > 0]
        width = max((b - a for a, b, _ in waiting), default=0)
        while waiting and width:  # narrower slices find supply in corners, at the cost of larger rates
            halves = [
                h for a, b, mass in waiting for h in ((a, (a + b + 1) // 2 - 1, mass), ((a + b + 1) // 2, b, mass))
            ]
            waiting = [(a, b, left) for a, b, mass in halves if a <= b and (left := self._lay(a, b, mass)) > 0]
            width //= 2
        unmet = np.zeros(self.last - self.first + 1)
        for a, b, mass in waiting:
            unmet[zero + a - self.first : zero + b - self.first + 1] += mass
        self.unmet = float(unmet.max())

    def _chains(self) -> Array:
        """Shifts by a whole sensitivity: right of the minimiser every node hands what its copy to the right can take,
        on and on outwards, beyond T no more than at its end; what is still needed on T, a node hands to the other side.
        Returns the demand that is left, negative where there is supply. (nodes,)"""
        costs, zero, k = self.lattice.costs, self.lattice.zero, self.lattice.k
        for y, side, end in ((self.right, 1, self.last), (self.left, -1, self.first)):
            most = self._decay * (costs[end + side * k] - self.level)
            for period in (2, 1):
                near, far = sorted((end + side * (1 + (period - 1) * k), end + side * period * k))
                y[near : far + 1] = np.minimum(self._taken(y, side, near, far), most)
            near, far = sorted((zero + side, end))
            y[near : far + 1] = self._taken(y, side, near, far) if side * (end - zero) > 0 else y[near : far + 1]
        need = self.level - costs - self.right - self.left
        for y, side, (near, far) in ((self.right, 1, (self.first, zero)), (self.left, -1, (zero, self.last))):
            more = np.minimum(self._taken(y, side, near, far), np.maximum(need[near : far + 1], 0.0))
            y[near : far + 1] += more
            need[near : far + 1] -= more
        return need

    def _taken(self, y: Array, side: int, near: int, far: int) -> Array:
        """What the copies of nodes near … far, one sensitivity on, can take."""
        there = slice(near + side * self.lattice.k, far + 1 + side * self.lattice.k)
        taken: Array = self._decay * np.maximum(self.lattice.costs[there] - self.level + y[there], 0.0)
        return taken

    def _cut(self, need: Array) -> list[tuple[int, int, float]]:
        """Slices of the demand on T, the widest first: (first, last, weight), counted from the minimiser."""
        zero = self.lattice.zero - self.first
        demand = np.maximum(need[self.first : self.last + 1], 0.0)
        demand[zero:] = np.maximum.accumulate(demand[zero:][::-1])[::-1]
        demand[: zero + 1] = np.maximum.accumulate(demand[: zero + 1])
        demand[zero] = demand.max()
        levels = np.unique(np.append(demand, 0.0)).tolist()
        inside = [np.flatnonzero(demand > low) - zero for low in levels[:-1]]
        return [(int(i[0]), int(i[-1]), b - a) for i, a, b in zip(inside, levels, levels[1:])]

    def _lay(self, first: int, last: int, mass: float) -> float:
        """Hand a slice to where all of its nodes find supply, in equal parts; returns how much is left of its weight,
        0 where that does not count.

        A place of the slice gets the least supply on it, divided by the slice's width: all places that meet a node then
        ask for no more than it has.
        """
        k, width = self.lattice.k, last - first + 1
        supply, placed = self._supply, np.zeros(len(self._supply))
        for _ in range(ROUNDS):
            here = np.maximum(_least(supply, first, last), 0.0) / width
            here[: self._middle - k] = here[self._middle + k + 1 :] = 0.0
            placed += here
            supply = np.maximum(supply - _covered(here, first, last), 0.0)
        total = float(placed.sum())
        share = min(1.0, mass / total) if total > 0 else 0.0
        self._supply = self._supply - share * (self._supply - supply)
        self.handed.append((first, last, share * placed[self._middle - k : self._middle + k + 1]))
        left = mass - share * total
        return left if left > 0.01 * UNMET * self.level else 0.0

    # Proof --------------------------------------------------------------------------------------------

    @property
    def proof(self) -> Proof:
        """All multipliers; the shift of an event that is covered φ further right is −φ."""
        zero, k = self.lattice.zero, self.lattice.k
        handed = np.zeros((self.last - self.first + 1, 2 * k + 1))
        for first, last, weights in self.handed:
            handed[zero + first - self.first : zero + last + 1 - self.first] += weights
        nodes, far = np.nonzero(handed)
        shifts, events, each = [k - far], [nodes + self.first - zero], [handed[nodes, far]]
        for y, shift in ((self.right, -k), (self.left, k)):
            used: Ints = np.flatnonzero(y)
            shifts.append(np.full(len(used), shift))
            events.append(used - zero)
            each.append(y[used])
        terms = (np.concatenate(shifts), np.concatenate(events), np.concatenate(each))
        return Proof(self.lattice.costs, -zero, *terms, monotone=None, mirrored=False)


def _least(values: Array, first: int, last: int) -> Array:
    """min of values[p + first … p + last] at every p, those outside counting as 0."""
    width, n = last - first + 1, len(values)
    room = width + abs(first) + abs(last)
    padded = np.zeros(n + 2 * room)
    padded[room : room + n] = values
    start = room + first + width // 2  # the filter's window begins width // 2 before its place
    least: Array = minimum_filter1d(padded, width, mode="constant")[start : start + n]
    return least


def _covered(weights: Array, first: int, last: int) -> Array:
    """Σ of the weights at all p for which a place x lies in p + first … p + last."""
    n, x = len(weights), np.arange(len(weights))
    sums = np.concatenate([[0.0], np.cumsum(weights)])
    covered: Array = sums[np.clip(x - first + 1, 0, n)] - sums[np.clip(x - last, 0, n)]
    return covered
