"""One step of the search: a lattice, its program, and the audited bound that comes out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .. import audit
from ..loss import Loss
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import amplitude_gamma
from ..privacy import Privacy
from ..problem import NoiseProblem
from . import laws
from .lattice import Array, Ints, Lattice
from .program import BudgetRow, LatticeProgram, Outcome, Seed

LEAST_DELTA = 1e-9
"""Programs for lower bounds use at least this δ: their multipliers are valid for every smaller one [Thm 6]."""

TINY = 1e-11
"""Rates and masses below this share of the largest do not count when the next window is chosen."""


@dataclass(frozen=True)
class Window:
    """The stretch [left, right] of the line that a program looks at; with `reach`, only events within so much of a
    whole number of sensitivities. All in sensitivities."""

    left: float
    right: float
    reach: float | None = None

    def scaled(self, factor: float) -> Window:
        """The window, longer by a factor about its middle."""
        middle, half = 0.5 * (self.left + self.right), 0.5 * factor * (self.right - self.left)
        return Window(middle - half, middle + half)

    def within(self, other: Window) -> Window:
        """The part inside another window."""
        return replace(self, left=max(self.left, other.left), right=min(self.right, other.right))


@dataclass(frozen=True)
class Proof:
    """Multipliers on a lattice: a lower bound for every (ε, δ), good near the one it was made for [Thm 6].

    second : (shifts, events, weights) of a second (ε, δ).   budget : (μ, node values of the second loss, most).
    """

    costs: Array
    first: int
    shifts: Ints
    events: Ints
    weights: Array
    monotone: Array | None
    mirrored: bool
    second: tuple[Ints, Ints, Array] | None = None
    budget: tuple[float, Array, float] | None = None

    def lower(self, privacy: Privacy, second: Privacy | None = None) -> float:
        """The bound at (ε, δ) and a second (ε, δ), from the audit; multipliers of a second one not asked for are left
        out."""
        both = second is not None and self.second is not None
        return audit.multiplier_bound_lower(
            self.costs,
            self.first,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            shifts=self.shifts,
            events=self.events,
            weights=self.weights,
            monotone=self.monotone,
            mirrored=self.mirrored,
            second=(second.epsilon, second.delta, *self.second) if both else None,
            budget=self.budget,
        )


@dataclass(frozen=True)
class Step:
    """What a step found. `window`, `seed`: for the next step of the same kind; `proof`: of a lower bound."""

    k: int
    edge: int
    bound: float
    noise: PiecewiseNoise | None
    delta_upper: float
    worst_shift: float
    repaired: bool
    seed: Seed | None
    window: Window
    cells: int
    pairs: int
    status: str
    proof: Proof | None = None


Stop = Callable[[], bool]


def _origin(problem: NoiseProblem) -> float:
    """Where lattices start, in the query's unit: at an end of the support, else at the loss's minimiser, where its kink
    and the atom are (for mirror images and for monotone laws always at 0)."""
    lo, hi = problem.support
    if problem.folds or problem.monotone:
        return 0.0
    return lo if math.isfinite(lo) else hi if math.isfinite(hi) else problem.loss.minimiser()[0]


def _reference(problem: NoiseProblem, x: Array) -> Array:
    """A density of about the optimum's shape, for scaling; x in sensitivities."""
    best = problem.paid_loss.minimiser(*problem.support)[0] / problem.sensitivity
    return np.exp(-problem.privacy.epsilon * np.abs(x - best) * (1.0 if problem.folds else 0.5))


# Lower bounds ----------------------------------------------------------------------------------------


