"""Taking it away: one exact release, files, figures and a script."""

from __future__ import annotations

import streamlit as st

from dpcore import __version__
from dpcore.data_dependent import Solution
from dpcore.data_dependent.files import channel_to_csv, solution_to_json
from pages.shared import actions, frame, prose

from .controls import Asked

TEXT = prose.sections("data_dependent")


def release(solution: Solution, asked: Asked) -> None:
    """One exact private release."""
    frame.heading("Release one value", TEXT["release"])
    low, high = solution.problem.query_range
    left, right = st.columns([1, 2], vertical_alignment="bottom")
    value = left.number_input("True value", value=float(low + 0.3 * (high - low)), format="%g", key="true_value")
    if right.button("Release", key="release_one", type="primary") and value is not None:
        st.metric("Released", f"{solution.mechanism.release(float(value)):.10g}")
    st.caption("Every release spends the whole (ε, δ) again: try this on made-up values only.")


def export(solution: Solution, asked: Asked) -> None:
    """Files to take away."""
    frame.heading("Take it away", TEXT["export"])
    problem = solution.problem
    name = f"data_dependent_{problem.privacy.epsilon:g}_{problem.privacy.delta:g}"
    with st.container(horizontal=True):
        record = solution_to_json(solution)
        st.download_button("JSON", record, f"{name}.json", "application/json", on_click="ignore")
        st.download_button("CSV", channel_to_csv(solution), f"{name}.csv", "text/csv", on_click="ignore")
        st.download_button("Python", snippet(solution), f"{name}.py", "text/x-python", on_click="ignore")
    actions.row(
        [
            actions.link(),
            *(
                actions.figure(f"{title} as {form.upper()}", chart=f"chart_{chart}", form=form, name=f"{name}_{chart}")
                for title, chart in (("Laws", "ridges"), ("Heat map", "heat"), ("Losses", "losses"))
                for form in ("png", "svg")
            ),
        ],
        key="figures",
    )
    with st.expander("Python snippet"):
        st.code(snippet(solution), language="python")


def snippet(solution: Solution) -> str:
    """A program that solves the same problem and releases one value."""
    problem = solution.problem
    low, high = problem.query_range
    options = [f"query_range=({low!r}, {high!r})", f"weight={problem.weight.spec!r}"]
    if problem.instance_cap is not None:
        options.append(f"instance_cap={problem.instance_cap!r}")
    options += [f"{flag}=True" for flag in ("monotone", "ordered") if getattr(problem, flag)]
    if problem.partition:
        options.append(f"partition={problem.partition!r}")
    privacy = problem.privacy
    lines = "".join(f"    {option},\n" for option in options)
    certificate = solution.certificate
    return (
        f'"""DP Frontier {__version__}\n'
        f"Certificate: average loss at most {certificate.upper!r}; no mechanism has less than {certificate.lower!r}\n"
        f"Certificate: (epsilon, {certificate.delta_upper!r})-differentially private\n"
        '"""\n\n'
        "from dpcore.data_dependent import data_dependent_problem, solve\n\n"
        f"problem = data_dependent_problem(\n    {privacy.epsilon!r}, {privacy.delta!r}, {problem.sensitivity!r}, "
        f"{problem.loss.spec!r},\n{lines})\n"
        "solution = solve(problem)\n"
        "print(solution.certificate)\n"
        f"print(solution.mechanism.release({low + 0.3 * (high - low):.6g}))  # one exact private release\n"
    )
