"""δ(ε) of one mechanism: the privacy profile, its inverse, and groups.

Solved laws: over all shifts up to the sensitivity, rounded up. Closed forms: by the law's own formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import above, whole
from ..audit import delta_upper
from ..loss import UNIT
from ..noise.base import Noise
from ..noise.solved import SolvedNoise
from ..pair import mirrored
from ..privacy import Privacy
from ..search import directed_root
from .pairs import dominating_pair

Array = NDArray[np.float64]


def privacy_profile(noise: Noise, epsilons: ArrayLike, *, sensitivity: float) -> Array:
    """δ(ε) = sup over shifts up to the sensitivity and events A of P(A) − e^ε P(A − φ), elementwise over finite ε of
    either sign [Awan, Prop. 13.9].

    Rounded up for solved laws; for closed forms as exact as their `shortfall` (a relative 1e-10).
    """
    epsilons = np.asarray(epsilons, dtype=float)
    sizes = np.abs(epsilons).ravel()
    above(0, 1e300, sensitivity=sensitivity)
    if isinstance(noise, SolvedNoise):
        known = dominating_curve_upper(noise, sizes, sensitivity)
        return np.minimum(mirrored(epsilons, known.reshape(epsilons.shape)) * (1 + 4 * UNIT * (epsilons < 0)), 1.0)
    known = np.array([delta_upper(noise, e, sensitivity) for e in sizes.tolist()])
    return mirrored(epsilons, known.reshape(epsilons.shape))


def epsilon_at(noise: Noise, delta: float, *, sensitivity: float) -> float:
    """The least ε ≥ 0 with δ(ε) ≤ delta, rounded up to about 1e-12; ∞ if δ(ε) stays above."""
    return least_epsilon(lambda e: float(privacy_profile(noise, e, sensitivity=sensitivity)), delta)


def least_epsilon(
    curve: Callable[[float], float], delta: float, *, within: float = 1e-12, most: float = 700.0
) -> float:
    """The least ε ≥ 0 with curve(ε) ≤ delta, rounded up to a relative `within`; ∞ if there is none up to `most`.

    curve : a privacy profile δ(ε), rounded up: what is returned was evaluated on it.
    """

    @cache
    def over(epsilon: float) -> float:
        found = curve(epsilon)
        size = abs(math.log(min(max(found / delta, 1e-3), 1e300))) if delta > 0 else 1.0  # secants of a flat tail idle
        return max(size, 1e-300) if found > delta else -size

    if over(0.0) <= 0:
        return 0.0
    low, high = 0.0, min(1.0, most)
    while over(high) > 0:
        if high >= most:
            return math.inf
        low, high = high, min(2 * high, most)
    return directed_root(over, high, low, within=within)[0]


def unbounded_mass(noise: Noise, *, sensitivity: float) -> float:
    """δ(∞): the largest probability, over all shifts, of releases that are impossible for the neighbour."""
    return dominating_pair(noise, sensitivity).infinite


def group_privacy(privacy: Privacy, size: int) -> tuple[float, float]:
    """(ε, δ) that every (ε, δ)-DP mechanism has for groups of `size`: (kε, δ Σ_{i<k} e^(iε)), δ at most 1, by walking
    from one data set to the other in k steps [Awan, Prop. 3.2, for δ = 0]."""
    size = whole(1, 10**6, size=size)
    epsilon, delta = privacy.epsilon, privacy.delta
    if delta == 0:
        return size * epsilon, 0.0
    if size * epsilon > 700:
        return size * epsilon, 1.0
    sum_ = size if epsilon == 0 else math.expm1(size * epsilon) / math.expm1(epsilon)
    return size * epsilon, min(delta * sum_ * (1 + 16 * UNIT), 1.0)


def dominating_curve_upper(noise: SolvedNoise, epsilons: ArrayLike, sensitivity: float | None = None) -> Array:
    """δ̄(ε′) = max over shifts up to the sensitivity (default: the law's own; a step of a lattice) of h_φ(ε′), at every
    ε′ ≥ 0 of an array, rounded up [Thm 1]."""
    if sensitivity is None:
        sensitivity = noise.own_sensitivity
    return dominating_pair(noise, sensitivity).delta(epsilons)