def lower_step(
    problem: NoiseProblem,
    k: int,
    window: Window,
    seed: Seed | None,
    scale: float,
    gap: float,
    deadline: float,
    stop: Stop,
) -> Step:
    """A lower bound from a lattice of k per sensitivity.

    Continuous losses (and monotone laws): stochastic rounding to nodes, node values below the loss (Thm 2).
    A loss with jumps: rounding to cells, infima over open cells [SLW, D(β)]; the atoms of a law, which might sit on a
    cell's end, may be thought moved to the minimiser at no cost of privacy (Thm 1), which with a second loss needs
    both to be least there.
    """
    loss, D = problem.paid_loss, problem.sensitivity
    alike = problem.budget is None or all(c.grows_from_zero for c in problem.paid_losses)
    edge = int(not loss.continuous and not problem.monotone and alike)
    lattice, origin = _rounding_lattice(problem, k, edge, window)
    left = origin + lattice.indices * (D / k)
    touch = _touch(problem, lattice, origin, seed)
    costs, *second_costs = (_rounded_costs(c, problem, lattice, origin, touch) for c in problem.paid_losses)
    delta = max(problem.privacy.delta, LEAST_DELTA)
    budget = None
    if problem.budget is not None:
        budget = BudgetRow(second_costs[0][lattice.representatives], problem.budget.most)
    program = LatticeProgram(
        lattice,
        costs[lattice.representatives],
        problem.privacy.amplification,
        delta,
        scale,
        _reference(problem, left / D),
        monotone=problem.monotone,
        open_left=lattice.event_first > lattice.first,
        open_right=lattice.event_last < lattice.last,
        second=_second_limit(problem),
        budget=budget,
    )
    program.start(seed, deadline)
    limits = [delta] if problem.second is None else [delta, max(problem.second.delta, LEAST_DELTA)]

    def enough(outcome: Outcome) -> bool:
        slack = sum(
            rates.sum() * max(shortfall - limit, 0.0)
            for rates, shortfall, limit in zip(outcome.rates, outcome.shortfalls, limits)
        )
        return 0 < slack <= 0.01 * gap * outcome.objective

    outcome = program.solve(deadline, stop, enough=enough)
    shifts, events, weights = program.multipliers(outcome)
    order = program.order_multipliers(outcome) if problem.monotone else None
    second = None if problem.second is None else program.multipliers(outcome, level=1)
    spend = None if budget is None else (outcome.budget_rate, second_costs[0], budget.most)
    proof = Proof(costs, lattice.first, shifts, events, weights, order, lattice.folded, second, spend)
    bound = proof.lower(*problem.privacies)
    bound = max(bound, loss.infimum(*problem.support))
    if second is not None:
        events, weights = np.concatenate([events, second[1]]), np.concatenate([weights, second[2]])
    used = events[weights > TINY * weights.max(initial=0.0)] / k + origin / D
    return Step(
        k,
        edge,
        bound,
        None,
        0.0,
        0.0,
        False,
        _seed(lattice, outcome),
        _grown(window, used, problem.folds),
        lattice.classes,
        outcome.pairs,
        outcome.status,
        proof,
    )


def _rounding_lattice(problem: NoiseProblem, k: int, edge: int, window: Window) -> tuple[Lattice, float]:
    """Nodes origin + i·D/k (edge 0) or cells to their right (edge 1): events over the window, the lattice one
    sensitivity further. Where the support ends before that, its end, rounded outwards, ends the lattice and the events.
    """
    D, origin = problem.sensitivity, _origin(problem)
    event_first = math.floor((window.left - origin / D) * k)
    event_last = math.ceil((window.right - origin / D) * k) - edge
    if problem.folds:
        event_first = -event_last - edge
    first, last = event_first - k, event_last + k
    lo, hi = (_position(end, origin, D, k) for end in problem.support)
    if first <= lo:
        first = event_first = math.floor(lo)
    if last >= hi - edge:
        last = event_last = math.ceil(hi) - edge
    reach = None if window.reach is None else max(1, math.ceil(window.reach * k))
    return Lattice(k, first, last, event_first, event_last, problem.folds, edge, reach), origin


def _second_limit(problem: NoiseProblem) -> tuple[float, float] | None:
    """(e^ε, δ) of the second pair for a program."""
    second = problem.second
    return None if second is None else (second.amplification, max(second.delta, LEAST_DELTA))


def _touch(problem: NoiseProblem, lattice: Lattice, origin: float, seed: Seed | None) -> Array:
    """Where in each cell a tangent to the loss touches it: in the middle, but next to the minimum nearer to it the more
    mass gathers there, for a node with an atom should not pay for its neighbours [Thm 2]."""
    touch = np.full(len(lattice.indices) - 1, 0.5)
    if seed is None or lattice.k > 4 * seed.k:
        return touch
    least = (problem.paid_loss.minimiser(*problem.support)[0] - origin) / problem.sensitivity
    below, there, above = seed.density(least + np.array([-1, 0, 1]) / seed.k)
    beside = 0.5 * (below + above)
    node, each = max(there - beside, 0.0) / seed.k + beside / lattice.k, beside / lattice.k
    share = 2 * each / (node + 2 * each) if node > 0 else 0.5
    at = round(least * lattice.k) - lattice.first
    touch[max(at - 1, 0) : at], touch[at : at + 1] = 1 - min(share, 0.5), min(share, 0.5)
    return touch


