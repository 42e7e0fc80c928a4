"""What the page lets compute in the background: every rule along a chart, a budget's splits, training, its noise, and a
training that is carried out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from dpcore.accounting.budget import Plan, Query, plans
from dpcore.accounting.dpsgd import Training, noise_for
from dpcore.accounting.mechanisms import Release, parse_mechanism
from dpcore.accounting.rules import Total, by_count, totals
from dpcore.accounting.truth import Band, Truth
from dpcore.gallery import noisy_descent
from dpcore.solution import Progress
from dpcore.store import Store
from service import configuration
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
    """What all rules say of the releases together."""
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
    """What training spends after each of these epochs."""
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


# Training that is carried out -------------------------------------------------------------------------

PEOPLE, WEIGHTS, RUNS = 2000, 100, 4
"""Rows, weights of the model, and how often everything is repeated with other samples and noise."""

TARGETS = (4.0, 1.0, 0.5)
"""ε of the trainings that the chosen one is compared with."""

PLACES = 12
"""Steps at which a training is looked at."""


@dataclass(frozen=True)
class Learning:
    """A training of simulated rows; see `dpcore.gallery.noisy_descent`.

    delta : at which ε is told.   targets : ε of the trainings that it is compared with.   runs : see `RUNS`.
    """

    rate: float
    noise: float
    clip: float
    steps: int
    delta: float
    seed: int
    targets: tuple[float, ...] = TARGETS
    runs: int = RUNS


@dataclass(frozen=True)
class Look:
    """One look at one training.

    name : "chosen", "free" (no noise, nothing clipped) or the target ε.   noise : its σ.   step : how many were done.
    least, most : certified bounds of ε after them; ∞ without noise.
    mean, low, high : accuracy on fresh rows over `RUNS` runs.
    """

    name: str
    noise: float
    step: int
    least: float
    most: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Learnt:
    """All looks so far, training by training."""

    looks: tuple[Look, ...]

    def of(self, name: str) -> list[Look]:
        return [one for one in self.looks if one.name == name]


class _Halt(Exception):
    """The task was asked to stop."""


def learn(asked: Learning, settings: None, *, progress: Report) -> Learnt:
    """The chosen training, one without privacy, and those of the target ε; a whole set is kept on disk."""
    store = Store(configuration.current().store)
    looks: list[Look] = []
    try:
        if (raw := store.get("descent", asked)) is not None:
            return Learnt(tuple(Look(**one) for one in json.loads(raw)))
        plans = [("chosen", asked.noise, asked.clip), ("free", 0.0, math.inf)]
        for name, noise, clip in plans:
            _carried_out(asked, name, noise, clip, looks, progress)
        tick = lambda _: _go_on(progress)  # noqa: E731
        for target in asked.targets:
            noise = noise_for(target, asked.delta, rate=asked.rate, steps=asked.steps, progress=tick)
            _carried_out(asked, f"{target:g}", noise, asked.clip, looks, progress, target)
        store.put("descent", asked, json.dumps([asdict(one) for one in looks]).encode())
    except _Halt:
        pass
    finally:
        store.close()
    return Learnt(tuple(looks))


def _carried_out(
    asked: Learning, name: str, noise: float, clip: float, looks: list[Look], progress: Report,
    promised: float = math.inf,
) -> None:  # fmt: skip
    """One training, each look reported and noted. promised : ε that is proved of all steps already."""
    task = noisy_descent.simulated(PEOPLE, WEIGHTS, np.random.default_rng(asked.seed))
    plan = noisy_descent.Plan(asked.rate, noise, clip, asked.steps)
    places = np.unique(np.geomspace(1, asked.steps, PLACES).round().astype(int))
    truth = None
    if noise > 0:
        single = Training(asked.rate, noise, 1).release
        truth = Truth((single,), times=asked.steps, points=1 << 13, delta=asked.delta)
    for step, theta in noisy_descent.descend(task, plan, asked.runs, np.random.default_rng([asked.seed, 1])):
        if step in places:
            band = Band(math.inf, math.inf) if truth is None else truth.epsilon(asked.delta, times=step)
            right = task.accuracy(theta)
            shares = float(right.mean()), float(right.min()), float(right.max())
            spent = min(band.upper, promised) if step == asked.steps else band.upper
            looks.append(Look(name, noise, step, min(band.lower, spent), spent, *shares))
            _go_on(progress, looks[-1])
        elif step % 10 == 0:
            _go_on(progress)


def _go_on(progress: Report, record: Any = TICK) -> bool:
    """Report; False.

    Raises
    ------
    _Halt : it is to stop.
    """
    if progress(record):
        raise _Halt
    return False
