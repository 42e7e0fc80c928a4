"""Taking it away: one exact release, files, figures and a script."""

from __future__ import annotations

import streamlit as st

from dpcore.data_dependent import Solution
from dpcore.data_dependent.files import channel_to_csv, file_stem, solution_to_json
from dpcore.data_dependent.script import script
from pages.shared import actions, fields, folding, frame, prose

from .controls import PAGE

TEXT = prose.sections("data_dependent")


def release(solution: Solution) -> None:
    """One exact private release."""
    frame.heading("Release one value", TEXT["release"])
    low, high = solution.problem.query_range
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    if PAGE["true_value"] is None:
        PAGE.choose({"true_value": low + 0.3 * (high - low)})
    with left:
        fields.number(PAGE, "true_value", "True value")
    if right.button("Release", key="release_one", type="primary"):
        st.metric("Released", f"{solution.mechanism.release(PAGE['true_value']):.10g}")
    st.caption("Every release spends the whole (ε, δ) again: try this on made-up values only.")


def export(solution: Solution) -> None:
    """Files to take away."""
    frame.heading("Take it away", TEXT["export"])
    name, program = file_stem(solution.problem), script(solution)
    with st.container(horizontal=True):
        record = solution_to_json(solution)
        st.download_button("JSON", record, f"{name}.json", "application/json", on_click="ignore")
        st.download_button(
            "CSV", channel_to_csv(solution), f"{name}.csv", "text/csv", on_click="ignore", help=actions.ABOUT_CSV
        )
        st.download_button("Python", program, f"{name}.py", "text/x-python", on_click="ignore")
    saved = {"Laws": "ridges", "Heat map": "heat", "Losses": "losses"}
    actions.row([actions.link(), *actions.figures(saved, name)], key="figures")
    folding.fold("Python script that releases", lambda: actions.show(program), key="script")
