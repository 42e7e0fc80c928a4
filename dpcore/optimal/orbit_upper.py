"""A law for losses made of constants: with an atom, and constant between places [method: orbits]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .._validate import decimal
from ..audit_shape import admitted
from ..lp import INFINITY
from ..noise.piecewise import PiecewiseNoise
from ..noise.whole import TOTAL
from ..problem import NoiseProblem
from .lattice import Array, Ints
from .orbits import OrbitProgram, Orbits, Terms
from .polygons import sums_at
from .step import AUDIT_ROOM, Limits

SINGLE = 4
"""So many sensitivities beyond the marks have levels of their own."""

AROUND = 2
"""And so many before and after the place where truncated Laplace noise ends, for there such laws may end."""

LONGER = 1.25
"""Elsewhere levels fall by e^−ε per sensitivity over stretches that grow by this factor."""

MOST_CELLS = 40_000
"""Most cells of a law."""

TIGHTER = (1e-6, 1e-4, 1e-2)
"""Shares taken off δ, one after the other, for what the solver's tolerance lets through."""


def orbit_upper(problem: NoiseProblem, depth: int, reach: float, limits: Limits) -> PiecewiseNoise | None:
    """A private law between the places of a depth, which reaches so many times as far beyond the marks as truncated
    Laplace noise, as far as the support allows; None if nothing came of it."""
    orbits, privacy = Orbits.of(problem), problem.privacy
    near = privacy.truncation()
    span = _span(problem, orbits, math.ceil(reach * near) + AROUND)
    cells = _Levels.between(orbits, depth, *span, near, folded=problem.folds)
    if len(cells.of) > MOST_CELLS:
        return None
    terms, bare = _terms(orbits, depth, cells, privacy.epsilon, both=not problem.folds)
    q, n = orbits.resolution, len(bare[0]) - 1
    lengths = np.diff(cells.ends) / q * np.exp(-privacy.epsilon * cells.fall)
    middles = 0.5 * (cells.ends[1:] + cells.ends[:-1]) / q * problem.sensitivity
    best = 0.0 if problem.monotone else problem.loss.minimiser(*problem.support)[0]
    costs = np.append(sums_at(cells.of, lengths * problem.paid_loss.value(middles), n), problem.paid_loss.value(best))
    masses = np.append(sums_at(cells.of, lengths, n), 1.0)
    room = AUDIT_ROOM + 2 * len(lengths) / TOTAL  # what audits and whole weights round up
    for tighter in TIGHTER:
        delta = privacy.delta * (1 - tighter) - room
        if delta <= 0:
            return None
        solved = None if problem.monotone else terms.all_at_once(costs, masses, bare, delta, limits)
        if solved is not None and solved.status == "optimal":
            x = np.maximum(solved.x, 0.0)
        else:
            program = OrbitProgram(terms, costs, masses, bare, delta, limits.scale, np.ones(n + 1))
            if problem.monotone:
                _add_falls(program, cells, privacy.epsilon)
            status, x = program.solve(limits)
            if status != "optimal":
                return None
        noise = PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity,
            resolution=q,
            breaks=cells.ends,
            masses=x[cells.of] * lengths,
            atom=float(x[n]),
            atom_unit=round(decimal(best) / decimal(problem.sensitivity) * q),
            monotone=problem.monotone,
        )
        if admitted(noise, problem):
            return noise
    return None


def _span(problem: NoiseProblem, orbits: Orbits, beyond: int) -> tuple[int, int]:
    """The places whole sensitivities before the first mark and after the last, as far as the support allows."""
    q, (left, right) = orbits.resolution, (orbits.marks[0], orbits.marks[-1])
    lo, hi = (decimal(x) / decimal(problem.sensitivity) * q if math.isfinite(x) else x for x in problem.support)
    room = [math.floor(Fraction(x) / q) if math.isfinite(x) else beyond for x in (left - lo, hi - right)]
    return left - min(room[0], beyond) * q, right + min(room[1], beyond) * q


