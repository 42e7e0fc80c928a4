"""A lower bound for monotone laws at small ε whose multipliers are a recursion [method: groups].

A monotone law that is nearly optimal is level from a place s to 0 and falls by e^ε per sensitivity on either side. It
is rounded to the ends of cells with 0 among them [Thm 10]. Multipliers of r_e ≤ r_(e + 1), e < −1, hand the demand of
the level stretch on to the last sensitivity before 0 at no cost; from there and from s on chains lead outwards as in
`chain`. Where a label of a sensitivity is short of the level and one further in is not, what it lacks is handed inwards
in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem import NoiseProblem
from ..search import bisection, least_argument
from .chain import MOST_ROUNDS, SEARCHED, Chain, Side, outward_weights
from .lattice import Array
from .lower import CELL, rounded_costs, rounding_lattice
from .step import Proof, Window, places_of

BEGINS = (0.8, 0.9, 1.0, 1.1, 1.2)
"""Where the level stretch begins is tried at these shares of where that of a law does."""

BEGUN = 1e-4
"""Relative accuracy of that place."""

NARROW = 4
"""A stretch of fewer sensitivities may begin anywhere there."""

PASSES = 3
"""Over what the level stretch hands on, which depends on what the rest hands to it."""


def applies(problem: NoiseProblem) -> bool:
    """One pair with δ > 0, monotony and a support, which are not even."""
    one = len(problem.privacies) == 1 and problem.budget is None and problem.privacy.delta > 0
    return one and problem.monotone and not problem.folds and problem.loss.continuous


def monotone_chain(problem: NoiseProblem, window: Window, k: int, begin: float) -> Chain | None:
    """The best multipliers with the level stretch left of 0; for one right of it ask for the mirror image.

    k : labels to the sensitivity, even.   begin : where the stretch of a good law begins, in sensitivities. None where
    an end of the support is within a sensitivity of 0 [Thm 9].
    """
    labels = _Labels.of(problem, window, k)
    if labels.events[0] > -k or labels.events[1] < k - 1:
        return None
    places = begin * np.array(BEGINS) if begin <= -NARROW else -np.arange(2 * NARROW + 1) / 2
    best = least_argument(lambda s: -labels.level(labels.at(s))[1], places, tolerance=BEGUN)
    s = labels.at(best)
    return Chain(labels.proof(s), s / k, len(labels.costs))


@dataclass(frozen=True)
class _Labels:
    """Labels of a problem, k to a sensitivity, and their costs; label e is number e − first. events : the first and
    the last.   ended : whether the support ends on the left, and on the right."""

    problem: NoiseProblem
    k: int
    first: int
    costs: Array
    events: tuple[int, int]
    ended: tuple[bool, bool]

    @staticmethod
    def of(problem: NoiseProblem, window: Window, k: int) -> _Labels:
        lattice = rounding_lattice(problem, k, 1, window, CELL)
        cells = places_of(problem, k, np.arange(lattice.first, lattice.last + 2, CELL))
        costs = rounded_costs(problem.paid_loss, problem, lattice, np.full(len(cells.indices) - 1, 0.5), cells)
        events, ended = (lattice.event_first, lattice.event_last), (not lattice.open_left, not lattice.open_right)
        return _Labels(problem, k, lattice.first, costs, events, ended)

    def at(self, begin: float) -> int:
        """The label where a stretch begins."""
        return min(0, max(self.events[0], round(begin * self.k)))

    def _sides(self, s: int) -> tuple[Array, Array]:
        """Costs of sensitivities outwards: left of label s, and right of 0."""
        low, high = self.events
        left = self.costs[low - self.first : s - self.first][::-1]
        return _means(left, self.k), _means(self.costs[-self.first : high + 1 - self.first], self.k)

    @property
    def _long(self) -> int:
        """How many of the classes of labels whole sensitivities apart have one label more than others on the right, up
        to an end of the support."""
        return (self.events[1] + 1) % self.k if self.ended[1] else 0

    def _rising(self, s: int, extra: float) -> Side:
        """The right side with the demand of the level stretch and some more, which a shift makes e^ε as large, before
        it. At an end of the support the last weights of all classes are the same."""
        k, E = self.k, self.problem.privacy.amplification
        stretch, right = self.costs[s - self.first : -self.first], self._sides(s)[1]
        side = Side.of(right, 1.0, self.problem.privacy.epsilon)
        before, paid = np.arange(len(stretch) + 1) * E / k, np.append(0.0, np.cumsum(stretch)) * E / k
        unit, drawn, growth = side.unit.copy(), side.drawn.copy(), side.growth.copy()
        share = self._long / k
        if share and 1 < len(right) == len(unit):
            unit[-1] += (1 - share) * (unit[-2] - unit[-1])
            drawn[-1] += (1 - share) * (drawn[-2] - drawn[-1])
            growth[-1] = 1 / (share / growth[-1] + (1 - share) / growth[-2])
        return Side(
            np.concatenate([before, before[-1] + unit]),
            np.concatenate([paid, paid[-1] + drawn - E * extra / k]),
            np.concatenate([np.zeros(len(before)), growth]),
        )

    def level(self, s: int, extra: float = 0.0) -> tuple[float, float]:
        """The best level for a stretch that begins at label s, and about what is proved."""
        privacy = self.problem.privacy
        left, right = Side.of(self._sides(s)[0], 1.0, privacy.epsilon), self._rising(s, extra)

        def short(level: float) -> bool:
            return privacy.delta * (left.largest(level)[1] + right.largest(level)[1]) < 1

        highest = float(self.costs.max())
        level = bisection(short, 0.0, highest, near=lambda a, b: b - a <= SEARCHED * b, rounds=MOST_ROUNDS)[0]
        return level, level - privacy.delta * (left.largest(level)[0] + right.largest(level)[0])

    def _outwards(self, right: Array, stretch: float, level: float) -> Array:
        """Weights right of 0, by sensitivity and class. (periods, k)"""
        E, k, long = self.problem.privacy.amplification, self.k, self._long

        def weights(more: float) -> Array:
            return outward_weights(np.append(right[0] - E * stretch / k - more, right[1:]), 1.0, level, E)

        all_ = weights(0.0)
        table = np.repeat(all_[:, None], k, axis=1)
        if long and len(all_) > 1 and all_.min() > 0:
            # Both classes start so that their last weights are equal, and the mean start is what it was.
            last, growth = len(all_) - 1, E ** (len(all_) - 1.0)
            apart = (all_[last] - all_[last - 1]) / (growth / k * ((k - long) + long / E))
            table[:, :long] = weights(-apart * (k - long) / k)[:, None]
            table[:, long:] = weights(apart * long / k)[:, None]
        return table

    def proof(self, s: int) -> Proof:
        k, costs, zero, E = self.k, self.costs, -self.first, self.problem.privacy.amplification
        low, high = self.events
        left, right = self._sides(s)
        out, back = np.zeros(len(costs)), np.zeros(len(costs))  # chains to the right, and to the left
        order, extra = np.zeros(len(costs)), 0.0  # `order`: what is handed inwards, at the label that takes it
        for _ in range(PASSES):
            level = self.level(s, extra)[0]
            back[low + zero : s + zero] = np.repeat(outward_weights(left, 1.0, level, E), k)[: s - low][::-1]
            stretch = extra + float(_handed(level - costs[s + zero : zero])[-1:].sum())
            rising = self._outwards(right, stretch, level)
            out[zero : zero + high + 1] = rising.ravel()[: high + 1]
            out[zero - k : zero] = 0.0
            order[zero + k - 1 : -1] = _handed(self._asked(level, out, back)[: zero + k - 1 : -1])[::-1]
            own = level - costs[zero : zero + k]
            own[-1] += order[zero + k - 1]
            out[zero - k : zero] = np.maximum(rising[0] - own, 0.0) / E
            order[1 : zero + 1] = _handed(self._asked(level, out, back)[:zero])
            extra += float(order[zero])  # what arrives at 0 has to go on
        order[zero] = 0.0
        # an open end's label also holds what lies beyond, so it may outweigh its neighbour
        order[1] *= self.ended[0]
        order[-2] *= self.ended[1]
        shifts = np.repeat([-k, k], len(costs))
        places = np.tile(np.arange(self.first, self.first + len(costs)), 2)
        weights = np.concatenate([out, back])
        used = weights > 0
        return Proof(costs, self.first, shifts[used], places[used], weights[used], order, False)

    def _asked(self, level: float, out: Array, back: Array) -> Array:
        """What labels are short of the level. (labels,)"""
        k, E = self.k, self.problem.privacy.amplification
        covered = np.zeros(len(out))
        covered[k:] += out[:-k]
        covered[:-k] += back[k:]
        asked: Array = level - self.costs - out - back + E * covered
        return asked


def _handed(asked: Array) -> Array:
    """What each label hands on to the next so that none is short: its own demand with what was handed to it."""
    sums = np.cumsum(asked)
    handed: Array = sums - np.minimum(np.minimum.accumulate(np.append(0.0, sums[:-1])), sums)
    return handed


def _means(costs: Array, k: int) -> Array:
    """Of k costs each; of the last so many as there are."""
    starts = np.arange(0, len(costs), k)
    means: Array = np.add.reduceat(costs, starts) / np.diff(starts, append=len(costs))
    return means
