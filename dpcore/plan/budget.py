"""One promise for a whole plan: how ε and δ are shared out among the lines, and what all of them cost together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from .._validate import decimal
from ..accounting.mechanisms import Promised, Release
from ..accounting.truth import QUICK, Truth
from ..errors import InputError
from ..loss import Loss, exceedance
from ..noise import Noise
from ..privacy import EPSILON, SENSITIVITY, Privacy
from ..search import bisection
from . import laws
from .plan import BY_ERROR, LARGEST_ERROR, WEIGHTS, Line, Plan
from .statistics import Condition, Quantile, Ranks, Total
from .ticks import tick

CLOSE = 1e-4
"""Relative accuracy of the common factor of the shares."""

ROUNDS, EVEN = 8, 0.01
"""Relative errors are taken for alike if they differ by no more; where they take few values, not all can be."""

DELTA_OF_LINES = 0.5
"""Share of δ that the lines get one by one; the rest is what exact accounting saves ε with."""

POINTS = 1 << 15
"""Points of the grid on which the total is certified."""


@contextmanager
def _named(line: Line) -> Iterator[None]:
    """What a law refuses is told with the line that asks for it."""
    try:
        yield
    except InputError as error:
        if error.field.startswith("budget"):
            raise
        field = error.field.rpartition(".")[2]
        raise InputError(f"lines.{line.name}.{field}", error.value, error.accepted) from None


@dataclass(frozen=True)
class Priced:
    """A line with its share of the budget.

    privacy : what the line keeps to one person.   totals, noises : one law for every total.
    ranks : its choice by rank, if it is one.   conditions : that all must hold for a row to count.
    ratio : (public number of rows or None, centre, low, high) where a ratio is published.
    """

    line: Line
    privacy: Privacy
    totals: tuple[Total, ...]
    ranks: Ranks | None
    conditions: tuple[Condition, ...]
    ratio: tuple[float | None, float, float, float] | None

    @cached_property
    def noises(self) -> tuple[Noise, ...]:
        return tuple(self._noise(total) for total in self.totals)

    @property
    def squares(self) -> int | None:
        """The place of the sum of squares among the totals."""
        return next((i for i, total in enumerate(self.totals) if total.squares), None)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The labels of a table's cells or of several numbers, none of a single one."""
        if named := self.line.statistic.published:
            return tuple((name,) for name in named)
        return self.totals[0].labels if self.totals and self.totals[0].by else ()

    @property
    def part(self) -> Privacy:
        """What every total keeps: the line's, shared evenly."""
        many = max(len(self.totals), 1)
        return self.privacy if many == 1 else Privacy(self.privacy.epsilon / many, self.privacy.delta / many)

    def _noise(self, total: Total) -> Noise:
        line = self.line
        with _named(line):
            return laws.noise_of(line.noise, total, self.part, line.full_support, None if total.squares else self.loss)

    @property
    def loss(self) -> Loss | None:
        """What the optimum minimises: how often the error is beyond what the line asks for, else its size."""
        asked = self.line.within if self.line.noise == laws.OPTIMUM else None
        return None if asked is None else exceedance(asked)

    @property
    def releases(self) -> list[Release]:
        """What an accountant has to know."""
        if self.ranks is not None:
            return [Release(Promised("exponential", self.privacy.epsilon))]
        found: list[Release] = []
        for total, noise in zip(self.totals, self.noises):
            found += laws.release_of(self.line.noise, total, self.part, noise)
        return found

    @property
    def rank_rate(self) -> Fraction:
        """By what a unit of penalty, 1/(denominator of q) ranks, lowers the logarithm of a candidate's probability."""
        assert self.ranks is not None
        return decimal(self.privacy.epsilon) / (2 * self.ranks.change * self.ranks.q.denominator)

    @property
    def rank_width(self) -> float:
        """By how much the rank of a chosen quantile is off with at most 5 %: for any data,
        P(score < −2Δ(ln(candidates) + ln 20)/ε) ≤ 1/20 [Awan, Cor. 7.1], below the best
        candidate's. In rows, rounded up."""
        assert self.ranks is not None
        candidates = self.ranks.column.last - self.ranks.column.first + 1
        risk = math.log(candidates) + math.log(20)
        return 2 * float(self.ranks.change) * risk / self.privacy.epsilon * (1 + 1e-12)

    def relative_error(self, plan: Plan) -> float | None:
        """± at 95 % of what is published, relative to what it is about; of quantiles that of the rank, relative to the
        number of people. None where nobody said how large that is. Of a ratio of two noisy totals the error of the
        first."""
        people, columns = plan.people, plan.columns
        if self.ranks is not None:
            return None if people.number is None else self.rank_width / people.number
        about = self.line.about
        if about is None and people.number is not None:
            about = self.line.statistic.about(people.number, columns)
        share = self.line.statistic.share(people, columns)
        if share is None and people.number is not None:
            share = 1 / people.number
        return None if about is None or share is None else self.widths[0] * share / about

    @property
    def widths(self) -> tuple[float, ...]:
        """±, at 95 %, of every total's numbers."""
        return tuple(laws.width(noise) for noise in self.noises)


