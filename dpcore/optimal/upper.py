"""An upper bound from one lattice: a law constant on cells with an atom, audited and repaired [Thms 1, 3 and 5]."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .. import audit
from ..audit_shape import admitted
from ..loss.cells import means as cell_means
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import amplitude_gamma
from ..places import Places
from ..problem import NoiseProblem
from . import laws
from .all_pairs import solved
from .blocks import Blocks
from .lattice import NOT_ZERO, Array, Lattice
from .mesh import Grading
from .program import BudgetRow, LatticeProgram, Outcome, Seed
from .step import (
    SETTLED,
    TIGHTER,
    Limits,
    Step,
    Window,
    further_limits,
    origin_of,
    places_of,
    reference_density,
    seed_of,
)  # fmt: skip

NO_ATOM = 1e-9
"""Less than a program's tolerance."""

FINEST = 1 << 20
"""Most parts of a unit in which the place of an atom is told."""


def upper_step(
    problem: NoiseProblem,
    k: int,
    edge: int,
    window: Window,
    seed: Seed | None,
    limits: Limits,
    *,
    atom: bool = True,
    grading: Grading | None = None,
) -> Step:
    """A law constant on cells, k per sensitivity, with an atom (Thm 1) if it may, audited and repaired.

    edge : 0 centres a cell at the origin, 1 puts a cell edge there.   grading : cells as narrow as that near its steps,
    for even problems and edge 1.   `bound` is infinite when no law came out.
    """
    lattice = cell_lattice(problem, k, edge, window)
    if lattice is None:
        return Step(k, edge, math.inf, None, math.inf, 0.0, False, seed, window, 0, 0, "no cell fits")
    if grading is not None:
        lattice, k = Blocks.of(lattice, grading), k * grading.coarse
    loss, D, privacy = problem.paid_loss, problem.sensitivity, problem.privacy
    cells = places_of(problem, 2 * k, lattice.ends)
    means = cell_means(loss, cells)
    atom_x = 0.0 if problem.symmetric or problem.monotone else loss.minimiser(*problem.support)[0]
    spending = _spending(problem, cells, atom_x)
    reference = reference_density(problem, 0.5 * (cells.floats[1:] + cells.floats[:-1]) / D)

    def program_for(objective: Array, at_atom: float, tight: float, budget: BudgetRow | None) -> LatticeProgram:
        return LatticeProgram(
            lattice,
            lattice.shares(objective),
            privacy.amplification,
            privacy.delta * tight,
            limits.scale,
            reference,
            atom_cost=at_atom if atom else None,
            monotone=problem.monotone,
            further=further_limits(problem, tight),
            budget=budget,
        )

    repair = laws.private_masses(lattice, problem, means, origin_of(problem) / D, spending)
    if repair is None and spending is not None:
        program = program_for(spending.means, spending.at_atom, 0.99, None)  # to repair with: room in every limit
        program.start(seed, limits.deadline)
        repair = _thrifty(
            program.solve(limits.deadline, limits.stop, enough=lambda _: False), lattice, means, problem, spending
        )
    tight = 1.0 if repair else 1 - TIGHTER
    budget = None
    if spending is not None:
        most = spending.most * tight
        budget = BudgetRow(lattice.shares(spending.means), most, spending.at_atom)
    program = program_for(means, float(loss.value(atom_x)), tight, budget)
    span = repair.cost if repair else math.inf

    def enough(outcome: Outcome) -> bool:
        strict = repair.shortfalls if repair else [p.delta * tight for p in problem.privacies]
        weight = max(
            max(0.0, shortfall - p.delta * tight) / max(shortfall - least, NOT_ZERO)
            for shortfall, p, least in zip(outcome.shortfalls, problem.privacies, strict)
        )
        return weight * max(span - outcome.objective, 0.0) <= SETTLED * limits.gap * outcome.objective

    outcome = solved(program, seed, limits, enough)
    noise, delta_upper, worst_shift, repaired = None, math.inf, 0.0, False
    if outcome.status == "optimal":
        noise, delta_upper, worst_shift, repaired = certified(
            problem, lattice, lattice.unfold(outcome.masses), outcome.atom, repair, atom_x, spending
        )
    bound = audit.loss_upper(noise, problem.loss) if noise is not None else math.inf
    return Step(
        k,
        edge,
        bound,
        noise,
        delta_upper,
        worst_shift,
        repaired,
        seed_of(lattice, outcome),
        fitted(window, lattice, outcome, problem, origin_of(problem) / D),
        len(means),
        outcome.pairs,
        outcome.status,
    )


