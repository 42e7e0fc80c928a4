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
from scipy.sparse import csr_array, vstack

from ..kernels import loaded
from ..rows.interior import Interior, InteriorProgram, WideLimits
from ..rows.interior import Limits as Terms
from .blocks import Blocks
from .lattice import NOT_ZERO, Array, Ints, Lattice
from .mesh import Mesh
from .polygons import sums_at
from .program import COARSE, LatticeProgram, Outcome, Seed
from .step import Limits

Flags = NDArray[np.bool_]

EACH, CUBED = 20.0, 0.012
"""The simplex method takes as long for p pairs as this method where p² is so many times the number of all pairs, and so
many times n² (n + 1.5 s) for n classes and s shifts."""

HATS, BLOCKS = 1 / 6, 5.0
"""So many times as many of hat functions, whose longer rows slow the simplex method down more, and of blocks, each pair
of which it needs once for many shifts."""

LOADING = 3200.0
"""So many it finds in the time that kernels take to be loaded; in a new installation they have to be compiled."""

UNSEEDED = 300, 5
"""Programs that begin without a seed, on no coarse lattice, have so many classes and so many shifts at least, and
kernels loaded."""

FAR_FINER = 8
"""Where a seed is coarse, programs with all pairs are those of hat functions and blocks, and those for lower bounds on
lattices so many times as fine that end with the support."""

FEWEST_PAIRS, MOST_PAIRS, MOST_CLASSES = 1_500, 2_400_000, 1600
"""Smaller and larger programs are left to the simplex method."""

MOST_NEAR = 600_000
"""And those with more pairs that may bind."""

TINY = 1e-8
"""Programs for laws at a smaller δ have numbers so far apart that the simplex method may not end."""

ACCURACY, CLOSEST = 0.05, 1e-7
"""The ends of a program's own bracket meet to this share of the gap aimed at, and no closer."""

AWAY, MARGIN = (-1.0, 0.0, 1.0), 2.0
"""Pairs are chosen by the densities so many steps of a coarser lattice away, and by this margin at least."""

MISSED, ROUNDS = 0.2, 4
"""Pairs that were wrongly left out are added where they are worth this share of the gap aimed at, in so many
rounds; all where the program comes to no end without them."""

OVER = 0.05
"""And where some limit is exceeded by more than this share of it."""

THIN, THIN_FROM, NEAR_WHOLE, FEW = 3, 150, 1 / 8, 0.5
"""Where few shifts are asked for, on lattices of at least so many to the sensitivity, every so manieth has a limit: its
neighbours do what the others would. But all have that are so near to the sensitivity, in parts of it, and all with at
most this share of the largest number of pairs: each has events of its own there, without a cover."""

LEAST_MASS, LEAST_RATE = 1e-4, 1e-3
"""Least share of the largest mass, and of the mean rate, to begin with."""


def accuracy(limits: Limits) -> float:
    """How near the ends of a program's own bracket are to come."""
    return max(ACCURACY * limits.gap, CLOSEST)


def loading() -> float:
    """So many pairs the simplex method finds while kernels are loaded."""
    return 0.0 if loaded() else LOADING


def solved(
    program: LatticeProgram,
    seed: Seed | None,
    limits: Limits,
    enough: Callable[[Outcome], bool],
    *,
    coarsest: bool = True,
    few: bool = False,
) -> Outcome:
    """The program's outcome by whichever method is likely to be faster.   enough : for the simplex method.
    coarsest : without a seed it is a coarse lattice's, and small.   few : shifts are enough on fine lattices."""
    if _faster(program, seed, coarsest):
        outcome = all_at_once(program, seed, limits, few=few)
        if outcome is not None:
            return outcome
    program.start(seed, limits.deadline)
    return program.solve(limits.deadline, limits.stop, enough=enough)


