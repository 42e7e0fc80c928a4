"""A lower bound where a staircase stands near an end of its support: multipliers written down [method: peaks].

Shifted by D, what lies within D of the end leaves the support, so it weighs at most δ, what lies within 2D at most
about e^ε δ, and so on; the top step T begins m + f sensitivities from the end, m ≥ 1 whole and 0 ≤ f < 1, where that
much is 1. Its demand may go to the period before T as well as to the right; there every node hands it on, e^ε times as
large, to the period before that, and from the last period it leaves the support. What that costs is the largest demand
of any node there, so all of the part of the period that leaves after m steps, 1 − f of it, takes the same, up to a
`cap`: the least one that leaves no demand of T unmet. The rest, f, takes one step more and so e^−ε as much. And demand
is spread on the way: shifts by less than D lead to nodes nearer to the next period. So what the end takes of all alike
anyway is a cap that costs nothing, and below the cap a node may take what later ones have room for. Where f = 0 and δ
is large, nodes just before T leave only a share of their demand to the end; the rest is demand of T.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ..loss import Loss
from ..loss.cells import minorants, node_values
from ..places import Places
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import bisection, geometric, least_argument
from .lattice import Array, Ints
from .lower import CELL
from .peak import Slices, proof_of, whole_shift
from .step import Proof

NODES = ((100, 6), (400, 12), (1200, 24), (2400, 48))
"""Lattices have at least so many nodes to the sensitivity, and to the top step."""

FINEST = 20_000
"""Most nodes to the sensitivity."""

COARSE = (1500, 4500)
"""Nodes to the sensitivity where top steps are too narrow for those: what is hardly wider than a step of the lattice
may as well be a node."""

ALIGNED = 1.1
"""They may be finer by this factor for the loss's minimiser to be a node, where it lies on the top step."""

MOST_TERMS = 1_000_000
"""Most multipliers of a lattice."""

CAPS = (1.6, 1e-2, 12)
"""The largest and the least cap but for 0 that are tried, in parts of an even one; so many between them."""

NEAR = ((1.004, 4), (1.05, 7))
"""Between two neighbouring levels or lattices it changes by less than the first factor or else the second; so many are
tried between."""

SPREAD = 1.02
"""Where spreading gains less than this factor, demand is handed on as it is."""

BLOCKS, LEAST_BLOCKS = 1000, 4
"""It is spread by at most and at least so many shifts; in between by the root of what the last period hands on of one,
for they cost as much each."""

MOST_SHARED = 1200
"""Most nodes to the sensitivity with which the last period uses all shifts."""

RISES = (0.05, 0.15, 0.4, 0.7, 0.9, 1.0, 1.1, 1.25)
"""Levels tried on the first lattice: so much of the loss's rise over the top step of the law."""

BETWEEN = (0.98, 1.0)
"""Levels tried on every lattice where the top step stands between whole sensitivities: the loss is the same at both of
its ends, and that is the best level but for the lattice's step."""

UNCOVERED = 0.3
"""Such a top step is limited by the end where about δ lies within a sensitivity of the end, if it weighs nearly 1."""

NEXT, NEXT_MORE, NEXT_FEW, FEW = (
    (0.99, 0.996, 1.0, 1.004),
    (1.004, 1.015, 1.05, 1.15),
    (0.4, 0.7, 1.0, 1.4, 2.0, 3.0),
    4,
)
"""On finer lattices it is tried to add so many times as much to the least loss on the top step as before; the second
where the largest of the first was best, the third up to so many nodes to the top step."""

FIRST_TO, NEXT_TO, LEAST_RISE = 0.03, 1e-3, 1e-9
"""Accuracy of the level on the first and on finer lattices, relative to the rise or so much of the loss."""

LARGE, LEAVING, LESS = 0.05, (0.85, 0.7, 0.5, 0.3), (0.88, 0.92, 0.95, 0.98, 1.0)
"""From such a δ, times e^ε for every whole sensitivity but one from the end to the top step, so much of the largest
demand of the period before leaves it by the shift D; then so much is tried of what the last level adds."""

SAME, CLOSE = 0.3, 1e-3
"""A top step that begins this share of its width, or `CLOSE` sensitivities, before whole sensitivities is there."""

MOST_PERIODS, MOST_CHAINED = 40, 300.0
"""Between the end and the top step; divided by ε, for a demand grows by e^ε with every one of them."""

