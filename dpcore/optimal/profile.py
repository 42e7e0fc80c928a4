"""The optimal noise for a whole privacy profile δ(ε′), ε′ ≥ 0: μ-Gaussian differential privacy.

Programs on lattices whose rows are tangents of the curve (`curve`). For monotone laws the same lattice programs as for
one pair (ε, δ), with one family of rows per ε′: any finitely many pairs on the target make a lower bound; for the upper
bound the pairs lie where tangents of the target cross, so that a law that satisfies them satisfies the target in
between. A small share of geometric noise takes care of what lies beyond [method: A whole profile].
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from .. import audit, audit_profile
from .._validate import decimal
from ..audit_profile import ProfileProof
from ..audit_shape import keeps_shape
from ..errors import SolverError
from ..loss import Loss
from ..loss.cells import means as cell_means
from ..noise.piecewise import PiecewiseNoise
from ..noise.tailed import TailedNoise
from ..noise.whole import TOTAL
from ..privacy import Privacy
from ..privacy_profile import MOST_PAIRS, GaussianProfile, PairList
from ..problem import NoiseProblem, SolverSettings
from ..search import bisections, least_argument_vectorised
from ..solution import Certificate, Solution
from .anytime import Anytime, ProgressCallback
from .averages import Averages, AveragesProgram
from .blocks import Blocks, Slopes
from .central import FEW_COLUMNS, MANY_COLUMNS, CentralProgram
from .curve import CLOSE, FLOOR, CurveProgram
from .dense import DenseProgram
from .jumps import threshold
from .lattice import Array, Ints, Lattice
from .lower import lower_step, rounded_costs, rounding_lattice
from .marks import Events, Shaped
from .mesh import Grading
from .orbits import WIDEST
from .program import Seed
from .step import Window, origin_of, places_of
from .trust import KEPT_MARKS, KEPT_STEPS, TrustProgram
from .upper import cell_lattice, upper_step

STAGES = ((1.5, 6), (2.5, 8), (4, 12), (8, 12), (8, 24), (12, 24), (16, 32), (24, 40), (32, 48), (48, 64))
"""(cells per σ = D/μ, number of ε′ at μ = 1) of the programs, from coarse to fine. The smaller μ, the nearer is the
best law to the Gaussian, and the more it matters that the chords are short. For large μ, and losses that are not even,
it is the small programs whose solutions make the larger ones quick."""

COARSEST = 2.0
"""Cells per σ of the first program under the whole curve."""

GROWTH = (1.2, 2.2)
"""The next one has at least and at most this many times as many cells."""

GROWTH_AT_POLES, FINER_AT_POLES = {1: (1.2, 1.7), -1: (1.2, 2.0)}, 2
"""The same where laws have poles, for lower bounds and for laws, whose programs have at most so many times as many
cells per sensitivity there as elsewhere."""

TOO_LATE = 0.5
"""No program begins with less time left than this share of what the side's last one, a smaller one, took."""

AHEAD = 1.5
"""Programs for laws have at most so many times the cells that the next one for a lower bound has."""

AIMED = 1.1
"""Brackets narrow at least like the cells' width, and a little more is wanted than what is asked for."""

BESIDE, CLOSER = 0.1, 0.3
"""Fractions next to the distance of ±t are within so much of it, in sensitivities, first; then so near that what they
cost is likely to be this share of the gap aimed at."""

DENOMINATORS = (5, 8, 13, 21, 34, 55, 89)
"""Their largest denominators, one after the other."""

STRICT = (0.99, 0.97, 0.9, 0.8, 0.6, 0.4)
"""Shares of μ of laws of which one is mixed in there."""

NEARER = 0.5
"""Fractions that are not so near have to be nearer than the last one by this factor."""

PAST = 2.0
"""Laws go on there so many times μ sensitivities beyond where the Gaussian has next to nothing left."""

FOR_LAWS = 0.15
"""Laws get at most this share of the time left, each, as long as none is known that is better than a closed form, as at
small μ."""

FARTHEST, FARTHEST_LAW, TAILS_TO = 4.0, 4.5, 1.2
"""Tangents are looked at up to z = FARTHEST + μ/2, in programs for laws farther up to this μ: what they do beyond,
their tails have to mend; from there on that is next to nothing."""

STEEPEST, STEEPEST_LAW = 8.0, 13.0
"""And up to this ε′ in programs for lower bounds and for laws: what e^ε′ beyond it does, linear programs hardly
resolve, and next to nothing is lost; but what a law does there, its tail has to mend."""

