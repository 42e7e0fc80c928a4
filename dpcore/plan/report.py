"""What a plan promises and what to expect of it, before any data are touched."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..loss import absolute
from . import laws
from .budget import Priced, Split
from .statistics import Total


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
        if not self.priced.totals:
            return None
        total, noise = self.priced.totals[0], self.priced.noises[0]
        return least_error(total, self.priced), noise.expected_loss(absolute())

    @property
    def verdict(self) -> str:
        """What the certified optimum would gain, in words."""
        if self.best is None or (
            self.priced.line.noise == "gaussian" and self.priced.totals[0].rows * self.priced.totals[0].moved > 1
        ):
            return ""
        least, mine = self.best
        if mine <= least * 1.01:
            return "nothing better is possible: at most 1 % to gain"
        return f"the best possible noise errs at least {100 * least / mine:.0f} % as much"


def least_error(total: Total, priced: Priced) -> float:
    """A lower bound of E|noise| for every law that keeps what the line's noise keeps, rounded down; with δ where the
    line has some, however it is used."""
    found = laws.optimum(total, priced.part, priced.line.full_support, absolute())
    return found.certificate.lower or 0.0


def expected(split: Split) -> list[Expected]:
    """Every line's."""
    return [Expected(one, split) for one in split.lines]
