"""The optimal additive noise: a search over lattices that narrows a certified bracket [theory §§2–8; lowprivacy].

Every step solves one lattice program, for a lower or for an upper bound, seeded by the last one of its kind, and
hands the outcome to the auditor. The lattice of the next step is chosen from the errors seen so far, because what
matters most is how the lattice aligns with the steps of the optimum. All decisions rest on counts and bounds, never
on the clock, which only ends the search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from .. import audit
from ..errors import InfeasibleError
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase
from ..problem import NoiseProblem, SolverSettings
from ..solution import Certificate, Progress, Solution
from . import laws
from .bounds import Step, Window, lower_step, peak, upper_step

ProgressCallback = Callable[[Progress], "bool | None"]


def solve(
    problem: NoiseProblem, settings: SolverSettings | None = None, progress: ProgressCallback | None = None
) -> Solution:
    """The least expected loss of (ε, δ)-DP additive noise, bracketed, with the law that attains the upper end.

    Parameters
    ----------
    progress : called with every improvement and at least every 0.1 s or so; returning True stops the search. The answer is
        valid whenever it stops; stopping early only widens the gap.

    Raises
    ------
    InfeasibleError : the support leaves no (ε, δ)-DP law.
    """
    settings = settings or SolverSettings()
    if settings.method == "reference":
        from ..reference import solve_reference

        return solve_reference(problem, settings, progress)
    return Search(problem, settings, progress).run()


SCAN = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20)
"""Lattices tried first where nothing is known about alignment."""

PAIRS_PER_STEP = 1200
"""The scan ends at a step that needed this many pairs; from there on lattices are picked by their errors."""

EXACT = 1e-9
"""Relative accuracy granted to closed formulas."""

ALIGNED_FROM = 2.5
"""From this ε on lattices are aligned with the staircase."""

STAIRCASE_FROM = 8.0
"""From this ε on no program improves on the staircase with an atom."""

MOST_CELLS = 5000
"""Largest lattice program."""


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
    """The state of one solve: the best bracket so far, and per kind of bound (lower; upper centred, upper offset)
    the steps taken."""

    def __init__(self, problem: NoiseProblem, settings: SolverSettings, progress: ProgressCallback | None) -> None:
        self.problem, self.settings, self._progress = problem, settings, progress
        self._began = time.perf_counter()
        self._deadline = self._began + settings.time_limit
        self._stopped = False
        self._steps: dict[str, list[Step]] = {"lower": [], "centred": [], "offset": []}
        self._trace: list[Progress] = []
        self.lower = problem.paid_loss.infimum(*problem.support)
        self.best: _Found | None = None
        self.cells = self.pairs = 0
        self._idle = {True: 0, False: 0}
        self._peak = peak(problem.privacy.epsilon)

    # Bookkeeping -------------------------------------------------------------------------------------

    @property
    def upper(self) -> float:
        return self.best.upper if self.best else math.inf

    @property
    def gap(self) -> float:
        if self.upper <= self.lower:
            return 0.0
        return (self.upper - self.lower) / self.lower if self.lower > 0 else math.inf

    def _report(self, *, always: bool = False) -> None:
        record = Progress(time.perf_counter() - self._began, self.lower, self.upper, self.cells, self.pairs)
        if not self._trace or always or (record.lower, record.upper) != (self._trace[-1].lower, self._trace[-1].upper):
            self._trace.append(record)
        if self._progress is not None and math.isfinite(record.upper) and self._progress(record):
            self._stopped = True

    def _stop(self) -> bool:
        """Called by the solver after every slice."""
        if self._progress is not None and math.isfinite(self.upper):
            now = Progress(time.perf_counter() - self._began, self.lower, self.upper, self.cells, self.pairs)
            if self._progress(now):
                self._stopped = True
        return self._stopped

    @property
    def _over(self) -> bool:
        return self._stopped or self.gap <= self.settings.gap or time.perf_counter() >= self._deadline

    def _offer(self, noise: PiecewiseNoise | None, source: str) -> None:
        """Audit a law that was not made by a program and keep it if it is better."""
        if noise is None:
            return
        delta_upper, shift = audit.shortfall_upper(noise, self.problem.privacy.epsilon)
        upper = audit.loss_upper(noise, self.problem.loss)
        if delta_upper <= self.problem.privacy.delta and upper < self.upper:
            self.best = _Found(noise, upper, delta_upper, shift, False, len(noise.weights), source)

    # Steps -------------------------------------------------------------------------------------------

    def _step(self, kind: str, k: int) -> Step | None:
        """One lower or upper bound on a lattice of k per sensitivity; None when the lattice would be too large."""
        before = self._steps[kind]
        window = self._window(kind)
        if before and not self._fits(kind, k):
            return None
        seed = before[-1].seed if before else None
        scale = self.upper if math.isfinite(self.upper) else 1.0
        rest = (self.problem, k)
        limits = (window, seed, scale, self.settings.gap, self._deadline, self._stop)
        if kind == "lower":
            step = lower_step(*rest, *limits)
            self.lower = max(self.lower, step.bound)
            step = replace(step, window=step.window.within(self._widest))
        else:
            step = upper_step(*rest, int(kind == "offset"), *limits)
            if step.bound < self.upper:
                self.best = _Found(
                    step.noise, step.bound, step.delta_upper, step.worst_shift, step.repaired, step.cells, "linear program"
                )
        if step.status == "optimal":
            before.append(step)
        self.cells, self.pairs = max(self.cells, step.cells), self.pairs + step.pairs
        self._report()
        return step

    def _window(self, kind: str) -> Window:
        return self._steps[kind][-1].window if self._steps[kind] else self._first_window(kind)

    def _fits(self, kind: str, k: int) -> bool:
        window = self._window(kind)
        return (window.right - window.left) * k * (0.5 if self.problem.folds else 1.0) <= MOST_CELLS

    def _first_window(self, kind: str) -> Window:
        """Generous first guesses [theory §5; lowprivacy "Event window"]; later windows follow what was used."""
        reach = self.problem.privacy.truncation()
        return self._around(min(2.5 * reach + 1.5, self._periods) if kind == "lower" else 1.5 * reach + 0.5)

    @property
    def _periods(self) -> float:
        """Half-width beyond which events add less than a tenth of the gap, in sensitivities: losses beyond m periods weigh
        about e^{−mε} m^power."""
        epsilon = self.problem.privacy.epsilon
        if epsilon == 0:
            return math.inf
        power = max(p.power for p in self.problem.paid_loss.pieces)
        return max(0, math.ceil((math.log(10 / self.settings.gap) + 4 * (power - 1)) / epsilon) - 1) + 2.2 * self._peak

    @property
    def _widest(self) -> Window:
        return self._around(self._periods)

    def _around(self, wide: float) -> Window:
        """The loss's minimiser and nearer breaks, with `wide` on both sides (half as much again when not even)."""
        wide *= 1.0 if self.problem.folds else 1.5
        best = self.problem.paid_loss.minimiser(*self.problem.support)[0] / self.problem.sensitivity
        breaks = self.problem.paid_loss.breaks / self.problem.sensitivity
        near = breaks[abs(breaks) <= 4 * wide + 4]
        left, right = min(best, near.min(initial=0.0)) - wide, max(best, near.max(initial=0.0)) + wide
        return Window(-max(-left, right), max(-left, right)) if self.problem.folds else Window(left, right)

    # The search --------------------------------------------------------------------------------------

    def run(self) -> Solution:
        """Start from closed forms, scan coarse lattices, then refine the side that errs most."""
        self._start()
        self._report()
        if not self._over:
            self._scan()
        while not self._over and self._refine():
            pass
        return self._solution()

    def _start(self) -> None:
        problem = self.problem
        if problem.privacy.delta == 0:
            self._start_pure()
            return
        self._offer(laws.lossless(problem), "closed form")
        self._offer(laws.uniform(problem), "closed form")
        if problem.support == (-math.inf, math.inf) and problem.privacy.epsilon > 0:
            loss = problem.paid_loss
            gamma = Staircase.calibrate(problem.privacy, problem.sensitivity, loss).gamma
            if problem.folds:
                self._peak = max(gamma, self._peak) if loss.grows_from_zero else self._peak
            self._offer(laws.staircase_with_atom(problem, gamma), "closed form")

    def _start_pure(self) -> None:
        """δ = 0: the staircase is optimal for even losses that grow away from 0 [GV14]; for others an upper bound."""
        noise = laws.pure_staircase(self.problem)
        value = noise.expected_loss(self.problem.loss)
        self.best = _Found(noise, value * (1 + EXACT), 0.0, self.problem.sensitivity, False, 0, "closed form")
        if self.problem.folds and self.problem.paid_loss.grows_from_zero:
            self.lower = max(self.lower, value * (1 - EXACT))

    @property
    def _kinds(self) -> tuple[str, ...]:
        if self.problem.privacy.delta == 0:
            return ("lower",)
        if self.problem.privacy.epsilon >= STAIRCASE_FROM and self.best and self.best.source == "closed form":
            return ("lower",)
        ends_fixed = not self.problem.folds and self.problem.support != (-math.inf, math.inf)
        if ends_fixed or (self.problem.monotone and not self.problem.folds) or not self.problem.paid_loss.continuous:
            return ("lower", "offset")
        return ("lower", "centred", "offset")

    def _scan(self) -> None:
        for ks in self._first_lattices():
            most = 0
            for kind in self._kinds:
                if ks[kind] <= self.settings.max_cells_per_sensitivity:
                    step = self._step(kind, ks[kind])
                    most = max(most, step.pairs if step else PAIRS_PER_STEP)
                if self._over:
                    return
            if most >= PAIRS_PER_STEP:
                return

    def _first_lattices(self) -> Iterator[dict[str, int]]:
        """Lattices per kind of bound; a jump of the loss should be a node and a cell edge. Where the optimum is nearly a staircase (ε ≥ 2.5, even losses) its half-width g
        should be a whole number of cells for nodes and offset cells, and half of an odd one for centred cells."""
        yield {"lower": 1, "centred": 1, "offset": 1}
        if not self._nearly_staircase:
            if self.problem.paid_loss.continuous:
                yield from ({"lower": k, "centred": k, "offset": k} for k in SCAN)
            else:
                for above, below in zip(self._jump_lattices(1), self._jump_lattices(-1)):
                    yield {"lower": above, "centred": below, "offset": below}
            return
        for m in (1, 2, 3, 4):
            yield {kind: self._aligned(kind, m) for kind in self._kinds}

    def _jump_lattices(self, side: int) -> Iterator[int]:
        """Lattices with an edge ever closer to every jump, beyond it (side 1, for lower bounds) or before it; once one
        hits, its multiples."""
        ends = [Fraction(abs(x)) / Fraction(self.problem.sensitivity) for x in self.problem.paid_loss.jumps]
        best: Fraction | float = math.inf
        for k in range(1, self.settings.max_cells_per_sensitivity + 1):
            miss = max((-side * x * k) % 1 / k for x in ends)
            if miss < best or miss < 1e-12:
                best = miss
                yield k

    @property
    def _nearly_staircase(self) -> bool:
        return self.problem.folds and self.problem.paid_loss.continuous and self.problem.privacy.epsilon >= ALIGNED_FROM

    def _aligned(self, kind: str, steps: float) -> int:
        return max(1, round((steps + 0.5 * (kind == "centred")) / self._peak))

    def _refine(self) -> bool:
        """One more step, for the side that promises the larger gain per pair, on a multiple of the lattice whose error is
        smallest for its size. False when nothing is left to try.

        The optimum is taken to lie in the middle of the bracket; a side whose last steps brought nothing loses half
        of its promise with each.
        """
        middle = 0.5 * (self.lower + self.upper)
        promises = []
        for side in (("lower",), ("centred", "offset")):
            choice = self._next_lattice([kind for kind in side if kind in self._kinds], middle)
            if choice is not None:
                effort = max(step.pairs for step in self._steps[choice[0]])
                promises.append((0.5 ** self._idle[side[0] == "lower"] / effort, choice))
        if not promises:
            return False
        _, (kind, k) = max(promises)
        width = self.upper - self.lower
        self._step(kind, k)
        idle = self.upper - self.lower > 0.95 * width
        self._idle[kind == "lower"] = self._idle[kind == "lower"] + 1 if idle else 0
        return True

    def _next_lattice(self, kinds: list[str], middle: float) -> tuple[str, int] | None:
        goal = 0.4 * self.settings.gap * max(self.lower, 1e-3 * middle, 1e-300)
        ranked = sorted(
            (max(abs(middle - step.bound), 0.02 * goal) * step.k**2, step.k, kind)
            for kind in kinds
            for step in self._steps[kind]
            if step.k > 1
        )
        for quality, base, kind in ranked:
            largest = max(step.k for step in self._steps[kind])
            wanted = min(max(math.sqrt(quality / goal), 1.2 * largest), 2.2 * largest)
            multiple = max(2, math.ceil(wanted / base - 1e-9))
            multiple += kind == "centred" and multiple % 2 == 0
            k = base * multiple
            if k > 2.5 * largest:
                k = round(1.6 * largest) + 1
            if self._nearly_staircase:
                k = self._aligned(kind, max(1, round(k * self._peak - 0.5 * (kind == "centred"))))
            if k > largest and k <= self.settings.max_cells_per_sensitivity and self._fits(kind, k):
                return kind, k
        return None

    def _solution(self) -> Solution:
        self._report(always=True)
        problem, found = self.problem, self.best
        if found is None:
            if math.isfinite(problem.support[1] - problem.support[0]):
                worst = float(max(problem.loss.value(list(problem.support))))
                need = 2 * problem.privacy.truncation() * problem.sensitivity
                raise InfeasibleError(
                    "support", f"[{problem.support[0]:g}, {problem.support[1]:g}]",
                    f"room for an (ε, δ)-DP law; width {need:.6g} is always enough",
                )
            raise InfeasibleError("time_limit", self.settings.time_limit, "time to find a first law")
        certificate = Certificate(self.lower, found.upper, found.delta_upper, found.worst_shift, found.repaired)
        seconds = time.perf_counter() - self._began
        shifts = getattr(found.noise, "resolution", 0)
        return Solution(
            problem, self.settings, found.noise, certificate, tuple(self._trace), seconds, found.cells, shifts, found.source
        )
