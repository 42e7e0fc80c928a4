"""The certified bracket of an isotropic problem, anytime: ever finer laws, ever finer multipliers."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import special

from .._validate import decimal
from ..errors import InputError, SolverError
from ..noise.gaussian import Gaussian
from ..optimal.anytime import Anytime, ProgressCallback
from ..optimal.groups import group_delta
from ..optimal.solve import solve as solve_on_line
from ..privacy import Privacy
from ..problem import SolverSettings, noise_problem
from ..solution import Certificate
from . import audit, balls
from .curve_search import CurveSearch
from .curves import Curve
from .geometry import log_volumes
from .law import RadialNoise
from .lower import DualProgram
from .problem import Array, IsotropicProblem, RadialLoss
from .proof import Judge, Multipliers, Proved
from .solution import IsotropicSolution
from .start import MOST_SHELLS as MOST_AT_FIRST
from .start import NAMES, best_known, first_law, shells
from .upper import ShellProgram

FIRST_SHELLS, MOST_SHELLS = 48, 2500
"""Shells of the first law at least, and those beyond which no finer one is tried."""

FINER = 20
"""Binary digits by which radii are finer than shells where one has to end at the length beyond which the loss jumps."""

FIRST_NODES, MOST_NODES = 24, 200
"""Nodes of the first multipliers at least, and those beyond which no finer ones are tried."""

PROOFS = np.array([8.0, 4.0, 2.0, 1.0, 1.0])
"""Tolerances of the proofs on one set of nodes, radii coming in after each, in units of the last one."""

BEYOND = 0.02
"""Share of δ that the law has beyond the last node."""

UNSEEN = 1e-7
"""Probability within the innermost shell."""

FIRST_SHELLS_PER_NODE, SHELLS_PER_NODE = 8, 16
"""Laws on finer shells come first while they have no more shells than this, before the first lower bound and after;
programs of both kinds then take about as long."""

SLOW_SHIFTS, SLOW_GAP, FIRST_SLOW_GAP = (1.0, 0.8, 0.65, 0.5), 0.04, 1.0
"""Shifts of the finer multipliers where one alone leaves such a gap, and of the first ones where curves do: laws then
hide mass on spheres one shift apart."""

ROUNDING = 1e-13

PROGRAM = "linear program"
"""How laws arise, for people."""

COARSEST, LEAST_REACH = 0.1, 100.0
"""Largest mε of groups, and least reach of the law in groups."""

LINE_SHARE = 0.5
"""Share of the time left that the lower bound on the line may take."""

LINE_GAP, LINE_SECONDS = 0.02, 0.3
"""Gap and time of that bound where it is a coordinate's, and others will follow."""

FEW_DIMENSIONS = 20
"""Up to so many, multipliers that are no curve gain something; in all where the loss jumps."""

LONGER = 2.0
"""A law on shells half as wide takes so many times as long, at least."""

GRACE = 0.3
"""Seconds that an audit may go on after the deadline."""

DILATIONS = 14
"""Powers of 4 of 2^−20 by which a law may be dilated to meet δ."""

DEFAULT = SolverSettings(gap=0.01, time_limit=30.0)


def solve(
    problem: IsotropicProblem, settings: SolverSettings | None = None, progress: ProgressCallback | None = None
) -> IsotropicSolution:
    """The least expected loss of (ε, δ)-DP noise in R^d, bracketed, with the radial law that attains the upper end.

    Parameters
    ----------
    progress : called with every improvement and about every 0.1 s; returning True stops the search once a first law
        is known. The answer is valid whenever it stops; stopping early only widens the gap.

    Raises
    ------
    SolverError : no law was found within the time limit.
    """
    return Search(problem, settings, progress).run()


def group_size(privacy: Privacy, reach: float) -> int:
    """The largest power of two m such that little is lost when the lower bound is that of groups of m. reach : of the
    law, in sensitivities."""
    m = 1
    while 2 * m * max(privacy.epsilon, privacy.delta) <= COARSEST and 2 * m * LEAST_REACH <= reach:
        m *= 2
    return m


def of_coordinate(dimension: int, loss: RadialLoss) -> float:
    """E c(|X|) is at least so many times E c(|X₁|), X radial, rounded down: 1/E|u₁|^p for powers, u a direction."""
    if dimension == 1 or loss.beyond is not None:
        return 1.0
    half, power = balls.ratio(1, 2), balls.exact(loss.power)
    inverse = (half * (dimension + power)).gamma() / (half * dimension).gamma()
    return balls.below(inverse * half.gamma() / (half * (power + 1)).gamma())


