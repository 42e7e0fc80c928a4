"""Figures of the paper, recomputed [MSVV]."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, finish, log_ticks

from ..reproduce import Point
from .styles import STYLES, colour, marker, name, red, stroke


def figure_2(colours: Palette) -> go.Figure:
    """Why nobody can do much better: plans close to a limit are rare, or a neighbour's data set would give them
    away."""
    figure, ink = Chart(), {"showarrow": False, "font": {"color": colours.text}}
    for x0, x1, fill, label in (
        (-4.2, -2.4, colours.fill, "S₁⁰: at least half of the plans"),
        (-2.4, 0.0, colours.impossible, "S₁¹: close to the limit"),
    ):
        figure.add_shape(type="rect", x0=x0, x1=x1, y0=-4.2, y1=0, line_width=0, fillcolor=fill, layer="below")
        figure.add_annotation(x=0.5 * (x0 + x1), y=-3.4, text=label, **ink)
    for step, text in enumerate(("δ", "δe<sup>ε</sup>", "δe<sup>2ε</sup>")):
        edge = -0.8 * (step + 1)
        figure.add_shape(type="line", x0=edge, x1=edge, y0=-4.2, y1=0, line={"color": colours.muted, "dash": "dot"})
        figure.add_annotation(x=edge + 0.4, y=-1.2, text=f"≤ {text}", **ink)
    figure.add_scatter(
        x=[-4.2, 0, 0], y=[0, 0, -4.2], mode="lines", line={"color": colours.text, "width": 2.5}, name="limits",
        hoverinfo="skip",
    )  # fmt: skip
    bare = {"showgrid": False, "zeroline": False, "range": [-4.3, 0.3]}
    figure.update_xaxes(tickvals=[-2.4, 0], ticktext=["d₁ − t", "d₁"], title="x₁", **bare)
    figure.update_yaxes(tickvals=[0], ticktext=["d₂"], title="x₂", **bare)
    return finish(figure, colours, height=360)


def figure_3(points: Sequence[Point], colours: Palette) -> go.Figure:
    """Increase of the variance over δ; a curve for every ε, solid for the tight noise."""
    figure = Chart()
    series = list(dict.fromkeys(point.series for point in points))
    epsilons = sorted({float(one.rpartition(" ")[2]) for one in series})
    for one in series:
        key, _, epsilon = one.rpartition(" ")
        mine, tight = _of(points, one), key == "tight"
        figure.add_scatter(
            x=[p.x for p in mine], y=[p.ratio for p in mine], mode="lines+markers", marker={"size": 5},
            opacity=1 - 0.72 * epsilons.index(float(epsilon)) / max(1, len(epsilons) - 1),
            line={"color": colour("optimal" if tight else key, colours), "dash": "solid" if tight else STYLES[key][1]},
            name=f"{'tight' if tight else 'published'}, ε = {epsilon}",
            hovertemplate="δ = %{x:.2g}: %{y:.5f}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    _over(figure, "δ", points)
    figure.update_yaxes(title="variance of the released / of the optimal portfolio")
    return finish(figure, colours, height=430)


def figure_4(points: Sequence[Point], colours: Palette) -> go.Figure:
    """Revenue against the violating baseline, and how often that violates."""
    figure = Chart()
    for key in ("truncated-laplace", "tight"):
        mine = _of(points, key)
        figure.add_scatter(
            x=[p.x for p in mine], y=[p.ratio for p in mine], mode="lines+markers", line=stroke(key, colours),
            name=f"revenue ratio, {name(key)}", marker=marker(key, colours, 8),
            hovertemplate="ε = %{x:g}: %{y:.5f}<extra></extra>",
        )  # fmt: skip
    mine = _of(points, "tight")
    figure.add_scatter(
        x=[p.x for p in mine], y=[100 * p.violated for p in mine], mode="lines+markers", yaxis="y2",
        name="budgets the baseline breaks (right)", line={"color": red(colours), "dash": "dot", "width": 2},
        marker={"symbol": "triangle-up", "size": 9}, hovertemplate="ε = %{x:g}: %{y:.3g} %<extra></extra>",
    )  # fmt: skip
    _over(figure, "ε", points)
    figure.update_yaxes(title="revenue of ours / of the baseline", rangemode="tozero")
    finish(figure, colours, height=430)
    right = {"overlaying": "y", "side": "right", "title": "budgets broken, %", "range": [0, 60], "showgrid": False}
    figure.update_layout(yaxis2=right)
    return figure


def _of(points: Sequence[Point], series: str) -> list[Point]:
    return [point for point in points if point.series == series]


def _over(figure: go.Figure, title: str, points: Sequence[Point]) -> None:
    """The axis of what the figure runs over."""
    figure.update_xaxes(title=title, **log_ticks(min(p.x for p in points), max(p.x for p in points)))
