"""The optimal data-dependent mechanism: a search over grids that narrows a certified bracket.

Each step solves one program for a lower or an upper bound; the clock only ends the search, it never chooses.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from .._validate import decimal
from ..errors import InfeasibleError
from ..noise.piecewise import PiecewiseNoise
from ..optimal import solve as solve_independent
from ..optimal.anytime import Anytime, ProgressCallback
from ..privacy import Privacy
from ..problem import NoiseProblem, SolverSettings
from ..solution import Certificate
from ..solution import Solution as NoiseSolution
from . import referee
from .bounds import SHARING, Step, interval_step, lower_step, partition_breaks, upper_step
from .channel import Channel, Grid
from .clamped import ClampedNoise, clamped_loss_upper
from .noise_search import NoiseSearch
from .problem import WINDOW, DataDependentProblem
from .resolutions import Resolutions
from .solution import Solution
from .windows import average_delta

PAIRS_PER_STEP = 3000
"""The scan of coarse grids ends at a step whose program had this many slacks."""

ALIGNED_FROM = 2.5
"""From this ε on the bounds depend on how the steps of nearly staircase-like laws fall on the grid, so the scan leaves
out fewer grids and goes further."""

FARTHER = 1.6
"""A next grid has at most so many times the cells: a program's time grows with about their fifth power,"""

SHARED_FARTHER, BEHIND = 2.0, 1.5
"""where pairs share rates with their fourth power; there grids whose error, for their size, is at most so many times
the least one have multiples too."""

RESTING = 6
"""So many steps that brought nothing count for upper programs that channels of intervals have beaten."""

INTERVALS = "mixture of intervals"

INTERVAL_CELLS, MOST_INTERVAL_CELLS = 24, 200
"""Channels of intervals: cells per sensitivity to begin with, most cells of a grid."""

LONGEST = 4
"""On ranges of more sensitivities they are not looked at."""

PROMISING = 0.01
"""They are followed to finer grids if they cost at most this share more than the best channel."""

ROUGH, SHARP = 0.3, 1e-3
"""Relative gaps of the noise that ignores the true value: while there is nothing else to see, and in the answer."""

MOST_DELTA = 0.99
"""Largest δ at which the average of all noise is looked at."""

DEFAULT = SolverSettings(gap=1e-2, time_limit=60.0)


def solve(
    problem: DataDependentProblem, settings: SolverSettings | None = None, progress: ProgressCallback | None = None
) -> Solution:
    """The least average loss of an (ε, δ)-DP release, bracketed, with the mechanism that attains the upper end.

    Parameters
    ----------
    progress : called with every improvement and about every 0.1 s; returning True stops the search. The answer is
        valid whenever it stops; stopping early only widens the gap.

    Raises
    ------
    InfeasibleError : no mechanism keeps every true value below the instance cap.
    InputError : a partition whose ends no common grid meets.
    """
    if problem.shared == "noise":
        return NoiseSearch(problem, settings or DEFAULT, progress).run()
    return Search(problem, settings or DEFAULT, progress).run()


@dataclass(frozen=True)
class _Found:
    """A mechanism and its audited figures."""

    mechanism: Channel | ClampedNoise
    upper: float
    delta_upper: float
    worst_shift: float
    repaired: bool
    instance_upper: float
    source: str


