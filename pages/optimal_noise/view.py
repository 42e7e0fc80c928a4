"""What is looked at on Optimal noise: a valid problem and how it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from dpcore import figures
from dpcore.problem import NoiseProblem, SolverSettings
from pages.shared import drawing

from . import inputs


@dataclass(frozen=True)
class View:
    """people : how many the data are about, if known.   overlays : names of the mechanisms beside the optimum."""

    problem: NoiseProblem
    settings: SolverSettings
    unit: str
    overlays: tuple[str, ...]
    people: int | None = None

    @property
    def colours(self) -> figures.Palette:
        return drawing.colours()


def view_of(values: inputs.Values) -> View:
    """What the controls' values describe; an InputError where one is not accepted."""
    unit, settings, problem = inputs.read_unit(values), inputs.read_settings(values), inputs.read_problem(values)
    return View(problem, settings, unit, tuple(values["overlays"]), values["people"])
