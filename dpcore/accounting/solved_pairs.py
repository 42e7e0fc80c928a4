"""Solved laws and their neighbours: pairs of laws cell by cell, and the tight pair of all shifts, rounded up.

No shift of a solved law is the worst one at every ε. H(ε) of each candidate is the largest of the lines A − e^ε B, with
A = P{L > τ} and B = Q{L > τ}, so the largest H is the upper envelope of all their lines: the concave chain of the
points (B, A), each edge of which is one value of the loss, ln of its slope. With every shift goes the opposite one, so
losses below 0 mirror those above [one mechanism: All shifts].

Rounding: where a line counts, e^ε B ≤ A, so what A and B may be off is less than twice that share of A. Every A is
raised by it; a loss is raised by what its logarithm may be off, and probabilities by what adding them up again is.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .. import audit
from ..loss import UNIT
from ..noise.lattice import LatticeNoise, whole_steps
from ..noise.piecewise import PiecewiseNoise
from ..noise.tailed import CELL_ERROR, TailedNoise
from .two_laws import Array, FinitePair

SOLVED = (PiecewiseNoise, LatticeNoise, TailedNoise)
Solved = PiecewiseNoise | LatticeNoise | TailedNoise

SAME = 1e-12
"""Losses that differ by less, relative or absolute, count as the larger of them."""


def solved_pair(noise: Solved, shift: float) -> FinitePair:
    """The laws of X and of X + shift, shift in units of the law (steps of its lattice: a whole number)."""
    return FinitePair.of(*_outcomes(noise, shift))


def units(noise: Solved, distance: float) -> float:
    """A distance in units of the law; on a lattice, how many whole steps fit into it."""
    if isinstance(noise, LatticeNoise):
        return whole_steps(distance, noise.step)
    body = noise.body if isinstance(noise, TailedNoise) else noise
    return distance / body.sensitivity * body.resolution


@lru_cache(maxsize=64)
def solved_dominating_pair(noise: Solved, sensitivity: float) -> FinitePair:
    """The tight pair of all shifts up to the sensitivity; its δ(ε), at every ε ≥ 0, is the audited one, rounded up."""
    chain = np.zeros((1, 2))
    for shift in _shifts(noise, sensitivity):
        points = _rise(*_outcomes(noise, shift), 2 * CELL_ERROR if isinstance(noise, TailedNoise) else 0.0)
        higher = points[:, 1] > np.interp(points[:, 0], *chain.T)
        if higher.any():
            chain = _concave_chain(np.concatenate([chain, points[higher]]))
    return _pair_of(chain)


def _shifts(noise: Solved, sensitivity: float) -> list[int]:
    """The shifts, in units and of either sign, among which the worst one is at every ε; large ones, which leave little
    to the others, first. A tail's cells are single units, so all whole ones count."""
    limit = math.ceil(units(noise, sensitivity) * (1 - 4 * UNIT))
    if isinstance(noise, PiecewiseNoise):
        sizes = audit.candidate_shifts(noise, limit).tolist()
    else:
        sizes = range(1, (min(limit, len(noise.weights)) if isinstance(noise, LatticeNoise) else limit) + 1)
    return [sign * size for size in reversed(sizes) for sign in ((1,) if noise.is_symmetric else (1, -1))]


def _outcomes(noise: Solved, shift: float) -> tuple[Array, Array]:
    """Probabilities of what both laws tell apart, under the law and under the law moved by `shift` units."""
    if isinstance(noise, LatticeNoise):
        bare = np.zeros(min(abs(int(shift)), len(noise.weights)))
        own, other = np.append(noise.masses, bare), np.append(bare, noise.masses)
        return (own, other) if shift > 0 else (other, own)
    if isinstance(noise, PiecewiseNoise):
        here, there, length = shared_cells(noise, shift)
        atom = noise.atom_mass  # never covered
        return np.append(here * length, [atom, 0.0]), np.append(there * length, [0.0, atom])
    return _tailed_outcomes(noise, shift)


