"""Terms max(0, r_i − E r_{i−j}) of a law on a lattice at a shift j, O(events) per shift.

Indices are positions in r; outside there is no mass. Sums are those of NumPy to the last bit (its pairwise summation),
so that what a program does next does not depend on who did the adding.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 128
"""NumPy adds up to so many terms with eight accumulators, more by halves."""


@njit(cache=True, nogil=True)
def _block(values, start, count):
    if count < 8:
        total = 0.0
        for i in range(start, start + count):
            total += values[i]
        return total
    a, b, c, d = values[start], values[start + 1], values[start + 2], values[start + 3]
    e, f, g, h = values[start + 4], values[start + 5], values[start + 6], values[start + 7]
    whole = count - count % 8
    for i in range(start + 8, start + whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(start + whole, start + count):
        total += values[i]
    return total


@njit(cache=True, nogil=True)
def pairwise_sum(values, start, count):
    """`values[start : start + count].sum()`; halves wait on a stack, for recursive kernels do not survive the cache."""
    if count <= BLOCK:
        return _block(values, start, count)
    starts, counts, sums = np.empty(128, dtype=np.int64), np.empty(128, dtype=np.int64), np.empty(64)
    starts[0], counts[0], waiting, done = start, count, 1, 0
    while waiting:
        waiting -= 1
        start, count = starts[waiting], counts[waiting]
        if count < 0:  # both halves are summed
            done -= 1
            sums[done - 1] += sums[done]
        elif count <= BLOCK:
            sums[done] = _block(values, start, count)
            done += 1
        else:
            half = count // 2
            half -= half % 8
            counts[waiting] = -1
            starts[waiting + 1], counts[waiting + 1] = start + half, count - half
            starts[waiting + 2], counts[waiting + 2] = start, half
            waiting += 3
    return sums[0]


@njit(cache=True, nogil=True)
def shortfalls(r, events, shifts, amplification):
    """Σ over events of the terms, for every shift. r : float64 (n,).   events, shifts : int64.   float64 (shifts,)"""
    n, out, positive = r.shape[0], np.empty(shifts.shape[0]), np.empty(events.shape[0])
    for t in range(shifts.shape[0]):
        shift, count = shifts[t], 0
        for e in range(events.shape[0]):
            i = events[e]
            z = r[i]
            if shift <= i < n + shift:
                z -= amplification * r[i - shift]
            positive[count] = z  # written always, kept if positive: no branch to guess
            count += z > 0.0
        out[t] = pairwise_sum(positive, 0, count)
    return out


@njit(cache=True, nogil=True)
def excess(r, events, shift, amplification):
    """r_i − E r_{i−j} of every event, float64 (events,)."""
    n, out = r.shape[0], np.empty(events.shape[0])
    for e in range(events.shape[0]):
        i = events[e]
        out[e] = r[i]
        if shift <= i < n + shift:
            out[e] -= amplification * r[i - shift]
    return out
