"""Pieces of figures that are more than curves over one x (for those see `plot`). Pure: no Streamlit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from dpcore import figures
from dpcore.figures import Palette


def lines(
    figure: go.Figure, x: np.ndarray, curves: Mapping[str, np.ndarray], colours: Palette, *, hover: str, first: int = 0
) -> None:
    """Curves over one x in the colours and dashes of `figures.series`, from the `first`-th on; what is not above 0 is
    left out where an axis is logarithmic.

    hover : what stands below a curve's name, with %{x} and %{y}.
    """
    for number, (name, y) in enumerate(curves.items()):
        figure.add_scatter(
            x=x, y=y, name=name, mode="lines", line=figures.series(colours, first + number),
            hovertemplate=f"<b>{name}</b><br>{hover}<extra></extra>",
        )  # fmt: skip


def square(figure: go.Figure) -> go.Figure:
    """The figure, finished before, with axes of one unit: both show probabilities."""
    figure.layout.xaxis.update(constrain="domain")
    figure.layout.yaxis.update(constrain="domain", scaleanchor="x")
    return figure


def upright(figure: go.Figure, x: float, name: str, colours: Palette, *, dash: str = "dot") -> None:
    """A line from the bottom to the top of the plot, with its place in the legend."""
    style = {"color": colours.text, "width": 1.5, "dash": dash}
    figures.upright(figure, x, line=style)
    figures.entry(figure, name, {"mode": "lines", "line": style}, area=(x, x, None, None))
