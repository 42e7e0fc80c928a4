"""The optimal additive noise: a search over lattices that narrows a certified bracket [theory §§2–8; lowprivacy].

Every step solves one lattice program, for a lower or for an upper bound, seeded by the last one of its kind, and
hands the outcome to the auditor. The clock only ends the search; it never chooses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from .. import audit
from ..errors import InfeasibleError
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..problem import NoiseProblem, SolverSettings
from ..solution import Certificate, Progress, Solution
from . import laws
from .bounds import Step, lower_step, peak, upper_step
from .schedule import Schedule, Steps

ProgressCallback = Callable[[Progress], "bool | None"]


def solve(
    problem: NoiseProblem, settings: SolverSettings | None = None, progress: ProgressCallback | None = None
) -> Solution:
    """The least expected loss of (ε, δ)-DP additive noise, bracketed, with the law that attains the upper end.

    Parameters
    ----------
    progress : called with every improvement and, once a first law is known, about every 0.1 s; returning True stops
        the search. The answer is valid whenever it stops; stopping early only widens the gap.

    Raises
    ------
    InfeasibleError : the support leaves no (ε, δ)-DP law.
    """
    settings = settings or SolverSettings()
    if settings.method == "reference":
        from ..reference import solve_reference

        return solve_reference(problem, settings, progress)
    return Search(problem, settings, progress).run()


def solve_many(
    problems: Iterable[NoiseProblem], settings: SolverSettings | None = None, progress: ProgressCallback | None = None
) -> Iterator[Solution]:
    """Solutions in the order of the problems, each search starting from the one before it where only (ε, δ) changed.

    Sweeps should go through δ at fixed ε: in the atom regime one solve then serves all larger δ [lowprivacy T4].
    """
    settings = settings or SolverSettings()
    before: Search | None = None
    for problem in problems:
        if settings.method != "certified":
            yield solve(problem, settings, progress)
            continue
        near = before is not None and before.problem == replace(problem, privacy=before.problem.privacy)
        before = Search(problem, settings, progress, before if near else None)
        yield before.run()


PAIRS_PER_STEP = 1200
"""The scan ends at a step that needed this many pairs; from there on lattices are picked by their errors."""

EXACT = 1e-9
"""Relative accuracy granted to closed formulas."""

STAIRCASE_FROM = 8.0
"""From this ε on no program improves on the staircase with an atom."""

STAIRCASE_BELOW = 1e-9
"""Nor below this δ."""


@dataclass(frozen=True)
class _Found:
    """A law and its audited figures."""

    noise: Noise
    upper: float
    delta_upper: float
    worst_shift: float
    repaired: bool
    cells: int
    source: str


class Search:
    """The state of one solve: the best bracket so far and the steps taken."""

    def __init__(
        self,
        problem: NoiseProblem,
        settings: SolverSettings,
        progress: ProgressCallback | None = None,
        neighbour: Search | None = None,
    ) -> None:
        self.problem, self.settings, self._progress, self._neighbour = problem, settings, progress, neighbour
        self._began = time.perf_counter()
        self._deadline = self._began + settings.time_limit
        self._stopped = False
        self._steps: Steps = {"lower": [], "centred": [], "offset": []}
        self._trace: list[Progress] = []
        self._cells = self._pairs = 0
        self._goal = min(settings.gap, max(settings.gap / 2, 1e-3))  # undercutting a coarse gap costs next to nothing
        self.lower = problem.paid_loss.infimum(*problem.support)
        self.best: _Found | None = None

    def run(self) -> Solution:
        """Start from closed forms, scan coarse lattices, then refine where it promises most."""
        peak = self._start()
        self._report()
        schedule = Schedule(
            self.problem, self.settings.gap, peak, self._uppers(), self.settings.max_cells_per_sensitivity
        )
        if self._neighbour is not None:
            self._learn(schedule, self._neighbour)
        if not self._steps["lower"]:
            self._scan(schedule)
        self._refine(schedule)
        self._neighbour = None
        return self._solution()

    # Bookkeeping -------------------------------------------------------------------------------------

    @property
    def upper(self) -> float:
        return self.best.upper if self.best else math.inf

    @property
    def _over(self) -> bool:
        """The gap is closed, or somebody wants the answer now."""
        return self._stopped or self._record().gap <= self._goal or time.perf_counter() >= self._deadline

    def _record(self) -> Progress:
        return Progress(time.perf_counter() - self._began, self.lower, self.upper, self._cells, self._pairs)

    def _report(self) -> None:
        record = self._record()
        if not self._trace or (record.lower, record.upper) != (self._trace[-1].lower, self._trace[-1].upper):
            self._trace.append(record)
        self._stop()

    def _stop(self) -> bool:
        """Ask the caller; also called by the solver after every slice. Without a first law there is no stopping."""
        if self._progress is not None and math.isfinite(self.upper) and self._progress(self._record()):
            self._stopped = True
        return self._stopped

    # Closed forms ------------------------------------------------------------------------------------

    def _start(self) -> float:
        """Offer closed forms; returns the half-width of the best staircase's top step, in sensitivities."""
        problem, loss = self.problem, self.problem.paid_loss
        width = peak(problem.privacy.epsilon)
        if problem.privacy.delta == 0:
            self._start_pure()
            return width
        for noise in (laws.lossless(problem), laws.uniform(problem), laws.truncated_geometric(problem)):
            self._offer(noise)
        if problem.support == (-math.inf, math.inf) and problem.privacy.epsilon > 0:
            gamma = Staircase.calibrate(problem.privacy, problem.sensitivity, loss).gamma
            self._offer(laws.staircase_with_atom(problem, gamma))
            if problem.folds and loss.grows_from_zero:
                width = max(gamma, width)
        return width

    def _start_pure(self) -> None:
        """δ = 0: the staircase is optimal for even losses that grow away from 0 [GV14]; for others an upper bound."""
        noise = laws.pure_staircase(self.problem)
        value = noise.expected_loss(self.problem.loss)
        self.best = _Found(noise, value * (1 + EXACT), 0.0, self.problem.sensitivity, False, 0, "closed form")
        if self.problem.folds and self.problem.paid_loss.grows_from_zero:
            self.lower = max(self.lower, value * (1 - EXACT))

    def _offer(self, noise: PiecewiseNoise | None) -> None:
        """Audit a law that no program made and keep it if it is better."""
        if noise is None:
            return
        delta_upper, shift = audit.shortfall_upper(noise, self.problem.privacy.epsilon)
        upper = audit.loss_upper(noise, self.problem.loss)
        if delta_upper <= self.problem.privacy.delta and upper < self.upper:
            self.best = _Found(noise, upper, delta_upper, shift, False, len(noise.weights), "closed form")

    # Programs ----------------------------------------------------------------------------------------

    def _uppers(self) -> tuple[str, ...]:
        """Kinds of upper bounds that deserve a program. A fixed end of the support or a jump of the loss should be a
        cell edge; so should 0 for monotone laws that are not symmetric."""
        problem = self.problem
        closed = self.best is not None and problem.support == (-math.inf, math.inf)
        staircase = problem.privacy.epsilon >= STAIRCASE_FROM or problem.privacy.delta < STAIRCASE_BELOW
        if problem.privacy.delta == 0 or (closed and problem.folds and staircase):
            return ()
        fixed = not problem.folds and (problem.support != (-math.inf, math.inf) or problem.monotone)
        return ("offset",) if fixed or not problem.paid_loss.continuous else ("centred", "offset")

    def _scan(self, schedule: Schedule) -> None:
        for ks in schedule.first():
            most = 0
            for kind, k in ks.items():
                if self._over:
                    return
                if k <= schedule.finest and schedule.fits(kind, k, self._steps):
                    most = max(most, self._step(schedule, kind, k).pairs)
                else:
                    most = PAIRS_PER_STEP
            if most >= PAIRS_PER_STEP:
                return

    def _learn(self, schedule: Schedule, neighbour: Search) -> None:
        """Start from a search for another (ε, δ): its proofs and its law hold here too, after a look by the auditor,
        and its best lattices are where this search begins [lowprivacy T4]."""
        for step in sorted(neighbour._steps["lower"], key=lambda step: -step.bound)[:3]:
            if step.proof is not None:
                self.lower = max(self.lower, step.proof.lower(self.problem.privacy))
        law = neighbour.best.noise if neighbour.best else None
        if isinstance(law, PiecewiseNoise):
            spare = self.problem.privacy.delta - neighbour.problem.privacy.delta
            self._offer(law.with_atom(spare / (1 - neighbour.problem.privacy.delta)) if spare > 0 else law)
        self._report()
        for kind in schedule.kinds:
            done = [step for step in neighbour._steps[kind] if step.k <= schedule.finest]
            if done and not self._over:
                best = (max if kind == "lower" else min)(done, key=lambda step: step.bound)
                self._steps[kind].append(best)
                self._step(schedule, kind, best.k)
                self._steps[kind].remove(best)
        if self._over:  # nothing left to learn: whoever starts from here starts from there
            self._steps = {kind: self._steps[kind] or neighbour._steps[kind] for kind in self._steps}

    def _refine(self, schedule: Schedule) -> None:
        """Step after step for the side that promises the larger gain per pair; a side whose last steps brought nothing
        loses half of its promise with each."""
        idle = {("lower",): 0, schedule.uppers: 0}
        while not self._over:
            promises = []
            for side in idle:
                choice = schedule.next(side, self._steps, self.lower, self.upper)
                if choice is not None:
                    effort = max(step.pairs for step in self._steps[choice[0]])
                    promises.append((0.5 ** idle[side] / (1 + effort), side, choice))
            if not promises:
                return
            _, side, choice = max(promises)
            width = self.upper - self.lower
            self._step(schedule, *choice)
            idle[side] = idle[side] + 1 if self.upper - self.lower > 0.95 * width else 0

    def _step(self, schedule: Schedule, kind: str, k: int) -> Step:
        """One lower or upper bound on a lattice of k per sensitivity."""
        before = self._steps[kind]
        window, seed = schedule.window(kind, k, self._steps), before[-1].seed if before else None
        scale = self.upper if math.isfinite(self.upper) else 1.0
        limits = (window, seed, scale, self.settings.gap, self._deadline, self._stop)
        if kind == "lower":
            step = lower_step(self.problem, k, *limits)
            step = replace(step, window=step.window.within(schedule.widest))
            self.lower = max(self.lower, step.bound)
        else:
            step = upper_step(self.problem, k, int(kind == "offset"), *limits)
            if step.bound < self.upper:
                figures = (step.bound, step.delta_upper, step.worst_shift, step.repaired, step.cells)
                self.best = _Found(step.noise, *figures, "linear program")
        if step.status == "optimal":
            before.append(step)
        elif step.status == "infeasible" and before:  # the window was cut too short
            before[-1] = replace(before[-1], window=before[-1].window.scaled(1.5))
        self._cells, self._pairs = max(self._cells, step.cells), self._pairs + step.pairs
        self._report()
        return step

    # The answer --------------------------------------------------------------------------------------

    def _solution(self) -> Solution:
        problem, found = self.problem, self.best
        if found is None:
            lo, hi = problem.support
            enough = 2 * problem.privacy.truncation() * problem.sensitivity
            raise InfeasibleError(
                "support", f"[{lo:g}, {hi:g}]", f"room for a private law; a width of {enough:.6g} is always enough"
            )
        self._trace.append(self._record())
        certificate = Certificate(self.lower, found.upper, found.delta_upper, found.worst_shift, found.repaired)
        noise, shifts = found.noise, 0
        if isinstance(noise, PiecewiseNoise):
            shifts = len(audit.candidate_shifts(noise, noise.resolution))
        seconds = time.perf_counter() - self._began
        return Solution(
            problem, self.settings, noise, certificate, tuple(self._trace), seconds, found.cells, shifts, found.source
        )
