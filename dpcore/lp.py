"""The one door to HiGHS: a linear program that grows by columns and rows and is solved in slices.

Minimise costs·x subject to row_lower ≤ A x ≤ row_upper, lower ≤ x ≤ upper. One `LinearProgram` per job and
thread: one simplex thread, presolve off, so that every run starts from the last basis and can be stopped after a slice
of some 0.1 s at little cost. Slices are counted in iterations, never in seconds: an interruption changes the last
digits of what follows, and the same question must have the same answer whatever else the machine does.
Nothing returned here is believed: bounds come from `audit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import SolverError

Array = NDArray[np.float64]

INFINITY = highspy.kHighsInf
SLICE = 5_000_000
"""Simplex iterations times rows between two looks at the stop flag: about 0.06 s, seldom 0.2 s. In short slices, each
of which perturbs the costs anew, some programs never end."""

FEWEST = 30
"""Iterations in a slice at least, since each begins with a factorisation."""

_FINAL = {
    highspy.HighsModelStatus.kOptimal: "optimal",
    highspy.HighsModelStatus.kInfeasible: "infeasible",
    highspy.HighsModelStatus.kUnbounded: "unbounded",
    highspy.HighsModelStatus.kUnboundedOrInfeasible: "infeasible",
}
_PAUSED = (highspy.HighsModelStatus.kIterationLimit, highspy.HighsModelStatus.kTimeLimit)


def _silent() -> Any:
    """HiGHS that prints nothing. Its own types name neither its constructor's nor all methods."""
    highs = highspy.Highs()  # type: ignore[no-untyped-call]  # the package types itself only in part
    highs.setOptionValue("output_flag", False)
    return highs


