"""Whether limits hold, decided exactly: by a bound on the rounding of A x or, where that is too coarse, in fractions.

Equality rows hold up to `EQUALITY_TOLERANCE`: floats cannot do better (docs/private_optimisation.md, "Limits hold
exactly").
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..loss import UNIT
from .program import Array, Model

EQUALITY_TOLERANCE = 1e-9
"""Tolerance of equality rows, relative to (2t + 8)·Σ|a_i x_i| + |limit|, t the number of entries."""


def exact_activity(model: Model, row: int, x: Array) -> Fraction:
    """Row·x without rounding."""
    at = slice(model.matrix.indptr[row], model.matrix.indptr[row + 1])
    pairs = zip(model.matrix.data[at].tolist(), x[model.matrix.indices[at]].tolist())
    return sum((Fraction(a) * Fraction(v) for a, v in pairs), Fraction(0))


class Checker:
    """Decides exactly whether limits hold."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._size = abs(model.matrix)
        self._terms = np.diff(model.matrix.indptr) + 4
        self.equal = model.row_lower == model.row_upper

    def activity(self, x: Array) -> tuple[Array, Array]:
        """(A x, bound of its error): a sum of t products errs by at most (t + 1)·u·Σ|a x|, doubled for what follows."""
        return self.model.matrix @ x, 2 * self._terms * UNIT * (self._size @ np.abs(x)) + 1e-300

    def misses(self, x: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """(at least, at most): bounds of how much every row misses its limits, 0 where it holds for certain."""
        value, error = self.activity(x)
        slack = error + 4 * UNIT * np.maximum(
            np.where(np.isfinite(low), abs(low), 0), np.where(np.isfinite(high), abs(high), 0)
        )
        over = np.maximum(value - high, low - value)
        allowed = np.where(self.equal, EQUALITY_TOLERANCE * (error / UNIT + np.abs(np.where(self.equal, low, 0))), 0.0)
        over = over - allowed
        return np.maximum(over - slack, 0.0), np.maximum(over + slack, 0.0)

    def keeps(self, x: Array, low: Array, high: Array) -> bool:
        """Every row and every bound holds: inequalities exactly."""
        if not (np.isfinite(x).all() and (x >= self.model.lower).all() and (x <= self.model.upper).all()):
            return False
        sure, possible = self.misses(x, low, high)
        if sure.any():
            return False
        for row in np.flatnonzero(possible).tolist():
            exact = exact_activity(self.model, row, x)
            if self.equal[row]:
                return False
            if (low[row] > -math.inf and exact < Fraction(low[row])) or (
                high[row] < math.inf and exact > Fraction(high[row])
            ):
                return False
        return True
