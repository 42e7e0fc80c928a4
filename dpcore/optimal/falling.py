"""Laws that fall away from 0, by a program without a lattice: only shifts by the whole sensitivity count [Thm 11].

Cells may be of any width, so they are narrow where a law has its steps, and wide where it is level. One program gives
the law and the multipliers; these are mended until every mean of D over an interval from 0 reaches a level, and judged
by `audit.falling`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._validate import decimal
from ..audit.falling import FallingMultipliers
from ..audit.growth import amplification_bounds
from ..errors import SolverError
from ..loss import Loss
from ..loss.cells import means, means_lower, minorants
from ..lp import INFINITY, LinearProgram
from ..noise.base import Noise
from ..noise.piecewise import PiecewiseNoise
from ..places import Places
from ..problem import NoiseProblem
from .groups import level_stretch
from .lattice import Array, Ints
from .step import Limits

UNITS, SPAN, PARTS = 1 << 32, 1 << 58, 1 << 20
"""Most units to a sensitivity, and from end to end; ends of the support and breaks of the loss that are such a part of
a sensitivity are whole numbers of units."""

NEAR = 60
"""Cells end at the same places of every sensitivity up to so many from 0 and from a law's ends; in between every so
many sensitivities, more by this factor each time."""

GROWN = 1.2

FAR, NEARER = 1000, 8
"""Where a law ends farther away than that, up to so many are enough."""

CELLS, EVEN = 600, 8
"""About so many cells, and up to so many of the same width to the sensitivity, are begun with."""

MOST = 2400
"""Largest number of cells."""

SPLIT, JUMP = 4, 1e-3
"""Cells next to a step of more than this share are cut into so many."""

ROUNDS = 4
"""Programs, one after the other."""

BEYOND = 2
"""Sensitivities around a law that cells cover besides."""

LOWERED = (1e-6, 1e-5, 1e-4, 5e-4, 2e-3, 1e-2)
"""Shares of the program's level by which that of the multipliers is lower, so that what they are mended by dies out."""

FLOOR = 0.01
"""Least mass of a sensitivity that a program reckons with, in shares of δ."""

FREE = 1e5
"""Of a cell that weighs so many δ nothing may be uncovered."""

SCALE = 1e-4
"""The value of a program's objective is one over this: tolerances are absolute."""

DEAR = 1e-5
"""A side whose share of δ costs less than this part of the value has chains for multipliers beyond a sensitivity."""

MARGIN = 1e-12
"""Of what is added up, left for rounding."""

NARROW = 0.02
"""What is lacking is made up for over so much of a sensitivity."""


def applies(problem: NoiseProblem) -> bool:
    """One pair with δ > 0 on the line, and monotony."""
    one = len(problem.privacies) == 1 and problem.budget is None and problem.granularity is None
    return one and problem.monotone and 0 < problem.privacy.delta


def falling_bounds(problem: NoiseProblem, law: Noise, limits: Limits) -> Iterator[tuple[float, PiecewiseNoise | None]]:
    """(lower bound, a law that may be private) of one program after the other.   law : a good one to begin with."""
    cells = _Cells.around(problem, law)
    reference = cells.densities(law)
    for _ in range(ROUNDS):
        program = _Program(problem, cells, reference, limits.scale)
        try:
            status = program.run(limits)
        except SolverError:
            return
        if status != "optimal":
            return
        yield program.lower(limits), program.law()
        finer = cells.split(program.density)
        if finer is None:
            return
        reference = program.density[np.searchsorted(cells.breaks, finer.breaks[:-1], side="right") - 1]
        cells = finer