class Search(Anytime[DataDependentProblem, Solution]):
    """The state of one solve: the best bracket so far and the steps taken."""

    def __init__(
        self, problem: DataDependentProblem, settings: SolverSettings, progress: ProgressCallback | None = None
    ) -> None:
        super().__init__(problem, settings, progress, settings.gap)
        self._grids = Resolutions(problem, settings.max_cells_per_sensitivity)
        self._steps: dict[str, list[Step]] = {"lower": [], "upper": []}
        self.best: _Found | None = None
        self.cap = problem.instance_cap if isinstance(problem.instance_cap, float) else None
        self._independent: NoiseSolution | None = None
        self._clamped_upper = math.inf

    def run(self) -> Solution:
        """Mechanisms known beforehand, a scan of coarse grids, then finer ones for the side that lags."""
        self._offer_constant()
        self._solve_independent(SHARP if self.problem.instance_cap == "auto" else ROUGH)
        self._report()
        self._average_noise()
        self._report()
        self._scan()
        self._intervals()
        if not self._stopped and time.perf_counter() < self._deadline:
            self._solve_independent(SHARP)
        self._refine()
        self._report()
        return self._solution()

    def _scan(self) -> None:
        """Coarse grids for both sides, from the coarsest on. A side that gained nothing leaves out the next grid, then
        two, then four."""
        aligned, resolution, number = self.problem.privacy.epsilon >= ALIGNED_FROM, self._grids.first(), 0
        factor, most = (1.0, 5 * PAIRS_PER_STEP) if aligned else (1.15, PAIRS_PER_STEP)
        idle, turn = {"lower": 0, "upper": 0}, {"lower": 0, "upper": 0}
        while not self._over and resolution is not None:
            pairs = 0
            for side in ("lower", "upper"):
                if self._over or number < turn[side]:
                    continue
                before = self.lower, self.upper
                pairs = max(pairs, self._step(side, resolution))
                idle[side] = 0 if (self.lower, self.upper) != before else idle[side] + 1
                turn[side] = number + 1 + 2 ** idle[side] // 2
            resolution = self._grids.following(resolution, factor) if pairs < most else None
            number += 1

    def _intervals(self) -> None:
        """Channels of intervals, which need no pairs of laws, on finer and finer grids while these promise something
        [intervals]."""
        problem = self.problem
        plain = not (problem.partition or problem.monotone or problem.ordered) and problem.instance_cap is None
        if not plain or problem.narrow or problem.width > LONGEST * decimal(problem.sensitivity):
            return
        if not ALIGNED_FROM <= problem.privacy.epsilon or problem.privacy.delta == 0:
            return
        resolution, longest = self._grids.following(INTERVAL_CELLS - 1, 1.0), INTERVAL_CELLS // 2
        while resolution is not None and not self._over:
            found = interval_step(problem, resolution, longest, self._deadline, self._stop)
            if found is None:
                return
            step, length = found
            self._take(step, INTERVALS)
            if step.bound > (1 + PROMISING) * self.upper:
                return
            finer = self._grids.following(resolution, 2.0)
            if finer is None or step.cells * finer > MOST_INTERVAL_CELLS * resolution:
                return
            resolution, longest = finer, math.ceil(1.5 * length * finer / resolution)

    # Mechanisms known beforehand ---------------------------------------------------------------------

    def _offer_constant(self) -> None:
        """The middle of the range, whatever the true value; uniform on the range for monotone laws."""
        problem = self.problem
        resolution = self._grids.first() or self._grids.unit
        if not problem.partition and not self._grids.fits_whole(resolution):
            resolution = 1  # on a long range nobody will want it, and bins need not be cells
        breaks = partition_breaks(problem, resolution)
        grid = Grid.make(problem.query_range, problem.sensitivity, resolution, breaks)
        channel = Channel.constant(grid)
        if problem.monotone:
            widths = np.array([[float(b - a) for a, b in zip(grid.edges, grid.edges[1:])]] * grid.laws)
            channel = Channel.from_masses(grid, widths, np.zeros(grid.laws), spread=True)
            if not referee.is_monotone(channel):
                return
        self._offer(channel, "the same release for every true value")

    def _offer(self, channel: Channel, source: str) -> None:
        delta_upper, pair = referee.shortfall_upper(channel, self.problem.privacy.epsilon)
        instance = referee.largest_loss_upper(channel, self.problem)
        if delta_upper > self.problem.privacy.delta or (self.problem.instance_cap == "auto" and self.cap is None):
            return
        if self.cap is None or instance <= self.cap:
            upper = referee.loss_upper(channel, self.problem)
            self._accept(
                _Found(channel, upper, delta_upper, referee.distance(channel.grid, pair), False, instance, source)
            )

    def _solve_independent(self, gap: float) -> None:
        """The optimal noise that ignores the true value, up to a relative gap: the cap `auto` and, clamped, a mechanism
        to beat."""
        problem = self.problem
        if problem.loss_below is not None:
            return  # no single noise is best for both losses
        if self._independent is not None and (self._independent.certificate.gap or 0.0) <= gap:
            return
        asked = NoiseProblem(problem.privacy, problem.sensitivity, problem.loss)
        limit = max(0.2 * self.settings.time_limit, 0.5)
        settings = SolverSettings(gap=gap, time_limit=min(limit, 5.0))
        found = solve_independent(asked, settings, lambda _: self._stop())
        self._independent, noise = found, found.noise
        self._clamped_upper = found.certificate.upper
        if isinstance(noise, PiecewiseNoise):
            self._clamped_upper = min(self._clamped_upper, clamped_loss_upper(noise, problem))
        if problem.instance_cap == "auto" and self.cap is None:
            self.cap = found.certificate.upper  # once: what is found from now on keeps to this one
            self._offer_constant()
        if problem.monotone or problem.partition or (self.cap is not None and found.certificate.upper > self.cap):
            return  # clamping piles mass up at the ends, and noise has one law per value
        certificate = found.certificate
        mechanism = ClampedNoise(noise, problem.query_range)
        self._accept(
            _Found(
                mechanism,
                self._clamped_upper,
                certificate.delta_upper,
                certificate.worst_shift,
                certificate.repaired,
                certificate.upper,
                "optimal data-independent noise, clamped to the range",
            )
        )

    def _average_noise(self) -> None:
        """On a long range the noise of all true values together is additive noise that is nearly as private, and what
        that costs at least the mechanism does [Thm 6]."""
        problem = self.problem
        delta = average_delta(problem)
        if problem.width <= WINDOW * decimal(problem.sensitivity) or problem.loss_below is not None:
            return
        if delta > min(2 * problem.privacy.delta, MOST_DELTA):
            return  # windows prove more
        privacy = Privacy(problem.privacy.epsilon, delta)
        settings = SolverSettings(gap=SHARP, time_limit=max(0.2 * self.settings.time_limit, 0.5))
        found = solve_independent(
            NoiseProblem(privacy, problem.sensitivity, problem.loss), settings, lambda _: self._stop()
        )
        self.lower = max(self.lower, found.certificate.lower or 0.0)

    def _accept(self, found: _Found) -> None:
        if found.upper < self.upper:
            self.best = found

    # Programs ----------------------------------------------------------------------------------------

    def _step(self, side: str, resolution: int) -> int:
        """One bound; returns how many slacks its program had."""
        problem, before = self.problem, self._steps[side]
        whole = [step for step in before if resolution % step.resolution == 0 and 3 * step.resolution >= resolution]
        seeds = (whole or before)[-1].seeds if before else ()  # the cells of a multiple lie inside the coarse ones
        solve_step = lower_step if side == "lower" else upper_step
        step = solve_step(problem, resolution, self.cap, seeds, self._deadline, self._stop)
        if step is None:
            return 0
        if step.finished:
            before.append(step)
        self._cells, self._pairs = max(self._cells, step.cells), max(self._pairs, step.pairs)
        if side == "lower":
            self.lower = max(self.lower, step.bound)
        self._take(step, "linear program")
        return step.pairs

    def _take(self, step: Step, source: str) -> None:
        """A step's channel, if it is the best so far."""
        if step.channel is not None and step.bound < self.upper:
            grid, instance = step.channel.grid, referee.largest_loss_upper(step.channel, self.problem)
            worst = referee.distance(grid, step.worst_pair)
            self._accept(_Found(step.channel, step.bound, step.delta_upper, worst, step.repaired, instance, source))
        self._report()

    def _refine(self) -> None:
        """Finer grids, for the side that promises more; a side whose last steps brought nothing waits."""
        beaten = self.best is not None and self.best.source == INTERVALS
        idle, exhausted = {"lower": 0, "upper": RESTING if beaten else 0}, set()
        while not self._over:
            choices = []
            for side, steps in self._steps.items():
                resolution = None if side in exhausted else self._next(side)
                if resolution is not None:
                    effort = max((step.pairs for step in steps), default=0)
                    choices.append(((1 + effort) * 2.0 ** idle[side], side, resolution))
            if not choices:
                return
            _, side, resolution = min(choices)
            width = self.upper - self.lower
            known = len(self._steps[side])
            self._step(side, resolution)
            if len(self._steps[side]) == known and not self._over:
                exhausted.add(side)  # no answer on this grid: a finer one is no easier
            idle[side] = idle[side] + 1 if self.upper - self.lower > 0.97 * width else 0

    def _next(self, side: str) -> int | None:
        """A multiple of the grid with the smallest error for its size, the optimum taken to lie in the middle of the
        bracket; for channels an odd one, whose cells have the same middles among theirs."""
        steps = self._steps[side]
        if not steps:
            return None
        largest, middle = max(step.resolution for step in steps), 0.5 * (self.lower + self.upper)
        ranked = sorted((abs(step.bound - middle) * step.resolution**2, step.resolution) for step in steps)
        shared = side == "lower" and self.problem.privacy.epsilon >= SHARING
        bases = [base for error, base in ranked if error <= BEHIND * ranked[0][0]] if shared else [ranked[0][1]]
        most = (SHARED_FARTHER if shared else FARTHER) * largest
        for wanted in (base * multiple for base in bases for multiple in ((3, 5, 7) if side == "upper" else (2, 3, 4))):
            if 1.15 * largest <= wanted <= most and self._grids.fits(wanted):
                return wanted
        return self._grids.following(largest, 1.3)

    def _solution(self) -> Solution:
        if self.best is None:
            raise InfeasibleError("instance_cap", self.cap, self._what_is_possible())
        found, mechanism = self.best, self.best.mechanism
        grid = mechanism.grid if isinstance(mechanism, Channel) else None
        certificate = Certificate(self.lower, found.upper, found.delta_upper, found.worst_shift, found.repaired)
        return Solution(
            problem=self.problem,
            settings=self.settings,
            mechanism=found.mechanism,
            certificate=certificate,
            cap=self.cap,
            instance_upper=found.instance_upper,
            independent=self._independent,
            clamped_upper=self._clamped_upper,
            trace=tuple(self._trace),
            seconds=time.perf_counter() - self._began,
            cells=grid.cells if grid else 0,
            laws=grid.laws if grid else 0,
            source=found.source,
        )

    def _what_is_possible(self) -> str:
        enough = self._independent.certificate.upper if self._independent else math.inf
        return f"at least {enough:.6g}, which noise that ignores the true value attains (no mechanism was found below)"
