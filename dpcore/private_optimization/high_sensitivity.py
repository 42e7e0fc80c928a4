"""Programs of high sensitivity, which no private mechanism solves [MSVV, App. A, after Hsu et al.].

For a database D ∈ {0, 1}ⁿ, find x with x_i = D_i for all i: one person changes one limit from 0 to 1. Whoever meets all
limits within less than ½ has told D by rounding.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .._validate import in_range, whole

MOST_PEOPLE = 10_000


def most_certain(epsilon: float, people: int) -> float:
    """The largest probability with which an ε-DP mechanism meets all limits within less than ½, whatever D is:
    (1 + e^−ε)^−n, to the nearest floats.

    No more: let s be that probability and D₀ any database. The events "x rounds to D" are disjoint, and a database that
    differs from D₀ in h places gives its own event at least s, so D₀ gives it at least s·e^(−εh); summed over all
    databases, s Σ_h C(n, h) e^(−εh) = s (1 + e^−ε)ⁿ ≤ 1. No less: randomised response tells
    every bit right with probability 1/(1 + e^−ε).
    """
    epsilon, people = in_range(0, 700, epsilon=epsilon), whole(1, MOST_PEOPLE, people=people)
    return math.exp(-people * math.log1p(math.exp(-epsilon)))


def answers(epsilon: float, people: int, draws: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether randomised response met all limits, draw by draw, for a random database. (draws,)"""
    people, draws = whole(1, MOST_PEOPLE, people=people), whole(1, 10**6, draws=draws)
    truth = rng.random(people) < 0.5
    told = np.where(rng.random((draws, people)) < 1 / (1 + math.exp(-epsilon)), truth, ~truth)
    met: NDArray[np.bool_] = (told == truth).all(axis=1)
    return met
