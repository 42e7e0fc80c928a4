"""Log-concave densities and their neighbours: the privacy loss falls along the line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..pair import Array, Pair, mirrored
from ..search import smallest_passing
from .symmetric import SymmetricNoise

STEPS = 20_000
"""Into so many steps the losses are cut for Rényi divergences without a formula."""


@dataclass(frozen=True, eq=False)
class MonotonePair(Pair):
    """A law with a log-concave density and its copy moved up by `shift`: L falls along the line, so that every
    {L > ε} is a half-line, and the best test says Q above some place.

    Subclasses give `threshold`, those with a loss that is constant somewhere `atoms`, those with a formula `renyi`.
    """

    noise: SymmetricNoise
    shift: float

    def threshold(self, epsilons: Array) -> Array:
        """The place below which L > ε; −∞ where there is none."""
        raise NotImplementedError

    @property
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        return ()

    @cached_property
    def largest(self) -> float:
        return self.atoms[0][0] if self.atoms else smallest_passing(lambda e: self.tails(e)[0] == 0, 1.0)

    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        t = self.threshold(np.asarray(epsilons, dtype=float))
        return self.noise.cdf(t), self.noise.cdf(t - self.shift)

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        known = [self.noise.shortfall(abs(e), self.shift) for e in epsilons.ravel().tolist()]
        return mirrored(epsilons, np.reshape(known, epsilons.shape))

    def tradeoff(self, alphas: ArrayLike) -> Array:
        with np.errstate(divide="ignore"):
            t = 2 * self.noise.location - self.noise.quantile(np.clip(np.asarray(alphas, dtype=float), 0.0, 1.0))
        return self.noise.cdf(t - self.shift)

    def renyi(self, orders: ArrayLike) -> Array:
        """For bounded losses, rounded up: losses between two steps count as the larger of them."""
        orders = np.asarray(orders, dtype=float)
        high = self.largest
        steps = np.linspace(-high, high, STEPS)
        masses = -np.diff(np.append(1.0, self.tails(steps)[0]))
        divergence: Callable[[float], float] = lambda s: math.log(float(masses @ np.exp(s * (steps - high)))) / s + high  # noqa: E731
        found = [divergence(s) if s > 0 else float(masses @ steps) for s in (orders - 1).ravel().tolist()]
        return np.reshape(found, orders.shape)