POLES_FROM, COARSEST_AT_POLES = 1.8, 48.0
"""From this μ on laws have poles at whole sensitivities that count, and densities a + b/distance between nodes; next to
poles first so many cells per σ."""

AVERAGED_FROM, FINE = 2.2, 16
"""From this μ on, where the loss has a kink at its minimiser, lower bounds average shifts, over lattices with so many
steps to one of the mesh."""

TRUSTED_TO, TRUSTED_MARKS = 0.55, 2.0
"""Up to this μ programs take steps in a trust region, where errors beyond ±t are not rare; the latter holds on lattices
for them."""

CLOSE_AT_POLES = 0.01
"""There a program begins with rows within this share of the curve: with more it would be slow."""

NARROW, NARROW_FLAT = 3.0, 1.0
"""Where there are n nodes per sensitivity next to poles, elsewhere they are about √(NARROW·n) times as far apart; with
the latter where the loss has no kink at its minimiser, for poles count less there."""

REFUSED = 4
"""Times that the audit may refuse a law of such a program, which then looks at more shifts."""

HEAVY = 4.3
"""Poles farther out than so many σ and half a sensitivity do not count."""

LESS = 5e-5
"""By this share less than μ is asked of laws, and twice that of the Gaussian that a search begins with: room for chords
between tangents and for the tail."""

WIDER, MIXED = (2.0, 8.0, 32.0, 128.0, 512.0), (1e-4, 1e-3, 1e-2, 0.1)
"""A Gaussian to begin a program with is wider by so many times LESS, for windows cut its ends off. Of the widest, a law
to begin with gets so much."""

BEYOND = 1.0
"""Programs look so far beyond the place where a normal law has the least probability of an error beyond ±t."""

MARGIN = 1e-9
"""So much of the value is left over in programs for lower bounds at every class (`CurveProgram`): more than what
solvers let multipliers miss where laws weigh next to nothing."""

RARE = 1e-4
"""Where half-lines leave less than that for errors beyond ±t, programs are solved as far out."""

SEEN = 0.015
"""Distance of the tangents between which laws are checked that were not made for some of their own."""

EXACT, CENTRAL = 0.02, 0.1
"""A program's own bracket is narrowed to this share of the gap aimed at; by central points and steps to that share."""

OF_GAP, OF_GAP_SLOPES = 0.01, 0.03
"""Or to this share of the gap so far, the latter for laws with poles."""

LITTLE = 0.1
"""A program is left when it can narrow the bracket by no more than this share."""

SHARES = tuple(2.0**-n for n in (60, 52, 45, 38, 32, 26, 23, 20, 17, 14, 12, 10))
"""Shares of the tail, tried in turn, from the last on that is at most LITTLE_TAIL and, where the loss is a probability,
at most so much of that."""

LITTLE_TAIL, OF_LEAST = 2.0**-26, 1e-5

CENTRED_WITH = 2001
"""Errors whose mean loss decides where the Gaussian stands."""

LEAST_REACH = 2.5
"""Half-width of what programs look at, in sensitivities, at least."""

WIDE, WIDE_BELOW = 1.3, 1.5
"""And where the problem is not even so many times as far below this μ; from it on, as far from the Gaussian's middle
as well."""

TAIL = 4.0
"""Mean of the tail, in σ."""


@dataclass(frozen=True)
class _Density:
    """A piecewise constant density: its breaks, in sensitivities from the lattices' origin, and its distribution
    function there."""

    breaks: Array
    below: Array

    def cells(self, lattice: Lattice) -> Array:
        """Mass in every cell, what lies beyond with the outermost. As private as the law [Thm 2]."""
        below = np.interp(lattice.ends / (2 * lattice.k), self.breaks, self.below)
        below[0], below[-1] = 0.0, 1.0
        masses: Array = np.diff(below)
        return masses

    def nodes(self, lattice: Lattice) -> Array:
        """The law rounded at random to the nodes: the second difference of the integral of its distribution function
        [Thm 2]."""
        nodes = lattice.indices
        places = np.concatenate([[2 * nodes[0] - nodes[1]], nodes, [2 * nodes[-1] - nodes[-2]]]) / lattice.k
        widths = np.diff(self.breaks)
        whole = np.append(0.0, np.cumsum(widths * 0.5 * (self.below[1:] + self.below[:-1])))
        cell = np.clip(np.searchsorted(self.breaks, places, side="right") - 1, 0, len(widths) - 1)
        into = np.clip(places - self.breaks[cell], 0.0, widths[cell])
        rise = np.diff(self.below)[cell] / widths[cell]
        area = whole[cell] + into * (self.below[cell] + 0.5 * rise * into) + np.maximum(places - self.breaks[-1], 0.0)
        masses: Array = np.maximum(np.diff(np.diff(area) / np.diff(places)), 0.0)
        return masses


