"""`kernels.peaks.look` in NumPy, all terms at once: what the compiled form is compared with."""

from __future__ import annotations

import math

import numpy as np

from dpcore.kernels.peaks import TERM_ERROR, WEIGHT_ERROR
from dpcore.noise.worst_shift import Peaks


def look(law: Peaks, x, shift, growth, radius, more):
    """(6, n): r, r′, the rounding error of r, a bound of |r″|, and what |f′| and |f″| are at most at x − φ."""
    s, step = law.spread, np.rint(shift)
    column = lambda first, last: np.arange(float(first), last + 1).reshape(-1, 1)  # noqa: E731
    if law.rate is not None:
        k = np.floor(x) + column(-law.window, law.window + 1)
    else:
        k = np.broadcast_to(column(-1, 1 + step.max()), (int(step.max()) + 3, len(x)))
    own = law.weights(k, np.where(x >= 0, 1.0, -1.0))
    other = growth * law.weights(k - step, np.where(x >= shift, 1.0, -1.0))
    most = np.maximum(law.weights(k - step, 1.0), law.weights(k - step, -1.0))
    v = (step - shift) / s
    z = (x - k) / s
    there = z + v
    core, moved = np.exp(-0.5 * z * z), np.exp(-0.5 * there * there)
    closer = -v * (z + 0.5 * v)
    paired = np.abs(closer) < 0.5
    gone = core * -np.expm1(np.clip(closer, -0.5, 0.5))
    net = own - other
    mine, theirs, size = own * core, other * moved, np.abs(net)
    value = np.where(paired, net * core + other * gone, mine - theirs).sum(0)
    slope = -np.where(paired, net * z * core + other * (z * gone - v * moved), z * mine - there * theirs).sum(0)
    both = mine + theirs
    near_error = TERM_ERROR * (size * core + other * np.abs(gone)) + WEIGHT_ERROR * both
    error = np.where(paired, near_error, TERM_ERROR * both).sum(0)
    eta, z, there = radius / s, np.abs(z), np.abs(there)
    near, shifted = second(z, core, eta), second(there, moved, eta)
    high = np.maximum(z, there)
    peak = np.where(z + there <= np.abs(v) * (1 + 1e-9), 1.0, np.maximum(core, moved) * wider(high, eta))
    high = high + eta
    tight = size * near + other * np.abs(v) * high * (high * high + 3) * peak
    bend = np.minimum(own * near + other * shifted, tight).sum(0)
    eta = eta + more / s
    far, bells = there + eta, most * np.exp(-0.5 * np.maximum(there - eta, 0.0) ** 2)
    steepest = (far * bells).sum(0)
    bent = (np.maximum(1.0, far * far - 1) * bells).sum(0)
    return np.array([value, slope / s, error, bend / s**2, steepest / s, bent / s**2]) / (s * math.sqrt(2 * math.pi))


def wider(z, eta):
    return (1 - 0.25 * np.minimum(z * eta, 3.9)) ** -4.0


def second(z, core, eta):
    high = z + eta
    return np.maximum(1.0, high * high - 1) * core * wider(z, eta)