def _rounded_costs(loss: Loss, problem: NoiseProblem, lattice: Lattice, origin: float, touch: Array) -> Array:
    """What a law rounded to the lattice pays at least: node values, or infima over cells; at the end nodes the infimum
    of what lies beyond, for the line goes on there."""
    left = origin + lattice.indices * (problem.sensitivity / lattice.k)
    costs = _cell_infima(loss, problem, lattice, origin) if lattice.edge else loss.nodes(left, touch)
    if lattice.event_first > lattice.first:
        costs[0] = min(costs[0], loss.infimum(-math.inf, float(left[0])))
    if lattice.event_last < lattice.last:
        costs[-1] = min(costs[-1], loss.infimum(float(left[-1]), math.inf))
    return costs


def _cell_infima(loss: Loss, problem: NoiseProblem, lattice: Lattice, origin: float) -> Array:
    """Infimum of the loss over every open cell, rounded down. Which cells a piece meets is decided exactly."""
    D, k = problem.sensitivity, lattice.k
    left = origin + lattice.indices * (D / k)
    out = np.full(len(left), np.inf)
    for piece in loss.pieces:
        lo, hi = (_position(x, origin, D, k) for x in (piece.lo, piece.hi))
        start = 0 if math.isinf(lo) else max(0, math.floor(lo) - lattice.first)
        end = len(left) if math.isinf(hi) else min(len(left), math.ceil(hi) - lattice.first)
        if start < end:
            a = np.clip(left[start:end], piece.lo, piece.hi)
            b = np.clip(left[start:end] + D / k, piece.lo, piece.hi)
            out[start:end] = np.minimum(out[start:end], np.minimum(piece.value(a), piece.value(b)))
    # The atoms are thought at the minimiser; if that is an end of the support, the open cell next to it may miss it.
    lo, hi = problem.support
    if math.isfinite(lo):
        out[0] = min(out[0], float(loss.value(lo)))
    if math.isfinite(hi):
        out[-1] = min(out[-1], float(loss.value(hi)))
    return out - loss.rounding(left, left + D / k)


def _position(x: float, origin: float, sensitivity: float, k: int) -> Fraction | float:
    """(x − origin)·k/sensitivity, exactly."""
    return x if math.isinf(x) else (Fraction(x) - Fraction(origin)) * k / Fraction(sensitivity)


def _grown(window: Window, used: Array, folded: bool) -> Window:
    """The window of events, longer by half on a side where the multipliers reach its end [Thm 2]."""
    near = 0.03 * (window.right - window.left)
    left = used.size and used.min() < window.left + near
    right = used.size and used.max() > window.right - near
    if folded:
        left = right = left or right
    return replace(window, left=window.left * (1.5 if left else 1.0), right=window.right * (1.5 if right else 1.0))


def _seed(lattice: Lattice, outcome: Outcome) -> Seed:
    """The density of an outcome, in sensitivities from the origin of its lattice, and its active shifts."""
    density = np.concatenate([[0.0], lattice.unfold(outcome.masses) * lattice.k, [0.0]])

    def at(x: Array) -> Array:
        index = np.floor(x * lattice.k + 0.5 * (1 - lattice.edge) + 1e-9).astype(int) - lattice.first
        return density[np.clip(index + 1, 0, len(density) - 1)]

    used = outcome.rates > TINY * outcome.rates.max(initial=0.0)
    active = tuple(np.unique(np.abs(lattice.shifts[mine])) / lattice.k for mine in used)
    return Seed(at, active, lattice.k)


# Upper bounds ----------------------------------------------------------------------------------------