def _faster(program: LatticeProgram, seed: Seed | None, coarsest: bool) -> bool:
    """Whether the pairs that the simplex method is likely to need, as many as for the seed on a finer lattice, are so
    many, or a blurred seed would have it begin with more, or δ is too small for it. For laws that need not be monotone,
    δ > 0, and evenly spaced indices, hat functions or blocks."""
    lattice = program.lattice
    plain = type(lattice) in (Lattice, Mesh, Blocks) and min(delta for _, delta in program.levels) > 0
    if not plain or program.monotone or program.exchange is not None:
        return False
    every = _every(program)
    if lattice.classes > MOST_CLASSES or every > MOST_PAIRS:
        return False
    if program.atom_cost is not None and program.delta < TINY and loaded():
        return True
    if seed is None:
        return not coarsest and loaded() and lattice.classes >= UNSEEDED[0] and len(lattice.shifts) >= UNSEEDED[1]
    if every < FEWEST_PAIRS:
        return False
    if seed.sharp and seed.k <= COARSE:  # so coarse a seed's pairs say little
        ended = program.atom_cost is None and not (lattice.open_left and lattice.open_right)
        return not _plain(lattice) or (ended and lattice.k >= FAR_FINER * seed.k)
    growth = lattice.k / seed.k * lattice.cells / seed.cells  # of nodes, about, and of shifts
    return not seed.sharp or seed.pairs * growth > _worth(program, loading())


def _every(program: LatticeProgram) -> int:
    """How many pairs there are; of test functions, which may join more masses than two, by these."""
    lattice, levels = program.lattice, len(program.levels)
    each = len(lattice.shifts) * len(lattice.events) if _plain(lattice) else len(lattice.tests.test) // 2
    return levels * each


def _plain(lattice: Lattice) -> bool:
    """Whether pairs are those of single indices, each at every shift; else they are the lattice's test functions."""
    return type(lattice) is Lattice


def _shifts(lattice: Lattice) -> Ints:
    """Shifts that have a limit, in the order of pairs."""
    return lattice.shifts if _plain(lattice) else lattice.tests.shift[lattice.tests.begins]


def _excesses(lattice: Lattice, shifts: Ints, least: Array, most: Array, amplification: float) -> list[Array]:
    """By how much the event of every pair of each of these shifts, of test functions all, exceeds e^ε times its cover,
    at most, of laws between these two, given per index."""
    one = least is most
    if _plain(lattice):
        found = (
            lattice.excesses(most, shifts, amplification)
            if one
            else lattice.excesses_up_to(shifts, least, most, amplification)
        )
        return list(found)
    tests = lattice.tests
    event, cover = tests.means(lattice.shares(most))
    cover = cover if one else tests.means(lattice.shares(least))[1]
    return np.split(event - amplification * cover, tests.begins[1:])


def _worth(program: LatticeProgram, besides: float = 0.0) -> float:
    """How many pairs the simplex method finds in the time that this one takes for all and finds so many besides."""
    lattice = program.lattice
    n, shifts = lattice.classes, len(_shifts(lattice)) * len(program.levels)
    kind = 1.0 if _plain(lattice) else HATS if isinstance(lattice, Mesh) else BLOCKS
    each = EACH * _every(program) + besides * besides
    return math.sqrt(kind * each + CUBED * n * n * (n + 1.5 * shifts))


