"""Laws that are private by construction: where the search starts and what repairs its answers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .. import audit
from .._validate import decimal
from ..errors import InfeasibleError, InputError
from ..loss import Loss
from ..loss.primitive import Primitive
from ..noise.first_step import first_step
from ..noise.gaussian import Gaussian
from ..noise.laplace import Laplace
from ..noise.periods import Side
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase, amplitude_gamma
from ..noise.truncated_laplace import TruncatedLaplace
from ..noise.uniform import Uniform
from ..places import Places
from ..privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from ..problem import NoiseProblem
from ..search import bisection, least_argument, least_argument_vectorised, whole_half
from .lattice import ROUNDED, Array, Lattice
from .step import AUDIT_ROOM

FINE = 1 << 30
"""Units per sensitivity of laws whose breaks lie on no lattice."""

ROUNDING_PER_CELL = 2.0**-61
"""What rounding the probabilities to whole numbers of 2⁻⁶² may add to a shortfall, for every cell."""

MOST_UNITS = 1 << 61
"""Units of a law from end to end, so that sums of two fit into 64 bits."""


def strict_share(own: ArrayLike, strict: ArrayLike, most: ArrayLike, able: ArrayLike = True) -> float:
    """The least share of a strict law, 0 to 1, mixed with which a law's figures (shortfalls by shift, say) are at most
    `most`. own, strict : figures of both laws.   able : figures that the strict law may lower; the others, and those
    where it is no better, are left to the audit."""
    own, strict = np.atleast_1d(own), np.atleast_1d(strict)
    over = (own > np.maximum(most, strict)) & able
    share = ((own - most) / np.where(over, own - strict, 1.0))[over]
    return min(float(share.max(initial=0.0)), 1.0)


def geometric(lattice: Lattice, epsilon: float, centre: float) -> Array:
    """Masses ∝ e^{−ε|i − centre|/k} on the lattice: the ratio is at most e^{ε|j|/k} between cells j apart, so
    only what a shift uncovers at the ends counts against δ. (cells,)"""
    distance = np.abs(lattice.indices - centre) / lattice.k
    masses: Array = np.exp(-epsilon * (distance - distance.min()))
    return masses / float(masses.sum())


def staircase(lattice: Lattice, epsilon: float, centre: float, inner: float) -> Array:
    """Masses in steps of e^{−ε} per sensitivity, the first at distance `inner` (in sensitivities) from the centre
    [GV14], cut off where the lattice ends. (cells,)"""
    distance = np.abs(lattice.indices - centre) / lattice.k
    level = np.maximum(np.ceil(distance - inner - ROUNDED), 0)
    masses: Array = np.exp(-epsilon * level)
    return masses / float(masses.sum())


def gaussians(lattice: Lattice, problem: NoiseProblem, centre: float) -> list[Array]:
    """Masses of Gaussian laws that are somewhat wider than all pairs (ε, δ) ask for; (cells,) each."""
    sigma = max(Gaussian.calibrate(p, 1.0).sigma for p in problem.privacies)
    distance = (lattice.indices - centre) / (lattice.k * sigma)
    laws = (np.exp(-0.5 * (distance / wider) ** 2) for wider in (1.02, 1.05, 1.1, 1.2, 1.4, 1.8, 2.5))
    return [masses / masses.sum() for masses in laws]


TIGHT = 1e-12
"""Shares of a limit that do not count."""

LEAST_SLACK, LEAST_SAVING = 1e-3, 1e-6
"""Shares of a limit, and of a budget, that a law must leave to be of use for repairs."""


@dataclass(frozen=True)
class Spending:
    """A budget on a lattice of cells: the second loss's means and its value at the atom, and the bound."""

    means: Array
    at_atom: float
    most: float


@dataclass(frozen=True)
class StrictLaw:
    """Masses on a lattice, and an atom, that satisfy all privacies and the budget with something to spare.

    rows : shortfalls per (ε, δ), each at every shift of the lattice.   spent : of the budget.   cost : loss, that of
    the atom left out.   slack : least share of a limit left over, where anything is.
    """

    masses: Array
    rows: tuple[Array, ...]
    spent: float
    cost: float
    slack: float
    atom: float = 0.0

    @property
    def shortfalls(self) -> tuple[float, ...]:
        """The largest per (ε, δ)."""
        return tuple(float(row.max()) for row in self.rows)


