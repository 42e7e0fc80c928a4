"""Randomised response: everybody answers for themselves, and lies with a known probability.

A person whose truth is t ∈ {0, 1} answers t with probability e^ε/(1 + e^ε) and 1 − t otherwise. Equivalently: tells the
truth with probability 1 − p, and tosses a fair coin otherwise, p = 2/(1 + e^ε) [Awan, §3.2; W65].
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy

from .._validate import above, in_range, whole

Array = NDArray[np.float64]

MOST_PEOPLE = 100_000


def truth_probability(epsilon: float) -> float:
    """Probability that an answer is the truth, e^ε/(1 + e^ε)."""
    epsilon = in_range(0, 50, epsilon=epsilon)
    return 1 / (1 + math.exp(-epsilon))


def epsilon_of(truth: float) -> float:
    """The ε of answers that are true with this probability, in [½, 1): ln(truth/(1 − truth))."""
    truth = in_range(0.5, 1 - 1e-12, truth=truth)
    return math.log(truth / (1 - truth))


def estimate(yes: float, epsilon: float) -> float:
    """The unbiased estimate of the true share of "yes" from the share of answers that are "yes" [Awan, Example 3.2]."""
    lie = 1 - truth_probability(above(0, 50, epsilon=epsilon))
    return (yes - lie) / (1 - 2 * lie)


def variance(epsilon: float, share: float, people: int) -> tuple[float, float]:
    """(from the lies, from drawing the people) of the estimate, whose variance is their sum.

    people drawn independently from a population in which `share` would truly say yes:
    e^ε/(n (e^ε − 1)²) and share·(1 − share)/n [Awan, Example 3.2].
    """
    epsilon, share = above(0, 50, epsilon=epsilon), in_range(0, 1, share=share)
    people = whole(1, 10**12, people=people)
    return 1 / (4 * math.sinh(epsilon / 2) ** 2 * people), share * (1 - share) / people


def answers(people: int, share: float, epsilon: float) -> Array:
    """Probabilities of 0, 1, …, `people` answers "yes" among people drawn from a population with this true share."""
    people, share = whole(1, MOST_PEOPLE, people=people), in_range(0, 1, share=share)
    truth = truth_probability(epsilon)
    return binomial(people, share * truth + (1 - share) * (1 - truth))


def binomial(trials: int, probability: float) -> Array:
    """Probabilities of 0, 1, …, `trials` successes."""
    k = np.arange(trials + 1.0)
    ways = gammaln(trials + 1) - gammaln(k + 1) - gammaln(trials - k + 1)
    return np.exp(ways + xlogy(k, probability) + xlog1py(trials - k, -probability))


def survey(true_answers: NDArray[np.bool_], epsilon: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """One answer per person, simulated in floating point: for looking."""
    lies = rng.random(len(true_answers)) >= truth_probability(epsilon)
    return true_answers ^ lies
