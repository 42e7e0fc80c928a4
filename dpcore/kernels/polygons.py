"""Sums of test functions, O(entries), and the polygons that events make with their covers, O(n log n) per shift. Sums
and orders are those of NumPy to the last bit, as in `lattice_terms`."""

from __future__ import annotations

import numpy as np
from numba import njit

DIGITS, PLACES = 47, 1664
"""Binary digits of a ratio that do not count at first, and places so told apart: 32 from one power of 2 to the next."""

LAST, FEW = (1023 - 26) << 5, 12
"""Place of the ratio 2^−26 and all below; more tests than that in a place are merged."""


@njit(cache=True, nogil=True)
def means(test, column, event, cover, masses, count):
    """`optimal.polygons.means`."""
    here, there = np.zeros(count), np.zeros(count)
    for t in range(test.shape[0]):
        mass = masses[column[t]]
        here[test[t]] += event[t] * mass
        there[test[t]] += cover[t] * mass
    return here, there


@njit(cache=True, nogil=True)
def rows(starts, column, event, cover, tests, owners, count, columns):
    """`optimal.polygons.rows`."""
    events, covers = np.zeros((count, columns)), np.zeros((count, columns))
    for i in range(tests.shape[0]):
        here, there = events[owners[i]], covers[owners[i]]
        for t in range(starts[tests[i]], starts[tests[i] + 1]):
            here[column[t]] += event[t]
            there[column[t]] += cover[t]
    return events, covers


@njit(cache=True, nogil=True)
def _walk(own, covers, tests, across, above, rises, least, room, order, P, Q, outside, once):
    """The corners of one shift, as in `optimal.polygons.corners`; whether one lies above. `once`: nothing is said of
    those behind the first that does.

    Tests are counted by the first binary digits of their ratios and sorted among equals, place by place as far as the
    walk comes; the last digits, as many as their number has, do not count.
    """
    digits = 1
    while digits <= tests.shape[0]:
        digits *= 2
    ratios, keys = room[0], room[0].view(np.int64)
    numbers, begins = room[1].view(np.int64), room[2].view(np.int64)
    most, found = PLACES, 0
    begins[: most + 2] = 0
    for i in range(tests.shape[0]):
        if tests[i] < own.shape[0] and own[tests[i]] > 0.0:
            ratios[found] = own[tests[i]] / max(covers[tests[i]], least)
            keys[found] &= -digits
            begins[most - min(max((keys[found] >> DIGITS) - LAST, 0), most) + 1] += 1
            numbers[found] = i
            found += 1
    for place in range(most + 1):
        begins[place + 1] += begins[place]
    for n in range(found):
        place = most - min(max((keys[n] >> DIGITS) - LAST, 0), most)
        order[begins[place]] = n
        begins[place] += 1  # where the place ends, when all are in
    p, q, at, start, any_ = 0.0, 0.0, 0, 0, False
    for place in range(most + 1):
        end = begins[place]
        if end - start > FEW:
            order[start:end] = order[start:end][np.argsort(-ratios[order[start:end]], kind="mergesort")]
        else:
            for n in range(start + 1, end):
                moved, m = order[n], n
                while m > start and ratios[order[m - 1]] < ratios[moved]:
                    order[m] = order[m - 1]
                    m -= 1
                order[m] = moved
        for i in range(start, end):
            ratio, order[i] = ratios[order[i]], numbers[order[i]]
            p += own[tests[order[i]]]
            q += covers[tests[order[i]]]
            while at + 1 < across.shape[0] and across[at + 1] <= q:
                at += 1
            P[i], Q[i], outside[i] = p, q, p > rises[at] * (q - across[at]) + above[at]
            any_ |= outside[i]
            if (any_ and once) or (ratio < 1.0 and p + q > 1.0):
                return any_
        start = end
    return any_


@njit(cache=True, nogil=True)
def corners(own, covers, by_shift, across, above, rises, least):
    """`optimal.polygons.corners`."""
    shifts, width = by_shift.shape
    order, outside = np.empty((shifts, width), dtype=np.int64), np.zeros((shifts, width), dtype=np.bool_)
    P, Q, room = np.empty((shifts, width)), np.empty((shifts, width)), np.empty((3, max(width, PLACES + 2)))
    for j in range(shifts):
        _walk(own, covers, by_shift[j], across, above, rises, least, room, order[j], P[j], Q[j], outside[j], False)
    return order, P, Q, outside


@njit(cache=True, nogil=True)
def first_outside(own, covers, by_shift, among, across, above, rises, least):
    """`optimal.polygons.first_outside`."""
    width = by_shift.shape[1]
    order, outside = np.empty(width, dtype=np.int64), np.empty(width, dtype=np.bool_)
    P, Q, room = np.empty(width), np.empty(width), np.empty((3, max(width, PLACES + 2)))
    for n in range(among.shape[0]):
        tests = by_shift[among[n]]
        if _walk(own, covers, tests, across, above, rises, least, room, order, P, Q, outside, True):
            return n
    return -1
