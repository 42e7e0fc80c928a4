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

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import minimum_filter1d

from .._validate import decimal
from ..loss import Loss
from ..loss.cells import node_values
from ..noise.staircase import Staircase
from ..places import Places
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import bisection, least_argument
from .lattice import Array, Ints
from .step import Proof

HALVES = (6, 12, 24, 48)
"""Lattices have about so many nodes to half of the top step, more and more until the gap is reached."""

FINEST = 40_000
"""Most nodes per sensitivity."""

MOST_TERMS = 2_500_000
"""Most multipliers of a lattice: shifts times nodes of the top step."""

PERIODS = 3.5
"""Nodes reach so many sensitivities to either side: one for the top step's slices, two more for the chains beyond."""

MOST_SLICES = 400
"""Slices of one demand."""

MOST_WAITING = 100
"""Slices without supply beyond which a level counts as too high."""

ROUNDS = 3
"""A slice is laid over what is left of the supply so many times."""

UNMET = 2e-5
"""Share of the level that may remain as demand; it is missing from the bound."""

FLAT_SIZES, FLAT_LOW = (400, 1000, 1500), 0.8
"""Lattices for losses with a plateau at the bottom have about so many nodes per sensitivity; the lowest level tried."""

BRACKET = (0.97, 1.0005)
"""The level in parts of what the best staircase costs, for the first lattice."""

NEXT = (-0.0005, 0.01)
"""Bracket of the level for finer lattices, added to what the one before found."""

SETTLED = 3e-4
"""A lattice that gains less than this share is the last."""

HIGHEST = 4e-4
"""A level that much below the staircase's, in parts of it, is not raised any more where even at that level too much is
lost to slices that were cut."""

BROUGHT = 0.75
"""Supply from the second sensitivity beyond the top step raises the level by a share of about ½ e^−ε, hardly more."""

SPARED = 2
"""Every so manieth shift brings it nearer."""

PROGRAMS_BELOW, WORTH = 7.0, 0.03
"""Finer lattices than the first gain hardly more than this share, and later ones than twice what the last one did;
where a gap is wider, programs have better use for the time, up to this ε."""

LEVELS = 8
"""Levels that are tried on a lattice, more where less is known of them."""

HIGH_PARTS, HIGH_TO, PART_LEVELS = (0.0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0), 0.01, 20
"""Parts of a level that a search for the best one for the second pair begins with, its accuracy, and levels tried for
each."""

NEAR_PARTS, SEARCHED_TO = (0.85, 0.9, 0.95, 1.0), 3000
"""And of those next to the best by what demand and supply say, for all of the latter is not within reach, the best on
lattices with at most so many nodes to the sensitivity."""

SAFER = 1.2
"""From the third lattice on a level is good enough that lacks so many times what those before let expect."""

LESS, CUT = (3e-4, 1e-3, 5e-3), 1e-4
"""And levels so much below the largest where a share of its bound is lost to slices that were cut, which δ makes dear:
lower levels may need less cutting."""

Terms = tuple[Ints, Ints, Array]
"""By how much to the right demand is handed, node, weight, of multipliers."""