def shared_cells(noise: PiecewiseNoise, shift: float) -> tuple[Array, Array, Array]:
    """(density, density of the law moved by `shift` units, length) on the parts where one of them is positive."""
    breaks, other = noise.breaks, noise.breaks + shift
    points = np.unique(np.concatenate([breaks, other]))
    density = np.concatenate([[0.0], noise.masses / np.diff(breaks), [0.0]])
    here = density[np.searchsorted(breaks, points[:-1], side="right")]
    there = density[np.searchsorted(other, points[:-1], side="right")]
    used = (here > 0) | (there > 0)
    return here[used], there[used], np.diff(points)[used].astype(float)


def _tailed_outcomes(noise: TailedNoise, shift: float) -> tuple[Array, Array]:
    """Unit cells, each in two parts if the shift is no whole number of them; where both laws are tails they fall alike,
    so all that lies beyond on one side is one outcome for each part."""
    whole = math.floor(shift)
    reach = int(np.abs(noise.body.breaks).max()) + abs(whole) + 1
    cells = noise.unit_cells(-2 * reach, 2 * reach)
    fall = math.log1p(-1 / noise.tail_mean)
    rest = 0.5 * noise.share * math.exp(reach * fall)
    own, other = [], []
    for part, moved in ((1 - (shift - whole), whole), (shift - whole, whole + 1)):  # of a cell; by how much it moves
        ratio = math.exp(moved * fall)  # of the moved law on the far left
        own += [part * rest, part * cells[reach : 3 * reach], part * rest]
        other += [part * rest * ratio, part * cells[reach - moved : 3 * reach - moved], part * rest / ratio]
    return np.hstack(own), np.hstack(other)


def _rise(own: Array, other: Array, error: float) -> Array:
    """The points (Q{L > τ}, P{L > τ}) at τ ≥ 0, by rising τ^−1, (n, 2); A raised by what cells (a relative `error`
    of both in all) and sums (n·u of either) are off."""
    gains = own > other
    own, other = own[gains], other[gains]
    with np.errstate(divide="ignore"):
        order = np.argsort(-own / other)
    lift = 1 + error + (4 * len(own) + 64) * UNIT
    return np.column_stack([np.cumsum(other[order]), np.cumsum(own[order]) * lift])


def _concave_chain(points: Array) -> Array:
    """The corners of the concave upper envelope of points (B, A), by rising B [Andrew's monotone chain]."""
    points = points[np.lexsort((-points[:, 1], points[:, 0]))]
    highest = np.maximum.accumulate(points[:, 1])
    points = points[np.append(True, points[1:, 1] > highest[:-1])]
    chain: list[tuple[float, float]] = []
    for x, y in points.tolist():
        while len(chain) > 1:
            (a, b), (c, d) = chain[-2:]
            if (d - b) * (x - a) > (y - b) * (c - a):
                break
            chain.pop()
        chain.append((x, y))
    return np.array(chain)


def _pair_of(chain: Array) -> FinitePair:
    """The pair whose H is the envelope of the lines of a chain's corners, rounded up."""
    infinite = float(chain[0, 1])
    other, own = np.diff(chain, axis=0).T
    gains = own > other * (1 + SAME)  # a loss of 0 but for rounding joins the rest; what it adds to H, the other losses
    left = 2 * math.fsum(np.maximum(own - other, 0.0)[~gains])
    own, other = own[gains], other[gains]
    logs = np.log(own), np.log(other)
    losses = logs[0] - logs[1] + 8 * UNIT * (1 - logs[0] - logs[1])  # of numbers below 1: both are negative
    if len(losses):
        losses = np.maximum.accumulate(losses[::-1])[::-1]
        starts = np.flatnonzero(np.append(True, losses[:-1] - losses[1:] > SAME * np.maximum(1.0, losses[1:])))
        losses, own, other = losses[starts], np.add.reduceat(own, starts), np.add.reduceat(other, starts)
        lift = 1 + (8 * len(losses) + 2 * losses[0] + 64) * UNIT
        own, infinite = own * lift, infinite * lift
        own[-1] += left / -math.expm1(-losses[-1])
    else:
        infinite += left
    rest = max(1 - infinite - math.fsum(own) - math.fsum(other), 0.0)
    found = (
        np.concatenate([[math.inf], losses, [0.0], -losses[::-1], [-math.inf]]),
        np.concatenate([[infinite], own, [rest], other[::-1], [0.0]]),
        np.concatenate([[0.0], other, [rest], own[::-1], [infinite]]),
    )
    used = (found[1] > 0) | (found[2] > 0)
    return FinitePair(*(values[used] for values in found))
