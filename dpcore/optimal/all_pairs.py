"""A lattice program with all of its pairs at once, by an interior point method [method: all pairs].

Where most shifts bind, each at many events, the simplex method takes time like the square of the pairs that it finds
out it needs; a step of `rows.interior` takes time like the number of all pairs, and some forty steps do. It may begin
next to the solution on a coarser lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..kernels import loaded
from ..rows.interior import Interior, InteriorProgram, WideLimits
from ..rows.interior import Limits as Terms
from .lattice import NOT_ZERO, Array, Ints, Lattice, sums_at
from .mesh import Mesh
from .program import LatticeProgram, Outcome, Seed
from .step import Limits

Flags = NDArray[np.bool_]

EACH, CUBED = 20.0, 0.012
"""The simplex method takes as long for p pairs as this method where p² is so many times the number of all pairs, and so
many times n² (n + 1.5 s) for n classes and s shifts."""

HATS = 6.0
"""So many times fewer of hat functions, whose longer rows slow the simplex method down more."""

UNLOADED = 4.0
"""The pairs have to be so many times as many where kernels would have to be loaded first, and in a new installation
compiled."""

FEWEST_PAIRS, MOST_PAIRS, MOST_CLASSES = 6_000, 2_400_000, 1600
"""Smaller and larger programs are left to the simplex method."""

MOST_NEAR = 600_000
"""And those with more pairs that may bind."""

ACCURACY, CLOSEST = 0.05, 1e-7
"""The ends of a program's own bracket meet to this share of the gap aimed at, and no closer."""

AWAY, MARGIN = (-1.0, -0.5, 0.0, 0.5, 1.0), 2.0
"""Pairs are chosen by the densities so many steps of a coarser lattice away, and by this margin at least."""

MISSED, ROUNDS = 0.2, 3
"""Pairs that were wrongly left out are added where they are worth this share of the gap aimed at; in so many
rounds, all of them in the last."""

LEAST_MASS, LEAST_RATE = 1e-4, 1e-3
"""Least share of the largest mass, and of the mean rate, to begin with."""


def solved(program: LatticeProgram, seed: Seed | None, limits: Limits, enough: Callable[[Outcome], bool]) -> Outcome:
    """The program's outcome by whichever method is likely to be faster.   enough : for the simplex method."""
    if seed is not None and _faster(program, seed):
        outcome = all_at_once(program, seed, limits)
        if outcome is not None:
            return outcome
    program.start(seed, limits.deadline)
    return program.solve(limits.deadline, limits.stop, enough=enough)


def _faster(program: LatticeProgram, seed: Seed) -> bool:
    """Whether the pairs that the simplex method is likely to need, as many as for the seed on a finer lattice, are so
    many, or a blurred seed would have it begin with more. For one (ε, δ), laws that need not be monotone, and evenly
    spaced indices or hat functions."""
    lattice = program.lattice
    plain = type(lattice) in (Lattice, Mesh) and program.delta > 0 and not program.monotone
    if not plain or program.further or program.exchange is not None or program.budget is not None:
        return False
    every = _every(lattice)
    if lattice.classes > MOST_CLASSES or not FEWEST_PAIRS <= every <= MOST_PAIRS:
        return False
    most = _worth(lattice) * (1.0 if loaded() else UNLOADED)
    growth = lattice.k / seed.k * lattice.cells / seed.cells  # of nodes, about, and of shifts
    return not seed.sharp or seed.pairs * growth > most


def _every(lattice: Lattice) -> int:
    """How many pairs there are; of hat functions, which join more masses than two, by these."""
    return len(lattice.tests.test) // 2 if isinstance(lattice, Mesh) else len(lattice.shifts) * len(lattice.events)


def _worth(lattice: Lattice) -> float:
    """How many pairs the simplex method finds in the time that this one takes for all."""
    n, shifts, every = lattice.classes, len(lattice.shifts), _every(lattice)
    each = EACH / HATS if isinstance(lattice, Mesh) else EACH
    return math.sqrt(each * every + CUBED * n * n * (n + 1.5 * shifts))