def upper_step(
    problem: NoiseProblem,
    k: int,
    edge: int,
    window: Window,
    seed: Seed | None,
    scale: float,
    gap: float,
    deadline: float,
    stop: Stop,
) -> Step:
    """A law constant on cells, k per sensitivity, with an atom (Thm 1), audited and repaired.

    edge : 0 centres a cell at the origin, 1 puts a cell edge there.   `bound` is infinite when no law came out.
    """
    cells = _cell_lattice(problem, k, edge, window)
    if cells is None:
        return Step(k, edge, math.inf, None, math.inf, 0.0, False, seed, window, 0, 0, "no cell fits")
    lattice, left, origin = cells
    loss, D, privacy = problem.paid_loss, problem.sensitivity, problem.privacy
    means = np.maximum(loss.mean(left, left + D / k), 0.0)
    atom_x = 0.0 if problem.symmetric or problem.monotone else loss.minimiser(*problem.support)[0]
    spending = _spending(problem, left, left + D / k, atom_x)
    reference = _reference(problem, (left + 0.5 * D / k) / D)

    def program_for(objective: Array, at_atom: float, tight: float, budget: BudgetRow | None) -> LatticeProgram:
        second = _second_limit(problem)
        return LatticeProgram(
            lattice,
            objective[lattice.representatives],
            privacy.amplification,
            privacy.delta * tight,
            scale,
            reference,
            atom_cost=at_atom,
            monotone=problem.monotone,
            second=None if second is None else (second[0], second[1] * tight),
            budget=budget,
        )

    repair = laws.private_masses(lattice, problem, means, origin / D, spending)
    if repair is None and spending is not None:
        program = program_for(spending.means, spending.at_atom, 0.99, None)
        program.start(seed, deadline)
        repair = _thrifty(program.solve(deadline, stop, enough=lambda _: False), lattice, means, problem, spending)
    tight = 1.0 if repair else 1 - 1e-6
    budget = None
    if spending is not None:
        most = spending.most * (1.0 if repair else 1 - 1e-6)
        budget = BudgetRow(spending.means[lattice.representatives], most, spending.at_atom)
    program = program_for(means, float(loss.value(atom_x)), tight, budget)
    program.start(seed, deadline)
    span = repair.cost if repair else math.inf

    def enough(outcome: Outcome) -> bool:
        strict = repair.shortfalls if repair else [p.delta * tight for p in problem.privacies]
        weight = max(
            max(0.0, shortfall - p.delta * tight) / max(shortfall - least, 1e-300)
            for shortfall, p, least in zip(outcome.shortfalls, problem.privacies, strict)
        )
        return weight * max(span - outcome.objective, 0.0) <= 0.01 * gap * outcome.objective

    outcome = program.solve(deadline, stop, enough=enough)
    noise, delta_upper, worst_shift, repaired = None, math.inf, 0.0, False
    if outcome.status == "optimal":
        noise, delta_upper, worst_shift, repaired = _certified(
            problem, lattice, outcome, repair, atom_x, origin, spending
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
        _seed(lattice, outcome),
        _fitted(window, lattice, outcome, problem, origin / D),
        len(means),
        outcome.pairs,
        outcome.status,
    )


def _spending(problem: NoiseProblem, left: Array, right: Array, atom_x: float) -> laws.Spending | None:
    """The budget on cells with these ends."""
    if problem.budget is None:
        return None
    loss = problem.budget_loss
    means = np.maximum(loss.mean(left, right), 0.0)
    return laws.Spending(means, float(loss.value(atom_x)), problem.budget.most)


