"""Figure 3's other side: how many seconds a proof takes, of data-independent and of data-dependent noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from dpcore.data_dependent import solve as solve_data_dependent
from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from pages.data_dependent.work import regime
from pages.shared import compute, drawing, frame, prose
from pages.shared.watching import live

from . import charts, data, work
from .controls import PAGE, REGIMES
from .panels import TEXT, heading, stoppable

GAPS = (0.1, 0.05, 0.02, 0.01, 0.001)
"""Relative gaps whose seconds are told."""

ALONE, DEPENDENT = "data-independent", "data-dependent"


def panel() -> None:
    """The gaps of both kinds of noise over the seconds, and what the paper reports."""
    heading("Figure 3: seconds to a proof", TEXT["times"], study="Figure", regime="Privacy")
    epsilon, delta = REGIMES[PAGE["regime"]]
    quick, slow = SolverSettings(gap=1e-4, time_limit=work.LIMIT), SolverSettings(gap=1e-3, time_limit=2.5 * work.LIMIT)
    jobs = {
        ALONE: compute.ask(f"time {ALONE}", noise_problem(epsilon, delta, 2.0), quick, task=solve),
        DEPENDENT: compute.ask(f"time {DEPENDENT}", regime(epsilon, delta), slow, task=solve_data_dependent),
    }

    def draw() -> None:
        traces = {name: job.solution.trace if job.solution else job.trace for name, job in jobs.items()}
        known = {name: charts.closing(trace) for name, trace in traces.items()}
        if not all(known.values()):
            return
        frame.headline(told(known[DEPENDENT]))
        figure = charts.times(known, printed(), colours=drawing.colours())
        alt = f"Gaps over seconds; {' '.join(f'{name} {prose.percent(one[-1][1])}' for name, one in known.items())}."
        drawing.draw(figure, key="chart_times", alt=alt, table=lambda: st.dataframe(waits(known), hide_index=True))

    for name, job in jobs.items():
        stoppable(f"time {name}", job, lambda name=name: st.caption(f"Solving: {name} noise …"))
    live(list(jobs.values()), draw)
    st.markdown(TEXT["times note"])


def printed() -> list[list[float]]:
    """(seconds, gap in %) of the paper's data-dependent noise."""
    return data.published()["figure_3"]["data_dependent_seconds"]


def told(known: Sequence[tuple[float, float]]) -> str:
    """The headline, from what is known of data-dependent noise."""
    (ten, _), (five, _) = printed()
    end, least = known[-1]
    at = after(known, 0.1)
    first = "" if at is None else f"a gap of 10\u202f% after **{shown(at)}**, "
    return (
        f"Data-dependent noise, proved at every shift: {first}**{prose.percent(least)}** after {shown(end)}. "
        f"Published: 10\u202f% after up to {ten:g}\u00a0s, 5\u202f% after up to {five:.0f}\u00a0s."
    )


def after(known: Sequence[tuple[float, float]], gap: float) -> float | None:
    """The seconds after which a bracket was as narrow as `gap`; None where it never was."""
    return next((seconds for seconds, width in known if width <= gap), None)


def shown(seconds: float) -> str:
    return f"{seconds:.2g}\u00a0s" if seconds < 10 else f"{seconds:.0f}\u00a0s"


def waits(known: Mapping[str, Sequence[tuple[float, float]]]) -> list[dict[str, str]]:
    """Seconds until a bracket was as narrow as each of `GAPS`, with the published ones."""
    published = {gap: f"{seconds:g}" for seconds, gap in printed()}
    out = []
    for gap in GAPS:
        row = {"gap": f"{100 * gap:g}\u202f%"}
        for name, one in known.items():
            at = after(one, gap)
            row[f"{name}, s"] = "not reached" if at is None else f"{at:.3g}"
        out.append(row | {f"published, {DEPENDENT}, s": published.get(100 * gap, "–")})
    return out
