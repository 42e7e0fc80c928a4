"""Laws whose exact draws are real numbers, known bit by bit: value plus draw is rounded correctly [rounded]."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from .._validate import decimal
from ..rounded import grid_step
from ..script import LawScript, carried, filled
from .symmetric import SymmetricNoise

Added: TypeAlias = Callable[[Fraction, Fraction, Fraction], Fraction]
"""(value, scale, step) → value + scale·(a draw of the unit law), rounded to the nearest multiple of the step."""

_SCRIPT = '''\
# $name noise of scale SCALE around ORIGIN. Releases are multiples of STEP.
SCALE = Fraction($scale)
ORIGIN = Fraction("$origin")
STEP = $step


$functions

def added(value):
    """The value plus one exact draw, rounded correctly."""
    return $added(value + ORIGIN, SCALE, STEP)'''


class DrawnNoise(SymmetricNoise):
    """location + scale·(a law with exact draws)."""

    location: float

    @property
    @abstractmethod
    def exact(self) -> tuple[Added, float]:
        """How draws are added, and the scale."""

    def release(self, value: float) -> float:
        """The value plus one exact draw, rounded to a grid far finer than the scale: as private as the law itself,
        because it depends on their exact sum alone. Then the nearest float."""
        added, scale = self.exact
        return float(added(decimal(value) + decimal(self.location), Fraction(scale), self._grid))

    @property
    def release_step(self) -> float:
        return float(self._grid)

    @property
    def _grid(self) -> Fraction:
        return grid_step(Fraction(self.exact[1]))

    def script(self) -> LawScript:
        added, scale = self.exact
        imports, functions = carried(added)
        law = filled(
            _SCRIPT, name=self.name, scale=repr(float(scale)), origin=repr(float(self.location)),
            step=repr(self._grid), functions=functions, added=added.__name__,
        )  # fmt: skip
        return LawScript(imports, law, told="The value plus one exact draw, rounded correctly.")
