"""Taking it away: one exact release, files, figures, the command that says the same."""

from __future__ import annotations

import streamlit as st

from dpcore.isotropic.files import file_stem, noise_to_csv, solution_to_json
from dpcore.isotropic.problem import IsotropicProblem
from dpcore.isotropic.release import extra_error, release
from dpcore.isotropic.script import script
from dpcore.isotropic.solution import IsotropicSolution
from pages.shared import actions, folding, frame, prose

from . import releases
from .controls import PAGE

TEXT = prose.sections("isotropic")


def release_one(solution: IsotropicSolution) -> None:
    """One exact private release of values that the visitor makes up."""
    frame.heading("Release the vector once", TEXT["release"])
    rounding = prose.at_most(extra_error(solution.noise), 2)
    note = (
        f"Rounding adds at most {rounding} to the root mean square error. Every release spends the whole (ε, δ) again: "
        "try made-up values. The promise holds where nobody moves the vector by more than its ℓ2-sensitivity."
    )
    releases.vector(solution.problem.dimension, lambda values: release(solution.noise, values), note)


def export(solution: IsotropicSolution) -> None:
    """Files to take away."""
    frame.heading("Take it away", TEXT["export"])
    name, program = file_stem(solution.problem), script(solution)
    with st.container(horizontal=True):
        record, rows = solution_to_json(solution), noise_to_csv(solution)
        st.download_button("JSON", record, f"{name}.json", "application/json", on_click="ignore")
        st.download_button("CSV", rows, f"{name}.csv", "text/csv", on_click="ignore", help=actions.ABOUT_CSV)
        st.download_button("Python", program, f"{name}.py", "text/x-python", on_click="ignore")
    drawn = {2: "plane", 3: "cloud"}.get(solution.problem.dimension) if PAGE["view"] == "picture" else PAGE["view"]
    saved = {"Losses": "losses"} | ({"Laws": drawn} if drawn else {})
    actions.row([actions.link(), *actions.figures(saved, name)], key="figures")
    st.caption("The same without a browser:")
    st.code(command(solution.problem), language="sh", wrap_lines=True)
    folding.fold("Python script that releases", lambda: actions.show(program), key="script")


def command(problem: IsotropicProblem) -> str:
    """The command that prints the same answer."""
    privacy = problem.privacy
    return (
        f"python -m dpcore isotropic --dimension {problem.dimension} --epsilon {privacy.epsilon!r} "
        f"--delta {privacy.delta!r} \\\n  --loss {problem.loss.spec} --sensitivity {problem.sensitivity!r}"
    )