class _Stopped(Exception):
    """Raised through what nobody waits for any more."""


@dataclass(frozen=True)
class _Found:
    """A law and its audited figures."""

    noise: RadialNoise
    upper: float
    delta_upper: float
    repaired: bool
    source: str


class Search(Anytime[IsotropicProblem, IsotropicSolution]):
    """The state of one solve: the best bracket so far, and how fine the last law and the last multipliers were."""

    def __init__(
        self, problem: IsotropicProblem, settings: SolverSettings | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:  # fmt: skip
        settings = settings or DEFAULT
        super().__init__(problem, settings, progress, settings.gap)
        self._loss = problem.loss.in_units(problem.sensitivity)
        self.best: _Found | None = None
        self._multipliers: tuple[Multipliers | Curve, ...] = ()
        d, privacy = problem.dimension, problem.privacy
        self._sigma = Gaussian.calibrate(privacy, 1.0).sigma
        tail = min(privacy.delta / 100, 0.01)
        reach = [float(self._sigma * math.sqrt(2 * special.gammainccinv(d / 2, tail)))]
        core = [float(self._sigma * math.sqrt(2 * special.gammaincinv(d / 2, UNSEEN)))]
        if privacy.epsilon > 0:
            reach.append(float(special.gammainccinv(d, tail)) / privacy.epsilon)
            core.append(float(special.gammaincinv(d, UNSEEN)) / privacy.epsilon)
        self._reach, self._core = 1.25 * min(reach) + 1.0, 0.5 * min(core)
        self._known = best_known(d, privacy, self._loss)
        # Lower bounds are those of groups of m: a coarser problem, in units of m sensitivities.
        m = self._group = group_size(privacy, self._reach)
        self._coarse = Privacy(m * privacy.epsilon, group_delta(privacy, m)) if m > 1 else privacy
        self._coarse_loss = self._loss.in_units(float(m))
        self._coarse_factor = problem.factor * self._loss.factor(float(m))
        law = self._known if m == 1 else best_known(d, self._coarse, self._coarse_loss)
        self._curves = CurveSearch(law, self._coarse, self._coarse_loss)
        # Widths of shells are powers of two, so that radii one shift apart are both edges.
        self._fineness = math.ceil(math.log2(FIRST_SHELLS / self._reach))
        self._nodes, self._shells = FIRST_NODES, FIRST_SHELLS
        self._took, self._on_line = 0.0, False

    def run(self) -> IsotropicSolution:
        """A known law, then laws and multipliers from coarse to fine, until nothing finer is tried."""
        self._start()
        shells = nodes = True
        while (shells or nodes) and not self._over:
            share = SHELLS_PER_NODE if self._multipliers else FIRST_SHELLS_PER_NODE
            fine = nodes and self.noise is not None and self._shells > share * self._nodes
            if shells and not fine:
                shells = self._refine_upper()
            elif nodes and self.noise is not None:
                try:
                    nodes = self._refine_lower()
                except _Stopped:
                    nodes = False
            else:
                break
            self._report()
        return self._solution()

    @property
    def noise(self) -> RadialNoise | None:
        """The best law so far."""
        return self.best.noise if self.best else None

    def _solution(self) -> IsotropicSolution:
        if self.best is None:
            text = "no law was found that is proved to keep the promise"
            wanted = shells(self._known, self.problem.privacy)
            if wanted > MOST_AT_FIRST:
                text += f": some {wanted:.0f} shells would be needed, {MOST_AT_FIRST} are tried at most"
            raise SolverError(text)
        found = self.best
        certificate = Certificate(
            self.lower, found.upper, found.delta_upper, self.problem.sensitivity, found.repaired
        )  # fmt: skip
        return IsotropicSolution(
            problem=self.problem,
            settings=self.settings,
            noise=found.noise,
            certificate=certificate,
            multipliers=self._multipliers,
            trace=tuple(self._trace),
            seconds=time.perf_counter() - self._began,
            cells=len(found.noise.weights),
            shifts=len(self._multipliers),
            source=found.source,
        )

    def _start(self) -> None:
        """The best known law on many shells: close to the optimum in many dimensions."""
        problem = self.problem
        found = first_law(self._known, problem.privacy, problem.sensitivity, self._stop, self._loss.beyond)
        if found is not None:
            self._keep(*found, NAMES[self._known.q])
            self._report()

    # Laws --------------------------------------------------------------------------------------------

    def _refine_upper(self) -> bool:
        """A law on finer shells; whether a finer one still may be tried: there is time for it, which grows at least
        as fast as the number of shells."""
        began = time.perf_counter()
        if self.noise is not None and LONGER * self._took > self._deadline - began:
            return False
        try:
            return self._next_law()
        except _Stopped:
            return False
        finally:
            self._took = time.perf_counter() - began

    def _next_law(self) -> bool:
        """A law on finer shells; whether they are not too many."""
        problem, fineness = self.problem, self._fineness
        d, privacy = problem.dimension, problem.privacy
        width = 2.0**-fineness
        reach, core = self._reach, self._core
        if self.noise is not None:
            outer = self.noise.breaks / self.noise.resolution
            reach = min(reach, float(outer[-1]) + 0.5)
            inside = np.searchsorted(np.cumsum(self.noise.masses) + self.noise.atom_mass, UNSEEN)
            core = max(core, 0.9 * float(outer[inside]))
        first = max(1, math.floor(core / width)) if d > 1 else 1
        steps = np.concatenate([[0], np.arange(first, math.ceil(reach / width) + 1)])
        if len(steps) > MOST_SHELLS:
            return False
        self._fineness, self._shells = fineness + 1, 2 * len(steps)
        resolution = 1 << max(0, fineness)
        breaks = steps << max(0, -fineness)
        if self._loss.beyond is not None:  # a shell ends where the loss jumps
            breaks, resolution = breaks << FINER, resolution << FINER
            breaks[1:] += math.floor(math.fmod(self._loss.beyond, width) * resolution)
        edges = breaks / resolution
        reference = self._reference(edges)
        program = ShellProgram(d, edges, self._loss, privacy.amplification, privacy.delta, reference, self._look)
        program.seed(reference)
        found = program.solve(self._deadline, self._stop)
        self._cells, self._pairs = max(self._cells, len(edges) - 1), max(self._pairs, len(program.cuts))
        if found is not None:
            law = RadialNoise.from_masses(
                dimension=d, sensitivity=problem.sensitivity, resolution=resolution, breaks=breaks,
                masses=program.monotone(found.masses), atom=found.atom,
            )  # fmt: skip
            self._offer(law, PROGRAM)
        return True

    def _reference(self, edges: Array) -> Array:
        """Masses of a law of similar shape."""
        d, epsilon = self.problem.dimension, self.problem.privacy.epsilon
        volume, middle = log_volumes(d, edges), 0.5 * (edges[1:] + edges[:-1])
        if self.noise is None:
            logs = [volume - 0.5 * (middle / self._sigma) ** 2]
            logs += [volume - epsilon * middle] if epsilon > 0 else []
        else:
            old = self.noise.breaks / self.noise.resolution
            with np.errstate(divide="ignore"):
                height = np.log(self.noise.masses) - log_volumes(d, old)
            height = np.maximum(height, height[0] - 300.0)
            logs = [volume + np.interp(middle, 0.5 * (old[1:] + old[:-1]), height)]
        masses = np.sum([np.exp(one - one.max()) / np.exp(one - one.max()).sum() for one in logs], axis=0)
        total: Array = masses / masses.sum()
        return total

    def _offer(self, law: RadialNoise, source: str) -> None:
        """Keep the law if it is private, dilated where it has to be, and better than the best one."""
        try:
            self._audit_and_keep(law, source)
        except _Stopped:
            pass  # what there was before is the answer

    def _audit_and_keep(self, law: RadialNoise, source: str) -> None:
        delta, epsilon = self.problem.privacy.delta, self.problem.privacy.epsilon
        asked = law
        found = audit.delta_upper(law, epsilon, look=self._look)
        if found > delta and law.atom_mass > 2 * (found - delta):
            law = law.with_atom(law.atom_mass - 2 * (found - delta))
            found = audit.delta_upper(law, epsilon, look=self._look)
        for power in range(DILATIONS):
            if found <= delta:
                break
            longer = Fraction((1 << 20) + (1 << 2 * power), 1 << 20)
            if audit.delta_upper(law, epsilon, decimal(law.sensitivity) / longer, self._look) <= delta:
                wider = law.dilated(longer.numerator, longer.denominator)
                found = audit.delta_upper(wider, epsilon, look=self._look)
                law = wider if found <= delta else law
        if found <= delta:
            self._keep(law, found, source, law is not asked)

    def _look(self) -> None:
        """Raise where the answer is wanted now: by the caller, or because time is over and there is one."""
        if self._stop() or (self.best is not None and time.perf_counter() >= self._deadline + GRACE):
            raise _Stopped

    def _keep(self, law: RadialNoise, delta: float, source: str, repaired: bool = False) -> None:
        """The law, whose audit said δ, if it is the best one."""
        upper = audit.loss_upper(law, self.problem.loss)
        if upper < self.upper:
            self.best = _Found(law, upper, delta, repaired, source)

    # Multipliers -------------------------------------------------------------------------------------

    def _refine_lower(self) -> bool:
        """Multipliers on finer nodes; whether finer ones still may be tried."""
        if self.noise is None:
            return True
        if not self._on_line:
            self._on_line = True
            self._prove_on_line()
            return self.problem.dimension > 1
        if not self._curves.finished and not self._curves.slow:
            self._refine_curves()
            return True
        count, problem = self._nodes, self.problem
        if count > MOST_NODES or (problem.dimension > FEW_DIMENSIONS and self._loss.beyond is None):
            return False
        self._nodes = 2 * count
        d, privacy, loss = problem.dimension, self._coarse, self._coarse_loss
        scale = self.upper / self._coarse_factor
        covered = self.noise.atom_mass + np.cumsum(self.noise.masses)
        last = int(np.searchsorted(covered, 1 - BEYOND * problem.privacy.delta)) + 1
        reach = float(self.noise.breaks[min(last, len(covered))] / self.noise.resolution) / self._group * 1.02 + 0.05
        nodes = np.linspace(0.0, reach, count + 1) if loss.beyond is None else self._curves.stairs(count)
        reach = float(nodes[-1])
        slow = self._record().gap > (SLOW_GAP if count > FIRST_NODES else FIRST_SLOW_GAP)
        shifts = SLOW_SHIFTS if slow and privacy.epsilon > 1 else (1.0,)
        program = DualProgram(
            d, privacy.amplification, privacy.delta, loss, nodes, shifts, scale, min(reach / count / 4, 0.02)
        )  # fmt: skip
        program.add(program.first_radii(), self._look)
        least = scale * max(0.1 * self.settings.gap, 5e-4)
        for tolerance in least * PROOFS:
            found = program.solve(self._deadline, self._stop, self._look)
            if found is None:
                return True
            multipliers, value = found
            judge = Judge(d, privacy.epsilon, privacy.delta, loss, multipliers)
            proved = judge.prove(tolerance, self._deadline, self._stop)
            self._prove(proved, multipliers)
            if self._over or value - proved.lower <= 2.5 * least:
                break
            program.add(proved.worst, self._look)
        return True

    def _prove_on_line(self) -> None:
        """The lower bound of all additive noise on the line, for a coordinate of radial laws."""
        problem, loss = self.problem, self.problem.loss
        text = f"exceed:{loss.beyond!r}" if loss.beyond is not None else f"lp:{loss.power!r}"
        left = self._deadline - time.perf_counter()
        if left <= 0:
            return
        try:
            line = noise_problem(problem.privacy.epsilon, problem.privacy.delta, problem.sensitivity, text)
        except InputError:  # a loss or number that the line does not take
            return
        settings = SolverSettings(gap=0.1 * self.settings.gap, time_limit=LINE_SHARE * left)
        if problem.dimension > 1:
            settings = SolverSettings(gap=LINE_GAP, time_limit=min(LINE_SECONDS, LINE_SHARE * left))
        found = solve_on_line(line, settings, lambda _: self._stop()).certificate.lower
        lower = 0.0 if found is None else found * of_coordinate(problem.dimension, loss) * (1 - ROUNDING)
        if lower > self.lower:
            self.lower = lower
            self._report()

    def _refine_curves(self) -> None:
        """Curves on finer nodes."""
        tolerance = self._curves.scale * max(0.1 * self.settings.gap, 3e-4)
        for proved, curves in self._curves.stage(tolerance, self._deadline, self._stop):
            self._prove(proved, curves)
            if self._over:
                break

    def _prove(self, proved: Proved, multipliers: Sequence[Multipliers | Curve]) -> None:
        """Keep the bound if it is the best one."""
        lower = proved.lower * self._coarse_factor * (1 - ROUNDING)
        if lower > self.lower:
            self.lower, self._multipliers = lower, tuple(multipliers)
            self._report()
