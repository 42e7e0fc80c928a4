"""A first bracket for |x| and x² without a program: bases of programs solved beforehand [method: atlas].

The file holds, over a grid of (ε, δ), bases of lower and of upper programs. What is read is solved again at the
(ε, δ) asked for (`basis`) and judged like everything else: multipliers by the referee [Thm 3], laws by the audit, after
a repair [Thm 5]. So nothing depends on what the file says but how close the bracket is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..loss import Loss
from ..loss.cells import means as cell_means
from ..noise.piecewise import PiecewiseNoise
from ..privacy import Privacy
from ..problem import NoiseProblem
from . import laws
from .basis import Basis
from .lattice import Array, Ints, Lattice
from .lower import rounded_costs
from .program import term_multipliers
from .step import Proof, origin_of, places_of
from .upper import certified

Bytes = NDArray[np.uint8]

FILE = "atlas.npz"
"""Made by `atlas_make`."""

LAWS, MULTIPLIERS = 0, 1
"""What an entry is the basis of: a program for an upper bound or for a lower one."""

NEAR = {LAWS: 2, MULTIPLIERS: 1}
"""Entries of so many δ on either side are tried; what multipliers prove is linear in δ, so that these are the best."""


def power_of(loss: Loss) -> int | None:
    """1 for multiples of |x|, 2 for those of x²; None for other losses."""
    if len(loss.pieces) != 2 or loss.breaks.tolist() != [0.0]:
        return None
    left, right = loss.pieces
    same = left.power == right.power and left.coefficient == right.coefficient > 0
    pure = not any(p.constant or p.anchor for p in loss.pieces)
    return int(right.power) if same and pure and right.power in (1.0, 2.0) else None


@dataclass(frozen=True)
class Entry:
    """A basis and the (ε, δ) for which its program was solved."""

    epsilon: float
    delta: float
    basis: Basis


# The file --------------------------------------------------------------------------------------------

HEADS = np.dtype(
    [("power", "u1"), ("kind", "u1"), ("epsilon", "f8"), ("delta", "f8"), ("k", "u1"), ("edge", "u1"), ("last", "u1"),
     ("event_last", "u1"), ("shifts", "u1"), ("full", "u2"), ("ties", "u2"), ("loose", "u2"), ("start", "u4")]
)  # fmt: skip
"""One per entry; `shifts`, `full`, … are how many there are, `start` is where in the bytes they begin."""


def packed(power: int, kind: int, entry: Entry, start: int) -> tuple[tuple[float, ...], bytes]:
    """(head, bytes) of an entry."""
    b, lat = entry.basis, entry.basis.lattice
    carrying = np.zeros(lat.classes + 1, dtype=bool)
    carrying[b.columns] = True
    pairs = [part for one in (b.full, b.ties, b.loose) for part in (one[0], one[1])]
    parts = [np.packbits(carrying), b.shifts.astype(np.uint8), *(part.astype(np.uint8) for part in pairs)]
    sizes = (len(b.shifts), *(one.shape[1] for one in (b.full, b.ties, b.loose)))
    head = (power, kind, entry.epsilon, entry.delta, lat.k, lat.edge, lat.last, lat.event_last, *sizes, start)
    return head, b"".join(part.tobytes() for part in parts)


def _unpacked(head: np.void, data: Bytes) -> Basis | None:
    """The basis of an entry; None where its bytes are none."""
    k, edge, last, event_last = (int(head[name]) for name in ("k", "edge", "last", "event_last"))
    lattice = Lattice(k, -last - edge, last, -event_last - edge, event_last, True, edge)
    at = int(head["start"])

    def take(count: int) -> Ints:
        nonlocal at
        at += count
        return data[at - count : at].astype(np.int64)

    parts = [int(head[name]) for name in ("full", "ties", "loose")]
    wide = (lattice.classes + 8) // 8
    if at + wide + int(head["shifts"]) + 2 * sum(parts) > len(data):
        return None
    bits = take(wide).astype(np.uint8)
    columns = np.flatnonzero(np.unpackbits(bits, count=lattice.classes + 1))
    shifts = take(int(head["shifts"]))
    full, ties, loose = (take(2 * count).reshape(2, -1) for count in parts)
    atom = int(head["kind"]) == LAWS
    pairs = np.concatenate([full, ties, loose], axis=1)
    square = len(columns) + loose.shape[1] == 1 + len(shifts) + ties.shape[1]
    events = pairs[0].max(initial=0) <= event_last  # nodes beyond gather what their covers do not [Thm 2]
    inside = k > 0 and shifts.max(initial=0) <= k and pairs.max(initial=0) < lattice.classes and events
    if not square or not inside or not (_holds_laws(lattice) if atom else _rounds_laws(lattice)):
        return None
    if not atom and (lattice.classes in columns or 0 in shifts):
        return None
    return Basis(lattice, atom, columns, shifts, full, ties, loose)


def _rounds_laws(lattice: Lattice) -> bool:
    """Every law of the line, rounded to it, meets its limits: nodes, events a sensitivity from the last one, which
    takes what lies beyond [Thm 2]."""
    return lattice.edge == 0 and lattice.event_last + lattice.k <= lattice.last


def _holds_laws(lattice: Lattice) -> bool:
    """Laws of the lattice are judged as they are: all of its cells may be events [Thm 1]."""
    return lattice.edge in (0, 1) and lattice.event_last == lattice.last


class Atlas:
    """Entries by loss, kind, ε and δ."""

    def __init__(self, heads: NDArray[np.void], data: Bytes) -> None:
        self._heads, self._data = heads, data
        self._rows: dict[tuple[int, int], tuple[Array, list[Ints]]] = {}
        for power in (1, 2):
            for kind in (LAWS, MULTIPLIERS):
                mine = np.flatnonzero((heads["power"] == power) & (heads["kind"] == kind))
                mine = mine[np.lexsort((heads["delta"][mine], heads["epsilon"][mine]))]
                epsilons, starts = np.unique(heads["epsilon"][mine], return_index=True)
                self._rows[power, kind] = epsilons, np.split(mine, starts[1:])

    @property
    def entries(self) -> int:
        """How many there are."""
        return len(self._heads)

    def near(self, power: int, kind: int, privacy: Privacy) -> Iterator[Entry]:
        """Entries next to an (ε, δ), those of the next larger ε first."""
        epsilons, rows = self._rows[power, kind]
        at = int(np.searchsorted(epsilons, privacy.epsilon))
        for row in (at, at - 1):
            if 0 <= row < len(epsilons):
                deltas = self._heads["delta"][rows[row]]
                place = int(np.searchsorted(deltas, privacy.delta))
                for number in rows[row][max(place - NEAR[kind], 0) : place + NEAR[kind]].tolist():
                    head = self._heads[number]
                    basis = _unpacked(head, self._data)
                    if basis is not None:
                        yield Entry(float(head["epsilon"]), float(head["delta"]), basis)


@lru_cache(maxsize=1)
def atlas() -> Atlas:
    """The atlas that comes with the package; empty where the file is missing or cannot be read."""
    try:
        with resources.files(__package__).joinpath(FILE).open("rb") as file, np.load(file, allow_pickle=False) as found:
            return Atlas(found["heads"].astype(HEADS), found["data"])
    except (OSError, ValueError, KeyError):
        return Atlas(np.empty(0, HEADS), np.empty(0, np.uint8))


# What is made of it ----------------------------------------------------------------------------------


def lower_costs(problem: NoiseProblem, lattice: Lattice) -> Array:
    """Node values of the loss [Thm 2]. (indices,)"""
    return rounded_costs(problem.paid_loss, problem, lattice, np.full(len(lattice.indices) - 1, 0.5))


def proof_of(problem: NoiseProblem, basis: Basis) -> Proof | None:
    """Multipliers at the problem's ε, and what they are to prove; None where the basis has none."""
    lattice = basis.lattice
    costs = lower_costs(problem, lattice)
    found = basis.multipliers(costs[lattice.representatives], problem.privacy.amplification)
    if found is None:
        return None
    rates, event, cover, weight = found
    caps = np.zeros(lattice.k)
    caps[basis.shifts - 1] = rates
    shifts, events, weights = term_multipliers(lattice, event, cover, weight, caps, caps > 0)
    return Proof(costs, lattice.first, shifts, events, weights, None, True)


