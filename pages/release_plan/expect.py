"""What to expect before any data are touched: errors, made-up releases, signal against noise."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.plan import made_up
from dpcore.plan.rehearsal import SHOWN_CELLS, TIMES, Rehearsed
from pages.shared import drawing, frame, prose

from . import charts, headline
from .editor import next_button
from .work import Cost, Costs

TEXT = prose.sections("release_plan")


def expect(costs: Costs, rehearsed: Sequence[Rehearsed] | None) -> None:
    """Errors of every line; what releases of made-up people look like."""
    frame.heading("How far off every number will be", TEXT["expect"])
    st.dataframe(headline.table(costs, rehearsed), hide_index=True)
    plan = costs.split.plan
    rows = prose.count(made_up.rows_of(plan.people, len(plan.used)))
    st.caption(
        f"Relative errors, and those marked ≈, are of {TIMES} simulated releases of {rows} made-up people: estimates. "
        "All others are exact quantiles of the noise, whatever the data are."
    )  # fmt: skip
    if rehearsed is None:
        return
    tables = [
        (cost, seen)
        for cost, seen in zip(costs.lines, rehearsed)
        if len(seen.true) > 1 and cost.expected.priced.totals[0].by
    ]
    for number, (cost, seen) in enumerate(tables):
        _signal(number, cost, seen)
    frame.heading("What releases will look like", TEXT["rehearsed"])
    st.dataframe(_releases(rehearsed), hide_index=True)
    next_button("release")


def _signal(number: int, cost: Cost, seen: Rehearsed) -> None:
    """A table's counts against the noise of each."""
    widths = [cost.error if cost.error is not None else width for width in seen.width]
    labels = [" · ".join(label) for label in seen.labels]
    frame.heading(f"Signal against noise: {prose.literal(seen.name, 60)}", TEXT["signal"])
    hidden = sum(true <= width for true, width in zip(seen.true, widths))
    least, most = prose.number(min(seen.true)), prose.number(max(seen.true))
    told = f"{len(labels)} made-up counts from {least} to {most}, each ±{headline.up(max(widths), 3)}"
    figure = charts.cells(labels, seen.true, widths, drawing.colours(), what="made-up people")
    drawing.draw(figure, key=f"chart_signal_{number}", alt=f"{told}; {hidden} are hidden by the noise.",
                 table=lambda: st.dataframe(_cells(labels, seen, widths), hide_index=True))  # fmt: skip
    if hidden:
        st.caption(
            f"{hidden} of {len(labels)} counts are no larger than their noise: join groups, or give this more ε."
        )


def _cells(labels: Sequence[str], seen: Rehearsed, widths: Sequence[float]) -> list[dict[str, str]]:
    return [
        {"cell": label, "made-up count": prose.number(true), "± at 95 %": f"±{headline.up(width, 3)}",
         "relative": prose.percent(width / true) if true else "–"}
        for label, true, width in zip(labels, seen.true, widths)
    ]  # fmt: skip


def _releases(rehearsed: Sequence[Rehearsed]) -> list[dict[str, str]]:
    """The number without noise beside some releases of it."""
    found: list[dict[str, str]] = []
    for one in rehearsed:
        labels = [" · ".join(label) for label in one.labels] or [""]
        for cell, (label, true) in enumerate(zip(labels[:SHOWN_CELLS], one.true)):
            drawn = {f"release {i + 1}": prose.plain(values[cell], 6) for i, values in enumerate(one.shown)}
            found.append(
                {"number": f"{one.name}: {label}" if label else one.name, "made-up people": prose.plain(true, 6)}
                | drawn
            )
    return found[:SHOWN_CELLS]
