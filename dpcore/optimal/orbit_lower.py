"""A lower bound for losses made of constants: multipliers that are constant between places [method: orbits]."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..audit.steps import StepMultipliers
from ..lp import INFINITY
from ..problem import NoiseProblem
from .lattice import Array, Ints
from .orbits import OrbitProgram, Orbits, Terms
from .polygons import sums_at
from .step import LEAST_DELTA, Limits

SETTLED, FEW, SLIGHTLY = 0.1, 5.0, 0.02
"""A program ends when what its limits are exceeded by is worth less than this share of what is open, and is not more
than so many times δ and so much probability: limits that do not count yet may be worth more."""

COUNTS = 0.01
"""Where no rate is 0, limits count of which at most this share is left."""

LEAST = 1e-8
"""Smaller losses are scaled like this one: HiGHS takes no entries beyond 1e15."""


def orbit_lower(
    problem: NoiseProblem, depth: int, beyond: int, limits: Limits, used: Ints | None = None
) -> tuple[float, Ints]:
    """(the bound, rounded down, from events between the places of a depth up to so many sensitivities beyond the marks,
    and all that lies farther out as one event; the positive shifts whose limits count in it).

    The program is that of a law's masses in the cells between all places and their shifted copies; its multipliers are
    judged by `audit.steps`, whatever they are.   used : shifts besides those of depth 1, for all of the next depth.
    """
    orbits, privacy = Orbits.of(problem), problem.privacy
    q = orbits.resolution
    edges = orbits.places(depth, orbits.marks[0] - beyond * q, orbits.marks[-1] + beyond * q)
    right = orbits.shifts(depth + 1) if used is None else np.union1d(used, orbits.shifts(1))
    both = np.concatenate([right, -right])
    nothing = np.zeros((len(both), len(edges) + 1))
    frame = StepMultipliers(problem.sensitivity, q, problem.support, edges, both, nothing, problem.monotone)
    n, count = len(frame.starts), len(frame.starts)
    classes = np.arange(n)
    if problem.folds:
        classes, count = np.minimum(classes, n - 1 - classes), (n + 1) // 2
    masses = sums_at(classes, np.ones(n), count)
    costs = sums_at(classes, frame.costs(problem.paid_loss), count)
    shifts = right if problem.folds else both
    delta = max(privacy.delta, LEAST_DELTA)
    # mass that costs is about √V, so that neither its cost, in units of V, nor the error of its D is large
    scaling = np.where(costs > 0, math.sqrt(min(1.0, max(limits.scale, LEAST))), 1.0)
    terms, intervals = _terms(frame, shifts, classes, scaling, privacy.amplification)
    best, counting = 0.0, np.zeros(len(shifts))

    def prove(rates: Array, names: Ints, found: Array, order: Array | None = None) -> float:
        """Judge multipliers of the limits and of some terms."""
        nonlocal best, counting
        limit, interval = terms.limit[names], intervals[names]
        weights, found = nothing.copy(), np.minimum(found, rates[limit])
        if problem.folds:
            weights[limit, interval] = weights[len(right) + limit, len(edges) - interval] = 0.5 * found
        else:
            weights[limit, interval] = found
        proof = replace(frame, weights=weights, falls=order)
        bound = proof.lower(problem.paid_loss, privacy.epsilon, privacy.delta)
        if bound > best:
            best, counting = bound, rates
        return bound

    bare = np.zeros((len(shifts), count))
    solved = None if problem.monotone else terms.all_at_once(costs, masses, bare, delta, limits)
    if solved is not None:
        rates = np.maximum(solved.limits, 0.0)
        prove(rates, np.arange(len(terms.limit)), np.maximum(solved.terms, 0.0))
        if solved.status in ("optimal", "stopped"):
            reached = sums_at(terms.limit, terms.at(solved.x), len(shifts)) >= (1 - COUNTS) * delta
            return best, np.unique(np.abs(shifts[reached]))
    program = OrbitProgram(terms, costs, masses, bare, delta, limits.scale, scaling)
    program.rows.add_terms(np.flatnonzero(np.abs(shifts[terms.limit]) == q))
    falls = _add_falls(program, frame, classes) if problem.monotone else None

    def judge(over: Array) -> bool:
        """Every solution on the way is one of a relaxation, whose multipliers prove a bound, too. What limits are still
        exceeded by is worth about the rates times that: enough if that is little of what is open."""
        duals = program.rows.lp.row_duals()
        rates, found = program.rows.multipliers(duals, limits.scale)
        order = None
        if falls is not None:
            numbers, rows, copies, large = falls
            order = np.zeros(n - 1)
            order[numbers] = np.maximum(duals[rows], 0.0) * limits.scale / (copies * large)
        bound = prove(rates, program.rows.names, found, order)
        little = rates @ over <= SETTLED * (limits.scale - best)
        return bool(little and bound > 0 and over.max(initial=0.0) <= min(FEW * delta, SLIGHTLY))

    program.solve(limits, judge)
    return best, np.unique(np.abs(shifts[counting > 0]))


def _terms(frame: StepMultipliers, shifts: Ints, classes: Ints, scaling: Array, growth: float) -> tuple[Terms, Ints]:
    """max(0, P(A) − e^ε P(A + φ)) for every shift and interval A between edges, over classes of cells, and the number
    of A for each. Those that are never positive are left out."""
    m, n, count = frame.weights.shape[1], len(classes), len(scaling)
    keys, values = [], []
    for j, shift in enumerate(shifts.tolist()):
        for numbers, value in ((frame.numbers(), 1.0), (frame.numbers(shift), -growth)):
            keys.append((j * m + numbers) * count + classes)
            values.append(np.full(n, value))
    named, index = np.unique(np.concatenate(keys), return_inverse=True)
    entries = sums_at(index, np.concatenate(values), len(named))
    used = entries != 0
    term, columns, entries = named[used] // count, named[used] % count, entries[used]
    names, owners = np.unique(term, return_inverse=True)
    useful = sums_at(owners, (entries > 0).astype(float), len(names)) > 0
    kept = useful[owners]
    names, columns, entries, term = names[useful], columns[kept], entries[kept], term[kept]
    starts = np.searchsorted(term, names)
    sizes = np.maximum.reduceat(np.where(entries > 0, scaling[columns], 0.0), starts)
    return Terms(names // m, starts, columns, entries, sizes), names % m


def _add_falls(program: OrbitProgram, frame: StepMultipliers, classes: Ints) -> tuple[Ints, Ints, Ints, Array]:
    """Rows: densities do not rise away from 0. Returns (numbers of the frame's falls, the LP's row of each, how many
    share it, what its multiplier is divided by)."""
    lp, (inner, outer, ratio) = program.rows.lp, frame.fall_rows()
    falls = np.flatnonzero(inner >= 0)
    inner, outer, ratio = classes[inner[falls]], classes[outer[falls]], ratio[falls]
    _, first, owners = np.unique(inner * len(classes) + outer, return_index=True, return_inverse=True)
    large = np.maximum(ratio, 1.0)
    columns = np.stack([inner, outer], axis=1)[first]
    values = np.stack([1 / large, -ratio / large], axis=1)[first] * program.scaling[columns]
    rows = lp.rows + owners
    lp.add_rows(0.0, INFINITY, starts=2 * np.arange(len(first)), columns=columns.ravel(), values=values.ravel())
    return falls, rows, np.bincount(owners)[owners], large