WIDE, WIDE_FINEST = 0.4, 500
"""Most nodes to the sensitivity, divided by the periods, where top steps are so wide: slices find little room there,
with many shifts."""

MORE, MORE_BETWEEN, WORTH, WORTH_POWER, PROGRAMS_BELOW = 1.0, 2.5, 0.03, 0.15, 7.5
"""Finer lattices gain hardly more than so many times what the last one did, the second number where the top step stands
between whole sensitivities, the second one hardly more than a share of the bound: the first of the two, or the second
for losses with a power. Where the gap is wider, programs have better use for the time; from the last of these ε on, and
between whole sensitivities, only after the second lattice."""

FAR_BELOW = 0.7
"""Finer lattices do not make up for less than this share of what is known."""

UNMET = 1e-5
"""Share of the level that may remain as demand; it is missing from the bound."""


def near_end_bounds(
    problem: NoiseProblem, top: tuple[float, float], done: Callable[[float], bool], known: float = 0.0
) -> Iterator[float]:
    """Ever better lower bounds of the expected loss, rounded down, for the first pair (ε, δ); none where the top step
    is not near an end. top : ends of the best top step found [optimal.cut], in the query's unit.   done : whether a
    bound is good enough.   known : a bound; where the first lattice proves far less, finer ones are left out."""
    loss, D, (lo, hi) = problem.paid_loss, problem.sensitivity, problem.support
    if not loss.continuous or problem.privacy.delta == 0:
        return
    sides = ((loss, lo, *top), (loss.mirrored, -hi, -top[1], -top[0]))
    found, most = 0.0, min(MOST_PERIODS, MOST_CHAINED / problem.privacy.epsilon)
    for facing, end, near, far in sorted(sides, key=lambda side: side[2] - side[1]):
        if not math.isfinite(end) or facing.minimiser()[0] > far:
            continue
        room = max(SAME * (far - near), CLOSE * D)
        periods = math.floor((near - end + room) / D)
        if problem.monotone and near - end - periods * D > room:
            continue  # laws that need not be monotone pay far less
        if 1 <= periods <= most and not done(found):
            for bound in _bounds(facing, problem.privacy, D, end, periods, (near, far), done, known):
                found = max(found, bound)
                yield found
            most = periods  # a further end limits a law less by e^ε a period


def _bounds(
    loss: Loss,
    privacy: Privacy,
    D: float,
    end: float,
    periods: int,
    top: tuple[float, float],
    done: Callable[[float], bool],
    known: float,
) -> Iterator[float]:
    """Of several lattices, with the best level on each; at least `periods` sensitivities lie between the end and the
    top step."""
    whole, far = end + periods * D, top[1]
    near = whole if loss.minimiser()[0] <= whole or top[0] <= whole else top[0]
    width = (far - near) / D
    if not 0 < width < 1:
        return
    least, most = loss.infimum(near, far), float(loss.value(far))
    if not least < most:
        return
    rise, found, level, search = most - least, 0.0, least, _Caps(privacy, done)
    between = [least + share * rise for share in BETWEEN] if near > whole else []
    beyond = math.exp(-privacy.epsilon * periods) * (1 - (near - whole) / D) / width
    if between and beyond < UNCOVERED * privacy.delta:
        return
    leaving, scale = 0.0, max(rise, LEAST_RISE * most) / max(1.0, most)
    large = math.log(privacy.delta) + (periods - 1) * privacy.epsilon >= math.log(LARGE)
    worth = WORTH if all(piece.power <= 1 for piece in loss.pieces) else WORTH_POWER
    for lattice in _lattices(loss, D, end, periods, width, ends=not between):
        before, first = found, not leaving
        needed = first and bool(between or privacy.epsilon >= PROGRAMS_BELOW)
        if between:
            one = search.best(lattice, between, math.inf)
        elif first:
            one = search.best(lattice, [least + share * rise for share in RISES], FIRST_TO * scale)
            for fewer in LEAVING if large and needed else ():
                other = search.best(lattice, [least + x * (one[1] - least) for x in LESS], FIRST_TO * scale, fewer)
                if other <= one:
                    break
                one = other
        else:
            begun, levels = level - least, NEXT if width * lattice.k > FEW else NEXT_FEW
            one = search.best(lattice, [least + x * begun for x in levels], NEXT_TO * scale, leaving)
            if one[1] >= least + NEXT[-1] * begun and levels is NEXT:
                one = max(one, search.best(lattice, [least + x * begun for x in NEXT_MORE], NEXT_TO * scale, leaving))
        found, (level, leaving) = max(found, one[0]), one[1:]
        yield found
        more = MORE_BETWEEN if between else MORE
        expected = found + (worth * found if first else more * (found - before))
        if done(found) or not (needed or done(expected)) or found < FAR_BELOW * known:
            return


