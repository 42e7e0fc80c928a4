"""One real release of a plan, drawn in this session and kept nowhere: as private as the limits it was made for."""

from __future__ import annotations

import csv
import io

import streamlit as st

from dpcore.errors import InputError, MissingExtraError
from dpcore.private_optimization import Plan, PrivateProgram
from dpcore.private_optimization import release as draw
from pages.shared import compute, frame, prose
from pages.shared.messages import explain

from . import charts, work
from .controls import Asked

TEXT = prose.sections("private_optimisation")

SECONDS = 5.0
"""That the plan of a release may take; larger programs are released by the command line."""


def release(asked: Asked, one: work.Released) -> None:
    """A button, and after a click a plan for limits drawn exactly, as a file."""
    frame.heading("Release one plan", TEXT["release"])
    if one.noise is None or not one.noise.keeps:
        st.caption(f"{charts.name(one.key)} may break limits: choose a noise that never does.")
        return
    if not st.button("Release", key="release_plan", type="primary"):
        return
    try:
        with compute.PAGE_LOCK.left():
            limits, plan = draw(asked.program, one.noise, time_limit=SECONDS)
    except TimeoutError:
        st.error(TEXT["too large"])
        st.code("python -m dpcore private-lp model.mps --lower-limits rows.csv --release", language="sh")
    except (InputError, MissingExtraError) as error:
        st.error(explain(error) if isinstance(error, InputError) else str(error))
    else:
        st.metric("Objective of the released plan", prose.number(plan.objective, 6))
        st.download_button(
            "Plan and limits (CSV)", table(asked.program, limits.tolist(), plan), "released_plan.csv", "text/csv",
            on_click="ignore",
        )  # fmt: skip


def table(program: PrivateProgram, limits: list[float], plan: Plan) -> str:
    """A line for every released limit, then for every variable: kind, name, value."""
    model, out = program.model, io.StringIO()
    rows = [model.row_names[row] if model.row_names else f"row {row + 1}" for row in program.rows]
    columns = model.column_names or [f"x{n + 1}" for n in range(len(plan.x))]
    writer = csv.writer(out)
    writer.writerow(["kind", "name", "value"])
    writer.writerows(["limit", name, repr(float(value))] for name, value in zip(rows, limits, strict=True))
    writer.writerows(["variable", name, repr(float(value))] for name, value in zip(columns, plan.x, strict=True))
    return out.getvalue()
