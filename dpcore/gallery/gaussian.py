"""Gaussian noise by a formula: σ = D √(2 ln(K/δ))/ε, and what it really keeps [Awan, §9.3].

K = 1.32 in [Awan, Thm. 9.3], 1.25 in [DR14, Thm. A.1], both for ε ≤ 1; `noise.Gaussian.calibrate` finds the least σ
[BW18].

What such noise keeps is exact: with c = √(2 ln(K/δ)), δ(ε) = Φ(ε/2c − c) − e^ε Φ(−ε/2c − c), whose derivative by ε is
φ(ε/2c − c)·(1/c − M(ε/2c + c)) > 0, since Mills' ratio M(b) is below 1/b. So it rises with ε, and each K is enough
up to one ε (`valid_until`) and too small beyond.
"""

from __future__ import annotations

import math

from .._validate import above
from ..errors import InputError
from ..noise import Gaussian
from ..noise.gaussian import gaussian_delta
from ..privacy import Privacy
from ..search import smallest_passing

CONSTANTS = {"1.25": 1.25, "1.32": 1.32, "0.66": math.sqrt(math.e / (2 * math.pi))}
"""K of the literature; of the notes; and of the notes' own proof if only the tail that [Awan, Lemma 6] asks for is
bounded: P(Z > t) ≤ φ(t)/t with t = c − ε/2c ≥ 1 and t² ≥ c² − 1 for ε ≤ 1, c ≥ 3/2, so √(e/2π)·e^(−c²/2) ≤ δ."""


def factor(constant: float, delta: float) -> float:
    """c = √(2 ln(K/δ)); σ = c·D/ε.

    Raises
    ------
    InputError : δ is not below K, where the formula has no answer.
    """
    constant, delta = above(0, 100, constant=constant), above(0, 1, delta=delta)
    if delta >= constant:
        raise InputError("delta", delta, f"a number below {constant:.4g}, with this constant")
    return math.sqrt(2 * math.log(constant / delta))


def kept_delta(constant: float, privacy: Privacy) -> float:
    """δ(ε) of the formula's noise [BW18, Thm. 8], relative error below 1e-11."""
    return gaussian_delta(factor(constant, privacy.delta) / above(0, 1e6, epsilon=privacy.epsilon), privacy.epsilon)


def valid_until(constant: float, delta: float) -> float:
    """The largest ε up to which the formula's noise is (ε, δ)-DP, to rounding; all smaller ε are as well."""
    c = factor(constant, delta)
    return 1 / smallest_passing(lambda inverse: gaussian_delta(c * inverse, 1 / inverse) <= delta, 1.0)


def least_constant(privacy: Privacy) -> float:
    """The least K whose noise is (ε, δ)-DP: δ·e^(c²/2) at the least σ = c·D/ε; relative error below 1e-8."""
    return privacy.delta * math.exp(0.5 * (Gaussian.calibrate(privacy, 1.0).sigma * privacy.epsilon) ** 2)
