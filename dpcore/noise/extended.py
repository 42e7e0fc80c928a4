"""What solved laws share that go on beyond the cells that a program chose."""

from __future__ import annotations

import math
from abc import abstractmethod

from .._validate import decimal
from .ladder import SUBDIVISIONS
from .piecewise import PiecewiseNoise
from .solved import SolvedNoise


class ExtendedNoise(SolvedNoise):
    """A law without an end and without an atom, on the lattice of its cells."""

    @property
    @abstractmethod
    def cells(self) -> PiecewiseNoise:
        """What was solved for."""

    @abstractmethod
    def draw(self, subdivisions: int = SUBDIVISIONS) -> int:
        """One exact draw in units of sensitivity/(resolution·subdivisions), relative to the origin: whole numbers and
        the operating system's cryptographic source only."""

    @property
    def name(self) -> str:  # type: ignore[override]  # read only, like a field of a frozen class
        return self.cells.name

    @property
    def unit(self) -> float:
        return float(self.cells.unit)

    @property
    def support(self) -> tuple[float, float]:
        return -math.inf, math.inf

    @property
    def own_sensitivity(self) -> float:
        return self.cells.sensitivity

    def units(self, distance: float) -> float:
        """A distance in units of the cells."""
        return self.cells.units(distance)

    def release(self, value: float, subdivisions: int = SUBDIVISIONS) -> float:
        """The value, rounded up to the sampling lattice, plus one exact draw; see `PiecewiseNoise.release`."""
        step = self.cells.unit / subdivisions
        rounded = math.ceil(decimal(value) / step)
        return float((rounded + self.draw(subdivisions)) * step + self.cells.places.origin)

    @property
    def release_step(self) -> float:
        return self.cells.release_step
