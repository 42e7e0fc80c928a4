"""Monotone laws with a plateau in the middle: for losses and supports that are not even [method: groups].

The density rises from δ/D at one end by e^ε per sensitivity, stays level over a stretch that holds 0, and falls back to
δ/D in the same way. The lower it is, the longer is the stretch; in the extreme, next to an end of the support, the law
is uniform. Where the loss is steeper on one side of 0 the stretch lies on the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._validate import decimal
from ..loss import Loss
from ..noise.piecewise import PiecewiseNoise
from ..places import Places
from ..problem import NoiseProblem
from ..search import least_argument
from .lattice import Array
from .laws import FINE, MOST_UNITS, SEARCHED_TO
from .step import AUDIT_ROOM

STEPS = (1, 2, 4, 16, 64)
"""Steps of the density to the sensitivity that are tried, until there are `ENOUGH` to the half-width."""

ENOUGH = 64

SEEN = 48
"""Cells of each slope while its length is searched for."""

TRIED = 13
"""Lengths of slopes, and places, tried first."""


@dataclass(frozen=True)
class _Slopes:
    """A law with n steps on either slope, k to the sensitivity, and a plateau `middle` steps long; what a shift by a
    sensitivity uncovers is a share δ."""

    n: int
    k: int
    epsilon: float
    delta: float

    @property
    def levels(self) -> Array:
        """Densities of the steps outwards, that of the plateau being 1. (n,)"""
        return np.exp(-self.epsilon * np.arange(1, self.n + 1) / self.k)

    @property
    def middle(self) -> float:
        levels = self.levels
        uncovered = float(levels[max(self.n - self.k, 0) :].sum()) + max(self.k - self.n, 0)
        return uncovered / self.delta - 2 * float(levels.sum())

    def span(self, lo: float, hi: float) -> tuple[float, float]:
        """Where the plateau may begin, in steps from 0, between ends of a support in steps; empty if the first is the
        larger one."""
        middle = self.middle
        return max(-middle, lo + self.n), min(0.0, hi - middle - self.n)

    def cells(self) -> tuple[Array, Array]:
        """(ends in steps from the begin of the plateau, masses), of a few cells that stand for many steps each."""
        stops = np.unique(np.round(np.linspace(0, self.n, min(self.n, SEEN) + 1)).astype(int))
        sums = np.concatenate([[0.0], np.cumsum(self.levels)])
        side, middle = np.diff(sums[stops]), self.middle
        return np.concatenate([-stops[::-1], middle + stops]), np.concatenate([side[::-1], [middle], side])


def plateau(problem: NoiseProblem) -> PiecewiseNoise | None:
    """The monotone law with a plateau that costs least; None where the law may be symmetric or need not be monotone, or
    the support is too narrow."""
    privacy, loss = problem.privacy, problem.loss
    if not problem.monotone or problem.folds or privacy.delta == 0 or len(problem.privacies) > 1:
        return None
    delta = privacy.delta * (1 - 1e-9) - min(AUDIT_ROOM, privacy.delta / 2)
    reach = privacy.truncation(delta)
    k = next((k for k in STEPS if reach * k >= ENOUGH), STEPS[-1])
    resolution = min(FINE, 1 << max(6, math.floor(math.log2(float(MOST_UNITS) * delta)) - 3))
    step = problem.sensitivity / k
    grid = Places.of(0.0, problem.sensitivity, resolution, [0])
    lo, hi = (grid.position(end) for end in problem.support)
    cell = resolution // k
    ends = float(lo) / cell, float(hi) / cell

    def best_begin(slopes: _Slopes) -> tuple[float, float]:
        """(cost, where the plateau begins)."""
        first, last = slopes.span(*ends)
        if not (first <= last and slopes.middle > 0):
            return math.inf, 0.0
        breaks, masses = slopes.cells()
        masses = masses / masses.sum()

        def cost(begin: float) -> float:
            places = (breaks + begin) * step
            return float(masses @ loss.mean(places[:-1], places[1:]))

        begin = least_argument(cost, np.linspace(first, last, TRIED), tolerance=SEARCHED_TO)
        return cost(begin), begin

    def slopes(n: float) -> _Slopes:
        return _Slopes(round(n), k, privacy.epsilon, delta)

    most = 2 * math.ceil(reach * k)
    n = least_argument(lambda n: best_begin(slopes(n))[0], np.linspace(0, most, 4 * TRIED), tolerance=1e-3)
    found = slopes(n)
    cost, begin = best_begin(found)
    if not math.isfinite(cost):
        return None
    wide = math.ceil(found.middle * cell)
    start = round(begin * cell)
    start = max(start, -wide, math.ceil(lo) + found.n * cell if math.isfinite(lo) else start)
    start = min(start, 0, math.floor(hi) - wide - found.n * cell if math.isfinite(hi) else start)
    steps = cell * np.arange(found.n + 1, dtype=np.int64)
    breaks = np.concatenate([start - steps[::-1], start + wide + steps])
    masses = np.concatenate([found.levels[::-1], [wide / cell], found.levels])
    return PiecewiseNoise.from_masses(
        sensitivity=problem.sensitivity,
        resolution=resolution,
        breaks=breaks,
        masses=masses,
        monotone=True,
        name="Truncated geometric with a plateau",
    )


CELLS = 2000
"""Cells on which the loss is averaged from below."""

ROUNDING = 1e-13
"""Relative; more than a few products, quotients and an exponential err by."""


def plateau_lower(problem: NoiseProblem) -> float:
    """What monotone laws pay at least on a support with an end not far from 0, though further than D (for nearer ones
    see `one_sided`), rounded down [method: groups]; 0 where that says nothing."""
    loss, (lo, hi) = problem.paid_loss, problem.support
    if not problem.monotone or not loss.grows_from_zero:
        return 0.0
    return max(_beyond(problem, loss, lo), _beyond(problem, loss.mirrored, -hi))


def _beyond(problem: NoiseProblem, loss: Loss, lo: float) -> float:
    """With lo = −(i + t) D the left end of the support, 0 ≤ t < 1 ≤ i, f = δ (t E^i + 1 + … + E^(i − 1)) is at least
    F(0); so F(D) ≤ T = δ + E f, and F(x) ≤ T + P (x − D)/D beyond D, where P = δ + (E − 1) f."""
    D, best = problem.sensitivity, 0.0
    for privacy in problem.privacies:
        if not (D <= -lo and privacy.epsilon * -lo < D):
            continue
        i, t = divmod(-decimal(lo) / decimal(D), 1)
        E, delta, room = math.exp(privacy.epsilon), privacy.delta, 1 + ROUNDING * (i + 1)
        before = delta * (float(t) * E**i + math.fsum(E**n for n in range(i)))
        rate = (delta + math.expm1(privacy.epsilon) * before) * room / D
        start = (delta + E * before) * room
        if start >= 1:
            continue
        ends = D + (1 - start) / rate * (1 - ROUNDING) * np.linspace(0, 1, CELLS + 1) ** 2
        means = np.maximum(loss.mean(ends[:-1], ends[1:]) - loss.rounding(ends[:-1], ends[1:]), 0.0)
        best = max(best, math.fsum(means * np.diff(ends)) * rate * (1 - ROUNDING))
    return best
