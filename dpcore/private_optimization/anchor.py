"""Anchors: points with room in every row, which pull a solver's answer inside its limits.

An answer that misses limits by the solver's tolerance, mixed with a point that is known to keep them, keeps them all: a
share λ of the anchor takes λ·(the anchor's room) off every row (docs/private_optimisation.md, "Limits hold exactly").
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import InfeasibleError, SolverError
from ..lp import LinearProgram
from .feasibility import Checker
from .program import Array, Ints
from .scaling import Scaling

Flags = NDArray[np.bool_]

ROOMS = (1e-3, 1e-5, 1e-7)
"""Room asked of every row of an anchor, in parts, where rows are scaled to right-hand sides of about 1."""

FAIR_SHARE = 1e-7
"""A larger share of one anchor is worth the search for another."""

NAMED = 6
"""Most rows that a message names."""

Run = Callable[[LinearProgram], str]
"""Solves within the time there is; the status."""


class Anchors:
    """Points that keep limits exactly. point : one for the limits (low, high) given, which are the tightest.

    Raises
    ------
    InfeasibleError : no x keeps those limits; the message names rows that cannot hold together.
    """

    def __init__(self, scaling: Scaling, checker: Checker, low: Array, high: Array, run: Run) -> None:
        self.scaling, self.checker, self._run = scaling, checker, run
        refuse_empty(scaling, low, high, run)
        self._lp, self._upper, self._lower = _room_program(scaling, checker.equal, low, high)
        self.point = self._keeping(low, high)

    def _keeping(self, low: Array, high: Array) -> Array:
        """A point that keeps these limits exactly."""
        model, point = self.scaling.model, self.roomiest(low, high)
        rounded, zero = (np.clip(v, model.lower, model.upper) for v in (np.rint(point), 0 * point))
        for anchor in (point, rounded, zero):
            if self.checker.keeps(anchor, low, high):
                return anchor
        raise InfeasibleError(
            "guaranteed limits",
            "no room",
            "limits that leave some room inside (or equality rows): otherwise rounding alone violates them",
        )

    def roomiest(self, low: Array, high: Array) -> Array:
        """A point with room in every row that can have some."""
        below, above = self.scaling.limits(low, high)
        none = math.inf
        self._lp.set_limits(
            np.concatenate([below, np.full(len(self._upper), -none), below[self._lower]]),
            np.concatenate([above, above[self._upper], np.full(len(self._lower), none)]),
        )
        _optimal(self._run(self._lp), "no room")
        return self.scaling.point(self._lp.primal()[: len(self.scaling.model.costs)])

    def inside(self, x: Array, low: Array, high: Array) -> tuple[Array | None, float]:
        """(x mixed with as little of an anchor as makes it keep the limits, the share): the one for the tightest limits
        or, where that has hardly any room itself, one made for these limits."""
        if self.checker.keeps(x, low, high):
            return x, 0.0
        best: tuple[Array | None, float] = (None, 1.0)
        for roomy in (False, True):
            anchor = self.roomiest(low, high) if roomy else self.point
            found, share = self._mixed(x, anchor, low, high)
            if found is not None and (best[0] is None or share < best[1]):
                best = found, share
            if best[0] is not None and best[1] <= FAIR_SHARE:
                break
        return best

    def _mixed(self, x: Array, anchor: Array, low: Array, high: Array) -> tuple[Array | None, float]:
        """((1 − λ)x + λ·anchor, λ) for about the least λ that is proved to keep the limits; (None, 1) if none does."""
        model, checker = self.scaling.model, self.checker
        value, _ = checker.activity(anchor)
        room = np.minimum(high - value, value - low)
        share, mixed = 0.0, x
        for _ in range(60):
            _, missed = checker.misses(mixed, low, high)
            here = (missed > 0) & ~checker.equal & (room > 0)
            need = float((missed[here] / (missed[here] + room[here])).max(initial=1e-16))
            share = min(1.0, max(2 * share, need * 1.5))
            mixed = np.clip((1 - share) * x + share * anchor, model.lower, model.upper)
            if share == 1.0:
                mixed = anchor
            if checker.keeps(mixed, low, high):
                return mixed, share
            if share == 1.0:
                break
        return None, 1.0


def refuse_empty(scaling: Scaling, low: Array, high: Array, run: Run) -> None:
    """Find x with the least total violation; where that is positive, the rows with multipliers cannot hold together
    (Farkas)."""
    lp, rows = scaling.constraints(low, high), np.arange(len(low))
    for sign in (1.0, -1.0):
        lp.add_columns(np.ones(len(low)), 0.0, starts=rows, rows=rows, values=np.full(len(low), sign))
    _optimal(run(lp), "phase one")
    model = scaling.model
    if lp.primal()[len(model.costs) :].sum() <= 1e-7:
        return
    names = [model.row_names[row] for row in np.flatnonzero(np.abs(lp.row_duals()) > 1e-7).tolist()]
    shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    accepted = (
        "limits that some plan keeps whatever the data: these rows cannot hold together at their guaranteed limits"
    )
    raise InfeasibleError("rows", shown, accepted)


def _optimal(status: str, phase: str) -> None:
    """Refuse every status but "optimal"."""
    if status in ("time", "stopped"):
        raise TimeoutError("no plan in time")
    if status != "optimal":
        raise SolverError(f"{phase}: {status}")


def _room_program(scaling: Scaling, equal: Flags, low: Array, high: Array) -> tuple[LinearProgram, Ints, Ints]:
    """maximise Σ_i u(t_i) where row i keeps its limits with t_i (scaled) to spare, u concave and piecewise linear,
    steep near 0: a little room in every row comes first. Also the rows with upper and with lower limits, which are
    repeated with t_i."""
    lp, matrix = scaling.constraints(low, high), scaling.model.matrix
    below, above = scaling.limits(low, high)
    upper, lower = (np.flatnonzero(np.isfinite(limits) & ~equal) for limits in (high, low))
    for rows, sign in ((upper, 1.0), (lower, -1.0)):
        if not rows.size:
            continue
        with np.errstate(invalid="ignore"):
            most = 0.25 * (high - low)[rows] * scaling.rows[rows] / scaling.size
        columns = lp.columns + len(rows) * np.arange(len(ROOMS)) + np.arange(len(rows))[:, None]
        for width in ROOMS:
            lp.add_columns(np.full(len(rows), -ROOMS[0] / width), 0.0, np.minimum(width, most))
        part = matrix[rows]
        values = part.data * np.repeat(scaling.rows[rows], np.diff(part.indptr))
        ends, none = np.repeat(part.indptr[1:], len(ROOMS)), np.full(len(rows), math.inf)
        limits = (-none, above[rows]) if sign > 0 else (below[rows], none)
        lp.add_rows(
            *limits,
            starts=part.indptr[:-1] + len(ROOMS) * np.arange(len(rows)),
            columns=np.insert(part.indices, ends, columns.ravel()),
            values=np.insert(values, ends, sign),
        )
    return lp, upper, lower
