"""One linear program on one lattice, generated pair by pair [Thm 4; method: symmetry].

The unknowns are the masses r_i of a law on a lattice of k points (or cells) per sensitivity, and for upper bounds
an atom. For every shift j the shortfall Σ_i max(0, r_i − E r_{i−j}) (+ atom) must not exceed δ. A slack s stands for
one term max(0, r_i − E r_{i−j}), a *pair* (event i, cover i − j); pairs and shifts enter only when a solution
violates them, so every program along the way is a relaxation and its multipliers prove a lower bound.

Even problems are folded: r_i = r_{−i−h} (h = 1 when 0 is a cell edge, else 0), unknowns are the classes a ≥ 0 of
mirror images, only j > 0 is needed, and one slack serves the shifts |a − b| and a + b + h.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..lp import INFINITY
from ..rows.program import KEEP, TIE, PrivacyProgram, Rows, Uncovered
from .basis import Basis
from .lattice import NOT_ZERO, Array, Ints, Lattice

FLOOR = 0.1
"""Least reference mass relative to the largest; smaller floors ruin the multipliers [method: windows]."""

PURE = 1e-4
"""Where a pair has δ = 0, what all its terms may exceed 0 by together, in shares of the first pair's δ."""

SEEDED = 20_000
"""A coarse density with wide plateaus ties with itself at every shift: no more pairs than this enter from it."""


COARSE = 3
"""Programs of so many steps per sensitivity begin with all outward pairs."""


@dataclass(frozen=True)
class Seed:
    """What a finished program hands to a finer one.

    density : law's density at points given in units of the sensitivity, from the lattice's origin.
    active : per pair (ε, δ), shifts with a positive rate, in units of the sensitivity.   k : its lattice.   cells : its
    larger steps per sensitivity.   pairs : how many it needed.   shifts, rates : of the first (ε, δ), in sensitivities,
    with their signs; None where there was no program.   sharp : as of the outcome.
    """

    density: Callable[[Array], Array]
    active: tuple[Array, ...]
    k: int
    cells: int
    pairs: int = 0
    shifts: Array | None = None
    rates: Array | None = None
    sharp: bool = True


@dataclass
class Outcome:
    """A solved relaxation: masses per class, atom, and its multipliers in the units of the problem.

    rates : λ_j per (ε, δ) and shift of `Lattice.shifts` (0 where not generated), (levels, shifts).
    level, event, cover, weight : which (ε, δ), classes and multiplier y of every pair.
    order : multipliers of the monotone rows, per class.   budget_rate : multiplier μ of the budget.
    shortfalls : per (ε, δ) the largest shortfall of the masses over all shifts.
    status : "optimal", "time", "stopped", "failed", ….   sharp : what does not count is 0, as at a vertex.
    """

    masses: Array
    atom: float
    objective: float
    rates: Array
    level: Ints
    event: Ints
    cover: Ints
    weight: Array
    order: Array
    budget_rate: float
    shortfalls: tuple[float, ...]
    status: str
    pairs: int
    sharp: bool = True

    @property
    def shortfall(self) -> float:
        """The shortfall of the first (ε, δ)."""
        return self.shortfalls[0]


@dataclass(frozen=True)
class BudgetRow:
    """Σ r_i C₂_i + a·atom_cost ≤ most; costs : (classes,) as those of the program."""

    costs: Array
    most: float
    atom_cost: float = 0.0