def peak_bounds(
    problem: NoiseProblem, staircases: Sequence[Staircase], done: Callable[[float], bool]
) -> Iterator[float]:
    """Ever better lower bounds of the expected loss, rounded down, for one pair (ε, δ) or two, the smaller ε first, and
    any support; 0 or none where the multipliers prove nothing, none if the top step is too wide or too narrow for
    lattices. staircases : the best one of every pair on the whole line.   done : whether a bound is good enough."""
    loss, D, privacy, staircase = problem.paid_loss, problem.sensitivity, problem.privacies[0], staircases[0]
    if not loss.continuous:
        return
    place, cost = (staircase.location - loss.minimiser()[0]) / D, staircase.expected_loss(loss)
    if cost <= 0:
        return
    half, near = staircase.gamma, staircase.gamma - abs(place)  # the nearer end of the top step falls on a node
    flat = _flat(loss, D)
    low, high = BRACKET if flat is None else (FLAT_LOW, BRACKET[1])
    low *= min(one.expected_loss(loss) for one in staircases) / cost
    found, levels, high_part = 0.0, list[float](), 0.0
    sizes = _aligned(near, half) if flat is None else [flat * -(-k // flat) for k in FLAT_SIZES]
    for k in sizes:
        nodes = max(1, round(half * k))
        if not (4 if flat is None else 2) * nodes < k <= FINEST or 4 * k * nodes > MOST_TERMS:
            break
        lattice = _Lattice.of(loss, D, k, 1 / max(2.0, 1 + 2 * nodes * privacy.delta / (1 - privacy.delta)))
        search = _Levels(lattice, problem.privacies, cost, done)
        if len(staircases) > 1 and not levels:
            high_part = search.best_part(low, high)
            if not high_part:  # what the first pair proves alone
                return
        search.high_part = high_part
        low, bound = search.best(low, high, _guess(levels))
        levels.append(low)
        before, found = found, max(found, bound)
        if not done(found) and done(found * (1 + BROUGHT * math.exp(-privacy.epsilon))):
            higher = search.best(low, low + 2 * math.exp(-privacy.epsilon))
            found = max(found, higher[1], search.best(higher[0], higher[0])[1])  # with the rates of that very level
        yield found
        if done(found) or found < max(0.5 * (1 - privacy.delta) * low * cost, before * (1 + SETTLED)):
            break
        left = (1 - low) * (1 - privacy.delta) * cost
        if low > 1 - HIGHEST and not done(found + left):
            break
        expected = found + (2 * (found - before) if before else WORTH * found)
        if privacy.epsilon < PROGRAMS_BELOW and not done(expected):
            break
        low, high = (low + step for step in NEXT)


@dataclass
class _Levels:
    """The search for the best level on a lattice; levels are shares of what the staircase costs.

    high_part : share of the level of which the second pair hands on what nodes need beyond the rest.   spare : what the
    last search left shifts of the first pair to hand on for nothing.
    """

    lattice: _Lattice
    privacies: tuple[Privacy, ...]
    staircase: float
    done: Callable[[float], bool]
    high_part: float = 0.0
    spare: Array | None = field(default=None, init=False)

    def best(self, low: float, high: float, guess: float | None = None) -> tuple[float, float]:
        """(level, bound): the largest level between two that leaves no demand unmet, or a lower one that proves more;
        no bound when time is up. guess : a level that is good enough if it leaves none."""
        low, best = self._largest(low, high, guess)
        if best is None:
            return low, 0.0
        if best.promise < best.most * (1 - CUT):
            lower = (self._peak(low - less) for less in LESS)
            best = max(itertools.chain((best,), lower), key=lambda one: one.promise)
        self.spare = best.spare_rates
        return low, best.proof.lower(*self.privacies)

    def best_part(self, low: float, high: float) -> float:
        """The best `high_part`, next to where all demand takes just as much supply as there is."""
        (first, second), (costs, zero, k) = self.privacies, (self.lattice.costs, self.lattice.zero, self.lattice.k)
        near, factor = costs[zero - k : zero + k + 1], math.exp(second.epsilon - first.epsilon)

        def proved(part: float) -> float:
            def meets(share: float) -> bool:
                rest = share * self.staircase - near
                above = np.maximum(part * share * self.staircase - near, 0.0)
                demand = np.maximum(rest - above, 0.0).sum() + factor * above.sum()
                return bool(demand <= math.exp(-first.epsilon) * np.maximum(-rest, 0.0).sum())

            level = bisection(meets, low, high, rounds=PART_LEVELS)[0]
            return level * (1 - (1 - part) * first.delta - part * second.delta)

        found = least_argument(lambda part: -proved(part), HIGH_PARTS, tolerance=HIGH_TO)
        if found == 0 or k > SEARCHED_TO:
            return found
        parts = [found * share for share in NEAR_PARTS]
        return least_argument(lambda part: -self._promised(part, low, high), parts, tolerance=HIGH_TO)

    def _promised(self, part: float, low: float, high: float) -> float:
        """What multipliers promise to prove with such a `high_part`."""
        self.high_part = part
        best = self._largest(low, high, None)[1]
        return -math.inf if best is None else best.promise

    def _largest(self, low: float, high: float, guess: float | None) -> tuple[float, _Peak | None]:
        """The largest level between two that leaves no demand unmet, and its multipliers; none when time is up."""
        last: dict[float, _Peak] = {}

        def passes(share: float) -> bool:
            if self.done(0.0) or (peak := self._peak(share)).unmet > UNMET * self.staircase:
                return False
            last.clear()
            last[share] = peak
            return True

        if guess is not None and low < guess < high and passes(guess):
            low = guess
        elif low < high:
            wide = (high - low) / (BRACKET[1] - BRACKET[0])
            low = bisection(passes, low, high, rounds=LEVELS + max(0, math.ceil(math.log2(wide))))[0]
        if self.done(0.0):
            return low, None
        return low, last[low] if low in last else self._peak(low)

    def _peak(self, share: float) -> _Peak:
        return _Peak(self.lattice, self.privacies, share * self.staircase, self.high_part, self.spare)


def _guess(levels: list[float]) -> float | None:
    """The next lattice's level, as shares of what the staircase costs: what is missing falls as it did."""
    if len(levels) < 2 or not levels[-2] < levels[-1] < 1:
        return None
    return 1 - SAFER * (1 - levels[-1]) ** 2 / (1 - levels[-2])


def _aligned(near: float, half: float) -> list[int]:
    """Lattices on which the nearer end of the top step is a node; none where it is too narrow for them."""
    if half * FINEST <= 1:
        return []
    steps = [round(nodes * near / half) for nodes in HALVES]
    return [round(n / near if n else nodes / half) for n, nodes in zip(steps, HALVES)]


def _flat(loss: Loss, sensitivity: float) -> int | None:
    """The least lattice on which the ends of a plateau around the loss's minimiser are nodes; None without one, or
    where it is too fine. Where the top step is hardly wider than the plateau, what a chord across a break lies below
    the loss would be more than the level."""
    best, ends = loss.minimiser()[0], loss.bottom()
    if ends[0] == ends[1] or not all(map(math.isfinite, ends)):
        return None
    parts = [((decimal(x) - decimal(best)) / decimal(sensitivity)).denominator for x in ends]
    k = math.lcm(*parts)
    return k if k <= FLAT_SIZES[-1] else None


@dataclass(frozen=True)
class _Lattice:
    """Nodes around the loss's minimiser, node number `zero`, k per sensitivity, and their costs [Thm 2]."""

    costs: Array
    zero: int
    k: int

    @staticmethod
    def of(loss: Loss, sensitivity: float, k: int, touch: float) -> _Lattice:
        """touch : where tangents touch the loss in the cells next to the minimiser, away from it; nearer to it the node
        there, whose demand is what δ costs, costs less below 0, and its neighbours more."""
        last = math.ceil(PERIODS * k)
        places = Places.of(loss.minimiser()[0], sensitivity, k, np.arange(-last, last + 1))
        touches = np.full(2 * last, 0.5)
        touches[last - 1 : last + 1] = 1 - touch, touch
        costs = node_values(loss, places, touches)
        before, beyond = math.nextafter(places.floats[0], math.inf), math.nextafter(places.floats[-1], -math.inf)
        costs[0] = min(costs[0], loss.infimum(-math.inf, before))
        costs[-1] = min(costs[-1], loss.infimum(beyond, math.inf))
        return _Lattice(costs, last, k)


@dataclass
class Slices:
    """Demand handed on, slice by slice.

    supply : (nodes,) what is left of it, 0 on T.   first : first node of T.   demand : (nodes of T,), at its `top`
    largest.   k : shifts reach so far.   floor : what does not count.
    most : slices, more levels than that are rounded up.   stride : between shifts, from the furthest to the left on.
    high : (nodes of T,) demand of the second pair, which takes `factor` times as much supply; largest at the top, too.
    handed : first and last node of a slice, counted from the top, and (2k + 1,) how much goes how far to the right.
    handed_high : the same for the second pair.
    rest : (nodes of T,) demand that finds no supply, all of it where there is more demand than supply.
    """

    supply: Array
    first: int
    demand: Array
    top: int
    k: int
    floor: float
    most: int = MOST_SLICES
    stride: int = 1
    high: Array | None = None
    factor: float = 1.0
    handed: list[tuple[int, int, Array]] = field(default_factory=list, init=False)
    handed_high: list[tuple[int, int, Array]] = field(default_factory=list, init=False)
    rest: Array = field(init=False)

    def __post_init__(self) -> None:
        self._start = max(self.first - self.k, 0)
        self._near = self.supply[self._start : self.first + len(self.demand) + self.k].copy()
        self._middle = self.first + self.top - self._start  # where the shift 0 of the top lies
        asked = [np.maximum(self.demand, 0.0), *([] if self.high is None else [self.high])]
        if sum(factor * float(demand.sum()) for factor, demand in zip((1.0, self.factor), asked)) > self._near.sum():
            self.rest = np.sum(asked, axis=0)
            return
        self.rest = np.zeros(len(self.demand))
        for above, demand in enumerate(asked):
            self._hand(self._cut(demand), bool(above))
        self.supply[self._start : self._start + len(self._near)] = self._near

    def _hand(self, slices: list[tuple[int, int, float]], above: bool) -> None:
        """Lay slices over the supply, narrower ones where that fails."""
        waiting = [(a, b, left) for a, b, mass in slices if (left := self._lay(a, b, mass, above)) > 0]
        width = max((b - a for a, b, _ in waiting), default=0)
        while (
            waiting and width and len(waiting) <= MOST_WAITING
        ):  # narrower slices find supply in corners, at the cost of larger rates
            halves = [
                h for a, b, mass in waiting for h in ((a, (a + b + 1) // 2 - 1, mass), ((a + b + 1) // 2, b, mass))
            ]
            waiting = [(a, b, left) for a, b, mass in halves if a <= b and (left := self._lay(a, b, mass, above)) > 0]
            width //= 2
        for a, b, mass in waiting:
            self.rest[self.top + a : self.top + b + 1] += mass

    @property
    def unmet(self) -> float:
        """The largest demand that finds no supply."""
        return float(self.rest.max())

    def _cut(self, demand: Array) -> list[tuple[int, int, float]]:
        """Slices of a demand, the widest first: (first, last, weight), counted from the top."""
        demand, top = demand.copy(), self.top
        demand[top:] = np.maximum.accumulate(demand[top:][::-1])[::-1]
        demand[: top + 1] = np.maximum.accumulate(demand[: top + 1])
        demand[top] = demand.max()
        levels = np.unique(np.append(demand, 0.0)).tolist()
        if len(levels) > self.most:
            levels = np.linspace(0.0, levels[-1], self.most).tolist()
        inside = [np.flatnonzero(demand > low) - top for low in levels[:-1]]
        return [(int(i[0]), int(i[-1]), b - a) for i, a, b in zip(inside, levels, levels[1:])]

    def _lay(self, first: int, last: int, mass: float, above: bool) -> float:
        """Hand a slice to where all of its nodes find supply, in equal parts; returns how much is left of its weight,
        0 where that does not count. above : for the second pair.

        A place of the slice gets the least supply on it, divided by the slice's width: all places that meet a node then
        ask for no more than it has.
        """
        k, width, middle = self.k, last - first + 1, self._middle
        begin, end = max(middle - k, 0), min(middle + k + 1, len(self._near))  # of the places
        before, after = max(-(begin + first), 0), max(end + last - len(self._near), 0)  # nodes outside, no supply
        here = slice(begin + first + before, end + last - after)
        factor, handed = (self.factor, self.handed_high) if above else (1.0, self.handed)
        supply = np.pad(self._near[here] / factor, (before, after))
        placed, each = np.zeros(end - begin), 1.0 / -(-width // self.stride)
        apart = (np.arange(begin, end) - middle + k) % self.stride > 0
        for _ in range(ROUNDS):
            more = each * _least(supply, width)
            if self.stride > 1:
                more[apart] = 0.0
            placed += more
            supply = np.maximum(supply - _covered(more, width), 0.0)
        total = float(placed.sum())
        share = min(1.0, mass / total) if total > 0 else 0.0
        self._near[here] -= share * (self._near[here] - factor * supply[before : len(supply) - after])
        reached = np.zeros(2 * k + 1)
        reached[begin + k - middle : end + k - middle] = share * placed
        handed.append((first, last, reached))
        left = mass - share * total
        return left if left > self.floor else 0.0

    def rates(self, above: bool = False) -> float:
        """Σ over shifts of the largest weight."""
        return float(self.by_shift(above)[1].max(axis=0, initial=0.0).sum())

    def by_shift(self, above: bool = False) -> tuple[Ints, Array]:
        """(shifts that are used, counted from k to the left on, what every node hands by each of them)."""
        slices, any_hands = self.handed_high if above else self.handed, np.zeros(2 * self.k + 1, dtype=bool)
        for _, _, weights in slices:
            any_hands |= weights != 0
        used = np.flatnonzero(any_hands)
        handed = np.zeros((len(self.demand), len(used)))
        for first, last, weights in slices:
            handed[self.top + first : self.top + last + 1] += weights[used]
        return used, handed

    def terms(self, above: bool = False) -> Terms:
        """All multipliers of one pair."""
        used, handed = self.by_shift(above)
        nodes, far = np.nonzero(handed)
        return used[far] - self.k, nodes + self.first, handed[nodes, far]


def proof_of(costs: Array, zero: int, terms: list[Terms], further: tuple[Terms, ...] = ()) -> Proof:
    """All multipliers, `further` those of the second pair; index 0 is at node `zero`."""
    far, nodes, weights = (np.concatenate(part) for part in zip(*terms))
    others = tuple((-far, nodes - zero, weights) for far, nodes, weights in further)
    return Proof(costs, -zero, -far, nodes - zero, weights, monotone=None, mirrored=False, further=others)


def whole_shift(y: Array, far: int) -> Terms:
    """Terms of a shift by a whole sensitivity."""
    used: Ints = np.flatnonzero(y)
    return np.full(len(used), far), used, y[used]


@dataclass
class _Peak:
    """Multipliers for one level on the whole line.

    high_part : share of the level of which the second pair hands on what nodes need beyond the rest.
    spare : (2k + 1,) what shifts may hand on for nothing, beyond T, None for nothing.
    right, left : (nodes,) of the shifts that hand a node's demand one sensitivity to the right and to the left.
    first, last : nodes of T.   slices : what hands on the rest, None where T is empty or too wide.   beyond : terms of
    other shifts that bring supply from the second sensitivity beyond T to the first.
    """

    lattice: _Lattice
    privacies: tuple[Privacy, ...]
    level: float
    high_part: float = 0.0
    spare: Array | None = None
    slices: Slices | None = field(default=None, init=False)
    beyond: list[Terms] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        costs, zero, k = self.lattice.costs, self.lattice.zero, self.lattice.k
        first, second = self.privacies[0], self.privacies[-1]
        self._decay = math.exp(-first.epsilon)
        self.right, self.left = np.zeros(len(costs)), np.zeros(len(costs))
        dear = np.flatnonzero(costs >= self.level)
        cut = int(np.searchsorted(dear, zero))
        if not 0 < cut < len(dear) or costs[zero] >= self.level:  # T is empty or has no end
            return
        self.first, self.last = int(dear[cut - 1]) + 1, int(dear[cut]) - 1
        if 2 * max(self.last - zero, zero - self.first) >= k:
            return
        need = self._chains()
        supply = self._decay * np.maximum(-need, 0.0)
        supply[k:] -= self.right[:-k]
        supply[:-k] -= self.left[k:]
        self._bring_nearer(supply)
        demand = need[self.first : self.last + 1]
        self.slices = Slices(
            np.maximum(supply, 0.0), self.first, demand, zero - self.first, k, floor=0.01 * UNMET * self.level,
            high=self._above[self.first : self.last + 1] if second is not first else None,
            factor=math.exp(second.epsilon - first.epsilon),
        )  # fmt: skip

    @property
    def unmet(self) -> float:
        """The largest demand that finds no supply."""
        return math.inf if self.slices is None else self.slices.unmet

    @property
    def _above(self) -> Array:
        """Demand of the second pair. (nodes,)"""
        above: Array = np.maximum(self.high_part * self.level - self.lattice.costs, 0.0)
        return above if self.high_part else np.zeros_like(above)  # node values may be below 0

    @property
    def most(self) -> float:
        """What a level proves if shifts serve nodes around the minimiser alike."""
        deltas, part = [pair.delta for pair in self.privacies], self.high_part
        return self.level * (1 - (1 - part) * deltas[0] - part * deltas[-1])

    @property
    def promise(self) -> float:
        """About what the multipliers prove."""
        if self.slices is None:
            return -math.inf
        paid = self.privacies[0].delta * float(self.right.max() + self.left.max() + self.slices.rates())
        return self.level - self.unmet - paid - self.privacies[-1].delta * self.slices.rates(above=True)

    @property
    def proof(self) -> Proof:
        """All multipliers."""
        k = self.lattice.k
        terms = [whole_shift(self.right, k), whole_shift(self.left, -k)]
        further: tuple[Terms, ...] = ()
        if self.slices is not None:
            terms += [*self.beyond, self.slices.terms()]
            further = (self.slices.terms(above=True),) if len(self.privacies) > 1 else ()
        return proof_of(self.lattice.costs, self.lattice.zero, terms, further)

    def _bring_nearer(self, supply: Array) -> None:
        """Hand what the second sensitivity beyond T can still take to the first, by every shift that leads there as
        much of it as is free."""
        k, spare = self.lattice.k, self.spare
        if spare is None:
            return
        for side, end in ((1, self.last), (-1, self.first)):
            near, free = end + side * np.arange(1, k + 1), spare[k + side * np.arange(1, k + 1)]
            ways = np.cumsum(free[::-1])[::-1]
            share = np.minimum(np.maximum(supply[near + side * k], 0.0) / np.where(ways > 0, ways, 1.0), 1.0)
            for far in (np.flatnonzero(free) + 1).tolist():
                nodes, weights = near[k - far :], free[far - 1] * share[:far]
                supply[nodes] += self._decay * weights
                self.beyond.append((np.full(far, side * far), nodes, weights))

    @property
    def spare_rates(self) -> Array | None:
        """What the slices hand on, at most, by every `SPARED`th shift from k to the left to k to the right, those of a
        whole sensitivity left out; None without slices. (2k + 1,)"""
        k = self.lattice.k
        if self.slices is None:
            return None
        used, handed = self.slices.by_shift()
        kept = (used - k) % SPARED == 0
        rates = np.zeros(2 * k + 1)
        rates[used[kept]] = handed[:, kept].max(axis=0, initial=0.0)
        rates[[0, -1]] = 0.0
        return rates

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
        need = self.level - costs - self._above - self.right - self.left
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


def _least(values: Array, width: int) -> Array:
    """min of so many values that follow one another, from every one on that has so many."""
    count = len(values) - width + 1
    least: Array = minimum_filter1d(values, width, mode="nearest")[width // 2 : width // 2 + count]
    return least


def _covered(weights: Array, width: int) -> Array:
    """Sums of the weights of all stretches of this width that hold a place; they begin at one place after another."""
    sums, count = np.cumsum(weights), len(weights)
    covered = np.full(count + width - 1, sums[-1])
    covered[:count] = sums
    covered[width:] -= sums[: count - 1]
    return covered