@dataclass(frozen=True)
class _Found:
    """A law and its audited figures."""

    noise: TailedNoise
    upper: float
    proof: ProfileProof
    repaired: bool
    cells: int
    source: str


class ProfileSearch(Anytime[NoiseProblem, Solution]):
    """The state of one solve: the best bracket so far; programs grow in cells and in the number of ε′."""

    def __init__(
        self, problem: NoiseProblem, settings: SolverSettings, progress: ProgressCallback | None = None
    ) -> None:
        super().__init__(problem, settings, progress, settings.gap)
        self.profile: GaussianProfile = problem.profile  # type: ignore[assignment]  # `solve` sends no other here
        self.best: _Found | None = None
        self._centre = 0.0  # of the best Gaussian
        self._seeds: dict[str, Seed | None] = {"lower": None, "upper": None}
        self._per_piece = 0.0  # and shift, what the last audit took
        self._tail = 0  # where to begin with the shares of the tail
        self._density: _Density | None = None  # of the last law that kept the curve

    def run(self) -> Solution:
        """Start from the Gaussian itself, then programs from coarse to fine."""
        self.lower = max(self.lower, variance_lower(self.problem), exceed_lower(self.problem))
        self._start()
        self._report()
        if self.problem.vanishes(self.upper):
            return self._solution()
        if self.problem.monotone:
            self._by_pairs()
        else:
            self._by_curve()
        return self._solution()

    def _by_curve(self) -> None:
        """Programs whose rows are tangents of the curve."""
        if self._distance is not None:
            self._by_fractions(self._distance)
        for_laws = COARSEST_AT_POLES if self._poles else COARSEST
        firsts = {side: max(1, round(n * self.profile.mu)) for side, n in ((1, COARSEST), (-1, for_laws))}
        growths = GROWTH_AT_POLES if self._poles else dict.fromkeys((1, -1), GROWTH)
        finest = dict.fromkeys((1, -1), self.settings.max_cells_per_sensitivity)
        if self._poles:  # the work for laws hardly grows with their cells, which are cut there
            finest[-1] *= FINER_AT_POLES
        sizes, efforts, took = {1: 0, -1: 0}, {1: 0.0, -1: 0.0}, {1: 0.0, -1: 0.0}
        while not self._over and min(efforts.values()) < math.inf:
            wanted = AIMED * self._record().gap / self._goal
            nexts = {
                side: max(k + 1, round(k * min(max(wanted, growths[side][0]), growths[side][1]))) if k else firsts[side]
                for side, k in sizes.items()
            }
            ahead = not self._poles and nexts[-1] > AHEAD * nexts[1]
            side = 1 if ahead else min(efforts, key=efforts.__getitem__)  # whose last program was the smaller
            k = self._next_to_jumps(nexts[side], side)
            began = time.perf_counter()
            if k > finest[side] or began + TOO_LATE * took[side] > self._deadline:
                efforts = dict.fromkeys(efforts, math.inf) if ahead else {**efforts, side: math.inf}
                continue
            sizes[side], until = k, self._for_laws
            efforts[side] = self._curve_nodes(k) if side > 0 else self._curve_cells(k, until)
            took[side] = time.perf_counter() - began
            if time.perf_counter() >= until:  # the other side comes first
                efforts[side] = max(efforts.values()) + 1

    def _by_fractions(self, distance: Fraction) -> None:
        """Programs for errors beyond ±t on lattices that meet fractions next to the distance of ±t."""
        programs: tuple[tuple[bool, Callable[..., None]], ...] = (True, self._even_events), (False, self._even_cells)
        within = BESIDE
        done: dict[bool, Fraction | None] = {True: None, False: None}
        for most in DENOMINATORS:
            for proves, program in programs:
                found, last = _fraction_beside(distance, within, most, proves), done[proves]
                if found is None or self._over:
                    continue
                missed, before = abs(found - distance), math.inf if last is None else abs(last - distance)
                if missed < before and missed <= max(within, NEARER * before):
                    program(found)
                    done[proves] = found
            total = sum(math.inf if last is None else float(abs(last - distance)) for last in done.values())
            within = min(CLOSER * self._goal / max(self._record().gap, self._goal) * total, within / 2)
        exact = done[True]
        if exact is not None and exact == done[False]:  # all that is left is what cells farther out are worth
            for near in (2, 3):
                for _, program in programs:
                    if not self._over:
                        program(exact, near)

    @property
    def _for_laws(self) -> float:
        """When a program for laws has to end: while none is known that is better than a closed form, soon."""
        closed = self.best is not None and self.best.source == "closed form"
        return self._until(FOR_LAWS) if closed else math.inf

    def _curve_program(
        self, mu: float, lattice: Lattice, costs: Array, proves: bool, *, deadline: float = math.inf
    ) -> CurveProgram:
        """A program for a lower bound or for a law, solved from the last law, rounded to nodes or to cells, with as
        little of a Gaussian, as little wider than it need be, as makes it private on the lattice; steps to a proof may
        begin outside the curve."""
        centre = (self._centre - origin_of(self.problem)) / self.problem.sensitivity
        ends = lattice.ends / (2 * lattice.k) - centre
        normals = [normal_masses(ends * self.profile.mu * (1 - times * LESS)) for times in WIDER]
        firsts = normals
        if self._density is not None:
            nodes = proves and not lattice.edge
            law = self._density.nodes(lattice) if nodes else self._density.cells(lattice)
            firsts = [(1 - share) * law + share * normals[-1] / normals[-1].sum() for share in MIXED] + normals
        farthest = FARTHEST if proves or self.profile.mu > TAILS_TO else FARTHEST_LAW
        last = min(farthest + self.profile.mu / 2, (STEEPEST if proves else STEEPEST_LAW) / self.profile.mu)
        first, last = lattice.gathered(firsts[0]), max(last, self._far + BEYOND)
        sloped, marks = isinstance(lattice, Slopes), isinstance(lattice, (Events, Shaped))
        floor = min(FLOOR, math.exp(-0.5 * (self._far + BEYOND) ** 2))
        strict = tuple(normal_masses(ends * self.profile.mu * share) for share in STRICT)
        shared = mu, lattice, costs, first, self._scale, last
        program: CurveProgram
        if isinstance(lattice, Averages):
            on_all = self._rounded_costs(replace(lattice, nodes=tuple(range(lattice.first, lattice.last + 1))))
            program = AveragesProgram(*shared, floor, close=CLOSE_AT_POLES, on_all=on_all)
        elif self._least >= RARE and self.profile.mu < (TRUSTED_MARKS if marks else TRUSTED_TO):
            kept = KEPT_MARKS if marks else KEPT_STEPS
            program = TrustProgram(*shared, floor, strict=strict, proves=proves, kept=kept)
        elif sloped or marks or self._flat:
            program = CentralProgram(*shared, strict=strict, pace=FEW_COLUMNS if sloped else MANY_COLUMNS)
        else:
            margin = MARGIN if proves else 0.0
            program = CurveProgram(*shared, floor, margin, CLOSE_AT_POLES if self._poles else CLOSE)
        if not (program.private or (program.thorough and proves)):
            others = [*firsts[1:], *(strict if isinstance(program, DenseProgram) else ())]
            any(program.begin(lattice.gathered(other)) for other in others)
        program.start()
        self._solve(program, proves, deadline)
        return program

    def _solve(self, program: CurveProgram, proves: bool, deadline: float) -> None:
        """Narrow the bracket of a program, or narrow it further."""
        exact = CENTRAL if isinstance(program, DenseProgram) else EXACT
        of_gap = OF_GAP_SLOPES if isinstance(program.lattice, Slopes) else OF_GAP
        of_gap = 0.0 if program.thorough else of_gap
        room = max(exact * self._goal, of_gap * min(self._record().gap, 1.0))

        def near(lower: float, upper: float) -> bool:
            if upper - lower <= room * lower:
                return True
            ends = (self.lower, upper) if proves else (lower, self.upper)
            more = _between(*ends)  # that this program may still narrow the bracket by
            little = 0.0 if program.thorough else LITTLE * _between(self.lower, self.upper)
            return more <= room or more < little

        limits = self._limits
        program.solve(replace(limits, deadline=min(limits.deadline, deadline)), near)

    @property
    def _scale(self) -> float:
        """About how large the optimum is."""
        return math.sqrt(self.lower * self.upper) if self.lower > 0 else self.upper

    @cached_property
    def _least(self) -> float:
        """What half-lines leave for errors beyond ±t, as a probability; 1 for other losses."""
        if self._distance is None:
            return 1.0
        return exceed_lower(self.problem) / self.problem.paid_loss.pieces[-1].constant

    @cached_property
    def _far(self) -> float:
        """How far out the normal law has half of that."""
        from scipy.special import ndtri

        return -float(ndtri(0.5 * self._least))

    @cached_property
    def _shares(self) -> tuple[float, ...]:
        """Shares of the tail that are tried."""
        most = min(LITTLE_TAIL, OF_LEAST * self._least)
        return SHARES[max(0, sum(share <= most for share in SHARES) - 1) :]

    def _curve_nodes(self, k: int) -> float:
        """A lower bound from laws rounded to nodes, or for losses with jumps to cells [Thm 2]. Returns the effort."""
        lattice = rounding_lattice(self.problem, k, int(not self.problem.paid_loss.continuous), self._window(0.5))
        if self._averages:
            lattice = Averages.of(lattice, Grading(FINE, (0.0,), reach=HEAVY / self.profile.mu + 0.5))
        costs = self._rounded_costs(lattice)
        program = self._curve_program(self.profile.mu, lattice, costs, True)
        self.lower = max(self.lower, program.proved(self.profile))
        self._note(len(costs), len(program.cuts))
        return program.effort

    def _rounded_costs(self, lattice: Lattice) -> Array:
        return rounded_costs(self.problem.paid_loss, self.problem, lattice, np.full(len(lattice.indices) - 1, 0.5))

    @cached_property
    def _distance(self) -> Fraction | None:
        """Of ±t for errors beyond them, in sensitivities; None for other losses, and where it is long."""
        t = threshold(self.problem.paid_loss) if self.problem.folds else None
        if t is None or 2 * t > WIDEST * self.problem.sensitivity:
            return None
        return 2 * decimal(t) / decimal(self.problem.sensitivity)

    def _even_events(self, fraction: Fraction, near: int = 1) -> None:
        """A lower bound for errors beyond ±t, their distance being at most the fraction [method: A whole profile]."""
        problem, k, mark = self.problem, 2 * fraction.denominator, fraction.numerator
        lattice = Events.around(k, mark, near)
        costs = rounded_costs(problem.paid_loss, problem, lattice, np.full(1, 0.5))
        program = self._curve_program(self.profile.mu, lattice, costs, True)
        self.lower = max(self.lower, program.proved(self.profile))
        self._note(lattice.classes, len(program.cuts))

    def _even_cells(self, fraction: Fraction, near: int = 1) -> None:
        """A law for errors beyond ±t, their distance being at least the fraction."""
        k, mu = 2 * fraction.denominator, self.profile.mu
        end = k * math.ceil(self._window(1.0).right + PAST * mu)
        places = np.arange(-end, end + 1) / k
        self._law(Shaped.around(k, fraction.numerator, normal_masses(places * mu / (1 + mu**4)), near))

    def _curve_cells(self, k: int, deadline: float = math.inf) -> float:
        """A law constant on cells, with its tail [Thm 1], or nearly a + b/distance between nodes that are 1/k of
        a sensitivity apart next to poles, more elsewhere. Returns the effort."""
        problem, edge = self.problem, int(self._poles or not self.problem.loss.continuous)
        apart = 2 ** max(1, round(0.5 * math.log2(self._narrow * k))) if self._poles else 1
        lattice = cell_lattice(problem, max(1, round(k / apart)), edge, self._window(1.0))
        assert lattice is not None  # the whole line has room
        if self._poles:
            lattice = Slopes.of(lattice, Grading(apart, (0.0,), reach=HEAVY / self.profile.mu + 0.5))
        return self._law(lattice, deadline)

    @property
    def _poles(self) -> bool:
        """Whether laws have poles at whole sensitivities that count."""
        return self.problem.loss.continuous and self.profile.mu >= POLES_FROM

    @property
    def _flat(self) -> bool:
        """Whether a continuous loss is the same far out on a side: many laws cost nearly the same then."""
        pieces = self.problem.paid_loss.pieces
        return self.problem.loss.continuous and 0 in (pieces[0].coefficient, pieces[-1].coefficient)

    @property
    def _averages(self) -> bool:
        """Whether lower bounds average shifts: where there is so much at poles that lattices would have to be fine."""
        return self._poles and self.profile.mu >= AVERAGED_FROM and self._narrow == NARROW

    @property
    def _narrow(self) -> float:
        loss = self.problem.paid_loss
        best = loss.minimiser()[0]
        beside = (piece for piece in loss.pieces if best in (piece.lo, piece.hi))
        return NARROW if all(piece.power == 1 and piece.coefficient for piece in beside) else NARROW_FLAT

    def _law(self, lattice: Lattice, deadline: float = math.inf) -> float:
        """The best law on the cells of a lattice, with its tail. Returns the effort."""
        problem = self.problem
        costs = cell_means(problem.paid_loss, places_of(problem, 2 * lattice.k, lattice.ends))
        resolution, breaks = _breaks(lattice)
        audited = self._per_piece * resolution * len(breaks) * (2 - lattice.folded)  # seconds, about
        deadline = min(deadline, self._limits.deadline - audited)
        program = self._curve_program(self.profile.mu * (1 - LESS), lattice, costs, False, deadline=deadline)
        for _ in range(REFUSED):
            if not program.private or program.upper >= self.upper:
                break
            refused = self._offer_cells(lattice, program.inner)
            if refused is None or not isinstance(lattice, Slopes) or self._over:
                break
            shifts = np.unique(audit.worst_shifts(*refused))
            lattice = replace(lattice, also=(*lattice.also, *(np.abs(shifts) if lattice.folded else shifts).tolist()))
            program.look(lattice)
            self._solve(program, False, deadline)
        self._note(
            lattice.pieces * (1 + lattice.folded) if isinstance(lattice, Blocks) else len(costs), len(program.cuts)
        )
        return program.effort

    def _offer_cells(self, lattice: Lattice, masses: Array) -> tuple[TailedNoise, list[float]] | None:
        """Offer the law with these masses on cells. If it was refused: what was, and why (`_offer`)."""
        below = np.append(0.0, np.cumsum(masses))
        self._density = _Density(lattice.ends / (2 * lattice.k), below / below[-1])
        resolution, breaks = _breaks(lattice)
        if isinstance(lattice, Slopes):
            masses = np.add.reduceat(masses, breaks[:-1] - lattice.first)
        body = PiecewiseNoise.from_masses(
            sensitivity=self.problem.sensitivity, resolution=resolution, breaks=breaks, masses=masses,
            origin=origin_of(self.problem),
        )  # fmt: skip
        patient = not isinstance(lattice, Slopes)
        return self._offer(body, self._dense, False, "linear program", patient=patient)

    def _by_pairs(self) -> None:
        """Programs with one family of rows per ε′."""
        before = None
        for per_sigma, count in STAGES:
            k, count = max(1, round(per_sigma * self.profile.mu)), round(count / math.sqrt(min(self.profile.mu, 1.0)))
            count = min(count, MOST_PAIRS)
            if self._over or k > self.settings.max_cells_per_sensitivity:
                break
            if (k, count) != before:
                self._lower(k, count)
                self._upper(k, count)
            before = (k, count)

    def _start(self) -> None:
        """The Gaussian, a little wider, on cells fine enough to lose next to nothing; for squared error also the law
        whose quantiles are those of the Gaussian less E(Z | Z mod μ)."""
        mu, D = self.profile.mu, self.problem.sensitivity
        k = max(1, round(64 * mu))
        sigma = 1.00005 / mu  # in sensitivities
        free, moves = self.problem.far_out(9 * D * sigma), not (self.problem.folds or self.problem.monotone)
        if moves and free is not None:
            self._centre = free
        elif moves:
            spread = D * sigma
            best = self.problem.loss.minimiser()[0]
            scores = np.linspace(-8, 8, CENTRED_WITH)
            weights, errors = np.exp(-0.5 * scores**2), spread * scores
            self._centre = least_argument_vectorised(
                lambda x: self.problem.loss.value(x[:, None] + errors) @ weights, best + spread * np.linspace(-5, 5, 41)
            )
        half = math.ceil(8.5 * sigma * k)  # beyond which less than 2e-17 lies
        breaks = 2 * np.arange(-half, half + 2) - 1
        scores = breaks / (2 * k * sigma)
        names = {"Gaussian on cells": scores}
        if _square(self.problem.paid_loss) is not None and mu > 1.5 and not self.problem.monotone:
            names["Wavy Gaussian on cells"] = wavy_scores(scores, mu)
        for name, ends in names.items():
            body = PiecewiseNoise.from_masses(
                sensitivity=D,
                resolution=2 * k,
                breaks=breaks,
                masses=normal_masses(ends),
                origin=self._centre,
                name=name,
                monotone=self.problem.monotone,
            )
            self._offer(body, self._dense, False, "closed form")

    @property
    def _dense(self) -> tuple[float, ...]:
        """Places of tangents between which a law that was not made for some of its own is checked."""
        return tuple(np.arange(0, FARTHEST + 3 + self.profile.mu, SEEN).tolist())

    # Programs ----------------------------------------------------------------------------------------

    def _with_pairs(self, pairs: tuple[Privacy, ...]) -> NoiseProblem:
        """The problem with finitely many pairs in place of the curve."""
        listed = PairList(pairs)
        return replace(self.problem, privacy=listed.pairs[0], profile=listed)

    def _window(self, past: float) -> Window:
        """Where the Gaussian has all but some millionths of its mass and so far beyond, in σ and in sensitivities, and
        what the loss puts in the middle."""
        sigma, best = 1 / self.profile.mu, self.problem.paid_loss.minimiser()[0] / self.problem.sensitivity
        reach = max((max(4.5, self._far + BEYOND) + past) * sigma + past, LEAST_REACH)
        if self.problem.folds:
            return Window(-reach, reach)
        places = [best, 0.0]
        if self.profile.mu < WIDE_BELOW:
            reach *= WIDE
        else:
            places.append(self._centre / self.problem.sensitivity)
        return Window(min(places) - reach, max(places) + reach)

    def _next_to_jumps(self, k: int, side: int) -> int:
        """From k to twice as many cells per sensitivity, with an edge next to every jump of the loss: just beyond for
        side 1, lower bounds, or just before for −1."""
        jumps = [x / self.problem.sensitivity for x in self.problem.paid_loss.jumps]
        if not jumps:
            return k
        miss: Callable[[int], float] = lambda n: max((-side * abs(x) * n) % 1 / n for x in jumps)  # noqa: E731
        return min(range(k, 2 * k + 1), key=lambda n: (round(miss(n), 3), n))

    def _lower(self, k: int, count: int) -> None:
        """A lower bound from `count` pairs on the target."""
        k = self._next_to_jumps(k, 1)
        problem = self._with_pairs(self.profile.necessary(self.profile.places(count)))
        step = lower_step(problem, k, self._window(0.5), self._seeds["lower"], self._limits)
        self.lower = max(self.lower, step.bound)
        if step.status == "optimal":
            self._seeds["lower"] = step.seed
        self._note(step.cells, step.pairs)

    def _upper(self, k: int, count: int) -> None:
        """A law that satisfies the pairs where `count` tangents cross, and with its tail the whole target."""
        if self._over:
            return
        places = self.profile.places(count)
        problem, k = self._with_pairs(self.profile.sufficient(places)), self._next_to_jumps(k, -1)
        # For monotone laws the cell around 0 need not be the highest on both sides.
        edge = int((problem.monotone and not problem.folds) or not problem.loss.continuous)
        step = upper_step(problem, k, edge, self._window(1.0), self._seeds["upper"], self._limits, atom=False)
        if step.status == "optimal":
            self._seeds["upper"] = step.seed
        if isinstance(step.noise, PiecewiseNoise):
            self._offer(step.noise, places, step.repaired, "linear program")
        self._note(step.cells, step.pairs)

    def _note(self, cells: int, pairs: int) -> None:
        self._cells, self._pairs = max(self._cells, cells), self._pairs + pairs
        self._report()

    def _offer(
        self, body: PiecewiseNoise, places: tuple[float, ...], repaired: bool, source: str, *, patient: bool = True
    ) -> tuple[TailedNoise, list[float]] | None:
        """Give the law its tail and keep it if it keeps the promise and is the best so far. If it breaks it where its
        tail does not count, and a longer one is not to be tried for that: the law, and all ε′ at which it does."""
        mean, pieces = max(2, round(TAIL * body.resolution / self.profile.mu)), len(body.breaks)
        for number, share in enumerate(self._shares[self._tail :]):
            if number and self._over:
                break
            noise = TailedNoise(body, round(share * TOTAL), mean)
            upper = audit.loss_upper(noise, self.problem.loss)
            if upper >= self.upper:
                break
            began = time.perf_counter()
            proof = audit_profile.proof_of(noise, self.profile, places)
            work = body.resolution * pieces * (2 - noise.is_symmetric)
            self._per_piece = (time.perf_counter() - began) / work
            if proof.holds and keeps_shape(noise, self.problem):
                self.best = _Found(noise, upper, proof, repaired, len(body.weights), source)
                self._tail = max(0, self._shares.index(share) - 1)
                break
            broken = [e for e, delta, limit in zip(proof.epsilons, proof.deltas, proof.limits) if delta > limit]
            if not patient and broken and broken[0] < FARTHEST * self.profile.mu:
                return noise, broken
        return None

    # The answer --------------------------------------------------------------------------------------

    def _solution(self) -> Solution:
        found, problem = self.best, self.problem
        if found is None:
            raise SolverError("no law could be certified")
        noise, epsilon = found.noise, problem.privacy.epsilon
        delta = float(audit.curve_upper(noise, [epsilon])[0])
        certificate = Certificate(
            self.lower, found.upper, delta, problem.sensitivity, found.repaired, profile=found.proof
        )
        seconds = time.perf_counter() - self._began
        trace = (*self._trace, self._record())
        return Solution(
            problem, self.settings, noise, certificate, trace, seconds, found.cells, noise.body.resolution, found.source
        )


