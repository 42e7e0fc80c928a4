"""Pieces of figures that the topics of the Learn pages draw. Pure: no Streamlit."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import plotly.graph_objects as go

from dpcore import figures
from dpcore.figures import Palette
from pages.shared import prose


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


def upright(figure: go.Figure, x: float, name: str, colours: Palette, *, dash: str = "dot") -> None:
    """A line from the bottom to the top of the plot, with its place in the legend."""
    style = {"color": colours.text, "width": 1.5, "dash": dash}
    figures.upright(figure, x, line=style)
    figures.entry(figure, name, {"mode": "lines", "line": style})


def table(
    x_name: str, x: np.ndarray, curves: Mapping[str, np.ndarray], *, most: int = 13,
    show: Callable[[float], str] = prose.number,
) -> dict[str, list]:  # fmt: skip
    """Curves as a table, at no more than so many places, which `show` writes."""
    rows = np.unique(np.linspace(0, len(x) - 1, min(most, len(x))).round().astype(int))
    columns = {x_name: [show(float(x[row])) for row in rows]}
    return columns | {
        name: [prose.number(float(y[row])) if np.isfinite(y[row]) else "–" for row in rows]
        for name, y in curves.items()
    }
