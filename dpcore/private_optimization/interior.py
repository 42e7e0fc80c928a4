"""A second opinion for convex quadratic programs: Clarabel's interior-point method.

HiGHS' active-set method gives up on about one small degenerate program in a hundred. Nothing returned here is believed
either. The only import of clarabel.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..extras import needs
from .program import Array

CLOSE = 1e-9
"""By how much an answer may miss the optimality conditions, numbers being of about size 1."""


def minimise(
    hessian: sparse.csc_array,
    costs: Array,
    matrix: sparse.csr_array,
    low: Array,
    high: Array,
    lower: Array,
    upper: Array,
    seconds: float = np.inf,
) -> tuple[Array, Array] | None:
    """(x, y) with least ½ xᵀHx + costs·x subject to low ≤ matrix·x ≤ high, lower ≤ x ≤ upper, all of about size 1, and
    row multipliers y ≥ 0 at lower and ≤ 0 at upper limits; None if it does not converge to `CLOSE` in time.

    Equality rows are A x + s = b, s = 0, all others (bounds of x are rows, too) A x + s = b, s ≥ 0, multipliers z.
    """
    with needs("quadratic"):
        import clarabel  # costs 50 ms, and most programs need no second opinion

    equal = low == high
    up, down = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    one = sparse.eye_array(len(costs), format="csr")
    capped, floored = np.isfinite(upper), np.isfinite(lower)
    A = sparse.vstack([matrix[equal], matrix[up], -matrix[down], one[capped], -one[floored]], format="csc")
    b = np.concatenate([low[equal], high[up], -low[down], upper[capped], -lower[floored]])
    cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(len(b) - int(equal.sum()))]
    answer = clarabel.DefaultSolver(
        sparse.triu(hessian, format="csc"), costs, A, b, cones, _settings(clarabel.DefaultSettings(), seconds)
    ).solve()
    x, z = np.array(answer.x), np.array(answer.z)
    if not (np.isfinite(x).all() and np.isfinite(z).all()):
        return None
    slack, fixed = b - A @ x, int(equal.sum())
    missed = [np.abs(slack[:fixed]), np.maximum(-slack[fixed:], 0.0), np.maximum(-z[fixed:], 0.0)]
    missed += [np.abs(hessian @ x + costs + A.T @ z), np.abs([slack @ z / max(1, len(b))])]
    if max(error.max(initial=0.0) for error in missed) > CLOSE:
        return None
    y = np.zeros(len(low))
    y[equal], tops, bottoms = -z[:fixed], z[fixed:][: up.sum()], z[fixed:][up.sum() :][: down.sum()]
    y[up] -= tops
    y[down] += bottoms
    return x, y


def _settings(settings, seconds: float):  # type: ignore[no-untyped-def]  # clarabel has no types
    """Settings: as accurate as it goes, in one thread and in silence."""
    settings.verbose, settings.max_threads, settings.time_limit = False, 1, seconds
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.tol_ktratio = 1e-9
    settings.presolve_enable = False  # it drops rows and shortens z
    return settings