@dataclass(frozen=True)
class Split:
    """A plan with its shares.

    total : ε at the plan's δ of everything together, rounded up; added : the sum of the lines' ε.
    times : so many releases of the same people are meant by everything.
    together : places of the lines that one person can change together, as `Plan.together`.
    """

    plan: Plan
    lines: tuple[Priced, ...]
    total: float
    added: float
    times: int = 1
    together: tuple[tuple[int, ...], ...] = ()


def split(plan: Plan, times: int = 1) -> Split:
    """The plan with a share for every line: those that ask for an error get the least ε for it, the others share what
    is left as `Plan.split` says.

    times : the plan is carried out so often, and its budget is for all of that.

    Raises
    ------
    InputError : an error that no ε reaches, or a budget that does not suffice.
    """
    delta = _delta(plan, times)
    fixed = {line.name: _asked(plan, line, delta) for line in plan.lines if line.within is not None}
    found = _shared(plan, fixed, times)
    for _ in range(ROUNDS if plan.split == BY_ERROR else 0):
        errors = {one.line.name: _error(plan, one) for one in found.lines if one.line.name not in fixed}
        middle = math.exp(math.fsum(map(math.log, errors.values())) / max(len(errors), 1))
        if all(abs(error - middle) <= EVEN * middle for error in errors.values()):
            break
        found = replace(_shared(_reweighted(found, errors), fixed, times), plan=plan)
    return found


def _error(plan: Plan, one: Priced) -> float:
    error = one.relative_error(plan)
    if error is None:
        raise InputError("people.number", "(missing)", "about how many people there are, to compare errors")
    return error


def _reweighted(found: Split, errors: Mapping[str, float]) -> Plan:
    """The weights with which errors that go with 1/ε are alike."""
    weights = {one.line.name: one.privacy.epsilon * errors.get(one.line.name, 1.0) for one in found.lines}
    middle = math.exp(math.fsum(math.log(weights[name]) for name in errors) / len(errors))
    low, high = WEIGHTS
    lines = (replace(line, weight=min(max(weights[line.name] / middle, low), high)) for line in found.plan.lines)
    return replace(found.plan, lines=tuple(lines))


def _shared(plan: Plan, fixed: Mapping[str, Priced], times: int) -> Split:
    """Lines that ask for no error share what the fixed ones leave, in proportion to their weights."""
    free = [line for line in plan.lines if line.name not in fixed]
    together, delta = _together(plan, times), _delta(plan, times)

    def priced(factor: float) -> tuple[Priced, ...]:
        return tuple(
            fixed.get(line.name) or _priced(plan, line, min(factor * line.weight, EPSILON.high), delta)
            for line in plan.lines
        )

    if not free:
        lines = priced(0.0)
        cost = total(lines, together, plan.delta, times)
        found = Split(plan, lines, cost, _added(lines, times), times, together)
        if plan.epsilon is not None and found.total > plan.epsilon:
            raise InputError(
                "budget.epsilon", f"{plan.epsilon:g}", f"at least {found.total:.6g}, for the errors asked for"
            )
        return found
    epsilon = plan.epsilon
    if epsilon is None:
        raise InputError("budget.epsilon", "(missing)", "a number, or an error to keep for every line")
    low, spent = math.inf, 0.0
    for places in together:  # what adding up allows those that one person can change together
        some = [plan.lines[i] for i in places]
        fixed_ones = _added([fixed[line.name] for line in some if line.name in fixed], times)
        if weights := math.fsum(line.weight for line in some if line.name not in fixed):
            low = min(low, (epsilon - fixed_ones) / (times * weights) * laws.SAFE)
        spent = max(spent, fixed_ones)

    def fits(factor: float) -> bool:
        lines = priced(factor)
        return all(total(lines, [one], plan.delta, times, quick=True) <= epsilon for one in together)

    least = EPSILON.low * max(_numbers(plan, line) / line.weight for line in free)
    if low < least:
        low = least
        if not fits(low):
            needed = f"more than {spent:.6g}, and {EPSILON.low:g} for every other line"
            raise InputError("budget.epsilon", f"{epsilon:g}", needed)
    if plan.delta > 0:
        high = low * 1.5
        while fits(high) and high < EPSILON.high / max(line.weight for line in free):
            low, high = high, high * 1.5
        low = bisection(fits, low, high, near=lambda low, high: high - low <= CLOSE * low)[0]
    lines = priced(low)
    certified = total(lines, together, plan.delta, times)
    return Split(plan, lines, min(certified, epsilon), _added(lines, times), times, together)


