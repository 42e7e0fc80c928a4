"""How private and how accurate a channel is, and what multipliers prove: plain NumPy, no solver, no tolerance.

Every function that ends in `_upper` or `_lower` is rounded to that side. u = 2^−53, E = e^ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..audit import amplification_bounds
from ..loss import UNIT, Loss
from ..rows.referee import Brackets
from .channel import Channel, Grid
from .costs import cell_costs_upper, is_convex
from .problem import DataDependentProblem

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def shortfall_upper(channel: Channel, epsilon: float) -> tuple[float, tuple[int, int]]:
    """(bound, (g, g′)): over all pairs of true values within the sensitivity and all events A the largest
    P(A | f) − e^ε P(A | f′) is at most `bound`, attained between laws g and g′ [Thm 2].

    The atom of f is never covered by another value's law, so a pair pays atom_g + Σ_b (p_gb − E p_g′b)₊. Rounding as in
    `audit.lattice_shortfall_upper`: a term errs by at most 8u·p where it can be positive. Sums are rough at first
    (below (K + 4)u off, K < 2^20) and exact where they may be the largest.
    """
    E, related = amplification_bounds(epsilon)[0], channel.grid.related
    masses, atoms = channel.masses, channel.atom_masses
    best = int(np.argmax(atoms))
    worst, where = float(atoms[best]), (best, best)
    covering = E * masses
    rough = np.zeros(related.shape)
    for g, mates in enumerate(related):
        rough[g, mates] = uncovered(masses[g], covering[mates]).sum(axis=1) + atoms[g]
    close = rough >= (1 - 1e-9) * rough.max(initial=0.0)
    for g, other in np.argwhere(close & related).tolist():
        value = math.fsum([*uncovered(masses[g], covering[other]).tolist(), float(atoms[g])])
        if value > worst:
            worst, where = value, (g, other)
    return min(worst * (1 + 16 * UNIT), 1.0), where


def uncovered(here: Array, covering: Array) -> Array:
    """max(0, here − covering), rounded up; masses within u, covering ones times E."""
    return np.where(here * (1 + 8 * UNIT) > covering, np.maximum(here - covering, 0.0) + 8 * UNIT * here, 0.0)


def distance(grid: Grid, pair: tuple[int, int]) -> float:
    """Shortest distance between the intervals of two laws, at most the sensitivity."""
    low, high = sorted(pair)
    apart = max(grid.breaks[high] - grid.breaks[low + 1], 0) if low != high else 0
    return min(float(apart * grid.step), grid.sensitivity)


def loss_upper(channel: Channel, problem: DataDependentProblem, costs: Array | None = None) -> float:
    """An upper bound of the average loss; `costs`: those of `cell_costs_upper`, if they are at hand."""
    if costs is None:
        costs = cell_costs_upper(problem, channel.grid, spread=channel.spread)
    atom = max(float(loss.value(0.0)) for loss in problem.losses)
    pieces = (channel.masses * costs).ravel().tolist()
    # An atom's cost counts with its law's share of the weight, at most all of it.
    return math.fsum([*pieces, atom * float(channel.atom_masses.max()) if atom else 0.0]) * (1 + 16 * UNIT)


def instance_costs_upper(loss: Loss, grid: Grid, *, spread: bool = False) -> Array:
    """Costs (rows, K) and the law of each row, such that the loss at every true value of law g is at most the largest
    Σ_b p_gb·cost of g's rows: for convex losses one row for either end of the interval (the loss of a law is
    convex in f), for others one row of largest costs over the interval."""
    ends = np.array([float(e) for e in grid.edges])
    middles = np.array([float(m) for m in grid.middles])
    borders = ends[list(grid.breaks)]
    slack = 1024 * UNIT * float(loss.value(np.array([-ends[-1], ends[-1]])).max())

    def at(f: Array) -> Array:
        if spread:
            a, b = ends[None, :-1] - f[:, None], ends[None, 1:] - f[:, None]
            return loss.mean(a, b) + loss.rounding(a, b) + slack
        return _largest_near(loss, middles[None, :] - f[:, None], ends[-1]) + slack

    left, right = at(borders[:-1]), at(borders[1:])
    if is_convex(loss):
        return np.stack([left, right], axis=1).reshape(-1, grid.cells)
    if spread:  # of a cell's points the end that is farther away
        left, right = (
            np.maximum(*(_largest_near(loss, end[None, :] - f[:, None], ends[-1]) for end in (ends[:-1], ends[1:])))
            for f in (borders[:-1], borders[1:])
        )
    return np.maximum(left, right) + slack


def _largest_near(loss: Loss, x: Array, width: float) -> Array:
    """The larger of c just left and just right of x, whose rounding is below 16u of the range's width: it decides at
    jumps only."""
    if loss.continuous:
        return loss.value(x)
    blur = 16 * UNIT * width
    return np.maximum(loss.value(x - blur), loss.value(x + blur))


def instance_loss_upper(channel: Channel, loss: Loss) -> float:
    """An upper bound of the loss at any true value in the range."""
    costs = instance_costs_upper(loss, channel.grid, spread=channel.spread)
    per_law = len(costs) // channel.grid.laws
    losses = (np.repeat(channel.masses, per_law, axis=0) * costs).sum(axis=1)
    losses = losses * (1 + 4 * channel.grid.cells * UNIT) + np.repeat(channel.atom_masses, per_law) * float(
        loss.value(0.0)
    )
    return float(losses.max()) * (1 + 16 * UNIT)


def largest_loss_upper(channel: Channel, problem: DataDependentProblem) -> float:
    """The same by the problem; with another loss below 0 the larger of both counts everywhere."""
    return max(instance_loss_upper(channel, loss) for loss in problem.losses)


def is_monotone(channel: Channel) -> bool:
    """The density of the release never increases away from the true value: exactly, on the whole numbers."""
    if not channel.spread or channel.grid.laws != channel.grid.cells:
        return False
    edges = channel.grid.edges
    widths = [b - a for a, b in zip(edges, edges[1:])]
    for g, row in enumerate(channel.weights.tolist()):
        right = all(row[b] * widths[b + 1] >= row[b + 1] * widths[b] for b in range(g, len(row) - 1))
        left = all(row[b] * widths[b - 1] >= row[b - 1] * widths[b] for b in range(1, g + 1))
        if not (left and right):
            return False
    return True


def is_ordered(channel: Channel) -> bool:
    """P(release ≥ y | f) never falls with f: exactly, on the whole numbers.

    For y up to the end of law g's interval the atoms of values beyond y count: in both laws for the points up to the
    first one beyond that end (y may lie just before it), in neither for points from there on (y may lie beyond both
    values).
    """
    breaks = channel.grid.breaks
    tails = [_tails(row) for row in channel.weights.tolist()]
    for g, (before, after) in enumerate(zip(tails, tails[1:])):
        more, end = int(channel.atoms[g]) - int(channel.atoms[g + 1]), breaks[g + 1]
        with_atoms = all(p + more <= q for p, q in zip(before[: end + 1], after[: end + 1]))
        if not with_atoms or any(p > q for p, q in zip(before[end:], after[end:])):
            return False
    return True


def _tails(row: list[int]) -> list[int]:
    total, out = 0, []
    for weight in reversed(row):
        total += weight
        out.append(total)
    return out[::-1]


# What multipliers prove ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of the privacy rows and of further linear rows, in any order; negative ones count as 0.

    laws, others, points, weights : multiplier y of max(0, Q_ab − e^ε Q_a′b) for a = laws, a′ = others, b = points.
    rows, columns, values, limits, rates : further rows Σ values·Q ≤ limit that every admissible channel meets: entry t
        belongs to row rows[t] and to the flat index columns[t] of Q; limits and their multipliers, one per row.
    """

    laws: Ints
    others: Ints
    points: Ints
    weights: Array
    rows: Ints
    columns: Ints
    values: Array
    limits: Array
    rates: Array


