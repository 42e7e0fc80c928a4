"""The panels with pictures: the story's own, what releases are worth, the price over ε; next steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from pages.shared import compute, drawing, folding, frame, prose

from . import charts, work
from .certainty import shift_text
from .controls import PAGE, Asked
from .headline import COSTS, axis, share_of

TEXT = prose.sections("private_optimisation")
PICTURES = {
    "picture": "The feasible region and its private versions",
    "transport": "Where the drug goes",
    "portfolio": "What is held",
    "advertising": "Released budgets",
    "own": "Released limits",
}


# The story's picture ------------------------------------------------------------------------------------


def picture(asked: Asked, found: Sequence[work.Released]) -> None:
    """The story's own picture; where the plans were too many to keep, the released limits."""
    kind = asked.story.kind
    known = [one for one in found if one.run is not None and len(one.run.objectives)]
    frame.heading(PICTURES[kind], TEXT[f"picture of {kind}"])
    if not known:
        st.caption("Nothing to show yet.")
        return
    plans, at = known[0].run.plans, min(int(PAGE["shown"]), len(known[0].run.objectives)) - 1
    if kind == "picture":
        _region(asked, known, at)
    elif kind == "transport" and plans is not None and np.isfinite(plans[at]).all():
        _map(asked, known[0], at)
    elif kind == "portfolio" and plans is not None:
        drawing.draw(
            charts.holdings(asked.program, known, drawing.colours()), key="chart_holdings",
            alt="Amounts held in the optimal and in the mean released portfolio.", table=lambda: _table(known),
        )  # fmt: skip
    else:
        drawing.draw(
            charts.margins(asked.program, known, drawing.colours()), key="chart_margins",
            alt="How far released limits are from the true ones, row by row.", table=lambda: _table(known),
        )  # fmt: skip
    if kind in ("picture", "transport") and len(known[0].run.objectives) > 1:
        st.slider("Release shown", 1, int(PAGE["draws"]), key="shown")


def _region(asked: Asked, known: Sequence[work.Released], at: int) -> None:
    """Two variables: the region, one release's, all plans."""
    broken = [
        f"{charts.name(c.key)}: {int((c.run.violated > 0).sum())} of {len(c.run.violated)} break a limit" for c in known
    ]
    alt = "Feasible region of two variables with clouds of released plans. " + "; ".join(broken) + "."
    figure = charts.region(asked.program, known, drawing.colours(), at + 1)
    drawing.draw(figure, key="chart_region", alt=alt, table=lambda: _table(known))


def _map(asked: Asked, first: work.Released, at: int) -> None:
    """One released transport."""
    places = f"{len(asked.map.supplies)} pharmacies to {len(asked.map.demands)} hospitals"
    alt = f"Map of flows from {places}, cost {prose.number(float(first.run.objectives[at]), 5)}."
    figure = charts.flow_map(asked.map, first.run.plans[at], drawing.colours())
    drawing.draw(figure, key="chart_map", alt=alt, table=lambda: _flows_table(asked, first, at))


def _flows_table(asked: Asked, one: work.Released, at: int) -> None:
    flows = asked.map.flows(one.run.plans[at])
    rows = [
        {"hospital": j + 1, "patients (private)": float(d), "released demand": float(one.run.limits[at, j]),
         "receives": float(flows[:, j].sum())}
        for j, d in enumerate(asked.map.demands.tolist())
    ]  # fmt: skip
    st.dataframe(rows, hide_index=True)


# What releases are worth --------------------------------------------------------------------------------


def worth(asked: Asked, found: Sequence[work.Released]) -> None:
    """Objectives of all releases, mechanism by mechanism; their numbers stand below the pictures."""
    frame.heading("What releases are worth", TEXT["clouds"])
    means = [
        f"{charts.name(c.key)} mean {prose.number(float(np.nanmean(c.run.objectives)), 5)}"
        for c in found
        if c.run is not None and np.isfinite(c.run.objectives).any()
    ]
    alt = f"Strips of {axis(asked)} of simulated releases. " + "; ".join(means) + "."
    drawing.draw(charts.objectives(found, drawing.colours(), axis(asked)), key="chart_clouds", alt=alt, table=None)


