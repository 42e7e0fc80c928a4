"""What is asked: a linear or convex quadratic program, some of whose limits are private.

The program: maximise or minimise g(x) = costs·x + ½ xᵀQx subject to row_lower ≤ A x ≤ row_upper and
lower ≤ x ≤ upper. A private row has one finite limit, which depends on the data set. It is sure to be at least (≤ rows)
or at most (≥ rows) its *guaranteed limit* b*, whatever the data: b* = inf b(D) or sup b(D) [MSVV, §3].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._validate import above, decimal, in_range
from ..errors import InputError
from ..privacy import SENSITIVITY
from ..problem_fields.program import DELTA, EPSILON

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 1e15
"""Largest magnitude of a coefficient or a finite limit."""

MOST_ENTRIES = 2_000_000
"""Largest number of entries of A."""

FINEST = 5000
"""Most steps of the granularity in a sensitivity."""

MOST_MULTIPLE = 10**15
"""Largest multiple of the granularity: floats tell all of them apart."""


@dataclass(frozen=True, eq=False)
class Model:
    """The program without its privacy: everything in it is public but the private rows' limits.

    costs : (n,).   matrix : (m, n), sparse or dense.   row_lower, row_upper : (m,), infinite where there is no limit.
    lower, upper : (n,) bounds of the variables.   quadratic : (n, n) symmetric Q or None; positive semidefinite when
    minimising, negative semidefinite when maximising.   offset : added to the objective.
    """

    costs: Array
    matrix: sparse.csr_array
    row_lower: Array
    row_upper: Array
    lower: Array = 0.0  # type: ignore[assignment]  # one number for all, until it is spread
    upper: Array = math.inf  # type: ignore[assignment]  # like `lower`
    quadratic: sparse.csr_array | None = None
    maximise: bool = False
    offset: float = 0.0
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("costs", _vector("costs", self.costs))
        put("matrix", _sparse("matrix", self.matrix))
        m, n = self.matrix.shape
        if not m or not n or n != len(self.costs):
            raise InputError("matrix", f"{m} × {n}", f"at least one row and {len(self.costs)} columns, one per cost")
        for name, size, sign in (("row_lower", m, -1), ("row_upper", m, 1), ("lower", n, -1), ("upper", n, 1)):
            put(name, _vector(name, getattr(self, name), size, infinite=sign))
        for low, high, names in (
            (self.row_lower, self.row_upper, "row_lower"),
            (self.lower, self.upper, "lower"),
        ):
            if (crossed := np.flatnonzero(low > high)).size:
                raise InputError(f"{names}[{crossed[0]}]", low[crossed[0]], f"at most {high[crossed[0]]:g}")
        put("offset", in_range(-LARGEST, LARGEST, offset=self.offset))
        put("row_names", _names("row", self.row_names, m))
        put("column_names", _names("column", self.column_names, n))
        if self.quadratic is not None:
            put("quadratic", _sparse("quadratic", self.quadratic))
            self._check_curvature(self.quadratic)

    def _check_curvature(self, q: sparse.csr_array) -> None:
        """Refuse what is not convex: only then is a local optimum the optimum."""
        n = len(self.costs)
        if q.shape != (n, n):
            raise InputError("quadratic", f"{q.shape[0]} × {q.shape[1]}", f"{n} × {n}")
        if n > 2000:
            raise InputError("quadratic", f"{n} variables", "at most 2000 variables for a quadratic objective")
        dense = q.toarray()
        if not np.allclose(dense, dense.T, rtol=1e-12, atol=0):
            raise InputError("quadratic", "an asymmetric matrix", "a symmetric matrix")
        object.__setattr__(self, "quadratic", sparse.csr_array(0.5 * (dense + dense.T)))
        least = self._least_curvature(dense)
        if least < -1e-9 * np.abs(dense).max(initial=0.0) * n:
            kind = "negative semidefinite to maximise" if self.maximise else "positive semidefinite to minimise"
            raise InputError("quadratic", f"a matrix with an eigenvalue {least * self.sign:.4g}", kind)

    @property
    def sign(self) -> float:
        """1 when minimising, −1 when maximising: sign·g is minimised."""
        return -1.0 if self.maximise else 1.0

    def _least_curvature(self, dense: Array) -> float:
        return float(np.linalg.eigvalsh(self.sign * dense)[0])

    @cached_property
    def curvature_lower(self) -> float:
        """A lower bound of the least eigenvalue of ±Q (0 for linear objectives); symmetric eigenvalue solvers are
        backward stable, n·64 units of round-off are far more than they err."""
        if self.quadratic is None:
            return 0.0
        dense: Array = self.quadratic.toarray()
        size = float(np.abs(dense).sum(axis=1).max())
        return min(0.0, self._least_curvature(dense) - 64 * len(self.costs) * 2.0**-53 * size)

    def objective(self, x: Array) -> float:
        """g(x)."""
        value = self.costs @ x + self.offset
        return float(value if self.quadratic is None else value + 0.5 * x @ (self.quadratic @ x))

    def size(self, x: Array) -> float:
        """|offset| + Σ|c_i x_i| + |x|ᵀ|Q||x|: `objective` errs by less than (2n + 8)·u times this."""
        quadratic = 0.0 if self.quadratic is None else float(np.abs(x) @ (abs(self.quadratic) @ np.abs(x)))
        return abs(self.offset) + math.fsum(np.abs(self.costs * x)) + quadratic

    def gradient(self, x: Array) -> Array:
        """∇g(x)."""
        return self.costs if self.quadratic is None else self.costs + self.quadratic @ x


@dataclass(frozen=True, eq=False)
class PrivateProgram:
    """A model, which of its limits are private, and how private they are to stay.

    rows : (p,) indices of the private rows.   guaranteed : (p,) their guaranteed limits b*.
    sensitivity : largest ℓ1-distance of the private limits of neighbouring data sets, all rows together.
    epsilon, delta : within `EPSILON`, `DELTA` of its fields.
    granularity : all private limits are multiples of this, and so is the sensitivity; None: real numbers.
    """

    model: Model
    rows: Ints
    guaranteed: Array
    sensitivity: float
    epsilon: float
    delta: float
    granularity: float | None = None
    limits: Array = field(init=False)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("rows", self._checked_rows())
        put("limits", np.where(self.signs > 0, self.model.row_upper[self.rows], self.model.row_lower[self.rows]))
        put("guaranteed", self._checked_guarantees())
        put("sensitivity", SENSITIVITY.check(self.sensitivity))
        put("epsilon", EPSILON.check(self.epsilon))
        put("delta", DELTA.check(self.delta))
        if self.granularity is not None:
            put("granularity", above(0, self.sensitivity, granularity=self.granularity))
            self._check_granularity(self.granularity)

    def _checked_rows(self) -> Ints:
        m = self.model.matrix.shape[0]
        try:
            rows = np.asarray(self.rows, dtype=np.int64).ravel()
        except (TypeError, ValueError):
            raise InputError("private rows", self.rows, "row numbers") from None
        if not rows.size or rows.min() < 0 or rows.max() >= m or len(np.unique(rows)) < len(rows):
            raise InputError(
                "private rows", rows.tolist()[:8], f"different row numbers from 0 to {m - 1}, at least one"
            )
        for row in rows.tolist():
            low, high = self.model.row_lower[row], self.model.row_upper[row]
            if math.isinf(low) == math.isinf(high):
                shown = "an equality or a range" if math.isfinite(low) else "no limit"
                accepted = "either ≤ or ≥ a private number: noise cannot keep an equality"
                raise InputError(f"private row {self.model.row_names[row]}", shown, accepted)
        return rows

    def _checked_guarantees(self) -> Array:
        try:
            values = np.asarray(self.guaranteed, dtype=float).ravel()
        except (TypeError, ValueError):
            raise InputError("guaranteed limits", self.guaranteed, "one number per private row") from None
        if values.size == 1:
            values = np.full(len(self.rows), values[0])
        if values.size != len(self.rows):
            raise InputError("guaranteed limits", f"{values.size} numbers", f"{len(self.rows)}, one per private row")
        for row, value, limit, sign in zip(self.rows.tolist(), values.tolist(), self.limits, self.signs):
            name = f"guaranteed limit of row {self.model.row_names[row]}"
            if not abs(value) <= LARGEST:
                raise InputError(name, value, "a finite number: the least limit any data set can have (the most for ≥)")
            if sign * value > sign * limit:
                side = "at most" if sign > 0 else "at least"
                raise InputError(name, value, f"{side} the row's own limit {limit:g}, which is one of those it bounds")
        return values

    def _check_granularity(self, granularity: float) -> None:
        step = decimal(granularity)
        steps = decimal(self.sensitivity) / step
        if steps.denominator != 1 or steps > FINEST:
            accepted = f"a whole part of the sensitivity {self.sensitivity:g}, at least a {FINEST}th"
            raise InputError("granularity", granularity, accepted)
        # One number for every multiple, or the last digits of a limit would show in what is released.
        for row, limit in zip(self.rows.tolist(), self.limits.tolist()):
            ratio = round(decimal(limit) / step)
            name = f"limit of row {self.model.row_names[row]}"
            if abs(ratio) > MOST_MULTIPLE:
                raise InputError(name, limit, f"at most {MOST_MULTIPLE:g} times the granularity {granularity:g}")
            if float(ratio * step) != limit:
                accepted = f"a multiple of the granularity {granularity:g}, such as {float(ratio * step)!r}"
                raise InputError(name, repr(limit), accepted)

    @cached_property
    def signs(self) -> Array:
        """1 for ≤ rows, −1 for ≥ rows: sign·limit is what must not be released too large. (p,)"""
        return np.where(np.isfinite(self.model.row_upper[self.rows]), 1.0, -1.0)

    @property
    def steps(self) -> int | None:
        """The sensitivity as a number of steps of the granularity."""
        return None if self.granularity is None else int(decimal(self.sensitivity) / decimal(self.granularity))

    def private_limits(self, noise: Array) -> Array:
        """b̄ = max(b + noise, b*) for ≤ rows and its mirror image for ≥ rows; noise : (…, p). Rounding does not matter:
        a sum with a number ≤ 0 is rounded to at most b."""
        return self.signs * np.maximum(self.signs * self.limits + noise, self.signs * self.guaranteed)

    def row_limits(self, private: Array) -> tuple[Array, Array]:
        """(row_lower, row_upper) with these limits in the private rows."""
        low, high = self.model.row_lower.copy(), self.model.row_upper.copy()
        high[self.rows[self.signs > 0]] = private[self.signs > 0]
        low[self.rows[self.signs < 0]] = private[self.signs < 0]
        return low, high


def _vector(name: str, value: ArrayLike, size: int | None = None, infinite: int = 0) -> Array:
    """(size,) finite numbers; of the given sign they may be infinite."""
    try:
        out = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(name, "something that is no number", "numbers") from None
    if out.ndim == 0 and size is not None:
        out = np.full(size, float(out))
    if out.ndim != 1 or (size is not None and len(out) != size):
        raise InputError(
            name, " × ".join(map(str, out.shape)), "one row of numbers" if size is None else f"{size} numbers"
        )
    fine = np.abs(out) <= LARGEST
    if infinite:
        fine |= out == infinite * math.inf
    if (bad := np.flatnonzero(~fine)).size:
        raise InputError(f"{name}[{bad[0]}]", out[bad[0]], f"a number from {-LARGEST:g} to {LARGEST:g}")
    return out


def _sparse(name: str, value: Any) -> sparse.csr_array:
    try:
        out: sparse.csr_array = sparse.csr_array(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(name, "something else", "a matrix of numbers") from None
    if out.ndim != 2:
        raise InputError(name, f"{out.ndim} dimensions", "2")
    if out.nnz > MOST_ENTRIES:
        raise InputError(name, f"{out.nnz} entries", f"at most {MOST_ENTRIES}")
    out.sum_duplicates()
    if (bad := np.flatnonzero(~(np.abs(out.data) <= LARGEST))).size:
        raise InputError(name, out.data[bad[0]], f"numbers from {-LARGEST:g} to {LARGEST:g}")
    out.eliminate_zeros()
    return out


def _names(kind: str, names: tuple[str, ...], size: int) -> tuple[str, ...]:
    if not len(names):
        return tuple(f"{kind} {i + 1}" for i in range(size))
    if len(names) != size or len(set(names)) != size:
        raise InputError(f"{kind}_names", f"{len(names)} names", f"{size} different ones")
    return tuple(map(str, names))
