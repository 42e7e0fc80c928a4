"""Losses whose bounds never meet: why two converging programs do not, and what is true in between."""

from __future__ import annotations

import numpy as np

from dpcore import figures
from dpcore.figures import Chart, Palette
from dpcore.gallery import never_meet as core
from dpcore.partition import Partition
from dpcore.privacy import Privacy
from dpcore.reference import infima
from pages.lessons import lines, widgets
from pages.lessons.topic import Experiment, Panel, Picture, Question, Topic, Values
from pages.lessons.widgets import HEIGHT, Stops
from pages.mechanism_gallery.work import CELLS, WELLS, Asked, Bounds, bounds
from pages.shared import prose
from pages.shared.address import Choice

EXAMPLES = {"jump": "a loss that spares one point", "periodic": "a loss that repeats for ever"}
DELTAS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
CONTROLS = {
    "epsilon": widgets.EPSILON, "nm_delta": Stops(0.2, DELTAS), "nm_example": Choice("jump", EXAMPLES),
    "nm_cells": Stops(4, CELLS),
}  # fmt: skip


def sidebar(page) -> None:
    widgets.pick(page, "nm_example", "Loss")
    widgets.epsilon(page)
    widgets.delta(page, "nm_delta")
    widgets.slider(page, "nm_cells", "Cells per sensitivity k = D/β", show=prose.count)


def picture(values: Values, colours: Palette) -> Picture:
    privacy, example = Privacy(values["epsilon"], values["nm_delta"]), values["nm_example"]
    said = core.proved(example, privacy)
    upper = "1" if example == "jump" else prose.at_least(said.program_upper, 3)
    pair = f"ε = {privacy.epsilon:g}, δ = {privacy.delta:g}"
    if example == "jump":
        least, lower = prose.bracket(said.lower, said.upper, 3)
        truth = f"{least} and {lower}"
        headline = (
            f"At {pair}, on every grid: upper bound ≥ **{upper}**, lower bound ≤ **{lower}**. They never meet: the "
            f"best noise costs between **{truth}**, with mass on the one point that is spared, which the upper bound "
            "misses."
        )
        facts = {"best noise": f"between {truth}, proved", "programs": f"P ≥ {upper}, D ≤ {lower}, proved"}
    else:
        headline = (
            f"At {pair}, on every grid: upper bound ≥ **{upper}**, lower bound = **0**. They never meet: every "
            f"private noise costs at least **{upper}**, but no window of events can prove it."
        )
        facts = {"every noise": f"at least {upper}, proved", "programs": f"P ≥ {upper}, D = 0, proved"}
    note = (
        "Loss and noise in units of the sensitivity D. The bounds for every grid are theorems; those of single grids, "
        "below, are computed and certified. This topic comes after those of the notes: it is about the programs behind "
        "[Optimal noise](./)."
    )
    return Picture(headline, (cells(values, colours),), facts, (note,))


