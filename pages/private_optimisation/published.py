"""Figures of the paper in their settings."""

from __future__ import annotations

import streamlit as st

from pages.shared import compute, drawing, fields, prose

from . import charts, reproduce
from .controls import PAGE

TEXT = prose.sections("private_optimisation")
DRAWS = {3: 50, 4: 400, 5: 50}
"""Releases per point, as in the paper."""

AXES = {3: "δ", 4: "ε", 5: "least return"}


def figure_job() -> compute.Job | None:
    """The published figure that the visitor wants computed."""
    if PAGE["figure"] in (None, "none"):
        return None
    number = int(PAGE["figure"])
    asked = reproduce.Published(number, DRAWS[number])
    return compute.ask("published", asked, None, task=reproduce.reproduce, urgent=False, wait=0.1)


def published(job: compute.Job | None) -> None:
    """The choice of a figure, and the figure."""
    fields.pick(PAGE, "figure", "Compute")
    if job is None:
        st.caption(TEXT["published"])
        return
    number = job.question.problem.figure
    points = [record for record in (job.solution or job.trace) if isinstance(record, reproduce.Point)]
    st.caption(TEXT[f"figure {number}"])
    if not points:
        return
    table = lambda: st.dataframe([_row(point, AXES[number]) for point in points], hide_index=True)  # noqa: E731
    if number == 5:
        table()
        return
    draw = charts.figure_3 if number == 3 else charts.figure_4
    alt = f"Figure {number} of the paper, recomputed."
    drawing.draw(draw(points, drawing.colours()), key=f"chart_figure_{number}", alt=alt, table=table)


def _row(point: reproduce.Point, axis: str) -> dict[str, str]:
    return {
        "series": point.series,
        axis: f"{point.x:g}",
        "ratio": "–" if point.ratio is None else f"{point.ratio:.5f}",
        "limits the baseline breaks": "" if point.violated is None else prose.percent(point.violated),
        "": point.note,
    }