@dataclass
class LatticeProgram:
    """The growing program of one bound.

    costs : (classes,) loss of one unit of mass at an index of the class.   scale : size of the optimal value.
    reference : (indices,) a density of similar shape, for scaling.
    atom_cost : loss at the atom, or None for no atom.
    further : (amplification, δ) of more pairs to satisfy; where δ is 0 every term is a row of its own, r_i ≤ E r_{i−j}.
    exchange : (weights, most) instead of limits of their own the pairs share one, Σ weights·shortfall ≤ most, each with
        its largest shortfall over all shifts; the δ of the pairs are then only about how large those are.
    budget : a bound on a second loss.
    levels : all (amplification, δ); rows, slacks and pairs carry the *level* 0, 1, … of the one they belong to.
    budget_scale : what the row of the budget is divided by.
    """

    lattice: Lattice
    costs: Array
    amplification: float
    delta: float
    scale: float
    reference: Array
    atom_cost: float | None = None
    monotone: bool = False
    open_left: bool = False
    open_right: bool = False
    further: tuple[tuple[float, float], ...] = ()
    exchange: tuple[Array, float] | None = None
    budget: BudgetRow | None = None
    tolerance: float = 1e-10
    rows: PrivacyProgram = field(init=False)
    levels: tuple[tuple[float, float], ...] = field(init=False)
    budget_scale: float = field(init=False, default=1.0)

    def __post_init__(self) -> None:
        lat = self.lattice
        rho = np.bincount(lat.classify(lat.indices), self.reference, lat.classes) / lat.multiplicity
        self._rho = np.maximum(rho, FLOOR * rho.max())
        self._rho /= self._rho @ lat.multiplicity
        self.levels = ((self.amplification, self.delta), *self.further)
        deltas = np.array([delta for _, delta in self.levels])
        self._pure = deltas == 0
        deltas[self._pure] = 1.0  # what no row is divided by
        atoms, used = deltas[: self.atom_cost is not None], deltas[: len(deltas) * (self.exchange is not None)]
        self._atom, self._used = lat.classes, lat.classes + len(atoms) + np.arange(len(used))
        self.rows = PrivacyProgram(
            self._rows_of,
            np.repeat(deltas, 2 * lat.k + 1),
            np.concatenate([self._rho, atoms, used]),
            tolerance=self.tolerance,
        )
        self.lp = self.rows.lp
        mass = self._rho * lat.multiplicity
        self.lp.add_rows(1.0, 1.0, starts=[0], columns=[], values=[])
        entries, atom = [mass], [self.delta]
        if self.budget is not None:
            spent = mass * self.budget.costs
            # A tiny budget must not blow up the row.
            self.budget_scale = max(self.budget.most, 1e-6 * float(spent.max()), NOT_ZERO)
            self.lp.add_rows(-INFINITY, self.budget.most / self.budget_scale, starts=[0], columns=[], values=[])
            entries.append(spent / self.budget_scale)
            atom.append(self.delta * self.budget.atom_cost / self.budget_scale)
        rows = np.arange(len(entries))
        self.lp.add_columns(
            mass * self.costs / self.scale,
            starts=len(rows) * np.arange(lat.classes),
            rows=np.tile(rows, lat.classes),
            values=np.stack(entries, axis=1).ravel(),
        )
        if self.atom_cost is not None:
            cost = self.delta * self.atom_cost / self.scale
            self.lp.add_columns(cost, 0.0, 1.0, starts=[0], rows=rows, values=atom)
        if self.exchange is not None:
            weights, most = self.exchange
            self.lp.add_columns(np.zeros(len(self.levels)))
            shares = np.array([delta for _, delta in self.levels]) * weights / most
            self.lp.add_rows(-INFINITY, 1.0, starts=[0], columns=self._used, values=shares)
        if self.monotone:
            self._add_monotone_rows()

    # Growing -----------------------------------------------------------------------------------------

    def _add_monotone_rows(self) -> None:
        """r_i ≥ r_(next outward), at 0 doubled for node lattices [method: symmetry]; none that ends at an open end."""
        lat, rho = self.lattice, self._rho
        inner, rows = [], []
        if lat.folded:
            for a in range(lat.classes - 1 - self.open_right):
                rows.append([(a, rho[a]), (a + 1, -rho[a + 1])])
                inner.append(a)
        else:
            for i in range(lat.first, lat.last + 1):
                a = i - lat.first
                if i == 0 and not lat.edge:
                    row = [(a, 2 * rho[a])] + [(a + s, -rho[a + s]) for s in (-1, 1) if 0 <= a + s < lat.classes]
                    rows.append(row)
                    inner.append(a)
                    continue
                out = a + 1 if i >= 0 else a - 1
                ends_open = (out == 0 and self.open_left) or (out == lat.classes - 1 and self.open_right)
                if 0 <= out < lat.classes and not ends_open:
                    rows.append([(a, rho[a]), (out, -rho[out])])
                    inner.append(a)
        self._order_class = np.array(inner, dtype=np.int64)
        scale = np.array([rho[a] for a in inner])
        self._order_row = self.lp.rows + np.arange(len(rows))
        self._order_scale = scale
        self.lp.add_rows(
            0.0,
            INFINITY,
            starts=np.cumsum([0] + [len(r) for r in rows[:-1]]) if rows else [],
            columns=[c for row in rows for c, _ in row],
            values=[v / s for row, s in zip(rows, scale) for _, v in row],
        )

    def order_multipliers(self, outcome: Outcome) -> Array:
        """Multipliers of the monotone rows per index, as `audit.multiplier_bound_lower` wants them."""
        return self.lattice.unfold(outcome.order) * (0.5 if self.lattice.folded else 1.0)

    def add_spike(self, amplification: float, narrow: int) -> None:
        """The atom is a uniform law about 0, `narrow` times narrower than a cell, whose density, with that of the cells
        it is in, is at most `amplification` times that of every cell within a sensitivity."""
        lat = self.lattice
        here = {int(c) for c in lat.classify(np.arange(-lat.edge, 1))}
        near = sorted({int(c) for c in lat.classify(np.arange(-lat.k - lat.edge, lat.k + 1)) if 0 <= c < lat.classes})
        rho, rows = self._rho, []
        for own in here:
            for other in near:
                entries = {self._atom: self.delta * narrow, own: rho[own]}
                entries[other] = entries.get(other, 0.0) - amplification * rho[other]
                rows.append({column: value / rho[own] for column, value in entries.items()})
        self.lp.add_rows(
            -INFINITY,
            0.0,
            starts=np.cumsum([0] + [len(row) for row in rows[:-1]]),
            columns=[column for row in rows for column in row],
            values=[value for row in rows for value in row.values()],
        )

    # A limit is named by its level and shift, a term by its level, event and cover.

    def _names(self, shifts: Ints, level: int | Ints) -> Ints:
        """Names of limits."""
        return level * (2 * self.lattice.k + 1) + shifts + self.lattice.k

    def add_shifts(self, shifts: Ints, level: int = 0) -> None:
        """Rows Σ slacks + uncovered masses + atom ≤ δ that are not yet there, each divided by δ."""
        lat, delta = self.lattice, self.levels[level][1]
        if delta == 0:
            return
        shifts = shifts[self.rows.limit_rows[self._names(shifts, level)] < 0]
        extra = [] if self.atom_cost is None else [(self._atom, 1.0)]
        extra += [] if self.exchange is None else [(self._used[level], -1.0)]
        columns, values = [], []
        for j in shifts.tolist():
            weight = np.bincount(lat.classify(lat.bare(j)), minlength=lat.classes)
            classes = np.flatnonzero(weight)
            columns.append(np.append(classes, [column for column, _ in extra]).astype(int))
            values.append(np.append(weight[classes], [value for _, value in extra]))
        if columns:
            owners = np.repeat(np.arange(len(shifts)), [len(one) for one in columns])
            uncovered = Uncovered(owners, np.concatenate(columns), np.concatenate(values))
            most = np.full(len(shifts), delta if self.exchange is None else 0.0)
            self.rows.add_limits(self._names(shifts, level), most, uncovered)

    def _pair_names(self, shift: int, chosen: NDArray[np.bool_], level: int) -> Ints:
        """Names of the pairs of a shift at the chosen of its events."""
        names, (event, cover) = self.lattice.names, self.lattice.pairs(shift, chosen)
        other = event != cover  # r_a − E r_a is never positive
        named: Ints = (level * names + event[other]) * (names + 1) + cover[other] + 1
        return named

    def _pairs(self, names: Ints) -> tuple[Ints, Ints, Ints]:
        """(level, event, cover) of terms."""
        first, cover = np.divmod(names, self.lattice.names + 1)
        return *np.divmod(first, self.lattice.names), cover - 1

    def _rows_of(self, names: Ints) -> Rows:
        lat, (level, event, cover) = self.lattice, self._pairs(names)
        starts, classes, values = lat.rows(event, cover, np.array([E for E, _ in self.levels])[level])
        owners, shifts, counts = lat.counted(event, cover)
        used = ~self._pure[level[owners]]
        owners, shifts, counts = owners[used], shifts[used], np.broadcast_to(counts, len(used))[used]
        limits = self._names(shifts, level[owners])
        most = np.where(self._pure[level], 0.0, INFINITY)
        return Rows(starts, classes, values, lat.sizes(event, self._rho), owners, limits, most, counts)

    def start(self, seed: Seed | None, deadline: float = math.inf) -> None:
        """First rows: from a coarser solution the pairs that nearly bind at nearly active shifts, as many as `SEEDED`;
        on coarse lattices all outward pairs (away from the middle), which spares the march outward one step a round."""
        lat = self.lattice
        levels = range(len(self.levels))
        for level in levels:
            self.add_shifts(np.array([lat.k] if lat.folded else [lat.k, -lat.k]), level)
        if seed is None or lat.k <= COARSE:
            for level in levels:
                self.add_shifts(lat.shifts, level)
                away = [lat.events_at(j) * np.sign(j) <= 0 for j in lat.shifts.tolist()]
                pairs = zip(lat.shifts.tolist(), away)
                self.rows.add_terms(*(self._pair_names(j, chosen, level) for j, chosen in pairs))
        if seed is None:
            return
        r = lat.masses(seed.density(lat.places))
        for level in levels:
            near = lat.shifts if self._pure[level] else self._near(seed, level)
            amplification = self.levels[level][0]
            self.add_shifts(near, level)
            if len(self.rows.names) > SEEDED or time.perf_counter() >= deadline:
                return
            excesses = zip(near.tolist(), lat.excesses(r, near, TIE * amplification))
            self.rows.add_terms(*(self._pair_names(j, z > 0, level) for j, z in excesses), most=SEEDED)

    def _near(self, seed: Seed, level: int) -> Ints:
        """Shifts within a lattice step of one that was active in the seed."""
        shifts, active = self.lattice.shifts, seed.active[min(level, len(seed.active) - 1)]
        if not active.size:
            return shifts[:0]
        distance = np.abs(np.abs(shifts[:, None]) / self.lattice.k - active[None, :]).min(axis=1)
        near: Ints = shifts[distance < 0.5 / seed.cells + 0.5 / self.lattice.cells]
        return near

    # Solving -----------------------------------------------------------------------------------------

    def solve(
        self, deadline: float, stop: Callable[[], bool], *, enough: Callable[[Outcome], bool], rounds: int = 200
    ) -> Outcome:
        """Rounds of solving and adding violated pairs, until nothing is violated or `enough(outcome)`."""
        lat = self.lattice
        outcome: Outcome | None = None
        for _ in range(rounds):
            status = self.rows.run(deadline, stop)
            if status in ("infeasible", "unbounded") or (status != "optimal" and outcome is not None):
                if outcome is not None:
                    outcome.status = status
                    return outcome
            outcome = self._outcome(status)
            r = lat.unfold(outcome.masses)
            found = [lat.shortfalls(r, amplification) + outcome.atom for amplification, _ in self.levels]
            outcome.shortfalls = tuple(float(max(shortfall.max(), outcome.atom)) for shortfall in found)
            if status != "optimal" or enough(outcome):
                return outcome
            most = [delta or PURE * self.delta for _, delta in self.levels]
            if self.exchange is not None:  # 1e-9: the tolerance of the linear program
                most = (most * self.lp.primal()[self._used] + 1e-9 * np.array(most)).tolist()
            violated = [lat.shifts[s > limit * (1 + 1e-9)] for s, limit in zip(found, most)]
            for level, shifts in enumerate(violated):
                self.add_shifts(shifts, level)
            if not self._add_violated(r, violated, KEEP) and not self._add_violated(r, violated, 0.0):
                return outcome
        if outcome is None:
            raise ValueError("at least one round")
        return outcome

    def _add_violated(self, r: Array, violated: list[Ints], share: float) -> int:
        """Pairs of the violated shifts (per level) whose violation exceeds a share of the largest; how many are new."""
        groups = []
        for level, shifts in enumerate(violated):
            excesses = zip(shifts.tolist(), self.lattice.excesses(r, shifts, self.levels[level][0]))
            groups += [self._pair_names(j, z > share * z.max(), level) for j, z in excesses]
        return self.rows.add_terms(*groups)

    def _outcome(self, status: str) -> Outcome:
        lat = self.lattice
        x, duals = self.rows.solution(), self.lp.row_duals()
        masses, atom = x[: lat.classes], float(x[self._atom]) if self.atom_cost is not None else 0.0
        rates, weight = self.rows.multipliers(duals, self.scale)
        rates = rates.reshape(len(self.levels), -1)[:, lat.shifts + lat.k]
        budget_rate = max(0.0, -float(duals[1])) * self.scale / self.budget_scale if self.budget else 0.0
        order = np.zeros(lat.classes)
        if self.monotone:
            order[self._order_class] = np.maximum(0.0, duals[self._order_row]) * self.scale / self._order_scale
        cost = float(masses @ (lat.multiplicity * self.costs)) + atom * (self.atom_cost or 0.0)
        pairs = (*self._pairs(self.rows.names), weight)
        return Outcome(masses, atom, cost, rates, *pairs, order, budget_rate, (math.inf,), status, len(weight))

    def multipliers(self, outcome: Outcome, level: int = 0) -> tuple[Ints, Ints, Array]:
        """(shifts, events, weights): multipliers of single terms, one per shift and event index, of one (ε, δ).

        A slack shared by two shifts has its multiplier split in proportion to their rates [Thm 3], events
        without a cover carry the whole rate.
        """
        mine = outcome.level == level
        event, cover, weight = outcome.event[mine], outcome.cover[mine], outcome.weight[mine]
        rates = outcome.rates[level]
        caps = np.full(len(rates), weight.max(initial=0.0)) if self._pure[level] else rates
        return term_multipliers(self.lattice, event, cover, weight, caps, rates > 0)

    def basis(self) -> Basis:
        """What is basic in the solution, for one pair (ε, δ) and no rows but those of privacy."""
        lat = self.lattice
        columns, rows = self.lp.basic()
        limits = self.rows.limit_rows[self._names(lat.shifts, 0)]
        shifts = lat.shifts[(limits >= 0) & ~rows[limits]]
        if self.atom_cost is not None and not columns[self._atom] and self.lp.primal()[self._atom] > 0:
            columns[self._atom], shifts = True, np.append(shifts, 0)
        carrying = np.flatnonzero(columns[: lat.classes + (self.atom_cost is not None)])
        _, event, cover = self._pairs(self.rows.names)
        slack, idle = columns[self.rows.slacks], rows[self.rows.slack_rows]
        felt = np.any([np.isin(shift, shifts) & (shift != 0) for shift, _ in lat.terms(event, cover)], axis=0)
        kinds = (slack & ~idle & felt, ~slack & ~idle, slack & idle)
        full, ties, loose = (np.stack([event[kind], cover[kind]]) for kind in kinds)
        return Basis(lat, self.atom_cost is not None, carrying, shifts, full, ties, loose)


