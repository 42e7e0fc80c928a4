"""Rows as the numbers that naïve Bayes adds up, and how far one person moves the sums.

With Φ the matrix of this module and Y the labels as columns of 0 and 1, Φᵀ Y holds every statistic of the learner, and
Φ W, with W made of the (noisy) statistics, every score: so fits and predictions of many draws are matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..plan.public import Category
from .tables import Array, Codes, Column, LearningTable

GRAIN, COARSE = 2.0**-20, 2.0**-10
"""Numbers, scaled to [−1, 1], are rounded to multiples of it; up to 2³² rows of them are then added without error.
Sums of multiples of the second, of at most `MOST_ROWS` rows, are decimals of 15 digits, which their shortest texts
name exactly: what an exact release of a float asks for."""

COUNT, CELL, SUM, SQUARE = range(4)
GROUPS = ("counts", "cells", "sums", "squares")


@dataclass(frozen=True, eq=False)
class Design:
    """matrix : (n, F), a 1, then 0 or 1 for every value of every category, then z and z² − ½ of every number, where z
    is the number scaled from its range to [−1, 1].   kinds : (F,) COUNT, CELL, SUM or SQUARE.
    blocks : the places of the values of each category.
    """

    matrix: Array
    kinds: Codes
    blocks: tuple[slice, ...]

    @classmethod
    def of(cls, table: LearningTable) -> Design:
        """The design of a table."""
        return cls.of_values(table.values, table.columns)

    @classmethod
    def shape(cls, columns: Sequence[Column]) -> Design:
        """The design of one made-up row: what does not depend on the data."""
        return cls.of_values(np.zeros((1, len(columns))), columns)

    @classmethod
    def of_values(cls, values: Array, columns: Sequence[Column], grain: float = GRAIN) -> Design:
        """The design of values, (n, columns), as `LearningTable` has them, in multiples of the grain."""
        parts, kinds, blocks = [np.ones((len(values), 1))], [COUNT], []
        for at, one in enumerate(columns):
            if isinstance(one, Category):
                blocks.append(slice(len(kinds), len(kinds) + len(one.values)))
                parts.append((values[:, at, None] == np.arange(len(one.values))).astype(float))
                kinds += [CELL] * len(one.values)
        numbers = [at for at, one in enumerate(columns) if not isinstance(one, Category)]
        z = scaled(values, columns, grain)[:, numbers]
        parts += [z, np.rint((z * z - 0.5) / grain) * grain]
        kinds += [SUM] * len(numbers) + [SQUARE] * len(numbers)
        return cls(np.hstack(parts), np.array(kinds, dtype=np.intp), tuple(blocks))

    def at(self, kind: int) -> slice:
        """The places of a kind."""
        places = np.flatnonzero(self.kinds == kind)
        return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0)

    @cached_property
    def sensitivities(self) -> Array:
        """(F,) the most that changing one person moves one sum of a class: 1 for a count, 2 for Σz and 1 for
        Σ(z² − ½), for a person who stays in the class. One who moves to another class moves both by half of the last
        two."""
        return np.array([1.0, 1.0, 2.0, 1.0])[self.kinds]

    @property
    def moved(self) -> tuple[tuple[tuple[int, float, int], ...], ...]:
        """What changing one person moves at most, as (kind, share of the sensitivity, how many sums): of one who stays
        in the class, of one who moves to another class."""
        categories, numbers = len(self.blocks), int((self.kinds == SUM).sum())
        stays = [(CELL, 1.0, 2 * categories), (SUM, 1.0, numbers), (SQUARE, 1.0, numbers)]
        moves = [(COUNT, 1.0, 2), (CELL, 1.0, 2 * categories), (SUM, 0.5, 2 * numbers), (SQUARE, 0.5, 2 * numbers)]
        return tuple(tuple(one for one in case if one[2]) for case in (stays, moves))

    @property
    def touched(self) -> tuple[int, int]:
        """How many statistics, as published, one person enters, and how many one who changes class changes: a count,
        a cell of every category, mean and deviation of every number; twice as many."""
        one = 1 + len(self.blocks) + 2 * int((self.kinds == SUM).sum())
        return one, 2 * one


def scaled(values: Array, columns: Sequence[Column], grain: float = GRAIN) -> Array:
    """Numbers clamped to their ranges and scaled to [−1, 1], categories from their first to their last code, in
    multiples of the grain; (n, columns)."""
    ends = [(0.0, max(len(one.values) - 1, 1)) if isinstance(one, Category) else (one.low, one.high) for one in columns]
    low, high = np.array(ends, dtype=float).reshape(-1, 2).T
    z: Array = np.clip((2 * values - low - high) / (high - low), -1.0, 1.0)
    return np.rint(z / grain) * grain


def indicators(labels: Codes, classes: int) -> Array:
    """(n, classes), 1 where a row has the class."""
    return np.eye(classes)[labels]
