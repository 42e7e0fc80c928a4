"""Plans that keep every limit exactly: solve with the right-hand side as it is, then pull the solver's answer inwards.

The solver's answer misses limits by its tolerance. Mixed with an *anchor*, a point known to keep all guaranteed limits,
it keeps them all: a share λ of the anchor takes λ·(the anchor's room) off every row. λ is about 1e-9, or 0. That the
limits hold is then checked row by row, with a bound on the rounding of A x, or in whole-number arithmetic where that is
too coarse. Equality rows hold up to `EQUALITY_TOLERANCE`: floats cannot do better.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from ..errors import InfeasibleError, InputError, SolverError
from ..loss import UNIT
from ..lp import LinearProgram
from .interior import minimise
from .program import LARGEST, Array, Ints, Model, PrivateProgram

EQUALITY_TOLERANCE = 1e-9
"""Of equality rows, relative to (2t + 8)·Σ|a_i x_i| + |limit|, t the number of entries."""

ROOMS = (1e-3, 1e-5, 1e-7)
"""Room asked of every row of an anchor, in parts, where rows are scaled to right-hand sides of about 1."""

SMALLEST = 1e-6
"""Programs whose limits are all smaller are solved as if they were this large: the rest may be round-off."""

FAIR_SHARE = 1e-7
"""A larger share of one anchor is worth the search for another."""

QUADRATIC_TIME = 3.0
"""Seconds after which a quadratic program is taken away from HiGHS, whose active-set method may cycle."""

NAMED = 6
"""Most rows that a message names."""


@dataclass(frozen=True, eq=False)
class Plan:
    """x keeps the limits it was made for.   objective : g(x).   shrunk : share of the anchor that was mixed in.
    best : no x that keeps these limits has a better objective than this (rounded to the safe side; None: unproved)."""

    x: Array
    objective: float
    shrunk: float
    best: float | None


# Checks -------------------------------------------------------------------------------------------------


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


# Solving ------------------------------------------------------------------------------------------------


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
        self._scale(*program.row_limits(program.limits if like is None else like))
        self.anchor = self._anchor()
        self._lp = self._build()
        self._box: tuple[Array, Array] | None = None

    def solve(self, private: Array, *, prove: bool = False) -> Plan | None:
        """The best plan for these private limits (p,); None if there is none (possible only for limits beyond b*).

        `prove`: with a certified bound of what any plan could reach.
        """
        low, high = self.program.row_limits(private)
        scaled = low * self._rows / self._size, high * self._rows / self._size
        solved = self._solved(*scaled)
        if solved is None:
            return None
        plan = self._plan(*solved, low, high, prove)
        if prove and plan is not None and self.model.quadratic is not None:
            # HiGHS' quadratic solver is good for plans, but for proofs only to six digits.
            second = self._second(*scaled)
            other = self._plan(*second, low, high, prove) if second else None
            if other is not None and self._rank(other) < self._rank(plan):
                plan = other
        return plan

    def _rank(self, plan: Plan) -> float:
        """What is unproved of a plan."""
        return math.inf if plan.best is None else abs(plan.objective - plan.best)

    def _plan(self, x: Array, y: Array, low: Array, high: Array, prove: bool) -> Plan | None:
        """The plan of a scaled solution and its row multipliers."""
        x = np.clip(x * self._size, self.model.lower, self.model.upper)
        x, share = self._inside(x, low, high)
        if x is None:
            return None
        best = self._proved(x, y * self._rows * self._cost, low, high) if prove else None
        return Plan(x, self.model.objective(x), share, best)

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
            self._lp = self._build()  # what failed once is not to be relied upon
            found = self._second(low, high)
            if found is not None:
                return found
        if time.perf_counter() < self.deadline and not self._stop():
            raise SolverError("no solver found a plan")
        raise TimeoutError("no plan in time")

    def _second(self, low: Array, high: Array) -> tuple[Array, Array] | None:
        """The interior-point method's (x, row multipliers) of the scaled program."""
        model, matrix = self.model, self.model.matrix.toarray() * self._rows[:, None]
        hessian = model.sign * model.quadratic.toarray() * (self._size / self._cost)
        ends = model.lower / self._size, model.upper / self._size
        return minimise(hessian, model.sign * model.costs / self._cost, matrix, low, high, *ends)

    # Building ----------------------------------------------------------------------------------------

    def _scale(self, low: Array, high: Array) -> None:
        """Powers of two that bring rows, right-hand sides and costs near 1: exact, and what tolerances are made for."""
        model = self.model
        largest = np.zeros(model.matrix.shape[0])
        np.maximum.at(
            largest, np.repeat(np.arange(len(largest)), np.diff(model.matrix.indptr)), np.abs(model.matrix.data)
        )
        self._rows = _power(1 / np.where(largest > 0, largest, 1.0))
        ends = np.concatenate([low * self._rows, high * self._rows])
        ends = np.abs(ends[np.isfinite(ends)])
        self._size = float(_power(np.max(ends, initial=SMALLEST)))
        gradient = np.abs(model.costs).max(initial=0.0)
        if model.quadratic is not None:
            gradient = max(gradient, np.abs(model.quadratic).max() * self._size)
        self._cost = float(_power(np.array(gradient if gradient > 0 else 1.0)))

    def _rows_of(self) -> LinearProgram:
        """The scaled rows and bounds with zero costs, ready for more columns."""
        model, lp = self.model, LinearProgram(tolerance=1e-9)
        n = len(model.costs)
        lp.add_columns(np.zeros(n), model.lower / self._size, model.upper / self._size)
        return lp

    def _add_rows(self, lp: LinearProgram, low: Array, high: Array) -> None:
        matrix = self.model.matrix
        values = matrix.data * np.repeat(self._rows, np.diff(matrix.indptr))
        scale = self._rows / self._size
        lp.add_rows(low * scale, high * scale, starts=matrix.indptr[:-1], columns=matrix.indices, values=values)

    def _build(self) -> LinearProgram:
        model = self.model
        lp = LinearProgram(tolerance=1e-9)
        costs = model.sign * model.costs / self._cost
        lp.add_columns(costs, model.lower / self._size, model.upper / self._size)
        self._add_rows(lp, *self.program.row_limits(self.program.guaranteed))
        if model.quadratic is not None:
            q = sparse.tril(model.quadratic, format="csc")
            lp.set_hessian(q.indptr[:-1], q.indices, model.sign * q.data * self._size / self._cost)
        return lp

    def _anchor(self) -> Array:
        """A point that keeps all guaranteed limits exactly."""
        low, high = self.program.row_limits(self.program.guaranteed)
        self._refuse_empty(low, high)
        self._roomy, self._upper, self._lower = self._build_roomy(low, high)
        point = self._roomiest(low, high)
        rounded, zero = (np.clip(v, self.model.lower, self.model.upper) for v in (np.rint(point), 0 * point))
        for anchor in (point, rounded, zero):
            if self.checker.keeps(anchor, low, high):
                return anchor
        raise InfeasibleError(
            "guaranteed limits",
            "no room",
            "limits that leave some room inside (or equality rows): otherwise rounding alone violates them",
        )

    def _build_roomy(self, low: Array, high: Array) -> tuple[LinearProgram, Ints, Ints]:
        """maximise Σ_i u(t_i) where row i keeps its limits with t_i (scaled) to spare, u concave and piecewise linear,
        steep near 0: a little room in every row comes first. Also the rows with upper and with lower limits, which are
        repeated with t_i."""
        lp = self._rows_of()
        self._add_rows(lp, low, high)
        matrix = self.model.matrix
        upper = np.flatnonzero(np.isfinite(high) & ~self.checker.equal)
        lower = np.flatnonzero(np.isfinite(low) & ~self.checker.equal)
        for rows, sign in ((upper, 1.0), (lower, -1.0)):
            if not rows.size:
                continue
            with np.errstate(invalid="ignore"):
                most = 0.25 * (high - low)[rows] * self._rows[rows] / self._size
            columns = lp.columns + len(rows) * np.arange(len(ROOMS)) + np.arange(len(rows))[:, None]
            for width in ROOMS:
                lp.add_columns(np.full(len(rows), -ROOMS[0] / width), 0.0, np.minimum(width, most))
            part = matrix[rows]
            values = part.data * np.repeat(self._rows[rows], np.diff(part.indptr))
            ends = np.repeat(part.indptr[1:], len(ROOMS))
            scale, none = self._rows[rows] / self._size, np.full(len(rows), math.inf)
            limits = (-none, high[rows] * scale) if sign > 0 else (low[rows] * scale, none)
            lp.add_rows(
                *limits,
                starts=part.indptr[:-1] + len(ROOMS) * np.arange(len(rows)),
                columns=np.insert(part.indices, ends, columns.ravel()),
                values=np.insert(values, ends, sign),
            )
        return lp, upper, lower

    def _roomiest(self, low: Array, high: Array) -> Array:
        """A point with room in every row that can have some."""
        scale = self._rows / self._size
        none = math.inf
        ends = [
            np.concatenate([low * scale, np.full(len(self._upper), -none), (low * scale)[self._lower]]),
            np.concatenate([high * scale, (high * scale)[self._upper], np.full(len(self._lower), none)]),
        ]
        self._roomy.set_limits(*ends)
        status = self._roomy.run(self.deadline, self._stop)
        if status != "optimal":
            raise (
                TimeoutError("no plan in time") if status in ("time", "stopped") else SolverError(f"no room: {status}")
            )
        point = self._roomy.primal()[: len(self.model.costs)] * self._size
        return np.clip(point, self.model.lower, self.model.upper)

    def _refuse_empty(self, low: Array, high: Array) -> None:
        """Find x with the least total violation; where that is positive, the rows with multipliers cannot hold together
        (Farkas)."""
        lp = self._rows_of()
        m = len(low)
        self._add_rows(lp, low, high)
        rows = np.arange(m)
        for sign in (1.0, -1.0):
            lp.add_columns(np.ones(m), 0.0, starts=rows, rows=rows, values=np.full(m, sign))
        status = lp.run(self.deadline, self._stop)
        if status != "optimal":
            raise (
                TimeoutError("no plan in time")
                if status in ("time", "stopped")
                else SolverError(f"phase one: {status}")
            )
        total = lp.primal()[len(self.model.costs) :].sum()
        if total <= 1e-7:
            return
        conflict = np.flatnonzero(np.abs(lp.row_duals()) > 1e-7).tolist()
        names = [self.model.row_names[row] for row in conflict]
        shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
        accepted = (
            "limits that some plan keeps whatever the data: these rows cannot hold together at their guaranteed limits"
        )
        raise InfeasibleError("rows", shown, accepted)

    # Exactness ---------------------------------------------------------------------------------------

    def _inside(self, x: Array, low: Array, high: Array) -> tuple[Array | None, float]:
        """(x mixed with as little of an anchor as makes it keep the limits, the share): the one for the guaranteed
        limits or, where that has hardly any room itself, one made for these limits."""
        if self.checker.keeps(x, low, high):
            return x, 0.0
        best: tuple[Array | None, float] = (None, 1.0)
        for roomy in (False, True):
            anchor = self._roomiest(low, high) if roomy else self.anchor
            found, share = self._mixed(x, anchor, low, high)
            if found is not None and (best[0] is None or share < best[1]):
                best = found, share
            if best[0] is not None and best[1] <= FAIR_SHARE:
                break
        return best

    def _mixed(self, x: Array, anchor: Array, low: Array, high: Array) -> tuple[Array | None, float]:
        value, _ = self.checker.activity(anchor)
        room = np.minimum(high - value, value - low)
        share, mixed = 0.0, x
        for _ in range(60):
            _, missed = self.checker.misses(mixed, low, high)
            here = (missed > 0) & ~self.checker.equal & (room > 0)
            need = float((missed[here] / (missed[here] + room[here])).max(initial=1e-16))
            share = min(1.0, max(2 * share, need * 1.5))
            mixed = np.clip((1 - share) * x + share * anchor, self.model.lower, self.model.upper)
            if share == 1.0:
                mixed = anchor
            if self.checker.keeps(mixed, low, high):
                return mixed, share
            if share == 1.0:
                break
        return None, 1.0

    # Proof -------------------------------------------------------------------------------------------

    def _proved(self, x: Array, y: Array, low: Array, high: Array) -> float | None:
        """What no plan within the limits can better, from any multipliers y [weak duality].

        With f = ±g (to be minimised): f(z) ≥ f(x) + ∇f(x)·(z − x) + ½κ‖z − x‖², κ ≤ 0 a bound of the least eigenvalue,
        and ∇f·z = y·Az + (∇f − Aᵀy)·z, both parts bounded below over the limits and a box that contains every plan.
        """
        model = self.model
        if self._box is None:
            self._box = self._everywhere()
        lo, hi = self._box
        f, gradient = model.sign * (model.objective(x) - model.offset), model.sign * model.gradient(x)
        y = np.where(y > 0, np.where(np.isfinite(low), y, 0.0), np.where(np.isfinite(high), y, 0.0))
        rest = gradient - model.matrix.T @ y
        count = np.bincount(model.matrix.indices, minlength=len(x)) + 8
        if model.quadratic is not None:
            count = count + np.diff(model.quadratic.indptr) + 8
        size = np.abs(gradient) + self.checker._size.T @ np.abs(y)
        if model.quadratic is not None:
            size = size + np.abs(model.costs) + abs(model.quadratic) @ np.abs(x)
        error = 2 * count * UNIT * size
        parts = []
        for d in (rest - error, rest + error):
            ends = np.stack([_product(d, lo), _product(d, hi)])
            parts.append(ends.min(axis=0))
        columns = np.minimum(*parts)
        limits = np.where(y > 0, y * np.where(np.isfinite(low), low, 0), y * np.where(np.isfinite(high), high, 0))
        if not np.isfinite(columns).all():
            return None
        diameter = 0.0
        if model.curvature_lower < 0:
            diameter = float(((hi - lo) ** 2).sum())
            if not math.isfinite(diameter):
                return None
        linear = _product(gradient, x)
        terms = [f, -math.fsum(linear), math.fsum(limits), math.fsum(columns), 0.5 * model.curvature_lower * diameter]
        blur = math.fsum([abs(f), *np.abs(linear), *np.abs(limits), *np.abs(columns)])
        blur += (
            abs(model.offset)
            + math.fsum(np.abs(model.costs * x))
            + (0.0 if model.quadratic is None else float(np.abs(x) @ (abs(model.quadratic) @ np.abs(x))))
        )
        bound = math.fsum(terms) - (8 + len(x)) * 4 * UNIT * blur
        return model.sign * bound + model.offset

    def _everywhere(self) -> tuple[Array, Array]:
        """A box that contains every plan for limits up to the true ones that is no worse than the anchor."""
        model, (low, high) = self.model, self.program.row_limits(self.program.limits)
        floor = float(model.costs @ self.anchor)
        floor += model.sign * 1e-9 * float(abs(model.costs) @ abs(self.anchor))
        if model.quadratic is None and abs(floor) <= LARGEST:
            ends = (floor, math.inf) if model.maximise else (-math.inf, floor)
            low, high = np.append(low, ends[0]), np.append(high, ends[1])
            matrix = sparse.csr_array(sparse.vstack([model.matrix, model.costs[None, :]], format="csr"))
            model = Model(model.costs, matrix, low, high, model.lower, model.upper)
        return implied_box(model, low, high)


def _product(a: Array, b: Array) -> Array:
    """a·b with 0·∞ = 0."""
    return np.where(a == 0, 0.0, a * np.where(a == 0, 0.0, b))


def _power(values: Array) -> Array:
    """The power of two at or below each positive number."""
    return 2.0 ** np.floor(np.log2(values))


def implied_box(model: Model, low: Array, high: Array, passes: int = 4) -> tuple[Array, Array]:
    """(lo, hi): every x within the bounds and limits lies in this box, rounded outwards; infinite where no row says
    more.

    In row a·x ≤ u, a_j x_j ≤ u − Σ_{i≠j} min a_i x_i.
    """
    a = model.matrix
    rows, columns, data = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)), a.indices, a.data
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
            room = room + 1e-9 * (np.abs(np.where(known, limit[rows], 0.0)) + size[rows])
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
