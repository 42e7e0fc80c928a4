"""δ(ε) of one mechanism: the privacy profile, its inverse, and groups.

Solved laws: over all shifts up to the sensitivity, rounded up. Closed forms: by the law's own formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import audit
from .._validate import above, whole
from ..loss import UNIT
from ..noise.base import Noise
from ..noise.lattice import LatticeNoise, whole_steps
from ..noise.piecewise import PiecewiseNoise
from ..privacy import Privacy
from .pairs import dominating_pair, mirrored, shared_cells

Array = NDArray[np.float64]


def privacy_profile(noise: Noise, epsilons: ArrayLike, *, sensitivity: float) -> Array:
    """δ(ε) = sup over shifts up to the sensitivity and events A of P(A) − e^ε P(A − φ), elementwise over finite ε of
    either sign [Awan, Prop. 13.9].

    Rounded up for solved laws; for closed forms as exact as their `shortfall` (a relative 1e-10).
    """
    epsilons = np.asarray(epsilons, dtype=float)
    sizes = np.abs(epsilons).ravel()
    above(0, 1e300, sensitivity=sensitivity)
    if isinstance(noise, PiecewiseNoise | LatticeNoise):
        known = dominating_curve_upper(noise, sizes, sensitivity)
        return np.minimum(mirrored(epsilons, known.reshape(epsilons.shape)) * (1 + 4 * UNIT * (epsilons < 0)), 1.0)
    known = np.array([noise.shortfall(e, sensitivity) for e in sizes.tolist()])
    return mirrored(epsilons, known.reshape(epsilons.shape))


def epsilon_at(noise: Noise, delta: float, *, sensitivity: float) -> float:
    """The least ε ≥ 0 with δ(ε) ≤ delta, rounded up by bisection to about 1e-12; ∞ if δ(ε) stays above."""
    return least_epsilon(lambda e: float(privacy_profile(noise, e, sensitivity=sensitivity)) <= delta)


def least_epsilon(passes: Callable[[float], bool], *, within: float = 1e-12, most: float = 700.0) -> float:
    """The least ε ≥ 0 that passes, rounded up by bisection to a relative `within`; ∞ if none up to about `most`."""
    if passes(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not passes(high):
        low, high = high, 2 * high
        if high > most:
            return math.inf
    while high - low > within * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


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


def dominating_curve_upper(
    noise: PiecewiseNoise | LatticeNoise, epsilons: Array, sensitivity: float | None = None
) -> Array:
    """δ̄(ε′) = max over shifts up to the sensitivity (default: the law's own) of h_φ(ε′), at every ε′ ≥ 0 of an array,
    rounded up [Thm 1].

    For one shift h is P{L > ε′} − e^ε′ Q{L > ε′} over the cells where p > e^ε′ q: two cumulative sums, so all ε′ cost
    one sort. Rounding: cumulative sums of n terms, below 2n·u of the total mass 1.
    """
    epsilons = np.asarray(epsilons, dtype=float)
    best = np.zeros(len(epsilons))
    growth = np.exp(np.minimum(epsilons, 700.0)) * (1 - 4 * UNIT)
    for here, there, length in _overlaps(noise, sensitivity):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(there > 0, here / there, np.inf)
        order = np.argsort(-ratio)
        own = np.concatenate([[0.0], np.cumsum((here * length)[order])])
        other = np.concatenate([[0.0], np.cumsum((there * length)[order])])
        last = np.searchsorted(-ratio[order], -growth, side="left")
        best = np.maximum(best, own[last] - growth * other[last] + 4 * len(order) * UNIT * own[last])
    atom = noise.atom_mass if isinstance(noise, PiecewiseNoise) else 0.0
    return np.minimum(best * (1 + 8 * UNIT) + atom * (1 + 4 * UNIT), 1.0)


def _overlaps(noise: PiecewiseNoise | LatticeNoise, sensitivity: float | None) -> Iterable[tuple[Array, Array, Array]]:
    """(density, density moved, length) for every candidate of the worst shift, where the density is positive."""
    signs = (1,) if noise.is_symmetric else (1, -1)
    if isinstance(noise, LatticeNoise):
        n, masses = len(noise.weights), noise.masses
        reach = min(whole_steps(noise.step if sensitivity is None else sensitivity, noise.step), n)
        padded = np.concatenate([np.zeros(reach), masses, np.zeros(reach)])
        for j in range(1, reach + 1):
            for sign in signs:
                yield masses, padded[reach - sign * j :][:n], np.ones(n)
        return
    limit = noise.resolution
    if sensitivity is not None:
        limit = math.ceil(sensitivity / noise.sensitivity * noise.resolution * (1 - 4 * UNIT))
    for shift in audit.candidate_shifts(noise, limit).tolist():
        for sign in signs:
            here, there, length = shared_cells(noise, sign * shift)
            used = here > 0
            yield here[used], there[used], length[used]
