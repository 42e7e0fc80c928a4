"""What no plan can better, from any multipliers: weak duality with every rounding bounded.

With f = ±g, to be minimised, y any row multipliers and z any plan,

    f(z) ≥ f(x) + ∇f(x)·(z − x) + ½κ‖z − x‖²,   ∇f·z = y·Az + (∇f − Aᵀy)·z,

κ ≤ 0 a bound of the least eigenvalue; y·Az is bounded by the limits, the rest over a box that contains every plan no
worse than one that is known (docs/private_optimisation.md, "What is proved about the objective"). Plans keep equality
rows up to `EQUALITY_TOLERANCE` only, and the bounds hold for those too.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from ..loss import UNIT
from .feasibility import EQUALITY_TOLERANCE
from .program import LARGEST, Array, Model

Box = tuple[Array, Array]


def best_possible(model: Model, x: Array, y: Array, low: Array, high: Array, box: Box) -> float | None:
    """No plan in the box with these limits has a better objective, rounded to the safe side; None if nothing is proved.

    x : where the objective is linearised.   y : (m,) any multipliers, positive for lower limits.
    """
    lo, hi = box
    f, gradient = model.sign * (model.objective(x) - model.offset), model.sign * model.gradient(x)
    y = np.where(y > 0, np.where(np.isfinite(low), y, 0.0), np.where(np.isfinite(high), y, 0.0))
    rest, error = _remainder(model, gradient, x, y, low == high)
    columns = np.minimum(*(np.minimum(_product(d, lo), _product(d, hi)) for d in (rest - error, rest + error)))
    if not np.isfinite(columns).all():
        return None
    limits = np.where(y > 0, y * np.where(np.isfinite(low), low, 0), y * np.where(np.isfinite(high), high, 0))
    missed = np.where(low == high, EQUALITY_TOLERANCE * np.abs(limits), 0.0)
    bend = 0.0
    if model.curvature_lower < 0:
        bend = 0.5 * model.curvature_lower * float(((hi - lo) ** 2).sum())
        if not math.isfinite(bend):
            return None
    linear = _product(gradient, x)
    terms = [f, -math.fsum(linear), math.fsum(limits), -math.fsum(missed), math.fsum(columns), bend]
    blur = math.fsum([abs(f), abs(bend), *np.abs(linear), *np.abs(limits), *missed, *np.abs(columns)])
    bound = math.fsum(terms) - (8 + len(x)) * 4 * UNIT * (blur + model.size(x))
    return model.sign * bound + model.offset


def _remainder(model: Model, gradient: Array, x: Array, y: Array, equal: Array) -> tuple[Array, Array]:
    """(∇f − Aᵀy, e): the coefficients of z that multipliers leave over, each right to within e, the rounding and what
    equality rows may be missed by, |y_i|·EQUALITY_TOLERANCE·(2t + 8)·|a_ij z_j|."""
    size, entries = abs(model.matrix), np.diff(model.matrix.indptr)
    count = np.bincount(model.matrix.indices, minlength=len(x)) + 8
    magnitude = np.abs(gradient) + size.T @ np.abs(y)
    if model.quadratic is not None:
        count = count + np.diff(model.quadratic.indptr) + 8
        magnitude = magnitude + np.abs(model.costs) + abs(model.quadratic) @ np.abs(x)
    missed = size.T @ np.where(equal, EQUALITY_TOLERANCE * (2 * entries + 8) * np.abs(y), 0.0)
    return gradient - model.matrix.T @ y, 2 * count * UNIT * magnitude + missed * (1 + 1e-9)


def plans_box(model: Model, low: Array, high: Array, known: Array | None) -> Box:
    """A box that contains every plan for these limits that is no worse than the known one (None: every plan)."""
    if known is None or model.quadratic is not None:
        return implied_box(model, low, high)
    floor = float(model.costs @ known)
    floor += model.sign * 1e-9 * float(abs(model.costs) @ abs(known))
    if not abs(floor) <= LARGEST:
        return implied_box(model, low, high)
    ends = (floor, math.inf) if model.maximise else (-math.inf, floor)
    low, high = np.append(low, ends[0]), np.append(high, ends[1])
    matrix = sparse.csr_array(sparse.vstack([model.matrix, sparse.csr_array(model.costs[None, :])]))
    return implied_box(Model(model.costs, matrix, low, high, model.lower, model.upper), low, high)


def implied_box(model: Model, low: Array, high: Array, passes: int = 4) -> Box:
    """(lo, hi): every x within the bounds and limits lies in this box, rounded outwards; infinite where no row says
    more.

    In row a·x ≤ u, a_j x_j ≤ u − Σ_{i≠j} min a_i x_i; twice what a plan may miss an equality row by is added.
    """
    a = model.matrix
    entries = np.diff(a.indptr)
    rows, columns, data = np.repeat(np.arange(a.shape[0]), entries), a.indices, a.data
    spare = 2 * EQUALITY_TOLERANCE * (2 * entries + 8)[rows]
    lo, hi = model.lower.copy(), model.upper.copy()
    for _ in range(passes):
        before = np.isfinite(lo).sum() + np.isfinite(hi).sum()
        for sign, limit in ((1.0, high), (-1.0, -low)):
            entry = sign * data
            least = np.where(entry > 0, entry * lo[columns], entry * hi[columns])
            open_end = ~np.isfinite(least)
            finite = np.bincount(rows, np.where(open_end, 0.0, least), a.shape[0])
            size = np.bincount(rows, np.where(open_end, 0.0, np.abs(least)), a.shape[0])
            opens = np.bincount(rows, open_end, a.shape[0])
            rest = finite[rows] - np.where(open_end, 0.0, least)
            known = (opens[rows] - open_end == 0) & np.isfinite(limit[rows])
            room = np.where(known, limit[rows] - rest, 0.0)
            room = room + spare * (np.abs(np.where(known, limit[rows], 0.0)) + size[rows])
            end = room / entry
            up, down = known & (entry > 0), known & (entry < 0)
            best = np.full(len(hi), math.inf)
            np.minimum.at(best, columns[up], end[up])
            hi = np.minimum(hi, best)
            best = np.full(len(lo), -math.inf)
            np.maximum.at(best, columns[down], end[down])
            lo = np.maximum(lo, best)
        if np.isfinite(lo).sum() + np.isfinite(hi).sum() == before:
            break
    return lo, hi


def _product(a: Array, b: Array) -> Array:
    """a·b with 0·∞ = 0."""
    return np.where(a == 0, 0.0, a * np.where(a == 0, 0.0, b))
