"""Which grids there are: resolutions at which the range, a partition, bins and jumps are whole numbers of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

from .._validate import decimal
from ..errors import InputError
from .problem import WINDOW, DataDependentProblem

MAX_CELLS = 250
"""Most cells of a program's grid."""

MAX_ORDERED_CELLS = 60
"""Most cells for ordered laws, whose rows are many and long."""

MAX_TIED_CELLS = 4000
"""Most cells where the intervals of a partition share laws, which therefore are few."""

FIRST_CELLS = 6

FEW = 8
"""Grids are aligned with bins and jumps if that takes multiples of no more than this."""


@dataclass(frozen=True)
class Resolutions:
    """The resolutions of a problem's grids, in cells per sensitivity (of a narrow range: in cells).   most : of them.

    Raises
    ------
    InputError : a partition whose ends no common grid meets.
    """

    problem: DataDependentProblem
    most: int

    def __post_init__(self) -> None:
        self.unit  # noqa: B018 - refuses

    @cached_property
    def unit(self) -> int:
        """Resolutions are multiples of this: with them the range is a whole number of cells, if few are enough, and so
        are the intervals of a partition, the bins of a histogram and the jumps of the loss."""
        problem = self.problem
        D = problem.width if problem.narrow else decimal(problem.sensitivity)
        low = decimal(problem.query_range[0])
        must = lcm(*(((decimal(b) - low) / D).denominator for b in problem.partition), (problem.width / D).denominator)
        if problem.partition:
            cells = must * (1 if problem.narrow else math.ceil(problem.width / D))
            if cells > MAX_TIED_CELLS:
                accepted = f"ends on a common grid of at most {MAX_TIED_CELLS} cells"
                raise InputError("partition", problem.partition, accepted)
            return must
        unit = must if must <= FEW else 1
        bins = problem.width / problem.density.parts if problem.density.parts <= FEW**2 else D
        for length in (bins, *(decimal(x) for x in problem.loss.jumps)):
            wished = lcm(unit, (length / D).denominator)
            unit = wished if wished <= FEW else unit
        return unit

    def first(self) -> int | None:
        """The coarsest."""
        return self.following(0, 1.0)

    def following(self, resolution: int, factor: float) -> int | None:
        """The least that is finer by the factor, None beyond the largest grid."""
        least = FIRST_CELLS if self.problem.narrow else max(1, math.ceil(FIRST_CELLS / self._ratio))
        wanted = max(least, math.ceil(resolution * factor), resolution + 1)
        found = math.ceil(wanted / self.unit) * self.unit
        return found if self.fits(found) or resolution == 0 else None

    def fits(self, resolution: int) -> bool:
        """The grid is not too large."""
        ratio = self._ratio if self.problem.partition else min(self._ratio, Fraction(WINDOW))  # lower bounds go on
        cells = resolution if self.problem.narrow else math.ceil(resolution * ratio)
        most = MAX_TIED_CELLS if self.problem.partition else MAX_CELLS
        if self.problem.ordered:
            most = min(most, max(MAX_ORDERED_CELLS, self.unit))
        return cells <= most and resolution <= self.most

    def fits_whole(self, resolution: int) -> bool:
        """All of the range is no larger a grid than those of programs."""
        return self.problem.narrow or math.ceil(resolution * self._ratio) <= MAX_CELLS

    @property
    def _ratio(self) -> Fraction:
        """The range in sensitivities."""
        return self.problem.width / decimal(self.problem.sensitivity)
