"""Figures of the page. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Palette, finish, hue, line
from dpcore.optimal.midpoint import Match
from dpcore.privacy import Privacy
from dpcore.solution import Solution
from dpcore.sweeps import Outcome
from pages.shared import prose
from pages.tradeoff_maps.charts import Scale, ink, ticks

from . import data


def deviations(
    outcomes: Sequence[Outcome],
    table: data.Table,
    found: Mapping[Privacy, Match | None] | None = None,
    *,
    relative: bool = False,
    colours: Palette,
) -> go.Figure:
    """One cell per (ε, δ): the published figure as text, the distance of its midpoint from the bracket as colour,
    divided by max(1, O) or by the bracket's end; a point in every cell to click on."""
    source = data.published()
    epsilons, deltas = source["epsilons"], source["deltas"]
    z = np.full((len(deltas), len(epsilons)), np.nan)
    places, texts, hovers = [], [], []
    for outcome in outcomes:
        privacy = outcome.problem.privacy
        i, j = deltas.index(privacy.delta), epsilons.index(privacy.epsilon)
        low, high = data.recomputed(outcome, table.measures)
        printed = 100 * data.share(table.key, privacy.epsilon, privacy.delta)
        z[i, j] = 100 * (data.relative(outcome) if relative else data.distance(outcome))
        lower, upper = prose.bracket(outcome.certificate.lower, outcome.certificate.upper)
        why = data.cause(outcome, (found or {}).get(privacy)).text
        places.append((i, j))
        texts.append(f"{printed:.2f}" + ("" if data.agrees(outcome) else "*"))
        hovers.append(
            f"ε = {privacy.epsilon:g}, δ = {privacy.delta:g}<br>published {printed:.2f} %<br>"
            f"here {100 * low:.2f} to {100 * high:.2f} %<br>published O ≈ {data.midpoint(outcome):.5g}, "
            f"certified {lower} to {upper}" + (f"<br>{why}" if why else "") + "<br>click to open"
        )
    limit = 10.0 if relative else 100 * data.STATED[table.loss]
    stops = (0.0, hue(colours, "laplace")), (0.5, colours.background), (1.0, colours.accent)
    shades = Scale(-limit, limit, stops)
    title = "O off the bracket, % of it" if relative else "O off the bracket, % of max(1, O)"
    figure = go.Figure()
    figure.add_heatmap(
        x=np.arange(len(epsilons)), y=np.arange(len(deltas)), z=z, xgap=1, ygap=1, hoverinfo="skip",
        zmin=-limit, zmax=limit, colorscale=stops, colorbar=colour_bar(title, colours),
    )  # fmt: skip
    figure.add_scatter(
        x=[j for _, j in places], y=[i for i, _ in places], mode="markers+text", text=texts, showlegend=False,
        textfont={"size": colours.type - 4, "color": [ink(shades.at(z[place])) for place in places]},
        hovertext=hovers, hovertemplate="%{hovertext}<extra></extra>",
        customdata=[(epsilons[j], deltas[i]) for i, j in places],
        marker={"symbol": "square", "size": 26, "color": "rgba(0,0,0,0.004)"},
        selected={"marker": {"opacity": 0.004}}, unselected={"marker": {"opacity": 0.004}},
    )  # fmt: skip
    bare = {"showgrid": False, "zeroline": False}
    for update, name, values in ((figure.update_xaxes, "ε", epsilons), (figure.update_yaxes, "δ", deltas)):
        ticks = {"tickvals": list(range(len(values))), "ticktext": [f"{value:g}" for value in values]}
        update(title=name, range=[-0.5, len(values) - 0.5], **ticks, **bare)
    finish(figure, colours, height=480)
    figure.update_layout(clickmode="event+select", dragmode=False)
    figure.update_xaxes(tickangle=0)
    return figure


def colour_bar(title: str, colours: Palette) -> dict:
    """A legend of colours below the picture, where a narrow screen has room for it, with its title."""
    return {
        "orientation": "h", "thickness": 10, "y": -0.16, "yanchor": "top", "len": 0.9, "ticksuffix": "\u202f%",
        "tickfont": {"color": colours.text, "size": colours.type - 3},
        "title": {"text": title, "side": "bottom", "font": {"size": colours.type - 2, "color": colours.text}},
    }  # fmt: skip


def earlier_bound(outcomes: Sequence[Outcome], delta: float, *, colours: Palette) -> go.Figure:
    """The literature's lower bound, as printed and rigorous, as a share of the certified lower bound, over ε."""
    row = sorted(
        (o for o in outcomes if o.problem.privacy.delta == delta), key=lambda outcome: outcome.problem.privacy.epsilon
    )
    x = [o.problem.privacy.epsilon for o in row]
    rigorous = [data.benchmark(o)[1] / o.certificate.lower for o in row]
    printed = [max(0.0, data.implied_lower(o)) / o.certificate.lower for o in row]
    figure = go.Figure()
    figure.add_scatter(
        x=np.log10(x), y=[1.0] * len(x), name="certified lower bound", mode="lines", line=line("optimal", colours),
    )  # fmt: skip
    figure.add_scatter(
        x=np.log10(x), y=rigorous, name="earlier bound, rigorous", mode="lines+markers",
        line=line("staircase", colours),
        text=[f"{e:g}" for e in x], hovertemplate="ε = %{text}: %{y:.3f}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=np.log10(x), y=printed, name="implied by the published table", mode="markers", text=[f"{e:g}" for e in x],
        marker={"symbol": "x", "size": 9, "color": hue(colours, "laplace")},
        hovertemplate="ε = %{text}: %{y:.3f}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="ε", **(ticks(x) if x else {}))
    figure.update_yaxes(title="share of the certified lower bound", rangemode="tozero")
    return finish(figure, colours, height=380)


def grids(
    named: Sequence[tuple[str, Sequence[Solution]]],
    lines: Sequence[tuple[str, str, float]],
    *,
    over: str,
    places: Sequence[float],
    axis: str,
    colours: Palette,
) -> go.Figure:
    """Brackets of the reference method over its grids (one pair of curves per name), and horizontal lines
    (name, mechanism's key, loss)."""
    figure = go.Figure()
    for number, (name, solutions) in enumerate(named):
        x = list(places)[: len(solutions)]
        colour = hue(colours, ("laplace", "staircase")[number % 2])
        for side, dash, symbol in (("upper", "solid", "circle"), ("lower", "dot", "diamond")):
            figure.add_scatter(
                x=x, y=[getattr(s.certificate, side) for s in solutions], name=f"{name}, {side} bound",
                mode="lines+markers", line={"color": colour, "dash": dash, "width": 2},
                marker={"symbol": symbol, "size": 7}, hovertemplate="%{x}: %{y:.5g}<extra></extra>",
            )  # fmt: skip
    for name, key, value in lines:
        figure.add_hline(y=value, line=line(key, colours, width=1.5))
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line(key, colours, width=1.5), name=name)
    figure.update_xaxes(title=over, type="category")
    figure.update_yaxes(title=axis, rangemode="tozero")
    return finish(figure, colours, height=440)
