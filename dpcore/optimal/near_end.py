"""A lower bound where a staircase stands near an end of its support: multipliers written down [method: peaks].

Shifted by D, what lies within D of the end leaves the support, so it weighs at most δ, what lies within 2D at most
about e^ε δ, and so on; the top step T begins m whole sensitivities from the end, where that much is 1. Its demand may
go to the period before T as well as to the right; there every node hands it on, e^ε times as large, to the period
before that, and from the last period it leaves the support. What that costs is the largest demand of any node there, so
all of the period before T takes the same, up to a `cap`: the least one that leaves no demand of T unmet. And demand is
spread on the way: shifts by less than D lead to nodes nearer to the next period.
"""

from __future__ import annotations

import functools
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
from .lattice import Array, Ints
from .peak import Slices, proof_of, whole_shift
from .step import Proof

NODES = ((100, 6), (400, 12), (1200, 24), (2400, 48))
"""Lattices have at least so many nodes to the sensitivity, and to the top step."""

FINEST = 20_000
"""Most nodes to the sensitivity."""

COARSE = (1500, 4500)
"""Nodes to the sensitivity where top steps are too narrow for those: what is hardly wider than a step of the lattice
may as well be a node."""

MOST_TERMS = 1_000_000
"""Most multipliers of a lattice."""

CAPS, CAPS_TRIED = (1.6, 1e-2), 7
"""The largest and the least cap but for 0 that are tried, in parts of an even one; so many between them."""

NEAR = 1.1
"""Between two neighbouring levels or lattices it changes by less than this factor."""

SPREAD = 1.02
"""Where spreading gains less than this factor, demand is handed on as it is."""

BLOCKS, LEAST_BLOCKS = 160, 4
"""It is spread by at most and at least so many shifts; in between by the root of what the last period hands on of one,
for they cost as much each."""

MOST_SHARED = 1200
"""Most nodes to the sensitivity with which the last period uses all shifts."""

RISES, LAGS = (0.4, 0.7, 0.9, 1.0, 1.1), 0.54
"""Levels tried on the first lattice: so much of the loss's rise over the top step of the law. The best one lacks about
`LAGS` of the rise, divided by the number of nodes to the top step."""

NEXT = (0.8, 1.2)
"""On finer lattices it is tried to add so much of what is expected."""

SEARCHED_TO = 0.03
"""Accuracy of the level on the first, relative to the rise."""

SAME, CLOSE = 0.3, 1e-3
"""A top step that begins this share of its width, or `CLOSE` sensitivities, from whole sensitivities is there."""

MOST_PERIODS = 40
"""Between the end and the top step."""

WIDE = 0.4
"""Slices of so wide top steps find no room: programs have better use for the time."""

MORE = 3.0
"""Finer lattices gain hardly more than so many times what the last one did: where a gap is wider, programs have better
use for the time."""

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
    """The best bound of several lattices, with the best level on each; the top step reaches from `periods`
    sensitivities right of the end to `far`."""
    width = (far - end) / D - periods
    if not 0 < width < 1:
        return 0.0
    least, most = loss.infimum(end + periods * D, far), float(loss.value(far))
    if not least < most:
        return 0.0
    rise, found, level, coarse, search = most - least, 0.0, least, 0.0, _Caps(privacy, done)
    for lattice in _lattices(loss, D, end, periods, width):
        before, finer, bound = found, LAGS * rise / (width * lattice.k), search.on(lattice)
        if coarse:
            tried = level + NEXT[0] * (coarse - finer), level + NEXT[1] * (coarse - finer)
            found, level = max((found, level), *((bound(x), x) for x in tried[:1]))
            if found > before and not done(found):
                found, level = max((found, level), (bound(tried[1]), tried[1]))
        else:
            levels, tolerance = [least + share * rise for share in RISES], SEARCHED_TO * rise / max(1.0, most)
            level = least_argument(lambda x: -bound(x), levels, tolerance=tolerance if width < WIDE else math.inf)  # noqa: B023
            found = bound(level)
        if done(found) or width >= WIDE or (coarse and not done(found + MORE * (found - before))):
            break
        coarse = finer
    return found


def _lattices(loss: Loss, D: float, end: float, periods: int, width: float) -> Iterator[EndLattice]:
    sizes = [max(nodes, math.ceil(top / width)) for nodes, top in NODES]
    for k in sizes if sizes[0] <= FINEST else COARSE:
        if k > FINEST or width * k * k > MOST_TERMS:
            return
        yield EndLattice.of(loss, D, k, end, periods)


