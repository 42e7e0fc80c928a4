"""Known mechanisms for vectors under ℓ2-sensitivity 1, calibrated, with their losses.

gaussian : the analytic Gaussian mechanism [BW18].   l2 : density ∝ e^(−ε|x|), which is ε-DP.   l2-delta : density
∝ e^(−|x|/σ) with the least σ for (ε, δ) [JKY25].   l2-truncated : density ∝ e^(−ε|x|) within the least radius.
generalised-gamma : density ∝ |x|^k e^(−(|x|/σ)^q) with the best q and k ≤ 0 [WBP26].

Quadrature finds the scales; that the laws are (ε, δ)-DP is proved afterwards in ball arithmetic (`enclosed`), with the
scale moved until the proof succeeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import optimize

from ..errors import SolverError
from ..noise.gaussian import Gaussian
from ..privacy import Privacy
from . import enclosed
from .closed_forms import PowerLaw, TruncatedLaw
from .problem import RadialLoss

EXPONENTS = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0)
"""Exponents q with k = 0, of which the best is where the search for q and k begins."""

SMALLEST_EXPONENT, LARGEST_EXPONENT = 0.2, 40.0

SEARCHES, STEP, CLOSE, FLAT = 45, 0.1, 1e-3, 1e-7
"""Laws that it looks at, its first steps in ln q and k, and how near these, or the logarithms of the loss, are in the
end: next to the best law the loss is flat."""

LEAST_SHAPE = 0.5
"""(d + k)/q at least: below, the law is so much of a point that levels near it are rounding."""

WORTH = 1e-4
"""Relative gain over the ℓ2 mechanism from which on another law of the family is worth its two parameters more."""

SLIGHTLY, FLATTEST = 1e-4, 1e-3
"""By how much a scale is raised to see how fast ln δ falls, and the least slope that is believed."""

ROUNDS, ROOM = 6, 1e-6
"""Rounds of moving a scale until the proof succeeds, each aiming at so much less than δ, relatively."""


@dataclass(frozen=True)
class KnownLaw:
    """A law that is known, calibrated.

    loss : E c(X) for sensitivity 1.   delta_upper : proved of its δ(ε) over all shifts; None where nothing was proved,
    its scale being from quadrature.
    """

    key: str
    name: str
    loss: float
    parameters: dict[str, float] = field(default_factory=dict)
    delta_upper: float | None = None

    @property
    def estimated(self) -> bool:
        return self.delta_upper is None

    def row(self, factor: float, sensitivity: float) -> dict[str, Any]:
        """What the command line prints; factor : of the loss, sensitivity : of lengths."""
        lengths = ("sigma", "radius")
        shown = {name: v * sensitivity if name in lengths else v for name, v in self.parameters.items()}
        known = {"valid": None if self.estimated else True, "estimate": self.estimated, "delta_upper": self.delta_upper}
        return {"name": self.name, "key": self.key, "loss": self.loss * factor, **known, "parameters": shown}


Scaled = PowerLaw | TruncatedLaw


def proved(law: Scaled, privacy: Privacy) -> tuple[Scaled, float | None]:
    """(the law at the least scale near its own at which it is proved to be (ε, δ)-DP, its δ(ε) rounded up)."""
    scale, epsilon = law.scale, privacy.epsilon
    wider = law.with_scale(scale * (1 + SLIGHTLY))
    slope = max(math.log(law.delta(epsilon) / max(wider.delta(epsilon), 1e-300)) / SLIGHTLY, FLATTEST)
    scale *= math.exp(ROOM / slope)
    last: tuple[float, float] | None = None
    for _ in range(ROUNDS):
        law = law.with_scale(scale)
        try:
            found = enclosed.delta_upper(law, privacy.epsilon)
        except SolverError:
            break
        if found <= privacy.delta:
            return law, found
        if last is not None and scale > last[0] and found < last[1]:
            slope = max(math.log(last[1] / found) / math.log(scale / last[0]), FLATTEST)
        last = scale, found
        scale *= math.exp((math.log(found / privacy.delta) + ROOM) / slope)
    return law, None


@lru_cache(maxsize=64)
def generalised_gamma(dimension: int, privacy: Privacy, loss: RadialLoss) -> PowerLaw:
    """The law ∝ |x|^k e^(−(|x|/σ)^q), −d < k ≤ 0, of about the least loss; σ from quadrature.

    Kept: estimates are shown before proofs, which begin with the same search.
    """
    tried: dict[tuple[float, float], PowerLaw] = {}
    sigma = 1.0

    def pays(q: float, k: float) -> float:
        nonlocal sigma
        if (dimension + k) / q < LEAST_SHAPE:
            return math.inf
        try:
            law = tried[q, k] = PowerLaw.calibrated(dimension, privacy, q, k, sigma)
        except SolverError:
            return math.inf
        sigma = law.sigma
        return math.log(max(law.loss(loss), 1e-300))

    first = min(EXPONENTS, key=lambda q: pays(q, 0.0))
    sigma = tried[first, 0.0].sigma
    begin = math.log(first)
    optimize.minimize(  # type: ignore[call-overload]  # the option for Nelder-Mead is not in the stubs
        lambda x: pays(math.exp(float(x[0])), -float(x[1]) or 0.0), np.array([begin, 0.0]), method="Nelder-Mead",
        bounds=[(math.log(SMALLEST_EXPONENT), math.log(LARGEST_EXPONENT)), (0.0, float(dimension))],
        options={
            "maxfev": SEARCHES, "xatol": CLOSE, "fatol": FLAT,
            "initial_simplex": np.array([[begin, 0.0], [begin + STEP, 0.0], [begin + STEP, STEP]]),
        },
    )  # fmt: skip
    return min(tried.values(), key=lambda law: law.loss(loss))


def mechanisms(dimension: int, privacy: Privacy, loss: RadialLoss, *, certify: bool = True) -> list[KnownLaw]:
    """All that exist at (ε, δ), for sensitivity 1 and a loss in units of it.

    certify : prove δ; else scales are those of quadrature, and estimates but for the closed forms.
    """
    d, epsilon, found = dimension, privacy.epsilon, []
    normal = Gaussian.calibrate(privacy, 1.0)
    gaussian = PowerLaw(d, math.sqrt(2) * normal.sigma, 2.0)
    delta = enclosed.gaussian_delta_upper(normal.sigma, epsilon)
    parameters = {"sigma": normal.sigma}
    found.append(KnownLaw("gaussian", "Gaussian, analytic", gaussian.loss(loss), parameters, delta))
    if epsilon == 0:
        return found
    scale = 1 / epsilon
    pure = PowerLaw(d, scale if Fraction(scale) * Fraction(epsilon) >= 1 else math.nextafter(scale, math.inf), 1.0)
    found.append(KnownLaw("l2", "ℓ2 mechanism, ε-DP", pure.loss(loss), {"sigma": pure.sigma}, 0.0))

    def known(key: str, name: str, law: Scaled) -> KnownLaw:
        proof: float | None = None
        if certify:
            law, proof = proved(law, privacy)
        cost = enclosed.loss_upper(law, loss)
        return KnownLaw(key, name, cost, law.parameters, proof)

    relaxed = known("l2-delta", "ℓ2 mechanism with δ", PowerLaw.calibrated(d, privacy, 1.0))
    found.append(relaxed)
    found.append(known("l2-truncated", "ℓ2 mechanism, truncated", TruncatedLaw.calibrated(d, privacy)))
    name = "Spherical generalised Gamma, best parameters"
    law = generalised_gamma(d, privacy, loss)
    best = None
    if law.loss(loss) < relaxed.loss * (1 - WORTH):
        best = known("generalised-gamma", name, law)
    if best is None or (certify and best.estimated):  # of the same family, and next to as good or proved
        best = replace(relaxed, key="generalised-gamma", name=name)
    found.append(best)
    return found