@dataclass(frozen=True)
class _Cells:
    """Cells from `low` to `high`, in sensitivity/resolution from 0. classes : where they end within a sensitivity.
    near : sensitivities with all of these ends.   far : single ends elsewhere."""

    problem: NoiseProblem
    resolution: int
    low: int
    high: int
    classes: Ints
    near: Ints
    far: Ints

    @staticmethod
    def around(problem: NoiseProblem, law: Noise) -> _Cells:
        D, folded = problem.sensitivity, problem.folds
        reach = max(map(abs, law.support)) / D + BEYOND + 1
        parts = 1
        places = [decimal(x) / decimal(D) for x in (*problem.support, *problem.paid_loss.breaks) if math.isfinite(x)]
        for place in places:
            common = math.lcm(parts, place.denominator)
            parts = common if common <= PARTS else parts
        k = parts << max(0, math.floor(math.log2(min(UNITS, SPAN / reach) / parts)))
        grid = Places.of(0.0, D, k, [0])
        lo, hi = (grid.position(end) for end in problem.support)
        first, last = law.support
        low = max((math.floor(first / D) - BEYOND) * k, -(2**61) if math.isinf(lo) else math.ceil(lo))
        high = min((math.ceil(last / D) + BEYOND) * k, 2**61 if math.isinf(hi) else math.floor(hi))
        if folded:
            high = min(-low, high)
            low = -high
        begin, end = low // k, -(-high // k)
        around = NEAR if max(-begin, end) <= FAR else NEARER
        near = {n for c in (begin, 0, end) for n in range(max(begin, c - around), min(end, c + around + 1))}
        far: list[int] = []
        for a, b in zip(sorted(near), sorted(near)[1:]):
            step = 1.0
            while a < b:
                far += [a, b]
                a, b, step = a + int(step), b - int(step), step * GROWN
        even = min(EVEN, max(2, round(CELLS / max(1, len(near)))))
        classes = {j * k // even for j in range(even)} | {math.floor(place * k) % k for place in places}
        classes |= {round(x / D * k) % k for x in level_stretch(law, problem.privacy.epsilon)}
        if folded:
            classes |= {-c % k for c in classes}
        return _Cells(
            problem,
            k,
            int(low),
            int(high),
            np.array(sorted(classes)),
            np.array(sorted(near)),
            k * np.array(far, dtype=np.int64),
        )

    @property
    def breaks(self) -> Ints:
        k = self.resolution
        ends = (self.near[:, None] * k + self.classes[None, :]).ravel()
        if self.problem.folds:
            ends = np.concatenate([ends, -ends])
        ends = np.unique(np.concatenate([ends, self.far, [self.low, self.high, 0]]))
        return ends[(ends >= self.low) & (ends <= self.high)]

    def beyond(self) -> Ints:
        """Ends of cells next to the program's, on sides where the support goes on."""
        k, epsilon = self.resolution, self.problem.privacy.epsilon
        grid = Places.of(0.0, self.problem.sensitivity, k, [0])
        lo, hi = (grid.position(end) for end in self.problem.support)
        many = np.arange(1, 5 + min(NEAR, math.ceil(8 / epsilon) if epsilon else NEAR))[:, None] * k
        breaks, ends = self.breaks, [np.zeros(0, dtype=np.int64)]
        if self.low - lo >= 1:
            ends.append((breaks[breaks < self.low + k][None, :] - many).ravel())
        if hi - self.high >= 1:
            ends.append((breaks[breaks > self.high - k][None, :] + many).ravel())
        found: Ints = np.concatenate(ends)
        return found

    def densities(self, law: Noise) -> Array:
        """Of a law, on the cells, in sensitivities."""
        below = np.asarray(law.cdf(self.breaks / self.resolution * self.problem.sensitivity))
        found: Array = np.diff(below) / (np.diff(self.breaks) / self.resolution)
        return found

    def split(self, density: Array) -> _Cells | None:
        """Cells next to steps of a density cut, and with them those whole sensitivities away; None if all are as narrow
        as that, or too many."""
        breaks, k = self.breaks, self.resolution
        high, low = np.maximum(density[1:], density[:-1]), np.minimum(density[1:], density[:-1])
        at = np.flatnonzero(high - low > JUMP * high)
        number = np.searchsorted(self.classes, breaks[np.concatenate([at, at + 1])] % k, side="right") - 1
        number = np.unique(np.append(number, [0, len(self.classes) - 1]))
        ends = np.append(self.classes, self.classes[0] + k)
        widths = np.diff(ends)[number]
        number, widths = number[widths >= SPLIT**2], widths[widths >= SPLIT**2]
        if not len(number):
            return None
        inner = np.concatenate([ends[number] + widths * j // SPLIT for j in range(1, SPLIT)]) % k
        if self.problem.folds:
            inner = np.concatenate([inner, -inner % k])
        finer = replace(self, classes=np.unique(np.concatenate([self.classes, inner])))
        return finer if len(finer.breaks) <= MOST * (1 + self.problem.folds) else None


@dataclass(frozen=True)
class _Terms:
    """max(0, p_event − e^ε p_cover) on pieces of the line, or p_event where nothing covers (cover −1), of one shift.

    start, stop : of pieces.   event, cover : numbers of cells."""

    start: Ints
    stop: Ints
    event: Ints
    cover: Ints

    @staticmethod
    def of(breaks: Ints, shift: int) -> _Terms:
        """shift : by how much to the right what covers is moved. Where that is outwards nothing is uncovered."""
        other = breaks + shift
        ends = np.unique(np.concatenate([breaks, other]))
        ends = ends[(ends >= breaks[0]) & (ends <= breaks[-1])]
        ends = ends[ends <= shift] if shift > 0 else ends[ends >= shift]
        start = ends[:-1]
        event, cover = (np.searchsorted(b, start, side="right") - 1 for b in (breaks, other))
        return _Terms(start, ends[1:], event, np.where(cover < len(breaks) - 1, cover, -1))


class _Program:
    """The program of one partition: densities of cells (of mirror images one), in units of a reference, an atom at 0,
    slacks of terms."""

    def __init__(self, problem: NoiseProblem, cells: _Cells, reference: Array, scale: float) -> None:
        self.problem, self.cells, self.scale = problem, cells, scale * SCALE
        self.breaks = breaks = cells.breaks
        k, n, delta = cells.resolution, len(breaks) - 1, problem.privacy.delta
        self.delta = delta * (1 - 1e-9)
        self.widths = np.diff(breaks) / k
        folded = problem.folds
        number = np.arange(n)
        self.column = np.where(number >= n // 2, number - n // 2, n // 2 - 1 - number) if folded else number
        columns = n // 2 if folded else n
        self.reference = np.zeros(columns)
        np.maximum.at(self.reference, self.column, np.maximum(reference, FLOOR * delta))
        costs = means(problem.paid_loss, Places.of(0.0, problem.sensitivity, k, breaks))
        mass = np.bincount(self.column, self.widths, columns) * self.reference
        paid = np.bincount(self.column, self.widths * costs, columns) * self.reference
        self.terms = [_Terms.of(breaks, -k)] if folded else [_Terms.of(breaks, k), _Terms.of(breaks, -k)]
        self._columns(mass, paid)
        self._privacy()
        self._monotony()

    def _columns(self, mass: Array, paid: Array) -> None:
        lp = self.lp = LinearProgram()
        columns, sides = len(mass), len(self.terms)
        lp.add_rows(1.0, 1.0, starts=[0], columns=[], values=[])
        lp.add_rows(-INFINITY, np.ones(sides), starts=np.zeros(sides, dtype=int), columns=[], values=[])
        entries = [mass]
        for terms in self.terms:
            bare = terms.cover < 0
            length = (terms.stop - terms.start)[bare] / self.cells.resolution
            entries.append(np.bincount(self.column[terms.event[bare]], length, columns) * self.reference / self.delta)
        table = np.stack(entries, axis=1)
        at, row = np.nonzero(table)
        starts = np.searchsorted(at, np.arange(columns))
        lp.add_columns(paid / self.scale, starts=starts, rows=row, values=table[at, row])
        at_zero = self.delta * float(self.problem.paid_loss.value(0.0)) / self.scale
        lp.add_columns(at_zero, 0.0, 1.0, starts=[0], rows=np.arange(1 + sides), values=[self.delta, *[1.0] * sides])

    def _privacy(self) -> None:
        """p_event − e^ε p_cover ≤ slack/length, each row divided by what is the largest in it."""
        E, k, column = self.problem.privacy.amplification, self.cells.resolution, self.column
        kept = [(terms.cover >= 0) & (column[terms.event] != column[terms.cover]) for terms in self.terms]
        self.kept = kept
        event, cover = (
            np.concatenate([column[getattr(terms, name)[some]] for terms, some in zip(self.terms, kept)])
            for name in ("event", "cover")
        )
        length = np.concatenate([(terms.stop - terms.start)[some] / k for terms, some in zip(self.terms, kept)])
        side = np.repeat(np.arange(len(kept)), [int(some.sum()) for some in kept])
        own, other = self.reference[event], E * self.reference[cover]
        largest = np.maximum(own, other)
        self.rates = 1 / (length * largest)
        slack = np.flatnonzero(length * own < FREE * self.delta)
        first = self.lp.columns
        self.lp.add_columns(
            np.zeros(len(slack)), starts=np.arange(len(slack)), rows=1 + side[slack], values=np.ones(len(slack))
        )
        rows = np.concatenate([np.tile(np.arange(len(event)), 2), slack])
        columns = np.concatenate([event, cover, first + np.arange(len(slack))])
        values = np.concatenate([own / largest, -other / largest, -self.delta * self.rates[slack]])
        order = np.argsort(rows, kind="stable")
        self.first_row = self.lp.rows
        self.lp.add_rows(
            -INFINITY,
            np.zeros(len(event)),
            starts=np.searchsorted(rows[order], np.arange(len(event))),
            columns=columns[order],
            values=values[order],
        )

    def _monotony(self) -> None:
        zero = 0 if self.problem.folds else int(np.searchsorted(self.breaks, 0))
        n = len(self.reference)
        inner = np.concatenate([np.arange(zero, n - 1), np.arange(1, zero)])
        outer = np.concatenate([np.arange(zero + 1, n), np.arange(zero - 1)])
        largest = np.maximum(self.reference[inner], self.reference[outer])
        values = np.stack([self.reference[inner], -self.reference[outer]], axis=1) / largest[:, None]
        columns = np.stack([inner, outer], axis=1)
        starts = 2 * np.arange(len(inner))
        self.lp.add_rows(
            0.0, np.full(len(inner), INFINITY), starts=starts, columns=columns.ravel(), values=values.ravel()
        )

    def run(self, limits: Limits) -> str:
        status = self.lp.run(limits.deadline, limits.stop)
        if status == "optimal":
            found, duals = self.lp.primal(), self.lp.row_duals()
            n, sides = len(self.reference), len(self.terms)
            self.density = np.maximum(found[:n] * self.reference, 0.0)[self.column]
            self.atom = self.delta * float(found[n])
            self.level = float(duals[0]) * self.scale
            self.limit_rates = np.maximum(-duals[1 : 1 + sides], 0.0) * self.scale / self.delta
            weights = -duals[self.first_row : self.first_row + len(self.rates)] * self.scale * self.rates
            self.weights = np.maximum(weights, 0.0)
        return status

    def law(self) -> PiecewiseNoise | None:
        masses = self.density * self.widths
        total = math.fsum(masses) + self.atom
        if not total > 0:
            return None
        return PiecewiseNoise.from_masses(
            sensitivity=self.problem.sensitivity,
            resolution=self.cells.resolution,
            breaks=self.breaks,
            masses=masses / total,
            atom=self.atom / total,
            monotone=True,
        )

    def lower(self, limits: Limits) -> float:
        """What the mended multipliers prove at the best of a few levels."""
        problem, best = self.problem, -math.inf
        loss, privacy = problem.paid_loss, problem.privacy
        multipliers = self._multipliers()
        for share in LOWERED:
            level = self.level * (1 - share)
            found = _mended(multipliers, loss, privacy.epsilon, privacy.delta, level, limits.scale)
            bound = found.lower(loss, privacy.epsilon, privacy.delta, level)
            if 0 < bound < best:
                break
            best = max(best, bound)
        return best

    def _multipliers(self) -> FallingMultipliers:
        """Those of the program, on cells that also reach beyond its own."""
        k = self.cells.resolution
        known = np.concatenate([self.breaks, self.cells.beyond()])
        edges = np.unique(np.concatenate([known, self.breaks - k, self.breaks + k]))
        edges = edges[(edges >= known.min()) & (edges <= known.max())]
        sides, at = [], 0
        for terms, kept, rate in zip(self.terms, self.kept, self.limit_rates.tolist()):
            own = np.where(terms.cover < 0, rate, 0.0)
            own[kept] = np.minimum(self.weights[at : at + int(kept.sum())], rate)
            at += int(kept.sum())
            number = np.searchsorted(terms.start, edges[:-1], side="right") - 1
            inside = (number >= 0) & (edges[:-1] < terms.stop[-1])
            sides.append(np.where(inside, own[np.maximum(number, 0)], 0.0))
        if self.problem.folds:
            sides = [0.5 * sides[0][::-1], 0.5 * sides[0]]
        return FallingMultipliers(self.problem.sensitivity, k, self.problem.support, edges, *sides)


def _mended(
    multipliers: FallingMultipliers, loss: Loss, epsilon: float, delta: float, level: float, scale: float
) -> FallingMultipliers:
    """Multipliers with which every mean of D over an interval from 0 is about the level: outwards, y grows as late as
    it can, and what that takes from D a sensitivity further out is made up for there.

    The side that pays the more for δ comes last if its multipliers next to 0 may be raised for the other."""
    E, k = amplification_bounds(epsilon)[1], multipliers.resolution
    edges = multipliers.edges
    edges = np.unique(np.concatenate([edges, (edges[1:] + edges[:-1]) // 2]))
    number = np.searchsorted(multipliers.edges, edges[:-1], side="right") - 1
    right, left = multipliers.right[number].copy(), multipliers.left[number].copy()
    dear = [float(y.max(initial=0.0)) * delta >= DEAR * scale for y in (right, left)]
    places = Places.of(0.0, multipliers.sensitivity, k, edges)
    near, far = minorants(loss, places)
    mean = np.maximum(means_lower(loss, places), 0.5 * (near + far))
    zero = int(np.searchsorted(edges, 0))
    first = -1 if left.max(initial=0.0) > right.max(initial=0.0) else 1
    for side in (first, -first):
        made = replace(multipliers, edges=edges, right=right, left=left)
        steps, sizes = made.steps(edges[:-1], E)
        cells = np.arange(zero, len(edges) - 1) if side > 0 else np.arange(zero - 1, -1, -1)
        inner, outer = (near, far) if side > 0 else (far, near)
        starts = edges[:-1][cells] if side > 0 else -edges[1:][cells]
        stops = edges[1:][cells] if side > 0 else -edges[:-1][cells]
        own, other = (left, right) if side > 0 else (right, left)
        last = len(cells)
        if not dear[int(side > 0)]:
            low = np.flatnonzero(mean[cells] < level)
            settled = max(k, int(stops[low[-1]]) if len(low) else 0)
            far_out = np.flatnonzero(starts >= settled)
            if len(far_out):
                last = int(far_out[0])
                own[cells[last:]] = _supply(starts, stops, k, E, level, mean[cells], last, DEAR * scale / delta)
                made = replace(multipliers, edges=edges, right=right, left=left)
                steps, sizes = made.steps(edges[:-1], E)
        near_zero, steps, sizes = side == first and dear[int(side < 0)], steps[cells], sizes[cells]
        rows = inner[cells], outer[cells], mean[cells], steps, sizes
        grown, free = _raised(starts, stops, k, E, level, rows, last, near_zero)
        own[cells] += np.where(free, 0.0, grown)
        other[cells] += np.where(free, grown, 0.0)
    return replace(multipliers, edges=edges, right=right, left=left)


def _supply(starts: Ints, stops: Ints, k: int, E: float, level: float, mean: Array, first: int, most: float) -> Array:
    """What cells from number `first` on may hand a sensitivity outwards, so that what is there and beyond reaches the
    level on every cell, at most so much."""
    n = len(starts)
    before = np.searchsorted(starts, starts + k, side="right") - 1
    after = np.minimum(np.searchsorted(starts, stops + k, side="left"), n)
    spare = (mean - level).tolist()
    for i in range(n - 1, first - 1, -1):
        there = min(spare[before[i] : after[i]]) if stops[i] + k <= stops[-1] else 0.0
        found = min(max(0.0, there / E), most)
        spare[i] += found
    return np.array(spare[first:]) - (mean[first:] - level)


def _raised(
    starts: Ints, stops: Ints, k: int, E: float, level: float, rows: tuple[Array, ...], last: int, near_zero: bool
) -> tuple[Array, NDArray[np.bool_]]:
    """(by how much multipliers grow on the cells of one side, from 0 outwards, which of these are those of the other
    shift). Cells from number `last` on keep theirs.

    rows : per cell, the ends of a line below the loss, its mean, D − c and the same sum of absolute values.
    near_zero : within a sensitivity of 0 the other shift's grow, which cost nothing further out on this side."""
    near, far, mean, steps, sizes = rows
    n = len(starts)
    before = np.searchsorted(starts, starts + k, side="right") - 1
    after = np.minimum(np.searchsorted(starts, stops + k, side="left"), n).tolist()
    before = np.where(starts + k >= stops[-1], n, before).tolist() if n else []
    widths = ((stops - starts) / k).tolist()
    rises = ((near + steps - level) * (stops - starts) / k).tolist()
    bends = ((far - near) * (stops - starts) / k).tolist()
    gains = ((mean - near) * (stops - starts) / k).tolist()
    blurs = ((sizes + np.abs(near) + level) * (stops - starts) / k).tolist()
    taken, grown = [0.0] * n, [0.0] * n
    inner = int(np.searchsorted(starts, k)) if near_zero else 0
    total = blur = 0.0
    for i, (width, rise, bend, gain) in enumerate(zip(widths, rises, bends, gains)):
        rise -= E * taken[i] * width
        blur += blurs[i] + E * taken[i] * width
        spare = total - MARGIN * blur
        if i == 0:
            need = max(-rise, -rise - gain) + MARGIN * blur
        elif spare <= 0:
            need = max(0.0, -rise - min(gain, 0.0)) - spare * min(1.0, width / NARROW)
        elif bend > 0 and 2 * spare < bend:
            need = -rise - math.sqrt(2 * bend * spare)
        else:
            need = -rise - gain - spare
        if need > 0 and i < last:
            grown[i] = need / width
            rise += need
            if i >= inner:
                for j in range(before[i], after[i]):
                    taken[j] = max(taken[j], grown[i])
        total += rise + gain
    other: NDArray[np.bool_] = np.arange(n) < inner
    return np.array(grown), other
