"""Pieces that charts are put together from. Each returns nothing and draws into the figure it is given."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from .. import numerals
from .palette import Palette


def finish(figure: go.Figure, colours: Palette, *, height: int = 400) -> go.Figure:
    """The figure with its margins, type, axes and a legend above the plot, where no curve can run into it.

    height : in pixels, also on a projector: a picture that does not fit the screen is no help there.
    """
    size = colours.type
    layout: dict[str, Any] = {
        "height": height,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"size": size, "color": colours.text},
        "legend": {
            "orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0,
            "font": {"size": size - 1, "color": colours.text},
        },
        "hoverlabel": {"font": {"size": size - 1}},
        "separators": ".\u202f",
        "bargap": 0.35,
        "barmode": "overlay",
    }  # fmt: skip
    wide = max(size / 14, 1.0)  # where type is larger than on a desk, so is the figure
    for name, room in (("xaxis", 320.0 * wide), ("yaxis", (height - 90.0) * wide)):
        axis = figure.layout[name].to_plotly_json()
        text = axis.get("title", {}).get("text")
        plain = axis.get("type") != "log" and max(map(abs, axis.get("range") or (1.0,))) >= 1e-3
        layout[name] = axis | {
            "automargin": True,
            "title": {"text": text and folded(text, room, colours), "font": layout["font"]},
            "tickfont": {"size": size - 1, "color": colours.text},
            "separatethousands": True,
            "exponentformat": "none" if plain else "power",
        }
    layout["margin"] = _margins(figure, layout, size)
    for name, value in layout.items():  # ten times as fast as `update_layout`
        figure.layout[name] = value
    return figure


def _margins(figure: go.Figure, layout: dict[str, Any], size: float) -> dict[str, int]:
    """Room for titles, a row of names above, and labels: for all names, for numbers of the usual length. Where it does
    not suffice, the browser makes more (`automargin`), but lays out the chart twice for that."""
    left, below = (len(lines(layout[name]["title"]["text"] or "")) for name in ("yaxis", "xaxis"))
    columns = [trace.y for trace in figure.data if trace.type == "bar" and trace.y is not None]
    names = [name for column in columns for name in column if isinstance(name, str)]
    if names:
        labels = 4 + max(length(name, size - 1) for name in names)
    else:
        labels = size * (2.3 if layout["yaxis"].get("type") == "log" else 1.8)
    return {
        "l": round(labels + (22 + 2.25 * size + 1.3 * size * (left - 1) if left else 10)),
        "b": round(20 + 3.5 * size + 1.35 * size * (below - 1) if below else 1.8 * size),
        "r": 18, "t": round(36 + size),
    }  # fmt: skip


WIDE = 0.54
"""Width of a character, about, in heights of its type."""


def lines(text: str) -> list[str]:
    """Of a text of Plotly."""
    return [line for line in re.split(r"<br\s*/?>", text) if line]


def length(text: str, size: float) -> float:
    """Pixels that a text of Plotly takes, about."""
    return WIDE * size * max((len(re.sub(r"<[^>]*>", "", line)) for line in lines(text)), default=0)


def band(
    figure: go.Figure,
    x: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    *,
    colours: Palette,
    names: tuple[str, str] = ("upper bound: a noise that achieves it", "lower bound: nothing can beat it"),
    steps: bool = False,
    hover: str = "%{x:.4g}<br>%{y:.6g}",
) -> None:
    """What lies between two certified bounds, filled; the upper one in the accent, the lower one as the text."""
    for name, values, last in ((names[0], upper, False), (names[1], lower, True)):
        figure.add_scatter(
            x=x,
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colours.text if last else colours.accent, "width": 2, "shape": "hv" if steps else "linear"},
            marker={"size": 7, "symbol": "diamond" if last else "circle"},
            fill="tonexty" if last else None,
            fillcolor=colours.fill,
            hovertemplate=f"{hover}<extra></extra>",
        )


def impossible(figure: go.Figure, lower: float, colours: Palette) -> None:
    """The grey region left of a proved lower bound with its edge and its legend entry; the loss runs along x."""
    upright(figure, 0, lower, layer="below", line={"width": 0}, fillcolor=colours.impossible)
    upright(figure, lower, line={"color": colours.text, "width": 1.5})
    entry(
        figure, "provably impossible", {"mode": "markers"}, area=(0.0, lower, None, None), symbol="square", size=14,
        color=colours.impossible,
    )  # fmt: skip


def upright(figure: go.Figure, left: float, right: float | None = None, **style: object) -> None:
    """A line, or a rectangle, from the bottom to the top of the plot. (Plotly's own ways take ten times as long.)"""
    kind, right = ("line", left) if right is None else ("rect", right)
    shape = {"type": kind, "x0": left, "x1": right, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain", **style}
    figure.layout.shapes = (*figure.layout.shapes, shape)


Ends = tuple[float | None, float | None, float | None, float | None]
"""Of an area: left, right, bottom, top; None where it reaches to the end of the plot. A line has two that are equal."""


def entry(figure: go.Figure, name: str, style: dict[str, Any], *, area: Ends | None = None, **marker: object) -> None:
    """A legend entry for something drawn as a shape, which is where its name may stand instead."""
    meta = None if area is None else {"area": area}
    figure.add_scatter(x=[None], y=[None], name=name, hoverinfo="skip", meta=meta, marker=marker or None, **style)


def player(figure: go.Figure, label: str, colours: Palette, *, pace: int, **place: object) -> None:
    """Buttons at the left that run through the figure's frames, `pace` milliseconds for each, and halt."""
    play = {
        "label": f"▶ {label}", "method": "animate",
        "args": [None, {"frame": {"duration": pace, "redraw": True}, "transition": {"duration": 0}}],
    }  # fmt: skip
    halt = {"label": "■", "method": "animate", "args": [[None], {"mode": "immediate", "frame": {"duration": 0}}]}
    figure.layout.updatemenus = [
        {
            "type": "buttons", "direction": "left", "buttons": [play, halt], "x": 0, "xanchor": "left",
            "showactive": False, "bgcolor": colours.background, "bordercolor": colours.muted,
            "font": {"color": colours.text, "size": colours.type - 2}, **place,
        }
    ]  # fmt: skip


def chosen(figure: go.Figure, x: float, y: float, label: str, colours: Palette) -> None:
    """The point that the visitor has chosen, ringed and named."""
    figure.add_scatter(
        x=[x], y=[y], mode="markers", name=label, cliponaxis=False,
        marker={"symbol": "circle-open", "size": colours.type, "color": colours.text, "line": {"width": 2.5}},
        hovertemplate=f"{label}<br>%{{x:.3~r}}, %{{y:.3~r}}<extra></extra>",
    )  # fmt: skip


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis with plain texts at the powers of ten, between them where there are few, at some of them where
    there are many, for `update_xaxes(**log_ticks(…))`."""
    low = max(low, 1e-12)
    between = (1,) if high > 300 * low else (1, 3) if high > 10 * low else (1, 2, 3, 5, 7)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [(base, power) for power in range(first, last + 1, 1 + (last - first) // 9) for base in between]
    places = [base * 10.0**power for base, power in ticks]
    if sum(low <= place <= high for place in places) < 2:  # so narrow that its ends have to do
        return {"type": "log", "tickvals": [low, high], "ticktext": [numerals.plain(end, 3) for end in (low, high)]}
    return {"type": "log", "tickvals": places, "ticktext": [_tick(base, power) for base, power in ticks]}


def _tick(base: int, power: int) -> str:
    """base·10^power, written out while that is short."""
    if 0 <= power < 7:
        return numerals.count(base * 10**power)
    if -4 <= power < 0:
        return f"{base * 10.0**power:g}"
    return ("" if base == 1 else f"{base}·") + "10" + numerals.raised(power)


def folded(title: str, room: float, colours: Palette) -> str:
    """An axis title in lines of at most about `room` pixels: one that sticks out is cut."""
    width = max(int(room / (0.48 * colours.type)), 12)
    return title if "<" in title else "<br>".join(textwrap.wrap(title, width))
