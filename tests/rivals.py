"""Private laws that may cost less than a lower bound says is possible.

How a law was found proves nothing and need not: the referee judges it. Searches are in floating point, the laws exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from exact_laws import Cells, DiscreteStaircase, Law, Points, Staircase
from exact_losses import ExactLoss, exp_bounds
from referee import Problem
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

TOTAL = 1 << 80
MOST_CELLS = 90


def rivals(problem: Problem, *, searches: int = 1) -> Iterator[Law]:
    """Laws for the problem, most of them valid: staircases, uniform noise with an atom, optima of small programs.

    searches : how many lattices to look at.
    """
    if problem.mu is not None or problem.releases > 1:
        return
    if problem.step is not None:
        if problem.support == (-math.inf, math.inf) and problem.epsilon:
            yield from _discrete_staircases(problem)
        if problem.delta:
            yield from _on_lattice(problem, 0)
        return
    if problem.support == (-math.inf, math.inf) and problem.epsilon:
        yield from _staircases(problem)
    if problem.delta:
        yield from _uniform(problem)
        for search in range(searches):
            yield from _on_lattice(problem, search)


# Closed forms ---------------------------------------------------------------------------------------------------


def _places(problem: Problem) -> list[Fraction]:
    """Where a law may be centred: 0, and for losses that are not even some places beside it."""
    if problem.symmetric or problem.monotone or problem.loss.even:
        return [Fraction(0)]
    D = problem.sensitivity
    near = [b for b in problem.loss.breaks if abs(b) <= 4 * D][:4]
    return [Fraction(0), *near, *(D * Fraction(i, 8) for i in (-12, -6, -3, -1, 1, 3, 6, 12))]


def _staircases(problem: Problem) -> Iterator[Law]:
    """The best widths of a staircase, among kinks of its cost and between them."""
    D = problem.sensitivity
    make = lambda gamma, place: Staircase(problem.epsilon, D, gamma, problem.delta, place)  # noqa: E731
    kinks = {abs(b) / D % 1 for b in problem.loss.breaks[:40]}
    known = 1 / (1 + Fraction(math.exp(float(problem.epsilon) / 2)))
    found = []
    for place in _places(problem):
        widths = sorted({*kinks, *(1 - k for k in kinks), Fraction(1), known, *(Fraction(i, 12) for i in range(12))})
        try:
            rough = [make(gamma, place).rough_cost(problem.loss) for gamma in widths]
        except OverflowError:
            return
        best = min(range(len(widths)), key=rough.__getitem__)
        found.append((rough[best], place, widths[best]))
        low, high = widths[max(best - 1, 0)], widths[min(best + 1, len(widths) - 1)]
        for _ in range(12):
            thirds = [low + (high - low) * Fraction(i, 3) for i in (1, 2)]
            costs = [make(gamma, place).rough_cost(problem.loss) for gamma in thirds]
            found += [(cost, place, gamma) for cost, gamma in zip(costs, thirds)]
            low, high = (low, thirds[1]) if costs[0] < costs[1] else (thirds[0], high)
    for _, place, gamma in sorted(found)[:2]:
        yield make(gamma, place)


def _discrete_staircases(problem: Problem) -> Iterator[Law]:
    """Every first step; the geometric law."""
    k = math.floor(problem.sensitivity / problem.step)
    laws = [DiscreteStaircase(problem.epsilon, rise, k, 0, problem.step) for rise in range(1, min(k, 24) + 1)]
    laws.append(DiscreteStaircase(problem.epsilon / k, 1, 1, 0, problem.step))
    if not problem.loss.even and not problem.symmetric and not problem.monotone:
        near = {round(b / problem.step) for b in problem.loss.breaks[:6]} | {-2, -1, 1, 2}
        laws += [DiscreteStaircase(problem.epsilon, law.rise, k, p, problem.step) for law in laws[:8] for p in near]
    try:
        yield from sorted(laws, key=lambda law: law.rough_cost(problem.loss))[:2]
    except OverflowError:
        return


def _uniform(problem: Problem) -> Iterator[Law]:
    """Uniform on a width W ≥ D about a middle, with an atom there: δ = a + (1 − a)·D/W."""
    D, delta, (lo, hi) = problem.sensitivity, problem.delta, problem.support
    for share in (0, 4, 8, 15):
        atom = delta * Fraction(share, 16)
        width = max((1 - atom) / (delta - atom), Fraction(1)) * D * (1 + Fraction(1, 10**15))
        if hi - lo < width:
            continue
        middle = min(max(Fraction(0), lo + width / 2), hi - width / 2)
        half = math.floor((1 - atom) * TOTAL) // 2
        yield Cells(width / 2, middle, (-1, 0, 1), (half, half), TOTAL, 0, TOTAL - 2 * half)


# Programs -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lattice:
    """n cells of a length, the first from `start` on, or with `points` n points, the first at `start`; shifts by
    1 … k of them are looked at.   place : of an atom."""

    unit: Fraction
    start: Fraction
    n: int
    k: int
    points: bool
    place: Fraction | None

    def at(self, i: int) -> Fraction:
        return self.start + self.unit * i

    def order(self) -> list[tuple[int, int]]:
        """(larger, smaller) neighbours of a monotone law, outwards on both sides."""
        between = [self.at(i) + self.unit / (2 if self.points else 1) for i in range(self.n - 1)]
        right = [(i, i + 1) for i, x in enumerate(between) if x > 0]
        return right + [(i + 1, i) for i, x in reversed(list(enumerate(between))) if x < 0]

    def costs(self, loss: ExactLoss) -> list[float]:
        """Values at points, means over cells."""
        if self.points:
            return [float(loss.value(self.at(i))[1]) for i in range(self.n)]
        return [float(loss.integral(self.at(i), self.at(i + 1))[1] / self.unit) for i in range(self.n)]

    def law(self, weights: list[int], atom: int) -> Law:
        if self.points:
            return Points(self.unit, int(self.start / self.unit), tuple(weights), sum(weights))
        place = 0 if self.place is None else 2 * (self.place - self.start) / self.unit
        breaks = tuple(range(0, 2 * self.n + 1, 2))
        return Cells(self.unit / 2, self.start, breaks, tuple(weights), sum(weights) + atom, int(place), atom)


def _lattice(problem: Problem, search: int) -> Lattice | None:
    """One of several lattices wide enough for truncated Laplace noise, inside the support; None for large ones."""
    D, (lo, hi) = problem.sensitivity, problem.support
    epsilon, delta = float(problem.epsilon), float(problem.delta)
    reach = math.log1p(math.expm1(epsilon) / (2 * delta)) / epsilon if epsilon else 1 / (2 * delta)
    reach = Fraction((1.25 if problem.step is None else 2.0) * reach + 0.5)
    if problem.step is not None:
        unit, anchor, k = problem.step, Fraction(0), math.floor(D / problem.step)
    else:
        k = max(1, min((8, 5, 7, 3)[search % 4], math.floor(MOST_CELLS / (2 * reach))))
        unit = D / k
        jumps = [abs(b) for b in problem.loss.breaks if b and abs(b) < reach * D]
        if search % 3 == 2 and jumps:  # a cell's end at a break of the loss
            unit = jumps[0] / max(1, round(jumps[0] / unit))
            k = math.ceil(D / unit)
        limits = [end for end in (lo, hi) if abs(end) < math.inf]
        anchor = min(limits, key=abs) if limits else Fraction(0) if search % 2 else unit / 2
        if problem.symmetric or (problem.monotone and limits):
            anchor = Fraction(0)
    count = math.ceil(2 * reach * D / unit)
    if max(count * k, count) > 12 * MOST_CELLS:
        return None
    near = min(max(Fraction(0), lo), hi)
    least = -math.inf if lo == -math.inf else math.ceil((lo - anchor) / unit)
    most = math.inf if hi == math.inf else math.floor((hi - anchor) / unit)
    first = max(least, math.floor((near - anchor) / unit) - count // 2 - 1)
    last = min(most, first + count + 2)
    first = max(least, last - count - 2)
    if problem.symmetric or (problem.loss.even and lo == -hi):  # cells or points i and −i
        last = min(last, -first - (anchor != 0 and not problem.step))
        first = -last - (anchor != 0 and not problem.step)
    points = problem.step is not None
    n = last - first + points
    place = None if points else _atom(problem, unit / 2, anchor)
    return Lattice(unit, anchor + unit * first, n, k, points, place) if n >= 2 else None


def _atom(problem: Problem, unit: Fraction, anchor: Fraction) -> Fraction | None:
    """Where an atom costs least, if it can lie on the lattice."""
    lo, hi = problem.support
    centred = problem.symmetric or problem.monotone
    places = [x for x in (Fraction(0), *(() if centred else (lo, hi, *problem.loss.breaks))) if lo <= x <= hi]
    finite = [x for x in places if abs(x) < math.inf]
    for x in sorted(finite, key=lambda x: (problem.loss.value(x)[1], abs(x))):
        if ((x - anchor) / unit).denominator == 1:
            return x
    return None


def _on_lattice(problem: Problem, search: int) -> Iterator[Law]:
    """The optimum on a small lattice, made a little too private so that rounding does no harm."""
    lattice = _lattice(problem, search)
    found = None if lattice is None else _optimum(problem, lattice)
    if found is None:
        return
    masses, atom = found
    weights = [math.floor(Fraction(max(m, 0.0)) * TOTAL) for m in masses]
    if problem.symmetric:
        weights = [min(a, b) for a, b in zip(weights, weights[::-1])]
    if problem.monotone:
        for larger, smaller in lattice.order():
            weights[smaller] = min(weights[smaller], weights[larger])
    if any(weights):
        yield lattice.law(weights, math.floor(Fraction(max(atom, 0.0)) * TOTAL))


def _optimum(problem: Problem, lattice: Lattice) -> tuple[np.ndarray, float] | None:
    """(masses, atom) of the least cost under all pairs, each a little tighter; None if there is none.

    Unknowns: masses, the atom's, and one slack for every shift and cell, (r_i − E r_(i − j))₊.
    """
    n, k, costs = lattice.n, min(lattice.k, lattice.n), lattice.costs(problem.loss)
    atom = lattice.place is not None
    shifts = [*range(1, k + 1), *range(-k, 0)]
    entries, limits, unknowns = [], [], n + atom

    def row(terms: list[tuple[int, float]], limit: float) -> None:
        entries.extend((len(limits), column, value) for column, value in terms)
        limits.append(limit)

    for epsilon, delta in problem.pairs:
        E = float(exp_bounds(epsilon)[0]) * (1 - 1e-8 if epsilon else 1)
        for j in shifts:
            slacks = range(unknowns, unknowns := unknowns + n)
            for i, slack in enumerate(slacks):
                row([(i, 1.0), (slack, -1.0)] + ([(i - j, -E)] if 0 <= i - j < n else []), 0.0)
            row([(slack, 1.0) for slack in slacks] + [(n, 1.0)] * atom, float(delta) * (1 - 1e-7))
    if problem.budget is not None:
        loss, most = problem.budget
        at_atom = [(n, float(loss.value(lattice.place)[1]))] if atom else []
        row([*enumerate(lattice.costs(loss)), *at_atom], float(most) * (1 - 1e-7))
    for larger, smaller in lattice.order() if problem.monotone else ():
        row([(smaller, 1.0), (larger, -1.0)], 0.0)
    if problem.symmetric:
        for i in range(n // 2):
            row([(i, 1.0), (n - 1 - i, -1.0)], 0.0)
            row([(i, -1.0), (n - 1 - i, 1.0)], 0.0)
    objective = np.zeros(unknowns)
    objective[:n] = costs
    objective[n : n + atom] = [float(problem.loss.value(lattice.place)[1])] if atom else []
    r, c, v = zip(*entries)
    A = coo_matrix((v, (r, c)), shape=(len(limits), unknowns)).tocsr()
    law = np.zeros((1, unknowns))
    law[0, : n + atom] = 1
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-9, "time_limit": 2.0}
    scale = max(objective.max(), 1e-300)
    found = linprog(objective / scale, A_ub=A, b_ub=limits, A_eq=law, b_eq=[1.0], method="highs", options=options)
    return (found.x[:n], float(found.x[n]) if atom else 0.0) if found.status == 0 else None