def all_at_once(program: LatticeProgram, seed: Seed | None, limits: Limits) -> Outcome | None:
    """The outcome of the program with all its pairs, beginning next to the seed's. None: there was no time for a step,
    or it came to no end.

    Pairs that are far from binding at the seed are left out at first, then those that were wrongly.
    """
    costs, chosen = program.lattice.multiplicity * program.costs, _near(program, seed)
    if chosen.sum() > MOST_NEAR:
        return None
    if program.atom_cost is not None:
        costs = np.append(costs, program.atom_cost)
    accuracy = max(ACCURACY * limits.gap, CLOSEST)
    best, found = None, None
    for round_ in range(ROUNDS):
        terms = _terms(program, chosen)
        interior, start = InteriorProgram[Terms | WideLimits](costs, terms), _start(program, seed, terms)
        start = start if found is None else _again(found)
        found = interior.solve(limits.deadline, limits.stop, accuracy=accuracy, start=start)
        if start is not None and (found is None or found.status == "rounds"):
            found = interior.solve(limits.deadline, limits.stop, accuracy=accuracy)
        if found is None or found.status == "rounds" or (best is not None and found.status == "stopped"):
            break
        best = _outcome(program, terms, found, costs, chosen)
        left = _left_out(program, chosen, found, MISSED * limits.gap)
        if found.status == "stopped" or not left.any():
            break
        chosen = chosen | left if round_ + 2 < ROUNDS or chosen.size > MOST_NEAR else np.ones_like(chosen)
    return best


def _near(program: LatticeProgram, seed: Seed | None) -> Flags:
    """Which pairs may bind, of every shift in turn: those whose event weighs at the seed, or next to it, not much less
    than e^ε times its cover. Without a seed all."""
    lattice = program.lattice
    if seed is None:
        return np.ones(sum(map(len, lattice.excesses(np.zeros(len(lattice.indices)), lattice.shifts, 1.0))), dtype=bool)
    near = np.array([seed.density(lattice.places + away / seed.cells) for away in AWAY])
    least, most = (lattice.masses(bound) for bound in (near.min(axis=0), near.max(axis=0)))
    margin = MARGIN * max(1.0, lattice.cells / seed.cells)
    return np.concatenate([z >= 0 for z in lattice.excesses_up_to(least / margin, most, program.amplification)])


def _left_out(program: LatticeProgram, chosen: Flags, found: Interior, share: float) -> Flags:
    """Pairs that were left out and are violated; none where they are worth less than this share of the value."""
    lattice = program.lattice
    r = lattice.unfold(np.maximum(found.x[: lattice.classes], 0.0))
    excesses = list(lattice.excesses(r, lattice.shifts, program.amplification))
    missed = np.where(chosen, 0.0, np.maximum(np.concatenate(excesses), 0.0))
    rates = np.repeat(found.limits, [len(z) for z in excesses])
    little = share * float(lattice.multiplicity * program.costs @ found.x[: lattice.classes])
    return (missed > 0) & (float(rates @ missed) > little)


def _terms(program: LatticeProgram, chosen: Flags) -> Terms | WideLimits:
    """The chosen terms of all shifts, events without a cover and the atom."""
    lattice = program.lattice
    if isinstance(lattice, Mesh):
        return _hats(program, lattice, np.flatnonzero(chosen))
    n, atom = lattice.classes, int(program.atom_cost is not None)
    shifts = lattice.shifts.tolist()
    pairs = [lattice.pairs(j, mine) for j, mine in zip(shifts, chosen.reshape(len(shifts), -1))]
    pairs = [(event[event != cover], cover[event != cover]) for event, cover in pairs]
    loose = []
    for j in shifts:
        weights = np.bincount(lattice.classify(lattice.bare(j)), minlength=n + atom)
        weights[n:] = 1
        loose.append((np.flatnonzero(weights), weights[weights > 0].astype(float)))
    return Terms(
        program.amplification,
        np.concatenate([event for event, _ in pairs]),
        np.concatenate([cover for _, cover in pairs]),
        np.cumsum([0, *(len(event) for event, _ in pairs)]),
        np.full(len(pairs), program.delta),
        np.cumsum([0, *(len(columns) for columns, _ in loose)]),
        np.concatenate([columns for columns, _ in loose]),
        np.concatenate([values for _, values in loose]),
        np.zeros(n + atom, dtype=np.int64),
        np.append(lattice.multiplicity, np.ones(atom)),
    )


