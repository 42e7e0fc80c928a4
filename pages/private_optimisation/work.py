"""What the page lets compute in the background: simulated releases, the price of feasibility over ε."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.errors import InputError
from dpcore.private_optimization import (
    FEASIBLE,
    Planner,
    PrivateProgram,
    Quality,
    RowNoise,
    Simulation,
    quality,
    row_noise,
    simulate,
)

from .story import Story, program_of

SECONDS = 60.0
"""Time limit of one mechanism's releases."""

NOISE_SECONDS = 5.0
"""Time limit of one optimal noise; a wider bracket is shown where it is not enough."""

KEPT_COLUMNS = 400
"""Plans of no more variables than this are kept, draw by draw, as far as `KEPT_NUMBERS` go."""

KEPT_NUMBERS = 200_000

Report = Callable[[Any], bool]


@dataclass(frozen=True)
class Tick:
    """How far a task is."""

    text: str
    share: float


# Clouds of releases -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Releases:
    """Releases of a story's program with several mechanisms."""

    story: Story
    epsilon: float
    delta: float
    mechanisms: tuple[str, ...]
    draws: int
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Released:
    """What one mechanism releases. noise and run are None when it cannot be used, for the reason given.   sure : of a
    noise that keeps the limits."""

    key: str
    noise: RowNoise | None = None
    run: Simulation | None = None
    sure: Quality | None = None
    reason: str = ""


class _Teller:
    """Says how far a task is, ten times a second at most, and remembers that it was told to stop."""

    def __init__(self, progress: Report) -> None:
        self._progress, self._last, self.stop = progress, 0.0, False

    def __call__(self, text: str, share: float) -> bool:
        now = time.monotonic()
        if now - self._last > 0.1:
            self._last, self.stop = now, self.stop or bool(self._progress(Tick(text, share)))
        return self.stop


def released(asked: Releases, settings: None, progress: Report) -> tuple[Released, ...]:
    """Releases of all mechanisms, each reported when it is there."""
    found: list[Released] = []
    program, tell = program_of(asked.story, asked.epsilon, asked.delta), _Teller(progress)
    planner = Planner(program, time_limit=SECONDS, stop=lambda: tell("solving", 0.0))
    for key in asked.mechanisms:
        if tell.stop:
            break
        try:
            noise = None
            if program.delta or key == "laplace":
                noise = row_noise(program, key, time_limit=NOISE_SECONDS, stop=lambda: tell("optimal noise", 0.0))
        except InputError as error:
            found.append(Released(key, reason=f"needs {error.field}: {error.accepted}"))
            continue
        found.append(_cloud(program, key, noise, asked, planner, tell))
        if progress(found[-1]):
            break
    return tuple(found)


def _cloud(
    program: PrivateProgram, key: str, noise: RowNoise | None, asked: Releases, planner: Planner, tell: _Teller
) -> Released:
    """One mechanism's releases and what is sure about them."""
    columns = len(program.model.costs)
    run = simulate(
        program, noise, draws=asked.draws, seed=asked.seed, planner=planner,
        keep_plans=columns <= KEPT_COLUMNS or columns <= KEPT_NUMBERS // asked.draws,
        progress=lambda done, wanted: tell(f"{done} of {wanted} plans", done / wanted),
    )  # fmt: skip
    sure = quality(program, noise, planner) if noise is not None and noise.keeps and not tell.stop else None
    return Released(key, noise, run, sure)


# The price of feasibility -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """A story at several ε."""

    story: Story
    epsilons: tuple[float, ...]
    delta: float
    draws: int = 40


@dataclass(frozen=True)
class Price:
    """What feasibility costs at one ε with one mechanism. loss : mean; violated : share of private limits missed."""

    key: str
    epsilon: float
    shift: float
    loss: float
    worst: float | None
    lower: float | None
    violated: float


def sweep(asked: Sweep, settings: None, progress: Report) -> tuple[Price, ...]:
    """Prices from large to small ε, each reported."""
    found: list[Price] = []
    planner = Planner(program_of(asked.story, 1.0, asked.delta), time_limit=3 * SECONDS)
    asks = lambda: bool(progress(Tick("noise", 0.0)))  # noqa: E731
    for epsilon in sorted(asked.epsilons, reverse=True):
        program = program_of(asked.story, epsilon, asked.delta)
        for key in (*FEASIBLE, "laplace-shifted", "laplace"):
            try:
                noise = row_noise(program, key, gap=0.02, time_limit=1.5, stop=asks)
            except InputError:
                continue
            try:
                found.append(_price(program, noise, asked.draws, planner))
            except TimeoutError:
                return tuple(found)
            if progress(found[-1]):
                return tuple(found)
    return tuple(found)


def _price(program: PrivateProgram, noise: RowNoise, draws: int, planner: Planner) -> Price:
    """The price at the program's ε."""
    run = simulate(program, noise, draws=draws, planner=planner)
    sure = quality(program, noise, planner) if noise.keeps else None
    loss = float(np.nanmean(run.losses)) if np.isfinite(run.losses).any() else float("nan")
    share = float(run.violated.mean() / len(program.rows)) if len(run.violated) else 0.0
    worst, lower = (sure.worst, sure.lower) if sure else (None, None)
    return Price(noise.key, program.epsilon, noise.shift_upper, loss, worst, lower, share)
