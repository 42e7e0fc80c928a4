"""The first screen, where its answer is known."""

from __future__ import annotations

from collections.abc import Mapping

from dpcore import figures
from dpcore.errors import InputError
from pages.shared import compute, prose
from pages.snapshot import Sight

from . import inputs, panels, verdict
from .view import view_of


def sight(query: Mapping[str, str]) -> Sight | None:
    """Verdict, bracket and density of the problem in an address."""
    values, refused = inputs.HOME.read(query)
    if refused:
        return None
    values |= {} if query else inputs.FIRST["values"]
    try:
        view = view_of(values)
    except InputError:
        return None
    if (solution := panels.known(view)) is None:
        return None
    problem, unit = view.problem, view.unit
    bars = compute.baselines(problem)
    laws = [figures.Law("optimal", solution.title, solution.noise), *panels.overlaid(view, bars)]
    picture = figures.density(laws, unit=unit, colours=figures.LIGHT, log_y=bool(values["log_y"]))
    proof = solution.certificate
    return Sight(
        "Optimal noise",
        verdict.verdict(problem, proof, bars, unit, values["people"]),
        prose.headline(problem, proof, unit),
        [f"{verdict.errors(solution.noise, bars, unit)} {verdict.comparison(proof, bars)}"],
        [("The noise", picture, panels.density_alt(solution, view))],
    )
