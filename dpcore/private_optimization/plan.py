"""Plans that keep every limit exactly: solve with the right-hand side as it is, then pull the solver's answer inwards.

HiGHS solves the scaled program (`scaling`); what it misses by its tolerance an anchor takes away (`anchor`); whether
limits hold is decided row by row (`feasibility`); what no plan can better follows from its multipliers (`duality`). No
word of the solver's is believed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputError, SolverError
from ..lp import LinearProgram
from .anchor import Anchors
from .duality import best_possible, plans_box
from .feasibility import Checker
from .interior import minimise
from .program import Array, PrivateProgram
from .scaling import Scaling

QUADRATIC_TIME = 3.0
"""Seconds after which a quadratic program is taken away from HiGHS, whose active-set method may cycle."""


@dataclass(frozen=True, eq=False)
class Plan:
    """x keeps the limits it was made for.   objective : g(x).   shrunk : share of the anchor that was mixed in.
    best : no x that keeps these limits has a better objective than this (rounded to the safe side; None: unproved)."""

    x: Array
    objective: float
    shrunk: float
    best: float | None


class Planner:
    """One program solved for one set of private limits after another, from the last basis.

    like : private limits of the size to come, by which the program is scaled (default: the true ones). A release passes
    the released ones, so that nothing else of the data has an influence.

    Raises
    ------
    InfeasibleError : no x keeps all guaranteed limits; the message names rows that cannot hold together.
    InputError : the objective can be improved without end.
    """

    def __init__(
        self,
        program: PrivateProgram,
        *,
        like: Array | None = None,
        time_limit: float = 60.0,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.program, self.model = program, program.model
        self.checker, self._stop = Checker(program.model), stop
        self.deadline = time.perf_counter() + time_limit
        self._guaranteed = program.row_limits(program.guaranteed)
        self._scaling = Scaling.of(program.model, *program.row_limits(program.limits if like is None else like))
        self._anchors = Anchors(self._scaling, self.checker, *self._guaranteed, self._run)
        self._lp = self._scaling.program(*self._guaranteed)

    def solve(self, private: Array, *, prove: bool = False) -> Plan | None:
        """The best plan for these private limits (p,); None if there is none (possible only for limits beyond b*).

        `prove`: with a certified bound of what any plan could reach.
        """
        low, high = self.program.row_limits(private)
        scaled = self._scaling.limits(low, high)
        solved = self._solved(*scaled)
        if solved is None:
            return None
        plan = self._plan(*solved, low, high, prove)
        if prove and plan is not None and self.model.quadratic is not None:
            # HiGHS' quadratic solver is good for plans, but for proofs only to six digits.
            second = self._second(*scaled)
            other = self._plan(*second, low, high, prove) if second else None
            if other is not None and self._unproved(other) < self._unproved(plan):
                plan = other
        return plan

    @staticmethod
    def _unproved(plan: Plan) -> float:
        """How far a plan is from its bound."""
        return math.inf if plan.best is None else abs(plan.objective - plan.best)

    def _plan(self, x: Array, y: Array, low: Array, high: Array, prove: bool) -> Plan | None:
        """The plan of a scaled solution and its row multipliers."""
        inner, share = self._anchors.inside(self._scaling.point(x), low, high)
        if inner is None:
            return None
        best = self.proved(inner, self._scaling.multipliers(y), low, high) if prove else None
        return Plan(inner, self.model.objective(inner), share, best)

    def proved(self, x: Array, y: Array, low: Array, high: Array) -> float | None:
        """What no plan within these row limits can better, from any multipliers y; None if y proves nothing."""
        anchor = self._anchors.point
        known = anchor if self.checker.keeps(anchor, low, high) else None
        return best_possible(self.model, x, y, low, high, plans_box(self.model, low, high, known))

    # Solvers -----------------------------------------------------------------------------------------

    def _run(self, lp: LinearProgram) -> str:
        return lp.run(self.deadline, self._stop)

    def _solved(self, low: Array, high: Array) -> tuple[Array, Array] | None:
        """(x, row multipliers) of the scaled program, by HiGHS and, where its quadratic solver fails, by the
        interior-point method; None if no x keeps the limits."""
        quadratic = self.model.quadratic is not None
        self._lp.set_limits(low, high)
        deadline = min(self.deadline, time.perf_counter() + QUADRATIC_TIME) if quadratic else self.deadline
        try:
            status = self._lp.run(deadline, self._stop)
        except SolverError:
            status = "failed"
        if status == "infeasible":
            return None
        if status == "unbounded":
            raise InputError("objective", "unbounded", "one that the limits bound: it can be improved without end")
        if status == "optimal":
            return self._lp.primal(), self._lp.row_duals()
        if quadratic and time.perf_counter() < self.deadline and not self._stop():
            self._lp = self._scaling.program(*self._guaranteed)  # what failed once is not to be relied upon
            found = self._second(low, high)
            if found is not None:
                return found
        if time.perf_counter() < self.deadline and not self._stop():
            raise SolverError("no solver found a plan")
        raise TimeoutError("no plan in time")

    def _second(self, low: Array, high: Array) -> tuple[Array, Array] | None:
        """The interior-point method's (x, row multipliers) of the scaled program."""
        hessian, costs, matrix, lower, upper = self._scaling.quadratic()
        seconds = max(0.0, self.deadline - time.perf_counter())
        return minimise(hessian, costs, matrix, low, high, lower, upper, seconds)
