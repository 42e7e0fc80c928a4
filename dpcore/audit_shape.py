"""The referee for all that a problem asks of a law: its privacy and its budget by the audit's upper bounds, and its
shape: does it stay in its support, is it its own mirror image about 0, does it fall away from 0?

Shapes are decided on the whole numbers that a law is made of, without any tolerance.
"""

from __future__ import annotations

import math

from . import audit
from ._validate import decimal
from .noise.base import Noise
from .problem import NoiseProblem


def admitted(noise: Noise, problem: NoiseProblem) -> tuple[float, float] | None:
    """(δ at the problem's ε rounded up, the shift that attains it, in the query's unit) of a law that the problem
    admits; None of any other."""
    delta_upper, shift = audit.shortfall_upper(noise, problem.privacy.epsilon, problem.sensitivity)
    if delta_upper > problem.privacy.delta or not keeps_shape(noise, problem):
        return None
    if any(audit.delta_upper(noise, p.epsilon, problem.sensitivity) > p.delta for p in problem.privacies[1:]):
        return None
    if problem.budget is not None and audit.loss_upper(noise, problem.budget.loss) > problem.budget.most:
        return None
    return delta_upper, shift


def keeps_shape(noise: Noise, problem: NoiseProblem) -> bool:
    """The law is within the support, and symmetric and monotone where the problem asks for that."""
    if not within(noise, problem.support) or (problem.symmetric and not is_mirrored(noise)):
        return False
    return not problem.monotone or falls_from_zero(noise)


def within(noise: Noise, support: tuple[float, float]) -> bool:
    """No draw lies outside [lo, hi]."""
    lo, hi = support
    first, last = noise.ends
    return (math.isinf(lo) or first >= decimal(lo)) and (math.isinf(hi) or last <= decimal(hi))


def is_mirrored(noise: Noise) -> bool:
    """The law is its own mirror image about 0."""
    return noise.centre == 0


def falls_from_zero(noise: Noise) -> bool:
    """The density does not increase away from 0, and only 0 may be an atom; on a lattice, the probabilities."""
    cells = noise.cells_around_zero
    if cells is None:
        return noise.centre == 0
    zero, breaks, weights = cells
    weights = [0, *weights, 0]
    widths = [1, *(b - a for a, b in zip(breaks, breaks[1:])), 1]
    for x, near, far, near_width, far_width in zip(breaks, weights, weights[1:], widths, widths[1:]):
        rises = far * near_width - near * far_width  # across the end x of two cells, to the right
        if (x > zero and rises > 0) or (x < zero and rises < 0):
            return False
    return True