def _fitted(window: Window, lattice: Lattice, outcome: Outcome, problem: NoiseProblem, origin: float) -> Window:
    """The stretch that carries all but 1e-6 δ of the mass, with a margin; a side whose last half sensitivity carries
    more than 1e-3 δ was cut too short and gets one sensitivity more."""
    masses, delta = lattice.unfold(outcome.masses), problem.privacy.delta
    x = (lattice.indices + 0.5 * lattice.edge) / lattice.k + origin
    below, above = np.cumsum(masses), np.cumsum(masses[::-1])[::-1]
    kept = x[(below > 1e-6 * delta) & (above > 1e-6 * delta)]
    if not kept.size:
        return window
    edge = max(1, lattice.k // 2)
    margin = min(0.5, 4 * amplitude_gamma(problem.privacy.epsilon)) + 0.5 / lattice.k
    left = window.left - 1 if masses[:edge].sum() > 1e-3 * delta else max(kept[0] - margin, window.left)
    right = window.right + 1 if masses[-edge:].sum() > 1e-3 * delta else min(kept[-1] + margin, window.right)
    if problem.folds:
        right = max(-left, right)
        left = -right
    return Window(float(left), float(right))


def _cell_lattice(problem: NoiseProblem, k: int, edge: int, window: Window) -> tuple[Lattice, Array, float] | None:
    """Cells of width D/k over the window, inside the support, their left ends and the origin; None when the support
    holds no such cell."""
    D, origin = problem.sensitivity, _origin(problem)
    half = Fraction(1 - edge, 2)
    lo, hi = (_position(end, origin, D, k) for end in problem.support)
    first = math.floor((window.left - origin / D) * k + 0.5 * (1 - edge))
    last = math.ceil((window.right - origin / D) * k + 0.5 * (1 - edge)) - 1
    if math.isfinite(lo):
        first = max(first, math.ceil(lo + half))
    if math.isfinite(hi):
        last = min(last, math.floor(hi + half) - 1)
    if problem.folds:
        last = min(last, -first - edge)
        first = -last - edge
    if last < first:
        return None
    lattice = Lattice(k, first, last, first, last, problem.folds, edge)
    return lattice, origin + (lattice.indices - 0.5 * (1 - edge)) * (D / k), origin


def _certified(
    problem: NoiseProblem,
    lattice: Lattice,
    outcome: Outcome,
    repair: laws.StrictLaw | None,
    atom_x: float,
    origin: float,
    spending: laws.Spending | None,
) -> tuple[PiecewiseNoise | None, float, float, bool]:
    """(noise, its δ rounded up, worst shift, repaired): the program's law, mixed with a strictly private one by as
    little as makes the audited δ at most the problem's [Thms 3 and 5], and so with a second pair and a budget."""
    delta, k = min(p.delta for p in problem.privacies), lattice.k
    masses = lattice.unfold(outcome.masses)
    if spending is not None and spending.most == 0:
        masses = np.where(spending.means > 0, 0.0, masses)
    total = math.fsum(masses) + outcome.atom
    masses, atom = masses / total, outcome.atom / total
    fine = 1 if math.isclose(atom_x, origin, abs_tol=0.0) else 1 << 20
    resolution = 2 * k * fine
    unit = problem.sensitivity / resolution
    atom_unit = round((atom_x - origin) / unit)
    atom_unit += (origin + atom_unit * unit < problem.support[0]) - (origin + atom_unit * unit > problem.support[1])
    breaks = (2 * np.arange(lattice.first, lattice.last + 2) - (1 - lattice.edge)) * fine
    figures = [(h / total, p.delta, 1e-15 / p.delta) for h, p in zip(outcome.shortfalls, problem.privacies)]
    strict = repair.shortfalls if repair is not None else ()
    if spending is not None:
        figures.append((float(masses @ spending.means) + atom * spending.at_atom, spending.most, 1e-14))
        strict = (*strict, repair.spent) if repair is not None else ()
    dust = 1e-13 * delta / problem.privacy.amplification
    for attempt in range(24):
        weight = 0.0
        if repair is not None and attempt:
            room = 8.0 ** (attempt - 1)
            weight = max(
                (value - limit * (1 - margin * room)) / (value - least)
                if value > max(limit * (1 - margin * room), least)
                else 0.0
                for (value, limit, margin), least in zip(figures, strict)
            )
            weight = min(weight, 1.0)
        mixed = (1 - weight) * masses + (weight * repair.masses if weight else 0.0)
        mixed_atom = (1 - weight) * atom + (weight * repair.atom if weight else 0.0)
        mixed[mixed < dust] = 0.0
        noise = PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity,
            resolution=resolution,
            breaks=breaks,
            masses=mixed,
            atom=mixed_atom,
            atom_unit=atom_unit,
            origin=origin,
        )
        delta_upper, worst_shift = audit.shortfall_upper(noise, problem.privacy.epsilon)
        if delta_upper <= problem.privacy.delta and meets_extras(problem, noise):
            return noise, delta_upper, worst_shift, weight > 0
        if repair is None:
            return None, math.inf, 0.0, False
    return None, math.inf, 0.0, False


def meets_extras(problem: NoiseProblem, noise: PiecewiseNoise) -> bool:
    """The law satisfies the second pair and the budget, as far as the problem has them, by the audit's upper bounds."""
    second, budget = problem.second, problem.budget
    if second is not None and audit.shortfall_upper(noise, second.epsilon)[0] > second.delta:
        return False
    return budget is None or audit.loss_upper(noise, budget.loss) <= budget.most


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
