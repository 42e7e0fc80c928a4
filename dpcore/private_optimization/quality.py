"""How good released plans are sure to be: worst cases, the published bounds, and where they apply.

Theorem 3.4 of [MSVV]: g* − g(x(D)) ≤ L·α_{p,q}(A)·‖b − b̄‖_p for g L-Lipschitz in ℓ_q, α the condition number of the
linear system. All rows of the program, bounds of variables included, belong to the system; only private limits differ,
each by at most the largest shift.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy import sparse

from ..loss import UNIT
from ..lp import INFINITY, LinearProgram
from .duality import implied_box
from .feasibility import Checker
from .noises import RowNoise
from .plan import Planner
from .program import Array, Model, PrivateProgram

MOST_SUBSETS = 20_000
"""Most subsets of rows looked at for a condition number."""

MOST_DENSE = 600
"""Largest system whose singular values are computed."""


@dataclass(frozen=True)
class Bound:
    """One instance of Theorem 3.4.   value : no plan is worse than the optimum by more.   condition : α.
    lipschitz : L in `norm`.   method : how α was found, for people."""

    value: float
    condition: float
    lipschitz: float
    norm: str
    method: str


@dataclass(frozen=True)
class Quality:
    """What is sure about releases with one noise.

    worst : no plan for limits within reach of the noise is worse than the optimum by more, from the value of the
    program at the smallest limits (None: unproved).   bounds : instances of Theorem 3.4, best first.   missing : why
    there are none.
    lower : Theorem 3.7, for diagonal systems: any private mechanism that keeps the limits loses at least this on
    average on some data set.
    """

    worst: float | None
    bounds: tuple[Bound, ...]
    missing: str
    lower: float | None


def quality(program: PrivateProgram, noise: RowNoise, planner: Planner | None = None) -> Quality:
    """All that is sure about a noise that keeps the limits."""
    planner = planner or Planner(program)
    least = program.private_limits(np.full(len(program.rows), -noise.largest * (1 + 4 * UNIT)))
    below = np.nextafter(program.signs * least, -math.inf)  # sums of floats are rounded to nearest
    least = program.signs * np.maximum(below, program.signs * program.guaranteed)
    here, there = planner.solve(program.limits, prove=True), planner.solve(least)
    worst = None
    if here is not None and there is not None and here.best is not None:
        loss = program.model.sign * (there.objective - here.best) + _rounding(program.model, there.x)
        worst = max(0.0, loss) * (1 + 4 * UNIT)
    bounds, missing = published_bounds(program, noise.largest)
    return Quality(worst, bounds, missing, published_lower(program))


def _rounding(model: Model, x: Array) -> float:
    """A bound of the error of the objective at x."""
    return (2 * len(x) + 8) * UNIT * model.size(x)


def published_lower(program: PrivateProgram) -> float | None:
    """Theorem 3.7: (Δ/4ε)·Σ 1/a_i·ln(1 + (e^ε − 1)/(2δ)), for A diagonal and positive, all rows private, x unbounded
    and g the sum of x. The sum is over the rows whose limits can be lower by t = ⌊ln(1 + (e^ε − 1)/(2δ))/ε⌋ times Δ:
    the proof compares with such data sets. None where it says nothing."""
    model, eps = program.model, program.epsilon
    diagonal = positive_diagonal(model)
    plain = model.maximise and model.quadratic is None and (model.costs == 1).all()
    free = np.isinf(model.lower).all() and np.isinf(model.upper).all()
    if diagonal is None or not plain or not free or len(program.rows) < len(diagonal) or not 0 < program.delta <= 0.5:
        return None
    if (program.signs < 0).any():
        return None
    shift = program.sensitivity / (4 * eps) * math.log1p(math.expm1(eps) / (2 * program.delta))
    strips = math.floor(4 * shift / program.sensitivity * (1 + 64 * UNIT))
    far = program.limits - program.guaranteed >= strips * program.sensitivity
    if not far.any():
        return None
    return shift * math.fsum(1 / diagonal[program.rows[far]]) * (1 - 64 * UNIT)


def positive_diagonal(model: Model) -> Array | None:
    """The diagonal of A if A is diagonal with positive entries."""
    m, n = model.matrix.shape
    if m != n or model.matrix.nnz != n:
        return None
    diagonal = model.matrix.diagonal()
    return diagonal if (diagonal > 0).all() else None


def published_bounds(program: PrivateProgram, largest: float) -> tuple[tuple[Bound, ...], str]:
    """Instances of Theorem 3.4 for shifts of at most `largest`, best first, and if there are none the reason."""
    model = program.model
    if (model.row_lower == model.row_upper).any():
        return (), "the program has equality rows"
    gradient = largest_gradient(program)
    if gradient is None:
        return (), "the objective is not Lipschitz on the feasible region, which has no finite bounds"
    rows, private = system(program)
    found = []

    def note(condition: float | None, norm: str, spread: float, method: str) -> None:
        if condition is not None:
            size = {"ℓ1": gradient.max(), "ℓ2": math.sqrt(math.fsum(gradient**2)), "ℓ∞": math.fsum(gradient)}[norm]
            value = float(size) * condition * spread * largest * (1 + 64 * UNIT)
            found.append(Bound(value, condition, float(size), norm, method))

    diagonal = positive_diagonal(model)
    if diagonal is not None and rows.shape[0] == len(diagonal):
        inverse = 1 / diagonal[program.rows]
        note(float(inverse.sum()), "ℓ1", 1.0, "diagonal system, exact, p = ∞")
        note(math.sqrt(math.fsum(inverse**2)), "ℓ2", 1.0, "diagonal system, exact, p = ∞")
        note(float(inverse.max()), "ℓ∞", 1.0, "diagonal system, exact, p = ∞")
    note(*_singular(rows, private))
    note(stable_condition(rows, private), "ℓ∞", 1.0, "strongly stable system, by its linear program, p = ∞")
    if not found:
        return (
            (),
            "neither is the system small or of full row rank, nor can all rows hold strictly for zero limits",
        )
    return tuple(sorted(found, key=lambda bound: bound.value)), ""


def _singular(rows: sparse.csr_array, private: Array) -> tuple[float | None, str, float, str]:
    condition, method = spectral_condition(rows)
    return condition, "ℓ2", math.sqrt(private.sum()), method


def system(program: PrivateProgram) -> tuple[sparse.csr_array, Array]:
    """(rows, private): the program as a·x ≤ b, bounds of variables included, and which of its rows are private
    (0/1)."""
    model = program.model
    high, low = np.isfinite(model.row_upper), np.isfinite(model.row_lower)
    own = np.zeros(len(high))
    own[program.rows] = 1
    one = sparse.eye_array(len(model.costs), format="csr")
    up, down = np.isfinite(model.upper), np.isfinite(model.lower)
    rows = sparse.vstack([model.matrix[high], -model.matrix[low], one[up], -one[down]], format="csr")
    return sparse.csr_array(rows), np.concatenate([own[high], own[low], np.zeros(int(up.sum() + down.sum()))])


def largest_gradient(program: PrivateProgram) -> Array | None:
    """(n,) the largest |∂g/∂x_i| on the feasible region, rounded up; None if it has none."""
    model = program.model
    if model.quadratic is None:
        return np.abs(model.costs)
    lo, hi = implied_box(model, *program.row_limits(program.limits))
    reach = np.maximum(np.abs(lo), np.abs(hi))
    if not np.isfinite(reach).all():
        return None
    largest: Array = np.abs(model.costs) + abs(model.quadratic) @ reach
    return largest * (1 + (len(reach) + 8) * UNIT)


def spectral_condition(rows: sparse.csr_array) -> tuple[float | None, str]:
    """(an upper bound of α_{2,2}, method): 1/σ_min(A) when the rows are independent, because fewer rows have no smaller
    singular value; in small systems the largest 1/σ_min over all independent subsets of rows; else None."""
    m, n = rows.shape
    if max(m, n) > MOST_DENSE:
        return None, ""
    dense = rows.toarray()
    if m <= n:
        least = _least_singular(dense)
        if least > 0:
            return 1 / least * (1 + 4 * UNIT), "smallest singular value, p = 2"
    most = min(m, n)
    if sum(math.comb(m, r) for r in range(1, most + 1)) > MOST_SUBSETS:
        return None, ""
    worst = 0.0
    dependent: list[set[int]] = []
    for r in range(1, most + 1):
        for subset in map(set, combinations(range(m), r)):
            if any(smaller <= subset for smaller in dependent):
                continue
            least = _least_singular(dense[list(subset)])
            # Dependent rows do not count; those that rounding cannot tell apart from dependent ones settle nothing.
            if least > 0:
                worst = max(worst, 1 / least)
            elif _independent(dense[list(subset)]):
                return None, ""
            else:
                dependent.append(subset)
    return (worst * (1 + 4 * UNIT), "independent subsets of rows, p = 2") if worst else (None, "")


def _least_singular(dense: Array) -> float:
    """A lower bound of the least singular value of a matrix with no more rows than columns, 0 if it may be 0."""
    values = np.linalg.svd(dense, compute_uv=False)
    return max(0.0, float(values[-1] - 64 * sum(dense.shape) * UNIT * values[0] - 1e-13 * values[0]))


def _independent(dense: Array) -> bool:
    """Whether the rows are linearly independent, by elimination in fractions."""
    rows = [list(map(Fraction, row)) for row in dense.tolist()]
    while rows:
        first = rows.pop()
        pivot = next((i for i, value in enumerate(first) if value), None)
        if pivot is None:
            return False
        rows = [[v - row[pivot] / first[pivot] * f for v, f in zip(row, first)] for row in rows]
    return True


def stable_condition(rows: sparse.csr_array, private: Array) -> float | None:
    """ᾱ(A) = max {Σ u over private rows: ‖Aᵀu‖₁ ≤ 1, u ≥ 0}, by the dual of its linear program [MSVV, Ex. 3.6].

    A direction d with a·d ≤ −1 in private and ≤ 0 in the other rows proves ᾱ ≤ ‖d‖_∞, for Σ u ≤ −u·Ad ≤ ‖Aᵀu‖₁ ‖d‖_∞;
    and x + w·d keeps limits smaller by w. None if there is none, or none that is checked exactly.
    """
    m, n = rows.shape
    if rows.nnz > 50_000:
        return None
    lp = LinearProgram()
    lp.add_columns(np.zeros(n), -INFINITY)
    lp.add_columns(1.0, 0.0)
    lp.add_rows(-INFINITY, -private, starts=rows.indptr[:-1], columns=rows.indices, values=rows.data) if m else None
    for sign in (1.0, -1.0):
        pairs = np.stack([np.arange(n), np.full(n, n)], axis=1).ravel()
        values = np.tile([sign, -1.0], n)
        lp.add_rows(np.full(n, -INFINITY), np.zeros(n), starts=2 * np.arange(n), columns=pairs, values=values)
    if lp.run(time.perf_counter() + 5.0) != "optimal":
        return None
    d = lp.primal()[:n]
    model = Model(np.zeros(n), rows, np.full(m, -math.inf), -private, np.full(n, -math.inf), np.full(n, math.inf))
    for stretch in (1.0, 1 + 1e-9, 1 + 1e-6):
        if Checker(model).keeps(stretch * d, model.row_lower, model.row_upper):
            return float(np.abs(stretch * d).max())
    return None
