"""Multipliers of one release point, by an interior point method of its own small program [data_dependent.pricing].

Of one point with costs c: θ is the largest number for which 0 ≤ y ≤ most has c_a + Σ y (pairs with event a) − E Σ y
(pairs with cover a) ≥ θ for every law a.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .privacy_system import differences, gathered, root

ROUNDS = 60
"""Steps at most."""

CENTRED = 0.12
"""Share of the mean complementarity that a step aims at."""


@njit(cache=True, nogil=True)
def _reach(values, step):
    """The longest step, at most 1, that leaves values positive, and a little less."""
    longest = 1.0
    for i in range(len(values)):
        if step[i] < 0 and -values[i] > longest * step[i]:
            longest = min(longest, -values[i] / step[i])
    return longest if longest == 1.0 else 0.97 * longest


@njit(cache=True, nogil=True)
def _solved(factor, right):
    """A⁻¹ right of a symmetric matrix whose factor RᵀR = A is given."""
    n, x = len(right), right.copy()
    for i in range(n):
        x[i] /= factor[i, i]
        for k in range(i + 1, n):
            x[k] -= factor[i, k] * x[i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    return x


@njit(cache=True, nogil=True)
def price(costs, events, covers, most, E, enough):
    """(y, θ) of one point, as soon as θ ≥ −enough or no better one is left. costs : (G,)."""
    n, T = len(costs), len(most)
    y = 0.5 * most
    z = costs + gathered(events, covers, E, y, n)
    best, theta = y, z.min()
    if theta >= -enough:
        return best, theta
    level = theta - max(0.1 * (z.max() - theta), 1e-3)
    q = np.full(n, 1.0 / n)
    s = np.maximum(differences(events, covers, E, q), 0.0) + 1.0 / n
    A = np.empty((n, n))
    for _ in range(ROUNDS):
        z = costs + gathered(events, covers, E, y, n) - level
        r = s - differences(events, covers, E, q)
        free = most - y
        mean = ((q * z).sum() + (s * free).sum() + (r * y).sum()) / (n + 2 * T)
        target = CENTRED * mean
        w = 1 / (r / y + s / free)
        A[:] = 0.0
        for a in range(n):
            A[a, a] = z[a] / q[a]
        for t in range(T):
            e, c = events[t], covers[t]
            A[e, e] += w[t]
            A[c, c] += E * E * w[t]
            A[min(e, c), max(e, c)] -= E * w[t]
        if not root(A):
            break
        ks, kr = target - s * free, target - r * y
        fixed = w * (kr / y - ks / free)
        right = target / q - z - gathered(events, covers, E, fixed, n)
        ahead, across = _solved(A, right), _solved(A, np.ones(n))
        rise = (1 - q.sum() - ahead.sum()) / across.sum()
        dq = ahead + across * rise
        dy = fixed + w * differences(events, covers, E, dq)
        ds = (ks + s * dy) / free
        dr = ds - differences(events, covers, E, dq)
        dz = gathered(events, covers, E, dy, n) - rise
        forward = min(_reach(q, dq), _reach(s, ds), _reach(r, dr))
        back = min(_reach(z, dz), _reach(y, dy), _reach(free, -dy))
        q, s = q + forward * dq, s + forward * ds
        y, level = y + back * dy, level + back * rise
        found = (costs + gathered(events, covers, E, y, n)).min()
        if found > theta:
            best, theta = y, found
        if theta >= -enough or (n + 2 * T) * mean < 0.1 * enough:
            break
    return best, theta


@njit(cache=True, nogil=True)
def prices(costs, events, covers, most, E, enough):
    """(y, θ) of every point, (P, T) and (P,). costs : (P, G)."""
    y, thetas = np.empty((len(costs), len(most))), np.empty(len(costs))
    for p in range(len(costs)):
        y[p], thetas[p] = price(costs[p], events, covers, most, E, enough)
    return y, thetas
