"""Probabilities as whole numbers of 2^−62 that add up to 1 and keep the shape of what they are made from."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

TOTAL = 1 << 62
"""Sum of all weights."""

FINER = 100
"""Masses are whole numbers of 2^−FINER at first: all that a float near 1e-14 says."""


def whole_weights(
    masses: NDArray[np.float64], atom: float, widths: NDArray[np.int64], zero: Fraction | float, *, monotone: bool
) -> tuple[NDArray[np.int64], int]:
    """(weights of cells, weight of the atom) in proportion to their masses.

    Cells are rounded up, the atom down to an even number, and what is left over, less than a unit per cell, goes to the
    highest cell: rounding a covering cell down would cost e^ε times as much privacy as rounding the covered one up.
    Mirror images stay mirror images, monotone ones about 0.

    widths : of the cells, in units.   zero : where 0 is, in units from the first cell's left end.
    monotone : densities that rise away from 0, by what rounding or a program's tolerance leaves, are cut down.
    """
    large = [math.ceil(math.ldexp(m, FINER)) for m in masses.tolist()]
    share = math.ceil(math.ldexp(atom, FINER))
    whole, room = sum(large) + share, TOTAL - len(large)
    weights = [-(-m * room // whole) for m in large]
    atom_weight = share * room // whole // 2 * 2
    if not any(weights):
        return np.array(weights, dtype=np.int64), TOTAL
    if monotone:
        _cut_down(weights, widths.tolist(), zero)
    rest = TOTAL - sum(weights) - atom_weight
    best = _highest(np.array(weights), widths, float(zero), monotone)
    mirrored = weights == weights[::-1] and bool((widths == widths[::-1]).all())
    mirrored = mirrored and (not monotone or 2 * zero == int(widths.sum()))  # half the rest elsewhere would be a rise
    mirror = len(weights) - 1 - best if mirrored else best
    if mirror != best and rest % 2:  # an odd rest of mirror images has a cell in the middle
        weights[len(weights) // 2] += 1
    weights[best] += rest // 2 if mirror != best else rest - rest // 2
    weights[mirror] += rest // 2
    return np.array(weights, dtype=np.int64), atom_weight


def _highest(weights: NDArray[np.int64], widths: NDArray[np.int64], zero: float, monotone: bool) -> int:
    """The cell of the largest density, of several the one nearest to 0; of monotone laws one next to 0."""
    density, ends = weights / widths, np.concatenate([[0], np.cumsum(widths)])
    away = np.maximum(np.maximum(ends[:-1] - zero, zero - ends[1:]), 0.0)
    if monotone:
        return int(np.argmax(np.where(away <= away.min(), density, -1.0)))
    return int(np.argmin(np.where(density >= density.max() * (1 - 1e-15), away, math.inf)))


def _cut_down(weights: list[int], widths: list[int], zero: Fraction | float) -> None:
    """Lower every density to those between it and 0."""
    ends = list(accumulate(widths))
    for i in range(1, len(weights)):
        if ends[i - 1] > zero:
            weights[i] = min(weights[i], weights[i - 1] * widths[i] // widths[i - 1])
    for i in range(len(weights) - 2, -1, -1):
        if ends[i] < zero:
            weights[i] = min(weights[i], weights[i + 1] * widths[i] // widths[i + 1])
