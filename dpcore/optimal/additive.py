"""The optimal additive noise: a search over lattices that narrows a certified bracket [method].

Every step solves one lattice program, for a lower or for an upper bound, seeded by the last one of its kind, and
hands the outcome to the auditor. The clock only ends the search; it never chooses.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .. import audit
from ..audit_profile import ProfileProof, proof_of
from ..audit_shape import admitted
from ..errors import InfeasibleError
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from ..noise.staircase import Staircase, amplitude_gamma
from ..noise.truncated_laplace import TruncatedLaplace
from ..privacy_profile import PairList
from ..problem import LINE, Budget, NoiseProblem, SolverSettings
from ..solution import Certificate, Progress, Solution
from . import jumps, laws
from .anytime import Anytime, ProgressCallback
from .atlas import atlas_law, atlas_lower, power_of
from .covering import plateau_of
from .cut import MARGINS, Cut, free_stretch
from .falling import applies as falls
from .falling import falling_bounds
from .groups import SMALL, GroupProof, coarser, group_proofs, law_window, level_stretch
from .lower import lower_step
from .mesh import Grading
from .near_end import SAME, near_end_bounds
from .one_sided import monotone_lower
from .orbit_bounds import orbit_bounds
from .orbits import Orbits
from .outside_in import outside_in_lower
from .peak import peak_bounds
from .plateau import plateau, plateau_lower
from .program import Seed
from .schedule import ALIGNED_FROM, LOWER, Schedule, Steps, steepness
from .spread import end_uncovers, spread_laws
from .step import Limits, Step, Window, end_moves, origin_of, several_bottoms
from .trimmed import BELOW, trimmed
from .two_level import open_level, two_level_lower
from .upper import upper_step
from .valley import valley_lower

IDLE, NEARLY = 0.1, 0.01
"""A kind of bound is left out of the scan where its last programs are nearer to one that is better than this share of
what is open; those for laws, where one of them is within the second."""

PAIRS_PER_STEP = 1200
"""The scan ends at a step that needed this many pairs; from there on lattices are picked by their errors."""

GRADED = 2.0
"""A pair of a graded lattice, whose row is longer, counts for this many."""

SAME_PLACE = 0.01
"""Places where cells narrow are one if they are nearer to each other than that share of the top step."""

CUT_FROM = 1.0
"""From this ε on staircases are cut to supports; below, truncated Laplace laws serve as well."""

CUT_BELOW = 1e-6
"""Or below this δ."""

ASKED = 0.1
"""Seconds after which the caller is asked again while multipliers are written down."""

SPREAD_TIME = 0.1
"""Share of the time for the search for spread atoms, at one pair and one end."""

PEAKS_FROM, LINEAR_PEAKS_FROM = 5.0, 3.5
"""From this ε on multipliers written down around a staircase give a good lower bound; for |x| earlier."""

PEAKS_TIME, PLATEAU_TIME, PEAKS_LONGER, LONGER_FROM = 0.3, 0.1, 0.75, 10.0
"""Share of the time for them, for next to a plateau slices halve and halve where δ makes that dear; less where cells
can cover a plateau; more from this ε on, where lattices that programs can take hardly see the top step."""

VALLEYS = (0.1, 1e-5), (1.0, 1e-3)
"""And so do those that a staircase's whole sensitivities leave, from one of these ε on up to its δ."""

PEAKS_WITHIN = 0.9
"""In a support they do where the staircase of the whole line, whose loss they stay below, costs at least this share of
the best law."""

NEAR_ENDS_FROM, NEAR_ENDS_MONOTONE = 5.5, 4.5
"""And so they do where a staircase stands near an end of the support; for monotone laws, whose programs take longer."""

NEAR_ENDS_TIME, NEAR_ENDS_LONGER = 0.4, 0.7
"""Share of the time for those multipliers, and where programs hardly improve on them."""

WITHOUT_SUPPORT = 0.5
"""Share of the time in which a problem may be solved without its support."""

PARTLY = 0.25
"""Share of the time for a law of a program where a closed form serves."""

SCANNED = 0.5
"""Share of the time left for laws on any of the first lattices: at tiny δ some programs do not end."""

REFINED = 0.6
"""And for a program of one side where the other side has one to try: some at tiny δ or with several bottoms do not end
either."""

OUTSIDE_IN_FROM = 0.7
"""From this ε on multipliers for monotone laws from outside in fade soon enough."""

BRIEFLY = 0.1
"""Or for multipliers without a program where programs serve as well."""

WIDE_OPEN = 1.2
"""Of laws that need not be monotone bounds are of use where the bracket's ends are so many times apart."""

PLACES = 0.85
"""Share of the time for places that do not tell all; lattices, which miss jumps and ends, bring soon what they can."""

STAIRCASE_FROM, STAIRCASE_EVEN, EACH_POWER = 8.0, 6.1, 1.8
"""From this ε on, and for even problems from this `steepness` on, later by so much for every power of the loss beyond
2, no program improves on the staircase with an atom."""

STAIRCASE_TO = 0.03
"""In a support up to this δ."""

CUT_WINDOWS_FROM, CUT_PAIRS, CUT_GROWTH, CUT_SHARE, CUT_TRIALS = 0.3, 300, 1.4, 0.08, 3
"""Windows of events are cut from this ε on, on the first lattice that needed so many pairs, before one so many times as
fine as the last, where that costs at most such a share of the gap; on either side so many places are tried."""