def strict_law(
    masses: Array,
    lattice: Lattice,
    problem: NoiseProblem,
    costs: Array,
    spending: Spending | None,
    atom: float = 0.0,
) -> StrictLaw | None:
    """The law and its figures, None if a limit leaves less than a thousandth to spare (a millionth of a budget). At
    shifts that a narrow support leaves nothing the law may just meet its limit."""
    rows = tuple(lattice.shortfalls(masses, p.amplification) + atom for p in problem.privacies)
    spare = np.concatenate([1 - row / p.delta for row, p in zip(rows, problem.privacies)])
    slack = float(spare[np.abs(spare) > TIGHT].min(initial=1.0))
    if slack < LEAST_SLACK:
        return None
    spent = 0.0
    if spending is not None:
        spent = float(masses @ spending.means) + atom * spending.at_atom
        if spent > spending.most * (1 - LEAST_SAVING):
            return None
        slack = min(slack, 1 - spent / spending.most) if spending.most else slack
    return StrictLaw(masses, rows, spent, float(masses @ costs), slack, atom)


def private_masses(
    lattice: Lattice, problem: NoiseProblem, costs: Array, origin: float, spending: Spending | None = None
) -> StrictLaw | None:
    """A law on the lattice with shortfall < δ (within the budget too), or None when the lattice is too narrow.

    Of the geometric law, a few staircases and, for a profile, Gaussian laws, centred at the loss's minimiser as far as
    the support allows, and the uniform law, the one with the least cost per unit of slack in δ. For mixing only: the
    audit has the last word.
    """
    privacy = problem.joint
    middle = -0.5 * lattice.edge
    if not lattice.folded and not problem.monotone:
        best = problem.loss.minimiser(*problem.support)[0] / problem.sensitivity - origin
        reach = privacy.truncation(0.6 * privacy.delta) * lattice.k
        low, high = lattice.first + reach, lattice.last - reach
        middle = float(np.clip(best * lattice.k, low, high)) if low < high else 0.5 * (lattice.first + lattice.last)
    peak = amplitude_gamma(privacy.epsilon)
    kinds = [geometric(lattice, privacy.epsilon, middle)]
    kinds += [staircase(lattice, privacy.epsilon, middle, peak + t / lattice.k) for t in (-0.5, 0.0, 0.5)]
    kinds.append(np.full(len(lattice.indices), 1 / len(lattice.indices)))
    if len(problem.privacies) > 2:
        kinds += gaussians(lattice, problem, middle)
    tried = (strict_law(masses, lattice, problem, costs, spending) for masses in kinds)
    fitting = [law for law in tried if law is not None]
    return min(fitting, key=lambda law: (law.cost / law.slack, law.shortfalls), default=None)


def staircase_with_atom(problem: NoiseProblem, staircase: Staircase, delta: float | None = None) -> PiecewiseNoise:
    """(1 − a)·staircase + a·(point at the minimiser), cut far out so that it is (ε, δ)-DP for δ > 0 [Thm 6].

    Cutting the staircase beyond a whole number of periods leaves uncovered at most the mass τ of the outermost
    period; the atom gets what is left of δ. Costs about a millionth of δ against the uncut law. `delta`: instead of
    the problem's, also one too small for a promise of its own.
    """
    privacy, D = problem.privacy, problem.sensitivity
    delta = privacy.delta if delta is None else delta
    resolution = FINE if privacy.epsilon >= 0.1 else 40
    half = min(max(round(staircase.gamma * resolution), 1), resolution - 1)
    periods = min(math.ceil(math.log(1e6 / delta) / privacy.epsilon) + 1, 5000)
    right = half + np.arange(periods + 1, dtype=np.int64) * resolution
    one_side = np.exp(-privacy.epsilon * np.arange(periods + 1)) * np.diff(right, prepend=0)
    total = 2 * math.fsum(one_side)
    tail = one_side[-1] / total
    atom = max(0.0, (delta - tail - 3e-15) / (1 - tail))  # room for what the audit rounds up
    best = 0.0 if problem.folds or problem.monotone else problem.loss.minimiser()[0]
    return PiecewiseNoise.from_masses(
        sensitivity=D,
        resolution=resolution,
        breaks=np.concatenate([-right[::-1], right]) + round((staircase.location - best) / D * resolution),
        masses=np.concatenate([one_side[:0:-1], [2 * one_side[0]], one_side[1:]]) / total * (1 - atom),
        atom=atom,
        origin=best,
        name="Staircase with atom",
    )


