"""What a plan promises and what to expect of it, before any data are touched."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from ..loss import absolute, exceedance
from ..optimal import solve
from ..search import bisection, whole_half
from . import laws
from .budget import Priced, Split
from .statistics import Total
from .ticks import tick

NEAR_0 = 1e-6
"""Steps: an error beyond so little is an error."""


@dataclass(frozen=True)
class Expected:
    """What one line costs and how far off it will be.

    error : ± with 95 % in what is published, for every cell; None where it depends on the data (see `parts`).
    parts : (formula of the sensitivity, sensitivity, ± with 95 %) of every total.
    best : a proved lower bound of the mean error of any noise at the same price, and the mean error of this one, in the
        unit of the total; None where none is proved.
    """

    priced: Priced
    split: Split

    @property
    def name(self) -> str:
        return self.priced.line.name

    @property
    def error(self) -> float | None:
        plan, statistic = self.split.plan, self.priced.line.statistic
        factor = statistic.share(plan.people, plan.columns)
        if not self.priced.totals or factor is None:
            return None
        return self.priced.widths[0] * factor

    @property
    def relative(self) -> float | None:
        """The error relative to what the number is about."""
        return self.priced.relative_error(self.split.plan)

    @property
    def parts(self) -> list[tuple[str, float, float]]:
        if self.priced.ranks is not None:
            return [(self.priced.ranks.formula, float(self.priced.ranks.change), self.priced.rank_width)]
        return [(one.formula, one.sensitivity, width) for one, width in zip(self.priced.totals, self.priced.widths)]

    @cached_property
    def best(self) -> tuple[float, float] | None:
        """(least mean error, this noise's mean error) of the first total."""
        if not self.priced.totals or not laws.solvable(self.priced.totals[0]):
            return None
        total, noise = self.priced.totals[0], self.priced.noises[0]
        return least_error(total, self.priced), noise.expected_loss(absolute())

    @cached_property
    def least(self) -> float | None:
        """A lower bound of the first total's ± at 95 %, for every noise at the same price; None where there is none, or
        Gaussian noise uses that several cells change together."""
        if self.best is None or self._together:
            return None
        return least_width(self.priced.totals[0], self.priced)

    @property
    def _together(self) -> bool:
        """One law for the Euclidean length of several changes: bounds for one number do not apply."""
        total = self.priced.totals[0]
        return self.priced.line.noise == laws.GAUSSIAN and total.rows * total.moved > 1

    @property
    def verdict(self) -> str:
        """What the certified optimum would gain, in words."""
        if self.best is None or self._together:
            return ""
        least, mine = self.best
        if mine <= least * 1.01:
            return "nothing better is possible: at most 1 % to gain"
        return f"the best possible noise errs at least {100 * least / mine:.0f} % as much"


def least_error(total: Total, priced: Priced) -> float:
    """A lower bound of E|noise| for every law that keeps what the line's noise keeps, rounded down; with δ where the
    line has some, however it is used.

    Where the problem is solved for real values, a law on the lattice becomes one of these when a uniform number within
    half a step is added; that costs a quarter of a step where the law is 0, which it is with at most the probability
    that p(0) ≤ e^ε p(j) + δ for 0 < |j| ≤ `change` leaves.
    """
    lower = laws.optimum(total, priced.part, priced.line.full_support, absolute()).certificate.lower or 0.0
    if total.change <= laws.LATTICE:
        return lower
    one = laws.of_one(total, priced.part)
    others = 2 * total.change * math.exp(-one.epsilon)
    at_0 = (1 + others * one.delta) / (1 + others)
    return max(lower - 0.25 * at_0 * float(total.step), 0.0)


def least_width(total: Total, priced: Priced) -> float:
    """A lower bound of ± at 95 % for every law that keeps what the line's noise keeps, in the unit of the total: beyond
    any less, each such law is proved to be more often.

    Where the problem is solved on the lattice, that is a bound for laws on it; rounding makes one of any other law, and
    brings an error at most half a step nearer to 0. Where it is solved for real values, a law on the lattice becomes
    one of these when a uniform number within half a step is added.
    """
    step, noise = float(total.step), priced.noises[priced.totals.index(total)]

    def impossible(steps: int) -> bool:
        asked = laws.problem(total, priced.part, priced.line.full_support, exceedance(max(steps, NEAR_0) * step))
        return (solve(asked, laws.SETTINGS, tick).certificate.lower or 0.0) > 1 - laws.COVERAGE

    high = math.ceil(laws.width(noise) / step)
    if not impossible(0):
        return 0.0
    low = bisection(impossible, 0, high, mean=whole_half, near=lambda low, high: high - low <= 1)[0]
    lattice = total.change <= laws.LATTICE and noise.lattice_step is not None
    return min(float((low + 1 if lattice else max(low - 0.5, 0.0)) * step), laws.width(noise))


def expected(split: Split) -> list[Expected]:
    """Every line's."""
    return [Expected(one, split) for one in split.lines]
