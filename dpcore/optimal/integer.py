"""The optimal noise for whole-number queries: values, and so the noise, are multiples of a step.

Only shifts by whole steps exist, so the program on the query's lattice is exact. It is approached through coarser
lattices, each seeded by the one before and each a bracket by itself; then the stretch of line looked at grows until
both bounds meet. For δ = 0 the support is infinite and the law a closed form [GV15, discrete setting].
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass, replace

import numpy as np

from .. import audit
from .._validate import decimal
from ..audit_shape import admitted
from ..errors import InfeasibleError, InputError
from ..noise.base import Noise
from ..noise.discrete import DiscreteStaircase, Geometric, IntegerStaircase
from ..noise.lattice import LatticeNoise, stretched
from ..noise.piecewise import PiecewiseNoise
from ..noise.truncated_laplace import TruncatedLaplace
from ..noise.uniform import Uniform
from ..noise.whole import TOTAL
from ..privacy import DELTA_RANGE, Privacy
from ..problem import GAP, NoiseProblem, SolverSettings
from ..solution import Certificate, Progress, Solution
from . import jumps, laws
from .additive import Search
from .anytime import Anytime, ProgressCallback
from .groups import lattice_bounds
from .integer_bounds import (
    Found,
    Stretch,
    best_point,
    certified,
    chain_lower,
    lower_bound,
    private_masses,
    seed_of_law,
    spread,
    upper_bound,
)
from .nearest import real_valued, rounded
from .step import AUDIT_ROOM, Limits

MOST_STEPS = 5000
"""Largest sensitivity, in steps."""

GOAL = 1e-9
"""Relative gap aimed at, as far as `EXACT_TO` steps; it costs next to nothing there."""

EXACT_TO = 64

MOST_NODES = 12_000
"""Largest program."""

ON_THE_LINE, MOST_ALONE = 0.4, 10_000
"""Share of the time for the real-valued query, where the shifts times the points of a law are more than so many."""

STAIRCASE_FROM, LEAST_STEPS, MOST_FROM_LAW, FROM_LAW = 3.0, 12, 200, 0.5
"""From this ε on the best law is nearly a staircase; on lattices of so many steps programs begin with one, in this
share of the time."""

SPARE = 20
"""A law that repairs another is longer by one in so many points on either side, and by a sensitivity at least."""

MOST_POINTS, MOST_WORK = 200_000, 10**8
"""Largest law, and most points times shifts of one audit; files hold no more."""


def solve_integer(
    problem: NoiseProblem,
    settings: SolverSettings | None = None,
    progress: ProgressCallback | None = None,
) -> Solution:
    """The least expected loss of (ε, δ)-DP noise on the lattice of a query with `granularity`, bracketed.

    Raises
    ------
    InputError : a budget, a second pair or the reference method was asked for; more than `MOST_STEPS` steps.
    InfeasibleError : the support leaves no (ε, δ)-DP law.
    """
    settings = settings or SolverSettings()
    _refuse(problem, settings)
    return IntegerSearch(problem, settings, progress).run()


def _refuse(problem: NoiseProblem, settings: SolverSettings) -> None:
    if problem.budget is not None:
        raise InputError("budget", f"{problem.budget.most:g}", "no budget when the query has a granularity")
    if problem.second is not None:
        shown = f"({problem.second.epsilon:g}, {problem.second.delta:g})"
        raise InputError("second", shown, "no second pair when the query has a granularity")
    if settings.method != "certified":
        raise InputError("method", settings.method, "certified when the query has a granularity")
    if problem.lattice_sensitivity > MOST_STEPS:
        raise InputError("granularity", problem.granularity, f"at least a {MOST_STEPS}th of the sensitivity")
    first, last = problem.lattice_support
    if first > last:
        lo, hi = problem.support
        accepted = f"an interval that holds a multiple of {problem.granularity:g}"
        raise InfeasibleError("support", f"[{lo:g}, {hi:g}]", accepted)


@dataclass(frozen=True)
class _Best:
    """The best law so far and its audited figures."""

    noise: Noise
    upper: float
    delta_upper: float
    worst_shift: float
    repaired: bool
    points: int
    source: str


class IntegerSearch(Anytime[NoiseProblem, Solution]):
    """The state of one solve: the best bracket so far and where to look next."""

    def __init__(self, problem: NoiseProblem, settings: SolverSettings, progress: ProgressCallback | None) -> None:
        self._k = problem.lattice_sensitivity
        fits = problem.privacy.delta == 0 or 2 * problem.joint.truncation() * self._k <= MOST_NODES
        self._exact = self._k <= EXACT_TO and fits
        super().__init__(problem, settings, progress, GOAL if self._exact else settings.gap)
        self._most = min(MOST_POINTS, MOST_WORK // self._k)
        self.best: _Best | None = None
        self._settled = False  # both ends are closed forms

    def run(self) -> Solution:
        """Closed forms, then lattices from coarse to the query's own, then ever longer stretches of it."""
        self._start()
        self._report()
        if self._settled or self.problem.vanishes(self.upper):
            return self._solution()
        self._by_groups()
        self._by_chain()
        self._from_law()
        self._on_the_line()
        stretch = self._first_stretch()
        chain = coarsenings(self._k, (stretch[1] - stretch[0]) * (0.5 if self.problem.folds else 1.0))
        exact = self._exact and self.problem.paid_loss.continuous
        if len(chain) > 1 and not exact and self._record().gap <= self.settings.gap:
            # programs would take long, for little
            return self._solution()
        seed, before = None, None
        for below_by, above_by in chain + [(1, 1)] * 12:
            m = max(below_by, above_by)
            if self._over or (before is not None and not self._record().gap < 0.7 * before):
                break
            room = min(0.5 * MOST_NODES * m / (0.5 if self.problem.folds else 1.0), 0.5 * self._most - 2 * m)
            middle = best_point(self.problem)
            stretch = max(stretch[0], middle - room), min(stretch[1], middle + room)
            before = self._record().gap if m == 1 else None
            below = self._take(lower_bound(self.problem, below_by, stretch, seed, self._limits))
            if below.status == "optimal":
                seed = below.seed
            above = Found(math.inf, None, math.inf, 0, False, None, None, 0, 0, "not asked")
            if not self._over and self.problem.privacy.delta > 0:
                above = self._take(upper_bound(self.problem, above_by, stretch, seed, self._limits))
            stretch = self._next_stretch(stretch, [below, above], m)
        return self._solution()

    def first(self) -> Solution:
        """The answer before any linear program, for a sensitivity of one step and mirror images: both ends of the
        bracket are closed forms. Milliseconds.

        Raises
        ------
        InputError : no law was found, which a later program might find.
        """
        self._start()
        if not self._settled:
            self._by_chain()
        return self._solution()

    def _by_chain(self) -> None:
        """The multipliers that belong to mixtures of truncated geometric laws."""
        if has_first(self.problem):
            self.lower = max(self.lower, chain_lower(self.problem, self._first_stretch()))
            self._report()

    def _from_law(self) -> None:
        """At large ε, on lattices that are approached through coarser ones, which show little of a narrow top step:
        programs on the query's own, begun with the pairs that bind at the best law, nearly a staircase."""
        problem, k = self.problem, self._k
        large = problem.privacy.epsilon >= STAIRCASE_FROM and LEAST_STEPS < k <= MOST_FROM_LAW
        law = self.best.noise if self.best is not None else None
        if not large or problem.privacy.delta == 0 or law is None or self._over:
            return
        wide, middle = k * (2 + 5 / problem.privacy.epsilon), best_point(problem)
        stretch = middle - wide, middle + wide
        limits = replace(self._limits, gap=self.settings.gap, deadline=self._until(FROM_LAW))
        seed = seed_of_law(problem, law, stretch)  # type: ignore[arg-type]  # with δ > 0 laws are lists of points
        below = self._take(lower_bound(problem, 1, stretch, seed, limits))
        if not self._near_enough() and not self._over and below.status == "optimal":
            self._take(upper_bound(problem, 1, stretch, below.seed, limits))

    def _on_the_line(self) -> None:
        """The bounds of the real-valued query next to this one, as far as they hold here, and its law, rounded."""
        problem, now = self.problem, time.perf_counter()
        if self._over or self._near_enough() or problem.privacy.delta == 0 or not self._large:
            return
        real = real_valued(problem)
        if real is None:
            return

        def watch(record: Progress) -> bool:
            self.lower = max(self.lower, real.lower(record.lower))
            self._report()
            return self._over or self._near_enough()

        reach = self._most // 2 - self._k
        low, high = real.problem.support
        near = max(low, -reach), min(high, reach)
        spared = problem.privacy.delta - 4 * self._most / TOTAL  # what rounding to whole weights costs
        if real.exact and spared > DELTA_RANGE[0]:
            pair = Privacy(problem.privacy.epsilon, spared)
            for noise in jumps.cut_staircases(replace(real.problem, privacy=pair, support=near)):
                self._offer_rounded(noise)
        limit = max(1e-3, ON_THE_LINE * (self._deadline - now))
        settings = replace(self.settings, gap=max(GAP.low, 0.5 * self.settings.gap), time_limit=limit)
        search = Search(real.problem, settings, watch)
        with contextlib.suppress(InfeasibleError):
            search.run()
        self.lower = max(self.lower, real.lower(search.lower))
        self._offer_rounded(search.piecewise)
        self._cells, self._pairs = max(self._cells, search._cells), self._pairs + search._pairs
        self._report()

    def _offer_rounded(self, law: PiecewiseNoise | None) -> None:
        """A law on the line, rounded to the points; where that rounds its δ up, too, a little of a strictly private law
        is mixed in [Thm 5]."""
        found, problem = None if law is None else rounded(law, self._k), self.problem
        if found is None or len(found[1]) > self._most:
            return
        first, masses = found
        spare = min(max(self._k, len(masses) // SPARE), (self._most - len(masses)) // 2)
        nodes = spread(problem, 1, (first - spare, first + len(masses) - 1 + spare))
        start = -1 if nodes is None else first - nodes.first
        if nodes is None or start < 0 or start + len(masses) > len(nodes.lattice.indices):
            return
        full = np.zeros(len(nodes.lattice.indices))
        full[start : start + len(masses)] = masses
        noise, delta_upper, shift, repaired = certified(problem, nodes, full, None)
        if noise is None:
            costs = audit.lattice_costs(nodes.points(problem.lattice_step), problem.paid_loss)[1]
            strict = private_masses(problem, nodes.lattice, costs, best_point(problem) - nodes.anchor)
            noise, delta_upper, shift, repaired = certified(problem, nodes, full, strict)
        if noise is not None:
            upper = audit.loss_upper(noise, problem.loss)
            if upper < self.upper:
                self.best = _Best(noise, upper, delta_upper, shift, repaired, len(masses), "linear program")
        self._report()

    def _near_enough(self) -> bool:
        return self._record().gap <= self.settings.gap

    @property
    def _large(self) -> bool:
        """Programs on the lattice take long, and threshold losses, where the line loses nothing."""
        wide = 2 * self.problem.joint.truncation() * self._k
        return wide * self._k > MOST_ALONE or jumps.threshold(self.problem.paid_loss) is not None

    # Bookkeeping -------------------------------------------------------------------------------------

    @property
    def _limits(self) -> Limits:
        scale = self.upper if math.isfinite(self.upper) and self.upper > 0 else self.problem.lattice_step
        return Limits(scale, self._goal, self._deadline, self._stop)

    def _take(self, found: Found) -> Found:
        """Keep what a program found if it is better."""
        if found.noise is None and math.isfinite(found.bound):
            self.lower = max(self.lower, found.bound)
        elif found.noise is not None and found.bound < self.upper:
            figures = (found.bound, found.delta_upper, found.worst_shift, found.repaired, len(found.noise.weights))
            self.best = _Best(found.noise, *figures, "linear program")
        self._cells, self._pairs = max(self._cells, found.classes), self._pairs + found.pairs
        self._report()
        return found

    # Closed forms ------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Laws that no program makes: at δ = 0 the discrete staircase, optimal for even losses that grow away from 0
        [Thm 8]; else that law cut off, with what is left of δ at its middle, and the truncated geometric law [G20]."""
        problem, k = self.problem, self._k
        staircase = best_staircase(problem) if problem.privacy.epsilon > 0 else None
        if staircase is not None and problem.privacy.delta == 0:
            law: IntegerStaircase = Geometric(staircase.epsilon, 1, staircase.location) if k == 1 else staircase
            noise = stretched(law, problem.lattice_step)
            upper = audit.loss_upper(noise, problem.loss)
            self.best = _Best(noise, upper, 0.0, problem.sensitivity, False, 0, "closed form")
            lower = laws.pure_lower(problem)
            if lower is not None:
                self.lower, self._settled = max(self.lower, lower), True
            return
        if staircase is not None:
            self._offer(*_cut_staircase(problem, staircase))
        self._offer_lossless()
        self._offer_uniform()
        if has_first(problem):
            self._offer_mixture()
        half = problem.privacy.truncation() * k
        if 2 * half + 3 <= self._most:
            for reach in (math.ceil(half), math.ceil(half) + 1):
                masses = np.exp(-problem.privacy.epsilon * np.abs(np.arange(-reach, reach + 1)) / k)
                self._offer(self._cheapest(reach) - reach, masses)

    def _offer_mixture(self) -> None:
        """For a sensitivity of one step: the geometric laws cut off n and n + 1 steps from 0, mixed so that δ is used
        up. Of a law cut off at n, a shift uncovers its last point [method: atlas]."""
        delta = self.problem.privacy.delta
        n = np.arange(math.ceil(self.problem.privacy.truncation()) + 3)
        falling = np.exp(-self.problem.privacy.epsilon * n)
        ends = falling / (2 * np.cumsum(falling) - 1)
        wide = int(np.searchsorted(-ends, -delta, side="right"))  # the first that uncovers less
        if not 0 < wide < len(n) or 2 * wide + 1 > self._most:
            return
        for spare in (1e-13 * delta, min(AUDIT_ROOM, 1e-6 * delta)):
            share = (delta - spare - ends[wide]) / (ends[wide - 1] - ends[wide])
            masses = (1 - share) * ends[wide] / falling[wide] * falling
            masses[:wide] += share * ends[wide - 1] / falling[wide - 1] * falling[:wide]
            self._offer(-wide, np.concatenate([masses[wide:0:-1], masses[: wide + 1]]))

    def _cheapest(self, reach: int) -> int:
        """Where the middle of the truncated geometric law costs least, within the support; 0 for mirror images and
        monotone laws."""
        problem, middle = self.problem, round(best_point(self.problem))
        if problem.folds or problem.monotone:
            return middle
        (low, high), epsilon, step = problem.lattice_support, problem.privacy.epsilon, problem.lattice_step
        if low + 2 * reach > high:
            return middle
        law = TruncatedLaplace(problem.sensitivity / epsilon, reach * step) if epsilon else Uniform(reach * step)
        return round(min(max(laws.cheapest_place(problem, law) / step, low + reach), high - reach))

    def _offer_uniform(self) -> None:
        """The uniform law on k/δ points: a shift of k uncovers a share δ."""
        n = math.ceil(self._k / (self.problem.privacy.delta * (1 - 1e-9))) + 1  # so that rounding costs no δ
        if n > self._most:
            return
        n += n % 2 == 0
        low, high = self.problem.lattice_support
        self._offer(int(min(max(round(best_point(self.problem)) - n // 2, low), high - n + 1)), np.ones(n))

    def _offer_lossless(self) -> None:
        """The geometric law on the lattice points around the minimiser where the loss is least: if they are enough for
        (ε, δ), no law does better."""
        problem = self.problem
        best, least = problem.loss.minimiser(*problem.support)
        flat = [p for p in problem.loss.pieces if p.coefficient == 0 and p.constant == least and p.lo <= best <= p.hi]
        if not flat:
            return
        (lo, hi), step, wide = problem.lattice_support, decimal(problem.lattice_step), 40_000
        centred = problem.folds or problem.monotone
        ends = [p.lo for p in flat if math.isfinite(p.lo)], [p.hi for p in flat if math.isfinite(p.hi)]
        middle = round(best_point(problem))
        low = math.ceil(decimal(min(ends[0])) / step) if len(ends[0]) == len(flat) else middle - wide
        high = math.floor(decimal(max(ends[1])) / step) if len(ends[1]) == len(flat) else middle + wide
        low, high = int(max(low, lo, middle - wide)), int(min(high, hi, middle + wide))
        if centred:
            low, high = -min(-low, high), min(-low, high)
        if low <= high:
            steps = np.arange(low, high + 1)
            self._offer(low, np.exp(-problem.privacy.epsilon * np.abs(steps - (low + high) // 2) / self._k))

    def _offer(self, first: int, masses: np.ndarray, source: str = "closed form") -> None:
        """Audit a law and keep it if it fits and is better."""
        low, high = self.problem.lattice_support
        if not low <= first <= first + len(masses) - 1 <= high or len(masses) > self._most:
            return
        problem = self.problem
        noise = LatticeNoise.from_masses(problem.lattice_step, first, masses, monotone=problem.monotone)
        upper = audit.loss_upper(noise, problem.loss)
        if upper < self.upper and (found := admitted(noise, problem)):
            self.best = _Best(noise, upper, *found, False, len(masses), source)

    def _by_groups(self) -> None:
        """Lower bounds from groups of neighbours, at small ε [method: groups]."""
        law = None if self.best is None else self.best.noise.support
        if law is None or not all(map(math.isfinite, law)):
            return
        for bound in lattice_bounds(self.problem, law):
            self.lower = max(self.lower, bound)
            self._report()
            if self._over:
                return

    # Where to look -----------------------------------------------------------------------------------

    def _first_stretch(self) -> Stretch:
        """The loss's minimiser and nearer breaks with generous margins [method: windows], in steps."""
        problem, k = self.problem, self._k
        power = max(piece.power for piece in problem.paid_loss.pieces)
        epsilon = problem.privacy.epsilon
        wide = 2.5 * problem.privacy.truncation() + 1.5
        if problem.privacy.delta == 0:
            wide = (math.log(10 / GOAL) + 4 * (power - 1)) / epsilon + 3
        wide = k * wide * (1.0 if problem.folds else 1.5)
        best, breaks = best_point(problem), problem.paid_loss.breaks / problem.lattice_step
        near = breaks[np.abs(breaks) <= 4 * wide + 4 * k]
        low, high = min(best, near.min(initial=0.0)) - wide, max(best, near.max(initial=0.0)) + wide
        return (-max(-low, high), max(-low, high)) if problem.folds else (low, high)

    def _next_stretch(self, stretch: Stretch, found: list[Found], m: int) -> Stretch:
        """On a coarse lattice, what was used with a margin of a sensitivity; on the query's own, twice as much."""
        low, high = stretch
        used = [one.used for one in found if one.used is not None and one.status == "optimal"]
        if m > 1 and len(used) == (2 if self.problem.privacy.delta else 1):
            margin = 1.0 * self._k + m
            low, high = max(low, min(u[0] for u in used) - margin), min(high, max(u[1] for u in used) + margin)
        elif m == 1:
            grow = 0.5 * (high - low) + 1
            low, high = low - grow, high + grow
        return (-max(-low, high), max(-low, high)) if self.problem.folds else (low, high)

    def _no_law(self) -> InputError:
        """Why there is no answer: too narrow a support, or too many points for one."""
        problem, (lo, hi) = self.problem, self.problem.support
        width = 2 * (problem.privacy.truncation() + 1)
        if math.isfinite(hi - lo) and hi - lo < 3 * problem.sensitivity * width:
            accepted = f"room for a private law; a width of {width * problem.sensitivity:.6g} is nearly always enough"
            return InfeasibleError("support", f"[{lo:g}, {hi:g}]", accepted)
        accepted = f"a larger one, a coarser granularity or more time: no law of at most {self._most} points was found"
        return InputError("delta", problem.privacy.delta, accepted)

    # The answer --------------------------------------------------------------------------------------

    def _solution(self) -> Solution:
        problem, found = self.problem, self.best
        if found is None:
            raise self._no_law()
        certificate = Certificate(self.lower, found.upper, found.delta_upper, found.worst_shift, found.repaired)
        seconds = time.perf_counter() - self._began
        trace = (*self._trace, self._record())
        return Solution(
            problem, self.settings, found.noise, certificate, trace, seconds, found.points, self._k, found.source
        )


def has_first(problem: NoiseProblem) -> bool:
    """Whether `IntegerSearch.first` may be asked: the sensitivity is one step, on the whole line, with a loss that is
    even."""
    one = problem.granularity is not None and problem.lattice_sensitivity == 1
    return one and problem.folds and problem.whole_line and not problem.monotone and problem.profile is None


def _reach(law: IntegerStaircase, delta: float) -> int:
    """Periods of a staircase beyond which lies about a millionth of δ."""
    return math.ceil(math.log(1e6 / delta) / law.rate) + 1


def coarsenings(k: int, points: float) -> list[tuple[int, int]]:
    """Steps per node, (for lower, for upper bounds), from coarse to (1, 1): at once for small programs over so many
    points, else about halved every time. A lower bound wants the nodes to reach nearly the sensitivity of k steps, an
    upper bound to reach hardly beyond it; divisors of k do both."""
    out, m = [(1, 1)], 1
    while m < k and (k > 12 * m or points > 1200 * m):
        candidates = range(min(2 * m, k), min(3 * m, k) + 1)
        below, above = min(candidates, key=lambda m: (k % m, m)), min(candidates, key=lambda m: (-k % m, m))
        out.append((below, above))
        m = below
    return out[::-1]


def best_staircase(problem: NoiseProblem) -> DiscreteStaircase:
    """The discrete staircase, in steps, whose r, and for losses that are not even whose location, cost least; a search
    along both, which for many steps takes too long to be worth it where a program does better (δ > 0)."""
    k, loss = problem.lattice_sensitivity, problem.paid_loss.scaled(problem.lattice_step)
    law = DiscreteStaircase.calibrate(problem.privacy, k, loss)
    if problem.folds or problem.monotone:
        return law
    law = replace(law, location=int(np.clip(round(best_point(problem)), -(10**6), 10**6)))
    if problem.privacy.delta > 0 and k > EXACT_TO:
        return law
    value, first = law.expected_loss(loss), law.location
    reach = max(1, round(2 * k + 2 * k / problem.privacy.epsilon))  # where a support is far from 0, 0 is no aim
    stride = 1 << min(reach, 10**5).bit_length()
    while stride:
        moves = [(law.r, law.location + s) for s in (-stride, stride)]
        moves += [(r, law.location + s) for r in (law.r - stride, law.r + stride) for s in (-stride, 0, stride)]
        moves = [(r, at) for r, at in moves if 1 <= r <= k and abs(at) <= 10**6 and abs(at - first) <= reach]
        near = [replace(law, r=r, location=at) for r, at in moves]
        better = min(near, key=lambda one: one.expected_loss(loss), default=law)
        if better.expected_loss(loss) < value:
            law, value = better, better.expected_loss(loss)
        else:
            stride //= 2
    return law


def _cut_staircase(problem: NoiseProblem, law: IntegerStaircase) -> tuple[int, np.ndarray]:
    """(first point, masses) of (1 − a)·staircase + a·(the loss's minimiser) [Thm 6], cut far out: beyond it
    lies about a millionth of δ."""
    privacy, k = problem.privacy, problem.lattice_sensitivity
    periods = min(_reach(law, privacy.delta), max(1, (min(MOST_POINTS, MOST_WORK // k) // 2 - k) // k))
    reach = law.rise - 1 + k * periods
    steps = np.arange(-reach, reach + 1)
    masses = law.pmf(steps + law.location)
    masses /= math.fsum(masses)
    tail = float(masses[:k].sum())
    atom = (privacy.delta - tail - min(AUDIT_ROOM, privacy.delta / 2)) / (1 - tail)
    masses *= 1 - max(0.0, atom)
    at = round(best_point(problem)) - law.location + reach
    if atom > 0 and 0 <= at < len(masses):
        masses[at] += atom
    return law.location - reach, masses
