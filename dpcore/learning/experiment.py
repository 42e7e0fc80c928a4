"""How often a learner errs: many random splits into training and test rows, many draws of the noise for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import stdtr

from .._validate import above, in_range, whole
from ..errors import InputError
from ..noise.base import Noise
from ..privacy import Privacy
from . import noises
from .descent import SENSITIVITY, Descent, descend, features
from .design import Design, indicators
from .naive_bayes import PUBLISHED, RECIPES, Learner, predicted, statistics, weights
from .noises import Shifts
from .tables import Array, LearningTable

MODELS = {"naive-bayes": "Naïve Bayes", "coordinate-descent": "Proximal coordinate descent"}
BUDGETS = {"each": "every statistic (ε, δ)", "total": "everything together (ε, δ)"}

CHUNK = 2_000_000
"""Scores that are held at a time: 16 MB, and a few times that beside it."""


@dataclass(frozen=True)
class Protocol:
    """Splits at random, `share` of the rows for training; for each so many draws of the noise."""

    splits: int = 100
    draws: int = 100
    seed: int = 0
    share: float = 0.8

    def __post_init__(self) -> None:
        object.__setattr__(self, "splits", whole(2, 1000, splits=self.splits))
        object.__setattr__(self, "draws", whole(1, 10_000, draws=self.draws))
        object.__setattr__(self, "seed", whole(0, 2**53, seed=self.seed))
        object.__setattr__(self, "share", in_range(0.1, 0.95, share=self.share))


@dataclass(frozen=True)
class Asked:
    """What is learnt, under which promise.

    model : one of `MODELS`.   budget : one of `BUDGETS`.   recipe : of naïve Bayes, one of `RECIPES`; the published one
    has noise in proportion to private counts, so no total is known of it.
    weights : of counts, cells, sums and squares: a statistic of weight w gets 1/w of the noise.
    """

    model: str
    privacy: Privacy
    budget: str = "total"
    recipe: str = "corrected"
    weights: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    descent: Descent = field(default_factory=Descent)

    def __post_init__(self) -> None:
        for name, value, known in (
            ("model", self.model, MODELS), ("budget", self.budget, BUDGETS), ("sensitivities", self.recipe, RECIPES),
        ):  # fmt: skip
            if value not in known:
                raise InputError(name, value, ", ".join(known))
        if self.budget == "total" and self.recipe == "published" and self.model == "naive-bayes":
            accepted = "corrected with a total budget: noise in proportion to private counts keeps no known promise"
            raise InputError("sensitivities", "published", accepted)
        if len(self.weights) != 4:
            raise InputError("weights", self.weights, "four numbers: of counts, cells, sums and squares")
        object.__setattr__(self, "weights", tuple(above(0, 1e3, weights=one) for one in self.weights))

    @property
    def learner(self) -> Learner:
        return PUBLISHED if self.recipe == "published" else Learner()

    @property
    def accountable(self) -> bool:
        """What all statistics together keep is known."""
        return self.model == "coordinate-descent" or self.recipe == "corrected"

    def cases(self, table: LearningTable) -> tuple[Shifts, ...]:
        """What one person changes at most, in noise of weight 1."""
        if self.model == "coordinate-descent":
            return (((1.0, self.descent.releases(features(table).shape[1])),),)
        return self.shifts(Design.of(table))

    def shifts(self, design: Design) -> tuple[Shifts, ...]:
        """`cases` of naïve Bayes."""
        return tuple(tuple((share * self.weights[kind], count) for kind, share, count in case) for case in design.moved)

    def law(self, key: str, table: LearningTable, watch: noises.Watch = noises.NOBODY) -> Noise | None:
        """The law of a key; None for "none".

        Raises
        ------
        InputError : there is none.   StoppedError : `watch` said so.
        """
        if key == "none":
            return None
        if self.budget == "each":
            return noises.each(key, self.privacy, watch)
        return noises.together(key, self.privacy, self.cases(table), watch)


@dataclass(frozen=True)
class Outcome:
    """inside, outside : mean error rate over the draws, of training and of test rows, one for every split."""

    key: str
    inside: tuple[float, ...]
    outside: tuple[float, ...]

    @property
    def means(self) -> tuple[float, float]:
        """Over the splits."""
        return float(np.mean(self.inside)), float(np.mean(self.outside))

    @property
    def spreads(self) -> tuple[float, float]:
        """Standard deviations over the splits."""
        return float(np.std(self.inside, ddof=1)), float(np.std(self.outside, ddof=1))


Stop = Callable[[], bool]


def simulate(
    table: LearningTable, asked: Asked, key: str, protocol: Protocol, stop: Stop = lambda: False
) -> Outcome | None:
    """The errors with one law. A split is the same for all laws, draws are not.

    stop : asked every tenth of a second or so; once true, the answer is of the splits that are done, None below two.
    """
    try:
        law = asked.law(key, table, noises.Watch(stop))
    except noises.StoppedError:
        return None
    draws = 1 if law is None else protocol.draws
    one = _bayes if asked.model == "naive-bayes" else _descended
    errors: list[tuple[float, float]] = []
    prepared = Design.of(table) if asked.model == "naive-bayes" else features(table)
    for split in range(protocol.splits):
        order = np.random.default_rng([protocol.seed, split]).permutation(len(table.labels))
        rng = np.random.default_rng([protocol.seed, split, *key.encode()])
        cut = round(protocol.share * len(order))
        found = one(table, prepared, asked, law, order, cut, draws, rng, stop)
        if found is None:
            break
        errors.append(found)
    if len(errors) < 2:
        return None
    inside, outside = zip(*errors)
    return Outcome(key, inside, outside)


def _bayes(
    table: LearningTable, design: Any, asked: Asked, law: Noise | None, order: Any, cut: int, draws: int,
    rng: np.random.Generator, stop: Stop,
) -> tuple[float, float] | None:  # fmt: skip
    """Mean errors of naïve Bayes on one split."""
    matrix, labels, learner = design.matrix[order], table.labels[order], asked.learner
    classes = len(table.classes)
    sums = matrix[:cut].T @ indicators(labels[:cut], classes)
    scale = 1 / np.array(asked.weights)[design.kinds][:, None]
    total, done = np.zeros(2), 0
    most = max(1, CHUNK // (classes * len(matrix)))
    while done < draws:
        if stop():
            return None
        many = min(most, draws - done)
        noise = None if law is None else noises.drawn(law, rng, (many, *sums.shape)) * scale
        made = weights(design, statistics(design, sums, learner, noise), learner)
        total += _errors(predicted(matrix, made) != labels[:, None], cut) * many
        done += many
    inside, outside = (total / draws).tolist()
    return inside, outside


def _descended(
    table: LearningTable, X: Any, asked: Asked, law: Noise | None, order: Any, cut: int, draws: int,
    rng: np.random.Generator, stop: Stop,
) -> tuple[float, float] | None:  # fmt: skip
    """Mean errors of coordinate descent on one split; with more than two classes of the first against the rest."""
    rows, y = X[order], np.where(table.labels[order] == 0, 1.0, -1.0)
    path = np.random.default_rng([int(order[0]), int(order[-1]), cut])  # start and subsets, the same for all laws
    release = None if law is None else lambda sums: sums + SENSITIVITY * noises.drawn(law, rng, sums.shape)
    found = descend(rows[:cut], y[:cut], asked.descent, path, release, draws=draws, stop=stop)
    if found is None:
        return None
    wrong = np.where(rows @ found.T > 0, 1.0, -1.0) != y[:, None]
    inside, outside = _errors(wrong, cut).tolist()
    return inside, outside


def _errors(wrong: Any, cut: int) -> Array:
    return np.array([wrong[:cut].mean(), wrong[cut:].mean()])


def one_sided(better: Sequence[float], worse: Sequence[float]) -> tuple[float, float]:
    """(t, p) of the one-sided paired t-test over splits that the first errs less [Salzberg 1997; SLW, supplement]:
    p = P(T ≤ t) of Student's law, small where it does. Where all differences are equal t is 0 or infinite.
    """
    difference = np.asarray(better) - np.asarray(worse)
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    if spread == 0:
        t = math.copysign(math.inf, mean) if mean else 0.0
    else:
        t = mean / (spread / math.sqrt(len(difference)))
    return t, float(stdtr(len(difference) - 1, t))


def closed(outcome: Outcome, rival: Outcome, exact: Outcome) -> tuple[float, float]:
    """The share of the rival's distance from the non-private learner that the outcome closes, inside and outside."""
    parts = zip(outcome.means, rival.means, exact.means)
    inside, outside = ((b - a) / (b - c) if b != c else math.nan for a, b, c in parts)
    return inside, outside