@dataclass(frozen=True)
class _Levels:
    """Cells between places; cell i has the density x[of[i]]·e^(−ε·fall[i]).   ends : (n + 1,).   of, fall : (n,)."""

    ends: Ints
    of: Ints
    fall: Ints

    @staticmethod
    def between(orbits: Orbits, depth: int, first: int, last: int, near: float, *, folded: bool) -> _Levels:
        """From place to place. Cells have levels of their own where SINGLE and AROUND say so, elsewhere those whole
        sensitivities apart share one."""
        q, ends = orbits.resolution, orbits.places(depth, first, last)
        right = np.maximum((ends[:-1] - orbits.marks[-1]) // q + 1, 0)
        left = np.maximum((orbits.marks[0] - ends[1:]) // q + 1, 0)
        fall = right + left
        stretches = _stretches(int(fall.max(initial=0)), near)
        stretch = np.searchsorted(stretches, fall, side="right")
        names = np.stack([stretch, right > 0, np.where(fall == 0, ends[:-1], ends[:-1] % q)])
        if folded:
            cell = np.arange(len(fall))
            names = names[:, np.minimum(cell, len(cell) - 1 - cell)]
        _, of = np.unique(names, axis=1, return_inverse=True)
        return _Levels(ends, of.ravel(), fall)


def _stretches(last: int, near: float) -> list[int]:
    """Where stretches begin, in sensitivities beyond the marks."""
    found, x = [0], 1
    while x <= last:
        found.append(x)
        alone = x < SINGLE or abs(x - near) <= AROUND
        longer = math.floor(LONGER * x) if not alone else x + 1
        stop = math.ceil(near) - AROUND
        x = max(x + 1, min(longer, stop) if x < stop else longer)
    return found


def _terms(orbits: Orbits, depth: int, cells: _Levels, epsilon: float, *, both: bool) -> tuple[Terms, Array]:
    """(terms, bare): at every shift at which the shortfall may bend, its terms max(0, p(x) − e^ε p(x − φ)), like ones
    together, and what nothing covers, the atom last."""
    q, n, residues = orbits.resolution, int(cells.of.max()) + 1, orbits.residues(depth)
    shifts = np.unique((residues[:, None] - residues[None, :]) % q)
    shifts = np.append(shifts[shifts > 0], q)
    shifts = np.concatenate([shifts, -shifts]) if both else shifts
    named, weighed, bare = [], [], np.ones((len(shifts), n + 1))
    for number, shift in enumerate(shifts.tolist()):
        own, other, length = _overlaps(cells.ends, shift)
        weight = length / q * np.exp(-epsilon * cells.fall[own])
        alone = other < 0
        bare[number, :n] = sums_at(cells.of[own[alone]], weight[alone], n)
        own, other, weight = own[~alone], other[~alone], weight[~alone]
        fall = cells.fall[other] - cells.fall[own]
        names = np.stack([np.full(len(own), number), cells.of[own], cells.of[other], fall])
        names, index = np.unique(names, axis=1, return_inverse=True)
        named.append(names)
        weighed.append(sums_at(index.ravel(), weight, names.shape[1]))
    limit, event, cover, fall = np.concatenate(named, axis=1)
    weight, factors = np.concatenate(weighed), np.exp(epsilon * (1 - fall))
    used = event != cover  # else the fall over the shift is at most 1: never positive
    columns = np.stack([event, cover], axis=1)[used].ravel()
    values = np.stack([weight, -weight * factors], axis=1)[used].ravel()
    return Terms(limit[used], 2 * np.arange(int(used.sum())), columns, values, weight[used]), bare


def _overlaps(ends: Ints, shift: int) -> tuple[Ints, Ints, Ints]:
    """(cell, cell that covers it once moved, −1 for none, length) of every part."""
    points = np.unique(np.concatenate([ends, ends + shift]))
    points = points[(points >= ends[0]) & (points <= ends[-1])]
    own, other = (np.searchsorted(b, points[:-1], side="right") - 1 for b in (ends, ends + shift))
    return own, np.where(other < len(ends) - 1, other, -1), np.diff(points)


def _add_falls(program: OrbitProgram, cells: _Levels, epsilon: float) -> None:
    """Rows: densities do not rise away from 0."""
    right, i = cells.ends[:-1] + cells.ends[1:] >= 0, np.arange(len(cells.of) - 1)
    known = right[:-1] == right[1:]
    inner, outer = np.where(right[:-1], i, i + 1)[known], np.where(right[:-1], i + 1, i)[known]
    rows = np.unique(np.stack([cells.of[inner], cells.of[outer], cells.fall[outer] - cells.fall[inner]]), axis=1)
    rows = rows[:, rows[0] != rows[1]]
    values = np.stack([np.ones(rows.shape[1]), -np.exp(-epsilon * rows[2])], axis=1)
    starts = 2 * np.arange(rows.shape[1])
    program.rows.lp.add_rows(0.0, INFINITY, starts=starts, columns=rows[:2].T.ravel(), values=values.ravel())
