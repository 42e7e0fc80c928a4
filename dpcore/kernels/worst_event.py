"""The worst event of a piecewise constant law at a shift [SLW, Alg. 2], O(cells) per shift.

Cells and shifts are whole numbers of a unit, so that events are unions of unit cells without rounding.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _sweep(breaks, density, amplification, shift, lo, hi, event):
    """Shortfall of the worst event inside [lo, hi); the event's unit cells are marked in `event` unless it is empty.

    The merged list of breaks and shifted breaks is walked once [SLW, Lemma C.17]. A stretch the shifted law
    does not reach belongs to the event even where the law has no mass: it costs nothing [SLW, Lemma C.15 (i)].
    """
    n = density.shape[0]
    own = 0
    while breaks[own + 1] <= lo:
        own += 1
    other = -1
    while other < n and breaks[other + 1] + shift <= lo:
        other += 1
    total = 0.0
    x = lo
    while x < hi:
        end = min(hi, breaks[own + 1])
        if other < n:
            end = min(end, breaks[other + 1] + shift)
        covered = 0 <= other < n
        excess = density[own]
        if covered:
            excess -= amplification * density[other]
        if excess > 0.0 or not covered:
            total += excess * (end - x)
            if event.shape[0] > 0:
                event[x - lo : end - lo] = True
        x = end
        if x < hi and breaks[own + 1] == x:
            own += 1
        if other < n and breaks[other + 1] + shift == x:
            other += 1
    return total


@njit(cache=True, nogil=True)
def _shortfalls(breaks, density, amplification, shifts, lo, hi):
    out = np.empty(shifts.shape[0])
    nothing = np.empty(0, dtype=np.bool_)
    for m in range(shifts.shape[0]):
        out[m] = _sweep(breaks, density, amplification, shifts[m], lo, hi, nothing)
    return out


@njit(cache=True, nogil=True)
def _events(breaks, density, amplification, shifts, lo, hi):
    out = np.zeros((shifts.shape[0], hi - lo), dtype=np.bool_)
    for m in range(shifts.shape[0]):
        _sweep(breaks, density, amplification, shifts[m], lo, hi, out[m])
    return out


def shortfalls(breaks: Ints, masses: Array, amplification: float, shifts: Ints, window: tuple[int, int]) -> Array:
    """Largest Σ_A p − e^ε Σ_A p(· − φ) over events A of unit cells inside the window, for every shift.

    Parameters
    ----------
    breaks : int64 (n + 1,)   masses : float64 (n,)   amplification : e^ε
    shifts : int64 (m,)   window : (lo, hi), whole numbers within [breaks[0], breaks[-1]].

    Returns
    -------
    float64 (m,), at least 0. O(n) per shift.
    """
    found: Array = _shortfalls(breaks, masses / np.diff(breaks), amplification, shifts, window[0], window[1])
    return found


def worst_events(
    breaks: Ints, masses: Array, amplification: float, shifts: Ints, window: tuple[int, int]
) -> NDArray[np.bool_]:
    """The events that attain `shortfalls`, bool (m, hi − lo): membership of the window's unit cells."""
    found: NDArray[np.bool_] = _events(breaks, masses / np.diff(breaks), amplification, shifts, window[0], window[1])
    return found
