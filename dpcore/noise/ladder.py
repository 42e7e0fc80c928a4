"""Exact choices by whole-number weights: the operating system's cryptographic source only, never a float in between."""

from __future__ import annotations

import secrets
from bisect import bisect_right

SUBDIVISIONS = 1 << 60
"""Lattice points to a unit in a release: finer than floats, so that rounding the value to them costs nothing to see."""

POINTS = f"1 << {SUBDIVISIONS.bit_length() - 1}"
"""That number as an exported script writes it."""


def chosen(ladder: list[int]) -> int:
    """The number of a step, from 0, with probability proportional to its height; `ladder` holds the cumulative ones."""
    return bisect_right(ladder, secrets.randbelow(ladder[-1]))


def point_of(left: int, right: int, subdivisions: int) -> int:
    """One of the lattice points of a cell, all alike, `subdivisions` of them per unit: the left end is among them, the
    right end is not."""
    return left * subdivisions + secrets.randbelow((right - left) * subdivisions)
