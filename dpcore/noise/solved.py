"""Solved laws and their neighbours: pairs of laws cell by cell, and the tight pair of all shifts, rounded up.

No shift of a solved law is the worst one at every ε. H(ε) of each candidate is the largest of the lines A − e^ε B, with
A = P{L > τ} and B = Q{L > τ}, so the largest H is the upper envelope of all their lines: the concave chain of the
points (B, A), each edge of which is one value of the loss, ln of its slope. With every shift goes the opposite one, so
losses below 0 mirror those above [one mechanism: All shifts].

Rounding: where a line counts, e^ε B ≤ A, so what A and B may be off is less than twice that share of A. Every A is
raised by it; a loss is raised by what its logarithm may be off, and probabilities by what adding them up again is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..loss import UNIT
from ..pair import FinitePair
from .base import Array, Noise

SAME = 1e-12
"""Losses that differ by less, relative or absolute, count as the larger of them."""


class SolvedNoise(Noise):
    """A law of finitely many numbers, which has no worst shift."""

    cell_error = 0.0
    """Relative error of the probabilities in `outcomes`."""

    @property
    @abstractmethod
    def is_symmetric(self) -> bool: ...

    @property
    @abstractmethod
    def own_sensitivity(self) -> float:
        """The sensitivity that the law was made for; of laws on a lattice its step."""

    @abstractmethod
    def units(self, distance: float) -> float:
        """A distance in units of the law."""

    @abstractmethod
    def shifts(self, limit: int) -> Sequence[int]:
        """The shifts in (0, limit], in units, among which the worst one is at every ε, rising."""

    @abstractmethod
    def outcomes(self, shift: float) -> tuple[Array, Array]:
        """Probabilities of what both laws tell apart, under the law and under the law moved by `shift` units."""

    def pair(self, shift: float) -> FinitePair:
        return FinitePair.of(*self.outcomes(self.units(shift)))

    def attack_shift(self, sensitivity: float) -> float:
        return sensitivity

    def dominating_pair(self, sensitivity: float) -> FinitePair:
        """A pair that is at least as far apart as that of any shift."""
        return _dominating_pair(self, sensitivity)


@lru_cache(maxsize=64)
def _dominating_pair(noise: SolvedNoise, sensitivity: float) -> FinitePair:
    """The tight pair of all shifts up to the sensitivity; its δ(ε), at every ε ≥ 0, is the audited one, rounded up.
    Large shifts, which leave little to the others, come first."""
    chain, limit = np.zeros((1, 2)), math.ceil(noise.units(sensitivity) * (1 - 4 * UNIT))
    signs = (1,) if noise.is_symmetric else (1, -1)
    for shift in (sign * size for size in reversed(noise.shifts(limit)) for sign in signs):
        points = _rise(*noise.outcomes(shift), 2 * noise.cell_error)
        higher = points[:, 1] > np.interp(points[:, 0], *chain.T)
        if higher.any():
            chain = concave_chain(np.concatenate([chain, points[higher]]))
    return pair_of(chain)


def _rise(own: Array, other: Array, error: float) -> Array:
    """The points (Q{L > τ}, P{L > τ}) at τ ≥ 0, by rising τ^−1, (n, 2); A raised by what cells (a relative `error`
    of both in all) and sums (n·u of either) are off."""
    gains = own > other
    own, other = own[gains], other[gains]
    with np.errstate(divide="ignore"):
        order = np.argsort(-own / other)
    lift = 1 + error + (4 * len(own) + 64) * UNIT
    return np.column_stack([np.cumsum(other[order]), np.cumsum(own[order]) * lift])


def concave_chain(points: Array) -> Array:
    """The corners of the concave upper envelope of points (B, A), by rising B [Andrew's monotone chain]."""
    points = points[np.lexsort((-points[:, 1], points[:, 0]))]
    highest = np.maximum.accumulate(points[:, 1])
    points = points[np.append(True, points[1:, 1] > highest[:-1])]
    chain: list[tuple[float, float]] = []
    for x, y in points.tolist():
        while len(chain) > 1:
            (a, b), (c, d) = chain[-2:]
            if (d - b) * (x - a) > (y - b) * (c - a):
                break
            chain.pop()
        chain.append((x, y))
    return np.array(chain)


def pair_of(chain: Array) -> FinitePair:
    """The pair whose H is the envelope of the lines of a chain's corners, rounded up."""
    infinite = float(chain[0, 1])
    other, own = np.diff(chain, axis=0).T
    gains = own > other * (1 + SAME)  # a loss of 0 but for rounding joins the rest; what it adds to H, the other losses
    left = 2 * math.fsum(np.maximum(own - other, 0.0)[~gains])
    own, other = own[gains], other[gains]
    logs = np.log(own), np.log(other)
    losses = logs[0] - logs[1] + 8 * UNIT * (1 - logs[0] - logs[1])  # of numbers below 1: both are negative
    if len(losses):
        losses = np.maximum.accumulate(losses[::-1])[::-1]
        starts = np.flatnonzero(np.append(True, losses[:-1] - losses[1:] > SAME * np.maximum(1.0, losses[1:])))
        losses, own, other = losses[starts], np.add.reduceat(own, starts), np.add.reduceat(other, starts)
        lift = 1 + (8 * len(losses) + 2 * losses[0] + 64) * UNIT
        own, infinite = own * lift, infinite * lift
        own[-1] += left / -math.expm1(-losses[-1])
    else:
        infinite += left
    rest = max(1 - infinite - math.fsum(own) - math.fsum(other), 0.0)
    found = (
        np.concatenate([[math.inf], losses, [0.0], -losses[::-1], [-math.inf]]),
        np.concatenate([[infinite], own, [rest], other[::-1], [0.0]]),
        np.concatenate([[0.0], other, [rest], own[::-1], [infinite]]),
    )
    used = (found[1] > 0) | (found[2] > 0)
    return FinitePair(*(values[used] for values in found))
