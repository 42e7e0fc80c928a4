"""How sure it is: both bounds closing in, the audited facts, and what knowing the value is worth."""

from __future__ import annotations

import math

import streamlit as st

from dpcore.data_dependent import Solution
from dpcore.figures import gap
from pages.shared import compute, drawing, frame, prose

from .controls import Asked
from .panels import loss_axis

TEXT = prose.sections("data_dependent")


def certainty(solution: Solution, asked: Asked, job: compute.Job) -> None:
    """Both bounds closing in, and the audited facts."""
    frame.heading("How sure is this?", TEXT["sure"])
    certificate, problem = solution.certificate, solution.problem
    trace = job.trace or solution.trace
    finite = [record for record in trace if math.isfinite(record.upper)]
    left, right = st.columns(2, gap="large")
    with left:
        if len(finite) > 1:
            figure = gap(finite, axis=loss_axis(asked), colours=drawing.colours())
            lower, upper = prose.bracket(max(finite[-1].lower, 0.0), finite[-1].upper)
            alt = f"Both bounds against solving time; at the end between {lower} and {upper}."
            table = lambda: st.dataframe(prose.trace_table(finite), hide_index=True)  # noqa: E731
            drawing.draw(figure, key="chart_gap", alt=alt, table=table)
    with right:
        noise = problem.shared == "noise"
        kind, cells = ("such noise", "cells of noise") if noise else ("release", "points of release")
        rows = {
            f"Lower bound (no {kind} is better)": prose.at_least(max(certificate.lower, 0.0)),
            "Upper bound (this release)": prose.at_most(certificate.upper),
            "Relative gap": "–" if certificate.gap is None else prose.percent_up(certificate.gap),
            "Audited δ, over all pairs of true values": prose.at_most(certificate.delta_upper),
            "δ asked for": prose.number(problem.privacy.delta, 6),
            "No true value loses more than": prose.at_most(solution.instance_upper),
            f"Laws, {cells}": f"{solution.laws}, {solution.cells}" if solution.laws else "one law, shifted",
            "How it was found": solution.source,
        }
        st.markdown("\n".join(["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items())]))


def gain(solution: Solution) -> None:
    """What knowing the value is worth, in words."""
    frame.heading("What knowing the value is worth", TEXT["gain"])
    upper, clamped = solution.certificate.upper, solution.clamped_upper
    independent = solution.independent.certificate.upper if solution.independent else math.nan
    columns = st.columns(3)
    columns[0].metric("least possible, at most", prose.at_most(upper, 5))
    if solution.problem.shared == "noise":
        if solution.independent is not None:
            columns[1].metric(
                "one law for all values, at most", prose.at_most(independent, 5),
                delta=f"+{prose.percent(independent / upper - 1)}" if upper else None, delta_color="inverse",
            )  # fmt: skip
        st.markdown(TEXT["why the weight must not depend on the data"])
        return
    if not math.isfinite(clamped):
        st.markdown(TEXT["why the weight must not depend on the data"])
        return
    columns[1].metric(
        "ignoring the value, clamped", prose.at_most(clamped, 5),
        delta=f"+{prose.percent(clamped / upper - 1)}" if upper else None,
        delta_color="inverse",
    )  # fmt: skip
    columns[2].metric(
        "ignoring value and range", prose.at_most(independent, 5),
        delta=f"+{prose.percent(independent / upper - 1)}" if upper else None, delta_color="inverse",
    )  # fmt: skip
    st.markdown(TEXT["why the weight must not depend on the data"])
