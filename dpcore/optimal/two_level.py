"""A lower bound in closed form that is nearly tight where ε is large [Thm 7]."""

from __future__ import annotations

import numpy as np

from .. import audit
from ..loss import UNIT, Loss
from ..noise.periods import integral_bounds
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import bisection, geometric


def two_level_lower(problem: NoiseProblem) -> float:
    """A lower bound on the expected loss, rounded down; 0 for losses that are not even or do not grow away from 0.

    Within a factor 1 − e^{−ε/2} of the optimum for |x|, a few g for other losses, g being the half-width of the
    optimum's top step in sensitivities.
    """
    loss = problem.paid_loss
    if not loss.even or not loss.grows_from_zero:
        return 0.0
    return max(_lower(loss, privacy, problem.sensitivity) for privacy in problem.privacies)


def _lower(loss: Loss, privacy: Privacy, sensitivity: float) -> float:
    """ℓ − δ (ℓ − c(0)) for the largest g found whose peak, of the level ℓ ≤ c(g), the shifts can cover."""
    low, _ = bisection(
        lambda g: _covered(loss, g, sensitivity, privacy.epsilon),
        0.0,
        sensitivity / 2,
        mean=lambda low, high: geometric(low, high) if low > 0 else high * 1e-6,
        near=lambda low, high: high - low <= 1e-13 * high or (low == 0 and high < 1e-9 * sensitivity),
        rounds=60,
    )
    if low == 0:
        return 0.0
    (least, level), _ = audit.lattice_costs(np.array([0.0, low]), loss)
    return max(0.0, float((1 - privacy.delta) * level + privacy.delta * least) * (1 - 8 * UNIT))


def _covered(loss: Loss, g: float, sensitivity: float, epsilon: float) -> bool:
    """2 ∫_{2g}^{D} (c(φ − s) − ℓ) dφ ≥ e^ε ∫_{−g}^{g} (ℓ − c(x))₊ dx, certainly; s = 0 where c is linear on both sides
    of 0 and g otherwise, ℓ a lower bound of c(g).

    Rounding: integrals are enclosed, D − 2g errs by 2 u D, the products by a few u.
    """
    width = sensitivity - 2 * g + 4 * UNIT * sensitivity
    (level,), (most,) = audit.lattice_costs(np.array([g]), loss)
    back = 0.0 if len(loss.pieces) == 2 and all(p.power == 1 for p in loss.pieces) else g
    cover = integral_bounds(loss, 2 * g - back, sensitivity - back)[0] - width * level * (1 + 4 * UNIT)
    peak = g * most * (1 + 4 * UNIT) - integral_bounds(loss, 0.0, g)[0]
    return bool(cover >= audit.amplification_bounds(epsilon)[1] * max(peak, 0.0) * (1 + 8 * UNIT) and cover > 0)