NARROWER, NARROWED_TO, SPIKE_COSTS = (1.0, 0.94, 0.85, 0.72, 0.6, 0.48), 0.005, 1e-4
"""Top steps in parts of the best one's that a search begins with where a spike costs more than the last share, and its
accuracy."""


def spiked_staircase(problem: NoiseProblem) -> PiecewiseNoise | None:
    """For two pairs (ε, δ) and (ε₂, κ), ε₂ > ε and κ < δ: the staircase with an atom for ε, its atom spread [`spiked`];
    where that has to be wide, a narrower top step, higher all around, leaves less of the loss. None for other problems,
    or where there is no room."""
    if len(problem.privacies) != 2 or not problem.whole_line:
        return None
    first = min(problem.privacies, key=lambda p: p.epsilon)
    if first.epsilon < SPIKED_FROM:
        return None
    single = replace(problem, privacy=first, second=None, profile=None)
    best, top = best_staircase(single), top_of(single)

    def law(part: float) -> PiecewiseNoise:
        place = top + part * (best.location - top)
        return staircase_with_atom(single, replace(best, gamma=part * best.gamma, location=place))

    made: dict[float, PiecewiseNoise] = {}

    def cost(part: float) -> float:
        found = spiked(law(part), problem)
        if found is None:
            return math.inf
        made[part] = found
        return found.expected_loss(problem.loss)

    if cost(1.0) > (1 + SPIKE_COSTS) * law(1.0).expected_loss(problem.loss):
        least_argument(cost, NARROWER, tolerance=NARROWED_TO)
    return min(made.values(), key=lambda one: one.expected_loss(problem.loss), default=None)


