"""Laws of noise in exact arithmetic: how private they are and what they cost.

Finite laws are whole numbers, and so is everything about them; laws with tails are known by their parameters and
enclosed. Nothing here comes from `dpcore`.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain, islice

from exact_losses import Bounds, ExactLoss, enclosed, ends, exp_bounds
from mpmath import iv

BITS = 200
MOST_UNITS = 40_000
"""Longest law that is taken apart into cells of one length in any case; others where that is less work than to compare
them break by break."""

BREAK = 20
"""Work at a break, which is a fraction, in that of a whole cell."""

MOST_SHIFTS, MOST_WORK = 1 << 20, 40_000_000
"""Break by break not more differences than this are listed, and then looked at only so many that the work, in whole
cells, stays below this: an even choice of them, the largest among them. A law is then refuted or not by what was looked
at."""


def floor_bits(x: Fraction) -> int:
    return (x.numerator << BITS) // x.denominator


@dataclass(frozen=True)
class Cells:
    """Uniform on the cell [origin + unit·breaks[i], origin + unit·breaks[i + 1]) with probability weights[i]/total, or
    the point origin + unit·place with probability atom/total."""

    unit: Fraction
    origin: Fraction
    breaks: tuple[int, ...]
    weights: tuple[int, ...]
    total: int
    place: int = 0
    atom: int = 0

    @cached_property
    def faults(self) -> list[str]:
        found = []
        if sum(self.weights) + self.atom != self.total or min(self.weights, default=0) < 0 or self.atom < 0:
            found.append("the weights are no law")
        if any(b <= a for a, b in zip(self.breaks, self.breaks[1:])) or len(self.breaks) != len(self.weights) + 1:
            found.append("the breaks do not increase")
        return found

    def at(self, units: int) -> Fraction:
        return self.origin + self.unit * units

    @cached_property
    def _positive(self) -> list[tuple[int, int, int]]:
        """(from, to, weight) of the cells with a weight, in units."""
        return [(a, b, w) for a, b, w in zip(self.breaks, self.breaks[1:], self.weights) if w]

    @property
    def reach(self) -> tuple[Fraction | float, Fraction | float]:
        """First and last place of positive probability."""
        places = [p for a, b, _ in self._positive for p in (a, b)] + ([self.place] if self.atom else [])
        return self.at(min(places)), self.at(max(places))

    @property
    def symmetric(self) -> bool:
        """Its own mirror image about 0."""
        cells = [(self.at(a), self.at(b), w) for a, b, w in self._positive]
        mirrored = [(-b, -a, w) for a, b, w in reversed(cells)]
        return (not self.atom or self.at(self.place) == 0) and _levels(cells) == _levels(mirrored)

    @property
    def monotone(self) -> bool:
        """The density does not increase away from 0; an atom sits at 0."""
        cells = [(self.at(a), self.at(b), w) for a, b, w in zip(self.breaks, self.breaks[1:], self.weights)]
        levels = [(a, b, Fraction(w) / (b - a)) for a, b, w in cells]
        while levels and levels[0][2] == 0:
            levels.pop(0)
        while levels and levels[-1][2] == 0:
            levels.pop()
        if self.atom and self.at(self.place) != 0:
            return False
        if not levels:
            return True
        right, left = [h for _, b, h in levels if b > 0], [h for a, _, h in levels if a < 0]
        around = levels[0][0] <= 0 <= levels[-1][1]
        return around and right == sorted(right, reverse=True) and left == sorted(left)

    def cost(self, loss: ExactLoss) -> Bounds:
        """E c(X)."""
        low = high = Fraction(0)
        for a, b, w in self._positive:
            one, two = loss.integral(self.at(a), self.at(b))
            low, high = low + w * one / (b - a), high + w * two / (b - a)
        low, high = low / self.unit, high / self.unit
        if self.atom:
            one, two = loss.value(self.at(self.place))
            low, high = low + self.atom * one, high + self.atom * two
        return low / self.total, high / self.total

    def shortfalls(self, epsilon: Fraction, reach: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        """(shift, upper bound of h at it) for shifts 0 < |φ| ≤ reach among which the worst one is; the bound is exact
        but for e^ε, which is known to 2^−200. The atom counts at every shift."""
        yield Fraction(0), Fraction(self.atom, self.total)
        limit = reach / self.unit
        signs = (1,) if self._mirrors_itself else (1, -1)
        cells = (self.breaks[-1] - self.breaks[0]) // self._step
        shifts = self._differences(limit)
        if cells <= MOST_UNITS or cells * limit / self._step <= BREAK * len(self.breaks) * len(shifts):
            yield from self._on_a_grid(epsilon, limit, signs)
        else:
            yield from self._break_by_break(epsilon, shifts, signs)

    def _differences(self, limit: Fraction) -> list[Fraction]:
        """Distances of breaks, up to a limit and with it; see `MOST_SHIFTS`."""
        breaks = self.breaks
        ends = [bisect_right(breaks, b + limit) for b in breaks]
        thin = 1 + sum(end - i - 1 for i, end in enumerate(ends)) // MOST_SHIFTS
        pairs = chain.from_iterable((b - a for b in breaks[i + 1 : ends[i]]) for i, a in enumerate(breaks))
        found = sorted({*map(Fraction, {*islice(pairs, 0, None, thin)}), limit}, reverse=True)
        return found[:: 1 + BREAK * len(breaks) * len(found) // MOST_WORK]

    @cached_property
    def _step(self) -> int:
        return math.gcd(*(b - a for a, b in zip(self.breaks, self.breaks[1:])))

    @cached_property
    def _mirrors_itself(self) -> bool:
        """The continuous part is its own mirror image about some place."""
        widths = [b - a for a, b in zip(self.breaks, self.breaks[1:])]
        return self.weights == self.weights[::-1] and widths == widths[::-1]

    def grid(self, step: int) -> tuple[list[int], list[int]]:
        """Masses of cells of one length, rounded down and up to multiples of 2^−96/total."""
        low, high = [], []
        for a, b, w in zip(self.breaks, self.breaks[1:], self.weights):
            count = (b - a) // step
            low += [(w << 96) // count] * count
            high += [-((-w << 96) // count)] * count
        return low, high

    def _on_a_grid(
        self, epsilon: Fraction, limit: Fraction, signs: tuple[int, ...]
    ) -> Iterator[tuple[Fraction, Fraction]]:
        """Cells of one length: h is affine in the shift between whole cells."""
        low, high = self.grid(step := self._step)
        atom, E = Fraction(self.atom, self.total), floor_bits(exp_bounds(epsilon)[0])
        here, cover = [w << BITS for w in high], [E * w for w in low]
        scale = self.total << (96 + BITS)

        def value(j: int, sign: int) -> Fraction:
            return atom + Fraction(uncovered(here, cover, sign * j), scale) if j else atom

        whole = math.floor(limit / step)
        for j in range(1, whole + 1):
            for sign in signs:
                yield sign * j * step * self.unit, value(j, sign)
        if part := limit / step - whole:
            for sign in signs:
                yield sign * limit * self.unit, (1 - part) * value(whole, sign) + part * value(whole + 1, sign)

    def _break_by_break(
        self, epsilon: Fraction, shifts: list[Fraction], signs: tuple[int, ...]
    ) -> Iterator[tuple[Fraction, Fraction]]:
        """Cells of any lengths: kinks are at the differences of breaks."""
        E, breaks = Fraction(floor_bits(exp_bounds(epsilon)[0]), 1 << BITS), self.breaks
        height = [Fraction(w, b - a) for a, b, w in zip(breaks, breaks[1:], self.weights)]
        for shift in shifts:
            for sign in signs:
                other = [b + sign * shift for b in breaks]
                places = sorted({*breaks, *other})
                total, i, j = Fraction(0), -1, -1
                for x, y in zip(places, places[1:]):
                    while i + 1 < len(breaks) and breaks[i + 1] <= x:
                        i += 1
                    while j + 1 < len(other) and other[j + 1] <= x:
                        j += 1
                    own = height[i] if 0 <= i < len(height) else 0
                    covering = height[j] if 0 <= j < len(height) else 0
                    total += max(own - E * covering, 0) * (y - x)
                yield sign * shift * self.unit, (total + self.atom) / self.total


def together(law: Cells, shift: int, epsilon: Fraction, releases: int) -> Fraction:
    """A lower bound of δ at ε of so many releases that are all shifted by so many units: P(A) − e^ε Q(A) for one event
    A, which is the worst one but for the rounding of ratios."""
    breaks, total = law.breaks, law.total
    places = sorted({*breaks, *(b + shift for b in breaks)})
    heights = [Fraction(w, (b - a) * total) for a, b, w in zip(breaks, breaks[1:], law.weights)]

    def height(x: int) -> Fraction:
        i = bisect_right(breaks, x) - 1
        return heights[i] if 0 <= i < len(heights) else Fraction(0)

    pairs = [((b - a) * height(a), (b - a) * height(a - shift)) for a, b in zip(places, places[1:])]
    pairs += [(Fraction(law.atom, total), Fraction(0)), (Fraction(0), Fraction(law.atom, total))]
    pairs.sort(key=lambda pair: float(pair[1] / pair[0]) if pair[0] else math.inf)
    ratios = [float(q / p) if p else math.inf for p, q in pairs]
    own, other = ([Fraction(0), *accumulate(column)] for column in zip(*pairs))
    before = [(Fraction(1), Fraction(1))]
    for _ in range(releases - 1):
        before = [(p * r, q * t) for p, q in before for r, t in pairs if p * r]
    E, found = exp_bounds(epsilon)[1], Fraction(0)
    for p, q in before:
        i = bisect_left(ratios, float(p / (E * q))) if q else len(pairs)
        found += p * own[i] - E * q * other[i]
    return found


def uncovered(here: list[int], cover: list[int], shift: int) -> int:
    """Σ_i (here_i − cover_(i − shift))₊ over equally long lists; outside there is no cover."""
    j, n = min(abs(shift), len(here)), len(here)
    if shift > 0:
        return sum(here[:j]) + sum(d for a, b in zip(here[j:], cover) if (d := a - b) > 0)
    return sum(here[n - j :]) + sum(d for a, b in zip(here, cover[j:]) if (d := a - b) > 0)


def _levels(cells: list[tuple[Fraction, Fraction, int]]) -> list[tuple[Fraction, Fraction, Fraction]]:
    """(from, to, density), neighbours of the same density as one."""
    out: list[tuple[Fraction, Fraction, Fraction]] = []
    for a, b, w in cells:
        height = Fraction(w) / (b - a)
        if out and out[-1][1] == a and out[-1][2] == height:
            out[-1] = (out[-1][0], b, height)
        else:
            out.append((a, b, height))
    return out


@dataclass(frozen=True)
class Points:
    """(first + i)·step with probability weights[i]/total."""

    step: Fraction
    first: int
    weights: tuple[int, ...]
    total: int

    @property
    def faults(self) -> list[str]:
        law = sum(self.weights) == self.total and min(self.weights) >= 0
        return [] if law else ["the weights are no law"]

    @property
    def _positive(self) -> list[tuple[Fraction, int]]:
        return [((self.first + i) * self.step, w) for i, w in enumerate(self.weights) if w]

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        return self._positive[0][0], self._positive[-1][0]

    @property
    def symmetric(self) -> bool:
        return self._positive == [(-x, w) for x, w in reversed(self._positive)]

    @property
    def monotone(self) -> bool:
        """Masses do not increase away from 0; a law that leaves 0 out must be all of it."""
        mass = {self.first + i: w for i, w in enumerate(self.weights)}
        last = max(map(abs, mass))
        sides = ([mass.get(s * i, 0) for i in range(last + 1)] for s in (1, -1))
        return all(side == sorted(side, reverse=True) for side in sides)

    def cost(self, loss: ExactLoss) -> Bounds:
        """E c(X)."""
        values = [(w, *loss.value(x)) for x, w in self._positive]
        return sum(w * v for w, v, _ in values) / self.total, sum(w * v for w, _, v in values) / self.total

    def shortfalls(self, epsilon: Fraction, reach: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        """(shift, upper bound of h at it) for every whole shift up to reach."""
        n, E = len(self.weights), floor_bits(exp_bounds(epsilon)[0])
        here, cover = [w << BITS for w in self.weights], [E * w for w in self.weights]
        for j in range(1, min(math.floor(reach / self.step), n) + 1):
            for sign in (1, -1):
                yield sign * j * self.step, Fraction(uncovered(here, cover, sign * j), self.total << BITS)


@dataclass(frozen=True)
class Tailed:
    """With probability weight/total a cell [u, u + 1) of the body's unit, u whole, with probability (1 − 1/R)^d/(2R),
    d = u or −u − 1; else the body, which has no atom."""

    body: Cells
    weight: int
    mean: int

    reach = (-math.inf, math.inf)
    atom = 0

    @property
    def faults(self) -> list[str]:
        fine = 0 < self.weight < self.body.total and self.mean >= 2 and not self.body.atom
        return self.body.faults + ([] if fine else ["the tail is no law"])

    @property
    def symmetric(self) -> bool:
        return self.body.origin == 0 and self.body.symmetric

    @property
    def monotone(self) -> bool:
        return self.body.origin == 0 and self.body.monotone

    def cost(self, loss: ExactLoss) -> Bounds:
        """E c(X)."""
        unit, origin = self.body.unit, self.body.origin
        ratio = 1 - enclosed(Fraction(1, self.mean))
        right = loss.geometric(ratio, origin, origin + unit, unit, enclosed)
        left = loss.mirrored.geometric(ratio, -origin, unit - origin, unit, enclosed)
        tail, share = ends((right + left) / enclosed(2 * self.mean * unit)), Fraction(self.weight, self.body.total)
        return tuple((1 - share) * b + share * t for b, t in zip(self.body.cost(loss), tail))

    def shortfalls(self, epsilon: Fraction, reach: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        """(shift, upper bound of h at it) for whole units; h is affine between them, and reach is a whole number."""
        body = self.body
        mirrored = replace(body, breaks=tuple(-b for b in body.breaks[::-1]), weights=body.weights[::-1])
        sides = [(1, self), (-1, replace(self, body=mirrored))]
        for sign, law in sides[: 1 if mirrored == body else 2]:
            for j, bound in enumerate(law._rightwards(epsilon, math.ceil(reach / body.unit)), 1):
                yield sign * j * body.unit, bound

    def _rightwards(self, epsilon: Fraction, most: int) -> Iterator[Fraction]:
        """Upper bounds of h for shifts by 1 … most units to the right: what lies right of the body is covered by more
        than itself, what lies further left than the cells listed by ratio^j of itself."""
        E, ratio, total = exp_bounds(epsilon)[0], Fraction(self.mean - 1, self.mean), self.body.total
        low, high = self._masses(self.body.breaks[0] - 2 * most, self.body.breaks[-1])
        beyond = Fraction(self.weight, total) / 2 * ends(enclosed(ratio) ** (most - self.body.breaks[0]))[1]
        here, cover = [w << BITS for w in high[most:]], [floor_bits(E) * w for w in low]
        for j in range(1, most + 1):
            bare = sum(d for a, b in zip(here, cover[most - j :]) if (d := a - b) > 0)
            rest = max(1 - E * ends(enclosed(ratio) ** j)[0], 0)
            yield Fraction(bare, total << (96 + BITS)) + rest * beyond

    def _masses(self, start: int, end: int) -> tuple[list[int], list[int]]:
        """Masses of the cells [u, u + 1), start ≤ u < end, rounded down and up to multiples of 2^−96/total."""
        far = max(abs(start), abs(end)) + 1
        powers = list(accumulate(range(far), lambda p, _: p * (self.mean - 1) // self.mean, initial=1 << 400))
        total, body = self.body.total, [[0] * (self.body.breaks[0] - start) + part for part in self.body.grid(1)]
        bounds = []
        for part, slack in zip(body, (0, far + 1)):  # each power is rounded down by a unit of 2^−400 at most
            units, scale = range(start, end), 2 * self.mean << 400
            tail = [(self.weight << 96) * (powers[max(u, -u - 1)] + slack) // scale for u in units]
            bounds.append([(total - self.weight) * b // total + t + (slack and 2) for b, t in zip(part, tail)])
        return bounds[0], bounds[1]


@dataclass(frozen=True)
class Flanked:
    """The core, but what falls on its first or last `period` units moves on outwards by a period, again and again, each
    time with probability ratio/total."""

    core: Cells
    period: int
    ratio: int

    reach = (-math.inf, math.inf)
    atom = 0

    @property
    def faults(self) -> list[str]:
        breaks, at = self.core.breaks, set(self.core.breaks)
        fine = {breaks[0] + self.period, breaks[-1] - self.period} <= at and breaks[-1] - breaks[0] >= 2 * self.period
        fine = fine and 0 < self.ratio < self.core.total and not self.core.atom and min(self.core.weights) > 0
        return self.core.faults + ([] if fine else ["the flanks are no law"])

    @cached_property
    def _cells(self) -> list[tuple[int, int, int]]:
        """(from, to, weight in total^−3) with two periods beyond either end."""
        core, q, first, last = self.core, self.ratio, self.core.breaks[0], self.core.breaks[-1]
        out = []
        for a, b, w in zip(core.breaks, core.breaks[1:], core.weights):
            side = -1 if b <= first + self.period else int(a >= last - self.period)
            if not side:
                out.append((a, b, w * core.total**2))
                continue
            for n, scale in enumerate((core.total**2, core.total * q, q * q)):
                moved = side * n * self.period
                out.append((a + moved, b + moved, w * scale * (core.total - q) // core.total))
        return sorted(out)

    @property
    def symmetric(self) -> bool:
        return self.core.symmetric

    @property
    def monotone(self) -> bool:
        cells = self._cells
        breaks = (*(a for a, _, _ in cells), cells[-1][1])
        return replace(self.core, breaks=breaks, weights=tuple(w for _, _, w in cells)).monotone

    def cost(self, loss: ExactLoss) -> Bounds:
        """E c(X)."""
        core, D = self.core, self.period * self.core.unit
        ratio, inner = enclosed(Fraction(self.ratio, core.total)), []
        total = enclosed(Fraction(0))
        for a, b, w in zip(core.breaks, core.breaks[1:], core.weights):
            x, y, height = core.at(a), core.at(b), Fraction(w, core.total) / ((b - a) * core.unit)
            if b <= core.breaks[0] + self.period:
                total = total + (1 - ratio) * enclosed(height) * loss.mirrored.geometric(ratio, -y, -x, D, enclosed)
            elif a >= core.breaks[-1] - self.period:
                total = total + (1 - ratio) * enclosed(height) * loss.geometric(ratio, x, y, D, enclosed)
            else:
                inner.append((height, *loss.integral(x, y)))
        (low, high), *parts = ends(total), *inner
        return low + sum(h * one for h, one, _ in parts), high + sum(h * two for h, _, two in parts)

    def shortfalls(self, epsilon: Fraction, reach: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        """(shift, upper bound of h at it) for distances of breaks up to a period; beyond, the law repeats itself."""
        cells, first, last = self._cells, self.core.breaks[0] - self.period, self.core.breaks[-1] + self.period
        breaks = [*(a for a, _, _ in cells), cells[-1][1]]
        common, E = math.lcm(*(b - a for a, b, _ in cells)), floor_bits(exp_bounds(epsilon)[0])
        heights = [w * (common // (b - a)) for a, b, w in cells]
        scale = self.core.total**3 * common << BITS
        whole = math.ceil(reach / self.core.unit)
        assert whole <= self.period
        apart = {b - a for i, a in enumerate(breaks) for b in breaks[i + 1 : bisect_right(breaks, a + whole)]}
        signs = (1,) if self.core._mirrors_itself else (1, -1)
        for shift in (sign * s for s in {*apart, whole} for sign in signs):
            places = sorted({*breaks, *(b + shift for b in breaks)})
            inner = outer = 0
            i = j = 0
            for x, y in zip(places, places[1:]):
                if not first <= x < last:
                    continue
                while breaks[i + 1] <= x:
                    i += 1
                while breaks[j + 1] + shift <= x:
                    j += 1
                bare = max((heights[i] << BITS) - E * heights[j], 0) * (y - x)
                if first + self.period <= x < last - self.period:
                    inner += bare
                else:
                    outer += bare
            outer = Fraction(outer * self.core.total, self.core.total - self.ratio)
            yield shift * self.core.unit, (inner + outer) / scale


@dataclass(frozen=True)
class Staircase:
    """With probability 1 − atom a density ∝ e^(−ε·level) at place + period·y, level 0 for |y| < γ and one more every
    1 beyond; else the place itself."""

    epsilon: Fraction
    period: Fraction
    gamma: Fraction
    atom: Fraction = Fraction(0)
    place: Fraction = Fraction(0)

    reach = (-math.inf, math.inf)

    @property
    def faults(self) -> list[str]:
        fine = 0 <= self.gamma <= 1 and 0 <= self.atom <= 1 and self.epsilon > 0
        return [] if fine else ["no staircase"]

    @property
    def symmetric(self) -> bool:
        return self.place == 0

    @property
    def monotone(self) -> bool:
        return self.place == 0

    def rough_cost(self, loss: ExactLoss) -> float:
        """E c(X) in floating point: to choose among laws."""
        return float(self._cost(loss, math.exp(-self.epsilon), float))

    def cost(self, loss: ExactLoss) -> Bounds:
        """E c(X)."""
        low, high = ends(self._cost(loss, iv.exp(-enclosed(self.epsilon)), enclosed))
        one, two = loss.value(self.place)
        return low + self.atom * one, high + self.atom * two

    def _cost(self, loss: ExactLoss, b, number):
        """(1 − atom)·E c of the continuous part."""
        D, inner, x = self.period, self.gamma * self.period, self.place
        total = number(Fraction(0))
        if inner:
            low, high = loss.integral(x - inner, x + inner)
            total = number(low) if number is float else number(low, high)
        total = total + b * loss.geometric(b, x + inner, x + inner + D, D, number)
        total = total + b * loss.mirrored.geometric(b, inner - x, inner - x + D, D, number)
        return number(1 - self.atom) * total / (2 * (number(inner) + number(D) * b / (1 - b)))

    def shortfalls(self, epsilon: Fraction, reach: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        """The atom, if levels at most `reach` apart differ by no more than ε; else nothing is promised."""
        kept = self.epsilon * math.ceil(reach / self.period) <= epsilon
        yield reach, self.atom if kept else Fraction(1)


@dataclass(frozen=True)
class DiscreteStaircase:
    """P((place ± i)·step) ∝ e^(−rate·level), level 0 for i < rise and one more every `period`."""

    rate: Fraction
    rise: int
    period: int
    place: int
    step: Fraction

    reach = (-math.inf, math.inf)
    atom = Fraction(0)

    @property
    def faults(self) -> list[str]:
        return [] if 1 <= self.rise <= self.period and self.rate > 0 else ["no staircase"]

    @property
    def symmetric(self) -> bool:
        return self.place == 0

    @property
    def monotone(self) -> bool:
        return self.place == 0

    def rough_cost(self, loss: ExactLoss) -> float:
        """E c(X) in floating point: to choose among laws."""
        return float(self._cost(loss, math.exp(-self.rate), float))

    def cost(self, loss: ExactLoss) -> Bounds:
        """E c(X)."""
        return ends(self._cost(loss, iv.exp(-enclosed(self.rate)), enclosed))

    def _cost(self, loss: ExactLoss, b, number):
        mid, nothing = self.place * self.step, number(Fraction(0))
        points = [mid + i * self.step for i in range(1 - self.rise, self.rise)]
        values = (loss.value(x) for x in points)
        total = sum((number(low) if number is float else number(low, high) for low, high in values), nothing)
        for side, x in ((loss, mid), (loss.mirrored, -mid)):
            for i in range(self.rise, self.rise + self.period):
                total = total + b * side.geometric(b, x + i * self.step, None, self.period * self.step, number)
        weight = number(Fraction(2 * self.rise - 1)) + 2 * self.period * b / (1 - b)
        return total / weight

    def shortfalls(self, epsilon: Fraction, reach: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
        """0 if levels at most `reach` apart differ by no more than ε; else nothing is promised."""
        steps = math.floor(reach / self.step)
        yield reach, Fraction(0 if self.rate * math.ceil(Fraction(steps, self.period)) <= epsilon else 1)


Law = Cells | Points | Tailed | Flanked | Staircase | DiscreteStaircase
