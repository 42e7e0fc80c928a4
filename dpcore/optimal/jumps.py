"""The probability of an error beyond a threshold: a lower bound, and staircases cut where δ allows [method: jumps].

The two differ by less than 2δ of the loss at δ = 0, whatever ε and the threshold are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .._validate import decimal
from ..loss import UNIT, Loss
from ..noise.flanked import FlankedNoise
from ..noise.piecewise import PiecewiseNoise
from ..noise.whole import TOTAL
from ..privacy import Privacy
from ..problem import NoiseProblem
from .lattice import Array
from .step import AUDIT_ROOM

FINEST = 1 << 40
"""Most units per sensitivity in which a threshold is told."""

MOST_PERIODS = 40_000
"""Sensitivities on either side of the threshold that a law may reach."""

NO_MATTER = 1e-5
"""Below this δ the shorter law is taken: an atom gains less than δ."""

FAR = 1e-6
"""Share of δ that may lie in the last sensitivity of a staircase that has an atom."""


def threshold(loss: Loss) -> float | None:
    """t where the loss is 1 for errors beyond ±t and 0 for others, up to a factor; None for other losses."""
    if not loss.even or len(loss.jumps) != 2 or not loss.grows_from_zero:
        return None
    outer, inner = loss.pieces[-1], loss.infimum(0.0, 0.0)
    flat = all(p.coefficient == 0 for p in loss.pieces)
    return outer.lo if flat and inner == 0 else None


def exceed_lower(problem: NoiseProblem) -> float:
    """What every law pays at least, rounded down; 0 for losses that have no threshold [method: jumps]."""
    t = threshold(problem.paid_loss)
    if t is None:
        return 0.0
    size = problem.paid_loss.infimum(math.nextafter(t, math.inf), math.inf)
    exact = decimal(t) / decimal(problem.sensitivity)
    return max(0.0, size * max(_beyond(exact, p) for p in problem.privacies) * (1 - 2 * UNIT))


LAYERS, MOST = 64, 1e300
"""Ends of intervals beyond a stretch without loss, on either side, over two sensitivities."""


def layers_lower(problem: NoiseProblem) -> float:
    """What every law pays at least where the loss is 0 on a stretch, rounded down; 0 for other losses [method: jumps].

    For nested intervals and levels h_1 ≤ h_2 ≤ … that the loss has at least outside of them, c is at least
    Σ (h_i − h_(i−1)) 1{x outside interval i}, and a law moved to the middle of an interval is as private. Rounding:
    intervals are rational, their halves in sensitivities rounded up; all terms are ≥ 0.
    """
    loss, (lo, hi), D = problem.paid_loss, problem.support, problem.sensitivity
    free = [x for x in loss.breaks.tolist() if lo <= x <= hi and float(loss.value(x)) == 0]
    if len(free) < 2:
        return 0.0
    left, right = min(free), max(free)
    away = 2 * D * np.arange(LAYERS + 1) / LAYERS
    lefts, rights = left - away, right + away
    below = np.maximum.accumulate([loss.infimum(lo, x) if lo < x else math.inf for x in lefts.tolist()])
    above = np.maximum.accumulate([loss.infimum(x, hi) if x < hi else math.inf for x in rights.tolist()])
    levels = sorted({h for h in (*below.tolist(), *above.tolist()) if 0 < h <= min(below[-1], above[-1], MOST)})
    total, before = 0.0, 0.0
    for level in levels:
        a, b = (ends[np.searchsorted(least, level)] for ends, least in ((lefts, below), (rights, above)))
        half = (Fraction(float(b)) - Fraction(float(a))) / (2 * decimal(D))
        half = Fraction(math.ceil(half * FINEST), FINEST)
        total += (level - before) * max(_beyond(half, p) for p in problem.privacies) * (1 - 8 * UNIT)
        before = level
    return max(0.0, total * (1 - 4 * LAYERS * UNIT))


def _beyond(exact: Fraction, privacy: Privacy) -> float:
    """V₀ − 2δ((1 − b^(n+1))/(e^ε − 1) + (1 − b)V₀), at most the probability of errors beyond so many sensitivities.

    Rounding: V₀ = b^(n+1)/(f + b(1 − f)) falls with e^ε; b^(n+1) errs by (n + 1)·ε·u for what the exponent's product
    loses and as much for that of ε itself, all else by some 32 u, and the two terms' difference by u of either.
    """
    epsilon, delta = privacy.epsilon, privacy.delta
    n = math.floor(exact)
    f = float(exact - n)
    if epsilon == 0 or (n + 1) * epsilon > 600:
        return 0.0
    b, rounding = math.exp(-epsilon), (32 + 4 * (n + 1) * (1 + epsilon)) * UNIT
    pure = math.exp(-(n + 1) * epsilon) / (f + b * (1 - f))
    price = -math.expm1(-(n + 1) * epsilon) / math.expm1(epsilon) + -math.expm1(-epsilon) * pure
    return max(0.0, (1 - 8 * UNIT) * (pure * (1 - rounding) - 2 * delta * price * (1 + rounding)))


FEW, LEAST_RATIO, FLOATS = 1e5, 1e-15, 1.2e-14
"""A step of so few whole weights or fewer would be rounded by what counts; the least ratio to the step before it, and
what an audit of a law whose steps go on for ever, in floats, may round up."""


@dataclass(frozen=True)
class _Steps:
    """Masses of a staircase with steps at the threshold and whole sensitivities from it.

    side, centre, atom : of the steps on one side, of the middle, of a point at 0.   middle : where the first step
    begins, in units of 1/`resolution` of a sensitivity.
    """

    problem: NoiseProblem
    resolution: int
    middle: int
    side: Array
    centre: float
    atom: float

    @property
    def law(self) -> PiecewiseNoise:
        breaks = self.middle + self.resolution * np.arange(len(self.side) + 1, dtype=np.int64)
        return PiecewiseNoise.from_masses(
            sensitivity=self.problem.sensitivity,
            resolution=self.resolution,
            breaks=np.concatenate([-breaks[::-1], breaks if self.middle else breaks[1:]]),
            masses=np.concatenate([self.side[::-1], np.full(int(self.middle > 0), self.centre), self.side]),
            atom=self.atom,
            name="Cut staircase",
            monotone=self.problem.monotone,
        )


def cut_staircases(problem: NoiseProblem) -> list[PiecewiseNoise]:
    """A staircase with steps at the threshold and whole sensitivities from it, cut where δ allows: two of neighbouring
    lengths mixed so that they use up δ, or, where that costs less, one so long that its end hardly counts, with an
    atom; none if none fits. What a shift by the sensitivity leaves uncovered is the last step on one side; other
    shifts leave less."""
    steps = _mixed(problem)
    return [] if steps is None else [steps.law]


def endless_staircase(problem: NoiseProblem) -> FlankedNoise | None:
    """The mixture without an end, where nothing ends the support and its last step, beyond the threshold, is of few
    whole weights: steps go on for ever, the first of them as high, for such a ratio is a number of its own."""
    steps, t = _mixed(problem, FLOATS), threshold(problem.paid_loss)
    if steps is None or t is None or steps.atom or not problem.whole_line:
        return None
    if len(steps.side) <= max(1, math.floor(decimal(t) / decimal(problem.sensitivity))):
        return None
    before, last = steps.side[-2:].tolist()
    if not LEAST_RATIO * before < last <= FEW / TOTAL:
        return None
    core = replace(steps, side=np.append(steps.side[:-2], before + last))
    return FlankedNoise(core.law, math.ceil(last / before * TOTAL))


def _mixed(problem: NoiseProblem, spared: float = 0.0) -> _Steps | None:
    """The masses, with so much of δ left over; None if no staircase fits."""
    t, epsilon, delta = threshold(problem.paid_loss), problem.joint.epsilon, problem.joint.delta
    if t is None or epsilon == 0:
        return None
    exact, D = decimal(t) / decimal(problem.sensitivity), decimal(problem.sensitivity)
    resolution = min(exact.denominator, FINEST)
    middle = math.floor(exact * resolution) % resolution
    ends = [abs(decimal(end)) / D for end in problem.support if math.isfinite(end)]
    room = min([MOST_PERIODS, *(math.floor(end - Fraction(middle, resolution)) for end in ends)])
    longest = min(room, math.ceil(math.log(1 / (FAR * delta)) / epsilon) + math.floor(exact) + 1)
    if longest < 1 or not problem.support[0] <= 0 <= problem.support[1]:
        return None
    delta -= AUDIT_ROOM + 2 * longest / TOTAL + spared  # what rounding up to whole weights costs, too
    levels = np.exp(-epsilon * np.arange(1, longest + 1))
    totals = 2 * (middle / resolution + np.cumsum(levels))
    lasts = levels / totals  # fall
    fitting = np.flatnonzero(lasts <= delta)
    if not fitting.size:
        return None
    m, shares, atom = int(fitting[0]), {longest: 1.0}, (delta - lasts[-1]) / (1 - lasts[-1])
    if m and (delta < NO_MATTER or 2 * exact >= 1):
        share, atom = (delta - lasts[m]) / (lasts[m - 1] - lasts[m]), 0.0
        shares = {m + 1: 1 - share, m: share}
    side, centre = np.zeros(max(shares)), 0.0
    for steps, share in shares.items():
        side[:steps] += (1 - atom) * share * levels[:steps] / totals[steps - 1]
        centre += (1 - atom) * share * 2 * middle / resolution / totals[steps - 1]
    return _Steps(problem, resolution, middle, side, centre, atom)
