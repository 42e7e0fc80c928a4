"""Figures 3, 4 and 5 of the paper in their settings [MSVV]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpcore.errors import InputError
from dpcore.private_optimization import Planner, row_noise, simulate, stories

from .work import SECONDS, Report, Tick

FIGURE_3_EPSILONS = (0.5, 1.0, 1.5, 2.0, 2.5)
FIGURE_4_EPSILONS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 0.1, 1.0)
FIGURE_5 = {
    500: (1.0, 1.1, 1.2, 1.3, 1.4),
    1000: (2.1, 2.2, 2.5, 2.7, 2.8),
    1500: (3.2, 3.3, 3.8, 4.2, 4.3),
}
"""Return targets of Appendix D: the first of each row is not binding, the last infeasible."""


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
