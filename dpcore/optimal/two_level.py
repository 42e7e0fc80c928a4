"""A lower bound in closed form that is nearly tight where ε is large [Thm 7]."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import audit
from ..loss import UNIT, Loss
from ..noise.periods import integral_bounds
from ..privacy import Privacy
from ..problem import NoiseProblem
from ..search import bisection, directed_root, geometric

UNEVEN_FROM = 12.0
"""Below, lattices do better for losses that are not even [optimal.peak]."""

CLOSE = 1e-12
"""Relative accuracy of levels and ends."""

LEAST = 1e-9
"""Least half-width of the top step that is looked at, in sensitivities."""

FAR = 50.0
"""What is lacked where there is nothing."""

ABRUPT = 1e-3
"""Beyond an end of the support a loss stays at a level for so many sensitivities: a place that is hardly too far out
should not count much."""

LEAST_END, TRIED = 1e-15, 40
"""Least place, in sensitivities, at which a peak is looked for to end; so many at a time."""


def two_level_lower(problem: NoiseProblem) -> float:
    """A lower bound on the expected loss, rounded down; 0 for losses that do not grow away from 0, and below ε = 12 for
    those that are not even, but for the level that they stay at towards an open end of the support.

    Within a factor 1 − e^{−ε/2} of the optimum for |x|, a few g for other losses, g being the half-width of the
    optimum's top step in sensitivities. Where the peak of such a level can be covered, a uniform law without end is
    optimal, with an atom of δ [Thm 1].
    """
    loss = problem.paid_loss
    if not loss.grows_from_zero:
        return 0.0
    D, level = problem.sensitivity, open_level(problem)
    if level > 0:
        loss = _ended(problem, level)
    if not loss.even:
        return max(
            _uneven_lower(loss, p, D) if p.epsilon >= UNEVEN_FROM else _level_lower(loss, level, p, D)
            for p in problem.privacies
        )
    return max(_lower(loss, privacy, D) for privacy in problem.privacies)


def _ended(problem: NoiseProblem, level: float) -> Loss:
    """The loss, raised beyond ends of the support, where it matters to no law, to cover what is below the level."""
    loss, (lo, hi), width = problem.paid_loss, problem.support, ABRUPT * problem.sensitivity
    if 0 < hi < math.inf and float(loss.value(hi)) < level:
        loss = loss.ended(hi, level, width)
    if -math.inf < lo < 0 and float(loss.value(lo)) < level:
        loss = loss.mirrored.ended(-lo, level, width).mirrored
    return loss


def open_level(problem: NoiseProblem) -> float:
    """What the loss stays at towards an open end of the support, or towards both at least; 0 where there is none."""
    pieces, (lo, hi) = problem.paid_loss.pieces, problem.support
    ends = ((pieces[0], lo), (pieces[-1], hi))
    return min((p.constant for p, end in ends if math.isinf(end) and p.coefficient == 0), default=0.0) * (1 - CLOSE)


def _level_lower(loss: Loss, level: float, privacy: Privacy, D: float) -> float:
    """(1 − δ) ℓ + δ c(0) if the shifts can cover the peak of that level, else 0."""
    covered = level > 0 and _covered_apart(loss, level, D, privacy.epsilon)
    return _proved(loss, level, privacy) if covered else 0.0


def _from_zero(share: float) -> Callable[[float, float], float]:
    """The geometric mean of two ends; next to 0 that share of the other."""

    def mean(a: float, b: float) -> float:
        return geometric(a, b) if min(a, b) > 0 else share * max(a, b)

    return mean


def _lower(loss: Loss, privacy: Privacy, sensitivity: float) -> float:
    """ℓ − δ (ℓ − c(0)) for the largest g found whose peak, of the level ℓ ≤ c(g), the shifts can cover."""
    half = sensitivity / 2

    def step(place: float) -> float:
        return min(math.exp(place), half)

    def lacking(g: float) -> float:
        return _lacking(loss, g, sensitivity, privacy.epsilon)

    ends = directed_root(lambda u: lacking(step(u)), math.log(LEAST * sensitivity), math.log(half), within=0.01 * CLOSE)
    low, high = map(step, ends)
    if lacking(low) > 0:
        return 0.0
    low, _ = bisection(lambda g: lacking(g) <= 0, low, high)  # to the last bit
    (least, level), _ = audit.lattice_costs(np.array([0.0, low]), loss)
    return max(0.0, float((1 - privacy.delta) * level + privacy.delta * least) * (1 - 8 * UNIT))


def _lacking(loss: Loss, g: float, sensitivity: float, epsilon: float) -> float:
    """≤ 0 only if 2 ∫_{2g}^{D} (c(φ − s) − ℓ) dφ ≥ e^ε ∫_{−g}^{g} (ℓ − c(x))₊ dx, certainly; s = 0 where c is linear on
    both sides of 0 and g otherwise, ℓ a lower bound of c(g). About the logarithm of what the left side lacks.

    Rounding: integrals are enclosed, D − 2g errs by 2 u D, the products by a few u.
    """
    width = sensitivity - 2 * g + 4 * UNIT * sensitivity
    (level,), (most,) = audit.lattice_costs(np.array([g]), loss)
    back = 0.0 if len(loss.pieces) == 2 and all(p.power == 1 for p in loss.pieces) else g
    cover = integral_bounds(loss, 2 * g - back, sensitivity - back)[0] - width * level * (1 + 4 * UNIT)
    peak = g * most * (1 + 4 * UNIT) - integral_bounds(loss, 0.0, g)[0]
    need = audit.amplification_bounds(epsilon)[1] * max(peak, 0.0) * (1 + 8 * UNIT)
    if cover <= 0:
        return FAR
    if need <= cover:
        return -min(math.log(cover / need), FAR) if need > 0 else -FAR
    return max(math.log(need / cover), UNIT)


def _uneven_lower(loss: Loss, privacy: Privacy, D: float) -> float:
    """(1 − δ) ℓ + δ c(0) for the largest level ℓ found whose peak the shifts can cover."""
    most = min(float(audit.lattice_costs(np.array([0.5 * D]), side)[0][0]) for side in (loss, loss.mirrored))
    if most <= 0:
        return 0.0
    level, _ = bisection(
        lambda level: _covered_apart(loss, level, D, privacy.epsilon),
        0.0,
        most,
        mean=_from_zero(1e-3),
        near=lambda low, high: high - low <= CLOSE * high or high < 1e-30 * most,
        rounds=60,
    )
    return _proved(loss, level, privacy)


def _proved(loss: Loss, level: float, privacy: Privacy) -> float:
    """(1 − δ) ℓ + δ c(0), rounded down."""
    least = float(audit.lattice_costs(np.array([0.0]), loss)[0][0])
    return max(0.0, float((1 - privacy.delta) * level + privacy.delta * least) * (1 - 8 * UNIT))


def _covered_apart(loss: Loss, level: float, D: float, epsilon: float) -> bool:
    """∫_h^{D−g} (c − ℓ) + ∫_g^{D−h} (c(−x) − ℓ) dx ≥ e^ε ∫ (ℓ − c)₊, certainly; [−g, h] holds all places with c < ℓ.

    False, too, where c is below ℓ half a sensitivity away from 0. Rounding: c(h) and c(−g) are at least ℓ by their
    lower bounds; by how much c exceeds ℓ at an end counts for all the peak. Integrals are enclosed, lengths err by
    2 u D, products by a few u.
    """
    right, left = _end(loss, level, D), _end(loss.mirrored, level, D)
    cover = peak = 0.0
    for side, own, other in ((loss, right, left), (loss.mirrored, left, right)):
        width = max(0.0, D - right - left) + 4 * UNIT * D
        cover += integral_bounds(side, own, max(own, (D - other) * (1 - 2 * UNIT)))[0] - width * level * (1 + 4 * UNIT)
        (least,), (most,) = audit.lattice_costs(np.array([own]), side)
        if least < level:
            return False
        over = float(most) - level
        peak += own * (level + 2 * over) * (1 + 4 * UNIT) - integral_bounds(side, 0.0, own)[0]
    if cover <= 0 or right + left >= D:
        return False
    return bool(cover * (1 - 8 * UNIT) >= audit.amplification_bounds(epsilon)[1] * max(peak, 0.0) * (1 + 8 * UNIT))


def _end(side: Loss, level: float, D: float) -> float:
    """A place right of 0 from which on c ≥ ℓ, hardly farther than need be; D/2 if there is none so near."""
    low, high = 0.0, 0.5 * D
    while high - low > CLOSE * high and high >= LEAST_END * D:
        points = np.geomspace(low or LEAST_END * high, high, TRIED)
        short = np.flatnonzero(audit.lattice_costs(points, side)[0] < level)
        last = int(short[-1]) if short.size else -1
        if last + 1 == TRIED:
            break
        low, high = low if last < 0 else float(points[last]), float(points[last + 1])
    return high
