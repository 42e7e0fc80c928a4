"""The optimal noise where a second pair has κ = 0: (ε, δ)-DP, in the worst case (ε₂, 0)-DP [method: constraints].

No law may end and none may have an atom, for densities at most D apart differ by e^ε₂ at most. Lower bounds are those
of `additive`, with rows r_i ≤ e^ε₂ r_{i−j} that have no slack. Upper bounds are laws on cells with a *spike*, a narrow
cell in place of the atom, whose ends go on as they must.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .. import audit
from ..audit_shape import keeps_shape
from ..loss.cells import means as cell_means
from ..noise.base import Noise
from ..noise.flanked import FlankedNoise
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..noise.whole import TOTAL
from ..privacy import DELTA_RANGE, Privacy
from ..problem import NoiseProblem
from . import laws
from .additive import STAIRCASE_BELOW, STAIRCASE_FROM, Search
from .lattice import Array, Lattice
from .mesh import Grading
from .program import LatticeProgram, Outcome, Seed
from .step import AUDIT_ROOM, Limits, Step, Window, origin_of, places_of, reference_density, seed_of
from .upper import NO_ATOM, cell_lattice, fallen, fitted

ROOM = 1e-9
"""Taken off e^ε₂, relatively, for what a program and whole weights round; more where that is not enough."""

THIN = 1e-3
"""Share of δ that may lie beyond a window: what is there follows from what is inside."""

NARROWEST = 1 << 20
"""Most times that a spike is narrower than a cell."""

TRIES = 8
"""How often a law that the audit refuses is given more room."""

COARSE = 4
"""Cells per sensitivity of laws to start from."""


def worst_pair(problem: NoiseProblem) -> Privacy | None:
    """The pair with δ = 0 next to another pair; None if there is none."""
    pairs = problem.simplified.privacies
    return next((p for p in pairs if p.delta == 0), None) if len(pairs) > 1 else None


class CoveredSearch(Search):
    """The search of `additive` with laws that reach to infinity."""

    @cached_property
    def _pure(self) -> Privacy:
        found = worst_pair(self.problem)
        assert found is not None
        return found

    @cached_property
    def _outline(self) -> NoiseProblem:
        """A problem whose laws have a bounded support and look alike."""
        kappa = max(THIN * self.problem.privacy.delta, DELTA_RANGE[0])
        return replace(self.problem, second=Privacy(self._pure.epsilon, kappa))

    def _start(self, thrifty: Noise | None = None) -> tuple[float, ...]:
        """Offer the staircase for ε with a spike and without, and truncated geometric laws whose ends go on; prove what
        every (ε₂, 0)-DP law pays. Returns how far the steps of the staircase are from 0, in sensitivities."""
        problem, privacy = self.problem, self.problem.privacy
        single = replace(problem, second=None)
        worst = laws.pure_lower(replace(single, privacy=self._pure))
        self.lower = max(self.lower, worst or 0.0)
        staircase = None
        if privacy.epsilon:
            staircase = self._unbounded_staircase(single)
            for mass in (0.0, privacy.delta - AUDIT_ROOM):
                self._offer(_spiked(problem, staircase, max(mass, 0.0), self._pure))
            if self.best is not None:
                at_best = problem.loss.infimum(*problem.support)
                ideal = (1 - privacy.delta) * staircase.expected_loss(problem.loss) + privacy.delta * at_best
                self._staircase_fits = self.upper <= (1 + 0.1 * self.settings.gap) * ideal
        self._prove_closed(single)
        for share in (0.97, 0.8, 0.3):
            if self._offer(_gone_on(problem, share, self._pure)):
                break
        return self._steps_of(staircase, privacy.epsilon)

    def _uppers(self, steps: tuple[float, ...]) -> tuple[str, ...]:
        privacy = self.problem.privacy
        large = privacy.epsilon >= STAIRCASE_FROM and self.problem.paid_loss.grows_from_zero
        if self._staircase_fits and (large or privacy.delta < STAIRCASE_BELOW):
            return ()
        fixed = self.problem.monotone and not self.problem.folds
        return ("offset",) if fixed or not self.problem.paid_loss.continuous else ("centred", "offset")

    def _by_groups(self, *, programs: bool = True) -> None:
        """Prove a lower bound by groups, from the first pair alone."""
        if self.best is not None:
            delta = min(self.problem.privacy.delta, 0.5)
            one = replace(self.problem, second=None)
            self._prove_by_groups(one, self.best.noise.interval(1 - delta), programs=programs)

    def _upper_step(
        self, k: int, edge: int, window: Window, seed: Seed | None, limits: Limits, narrowing: Grading | None
    ) -> Step:
        known = self.best.noise if self.best else None
        return covered_step(self.problem, self._pure, k, edge, window, seed, limits, known)


# Laws -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bounded:
    """Masses on a lattice of cells, of any sum, and of a spike around the origin, `narrow` times narrower than a cell;
    1: no spike."""

    lattice: Lattice
    masses: Array
    spike: float = 0.0
    narrow: int = 1

    def gone_on(self, ratio: float) -> Bounded:
        """The least law above this one whose densities at most a sensitivity apart differ by a factor of at most
        1/ratio, on a sensitivity more on either side. Further out the least one repeats itself, times the ratio, from
        one sensitivity to the next."""
        lattice, k = self.lattice, self.lattice.k
        wider = replace(lattice, first=lattice.first - k, last=lattice.last + k, event_first=lattice.event_first - k,
                        event_last=lattice.event_last + k)  # fmt: skip
        masses = np.pad(self.masses, k)
        here = (wider.indices >= -lattice.edge) & (wider.indices <= 0)  # the cells that the spike is in
        near = (wider.indices >= -lattice.edge - k) & (wider.indices <= k)
        for _ in range(TRIES):
            if self.spike:
                own = self.spike * self.narrow
                masses[here] = np.maximum(masses[here], ratio / (1 - ratio) * own)  # it covers what the spike is on
                masses[near] = np.maximum(masses[near], ratio * (masses[here].max() + own))
            before, periods = masses, 1
            while periods * k < 2 * len(masses):  # then nothing is out of reach
                masses = np.maximum(masses, ratio**periods * _largest_within(masses, periods * k))
                periods *= 2
            if masses[here].max() <= before[here].max():
                break
        return replace(self, lattice=wider, masses=masses)

    def whole(self, ratio: float) -> float:
        """The sum of all masses of a law that `gone_on` made, flanks included."""
        k, masses = self.lattice.k, self.masses
        return math.fsum([*masses[k:-k], self.spike, *(np.append(masses[:k], masses[-k:]) / (1 - ratio))])

    def shortfalls(self, amplification: float, ratio: float) -> Array:
        """Shortfalls of a law that `gone_on` made, at every shift of the lattice; the spike is covered by nothing."""
        k = self.lattice.k
        masses = np.concatenate([ratio * self.masses[:k], self.masses, ratio * self.masses[-k:]])
        wider = replace(self.lattice, first=self.lattice.first - k, last=self.lattice.last + k)
        inner = replace(wider, event_first=wider.event_first + k, event_last=wider.event_last - k)
        within, all_of_it = (lattice.shortfalls(masses, amplification) for lattice in (inner, wider))
        found: Array = within + (all_of_it - within) / (1 - ratio) + self.spike
        return found

    def noise(self, problem: NoiseProblem, ratio_weight: int) -> FlankedNoise:
        """The law that `gone_on` made, in whole numbers."""
        lattice, k, narrow = self.lattice, self.lattice.k, self.narrow
        masses, breaks = self.masses.copy(), lattice.ends * narrow
        stays = (TOTAL - ratio_weight) / TOTAL
        masses[:k], masses[-k:] = masses[:k] / stays, masses[-k:] / stays
        if self.spike:
            at, width = int(np.searchsorted(breaks, 0, side="right")) - 1, 2 * narrow
            near = masses[at - lattice.edge : at + 1]  # the cell around the origin, or those on either side of it
            beside = (narrow - 1) / width if not lattice.edge else (width - 1) / width
            inside = near[0] / narrow if not lattice.edge else near.sum() / width
            pieces = [near[0] * beside, inside + self.spike, near[-1] * beside]
            masses = np.concatenate([masses[: at - lattice.edge], pieces, masses[at + 1 :]])
            breaks = np.concatenate([breaks[: at + 1 - lattice.edge], [-1, 1], breaks[at + 1 :]])
        core = PiecewiseNoise.from_masses(
            sensitivity=problem.sensitivity, resolution=2 * k * narrow, breaks=breaks, masses=masses,
            origin=origin_of(problem),
        )  # fmt: skip
        return FlankedNoise(core, ratio_weight)


def _largest_within(values: Array, reach: int) -> Array:
    """The largest value at most `reach` places away, of values ≥ 0, by running maxima of blocks from either end."""
    width = 2 * reach + 1
    blocks = -(-(len(values) + 2 * reach) // width)
    padded = np.zeros((blocks, width))
    padded.ravel()[reach : reach + len(values)] = values
    before = np.maximum.accumulate(padded, axis=1).ravel()
    after = np.maximum.accumulate(padded[:, ::-1], axis=1)[:, ::-1].ravel()
    return np.maximum(after[: len(values)], before[width - 1 : width - 1 + len(values)])


def ratio_of(pure: Privacy) -> int:
    """e^−ε₂ in 2^−62, rounded up."""
    return min(math.ceil(TOTAL * math.exp(-pure.epsilon) * (1 + ROOM)), TOTAL - 1)


def _spiked(problem: NoiseProblem, staircase: Staircase, mass: float, pure: Privacy) -> FlankedNoise | None:
    """(1 − mass)·staircase + mass·(a spike at the loss's minimiser, as narrow as e^ε₂ allows); None where it would have
    to be wide."""
    D, resolution = problem.sensitivity, laws.FINE
    best = 0.0 if problem.folds or problem.monotone else problem.loss.minimiser()[0]
    middle = round((staircase.location - best) / D * resolution)
    half = min(max(round(staircase.gamma * resolution), 1), resolution - 1)
    periods = 2 + math.ceil(abs(middle) / resolution)
    steps = half + resolution * np.arange(periods + 1, dtype=np.int64)
    breaks, levels = np.concatenate([middle - steps[::-1], middle + steps]), np.arange(periods, -1, -1)
    heights = np.exp(-problem.privacy.epsilon * np.concatenate([levels, levels[-2::-1]]))
    ratio = min(math.ceil(TOTAL * math.exp(-problem.privacy.epsilon)), TOTAL - 1)
    masses = heights * np.diff(breaks)
    masses[[0, -1]] /= (TOTAL - ratio) / TOTAL
    total = math.fsum(masses)
    if mass:
        heights *= (1 - mass) / total
        near = (breaks[1:] > -resolution) & (breaks[:-1] < resolution)
        room = heights[near].min() * math.exp(pure.epsilon) * (1 - 1e-6) - heights.max()
        width = 2 * math.ceil(mass / (2 * room)) if room > 0 else resolution
        if width >= resolution // 2:
            return None
        ends = np.array([-width // 2, width // 2])
        cut = np.union1d(breaks, ends)
        at = np.searchsorted(breaks, cut[:-1], side="right") - 1
        inside = (cut[:-1] >= ends[0]) & (cut[:-1] < ends[1])
        shares = np.diff(cut) / np.diff(breaks)[at]
        masses = masses[at] * shares * (1 - mass) / total + np.where(inside, mass * np.diff(cut) / width, 0.0)
        breaks = cut
    core = PiecewiseNoise.from_masses(
        sensitivity=D, resolution=resolution, breaks=breaks, masses=masses, origin=best, name="Staircase with spike"
    )
    return FlankedNoise(core, ratio)


def _gone_on(problem: NoiseProblem, share: float, pure: Privacy) -> FlankedNoise | None:
    """Truncated geometric noise (uniform for ε = 0) for a share of δ, its ends gone on."""
    privacy = problem.privacy
    reach = privacy.truncation(share * privacy.delta)
    k = max(1, min(COARSE, int(500 / reach)))
    centre = 0.0 if problem.folds or problem.monotone else problem.loss.minimiser()[0]
    lattice = cell_lattice(problem, k, 1, Window(centre - reach, centre + reach))
    if lattice is None:
        return None
    ratio, room = ratio_of(pure), 1 + 4 * ROOM
    law = Bounded(lattice, laws.geometric(lattice, privacy.epsilon, -0.5))
    return law.gone_on(ratio / TOTAL * room).noise(problem, ratio)


# Programs -------------------------------------------------------------------------------------------------------


def covered_step(
    problem: NoiseProblem,
    pure: Privacy,
    k: int,
    edge: int,
    window: Window,
    seed: Seed | None,
    limits: Limits,
    known: Noise | None,
) -> Step:
    """A law constant on cells, k per sensitivity, with a spike, its ends gone on, audited and repaired.

    edge : 0 centres a cell at the origin, 1 puts a cell edge there.   known : a law to guess the spike's width from.
    """
    lattice = cell_lattice(problem, k, edge, window)
    if lattice is None:
        return Step(k, edge, math.inf, None, math.inf, 0.0, False, seed, window, 0, 0, "no cell fits")
    loss, D, privacy = problem.paid_loss, problem.sensitivity, problem.privacy
    cells = places_of(problem, 2 * k, lattice.ends)
    costs, narrow = cell_means(loss, cells), _narrow(problem, pure, k, known)
    spike = places_of(problem, 2 * k * narrow, [-1, 1])
    growth = pure.amplification * (1 - 10 * ROOM)
    program = LatticeProgram(
        lattice,
        costs[lattice.representatives],
        privacy.amplification,
        privacy.delta,
        limits.scale,
        reference_density(problem, 0.5 * (cells.floats[1:] + cells.floats[:-1]) / D),
        atom_cost=float(cell_means(loss, spike)[0]) if narrow > 1 else None,
        monotone=problem.monotone,
        further=((growth, 0.0),),
    )
    if narrow > 1:
        program.add_spike(growth, narrow)
    program.start(seed, limits.deadline)
    outcome = program.solve(limits.deadline, limits.stop, enough=lambda _: False)
    noise, delta_upper, worst_shift, repaired = None, math.inf, 0.0, False
    if outcome.status == "optimal":
        noise, delta_upper, worst_shift, repaired = _certified(problem, pure, lattice, outcome, narrow)
    bound = audit.loss_upper(noise, problem.loss) if noise is not None else math.inf
    window = fitted(window, lattice, outcome, problem, origin_of(problem) / D)
    return Step(
        k, edge, bound, noise, delta_upper, worst_shift, repaired, seed_of(lattice, outcome), window,
        len(costs), outcome.pairs, outcome.status,
    )  # fmt: skip


def _narrow(problem: NoiseProblem, pure: Privacy, k: int, known: Noise | None) -> int:
    """How many times narrower than a cell a spike of mass δ may be where densities are those of a known law."""
    if known is None:
        return 1
    D, origin = problem.sensitivity, origin_of(problem)
    least = float(known.density(origin + D * np.array([-1.0, 1.0])).min()) * D / k  # per cell
    wanted = pure.amplification * least / problem.privacy.delta
    return int(2 ** math.floor(math.log2(min(wanted, NARROWEST)))) if wanted >= 2 else 1


def _certified(
    problem: NoiseProblem, pure: Privacy, lattice: Lattice, outcome: Outcome, narrow: int
) -> tuple[FlankedNoise | None, float, float, bool]:
    """(noise, its δ rounded up, worst shift, repaired): the program's law, its ends gone on, mixed with a geometric one
    by as little as makes the audited δ at most the problem's."""
    privacy, ratio = problem.privacy, ratio_of(pure)
    masses, spike = lattice.unfold(outcome.masses), outcome.atom
    total = math.fsum(masses) + spike
    masses, spike = masses / total, spike / total if spike > NO_ATOM else 0.0
    if problem.monotone:
        masses = fallen(masses, lattice)
    strict = laws.geometric(lattice, privacy.epsilon, -0.5 * lattice.edge)
    for attempt in range(TRIES):
        room = ROOM * 8**attempt
        fall = ratio / TOTAL * (1 + 4 * room)
        own, other = (
            Bounded(lattice, part, mass, narrow).gone_on(fall) for part, mass in ((masses, spike), (strict, 0.0))
        )
        sums = own.whole(ratio / TOTAL), other.whole(ratio / TOTAL)
        found, least = (
            law.shortfalls(privacy.amplification, ratio / TOTAL) / total for law, total in zip((own, other), sums)
        )
        most = privacy.delta * (1 - room) - AUDIT_ROOM
        share = laws.strict_share(found, least, most, least < most)
        mixed = replace(
            own,
            masses=(1 - share) / sums[0] * own.masses + share / sums[1] * other.masses,
            spike=(1 - share) / sums[0] * own.spike,
        )
        noise = mixed.noise(problem, ratio)
        if audit.pure_from_upper(noise) <= pure.epsilon and keeps_shape(noise, problem):
            delta_upper, worst_shift = audit.shortfall_upper(noise, privacy.epsilon)
            if delta_upper <= privacy.delta:
                return noise, delta_upper, worst_shift, share > 0
    return None, math.inf, 0.0, False
