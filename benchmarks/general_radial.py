"""What radial laws would gain that need not fall outwards: an estimate, on shells, under a few shifts.

    python -m benchmarks.general_radial

Two linear programs on the same shells. One asks that the density falls, so that the largest shift alone counts; the
other asks that of no law and has rows for some shifts only, a relaxation: on these shells the gain is at most what is
printed, up to quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, vstack

from dpcore.isotropic.geometry import beyond

NODES = 24
"""Nodes of the quadrature in a shell."""

SHIFTS = (1.0, 0.9375, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25)


class Asked(NamedTuple):
    """E|X|^power under shells of width 1/per out to reach."""

    dimension: int
    epsilon: float
    delta: float
    power: float
    per: int
    reach: float
    shifts: Sequence[float] = SHIFTS


ASKED = (
    Asked(1, 5.0, 0.2, 1, 16, 2.5), Asked(1, 3.0, 0.3, 1, 16, 2.5), Asked(2, 2.0, 0.2, 1, 12, 3.0),
    Asked(2, 5.0, 0.2, 1, 16, 2.5), Asked(2, 3.0, 0.3, 1, 16, 2.5), Asked(2, 8.0, 0.3, 1, 16, 2.0),
    Asked(2, 5.0, 0.01, 2, 16, 3.0), Asked(2, 1.0, 0.01, 2, 6, 8.0), Asked(3, 5.0, 0.2, 1, 16, 2.5),
    Asked(10, 5.0, 0.01, 2, 8, 4.5, (1.0, 0.75, 0.5)),
)  # fmt: skip


def least(asked: Asked, shifts: Sequence[float], *, falling: bool) -> float:
    """The least loss of a law on shells and an atom: slacks z ≥ p_i − e^ε (v_i/v_j) p_j for pairs of shells in reach,
    Σ P(i → j) z_ij + what leaves all shells + the atom ≤ δ for every shift."""
    d, n = asked.dimension, round(asked.per * asked.reach)
    edges = np.arange(n + 1) / asked.per
    volumes = np.diff(edges**d)
    x, w = np.polynomial.legendre.leggauss(NODES)
    radii = edges[:-1, None] + np.diff(edges)[:, None] * 0.5 * (x + 1)
    weights = w * radii ** (d - 1)
    weights /= weights.sum(axis=1, keepdims=True)
    own, other, moved, limit, outside = [], [], [], [], np.ones((len(shifts), n + 1))
    for number, shift in enumerate(shifts):
        past = np.stack([(weights * beyond(d, radii, edge, shift)).sum(axis=1) for edge in edges], axis=1)
        landed = past[:, :-1] - past[:, 1:]
        i, j = np.nonzero((landed > 1e-9) & ~np.eye(n, dtype=bool))
        own.append(i)
        other.append(j)
        moved.append(landed[i, j])
        limit.append(np.full(len(i), number))
        outside[number, :n] = past[:, -1]
    i, j, share, of = (np.concatenate(part) for part in (own, other, moved, limit))
    count = len(i)
    slack, total = n + 1 + np.arange(count), n + 1 + count
    cover = -math.exp(asked.epsilon) * volumes[i] / volumes[j]
    rows, columns = np.tile(np.arange(count), 3), np.concatenate([i, j, slack])
    values = np.concatenate([np.ones(count), cover, -np.ones(count)])
    blocks = [coo_array((values, (rows, columns)), shape=(count, total))]
    sums = coo_array((share, (of, slack)), shape=(len(shifts), total)).tolil()
    sums[:, : n + 1] = outside
    blocks.append(sums.tocoo())
    most = np.concatenate([np.zeros(count), np.full(len(shifts), asked.delta)])
    if falling:
        at = np.arange(n - 1)
        steps = np.concatenate([-np.ones(n - 1), volumes[:-1] / volumes[1:]])
        blocks.append(coo_array((steps, (np.tile(at, 2), np.concatenate([at, at + 1]))), shape=(n - 1, total)))
        most = np.append(most, np.zeros(n - 1))
    costs = np.zeros(total)
    costs[:n] = d / (d + asked.power) * np.diff(edges ** (d + asked.power)) / volumes
    law = np.zeros((1, total))
    law[0, : n + 1] = 1.0
    rows_of_all: Any = csr_array(vstack(blocks))  # the types know no sparse rows
    return float(linprog(costs, rows_of_all, most, law, [1.0], method="highs").fun)


def main() -> None:
    for asked in ASKED:
        falling, free = least(asked, (1.0,), falling=True), least(asked, asked.shifts, falling=False)
        print(
            f"d = {asked.dimension}, ({asked.epsilon:g}, {asked.delta:g}), E|X|^{asked.power:g}: "
            f"falling {falling:.5f}, any {free:.5f}: gain at most {100 * (falling / free - 1):.3f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