@dataclass
class _Caps:
    """The search for the least cap that meets the demand of T.   cap : the last one but 0, in parts of an even one."""

    privacy: Privacy
    done: Callable[[float], bool]
    cap: float = 0.0

    def on(self, lattice: EndLattice) -> Callable[[float], float]:
        """The bound on a lattice as a function of the level."""
        return functools.cache(lambda level: self._bound(lattice, level))

    def _bound(self, lattice: EndLattice, level: float) -> float:
        """0 when time is up, or where no cap serves."""
        unit = NearEnd(lattice, self.privacy.epsilon, level).unit
        if unit <= 0:  # no top step within a sensitivity
            return 0.0

        def meets(share: float) -> bool:
            return self.done(0.0) or NearEnd(lattice, self.privacy.epsilon, level, share * unit).met

        share = 0.0
        if not meets(share):
            near = (self.cap * NEAR, self.cap / NEAR)
            known = self.cap and meets(near[0]) and not meets(near[1])
            self.cap = share = bisection(meets, *(near if known else CAPS), mean=geometric, rounds=CAPS_TRIED)[0]
        if self.done(0.0):
            return 0.0
        return NearEnd(lattice, self.privacy.epsilon, level, share * unit).proof.lower(self.privacy)


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

    cap : nodes of the period before T take demand of T up to it; None: nothing is handed on at all.
    right, left : (nodes,) of the shifts by a whole sensitivity.   unit : the largest demand in the period before T, if
    all of its nodes took the same from T or, where that is more, nothing.   spread : terms of other shifts to the left.
    """

    lattice: EndLattice
    epsilon: float
    level: float
    cap: float | None = None
    unit: float = field(default=0.0, init=False)
    slices: Slices | None = field(default=None, init=False)
    spread: list[tuple[Ints, Ints, Array]] = field(default_factory=list, init=False)

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
        self.unit = max(float(even), float(need[before].max()))
        if self.cap is None:
            return
        supply = decay * np.maximum(-need, 0.0)
        supply[k:] -= self.right[:-k]
        supply = np.maximum(supply, 0.0)
        supply[:start] = supply[start:stop] = 0.0
        supply[before] = offered = decay * np.maximum(self.cap - need[before], 0.0)
        self.slices = Slices(supply, start, need[start:stop], top - start, k, 0.01 * UNMET * self.level)
        self._need, self._asked = need, (offered - self.slices.supply[before]) / decay

    def _hand_on(self) -> None:
        """All demand of the period before T, and what T asks of it, to the end of the support."""
        k, need, asked = self.lattice.k, self._need, self._asked
        for first in range((self.lattice.periods - 1) * k, 0, -k):
            asked = self._on(first, np.maximum(need[first : first + k] + asked, 0.0)) * math.exp(self.epsilon)
        self.left[:k] = np.maximum(need[:k] + asked, 0.0)

    def _on(self, first: int, demand: Array) -> Array:
        """Hand the demand of a period before T to the period before that; returns what of it each node there got. All
        by one sensitivity, unless spread out it asks less of the node that is asked for most: a shift by less leads to
        nodes nearer to the next period, so they need not be asked for more than the largest mean over an end of the
        period. Nodes are moved in blocks."""
        k, decay = self.lattice.k, math.exp(-self.epsilon)
        own = self._need[first - k : first]
        shifts = math.exp(min(0.5 * self.epsilon * first / k, math.log(BLOCKS)))
        wide = math.ceil(k / max(LEAST_BLOCKS, shifts))
        count = -(-k // wide)
        beside = count * wide - k  # the first block is narrower
        asked, most = (np.pad(x, (beside, 0)).reshape(count, wide).max(axis=1) for x in (demand, own))
        means = np.cumsum((asked / decay + most)[::-1]) / np.arange(1, count + 1)
        cap = float(max(means.max(), most.max()))
        if SPREAD * cap >= (demand / decay + own).max():
            self.left[first : first + k] = demand
            return demand
        room, taken = decay * (cap - most), np.zeros(k)
        for i in range(count - 1, -1, -1):  # the fewer blocks a block may be moved to the earlier
            nodes = np.arange(max(i * wide - beside, 0), (i + 1) * wide - beside)
            left = asked[i]
            for j in (i + np.flatnonzero(room[i:] > 0)).tolist():
                part = min(room[j], left)
                room[j], left = room[j] - part, left - part
                self._move(first + nodes, (j - i) * wide - k, demand[nodes] * (part / (asked[i] or 1.0)), taken)
                if left <= 0:
                    break
            self._move(first + nodes, -k, demand[nodes] * (left / (asked[i] or 1.0)), taken)  # rounding leaves
        return taken

    def _move(self, nodes: Ints, far: int, weights: Array, taken: Array) -> None:
        """Hand weights so far to the right; `taken` : (k,) of the period that gets them."""
        k = self.lattice.k
        if not weights.any():
            return
        taken[(nodes + far) % k] += weights
        if far == -k:
            self.left[nodes] += weights
        else:
            self.spread.append((np.full(len(nodes), far), nodes, weights))

    @property
    def met(self) -> bool:
        """Whether all demand of T finds supply."""
        return self.slices is not None and self.slices.unmet <= UNMET * self.level

    @property
    def proof(self) -> Proof:
        """All multipliers; those of the first period leave the support at its end, by any shift that others use as well
        and else by a whole sensitivity."""
        k = self.lattice.k
        if self.slices is not None:
            self._hand_on()
        terms = [*self.spread] if self.slices is None else [self.slices.terms(), *self.spread]
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
