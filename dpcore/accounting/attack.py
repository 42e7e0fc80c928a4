"""What an attacker makes of a release who knows all but one row: guesses and posterior probabilities."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .._validate import in_range
from ..noise.base import Noise
from ..privacy import Privacy
from .curves import privacy_profile

Array = NDArray[np.float64]

PRIOR = (1e-6, 1 - 1e-6)
"""Prior probabilities that are accepted."""


def total_variation(noise: Noise, *, sensitivity: float) -> float:
    """δ(0): the largest difference between the probabilities of an event under two neighbours."""
    return float(privacy_profile(noise, 0.0, sensitivity=sensitivity))


def success(noise: Noise, *, sensitivity: float, prior: float = 0.5) -> float:
    """The largest probability with which anybody guesses the right one of two neighbours, the first of which has this
    prior probability: 1 − π + π δ(ln((1 − π)/π)); (1 + total variation)/2 for even odds."""
    prior = in_range(*PRIOR, prior=prior)
    return 1 - prior + prior * float(privacy_profile(noise, -special.logit(prior), sensitivity=sensitivity))


def success_upper(privacy: Privacy, *, prior: float = 0.5) -> float:
    """What (ε, δ)-DP alone allows: 1 − min over the corners (α, β) of f_(ε,δ) of πα + (1 − π)β; (e^ε + δ)/(1 + e^ε) for
    even odds [Awan, Thm. 3.4]."""
    prior = in_range(*PRIOR, prior=prior)
    middle = (1 - privacy.delta) * special.expit(-privacy.epsilon)
    corners = [(0.0, 1 - privacy.delta), (middle, middle), (1 - privacy.delta, 0.0)]
    return 1 - min(prior * alpha + (1 - prior) * beta for alpha, beta in corners) * (1 - 1e-15)


def likelier(losses: ArrayLike) -> NDArray[np.int64]:
    """The maximum-likelihood guess at privacy losses L: +1 for the truth's law P, −1 for the neighbour's Q, 0 if both
    are as likely."""
    guesses: NDArray[np.int64] = np.sign(np.nan_to_num(np.asarray(losses, dtype=float), posinf=1, neginf=-1)).astype(
        np.int64
    )
    return guesses


def posterior(prior: float, losses: ArrayLike) -> Array:
    """The probability of P after a release of privacy loss L: odds times e^L [Bayes]."""
    return special.expit(special.logit(in_range(*PRIOR, prior=prior)) + np.asarray(losses, dtype=float))


def posterior_bounds(prior: float, epsilon: float) -> tuple[float, float]:
    """(least, largest) posterior probability while the privacy loss stays within ±ε."""
    low, high = posterior(prior, np.array([-epsilon, epsilon]))
    return float(low), float(high)


def beyond_upper(privacy: Privacy, epsilon: float) -> float:
    """What (ε, δ)-DP alone says of the probability that the privacy loss exceeds `epsilon`: at most δ/(1 − e^−t), t =
    epsilon − ε, because δ ≥ E(1 − e^(ε − L))₊ ≥ P{L > ε + t}(1 − e^−t); 1 where t ≤ 0."""
    excess = epsilon - privacy.epsilon
    return min(1.0, privacy.delta / -math.expm1(-excess)) if excess > 0 else 1.0