class LinearProgram:
    """A growing linear program with a warm basis.

    slice : iterations times rows between two looks at the stop flag; fewer where rows are dense.
    perturbed : HiGHS changes the costs a little and undoes that at the end. It helps where many vertices cost the same,
        as with curves in many shifts, and takes up to twice the time where few rounds follow each other.
    """

    def __init__(self, *, tolerance: float = 1e-9, perturbed: bool = True, slice: int = SLICE) -> None:
        self.rows = self.columns = 0
        self._tolerance, self._perturbed = tolerance, perturbed
        self._sliced, self._slice = True, slice
        self._highs = self._new()

    def _new(self) -> Any:
        """HiGHS without a model."""
        highs = _silent()
        for option, value in (
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("dual_simplex_cost_perturbation_multiplier", float(self._perturbed)),
            ("primal_feasibility_tolerance", self._tolerance),
            ("dual_feasibility_tolerance", self._tolerance),
        ):
            highs.setOptionValue(option, value)
        return highs

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

    def set_limits(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """New limits of all rows; the basis stays."""
        low, high = (np.ascontiguousarray(v, dtype=float) for v in (lower, upper))
        self._check(self._highs.changeRowsBounds(self.rows, np.arange(self.rows, dtype=np.int32), low, high))

    def set_bounds(self, lower: ArrayLike, upper: ArrayLike) -> None:
        """New bounds of all columns; the basis stays."""
        low, high = (np.ascontiguousarray(v, dtype=float) for v in (lower, upper))
        self._check(self._highs.changeColsBounds(self.columns, np.arange(self.columns, dtype=np.int32), low, high))

    def set_entries(self, rows: ArrayLike, column: int, values: ArrayLike) -> None:
        """New entries of one column; the basis stays."""
        for row, value in zip(np.asarray(rows).tolist(), np.asarray(values, dtype=float).tolist()):
            self._check(self._highs.changeCoeff(row, column, value))

    def loosen(self, factor: float) -> None:
        """From now on accept what is off by so many times as much."""
        self._tolerance *= factor
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(option, self._tolerance)

    def set_hessian(self, starts: ArrayLike, rows: ArrayLike, values: ArrayLike) -> None:
        """Add ½ xᵀQx to the objective: the lower triangle of Q, positive semidefinite, column by column. From now on
        `run` goes without slices, which the active-set method would not survive."""
        starts, rows = np.asarray(starts, dtype=np.int32), np.asarray(rows, dtype=np.int32)
        values = np.asarray(values, dtype=float)
        triangle = int(highspy.HessianFormat.kTriangular)
        self._check(self._highs.passHessian(self.columns, len(values), triangle, starts, rows, values))
        self._highs.setOptionValue("solver", "qpasm")
        self._sliced = False

    def run(self, deadline: float, stop: Callable[[], bool] = lambda: False) -> str:
        """Solve from the last basis until `deadline` (in `time.perf_counter` seconds) or until `stop()` is true.

        Returns "optimal", "infeasible", "unbounded", "time" or "stopped".
        """
        retries = 0
        while True:
            left = deadline - time.perf_counter()
            if left <= 0:
                return "time"
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + left)
            if self._sliced:
                self._highs.setOptionValue("simplex_iteration_limit", max(FEWEST, self._slice // (self.rows + 1)))
            self._highs.run()
            status = self._highs.getModelStatus()
            if status in _FINAL:
                return _FINAL[status]
            if stop():
                return "stopped"
            if status not in _PAUSED:
                retries += 1
                if retries > 2:
                    raise SolverError(f"HiGHS ended with status {self._highs.modelStatusToString(status)}")
                if retries == 2:
                    self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget the basis, and all else that HiGHS remembers of a linear program: more than `clearSolver` does."""
        if self._sliced:
            model, self._highs = self._highs.getLp(), self._new()
            self._check(self._highs.passModel(model))
        else:
            self._highs.clearSolver()

    def run_interior(self, deadline: float, stop: Callable[[], bool] = lambda: False) -> str:
        """`run` by the interior point method, no basis before or after: for large programs that few runs finish."""
        left = deadline - time.perf_counter()
        if left <= 0:
            return "time"
        watch = lambda event: event.interrupt() if stop() else None  # noqa: E731
        self._highs.clearSolver()
        limit = self._highs.getRunTime() + left
        for option, value in (("solver", "ipx"), ("run_crossover", "off"), ("time_limit", limit)):
            self._highs.setOptionValue(option, value)
        self._highs.cbIpmInterrupt.subscribe(watch)
        try:
            self._highs.run()
        finally:
            self._highs.cbIpmInterrupt.unsubscribe(watch)
            self._highs.setOptionValue("solver", "simplex")
        status = self._highs.getModelStatus()
        if status in _FINAL:
            return _FINAL[status]
        return "time" if status == highspy.HighsModelStatus.kTimeLimit else "stopped"

    def primal(self) -> Array:
        """Column values, (columns,)."""
        return np.array(self._highs.getSolution().col_value)

    def row_duals(self) -> Array:
        """Row multipliers, (rows,): ≥ 0 at lower sides, ≤ 0 at upper sides."""
        return np.array(self._highs.getSolution().row_dual)

    def basic(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which columns and which rows' slacks are in the basis, (columns,) and (rows,)."""
        basis = self._highs.getBasis()
        kinds = (basis.col_status, basis.row_status)
        columns, rows = (
            np.array([kind == highspy.HighsBasisStatus.kBasic for kind in one], dtype=bool) for one in kinds
        )
        return columns, rows

    @staticmethod
    def _check(status: highspy.HighsStatus) -> None:
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused a change of the model")


@dataclass(frozen=True)
class ModelFile:
    """What a model file says: minimise or maximise costs·x + ½ xᵀQx + offset, row_lower ≤ A x ≤ row_upper,
    lower ≤ x ≤ upper.

    starts, columns, values : A row by row.   hessian : (starts, rows, values) of Q's lower triangle, column by column.
    """

    costs: Array
    offset: float
    maximise: bool
    row_lower: Array
    row_upper: Array
    lower: Array
    upper: Array
    starts: NDArray[np.signedinteger]
    columns: NDArray[np.signedinteger]
    values: Array
    hessian: tuple[NDArray[np.signedinteger], NDArray[np.signedinteger], Array] | None
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    continuous: bool


def read_model(path: str) -> ModelFile:
    """The model in an MPS or LP file.

    Raises
    ------
    SolverError : HiGHS cannot read it.
    """
    highs = _silent()
    if highs.readModel(str(path)) == highspy.HighsStatus.kError:
        raise SolverError("the model file cannot be read")
    highs.ensureRowwise()
    lp, matrix = highs.getLp(), highs.getLp().a_matrix_
    hessian = None
    if highs.getHessianNumNz():
        q = highs.getModel().hessian_
        hessian = (np.array(q.start_), np.array(q.index_), np.array(q.value_))
    return ModelFile(
        np.array(lp.col_cost_),
        float(lp.offset_),
        lp.sense_ == highspy.ObjSense.kMaximize,
        np.array(lp.row_lower_),
        np.array(lp.row_upper_),
        np.array(lp.col_lower_),
        np.array(lp.col_upper_),
        np.array(matrix.start_),
        np.array(matrix.index_),
        np.array(matrix.value_),
        hessian,
        tuple(lp.row_names_),
        tuple(lp.col_names_),
        all(kind == highspy.HighsVarType.kContinuous for kind in lp.integrality_),
    )


def write_model(path: str, model: ModelFile) -> None:
    """Write the model as an MPS file."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(model.costs), len(model.row_lower)
    lp.col_cost_, lp.offset_ = model.costs, model.offset
    lp.sense_ = highspy.ObjSense.kMaximize if model.maximise else highspy.ObjSense.kMinimize
    lp.row_lower_, lp.row_upper_, lp.col_lower_, lp.col_upper_ = (
        model.row_lower, model.row_upper, model.lower, model.upper
    )  # fmt: skip
    lp.row_names_, lp.col_names_ = list(model.row_names), list(model.column_names)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = model.starts, model.columns, model.values
    highs = _silent()
    LinearProgram._check(highs.passModel(lp))
    if model.hessian is not None:
        starts, rows, values = model.hessian
        triangle = int(highspy.HessianFormat.kTriangular)
        LinearProgram._check(
            highs.passHessian(
                lp.num_col_, len(values), triangle, starts.astype(np.int32), rows.astype(np.int32), values
            )
        )
    LinearProgram._check(highs.writeModel(str(path)))
