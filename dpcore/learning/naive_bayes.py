"""Naïve Bayes from noisy statistics, many draws of the noise at once [SLW, §5.2].

Two recipes say what is released. *published*: for every class its count, the count of every value of every category,
mean and standard deviation of every number, the latter two with noise in proportion to (u − l)/n_c and (u − l)/√n_c.
*corrected*: the same counts, and of every number the sums of z and z² − ½, whose sensitivities do not depend on the
data (docs/learning.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validate import in_range
from ..errors import InputError
from .design import CELL, COUNT, SQUARE, SUM, Design
from .tables import Array

RECIPES = {"published": "as published", "corrected": "corrected"}

FLOOR = 1e-9
"""Noisy counts below it count as this much, as the paper's text leaves open what is done with them."""


@dataclass(frozen=True)
class Learner:
    """How statistics become a classifier.

    recipe : one of `RECIPES`.   smoothing : added to every cell's count, which then is at least 0 first.
    narrowest : standard deviations are at least this share of half the range.
    """

    recipe: str = "corrected"
    smoothing: float = 1.0
    narrowest: float = 0.01

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise InputError("sensitivities", self.recipe, ", ".join(RECIPES))
        object.__setattr__(self, "smoothing", in_range(0, 1e6, smoothing=self.smoothing))
        object.__setattr__(self, "narrowest", in_range(1e-6, 1, narrowest=self.narrowest))


PUBLISHED = Learner("published", 0.0, 1e-6)
"""The paper's protocol: no smoothing."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """counts : (…, C).   cells : (…, cells, C).   means, deviations : (…, numbers, C), of z; … are draws."""

    counts: Array
    cells: Array
    means: Array
    deviations: Array


def statistics(design: Design, sums: Array, learner: Learner, noise: Array | None = None) -> Statistics:
    """What the classifier is made of.

    sums : (F, C), Φᵀ Y.   noise : (draws, F, C) in units of each statistic's sensitivity; the rows of z are the noise
    of the mean or of Σz, those of z² − ½ that of the deviation or of Σ(z² − ½). None: none, as one draw.
    """
    if noise is None:
        noise = np.zeros((1, *sums.shape))
    if learner.recipe == "published":
        exact = _moments(design, sums[None], learner)
        size = np.maximum(sums[0], 1.0)
        means = exact.means + noise[:, design.at(SUM)] * (2 / size)
        deviations = exact.deviations + noise[:, design.at(SQUARE)] * (2 / np.sqrt(size))
        counted = sums + noise
        return Statistics(
            counted[:, 0], counted[:, design.at(CELL)], means, np.maximum(deviations, learner.narrowest)
        )  # fmt: skip
    return _moments(design, sums + noise * design.sensitivities[:, None], learner)


def _moments(design: Design, sums: Array, learner: Learner) -> Statistics:
    """Means and (population) standard deviations from sums, (draws, F, C): those of at least one row."""
    counts = sums[:, 0]
    size = np.maximum(counts, 1.0)[:, None]
    means = np.clip(sums[:, design.at(SUM)] / size, -1.0, 1.0)
    variances = sums[:, design.at(SQUARE)] / size + 0.5 - means**2
    deviations = np.sqrt(np.maximum(variances, learner.narrowest**2))
    return Statistics(counts, sums[:, design.at(CELL)], means, deviations)


def weights(design: Design, found: Statistics, learner: Learner) -> Array:
    """W with scores Φ W, (F, C, draws): logarithms of probabilities, up to what all classes share."""
    draws, classes = found.counts.shape
    out = np.empty((len(design.kinds), classes, draws))
    counts = np.maximum(found.counts, FLOOR)
    constant = np.log(counts + learner.smoothing)
    cells = np.maximum(found.cells, 0.0) + learner.smoothing if learner.smoothing else np.maximum(found.cells, FLOOR)
    logs = np.log(cells)
    first = design.at(CELL).start
    for block in design.blocks:
        constant -= np.log(counts + learner.smoothing * (block.stop - block.start))
        out[block] = logs[:, block.start - first : block.stop - first].transpose(1, 2, 0)
    precise = 0.5 / found.deviations**2
    constant -= (np.log(found.deviations) + precise * (found.means**2 + 0.5)).sum(axis=1)
    out[design.at(SUM)] = (2 * precise * found.means).transpose(1, 2, 0)
    out[design.at(SQUARE)] = -precise.transpose(1, 2, 0)
    out[COUNT] = constant.T
    return out


def predicted(matrix: Array, weights: Array) -> Array:
    """The first class of the highest score, (n, draws), of rows of Φ; weights : (F, C, draws)."""
    features, classes, draws = weights.shape
    scores = (matrix @ weights.reshape(features, -1)).reshape(len(matrix), classes, draws)
    found: Array = np.zeros((len(matrix), draws), dtype=np.int8)
    best = scores[:, 0]
    for code in range(1, classes):
        higher = scores[:, code] > best
        found[higher] = code
        if code + 1 < classes:
            best = np.where(higher, scores[:, code], best)
    return found
