"""A lower bound where a staircase stands near an end of its support: multipliers written down [method: peaks].

Shifted by D, what lies within D of the end leaves the support, so it weighs at most δ, what lies within 2D at most
about e^ε δ, and so on; the top step T begins m whole sensitivities from the end, where that much is 1. Its demand may
go to the period before T as well as to the right; there every node hands it on, e^ε times as large, to the period
before that, and from the last period it leaves the support. What that costs is the largest demand of any node there, so
all of the period before T takes the same, up to a `cap`: the least one that leaves no demand of T unmet.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ..loss import Loss
from ..loss.cells import node_values
from ..places import Places
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import bisection, geometric, least_argument
from .lattice import Array
from .peak import Slices, proof_of, whole_shift
from .step import Proof

NODES = ((100, 6), (400, 12), (1200, 24))
"""Lattices have at least so many nodes to the sensitivity, and to the top step."""

FINEST = 20_000
"""Most nodes to the sensitivity."""

COARSE = (1500, 4500)
"""Nodes to the sensitivity where top steps are too narrow for those: what is hardly wider than a step of the lattice
may as well be a node."""

MOST_TERMS = 1_000_000
"""Most multipliers of a lattice."""

FIRST_CAPS, MORE_CAPS = 8, 4
"""So many caps are tried for each level on the first lattice, and on finer ones."""

WIDER = 1.6
"""The largest cap tried, in parts of the demand of T spread evenly over the period before it."""

SPREAD = 1.05
"""Demand that rises less above its mean is handed on as it is."""

SPREAD_BY, SPREAD_IN = 100, 60
"""Shifts to the sensitivity by which it is spread, and in how many slices."""

MOST_SPREAD, MOST_SHARED = 5000, 1200
"""Most nodes to the sensitivity with which demand is spread, and with which the last period uses all shifts."""

NEAR = 1.03
"""On a finer lattice the cap is within this factor of what it was."""

RISES = (0.4, 0.7, 0.9, 1.0, 1.1)
"""Levels tried: so much of the loss's rise over the top step of the law."""

SEARCHED_TO = 3e-3
"""Accuracy of the level, relative to the loss at the end of the top step."""

SAME, CLOSE = 0.3, 1e-3
"""A top step that begins this share of its width, or `CLOSE` sensitivities, from whole sensitivities is there."""

MOST_PERIODS = 40
"""Between the end and the top step."""

WORTH, FINER = 0.03, 4e-3
"""Handing demand on in slices gains hardly more than the first share, finer lattices hardly more than the second: where
a gap is wider, programs have better use for the time."""

UNMET = 1e-5
"""Share of the level that may remain as demand; it is missing from the bound."""


def near_end_lower(problem: NoiseProblem, top: tuple[float, float], done: Callable[[float], bool]) -> float:
    """A lower bound of the expected loss, rounded down, for the first pair (ε, δ); 0 where the top step is not near an
    end. top : ends of the best top step found [optimal.cut], in the query's unit.   done : whether a bound is good
    enough."""
    loss, D, (lo, hi) = problem.paid_loss, problem.sensitivity, problem.support
    if not loss.continuous or problem.privacy.delta == 0:
        return 0.0
    sides = ((loss, lo, *top), (loss.mirrored, -hi, -top[1], -top[0]))
    found = 0.0
    for facing, end, near, far in sides:
        periods = round((near - end) / D) if math.isfinite(end) else 0
        off = abs(near - end - periods * D)
        before = facing.minimiser()[0] <= near
        if before and 1 <= periods <= MOST_PERIODS and off <= max(SAME * (far - near), CLOSE * D):
            found = max(found, _best(facing, problem.privacy, D, end, periods, far, done))
    return found