def _spending(problem: NoiseProblem, cells: Places, atom_x: float) -> laws.Spending | None:
    """The budget on cells with these ends."""
    budget, loss = problem.budget, problem.budget_loss
    if budget is None or loss is None:
        return None
    return laws.Spending(cell_means(loss, cells), float(loss.value(atom_x)), budget.most)


CARRIED = 1e-6
"""Share of δ, and of what covers a top step of nearly all mass, that may lie beyond a window."""


def fitted(window: Window, lattice: Lattice, outcome: Outcome, problem: NoiseProblem, origin: float) -> Window:
    """The stretch that carries all but CARRIED·min(δ, e^−ε) of the mass, with a margin; a side whose last half
    sensitivity carries more than 1e-3 δ was cut too short and gets one sensitivity more, as far as the support goes."""
    masses, delta = lattice.unfold(outcome.masses), problem.privacy.delta
    x = lattice.places + origin
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    least = CARRIED * min(delta, 1 / problem.privacy.amplification)
    kept = x[(below > least) & (above > least)]
    if not kept.size:
        return window
    edge = max(1, lattice.k // 2)
    margin = min(0.5, 4 * amplitude_gamma(problem.privacy.epsilon)) + 0.5 / lattice.k
    left = window.left - 1 if masses[:edge].sum() > 1e-3 * delta else max(kept[0] - margin, window.left)
    right = window.right + 1 if masses[-edge:].sum() > 1e-3 * delta else min(kept[-1] + margin, window.right)
    if problem.folds:
        right = max(-left, right)
        left = -right
    lo, hi = (end / problem.sensitivity for end in problem.support)
    return Window(float(max(left, lo)), float(min(right, hi)))


def cell_lattice(problem: NoiseProblem, k: int, edge: int, window: Window) -> Lattice | None:
    """Cells of width D/k over the window, inside the support; None when the support holds no such cell."""
    grid, start = places_of(problem, k, [0]), origin_of(problem) / problem.sensitivity
    half = Fraction(1 - edge, 2)
    lo, hi = (grid.position(end) for end in problem.support)
    first = math.floor((window.left - start) * k + 0.5 * (1 - edge))
    last = math.ceil((window.right - start) * k + 0.5 * (1 - edge)) - 1
    if math.isfinite(lo):
        first = max(first, math.ceil(lo + half))
    if math.isfinite(hi):
        last = min(last, math.floor(hi + half) - 1)
    if problem.folds:
        last = min(last, -first - edge)
        first = -last - edge
    return Lattice(k, first, last, first, last, problem.folds, edge) if last >= first else None


def certified(
    problem: NoiseProblem,
    lattice: Lattice,
    masses: Array,
    atom: float,
    repair: laws.StrictLaw | None,
    atom_x: float,
    spending: laws.Spending | None = None,
) -> tuple[PiecewiseNoise | None, float, float, bool]:
    """(noise, its δ rounded up, worst shift, repaired): a program's law, masses per index and an atom, mixed with a
    strictly private one by as little as makes the audited δ at most the problem's [Thms 3 and 5], and so with other
    pairs and a budget."""
    delta, k = min(p.delta for p in problem.privacies), lattice.k
    if spending is not None and spending.most == 0:
        masses = np.where(spending.means > 0, 0.0, masses)
    total = math.fsum(masses) + atom
    masses, atom = masses / total, atom / total
    if problem.monotone:
        masses = fallen(masses, lattice)
    if atom < NO_ATOM:
        masses, atom = masses / math.fsum(masses), 0.0
    fine, atom_unit = _atom_on_lattice(problem, 2 * k, atom_x)
    dust = 1e-13 * delta / problem.privacy.amplification
    rows: list[Row] = []
    for attempt in range(24):
        weight = 0.0
        if repair is not None and attempt:
            rows = rows or _rows(problem, lattice, masses, atom, repair, spending)
            weight = _share(rows, 8.0 ** (attempt - 1))
        mixed = (1 - weight) * masses + (weight * repair.masses if repair is not None and weight else 0.0)
        mixed_atom = (1 - weight) * atom + (weight * repair.atom if repair is not None and weight else 0.0)
        mixed[mixed < dust] = 0.0
        noise = PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity,
            resolution=2 * k * fine,
            breaks=lattice.ends * fine,
            masses=mixed,
            atom=mixed_atom,
            atom_unit=atom_unit,
            origin=origin_of(problem),
            monotone=problem.monotone,
        )
        if found := admitted(noise, problem):
            return noise, *found, weight > 0
        if repair is None:
            return None, math.inf, 0.0, False
    return None, math.inf, 0.0, False


