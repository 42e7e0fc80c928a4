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
def moves(events, covers, starts, E, x, g):
    """x_e − E x_c of every term, and g times these added up over every limit."""
    out, sums = np.empty(len(events)), np.zeros(len(starts) - 1)
    for r in range(len(sums)):
        for t in range(starts[r], starts[r + 1]):
            out[t] = x[events[t]] - E * x[covers[t]]
            sums[r] += g[t] * out[t]
    return out, sums


@njit(cache=True, nogil=True)
def pulled(events, covers, starts, E, y, g, rates, n):
    """As `gathered`, of y_t + g_t·(rate of the limit)."""
    out = np.zeros(n)
    for r in range(len(rates)):
        for t in range(starts[r], starts[r + 1]):
            value = y[t] + g[t] * rates[r]
            out[events[t]] += value
            out[covers[t]] -= E * value
    return out


@njit(cache=True, nogil=True)
def condensed(starts, s, r, a, inverse, g, ks, kr, missed_slacks, missed_rates):
    """(e, y₀, Σ e·inverse over every limit) of a direction that reaches ks, kr [rows.interior]."""
    e, y, sums = np.empty(len(s)), np.empty(len(s)), np.zeros(len(starts) - 1)
    for limit in range(len(sums)):
        for t in range(starts[limit], starts[limit + 1]):
            here = kr[t] / r[t] - a[t] * missed_slacks[t]
            e[t] = ks[t] / s[t] + here - missed_rates[t]
            y[t] = here - g[t] * e[t]
            sums[limit] += e[t] * inverse[t]
    return e, y, sums


@njit(cache=True, nogil=True)
def spread(starts, moved, e, rates, a, inverse, missed, wanted, here, there, step_here, step_there):
    """What a direction does to slacks and their rows' room, and to what is complementary to either: the first and the
    second half of step_here and step_there. moved : x_e − E x_c of every term.   rates : of the limits."""
    T = len(moved)
    for limit in range(len(rates)):
        for t in range(starts[limit], starts[limit + 1]):
            step = (e[t] - rates[limit] + a[t] * moved[t]) * inverse[t]
            step_here[t] = step
            step_there[t] = (wanted[t] - there[t] * step) / here[t]
            step = step - moved[t] + missed[t]
            step_here[T + t] = step
            step_there[T + t] = (wanted[T + t] - there[T + t] * step) / here[T + t]


@njit(cache=True, nogil=True)
def longest(values, steps):
    """The longest step, at most 1, for which nothing becomes negative."""
    length = 1.0
    for i in range(len(values)):
        if -steps[i] * length > values[i]:
            length = values[i] / -steps[i]
    return length


@njit(cache=True, nogil=True, inline="always")
def joined(panels, e, c, E, weight):
    """Add a term's part of Vᵀ diag(w) V, panels as in `assemble`."""
    size = panels.shape[1]
    low, high = min(e, c), max(e, c)
    panels[e // size, e % size, e % size] += weight
    panels[c // size, c % size, c % size] += E * E * weight
    panels[low // size, low % size, high - low // size * size] -= E * weight


@njit(cache=True, nogil=True, error_model="numpy")
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
            joined(panels, e, c, E, w[t])
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
def apart(panels, rows, events, covers, starts, E, w, g, loose_starts, loose_columns, loose_values):
    """Add Vᵀ diag(w) V to the upper half of a matrix in panels of rows, and those of G to `rows`, (limits, columns); V,
    G, panels as in `assemble`."""
    for r in range(len(starts) - 1):
        row = rows[r]
        for t in range(starts[r], starts[r + 1]):
            e, c = events[t], covers[t]
            row[e] += g[t]
            row[c] -= E * g[t]
            joined(panels, e, c, E, w[t])
        for t in range(loose_starts[r], loose_starts[r + 1]):
            row[loose_columns[t]] += loose_values[t]


@njit(cache=True, nogil=True)
def wide(panels, rows, at, columns, values, starts, w, g):
    """As `apart`, without loose entries, for terms with any coefficients: those of term t stand from at[t] to
    at[t + 1], in ascending columns."""
    size = panels.shape[1]
    for r in range(len(starts) - 1):
        row = rows[r]
        for t in range(starts[r], starts[r + 1]):
            for i in range(at[t], at[t + 1]):
                c = columns[i]
                row[c] += g[t] * values[i]
                block = c // size
                here, factor = panels[block, c - block * size], w[t] * values[i]
                for k in range(i, at[t + 1]):
                    here[columns[k] - block * size] += factor * values[k]


@njit(cache=True, nogil=True)
def parted(parts, rows, events, covers, starts, E, w, g):
    """Add Vᵀ diag(w) V to the upper halves of the parts of a matrix, Gᵀ to their rows (V, G as in `assemble`).

    parts : (count, size, size).   rows : (count, size, limits).
    """
    size = parts.shape[1]
    for r in range(len(starts) - 1):
        for t in range(starts[r], starts[r + 1]):
            part = events[t] // size
            e, c = events[t] - part * size, covers[t] - part * size
            here, limit = parts[part], rows[part]
            here[e, e] += w[t]
            here[c, c] += E * E * w[t]
            here[min(e, c), max(e, c)] -= E * w[t]
            limit[e, r] += g[t]
            limit[c, r] -= E * g[t]


@njit(cache=True, nogil=True)
def root(a):
    """R with RᵀR = a, its upper half in place; False where rounding left a not positive definite. One thread: those of
    LAPACK wait for each other on a busy machine far longer than a block takes."""
    n = a.shape[0]
    for j in range(n):
        if not a[j, j] > 0:
            return False
        pivot, row = np.sqrt(a[j, j]), a[j]
        for k in range(j, n):
            row[k] /= pivot
        for i in range(j + 1, n):
            factor, other = row[i], a[i]
            if factor != 0.0:
                for k in range(i, n):
                    other[k] -= factor * row[k]
    return True


@njit(cache=True, nogil=True)
def inverted(root):
    """The inverse of an upper triangular matrix, (n, n) with zeros below."""
    n = root.shape[0]
    out = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        row = out[i]
        row[i] = 1.0
        for k in range(i + 1, n):
            factor, below = root[i, k], out[k]
            for j in range(k, n):
                row[j] -= factor * below[j]
        for j in range(i, n):
            row[j] /= root[i, i]
    return out
