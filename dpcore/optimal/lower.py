"""A lower bound from one lattice: random rounding, a linear program, an audited proof [Thms 2 to 4]."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..loss import Loss
from ..loss.cells import infima_lower, minorants, node_values
from ..places import Places
from ..problem import NoiseProblem
from .all_pairs import solved
from .lattice import Array, Lattice
from .mesh import Grading, Mesh
from .program import BudgetRow, LatticeProgram, Outcome, Seed
from .step import (
    SETTLED,
    TINY,
    Limits,
    Proof,
    Step,
    Window,
    further_limits,
    least_delta,
    origin_of,
    places_of,
    reference_density,
    seed_of,
)  # fmt: skip

OPEN, NEARLY = 0.1, 0.9
"""In a support a program ends when violations are worth less than this share of what is open, once its value is nearly
that of a law: what a lattice loses there is more."""


def lower_step(
    problem: NoiseProblem,
    k: int,
    window: Window,
    seed: Seed | None,
    limits: Limits,
    grading: Grading | None = None,
    *,
    ends: bool = False,
    origin: float | None = None,
) -> Step:
    """A lower bound from a lattice of k per sensitivity, or from one graded between its nodes (where losses are
    continuous and laws need not be monotone).   ends : round to the ends of cells two steps wide, k even (Thm 10).
    origin : where such cells begin, to cover a stretch without loss with few of them; by default where lattices do.

    Continuous losses (and monotone laws): stochastic rounding to nodes, node values below the loss (Thm 2).
    A loss with jumps: rounding to cells, infima over open cells [SLW, D(β)]; the atoms of a law, which might sit on a
    cell's end, may be thought moved to the minimiser at no cost of privacy (Thm 1), which with a second loss needs
    that to be least there too.
    """
    loss, D = problem.paid_loss, problem.sensitivity
    alike = atom_serves(problem)
    ends = ends and alike
    start = origin_of(problem) if origin is None else origin
    edge = int(ends or (not loss.continuous and not problem.monotone and alike))
    lattice = rounding_lattice(problem, k, edge, window, CELL if ends and grading is None else 1, start)
    if grading is not None:
        lattice = Mesh.of(lattice, grading)
    places = places_of(problem, lattice.k, lattice.indices, start)
    cells = places_of(problem, lattice.k, np.arange(lattice.first, lattice.last + 2, CELL), start) if ends else None
    touch, level = _touch(problem, places if cells is None else cells, start, lattice.k, seed), origin is not None
    costs, *second_costs = (rounded_costs(c, problem, lattice, touch, cells, level=level) for c in problem.paid_losses)
    delta = max(problem.privacy.delta, least_delta(problem))
    budget = None
    if problem.budget is not None:
        budget = BudgetRow(second_costs[0][lattice.representatives], problem.budget.most)
    program = LatticeProgram(
        lattice,
        costs[lattice.representatives],
        problem.privacy.amplification,
        delta,
        limits.scale,
        reference_density(problem, places.floats / D),
        monotone=problem.monotone,
        open_left=lattice.open_left,
        open_right=lattice.open_right,
        further=further_limits(problem),
        budget=budget,
    )
    deltas = [delta, *(limit for _, limit in further_limits(problem))]

    def enough(outcome: Outcome) -> bool:
        slack = sum(
            rates.sum() * max(shortfall - limit, 0.0)
            for rates, shortfall, limit in zip(outcome.rates, outcome.shortfalls, deltas)
        )
        little = SETTLED * limits.gap * outcome.objective
        if not problem.whole_line and outcome.objective >= NEARLY * limits.scale:
            little = max(little, OPEN * (limits.scale - outcome.objective))
        return bool(0 < slack <= little)

    continuous = all(c.continuous for c in problem.paid_losses)  # jumps ask for the shifts that bring them together
    outcome = solved(program, seed, limits, enough, few=continuous)
    shifts, events, weights = program.multipliers(outcome)
    order = program.order_multipliers(outcome) if problem.monotone else None
    further = tuple(program.multipliers(outcome, level) for level in range(1, len(deltas)))
    costs, *second_costs = (lattice.everywhere(values) for values in (costs, *second_costs))
    spend = None if budget is None else (outcome.budget_rate, second_costs[0], budget.most)
    at_zero = None
    if order is not None and ends and lattice.first <= 0 <= lattice.last:  # 0 is an edge: nothing is said of r_(−1)
        at_zero, order[-lattice.first] = (float(order[-lattice.first]), 0.0), 0.0
    proof = Proof(costs, lattice.first, shifts, events, weights, order, lattice.folded, further, spend, at_zero)
    bound = proof.lower(*problem.privacies)
    bound = max(bound, loss.infimum(*problem.support))
    events, weights = (np.concatenate([own, *(m[at] for m in further)]) for own, at in ((events, 1), (weights, 2)))
    used = events[weights > TINY * weights.max(initial=0.0)] / lattice.k + start / D
    return Step(
        k,
        edge,
        bound,
        None,
        0.0,
        0.0,
        False,
        seed_of(lattice, outcome),
        _grown(window, used, problem.folds) if outcome.sharp else window,
        lattice.classes,
        outcome.pairs,
        outcome.status,
        proof,
    )


def atom_serves(problem: NoiseProblem) -> bool:
    """The point at which the loss is least is one of those at which the second loss is, and that does not jump there:
    an atom may be thought moved to it. A monotone law's atom is at 0 as it is."""
    second = problem.budget_loss
    if second is None or problem.monotone:
        return True
    best = problem.paid_loss.minimiser(*problem.support)[0]
    return float(second.value(best)) <= second.minimiser(*problem.support)[1] and best not in second.jumps


