"""What the sidebar of a page with one problem asks for, read from the page's controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from dpcore._validate import above
from dpcore.errors import InputError
from dpcore.problem import SolverSettings
from service import configuration

from .address import Address
from .messages import LABELS, explain

Problem = TypeVar("Problem")


@dataclass
class Asked(Generic[Problem]):
    """What the controls say; problem is None while some control holds a value that is not accepted."""

    problem: Problem | None = None
    settings: SolverSettings = field(default_factory=SolverSettings)
    unit: str = ""
    complaint: str = ""


def read(
    page: Address,
    problem: Callable[[dict[str, Any]], Problem],
    place: Callable[[str], Any],
    labels: Mapping[str, str] = LABELS,
) -> Asked[Problem]:
    """Read `gap`, `seconds`, `unit` and the problem that the page's values describe.

    place : field of the core → where a complaint about it is to stand.   labels : as in `explain`.
    """
    asked: Asked[Problem] = Asked(unit=str(page["unit"] or "").strip())
    try:
        seconds = above(0, configuration.current().seconds, time_limit=page["seconds"])
        asked.settings = SolverSettings(gap=page["gap"] / 100, time_limit=seconds)
        asked.problem = problem(page.values())
    except InputError as error:
        asked.complaint = explain(error, labels)
        place(error.field).error(asked.complaint)
    return asked