def term_multipliers(
    lat: Lattice, event: Ints, cover: Ints, weight: Array, caps: Array, charged: NDArray[np.bool_]
) -> tuple[Ints, Ints, Array]:
    """(shifts, events, weights) of single terms from the weights of pairs.

    caps : per shift of the lattice, the most a weight may be.   charged : shifts whose events without a cover carry it.
    """
    rate = np.zeros(2 * lat.k + 1)
    rate[lat.shifts + lat.k] = caps
    rate[lat.k] = 0.0
    owners, events = (list(part) for part in zip(*lat.terms(event, cover)))
    most = [np.where(np.abs(j) <= lat.k, rate[np.clip(j, -lat.k, lat.k) + lat.k], 0.0) for j in owners]
    total = np.sum(most, axis=0)
    share = np.minimum(weight, total) / np.where(total > 0, total, 1.0)
    shifts, weights = owners, [share * cap for cap in most]
    for j in lat.shifts[charged].tolist():
        bare = lat.bare(j)
        shifts.append(np.full(len(bare), j))
        events.append(bare)
        weights.append(np.full(len(bare), rate[j + lat.k]))
    used = np.concatenate(weights) > 0
    return lat.spread(np.concatenate(shifts)[used], np.concatenate(events)[used], np.concatenate(weights)[used])