def _best(
    loss: Loss, privacy: Privacy, D: float, end: float, periods: int, far: float, done: Callable[[float], bool]
) -> float:
    """The best bound of several lattices; the top step reaches from `periods` sensitivities right of the end to `far`.
    On the first the level is searched for, on the others the cap."""
    width = (far - end) / D - periods
    if not 0 < width < 1:
        return 0.0
    least, most = loss.infimum(end + periods * D, far), float(loss.value(far))
    if not least < most:
        return 0.0
    lattices = _lattices(loss, D, end, periods, width)
    first = next(lattices, None)
    if first is None:
        return 0.0
    seen: list[tuple[float, float]] = []

    def cost(level: float) -> float:
        seen.append(_capped(first, privacy, level, (0.0, WIDER), FIRST_CAPS, done))
        return -seen[-1][0]

    level = least_argument(cost, [least + rise * (most - least) for rise in RISES], tolerance=SEARCHED_TO * most)
    found, cap = max(seen)
    for lattice, worth in zip(itertools.chain([first], lattices), itertools.chain([WORTH], itertools.repeat(FINER))):
        if done(found) or not done(found * (1 + worth)):
            break
        lower, cap = _capped(lattice, privacy, level, (cap / NEAR, cap * NEAR), MORE_CAPS, done, spreads=True)
        found = max(found, lower)
    return found


def _lattices(loss: Loss, D: float, end: float, periods: int, width: float) -> Iterator[EndLattice]:
    sizes = [max(nodes, math.ceil(top / width)) for nodes, top in NODES]
    for k in sizes if sizes[0] <= FINEST else COARSE:
        if k > FINEST or width * k * k > MOST_TERMS:
            return
        yield EndLattice.of(loss, D, k, end, periods)


def _capped(
    lattice: EndLattice,
    privacy: Privacy,
    level: float,
    caps: tuple[float, float],
    rounds: int,
    done: Callable[[float], bool],
    *,
    spreads: bool = False,
) -> tuple[float, float]:
    """(bound, cap): with the least cap, in parts of an even one and between two, that meets the demand of T; no bound
    when time is up."""
    even, free = NearEnd(lattice, privacy.epsilon, level).caps
    if max(even, free) <= 0:  # no top step within a sensitivity
        return 0.0, caps[1]
    low, high = (max(free, share * max(even, free)) for share in caps)
    meets: Callable[[float], bool] = lambda cap: done(0.0) or NearEnd(lattice, privacy.epsilon, level, cap).met  # noqa: E731
    if not meets(low):
        low = bisection(meets, high, low, mean=geometric, rounds=rounds)[0]
    if done(0.0):
        return 0.0, caps[1]
    return NearEnd(lattice, privacy.epsilon, level, low, spreads).proof.lower(privacy), low / max(even, free)