def _lattices(loss: Loss, D: float, end: float, periods: int, width: float, *, ends: bool) -> Iterator[EndLattice]:
    sizes = [max(nodes, math.ceil(top / width)) for nodes, top in NODES]
    place, step = (loss.minimiser()[0] - end) / D, CELL if ends else 1
    for size in sizes if sizes[0] <= FINEST else COARSE:
        k = _aligned(size, place, step) if place > periods else step * -(-size // step)
        if k > (FINEST if width < WIDE else WIDE_FINEST / periods) or width * k * k > MOST_TERMS:
            return
        yield EndLattice.of(loss, D, k, end, periods, ends=ends)


def _aligned(size: int, place: float, step: int) -> int:
    """A lattice of about so many nodes to the sensitivity on which a place, in sensitivities, is nearest to a node of
    which the number is a multiple of `step`."""
    cells = np.arange(-(-size // step), math.ceil(ALIGNED * size / step) + 1)
    return step * int(cells[np.argmin(np.abs(place * cells - np.round(place * cells)))])


@dataclass
class _Caps:
    """The search for the least cap that meets the demand of T.   cap : the last one but 0, in parts of an even one."""

    privacy: Privacy
    done: Callable[[float], bool]
    cap: float = 0.0

    def best(
        self, lattice: EndLattice, levels: list[float], tolerance: float, leaving: float = 1.0
    ) -> tuple[float, float, float]:
        """(bound, level, leaving) of the best level on a lattice among these and next to the best of them."""
        bound = functools.cache(lambda level: self._bound(lattice, level, leaving))
        level = least_argument(lambda level: -bound(level), levels, tolerance=tolerance)
        return bound(level), level, leaving

    def _bound(self, lattice: EndLattice, level: float, leaving: float) -> float:
        """0 when time is up, or where no cap serves."""
        empty = NearEnd(lattice, self.privacy.epsilon, level, None, leaving)
        unit = empty.unit
        if unit <= 0:  # no top step within a sensitivity
            return 0.0

        def meets(share: float) -> bool:
            return self.done(0.0) or NearEnd(lattice, self.privacy.epsilon, level, share * unit, leaving).met

        share = empty.free / unit
        if not meets(share):
            near = ((self.cap * factor, self.cap / factor, rounds) for factor, rounds in NEAR)
            known = (one for one in near if self.cap and meets(one[0]) and not meets(one[1]))
            enough, less, rounds = next(known, CAPS)
            self.cap = share = bisection(meets, enough, less, mean=geometric, rounds=rounds)[0]
        if self.done(0.0):
            return 0.0
        return NearEnd(lattice, self.privacy.epsilon, level, share * unit, leaving).proof.lower(self.privacy)


@dataclass(frozen=True)
class EndLattice:
    """Nodes from an end of the support on, k per sensitivity, their costs, and how many whole periods lie before T.
    Where T begins whole periods from the end labels at the ends of cells, k even, take their place [Thm 10]."""

    costs: Array
    k: int
    periods: int

    @staticmethod
    def of(loss: Loss, D: float, k: int, end: float, periods: int, *, ends: bool = True) -> EndLattice:
        step = CELL if ends else 1
        places = Places.of(end, D, k, np.arange(0, (periods + 4) * k + 1, step))
        costs = np.stack(minorants(loss, places), axis=1).ravel() if ends else node_values(loss, places)
        beyond = math.nextafter(places.floats[-1], -math.inf)
        costs[-1] = min(costs[-1], loss.infimum(beyond, math.inf))
        return EndLattice(costs, k, periods)


@dataclass
class NearEnd:
    """Multipliers for one level and one cap.

    cap : nodes of the period before T take demand of T up to it, e^−ε of it where one step more leads to the end; None:
    nothing is handed on at all.   leaving : share of the largest demand of the period before T that leaves it by
    whole sensitivities; where T begins behind it, what is more next to T belongs to T.
    right, left : (nodes,) of the shifts by a whole sensitivity.   unit : the largest demand in the period before T, if
    all of its nodes took the same from T or, where that is more, nothing.   free : cap up to which they cost nothing.
    spread : terms of other shifts to the left.
    """

    lattice: EndLattice
    epsilon: float
    level: float
    cap: float | None = None
    leaving: float = 1.0
    unit: float = field(default=0.0, init=False)
    free: float = field(default=0.0, init=False)
    slices: Slices | None = field(default=None, init=False)
    spread: list[tuple[Ints, Ints, Array]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        costs, k = self.lattice.costs, self.lattice.k
        decay, whole = math.exp(-self.epsilon), self.lattice.periods * self.lattice.k
        top = whole + int(np.argmin(costs[whole : whole + k]))
        dear = np.flatnonzero(costs >= self.level)
        after = int(np.searchsorted(dear, top))
        start = max(whole, int(dear[after - 1]) + 1 if after else 0)
        stop = int(dear[after]) if after < len(dear) else start
        self.right, self.left = np.zeros(len(costs)), np.zeros(len(costs))
        if not start < stop < start + k:
            return
        self._start, first = start, start
        kept = self.leaving * (self.level - costs[start - k : whole].min())
        if start == whole and self.leaving < 1:
            below = np.flatnonzero(self.level - costs[:whole] <= kept)
            first = int(below[-1]) + 1 if below.size else 0
            if first <= stop - k:
                return
        taken = decay * np.maximum(costs[stop + k : stop + 2 * k] - self.level, 0.0)
        self.right[stop : stop + k] = np.minimum(taken, taken[0])
        need = self.level - costs - self.right
        taken = decay * np.maximum(-need[start + k : stop + k], 0.0)
        self.right[start:stop] = np.minimum(taken, np.maximum(need[start:stop], 0.0))
        need[start:stop] -= self.right[start:stop]
        before, leaves = slice(start - k, start), slice(start - k, whole)
        need[first:start] -= kept
        demand = need[first:stop].copy()
        need[first:start] = kept
        even = np.maximum(demand, 0.0).sum() / (decay * (whole - start + k)) + need[leaves].mean()
        self.unit = max(float(even), float(need[leaves].max()))
        several = self.lattice.periods > 1
        self.free = max(0.0, float((_tail_means(need[leaves]) if several else need[leaves]).max()))
        if self.cap is None:
            return
        supply = decay * np.maximum(-need, 0.0)
        supply[k:] -= self.right[:-k]
        supply = np.maximum(supply, 0.0)
        supply[:stop] = 0.0
        caps = np.where(np.arange(start - k, start) < whole, self.cap, decay * self.cap)
        room, end = caps - need[before], whole - (start - k)
        offered = decay * np.maximum(room, 0.0)
        if several:
            offered[:end] = decay * _left_of(room[:end])
        offered[k - (start - first) :] = 0.0
        supply[before] = offered
        corner = slice(start - k, stop - k)  # not all of T reaches it; up to the cap the shift D costs δ anyway
        self.left[start:stop] = np.minimum(np.clip(need[start:stop], 0.0, self.cap), supply[corner])
        supply[corner] -= self.left[start:stop]
        need[start:stop] -= self.left[start:stop]
        demand[start - first :] = need[start:stop]
        self.slices = Slices(supply, first, demand, top - first, k, 0.01 * UNMET * self.level)
        self._need, self._asked = need, (offered - self.slices.supply[before]) / decay

    def _hand_on(self) -> None:
        """All demand of the period before T, and what T asks of it, to the end of the support: what lies beyond whole
        sensitivities from the end first joins the period before."""
        k, need, whole = self.lattice.k, self._need, self.lattice.periods * self.lattice.k
        asked, beside = self._asked[: whole - self._start + k], slice(whole, self._start)
        self.left[beside] = np.maximum(need[beside] + self._asked[len(asked) :], 0.0)
        asked = np.concatenate([math.exp(self.epsilon) * self.left[beside], asked])
        for first in range(whole - k, 0, -k):
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
        cap = float(max(_tail_means(asked / decay + most).max(), most.max()))
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


def _tail_means(values: Array) -> Array:
    """Means of the values from each of them on."""
    means: Array = np.cumsum(values[::-1])[::-1] / np.arange(len(values), 0, -1)
    return means


def _left_of(room: Array) -> Array:
    """What is left of room at each node where later ones take what there is too little for at earlier ones."""
    left: Array = np.diff(np.maximum.accumulate(np.append(0.0, np.cumsum(room))))
    return left
