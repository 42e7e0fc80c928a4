"""Amplification by subsampling: a mechanism that looks at a secret random part of the data reveals less.

Poisson: every person is in the sample with probability `rate`, independently; neighbours differ by one person more or
less, and the two directions differ [Awan, Thm. 14.3; ZDW22, Thm. 11]. Fixed size: `rate`·n persons are drawn without
replacement; neighbours differ in what one person says. Sensitivities are those of the same neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validate import above, in_range
from ..errors import InputError
from ..numbers import read_number
from ..pair import Pair, mirrored
from .loss_grids import lower_hull, on_grid, reach
from .tradeoff import guarantee_tradeoff

Array = NDArray[np.float64]

KINDS = {"poisson": ("remove", "add"), "fixed": ("replace",)}
"""Ways of sampling, and the directions in which neighbours differ under each."""


@dataclass(frozen=True)
class Sampling:
    """A way of sampling, "poisson" or "fixed", and its rate in (0, 1]."""

    kind: str
    rate: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError("sampling", self.kind, "poisson or fixed")
        object.__setattr__(self, "rate", above(0, 1, rate=self.rate))

    @property
    def sides(self) -> tuple[str, ...]:
        """The directions in which neighbours differ."""
        return KINDS[self.kind]

    def pair(self, base: Pair, side: str) -> Pair:
        """The dominating pair of the sampled mechanism, from the symmetric one of the mechanism."""
        return base if self.rate == 1 else SampledPair(base, self.rate, side)


def parse_sampling(text: str) -> Sampling:
    """The sampling that "poisson:0.01", "fixed:0.01" or "fixed:60/6000" names."""
    kind, _, rate = text.strip().partition(":")
    accepted = "poisson:RATE or fixed:RATE or fixed:M/N with a rate above 0, at most 1"
    part, total = (read_number(number, "sampling", accepted) for number in (*rate.split("/"), "1")[:2])
    if kind not in KINDS or rate.count("/") > 1 or not 0 < part <= total:
        raise InputError("sampling", text, accepted)
    return Sampling(kind, part / total)


def amplified(epsilon: float, delta: float, rate: float) -> tuple[float, float]:
    """(ε′, δ′) = (ln(1 + p(e^ε − 1)), pδ) of an (ε, δ)-DP mechanism after sampling at rate p, either way [Awan, Cor.
    13.2; Balle, Barthe and Gaboardi 2018, Thm. 8 and 9]; rounded up."""
    in_range(0, 600, epsilon=epsilon)
    in_range(0, 1, delta=delta, also=())
    above(0, 1, rate=rate)
    found = math.log1p(rate * math.expm1(epsilon)) * (1 + 1e-15)
    return min(found, epsilon), rate * delta


def amplified_tradeoff(alphas: ArrayLike, epsilon: float, delta: float, rate: float) -> Array:
    """C_p(f_(ε, δ)) at type I errors α, a trade-off function of an (ε, δ)-DP mechanism on a sample of fixed size:
    max(f_(ε′, δ′)(α), 1 − pδ − p(e^ε − 1)/(e^ε + 1) − α) [Awan, Cor. 13.2; Dong, Roth and Su 2022, Cor. 4.4].

    A lower bound: exact for δ = 0; for δ > 0 the middle line is really 1 − p(e^ε − 1 + 2δ)/(e^ε + 1) − α, a little
    higher (`subsampled_tradeoff` has it).
    """
    alphas = np.asarray(alphas, dtype=float)
    bent, small = amplified(epsilon, delta, rate)
    straight = 1 - small - rate * math.tanh(epsilon / 2) - alphas
    return np.maximum(np.maximum(straight, 0.0), guarantee_tradeoff(bent, small, alphas))


def subsampled_tradeoff(pair: Pair, alphas: ArrayLike, rate: float) -> Array:
    """C_p(f) = the largest convex function below min(f_p, f_p⁻¹), f_p = pf + (1 − p)Id, for a symmetric f = T(P, Q)
    [Awan, Def. 13.6]."""
    grid = np.unique(np.concatenate([np.linspace(0, 1, 2001), np.geomspace(1e-9, 1, 1000)]))
    mixed = rate * np.asarray(pair.tradeoff(grid)) + (1 - rate) * (1 - grid)
    points = np.concatenate([np.column_stack([grid, mixed]), np.column_stack([mixed, grid])])
    hull = lower_hull(points)
    found: Array = np.interp(np.asarray(alphas, dtype=float), hull[:, 0], hull[:, 1])
    return found


@dataclass(frozen=True, eq=False)
class SampledPair(Pair):
    """The dominating pair after sampling at rate γ, of a mechanism with the symmetric dominating pair `base`.

    With λ = dP/dQ of the base: remove is ((1 − γ)Q + γP, Q), whose likelihood ratio is 1 − γ + γλ; add is the same pair
    the other way round; replace is remove at ε ≥ 0 and its mirror image below [ZDW22, Thm. 11].
    """

    base: Pair
    rate: float
    side: str

    def _removed(self, epsilons: Array) -> tuple[Array, Array, Array]:
        """(P{L > ε}, Q{L > ε}, H(ε)) of the remove pair: L > ε where λ > (e^ε − 1 + γ)/γ."""
        rate = self.rate
        place = (np.expm1(epsilons) + rate) / rate
        inside = place > 0
        with np.errstate(divide="ignore"):
            t = np.maximum(np.log(np.where(inside, place, 1.0)), -600.0)
        own, other = self.base.tails(t)
        own, other = np.where(inside, own, 1.0), np.where(inside, other, 1.0)
        curve = np.where(inside, rate * self.base.delta(t), -np.expm1(np.minimum(epsilons, 0.0)))
        return (1 - rate) * other + rate * own, other, curve

    def _added(self, epsilons: Array) -> tuple[Array, Array, Array]:
        """The figures of the add pair (Q, (1 − γ)Q + γP), with the base the other way round: its own law is Q.

        Q(A) − a((1 − γ)Q + γP)(A) = (1 − a(1 − γ))·(Q(A) − aγ/(1 − a(1 − γ))·P(A)); no loss exceeds −ln(1 − γ).
        """
        rate = self.rate
        left = rate - (1 - rate) * np.expm1(epsilons)  # 1 − a(1 − γ)
        inside = left > 1e-300
        t = epsilons + math.log(rate) - np.log(np.where(inside, left, 1.0))
        t = np.minimum(t, 600.0)
        own, other = self.base.tails(t)
        own, other = np.where(inside, own, 0.0), np.where(inside, other, 0.0)
        curve = np.where(inside, left * self.base.delta(t), 0.0)
        return own, (1 - rate) * own + rate * other, curve

    def tails(self, epsilons: ArrayLike) -> tuple[Array, Array]:
        epsilons = np.asarray(epsilons, dtype=float)
        if self.side == "add":
            return self._added(epsilons)[:2]
        own, other, _ = self._removed(epsilons)
        if self.side == "replace":
            above_, below = self._removed(-epsilons)[:2]
            own, other = np.where(epsilons >= 0, own, 1 - below), np.where(epsilons >= 0, other, 1 - above_)
        return own, other

    def delta(self, epsilons: ArrayLike) -> Array:
        epsilons = np.asarray(epsilons, dtype=float)
        if self.side == "add":
            return self._added(epsilons)[2]
        if self.side == "remove":
            return self._removed(epsilons)[2]
        return mirrored(epsilons, self._removed(np.abs(epsilons))[2])

    @property
    def atoms(self) -> tuple[tuple[float, float, float], ...]:
        rate = self.rate
        found = []
        for loss, own, other in self.base.atoms:
            mixed = (1 - rate) * other + rate * own
            if self.side == "add":  # the base the other way round
                mixed = (1 - rate) * own + rate * other
                bent = -math.log1p(-rate) if loss == math.inf else loss - math.log1p(rate * math.expm1(-loss)) - loss
                found.append((bent, own, mixed) if loss > -math.inf else (-math.inf, 0.0, mixed))
            elif loss == math.inf:
                found.append((math.inf, mixed, 0.0))
            else:
                found.append((math.log1p(rate * math.expm1(loss)), mixed, other))
        if self.side == "replace":
            up = [atom for atom in found if atom[0] > 0]
            above, below, _ = self._removed(np.zeros(1))
            rest = 1 - float((above + below)[0])  # neither remove nor its mirror image has a say
            middle = [(0.0, rest, rest)] if rest > 0 else []
            found = [*up, *middle, *((-loss, other, own) for loss, own, other in reversed(up))]
        return tuple(sorted(found, key=lambda atom: -atom[0]))

    def tradeoff(self, alphas: ArrayLike) -> Array:
        alphas = np.asarray(alphas, dtype=float)
        if self.side == "replace":
            return subsampled_tradeoff(self.base, alphas, self.rate)

        def mix(x: Array) -> Array:
            mixed: Array = self.rate * np.asarray(self.base.tradeoff(x)) + (1 - self.rate) * (1 - x)
            return mixed

        if self.side == "add":
            return mix(alphas)
        grid = np.unique(np.concatenate([np.linspace(0, 1, 4001), np.geomspace(1e-12, 1, 2000)]))
        found: Array = np.interp(alphas, mix(grid)[::-1], grid[::-1])
        return found

    def renyi(self, orders: ArrayLike) -> Array:
        """From a fine grid, rounded up; ∞ with an infinite loss."""
        low, high = reach(self)
        return on_grid(self, max((high - low) / 4096, 1e-12), upper=True).renyi_upper(np.asarray(orders, dtype=float))
