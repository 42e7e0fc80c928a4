"""Supports without what next to no law reaches, for lower bounds at tiny δ [method: trimmed].

Within m sensitivities of an end of the support a law has at most δ_m = δ(e^{mε} − 1)/(e^ε − 1), in the last of them at
most δe^{(m−1)ε}. Given that it keeps away from there, it is (ε, δ(1 + e^{mε})/(1 − δ_m))-DP. At a larger δ nearer to
the middle, linear programs see all that matters.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .._validate import decimal
from ..errors import InputError
from ..privacy import Privacy
from ..problem import NoiseProblem
from .groups import ROUNDING, group_delta
from .step import end_moves

BELOW = 1e-8
"""A larger δ is no obstacle to a linear program."""

DEEP = 4.5
"""Least mε: e^{−mε} is the share of δ that is lost."""

SHARE = 1e-5
"""Up to this share of the value is what a trimmed end costs."""


def trimmed(problem: NoiseProblem) -> tuple[NoiseProblem, float]:
    """(a problem, a factor): that problem's value times the factor is at most this problem's. The problem itself and 1
    where no end of the support is near or δ is no obstacle."""
    privacy, alone = problem.privacy, problem.budget is None and len(problem.privacies) == 1
    if not alone or problem.monotone or problem.folds or not 0 < privacy.delta < BELOW or privacy.epsilon == 0:
        return problem, 1.0
    m = math.floor(math.log1p(SHARE * math.expm1(privacy.epsilon) / privacy.delta) / privacy.epsilon)
    if m * privacy.epsilon < DEEP or end_moves(problem) == 0:
        return problem, 1.0
    best, D = problem.paid_loss.minimiser(*problem.support)[0], decimal(problem.sensitivity)
    reach = problem.joint.truncation() * problem.sensitivity
    ends, lost = list(problem.support), 0.0
    for side, sign in ((0, 1), (1, -1)):
        if abs(ends[side] - best) < reach:
            inner = decimal(ends[side]) + sign * m * D
            ends[side] = float(inner)
            while sign * (decimal(ends[side]) - inner) > 0:
                ends[side] = math.nextafter(ends[side], -sign * math.inf)
            lost += group_delta(privacy, m)
    try:
        delta = privacy.delta * (1 + math.exp(m * privacy.epsilon)) * (1 + ROUNDING) / (1 - lost)
        less = Privacy(privacy.epsilon, delta * (1 + ROUNDING))
        return replace(problem, privacy=less, support=(ends[0], ends[1])), (1 - lost) * (1 - ROUNDING)
    except InputError:  # too narrow
        return problem, 1.0