def numbers(found: Sequence[work.Released]) -> None:
    """The numbers behind the picture; why a mechanism is not among them."""
    _table(found)
    for one in found:
        if one.reason:
            st.caption(f"{charts.name(one.key)} {one.reason}.")


def _table(found: Sequence[work.Released]) -> None:
    known = [one for one in found if one.run is not None and len(one.run.objectives)]
    rows = [_row(one) for one in known]
    if any(one.run.infeasible for one in known):
        rows = [row | {"no plan at all": one.run.infeasible} for row, one in zip(rows, known)]
    if rows:
        st.dataframe(rows, hide_index=True)


def _row(one: work.Released) -> dict[str, object]:
    run, worst = one.run, one.sure.worst if one.sure is not None else None
    losses = run.losses[np.isfinite(run.losses)]
    return {
        "noise": charts.name(one.key),
        "mean shift": shift_text(one),
        "mean loss": prose.number(float(losses.mean()), 4) if len(losses) else "–",
        "worst case": prose.at_most(worst, 4) if worst is not None else "–",
        "break a limit": share_of(float((run.violated > 0).mean())),
        "largest break": prose.number(float(run.excess.max()), 4),
    }


# The price over ε ---------------------------------------------------------------------------------------


def price(asked: Asked, job: compute.Job) -> None:
    """Mean loss and broken limits over ε."""
    found = [record for record in (job.solution or job.trace) if isinstance(record, work.Price)]
    left, right = st.columns(2, gap="large")
    with left:
        frame.heading("The price of feasibility", TEXT["price"])
        figure = charts.prices(found, drawing.colours(), asked.epsilon, f"mean loss of {COSTS[asked.story.kind][0]}")
        drawing.draw(figure, key="chart_price", alt=_price_alt(found), table=lambda: _price_table(found))
    with right:
        frame.heading("The price of not paying it", TEXT["violations"])
        figure = charts.violations(found, drawing.colours(), asked.epsilon)
        alt = "Share of private limits that plans break, over ε."
        drawing.draw(figure, key="chart_violations", alt=alt, table=lambda: _price_table(found))


def _price_alt(found: Sequence[work.Price]) -> str:
    tight = sorted((p for p in found if p.key == "tight"), key=lambda p: p.epsilon)
    ends = [f"{prose.number(p.loss)} at ε = {p.epsilon:g}" for p in (tight[:1] + tight[-1:])]
    return "Mean loss of plans that keep every limit, over ε; tight truncated Laplace: " + ", ".join(ends) + "."


def _price_table(found: Sequence[work.Price]) -> None:
    rows = [
        {"ε": p.epsilon, "noise": charts.name(p.key), "mean shift": prose.number(p.shift, 5),
         "mean loss": prose.number(p.loss, 5), "worst case": prose.at_most(p.worst, 5) if p.worst is not None else "–",
         "limits broken": prose.percent(p.violated)}
        for p in sorted(found, key=lambda p: (p.epsilon, p.key))
    ]  # fmt: skip
    st.dataframe(rows, hide_index=True)


# The end of the page ------------------------------------------------------------------------------------


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = [
        ("See it with two variables",
         {"story": "picture", "epsilon": 1.0, "delta": 1e-3, "rivals": ["truncated-laplace", "laplace"]}),
        ("Ten advertisers, real-valued budgets",
         {"story": "advertising", "cents": "none", "epsilon": 0.1,
          "rivals": ["truncated-laplace", "laplace-shifted", "laplace"]}),
        ("A portfolio that must not be overspent",
         {"story": "portfolio", "epsilon": 0.5, "rivals": ["truncated-laplace", "laplace"]}),
    ]  # fmt: skip
    frame.experiments(PAGE, steps)


def about() -> None:
    folding.about(TEXT)
