"""The published experiments, certified, and the reference method beside them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpcore.data_dependent import DataDependentProblem, solve
from dpcore.problem import SolverSettings
from pages.shared import compute, drawing, frame, prose
from pages.shared.watching import live

from . import charts, work
from .panels import law_table, laws_alt

TEXT = prose.sections("data_dependent")


def published() -> None:
    """The published experiments, certified; the reference method side by side."""
    frame.heading("Published experiments, certified", TEXT["published"])
    if not st.toggle("Compute them (about a minute)", key="run_published"):
        return
    problems = {name: work.regime(*pair) for name, pair in work.REGIMES.items()}
    jobs = {name: _ask(f"figure 3 {name}", one, solve, 12, gap=0.005) for name, one in problems.items()}
    methods = {name: _ask(f"reference {name}", one, work.published, 30) for name, one in problems.items()}
    name = st.segmented_control("Nine laws at", list(work.REGIMES), default="(1, 0.2)", key="regime") or "(1, 0.2)"
    nine = _ask("figure 5", work.nine_intervals(*work.REGIMES[name]), solve, 20, gap=0.01)
    everything = [*jobs.values(), *methods.values(), nine]

    def figures() -> None:
        left, right = st.columns(2, gap="large")
        with left:
            _closing(jobs, methods)
        with right:
            _nine_laws(nine)
        if not all(job.done for job in everything):
            st.caption("Still at work …")

    live(everything, figures, every=1.0)


def _ask(slot: str, problem: DataDependentProblem, task: Callable, seconds: float, **settings: float) -> compute.Job:
    settings = SolverSettings(time_limit=seconds, **settings)
    return compute.ask(slot, problem, settings, task=task, urgent=False, wait=0.05)


def _closing(jobs: dict[str, compute.Job], methods: dict[str, compute.Job]) -> None:
    """Both bounds against the number of cells, and what the reference method finds."""
    runs = [(f"(ε, δ) = {key}", job.solution.trace if job.solution else job.trace) for key, job in jobs.items()]
    rows = side_by_side(jobs, methods)
    drawing.draw(
        charts.closing(runs, axis="mean absolute error", colours=drawing.colours()), key="chart_figure_3",
        alt="Certified brackets against the number of cells. " + str(rows), table=None,
    )  # fmt: skip
    st.dataframe(rows, hide_index=True)


def _nine_laws(nine: compute.Job) -> None:
    """The laws of the release of a query with nine intervals of true values."""
    if nine.best is None:
        st.caption("The nine laws are being solved …")
        return
    table = charts.tabulated(nine.best)
    drawing.draw(
        charts.ridges(table, 9.0, unit="", colours=drawing.colours()), key="chart_figure_5", alt=laws_alt(table),
        table=lambda: st.dataframe(law_table(table)),
    )  # fmt: skip


def side_by_side(jobs: dict[str, compute.Job], methods: dict[str, compute.Job]) -> list[dict[str, str]]:
    """Our brackets and the reference method's."""
    rows = []
    for name, job in jobs.items():
        row = {"(ε, δ)": name, "here": "…", "cutting planes, β = 1/4": "…", "seconds of the processor": ""}
        if job.best is not None:
            row["here"] = "{} – {}".format(*prose.bracket(job.best.certificate.lower, job.best.certificate.upper))
        if methods[name].solution is not None:
            other = methods[name].solution
            row["cutting planes, β = 1/4"] = f"{prose.at_least(other.lower, 4)} – {prose.at_most(other.upper, 4)}"
            row["seconds of the processor"] = f"{other.seconds:.1f}"
        rows.append(row)
    return rows
