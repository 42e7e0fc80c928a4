"""The program of one bound with all its terms, for the interior point method [rows.interior].

Unknowns, limits and what comes out are those of `program.ChannelProgram`; nothing is generated, so that a seed is of no
use, and points that no law shall release may be left out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..rows.interior import InteriorProgram, Limits
from .program import FurtherRows, Outcome

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class WholeProgram:
    """Arguments as for `ChannelProgram`; used : points that may be released, a mask with its mirror image in it."""

    def __init__(
        self,
        costs: Array,
        related: NDArray[np.bool_],
        amplification: float,
        delta: float,
        atom_costs: Array | None = None,
        further: FurtherRows | None = None,
        mirrored: bool = False,
        used: NDArray[np.bool_] | None = None,
    ) -> None:
        laws, points = costs.shape
        self._costs, self._related, self._delta, self._E = costs, related, delta, amplification
        self._mirrored, self._further = mirrored, further if further is not None else FurtherRows.none()
        used = np.ones(points, dtype=bool) if used is None else used
        self._used = np.flatnonzero(used)
        wide = points + 1  # of every law its atom comes last, so that a law's columns lie together
        flat = np.arange(laws)[:, None] * wide + np.arange(wide)[None, :]
        if mirrored:
            image = np.append(np.arange(points)[::-1], points)
            flat = np.minimum(flat, flat[::-1][:, image])
        present = np.zeros((laws, wide), dtype=bool)
        present[:, self._used] = True
        present[:, points] = atom_costs is not None
        names, index = np.unique(flat[present], return_inverse=True)
        self._column = np.full((laws, wide), -1)
        self._column[present] = index
        every = np.append(costs, np.zeros((laws, 1)) if atom_costs is None else atom_costs[:, None], axis=1)
        self._half = (laws + 1) // 2 if mirrored else laws
        law = names // wide
        counts = np.bincount(index, np.repeat(np.arange(laws), present.sum(axis=1)) == law[index], len(names))
        self._limits(law, counts.astype(float), len(names))
        self.program = InteriorProgram(np.bincount(index, every[present], len(names)).astype(float), self._rows)

    def _limits(self, law: Ints, counts: Array, columns: int) -> None:
        """Terms of all related pairs, one of two mirror images, and the further rows."""
        points = self._costs.shape[1]
        pairs = np.argwhere(self._related)
        pairs = pairs[pairs[:, 0] < self._half]
        events, covers = (self._column[pairs[:, side]][:, self._used] for side in (0, 1))
        kept = events != covers
        self._pairs = np.repeat(pairs, kept.sum(axis=1), axis=0)
        self._points = np.broadcast_to(self._used, events.shape)[kept]
        own = self._column[pairs[:, 0], points]
        atoms = own >= 0
        more = self._further
        every = np.append(self._column[:, :points].ravel(), self._column[:, points])
        at = every[more.columns]
        order = np.argsort(more.rows[at >= 0], kind="stable")
        rows, loose, values = (v[at >= 0][order] for v in (more.rows, at, more.values))
        sizes = np.concatenate([atoms, np.bincount(rows, minlength=len(more.limits))])
        terms = np.concatenate([kept.sum(axis=1), np.zeros(len(more.limits), dtype=np.int64)])
        self._privacy = len(pairs)
        self._limit_pairs = pairs
        self._rows = Limits(
            np.append(0, np.cumsum(terms)),
            np.append(np.full(len(pairs), self._delta), more.limits),
            np.append(0, np.cumsum(sizes)).astype(np.int64),
            np.append(own[atoms], loose),
            np.append(np.ones(int(atoms.sum())), values),
            law,
            counts,
            self._E,
            events[kept],
            covers[kept],
        )

    @property
    def terms(self) -> int:
        return len(self._points)

    @staticmethod
    def would_fit(related: NDArray[np.bool_], points: int, mirrored: bool) -> bool:
        """The system of such a program is not too large."""
        laws = np.arange(len(related))
        reach = int(np.where(related, np.abs(laws[:, None] - laws[None, :]), 0).max(initial=0)) + 1
        return InteriorProgram.fits(len(laws) * (points + 1) // (2 if mirrored else 1), reach * (points + 1))

    def solve(self, deadline: float, stop: Callable[[], bool], *, accuracy: float) -> Outcome | None:
        """None: there was nothing to show in time."""
        found = self.program.solve(deadline, stop, accuracy=accuracy)
        if found is None:
            return None
        points, x = self._costs.shape[1], np.append(np.maximum(found.x, 0.0), 0.0)
        masses, atoms = x[self._column[:, :points]], np.minimum(x[self._column[:, points]], self._delta)
        total = masses.sum(axis=1) + atoms
        masses, atoms = masses / total[:, None], atoms / total
        terms = self._pairs[:, 0], self._pairs[:, 1], self._points
        multipliers = self._further.multipliers(terms, found.terms, found.limits[self._privacy :], self._costs.size)
        rates = np.zeros(self._related.shape)
        rates[tuple(self._limit_pairs.T)] = found.limits[: self._privacy]
        return Outcome(masses, atoms, multipliers, self._active(rates), self.terms, found.status, rates)

    def _active(self, rates: Array) -> NDArray[np.bool_]:
        """Pairs of laws whose limit has a multiplier that counts."""
        active: NDArray[np.bool_] = rates > 1e-6 * rates.max(initial=0.0)
        return active | active[::-1, ::-1] if self._mirrored else active
