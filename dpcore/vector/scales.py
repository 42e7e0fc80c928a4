"""Gaussian and Laplace noise of a scale per coordinate: identical, scale-perturb-rescale, optimal [MK, Thms. 4, 5].

Both families have a *resource*: independent noise s_i·Z_i is private when Σ_i |d_i/s_i|^q ≤ R^q for every change d of
the answer, with q = 2, R = μ₀(ε, δ) for Gaussian noise and q = 1, R = ε for Laplace noise [MK, Lemma 3, (10)]. So one
module serves both (docs/vector.md, "One constraint for two families").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..loss import UNIT
from ..noise.gaussian import Gaussian
from ..privacy import Privacy
from ..search import nudged_up
from .joint import DoubleExponential, JointNoise, Normal
from .query import Allocation, VectorQuery

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Family:
    """Noise s·Z with E|Z|^p = `moment(p)` and the resource R of exponent q; `radius` is rounded down."""

    key: str
    name: str
    q: int
    guarantee: Privacy
    radius: float
    proof: str

    def moment(self, power: float) -> float:
        """E|Z|^p: 2^(p/2) Γ((p + 1)/2)/√π for the normal law, Γ(p + 1) for Laplace's."""
        if self.q == 1:
            return math.gamma(power + 1)
        return 2 ** (power / 2) * math.gamma((power + 1) / 2) / math.sqrt(math.pi)


@lru_cache(maxsize=256)
def gaussian_family(privacy: Privacy) -> Family:
    """(ε, δ)-DP Gaussian noise, δ > 0: μ₀ by the analytic calibration [BW18, Thm. 8]."""
    radius = (1 - 4 * UNIT) / Gaussian.calibrate(privacy, 1.0).sigma
    return Family("gaussian", "Gaussian", 2, privacy, radius, "Σ λ²/σ² ≤ μ₀², analytic Gaussian [BW18; MK, Lemma 3]")


def laplace_family(privacy: Privacy) -> Family:
    """ε-DP Laplace noise, ε > 0."""
    pure = Privacy(privacy.epsilon, 0.0)
    return Family("laplace", "Laplace", 1, pure, privacy.epsilon, "Σ λ/β ≤ ε [MK, Thm. 5]")


def relaxed_laplace_family(privacy: Privacy) -> Family:
    """(ε, δ)-DP Laplace noise, δ > 0: R = ε − ln(1 − δ) [MK, Cor. 6]."""
    radius = (privacy.epsilon - math.log1p(-privacy.delta)) * (1 - 8 * UNIT)
    proof = "Σ λ/β ≤ ε − ln(1 − δ) [MK, Cor. 6]"
    return Family("laplace-relaxed", "Laplace with δ", 1, privacy, radius, proof)


RULES = {"iid": "identical", "spr": "scale-perturb-rescale", "optimal": "optimal"}


def allocate(query: VectorQuery, family: Family, rule: str) -> Allocation:
    """Scales of the family by a rule of `RULES`, moved past their rounding: `resource_upper` is at most R.

    iid : every coordinate gets Δ_q/R, those with λ_i = 0 too.
    spr : s_i proportional to λ_i, so that every coordinate gets the same share.
    optimal : the least Σ w_i E|T_i|^p, for any p ≥ 1: s_i^(p+q) ∝ ũ_i/w_i with the worst change ũ of
        `worst_change`; without coupling [MK, Thms. 4, 5].
    Coordinates with λ_i = 0 get no noise from the last two.
    """
    q, p, live = family.q, query.power, query.profile.positive
    lam, w = query.profile.array[live], query.weight_array[live]
    worst = worst_change(query, q)[live]
    if rule == "iid":
        scales = np.ones(len(lam))
    elif rule == "spr":
        scales = lam / lam.max()
    else:
        logs = (q * np.log(worst) - np.log(w)) / (p + q)
        scales = np.exp(logs - logs.max())
    unit = scales * (_sup(query, q, scales, live) ** (1 / q) / family.radius)
    limit = family.radius**q * (1 - 4 * UNIT)
    factor = nudged_up(lambda f: resource_upper(query, q, f * unit, live) <= limit, 1.0)
    full = np.full(len(live), unit[0] * factor if rule == "iid" else 0.0)
    full[live] = factor * unit
    errors = query.weight_array * full**p * family.moment(p)
    shares = np.zeros(len(live))
    used = (worst / full[live]) ** q
    shares[live] = used / math.fsum(used)
    return Allocation(
        f"{family.key}-{rule}", f"{family.name}, {RULES[rule]}", full, errors, shares, family.guarantee,
        f"{'gaussian' if q == 2 else 'laplace'}-iid", (family.name,) * len(live), family.proof,
        noise=JointNoise(len(live), (noise_of(family, full),)),
    )  # fmt: skip


def noise_of(family: Family, scales: Array) -> Normal | DoubleExponential:
    """The family's noise with these scales, (K,); none where a scale is 0."""
    noisy = np.flatnonzero(scales)
    return Normal(noisy, scales[noisy]) if family.q == 2 else DoubleExponential(noisy, scales[noisy], family.radius)


def worst_change(query: VectorQuery, q: int) -> Array:
    """|d_i| of the change that the optimal scales must fear most, (K,) [docs/vector.md, "Coupled coordinates"].

    Without coupling it is λ. With Σ |d_i|^q ≤ Δ_q^q it is min(λ_i, (c·w_i)^(1/q)), c such that the sum is Δ_q^q: the
    profile is cut off at a level.
    """
    lam, w = query.profile.array, query.weight_array
    total = query.sensitivity(q) ** q
    if not query.coupled or total >= math.fsum(lam**q) * (1 - 1e-14):
        return lam
    live = np.flatnonzero(lam)
    order = live[np.argsort(lam[live] ** q / w[live])]
    caps, weights = lam[order] ** q, w[order]
    filled = np.concatenate([[0.0], np.cumsum(caps)])
    still_open = np.cumsum(weights[::-1])[::-1]
    # With the n smallest ratios λ^q/w at their caps, the level is (total − filled[n])/(weight of the others).
    n = min(int(np.searchsorted(filled[:-1] + caps / weights * still_open, total)), len(order) - 1)
    level = (total - filled[n]) / still_open[n]
    scales: Array = np.minimum(lam, (level * w) ** (1 / q))
    return scales


def resource_upper(query: VectorQuery, q: int, scales: Array, live: NDArray[np.bool_]) -> float:
    """sup over changes d of Σ |d_i/s_i|^q, rounded up. `scales`: of the coordinates in `live`, positive.

    Rounding: a quotient, a power (within one unit for q ≤ 2) and, where coordinates are coupled, a product and a
    difference of sums: below 16 u of the sum of absolute values; sums are exact (uncoupled) or within K·u.
    """
    slack = 16 if not query.coupled else 16 + 2 * len(scales)
    return _sup(query, q, scales, live) * (1 + slack * UNIT)


def _sup(query: VectorQuery, q: int, scales: Array, live: NDArray[np.bool_]) -> float:
    """max Σ u_i/s_i^q over 0 ≤ u_i ≤ λ_i^q, Σ u_i ≤ Δ_q^q: the smallest scales take what they can."""
    lam = query.profile.array[live]
    if not query.coupled:
        return math.fsum((lam / scales) ** q)
    order = np.argsort(scales)
    caps = lam[order] ** q
    room = np.maximum(query.sensitivity(q) ** q - np.concatenate([[0.0], np.cumsum(caps)[:-1]]), 0.0)
    return math.fsum(np.minimum(caps, room) / scales[order] ** q)