def _breaks(lattice: Lattice) -> tuple[int, Ints]:
    """(units per sensitivity, as few as may be; breaks in units) of laws on the cells of a lattice or on its blocks."""
    if isinstance(lattice, Slopes):
        return lattice.k, lattice.borders
    halves = 1 + int((lattice.ends % 2).any())
    return halves * lattice.k, lattice.ends * halves // 2


def _between(lower: float, upper: float) -> float:
    """How far apart two bounds are: ln(upper/lower)."""
    return math.log(upper / lower) if 0 < lower <= upper < math.inf else 0.0 if upper <= lower else math.inf


def normal_masses(ends: Array) -> Array:
    """Probability between neighbouring numbers under the standard normal law, from the nearer tail."""
    from scipy.special import ndtr

    left, right = ends[:-1], ends[1:]
    flip = left + right > 0
    return ndtr(np.where(flip, -left, right)) - ndtr(np.where(flip, -right, left))


def wavy_scores(scores: Array, mu: float) -> Array:
    """z with z − E(Z | Z mod μ = z mod μ) = score, by bisection.

    The law of that difference, scaled, has the variance that no μ-GDP law can undercut and, at a shift of one
    sensitivity, the Gaussian's own curve; for smaller shifts the audit decides [method: A whole profile].
    """
    turns = mu * np.arange(-math.ceil(9 / mu) - 1, math.ceil(9 / mu) + 2)

    def less(z: Array) -> Array:
        rest = np.mod(z, mu)[:, None] + turns
        weights = np.exp(-0.5 * rest**2)
        mean: Array = (weights * rest).sum(axis=1) / weights.sum(axis=1)
        return z - mean

    return bisections(lambda z: less(z) < scores, scores - mu, scores + mu, rounds=60)[1]


