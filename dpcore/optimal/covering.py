"""Lattices of cells that cover the stretch where errors cost nothing with little left over [Thm 10].

A law for a loss with a plateau at its bottom has nearly all of its mass there. Of a plateau w wide, nodes 1/k apart see
w + 1/k where both of its ends are nodes, and what a law gains by that is of first order. Cells that begin just before
the plateau and end just beyond it see no more than they are wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from .._validate import decimal
from ..problem import NoiseProblem
from .lower import CELL

COVERED_FROM = 8.0
"""From this ε on a plateau is covered with cells; below, nodes next to its ends and whole sensitivities away serve
better."""

MORE = 1.2
"""Cells are up to so many times as many as are wanted."""


def plateau_of(problem: NoiseProblem) -> tuple[float, float] | None:
    """Ends of the stretch of the support that cells are to cover; None where the loss is least at a point, or ε is
    small."""
    left, right = problem.paid_loss.bottom(*problem.support)
    return (left, right) if left < right and problem.joint.epsilon >= COVERED_FROM else None


@dataclass(frozen=True)
class Covering:
    """Of one plateau. All in sensitivities.

    left, right : its ends, inside the support; of mirror images 0 and the right one.   fixed : an end of the support or
    the mirror, where cells end as well; None where there is none.   beyond : how far beyond an end of the plateau the
    loss becomes what a law costs.   D : the sensitivity.
    """

    left: Fraction
    right: Fraction
    fixed: Fraction | None
    beyond: Fraction
    D: Fraction

    @staticmethod
    def of(problem: NoiseProblem, cost: float, slope: float) -> Covering | None:
        """None without a plateau, or where that has no end, the loss does not rise next to it inside the support, or no
        law is known.
        cost : of a law.   slope : of the loss next to the plateau."""
        D, support, plateau = decimal(problem.sensitivity), problem.support, plateau_of(problem)
        if plateau is None or not math.isfinite(plateau[1] - plateau[0]):
            return None
        if not (slope > 0 and math.isfinite(cost / slope)):
            return None
        left, right = plateau
        if problem.folds:
            left = 0.0
        fixed = left if problem.folds or left == support[0] else right if right == support[1] else None
        beyond = Fraction(cost / slope) / D
        return Covering(decimal(left) / D, decimal(right) / D, None if fixed is None else decimal(fixed) / D, beyond, D)

    @property
    def wide(self) -> Fraction:
        """What is to be covered."""
        return self.right - self.left + self.beyond * (2 if self.fixed is None else 1)

    def size(self, cells: int, least: int = 1) -> int:
        """The lattice with about so many cells two steps wide to the sensitivity, and at least so many, that leaves
        least over."""
        first = max(cells, least)
        n = min(range(first, math.floor(MORE * first) + 2), key=lambda n: (Fraction(math.ceil(self.wide * n), n), n))
        return CELL * n

    def inside(self, cells: int, start: Fraction, half: Fraction) -> int:
        """About so many cells to the sensitivity, of which those inside the plateau leave least of it over.   start :
        where a cell begins, or a half of one before it, in sensitivities."""

        def left_over(k: int) -> tuple[Fraction, int]:
            return sum((abs(end - start) * k - half) % 1 for end in (self.left, self.right)) / Fraction(k), k

        return min(range(cells, math.floor(MORE * cells) + 2), key=left_over)

    def origin(self, k: int) -> float:
        """Where cells begin: with as much left over on either side, if nothing ends one."""
        cells = Fraction(k, CELL)
        over = math.ceil(self.wide * cells) / cells - (self.right - self.left)
        return float((self.left - over / 2 if self.fixed is None else self.fixed) * self.D)
