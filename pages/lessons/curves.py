"""Pieces of figures that are more than curves over one x (for those see `plot`). Pure: no Streamlit."""

from __future__ import annotations

import plotly.graph_objects as go

from dpcore import figures
from dpcore.figures import Palette

from . import lines


def square(figure: go.Figure) -> go.Figure:
    """The figure, finished before, with axes of one unit: both show probabilities."""
    figure.layout.xaxis.update(constrain="domain")
    figure.layout.yaxis.update(constrain="domain", scaleanchor="x")
    return figure


def upright(figure: go.Figure, x: float, name: str, colours: Palette) -> None:
    """A line from the bottom to the top of the plot, with its place in the legend."""
    style = lines.reference(colours)
    figures.upright(figure, x, line=style)
    figures.entry(figure, name, {"mode": "lines", "line": style}, area=(x, x, None, None))


def level(figure: go.Figure, y: float, name: str, colours: Palette) -> None:
    """The same from the left to the right."""
    style = lines.reference(colours)
    shape = {"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": y, "y1": y, "yref": "y", "line": style}
    figure.layout.shapes = (*figure.layout.shapes, shape)
    figures.entry(figure, name, {"mode": "lines", "line": style}, area=(None, None, y, y))
