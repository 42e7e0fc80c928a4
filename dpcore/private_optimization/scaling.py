"""The program as solvers see it: rows, right-hand sides and costs near 1, which is what their tolerances are made for.

Scales are powers of two, so nothing is rounded on the way there and back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..lp import LinearProgram
from .program import Array, Model

SMALLEST = 1e-6
"""Programs whose limits are all smaller are solved as if they were this large: the rest may be round-off."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Row i times rows[i], x over `size`, objective over `cost`·`size`."""

    model: Model
    rows: Array
    size: float
    cost: float

    @classmethod
    def of(cls, model: Model, low: Array, high: Array) -> Scaling:
        """For limits of about these sizes."""
        largest = np.zeros(model.matrix.shape[0])
        np.maximum.at(
            largest, np.repeat(np.arange(len(largest)), np.diff(model.matrix.indptr)), np.abs(model.matrix.data)
        )
        rows = _power(1 / np.where(largest > 0, largest, 1.0))
        ends = np.abs(np.concatenate([low * rows, high * rows]))
        size = float(_power(np.max(ends[np.isfinite(ends)], initial=SMALLEST)))
        gradient = np.abs(model.costs).max(initial=0.0)
        if model.quadratic is not None:
            gradient = max(gradient, float(np.abs(model.quadratic.data).max(initial=0.0)) * size)
        return cls(model, rows, size, float(_power(np.array(gradient if gradient > 0 else 1.0))))

    def limits(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The rows' limits, scaled."""
        return low * self.rows / self.size, high * self.rows / self.size

    def point(self, x: Array) -> Array:
        """A scaled point in the program's unit, within the variables' bounds."""
        return np.clip(x * self.size, self.model.lower, self.model.upper)

    def multipliers(self, y: Array) -> Array:
        """Row multipliers of the scaled program in the program's unit."""
        return y * self.rows * self.cost

    def constraints(self, low: Array, high: Array) -> LinearProgram:
        """The scaled rows and bounds with zero costs, ready for more columns."""
        return self._linear(np.zeros(len(self.model.costs)), low, high)

    def program(self, low: Array, high: Array) -> LinearProgram:
        """The whole scaled program, as a minimum."""
        model = self.model
        lp = self._linear(model.sign * model.costs / self.cost, low, high)
        if model.quadratic is not None:
            q = sparse.tril(model.quadratic, format="csc")
            lp.set_hessian(q.indptr[:-1], q.indices, model.sign * q.data * self.size / self.cost)
        return lp

    def _linear(self, costs: Array, low: Array, high: Array) -> LinearProgram:
        model, matrix, lp = self.model, self.model.matrix, LinearProgram(tolerance=1e-9)
        lp.add_columns(costs, model.lower / self.size, model.upper / self.size)
        values = matrix.data * np.repeat(self.rows, np.diff(matrix.indptr))
        lp.add_rows(*self.limits(low, high), starts=matrix.indptr[:-1], columns=matrix.indices, values=values)
        return lp

    def quadratic(self) -> tuple[sparse.csc_array, Array, sparse.csr_array, Array, Array]:
        """(hessian, costs, matrix, lower, upper) of the scaled program, as a minimum."""
        model = self.model
        if model.quadratic is None:
            raise ValueError("the objective is linear")
        hessian = sparse.csc_array(model.quadratic * (model.sign * self.size / self.cost))
        matrix = sparse.csr_array(sparse.diags_array(self.rows) @ model.matrix)
        return hessian, model.sign * model.costs / self.cost, matrix, model.lower / self.size, model.upper / self.size


def _power(values: Array) -> Array:
    """The power of two at or below each positive number."""
    return 2.0 ** np.floor(np.log2(values))