def all_at_once(program: LatticeProgram, seed: Seed | None, limits: Limits, *, few: bool = False) -> Outcome | None:
    """The outcome of the program with all its pairs, beginning next to the seed's. None: there was no time for a step,
    or it came to no end.

    Pairs that are far from binding at the seed are left out at first, then those that were wrongly.
    few : of a lower bound's shifts, where there are many and a seed tells which pairs may bind [Thm 4].
    """
    costs = program.lattice.multiplicity * program.costs
    shifts, chosen = _shifts(program.lattice), _near(program, seed)
    if few and seed is not None:
        shifts, chosen = _thinned(program, shifts, chosen)
    if chosen.sum() > MOST_NEAR:
        return None
    if program.atom_cost is not None:
        costs = np.append(costs, program.atom_cost)
    best, found = None, None
    for _ in range(ROUNDS):
        terms = _terms(program, shifts, chosen)
        interior = InteriorProgram[Terms | WideLimits](costs, terms)
        start = _start(program, seed, shifts, terms) if found is None else _again(found, costs)
        found = interior.solve(limits.deadline, limits.stop, accuracy=accuracy(limits), start=start)
        if start is not None and (found is None or found.status == "rounds"):
            found = interior.solve(limits.deadline, limits.stop, accuracy=accuracy(limits))
        if found is None or found.status == "rounds" or (best is not None and found.status == "stopped"):
            break
        best = _outcome(program, shifts, terms, found, costs, chosen)
        if found.status == "stopped":
            break
        left = _left_out(program, shifts, terms, chosen, found, MISSED * limits.gap)
        if not left.any():
            break
        astray = found.status == "rounding" and chosen.size <= MOST_NEAR
        chosen = np.ones_like(chosen) if astray else chosen | left
    astray = found is not None and found.status == "rounding" and program.atom_cost is not None
    return None if astray and best is not None and _exceeded(program, best) else best


def _exceeded(program: LatticeProgram, outcome: Outcome) -> bool:
    """Whether some limit is, as where no law meets all: the other method knows."""
    return any(most > (1 + OVER) * delta for most, (_, delta) in zip(outcome.shortfalls, program.levels))


def _near(program: LatticeProgram, seed: Seed | None) -> Flags:
    """Which pairs may bind, of every (ε, δ) and shift in turn: those whose event weighs at the seed, or next to it, not
    much less than e^ε times its cover. Without a seed all."""
    lattice = program.lattice
    if seed is None:
        count = len(_shifts(lattice)) * len(lattice.events) if _plain(lattice) else lattice.tests.count
        return np.ones(count * len(program.levels), dtype=bool)
    near = np.array([seed.density(lattice.places + away / seed.cells) for away in AWAY])
    least, most = (lattice.masses(bound) for bound in (near.min(axis=0), near.max(axis=0)))
    least /= MARGIN * max(1.0, lattice.cells / seed.cells)
    excesses = (_excesses(lattice, _shifts(lattice), least, most, E) for E, _ in program.levels)
    return np.concatenate([z >= 0 for level in excesses for z in level])


def _thinned(program: LatticeProgram, shifts: Ints, chosen: Flags) -> tuple[Ints, Flags]:
    """Those of the shifts that have a limit if few are enough, and which of their pairs are chosen."""
    lattice, away = program.lattice, np.abs(shifts)
    if not _plain(lattice) or lattice.k < THIN_FROM:
        return shifts, chosen
    flags = chosen.reshape(len(program.levels), len(shifts), -1)
    sizes = flags.sum(axis=(0, 2))
    kept = away % THIN == THIN - 1
    kept |= (away >= (1 - NEAR_WHOLE) * lattice.k) | (sizes <= FEW * sizes.max())
    return shifts[kept], flags[:, kept].ravel()


def _left_out(
    program: LatticeProgram, shifts: Ints, terms: Terms | WideLimits, chosen: Flags, found: Interior, share: float
) -> Flags:
    """Pairs that were left out and are violated, of limits that are exceeded; none where that is worth less than this
    share of the value, and next to nothing for every limit: those that do not count yet may be worth more."""
    lattice = program.lattice
    r = lattice.unfold(np.maximum(found.x[: lattice.classes], 0.0))
    levels = (_excesses(lattice, shifts, r, r, amplification) for amplification, _ in program.levels)
    excesses = [np.maximum(z, 0.0) for level in levels for z in level]
    count = len(excesses)
    most, atom = terms.most[:count], found.x[lattice.classes :].sum()
    over = np.maximum(np.array([z.sum() for z in excesses]) + atom - most, 0.0)
    little = share * float(lattice.multiplicity * program.costs @ found.x[: lattice.classes])
    if found.limits[:count] @ over <= little and (over <= OVER * most).all():
        return np.zeros_like(chosen)
    return (np.concatenate([z * (more > 0) for z, more in zip(excesses, over)]) > 0) & ~chosen


