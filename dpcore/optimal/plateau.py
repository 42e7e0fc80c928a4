"""Monotone laws with a plateau in the middle: for losses and supports that are not even [method: groups].

The density rises from one end by e^ε per sensitivity, stays level over a stretch that holds 0, and falls in the same
way. The lower it is, the longer is the stretch; in the extreme, next to an end of the support, the law is uniform.
Where the loss is steeper on one side of 0 the stretch lies on the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._validate import decimal
from ..loss import Loss
from ..loss.primitive import Primitive
from ..noise.piecewise import PiecewiseNoise
from ..places import Places
from ..problem import NoiseProblem
from ..search import least_argument, least_argument_vectorised
from .groups import group_delta
from .lattice import Array
from .laws import FINE, MOST_UNITS
from .step import AUDIT_ROOM

SEEN = 48
"""Cells of each slope while its length is searched for."""

TRIED, ROUNDS = 13, 5
"""Places, and a quarter of the lengths of slopes, tried first; rounds of the search for a place."""


@dataclass(frozen=True)
class _Slopes:
    """A law whose density falls by e^ε at whole sensitivities from the plateau, over `reach` sensitivities on either
    side; what a shift by a sensitivity uncovers is a share δ."""

    reach: float
    epsilon: float
    delta: float

    @property
    def ends(self) -> Array:
        """Ends of the steps of a slope, from the plateau outwards, in sensitivities. (n + 1,)"""
        return np.append(np.arange(math.ceil(self.reach)), self.reach)

    @property
    def masses(self) -> Array:
        """Masses of the steps, the density of the plateau being 1. (n,)"""
        ends = self.ends
        masses: Array = np.exp(-self.epsilon * np.arange(1, len(ends))) * np.diff(ends)
        return masses

    @property
    def middle(self) -> float:
        """Length of the plateau, in sensitivities."""
        ends, masses = self.ends, self.masses
        last = np.maximum(ends[1:] - np.maximum(ends[:-1], self.reach - 1), 0) / np.diff(ends)
        uncovered = float(masses @ last) + max(1 - self.reach, 0.0)
        return uncovered / self.delta - 2 * float(masses.sum())

    def span(self, lo: float, hi: float) -> tuple[float, float]:
        """Where the plateau may begin, between the ends of a support; empty if the first is the larger one."""
        middle = self.middle
        return max(-middle, lo + self.reach), min(0.0, hi - middle - self.reach)

    def cells(self) -> tuple[Array, Array]:
        """(ends from the begin of the plateau, masses), of a few cells that stand for many steps each."""
        ends, sums = self.ends, np.concatenate([[0.0], np.cumsum(self.masses)])
        kept = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), SEEN)).astype(int))
        side, middle = np.diff(sums[kept]), self.middle
        return np.concatenate([-ends[kept][::-1], middle + ends[kept]]), np.concatenate([side[::-1], [middle], side])


def plateau(problem: NoiseProblem) -> PiecewiseNoise | None:
    """The monotone law with a plateau that costs least; None where the law may be symmetric or need not be monotone, or
    the support is too narrow."""
    privacy, loss, D = problem.privacy, problem.loss, problem.sensitivity
    if not problem.monotone or problem.folds or privacy.delta == 0 or len(problem.privacies) > 1:
        return None
    delta = privacy.delta * (1 - 1e-9) - min(AUDIT_ROOM, privacy.delta / 2)
    resolution = min(FINE, 1 << max(6, math.floor(math.log2(float(MOST_UNITS) * delta)) - 3))
    grid = Places.of(0.0, D, resolution, [0])
    lo, hi = (grid.position(end) for end in problem.support)
    ends = float(lo) / resolution, float(hi) / resolution

    integral = Primitive(loss, 0.0)

    def best_begin(slopes: _Slopes) -> tuple[float, float]:
        """(cost, where the plateau begins)."""
        first, last = slopes.span(*ends)
        if not (first <= last and slopes.middle > 0):
            return math.inf, 0.0
        breaks, masses = slopes.cells()
        masses = masses / masses.sum()

        density = masses / (np.diff(breaks) * D)

        def costs(begin: Array) -> Array:
            found: Array = np.diff(integral((begin[:, None] + breaks) * D)) @ density
            return found

        begin = least_argument_vectorised(costs, np.linspace(first, last, TRIED), ROUNDS)
        return float(costs(np.array([begin]))[0]), begin

    def slopes(reach: float) -> _Slopes:
        return _Slopes(math.floor(reach * resolution) / resolution, privacy.epsilon, delta)

    most = min(2 * privacy.truncation(delta), -ends[0], ends[1]) if privacy.epsilon else 0.0  # slopes would be level
    found = slopes(
        least_argument(lambda reach: best_begin(slopes(reach))[0], np.linspace(0, most, 4 * TRIED), tolerance=1e-6)
    )
    cost, begin = best_begin(found)
    if not math.isfinite(cost):
        return None
    side = np.round(found.ends * resolution).astype(np.int64)
    wide, start = math.ceil(found.middle * resolution), round(begin * resolution)
    start = max(start, -wide, math.ceil(lo) + int(side[-1]) if math.isfinite(lo) else start)
    start = min(start, 0, math.floor(hi) - wide - int(side[-1]) if math.isfinite(hi) else start)
    breaks = np.concatenate([start - side[::-1], start + wide + side])
    masses = np.concatenate([found.masses[::-1], [wide / resolution], found.masses])
    return PiecewiseNoise.from_masses(
        sensitivity=D,
        resolution=resolution,
        breaks=breaks,
        masses=masses,
        monotone=True,
        name="Geometric slopes and a plateau",
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
        before = delta * float(t) * E**i + group_delta(privacy, i)
        rate = (delta + math.expm1(privacy.epsilon) * before) * room / D
        start = (delta + E * before) * room
        if start >= 1:
            continue
        ends = D + (1 - start) / rate * (1 - ROUNDING) * np.linspace(0, 1, CELLS + 1) ** 2
        means = np.maximum(loss.mean(ends[:-1], ends[1:]) - loss.rounding(ends[:-1], ends[1:]), 0.0)
        best = max(best, math.fsum(means * np.diff(ends)) * rate * (1 - ROUNDING))
    return best
