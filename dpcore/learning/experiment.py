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
from .bounded import DataDependent
from .descent import SENSITIVITY, Descent, descend, features, width
from .design import Design, indicators
from .naive_bayes import PROGRAM, PUBLISHED, RECIPES, Learner, Scales, predicted, statistics, weights
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

    model : one of `MODELS`.   budget : one of `BUDGETS`.   recipe : of naïve Bayes, one of `RECIPES`; only of the
    corrected one a total is known: the others' noise depends on private counts.
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
        if self.budget == "total" and self.recipe != "corrected" and self.model == "naive-bayes":
            accepted = "corrected with a total budget: noise in proportion to private counts keeps no known promise"
            raise InputError("sensitivities", self.recipe, accepted)
        if len(self.weights) != 4:
            raise InputError("weights", self.weights, "four numbers: of counts, cells, sums and squares")
        object.__setattr__(self, "weights", tuple(above(0, 1e3, weights=one) for one in self.weights))

    @property
    def learner(self) -> Learner:
        return {"published": PUBLISHED, "program": PROGRAM}.get(self.recipe, Learner())

    @property
    def accountable(self) -> bool:
        """What all statistics together keep is known."""
        return self.model == "coordinate-descent" or self.recipe == "corrected"

    def cases(self, table: LearningTable) -> tuple[Shifts, ...]:
        """What one person changes at most, in noise of weight 1."""
        if self.model == "coordinate-descent":
            return (((1.0, self.descent.releases(width(table.columns))),),)
        return self.shifts(Design.shape(table.columns))

    def shifts(self, design: Design) -> tuple[Shifts, ...]:
        """`cases` of naïve Bayes."""
        return tuple(tuple((share * self.weights[kind], count) for kind, share, count in case) for case in design.moved)

    def law(self, key: str, table: LearningTable, watch: noises.Watch = noises.NOBODY) -> Noise | DataDependent | None:
        """The law of a key; None for "none".

        Raises
        ------
        InputError : there is none.   StoppedError : `watch` said so.
        """
        if key == "none":
            return None
        if key == noises.DATA_DEPENDENT:
            if self.model != "naive-bayes" or self.recipe != "published":
                accepted = "a budget for each statistic of naïve Bayes with published sensitivities, or another law"
                raise InputError("noise", key, accepted)
            return DataDependent.of(self.privacy, watch)
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
    prepared = Design.of(table) if asked.model == "naive-bayes" else features(table)
    return over_splits(
        key, len(table.labels), protocol,
        lambda order, cut, rng: one(table, prepared, asked, law, order, cut, draws, rng, stop),
    )  # fmt: skip


Split = Callable[[Any, int, np.random.Generator], tuple[float, float] | None]
"""Order of the rows, how many are for training, randomness of the noise → mean errors inside and outside; None where it
was stopped."""


def over_splits(key: str, rows: int, protocol: Protocol, one: Split) -> Outcome | None:
    """What comes of every split, the same ones for all laws; None where it was stopped before two were done."""
    errors: list[tuple[float, float]] = []
    for split in range(protocol.splits):
        order = np.random.default_rng([protocol.seed, split]).permutation(rows)
        rng = np.random.default_rng([protocol.seed, split, *key.encode()])
        found = one(order, round(protocol.share * rows), rng)
        if found is None:
            break
        errors.append(found)
    if len(errors) < 2:
        return None
    inside, outside = zip(*errors)
    return Outcome(key, inside, outside)


def _bayes(
    table: LearningTable, design: Any, asked: Asked, law: Noise | DataDependent | None, order: Any, cut: int,
    draws: int, rng: np.random.Generator, stop: Stop,
) -> tuple[float, float] | None:  # fmt: skip
    """Mean errors of naïve Bayes on one split."""
    matrix, labels, learner = design.matrix[order], table.labels[order], asked.learner
    classes = len(table.classes)
    sums = matrix[:cut].T @ indicators(labels[:cut], classes)
    scale = 1 / np.array(asked.weights)[design.kinds][:, None]
    scales = Scales.of(table) if asked.recipe == "program" else None

    def wrong(many: int) -> Any:
        if stop():
            return None
        try:
            noise = _noise(law, design, sums, learner, rng, many, scale)
        except noises.StoppedError:
            return None
        made = weights(design, statistics(design, sums, learner, noise, scales), learner)
        return predicted(matrix, made) != labels[:, None]

    return _over_draws(draws, classes * len(matrix), cut, wrong)


def _noise(
    law: Noise | DataDependent | None, design: Design, sums: Array, learner: Learner, rng: np.random.Generator,
    draws: int, scale: Array,
) -> Array | None:  # fmt: skip
    """(draws, F, C), in units of each statistic's sensitivity; None without noise."""
    if isinstance(law, DataDependent):
        return law.drawn(design, sums, learner, rng, draws)
    if law is None:
        return None
    found: Array = noises.drawn(law, rng, (draws, *sums.shape)) * scale
    return found


def _descended(
    table: LearningTable, X: Any, asked: Asked, law: Noise | DataDependent | None, order: Any, cut: int, draws: int,
    rng: np.random.Generator, stop: Stop,
) -> tuple[float, float] | None:  # fmt: skip
    """Mean errors of coordinate descent on one split; with more than two classes of the first against the rest."""
    assert not isinstance(law, DataDependent)
    release = None if law is None else lambda sums: sums + SENSITIVITY * noises.drawn(law, rng, sums.shape)
    return descents(
        table, X, order, cut, draws,
        lambda rows, y, path, many: descend(rows, y, asked.descent, path, release, draws=many, stop=stop),
    )  # fmt: skip


Learning = Callable[[Array, Array, np.random.Generator, int], Array | None]
"""Rows and labels −1 and 1 for training, randomness of start and subsets, how many draws → coefficients, (draws, d);
None where it was stopped."""


def descents(
    table: LearningTable, X: Any, order: Any, cut: int, draws: int, learn: Learning
) -> tuple[float, float] | None:  # fmt: skip
    """Mean errors of the first class against the rest on one split, start and subsets the same for all laws."""
    rows, y = X[order], np.where(table.labels[order] == 0, 1.0, -1.0)

    def wrong(many: int) -> Any:
        found = learn(rows[:cut], y[:cut], np.random.default_rng([int(order[0]), int(order[-1]), cut]), many)
        return None if found is None else np.where(rows @ found.T > 0, 1.0, -1.0) != y[:, None]

    return _over_draws(draws, len(rows), cut, wrong)


def _over_draws(draws: int, scores: int, cut: int, wrong: Callable[[int], Any]) -> tuple[float, float] | None:
    """Mean errors of the first `cut` rows and of the others; None where it was stopped.

    wrong : so many draws → (rows, draws), which rows are classified wrongly, or None.   scores : of one draw.
    """
    total, done, most = np.zeros(2), 0, max(1, CHUNK // scores)
    while done < draws:
        many = min(most, draws - done)
        if (found := wrong(many)) is None:
            return None
        total += np.array([found[:cut].mean(), found[cut:].mean()]) * many
        done += many
    inside, outside = (total / draws).tolist()
    return inside, outside


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