def multiplier_bound_lower(
    costs: Array, proof: Multipliers, *, epsilon: float, delta: float, related: NDArray[np.bool_], mirrored: bool
) -> float:
    """A lower bound of Σ costs·Q over all channels Q that meet the rows, from any multipliers [Thm 3].

    Σ Q·C ≥ Σ_a min_b D_ab − δ Σ λ_aa′ − Σ rates·limits with λ_aa′ = max_b y and D = C + Σ y (at the event) − e^ε Σ y
    (at the covering entry) + Σ rates·values. costs : (G, n).   mirrored : an optimal channel is its own mirror image,
    so D may be averaged with its mirror image.
    """
    laws, points = costs.shape
    used = (proof.weights > 0) & related[proof.laws, proof.others]
    a, other, b, y = proof.laws[used], proof.others[used], proof.points[used], proof.weights[used]
    E = amplification_bounds(epsilon)[1]
    brackets = Brackets.of(costs.ravel()).with_terms(a * points + b, other * points + b, E, y, a * laws + other, delta)
    rates, n = np.maximum(proof.rates, 0.0), costs.size
    paid, dues = proof.values * rates[proof.rows], rates * proof.limits
    # Weights make floats, of which NumPy's types know nothing.
    added, size = (cast(Array, np.bincount(proof.columns, values, n)) for values in (paid, np.abs(paid)))
    price = math.fsum(dues) + 4 * UNIT * math.fsum(np.abs(dues))
    terms = np.bincount(proof.columns, minlength=n)
    return brackets.with_rows(added, size, terms, price).lower(laws=laws, mirrored=mirrored)
