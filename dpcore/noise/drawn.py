"""Laws whose exact draws are real numbers, known bit by bit: value plus draw is rounded correctly [rounded]."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from .._validate import decimal
from ..rounded import grid_step
from ..script import LawScript, carried, filled, literal
from .symmetric import SymmetricNoise

Drawn: TypeAlias = tuple[Callable[..., Fraction], dict[str, Fraction]]
"""A function of `rounded` that adds a draw to its first argument, and its numbers but for `step`; `scale` is one."""

_SCRIPT = '''\
# $name noise around ORIGIN, with these numbers. Releases are multiples of STEP.
NUMBERS = $numbers
ORIGIN = Fraction("$origin")
STEP = $step


$functions

def added(value):
    """The value plus one exact draw, rounded correctly."""
    return $added(value + ORIGIN, **NUMBERS, step=STEP)'''


class DrawnNoise(SymmetricNoise):
    """A law around `location` with exact draws."""

    location: float

    @property
    @abstractmethod
    def drawn(self) -> Drawn:
        """How draws around 0 are added to a value."""

    def release(self, value: float) -> float:
        """The value plus one exact draw, rounded to a grid far finer than the scale: as private as the law itself,
        because it depends on their exact sum alone. Then the nearest float."""
        added, numbers = self.drawn
        return float(added(decimal(value) + decimal(self.location), **numbers, step=self._grid))

    @property
    def release_step(self) -> float:
        return float(self._grid)

    @property
    def _grid(self) -> Fraction:
        return grid_step(self.drawn[1]["scale"])

    def script(self) -> LawScript:
        added, numbers = self.drawn
        imports, functions = carried(added)
        law = filled(
            _SCRIPT, name=self.name, numbers=literal(numbers), origin=repr(float(self.location)),
            step=repr(self._grid), functions=functions, added=added.__name__,
        )  # fmt: skip
        return LawScript(imports, law, told="The value plus one exact draw, rounded correctly.")
