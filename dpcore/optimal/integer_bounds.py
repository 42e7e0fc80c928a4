"""Bounds for whole-number queries: one linear program on the query's lattice, or on a coarser one, and what it proves.

On the query's own lattice the program is the problem itself, so both bounds agree up to the stretch of line looked at
and the solver's rounding. On m steps per node, for sensitivities of many steps, Thms 1 and 2 hold word by word with
sums for integrals: stochastic rounding to the nodes (for the largest whole number of nodes within the sensitivity)
bounds from below, spreading every node over the m points around it (for the smallest number of nodes that covers the
sensitivity) bounds from above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .. import audit
from .._validate import decimal
from ..audit_shape import keeps_shape
from ..loss.cells import node_values
from ..noise.lattice import LatticeNoise
from ..noise.staircase import amplitude_gamma
from ..noise.steps import lattice_points
from ..places import Places
from ..problem import NoiseProblem
from . import laws
from .all_pairs import solved
from .chain import chain_on
from .lattice import ROUNDED, Array, Lattice
from .program import LatticeProgram, Outcome, Seed
from .step import AUDIT_ROOM, LEAST_DELTA, TIGHTER, TINY, Limits, Proof, seed_of

TOLERANCE = 1e-10
"""Tolerance of the linear programs; bounds are to agree to 1e-9."""

SETTLED = 0.02
"""Share of the gap at which a program counts as settled (`step` has its own): rounds are cheaper here than one more."""

Stretch = tuple[float, float]
"""First and last lattice point looked at."""


@dataclass(frozen=True)
class Found:
    """What a program brought.

    noise : None for lower bounds and when no law came out.   used : the points that mattered.
    """

    bound: float
    noise: LatticeNoise | None
    delta_upper: float
    worst_shift: float
    repaired: bool
    seed: Seed | None
    used: Stretch | None
    classes: int
    pairs: int
    status: str


class MonotoneAtZero(LatticeProgram):
    """Rows r_0 ≥ r_1 and r_0 ≥ r_{−1} too: they hold for monotone laws on the lattice itself, where the doubled row at
    0, made for rounded laws, is weaker."""

    def __post_init__(self) -> None:
        super().__post_init__()
        zero, rho = -self.lattice.first, self._rho
        self._zero_rows: dict[int, int] = {}
        self._zero_scale = rho[zero]
        for side in (1, -1):
            if 0 <= zero + side < len(rho):
                self._zero_rows[side] = self.lp.rows
                values = [1.0, -rho[zero + side] / rho[zero]]
                self.lp.add_rows(0.0, math.inf, starts=[0], columns=[zero, zero + side], values=values)

    def multipliers_at_zero(self) -> tuple[float, float]:
        """As `audit.multiplier_bound_lower` wants them."""
        duals = np.append(np.maximum(self.lp.row_duals(), 0.0), 0.0) * self.scale / self._zero_scale
        return float(duals[self._zero_rows.get(1, -1)]), float(duals[self._zero_rows.get(-1, -1)])


def _program(
    problem: NoiseProblem, lattice: Lattice, costs: Array, delta: float, limits: Limits, middle: float, *, own: bool
) -> LatticeProgram:
    """The program on a lattice; `own`: that of the query."""
    distance = np.abs(lattice.indices - middle) / lattice.k
    rate = problem.privacy.epsilon * (1.0 if problem.folds else 0.5)
    reference = np.exp(-rate * (distance - distance.min()))
    # Where the line goes on, the outermost node stands for all beyond it and may outweigh its neighbour.
    left_real = lattice.event_first < 0 or lattice.event_first == lattice.first
    right_real = lattice.event_last > 0 or lattice.event_last == lattice.last
    at_zero = own and problem.monotone and not lattice.folded and left_real and right_real
    return (MonotoneAtZero if at_zero else LatticeProgram)(
        lattice,
        costs[lattice.representatives],
        problem.privacy.amplification,
        delta,
        limits.scale,
        reference,
        monotone=problem.monotone,
        open_left=lattice.open_left,
        open_right=lattice.open_right,
        tolerance=TOLERANCE,
    )


def best_point(problem: NoiseProblem) -> float:
    """Where the loss is least, in steps; 0 for mirror images and monotone laws."""
    if problem.folds or problem.monotone:
        return 0.0
    return problem.loss.minimiser(*problem.support)[0] / problem.lattice_step


def lower_bound(problem: NoiseProblem, m: int, stretch: Stretch, seed: Seed | None, limits: Limits) -> Found:
    """A lower bound from nodes m steps apart: the events lie in the stretch, the nodes reach one sensitivity further,
    where the outermost ones pay the least loss beyond them (a law may be thought clamped to them)."""
    lattice, anchor = _nodes(problem, m, stretch)
    costs = _node_costs(problem, lattice, anchor, m)
    delta = max(problem.privacy.delta, LEAST_DELTA)
    program = _program(problem, lattice, costs, delta, limits, (best_point(problem) - anchor) / m, own=m == 1)

    def enough(outcome: Outcome) -> bool:
        slack = outcome.rates.sum() * (outcome.shortfall - delta)
        return bool(0 < slack <= SETTLED * limits.gap * outcome.objective)

    outcome = solved(program, seed, limits, enough, coarsest=False)
    shifts, events, weights = program.multipliers(outcome)
    order = program.order_multipliers(outcome) if problem.monotone else None
    at_zero = program.multipliers_at_zero() if isinstance(program, MonotoneAtZero) else None
    proof = Proof(costs, lattice.first, shifts, events, weights, order, lattice.folded, at_zero=at_zero)
    bound = proof.lower(problem.privacy)
    used = events[weights > TINY * weights.max(initial=0.0)]
    reach = (anchor + m * float(used.min()), anchor + m * float(used.max())) if used.size else None
    status = outcome.status
    return Found(bound, None, 0.0, 0, False, seed_of(lattice, outcome), reach, lattice.classes, outcome.pairs, status)


def chain_lower(problem: NoiseProblem, stretch: Stretch) -> float:
    """The lower bound of a chain for a sensitivity of one step [method: groups], for mirror images: no program."""
    lattice, anchor = _nodes(problem, 1, stretch)
    lattice = replace(lattice, folded=False)  # a chain on either side
    costs = _node_costs(problem, lattice, anchor, 1)
    return chain_on(lattice, costs, problem.privacy, None).proof.lower(problem.privacy)


def _node_costs(problem: NoiseProblem, lattice: Lattice, anchor: int, m: int) -> Array:
    """What nodes m steps apart cost at least, the outermost the least beyond them where the line goes on. (indices,)"""
    loss, step = problem.paid_loss, problem.lattice_step
    points = _points(anchor, lattice, m, step)
    places = Places(Fraction(0), decimal(step), anchor + m * lattice.indices)
    costs = audit.lattice_costs(points, loss)[0] if m == 1 else node_values(loss, places)
    for end, here, (lo, hi) in (
        (0, lattice.open_left, (-math.inf, float(points[0]))),
        (-1, lattice.open_right, (float(points[-1]), math.inf)),
    ):
        if here:
            lowest = np.array([loss.minimiser(lo, hi)[0]])
            costs[end] = min(costs[end], audit.lattice_costs(lowest, loss)[0][0])
    return costs


def _points(anchor: int, lattice: Lattice, m: int, step: float) -> Array:
    """Where the nodes are, in the query's unit."""
    return lattice_points(anchor + m * lattice.first, m * (lattice.last - lattice.first) + 1, step)[::m]


