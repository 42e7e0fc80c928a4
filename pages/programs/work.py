"""What the page lets compute in the background: clouds of releases, the price of feasibility over ε, published
figures."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpcore.errors import InputError
from dpcore.private_optimization import (
    FEASIBLE,
    Planner,
    PrivateProgram,
    RowNoise,
    Simulation,
    quality,
    row_noise,
    simulate,
    stories,
)
from dpcore.private_optimization.files import read_model_text, read_rows

SECONDS = 60.0
"""Time limit of a cloud."""

NOISE_SECONDS = 5.0
"""Time limit of one optimal noise; a wider bracket is shown where it is not enough."""

KEPT_COLUMNS = 400
"""Plans of no more variables than this are kept, draw by draw, as far as `KEPT_NUMBERS` go."""

KEPT_NUMBERS = 200_000

Report = Callable[[Any], bool]


@dataclass(frozen=True)
class Story:
    """A program by its data: plain values, so that the same question has the same answer for everybody."""

    kind: str
    values: tuple[tuple[str, float | tuple[float, ...]], ...] = ()
    files: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class Cast:
    """Releases of a story's program with several mechanisms."""

    story: Story
    epsilon: float
    delta: float
    mechanisms: tuple[str, ...]
    draws: int
    seed: int = 0


@dataclass(frozen=True)
class Tick:
    """How far a task is."""

    text: str
    share: float


@dataclass(frozen=True, eq=False)
class Cloud:
    """What one mechanism releases. noise and run are None when it cannot be used, for the reason given."""

    key: str
    noise: RowNoise | None
    run: Simulation | None
    worst: float | None = None
    bounds: tuple = ()
    missing: str = ""
    lower: float | None = None
    reason: str = ""


@lru_cache(maxsize=32)
def built(story: Story) -> stories.Transport | PrivateProgram:
    """The story's program at ε = 1, δ = 10⁻⁴, with its map if it has one."""
    values = dict(story.values)
    if story.kind == "transport":
        demands = values.pop("demands", None)
        count = len(demands) if demands else 8
        return stories.transport(hospitals=count, demands=None if demands is None else np.array(demands), **values)  # type: ignore[arg-type]
    if story.kind == "portfolio":
        if story.files:
            values |= dict(zip(("means", "covariance"), read_returns(story.files[0])))
        return stories.portfolio(**values)
    if story.kind == "advertising":
        return stories.advertising(**values)
    if story.kind == "own":
        model = read_model_text(story.files[0], f".{values.pop('suffix', 'mps')}")
        rows, guaranteed = read_rows(_text(story.files[1]), model)
        granularity = values.get("granularity") or None
        return PrivateProgram(model, rows, guaranteed, values["sensitivity"], 1.0, 1e-4, granularity)
    return stories.two_products(**values)


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("limits file", "bytes", "text in UTF-8") from None


def program_of(story: Story, epsilon: float, delta: float) -> PrivateProgram:
    """The story's program at (ε, δ)."""
    found = built(story)
    return replace(getattr(found, "program", found), epsilon=epsilon, delta=delta)


def read_returns(raw: bytes) -> tuple[np.ndarray, np.ndarray]:
    """(means, covariance) of a CSV with a column of returns for every asset, a row for every period; a header is
    allowed."""
    lines = [line for line in _text(raw).splitlines() if line.strip()]
    accepted = "a CSV with a column of numbers for each of 2 to 500 assets and at least 10 rows"
    first = 0
    try:
        [float(cell) for cell in lines[0].split(",")]
    except (ValueError, IndexError):
        first = 1
    if not lines[first:]:
        raise InputError("returns", "no rows", accepted)
    try:
        data = np.loadtxt(io.StringIO("\n".join(lines[first:])), delimiter=",", ndmin=2)
    except ValueError:
        raise InputError("returns", "a cell that is no number", accepted) from None
    if data.shape[0] < 10 or not 2 <= data.shape[1] <= 500 or not np.isfinite(data).all():
        raise InputError("returns", f"{data.shape[0]} rows, {data.shape[1]} columns", accepted)
    return data.mean(axis=0), np.cov(data.T)