def _terms(program: LatticeProgram, shifts: Ints, chosen: Flags) -> Terms | WideLimits:
    """The chosen terms of the limits of these shifts, events without a cover and the atom; a budget last."""
    lattice, levels = program.lattice, program.levels
    if not _plain(lattice):
        return _tests(program, shifts, chosen)
    flags = chosen.reshape(len(levels) * len(shifts), -1)
    pairs = [lattice.pairs(j, mine) for j, mine in zip(shifts.tolist() * len(levels), flags)]
    pairs = [(event[event != cover], cover[event != cover]) for event, cover in pairs]
    events, covers = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
    sizes = [len(event) for event, _ in pairs]
    if len(levels) == 1 and program.budget is None:
        return Terms(*_shared(program, shifts, sizes), program.amplification, events, covers)
    count, E = len(events), np.repeat(np.repeat([E for E, _ in levels], len(shifts)), sizes)
    entries = np.append(np.ones(count), -E), (np.tile(np.arange(count), 2), np.append(events, covers))
    return _wide(program, shifts, csr_array(entries, (count, lattice.classes + (program.atom_cost is not None))), sizes)


def _tests(program: LatticeProgram, shifts: Ints, chosen: Flags) -> WideLimits:
    """The same for test functions; those without a cover are terms like the others."""
    tests, levels = program.lattice.tests, len(program.levels)
    shape = tests.count, program.lattice.classes + (program.atom_cost is not None)
    values = (tests.event - E * tests.cover for E, _ in program.levels)
    rows = vstack([csr_array((value, (tests.test, tests.column)), shape) for value in values])
    limit = np.searchsorted(shifts, tests.shift)
    limits = np.concatenate([level * len(shifts) + limit for level in range(levels)])[chosen]
    sizes = np.bincount(limits, minlength=levels * len(shifts))
    return _wide(program, shifts, rows.tocsr()[np.flatnonzero(chosen)], sizes.tolist())


def _wide(program: LatticeProgram, shifts: Ints, terms: csr_array, sizes: list[int]) -> WideLimits:
    terms.sort_indices()
    return WideLimits(*_shared(program, shifts, sizes if program.budget is None else [*sizes, 0]), terms)


def _shared(
    program: LatticeProgram, shifts: Ints, sizes: list[int]
) -> tuple[Ints, Array, Ints, Ints, Array, Ints, Array]:
    """What the limits of one (ε, δ) after the other, with so many terms each, have besides these."""
    lattice = program.lattice
    n, atom = lattice.classes, int(program.atom_cost is not None)
    loose = []
    for j in shifts.tolist() * len(program.levels):
        bare = lattice.bare(j) if _plain(lattice) else lattice.events[:0]
        weights = np.bincount(lattice.classify(bare), minlength=n + atom).astype(float)
        weights[n:] = 1
        loose.append(weights)
    most = np.repeat([delta for _, delta in program.levels], len(shifts))
    if program.budget is not None:
        spent = lattice.multiplicity * program.budget.costs
        loose.append(np.append(spent, [program.budget.atom_cost] * atom) / program.budget_scale)
        most = np.append(most, program.budget.most / program.budget_scale)
    columns = [np.flatnonzero(weights) for weights in loose]
    return (
        np.cumsum([0, *sizes]),
        most,
        np.cumsum([0, *map(len, columns)]),
        np.concatenate(columns),
        np.concatenate([weights[mine] for weights, mine in zip(loose, columns)]),
        np.zeros(n + atom, dtype=np.int64),
        np.append(lattice.multiplicity, np.ones(atom)),
    )


