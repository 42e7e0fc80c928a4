"""Noise for several private limits at once: laws whose privacy loss grows in proportion to the shift.

Let the private limits be multiples of a step, with k steps to the sensitivity. A law p of whole numbers of steps is
*shift-proportional* if for every j = ±1 … ±k

    Σ_i (p_i − e^{ε|j|/k} p_{i−j})₊ ≤ δ|j|/k.

Independent draws of such a law, one for each limit, are together (ε, δ)-DP for any number of limits: shifts j_1, j_2, …
with Σ|j_t| ≤ k cost (ε|j_t|/k, δ|j_t|/k) each, and basic composition adds them up [private_optimisation: Thm 2]. The
one of least mean on i ≤ 0 is the optimum of a linear program in p and slacks s_{j,i} ≥ p_i − e^{ε|j|/k} p_{i−j}, which
enter when they are violated.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..loss import UNIT
from ..noise.lattice import LatticeNoise
from ..noise.whole import TOTAL
from ..rows.program import KEEP, PrivacyProgram, Rows, Uncovered
from ..rows.referee import Brackets

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_STEPS = 64
"""Most steps to the sensitivity."""

SMALL = 3000
"""Programs of no more pairs than this are not grown."""

MOST_POINTS = 20_000
"""Longest support looked at, in steps."""


@dataclass(frozen=True)
class ProportionalLaw:
    """A certified shift-proportional law on i ≤ 0.

    noise : in the limits' unit.   lower, upper : no such law has −E X below `lower`; this one has at most `upper`.
    usage : largest share of a shift's δ|j|/k that is used, rounded up; at most 1.
    """

    noise: LatticeNoise
    lower: float
    upper: float
    usage: float
    repaired: bool


# The referee --------------------------------------------------------------------------------------------


def _factors(epsilon: float, k: int) -> tuple[Array, Array]:
    """(lower, upper) bounds of e^{εj/k}, j = 1 … k. The exponent is two roundings off, `exp` less than one unit."""
    exponent = epsilon * np.arange(1, k + 1) / k
    middle, slack = np.exp(exponent), (4 + 4 * exponent) * UNIT
    return middle * (1 - slack), middle * (1 + slack)


def usage_upper(masses: Array, epsilon: float, delta: float, k: int) -> float:
    """The largest Σ_i (p_i − e^{ε|j|/k} p_{i−j})₊ / (δ|j|/k) over 0 < |j| ≤ k, rounded up: a law with these masses
    (each within a relative u) is shift-proportional if this is at most 1.

    A term errs by at most 8u·p_i (mass, product, difference) where it can be positive; the sums are exact.
    """
    low, n, worst = _factors(epsilon, k)[0], len(masses), 0.0
    padded = np.concatenate([np.zeros(k), masses, np.zeros(k)])
    for j in range(1, k + 1):
        allowed = delta * j / k * (1 - 4 * UNIT)
        for sign in (1, -1):
            there = low[j - 1] * padded[k - sign * j : k - sign * j + n]
            close = masses * (1 + 8 * UNIT) > there
            terms = np.maximum(masses[close] - there[close], 0.0) + 8 * UNIT * masses[close]
            worst = max(worst, math.fsum(terms) / allowed)
    return worst * (1 + 8 * UNIT)


def mean_lower(n: int, epsilon: float, delta: float, k: int, shifts: Ints, points: Ints, weights: Array) -> float:
    """A lower bound of −E X in steps for every shift-proportional law on i ≤ 0, valid for *any* weights ≥ 0.

    weights[t] multiplies max(0, p_i − e^{ε|j|/k} p_{i−j}) with i = −points[t], j = shifts[t], all points ≤ n. A law may
    be thought cut at −n − k, its tail moved there: terms at i ≥ −n then only shrink and the mean does not grow. Hence
    −E X ≥ min_i D_i − Σ_j δ|j|/k · max_i y_{j,i}, D_i = |i| + Σ_j y_{j,i} − Σ_j e^{ε|j|/k} y_{j,i+j}, i from −n − k to
    0.
    """
    factors, shares = _factors(epsilon, k)[1][np.abs(shifts) - 1], np.abs(shifts) / k
    brackets = Brackets.of(np.arange(n + k + 1, dtype=float))
    return brackets.with_terms(points, points + shifts, factors, weights, shifts, delta, shares).lower()


# The program --------------------------------------------------------------------------------------------


class _Program:
    """Masses at 0, −1, …, −n, in units of a reference law; slacks enter where a solution violates them. The last k
    points have no slacks: they stand for all beyond, which the lower bound needs, and are empty at an optimum."""

    def __init__(self, epsilon: float, delta: float, k: int, reference: Array, scale: float) -> None:
        self.k, self.n, self.scale = k, len(reference) - 1, scale
        rho = np.maximum(reference, 0.1 * reference.max())
        rho /= rho.sum()
        self.shifts = np.concatenate([np.arange(1, k + 1), -np.arange(1, k + 1)])
        self.factor = np.exp(epsilon * np.abs(self.shifts) / k)
        self.allowed = delta * np.abs(self.shifts) / k
        self.rows = PrivacyProgram(self._rows_of, self.allowed, rho, tolerance=1e-10)
        self.rows.lp.add_rows(1.0, 1.0, starts=[0], columns=[], values=[])
        points = np.arange(self.n + 1)
        self.rows.lp.add_columns(rho * points / scale, starts=points, rows=np.zeros(self.n + 1), values=rho)
        self.events = np.arange(self.n - k + 1)
        self._bare = [self.events[self.events + j < 0] for j in self.shifts.tolist()]
        columns, names = np.concatenate(self._bare), np.arange(2 * k)
        owners = np.repeat(names, [len(bare) for bare in self._bare])
        self.rows.add_limits(names, self.allowed, Uncovered(owners, columns, np.ones(len(columns))))

    def _rows_of(self, names: Ints) -> Rows:
        """Terms are named by their shift, as a position in `shifts`, and their point, as a distance from 0."""
        (shift, point), count = np.divmod(names, self.n + 1), np.arange(len(names))
        columns = np.stack([point, point + self.shifts[shift]], axis=1)
        values = np.stack([np.ones(len(names)), -self.factor[shift]], axis=1)
        return Rows(2 * count, columns.ravel(), values.ravel(), self.rows.scaling[point], count, shift)

    def outward(self) -> None:
        """Slacks for the pairs that lead away from the middle, where most of those that bind are: at all shifts in
        small programs, else at shifts by one step and by the sensitivity."""
        small = 2 * self.k * self.n <= SMALL
        groups = []
        for t in range(2 * self.k) if small else {0, self.k - 1, self.k, 2 * self.k - 1}:
            j = int(self.shifts[t])
            chosen = self.events[(self.events + j >= 0) & ((self.events - 0.5 * self.events[-1]) * j <= 0)]
            groups.append(t * (self.n + 1) + chosen)
        self.rows.add_terms(*groups)

    def add_violated(self, masses: Array) -> int:
        """Slacks for the terms of the shifts that use more than they are allowed, small ones only if there is nothing
        else; how many are new."""
        padded = np.concatenate([np.zeros(self.k), masses, np.zeros(self.k)])
        for share in (KEEP, 0.0):
            groups = []
            for t, j in enumerate(self.shifts.tolist()):
                excess = (masses - self.factor[t] * padded[self.k + j : self.k + j + self.n + 1])[: len(self.events)]
                positive = np.flatnonzero(excess > 0)
                if excess[positive].sum() > self.allowed[t] * (1 + 1e-9):
                    inner = positive[positive + j >= 0]
                    inner = inner[excess[inner] > share * excess[inner].max(initial=0.0)]
                    groups.append(t * (self.n + 1) + inner)
            if added := self.rows.add_terms(*groups):
                break
        return added

    def usage(self, masses: Array) -> float:
        """About the largest share of what a shift is allowed."""
        padded = np.concatenate([np.zeros(self.k), masses, np.zeros(self.k)])
        excess = [masses - f * padded[self.k + j :][: self.n + 1] for f, j in zip(self.factor, self.shifts.tolist())]
        return float((np.maximum(excess, 0.0).sum(axis=1) / self.allowed).max())

    def masses(self) -> Array:
        """(n + 1,) the masses of the last solution, normalised."""
        out = self.rows.solution()
        return out / math.fsum(out)

    def multipliers(self) -> tuple[Ints, Ints, Array]:
        """(shifts, points, weights) for `mean_lower`."""
        rates, most = self.rows.multipliers(self.rows.lp.row_duals(), self.scale)
        shift, point = np.divmod(self.rows.names, self.n + 1)
        pairs = np.minimum(most, rates[shift])
        shifts, points, weights = [self.shifts[shift]], [point], [pairs]
        for t in np.flatnonzero(rates > 0).tolist():
            shifts.append(np.full(len(self._bare[t]), self.shifts[t]))
            points.append(self._bare[t])
            weights.append(np.full(len(self._bare[t]), rates[t]))
        return np.concatenate(shifts), np.concatenate(points), np.concatenate(weights)


def truncated_geometric(epsilon: float, delta: float, k: int) -> Array:
    """(n + 1,) the masses ∝ e^{−ε|i − n/2|/k} at 0 … n, n = `truncation_steps`: a shift-proportional law (see
    there). None is smaller than a unit of the weights."""
    n = truncation_steps(epsilon, delta, k)
    masses = np.exp(-epsilon / k * np.abs(np.arange(n + 1) - 0.5 * n))
    # A point that rounding drops from an end uncovers the k points behind it, e^ε times as heavy.
    raised: Array = np.maximum(masses / math.fsum(masses), 1 / TOTAL)
    return raised


def truncation_steps(epsilon: float, delta: float, k: int) -> int:
    """The least n ≥ (2k/ε) ln(1 + (e^ε − 1)/(2δ)) − 1: then the last k points of the truncated geometric law on n + 1
    points weigh at most δ ≤ ½. So it is shift-proportional: the mass of the last j points is convex in j ≤ k, so at
    most δj/k, and elsewhere masses j apart have a ratio of at most e^{εj/k} [private_optimisation: Thm 3]."""
    length = 2 * k / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta)) * (1 + 1e-14)
    return math.ceil(length) - 1


def optimal_law(
    epsilon: float,
    delta: float,
    k: int,
    step: float = 1.0,
    *,
    gap: float = 1e-6,
    time_limit: float = 20.0,
    stop: Callable[[], bool] = lambda: False,
) -> ProportionalLaw:
    """The shift-proportional law on i ≤ 0 of least −E X, bracketed; stopping early only widens the bracket.

    Raises
    ------
    InputError : more than `MOST_STEPS` steps to the sensitivity, or a support of more than `MOST_POINTS` steps.
    """
    if k > MOST_STEPS:
        raise InputError("granularity", step, f"at least a {MOST_STEPS}th of the sensitivity for the optimal noise")
    deadline = time.perf_counter() + time_limit
    coarse = [d for d in range(1, k + 1) if k % d == 0 and (d <= 5 or d == k)]
    lower, best = 0.0, None
    for d in coarse:  # rounded to a coarser lattice the law stays shift-proportional: what bounds there bounds here
        unit = k // d * float(step)
        share = deadline if d == k else time.perf_counter() + 0.2 * (deadline - time.perf_counter())
        best = _solved(epsilon, delta, d, gap, share, stop, lower / unit)
        lower = max(lower, best[0] * unit * (1 - 4 * UNIT))
    if best is None:
        raise ValueError("every number of steps divides itself")
    _, (law, upper, usage, repaired) = best
    return ProportionalLaw(
        LatticeNoise(float(step), law.first, law.weights), lower, upper * float(step) * (1 + 2 * UNIT), usage, repaired
    )


_Certified = tuple[LatticeNoise, float, float, bool]


def _solved(
    epsilon: float, delta: float, k: int, gap: float, deadline: float, stop: Callable[[], bool], lower: float
) -> tuple[float, _Certified]:
    """(lower bound of −E X, best law) in steps."""
    strict, tight = (truncated_geometric(epsilon, d, k) for d in (0.5 * delta, delta))
    n = len(strict) - 1 + 2 * k
    if n > MOST_POINTS:
        accepted = f"larger ones: the optimal noise would have more than {MOST_POINTS} points"
        raise InputError("epsilon, delta", f"({epsilon:g}, {delta:g})", accepted)
    middle = 0.5 * (len(tight) - 1)
    strict, tight = (np.append(law, np.zeros(n + 1 - len(law))) for law in (strict, tight))
    best = _certified(tight, strict, epsilon, delta, k)
    program = _Program(epsilon, delta, k, strict, middle)
    program.outward()
    for _ in range(300):
        if program.rows.run(deadline, stop) != "optimal":
            break  # what is certified so far stands
        lower = max(lower, mean_lower(n - k, epsilon, delta, k, *program.multipliers()))
        masses = program.masses()
        if program.usage(masses) < 2:
            best = min(best, _certified(masses, strict, epsilon, delta, k), key=lambda law: law[1])
        if best[1] - lower <= gap * best[1] or not program.add_violated(masses):
            break
    return lower, best


def _certified(masses: Array, strict: Array, epsilon: float, delta: float, k: int) -> _Certified:
    """(law, −E X rounded up, usage, repaired): the masses mixed with a strictly private law by as little as the referee
    accepts; h_j is convex, so a share λ of the strict law takes at least λ of the excess away."""
    weight, usage = 0.0, usage_upper(masses, epsilon, delta, k)
    slack = 1 - usage_upper(strict, epsilon, delta, k)
    excess = usage - 1
    for _ in range(40):
        law = LatticeNoise.from_masses(1.0, -(len(masses) - 1), ((1 - weight) * masses + weight * strict)[::-1])
        usage = usage_upper(law.masses, epsilon, delta, k)
        if usage <= 1:
            mean = math.fsum(law.masses * -law.points) * (1 + 8 * UNIT)
            return law, mean, usage, weight > 0
        weight = min(1.0, max(2 * weight, excess / (excess + slack) * (1 + 1e-9) if excess > 0 else 0.0, 1e-14))
    raise AssertionError("the strictly private law is not private")
