"""The one door to HiGHS: a linear program that grows by columns and rows and is solved in slices.

Minimise costs·x subject to row_lower ≤ A x ≤ row_upper, lower ≤ x ≤ upper. One `LinearProgram` per job and
thread: one simplex thread, presolve off, so that every run starts from the last basis and can be stopped
after a slice of 0.1 s at no cost. Nothing returned here is believed: bounds come from `audit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import SolverError

Array = NDArray[np.float64]

INFINITY = highspy.kHighsInf
SLICE = 0.1
"""Seconds between two looks at the stop flag."""

_FINAL = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
}


class LinearProgram:
    """A growing linear program with a warm basis."""

    def __init__(self, *, tolerance: float = 1e-9) -> None:
        self._highs = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("primal_feasibility_tolerance", tolerance),
            ("dual_feasibility_tolerance", tolerance),
        ):
            self._highs.setOptionValue(option, value)
        self.rows = self.columns = 0

    def add_columns(
        self,
        costs: ArrayLike,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = INFINITY,
        *,
        starts: ArrayLike | None = None,
        rows: ArrayLike = (),
        values: ArrayLike = (),
    ) -> None:
        """Append columns; their entries in existing rows come column by column (`starts`, `rows`, `values`)."""
        costs = np.atleast_1d(np.asarray(costs, dtype=float))
        n = len(costs)
        starts = np.zeros(n, dtype=np.int32) if starts is None else np.asarray(starts, dtype=np.int32)
        rows, values = np.asarray(rows, dtype=np.int32), np.asarray(values, dtype=float)
        low, high = (np.broadcast_to(np.asarray(v, dtype=float), n).copy() for v in (lower, upper))
        self._check(self._highs.addCols(n, costs, low, high, len(values), starts, rows, values))
        self.columns += n

    def add_rows(
        self, lower: ArrayLike, upper: ArrayLike, *, starts: ArrayLike, columns: ArrayLike, values: ArrayLike
    ) -> None:
        """Append rows given one after the other (`starts`, `columns`, `values`)."""
        starts = np.asarray(starts, dtype=np.int32)
        columns, values = np.asarray(columns, dtype=np.int32), np.asarray(values, dtype=float)
        n = len(starts)
        low, high = (np.broadcast_to(np.asarray(v, dtype=float), n).copy() for v in (lower, upper))
        self._check(self._highs.addRows(n, low, high, len(values), starts, columns, values))
        self.rows += n

    def delete_rows(self, indices: ArrayLike) -> None:
        """Remove rows; those that stay keep their order."""
        indices = np.unique(np.asarray(indices, dtype=np.int32))
        if indices.size:
            self._check(self._highs.deleteRows(len(indices), indices))
            self.rows -= len(indices)

    def run(self, deadline: float, stop: Callable[[], bool] = lambda: False) -> str:
        """Solve from the last basis until `deadline` (in `time.perf_counter` seconds) or until `stop()` is true.

        Returns "optimal", "infeasible", "unbounded", "time" or "stopped".
        """
        retries = 0
        while True:
            left = deadline - time.perf_counter()
            if left <= 0:
                return "time"
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + min(SLICE, left))
            self._highs.run()
            status = self._highs.getModelStatus()
            if status in _FINAL:
                return _FINAL[status]
            if stop():
                return "stopped"
            if status != highspy.HighsModelStatus.kTimeLimit:
                retries += 1
                if retries > 2:
                    raise SolverError(f"HiGHS ended with status {self._highs.modelStatusToString(status)}")
                if retries == 2:
                    self._highs.clearSolver()

    def primal(self) -> Array:
        """Column values, (columns,)."""
        return np.array(self._highs.getSolution().col_value)

    def row_duals(self) -> Array:
        """Row multipliers, (rows,): ≥ 0 at lower sides, ≤ 0 at upper sides."""
        return np.array(self._highs.getSolution().row_dual)

    @staticmethod
    def _check(status: highspy.HighsStatus) -> None:
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused a change of the model")