def plain(problem: NoiseProblem, privacy: Privacy) -> NoiseProblem:
    """One that asks no more: of one pair, on the whole line, without shape or budget."""
    return NoiseProblem(privacy, problem.sensitivity, problem.paid_loss)


def atlas_lower(problem: NoiseProblem) -> float:
    """A lower bound, rounded down; 0 for losses that the atlas does not have, or no entry near."""
    power = power_of(problem.paid_loss)
    if power is None:
        return 0.0
    return max((_lower(plain(problem, pair), power) for pair in problem.privacies if pair.delta), default=0.0)


def _lower(problem: NoiseProblem, power: int) -> float:
    bound, asked = 0.0, problem.privacy
    for entry in atlas().near(power, MULTIPLIERS, asked):
        # what holds at a larger ε holds here [Thm 6], and there the basis is optimal
        for epsilon in {asked.epsilon, max(asked.epsilon, entry.epsilon)}:
            proof = proof_of(replace(problem, privacy=Privacy(epsilon, asked.delta)), entry.basis)
            if proof is not None:
                bound = max(bound, proof.lower(Privacy(epsilon, asked.delta)))
    return bound


ROOM = 1e-9
"""Share of δ that laws leave, more than what equations are solved to, so that most of them need no repair."""


def atlas_law(problem: NoiseProblem) -> PiecewiseNoise | None:
    """A law, audited and if need be repaired, for one pair (ε, δ) on the whole line without shape or budget; None where
    the atlas has none."""
    power = power_of(problem.loss)
    simple = problem.whole_line and problem.budget is None and not problem.monotone and len(problem.privacies) == 1
    if power is None or not simple or not problem.privacy.delta:
        return None
    entries = atlas().near(power, LAWS, problem.privacy)
    best, least = None, math.inf
    for proposal in sorted((one for entry in entries for one in proposals(problem, entry)), key=lambda one: one.cost):
        if proposal.cost >= least:
            break
        found = law_of(problem, proposal)
        if found is not None and (paid := float(found.expected_loss(problem.loss))) < least:
            best, least = found, paid
    return best


