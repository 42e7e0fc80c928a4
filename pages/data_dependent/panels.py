"""The panels with pictures: the laws of the release, who pays, what is paid on average; next steps."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dpcore.data_dependent import Solution
from pages.shared import drawing, frame, prose

from . import charts, work
from .controls import PAGE, Asked

TEXT = prose.sections("data_dependent")


# The laws of the release --------------------------------------------------------------------------------


def chosen_value(asked: Asked) -> float:
    """The true value looked at."""
    low, high = asked.problem.query_range
    return low + (PAGE["place"] if PAGE["place"] is not None else 0.3) * (high - low)


def laws(solution: Solution, asked: Asked) -> None:
    """All laws twice, and the one of the chosen true value."""
    table, value, colours = charts.tabulated(solution), chosen_value(asked), drawing.colours()
    left, right = st.columns(2, gap="large")
    with left:
        title = "One law of the noise per interval" if table.noise else "One law per true value"
        frame.heading(title, TEXT["noise ridges" if table.noise else "ridges"])
        figure = charts.ridges(table, value, unit=asked.unit, colours=colours)
        drawing.draw(figure, key="chart_ridges", alt=laws_alt(table), table=lambda: st.dataframe(law_table(table)))
    with right:
        frame.heading(*(
            ("Where the noise goes", TEXT["noise heat map"]) if table.noise
            else ("Where the release goes", TEXT["heat map"])
        ))  # fmt: skip
        figure = charts.heat_map(table, value, unit=asked.unit, colours=colours)
        what = charts.drawn(table, "")
        alt = f"Heat map of the probability of every {what} at every true value. " + laws_alt(table)
        drawing.draw(figure, key="chart_heat", alt=alt, table=lambda: st.dataframe(law_table(table)))
    frame.heading(f"The law at a true value of {value:.4g} {asked.unit}".rstrip(), TEXT["law"])
    st.slider(
        "True value, from the low to the high end of the range", 0.0, 1.0, step=0.01, key="place",
        format="percent", label_visibility="collapsed",
    )  # fmt: skip
    figure = charts.law(table, value, unit=asked.unit, colours=colours)
    row = table.law_of(value)
    alt = f"Law of the {charts.drawn(table, '')} at a true value of {value:.4g}: " + likeliest(table, row)
    drawing.draw(figure, key="chart_law", alt=alt, table=lambda: st.dataframe(one_law(table, row), hide_index=True))


def likeliest(table: charts.Table, row: int, count: int = 3) -> str:
    """The likeliest releases of a law in words."""
    middles = 0.5 * (table.cells[1:] + table.cells[:-1])
    best = sorted(range(len(middles)), key=lambda b: -table.masses[row, b])[:count]
    parts = [f"about {middles[b]:.4g} with {100 * table.masses[row, b]:.3g} %" for b in best]
    if table.atoms[row] > 1e-9:
        parts.append(f"{charts.itself(table)} with {100 * table.atoms[row]:.3g} %")
    return ", ".join(parts) + "."


def laws_alt(table: charts.Table) -> str:
    """The laws in words."""
    rows = {0: "lowest", len(table.atoms) // 2: "middle", len(table.atoms) - 1: "highest"}
    return " ".join(f"At the {name} true values: {likeliest(table, row)}" for row, name in rows.items())


def law_table(table: charts.Table) -> dict[str, list]:
    """A row for every law: its true values, its atom, its likeliest releases."""
    return {
        "true values from": [f"{v:.5g}" for v in table.ends[:-1]],
        "to": [f"{v:.5g}" for v in table.ends[1:]],
        "share of them": [f"{100 * share:.4g} %" for share in table.shares],
        "released as it is": [f"{100 * a:.4g} %" for a in table.atoms],
        f"likeliest {charts.drawn(table, '')}": [likeliest(table, row) for row in range(len(table.atoms))],
    }


def one_law(table: charts.Table, row: int) -> dict[str, list]:
    """Every release of one law."""
    return {
        f"{charts.drawn(table, '')} about": [f"{v:.5g}" for v in 0.5 * (table.cells[1:] + table.cells[:-1])],
        "probability": [f"{100 * m:.5g} %" for m in table.masses[row]],
    }


# Who pays -----------------------------------------------------------------------------------------------


def loss_axis(asked: Asked) -> str:
    """Title of an axis of losses."""
    return prose.loss_axis(asked.problem.loss, asked.unit)


def losses(solution: Solution, asked: Asked) -> None:
    """Loss as a function of the true value, and averages."""
    problem = solution.problem
    curves = work.solution_curves(solution)
    known = {curve.key: curve for curve in work.clamped_curves(problem)}
    curves += [known[key] for key in PAGE["overlays"] if key in known]
    left, right = st.columns([11, 9], gap="large")
    with left:
        frame.heading("Who pays", TEXT["losses"])
        figure = charts.losses(
            work.values(problem), curves, work.weights(problem), chosen=chosen_value(asked), cap=solution.cap,
            axis=loss_axis(asked), unit=asked.unit, colours=drawing.colours(),
        )  # fmt: skip
        alt = "Loss at every true value: " + "; ".join(
            f"{c.name} from {prose.number(float(c.values.min()))} to {prose.number(float(c.values.max()))}"
            for c in curves
        )
        drawing.draw(figure, key="chart_losses", alt=alt, table=lambda: st.dataframe(loss_table(problem, curves)))
        st.multiselect(
            "Clamped mechanisms drawn beside it", PAGE.options("overlays"), format_func=PAGE.label("overlays"),
            key="overlays", label_visibility="collapsed",
        )  # fmt: skip
    with right:
        frame.heading("On average", TEXT["averages"])
        st.markdown(average_table(solution, [*curves[:2], *known.values()]))
        clamped = "Textbook mechanisms are" if problem.shared == "noise" else "All"
        st.caption(
            f"{clamped} clamped to the range. With the certified optimum no true value loses more than "
            f"{prose.at_most(solution.instance_upper, 5)}. Averages of textbook mechanisms are numerical, the others "
            "certified upper bounds."
        )


def loss_table(problem, curves: Sequence[work.Curve]) -> dict[str, list]:
    """Losses at every tenth value."""
    values = work.values(problem)[::8]
    return {"true value": [f"{v:.4g}" for v in values]} | {
        curve.name: [prose.number(float(v), 5) for v in curve.values[::8]] for curve in curves
    }


def average_table(solution: Solution, curves: Sequence[work.Curve]) -> str:
    """Averages, and what share of each the optimum saves, as a Markdown table."""
    rows = ["| mechanism | average loss | the optimum saves |", "|---|---:|---:|"]
    upper = solution.certificate.upper
    for curve in sorted(curves, key=lambda c: (c.key != "optimal", c.average)):
        saved = (
            "" if curve.key == "optimal" or curve.average <= 0 else prose.percent(max(0.0, 1 - upper / curve.average))
        )
        text = (
            prose.at_most(curve.average, 5) if curve.key in ("optimal", "independent") else prose.number(curve.average)
        )
        rows.append(f"| {curve.name} | {text} | {saved} |")
    lower = prose.at_least(max(solution.certificate.lower, 0.0), 5)
    return "\n".join([*rows, f"| *nothing is below* | {lower} | |"])


# The end of the page ------------------------------------------------------------------------------------


def next_steps() -> None:
    """Three experiments, one click each."""
    steps = [
        ("Stronger privacy: (0.2, 0.05)", {"epsilon": 0.2, "delta": 0.05}),
        ("Middle values count most", {"weight": "triangular", "cap": "none"}),
        (
            "Nobody may lose more than 0.8",
            {"cap": "number", "cap_value": 0.8, "weight": "uniform", "epsilon": 1.0, "delta": 0.2},
        ),
    ]
    frame.experiments(PAGE, steps)
