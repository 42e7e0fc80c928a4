"""Channels that release the truth with probability δ and else one of a few points, each likelier by e^ε for the true
values of an interval: at large ε the best ones are nearly of this kind.

Let q_j(a) = E^(−⌈distance of law a to interval j / k⌉), cells counted, so that q_j(a) ≤ E q_j(a′) for all related laws.
If Σ_j z_j q_j(a) = 1 − δ for every law a, releasing the point b_j with probability z_j q_j(a), and f itself with δ,
falls short by the atom alone: it is (ε, δ)-DP [docs/data_dependent.md, Thm 8]. The best z ≥ 0 is a linear program
with one row per law, so grids can be fine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..lp import LinearProgram

Array = NDArray[np.float64]

USED = 1e-9
"""Weights of intervals below this are rounding."""


@dataclass(frozen=True)
class IntervalChannel:
    """masses : (n, n), rows add up to 1 − δ.   longest : laws of the longest interval that is used."""

    masses: Array
    longest: int


def best_intervals(
    costs: Array,
    reach: int,
    amplification: float,
    delta: float,
    longest: int,
    deadline: float,
    stop: Callable[[], bool],
) -> IntervalChannel | None:
    """The best mixture on intervals of at most `longest` laws, None without time.   costs : (n, n), one law per point.
    reach : cells that count as within the sensitivity."""
    n = len(costs)
    profiles, least, points = (np.concatenate(v) for v in zip(*_profiles(costs, reach, amplification, longest)))
    lp = LinearProgram()
    lp.add_rows(1 - delta, np.full(n, 1 - delta), starts=np.zeros(n), columns=(), values=())
    scale = float(least.mean()) or 1.0
    starts = np.arange(len(profiles)) * n
    lp.add_columns(
        least / scale, starts=starts, rows=np.tile(np.arange(n), len(profiles)), values=profiles.ravel()
    )  # fmt: skip
    if lp.run(deadline, stop) != "optimal":
        return None
    z = lp.primal()
    used = np.flatnonzero(z > USED)
    masses = np.zeros((n, n))
    np.add.at(masses.T, points[used], z[used, None] * profiles[used])
    masses *= (1 - delta) / masses.sum(axis=1, keepdims=True)
    return IntervalChannel(masses, int((profiles[used] == 1).sum(axis=1).max()))


def _profiles(
    costs: Array, reach: int, amplification: float, longest: int
) -> list[tuple[Array, Array, NDArray[np.int64]]]:
    """q_j, its least cost and the point that has it, of all intervals of every length."""
    n, law = len(costs), np.arange(len(costs))
    found = []
    for length in range(1, min(longest, n) + 1):
        first = np.arange(n - length + 1)[:, None]
        apart = np.maximum(np.maximum(first - law, law - first - length + 1), 0)
        q = amplification ** -np.ceil(apart / reach)
        at_points = q @ costs
        found.append((q, at_points.min(axis=1), at_points.argmin(axis=1)))
    return found
