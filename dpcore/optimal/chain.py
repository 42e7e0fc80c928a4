"""A lower bound from nodes a sensitivity apart whose multipliers are a recursion, not a program's [method: groups].

Where ε is small, the optimum rises from one end by e^ε per sensitivity and falls in the same way towards the other.
Such a law meets the shift D with equality for all events left of its peak, and the shift −D for those right of it.
So let s be where the peak is and W a level. The least weights y_i ≥ 0 with C_i + y_i − E y_(i+1) ≥ W at all nodes i up
to s are y_i = max(0, W − C_i + E y_(i+1)), and so on the other side; Thm 3 then gives V ≥ W − δ (max y + max y′). The
best W for s is where the derivative of this concave function changes sign; the best s is searched for. A program's
tolerances play no part, so that supports with an end near the minimum, where densities near δ/D decide, do as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import least_argument
from .lattice import NOT_ZERO, Array, Ints, Lattice
from .lower import rounded_costs, rounding_lattice
from .step import Proof, Window, origin_of

LARGEST = 600.0
"""Exponents of e beyond which floats would overflow."""

SEARCHED = 1e-7
"""Relative accuracy of the level, and of the place of the peak in nodes: a proof hardly tells more apart."""

LESS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)
"""The level is lowered by one of these shares: the best one may be the largest at which weights fall again where costs
have risen. Then they fall slowly, perhaps not to 0 before the last node, and what rounding adds to them grows."""

MOST_ROUNDS, LEAST_LEVEL = 128, 2.0**-128
"""Most rounds of the search for a level, which may be 0: one below this share of the largest cost is as good."""

PLACES = 25
"""Places of the peak tried first."""


def applies(problem: NoiseProblem) -> bool:
    """One pair with δ > 0 and nothing but a support besides."""
    return len(problem.privacies) == 1 and problem.budget is None and not problem.monotone


@dataclass(frozen=True)
class Side:
    """One side of a peak: nodes outwards from it, the first one counted with a share.

    unit, drawn : (n,) sums of the shares, and of what they cost, each divided by e^ε per node.   growth : (n,) that
    factor. W·unit − drawn, less what it was where it was least, times the growth is the weight.
    """

    unit: Array
    drawn: Array
    growth: Array

    @classmethod
    def of(cls, costs: Array, share: float, epsilon: float) -> Side:
        costs = costs[: int(min(len(costs), LARGEST / max(epsilon, NOT_ZERO)))]
        fall = np.exp(-epsilon * np.arange(len(costs)))
        shares = fall.copy()
        shares[:1] *= share
        return cls(np.cumsum(shares), np.cumsum(shares * costs), 1 / fall)

    def largest(self, level: float) -> tuple[float, float]:
        """(largest weight, its derivative)."""
        if not self.unit.size:
            return 0.0, 0.0
        sums = level * self.unit - self.drawn
        least = np.minimum(np.minimum.accumulate(sums), 0.0)
        weights = (sums - least) * self.growth
        at = int(np.argmax(weights))
        from_zero = int(np.argmin(sums[: at + 1]))
        before = float(self.unit[from_zero]) if sums[from_zero] < 0 else 0.0
        return float(weights[at]), float((self.unit[at] - before) * self.growth[at])


def outward_weights(costs: Array, share: float, level: float, amplification: float) -> Array:
    """The recursion outwards from the peak."""
    out, before = [], 0.0
    for cost in costs.tolist():
        before = max(0.0, share * (level - cost) + amplification * before)
        share = 1.0
        out.append(before)
    return np.array(out)


@dataclass(frozen=True)
class Chain:
    """Multipliers on nodes, and where the peak is, in sensitivities."""

    proof: Proof
    peak: float
    nodes: int

    def largest(self, sign: int) -> float:
        """The largest multiplier of shifts with a sign."""
        return float(self.proof.weights[np.sign(self.proof.shifts) == sign].max(initial=0.0))


def chain_proof(problem: NoiseProblem, window: Window, peak: float, near: float) -> Chain:
    """The best multipliers on nodes one sensitivity apart, the peak within `near` of a place; all in sensitivities."""
    lattice = rounding_lattice(problem, 1, 0, window)
    costs = rounded_costs(problem.paid_loss, problem, lattice, np.full(len(lattice.indices) - 1, 0.5))
    start = origin_of(problem) / problem.sensitivity
    found = chain_on(lattice, costs, problem.privacy, None if problem.folds else (peak - start, near))
    return replace(found, peak=found.peak + start)


def chain_on(lattice: Lattice, costs: Array, privacy: Privacy, around: tuple[float, float] | None) -> Chain:
    """The same on nodes with these costs, the peak in nodes from index 0.

    around : (place, how far from it) where the peak may be; None: in the middle of node 0.
    """
    epsilon, delta = privacy.epsilon, privacy.delta
    events = costs[lattice.event_first - lattice.first : lattice.event_last - lattice.first + 1]
    highest = float(costs.max())

    def sides(s: float) -> tuple[int, float, Side, Side]:
        at = int(np.clip(math.floor(s) - lattice.event_first, 0, len(events) - 1))
        share = float(np.clip(s - lattice.event_first - at, 0.0, 1.0))
        left, right = events[at::-1], events[at:]
        return at, share, Side.of(left, share, epsilon), Side.of(right, 1 - share, epsilon)

    def masses(left: Side, right: Side) -> tuple[float, float, float]:
        """The best level, and what the law has on either side of the peak: the derivatives of the weights."""

        def cost(level: float) -> tuple[float, float]:
            """What both largest weights cost, and the derivative."""
            (one, rise), (two, fall) = left.largest(level), right.largest(level)
            return delta * (one + two), delta * (rise + fall)

        level = _turn(cost, highest)
        return level, left.largest(level)[1], right.largest(level)[1]

    def value(s: float) -> float:
        left, right = sides(s)[2:]
        level = masses(left, right)[0]
        return level - delta * (left.largest(level)[0] + right.largest(level)[0])

    s = 0.5
    if around is not None:
        (place, near), first, last = around, lattice.event_first, lattice.event_last + 1.0
        low, high = max(first, place - near), min(last, place + near)
        s = least_argument(lambda t: -value(t), np.linspace(low, high, PLACES), tolerance=SEARCHED)
    at, share, left, right = sides(s)
    level, best, ups, downs = masses(left, right)[0], -math.inf, np.empty(0), np.empty(0)
    # What the nodes cost that cover the outermost events and are none.
    border_left = float(costs[0]) if lattice.first < lattice.event_first else math.inf
    border_right = float(costs[-1]) if lattice.last > lattice.event_last else math.inf
    for less in LESS:
        tried, E = level * (1 - less), privacy.amplification
        y, z = outward_weights(events[at::-1], share, tried, E), outward_weights(events[at:], 1 - share, tried, E)
        bound = min(tried, border_left - E * float(y[-1]), border_right - E * float(z[-1]))
        bound -= delta * float(y.max() + z.max())
        if bound > best:
            best, ups, downs = bound, y, z
    node = lattice.event_first + at
    shifts = np.repeat(np.array([1, -1]), [len(ups), len(downs)])
    places = np.concatenate([node - np.arange(len(ups)), node + np.arange(len(downs))])
    proof = Proof(costs, lattice.first, shifts, places, np.concatenate([ups, downs]), None, False)
    return Chain(proof, s, len(costs))


def _turn(cost: Callable[[float], tuple[float, float]], most: float) -> float:
    """Where the derivative of a convex function of straight pieces passes 1, between 0 and `most`; from below. cost :
    (value, derivative). By where the tangents at both ends meet, or halves."""
    low, high, before = 0.0, most, math.inf
    ends = [cost(low), cost(high)]
    for _ in range(MOST_ROUNDS if ends[0][1] < 1 else 0):
        width, step = high - low, 0.5 * SEARCHED * high
        if width <= 2 * step or high <= max(LEAST_LEVEL * most, ends[0][0]):  # nothing is left, at all or to prove
            break
        (one, rise), (two, climb) = ends
        middle = 0.5 * (low + high)
        if width <= 0.5 * before and rise < climb < math.inf:
            middle = min(max(low + (climb * width - (two - one)) / (climb - rise), low + step), high - step)
        before, found = width, cost(middle)
        low, high, ends = (middle, high, [found, ends[1]]) if found[1] < 1 else (low, middle, [ends[0], found])
    return low


HALVINGS = 34
"""How often the interval that holds the levels of the classes is halved."""

FACTORS, TOLD, FEW_NODES = (0.8, 1.0, 1.25, 1.6, 2.0), 0.02, 20_000
"""Multiples of the chain's largest weights that classes try first, how exactly the best one is told, and on how many
nodes at most it is looked for."""


def classes_proof(problem: NoiseProblem, window: Window, chain: Chain, k: int, *, searched: bool = True) -> Chain:
    """As `chain_proof`, which made the chain, from k nodes per sensitivity, a power of 2 [method: groups].

    Nodes whole sensitivities apart form a class. Every class has a chain of its own with the same largest weights and a
    level W_t of its own; what one class has beyond the mean of two is handed to the other, by weights that are the same
    at all nodes, for shifts of ½, ¼, … of the sensitivity. They cost δ times their sum. A law on a single class, which
    the first nodes of a support with an end favour, is then no better than one on all. The chain's largest weights are
    right for its own class; a multiple of them, which takes some tenths of a second to find, may be better for all
    (`searched`).
    """
    ups, downs, E = chain.largest(1), chain.largest(-1), problem.privacy.amplification
    epsilon, delta = problem.privacy.epsilon, problem.privacy.delta
    lattice = rounding_lattice(problem, k, 0, window)
    costs = rounded_costs(problem.paid_loss, problem, lattice, np.full(len(lattice.indices) - 1, 0.5))
    # A period to a row; what is missing in the last row costs so much that it does not matter. Nodes that are no events
    # have no weights.
    nodes, missing = lattice.indices, -len(lattice.indices) % k
    inside = (nodes >= lattice.event_first) & (nodes <= lattice.event_last)
    weighed = np.append(inside, np.zeros(missing, dtype=bool)).reshape(-1, k)

    def filled(factor: float) -> Array:
        beyond = np.full(missing, 4 * (float(costs.max()) + E * factor * max(ups, downs)))
        return np.append(costs, beyond).reshape(-1, k)

    def levels(factor: float) -> Array:
        table, low, high = filled(factor), np.zeros(k), np.full(k, float(costs.max()))
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            fits = _meet(table, weighed, middle, factor * ups, factor * downs, epsilon)[0]
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return low

    def worse(factor: float) -> float:
        level, handed = _handed(levels(factor), E)
        return delta * (factor * (ups + downs) + sum(each for *_, each in handed)) - level

    factor = 1.0
    if searched and len(nodes) <= FEW_NODES:
        factor = least_argument(worse, FACTORS, tolerance=TOLD)
    table, found = filled(factor), levels(factor)
    _, peak, start = _meet(table, weighed, found, factor * ups, factor * downs, epsilon)
    y, z = _outwards(table, found, peak, start, E)
    y, z = y.ravel()[: len(nodes)], z.ravel()[: len(nodes)]
    shifts, events, weights = [], [], []
    for sign, values in ((k, y), (-k, z)):
        used = (values > 0) & inside
        shifts.append(np.full(int(used.sum()), sign))
        events.append(nodes[used])
        weights.append(values[used])
    residues = np.arange(len(nodes)) % k
    for a, b, each in _handed(found, E)[1]:
        mine = nodes[inside & (residues == a)]
        shifts.append(np.full(len(mine), a - b))
        events.append(mine)
        weights.append(np.full(len(mine), each))
    proof = Proof(
        costs, lattice.first, np.concatenate(shifts), np.concatenate(events), np.concatenate(weights), None, False
    )
    return Chain(proof, chain.peak, len(costs))


def _handed(levels: Array, E: float) -> tuple[float, list[tuple[int, int, float]]]:
    """(the least level at the end, (to which class, from which, how much) of all that is handed over)."""
    k, levels, handed = len(levels), levels.copy(), []
    step = k // 2
    while step:
        for a in range(k):
            b = a ^ step
            if levels[a] < levels[b]:
                each = float(levels[b] - levels[a]) / (1 + E)
                handed.append((a, b, each))
                levels[a] = levels[b] = levels[a] + each
        step //= 2
    return float(levels.min()), handed


def _meet(
    table: Array, weighed: NDArray[np.bool_], levels: Array, ups: float, downs: float, epsilon: float
) -> tuple[Array, Ints, Array]:
    """(whether, at which period and with which weight the chains from both ends meet), per class. table : (periods,
    classes).   weighed : like it, which nodes may have weights; the others are handed nothing, so they have to be worth
    the highest level."""
    asked: Array = np.where(weighed, levels, levels.max())
    left = _reach(table, asked, np.where(weighed, ups, 0.0), epsilon)
    right = _reach(table[::-1], asked[::-1], np.where(weighed, downs, 0.0)[::-1], epsilon)[::-1]
    last, own = len(table) - 1, np.arange(table.shape[1])
    ends_left, ends_right = table + left < asked, table + right < asked
    stop = np.where(ends_left.any(axis=0), ends_left.argmax(axis=0), last + 1)
    back = np.where(ends_right.any(axis=0), last - ends_right[::-1].argmax(axis=0), -1)
    at = np.minimum(stop, last)
    both = table[at, own] + left[at, own] + right[at, own] >= asked[at, own]
    return (back < stop) | ((back == stop) & both), at, np.maximum(left[at, own], 0.0)


def _reach(table: Array, levels: Array, most: Array, epsilon: float) -> Array:
    """The largest weights y ≤ most with y_(n + 1) ≤ (c_n − W + y_n)/E, from the first period on. (periods, classes)
    each"""
    n = np.arange(len(table))[:, None]
    growth = np.exp(epsilon * (n - n[-1]))
    sums = np.concatenate([np.zeros((1, table.shape[1])), np.cumsum(growth * (table - levels), axis=0)[:-1]])
    found: Array = (sums + np.minimum.accumulate(most * growth - sums, axis=0)) / growth
    return found


def _outwards(table: Array, levels: Array, peak: Ints, start: Array, E: float) -> tuple[Array, Array]:
    """The least weights on either side of each class's peak, `start` being that of its node on the left side."""
    left, right = np.zeros_like(table), np.zeros_like(table)
    own = np.arange(table.shape[1])
    left[peak, own] = np.minimum(start, np.maximum(levels - table[peak, own], 0.0))
    right[peak, own] = np.maximum(levels - table[peak, own] - left[peak, own], 0.0)
    for n in range(int(peak.max()) - 1, -1, -1):
        fresh = np.maximum(levels - table[n] + E * left[n + 1], 0.0)
        left[n] = np.where(n < peak, fresh, left[n])
    for n in range(int(peak.min()) + 1, len(table)):
        fresh = np.maximum(levels - table[n] + E * right[n - 1], 0.0)
        right[n] = np.where(n > peak, fresh, right[n])
    return left, right
