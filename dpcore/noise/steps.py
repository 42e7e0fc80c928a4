"""What laws on a lattice share: points that are multiples of a step, and no continuous part."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from .._validate import decimal
from ..errors import InputError
from ..places import Places
from .base import Array, Noise


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
    """As `whole_steps`, at least 1."""
    found = whole_steps(shift, step)
    if found == 0:
        raise InputError("shift", shift, f"at least one step of the lattice, {step:g}")
    return found


class LatticeLaw(Noise):
    """A law without a continuous part; subclasses give `pmf`."""

    def density(self, x: ArrayLike) -> Array:
        """0: there is no continuous part."""
        return np.zeros(np.shape(x))

    def partial_moment(self, power: float, lo: float, hi: float) -> float:
        """0: there is no continuous part."""
        return 0.0

    def privacy_loss(self, outputs: ArrayLike, shift: float) -> Array:
        y = np.asarray(outputs, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self.pmf(y)) - np.log(self.pmf(y - shift))
