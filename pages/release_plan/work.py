"""What the page lets compute in the background: what a plan costs, what to expect of it, releases of made-up people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpcore.plan import rehearsal, release
from dpcore.plan.budget import Split, split, total
from dpcore.plan.files import plan_from_toml
from dpcore.plan.rehearsal import Rehearsed
from dpcore.plan.release import Released
from dpcore.plan.report import Expected, expected
from dpcore.plan.source import Source
from dpcore.plan.ticks import ticking
from dpcore.problem import SolverSettings
from work.question import TICK

Report = Callable[[Any], bool]

LIMIT = SolverSettings(time_limit=60.0)
"""Time limit of every job."""


class Stopped(Exception):
    """The visitor has ended it."""


def _go_on(progress: Report) -> None:
    if progress(TICK):
        raise Stopped


@dataclass(frozen=True)
class Asked:
    """A plan as TOML.   turn : tells releases of one plan apart."""

    plan: str
    turn: str = ""


@dataclass(frozen=True)
class Cost:
    """A line.

    least : a lower bound of the ± of its first total, for every noise.   best : (least mean error, this noise's).
    """

    expected: Expected
    error: float | None
    least: float | None
    best: tuple[float, float] | None
    verdict: str


@dataclass(frozen=True)
class Costs:
    """A plan with its shares, and what is known of every line."""

    split: Split
    lines: tuple[Cost, ...]


def price(asked: Asked, settings: SolverSettings, *, progress: Report) -> Costs:
    """Shares, errors, and how far the noise is from the best possible."""
    with ticking(lambda: _go_on(progress)):
        made = split(plan_from_toml(asked.plan))
        lines = [Cost(one, one.error, one.least, one.best, one.verdict) for one in expected(made)]
    return Costs(made, tuple(lines))


@dataclass(frozen=True)
class Repeated:
    """A plan and how often it is to be carried out."""

    plan: str
    times: int


@dataclass(frozen=True)
class Repeats:
    """each, together : ε of one release and of all of them, at the plan's δ.   added : Σε.   errors : of the lines."""

    each: float
    together: float
    added: float
    errors: tuple[float | None, ...]


def repeat(asked: Repeated, settings: SolverSettings, *, progress: Report) -> Repeats:
    """The plan's budget for so many releases."""
    plan = plan_from_toml(asked.plan)
    with ticking(lambda: _go_on(progress)):
        made = split(plan, asked.times)
        errors = tuple(one.error for one in expected(made))
        return Repeats(total(made.lines, made.together, plan.delta), made.total, made.added, errors)


def rehearse(asked: Asked, settings: SolverSettings, *, progress: Report) -> tuple[Rehearsed, ...]:
    """The plan carried out many times on made-up people."""
    with ticking(lambda: _go_on(progress)):
        made = split(plan_from_toml(asked.plan))
    return rehearsal.rehearse(made, call=lambda: _go_on(progress))


def draw(asked: Asked, settings: SolverSettings, *, progress: Report) -> tuple[Released, ...]:
    """One release of made-up people."""
    with ticking(lambda: _go_on(progress)):
        made, people = rehearsal.on_stage(split(plan_from_toml(asked.plan)))
    with Source.table(people) as source:
        return release.carry_out(made, source, lambda: _go_on(progress))