CELL = 2
"""Steps of a cell to whose ends a law is rounded."""


NEAR_END = 0.25
"""An end of the support so many sensitivities beyond a lattice's end is taken for it: else finer lattices, whose ends
are elsewhere, would suddenly have no events there."""


def rounding_lattice(
    problem: NoiseProblem, k: int, edge: int, window: Window, whole: int = 1, origin: float | None = None
) -> Lattice:
    """Nodes origin + i·D/k (edge 0) or cells to their right (edge 1): events over the window, the lattice one
    sensitivity further. Where the support ends before that, or little beyond, its end, rounded outwards, ends the
    lattice and the events.
    whole : the lattice begins and ends at multiples of it.
    """
    grid = places_of(problem, k, [0], origin)
    start = float(grid.origin) / problem.sensitivity
    event_first = math.floor((window.left - start) * k)
    event_last = math.ceil((window.right - start) * k) - edge
    if problem.folds:
        event_first = -event_last - edge
    first, last = whole * ((event_first - k) // whole), whole * -(-(event_last + k + edge) // whole) - edge
    lo, hi = (grid.position(end) for end in problem.support)
    if first <= lo + NEAR_END * k:
        first = event_first = whole * math.floor(lo / whole)
    if last >= hi - edge - NEAR_END * k:
        last = event_last = whole * math.ceil(hi / whole) - edge
    near = tuple((math.floor((left - start) * k), math.ceil((right - start) * k)) for left, right in window.near)
    return Lattice(k, first, last, event_first, event_last, problem.folds, edge, near)


def _touch(problem: NoiseProblem, cells: Places, origin: float, k: int, seed: Seed | None) -> Array:
    """Where in each cell a tangent to the loss touches it: in the middle, but next to the minimum nearer to it the more
    mass gathers there, for a node with an atom should not pay for its neighbours [Thm 2]."""
    touch = np.full(len(cells.indices) - 1, 0.5)
    if seed is None or k > 4 * seed.k:
        return touch
    least = (problem.paid_loss.minimiser(*problem.support)[0] - origin) / problem.sensitivity
    below, there, above = seed.density(least + np.array([-1, 0, 1]) / seed.k)
    beside = 0.5 * (below + above)
    node, each = max(there - beside, 0.0) / seed.k + beside / k, beside / k
    share = 2 * each / (node + 2 * each) if node > 0 else 0.5
    at = int(np.searchsorted(cells.indices, round(least * k)))
    touch[max(at - 1, 0) : at], touch[at : at + 1] = 1 - min(share, 0.5), min(share, 0.5)
    return touch


def rounded_costs(
    loss: Loss,
    problem: NoiseProblem,
    lattice: Lattice,
    touch: Array,
    cells: Places | None = None,
    *,
    level: bool = False,
) -> Array:
    """What a law rounded to the lattice pays at least: node values, or infima over cells; with `cells`, linear
    functions below the loss at their ends (`level`: see `minorants`); at the end nodes the infimum of what lies beyond,
    for the line goes on there."""
    places = places_of(problem, lattice.k, lattice.indices) if cells is None else cells
    if cells is not None:
        costs = np.stack(minorants(loss, cells, touch, level=level), axis=1).ravel()
    else:
        costs = _cell_infima(loss, problem, lattice) if lattice.edge else node_values(loss, places, touch)
    first, last = (math.nextafter(x, inwards) for x, inwards in zip(places.floats[[0, -1]], (math.inf, -math.inf)))
    if lattice.open_left:
        costs[0] = min(costs[0], loss.infimum(-math.inf, first))
    if lattice.open_right:
        costs[-1] = min(costs[-1], loss.infimum(last, math.inf))
    return costs


def _cell_infima(loss: Loss, problem: NoiseProblem, lattice: Lattice) -> Array:
    """Infimum of the loss over every open cell, rounded down."""
    out = infima_lower(loss, places_of(problem, lattice.k, np.arange(lattice.first, lattice.last + 2)))
    # The atoms are thought at the minimiser; if that is an end of the support, the open cell next to it may miss it.
    lo, hi = problem.support
    if math.isfinite(lo):
        out[0] = min(out[0], loss.infimum(lo, lo))
    if math.isfinite(hi):
        out[-1] = min(out[-1], loss.infimum(hi, hi))
    return out


REACHED = 0.03
"""Multipliers within this share of a window of its end ask for a longer one."""


def _grown(window: Window, used: Array, folded: bool) -> Window:
    """The window of events, longer by half on a side where the multipliers reach its end [Thm 2]."""
    near = REACHED * (window.right - window.left)
    left = used.size and used.min() < window.left + near
    right = used.size and used.max() > window.right - near
    if folded:
        left = right = left or right
    return replace(window, left=window.left * (1.5 if left else 1.0), right=window.right * (1.5 if right else 1.0))
