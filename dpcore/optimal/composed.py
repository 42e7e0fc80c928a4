"""The best noise found for many releases that are (ε, δ)-DP together, and what no noise can undercut.

δ of the composition depends on the law through its curve δ̄(ε′): with S the loss of the other releases, it is
E δ̄(ε − S), linear in the curve of one release while the others stay. So a program in which the shortfalls at many ε′
share one limit, weighed with the probabilities of S, improves the law; S is then taken from the new one, and so on.
Whatever comes out is composed by the accountant before it counts [method: A whole profile].
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace

import numpy as np

from .. import audit
from ..accounting.curves import dominating_curve_upper
from ..audit_composed import Losses, grid_step
from ..audit_profile import ProfileProof
from ..audit_shape import keeps_shape
from ..errors import InputError, SolverError
from ..loss.cells import means as cell_means
from ..noise.laplace import Laplace
from ..noise.piecewise import PiecewiseNoise
from ..privacy import DELTA_RANGE, EPSILON_RANGE, Privacy
from ..privacy_profile import Composed, PairList
from ..problem import NoiseProblem, SolverSettings
from ..search import bisection, geometric
from ..solution import Certificate, Solution
from .additive import Search
from .anytime import Anytime, ProgressCallback
from .binary import binary_pairs
from .lattice import Array, Lattice
from .laws import best_staircase, staircase_with_atom
from .lower import lower_step
from .polygons import sums_at
from .program import LatticeProgram, Seed
from .step import LEAST_DELTA, Window, origin_of, places_of, reference_density, seed_of

STAGES = ((6, 20), (12, 32), (24, 48))
"""(cells per σ of the Gaussian, number of ε′) of the programs, from coarse to fine."""

MOST_CELLS = 20_000
"""On one side of a closed form."""

TURNS, CORRECTIONS = 3, 5
"""How often the other releases are updated, and how often a limit is corrected until the accountant agrees."""

MUCH, LITTLE = 0.98, 0.01
"""Shares of δ that the atom beside a staircase costs."""

WORTHWHILE, NARROWEST = 0.998, 1e-3
"""A Laplace law is offered where it costs less than this share of the best so far, and its scale sought so closely."""

SPENT, OVERSHOOT = 0.999, 1.05
"""Share of δ that a corrected limit is to spend, and by how much more than the rest a limit moves."""

NARROWINGS = 9
"""Halvings of the interval in which the ε of the best staircase is."""


@dataclass(frozen=True)
class _Found:
    """A law and its audited figures."""

    noise: PiecewiseNoise
    upper: float
    delta: float
    source: str


class ComposedSearch(Anytime[NoiseProblem, Solution]):
    """The state of one solve."""

    def __init__(
        self, problem: NoiseProblem, settings: SolverSettings, progress: ProgressCallback | None = None
    ) -> None:
        super().__init__(problem, settings, progress, settings.gap)
        self.profile: Composed = problem.profile  # type: ignore[assignment]  # `solve` sends no other here
        self.best: _Found | None = None
        self._centre: _Found | None = None

    def run(self) -> Solution:
        """The Gaussian, the staircase, the Laplace law and the optimum of one release, as wide as the accountant asks
        for; then programs."""
        sigma = 1 / self.profile.sufficient.mu
        k = max(1, round(16 / sigma))
        self._offer_gaussian(max(1, round(64 / sigma)), sigma)
        self._report()
        gaussian = self._centre
        self._offer_staircase()
        self._report()
        self._lower(max(1, round(STAGES[0][0] / sigma)), 12)
        self._offer_split()
        self._report()
        self._offer_laplace(k)
        self._report()
        self._centre = gaussian or self.best
        if self.best is None:
            raise InputError(
                "profile", self.profile.spec, "fewer releases or a larger delta: no law could be certified"
            )
        for per_sigma, count in STAGES:
            if self._over:
                break
            if (per_sigma, count) != STAGES[0]:
                self._centre = self.best
            k = max(1, round(per_sigma / sigma))
            self._improve(k, count)
            self._lower(k, count)
        return self._solution()

    # Laws --------------------------------------------------------------------------------------------

    def _delta(self, noise: PiecewiseNoise) -> tuple[float, Losses]:
        """δ of all releases together, rounded up, and the loss of one."""
        step = grid_step(self.profile.releases, self.profile.privacy.epsilon)
        losses = Losses.of(noise, step)
        return losses.delta_upper(self.profile.releases, self.profile.privacy.epsilon), losses

    def _law(self, lattice: Lattice, masses: Array, name: str = "Optimal") -> PiecewiseNoise:
        origin = origin_of(self.problem)
        return PiecewiseNoise.from_masses(
            sensitivity=self.problem.sensitivity,
            resolution=2 * lattice.k,
            breaks=lattice.ends,
            masses=masses,
            origin=origin,
            name=name,
            monotone=self.problem.monotone,
        )

    def _offer(self, noise: PiecewiseNoise, source: str) -> tuple[float, Losses]:
        """Compose the law and keep it if it keeps the promise and is the best so far."""
        delta, losses = self._delta(noise)
        found = _Found(noise, audit.loss_upper(noise, self.problem.loss), delta, source)
        if delta <= self.profile.privacy.delta and keeps_shape(noise, self.problem):
            self.best = found if found.upper < self.upper else self.best
            self._centre = found if self._centre is None or found.upper < self._centre.upper else self._centre
        return delta, losses

    def _on_cells(self, weight: Callable[[Array], Array], scale: float, reach: float, k: int) -> PiecewiseNoise | None:
        """The law ∝ weight(x/scale) on cells, cut off at reach·scale; None if that takes too many cells."""
        half = math.ceil(reach * scale * k)
        if half > MOST_CELLS:
            return None
        i = np.arange(-half, half + 1)
        return self._law(Lattice(k, -half, half, -half, half, False), weight(i / (k * scale)), "On cells")

    def _offer_gaussian(self, k: int, sigma: float) -> None:
        """Wider than the exact one by what rounding to cells and the accountant's grid cost."""
        for wider in (1.00005, 1.0002, 1.0005, 1.002, 1.01, 1.05, 1.3):
            noise = self._on_cells(lambda y: np.exp(-0.5 * y * y), wider * sigma, 8.5, k)
            if noise is not None and self._offer(noise, "closed form")[0] <= self.profile.privacy.delta:
                return

    def _offer_staircase(self) -> None:
        """The staircase that basic composition allows, then the narrowest one that the accountant does, each with what
        is left of δ in an atom, so that no textbook staircase costs less: one whose ε is that of a coin on the curve
        for one release keeps the promise, and so does one below the curve."""
        profile = self.profile
        epsilon, delta = (x / profile.releases for x in astuple(profile.privacy))
        chance = math.erfc(-profile.sufficient.mu / 8**0.5) / 2
        coin = math.log(chance / (1 - chance))
        for share in (MUCH, LITTLE):
            if epsilon >= EPSILON_RANGE[0]:
                self._staircase(epsilon, share * delta)
        low = max(epsilon, coin)
        ended = lambda a, b: self._over or not EPSILON_RANGE[0] <= geometric(a, b) <= EPSILON_RANGE[1]  # noqa: E731
        offered = lambda middle: self._staircase(middle, LITTLE * delta)  # noqa: E731
        bisection(offered, low, 2 * low, mean=geometric, near=ended, rounds=NARROWINGS)

    def _staircase(self, epsilon: float, delta: float) -> bool:
        """Offer the staircase at ε with an atom that costs δ; True if it keeps the promise or need not."""
        one = replace(self.problem, privacy=Privacy(epsilon, max(delta, DELTA_RANGE[0])), profile=None)
        noise = staircase_with_atom(one, best_staircase(one), delta)
        if audit.loss_upper(noise, self.problem.loss) >= self.upper:
            return True
        return self._offer(noise, "closed form")[0] <= self.profile.privacy.delta

    def _offer_laplace(self, k: int) -> None:
        """The narrowest Laplace law that keeps the promise, if one that costs less than the best so far does."""
        reach = 14 + math.log(self.profile.releases / self.profile.privacy.delta)
        low, high = 0.0, 1.0

        def cost(scale: float) -> float:
            return Laplace(self.problem.sensitivity * scale).expected_loss(self.problem.loss)

        while cost(2 * high) < self.upper < math.inf:
            high *= 2
        while cost(high) >= WORTHWHILE * self.upper and high > NARROWEST:
            high *= 0.9
        for _ in range(12):
            scale = 0.5 * (low + high) if low else high
            noise = self._on_cells(lambda y: np.exp(-np.abs(y)), scale, reach, k)
            if noise is None or self._stop() or high - low < NARROWEST * high:
                return
            if self._offer(noise, "closed form")[0] <= self.profile.privacy.delta:
                low, high = low or NARROWEST * scale, scale
            elif low == 0:
                return
            else:
                low = scale

    def _offer_split(self) -> None:
        """The optimum for one release at (ε/T, δ/T): basic composition, best where T is small and δ tiny."""
        epsilon, delta = (x / self.profile.releases for x in astuple(self.profile.privacy))
        delta *= 0.99  # room for what the accountant rounds up
        if epsilon < EPSILON_RANGE[0] or delta < DELTA_RANGE[0] or self._over:
            return
        one = replace(self.problem, privacy=Privacy(epsilon, delta), profile=None)
        settings = replace(self.settings, gap=2e-3, time_limit=0.2 * self.settings.time_limit)
        noise = Search(one, settings, lambda _: self._stop()).run().noise
        if isinstance(noise, PiecewiseNoise) and audit.loss_upper(noise, self.problem.loss) < self.upper:
            self._offer(noise, "optimum of one release")

    # Programs ----------------------------------------------------------------------------------------

    def _lower(self, k: int, count: int) -> None:
        """A lower bound from what yes-or-no answers of one release must keep."""
        pairs = PairList(binary_pairs(self.profile, self.profile.sufficient.places(count), self._stop))
        problem = replace(self.problem, privacy=pairs.pairs[0], profile=pairs)
        window = self._window()
        step = lower_step(problem, k, window, None, self._limits)
        self.lower = max(self.lower, step.bound)
        self._cells, self._pairs = max(self._cells, step.cells), self._pairs + step.pairs
        self._report()

    def _window(self) -> Window:
        """Where the best law has its mass, in sensitivities."""
        if self.best is None:
            return Window(-6 / self.profile.sufficient.mu, 6 / self.profile.sufficient.mu)
        left, right = (float(x) / self.problem.sensitivity for x in self.best.noise.interval(1 - 1e-6))
        return Window(-max(-left, right), max(-left, right))

    @property
    def _around(self) -> _Found:
        """The law around which programs look."""
        if self._centre is None:
            raise ValueError("no law was offered yet")
        return self._centre

    def _improve(self, k: int, count: int) -> None:
        """Programs around the best law, until they bring nothing more."""
        ends = self._around.noise.support
        reach = max(abs(e) for e in ends) / self.problem.sensitivity
        half = math.ceil(reach * k)
        folds = self.problem.folds
        edge = int(self.problem.monotone and not folds)  # the cell around 0 need not be the highest on both sides
        lattice = Lattice(k, -half, half - edge, -half, half - edge, folds, edge)
        epsilons = self._levels(count)
        seed: Seed | None = None
        for _ in range(TURNS):
            if self._over:
                return
            before = self._around.upper
            seed = self._turn(lattice, epsilons, seed)
            if seed is None or not self._around.upper < before * (1 - 0.1 * self._goal):
                return

    def _levels(self, count: int) -> Array:
        """ε′ from 0 to where a release of the best law has next to nothing left, denser near 0, and the promise's own
        ε."""
        losses = np.linspace(0, 40, 4001)
        curve = dominating_curve_upper(self._around.noise, losses)
        enough = 1e-3 * self.profile.privacy.delta / self.profile.releases  # next to nothing
        last = max(float(losses[np.argmax(curve <= max(enough, 1.01 * curve[-1]))]), 0.02)
        levels = last * np.linspace(0, 1, count) ** 1.5
        own = self.profile.privacy.epsilon
        return np.unique(np.append(levels, own)) if own < last else np.append(levels, own)

    def _turn(self, lattice: Lattice, epsilons: Array, seed: Seed | None) -> Seed | None:
        """One program with the other releases as the best law has them; its limit is corrected until the accountant
        agrees. Returns its seed, None if it brought no law."""
        profile, problem, D = self.profile, self.problem, self.problem.sensitivity
        goal = profile.privacy.delta
        losses = self._delta(self._around.noise)[1]
        values, shares = losses.sums(profile.releases - 1, profile.privacy.epsilon)
        weights = exchange_weights(values, shares, profile.privacy.epsilon, epsilons)
        curve = np.maximum(dominating_curve_upper(self._around.noise, epsilons), 1e-12)  # rows must not vanish
        most = float(weights @ curve) + (goal - self._around.delta) / profile.releases
        cells = places_of(problem, 2 * lattice.k, lattice.ends)
        costs = cell_means(problem.paid_loss, cells)
        deltas = np.maximum(curve, LEAST_DELTA)
        for _ in range(CORRECTIONS):
            if self._over:
                return seed
            program = LatticeProgram(
                lattice,
                costs[lattice.representatives],
                math.exp(epsilons[0]),
                float(deltas[0]),
                self.upper,
                reference_density(problem, 0.5 * (cells.floats[1:] + cells.floats[:-1]) / D),
                monotone=problem.monotone,
                further=tuple((math.exp(e), float(d)) for e, d in zip(epsilons[1:], deltas[1:])),
                exchange=(weights, most),
            )
            program.start(seed, self._deadline)
            outcome = program.solve(self._deadline, self._stop, enough=lambda _: False)
            self._cells, self._pairs = max(self._cells, lattice.classes), self._pairs + outcome.pairs
            if outcome.status != "optimal":
                return None
            seed = seed_of(lattice, outcome)
            delta, _ = self._offer(self._law(lattice, lattice.unfold(outcome.masses)), "linear program")
            self._report()
            if delta <= goal and delta >= SPENT * goal:
                break
            aim = 0.5 * (1 + SPENT) * goal
            most = max(most - OVERSHOOT * (delta - aim) / profile.releases, 0.5 * most)
        return seed

    # The answer --------------------------------------------------------------------------------------

    def _solution(self) -> Solution:
        found, problem = self.best, self.problem
        if found is None:
            raise SolverError("no law could be certified")
        noise, privacy = found.noise, problem.privacy
        delta, shift = audit.shortfall_upper(noise, privacy.epsilon)
        proof = ProfileProof((), (privacy.epsilon,), (found.delta,), (privacy.delta,), math.inf)
        certificate = Certificate(self.lower, found.upper, delta, shift, profile=proof)
        seconds = time.perf_counter() - self._began
        shifts = len(audit.candidate_shifts(noise, noise.resolution))
        trace = (*self._trace, self._record())
        return Solution(
            problem, self.settings, noise, certificate, trace, seconds, len(noise.weights), shifts, found.source
        )


def exchange_weights(values: Array, probabilities: Array, epsilon: float, epsilons: Array) -> Array:
    """What δ̄ at each of the given ε′ counts in E δ̄(ε − S), S with these values and probabilities.

    δ̄ is taken between two ε′ on its chord (in e^ε′), beyond the last as there; at negative arguments
    δ̄(−ε′) = 1 − e^−ε′ + e^−ε′ δ̄(ε′), of which only the last part depends on the law.
    """
    at = np.abs(epsilon - values)
    share = probabilities * np.where(values > epsilon, np.exp(-at), 1.0)
    x, grid = np.exp(np.minimum(at, epsilons[-1])), np.exp(epsilons)
    right = np.clip(np.searchsorted(grid, x, side="left"), 1, len(grid) - 1)
    part = np.clip((x - grid[right - 1]) / (grid[right] - grid[right - 1]), 0.0, 1.0)
    return sums_at(right - 1, share * (1 - part), len(grid)) + sums_at(right, share * part, len(grid))
