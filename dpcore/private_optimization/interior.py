"""A second opinion for convex quadratic programs: a primal-dual interior-point method [Mehrotra 1992].

HiGHS' active-set method gives up on about one small degenerate program in a hundred. Dense linear algebra, for programs
of up to a few thousand variables; nothing returned here is believed either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def minimise(
    hessian: Array, costs: Array, matrix: Array, low: Array, high: Array, lower: Array, upper: Array, rounds: int = 100
) -> tuple[Array, Array] | None:
    """(x, y) with least ½ xᵀHx + costs·x subject to low ≤ matrix·x ≤ high, lower ≤ x ≤ upper, all of about size 1, and
    row multipliers y ≥ 0 at lower and ≤ 0 at upper limits; None if it does not converge to 1e-9.

    Inequalities are G x + s = h, s ≥ 0, with multipliers z ≥ 0; equality rows stay apart.
    """
    n, equal = len(costs), low == high
    up, down = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    one = np.eye(n)
    capped, floored = np.isfinite(upper), np.isfinite(lower)
    G = np.vstack([matrix[up], -matrix[down], one[capped], -one[floored]])
    h = np.concatenate([high[up], -low[down], upper[capped], -lower[floored]])
    E, e = matrix[equal], low[equal]
    x = np.clip(np.zeros(n), lower, upper)
    s, z, w = np.maximum(h - G @ x, 1.0), np.ones(len(h)), np.zeros(len(e))
    best = None
    for _ in range(rounds):
        # The last steps of degenerate programs overflow; the best point so far is what counts.
        dual = hessian @ x + costs + G.T @ z + E.T @ w
        primal, equality = G @ x + s - h, E @ x - e
        gap = float(s @ z) / max(1, len(h))
        error = max(np.abs(dual).max(initial=0), np.abs(primal).max(initial=0), np.abs(equality).max(initial=0), gap)
        if best is None or error < best[0]:
            best = error, x.copy(), z.copy(), w.copy()
        if error < 1e-12:
            break
        core = np.block([[hessian + G.T @ ((z / s)[:, None] * G) + 1e-13 * one, E.T], [E, -1e-13 * np.eye(len(e))]])

        def step(complementarity: Array) -> tuple[Array, Array, Array, Array]:
            right = -dual - G.T @ ((complementarity + z * primal) / s)  # noqa: B023
            dx, dw = np.split(np.linalg.solve(core, np.concatenate([right, -equality])), [n])  # noqa: B023
            ds = -primal - G @ dx  # noqa: B023
            return dx, ds, (complementarity - z * ds) / s, dw  # noqa: B023

        try:
            affine = step(-s * z)
        except np.linalg.LinAlgError:
            break
        reach = min(_longest(s, affine[1]), _longest(z, affine[2]))
        ahead = float((s + reach * affine[1]) @ (z + reach * affine[2])) / max(1, len(h))
        centre = (ahead / gap) ** 3 * gap if gap > 0 else 0.0
        if not np.isfinite(centre):
            break
        dx, ds, dz, dw = step(centre - s * z - affine[1] * affine[2])
        reach = 0.995 * min(_longest(s, ds), _longest(z, dz))
        if not np.isfinite(reach) or reach < 1e-12:
            break
        x, s, z, w = x + reach * dx, s + reach * ds, z + reach * dz, w + reach * dw
    error, x, z, w = best
    if error > 1e-9:
        return None
    y = np.zeros(len(low))
    y[up] -= z[: up.sum()]
    y[down] += z[up.sum() : up.sum() + down.sum()]
    y[equal] = -w
    return x, y


def _longest(values: Array, change: Array) -> float:
    """The longest step ≤ 1 that keeps values positive."""
    falling = change < 0
    return float(min(1.0, (-values[falling] / change[falling]).min(initial=np.inf)))
