"""Released values: quantile dot plots and histograms of many draws, with one to read off."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from .. import numerals
from .chart import Chart
from .palette import Palette, hue
from .parts import finish


@dataclass(frozen=True)
class Draws:
    """Releases of one mechanism: one to read off, many to see how far it may be off."""

    key: str
    one: float
    many: np.ndarray
    truth: float


def dots(draws: Draws, *, span: tuple[float, float], unit: str, colours: Palette) -> go.Figure:
    """Quantile dot plot: 25 dots, each standing for 4 % of the draws."""
    places = np.quantile(draws.many, (np.arange(25) + 0.5) / 25)
    bins = 24
    width = (span[1] - span[0]) / bins
    column = np.floor((places - span[0]) / width)
    rank = np.array([int((column[:i] == c).sum()) for i, c in enumerate(column)])
    figure = Chart()
    figure.add_scatter(
        x=span[0] + (column + 0.5) * width,
        y=rank + 0.5,
        mode="markers",
        showlegend=False,
        marker={"size": min(14.0, 190 / max(7, rank.max() + 1)), "color": hue(colours, draws.key), "opacity": 0.85},
        hovertemplate="4 % of releases near %{x:.5g}<extra></extra>",
    )
    figure.update_yaxes(visible=False, range=[0, max(8.0, float(rank.max()) + 2)])
    return _release(figure, draws, span, unit, colours)


def histogram(draws: Draws, *, span: tuple[float, float], unit: str, colours: Palette) -> go.Figure:
    """Histogram of the draws."""
    counts, edges = np.histogram(draws.many, bins=40, range=span)
    figure = Chart()
    figure.add_bar(
        x=0.5 * (edges[1:] + edges[:-1]),
        y=counts,
        width=np.diff(edges),
        showlegend=False,
        marker={"color": hue(colours, draws.key), "opacity": 0.75, "line": {"width": 0}},
        hovertemplate="%{y} of " + str(len(draws.many)) + " draws near %{x:.5g}<extra></extra>",
    )
    figure.update_yaxes(title=f"draws out of {len(draws.many)}")
    return _release(figure, draws, span, unit, colours)


def _release(figure: go.Figure, draws: Draws, span: tuple[float, float], unit: str, colours: Palette) -> go.Figure:
    figure.add_vline(x=draws.truth, line={"color": colours.text, "width": 1.5, "dash": "dash"})
    figure.add_annotation(
        x=draws.truth,
        y=1,
        yref="paper",
        yanchor="bottom",
        text="true value",
        showarrow=False,
        font={"size": colours.type - 1},
    )
    figure.add_scatter(
        x=[draws.one], y=[0], mode="markers", showlegend=False, cliponaxis=False,
        marker={"symbol": "triangle-up", "size": 17, "color": colours.text},
        hovertemplate="one release: %{x:.6g}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title=numerals.axis("released value", unit), range=list(span), nticks=6)
    return finish(figure, colours, height=300)