@dataclass(frozen=True)
class EndLattice:
    """Nodes from an end of the support on, k per sensitivity, their costs, and how many periods lie before T."""

    costs: Array
    k: int
    periods: int

    @staticmethod
    def of(loss: Loss, D: float, k: int, end: float, periods: int) -> EndLattice:
        places = Places.of(end, D, k, np.arange((periods + 3) * k + k // 2))
        costs = node_values(loss, places)
        beyond = math.nextafter(places.floats[-1], -math.inf)
        costs[-1] = min(costs[-1], loss.infimum(beyond, math.inf))
        return EndLattice(costs, k, periods)


@dataclass
class NearEnd:
    """Multipliers for one level and one cap.

    right, left : (nodes,) of the shifts by a whole sensitivity.   caps : the largest demand in the period before T, if
    all of its nodes took the same from T and if they took nothing.   spreads : demand before T, where that helps.
    """

    lattice: EndLattice
    epsilon: float
    level: float
    cap: float = 0.0
    spreads: bool = False
    caps: tuple[float, float] = field(default=(0.0, 0.0), init=False)
    slices: list[Slices] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        costs, k = self.lattice.costs, self.lattice.k
        decay, start = math.exp(-self.epsilon), self.lattice.periods * self.lattice.k
        top = start + int(np.argmin(costs[start : start + k]))
        dear = np.flatnonzero(costs[top:] >= self.level)
        stop = top + (int(dear[0]) if dear.size else 0)
        self.right, self.left = np.zeros(len(costs)), np.zeros(len(costs))
        if not start < stop < start + k:
            return
        taken = decay * np.maximum(costs[stop + k : stop + 2 * k] - self.level, 0.0)
        self.right[stop : stop + k] = np.minimum(taken, taken[0])
        need = self.level - costs - self.right
        taken = decay * np.maximum(-need[start + k : stop + k], 0.0)
        self.right[start:stop] = np.minimum(taken, np.maximum(need[start:stop], 0.0))
        need[start:stop] -= self.right[start:stop]
        before = slice(start - k, start)
        even = np.maximum(need[start:stop], 0.0).sum() / (decay * k) + need[before].mean()
        self.caps = (float(even), float(need[before].max()))
        if self.cap == 0:
            return
        supply = decay * np.maximum(-need, 0.0)
        supply[k:] -= self.right[:-k]
        supply = np.maximum(supply, 0.0)
        supply[:start] = supply[start:stop] = 0.0
        supply[before] = offered = decay * np.maximum(self.cap - need[before], 0.0)
        self.slices = [Slices(supply, start, need[start:stop], top - start, k, 0.01 * UNMET * self.level)]
        asked = (offered - self.slices[0].supply[before]) / decay
        for first in range(start - k, 0, -k):
            asked = self._on(first, np.maximum(need[first : first + k] + asked, 0.0), need) / decay
        self.left[:k] = np.maximum(need[:k] + asked, 0.0)

    def _on(self, first: int, demand: Array, need: Array) -> Array:
        """Hand the demand of a period before T to the period before that; returns what of it each node there got. All
        by one sensitivity, unless spread out it asks less of the node that is asked for most."""
        k, decay = self.lattice.k, math.exp(-self.epsilon)
        before = slice(first - k, first)
        if not self.spreads or k > MOST_SPREAD or demand.max() <= SPREAD * demand.mean():
            self.left[first : first + k] = demand
            return demand
        cap = SPREAD * max(demand.mean() / decay + need[before].mean(), need[before].max())
        supply, floor = np.zeros(len(need)), 0.01 * UNMET * self.level
        supply[before] = offered = decay * np.maximum(cap - need[before], 0.0)
        self.slices.append(
            Slices(supply, first, demand, int(np.argmax(demand)), k, floor, SPREAD_IN, max(1, k // SPREAD_BY))
        )
        self.left[first : first + k] = rest = self.slices[-1].rest
        taken: Array = offered - self.slices[-1].supply[before] + rest
        return taken

    @property
    def met(self) -> bool:
        """Whether all demand of T finds supply."""
        return bool(self.slices) and self.slices[0].unmet <= UNMET * self.level

    @property
    def proof(self) -> Proof:
        """All multipliers; those of the first period leave the support at its end, by any shift that others use as well
        and else by a whole sensitivity."""
        k = self.lattice.k
        terms = [slices.terms() for slices in self.slices]
        rates = np.zeros(k + 1)
        for far, _, weights in terms:
            np.maximum.at(rates, np.maximum(-far, 0), weights)
        rates[[0, k] if k <= MOST_SHARED else slice(None)] = 0.0
        free = np.cumsum(rates[::-1])[::-1][1:]  # of shifts beyond the end, for nodes 0 … k − 1
        share = np.minimum(1.0, self.left[:k] / np.where(free > 0, free, 1.0))
        if rates.any():
            nodes, far = np.nonzero(np.triu(np.broadcast_to(rates, (k, k + 1)), 1) * share[:, None])
            terms.append((-far, nodes, rates[far] * share[nodes]))
        left = self.left.copy()
        left[:k] -= share * free
        terms += [whole_shift(self.right, k), whole_shift(left, -k)]
        return proof_of(self.lattice.costs, 0, terms)
