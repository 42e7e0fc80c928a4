"""Pieces of figures that the topics of the Learn pages draw. Pure: no Streamlit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import plotly.graph_objects as go

from . import charts, prose
from .charts import Palette


def lines(
    figure: go.Figure, x: np.ndarray, curves: Mapping[str, np.ndarray], colours: Palette, *, hover: str, first: int = 0
) -> None:
    """Curves over one x in the colours and dashes of `charts.series`, from the `first`-th on; what is not above 0 is
    left out where an axis is logarithmic.

    hover : what stands below a curve's name, with %{x} and %{y}.
    """
    for number, (name, y) in enumerate(curves.items()):
        figure.add_scatter(
            x=x, y=y, name=name, mode="lines", line=charts.series(colours, first + number),
            hovertemplate=f"<b>{name}</b><br>{hover}<extra></extra>",
        )  # fmt: skip


def upright(figure: go.Figure, x: float, name: str, colours: Palette, *, dash: str = "dot") -> None:
    """A line from the bottom to the top of the plot, with its place in the legend."""
    style = {"color": colours.text, "width": 1.5, "dash": dash}
    charts.upright(figure, x, line=style)
    charts.entry(figure, name, {"mode": "lines", "line": style})


def powers(low: float, high: float) -> dict:
    """A logarithmic axis with plain texts at the powers of ten, between them where there are few, at some of them where
    there are many, for `update_xaxes(**powers(…))`."""
    low = max(low, 1e-12)
    between = (1,) if high > 300 * low else (1, 3) if high > 10 * low else (1, 2, 3, 5, 7)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [(base, power) for power in range(first, last + 1, 1 + (last - first) // 9) for base in between]
    return {
        "type": "log", "tickvals": [base * 10.0**power for base, power in ticks],
        "ticktext": [_plain(base, power) for base, power in ticks],
    }  # fmt: skip


def _plain(base: int, power: int) -> str:
    """base·10^power, written out while that is short."""
    if 0 <= power < 7:
        return prose.count(base * 10**power)
    if -4 <= power < 0:
        return f"{base * 10.0**power:g}"
    return ("" if base == 1 else f"{base}·") + "10" + str(power).translate(prose.SUPERSCRIPTS)


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