def _start(
    program: LatticeProgram, seed: Seed | None, shifts: Ints, terms: Terms | WideLimits
) -> tuple[Array, Array] | None:
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
    places = shifts / lattice.k
    rates, own = np.zeros(len(terms.most)), np.arange(len(shifts))
    for sign in (1, -1):
        theirs, mine = np.sign(seed.shifts) == sign, own[np.sign(shifts) == sign]
        if mine.size and theirs.any():
            order = np.argsort(np.abs(seed.shifts[theirs]))
            ends = np.append(0.0, np.abs(seed.shifts[theirs])[order])
            below = np.append(0.0, np.cumsum(seed.rates[theirs][order]))
            mine = mine[np.argsort(np.abs(places[mine]))]
            rates[mine] = np.diff(np.interp(np.abs(places[mine]), ends, below), prepend=0.0)
    return law, np.maximum(rates, LEAST_RATE * rates.mean())


def _again(found: Interior, costs: Array) -> tuple[Array, Array] | None:
    """What was found, to begin with once more; None if it costs nothing."""
    law, rates = np.maximum(found.x, LEAST_MASS * found.x.max()), np.maximum(found.limits, 0.0)
    if not law @ costs > 0:
        return None
    return law, np.maximum(rates, LEAST_RATE * rates.mean())


def _outcome(
    program: LatticeProgram, shifts: Ints, terms: Terms | WideLimits, found: Interior, costs: Array, chosen: Flags
) -> Outcome:
    lattice = program.lattice
    n = lattice.classes
    masses, rates = np.maximum(found.x[:n], 0.0), np.maximum(found.limits, 0.0)
    weight = np.minimum(np.maximum(found.terms, 0.0), rates[terms.owners])
    levels = len(program.levels)
    level, budget_rate = terms.owners // len(shifts), 0.0
    if not _plain(lattice):
        event, cover = np.flatnonzero(chosen) % lattice.tests.count, np.full(len(weight), -1)
    else:
        pairs = (terms.events, terms.covers) if isinstance(terms, Terms) else _of_rows(terms.terms)
        level, event, cover, weight = _together(level, *pairs, weight, n)
    r = lattice.unfold(masses)
    atom = float(found.x[n]) if program.atom_cost is not None else 0.0
    shortfalls = tuple(float(lattice.shortfalls(r, E).max(initial=0.0)) + atom for E, _ in program.levels)
    if program.budget is not None:
        rates, budget_rate = rates[:-1], float(rates[-1]) / program.budget_scale
    order, everywhere = np.argsort(lattice.shifts), np.zeros((levels, len(lattice.shifts)))
    everywhere[:, order[np.searchsorted(lattice.shifts, shifts, sorter=order)]] = rates.reshape(levels, len(shifts))
    status = "time" if found.status == "stopped" else "optimal"
    return Outcome(
        masses, atom, float(costs @ found.x), everywhere, level, event, cover, weight, np.zeros(n),
        budget_rate, shortfalls, status, round(_worth(program)), sharp=False,
    )  # fmt: skip


def _of_rows(terms: csr_array) -> tuple[Ints, Ints]:
    """Event and cover of rows with two entries, 1 and −e^ε."""
    columns, events = terms.indices.reshape(-1, 2).astype(np.int64), terms.data.reshape(-1, 2) > 0
    return columns[events], columns[~events]


def _together(level: Ints, event: Ints, cover: Ints, weight: Array, n: int) -> tuple[Ints, Ints, Ints, Array]:
    """Pairs of classes, each once for an (ε, δ), with the sum of its weights."""
    names, where = np.unique((level * n + event) * n + cover, return_inverse=True)
    first, cover = np.divmod(names, n)
    return *np.divmod(first, n), cover, sums_at(where, weight, len(names))
