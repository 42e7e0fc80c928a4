"""Shares and cells → figures. Pure: no Streamlit."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpcore import figures
from dpcore.figures import Palette

MOST_CELLS = 60
"""Most cells of a table in a figure."""


def shares(names: Sequence[str], epsilons: Sequence[float], colours: Palette) -> go.Figure:
    """ε of every line."""
    figure = figures.Chart()
    figure.add_bar(
        y=[plain(name, 28) for name in names], x=list(epsilons), orientation="h", marker={"color": colours.accent},
        showlegend=False, hovertemplate="%{y}: ε = %{x:.4g}<extra></extra>",
    )  # fmt: skip
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title="ε of this statistic alone", rangemode="tozero")
    return figures.finish(figure, colours, height=90 + 36 * len(names))


def cells(
    labels: Sequence[str], values: Sequence[float], widths: Sequence[float], colours: Palette, *, what: str
) -> go.Figure:
    """Counts with the ± of their noise; cells that it may hide are pale."""
    labels, values, widths = labels[:MOST_CELLS], values[:MOST_CELLS], widths[:MOST_CELLS]
    figure = figures.Chart()
    seen = [value > width for value, width in zip(values, widths)]
    for shown, name, colour in ((True, "above its noise", colours.accent), (False, "hidden by noise", colours.muted)):
        at = [i for i, one in enumerate(seen) if one == shown]
        if at:
            figure.add_bar(
                x=[plain(labels[i], 24) for i in at], y=[values[i] for i in at], name=name, marker={"color": colour},
                error_y={"type": "data", "array": [widths[i] for i in at], "color": colours.text, "thickness": 1.5},
                hovertemplate="%{x}: %{y:,.4g}<extra></extra>",
            )  # fmt: skip
    figure.update_xaxes(categoryorder="array", categoryarray=[plain(label, 24) for label in labels])
    figure.update_yaxes(title=what, rangemode="tozero")
    figures.finish(figure, colours, height=330)
    figure.layout.showlegend = not all(seen)
    return figure


def plain(text: str, longest: int) -> str:
    """A visitor's text without what a chart would read as formatting."""
    text = "".join(c if c.isprintable() else " " for c in text).replace("<", "‹").replace(">", "›")
    return text if len(text) <= longest else text[: longest - 1] + "…"
