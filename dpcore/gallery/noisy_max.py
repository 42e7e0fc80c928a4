"""Report noisy max: noise on every score, and only the name of the largest is told [Awan, §5].

Each score changes by at most 1 with one person, either way. Noise of scale 2/ε then gives ε-DP: Laplace [DR14,
§3.3], one-sided exponential (the same as permute-and-flip [MS20; DKSSWXZ21]), and Gumbel, which is the exponential
mechanism exactly [Awan, Proposition 7.1].

Scores come in groups of equal ones, (score, how many): thousands of candidates cost no more than a handful.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import roots_legendre

from .._validate import above, real, whole
from ..errors import InputError

Array = NDArray[np.float64]
Groups = Sequence[tuple[float, int]]

NOISES = {"laplace": "Laplace", "exponential": "exponential", "gumbel": "Gumbel"}
MOST_CANDIDATES = 10**6

_REACH = 45.0
"""Scales from the best score within which the largest noisy score lies but for probability e^−45."""

_NODES, _WEIGHTS = roots_legendre(16)

_Law = Callable[[Array], tuple[Array, Array]]


def probabilities(groups: Groups, epsilon: float, noise: str) -> Array:
    """P(the one that is named belongs to the group), for every group.

    Gumbel: in closed form. The others: by Gauss–Legendre integration between the kinks, to about 1e-12.
    """
    scores, counts = _read(groups)
    scale = 2 / above(0, 1e6, epsilon=epsilon)
    gaps = (scores - scores.max()) / scale
    shares: Array
    if noise == "gumbel":
        weights = counts * np.exp(gaps)
        shares = weights / weights.sum()
        return shares
    if noise not in NOISES:
        raise InputError("noise", noise, ", ".join(NOISES))
    law = _laplace if noise == "laplace" else _exponential
    x, weights = _grid(gaps, counts, law)
    hazard, log_cdf = law(x[None, :] - gaps[:, None])
    wins = counts * (hazard @ (np.exp(counts @ log_cdf) * weights))  # one of the group is there, all others below
    shares = wins / wins.sum()
    return shares


def expected_gap(groups: Groups, epsilon: float, noise: str) -> float:
    """How far the score of the one that is named lies below the best score, on average."""
    scores, _ = _read(groups)
    return float(probabilities(groups, epsilon, noise) @ (scores.max() - scores))


def gap_bound(candidates: int, epsilon: float) -> float:
    """The bound of [Awan, Proposition 5.2] on `expected_gap` with Laplace noise, whatever the scores are."""
    candidates = whole(2, MOST_CANDIDATES, candidates=candidates)
    return 2 / above(0, 1e6, epsilon=epsilon) * (2 * math.log(candidates - 1) + 1 + 2 * math.log(2))


def worst_lead(candidates: int, epsilon: float, noise: str) -> float:
    """The lead of one candidate before level rivals at which `expected_gap` is largest, numerically (to about 1e-4)."""
    epsilon = above(0, 1e6, epsilon=epsilon)
    return 2 / epsilon * _worst_lead(whole(2, MOST_CANDIDATES, candidates=candidates), noise)


@lru_cache(maxsize=512)
def _worst_lead(candidates: int, noise: str) -> float:
    """That lead in scales of the noise, for which ε = 2."""
    lost = lambda lead: -expected_gap([(0.0, 1), (-lead, candidates - 1)], 2.0, noise)  # noqa: E731
    reach = (0.0, math.log(candidates) + 8)
    return float(minimize_scalar(lost, bounds=reach, method="bounded", options={"xatol": 1e-4}).x)


def _read(groups: Groups) -> tuple[Array, Array]:
    if not groups:
        raise InputError("groups", groups, "at least one score with how many have it")
    scores = np.array([real(score=score) for score, _ in groups])
    counts = np.array([float(whole(1, MOST_CANDIDATES, count=count)) for _, count in groups])
    return scores, counts


def _grid(gaps: Array, counts: Array, law: _Law) -> tuple[Array, Array]:
    """Nodes and weights for integrals over the largest noisy score, in scales above the best score; below the first of
    them it lies with probability e^−45 at most."""
    low, high = -_REACH, _REACH + math.log(counts.sum())
    kinks = gaps[(gaps > low) & (gaps < high)]
    edges = np.unique(np.concatenate([np.arange(low, high, 0.5), kinks, [high]]))
    likely = counts @ law(edges[None, :] - gaps[:, None])[1] > -_REACH
    edges = edges[max(int(np.argmax(likely)) - 1, 0) :]
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    x = (middle[:, None] + half[:, None] * _NODES).ravel()
    return x, (half[:, None] * _WEIGHTS).ravel()


def _laplace(x: Array) -> tuple[Array, Array]:
    """(density over distribution function, log of the latter) of scale 1."""
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, 1.0, tail / (1 - tail)), np.where(x < 0, x - math.log(2), np.log1p(-tail))


def _exponential(x: Array) -> tuple[Array, Array]:
    """(density over distribution function, log of the latter) of one-sided exponential noise of scale 1."""
    inside = x > 1e-300  # next to 0 the quotient would overflow
    below = -np.expm1(-np.where(inside, x, 1.0))
    return np.where(inside, (1 - below) / below, 0.0), np.where(inside, np.log(below), -np.inf)


# Shapes of scores -----------------------------------------------------------------------------------

SHAPES = {"leader": "one leader, the rest level", "levels": "one leader, the rest on four steps", "pair": "two leaders"}


def scores(shape: str, candidates: int, lead: float) -> list[tuple[float, int]]:
    """Groups of `candidates` scores; `lead` is how far the best is ahead of the next (of the rest, for a pair)."""
    candidates = whole(2, MOST_CANDIDATES, candidates=candidates)
    if shape == "leader":
        return [(0.0, 1), (-lead, candidates - 1)]
    if shape == "pair":
        return [(0.0, 2), *([(-lead, candidates - 2)] if candidates > 2 else [])]
    if shape == "levels":
        rest = candidates - 1
        steps = [rest // 4 + (step < rest % 4) for step in range(4)]
        return [(0.0, 1), *((-lead * (step + 1), count) for step, count in enumerate(steps) if count)]
    raise InputError("shape", shape, ", ".join(SHAPES))
