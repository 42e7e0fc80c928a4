"""Make the atlas: bases over a grid of ε and, for each, as many δ as it takes.

    python -m dpcore.optimal.atlas_make [FILE] [--processes 1]

Minutes. What a first bracket is worth afterwards is measured by `benchmarks.bench_atlas`.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from ..errors import SolverError
from ..problem import NoiseProblem, SolverSettings, noise_problem
from .additive import Search
from .atlas import FILE, HEADS, LAWS, MULTIPLIERS, Entry, law_of, lower_costs, means_of, packed, proof_of, proposals
from .lattice import Lattice
from .program import LatticeProgram
from .step import Window, places_of, reference_density
from .upper import cell_lattice

LOSSES = {1: "l1", 2: "l2"}

KINDS = (LAWS, MULTIPLIERS)

NODES = {(1, LAWS): 3.0, (2, LAWS): 3.0, (1, MULTIPLIERS): 3.5, (2, MULTIPLIERS): 4.5}
"""Lattices have about so many nodes to the mean error, or its root mean square; for multipliers fewer from ε = 2 on,
where lattices are large."""

FEWER_FROM, FEWER = 2.0, 0.8
"""From that ε on, by that factor."""

CLASSES = 250
"""Most classes of an entry, which are counted in bytes."""

CLOSE = {LAWS: 5e-3, MULTIPLIERS: 5e-3}
"""An entry that gains less than this share at its own (ε, δ) is left out."""

DELTAS = (1e-9, 1e-3, 0.012, 0.06, 0.15, 0.36, 0.7)
"""Where δ is looked at first; halfway between two of them where one was of use."""

HALVINGS = 3
"""So often."""


def rows(power: int, kind: int) -> list[float]:
    """The grid of ε: multipliers fail soon where ε grows, and laws do not."""
    found, epsilon = [0.0, 0.01, 0.03, 0.06], 0.1
    last = {(1, LAWS): 3.4, (2, LAWS): 6.0, (1, MULTIPLIERS): 3.6, (2, MULTIPLIERS): 5.1}[power, kind]
    while epsilon < last:
        found.append(round(epsilon, 4))
        if kind == LAWS:
            epsilon += min(0.08 * epsilon, 0.15)
        else:
            epsilon += min(0.05 * epsilon, max(0.025, 0.04 * (1.8 - epsilon))) if epsilon < 2 else 0.045
    return found


def lower_program(problem: NoiseProblem, value: float) -> LatticeProgram | None:
    """The solved program of a lower bound; value : about the optimum."""
    k = _fineness(problem, value, MULTIPLIERS)
    epsilon, reach = problem.privacy.epsilon, _reach(problem)
    n = math.ceil(k * min(2 * reach + 1, 5.5 / epsilon + 1 if epsilon else math.inf))
    if n + k >= CLASSES:
        return None
    lattice = Lattice(k, -n - k, n + k, -n, n, True)
    costs, places = lower_costs(problem, lattice), places_of(problem, k, lattice.indices)
    density = reference_density(problem, places.floats / problem.sensitivity)
    privacy = problem.privacy
    program = LatticeProgram(
        lattice, lattice.shares(costs), privacy.amplification, privacy.delta, value, density,
        open_left=True, open_right=True,
    )  # fmt: skip
    return _run(program)


def upper_program(problem: NoiseProblem, value: float, edge: int) -> LatticeProgram | None:
    """The solved program of an upper bound, a cell centred at 0 or edges there."""
    k, wide = _fineness(problem, value, LAWS), 1.5 * _reach(problem) + 1
    lattice = cell_lattice(problem, k, edge, Window(-wide, wide))
    if lattice is None or lattice.classes >= CLASSES:
        return None
    places = places_of(problem, 2 * k, lattice.ends).floats / problem.sensitivity
    density, privacy = reference_density(problem, 0.5 * (places[1:] + places[:-1])), problem.privacy
    means = lattice.shares(means_of(problem, lattice))
    return _run(
        LatticeProgram(lattice, means, privacy.amplification, privacy.delta, value, density, atom_cost=0.0)
    )  # fmt: skip


def _run(program: LatticeProgram) -> LatticeProgram | None:
    program.start(None)
    outcome = program.solve(math.inf, lambda: False, enough=lambda _: False)
    return program if outcome.status == "optimal" else None


def _fineness(problem: NoiseProblem, value: float, kind: int) -> int:
    piece = problem.loss.pieces[0]
    nodes = NODES[int(piece.power), kind]
    if kind == MULTIPLIERS and problem.privacy.epsilon >= FEWER_FROM:
        nodes *= FEWER
    size: float = (value / abs(piece.coefficient)) ** (1 / piece.power)
    return max(1, math.ceil(nodes * problem.sensitivity / size))


def _reach(problem: NoiseProblem) -> float:
    """Half-width of truncated Laplace noise, or where a staircase is all but over."""
    epsilon = problem.privacy.epsilon
    return min(problem.privacy.truncation(), math.log(300) / epsilon if epsilon else math.inf)


def made(power: int, kind: int, epsilon: float) -> list[Entry]:
    """The entries of one ε."""
    found: dict[float, Entry] = {}
    value = _upper_of if kind == LAWS else _lower_of

    def look(delta: float) -> bool:
        """Whether an entry was made."""
        problem = noise_problem(epsilon, delta, 1.0, LOSSES[power])
        search = Search(problem, SolverSettings())
        search._start()
        search._by_groups()
        own = _solved(problem, kind, search.upper)
        if own is None:
            return False
        below, above = ([d for d in found if d < delta], [d for d in found if d > delta])
        near = [found[d] for d in (*sorted(below)[-2:], *sorted(above)[:2])]
        have, new = value(problem, near), value(problem, [own])
        if kind == LAWS:
            needed = new < min(have, search.upper) * (1 - CLOSE[kind])
        else:
            needed = new > max(have, search.lower) * (1 + CLOSE[kind])
        if needed:
            found[delta] = own
        return needed

    for delta in DELTAS:
        if epsilon or delta > 1e-3:
            look(delta)
    grid = list(DELTAS)
    for _ in range(HALVINGS):
        halves = [float(f"{math.sqrt(a * b):.4g}") for a, b in zip(grid, grid[1:]) if {a, b} & set(found)]
        grid = sorted({*grid, *(delta for delta in halves if look(delta))})
    return list(found.values())


def _solved(problem: NoiseProblem, kind: int, value: float) -> Entry | None:
    programs: Iterator[LatticeProgram | None] = (
        (upper_program(problem, value, edge) for edge in (0, 1)) if kind == LAWS
        else iter([lower_program(problem, value)])
    )  # fmt: skip
    privacy = problem.privacy
    try:
        entries = [Entry(privacy.epsilon, privacy.delta, one.basis()) for one in programs if one is not None]
    except SolverError:
        return None
    if kind == MULTIPLIERS or len(entries) < 2:
        return entries[0] if entries else None
    return min(entries, key=lambda entry: _upper_of(problem, [entry]))


def _lower_of(problem: NoiseProblem, entries: list[Entry]) -> float:
    proofs = (proof_of(problem, entry.basis) for entry in entries)
    return max((proof.lower(problem.privacy) for proof in proofs if proof is not None), default=0.0)


def _upper_of(problem: NoiseProblem, entries: list[Entry]) -> float:
    laws = (law_of(problem, one) for entry in entries for one in proposals(problem, entry))
    return min((float(law.expected_loss(problem.loss)) for law in laws if law is not None), default=math.inf)


def _write(path: Path, rows_made: list[tuple[int, int, list[Entry]]]) -> tuple[int, int]:
    heads, parts, start = [], [], 0
    for power, kind, entries in rows_made:
        for entry in entries:
            head, part = packed(power, kind, entry, start)
            heads.append(head)
            parts.append(part)
            start += len(part)
    with path.open("wb") as file:
        np.savez_compressed(file, heads=np.array(heads, HEADS), data=np.frombuffer(b"".join(parts), np.uint8))
    return len(heads), path.stat().st_size


def _job(job: tuple[int, int, float]) -> tuple[int, int, list[Entry]]:
    power, kind, epsilon = job
    return power, kind, made(power, kind, epsilon)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the atlas of first brackets.")
    parser.add_argument("file", nargs="?", type=Path, default=Path(__file__).with_name(FILE))
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    jobs = [(power, kind, epsilon) for power in LOSSES for kind in KINDS for epsilon in rows(power, kind)]
    began = time.perf_counter()
    with ProcessPoolExecutor(options.processes) as pool:
        done = []
        for number, one in enumerate(pool.map(_job, jobs, chunksize=4)):
            done.append(one)
            if number % 40 == 0:
                print(f"{number} of {len(jobs)} ε, {time.perf_counter() - began:.0f} s", flush=True)
    count, size = _write(options.file, done)
    print(f"{count} entries, {size / 1e6:.2f} MB, {time.perf_counter() - began:.0f} s: {options.file}")


if __name__ == "__main__":
    main()
