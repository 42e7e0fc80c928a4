"""A lower bound in closed form that is nearly tight where ε is large [Thm 7]."""

from __future__ import annotations

import math

from ..loss import Loss
from ..privacy import Privacy
from ..problem import NoiseProblem

SLACK = 1e-10
"""Relative; covers the rounding of two means of the loss, of e^ε and of a few operations (each below 1e-12)."""


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
    """c(g) − δ (c(g) − c(0)) for the largest g found whose peak the shifts can cover."""
    low, high = 0.0, sensitivity / 2
    for _ in range(60):
        g = math.sqrt(low * high) if low > 0 else high * 1e-6
        covered = _cover(loss, g, sensitivity) >= privacy.amplification * _peak(loss, g) * (1 + SLACK)
        low, high = (g, high) if covered else (low, g)
        if high - low <= 1e-13 * high or (low == 0 and high < 1e-9 * sensitivity):
            break
    if low == 0:
        return 0.0
    level, least = float(loss.value(low)), float(loss.value(0.0))
    return max(0.0, (level - privacy.delta * (level - least)) * (1 - SLACK))


def _peak(loss: Loss, g: float) -> float:
    """∫_{−g}^{g} (c(g) − c(x)) dx."""
    return 2 * g * max(0.0, float(loss.value(g)) - float(loss.mean(0.0, g)))


def _cover(loss: Loss, g: float, sensitivity: float) -> float:
    """2 ∫_{2g}^{D} (c(φ − s) − c(g)) dφ, s = 0 where c is linear on both sides of 0 and g otherwise."""
    if 2 * g >= sensitivity:
        return 0.0
    back = 0.0 if len(loss.pieces) == 2 and all(p.power == 1 for p in loss.pieces) else g
    mean = float(loss.mean(2 * g - back, sensitivity - back))
    return 2 * (sensitivity - 2 * g) * max(0.0, mean - float(loss.value(g)))
