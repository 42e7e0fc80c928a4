"""Naïve Bayes from noisy statistics, many draws of the noise at once [SLW, §5.2].

Three recipes say what is released. *published*: for every class its count, the count of every value of every category,
mean and standard deviation of every number, the latter two with noise in proportion to (u − l)/n_c and (u − l)/√n_c.
*program*: the same as the authors' program computes it, see `Scales.of`. *corrected*: the same counts, and of every
number the sums of z and z² − ½, whose sensitivities do not depend on the data (docs/learning.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validate import in_range
from ..errors import InputError
from ..plan.public import Category
from .design import CELL, COUNT, SQUARE, SUM, Design
from .tables import Array, LearningTable

RECIPES = {
    "published": "by the paper's text", "program": "as in its authors' program", "corrected": "corrected",
}  # fmt: skip


@dataclass(frozen=True)
class Learner:
    """How statistics become a classifier.

    recipe : one of `RECIPES`.   smoothing : added to every cell's count, which then is at least 0 first.
    narrowest : standard deviations are at least this share of half the range.   floor : noisy counts below it count as
    this much; what is done with them the paper's text leaves open.
    """

    recipe: str = "corrected"
    smoothing: float = 1.0
    narrowest: float = 0.01
    floor: float = 1e-9

    def __post_init__(self) -> None:
        if self.recipe not in RECIPES:
            raise InputError("sensitivities", self.recipe, ", ".join(RECIPES))
        object.__setattr__(self, "smoothing", in_range(0, 1e6, smoothing=self.smoothing))
        object.__setattr__(self, "narrowest", in_range(1e-6, 1, narrowest=self.narrowest))


PUBLISHED = Learner("published", 0.0, 1e-6)
"""The paper's protocol: no smoothing."""

NEVER = 1e-300
"""Stands for the count of a value that no training row of a class has: the authors' program adds no noise to it and
takes the class for impossible."""

PROGRAM = Learner("program", 0.0, 1e-6, NEVER)
"""What the authors' program does, with `Scales.of`."""


@dataclass(frozen=True, eq=False)
class Scales:
    """Sensitivities of means and deviations, (numbers, C), and the least deviations, (numbers, 1), of z."""

    means: Array
    deviations: Array
    narrowest: Array

    @classmethod
    def of(cls, table: LearningTable) -> Scales:
        """Scales of the authors' program (github.com/selvi-aras/DP-via-DRO, "ML Algorithms Julia", sensitivities.jl and
        NB.jl): (u − l)/n_c and (u − l)/√n_c in the units of the data, with n_c of all rows, rounded up to whole
        numbers; deviations, with noise and without, are at least 1, and counts with noise at least 1e-6."""
        ends = [(one.low, one.high) for one in table.columns if not isinstance(one, Category)]
        low, high = np.array(ends, dtype=float).reshape(-1, 2).T
        width, sizes = (high - low)[:, None], np.maximum(np.bincount(table.labels, minlength=len(table.classes)), 1)
        means, deviations = np.ceil(width / sizes), np.ceil(width / np.sqrt(sizes))
        return cls(means * (2 / width), deviations * (2 / width), 2 / width)


@dataclass(frozen=True, eq=False)
class Statistics:
    """counts : (…, C).   cells : (…, cells, C).   means, deviations : (…, numbers, C), of z; … are draws."""

    counts: Array
    cells: Array
    means: Array
    deviations: Array


def statistics(
    design: Design, sums: Array, learner: Learner, noise: Array | None = None, scales: Scales | None = None
) -> Statistics:
    """What the classifier is made of.

    sums : (F, C), Φᵀ Y.   noise : (draws, F, C) in units of each statistic's sensitivity; the rows of z are the noise
    of the mean or of Σz, those of z² − ½ that of the deviation or of Σ(z² − ½). None: none, as one draw.
    scales : of means and deviations where they are not those of the text.
    """
    if noise is None:
        noise = np.zeros((1, *sums.shape))
    if learner.recipe != "corrected":
        exact, size = moments(design, sums[None], learner), np.maximum(sums[0], 1.0)
        counted = sums + noise
        if scales is not None:
            counted = np.where(sums == 0, NEVER, np.maximum(counted, 1e-6))
        scales = scales or Scales(2 / size, 2 / np.sqrt(size), np.full((1, 1), learner.narrowest))
        means = exact.means + noise[:, design.at(SUM)] * scales.means
        deviations = np.maximum(exact.deviations, scales.narrowest) + noise[:, design.at(SQUARE)] * scales.deviations
        deviations = np.maximum(deviations, scales.narrowest)
        return Statistics(counted[:, 0], counted[:, design.at(CELL)], means, deviations)
    return moments(design, sums + noise * design.sensitivities[:, None], learner)


def moments(design: Design, sums: Array, learner: Learner) -> Statistics:
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
    counts = np.maximum(found.counts, learner.floor)
    constant = np.log(counts + learner.smoothing)
    cells = (
        np.maximum(found.cells, 0.0) + learner.smoothing
        if learner.smoothing
        else np.maximum(found.cells, learner.floor)
    )
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
