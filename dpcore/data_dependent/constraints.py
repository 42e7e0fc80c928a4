"""Further rows of the programs: caps on single values, monotone laws, ordered laws [docs/data_dependent.md].

Every function builds `program.FurtherRows` for a channel of G laws and n points; an atom, where there is one, has the
flat index G·n + its law. `lower` is for the rounded channels of lower bounds, `upper` for channels on cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .channel import Grid
from .costs import Queries, is_convex
from .problem import DataDependentProblem
from .program import FurtherRows
from .referee import instance_costs_upper

Array = NDArray[np.float64]

MARGIN = 1e-6
"""Relative part of δ, and ten times as much of caps, that upper programs leave unused, so that answers within the
solver's tolerance pass, or do so after a repair."""

REPAIR = 1e-2
"""Laws of a program that need more than this share of a strictly private release to become private are thrown away."""

Entry = tuple[int, int, float]
"""(row, flat index, value)."""


def rows_lower(problem: DataDependentProblem, terms: Queries, nodes: Array, cap: float | None) -> FurtherRows:
    """What the rounded channel of every admissible mechanism meets; nodes as from `costs.node_costs_lower`."""
    n, laws = terms.rows, int(terms.laws[-1]) + 1
    out = FurtherRows.none()
    if cap is not None:
        out = out.joined(_caps_lower(problem, terms, nodes, cap, laws))
    if problem.monotone:
        out = out.joined(_rows(_falling_lower(n), 0.0))
    if problem.ordered:
        out = out.joined(_rows(_ordered(laws, n, None), 0.0))
    return out


def rows_upper(problem: DataDependentProblem, grid: Grid, cap: float | None, *, atoms: bool) -> FurtherRows:
    """What makes a channel on the grid admissible."""
    n, laws = grid.cells, grid.laws
    out = FurtherRows.none()
    if cap is not None:
        costs = instance_costs_upper(problem.loss, grid, spread=problem.monotone)
        law = np.repeat(np.arange(laws), len(costs) // laws)
        free = float(problem.loss.value(0.0))
        entries = [(r, g * n + b, float(costs[r, b])) for r, g in enumerate(law.tolist()) for b in range(n)]
        if free and atoms:
            entries += [(r, laws * n + g, free) for r, g in enumerate(law.tolist())]
        out = out.joined(_rows(entries, cap * (1 - 10 * MARGIN)))
    if problem.monotone:
        out = out.joined(_rows(_falling_upper(grid), 0.0))
    if problem.ordered:
        out = out.joined(_rows(_ordered(laws, n, grid.breaks if atoms else None), 0.0))
    return out


def _rows(entries: list[Entry], limit: float) -> FurtherRows:
    if not entries:
        return FurtherRows.none()
    rows, columns, values = (np.array(v) for v in zip(*entries))
    return FurtherRows(rows, columns, values.astype(float), np.full(int(rows.max()) + 1, limit))


def _caps_lower(problem: DataDependentProblem, terms: Queries, nodes: Array, cap: float, laws: int) -> FurtherRows:
    """Σ_b Q[a, b] c̃(b − a) ≤ cap at the first and the last value of every law (convex losses need no others)."""
    n, last = terms.rows, np.flatnonzero(np.diff(np.append(terms.laws, laws)))
    first = np.append(0, last[:-1] + 1)
    values = np.unique(np.concatenate([first, last])) if is_convex(problem.loss) else np.arange(n)
    b = np.arange(n)
    return FurtherRows(
        np.repeat(np.arange(len(values)), n),
        (terms.laws[values][:, None] * n + b[None, :]).ravel(),
        nodes[(b[None, :] - values[:, None]) + n - 1].ravel(),
        np.full(len(values), cap),
    )


def _falling_lower(n: int) -> list[Entry]:
    """Rounded monotone laws: next ≤ nearer beyond the value's own node, both neighbours together ≤ twice that node; no
    row ends at an outermost point, which collects what lies beyond it."""
    entries, row = [], 0
    for a in range(n):
        for b in range(n):
            if b > a and b + 1 < n - 1:
                entries += [(row, a * n + b + 1, 1.0), (row, a * n + b, -1.0)]
            elif b < a and b - 1 > 0:
                entries += [(row, a * n + b - 1, 1.0), (row, a * n + b, -1.0)]
            elif b == a and 1 < a < n - 2:
                entries += [(row, a * n + a + 1, 1.0), (row, a * n + a - 1, 1.0), (row, a * n + a, -2.0)]
            else:
                continue
            row += 1
    return entries


def _falling_upper(grid: Grid) -> list[Entry]:
    """Density of the next cell ≤ that of the nearer one."""
    n, entries, row = grid.cells, [], 0
    widths = [float((b - a) / grid.step) for a, b in zip(grid.edges, grid.edges[1:])]
    for a in range(n):
        for near, far in [(b, b + 1) for b in range(a, n - 1)] + [(b, b - 1) for b in range(1, a + 1)]:
            entries += [(row, a * n + far, widths[near]), (row, a * n + near, -widths[far])]
            row += 1
    return entries


def _ordered(laws: int, n: int, breaks: tuple[int, ...] | None) -> list[Entry]:
    """Σ_{b ≥ m} Q[g, b] ≤ Σ_{b ≥ m} Q[g + 1, b]; with atoms (`breaks` of the laws) as `referee.is_ordered` asks: both
    atoms counted up to the first point beyond law g's interval, none from there on."""
    entries, row = [], 0
    for g in range(laws - 1):
        end = n if breaks is None else breaks[g + 1]
        for m in range(1, n):
            tail = [(g * n + b, 1.0) for b in range(m, n)] + [((g + 1) * n + b, -1.0) for b in range(m, n)]
            with_atoms = [*tail, (laws * n + g, 1.0), (laws * n + g + 1, -1.0)]
            for needed, row_entries in (
                (breaks is None or m >= end, tail),
                (breaks is not None and m <= end, with_atoms),
            ):
                if needed:
                    entries += [(row, column, value) for column, value in row_entries]
                    row += 1
    return entries


def next_share(share: float, missed: float) -> float:
    """With which share of a strictly private release laws are mixed next, `share` of it not having been enough: at
    first what would be, then twice as much. missed : by which share of their own δ they miss the one allowed."""
    return max(2 * share, 1e-12, 1.0001 * missed if share == 0 and missed <= REPAIR else 0.0)
