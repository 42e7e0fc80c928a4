"""The exponential mechanism: choose an output with probability proportional to e^(ε·utility/(2Δ)) [MT07; Awan, §7]."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from .._validate import above, in_range
from ..errors import InputError

Array = NDArray[np.float64]


def probabilities(utilities: ArrayLike, epsilon: float, sensitivity: float) -> Array:
    """Probability of every output.

    sensitivity : the most that one person can change the utility of any one output.
    """
    utilities = np.asarray(utilities, float)
    if utilities.ndim != 1 or not len(utilities) or not np.all(np.isfinite(utilities)):
        raise InputError("utilities", utilities.tolist(), "at least one finite number")
    rate = above(0, 1e6, epsilon=epsilon) / (2 * above(0, 1e12, sensitivity=sensitivity))
    masses: Array = softmax(rate * (utilities - utilities.max()))
    return masses


def expected_shortfall(utilities: ArrayLike, epsilon: float, sensitivity: float) -> float:
    """How far the utility of the chosen output is below the best one's, on average."""
    utilities = np.asarray(utilities, float)
    return float(probabilities(utilities, epsilon, sensitivity) @ (utilities.max() - utilities))


def shortfall_tail(utilities: ArrayLike, epsilon: float, sensitivity: float, losses: ArrayLike) -> Array:
    """P(the chosen output's utility is at least so much below the best one's), for each of `losses`."""
    utilities = np.asarray(utilities, float)
    masses, short = probabilities(utilities, epsilon, sensitivity), utilities.max() - utilities
    return np.array([math.fsum(masses[short >= loss]) for loss in np.atleast_1d(losses)])


def shortfall_bound(utilities: ArrayLike, epsilon: float, sensitivity: float, losses: ArrayLike) -> Array:
    """The bound of [Awan, Theorem 7.2] on `shortfall_tail`: |outputs|/|best outputs|·e^(−ε·loss/(2Δ)), at most 1."""
    utilities = np.asarray(utilities, float)
    best = np.count_nonzero(utilities == utilities.max())
    losses = np.atleast_1d(np.asarray(losses, float))
    return np.minimum(1.0, len(utilities) / best * np.exp(-epsilon * losses / (2 * sensitivity)))


def rank_utilities(data: ArrayLike, candidates: ArrayLike, level: float = 0.5) -> Array:
    """Minus the number of people by whom a candidate misses being the level's quantile: too many of them below it, or
    too few at or below it. Replacing one of the n people changes it by at most 1.

    Away from the data it is −|#{x ≤ candidate} − level·n| [Awan, §7.3]; that form alone would count people whose value
    *is* the candidate on one side only, and a value that most people share would not be their median.
    """
    data, level = np.sort(np.asarray(data, float)), in_range(0, 1, level=level)
    candidates, target = np.asarray(candidates, float), level * len(data)
    below, up_to = (np.searchsorted(data, candidates, side=side) for side in ("left", "right"))
    utilities: Array = -np.maximum(0.0, np.maximum(below - target, target - up_to))
    return utilities


def revenues(values: ArrayLike, prices: ArrayLike) -> Array:
    """What each price earns from buyers who buy if it is at most what the thing is worth to them [Awan, Example 7.1].

    In whole cents, so that a buyer's own price is never missed by rounding. One buyer more, less or replaced changes
    the revenue of a price by at most that price.
    """
    values, prices = np.sort(np.asarray(values, np.int64)), np.asarray(prices, np.int64)
    return (prices * (len(values) - np.searchsorted(values, prices, side="left"))).astype(float)
