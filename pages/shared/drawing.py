"""A figure on the page: the visitor's colours, a text for screen readers, the table behind it, a camera for PNG;
names stand at the lines where they find room.

drawing.draw(figure, key="chart_price", alt="Price of …: 0.2 % at ε = 1 …", table=lambda: st.dataframe(…))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dpcore import figures
from pages import chart

from . import folding, seen
from .address import FRAME


def dark() -> bool:
    """The visitor looks at a dark page."""
    return st.context.theme.type == "dark"


LOWEST, HIGHEST = 720, 2160
"""Heights of a projector's screen, in pixels, that figures are drawn for."""


def screen() -> int:
    """The height of a projector's screen, in pixels; the lowest until the browser has said it."""
    return st.session_state.get("screen", LOWEST)


def measure(height: object) -> None:
    """Take the height of a projector's screen from the browser: nothing is believed that no screen has."""
    if isinstance(height, int | float) and height == height:
        st.session_state["screen"] = int(min(max(height, LOWEST), HIGHEST))


def grown() -> float:
    """How many times as high as the lowest projector's screen this one is; 1 on a desk."""
    return screen() / LOWEST if FRAME["projector"] else 1.0


def colours(*, hall: bool = False) -> figures.Palette:
    """The palette for the visitor's theme; with larger type on a projector, for a hall as large as its screen needs:
    24 and more on the ticks of one with 1080 rows."""
    found = figures.palette(dark(), bool(FRAME["projector"]))
    return replace(found, type=round(found.type * grown())) if hall else found


def draw(
    figure: go.Figure,
    *,
    key: str,
    alt: str,
    table: Callable[[], object] | None,
    clicks: bool = False,
    sent: dict[str, Any] | None = None,
) -> list | None:
    """Draw a figure.

    key : of the chart in the page; also the name of its file when it is saved.
    alt : the chart in words, its main numbers included.
    table : draws what the figure shows as a table, in a fold below it; None where the page shows that table anyway.
    clicks : points with `customdata` can be clicked; returned is that of the one that was.
    sent : goes to the browser in place of the figure, of lines and bars: the same as plain data, with more to it.
    """
    seen.picture(figure, alt)
    if figure.layout.meta is None:
        figure.layout.meta = {"labels": True}  # assets/labels.js
    picture = {"format": "png", "scale": 3, "filename": key.removeprefix("chart_")}
    unused = ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"]
    config = {"displaylogo": False, "toImageButtonOptions": picture, "modeBarButtonsToRemove": unused}
    picked = None
    if clicks:
        chosen = st.plotly_chart(figure, key=key, alt=alt, config=config, on_select="rerun", selection_mode="points")
        points = [point["customdata"] for point in chosen["selection"]["points"] if "customdata" in point]
        picked = points[0] if points else None
    elif {trace.type for trace in figure.data} <= chart.KINDS:
        told = figure.to_dict() if sent is None else sent
        layout = {"meta": figure.layout.meta} | told["layout"]
        chart.draw(told | {"layout": layout}, key=key, alt=alt, config=config, colours=colours())
    else:
        st.plotly_chart(figure, key=key, alt=alt, config=config)
    if table is not None:
        folding.fold("Numbers", table, key=f"{key}_numbers")
    return picked
