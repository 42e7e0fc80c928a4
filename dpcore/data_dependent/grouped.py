"""The program of a lower bound in which many pairs of laws share one rate λ.

With λ equal over a block of pairs (laws next to each other, at nearly the same distance) all release points stay, and
all multipliers y are free below λ; the dual is Theorem 3's, restricted. Only the limits become few: one for each
block, the sum of its pairs'. Then the points are systems of their own, joined by so few rows that grids half as fine
again are solved in the time of the whole program. Nothing is believed: the referee takes y as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..rows.interior import InteriorProgram, Limits
from .program import FurtherRows, Outcome

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARED = 1e-9
"""Multipliers below this share of the largest are left out."""


class GroupedProgram:
    """costs : (n, n), one law per point.   related : (n, n), those within `reach`.   distances, laws : of a block.

    Mirrored: the points up to the middle stand for all, a law and its mirror image for each other. With the middle
    point, if there is one, counted half, nothing else changes.
    """

    def __init__(
        self, costs: Array, related: NDArray[np.bool_], amplification: float, delta: float, reach: int,
        mirrored: bool, *, distances: int, laws: int,
    ) -> None:  # fmt: skip
        n = len(costs)
        self._costs, self._mirrored, self._related = costs, mirrored, related
        self._points = (n + 1) // 2 if mirrored else n
        law = np.arange(n)
        image = np.minimum(law, law[::-1]) if mirrored else law
        pairs = np.argwhere(related)
        blocks = _blocks(pairs, n, reach, distances, laws, mirrored)
        pairs, blocks = pairs[np.argsort(blocks, kind="stable")], np.sort(blocks)
        self._pairs, self._block = pairs, blocks
        count = np.bincount(blocks)
        at = np.arange(self._points) * n
        events, covers = ((pairs[:, side, None] + at).ravel() for side in (0, 1))
        nothing = np.zeros(0)
        limits = Limits(
            np.append(0, np.cumsum(count)) * self._points,
            (count * (delta / 2 if mirrored else delta)).astype(np.float64),
            np.zeros(len(count) + 1, dtype=np.int64),
            nothing.astype(np.int64),
            nothing,
            np.tile(image, self._points),
            np.tile(np.where(mirrored & (law == law[::-1]), 2.0, 1.0), self._points),
            amplification,
            events,
            covers,
        )
        self.program = InteriorProgram(costs[:, : self._points].T.ravel(), limits, part=n)

    @property
    def limits(self) -> int:
        return len(self.program.limits.most)

    def solve(self, deadline: float, stop: Callable[[], bool], *, accuracy: float) -> Outcome | None:
        """None: there was nothing to show in time."""
        found = self.program.solve(deadline, stop, accuracy=accuracy)
        if found is None:
            return None
        n, points = len(self._costs), self._points
        half = np.maximum(found.x, 0.0).reshape(points, n).T
        masses = np.zeros((n, n))
        masses[:, :points] = half
        y = found.terms.reshape(-1, points)
        if self._mirrored:
            if n % 2:
                y[:, -1] *= 0.5
            masses += masses[::-1, ::-1]
        pair, point = np.nonzero(y > SHARED * y.max(initial=0.0))
        weights, (events, covers) = y[pair, point], self._pairs[pair].T
        if self._mirrored:
            events, covers, point = (np.append(i, n - 1 - i) for i in (events, covers, point))
            weights = np.tile(weights, 2)
        masses /= masses.sum(axis=1, keepdims=True)
        rates = np.zeros((n, n))
        rates[tuple(self._pairs.T)] = found.limits[self._block]
        multipliers = FurtherRows.none().multipliers((events, covers, point), weights, np.zeros(0), masses.size)
        terms = len(self.program.limits.events)
        return Outcome(masses, np.zeros(n), multipliers, self._related, terms, found.status, rates)


def _blocks(pairs: Ints, n: int, reach: int, distances: int, laws: int, mirrored: bool) -> Ints:
    """The block of every pair, numbered from 0: of so many laws, at so many distances in one direction. The largest
    distance is by itself, since its rates are larger. Mirror images share a block."""
    law, apart = pairs[:, 0], pairs[:, 1] - pairs[:, 0]
    if mirrored:
        behind = 2 * law > n - 1
        law, apart = np.where(behind, n - 1 - law, law), np.where(behind, -apart, apart)
        apart = np.where(2 * law == n - 1, np.abs(apart), apart)
    far = np.where(np.abs(apart) == reach, reach, (np.abs(apart) - 1) // distances)
    label = (law // laws * (reach + 1) + far) * 2 + (apart > 0)
    found: Ints = np.unique(label, return_inverse=True)[1]
    return found
