"""Sums of test functions, and the polygons that events make with their covers: the NumPy twin of `kernels.polygons`,
bit for bit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    order = np.argsort(-here / np.maximum(there, least), axis=1, kind="stable")
    here, there = (np.take_along_axis(x, order, 1) for x in (here, there))
    P, Q = np.cumsum(here, axis=1), np.cumsum(there, axis=1)
    behind = (here / np.maximum(there, least) < 1) & (P + Q > 1)
    at = np.maximum(np.searchsorted(across, Q, side="right") - 1, 0)
    above_it = (rises[at] * (Q - across[at]) + above[at] < P) & (here > 0)
    return order, P, Q, above_it & (np.cumsum(behind, axis=1) - behind == 0)


def first_outside(
    own: Array, covers: Array, by_shift: Ints, among: Ints, across: Array, above: Array, rises: Array, least: float
) -> int:
    """Place in `among`, numbers of shifts, of the first one with such a corner; −1: none."""
    outside = corners(own, covers, by_shift[among], across, above, rises, least)[3].any(axis=1)
    return int(outside.argmax()) if outside.any() else -1
