"""Two laws P and Q as the law of the privacy loss L = ln p/q under each of them: what every curve is a function of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Array = NDArray[np.float64]


class Pair(ABC):
    """The privacy loss L of two laws P and Q."""

    @property
    @abstractmethod
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        """(loss, P{L = loss}, Q{L = loss}) wherever one is positive, falling in the loss; ∞ first, −∞ last."""

    @abstractmethod
    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        """(P{L > ε}, Q{L > ε}), elementwise over finite ε of either sign."""

    @abstractmethod
    def delta(self, epsilons: ArrayLike) -> Array:
        """H(ε) = sup_A P(A) − e^ε Q(A) = P{L > ε} − e^ε Q{L > ε} at any finite ε [Awan, Def. 9.1]."""

    @abstractmethod
    def tradeoff(self, alphas: ArrayLike) -> Array:
        """T(P, Q): the least type II error of a test of P against Q with type I error at most α [Awan, Def. 13.1]."""

    @abstractmethod
    def renyi(self, orders: ArrayLike) -> Array:
        """D_α(P‖Q) at orders α ≥ 1; the Kullback–Leibler divergence at 1; ∞ if P leaves the support of Q."""

    @property
    def infinite(self) -> float:
        """P{L = ∞}: the probability of releases that are impossible under Q."""
        return self.atoms[0][1] if self.atoms and self.atoms[0][0] == math.inf else 0.0

    @property
    def largest(self) -> float:
        """The largest loss."""
        return self.atoms[0][0]

    def least_mu(self) -> float:
        """The least μ with G_μ, the trade-off function of N(0, 1) against N(μ, 1), below this one; no loss is infinite.
        By the steepest of many places, for pairs without a formula."""
        alphas = np.geomspace(1e-12, 0.5, 2000)
        return max(float((-special.ndtri(alphas) - special.ndtri(self.tradeoff(alphas))).max()), 0.0)

    def cdf(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        """(P{L ≤ ε}, Q{L ≤ ε}), elementwise."""
        own, other = self.tails(epsilons)
        return 1 - own, 1 - other


@dataclass(frozen=True, eq=False)
class FinitePair(Pair):
    """A privacy loss with finitely many values.

    losses : (n,) falling; ∞ first and −∞ last, if there.
    own, other : (n,) probabilities under P and under Q; other = own·e^−loss up to rounding.
    """

    losses: Array
    own: Array
    other: Array

    @classmethod
    def of(cls, own: ArrayLike, other: ArrayLike, losses: ArrayLike | None = None) -> FinitePair:
        """From outcomes with these probabilities; outcomes of one loss (to 1e-12) are one. `losses`, if known better
        than as logarithms of quotients."""
        own, other = np.asarray(own, dtype=float), np.asarray(other, dtype=float)
        used = (own > 0) | (other > 0)
        own, other = own[used], other[used]
        if losses is None:
            with np.errstate(divide="ignore"):
                found = np.log(own) - np.log(other)
        else:
            found = np.asarray(losses, dtype=float)[used]
        order = np.argsort(-found, kind="stable")
        found, own, other = found[order], own[order], other[order]
        near = np.isfinite(found[1:]) & np.isfinite(found[:-1])
        with np.errstate(invalid="ignore"):
            near &= found[:-1] - found[1:] <= 1e-12 * np.maximum(1.0, np.abs(found[1:]))
        starts = np.flatnonzero(np.append(True, ~near & (found[1:] != found[:-1])))
        found, own, other = found[starts], np.add.reduceat(own, starts), np.add.reduceat(other, starts)
        if losses is None:
            with np.errstate(divide="ignore"):
                found = np.log(own) - np.log(other)
        return cls(found, own, other)

    @property
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        return tuple(zip(self.losses.tolist(), self.own.tolist(), self.other.tolist()))

    @property
    def infinite(self) -> float:
        return float(self.own[0]) if self.losses.size and self.losses[0] == math.inf else 0.0

    @property
    def swapped(self) -> FinitePair:
        """These two laws the other way round."""
        return FinitePair(-self.losses[::-1], self.other[::-1], self.own[::-1])

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return np.append(0.0, np.cumsum(self.own)), np.append(0.0, np.cumsum(self.other))

    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        last = np.searchsorted(-self.losses, -np.asarray(epsilons, dtype=float), side="left")
        return self._sums[0][last], self._sums[1][last]

    @cached_property
    def _kinks(self) -> tuple[Array, Array, Array]:
        """Finite losses L_i, H(L_i), and C_i = e^(L_i) Q{L ≥ L_i}: H(ε) = H(L_i) + C_i (1 − e^(ε − L_i)) down to the
        next one. Everything adds up, nothing cancels, so that small δ(ε) are as exact as large ones."""
        finite = np.isfinite(self.losses)
        losses, own = self.losses[finite], self.own[finite]
        value, height, last = self.infinite, 0.0, math.inf
        values, heights = [], []
        for loss, mass in zip(losses.tolist(), own.tolist()):
            value -= height * math.expm1(loss - last)
            height = height * math.exp(loss - last) + mass
            last = loss
            values.append(value)
            heights.append(height)
        return losses, np.array(values), np.array(heights)

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        losses, values, heights = self._kinks
        if not losses.size:
            return np.full(epsilons.shape, self.infinite)
        at = np.searchsorted(-losses, -epsilons, side="left") - 1  # the lowest loss above ε
        below = np.maximum(at, 0)
        found = values[below] - heights[below] * np.expm1(np.minimum(epsilons - losses[below], 0.0))
        return np.clip(np.where(at < 0, self.infinite, found), 0.0, 1.0)

    @cached_property
    def vertices(self) -> tuple[Array, Array]:
        """(type I errors, type II errors) of the tests "say Q where the loss is at most τ", by rising type I error;
        the trade-off function joins them by chords [Neyman and Pearson]."""
        alphas = np.append(0.0, np.cumsum(self.own[::-1]))
        betas = np.append(np.cumsum(self.other)[::-1], 0.0)
        return np.minimum(alphas / max(alphas[-1], 1e-300), 1.0), np.minimum(betas / max(betas[0], 1e-300), 1.0)

    def tradeoff(self, alphas: ArrayLike) -> Array:
        x, y = self.vertices
        if len(x) > 1 and x[1] == 0:  # impossible under P: rejected at no cost
            x, y = x[1:], y[1:]
        found: Array = np.interp(np.asarray(alphas, dtype=float), x, y)
        return found

    def least_mu(self) -> float:
        """A piecewise linear function lies above the convex G_μ as soon as its corners do."""
        alphas, betas = (corner[1:-1] for corner in self.vertices)
        inner = (alphas > 0) & (betas > 0)
        needed = -special.ndtri(alphas[inner]) - special.ndtri(betas[inner])
        return max(float(needed.max(initial=0.0)), 0.0)

    def renyi(self, orders: ArrayLike) -> Array:
        orders = np.asarray(orders, dtype=float)
        if self.infinite > 0:
            return np.full(orders.shape, math.inf)
        used = self.own > 0
        return _renyi_of(orders, self.losses[used], self.own[used])


def mirrored(epsilons: Array, deltas: Array) -> Array:
    """δ(ε) from δ(|ε|): at ε < 0 it is 1 − e^ε (1 − δ(−ε)), because H(ε) of (P, Q) is 1 − e^ε + e^ε H(−ε) of (Q, P),
    and with a shift goes its opposite."""
    below = np.minimum(epsilons, 0.0)
    return np.where(epsilons >= 0, deltas, -np.expm1(below) + np.exp(below) * deltas)


def _renyi_of(orders: Array, losses: Array, own: Array) -> Array:
    """ln Σ P{L} e^((α − 1)L)/(α − 1), elementwise over the orders; Σ P{L}·L at 1."""
    s, found = np.ravel(orders - 1), np.full(orders.size, float(own @ losses))
    top = np.maximum(s * losses.max(), 0.0)
    small, large = (s > 0) & (top < 1), (s > 0) & (top >= 1)
    found[small] = np.log1p(np.expm1(np.outer(s[small], losses)) @ own) / s[small]  # E(e^(sL) − 1): nothing cancels
    found[large] = (top[large] + np.log(np.exp(np.outer(s[large], losses) - top[large, None]) @ own)) / s[large]
    return found.reshape(np.shape(orders))


def with_atom(own: Array, other: Array, atom: float, losses: Array) -> FinitePair:
    """The pair of a law that is a point with probability `atom`: neither covers the other's point."""
    return FinitePair.of(
        np.append((1 - atom) * own, [atom, 0.0]),
        np.append((1 - atom) * other, [0.0, atom]),
        np.append(losses, [math.inf, -math.inf]),
    )
