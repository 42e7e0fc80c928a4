"""What a step of the search is given and what it brings: windows, limits, proofs, seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from .. import audit
from ..noise.solved import SolvedNoise
from ..places import Places
from ..privacy import Privacy
from ..problem import NoiseProblem
from .lattice import Array, Ints, Lattice
from .program import Outcome, Seed

LEAST_DELTA = 1e-9
"""Programs for lower bounds use at least this δ: their multipliers are valid for every smaller one [Thm 6]."""

LEAST_NEAR_END = 1e-13
"""The same where an end of the support is so near that a law's middle moves away from it, the farther the smaller δ."""

TINY = 1e-11
"""Rates and masses below this share of the largest do not count when the next window is chosen."""

SETTLED = 0.01
"""A program is done once what its violated rows could still cost is below this share of the gap aimed at."""

AUDIT_ROOM = 4e-15
"""Taken off δ: more than an audit rounds up, sums being exact to a few units of 2^−53."""

TIGHTER = 1e-6
"""Taken off limits, relatively, where there is no law to repair with what the solver's tolerance lets through."""

Stop = Callable[[], bool]


@dataclass(frozen=True)
class Limits:
    """What a program needs besides the problem: size of the value, relative gap aimed at, when to end."""

    scale: float
    gap: float
    deadline: float
    stop: Stop


@dataclass(frozen=True)
class Window:
    """The stretch [left, right] of the line that a program looks at; with `near`, only events in one of these stretches
    or whole sensitivities away from it. All in sensitivities."""

    left: float
    right: float
    near: tuple[tuple[float, float], ...] = ()

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

    further : (shifts, events, weights) of every other (ε, δ).   budget : (μ, node values of the second loss, most).
    at_zero : multipliers of r_0 ≥ r_1 and r_0 ≥ r_(−1).
    """

    costs: Array
    first: int
    shifts: Ints
    events: Ints
    weights: Array
    monotone: Array | None
    mirrored: bool
    further: tuple[tuple[Ints, Ints, Array], ...] = ()
    budget: tuple[float, Array, float] | None = None
    at_zero: tuple[float, float] | None = None

    def lower(self, privacy: Privacy, *further: Privacy) -> float:
        """The bound at one (ε, δ) or several, from the referee; multipliers of pairs not asked for are left out."""
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
            at_zero=self.at_zero,
            further=[(p.epsilon, p.delta, *multipliers) for p, multipliers in zip(further, self.further)],
            budget=self.budget,
        )


@dataclass(frozen=True)
class Step:
    """What a step found. `window`, `seed`: for the next step of the same kind; `proof`: of a lower bound."""

    k: int
    edge: int
    bound: float
    noise: SolvedNoise | None
    delta_upper: float
    worst_shift: float
    repaired: bool
    seed: Seed | None
    window: Window
    cells: int
    pairs: int
    status: str
    proof: Proof | None = None


def least_delta(problem: NoiseProblem) -> float:
    """The least δ of a program for a lower bound."""
    return LEAST_NEAR_END if end_moves(problem) else LEAST_DELTA


NEAR_END, NEAR_STEEP = 8.0, 2.5
"""An end of the support this many times as far from the minimiser as truncated Laplace noise reaches matters little;
for losses with several bottoms, whose corners matter more, one further away than that, from such an ε on."""


def several_bottoms(problem: NoiseProblem) -> bool:
    """Whether a continuous loss falls again beyond its minimiser, and ε is so large that corners there matter."""
    return problem.loss.continuous and not problem.loss.grows_from_zero and problem.joint.epsilon >= NEAR_STEEP


def origin_of(problem: NoiseProblem) -> float:
    """Where lattices start, in the query's unit: at the end of the support that is nearest to the loss's minimiser, or
    at the minimiser, where its kink and the atom are, if both ends are far from it (for mirror images and for monotone
    laws always at 0). Where the loss jumps in a support, at the nearer of the ends and jumps next to the minimiser."""
    if problem.folds or problem.monotone:
        return 0.0
    best = problem.loss.minimiser(*problem.support)[0]
    if next_to(problem) and not problem.whole_line:
        return min(next_to(problem), key=lambda x: abs(x - best))
    end = min(problem.support, key=lambda x: abs(x - best))
    reach = (1.0 if several_bottoms(problem) else NEAR_END) * (1 + problem.joint.truncation()) * problem.sensitivity
    return end if math.isfinite(end) and abs(end - best) <= reach else best


def next_to(problem: NoiseProblem) -> tuple[float, ...]:
    """The jumps of the loss and ends of the support next to the loss's minimiser, one on either side if there are; none
    where the loss does not jump inside of the support."""
    lo, hi = problem.support
    best = problem.loss.minimiser(lo, hi)[0]
    jumps = [x for x in problem.paid_loss.jumps if lo < x < hi]
    left, right = max([x for x in jumps if x < best], default=lo), min([x for x in jumps if x > best], default=hi)
    return tuple(x for x in (left, right) if math.isfinite(x)) if jumps else ()


def places_of(problem: NoiseProblem, k: int, indices: ArrayLike, origin: float | None = None) -> Places:
    """The places of indices on the lattice of k per sensitivity from an origin, by default where lattices start."""
    return Places.of(origin_of(problem) if origin is None else origin, problem.sensitivity, k, indices)


def middle_of(problem: NoiseProblem) -> float:
    """Where the middle of a law is likely to lie, in sensitivities: at the loss's minimiser, or from an end of the
    support as far as truncated Laplace noise reaches."""
    best = problem.paid_loss.minimiser(*problem.support)[0] / problem.sensitivity
    if problem.whole_line:
        return best
    reach = problem.joint.truncation()
    lo, hi = (end / problem.sensitivity for end in problem.support)
    least, most = lo + reach, hi - reach
    return min(max(best, least), most) if least <= most else 0.5 * (lo + hi)


def end_moves(problem: NoiseProblem) -> float:
    """How far an end of the support moves a law's middle away from the loss's minimiser, in sensitivities."""
    return abs(middle_of(problem) - problem.paid_loss.minimiser(*problem.support)[0] / problem.sensitivity)


def reference_density(problem: NoiseProblem, x: Array) -> Array:
    """A density of about the optimum's shape, for scaling; x in sensitivities."""
    away = np.abs(x - middle_of(problem))
    away -= away.min(initial=math.inf)  # or a support that ends far from the middle would have nothing but zeros
    return np.exp(-problem.privacy.epsilon * away * (1.0 if problem.folds else 0.5))


def further_limits(problem: NoiseProblem, tight: float = 1.0) -> tuple[tuple[float, float], ...]:
    """(e^ε, tight·δ) of all pairs but the first, for a program; δ = 0 stays 0."""
    return tuple((p.amplification, p.delta and tight * max(p.delta, LEAST_DELTA)) for p in problem.privacies[1:])


def seed_of(lattice: Lattice, outcome: Outcome) -> Seed:
    """The density of an outcome, in sensitivities from the origin of its lattice, and its active shifts."""
    density = np.concatenate([[0.0], lattice.unfold(outcome.masses) * lattice.fineness, [0.0]])

    def at(x: Array) -> Array:
        return density[np.clip(lattice.locate(x) + 1, 0, len(density) - 1)]

    used = outcome.rates > TINY * outcome.rates.max(initial=0.0)
    active = tuple(np.unique(np.abs(lattice.shifts[mine])) / lattice.k for mine in used)
    shifts = lattice.shifts / lattice.k
    return Seed(at, active, lattice.k, lattice.cells, outcome.pairs, shifts, outcome.rates[0], outcome.sharp)