def _nodes(problem: NoiseProblem, m: int, stretch: Stretch) -> tuple[Lattice, int]:
    """(nodes, lattice point of node 0). Where the support ends before the stretch does, its end, rounded outwards to a
    node, ends nodes and events."""
    k = problem.lattice_sensitivity // m
    lo, hi = problem.lattice_support
    anchor = 0
    if not problem.folds and not problem.monotone:
        anchor = int(lo if math.isfinite(lo) else hi if math.isfinite(hi) else 0)
    event_first, event_last = math.floor((stretch[0] - anchor) / m), math.ceil((stretch[1] - anchor) / m)
    if problem.folds:
        event_first = -event_last
    first, last = event_first - k, event_last + k
    if math.isfinite(lo) and first <= (lo - anchor) // m:
        first = event_first = int((lo - anchor) // m)
    if math.isfinite(hi) and last >= -((anchor - hi) // m):
        last = event_last = int(-((anchor - hi) // m))
    return Lattice(k, first, last, event_first, event_last, problem.folds), anchor


def seed_of_law(problem: NoiseProblem, law: LatticeNoise, stretch: Stretch) -> Seed:
    """A law as if a program on the query's own lattice had found it, with the sensitivity and one step less for shifts:
    next to a staircase hardly any other pair binds."""
    k, anchor = problem.lattice_sensitivity, _nodes(problem, 1, stretch)[1]
    density = np.concatenate([[0.0], law.masses * k, [0.0]])

    def at(x: Array) -> Array:
        index = np.floor(x * k + 0.5 + ROUNDED).astype(int) + anchor - law.first
        near: Array = density[np.clip(index + 1, 0, len(density) - 1)]
        return near

    return Seed(at, (np.array([1.0, 1.0 - 1.0 / k]),), k, k)


# Upper bounds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """Nodes m steps apart, each standing for the points around it with the given shares; `anchor` is the point of node
    0. For even m the outermost of the m + 1 points count half: two blocks of m points, a step apart, on average."""

    lattice: Lattice
    anchor: int
    m: int
    shares: Array

    @property
    def first(self) -> int:
        return self.anchor + self.m * self.lattice.first - self.m // 2

    def gathered(self, values: Array) -> Array:
        """Mean of a function of the points over each node's points."""
        n = len(self.lattice.indices)
        shares: list[float] = self.shares.tolist()
        parts = (share * values[t : t + self.m * (n - 1) + 1 : self.m] for t, share in enumerate(shares))
        return sum(parts, np.zeros(n))

    def points(self, step: float) -> Array:
        """Where the points are, in the query's unit."""
        n = self.m * (len(self.lattice.indices) - 1) + len(self.shares)
        return lattice_points(self.first, n, step)

    def law(self, step: float, masses: Array, monotone: bool) -> LatticeNoise:
        """The law that spreads the nodes' masses."""
        n = len(self.lattice.indices)
        out = np.zeros(self.m * (n - 1) + len(self.shares))
        for t, share in enumerate(self.shares.tolist()):
            out[t : t + self.m * (n - 1) + 1 : self.m] += share * masses
        return LatticeNoise.from_masses(step, self.first, out, monotone=monotone)


def spread(problem: NoiseProblem, m: int, stretch: Stretch) -> Spread | None:
    """Nodes over the stretch whose points lie inside the support; None when there is no room for one."""
    lo, hi = problem.lattice_support
    half = m // 2
    shares = np.full(m + (m % 2 == 0), 1.0 / m)
    if m % 2 == 0:
        shares[[0, -1]] = 0.5 / m
    anchor = 0
    if not problem.folds and not problem.monotone:
        anchor = int(lo + half if math.isfinite(lo) else hi - half if math.isfinite(hi) else 0)
    first, last = math.floor((stretch[0] - anchor) / m), math.ceil((stretch[1] - anchor) / m)
    if math.isfinite(lo):
        first = max(first, math.ceil((lo + half - anchor) / m))
    if math.isfinite(hi):
        last = min(last, math.floor((hi - half - anchor) / m))
    if problem.folds:
        last = min(last, -first)
        first = -last
    if last < first or (problem.monotone and not first <= 0 <= last):
        return None
    k = -(-problem.lattice_sensitivity // m)
    return Spread(Lattice(k, first, last, first, last, problem.folds), anchor, m, shares)


def upper_bound(problem: NoiseProblem, m: int, stretch: Stretch, seed: Seed | None, limits: Limits) -> Found:
    """A law from nodes m steps apart, audited, and repaired where the program missed δ [Thms 3 and 5]."""
    nodes = spread(problem, m, stretch)
    if nodes is None:
        return Found(math.inf, None, math.inf, 0.0, False, None, None, 0, 0, "no node fits")
    lattice, step, delta = nodes.lattice, problem.lattice_step, problem.privacy.delta
    costs = nodes.gathered(audit.lattice_costs(nodes.points(step), problem.paid_loss)[1])
    middle = (best_point(problem) - nodes.anchor) / m
    strict = private_masses(problem, lattice, costs, middle)

    def enough(outcome: Outcome) -> bool:
        if not strict or not outcome.shortfall > delta:
            return False
        weight = (outcome.shortfall - delta) / (outcome.shortfall - strict[1])
        return weight * float(strict[0] @ costs) <= SETTLED * limits.gap * outcome.objective

    spare = min(AUDIT_ROOM, 1e-6 * delta)
    # Without a law to repair with, the solver's tolerance must be kept off δ: little at first, then generously.
    for reserve in (spare,) if strict else (TOLERANCE * delta + spare, TIGHTER * delta + spare):
        program = _program(problem, lattice, costs, delta - reserve, limits, middle, own=m == 1)
        outcome = solved(program, seed, limits, enough, coarsest=False)
        masses = lattice.unfold(outcome.masses)
        if problem.monotone:
            masses = _falling(masses, -lattice.first)
        if outcome.status == "infeasible" or not masses.sum() > 0:
            break
        masses = masses / math.fsum(masses)
        law, bound, shift, repaired = certified(problem, nodes, masses, strict)
        if law is not None:
            break
    else:
        law = None
    pairs, status, seed = outcome.pairs, outcome.status, seed_of(lattice, outcome)
    if outcome.status == "infeasible" or not masses.sum() > 0 or law is None:
        return Found(math.inf, None, math.inf, 0.0, False, seed, None, lattice.classes, pairs, status)
    kept = lattice.indices[masses > TINY * delta]
    used = (nodes.anchor + m * float(kept.min()), nodes.anchor + m * float(kept.max()))
    value = audit.lattice_loss_upper(law.masses, law.points, problem.loss)
    return Found(value, law, bound, shift, repaired, seed, used, lattice.classes, pairs, status)


def _falling(masses: Array, zero: int) -> Array:
    """The masses, lowered where the program's rounding lets them rise away from 0."""
    right, left = masses[zero:], masses[: zero + 1][::-1]
    return np.concatenate([np.minimum.accumulate(left)[:0:-1], np.minimum.accumulate(right)])


def certified(
    problem: NoiseProblem, nodes: Spread, masses: Array, strict: tuple[Array, float] | None
) -> tuple[LatticeNoise | None, float, float, bool]:
    """(law, its δ rounded up, worst shift, repaired): the masses, mixed with a strictly private law by as
    little as makes the audited δ at most the problem's."""
    delta, epsilon, weight, margin = problem.privacy.delta, problem.privacy.epsilon, 0.0, 1e-15
    for _ in range(24):
        mixed = (1 - weight) * masses + (weight * strict[0] if strict is not None and weight else 0.0)
        law = nodes.law(problem.lattice_step, mixed, problem.monotone)
        bound, shift = audit.shortfall_upper(law, epsilon, problem.sensitivity)
        if bound <= delta and keeps_shape(law, problem):
            return law, bound, shift, weight > 0
        if strict is None:
            break
        if not weight:
            excess = bound
        weight = laws.strict_share(excess, strict[1], delta * (1 - margin))
        margin = 8 * margin + 1e-16 / delta  # what the audit rounds up, and ever more
    return None, math.inf, 0.0, False


USABLE = 0.999
"""Share of δ that a law to repair with may use: with less to spare, too much of it would be needed."""


def private_masses(problem: NoiseProblem, lattice: Lattice, costs: Array, middle: float) -> tuple[Array, float] | None:
    """(masses, shortfall) of a law on the nodes with shortfall < δ, the one with the least cost per unit of slack in δ
    among the geometric law, a few staircases and the uniform law; None when the lattice is too narrow."""
    epsilon, delta = problem.privacy.epsilon, problem.privacy.delta
    centre = float(np.clip(round(middle), lattice.first, lattice.last))
    reach = 1.1 * problem.privacy.truncation() * lattice.k + lattice.k if delta else math.inf
    if not problem.folds and not problem.monotone:
        low, high = lattice.first + reach, lattice.last - reach
        centre = round(min(max(centre, low), high)) if low < high else round(0.5 * (lattice.first + lattice.last))
    kinds = [laws.geometric(lattice, epsilon, centre), np.full(len(lattice.indices), 1 / len(lattice.indices))]
    top = amplitude_gamma(epsilon)
    kinds += [
        laws.staircase(lattice, epsilon, centre, max(0.0, r) / lattice.k)
        for r in sorted({0, math.floor(top * lattice.k), lattice.k // 2})
    ]
    fitting = []
    for masses in kinds:
        shortfall = float(lattice.shortfalls(masses, problem.privacy.amplification).max())
        if shortfall <= USABLE * delta:
            fitting.append((float(masses @ costs) / (delta - shortfall), shortfall, masses))
    if not fitting:
        return None
    _, shortfall, masses = min(fitting, key=lambda law: law[:2])
    return masses, shortfall
