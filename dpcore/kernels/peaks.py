"""Sums over the terms of a law made of normal densities of one σ, place by place, O(terms) each.

What is found, and why the bounds hold, is said at `noise.worst_shift.look`; its NumPy form is the tests'.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

TERM_ERROR = 4e-13
"""Relative error of a term e^(−z²/2) with z²/2 ≤ 700, three roundings of the exponent included."""

WEIGHT_ERROR = 2.0**-50
"""Relative error of the difference of two weights, against their sum."""

TOUCHING = 1 + 1e-9
"""Two terms this much closer than their distance, and a rounding, lie on either side of a place."""


@njit(cache=True, nogil=True)
def _wider(z, eta):
    """At least e^(zη), which is by how much more e^(−ζ²/2) may be within η of z ≥ 0; e^t ≤ (1 − t/4)^−4 for t < 4, and
    where t is cut e^(−z²/2) is below e^−400 for η ≤ 1/8, as of all first cells."""
    rest = 1 - 0.25 * min(z * eta, 3.9)
    rest *= rest
    return 1 / (rest * rest)


@njit(cache=True, nogil=True)
def _second(z, core, eta, wide):
    """max |ζ² − 1| e^(−ζ²/2) over |ζ − z| ≤ η, z ≥ 0, at most; core = e^(−z²/2), wide = _wider(z, eta)."""
    high = z + eta
    return max(1.0, high * high - 1) * core * wide


@njit(cache=True, nogil=True)
def look(x, shift, growth, radius, more, right, left, lowest, window, furthest, spread):
    """(6, n): r, r′, the rounding error of r, a bound of |r″|, and what |f′| and |f″| are at most at x − φ.

    x, shift, growth, radius, more : float64 (n,); the last two columns are 0 where `more` is empty.
    right, left : weights of the terms lowest, lowest + 1, … on either side of 0; every term that is looked at is there.
    window : terms k from ⌊x⌋ − window to ⌊x⌋ + window + 1 count.   furthest : weights of larger |k| are 0.
    """
    n, s = x.shape[0], spread
    scale = 1 / (s * math.sqrt(2 * math.pi))
    out = np.zeros((6, n))
    bounded = more.shape[0] == n
    for i in range(n):
        at, E, eta = x[i], growth[i], radius[i] / s
        step = int(np.rint(shift[i]))
        v = (step - shift[i]) / s
        away = abs(v)
        wide_eta = eta + (more[i] / s if bounded else 0.0)
        base = math.floor(at)
        first = max(base - window, -furthest)
        last = min(base + window + 1, furthest + step)
        here, beyond = at >= 0, at >= shift[i]
        value = slope = error = bend = steepest = bent = 0.0
        k = first - 1
        while k < last:
            k += 1
            if furthest < k < step - furthest:  # nothing is there
                k = step - furthest
            place = k - lowest
            back = place - step
            own = right[place] if here else left[place]
            most = max(right[back], left[back])
            other = E * (right[back] if beyond else left[back])
            z = (at - k) / s
            moved_z = z + v
            core, moved = math.exp(-0.5 * z * z), math.exp(-0.5 * moved_z * moved_z)
            closer = -v * (z + 0.5 * v)  # ln(moved/core)
            net = own - other
            size = abs(net)
            if abs(closer) < 0.5:
                gone = -core * math.expm1(closer)  # core − moved where they are near each other
                value += net * core + other * gone
                slope -= net * z * core + other * (z * gone - v * moved)
                error += TERM_ERROR * (size * core + other * abs(gone)) + WEIGHT_ERROR * (own * core + other * moved)
            else:
                value += own * core - other * moved
                slope -= z * own * core - moved_z * other * moved
                error += TERM_ERROR * (own * core + other * moved)
            z, moved_z = abs(z), abs(moved_z)
            wide, moved_wide = _wider(z, eta), _wider(moved_z, eta)
            near, shifted = _second(z, core, eta, wide), _second(moved_z, moved, eta, moved_wide)
            peak = 1.0
            if z + moved_z > away * TOUCHING:
                peak = max(core, moved) * max(wide, moved_wide)
            high = max(z, moved_z) + eta
            bend += min(own * near + other * shifted, size * near + other * away * high * (high * high + 3) * peak)
            if bounded:
                far = moved_z + wide_eta
                closest = max(moved_z - wide_eta, 0.0)
                bell = most * math.exp(-0.5 * closest * closest)
                steepest += far * bell
                bent += max(1.0, far * far - 1) * bell
        out[0, i], out[1, i], out[2, i] = scale * value, scale * slope / s, scale * error
        out[3, i], out[4, i], out[5, i] = scale * bend / s**2, scale * steepest / s, scale * bent / s**2
    return out
