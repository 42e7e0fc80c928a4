"""Local against central privacy: the same question, with the noise before or after the answers are added up.

n people hold a bit each; wanted is their mean. Neighbours differ in one person's bit (n is public).

* local, randomised response: each reports the truth with probability t = e^ε/(1 + e^ε); the mean of the reports is
  corrected for the lies [Awan, Ex. 4.2 (1)];
* local, Laplace: each reports the bit plus Laplace noise of scale 1/ε [Awan, Ex. 4.2 (2)];
* central: somebody who is trusted adds two-sided geometric noise, P(j) ∝ e^(−ε|j|), to the sum.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._validate import above, in_range, whole
from ..errors import InputError
from ..noise import Geometric
from ..privacy import EPSILON_RANGE
from .randomised_response import truth_probability

Array = NDArray[np.float64]

MODELS = ("response", "local-laplace", "central")
MOST_PEOPLE = 10**9


def variance(model: str, people: float, epsilon: float) -> float:
    """Variance of the released mean around the true mean of the n bits, exact.

    response: t(1 − t)/(n (2t − 1)²) = e^ε/(n (e^ε − 1)²); local-laplace: 2/(n ε²); central: 2a/((1 − a)² n²), a = e^−ε.
    """
    epsilon = in_range(*EPSILON_RANGE, epsilon=epsilon)
    one = 1 / (4 * math.sinh(epsilon / 2) ** 2)  # a/(1 − a)² = e^ε/(e^ε − 1)²
    if model == "response":
        return one / people
    if model == "local-laplace":
        return 2 / (people * epsilon**2)
    if model == "central":
        return 2 * one / people**2
    raise InputError("model", model, ", ".join(MODELS))


def people_needed(model: str, error: float, epsilon: float) -> float:
    """The n at which the root mean squared error of the privacy noise is `error` (not rounded to a whole number)."""
    error = above(0, 1e6, error=error)
    single = variance(model, 1.0, epsilon)
    return math.sqrt(single) / error if model == "central" else single / error**2


def sampling_variance(people: float, proportion: float) -> float:
    """p(1 − p)/n: what the mean of n drawn bits errs by with no privacy at all."""
    return proportion * (1 - proportion) / people


def price_of_distrust(people: float, epsilon: float) -> float:
    """How many people randomised response needs to be as accurate as the central release is with n: n²/2."""
    return people_needed("response", math.sqrt(variance("central", people, epsilon)), epsilon)


def free_from(epsilon: float, proportion: float) -> float:
    """The n from which the central noise is smaller than the sampling error; infinite for p = 0 or 1."""
    spread = proportion * (1 - proportion)
    return variance("central", 1.0, epsilon) / spread if spread else math.inf


def simulate(model: str, people: int, ones: int, *, epsilon: float, draws: int, rng: np.random.Generator) -> Array:
    """Released means for a table with so many ones, (draws,). For looking: floating-point randomness."""
    people = whole(1, MOST_PEOPLE, people=people)
    ones = whole(0, people, ones=ones)
    if model == "response":
        truth = truth_probability(epsilon)
        reports = rng.binomial(ones, truth, draws) + rng.binomial(people - ones, 1 - truth, draws)
        return (reports / people - (1 - truth)) / (2 * truth - 1)
    if model == "local-laplace":  # the difference of two Gamma(n) variables is a sum of n Laplace ones
        noise = rng.standard_gamma(people, draws) - rng.standard_gamma(people, draws)
        return (ones + noise / in_range(*EPSILON_RANGE, epsilon=epsilon)) / people
    if model == "central":
        return (ones + Geometric(epsilon).sample(rng, draws)) / people
    raise InputError("model", model, ", ".join(MODELS))


def minimax_rates(people: float, epsilon: float, moments: float) -> tuple[float, float, float]:
    """(no privacy, central, local): squared errors up to constants, for means of laws with E|X|^k ≤ 1, k ≥ 2.

    1/n; 1/n + (1/(nε)²)^((k−1)/k) [Awan, Thm. 4.2; Barber and Duchi, 2014]; (1/(nε²))^((k−1)/k) [Awan, Thm. 4.1; Duchi,
    Jordan and Wainwright, 2013]. k may be infinite (|X| ≤ 1). Proved for ε up to a constant; errors never exceed 1.
    """
    if not moments >= 2:
        raise InputError("moments", moments, "a number from 2, or infinity")
    power = 1.0 if math.isinf(moments) else (moments - 1) / moments
    central = 1 / people + (1 / (people * epsilon) ** 2) ** power
    return 1 / people, min(1.0, central), min(1.0, (1 / (people * epsilon**2)) ** power)