def _together(plan: Plan, times: int) -> tuple[tuple[int, ...], ...]:
    """`Plan.together`, of so many releases of the same people: from one to the next a person may be in other lines. At
    δ = 0 the dearest set each time is the worst; else all sets have to be alike, or a person may change all lines."""
    alike = times == 1 or plan.delta == 0 or len(plan.together) == 1
    return plan.together if alike else (tuple(range(len(plan.lines))),)


def _numbers(plan: Plan, line: Line) -> int:
    """Among how many numbers, each with noise of its own, the ε of a line is shared out."""
    totals = line.statistic.totals(plan.people, plan.columns)
    return sum(total.rows * total.moved for total in totals) or 1


def _added(lines: Sequence[Priced], times: int) -> float:
    return times * math.fsum(one.privacy.epsilon for one in lines)


def total(
    lines: Sequence[Priced], together: Sequence[Sequence[int]], delta: float, times: int = 1, *, quick: bool = False
) -> float:
    """ε at δ of everything, so many times, rounded up: that of the lines that one person can change together, whichever
    of these sets is the dearest.

    quick : solved laws are taken for the worst of what they promise, so that none is solved.
    """
    return max(_total([lines[i] for i in places], delta, times, quick) for places in together)


def _total(lines: Sequence[Priced], delta: float, times: int, quick: bool) -> float:
    """ε at δ of lines that all see the same person."""
    tick()
    if delta == 0:
        return _added(lines, times) * (1 + 2.0**-50)
    releases: list[Release] = []
    for one in lines:
        if quick and one.ranks is None and one.line.noise == laws.OPTIMUM:
            releases.append(Release(Promised(laws.OPTIMUM, one.privacy.epsilon, one.privacy.delta)))
        else:
            releases += one.releases
    releases = [replace(one, count=times * one.count) for one in releases]
    return Truth(releases, points=QUICK if quick else POINTS, delta=delta).epsilon_upper(delta)


def _priced(plan: Plan, line: Line, epsilon: float, delta: float) -> Priced:
    """The line with this ε, and this δ if it uses any."""
    tick()
    statistic, public = line.statistic, (plan.people, plan.columns)
    return Priced(
        line, Privacy(epsilon, delta if _takes_delta(line) else 0.0), statistic.totals(*public),
        statistic.ranks(*public), statistic.conditions(plan.columns), statistic.ends(*public),
    )  # fmt: skip


def _takes_delta(line: Line) -> bool:
    return laws.LAWS[line.noise].takes_delta and not isinstance(line.statistic, Quantile)


def _delta(plan: Plan, times: int) -> float:
    """δ of every line that uses it: an even share of half of what lines have together that one person can change."""
    takers = max(sum(_takes_delta(plan.lines[i]) for i in places) for places in _together(plan, times))
    most = max(map(len, _together(plan, times)))
    share = plan.delta * (DELTA_OF_LINES if times * most > 1 else 1.0) / (times * max(takers, 1)) * laws.SAFE
    return share if share >= 1e-12 else 0.0


def _asked(plan: Plan, line: Line, delta: float) -> Priced:
    """The line with the least ε that keeps its error."""
    assert line.within is not None
    statistic = line.statistic
    totals = statistic.totals(plan.people, plan.columns)
    factor = statistic.share(plan.people, plan.columns)
    if not totals or factor is None:
        raise InputError(f"lines.{line.name}.within", f"{line.within:g}", "a weight: the error depends on the data")
    of_total, many = line.within / factor, len(totals)
    most = SENSITIVITY.high if line.noise == laws.OPTIMUM else LARGEST_ERROR
    if of_total > most:
        raise InputError(f"lines.{line.name}.within", f"{line.within:g}", f"at most {most * factor:g}")
    share = (delta if _takes_delta(line) else 0.0) / many
    with _named(line):
        epsilon = many * laws.epsilon_for(line.noise, totals[0], share, of_total, line.full_support, factor)
    return replace(_priced(plan, line, epsilon, delta), line=replace(line, within=of_total))