def cells(values: Values, colours: Palette) -> Panel:
    """The loss, its mean on every cell, which the upper program pays, and its infimum, which the lower one pays."""
    privacy, example, k = Privacy(values["epsilon"], values["nm_delta"]), values["nm_example"], int(values["nm_cells"])
    half = core.window(example, privacy)
    loss = core.problem(example, privacy, half).loss
    shown = 2 if example == "jump" else half
    partition = Partition.uniform(k, shown)
    edges = partition.edges(1.0)
    means = loss.mean(edges[:-1], edges[1:])
    lowest = infima(loss, Partition.uniform(k, half + 1), 1.0)[(half + 1 - shown) * k : (half + 1 + shown) * k]
    x = np.unique(np.concatenate([np.linspace(-shown, shown, 801), edges]))
    values_of = loss.value(np.where(x == 0, 1e-12, x))
    figure = Chart()
    line = lines.reference(colours)
    figure.add_scatter(x=x, y=values_of, mode="lines", name="loss c(x)", line=line,
                       hovertemplate="c(%{x:.3g}) = %{y:.3g}<extra></extra>")  # fmt: skip
    for name, y, style in (
        ("infimum on a cell: lower program", lowest, lines.series(colours, 1, width=5)),
        ("mean on a cell: upper program", means, lines.series(colours, 0)),
    ):
        figure.add_scatter(
            x=edges, y=np.append(y, y[-1]), mode="lines", name=name, line=style | {"shape": "hv"},
            hovertemplate=f"{name}<br>cell at %{{x:.3g}}: %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    if example == "jump":
        figure.add_scatter(x=[0], y=[0], mode="markers+text", name="c(0) = 0", text=["c(0) = 0"], hoverinfo="skip",
                           textposition="bottom right", showlegend=False,
                           textfont={"size": colours.type, "color": colours.text},
                           marker={"size": colours.type * 0.8, "color": colours.text})  # fmt: skip
    else:
        figures.upright(figure, half, line=lines.reference(colours))
        figures.upright(figure, half, half + 1, layer="below", line={"width": 0}, fillcolor=colours.impossible)
        figures.entry(figure, "no events here: mass is free", {"mode": "markers"}, area=(half, half + 1, None, None),
                      symbol="square", size=14, color=colours.impossible)  # fmt: skip
    ends = [-shown, shown] if example == "jump" else [half - 3, half + 1]  # the window's other end looks the same
    figure.update_xaxes(title="noise x (sensitivities)", range=ends)
    figure.update_yaxes(title="loss", range=[-0.15 if example == "jump" else -0.06, 1.12])
    if example == "jump":
        alt = (
            f"The loss is 1 near 0 and 0 at 0. With {k} cells per sensitivity every cell's mean is 1, but the infimum "
            f"is 0 on the two cells that touch 0."
        )
    else:
        alt = (
            f"The loss repeats every sensitivity, 1 on the first half. Events of the lower program end at ±{half}; "
            "beyond, mass is free."
        )
    near = (edges[:-1] >= max(ends[0], -1)) & (edges[:-1] < ends[0] + 3)
    table = {
        "cell from": [prose.number(float(v), 3) for v in edges[:-1][near]],
        "to": [prose.number(float(v), 3) for v in edges[1:][near]],
        "mean": [prose.number(float(v), 3) for v in means[near]],
        "infimum": [prose.number(float(v), 3) for v in lowest[near]],
    }
    return Panel("What the two programs see", figures.finish(figure, colours, height=HEIGHT), alt, table)


# Bounds on single grids, in the background ------------------------------------------------------------


def more(page) -> None:
    """The computed bounds, as soon as they are there."""
    import streamlit as st

    from pages.shared import compute, drawing, frame
    from pages.shared.prose import sections
    from pages.shared.watching import live

    texts = sections("mechanism_gallery/topics/never_meet")
    asked = Asked(page["nm_example"], Privacy(page["epsilon"], page["nm_delta"]))
    job = compute.ask("never meet", asked, None, task=bounds, urgent=False)

    def panels() -> None:
        if not job.done:
            st.caption("Bounds are being computed …")
            return
        if job.error is not None or job.solution is None:
            st.warning("The bounds could not be computed.")
            return
        drawn = (grids(asked, job.solution, drawing.colours()), relatives(asked, job.solution, drawing.colours()))
        for number, (column, panel) in enumerate(zip(st.columns(2, gap="large"), drawn)):
            with column:
                frame.heading(panel.title, texts[panel.about])
                table = lambda panel=panel: st.dataframe(panel.table, hide_index=True)  # noqa: E731
                drawing.draw(panel.figure, key=f"chart_never_meet_live_{number}", alt=panel.alt, table=table)

    live([job], panels)


def grids(asked: Asked, found: Bounds, colours: Palette) -> Panel:
    """Bounds of the published programs against the grid, with what is proved for every grid."""
    said = core.proved(asked.example, asked.privacy)
    x = [bound.at for bound in found.grids]
    figure = Chart()
    figures.band(
        figure, x, [b.lower for b in found.grids], [b.upper for b in found.grids], colours=colours,
        names=("upper bound, best grid so far", "lower bound, best grid so far"), hover="k = %{x}: %{y:.3g}",
    )  # fmt: skip
    ends = [CELLS[0] / 1.2, CELLS[-1] * 1.2]
    for name, level in (("no grid goes below", said.program_upper), ("no grid goes above", said.program_lower)):
        figure.add_scatter(x=ends, y=[level] * 2, mode="lines", name=name,
                           hovertemplate=f"{name} %{{y:.3g}}<extra></extra>",
                           line=lines.reference(colours))  # fmt: skip
    figure.update_xaxes(
        title="cells per sensitivity k", type="log", tickvals=list(CELLS), ticktext=[str(k) for k in CELLS],
        range=np.log10(ends).tolist(),
    )  # fmt: skip
    figure.update_yaxes(title="expected loss", rangemode="tozero")
    last = found.grids[-1]
    alt = (
        f"Certified bounds against the grid: at k = {last.at:g} from {prose.at_least(last.lower, 3)} to "
        f"{prose.at_most(last.upper, 3)}; no grid can bring them together."
    )
    table = {
        "cells per sensitivity": [f"{b.at:g}" for b in found.grids],
        "lower bound": [prose.at_least(b.lower, 3) for b in found.grids],
        "upper bound": [prose.at_most(b.upper, 3) for b in found.grids],
    }
    return Panel("Finer grids do not help", figures.finish(figure, colours, height=340), alt, table, "grids")


def relatives(asked: Asked, found: Bounds, colours: Palette) -> Panel:
    """This project's solver on wells of finite width, or on finite supports."""
    said, jump = core.proved(asked.example, asked.privacy), asked.example == "jump"
    x = [b.at for b in found.relatives]
    figure = Chart()
    figures.band(
        figure, x, [b.lower for b in found.relatives], [b.upper for b in found.relatives], colours=colours,
        names=("upper bound", "lower bound"), hover="%{x}: %{y:.3g}",
    )  # fmt: skip
    level, name = (said.upper, "best noise for the point, at most") if jump else (said.lower, "every noise, at least")
    figure.add_scatter(x=[min(x), max(x)], y=[level] * 2, mode="lines", name=name,
                       hovertemplate=f"{name} %{{y:.3g}}<extra></extra>",
                       line=lines.reference(colours))  # fmt: skip
    if jump:
        figure.update_xaxes(
            title="the point widened to |x| < w (sensitivities)", type="log", tickvals=list(WELLS),
            ticktext=["1/2", "1/4", "1/8", "1/16"], autorange="reversed",
        )  # fmt: skip
    else:
        figure.update_xaxes(title="noise within ± so many sensitivities", tickvals=x)
    figure.update_yaxes(title="expected loss", rangemode="tozero")
    last = found.relatives[-1]
    alt = (
        f"Certified bounds of the relatives; the last one, at {last.at:g}, between {prose.at_least(last.lower, 3)} and "
        f"{prose.at_most(last.upper, 3)}."
    )
    table = {
        "width of the well" if jump else "half-width of the support": [f"{b.at:g}" for b in found.relatives],
        "lower bound": [prose.at_least(b.lower, 3) for b in found.relatives],
        "upper bound": [prose.at_most(b.upper, 3) for b in found.relatives],
    }
    title = "A well instead of a point" if jump else "Noise of finite support"
    about = "wells" if jump else "supports"
    return Panel(title, figures.finish(figure, colours, height=340), alt, table, about)


def least_cost(delta: float) -> float:
    """What every private noise costs at least, first example."""
    return core.proved("jump", Privacy(1.0, delta)).lower


def reason(delta: float) -> str:
    """Why, and what it says about the two bounds at ε = 1."""
    said = core.proved("jump", Privacy(1.0, delta))
    return (
        "A shift by almost any amount leaves a point mass uncovered, so that it is at most δ, and all other noise "
        f"costs at least 1: 1 − δ = {least_cost(delta):g}. At ε = 1 some noise costs at most "
        f"{prose.at_most(said.upper, 3)}, but no density less than 1: the bounds stay at least "
        f"{prose.at_least(said.program_upper - said.program_lower, 2)} apart."
    )


def undercut(delta: float) -> Question:
    """The first example's bound for every private noise."""
    return Question(
        text=f"The loss is 0 at 0 alone and at least 1 elsewhere, δ = {delta:g}. Noise may be anything private, a "
        "point mass as well. Which cost does no noise undercut, whatever ε is?",
        right=lambda: least_cost(delta),
        because=lambda: reason(delta),
        hint="How much probability may sit on one point, if a shift can leave it uncovered?",
    )


TOPIC = Topic(
    name="never_meet",
    title="Bounds that never meet",
    section="",
    controls=CONTROLS,
    sidebar=sidebar,
    picture=picture,
    more=more,
    experiments=(
        Experiment("Finer cells, same gap", {"nm_example": "jump", "nm_cells": 8}),
        Experiment("A loss that repeats for ever", {"nm_example": "periodic", "epsilon": 1.0, "nm_delta": 0.2}),
        Experiment("A large δ opens the gap", {"nm_example": "jump", "nm_delta": 0.5, "epsilon": 2.0}),
    ),
    question=undercut(0.35),
    vary=lambda rng: undercut(rng.choice((0.05, 0.15, 0.25, 0.4, 0.45))),
)