def _hats(program: LatticeProgram, lattice: Mesh, chosen: Ints) -> WideLimits:
    """The same for hat functions; there is no atom, and all have covers."""
    hats, n, none = lattice.tests, lattice.classes, np.empty(0, dtype=np.int64)
    values = csr_array((hats.event - program.amplification * hats.cover, (hats.test, hats.column)), (hats.count, n))
    values = values[chosen]
    values.sort_indices()
    limits = np.searchsorted(lattice.shifts, hats.shift[chosen])
    return WideLimits(
        values,
        np.searchsorted(limits, np.arange(len(lattice.shifts) + 1)),
        np.full(len(lattice.shifts), program.delta),
        np.zeros(len(lattice.shifts) + 1, dtype=np.int64),
        none,
        none.astype(float),
        np.zeros(n, dtype=np.int64),
        lattice.multiplicity,
    )


def _start(program: LatticeProgram, seed: Seed | None, terms: Terms | WideLimits) -> tuple[Array, Array] | None:
    """The seed's law and its rates, spread over the shifts next to its own; None if it has no rates or costs
    nothing."""
    lattice = program.lattice
    if seed is None or seed.rates is None or seed.shifts is None or not seed.rates.any():
        return None
    law = lattice.shares(lattice.masses(seed.density(lattice.places)))
    law = np.maximum(law, max(LEAST_MASS * law.max(), NOT_ZERO))
    if program.atom_cost is not None:
        law = np.append(law, program.delta * (law @ lattice.multiplicity))
    law /= law @ terms.counts
    if not law[: lattice.classes] @ (lattice.multiplicity * program.costs) > 0:
        return None
    rates, shifts, own = np.zeros(len(terms.most)), lattice.shifts / lattice.k, np.arange(len(terms.most))
    for sign in (1, -1):
        theirs, mine = np.sign(seed.shifts) == sign, own[np.sign(shifts) == sign]
        if mine.size and theirs.any():
            order = np.argsort(np.abs(seed.shifts[theirs]))
            ends = np.append(0.0, np.abs(seed.shifts[theirs])[order])
            below = np.append(0.0, np.cumsum(seed.rates[theirs][order]))
            mine = mine[np.argsort(np.abs(shifts[mine]))]
            rates[mine] = np.diff(np.interp(np.abs(shifts[mine]), ends, below), prepend=0.0)
    return law, np.maximum(rates, LEAST_RATE * rates.mean())


def _again(found: Interior) -> tuple[Array, Array]:
    """What was found, to begin with once more."""
    law, rates = np.maximum(found.x, LEAST_MASS * found.x.max()), np.maximum(found.limits, 0.0)
    return law, np.maximum(rates, LEAST_RATE * rates.mean())


def _outcome(
    program: LatticeProgram, terms: Terms | WideLimits, found: Interior, costs: Array, chosen: Flags
) -> Outcome:
    lattice = program.lattice
    n = lattice.classes
    masses, rates = np.maximum(found.x[:n], 0.0), np.maximum(found.limits, 0.0)
    weight = np.minimum(np.maximum(found.terms, 0.0), rates[terms.owners])
    if isinstance(terms, Terms):
        event, cover, weight = _together(terms.events, terms.covers, weight, n)
    else:
        event, cover = np.flatnonzero(chosen), np.full(len(weight), -1)
    r = lattice.unfold(masses)
    atom = float(found.x[n]) if program.atom_cost is not None else 0.0
    shortfall = float(lattice.shortfalls(r, program.amplification).max(initial=0.0)) + atom
    worth = round(_worth(lattice))
    status = "time" if found.status == "stopped" else "optimal"
    return Outcome(
        masses, atom, float(costs @ found.x), rates[None, :], np.zeros_like(event), event, cover, weight, np.zeros(n),
        0.0, (shortfall,), status, worth, sharp=False,
    )  # fmt: skip


def _together(event: Ints, cover: Ints, weight: Array, n: int) -> tuple[Ints, Ints, Array]:
    """Pairs of classes, each once, with the sum of its weights."""
    names, where = np.unique(event * n + cover, return_inverse=True)
    return names // n, names % n, sums_at(where, weight, len(names))
