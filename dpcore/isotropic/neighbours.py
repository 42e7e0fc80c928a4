"""A radial law beside itself one sensitivity away: the pair that all its neighbours are dominated by, for accounting.

For a density that falls outwards the largest shift is the worst one at every ε (docs/isotropic.md, "One shift"), so its
pair of laws is the dominating pair, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ..accounting.curves import least_epsilon
from ..accounting.loss_grids import CLOSED_FORM
from ..accounting.mechanisms import Composable
from ..errors import SolverError
from ..noise.whole import TOTAL
from ..pair import FinitePair
from . import balls
from .audit import crescent
from .balls import Ball
from .law import RadialNoise
from .problem import Array
from .solution import IsotropicSolution

SURE = 1e-11
"""Relative error of an outcome's probability; accounting allows 1e-10."""

UNSEEN = 1e-26
"""Outcomes less probable in all may be off by more."""

ULPS = 4
"""Units in the last place by which a loss may be off: a quotient of whole numbers and its logarithm are rounded."""


def neighbours(noise: RadialNoise, *, upper: bool) -> FinitePair:
    """The law P and the law Q of X + s·e, s the sensitivity, by what both tell apart: the shells of |x| and |x − s·e|.

    An outcome in shells i and j has a volume that is a second difference of crescents; P and Q give it the volume times
    the densities in i and in j. The atom of either law, and what leaves its support, are impossible under the other.

    upper : losses are rounded up, so that the pair dominates; else down. Either is off by some units in the last place.
    """
    return _merged(*_outcomes(noise), upper)


@lru_cache(maxsize=4)
def _outcomes(noise: RadialNoise) -> tuple[Array, Array, Array]:
    """(probabilities under P, under Q, losses) of all outcomes."""
    bits = balls.FIRST
    while bits <= balls.MOST:
        with balls.precision(bits):
            found = _counted(noise)
        if found is not None:
            return found
        bits *= 2
    raise SolverError("ball arithmetic did not narrow the neighbours of a radial law down")


def _counted(noise: RadialNoise) -> tuple[Array, Array, Array] | None:
    """As `_outcomes`; None where the precision of the balls does not suffice."""
    d, s, weights = noise.dimension, noise.resolution, noise.weights.tolist()
    n = int(np.flatnonzero(noise.weights)[-1]) + 1 if noise.weights.any() else 0
    breaks, volumes = noise.breaks.tolist()[: n + 1], noise.volumes[:n]
    own, other, losses = [noise.atom_mass, 0.0], [0.0, noise.atom_mass], [math.inf, -math.inf]
    inner: list[Ball] = []  # crescents of the inner ball of a shell, beyond its outer edge, the next one …
    unit = 1 / balls.ratio(TOTAL, 1)
    stays = [balls.exact(1.0)] * n
    heights = [balls.ratio(weight, 1) / volume * unit for weight, volume in zip(weights[:n], volumes)]
    for i in range(n):
        radius, beyond = breaks[i + 1], []
        for j in range(i + 1, n + 1):
            if breaks[j] >= radius + s:
                break
            beyond.append(crescent(d, radius, breaks[j], s))
        zero = balls.exact(0.0)
        moved = [one - (inner[k] if k < len(inner) else zero) for k, one in enumerate(beyond)]
        inner = beyond[1:]
        for k, one in enumerate(moved):  # to shell i + 1 + k, or out of the support
            j = i + 1 + k
            volume = one - moved[k + 1] if k + 1 < len(moved) else one
            if not _sure(mass := volume * heights[i]):
                return None
            here = float(mass.mid())
            if j == n:
                there, loss = 0.0, math.inf
            else:
                there = float((volume * heights[j]).mid())
                loss = math.log(weights[i] * volumes[j] / (weights[j] * volumes[i]))
                stays[j] -= volume / volumes[j]
            own += here, there
            other += there, here
            losses += loss, -loss
        if moved:
            stays[i] -= moved[0] / volumes[i]
    left = [float((part * heights[i] * volumes[i]).mid()) for i, part in enumerate(stays)]
    return np.array([*own, *left]), np.array([*other, *left]), np.array([*losses, *([0.0] * n)])


def _merged(own: Array, other: Array, losses: Array, upper: bool) -> FinitePair:
    """Losses that are equal but for rounding are one."""
    used = (own > 0) | (other > 0)
    order = np.argsort(-losses[used], kind="stable")
    own, other, losses = own[used][order], other[used][order], losses[used][order]
    size = ULPS * np.spacing(np.maximum(np.abs(np.nan_to_num(losses, posinf=0.0, neginf=0.0)), 1.0))
    with np.errstate(invalid="ignore"):
        apart = np.append(True, (losses[:-1] - losses[1:] > 2 * size[1:]) & (losses[:-1] != losses[1:]))
    starts = np.flatnonzero(apart)
    ends = np.append(starts[1:], len(losses)) - 1
    shown = losses[starts] + size[starts] if upper else losses[ends] - size[ends]
    return FinitePair(shown, np.add.reduceat(own, starts), np.add.reduceat(other, starts))


def _sure(mass: Ball) -> bool:
    return bool(mass.rad() <= SURE * max(float(mass.mid()), UNSEEN))


@dataclass(frozen=True, eq=False)
class RadialMechanism(Composable):
    """A radial law added to a vector of the sensitivity it was made for.

    promise : (ε, δ) that it is proved to keep.
    """

    spec: str
    noise: RadialNoise
    promise: tuple[float, float]

    @cached_property
    def pair(self) -> FinitePair:
        return neighbours(self.noise, upper=True)

    @cached_property
    def attack(self) -> FinitePair:
        return neighbours(self.noise, upper=False)

    @property
    def guarantee(self) -> tuple[float, float]:
        return self.promise

    def epsilon_at(self, delta: float) -> float:
        """The least ε at δ, rounded up."""
        return least_epsilon(lambda e: float(self.pair.delta(e)) * (1 + CLOSED_FORM), delta)


def composable(found: IsotropicSolution, name: str) -> RadialMechanism:
    """The law of an answer, under a name, known by the problem's ε and its own audited δ."""
    promise = found.problem.privacy.epsilon, found.certificate.delta_upper
    return RadialMechanism(name, found.noise, promise)