Row = tuple[Array, Array, float, float]
"""Figures of a law and of the strict one, the limit of either, and by what share of it the audit may round up."""


def _rows(
    problem: NoiseProblem,
    lattice: Lattice,
    masses: Array,
    atom: float,
    repair: laws.StrictLaw,
    spending: laws.Spending | None,
) -> list[Row]:
    """All that limits a law: its shortfalls at every shift, and the budget."""
    found = [lattice.shortfalls(masses, p.amplification) + atom for p in problem.privacies]
    rows = [(h, own, p.delta, 1e-15 / p.delta) for h, own, p in zip(found, repair.rows, problem.privacies)]
    if spending is not None:
        spent = np.array([float(masses @ spending.means) + atom * spending.at_atom])
        rows.append((spent, np.array([repair.spent]), spending.most, 1e-14))
    return rows


def _share(rows: list[Row], room: float) -> float:
    """The least share of the strict law with which every figure meets its limit less `room` times the margin. Figures
    that leave the strict law nothing to spare are left to the audit."""
    share = 0.0
    for own, strict, limit, margin in rows:
        most = limit * (1 - margin * room)
        share = max(share, laws.strict_share(own, strict, most, strict < limit * (1 - laws.TIGHT)))
    return share


def fallen(masses: Array, lattice: Lattice) -> Array:
    """The masses with every one lowered to those between it and 0, of the same sum: the program's answer is monotone
    up to its tolerance only."""
    left, right = lattice.indices + lattice.edge <= 0, lattice.indices >= 0
    out = masses.copy()
    out[right] = np.minimum.accumulate(out[right])
    out[left] = np.minimum.accumulate(out[left][::-1])[::-1]
    share: float = masses.sum() / out.sum()
    return out * share


def _atom_on_lattice(problem: NoiseProblem, resolution: int, atom_x: float) -> tuple[int, int]:
    """(parts of a unit, place of the atom in them): at atom_x, or where that takes too many parts within the support
    next to it."""
    grid = places_of(problem, resolution, [0])
    position = grid.index_of(atom_x)
    if position.denominator <= FINEST:
        return position.denominator, position.numerator
    unit, (lo, hi) = round(position * FINEST), (grid.position(end) * FINEST for end in problem.support)
    return FINEST, unit + 1 if unit < lo else unit - 1 if unit > hi else unit


def _thrifty(
    outcome: Outcome, lattice: Lattice, means: Array, problem: NoiseProblem, spending: laws.Spending
) -> laws.StrictLaw | None:
    """The law that spends least of the budget at a slightly smaller δ, if it is a strict one: what repairs answers to
    tight budgets."""
    masses = lattice.unfold(outcome.masses)
    total = math.fsum(masses) + outcome.atom
    if outcome.status != "optimal" or not total > 0:
        return None
    return laws.strict_law(masses / total, lattice, problem, means, spending, outcome.atom / total)