def spiked(law: PiecewiseNoise, problem: NoiseProblem) -> PiecewiseNoise | None:
    """An (ε, δ)-DP law, its atom spread next to where it is for a second pair (ε₂, κ), ε₂ > ε and κ < δ. At ε it is as
    private, for what is mixed in adds no more than its mass; of the atom all but what κ leaves is spread as narrowly as
    is covered at ε₂: its density and the law's are at most e^ε₂ times the least density within a sensitivity [method:
    constraints]. None where there is no room. The audit has the last word."""
    if len(problem.privacies) != 2 or not law.atom_weight:
        return None
    other = max(problem.privacies, key=lambda p: p.epsilon)
    finer = max(1, FINE // law.resolution)
    if other.delta == 0 or finer * max(map(abs, law.breaks[[0, -1]].tolist())) > MOST_UNITS:
        return None
    resolution, breaks, at = finer * law.resolution, finer * law.breaks, finer * law.atom_unit
    heights = law.masses / np.diff(breaks)
    near = (breaks[1:] > at - resolution) & (breaks[:-1] < at + resolution)
    inside = breaks[0] <= at - resolution and at + resolution <= breaks[-1]
    room = heights[near].min(initial=math.inf) * other.amplification * (1 - 1e-6) - heights.max() if inside else 0.0
    rest = audit.delta_upper(law, other.epsilon, problem.sensitivity) - law.atom_mass
    atom = min(law.atom_mass, other.delta * (1 - 1e-9) - max(rest, 0.0) * (1 + 1e-9) - AUDIT_ROOM)
    wide = (law.atom_mass - atom) / room if room > 0 else math.inf
    if atom < 0 or wide <= 0 or not wide < resolution / 4:
        return None
    touching = np.flatnonzero((breaks[:-1] <= at) & (at <= breaks[1:]))
    touching = touching[heights[touching] >= heights[touching].max() * (1 - TIGHT)]
    first, last = int(breaks[touching[0]]), int(breaks[touching[-1] + 1])
    wide = 2 * math.ceil(wide / 2)  # even problems have even laws
    low = _cheapest(problem.loss, law.origin, problem.sensitivity / resolution, wide, (first, last), at)
    if low is None:
        return None
    high = low + wide
    cut = np.union1d(breaks, [low, high])
    within = np.searchsorted(breaks, cut[:-1], side="right") - 1
    added = np.where((low <= cut[:-1]) & (cut[:-1] < high), (law.atom_mass - atom) / (high - low), 0.0)
    return PiecewiseNoise.from_masses(
        sensitivity=problem.sensitivity,
        resolution=resolution,
        breaks=cut,
        masses=np.diff(cut) * (heights[within] + added),
        atom=atom,
        atom_unit=at,
        origin=law.origin,
        name="Staircase with a spike" if law.name == "Staircase with atom" else law.name,
        monotone=problem.monotone,
    )


def truncated_geometric(problem: NoiseProblem) -> PiecewiseNoise | None:
    """The geometric law cut where δ allows [G20], for small ε close to optimal, with its middle at the loss's minimiser
    as far as the support allows (mirror images and monotone laws: at 0); None when ε is 0, δ above ½ or the support
    too narrow."""
    return _truncated(problem, problem.support)


def _cheapest(loss: Loss, origin: float, unit: float, wide: int, within: tuple[int, int], at: int) -> int | None:
    """Where a stretch so many units wide begins that holds a place next to the loss's minimiser and on which the loss
    is least: as much at both ends, where it has room. None where it has none."""
    least, most = max(within[0], at - wide), min(at, within[1] - wide)
    if least > most:
        return None

    def dearer(low: int) -> bool:
        left, right = loss.value(origin + unit * np.array([low, low + wide]))
        return bool(left >= right)

    low = bisection(dearer, least - 1, most + 1, mean=whole_half, near=lambda a, b: abs(a - b) <= 1)[0]
    return max(low, least)


def _truncated(problem: NoiseProblem, support: tuple[float, float]) -> PiecewiseNoise | None:
    """A truncated geometric law inside a support, which need be no wider than truncated Laplace noise.

    Cells of D/k, the levels of the density falling by e^{−ε/k} from one to the next, and in the middle a wider one, as
    wide as is needed: places at most D apart are at most k levels apart, and what a shift by D uncovers, the last k
    cells, weighs no more than in truncated Laplace noise of the same width [method: border].
    """
    privacy, D = problem.privacy, problem.sensitivity
    if privacy.epsilon == 0 or privacy.delta > 0.5:
        return None
    reach = privacy.truncation()
    k = next((k for k in (1, 2, 4, 16) if reach * k >= 64), 64)
    spare = AUDIT_ROOM + 2 * reach * k * ROUNDING_PER_CELL
    delta = privacy.delta * (1 - 1e-9) - min(spare, privacy.delta / 2)  # and for the rounding of the width
    reach = privacy.truncation(delta)
    cell, half = FINE // k, math.ceil(reach * PLACES) * (FINE // PLACES)
    least = math.floor(privacy.truncation() * FINE * (1 - TIGHT))
    grid = Places.of(0.0, D, FINE, [0])
    room = grid.position(support[1]) - grid.position(support[0])
    if 2 * half > room:
        half = math.floor(room) // 2
    if half < max(least, 1):
        return None
    place = _placed(problem, support, FINE, 2 * half, TruncatedLaplace(D / privacy.epsilon, half / FINE * D))
    if place is None:
        return None
    steps, middle = divmod(half, cell)
    ends = middle + cell * np.arange(steps + 1, dtype=np.int64)
    side = np.exp(-privacy.epsilon * np.arange(1, steps + 1) / k)
    centre = [2 * middle / cell] if middle else []
    breaks = np.concatenate([-ends[::-1], ends if middle else ends[1:]])
    common = int(np.gcd.reduce(np.append(breaks, (half + place[1], FINE))))
    return PiecewiseNoise.from_masses(
        sensitivity=D,
        resolution=FINE // common,
        breaks=(breaks + half + place[1]) // common,
        masses=np.concatenate([side[::-1], centre, side]),
        origin=place[0],
        name="Truncated geometric",
    )


MOST_PERIODS = 100_000
"""Longest slope of a law for several pairs, in sensitivities."""


def several_pairs(problem: NoiseProblem) -> PiecewiseNoise | None:
    """As the truncated geometric law, for several pairs: from either end on, a mass t grows per sensitivity to the
    least of E_i t + δ_i, as far as all pairs allow. None for one pair, or where the support is too narrow."""
    D, pairs = problem.sensitivity, problem.privacies
    if len(pairs) == 1 or any(p.delta == 0 or p.delta > 0.5 for p in pairs):
        return None
    periods = 2 * math.ceil(sum(p.truncation() for p in pairs)) + 1  # more than there will be
    room = AUDIT_ROOM + 2 * periods * ROUNDING_PER_CELL
    limits = [(p.amplification, p.delta * (1 - 1e-9) - min(room, p.delta / 2)) for p in pairs]
    masses: list[float] = []
    total = grown = 0.0
    while len(masses) < MOST_PERIODS:
        grown = min(E * total + delta for E, delta in limits)
        if 2 * grown >= 1:
            break
        masses.append(grown - total)
        total = grown
    else:
        return None
    middle = math.ceil((1 - 2 * total) / (grown - total) * FINE / 2) * 2
    ends = middle // 2 + FINE * np.arange(len(masses) + 1, dtype=np.int64)
    law = TruncatedLaplace(D / max(problem.joint.epsilon, EPSILON_RANGE[0]), float(ends[-1]) / FINE * D)
    place = _placed(problem, problem.support, FINE, 2 * int(ends[-1]), law)
    if place is None:
        return None
    return PiecewiseNoise.from_masses(
        sensitivity=D,
        resolution=FINE,
        breaks=np.concatenate([-ends[::-1], ends]) + int(ends[-1]) + place[1],
        masses=np.concatenate([masses, [1 - 2 * total], masses[::-1]]),
        origin=place[0],
        monotone=problem.monotone,
        name="Geometric for several pairs",
    )


PLACES = 64
"""Parts of a sensitivity in which the place of a law is told."""


def _placed(
    problem: NoiseProblem, support: tuple[float, float], resolution: int, units: int, law: TruncatedLaplace | Uniform
) -> tuple[float, int] | None:
    """(origin, first break) of an interval of so many units within a support: its middle where the law costs least, and
    at 0 for mirror images and monotone laws; None if it does not fit."""
    (lo, hi), D = support, problem.sensitivity
    centred = problem.folds or problem.monotone
    best = 0.0 if centred else problem.loss.minimiser(lo, hi)[0]
    grid, moved = Places.of(best, D, resolution, [0]), 0
    if not centred and lo + 2 * law.radius < hi:
        moved = round((cheapest_place(problem, law, support) - best) / D * PLACES) * (resolution // PLACES)
    first, low, high = moved - units // 2, grid.position(lo), grid.position(hi)
    if low <= first and first + units <= high:
        return best, first
    if problem.folds or units > high - low:
        return None
    return (lo, 0) if first < low else (hi, -units)


SPIKED_FROM = 1.0
"""Below this ε staircases are not what is best."""

SEPARATE_ENDS, HANG_TOGETHER = 2.5, 4.0
"""From this ε on either end of a staircase's top step is found for itself; below that one γ and the location are
searched for, too: with very uneven losses the ends depend on one another."""


def cheapest_place(
    problem: NoiseProblem, law: TruncatedLaplace | Uniform, support: tuple[float, float] | None = None
) -> float:
    """Where in a support, by default the problem's, the middle of the law costs least."""
    free = problem.far_out(law.radius + problem.sensitivity)
    if free is not None and support in (None, problem.support):
        return free
    support = problem.support if support is None else support
    wide, best = law.radius, problem.loss.minimiser(*support)[0]
    low, high = max(support[0], best - 2 * wide) + wide, min(support[1], best + 2 * wide) - wide
    places = np.clip(best + wide * np.linspace(-1, 1, 9), low, high)
    return least_argument(
        lambda place: replace(law, location=float(place)).expected_loss(problem.loss), places, tolerance=SEARCHED_TO
    )


MANY_STEPS = 0.3
"""Below this ε a staircase is all but a Laplace law, whose expected losses take no long sums."""


LEAST_STEP = 1e-4
"""Smallest width of a staircase's step, in sensitivities, that floats away from 0 resolve well."""

SEARCHED_TO = 1e-6
"""Relative accuracy of searches for the parameters of a law: whatever they find is audited."""


TOPS, WORTH = 41, 0.9
"""On a plateau so many places for a top step are tried, and one is kept that costs at most this share."""


FAR_AWAY = 40.0
"""A staircase has e^(−40) of its mass farther from its middle, in sensitivities divided by ε."""


def best_staircase(problem: NoiseProblem) -> Staircase:
    """The staircase whose γ, and for losses that are not even whose location, cost least [GV14]; for losses without
    symmetry by a search: for large ε along either end of the top step in turn, which hardly depend on one another, for
    small ε along γ and the location, in between by both."""
    loss, D = problem.paid_loss, problem.sensitivity
    free = problem.far_out(D * (2 + FAR_AWAY / problem.privacy.epsilon))
    if free is not None and not (problem.folds or problem.monotone):
        return Staircase(problem.privacy.epsilon, D, amplitude_gamma(problem.privacy.epsilon), 0.0, free)
    if not problem.folds and problem.privacy.epsilon >= HANG_TOGETHER:
        return _by_ends(problem)
    noise = Staircase.calibrate(problem.privacy, D, loss)
    if problem.folds or problem.monotone:
        return noise
    epsilon, gamma = problem.privacy.epsilon, float(np.clip(noise.gamma, LEAST_STEP, 1 - LEAST_STEP))
    wide = D * (2 + 2 / epsilon)
    places = loss.minimiser()[0] + np.linspace(-wide, wide, 41)
    if epsilon < MANY_STEPS:
        scale = D / epsilon
        place = least_argument(lambda v: Laplace(scale, v).expected_loss(loss), places, tolerance=SEARCHED_TO)
        return replace(noise, gamma=gamma, location=float(place))
    costs = _staircase_costs(problem)

    def placed(gamma: float, place: float, tried: Array) -> tuple[float, float, float]:
        """(cost, γ, location), the latter the best of those next to the ones tried and the one so far."""
        found = least_argument_vectorised(lambda v: costs(gamma, v), tried)
        return min((float(costs(gamma, x)[0]), gamma, x) for x in (place, found))

    _, gamma, place = min(placed(x, 0.0, places) for x in (gamma, amplitude_gamma(epsilon)))
    for near in (1.0, 0.3, 0.1):
        tried = np.clip(gamma + near * np.linspace(-1, 1, 11), LEAST_STEP, 1.0)
        found = least_argument_vectorised(lambda v: costs(v, place), tried)  # noqa: B023
        gamma = min(gamma, found, key=lambda x: float(costs(x, place)[0]))
        _, gamma, place = placed(gamma, place, place + near * D * np.linspace(-1, 1, 11))
    noise = Staircase(epsilon, D, gamma, 0.0, place)
    return _least_costly(problem, [noise, _by_ends(problem)]) if epsilon >= SEPARATE_ENDS else noise


def _staircase_costs(problem: NoiseProblem) -> Callable[[ArrayLike, ArrayLike], Array]:
    """(γ, location) ↦ expected losses of staircases, elementwise, for searches to compare."""
    epsilon, D, integral = problem.privacy.epsilon, problem.sensitivity, Primitive(problem.paid_loss, top_of(problem))
    steps = np.arange(int(FAR_AWAY / epsilon) + 2)
    outwards = np.exp(-epsilon * steps)
    density = np.concatenate([outwards[:0:-1], outwards])

    def costs(gamma: ArrayLike, location: ArrayLike) -> Array:
        gamma, location = np.broadcast_arrays(np.atleast_1d(gamma), np.atleast_1d(location))
        away, middle = D * (gamma[:, None] + steps), location[:, None]
        ends = np.concatenate([middle - away[:, ::-1], middle + away], axis=1)
        found: Array = (np.diff(integral(ends)) @ density) / (2 * D * (gamma + outwards[1:].sum()))
        return found

    return costs


def _least_costly(problem: NoiseProblem, laws: Iterable[Staircase]) -> Staircase:
    costs = _staircase_costs(problem)
    return min(laws, key=lambda law: float(costs(law.gamma, law.location)[0]))


def _by_ends(problem: NoiseProblem) -> Staircase:
    """The best one found from either of the places where a top step may begin to be searched for."""
    tops = {top_of(problem), _on_plateau(problem)}
    return _least_costly(problem, (_with_best_ends(problem, top) for top in tops))


def _with_best_ends(problem: NoiseProblem, best: float) -> Staircase:
    """By the ends of the top step, in logarithms: from D down to a share of e^{−ε} of it away from a place in it. Next
    to a plateau the best end on one side depends on where the other is, so both are searched for more than once."""
    D, epsilon, costs = problem.sensitivity, problem.privacy.epsilon, _staircase_costs(problem)

    def step(left: ArrayLike, right: ArrayLike) -> tuple[Array, Array]:
        """(γ, location)"""
        left, right = np.exp(left), np.exp(right)
        return 0.5 * (left + right), best + 0.5 * (right - left) * D

    ends = np.full(2, -0.5 * epsilon)
    wide, near, nearer = np.linspace(-epsilon - 3, 0, 15), np.linspace(-0.5, 0.5, 3), np.linspace(-0.05, 0.05, 3)
    for grid in (wide, wide, wide, near, nearer):
        before = ends.copy()
        for side, least in ((0, lambda log: costs(*step(log, ends[1]))), (1, lambda log: costs(*step(ends[0], log)))):
            logs = grid if len(grid) > 3 else np.minimum(ends[side] + grid, 0.0)
            ends[side] = least_argument_vectorised(least, logs)
        if np.abs(ends - before).max() < 100 * SEARCHED_TO:
            break
    gamma, place = step(*ends)
    return Staircase(epsilon, D, float(gamma), 0.0, float(place))


def _on_plateau(problem: NoiseProblem) -> float:
    """The loss's minimiser, or where on a plateau around it a narrow top step costs less."""
    loss, best = problem.paid_loss, top_of(problem)
    least = float(loss.value(best))
    ends = [x for p in loss.pieces if p.coefficient == 0 and p.constant == least for x in (p.lo, p.hi)]
    ends = [x for x in ends if math.isfinite(x)]
    if problem.monotone or not ends:
        return best
    places = np.append(best, np.linspace(min(ends), max(ends), TOPS))
    costs = _staircase_costs(problem)(amplitude_gamma(problem.privacy.epsilon), places)
    return float(places[costs.argmin()]) if costs.min() < WORTH * costs[0] else best


def top_of(problem: NoiseProblem) -> float:
    """Where the top of a staircase and the atom belong: at the loss's minimiser, and at 0 for mirror images and
    monotone laws."""
    return 0.0 if problem.folds or problem.monotone else problem.loss.minimiser()[0]


def pure_lower(problem: NoiseProblem) -> float | None:
    """What every (ε, 0)-DP law pays at least, rounded down, for an even loss that grows away from 0 [Thm 8]; None for
    other losses."""
    loss, epsilon = problem.paid_loss, problem.privacy.epsilon
    if not loss.even or not loss.grows_from_zero:
        return None
    if problem.granularity is None:
        return first_step(Side.line(loss, epsilon, problem.sensitivity)).lower
    return first_step(Side.points(loss, epsilon, problem.lattice_sensitivity, problem.granularity)).lower


def affordable(problem: NoiseProblem, staircase: Staircase, share: float) -> Staircase | None:
    """The staircase whose mixture with the point at the minimiser, (1 − share) of it, meets the budget: the one given
    if it does, else the nearest on the way to the staircase that spends least; None if that spends too much too."""
    budget, loss = problem.budget, problem.budget_loss
    if budget is None or loss is None:
        return staircase
    best = 0.0 if problem.folds or problem.monotone else problem.loss.minimiser()[0]
    at_atom = (1 - share) * float(loss.value(best))

    # The last ten millionth is for what the same law costs more on cells.
    def fits(noise: Staircase) -> bool:
        return share * audit.loss_upper(noise, loss) + at_atom <= budget.most * (1 - 1e-7)

    if fits(staircase):
        return staircase
    thrifty = best_staircase(replace(problem, loss=budget.loss, budget=None))
    if not fits(thrifty):
        return None
    between: Callable[[float], Staircase] = lambda t: replace(  # noqa: E731
        thrifty,
        gamma=thrifty.gamma + t * (staircase.gamma - thrifty.gamma),
        location=thrifty.location + t * (staircase.location - thrifty.location),
    )
    return between(bisection(lambda t: fits(between(t)), 0.0, 1.0, rounds=50)[0])


def single_pairs(problem: NoiseProblem) -> list[NoiseProblem]:
    """Problems with one pair (ε, δ) whose laws may satisfy all pairs of this one: each of them, and the joint one,
    where the support has room for it."""
    if len(problem.privacies) == 1:
        return [problem]
    out = [replace(problem, privacy=privacy, second=None, profile=None) for privacy in problem.privacies]
    with contextlib.suppress(InfeasibleError):
        out.append(replace(problem, privacy=problem.joint, second=None, profile=None))
        out.append(replace(problem, privacy=_implying(problem), second=None, profile=None))
    return out


def _implying(problem: NoiseProblem) -> Privacy:
    """A pair (ε, δ) with a small δ that implies all pairs of the problem, as far as the ranges allow: an (ε, δ)-DP law
    has at most δ + (1 − δ)(e^ε − e^ε′)/(e^ε + 1) at ε′ ≤ ε, which is what randomised response has."""
    delta = max(0.5 * min(p.delta for p in problem.privacies), DELTA_RANGE[0])
    # The 1e-9 is for rounding.
    rooms = [(max((p.delta - delta) / (1 - delta) - 1e-9, 0.0), p) for p in problem.privacies]
    epsilon = min(math.log((room + p.amplification) / (1 - room)) for room, p in rooms)
    return Privacy(epsilon if epsilon >= EPSILON_RANGE[0] else 0.0, delta)


def level_parts(problem: NoiseProblem) -> list[NoiseProblem]:
    """The problem with each stretch where the loss is least as its support, points left out: no noise law does better
    than one that fits into a stretch. Of mirror images and monotone laws the one around the minimiser."""
    (lo, hi), loss = problem.support, problem.loss
    best, least = loss.minimiser(lo, hi)
    stretches: list[tuple[float, float]] = []
    for piece in loss.pieces:
        if piece.coefficient != 0 or piece.constant != least:
            continue
        joined = bool(stretches) and stretches[-1][1] == piece.lo
        begin = stretches.pop()[0] if joined else piece.lo
        stretches.append((begin, piece.hi))
    found = []
    for begin, end in stretches:
        part = max(begin, lo), min(end, hi)
        if part[0] < part[1] and (begin <= best <= end or not (problem.folds or problem.monotone)):
            with contextlib.suppress(InputError):
                found.append(replace(problem, support=part))
    return found


FAR = 1e5
"""A law on a plateau without end uncovers δ divided by this."""


def far_uniform(problem: NoiseProblem) -> PiecewiseNoise | None:
    """For a loss that stays level towards an open end of the support: a uniform law so long that it uncovers next to
    nothing, and an atom of about δ at the minimiser, which costs (1 − δ) times the level, whatever ε is. None for
    other losses."""
    delta, (lo, hi) = problem.privacy.delta, problem.support
    first, last = problem.loss.pieces[0], problem.loss.pieces[-1]
    ends = [
        (p.constant, side)
        for p, side, end in ((first, -1, lo), (last, 1, hi))
        if p.coefficient == 0 and math.isinf(end)
    ]
    if not ends or delta < FAR_FROM:
        return None
    resolution = 1 << 16
    units, side = math.ceil(FAR / delta) * resolution, min(ends)[1]
    atom = delta * (1 - 1.01 / FAR) - AUDIT_ROOM
    return PiecewiseNoise.from_masses(
        sensitivity=problem.sensitivity,
        resolution=resolution,
        breaks=[0, units] if side > 0 else [-units, 0],
        masses=[1 - atom],
        atom=atom,
        origin=top_of(problem),
        name="Uniform, with an atom",
        monotone=problem.monotone,
    )


FAR_FROM = 1e-6
"""From this δ on an atom saves more than what is told apart."""


def uniform(problem: NoiseProblem) -> PiecewiseNoise | None:
    """The uniform law of width D/δ, as near to the minimiser as the support allows: a shift of D uncovers a share δ."""
    return _uniform(problem, problem.support)


def _uniform(problem: NoiseProblem, support: tuple[float, float]) -> PiecewiseNoise | None:
    delta = min(decimal(problem.privacy.delta), Fraction(problem.privacy.delta))
    resolution = delta.numerator * -(-FINE // delta.numerator)  # then D/δ is a whole number of units
    if resolution > MOST_UNITS * delta:
        resolution = min(FINE, math.floor(MOST_UNITS * delta) - 1)
    units = math.ceil(resolution / delta)
    units += units % 2 * problem.folds
    law = Uniform(0.5 * units / resolution * problem.sensitivity)
    place = _placed(problem, support, resolution, units, law)
    if place is None:
        return None
    return PiecewiseNoise.from_masses(
        sensitivity=problem.sensitivity,
        resolution=resolution,
        breaks=[place[1], place[1] + units],
        masses=[1.0],
        origin=place[0],
        name="Uniform",
    )
