"""The best noise whose law is shared by the true values of each interval, in a certified bracket.

Both bounds are linear programs on a lattice of k steps to a sensitivity with the rows of [SLW-S, Alg. G.1], all of them
at once: laws on cells above, laws rounded to nodes below. What they prove is evaluated without them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from .._validate import decimal
from ..audit import amplification_bounds
from ..errors import InputError
from ..loss import UNIT, Loss
from ..loss.cells import node_values
from ..noise.piecewise import PiecewiseNoise
from ..optimal import solve as solve_additive
from ..optimal.anytime import Anytime, ProgressCallback
from ..places import Places
from ..problem import NoiseProblem, SolverSettings
from ..rows.interior import InteriorProgram, Limits
from ..rows.referee import Brackets
from ..solution import Certificate
from ..solution import Solution as NoiseSolution
from .constraints import MARGIN, REPAIR, next_share
from .noise_laws import (
    NoiseLaws,
    average_upper,
    ends_of,
    largest_upper,
    shifts,
    shortfall_upper,
    signed_shares,
    units_of,
)
from .problem import DataDependentProblem
from .solution import Solution

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ACCURACY = 3e-5
"""Relative gap at which a program ends."""

LEAST_DELTA = 1e-7
"""Programs for lower bounds use at least this δ: their multipliers are valid for every smaller one."""

MOST_NUMBERS = 60_000
"""Most probabilities of all laws on the coarsest lattice."""

MOST_STEPS = 64
"""Most steps of the lattice to a sensitivity, if the ends of the sets do not need more."""

MOST_TERMS = 2_000_000
"""Most terms of a program: 300 MB."""

CRAMPED = 1e-3
"""Laws with more than this in their outermost sensitivities are made twice as wide: where a loss is steep on one side,
they reach far on the other."""

WIDEST = 16
"""Half-width, in sensitivities, beyond which they are not."""

FINER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True)
class _Best:
    """A mechanism and its audited figures."""

    mechanism: NoiseLaws
    upper: float
    delta_upper: float
    worst_shift: float
    repaired: bool


class NoiseSearch(Anytime[DataDependentProblem, Solution]):
    """The state of one solve."""

    best: _Best | None = None

    def __init__(
        self, problem: DataDependentProblem, settings: SolverSettings, progress: ProgressCallback | None = None
    ) -> None:
        super().__init__(problem, settings, progress, settings.gap)
        privacy, D = problem.privacy, decimal(problem.sensitivity)
        if privacy.delta == 0:
            raise InputError("delta", 0.0, "a positive δ for noise that intervals share: its laws end somewhere")
        self._ends = ends_of(problem)
        self._unit = lcm(*((decimal(end) / D).denominator for end in self._ends))
        reach = privacy.truncation(privacy.delta * (1 - 2 * MARGIN))
        half = math.ceil(reach) + 1 if reach < 1e9 else 10**9
        self._halves = {"lower": half, "upper": half}
        """Half-width of the laws, and of the events that lower bounds know, in sensitivities."""
        numbers = 2 * half * self._unit * (len(self._ends) - 1)
        if numbers > MOST_NUMBERS or self._unit > MOST_STEPS:
            accepted = f"ends that are multiples of D/{MOST_STEPS} at most, and laws of {MOST_NUMBERS} cells together"
            raise InputError("partition", f"steps of D/{self._unit}, {numbers} cells", accepted)
        self._shares = signed_shares(problem)
        self._additive: NoiseSolution | None = None

    def run(self) -> Solution:
        """One law for all sets, then finer and finer lattices."""
        self._offer(self._unit, self._plain(self._unit), np.zeros(len(self._shares)), repaired=False)
        if self.problem.loss_below is None:
            asked = NoiseProblem(self.problem.privacy, self.problem.sensitivity, self.problem.loss)
            limit = min(max(0.1 * self.settings.time_limit, 0.5), 5.0)
            self._additive = solve_additive(asked, SolverSettings(gap=1e-3, time_limit=limit), lambda _: self._stop())
            self._offer_additive(self._additive.noise)
        self._report()
        for k in (self._unit * finer for finer in FINER if self._unit * finer <= MOST_STEPS):
            for side, step in (("lower", self._lower), ("upper", self._upper)):
                while True:
                    outer = None if self._over else step(k)
                    if outer is None:
                        return self._solution()
                    self._report()
                    if outer < CRAMPED or 2 * self._halves[side] > WIDEST:
                        break
                    self._halves[side] *= 2
        return self._solution()

    # Upper bounds ------------------------------------------------------------------------------------

    def _plain(self, k: int) -> Array:
        """Truncated geometric noise on cells of D/k for every set, (G, N)."""
        half = self._halves["upper"] * k
        middles = np.abs(np.arange(2 * half) + 0.5 - half)
        masses = np.exp(-self.problem.privacy.epsilon * middles / k)
        return np.tile(masses / masses.sum(), (len(self._shares), 1))

    def _upper(self, k: int) -> float | None:
        """Laws on cells of D/k; the largest share of one in its outermost sensitivities, None if no program could be
        solved."""
        problem, cells = self.problem, 2 * self._halves["upper"] * k
        edges = float(decimal(problem.sensitivity)) / k * (np.arange(cells + 1) - cells // 2)
        costs = self._costs(lambda loss: loss.mean(edges[:-1], edges[1:]) + loss.rounding(edges[:-1], edges[1:]))
        free = self._costs(lambda loss: np.array([float(loss.value(0.0))]))
        rows = _Rows(self._ends, problem.sensitivity, k, cells, atoms=True)
        program = rows.program(np.append(costs, free, axis=1), problem.privacy.amplification,
                               problem.privacy.delta * (1 - MARGIN))  # fmt: skip
        found = None if program is None else program.solve(self._deadline, self._stop, accuracy=ACCURACY)
        if program is None or found is None:
            return None
        x = np.maximum(found.x, 0.0).reshape(len(costs), cells + 1)
        x /= x.sum(axis=1, keepdims=True)
        plain, share = self._plain(k), 0.0
        while share <= REPAIR:
            mixed = (1 - share) * x[:, :-1] + share * plain
            excess = self._offer(k, mixed, (1 - share) * x[:, -1], repaired=share > 0)
            if excess <= 0:
                break
            share = next_share(share, excess)
        self._cells, self._pairs = max(self._cells, cells), max(self._pairs, len(program.limits.events))
        return _outer(x[:, :-1], k) if found.status == "optimal" else None

    def _offer(self, k: int, masses: Array, atoms: Array, *, repaired: bool) -> float:
        """Take laws as the best ones if they are private and better; by which share they miss δ."""
        breaks = np.arange(masses.shape[1] + 1) - masses.shape[1] // 2
        laws = tuple(
            PiecewiseNoise.from_masses(
                sensitivity=self.problem.sensitivity, resolution=k, breaks=breaks, masses=row, atom=float(atom)
            )
            for row, atom in zip(masses, atoms)
        )
        mechanism = NoiseLaws(self._ends, laws)
        delta_upper, shift = shortfall_upper(mechanism, self.problem.privacy.epsilon)
        excess = (delta_upper - self.problem.privacy.delta) / max(delta_upper, 1e-300)
        upper = average_upper(mechanism, self.problem)
        if excess <= 0 and upper < self.upper:
            self.best = _Best(mechanism, upper, delta_upper, shift, repaired)
        return excess

    def _offer_additive(self, noise: object) -> None:
        """The best noise that ignores the true value, if it is a law on a lattice that suits and is not too fine."""
        if not isinstance(noise, PiecewiseNoise) or noise.origin or noise.atom_unit:
            return
        widths = np.diff(noise.breaks)
        half = int(np.abs(noise.breaks).max())
        if noise.resolution % self._unit or 2 * half * len(self._shares) > MOST_NUMBERS:
            return
        masses = np.zeros(2 * half)
        masses[noise.breaks[0] + half : noise.breaks[-1] + half] = np.repeat(noise.masses / widths, widths)
        sets = len(self._shares)
        self._offer(noise.resolution, np.tile(masses, (sets, 1)), np.full(sets, noise.atom_mass), repaired=False)

    def _costs(self, of: Callable[[Loss], Array]) -> Array:
        """Of every set, from what the two losses cost, (G, n)."""
        above = of(self.problem.loss)
        below = above if self.problem.loss_below is None else of(self.problem.loss_below)
        both: Array = self._shares[:, :1] * below + self._shares[:, 1:] * above
        return both

    # Lower bounds ------------------------------------------------------------------------------------

    def _lower(self, k: int) -> float | None:
        """Laws rounded to nodes D/k apart; the largest share of one beyond the events, None if no program could be
        solved."""
        problem, privacy = self.problem, self.problem.privacy
        half = (self._halves["lower"] + 1) * k
        nodes = Places(Fraction(0), decimal(problem.sensitivity) / k, np.arange(-half - 1, half + 2))
        costs = self._costs(lambda loss: _nodes_below(loss, nodes)) * (1 - 8 * UNIT)
        delta = max(privacy.delta, LEAST_DELTA)
        rows = _Rows(self._ends, problem.sensitivity, k, costs.shape[1], atoms=False)
        program = rows.program(costs, privacy.amplification, delta)
        found = None if program is None else program.solve(self._deadline, self._stop, accuracy=ACCURACY)
        if program is None or found is None:
            return None
        limits = program.limits
        E = amplification_bounds(privacy.epsilon)[1]
        brackets = Brackets.of(costs.ravel()).with_terms(
            limits.events, limits.covers, E, found.terms, limits.owners, delta
        )
        self.lower = max(self.lower, brackets.lower(laws=len(costs)))
        return _outer(found.x.reshape(costs.shape), k) if found.status == "optimal" else None

    def _solution(self) -> Solution:
        assert self.best is not None  # the first offer is private
        best = self.best
        proof = Certificate(self.lower, best.upper, best.delta_upper, best.worst_shift, best.repaired)
        mechanism = best.mechanism
        return Solution(
            problem=self.problem, settings=self.settings, mechanism=mechanism, certificate=proof, cap=None,
            instance_upper=largest_upper(mechanism, self.problem), independent=self._additive,
            clamped_upper=math.inf if self._additive is None else self._additive.certificate.upper,
            trace=tuple(self._trace), seconds=time.perf_counter() - self._began, cells=mechanism.masses.shape[1],
            laws=len(mechanism.laws), source="linear program" if self._pairs else "the same noise for all",
        )  # fmt: skip


def _outer(masses: Array, k: int) -> float:
    """The largest share of a law within a sensitivity of either end."""
    return float((masses[:, :k].sum(axis=1) + masses[:, -k:].sum(axis=1)).max())


def _nodes_below(loss: Loss, nodes: Places) -> Array:
    """c̃ at the inner nodes, whose interpolant lies below the loss, beyond them too: it does not fall away from 0."""
    values = node_values(loss, nodes)
    middle = len(values) // 2
    right = np.minimum.accumulate(values[middle:][::-1])[::-1]
    left = np.minimum.accumulate(values[: middle + 1])
    centre = min(left[-1], right[0])
    return np.concatenate([left[1:-1], [centre], right[1:-1]])


@dataclass(frozen=True)
class _Rows:
    """The limits of all pairs of sets and shifts of the lattice.

    places : of every law; with `atoms` one more column each, of which nothing is ever covered, and places beyond which
        there is nothing; without, events keep a sensitivity off the ends, so that all of them may be covered.
    """

    ends: tuple[float, ...]
    sensitivity: float
    k: int
    places: int
    atoms: bool

    def program(self, costs: Array, amplification: float, delta: float) -> InteriorProgram[Limits] | None:
        """None where it does not fit."""
        sets, wide = costs.shape
        if sum(1 for _ in self._names()) * self.places > MOST_TERMS:
            return None
        limits = self._limits(sets, wide, amplification, delta)
        if not InteriorProgram.fits(costs.size, limits.band):
            return None
        return InteriorProgram(costs.ravel(), limits)

    def _limits(self, sets: int, wide: int, amplification: float, delta: float) -> Limits:
        events, covers, loose, sizes, loose_sizes = [], [], [], [], []
        for g, h, shift in self._names():
            inside = np.arange(self.places) if self.atoms else np.arange(self.k, self.places - self.k)
            covered = (inside - shift >= 0) & (inside - shift < self.places)
            at = inside[covered]
            events.append(g * wide + at)
            covers.append(h * wide + at - shift)
            alone = g * wide + inside[~covered]
            loose.append(np.append(alone, g * wide + self.places) if self.atoms else alone)
            sizes.append(len(at))
            loose_sizes.append(len(loose[-1]))
        columns = np.concatenate(loose).astype(np.int64)
        return Limits(
            np.append(0, np.cumsum(sizes)), np.full(len(sizes), delta),
            np.append(0, np.cumsum(loose_sizes)).astype(np.int64), columns, np.ones(len(columns)),
            np.repeat(np.arange(sets), wide), np.ones(sets * wide),
            amplification, np.concatenate(events), np.concatenate(covers),
        )  # fmt: skip

    def _names(self) -> Iterator[tuple[int, int, int]]:
        units = units_of(self.ends, self.sensitivity, self.k)
        for g, h, least, most in shifts(units, self.k):
            yield from ((g, h, shift) for shift in range(least, most + 1) if g != h or shift)
