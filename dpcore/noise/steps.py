"""What laws on a lattice share: points that are multiples of a step, and no continuous part."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validate import decimal
from ..errors import InputError
from ..places import Places
from ..search import bisection, whole_half
from .base import ROUNDING, Array, Noise


def lattice_points(first: int, count: int, step: float) -> Array:
    """The floats nearest to (first + i)·step, i < count. (count,)"""
    return Places(Fraction(0), decimal(step), np.arange(first, first + count)).floats


def floor_steps(x: ArrayLike, step: float) -> Array:
    """⌊x/step⌋; numbers within rounding of a multiple count as that multiple."""
    ratio = np.asarray(x, dtype=float) / step
    near = np.rint(ratio)
    return np.where(np.abs(ratio - near) <= 4e-16 * np.abs(near), near, np.floor(ratio))


def whole_steps(distance: float, step: float) -> int:
    """How many steps fit into a distance; one within rounding of a multiple counts as that multiple."""
    return int(floor_steps(distance, step))


def whole_shift(shift: float, step: float) -> int:
    """How many steps a shift has, at least 1; as `whole_steps`."""
    found = whole_steps(shift, step)
    if found == 0:
        raise InputError("shift", shift, f"at least one step of the lattice, {step:g}")
    return found


def released(value: float, step: float, drawn: int) -> float | int:
    """(nearest multiple of the step) + drawn·step: an int where all multiples are, for counts are whole numbers, else
    the nearest float. Rounding maps numbers at most k steps apart to multiples at most k steps apart, so it does not
    enlarge a sensitivity of k steps."""
    exact = decimal(step)
    place = (math.floor(decimal(value) / exact + Fraction(1, 2)) + drawn) * exact
    return int(place) if exact.denominator == 1 else float(place)


def told(step: float) -> tuple[str, str]:
    """(what a release is, its type) of a law on multiples of a step."""
    if decimal(step).denominator == 1:
        return "The value, rounded to the nearest step, plus one exact draw: a whole number.", "int"
    return "The value, rounded to the nearest step, plus one exact draw, as the nearest float.", "float"


class LatticeLaw(Noise):
    """A law without a continuous part."""

    @property
    @abstractmethod
    def lattice_step(self) -> float: ...

    @abstractmethod
    def pmf(self, x: ArrayLike) -> Array:
        """P(X = x)."""

    def density(self, x: ArrayLike) -> Array:
        """0: there is no continuous part."""
        return np.zeros(np.shape(x))

    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        """0: there is no continuous part."""
        return 0.0

    def inside(self, width: float) -> float:
        end = whole_steps(width, self.lattice_step) * self.lattice_step
        return float(1 - self.beyond(end) - self.cdf(-end) + self.pmf(-end))

    def within(self, coverage: float) -> float:
        step = self.lattice_step

        def passes(count: int) -> bool:
            return self.inside(count * step) >= coverage + ROUNDING

        high = 1
        while not passes(high):
            high *= 2
        return 0.0 if passes(0) else float(decimal(step) * bisection(passes, high, 0, mean=whole_half)[0])

    def privacy_loss(self, outputs: ArrayLike, shift: float) -> Array:
        y = np.asarray(outputs, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Array = np.log(self.pmf(y)) - np.log(self.pmf(y - shift))
        return ratio

    @property
    def release_step(self) -> float:
        return self.lattice_step

    def to_dict(self) -> dict[str, Any]:
        """Points and probabilities, which sum to 1; subclasses add what the law is exactly."""
        points, probabilities = self.listed()
        return {"name": self.name, "points": points.tolist(), "probabilities": probabilities.tolist()}
