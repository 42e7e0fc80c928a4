"""What an interior point method for privacy rows adds up over millions of terms [rows.interior].

Term t is x_e − E x_c for its event column e = events[t] and its covering column c = covers[t].
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def differences(events, covers, E, x):
    """x_e − E x_c of every term."""
    out = np.empty(len(events))
    for t in range(len(events)):
        out[t] = x[events[t]] - E * x[covers[t]]
    return out


@njit(cache=True, nogil=True)
def gathered(events, covers, E, y, n):
    """Σ y_t at the event columns − E Σ y_t at the covering ones, (n,)."""
    out = np.zeros(n)
    for t in range(len(events)):
        out[events[t]] += y[t]
        out[covers[t]] -= E * y[t]
    return out


@njit(cache=True, nogil=True)
def assemble(panels, events, covers, starts, E, w, g, loose_starts, loose_columns, loose_values, D):
    """Add Vᵀ diag(w) V + Gᵀ diag(1/D) G to the upper half of a banded matrix, V the terms, row ℓ of G the sum of g_t
    times the terms of limit ℓ (starts[ℓ] to starts[ℓ + 1]) and its loose entries.

    panels : (blocks, B, width); the entry (j, i) with i ≥ j stands in panels[j // B, j % B, i − (j // B)·B].
    """
    size = panels.shape[1]
    n, most = panels.shape[0] * size, 1
    for r in range(len(D)):
        most = max(most, 2 * (starts[r + 1] - starts[r]) + loose_starts[r + 1] - loose_starts[r])
    columns, values, place = np.empty(most, np.int64), np.empty(most), np.full(n, -1, np.int64)
    for r in range(len(D)):
        count = 0
        for t in range(starts[r], starts[r + 1]):
            e, c = events[t], covers[t]
            for column, value in ((e, g[t]), (c, -E * g[t])):
                if place[column] < 0:
                    place[column], columns[count], values[count] = count, column, 0.0
                    count += 1
                values[place[column]] += value
            low, high = min(e, c), max(e, c)
            panels[e // size, e % size, e % size] += w[t]
            panels[c // size, c % size, c % size] += E * E * w[t]
            panels[low // size, low % size, high - low // size * size] -= E * w[t]
        for t in range(loose_starts[r], loose_starts[r + 1]):
            column = loose_columns[t]
            if place[column] < 0:
                place[column], columns[count], values[count] = count, column, 0.0
                count += 1
            values[place[column]] += loose_values[t]
        for i in range(count):
            place[columns[i]] = -1
        order = np.argsort(columns[:count])
        cs, vs = columns[:count][order], values[:count][order]
        for i in range(count):
            block = cs[i] // size
            row, factor = panels[block, cs[i] - block * size], vs[i] / D[r]
            for k in range(i, count):
                row[cs[k] - block * size] += factor * vs[k]


@njit(cache=True, nogil=True)
def root(a):
    """R with RᵀR = a, its upper half in place; False where rounding left a not positive definite. One thread: those of
    LAPACK wait for each other on a busy machine far longer than a block takes."""
    n = a.shape[0]
    for j in range(n):
        if not a[j, j] > 0:
            return False
        pivot = np.sqrt(a[j, j])
        for k in range(j, n):
            a[j, k] /= pivot
        for i in range(j + 1, n):
            factor = a[j, i]
            if factor != 0.0:
                for k in range(i, n):
                    a[i, k] -= factor * a[j, k]
    return True
