"""What is asked of a vector query, and what is answered: noise for every coordinate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._validate import above
from ..errors import InputError
from ..privacy import Privacy
from ..problem_fields.vector import POWER
from .joint import JointNoise
from .profile import LARGEST, SensitivityProfile, _checked

Array = NDArray[np.float64]


@dataclass(frozen=True)
class VectorQuery:
    """Least Σ_i w_i E|T_i|^p over noise T for which the release is (ε, δ)-DP.

    Neighbouring data sets change the answer by some d with |d_i| ≤ λ_i and, where the coordinates are coupled,
    ‖d‖₁ ≤ l1 and ‖d‖₂ ≤ l2.

    power : p, from 1 to 10.   weights : w > 0, one per coordinate; None: all 1.
    l1, l2 : global sensitivities; None, or more than the profile allows: the profile's own norm.
    """

    privacy: Privacy
    profile: SensitivityProfile
    power: float = 2.0
    weights: tuple[float, ...] | None = None
    l1: float | None = None
    l2: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", POWER.check(self.power))
        if self.weights is not None:
            accepted = f"positive numbers up to {LARGEST:g}, one per coordinate"
            weights = _checked(self.weights, "weights", accepted, least=1e-12)
            if len(weights) != len(self.profile):
                raise InputError("weights", f"{len(weights)} numbers", f"{len(self.profile)}, one per coordinate")
            object.__setattr__(self, "weights", None if (weights == 1).all() else tuple(weights.tolist()))
        top = self.profile.norm(math.inf)
        for name in ("l1", "l2"):
            given = getattr(self, name)
            if given is None:
                continue
            given = above(0, 1e300, **{name: given})
            if given < top * (1 - 1e-12):
                raise InputError(name, given, f"at least {top:.6g}, the largest coordinate sensitivity")
            object.__setattr__(self, name, given)

    @cached_property
    def weight_array(self) -> Array:
        return np.ones(len(self.profile)) if self.weights is None else np.array(self.weights)

    @property
    def coupled(self) -> bool:
        """A global sensitivity was given, so the coordinates cannot all change by their most at once."""
        return self.l1 is not None or self.l2 is not None

    def sensitivity(self, norm: int) -> float:
        """Δ₁ (norm 1) or Δ₂ (norm 2): the least of what was given, what the profile allows, and what the other global
        sensitivity implies (Δ₂² ≤ Δ₁ max λ, Δ₁ ≤ √K Δ₂)."""
        own = self.profile.norm(norm)
        given = self.l1 if norm == 1 else self.l2
        bounds = [own, *([given] if given is not None else [])]
        if norm == 2 and self.l1 is not None:
            bounds.append(math.sqrt(self.l1 * self.profile.norm(math.inf)) * (1 + 2**-50))
        if norm == 1 and self.l2 is not None:
            bounds.append(math.sqrt(int(self.profile.positive.sum())) * self.l2 * (1 + 2**-50))
        return min(bounds)


def vector_query(
    epsilon: float,
    delta: float,
    profile: SensitivityProfile,
    power: float = 2.0,
    weights: Iterable[float] | None = None,
    l1: float | None = None,
    l2: float | None = None,
) -> VectorQuery:
    """A `VectorQuery` from plain numbers."""
    weights = None if weights is None else tuple(weights)
    return VectorQuery(Privacy(epsilon, delta), profile, power, weights, l1, l2)


@dataclass(frozen=True, eq=False)
class Allocation:
    """What one mechanism does with a query.

    key, name : for scripts, for people.
    scales : (K,) σ of Gaussian, scale of Laplace noise, the K-norm law's λ_i/ε_b; for other laws (E|T_i|^p)^(1/p).
    errors : (K,) w_i E|T_i|^p.
    shares : (K,) share of the privacy resource that the coordinate uses (adds up to 1).
    guarantee : the pair (ε, δ) that the joint release satisfies.
    reference : key of the iid mechanism with which `reduction` compares.
    kinds : (K,) kind of noise of each coordinate.
    proof : why the guarantee holds, in words.
    reason : why the mechanism does not exist here; "" if it does (else all arrays are empty).
    noise : the noise itself, which releases; None if the mechanism does not exist.
    """

    key: str
    name: str
    scales: Array
    errors: Array
    shares: Array
    guarantee: Privacy | None
    reference: str
    kinds: tuple[str, ...] = ()
    proof: str = ""
    reason: str = ""
    noise: JointNoise | None = None

    @property
    def error(self) -> float:
        """Σ_i w_i E|T_i|^p."""
        return math.fsum(self.errors) if self.guarantee is not None else math.inf

    @classmethod
    def missing(cls, key: str, name: str, reference: str, reason: str) -> Allocation:
        nothing = np.empty(0)
        return cls(key, name, nothing, nothing, nothing, None, reference, (), "", reason)


def stated(delta: float, privacy: Privacy) -> str:
    """δ ≤ … at ε = …: a certified δ to six digits, rounded up, but no more than was asked for."""
    six = Decimal(delta).quantize(Decimal(1).scaleb(Decimal(delta).adjusted() - 5), ROUND_CEILING)
    return f"δ ≤ {min(float(six), privacy.delta)!r} at ε = {privacy.epsilon!r}"


def decibels(ratio: float) -> float:
    """10 log₁₀ of a ratio of errors."""
    return 10 * math.log10(ratio) if 0 < ratio < math.inf else math.nan