@dataclass(frozen=True)
class Proposal:
    """A law that the audit has not seen: about what it costs, masses per index of a lattice, and an atom."""

    cost: float
    lattice: Lattice
    masses: Array
    atom: float


def proposals(problem: NoiseProblem, entry: Entry) -> Iterator[Proposal]:
    """The law of a basis at the problem's (ε, δ); and where the entry's δ is smaller, the one for that, mixed with as
    much of a point at 0 as uses up the rest."""
    delta = problem.privacy.delta * (1 - ROOM)
    for less in {delta, min(delta, entry.delta)}:
        found = entry.basis.masses(problem.privacy.amplification, less)
        if found is not None:
            lattice = entry.basis.lattice
            masses, atom = lattice.unfold(found[0]), found[1]
            total, spare = float(masses.sum()) + atom, (delta - less) / (1 - less)
            masses, atom = (1 - spare) / total * masses, spare + (1 - spare) / total * atom
            yield Proposal(float(masses @ means_of(problem, lattice)), lattice, masses, atom)


def means_of(problem: NoiseProblem, lattice: Lattice) -> Array:
    """Mean of the loss over every cell. (indices,)"""
    return cell_means(problem.paid_loss, places_of(problem, 2 * lattice.k, lattice.ends))


def law_of(problem: NoiseProblem, law: Proposal) -> PiecewiseNoise | None:
    """The law, audited and repaired."""
    lattice, masses, atom = law.lattice, law.masses, law.atom
    try:
        noise = certified(problem, lattice, masses, atom, None, 0.0)[0]
        if noise is None:
            repair = laws.private_masses(lattice, problem, means_of(problem, lattice), origin_of(problem))
            noise = None if repair is None else certified(problem, lattice, masses, atom, repair, 0.0)[0]
    except InputError:  # numbers outside what laws are made of
        return None
    return noise
