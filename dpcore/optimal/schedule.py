"""Which stretch of the line and which lattices to try: heuristics that steer the search and prove nothing.

What matters most is how a lattice aligns with the steps of the optimum [method: windows], so lattices are picked
by the errors seen so far, or, where the optimum is nearly a staircase, to fit its steps. All choices rest on counts and
bounds, never on the clock.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from .._validate import decimal
from ..loss.piece import Piece
from ..problem import NoiseProblem
from .all_pairs import MOST_CLASSES
from .covering import Covering
from .lattice import NOT_ZERO, ROUNDED
from .lower import CELL, atom_serves
from .mesh import BEYOND, Grading
from .step import Step, Window, end_moves, next_to, origin_of

SCAN = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20)
"""Lattices tried first where nothing is known about alignment."""

TOP_CELLS, TOP_FIT, TOP_GROWTH = (1, 2), 1.25, 1.5
"""In a support that many cells to the top step, or up to so many times as many; multiples of these up to so many times
as fine as the last."""

TOP_FROM = 4.0
"""From this ε on."""

TOP_NARROWEST, TOP_FIRST, TOP_PLACES = 16, 8, 2
"""And cells for upper bounds are cut into up to so many, on the first such lattice into fewer, where they narrow at no
more places than that."""

NARROW_PARTS, NARROW_SLOPE, FINER = (3, 12), 1.0, 4
"""Where a top step that begins whole sensitivities from an end is too narrow for that, cells for upper bounds are cut,
on the first lattice and on later ones, until so many make up the step; instead of `CELL_SLOPE`; into up to so many
times as many per sensitivity as lattices may have."""

ALIGNED_FROM = 2.5
"""From this ε on lattices are aligned with the staircase whatever the loss."""

LINEAR_ALIGNED_FROM, STEEP_ALIGNED_FROM, EARLY_ALIGNED_TO = 0.15, 0.7, 0.1
"""Up to this δ, for losses that grow everywhere, from these ε on (without a power, with one): an atom, and steps next
to whole sensitivities, are where a staircase has them long before the optimum is one."""

ALIGNED_PAIRS_FROM = 3.5
"""And with several pairs, where problems are not even."""

STEPS_FROM = 7.0
"""From this ε on, and for even continuous losses, events away from the steps of the staircase add next to nothing."""

SEEDED_FROM = 6.0
"""From this ε on an aligned lattice of a problem that is not even is so large that smaller ones have to begin."""

GRADED_TO = 9.0
"""From this ε on events near the steps, on uniform lattices, serve as well as graded ones. For even problems this and
`STEPS_FROM` are about the ε at which a staircase for |x| has such a top step: for x² it is that of a smaller ε."""

NARROW, NARROW_POWER = 1.0, 2.0
"""Even problems whose windows reach less far than that, and whose losses have a higher power, have uniform lattices
with all events: programs with all of their pairs are small there."""

LEAST_GROWTH, GROWTH, STEEP_GROWTH = 1.2, 2.2, 1.7
"""A lattice has at least and at most this many times as many cells as the largest before; fewer where it is graded and
the loss has a power, so that one size less often takes the whole time."""

ALL_PAIRS_GROWTH = 1.6
"""And at least so many times where programs take all pairs: their time grows less with their size."""

ROOM = 0.96
"""Share of the largest program with all pairs that a lattice is chosen for: what it is rounded to may be larger."""

OVERSHOT = 1.25
"""A multiple that is more than so many times what is wanted is not taken."""

CLOSEST = 0.02
"""Errors below this share of what is aimed at are not told apart: the middle of the bracket is only a guess."""

FIT, FITTED = (0.9, 1.5), 6
"""Where a support ends lattices have between so many times what is wanted, so that cells end there, up to so many
decimal places of a sensitivity."""

KINK, NEAR = 3.0, (0.85, 1.1)
"""What a lattice misses at a kink counts so many times what it misses at an end; in a support with a top step lattices
have between so many times what is wanted."""

END, NEAR_JUMPS = Fraction(1, 10), (0.8, 1.6)
"""What is missed at an end of the support behind a jump counts that much; lattices next to jumps have between so many
times what is wanted."""

FROM_LAW = 160
"""About so many labels per sensitivity has a program that begins with a law in closed form."""

FINENESS = 0.28
"""Graded lattices have at most this many nodes per sensitivity near 0, divided by the gap or 0.1 %: for want of shifts
nearer to the sensitivity they lose about 0.08 of their distance from it."""

TOUCHED = 2.0
"""But for losses with a power so many to the top step, divided by the root of the gap: tangents lie lower between nodes
by the square of their distance."""

PERIODS = 2
"""They are graded around so many whole sensitivities on either side of 0."""

SLOPE = 4.0
"""Their nodes are this many times closer together than to the next step. For losses with a power, whose tangents lie
lower between nodes, so many times the power; and larger cells must not be larger for its square."""

NARROWEST = 4
"""Cells for upper bounds are cut into up to so many near the steps."""

CELL_SLOPE = 2.0
"""`SLOPE` of cells for upper bounds."""

SHIFTS = 12
"""Lattices with few shifts have at least so many to the sensitivity, besides those just short of it."""

BOTTOM, BOTTOM_PARTS, BOTTOM_SCAN, BOTTOM_SIZES = 2.0, 10_000, (5, 10, 25), (5, 10, 25, 50, 100)
"""Corners of the loss are nodes of lattices for lower bounds where it is at most so many times what the best law costs,
if that takes at most so many nodes per sensitivity; so many cells per sensitivity have the first lattices, and all."""

EVEN_ON_BOTTOM = 50
"""Least lattices with the corners for nodes of which even multiples follow."""

BOTTOM_BELOW, BOTTOM_EVEN = 0.06, 0.001
"""Where the law costs at most this share of the steepest slope per sensitivity: other lattices see more than that; for
even problems they are aligned with the top step, whose ends are near those of the plateau."""

APART_SIZES, MET, APART = (25, 50, 100, 200, 400), 1.25, 0.5
"""Where they are corners of several bottoms, sizes of lattices for lower bounds, up to so many times as large or small;
events first lie within so many sensitivities of these corners."""

COVERED = 4
"""Cells that cover a plateau are so many times as many from the first ones on: they see little before."""

BOTTOM_CELLS = 200
"""If it takes at most so many, cells for upper bounds are chosen to end near the corners."""

MOST_CELLS = 5000
"""Largest lattice program."""


def steepness(peak: float) -> float:
    """The ε at which the best staircase for |x| has a top step of this half-width [GV14]."""
    return 2 * math.log(max(1 / peak - 1, NOT_ZERO))


Steps = dict[str, list[Step]]
"""Steps taken so far, by kind of bound: lower bounds from "nodes" and from "ends" of cells, upper bounds on "centred"
and "offset" cells."""

LOWER = ("nodes", "ends")
"""Kinds of lower bounds: roundings to the nodes of a lattice, and to the ends of cells two steps wide."""


@dataclass(frozen=True)
class Schedule:
    """Choices for one problem.

    gap : relative gap aimed at.   steps : distances from 0 of the inner steps of the best staircase, in sensitivities.
    uppers : kinds of upper bounds that are worth a program.   finest : most cells per sensitivity.   stretch : what a
    nearly optimal law covers, and where events may matter, if they are known.   cut : where a law has its steps in a
    support, and the loss its minimiser, in sensitivities from the lattices' origin up to whole ones; empty where a
    support has no such law.   top : width of that law's top step, in sensitivities.   upper : what the best law costs.
    from_end : whether that step begins one or more whole sensitivities from the nearer end of the support.
    """

    problem: NoiseProblem
    gap: float
    steps: tuple[float, ...]
    uppers: tuple[str, ...]
    finest: int
    stretch: tuple[Window, Window] | None = None
    cut: tuple[float, ...] = ()
    top: float = 0.0
    upper: float = 0.0
    from_end: bool = False

    @property
    def peak(self) -> float:
        """Half-width of the top step."""
        return sum(self.steps) / len(self.steps)

    # Windows -----------------------------------------------------------------------------------------

    def window(self, kind: str, k: int, steps: Steps) -> Window:
        """Where to look next: generous at first [method: windows], later what the last step used,
        never more than `MOST_CELLS` cells."""
        if kind in LOWER and self._apart:
            D = self.problem.sensitivity
            around = Window(self._low[0] / D - APART, self._low[-1] / D + APART)
            return self._near_low(k, steps[kind][-1].window if steps[kind] else around)
        if steps[kind]:
            return steps[kind][-1].window
        pairs = self.problem.privacies
        reach = min(self.problem.joint.truncation(), 3 * max(p.truncation() for p in pairs))
        wide = min(2.5 * reach + 1.5, self._periods) if kind in LOWER else 1.5 * reach + 0.5
        first = self._around(min(wide, 0.9 * MOST_CELLS / k))
        if self.stretch is not None and (kind in LOWER or self.problem.monotone):
            near = self.stretch[kind in LOWER]
            if kind in LOWER and self.problem.whole_line:  # beyond, what a law pays hardly matters
                near = near.within(self._around(self._periods))
            first = near if (near.right - near.left) * k <= MOST_CELLS else first
        near_steps = kind in LOWER and self._nearly_staircase and self._steepness >= STEPS_FROM
        near_steps = near_steps and not self._narrow and self.covering is None
        reach = max(1.5 * self.peak, 1.2 * max(self.steps))
        return replace(first, near=((-reach, reach),)) if near_steps else first

    @property
    def widest(self) -> Window:
        """Events beyond it add less than a tenth of the gap."""
        far = self._around(self._periods)
        if self.stretch is None:
            return far
        near = self.stretch[1]
        return replace(far, left=min(far.left, near.left), right=max(far.right, near.right))

    @property
    def _periods(self) -> float:
        """Events beyond m periods of a staircase add about 3 e^{−(m+1)ε} of the bound, more for steep losses; the
        staircase may stand away from the loss's minimiser."""
        epsilon = self.problem.joint.epsilon
        if epsilon == 0:
            return math.inf
        steeper = 2 * (self.problem.power - 1) * math.log1p(1 / epsilon)
        periods = math.ceil((math.log(15 / self.gap) + steeper) / epsilon) - 1
        return max(0, periods) + 2.2 * self.peak + end_moves(self.problem)

    @property
    def _narrow(self) -> bool:
        """Whether programs with all pairs of uniform lattices are small."""
        return self.problem.folds and self._periods < NARROW and self.problem.power > NARROW_POWER

    def _around(self, wide: float) -> Window:
        """The loss's minimiser and nearer breaks, with `wide` on both sides (half as much again when not even)."""
        loss, D = self.problem.paid_loss, self.problem.sensitivity
        wide *= 1.0 if self.problem.folds else 1.5
        best = loss.minimiser(*self.problem.support)[0] / D
        breaks = np.concatenate([c.breaks for c in self.problem.paid_losses])
        if self._continuous and loss.grows_from_zero and self.problem.joint.epsilon >= STEPS_FROM:
            breaks = breaks[loss.value(breaks) <= BOTTOM * self.upper]  # beyond the bottom a law is a staircase
        near = breaks[abs(breaks) <= (4 * wide + 4) * D] / D
        left, right = min(best, near.min(initial=0.0)) - wide, max(best, near.max(initial=0.0)) + wide
        return Window(-max(-left, right), max(-left, right)) if self.problem.folds else Window(left, right)

    # Lattices ----------------------------------------------------------------------------------------

    @property
    def kinds(self) -> tuple[str, ...]:
        return (*self.uppers, *self.lowers)

    @property
    def lowers(self) -> tuple[str, ...]:
        """Kinds of lower bounds that deserve a program: a law next to an end of the support, rounded to nodes, could
        gain half a step there at first order, and so could one next to a jump where the losses also have slopes
        [Thm 10]."""
        if self.covering is not None:
            return ("ends",)
        if self._continuous and not self.problem.whole_line and not self.problem.folds and not self._apart:
            return ("ends",) if self.from_end else LOWER
        slopes = any(piece.coefficient for loss in self.problem.paid_losses for piece in loss.pieces)
        return ("ends",) if slopes and not self._continuous and atom_serves(self.problem) else ("nodes",)

    def first(self) -> Iterator[dict[str, int]]:
        """The scan: rounds of one coarse lattice per kind of bound; cells two steps wide are as many as others."""
        graded = self._bottom and self.covering is None
        met = tuple(map(self._met, APART_SIZES)) if self._apart else BOTTOM_SCAN if graded else ()
        rest = met[-1] if self._apart else None
        for round_, nodes in zip(self._rounds(), itertools.chain(met, itertools.repeat(rest))):
            times = 1 if self.covering is None else COVERED
            sizes = {
                kind: self._ends_of(times * k) if kind == "ends" else self._on_bottom(kind, k)
                for kind, k in round_.items()
            }
            yield sizes if nodes is None else {**sizes, "nodes": nodes}

    def _rounds(self) -> Iterator[dict[str, int]]:
        yield dict.fromkeys(self.kinds, 1)
        if self._nearly_staircase:
            begin = () if self.problem.folds or self.problem.joint.epsilon < SEEDED_FROM else (0.25, 0.5)
            sizes = (*begin, 1, 2, 3, 4)
            yield from ({kind: self._aligned(kind, m / self.peak) for kind in self.kinds} for m in sizes)
        elif self._top_widths:
            yield from (dict.fromkeys(self.kinds, k) for k in self._top_widths)
        elif self._narrow_top:
            yield from (dict.fromkeys(self.lowers, self._to_top(cells) // CELL) for cells in TOP_CELLS)
            yield from (dict.fromkeys(self.uppers, k) for k in SCAN)  # large by now: only if the first has no law
        elif self._continuous:
            yield from (dict.fromkeys(self.kinds, k) for k in SCAN)
        else:
            for before, beyond in zip(self._next_to_jumps(-1), self._next_to_jumps(1)):
                yield {**dict.fromkeys(self.uppers, before), **dict.fromkeys(self.lowers, beyond)}

    @cached_property
    def _low(self) -> tuple[float, ...]:
        """Ends of plateaus and bottoms of dips where the loss is hardly more than the best law costs; none where the
        loss has no plateau or dip, or the law costs too much. A chord across such a corner lies farther below the loss
        than the law costs."""
        problem, D = self.problem, self.problem.sensitivity
        if not self._continuous or problem.monotone or problem.joint.epsilon < ALIGNED_FROM or problem.budget:
            return ()
        loss, pieces, most = problem.paid_loss, self._near_pieces, BOTTOM * self.upper
        low = [
            one.hi
            for one, two in zip(pieces, pieces[1:])
            if one.slope(one.hi) <= 0 <= two.slope(two.lo) and float(loss.value(one.hi)) <= most
        ]
        level = len(low) > 1 or any(piece.coefficient == 0 for piece in pieces)
        least = BOTTOM_EVEN if problem.folds and not self._rises(low) else BOTTOM_BELOW
        return tuple(low) if level and self.upper <= least * self._steepest * D else ()

    @cached_property
    def _near_pieces(self) -> list[Piece]:
        """Those of the loss in the support that events reach."""
        problem, near = self.problem, self._around(self._periods)
        (lo, hi), D = problem.support, problem.sensitivity
        return [p for p in problem.paid_loss.pieces if p.hi > max(lo, near.left * D) and p.lo < min(hi, near.right * D)]

    @cached_property
    def _steepest(self) -> float:
        """The loss's steepest slope at ends of these."""
        ends = ((p, x) for p in self._near_pieces for x in (p.lo, p.hi) if math.isfinite(x))
        return max((abs(float(p.slope(x))) for p, x in ends), default=0.0)

    def _rises(self, low: Sequence[float]) -> bool:
        """Whether the loss is more than that somewhere between the first and the last of these places."""
        loss, most = self.problem.paid_loss, BOTTOM * self.upper
        return bool(low) and any(float(loss.value(p.hi)) > most for p in loss.pieces if low[0] < p.hi < low[-1])

    @cached_property
    def _apart(self) -> bool:
        """Whether these corners belong to several bottoms."""
        return self._rises(self._low)

    @cached_property
    def _bottom(self) -> tuple[Fraction, ...]:
        """Corners of a single bottom and ends of the support, in sensitivities from the lattices' origin; none where
        all are there, or where that would take too fine lattices."""
        problem, D, near = self.problem, self.problem.sensitivity, self._around(self._periods)
        if not self._low or self._apart:
            return ()
        origin = decimal(origin_of(problem))
        places = tuple((decimal(x) - origin) / decimal(D) for x in self._low)
        ends = tuple((decimal(x) - origin) / decimal(D) for x in problem.support if near.left <= x / D <= near.right)
        parts = math.lcm(*(place.denominator for place in (*places, *ends)))
        return (*places, *ends) if any(places) and parts <= BOTTOM_PARTS else ()

    @cached_property
    def covering(self) -> Covering | None:
        """Of the plateau between such corners of a single bottom, where ε is large."""
        if not self._low or self._apart:
            return None
        return Covering.of(self.problem, self.upper, self._steepest)

    def _ends_of(self, cells: int, least: int = 1) -> int:
        """The lattice with about so many cells two steps wide to the sensitivity, and at least so many."""
        return CELL * max(cells, least) if self.covering is None else self.covering.size(cells, least)

    def origin(self, kind: str, k: int) -> float | None:
        """Where a lattice begins that covers a plateau; None for others."""
        return self.covering.origin(k) if kind == "ends" and self.covering is not None else None

    def _met(self, size: int, least: int = 1) -> int:
        """A lattice of about that size, and at least so large, whose nodes corners of several bottoms miss least."""
        origin, D = origin_of(self.problem), self.problem.sensitivity
        places = [(x - origin) / D for x in self._low]

        def missed(k: int) -> tuple[float, int]:
            return round(max(_from_whole(k * x) for x in places) / k, FITTED), k

        return min(range(max(least, math.ceil(size / MET)), math.floor(size * MET) + 1), key=missed)

    def _near_low(self, k: int, window: Window) -> Window:
        """Of a window what lies around the nodes that cost at most what the best law does."""
        D, start = self.problem.sensitivity, origin_of(self.problem) / self.problem.sensitivity
        i = np.arange(math.ceil((window.left - start) * k), math.floor((window.right - start) * k) + 1)
        cheap = i[self.problem.paid_loss.value((start + i / k) * D) <= self.upper]
        if not cheap.size:
            return window
        runs = np.split(cheap, np.flatnonzero(np.diff(cheap) > 1) + 1)
        return replace(window, near=tuple((start + (r[0] - 1.5) / k, start + (r[-1] + 1.5) / k) for r in runs))

    @property
    def _bottom_parts(self) -> int:
        """The least lattice that has the corners for nodes."""
        return math.lcm(*(place.denominator for place in self._bottom))

    def _on_bottom(self, kind: str, k: int) -> int:
        """A lattice of at least k cells for upper bounds, on which corners are ends of cells or whole halves, quarters,
        … of one away from them, where the least such lattice is small; with several bottoms on which they nearly are;
        any other as it is."""
        if self.covering is not None and kind not in LOWER and k > 1:
            start = decimal(origin_of(self.problem)) / decimal(self.problem.sensitivity)
            return self.covering.inside(k, start, Fraction(int(kind == "centred"), 2))
        if self._apart:
            return self._met(k, k) if kind == "offset" and k > 1 and not self.problem.folds else k
        parts = self._bottom_parts
        odd = parts // (parts & -parts)
        return k if kind in LOWER or k == 1 or parts > BOTTOM_CELLS else odd * -(-k // odd)

    def _next_on_bottom(self, wanted: float) -> int:
        """The next lattice of about the size wanted: graded ones first; then, or from small ones on where windows are
        narrow, even ones that have the corners for nodes, where the least such lattice is small."""
        graded = BOTTOM_SIZES if self._periods >= NARROW else BOTTOM_SCAN
        parts, even = self._bottom_parts, self.finest + 1
        if parts <= EVEN_ON_BOTTOM:
            even = next(k for k in itertools.count(parts * math.ceil(wanted / parts), parts) if k not in BOTTOM_SIZES)
        return next((size for size in graded if size >= wanted), even)

    def _near_bottom(self, k: int) -> Grading | None:
        """A lattice that has the corners for nodes, fine near them and whole sensitivities away from them."""
        if k not in BOTTOM_SIZES:
            return None
        finer = 1
        while 2 * finer * k <= FINENESS / min(self.gap, 1e-3) and 2 * finer <= k:
            finer *= 2
        coarse = math.lcm(finer * k, self._bottom_parts) // k
        steps = {float((x + Fraction(1, 2)) % 1 - Fraction(1, 2)) for x in self._bottom}
        steps |= {-x for x in steps if self.problem.folds}
        reach = max(abs(float(x)) for x in self._bottom) + BEYOND
        return Grading(coarse, tuple(sorted(steps)), CELL_SLOPE, reach, finest=coarse // finer)

    @cached_property
    def _top_widths(self) -> tuple[int, ...]:
        """In a support lattices of one and two cells to the top step of the best staircase there, on which the step's
        ends, the loss's minimiser and ends of the support fall next to edges; none where there is no such step or it is
        too narrow for them."""
        if not self.cut or not 0 < self.top < 1 or self.problem.joint.epsilon < TOP_FROM:
            return ()
        places = (*self.cut, *map(float, self._ends))
        misfit: Callable[[int], float] = lambda k: max(_from_whole(k * x) for x in places)  # noqa: E731
        sizes = []
        for cells in TOP_CELLS:
            wanted = cells / self.top
            near = range(max(1, math.ceil(wanted / TOP_FIT)), math.floor(wanted * TOP_FIT) + 2)
            sizes.append(min(near, key=lambda k: (round(misfit(k), 2), abs(k - wanted))))
        return tuple(sizes) if sizes[0] <= SCAN[-1] else ()

    @property
    def _narrow_top(self) -> bool:
        """Whether the best staircase's top step begins whole sensitivities from an end of the support and is so narrow
        that coarse lattices do not show it."""
        if not self.from_end or self.problem.joint.epsilon < TOP_FROM or self.lowers != ("ends",):
            return False
        narrow = 0 < self.top * SCAN[-1] < 1 and not self._top_widths and self._to_top(max(TOP_CELLS)) <= self.finest
        return narrow and self._continuous and self.covering is None

    def _to_top(self, cells: int) -> int:
        """The largest lattice of labels with so many cells to the top step."""
        return CELL * math.floor(cells / self.top)

    def next(self, side: tuple[str, ...], steps: Steps, lower: float, upper: float) -> tuple[str, int] | None:
        """(kind, k) for one more step on one side: a multiple of the lattice whose error is smallest for its size, the
        optimum being taken to lie in the middle of the bracket, or at its upper end where that is a closed form, and
        errors to fall like 1/k². None: nothing left."""
        share = 0.5 if self.uppers else 0.0
        middle = share * lower + (1 - share) * upper if math.isfinite(upper) else lower
        goal = (0.8 if self.uppers else 0.6) * (1 - share) * self.gap * max(lower, 1e-3 * middle, NOT_ZERO)
        ranked = sorted(
            (max(abs(middle - step.bound), CLOSEST * goal) * step.k**2, step.k, kind)
            for kind in side
            if not _beaten(kind, side, steps)
            for step in steps[kind]
            if step.k > 1 or all(other.k == 1 for other in steps[kind])
        )
        for quality, base, kind in ranked:
            largest = max(step.k for step in steps[kind])
            most = STEEP_GROWTH if self._nearly_staircase and self.problem.power > 1 else GROWTH
            most = TOP_GROWTH if self._top_widths or not (self._continuous or self.problem.whole_line) else most
            last = steps[kind][-1].seed
            least = LEAST_GROWTH if last is None or last.sharp else ALL_PAIRS_GROWTH
            wanted = min(max(math.sqrt(quality / goal), least * largest), max(most, least) * largest)
            if last is not None and not last.sharp:  # as large as still is one with all pairs
                room = ROOM * MOST_CLASSES / steps[kind][-1].cells * steps[kind][-1].k
                wanted = room if LEAST_GROWTH * largest <= room < wanted else wanted
            multiple = max(2, math.ceil(wanted / base - ROUNDED))
            multiple += kind == "centred" and multiple % 2 == 0  # even multiples of centred cells are offset cells
            if kind in LOWER and self._sparse:
                multiple = min(m << n for m in (2, 3) for n in range(16) if m << n >= multiple)
            k = base * multiple
            if k > OVERSHOT * wanted and not (self._sparse or self._low):
                k = math.ceil(wanted)
            if k > 2.5 * largest:
                k = round(1.6 * largest) + 1
            if self.covering and kind == "ends":
                k = self._ends_of(math.ceil(k / CELL), largest // CELL + 1)
            elif self._bottom and kind == "nodes":
                k = self._next_on_bottom(wanted)
            elif self._apart and kind == "nodes":
                k = next((k for k in map(self._met, APART_SIZES) if k > largest), self.finest + 1)
            elif (self.covering or self._bottom or self._apart) and kind not in LOWER:
                k = self._on_bottom(kind, max(k, largest + 1))
            elif self._nearly_staircase:  # aligned, even problems need no multiple
                k = self._aligned(kind, wanted if self.problem.folds else k, largest + 1)
            elif not self._continuous and kind not in ("ends", "centred") and not self.problem.whole_line:
                k = self._by_jumps(kind, round(wanted), largest + 1)
            elif self._top_widths and kind in LOWER and self._kink:
                k = self._fitted(kind, round(wanted), largest + 1, NEAR)
            elif self._narrow_top and kind in LOWER:
                cells = max(1, round(wanted * self.top / CELL))
                k = next(k for k in map(self._to_top, itertools.count(cells)) if k > largest)
            elif self._ends and not self._top_widths:
                k = self._fitted(kind, k, largest + 1)
            if kind == "ends":
                k += k % CELL
            if largest < k <= self.finest and self.fits(kind, k, steps):
                return kind, k
        return None

    def fits(self, kind: str, k: int, steps: Steps) -> bool:
        """A lattice of k per sensitivity over the window is not too large."""
        window = self.window(kind, k, steps)
        return (window.right - window.left) * k * (0.5 if self.problem.folds else 1.0) <= 1.5 * MOST_CELLS

    def graded(self, kind: str, k: int, steps: Steps) -> Grading | None:
        """How a lattice is graded, None for a uniform one."""
        if kind in LOWER and (self._apart or (self.covering and kind == "ends")):
            return None
        if self._bottom and kind == "nodes":
            return self._near_bottom(k)
        return self._grading(k, steps) if kind in LOWER else self._narrowing(kind, k, steps)

    def _grading(self, k: int, steps: Steps) -> Grading | None:
        """How a lattice for a lower bound is graded [method: graded]: from k per sensitivity to finer ones where the
        optimum is nearly a staircase, of k per sensitivity with few of its shifts where the problem is not even."""
        if self._sparse:
            coarse = 1
            while k % (2 * coarse) == 0 and k >= 2 * coarse * max(SHIFTS, 1 / self.peak):
                coarse *= 2
            return Grading(coarse) if coarse > 1 else None
        if not self._nearly_staircase or self._steepness >= (GRADED_TO if self.problem.folds else STEPS_FROM):
            return None
        if self.problem.monotone or not self.problem.whole_line or self._narrow:
            return None
        if not self.problem.folds and all(step.k == 1 for step in steps["nodes"]):
            return None  # so large a program begins with the pairs of a smaller one
        coarse, power = 1, max(1.0, self.problem.power)
        finest = FINENESS / min(self.gap, 1e-3)
        if power > 1:
            finest = max(finest, TOUCHED / (self.peak * math.sqrt(self.gap)))
        finest = min(finest, self.finest)
        while 2 * coarse * k <= finest and 2 * coarse * power <= k:
            coarse *= 2
        return self._near_steps(coarse, SLOPE * power, self.window("nodes", k, steps)) if coarse > 1 else None

    def _narrowing(self, kind: str, k: int, steps: Steps) -> Grading | None:
        """How the cells of an upper bound's lattice narrow: near the steps of a law in a support, and where an even
        problem's optimum is nearly a staircase and the loss has a power."""
        few, first = len(self.cut) <= TOP_PLACES, all(step.k == 1 for step in steps[kind])
        narrow, slope, finest = NARROWEST, CELL_SLOPE, self.finest
        if few and self._top_widths:
            narrow = TOP_FIRST if first else TOP_NARROWEST
        elif few and self._narrow_top:
            parts, slope, finest = NARROW_PARTS[0 if first else 1] / (k * self.top), NARROW_SLOPE, FINER * finest
            powers = math.ceil(math.log2(parts)), math.floor(math.log2(finest / k))
            narrow = max(narrow, 1 << max(0, min(powers)))
        if kind != "offset" or k == 1 or narrow * k > finest:
            return None
        if self.cut:
            return Grading(narrow, self.cut, slope, math.inf)
        if self.problem.power <= 1 or not self._nearly_staircase or not self.problem.folds:
            return None
        return self._near_steps(NARROWEST, CELL_SLOPE, self.window(kind, k, steps))

    def _near_steps(self, coarse: int, slope: float, window: Window) -> Grading:
        """Fine near 0, the staircase's steps and their copies whole sensitivities on."""
        places = (0.0, *self.steps, *(-step for step in self.steps))
        reach = min(int(window.right) + bool(window.near), PERIODS)  # a tight window has covers beyond it
        return Grading(coarse, places, slope, reach + BEYOND * max(self.steps))

    @property
    def _steepness(self) -> float:
        """The ε at which a staircase for |x| has a top step like this even problem's; of others their own."""
        return steepness(self.peak) if self.problem.folds else self.problem.joint.epsilon

    @property
    def sizes_grow(self) -> bool:
        """The next program is to be reckoned larger than the last, like its k; even problems, and those with several
        pairs, do as well without."""
        return not self.problem.folds and len(self.problem.privacies) == 1

    @property
    def _sparse(self) -> bool:
        """Lattices for lower bounds keep all nodes and few shifts."""
        plain = self._continuous and not self.problem.folds and not self.problem.monotone
        most = STEPS_FROM if self.problem.whole_line else ALIGNED_FROM
        return plain and not self._nearly_staircase and self.problem.joint.epsilon < most

    @property
    def _continuous(self) -> bool:
        return all(loss.continuous for loss in self.problem.paid_losses)

    @property
    def _nearly_staircase(self) -> bool:
        if not self._continuous or self.problem.joint.epsilon < self._aligned_from:
            return False
        enough = len(self.problem.privacies) == 1 or self.problem.joint.epsilon >= ALIGNED_PAIRS_FROM
        alone = self.problem.whole_line and enough
        return self.problem.folds or (alone and self.problem.paid_loss.grows_from_zero)

    @property
    def _aligned_from(self) -> float:
        """The ε from which on lattices are aligned with the staircase."""
        grows = all(piece.coefficient > 0 for loss in self.problem.paid_losses for piece in loss.pieces)
        if not grows or self.problem.joint.delta > EARLY_ALIGNED_TO:
            return ALIGNED_FROM
        return LINEAR_ALIGNED_FROM if self.problem.power <= 1 else STEEP_ALIGNED_FROM

    def _aligned(self, kind: str, wanted: float, least: int = 1) -> int:
        """A lattice near the wanted one, of at least so many cells per sensitivity, on which the staircase's steps fall
        on nodes or cell edges: a whole number of cells from 0, or for centred cells half of an odd number."""
        half = 0.5 * (kind == "centred")
        reach = max(0.15 * wanted, 0.55 / self.peak)

        def misfit(k: int) -> tuple[float, float]:
            off = max(abs(k * x - half - max(round(k * x - half), 1 - 2 * half)) for x in self.steps)
            return round(off, 2), abs(k - wanted)

        return min(range(max(least, math.ceil(wanted - reach)), math.floor(wanted + reach) + 2), key=misfit)

    @cached_property
    def _ends(self) -> tuple[Fraction, ...]:
        """Ends of the support near which a law ends and no lattice begins, in sensitivities from their origin."""
        problem, D = self.problem, self.problem.sensitivity
        if problem.folds or not self._continuous:
            return ()
        best, near = problem.paid_loss.minimiser(*problem.support)[0], (problem.joint.truncation() + 1) * D
        origin = origin_of(problem)
        ends = (end for end in problem.support if math.isfinite(end) and abs(end - best) <= near and end != origin)
        return tuple((Fraction(end) - Fraction(origin)) / Fraction(D) for end in ends)

    @cached_property
    def _kink(self) -> Fraction:
        """How far the loss's minimiser is from the lattices' origin, in sensitivities, if the loss rises on both sides
        of it like a line."""
        problem = self.problem
        best = problem.paid_loss.minimiser(*problem.support)[0]
        beside = [piece for piece in problem.paid_loss.pieces if best in (piece.lo, piece.hi)]
        if not beside or not all(piece.power == 1 and piece.coefficient for piece in beside):
            return Fraction(0)
        return (decimal(best) - decimal(origin_of(problem))) / decimal(problem.sensitivity)

    def fitted_ends(self) -> int | None:
        """A lattice fine enough for a top step at large ε, whose cells end near the ends of the support; None where no
        end is near or it is too large."""
        if not self._ends or not self._continuous:
            return None
        k = self._fitted("ends", FROM_LAW, 0)
        return k if k <= self.finest and self.fits("ends", k, {kind: [] for kind in self.kinds}) else None

    def _fitted(self, kind: str, k: int, least: int, within: tuple[float, float] = FIT) -> int:
        """A lattice near k, of at least so many per sensitivity, whose cells end near the ends of the support, outside
        of it for lower bounds, inside for upper bounds; where the loss has a kink away from the lattices' origin, for
        lower bounds near that as well, and among equals near the ends of the best staircase's top step."""
        cell, outwards, ends = CELL if kind == "ends" else 1, 1 if kind in LOWER else -1, self._ends
        kink = self._kink if kind in LOWER else Fraction(0)
        steps = self.cut if kink else ()

        def misfit(k: int) -> tuple[float, float, int]:
            cells = Fraction(k, cell)
            off = float(max((-outwards * abs(end) * cells % 1 for end in ends), default=0)) / k
            off += KINK * _from_whole(float(kink * cells)) / k
            beside = max((_from_whole(float(step * cells)) for step in steps), default=0.0) / k
            return round(off, FITTED), round(beside, FITTED), k

        first = cell * -(-max(least, math.ceil(within[0] * k)) // cell)
        return min(range(first, max(first, math.floor(within[1] * k)) + 1, cell), key=misfit)

    @cached_property
    def _jumps(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """(sensitivities from the lattices' origin, how much it counts) of the losses' jumps and of the support's ends
        near the loss's minimiser, counted positive away from it."""
        problem = self.problem
        (lo, hi), D, start = problem.support, decimal(problem.sensitivity), decimal(origin_of(problem))
        best, reach = problem.paid_loss.minimiser(lo, hi)[0], (problem.joint.truncation() + 1) * problem.sensitivity
        near = {*(x for loss in problem.paid_losses for x in loss.jumps if lo < x < hi), *next_to(problem)}
        ends = {x for x in (lo, hi) if abs(x - best) <= reach and not problem.folds} - near
        counts = {**dict.fromkeys(near, Fraction(1)), **dict.fromkeys(ends, END)}
        return tuple(((decimal(x) - start) / D * (1 if x >= best else -1), many) for x, many in counts.items())

    def _missed(self, side: int, k: int) -> Fraction:
        """How far edges of a lattice are from jumps and ends: beyond them (1, for lower bounds) or before them (−1)."""
        return sum(((-side * x * k) % 1 * many for x, many in self._jumps), Fraction(0)) / k

    def _next_to_jumps(self, side: int) -> Iterator[int]:
        """Lattices with an edge ever closer to every jump of the loss, beyond it (1, for lower bounds) or before it
        (−1), and ends of the support, and the multiples of the best so far."""
        best: Fraction | float = math.inf
        for k in range(1, self.finest + 1):
            miss = self._missed(side, k)
            if miss <= best * (1 + ROUNDED) or miss < 1e-12:  # equal but for rounding, or 0
                best = miss
                yield k

    def _by_jumps(self, kind: str, k: int, least: int) -> int:
        """A lattice near k, of at least so many cells per sensitivity, on which jumps fall next to edges."""
        side = 1 if kind in LOWER else -1
        sizes = range(max(least, math.ceil(NEAR_JUMPS[0] * k)), max(least, math.floor(NEAR_JUMPS[1] * k)) + 1)
        return min(sizes, key=lambda k: (self._missed(side, k), k))


def _from_whole(x: float) -> float:
    """How far from a whole number."""
    return abs(x - round(x))


def _beaten(kind: str, side: tuple[str, ...], steps: Steps) -> bool:
    """Whether another kind of lower bounds proves more than this kind, with no more pairs than its last step had."""
    if kind not in LOWER or not steps[kind]:
        return False
    best, pairs = max(step.bound for step in steps[kind]), steps[kind][-1].pairs
    others = (step for other in side if other != kind for step in steps[other])
    return any(step.bound > best and step.pairs <= pairs for step in others)