PROGRESS = 0.95
"""Programs for losses that fall end with one that leaves the bracket wider than this share of what it was."""

TELLING, LITTLE = 0.2, 0.1
"""A side promises as much as its effort says while its last step gained this share of what is open now; where that
gained less, proportionally less, but no less than the latter part of it, or than its square where the last two steps
say that little is left; and no less than the share that is not left to the other side."""

STAIRCASE_BELOW = 1e-9
"""Nor below this δ."""


CLOSED = (two_level_lower, jumps.exceed_lower, jumps.layers_lower, monotone_lower, plateau_lower)
"""Lower bounds in closed form, of no cost."""


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


class Search(Anytime[NoiseProblem, Solution]):
    """The state of one solve: the best bracket so far and the steps taken."""

    def __init__(
        self,
        problem: NoiseProblem,
        settings: SolverSettings,
        progress: ProgressCallback | None = None,
        neighbour: Search | None = None,
    ) -> None:
        coarse = min(settings.gap, max(settings.gap / 2, 1e-3))  # undercutting a coarse gap costs next to nothing
        super().__init__(problem.simplified, settings, progress, coarse)
        self.asked, self._neighbour = problem, neighbour
        self._steps: Steps = {kind: [] for kind in (*LOWER, "centred", "offset")}
        self._cut: dict[str, Window] = {}  # kinds of lower bounds whose windows are cut, and what they were before
        self._groups: list[GroupProof] = []
        self._staircases: dict[float, Staircase] = {}
        self.best: _Found | None = None
        self._least_spent: Certificate | None = None
        self._work_reached = math.inf  # pairs looked at until the gap asked for was reached
        self._rival = math.inf  # a textbook mechanism that may lie within the gap: better not to lose to it
        self._staircase_fits = False
        self._settled = False  # both ends are closed forms: no program narrows the bracket
        self._top: tuple[float, float] | None = None  # of the best staircase cut to the support

    def run(self) -> Solution:
        """Start from closed forms, scan coarse lattices, then refine where it promises most."""
        thrifty = self._thrifty()
        steps = self._start(thrifty)
        self._look_up()
        self._report()
        self._settled = self._settled or self.problem.vanishes(self.upper)
        self._fall()
        self._without_support()
        schedule = Schedule(
            self._outline,
            self.settings.gap,
            steps,
            self._uppers(steps),
            self.settings.max_cells_per_sensitivity,
            self._stretch(),
            self._cut_steps(),
            0.0 if self._top is None else (self._top[1] - self._top[0]) / self.problem.sensitivity,
            self.upper,
            self._from_end,
        )
        if not self._settled:
            self._follow_orbits()
            if self._neighbour is not None:
                self._learn(schedule, self._neighbour)
            learned = bool(self._steps["nodes"])
            self._by_groups()
            self._from_law(schedule)
            if not learned:
                self._scan(schedule)
            self._refine(schedule)
        self._neighbour = None
        return self._solution()

    def first(self) -> Solution:
        """The answer before any linear program: closed forms, the atlas, chains of groups. Tens of milliseconds.

        Raises
        ------
        InfeasibleError : no law was found, which a later program might find.
        """
        self._start()
        self._look_up()
        self._by_groups(programs=False)
        return self._solution()

    @property
    def _outline(self) -> NoiseProblem:
        """The problem by which windows and lattices are chosen."""
        return self.problem

    @property
    def piecewise(self) -> PiecewiseNoise | None:
        """The best law so far, if it is constant on cells."""
        return self.best.noise if self.best is not None and isinstance(self.best.noise, PiecewiseNoise) else None

    @property
    def _over(self) -> bool:
        if self._stopped or self.upper <= self._rival or time.perf_counter() >= self._deadline:
            return super()._over or self._undercut_enough()
        return self._settled or self._record().gap <= self._goal / 10

    def _undercut_enough(self) -> bool:
        """The gap asked for is reached, and as much work again has not brought the closer one."""
        if self._record().gap > self.settings.gap:
            return False
        self._work_reached = min(self._work_reached, float(self._pairs))
        return self._pairs > 2 * self._work_reached

    # Closed forms ------------------------------------------------------------------------------------

    def _thrifty(self) -> Noise | None:
        """A law that meets the budget, from the search for the least expected second loss; None if it found none.

        Raises
        ------
        InfeasibleError : no law meets the budget.
        """
        budget = self.problem.budget
        if budget is None:
            return None
        cheapest = replace(self.problem, loss=budget.loss, budget=None)
        settings = replace(self.settings, gap=min(self.settings.gap, 1e-4), time_limit=0.3 * self.settings.time_limit)

        def settled(record: Progress) -> bool:
            self._stop()
            return record.upper <= budget.most or (record.lower > budget.most and record.gap <= 1e-3)

        solution = Search(cheapest, settings, settled).run()
        least = self._least_spent = solution.certificate
        if least.lower is not None and least.lower > budget.most:
            raise self._over_budget(least, budget)
        return solution.noise if least.upper <= budget.most else None

    @staticmethod
    def _over_budget(least: Certificate, budget: Budget) -> InfeasibleError:
        lower = 0.0 if least.lower is None else least.lower
        # Six digits, on the safe side of both.
        enough, known = f"{least.upper * (1 + 5e-6):.6g}", f"{lower * (1 - 5e-6):.6g}"
        if lower > budget.most:
            accepted = f"at least {enough} ({budget.loss.title}: no private law keeps its mean below {known})"
        else:
            accepted = f"at least {enough} ({budget.loss.title}: no law was found, none is possible below {known})"
        return InfeasibleError("budget", f"{budget.most:g}", accepted)

    def _start(self, thrifty: Noise | None = None) -> tuple[float, ...]:
        """Offer closed forms and a law that meets the budget; returns how far the steps of the best staircase are from
        0, in sensitivities."""
        problem = self.problem
        whole_line = problem.whole_line
        staircase, top = None, None
        if isinstance(thrifty, PiecewiseNoise):
            self._offer(thrifty)
        if problem.privacy.delta == 0:
            staircase = self._start_pure(thrifty)
        else:
            self._offer(laws.several_pairs(problem))
            self._offer(laws.spiked_staircase(problem))
            for single in laws.single_pairs(problem):
                for part in (*laws.level_parts(single), single):
                    for made in (laws.uniform, laws.truncated_geometric, plateau):
                        self._offer(made(part))
                self._offer(laws.far_uniform(single))
                for noise in jumps.cut_staircases(single):
                    self._offer(noise)
                if problem.profile is None:  # next to a profile laws end
                    self._offer(jumps.endless_staircase(single))
                if single.privacy.epsilon == 0:  # there are no staircases
                    continue
                free = free_stretch(single)
                if free is not None and self.upper > self.lower:
                    self._offer_cut(replace(single, support=free))
                if whole_line:
                    staircase = self._offer_staircase(single)
                elif single.privacy.epsilon >= CUT_FROM or single.privacy.delta < CUT_BELOW:
                    found = self._offer_cut(single)
                    top = found or top
                    if found is not None and self.upper > self.lower:
                        self._offer_spread(single, found)
            if whole_line and not problem.budget and len(problem.privacies) == 1 and problem.privacy.epsilon > 0:
                rival = TruncatedLaplace.calibrate(problem.privacy, problem.sensitivity)
                self._rival = rival.expected_loss(problem.loss)
        self._prove_closed(problem)
        self._top = top
        near_ends = NEAR_ENDS_MONOTONE if problem.monotone else NEAR_ENDS_FROM
        if top is not None and problem.joint.epsilon >= near_ends and not self._reached(self.lower):
            self._report()
            longer = problem.joint.epsilon >= STAIRCASE_FROM
            done = self._reached_within(NEAR_ENDS_LONGER if longer else NEAR_ENDS_TIME)
            self._raise(near_end_bounds(problem, top, done, self.lower))
            if problem.monotone and self.upper > WIDE_OPEN * self.lower:
                self._raise(near_end_bounds(replace(problem, monotone=False), top, done, self.lower))
        return self._steps_of(staircase, problem.joint.epsilon)

    def _steps_of(self, staircase: Staircase | None, epsilon: float) -> tuple[float, ...]:
        """How far the inner steps of a staircase are from 0, in sensitivities; for want of one about how far."""
        width = amplitude_gamma(epsilon)
        if staircase is None or not self.problem.paid_loss.grows_from_zero:
            return (width,)
        place = staircase.location / self.problem.sensitivity
        steps = {abs(place - staircase.gamma), abs(place + staircase.gamma)}
        return tuple(sorted(max(step, 0.1 * width) for step in steps))

    def _cut_steps(self) -> tuple[float, ...]:
        """Where cells for upper bounds narrow in a support: at the ends of the best staircase's top step, at the loss's
        minimiser, at the lattices' origin and whole sensitivities away from them."""
        problem = self.problem
        continuous = all(loss.continuous for loss in problem.paid_losses)
        shaped = problem.folds or problem.monotone
        small = problem.joint.epsilon < ALIGNED_FROM or problem.privacy.delta < BELOW
        if self._top is None or small or shaped or not continuous or len(problem.privacies) > 1:
            return ()
        origin, best = origin_of(problem), problem.paid_loss.minimiser(*problem.support)[0]
        away = ((place - origin) / problem.sensitivity for place in (origin, best, *self._top))
        near, places = SAME_PLACE * (self._top[1] - self._top[0]) / problem.sensitivity, list[float]()
        for place in ((x + 0.5) % 1 - 0.5 for x in away):
            if all(abs(place - other) > near for other in places):
                places.append(place)
        return tuple(sorted(places))

    @property
    def _from_end(self) -> bool:
        """Whether the top step of the best staircase begins one or more whole sensitivities from the nearer end of the
        support, and that matters."""
        if self._top is None:
            return False
        (left, right), (lo, hi), D = self._top, self.problem.support, self.problem.sensitivity
        beyond = min((left - lo, hi - right)) / D
        periods = round(beyond) if math.isfinite(beyond) else 0
        near = abs(beyond - periods) * D <= SAME * (right - left)
        return periods > 0 and near and end_uncovers(self.problem.privacy, periods)

    def _prove_closed(self, problem: NoiseProblem) -> None:
        """Lower bounds without a program, for a problem that asks no more than this one."""
        self._prove_by_formula(problem)
        epsilon, least = problem.joint.epsilon, self._peaks_from(problem)
        small = any(epsilon >= begin and problem.privacy.delta <= end for begin, end in VALLEYS)
        if (epsilon < least and not small) or self._reached(self.lower):
            return
        staircase = self._unbounded_staircase(problem)
        if problem.whole_line or staircase.expected_loss(problem.paid_loss) >= PEAKS_WITHIN * self.upper:
            if small:
                self.lower = max(self.lower, valley_lower(problem, staircase, self._reached))
            if epsilon >= least and not self._reached(self.lower):
                self._prove_peak(problem, [staircase])

    def _peaks_from(self, problem: NoiseProblem) -> float:
        """The least ε at which multipliers written down around a staircase are good."""
        return LINEAR_PEAKS_FROM if power_of(problem.paid_loss) == 1 else PEAKS_FROM

    def _prove_peak(self, problem: NoiseProblem, staircases: list[Staircase]) -> None:
        """Multipliers around the best staircases, one for every pair."""
        longer = PEAKS_LONGER if problem.joint.epsilon >= LONGER_FROM else PEAKS_TIME
        share = longer if plateau_of(problem) is None else PLATEAU_TIME
        self._raise(peak_bounds(problem, staircases, self._reached_within(share)))

    def _raise(self, bounds: Iterator[float]) -> None:
        """Report lower bounds one after the other."""
        for bound in bounds:
            self.lower = max(self.lower, bound)
            self._report()

    def _prove_by_formula(self, problem: NoiseProblem) -> None:
        """Closed forms, also for the largest loss below that grows away from 0, of which most need that."""
        below = replace(problem, loss=problem.loss.grown)
        for asked in dict.fromkeys((problem, below)):
            self.lower = max(self.lower, *(bound(asked) for bound in CLOSED))
        self._prove_level(below)

    def _prove_level(self, problem: NoiseProblem) -> None:
        """Groups so large that they can cover the peak of what the loss stays at towards an open end [Thm 7]."""
        m, level = 2, open_level(problem)
        while level and not self._reached(self.lower) and (coarse := coarser(problem, m)) is not None:
            bound = two_level_lower(coarse)
            if 0 < bound <= self.lower and self.lower > 0.5 * level:  # 0 is for groups that do not cover it yet
                return
            self.lower, m = max(self.lower, bound), 2 * m

    def _reached(self, lower: float) -> bool:
        """Nothing is left to do with such a lower bound, or no time."""
        return self._stopped or time.perf_counter() >= self._deadline or self.upper - lower <= self._goal * lower

    def _reached_within(self, share: float) -> Callable[[float], bool]:
        """The same, or a share of the time left is over; the caller is asked now and then."""
        until, asked = self._until(share), time.perf_counter()

        def reached(lower: float) -> bool:
            nonlocal asked
            now = time.perf_counter()
            if now >= asked + ASKED:
                self._stop()
                asked = now
            return now >= until or self._reached(lower)

        return reached

    def _start_pure(self, thrifty: Noise | None = None) -> Staircase | None:
        """δ = 0: the staircase is optimal for even losses that grow away from 0 [Thm 8]; for others an upper bound. If
        it spends more than the budget, so is the nearest one that does not. Returns the staircase."""
        staircase = self._unbounded_staircase(self.problem)
        lower = laws.pure_lower(self.problem)
        if lower is not None:
            self.lower = max(self.lower, lower)
            self._settled = self.problem.budget is None
        if self.problem.budget is not None:
            near = laws.affordable(self.problem, staircase, 1.0) or thrifty
            if not isinstance(near, Staircase):  # nothing else is (ε, 0)-DP
                return None
            staircase = near
        upper = audit.loss_upper(staircase, self.problem.loss)
        self.best = _Found(staircase, upper, 0.0, self.problem.sensitivity, False, 0, "closed form")
        return staircase

    def _offer_staircase(self, single: NoiseProblem) -> Staircase:
        """The best staircase with an atom, for a problem with one pair (ε, δ); if it misses the budget, the nearest
        that does not. Returns the staircase."""
        staircase = self._unbounded_staircase(single)
        self._staircase_fits = self._offer(laws.staircase_with_atom(single, staircase))
        if single.budget is not None and not self._staircase_fits:
            near = laws.affordable(single, staircase, 1 - single.privacy.delta)
            if near is not None:
                self._offer(laws.staircase_with_atom(single, near))
                return near
        return staircase

    def _unbounded_staircase(self, problem: NoiseProblem) -> Staircase:
        """The best staircase at the first ε without the support."""
        epsilon = problem.privacy.epsilon
        if epsilon not in self._staircases:
            self._staircases[epsilon] = laws.best_staircase(replace(problem, support=LINE))
        return self._staircases[epsilon]

    def _offer_cut(self, single: NoiseProblem) -> tuple[float, float] | None:
        """The best staircase inside the support, for a problem with one pair (ε, δ). Returns the ends of its top step,
        None without one."""
        beyond = self._unbounded_staircase(single)
        for margin in MARGINS:
            family = Cut.of(single, margin)
            ends = family.best(beyond)
            if ends is None:
                return None
            family, ends = family.narrowed(*ends)
            left, right = (family.origin + float(end) * single.sensitivity for end in ends)
            if self._offer(family.law(*ends)):
                break
        return left, right

    def _offer_spread(self, single: NoiseProblem, top: tuple[float, float]) -> None:
        """Staircases in the support with a spread atom, for a problem with one pair (ε, δ); top : ends of the best top
        step without."""
        until = self._until(SPREAD_TIME)
        for tried in spread_laws(single, top, lambda: self._stopped or time.perf_counter() >= until):
            any(map(self._offer, tried))

    def _offer(self, noise: Noise | None, source: str = "closed form") -> bool:
        """Audit a law that is not a step's and keep it if it is better; whether it meets the problem."""
        if noise is None:
            return False
        found = admitted(noise, self.problem)
        if found is None:
            return False
        upper = audit.loss_upper(noise, self.problem.loss)
        if upper < self.upper:
            self.best = _Found(noise, upper, *found, False, noise.cell_count, source)
        return True

    # Programs ----------------------------------------------------------------------------------------

    def _uppers(self, steps: tuple[float, ...]) -> tuple[str, ...]:
        """Kinds of upper bounds that deserve a program. A fixed end of the support or a jump of the loss should be a
        cell edge; so should 0 for monotone laws that are not symmetric."""
        problem = self.problem
        closed = self.best is not None and problem.whole_line
        if problem.budget is not None or len(problem.privacies) > 1:
            closed = closed and len(problem.privacies) == 1 and self._staircase_fits
        staircase = problem.folds or not problem.monotone
        steep = steepness(sum(steps) / len(steps)) >= STAIRCASE_EVEN + EACH_POWER * max(0.0, problem.power - 2)
        steep = steep if problem.folds else problem.privacy.epsilon >= STAIRCASE_FROM
        level = any(p.coefficient == 0 and p.constant == 0 for p in problem.paid_loss.pieces)
        staircase = staircase and ((steep and not level) or problem.privacy.delta < STAIRCASE_BELOW)
        if problem.privacy.delta == 0 or (closed and problem.paid_loss.grows_from_zero and staircase):
            return ()
        fixed = not problem.folds and (not problem.whole_line or problem.monotone)
        return ("offset",) if fixed or not all(c.continuous for c in problem.paid_losses) else ("centred", "offset")

    @property
    def _cut_serves(self) -> bool:
        """In a support programs hardly improve on the best staircase cut to it, and take the time of lower bounds."""
        problem = self.problem
        if self._top is None or problem.privacy.epsilon < STAIRCASE_FROM or problem.privacy.delta > STAIRCASE_TO:
            return False
        return problem.budget is None and len(problem.privacies) == 1 and problem.paid_loss.grows_from_zero

    def _fall(self) -> None:
        """Bounds for monotone laws [Thm 11]: without a program, and in a support from programs with cells where their
        steps are."""
        problem = self.problem
        if not falls(problem) or self.best is None or self._over or self._settled:
            return
        if problem.privacy.epsilon >= OUTSIDE_IN_FROM:
            done = self._reached_within(PARTLY if problem.whole_line else BRIEFLY)
            self.lower = max(self.lower, outside_in_lower(problem, self.upper, done))
            self._report()
        if problem.whole_line or self._over:
            return
        limits = replace(self._limits, deadline=self._until(PARTLY))
        for lower, law in falling_bounds(problem, self.best.noise, limits):
            width = self.upper - self.lower
            self.lower = max(self.lower, lower)
            self._offer(law, "linear program")
            self._report()
            if self._over or self.upper - self.lower > PROGRESS * width:
                return

    def _without_support(self) -> None:
        """Solve the problem without its support first, where the support's ends are far enough from a law's middle: its
        lower bound holds, and so does its law if that lies inside."""
        problem = self.problem
        alone = problem.budget is None and problem.privacy.delta > 0 and not several_bottoms(problem)
        if problem.whole_line or end_moves(problem) or not alone or self._over or self._settled:
            return

        def watch(record: Progress) -> bool:
            self.lower = max(self.lower, record.lower)
            self._report()
            return self._over

        left = self._deadline - time.perf_counter()
        settings = replace(self.settings, time_limit=WITHOUT_SUPPORT * left)
        search = Search(replace(problem, support=LINE), settings, watch)
        search.run()
        self.lower = max(self.lower, search.lower)
        self._cells, self._pairs = max(self._cells, search._cells), self._pairs + search._pairs
        self._offer(search.piecewise)
        self._report()

    def _stretch(self) -> tuple[Window, Window] | None:
        """What the best law covers, and where events matter beside it; at small ε, where it is all but optimal."""
        if self.best is None or self.problem.joint.epsilon > SMALL or not isinstance(self.best.noise, PiecewiseNoise):
            return None
        left, right = law = self.best.noise.support
        D = self.problem.sensitivity
        return Window(left / D - 1, right / D + 1), law_window(self.problem, law)

    def _look_up(self) -> None:
        """What the atlas proves, and its law [method: atlas]."""
        if not self._reached(self.lower):
            self.lower = max(self.lower, atlas_lower(self.problem))
        if not self._reached(self.lower):
            self._offer(atlas_law(self.problem), "atlas")

    def _by_groups(self, *, programs: bool = True) -> None:
        """Lower bounds of coarser problems, which need no program of one cell per sensitivity [method: groups].
        programs : also of coarser problems that need one."""
        if self.best is not None and math.isfinite(self.best.noise.support[1] - self.best.noise.support[0]):
            self._prove_by_groups(self.problem, self.best.noise.support, programs=programs)

    def _prove_by_groups(self, problem: NoiseProblem, law: tuple[float, float], *, programs: bool = True) -> None:
        """For a problem that asks no more than this one. law : where a nearly optimal law begins and ends."""
        if self._over:
            return
        middle = None if self.best is None else float(self.best.noise.quantile(0.5))
        level = level_stretch(self.best.noise, problem.privacy.epsilon) if self.best else (0.0, 0.0)
        for found in group_proofs(problem, law, self._limits, middle, level, programs=programs):
            self.lower = max(self.lower, found.lower(problem))
            self._groups.append(found)
            if problem is self.problem and found.m == 1 and found.step is not None and found.step.status == "optimal":
                self._steps["nodes"].append(found.step)
            self._cells, self._pairs = max(self._cells, found.cells), self._pairs + found.pairs
            self._report()
            if self._over:
                return

    def _follow_orbits(self) -> None:
        """Bounds for losses made of constants, on places that their jumps lead to [method: orbits]. Where these are not
        all that matter, lattices follow."""
        orbits = Orbits.of(self.problem)
        whole = self.problem.paid_loss.continuous or (orbits.whole and orbits.few)
        until = self._deadline if whole else self._until(PLACES)

        def limits() -> Limits:
            return replace(self._limits, deadline=until)

        for found in orbit_bounds(self.problem, limits, lambda: self._over or time.perf_counter() >= until):
            if isinstance(found, float):
                self.lower = max(self.lower, found)
            else:
                self._offer(found, "linear program")
            self._report()

    def _from_law(self, schedule: Schedule) -> None:
        """One lower bound for monotone laws in a support at large ε, where coarse lattices show nothing: the program
        begins with the pairs that bind at the best staircase in the support, nearly the optimum."""
        problem, law = self.problem, self.best.noise if self.best else None
        alone = problem.monotone and not problem.folds and problem.budget is None and len(problem.privacies) == 1
        if self._top is None or not alone or problem.joint.epsilon < NEAR_ENDS_FROM or self._over:
            return
        k = schedule.fitted_ends()
        if k is None or law is None:
            return
        origin, D = origin_of(problem), problem.sensitivity
        seed = Seed(lambda x: D * law.density(origin + D * x), (np.ones(1),), k, k)
        limits = replace(self._limits, deadline=self._until(PARTLY))
        step = lower_step(problem, k, schedule.window("ends", k, self._steps), seed, limits, ends=True)
        self.lower = max(self.lower, step.bound)
        self._cells, self._pairs = max(self._cells, step.cells), self._pairs + step.pairs
        self._report()

    def _scan(self, schedule: Schedule) -> None:
        """One coarse lattice after the other, until programs are large; from there on only for kinds of bounds of which
        none has come out, such as laws on cells that miss the end of a support."""
        large, late = False, set()
        for ks in schedule.first():
            most = 0
            for kind, k in sorted(ks.items(), key=lambda one: self._cut_serves and one[0] not in LOWER):
                if self._over:
                    return
                done = any(step.k == k for step in self._steps[kind]) or (large and self._steps[kind])
                if kind in late or done or self._idle(kind):
                    continue
                fits = k <= schedule.finest and schedule.fits(kind, k, self._steps)
                step = self._step(schedule, kind, k, 1.0 if kind in LOWER else SCANNED) if fits else None
                most = max(most, step.pairs if step else PAIRS_PER_STEP)
                late |= {kind} if step and step.status == "time" else set()
            large = large or most >= PAIRS_PER_STEP
            if large and all(self._steps[kind] for kind in ks):
                return

    def _idle(self, kind: str) -> bool:
        """Whether another program of a kind is not worth its time. None came up to the best bound of its side, but the
        last two so near to it that what is open is the other side's, or, of laws, one of any kind all but there; or the
        last two are behind one of another kind, no larger, by more than what is open."""
        proves, sign = kind in LOWER, -1 if kind in LOWER else 1
        best, left = self.lower if proves else self.upper, self.upper - self.lower
        side = [(sign * (step.bound - best), step.pairs, one == kind)
                for one, steps in self._steps.items() if (one in LOWER) == proves for step in steps]  # fmt: skip
        if not proves and 0 < min((worse for worse, *_ in side), default=0.0) <= NEARLY * left:
            return True
        own, others = ([(worse, pairs) for worse, pairs, mine in side if mine is of] for of in (True, False))
        if len(own) < 2:
            return False
        behind = (any(other + left < worse and size <= pairs for other, size in others) for worse, pairs in own[-2:])
        best, last = min(worse for worse, _ in own), max(worse for worse, _ in own[-2:])
        return all(behind) or 0 < best <= last <= IDLE * left

    def _learn(self, schedule: Schedule, neighbour: Search) -> None:
        """Start from a search for another (ε, δ): its proofs and its law hold here too, after a look by the auditor,
        and its best lattices are where this search begins [Thm 6]."""
        proofs = (step for kind in LOWER for step in neighbour._steps[kind])
        for step in sorted(proofs, key=lambda step: -step.bound)[:3]:
            if step.proof is not None:
                self.lower = max(self.lower, step.proof.lower(*self.problem.privacies))
        for group in neighbour._groups[-1:]:
            self.lower = max(self.lower, group.lower(self.problem))
        law = neighbour.best.noise if neighbour.best else None
        if isinstance(law, PiecewiseNoise):
            spare = self.problem.privacy.delta - neighbour.problem.privacy.delta
            if spare > 0:
                law = law.with_atom(spare / (1 - neighbour.problem.privacy.delta), monotone=self.problem.monotone)
            self._offer(law)
        self._report()
        for kind in schedule.kinds:
            widest = schedule.window(kind, 1, self._steps)  # another δ may need a far wider one, or a far narrower one
            done = [
                replace(step, window=widest)
                for step in neighbour._steps[kind]
                if step.k <= schedule.finest and schedule.window(kind, step.k, self._steps) == widest
            ]
            if done and not self._over:
                best = (max if kind in LOWER else min)(done, key=lambda step: step.bound)
                place = len(self._steps[kind])
                self._steps[kind].append(best)
                self._step(schedule, kind, best.k)
                del self._steps[kind][place]  # it may have been replaced, its window widened
        if self._over:  # nothing left to learn: whoever starts from here starts from there
            self._steps = {kind: self._steps[kind] or neighbour._steps[kind] for kind in self._steps}

    def _refine(self, schedule: Schedule) -> None:
        """Step after step for the side that promises the larger gain per pair, judged by what its last step gained of
        what is open now. What failed is not tried again in the same window."""
        gains = {side: 0.0 if all(map(self._idle, side)) else math.inf for side in (schedule.lowers, schedule.uppers)}
        failed: set[tuple[str, int, Window]] = set()
        while not self._over:
            promises, width = [], self.upper - self.lower
            for side in gains:
                choice = schedule.next(side, self._steps, self.lower, self.upper)
                if choice is not None and (*choice, schedule.window(*choice, self._steps)) not in failed:
                    others = next(other for other in gains if other is not side)
                    told = self._told(choice[0], others, gains[side], width)
                    promises.append((told / (1 + self._effort(schedule, *choice)), side, choice))
            if not promises:
                return
            _, side, choice = max(promises)
            self._cut_window(schedule, *choice)
            looked = schedule.window(*choice, self._steps)
            if self._step(schedule, *choice, REFINED if len(promises) > 1 else 1.0).status != "optimal":
                failed.add((*choice, looked))
            gains[side] = width - (self.upper - self.lower) if width < math.inf else math.inf

    def _told(self, kind: str, others: tuple[str, ...], gained: float, width: float) -> float:
        """How much of what its effort says a side promises that gained so much of the width with its last step.
        others : kinds of steps of the other side."""
        if not 0 < width < math.inf:
            return 1.0
        least = min(LITTLE, max(self._left(kind) / width, LITTLE**2))
        theirs = max((self._left(other) for other in others if len(self._steps[other]) > 1), default=math.inf)
        return min(1.0, max(gained / (TELLING * width), least, 1 - theirs / width))

    def _left(self, kind: str) -> float:
        """What is left to gain by one kind of steps, if the errors of the last two fall like 1/k, as they do at worst;
        ∞ where they do not tell."""
        steps = [step for step in self._steps[kind] if step.k > 1 and math.isfinite(step.bound)][-2:]
        if len(steps) < 2 or steps[0].k >= steps[1].k:
            return math.inf
        (one, two), sign = steps, 1 if kind in LOWER else -1
        gained = sign * (two.bound - one.bound)
        end = two.bound + sign * gained * one.k / (two.k - one.k)
        return max(0.0, sign * (end - (self.lower if kind in LOWER else self.upper))) if gained > 0 else math.inf

    def _effort(self, schedule: Schedule, kind: str, k: int) -> float:
        """About how many pairs a step takes."""
        steps: list[Step] = self._steps[kind]
        last, largest = steps[-1], max(steps, key=lambda step: step.pairs)
        if last.seed is not None and not last.seed.sharp:  # counted by the time of all pairs
            growth = max(1.0, k / last.k)
            return last.pairs * growth * math.sqrt(growth)
        effort = largest.pairs * (max(1.0, k / largest.k) if schedule.sizes_grow else 1.0)
        return effort * GRADED if kind in LOWER and schedule.graded(kind, k, self._steps) is not None else effort

    def _cut_window(self, schedule: Schedule, kind: str, k: int) -> None:
        """Cut the window of events to what matters on a coarse lattice, before a much finer one than so far."""
        steps, plain = self._steps[kind], not self.problem.folds and not self.problem.monotone
        told = [step for step in steps if step.pairs >= CUT_PAIRS and step.seed is not None]
        if kind not in LOWER or kind in self._cut or not told or self.best is None or not plain:
            return
        if self.problem.joint.epsilon < CUT_WINDOWS_FROM or k < CUT_GROWTH * steps[-1].k:
            return
        self._cut[kind] = steps[-1].window
        coarse, median = told[0], float(self.best.noise.quantile(0.5)) / self.problem.sensitivity
        window, grading = coarse.window, schedule.graded(kind, coarse.k, self._steps)
        middle = min(max(median, window.left), window.right)  # a law may be where the loss is the same far out
        if grading and grading.steps and coarse.seed and coarse.seed.k == coarse.k:  # it was not graded then
            coarse = self._lower_step(schedule, kind, coarse.k, window, coarse.seed, self._limits)
            self.lower = max(self.lower, coarse.bound)
            if coarse.status != "optimal" or self._over:
                return
        enough = coarse.bound * (1 - CUT_SHARE * self.settings.gap)
        for side in ("left", "right"):
            share = 1.0
            for power in range(1, CUT_TRIALS + 1):
                end = middle + (share - 0.5**power) * (getattr(coarse.window, side) - middle)
                tried = replace(window, **{side: end})
                step = self._lower_step(schedule, kind, coarse.k, tried, coarse.seed, self._limits)
                if self._over:
                    return
                if step.status == "optimal" and step.bound >= enough:
                    share, window = share - 0.5**power, tried
        if self.problem.whole_line:  # on finer lattices events a little beyond count, too
            window = replace(window, left=window.left - 1 / coarse.k, right=window.right + 1 / coarse.k)
        steps[-1] = replace(steps[-1], window=window.within(coarse.window))

    def _step(self, schedule: Schedule, kind: str, k: int, share: float = 1.0) -> Step:
        """One lower or upper bound on a lattice of k per sensitivity, in at most that share of the time left."""
        before = self._steps[kind]
        window, seed = schedule.window(kind, k, self._steps), before[-1].seed if before else None
        if kind not in LOWER and self._cut_serves:
            share = min(share, PARTLY)
        limits = self._limits if share == 1 else replace(self._limits, deadline=self._until(share))
        if kind in LOWER:
            step = self._lower_step(schedule, kind, k, window, seed, limits)
            if kind in self._cut:  # too short, if a finer lattice proves less, whose solution leads nowhere then
                less = step.status == "optimal" and step.bound < max(other.bound for other in before)
                if less and window != self._cut[kind]:
                    before[-1], step = replace(before[-1], window=self._cut[kind]), replace(step, status="cut")
                step = replace(step, window=self._cut[kind] if less else window)
            else:
                step = replace(step, window=step.window.within(schedule.widest))
            self.lower = max(self.lower, step.bound)
        else:
            narrowing = schedule.graded(kind, k, self._steps)
            step = replace(self._upper_step(k, int(kind == "offset"), window, seed, limits, narrowing), k=k)
            if step.noise is not None and step.bound < self.upper:
                figures = (step.bound, step.delta_upper, step.worst_shift, step.repaired, step.cells)
                self.best = _Found(step.noise, *figures, "linear program")
        if step.status == "optimal":
            before.append(step)
        elif step.status == "infeasible" and before:  # the window was cut too short
            before[-1] = replace(before[-1], window=before[-1].window.scaled(1.5))
        self._cells, self._pairs = max(self._cells, step.cells), self._pairs + step.pairs
        self._report()
        return step

    def _lower_step(
        self, schedule: Schedule, kind: str, k: int, window: Window, seed: Seed | None, limits: Limits
    ) -> Step:
        grading = schedule.graded(kind, k, self._steps)
        cells = k // grading.coarse if grading and not grading.steps else k
        problem, factor = trimmed(self.problem)
        origin = schedule.origin(kind, k)
        step = lower_step(problem, cells, window, seed, limits, grading, ends=kind == "ends", origin=origin)
        if problem is not self.problem:
            step = replace(step, bound=max(0.0, step.bound) * factor, proof=None)
        return replace(step, k=k)

    def _upper_step(
        self, k: int, edge: int, window: Window, seed: Seed | None, limits: Limits, narrowing: Grading | None
    ) -> Step:
        return upper_step(self.problem, k, edge, window, seed, limits, grading=narrowing)

    # The answer --------------------------------------------------------------------------------------

    def _solution(self) -> Solution:
        problem, found = self.problem, self.best
        if found is None and self._least_spent is not None and problem.budget is not None:
            raise self._over_budget(self._least_spent, problem.budget)
        if found is None:
            lo, hi = problem.support
            raise InfeasibleError(
                "support",
                f"[{lo:g}, {hi:g}]",
                f"room for a private law (none was found); a width of {problem.enough} is always enough",
            )
        certificate, noise, shifts = self._certificate(found), found.noise, 0
        if isinstance(noise, PiecewiseNoise):
            shifts = len(audit.candidate_shifts(noise, noise.resolution))
        seconds = time.perf_counter() - self._began
        return Solution(
            self.asked, self.settings, noise, certificate, (*self._trace, self._record()), seconds, found.cells, shifts,
            found.source,
        )  # fmt: skip

    def _certificate(self, found: _Found) -> Certificate:
        """The bracket and the law's figures for every requirement of the problem as it was asked."""
        noise, asked, second = found.noise, self.asked, self.asked.second
        delta_upper, shift = found.delta_upper, found.worst_shift
        if asked.privacy != self.problem.privacy:
            delta_upper, shift = audit.shortfall_upper(noise, asked.privacy.epsilon, asked.sensitivity)
        spent = None if asked.budget is None else audit.loss_upper(noise, asked.budget.loss)
        kappa = None if second is None else audit.delta_upper(noise, second.epsilon, asked.sensitivity)
        proof = None
        if isinstance(asked.profile, PairList):
            proof = proof_of(noise, asked.profile, ())  # type: ignore[arg-type]  # of a list: any law
        elif asked.profile is not None:  # one release
            proof = ProfileProof((), (asked.privacy.epsilon,), (delta_upper,), (asked.privacy.delta,), math.inf)
        return Certificate(self.lower, found.upper, delta_upper, shift, found.repaired, spent, kappa, proof)
