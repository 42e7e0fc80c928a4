"""Sums of test functions, and the polygons that events make with their covers: the NumPy twin of `kernels.polygons`,
bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 2**63 - 1

FEW = 10
"""Shifts that are looked at first: where the last laws were outside, the next is likely to be."""


def sums_at(index: Ints, values: Array, count: int) -> Array:
    """Σ of the values with each index below `count`. (count,)"""
    return np.bincount(index, values, count).astype(float, copy=False)  # of nothing NumPy makes whole numbers


def means(test: Ints, column: Ints, event: Array, cover: Array, masses: Array, count: int) -> tuple[Array, Array]:
    """Mean of every test under masses per column, and of its cover. (count,) each"""
    each = masses[column]
    return sums_at(test, event * each, count), sums_at(test, cover * each, count)


def rows(
    starts: Ints, column: Ints, event: Array, cover: Array, tests: Ints, owners: Ints, count: int, columns: int
) -> tuple[Array, Array]:
    """Coefficients of the sums of tests of each of `count` owners, and of their covers; the entries of test number i
    begin at `starts[i]`. (count, columns) each"""
    first = starts[tests]
    widths = starts[tests + 1] - first
    mine = np.arange(widths.sum()) + np.repeat(first - np.cumsum(widths) + widths, widths)
    entry = np.repeat(owners, widths) * columns + column[mine]
    events, covers = (sums_at(entry, x[mine], count * columns) for x in (event, cover))
    return events.reshape(count, columns), covers.reshape(count, columns)


def corners(
    own: Array, covers: Array, by_shift: Ints, across: Array, above: Array, rises: Array, least: float
) -> tuple[Ints, Array, Array, NDArray[np.bool_]]:
    """The tests of every shift by the ratio of event and cover, the sums P and Q of the first of them, and which of
    these corners lie above a polygon from (across, above) on that rises by `rises`. (shifts, width) each; what does not
    lie above may be anything.

    Corners are looked at down to the first with P + Q > 1 behind a ratio below 1: from there on P − Q falls, and what
    lies above a curve that is its own mirror image lies as far above it at P + Q < 1 at the opposite shift.

    own, covers : (tests,) what is in every event and its cover, the latter taken to be at least `least` in ratios.
    by_shift : (shifts, width) numbers of tests, filled up with the number of all.
    """
    here, there = (np.append(x, 0.0)[by_shift] for x in (own, covers))
    order, ratio = _by_ratio(here / np.maximum(there, least))
    here, there = (np.take_along_axis(x, order, 1) for x in (here, there))
    P, Q = np.cumsum(here, axis=1), np.cumsum(there, axis=1)
    behind = (ratio < 1) & (P + Q > 1)
    at = np.maximum(np.searchsorted(across, Q, side="right") - 1, 0)
    above_it = (rises[at] * (Q - across[at]) + above[at] < P) & (here > 0)
    return order, P, Q, above_it & (np.cumsum(behind, axis=1) - behind == 0)


def _by_ratio(ratio: Array) -> tuple[Ints, Array]:
    """The order of every row from the largest ratio on, and the ratios in that order, but for the last binary digits,
    as many as a column's number has: in their places the numbers are sorted along."""
    digits = (1 << ratio.shape[1].bit_length()) - 1
    keys: Ints = np.sort(~ratio.view(np.int64) & (LARGEST - digits) | np.arange(ratio.shape[1]), axis=1)
    return keys & digits, (~keys & (LARGEST - digits)).view(np.float64)


def first_outside(
    own: Array, covers: Array, by_shift: Ints, among: Ints, across: Array, above: Array, rises: Array, least: float
) -> int:
    """Place in `among`, numbers of shifts, of the first one with such a corner; −1: none."""
    for some in (slice(0, FEW), slice(FEW, None)):
        outside = corners(own, covers, by_shift[among[some]], across, above, rises, least)[3].any(axis=1)
        if outside.any():
            return (some.start or 0) + int(outside.argmax())
    return -1
