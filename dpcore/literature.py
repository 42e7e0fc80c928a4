"""Bounds from the literature: the lines to beat."""

from __future__ import annotations

import math

import numpy as np

from .errors import InputError
from .loss import UNIT, Loss
from .loss.cells import lattice_costs
from .noise.steps import lattice_points
from .privacy import SENSITIVITY, Privacy

TERMS = 1 << 20
"""Terms of a sum at most, of whose partial sums each is a bound: at ε = 0 it would have 1/(2δ)."""


def amplitude_lower(privacy: Privacy, sensitivity: float) -> float:
    """A lower bound of E|X| over all (ε, δ)-DP additive noise, rounded down [G20, rigorous form].

    Let X be symmetric (reflection and mixing cost nothing for |x|), q_m = P(X ≥ mD), E = e^ε, b = 1/E. Then
    q_0 ≥ ½ and q_{m+1} ≥ (q_m − δ)/E, hence q_m ≥ ½b^m − δ(1 − b^m)/(E − 1), and tails fall, so
    E|X| ≥ 2D Σ_{m≥1} max(0, q_m). Every partial sum is a bound too: a last term misjudged by rounding is harmless.

    ε = 0: q_m ≥ ½ − mδ. δ = 0: the sum is D/(E − 1). 0 where no term is positive, δ ≥ ½ among others.
    Cost: one term per sensitivity of the truncated Laplace half-width, at most some 60 000.
    """
    D = SENSITIVITY.check(sensitivity)
    epsilon, delta = privacy.epsilon, privacy.delta
    if delta == 0:
        return D / math.expm1(epsilon) * (1 - 16 * UNIT)
    if epsilon == 0:
        terms = math.floor(1 / (2 * delta))
        # ½n − δn(n + 1)/2 = ½n(1 − δ(n + 1)): the bracket errs by 2 units of 1 at most
        return max(0.0, D * terms * (1 - delta * (terms + 1) - 8 * UNIT) * (1 - 8 * UNIT))
    m = np.arange(1, math.ceil(privacy.truncation()) + 2, dtype=float)
    gain = 0.5 * np.exp(-m * epsilon)
    price = delta * -np.expm1(-m * epsilon) / math.expm1(epsilon)
    # The product mε errs by a relative unit, hence e^−mε by (mε + 1) units; the other operations by a few more.
    slack = (8 + 2 * m * epsilon) * UNIT * (gain + price)
    return 2 * D * math.fsum(np.maximum(gain - price - slack, 0.0)) * (1 - 8 * UNIT)


def even_lower(privacy: Privacy, sensitivity: float, loss: Loss) -> float:
    """A lower bound of E c(X) over all (ε, δ)-DP additive noise for even losses that do not fall away from 0, rounded
    down; for |x| it is `amplitude_lower`.

    With q_m = P(X ≥ mD) as there, E c(X) ≥ c(0) + 2 Σ_{m≥1} (c(mD) − c((m−1)D)) max(0, q_m): summation by parts over
    the steps of c, each counted from the multiple of D at which X has passed it. Every partial sum is a bound.

    Raises
    ------
    InputError : another kind of loss.
    """
    if loss.spec == "l1":
        return amplitude_lower(privacy, sensitivity)
    if not (loss.even and loss.grows_from_zero):
        raise InputError("loss", loss.spec, "an even loss that does not fall away from 0")
    D = SENSITIVITY.check(sensitivity)
    epsilon, delta = privacy.epsilon, privacy.delta
    reach = 1 / (2 * delta) if epsilon == 0 else privacy.truncation() if delta else 40 / epsilon
    m = np.arange(0, min(math.ceil(reach) + 2, TERMS), dtype=float)
    shrink = np.exp(-m[1:] * epsilon)
    price = delta * (m[1:] if epsilon == 0 else -np.expm1(-m[1:] * epsilon) / math.expm1(epsilon))
    slack = (8 + 2 * m[1:] * epsilon) * UNIT * (0.5 * shrink + price)
    tails = np.maximum(0.5 * shrink - price - slack, 0.0)
    low, high = lattice_costs(lattice_points(0, len(m), D), loss)
    rises = np.maximum((low[1:] - high[:-1]) * (1 - 2 * UNIT), 0.0)
    return max(float(low[0]) + 2 * math.fsum(rises * tails) * (1 - 8 * UNIT), 0.0)
