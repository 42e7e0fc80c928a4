"""What the page lets compute in the background: every rule along a chart, a budget's splits, training, its noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from dpcore.accounting.budget import Plan, Query, plans
from dpcore.accounting.dpsgd import Training, noise_for
from dpcore.accounting.mechanisms import Release, parse_mechanism
from dpcore.accounting.rules import Total, by_count, totals
from dpcore.accounting.truth import Band
from dpcore.solution import Progress
from work.question import TICK

for name in ("dp_accounting.rdp", "scipy.signal"):  # what composing needs: else the first question waits for it
    import_module(name)

Report = Callable[[Any], bool]


@dataclass(frozen=True)
class Growth:
    """`count` uses of a mechanism, and so many others for the chart."""

    mechanism: str
    count: int
    delta: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Grown:
    """rows : every rule at every count of the chart.   here : at the one chosen, the truth on a finer grid."""

    rows: dict[str, list[Total]]
    here: list[Total]


def grow(asked: Growth, settings: None, *, progress: Report) -> Grown:
    """All rules."""
    release = Release(parse_mechanism(asked.mechanism), asked.count)
    here = totals([release], delta=asked.delta, points=1 << 15)
    progress(TICK)
    return Grown(_along(asked.mechanism, asked.counts, asked.delta), here)


@lru_cache(maxsize=64)
def _along(mechanism: str, counts: tuple[int, ...], delta: float) -> dict[str, list[Total]]:
    return by_count(Release(parse_mechanism(mechanism)), counts, delta, points=1 << 13)


@dataclass(frozen=True)
class Budget:
    """A total (ε, δ) for some queries."""

    queries: tuple[Query, ...]
    epsilon: float
    delta: float
    family: str


def split(asked: Budget, settings: None, *, progress: Report) -> tuple[Plan, ...]:
    """By every rule, the exact one last."""
    return plans(asked.queries, asked.epsilon, asked.delta, asked.family, lambda: progress(TICK))


@dataclass(frozen=True)
class Schedule:
    """Training, and so many epochs for the chart."""

    training: Training
    delta: float
    epochs: tuple[int, ...]


@dataclass(frozen=True)
class Trained:
    """rows : Rényi, the limit and the truth at every number of epochs.   band : ε of the training itself, closely."""

    rows: dict[str, list[Total]]
    band: Band


def train(asked: Schedule, settings: None, *, progress: Report) -> Trained:
    """What training spends, and would spend."""
    made = asked.training
    band = made.epsilon(asked.delta, points=1 << 16)
    progress(TICK)
    return Trained(_by_epochs(made.rate, made.noise, asked.delta, asked.epochs), band)


@lru_cache(maxsize=64)
def _by_epochs(rate: float, noise: float, delta: float, epochs: tuple[int, ...]) -> dict[str, list[Total]]:
    """In steps of one epoch."""
    each = Training(rate, noise, math.ceil(1 / rate * (1 - 1e-12))).release
    return by_count(each, epochs, delta, points=1 << 14, rules=("renyi", "clt"))


@dataclass(frozen=True)
class Wanted:
    """The noise that makes training (ε, δ)-DP."""

    epsilon: float
    delta: float
    rate: float
    steps: int


def find(wanted: Wanted, settings: None, *, progress: Report) -> float:
    """The least noise, certified."""
    tell = lambda noise: progress(Progress(0.0, 0.0, noise, 0, 0))  # noqa: E731
    return noise_for(wanted.epsilon, wanted.delta, rate=wanted.rate, steps=wanted.steps, progress=tell)
