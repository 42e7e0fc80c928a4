"""What the page lets compute in the background."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpcore.privacy import Privacy
from dpcore.solution import Progress
from dpcore.vector import Allocation, SensitivityProfile, VectorQuery, gini
from dpcore.vector.compare import LP, MECHANISMS, MIXED, allocation, allocations
from dpcore.vector.components import Outcome, private_components
from dpcore.vector.datasets import load, read_table
from dpcore.vector.descent import private_descent

CLOSED = tuple(key for key in MECHANISMS if key not in (LP, MIXED))
CURVES = ("gaussian-iid", "gaussian-optimal", "laplace-iid", "laplace-optimal", "blocks-optimal")
SHAPES = ("uniform", "linear", "quadratic", "exponential", "one-hot")
DIMENSIONS = tuple(sorted({*range(1, 31)}))
EPSILONS = tuple(np.geomspace(0.1, 5, 25).tolist())

Report = Callable[[Any], bool]


def tick(error: float) -> Progress:
    """A sign of life with the best error so far."""
    return Progress(0.0, 0.0, error, 0, 0)


def compare(query: VectorQuery, settings: None, *, progress: Report) -> list[Allocation]:
    """All mechanisms, the slow ones included."""
    return allocations(query, MECHANISMS, progress=lambda error: progress(tick(error)))


@lru_cache(maxsize=32)
def closed(query: VectorQuery) -> tuple[Allocation, ...]:
    """The mechanisms with a closed form: milliseconds up to a few thousand coordinates."""
    return tuple(allocation(query, key) for key in CLOSED)


@dataclass(frozen=True)
class Curve:
    """error : of each x; None where the mechanism does not exist."""

    key: str
    shape: str
    x: tuple[float, ...]
    error: tuple[float | None, ...]


@dataclass(frozen=True)
class Along:
    """Errors against K = 1 … 30 or, at a fixed K, against ε.   count : that K; None against K."""

    shape: str
    privacy: Privacy
    power: float
    norm: str
    family: str
    count: int | None = None


def along(asked: Along, settings: None, *, progress: Report) -> tuple[list[Curve], list[Curve]]:
    """(every mechanism on the shape [MK, Figure 4], the best of the family on every shape [MK, Figures 1, 3])."""
    mechanisms = [(key, asked.shape) for key in CURVES]
    shapes = [(f"{asked.family}-optimal", shape) for shape in SHAPES]
    found = {}
    for key, shape in dict.fromkeys(mechanisms + shapes):
        found[key, shape] = _curve(key, shape, asked)
        progress(tick(math.inf))
    return [found[one] for one in mechanisms], [found[one] for one in shapes]


def _curve(key: str, shape: str, asked: Along) -> Curve:
    if asked.count is None:
        errors = (_error(key, shape, count, asked.privacy, asked.power, asked.norm) for count in DIMENSIONS)
        return Curve(key, shape, DIMENSIONS, tuple(errors))
    levels = (Privacy(epsilon, asked.privacy.delta) for epsilon in EPSILONS)
    errors = (_error(key, shape, asked.count, privacy, asked.power, asked.norm) for privacy in levels)
    return Curve(key, shape, EPSILONS, tuple(errors))


@lru_cache(maxsize=4)
def ginis() -> dict[str, tuple[float, ...]]:
    """Gini coefficient against K [MK, Figure 2]."""
    return {
        shape: tuple(gini(SensitivityProfile.preset(shape, k, normalise="l2").values) for k in DIMENSIONS)
        for shape in SHAPES
    }


def _error(key: str, shape: str, dimension: int, privacy: Privacy, power: float, norm: str) -> float | None:
    profile = SensitivityProfile.preset(shape, dimension, normalise=norm)
    found = allocation(VectorQuery(privacy, profile, power), key)
    return None if found.reason else found.error


@dataclass(frozen=True)
class Experiment:
    """An application on a data set; `text` holds an uploaded table."""

    application: str
    data: str
    privacy: Privacy
    rank: int
    trials: int
    text: str = ""


def run(experiment: Experiment, settings: None, *, progress: Report) -> list[Outcome]:
    """Every kind of noise on the experiment, seeds fixed."""
    table = read_table(experiment.text) if experiment.data == "upload" else load(experiment.data)
    alive = lambda count: progress(tick(count))  # noqa: E731
    if experiment.application == "components":
        rank = min(experiment.rank, table.rows.shape[1])
        return private_components(table, experiment.privacy, rank=rank, trials=experiment.trials, progress=alive)
    return private_descent(
        table, experiment.application, experiment.privacy, clip=100.0, trials=experiment.trials, progress=alive
    )