def variance_lower(problem: NoiseProblem) -> float:
    """A lower bound for c·x² under μ-GDP: c (D/μ)² (1 − v), v = Var E[Z | Z mod μ] for a standard normal Z, bounded by
    (8π²/μ²) Σ n² q^(2n²)/(1 − 2Σ q^(n²)), q = e^(−2π²/μ²); 0 for other losses [method: A whole profile]."""
    scale = _square(problem.paid_loss)
    if scale is None or not isinstance(problem.profile, GaussianProfile):
        return 0.0
    mu = problem.profile.mu
    q = math.exp(-2 * math.pi**2 / mu**2)
    first = math.fsum(q ** (n * n) for n in range(1, 40))
    second = math.fsum(n * n * q ** (2 * n * n) for n in range(1, 40))
    if 2 * first >= 1:
        return 0.0
    gain = 8 * math.pi**2 / mu**2 * second / (1 - 2 * first)
    return max(0.0, scale * (problem.sensitivity / mu) ** 2 * (1 - gain * (1 + 1e-9)) * (1 - 1e-12))


def _fraction_beside(x: Fraction, within: float, most: int, above: bool) -> Fraction | None:
    """The fraction with the least denominator that is at or above x, or at or below it and positive, and so near to it;
    the nearest one with a denominator up to `most` if none is, None if there is none."""
    rounded = math.ceil if above else math.floor
    found = [Fraction(rounded(x * q), q) for q in range(1, most + 1) if rounded(x * q) > 0]
    near = [fraction for fraction in found if abs(fraction - x) <= within]
    return near[0] if near else min(found, key=lambda fraction: abs(fraction - x), default=None)


def exceed_lower(problem: NoiseProblem) -> float:
    """A lower bound for the probability of an error beyond ±t under μ-GDP: [−t, t] is no longer than n sensitivities,
    so no more than 2Φ(nμ/2) − 1 of a law, which has no point masses, lies there; 0 for other losses [method: A whole
    profile]."""
    t = threshold(problem.paid_loss)
    if t is None or not isinstance(problem.profile, GaussianProfile):
        return 0.0
    n = math.ceil(2 * decimal(t) / decimal(problem.sensitivity))
    outside = math.erfc(n * problem.profile.mu / math.sqrt(8) * (1 + 1e-15))
    return problem.paid_loss.pieces[-1].constant * outside * (1 - 1e-12)


def _square(loss: Loss) -> float | None:
    """c if the loss is c·x², else None."""
    kinds = {(p.power, p.constant, p.coefficient) for p in loss.pieces}
    if len(kinds) != 1:
        return None
    ((power, constant, coefficient),) = kinds
    return coefficient if power == 2 and constant == 0 else None