def cast(asked: Cast, settings: None, progress: Report) -> tuple[Cloud, ...]:
    """The clouds of all mechanisms, each reported when it is there."""
    found: list[Cloud] = []
    program = program_of(asked.story, asked.epsilon, asked.delta)
    state = {"stop": False, "last": 0.0}

    def tell(text: str, share: float) -> bool:
        now = time.monotonic()
        if now - state["last"] > 0.1:
            state["last"], state["stop"] = now, state["stop"] or bool(progress(Tick(text, share)))
        return state["stop"]

    planner = Planner(program, time_limit=SECONDS, stop=lambda: tell("solving", 0.0))
    for key in asked.mechanisms:
        if state["stop"]:
            break
        try:
            noise = None
            if program.delta or key == "laplace":
                noise = row_noise(program, key, time_limit=NOISE_SECONDS, stop=lambda: tell("optimal noise", 0.0))
        except InputError as error:
            found.append(Cloud(key, None, None, reason=f"needs {error.field}: {error.accepted}"))
            continue
        n = len(program.model.costs)
        keep = n <= KEPT_COLUMNS or n <= KEPT_NUMBERS // asked.draws
        run = simulate(
            program,
            noise,
            draws=asked.draws,
            seed=asked.seed,
            keep_plans=keep,
            planner=planner,
            progress=lambda done, wanted: tell(f"{done} of {wanted} plans", done / wanted),
        )
        if noise is not None and noise.keeps and not state["stop"]:
            sure = quality(program, noise, planner)
            found.append(Cloud(key, noise, run, sure.worst, sure.bounds, sure.missing, sure.lower))
        else:
            found.append(Cloud(key, noise, run))
        if progress(found[-1]):
            break
    return tuple(found)


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
                run = simulate(program, noise, draws=asked.draws, planner=planner)
            except TimeoutError:
                return tuple(found)
            sure = quality(program, noise, planner) if noise.keeps else None
            share = float(run.violated.mean() / len(program.rows)) if len(run.violated) else 0.0
            loss = float(np.nanmean(run.losses)) if np.isfinite(run.losses).any() else float("nan")
            worst, lower = (sure.worst, sure.lower) if sure else (None, None)
            found.append(Price(key, epsilon, noise.shift_upper, loss, worst, lower, share))
            if progress(found[-1]):
                return tuple(found)
    return tuple(found)


# Published figures --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """Figure 3, 4 or 5 of the paper in its settings; draws per point (the paper: 50, 400, 50)."""

    figure: int
    draws: int
    investors: int = 1000
    target: float = 2.5


@dataclass(frozen=True)
class Point:
    """A point of a published figure. ratio : of mean objectives.   violated : share of the limits the baseline
    misses."""

    series: str
    x: float
    ratio: float | None
    violated: float | None = None
    note: str = ""


FIGURE_3_EPSILONS = (0.5, 1.0, 1.5, 2.0, 2.5)
FIGURE_4_EPSILONS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 0.1, 1.0)
FIGURE_5 = {
    500: (1.0, 1.1, 1.2, 1.3, 1.4),
    1000: (2.1, 2.2, 2.5, 2.7, 2.8),
    1500: (3.2, 3.3, 3.8, 4.2, 4.3),
}
"""Return targets of Appendix D: the first of each row is not binding, the last infeasible."""


def reproduce(asked: Published, settings: None, progress: Report) -> tuple[Point, ...]:
    """The points of a figure, each reported."""
    found = []
    for point in {3: _figure_3, 4: _figure_4, 5: _figure_5}[asked.figure](asked, progress):
        found.append(point)
        if progress(point):
            break
    return tuple(found)


def _figure_3(asked: Published, progress: Report) -> Iterator[Point]:
    """Increase of the variance over δ from 1/n² to 0.002, a curve for every ε [MSVV, Fig. 3]."""
    base = stories.portfolio(asked.investors, asked.target)
    planner = Planner(base, time_limit=SECONDS)
    for epsilon in FIGURE_3_EPSILONS:
        for delta in np.geomspace(asked.investors**-2.0, 2e-3, 6).tolist():
            program = replace(base, epsilon=epsilon, delta=delta)
            for key in ("truncated-laplace", "tight"):
                run = simulate(program, row_noise(program, key), draws=asked.draws, planner=planner)
                ratio = float(run.objectives.mean() / run.optimum.objective)
                yield Point(f"{key} {epsilon:g}", delta, ratio)


def _figure_4(asked: Published, progress: Report) -> Iterator[Point]:
    """Revenue of ours over the baseline's, and the share of budgets the baseline violates [MSVV, Fig. 4]."""
    base = stories.advertising()
    planner = Planner(base, time_limit=3 * SECONDS, stop=lambda: bool(progress(Tick("figure 4", 0.0))))
    for epsilon in FIGURE_4_EPSILONS:
        program = replace(base, epsilon=epsilon)
        runs = {
            key: simulate(program, row_noise(program, key), draws=asked.draws, planner=planner)
            for key in ("truncated-laplace", "tight", "laplace-shifted")
        }
        baseline = runs["laplace-shifted"]
        share = float(baseline.violated.mean() / 10)
        for key in ("truncated-laplace", "tight"):
            yield Point(key, epsilon, float(runs[key].objectives.mean() / baseline.objectives.mean()), share)


def _figure_5(asked: Published, progress: Report) -> Iterator[Point]:
    """Over investors and return targets: not binding, sweet spot, infeasible [MSVV, App. D]."""
    for investors, targets in FIGURE_5.items():
        for target in targets:
            try:
                program = stories.portfolio(investors, target, epsilon=0.5, delta=investors**-2.0)
            except InputError as error:
                yield Point(str(investors), target, None, note=f"infeasible: the target must be {error.accepted}")
                continue
            planner = Planner(program, time_limit=SECONDS)
            run = simulate(program, row_noise(program, "truncated-laplace"), draws=asked.draws, planner=planner)
            ratio = float(run.objectives.mean() / run.optimum.objective)
            note = "hardly binding" if ratio < 1.001 else "binding"
            yield Point(str(investors), target, ratio, note=note)
