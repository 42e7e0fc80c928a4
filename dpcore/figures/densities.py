"""Noise laws over each other: densities, or probabilities of laws on a lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from .. import numerals
from ..noise import outline
from ..noise.base import Noise
from ..noise.outline import curve
from ..noise.steps import LatticeLaw, lattice_points
from .chart import Chart
from .palette import Palette, hue, line
from .parts import finish, log_ticks

SEEN = 1e-4
"""Probability from which on an atom is drawn: a stem is as high for the least of them."""

HEIGHT = 350
"""Height of the picture, in pixels: with the verdict above it, it fits a first screen."""


@dataclass(frozen=True)
class Law:
    """A noise law with what a figure needs to name it."""

    key: str
    name: str
    noise: Noise


def window(laws: Sequence[Law]) -> tuple[float, float]:
    """The part of the axis worth drawing: the first law nearly whole, the others as far as they matter."""
    return outline.window([law.noise for law in laws])


def density(laws: Sequence[Law], *, unit: str, colours: Palette, log_y: bool = False) -> go.Figure:
    """Densities over each other; a law named "optimal" is filled, an atom is a labelled stem. Laws on a lattice:
    their probabilities."""
    low, high = window(laws)
    if laws[0].noise.lattice_step is not None:
        return _probabilities(laws, (low, high), unit, colours, log_y)
    figure, top = Chart(), 0.0
    for law in sorted(laws, key=lambda one: one.key == "optimal"):
        x, y = curve(law.noise, low, high)
        top = max(top, float(y.max(initial=0.0)))
        figure.add_scatter(
            x=x,
            y=np.where(y > 0, y, np.nan) if log_y else y,
            name=law.name,
            mode="lines",
            line=line(law.key, colours),
            legendrank=1 if law.key == "optimal" else 1000,
            fill="tozeroy" if law.key == "optimal" and not log_y else None,
            fillcolor=colours.fill,
            hovertemplate=f"<b>{law.name}</b><br>noise %{{x:.4g}} {unit}<br>density %{{y:.4g}}<extra></extra>",
        )
    top = top or 1.0
    for law in laws:
        _atoms(figure, law, top, colours, log_y)
    figure.update_xaxes(title=numerals.axis("noise", unit), range=[low, high])
    figure.update_yaxes(title=numerals.axis("probability density", f"1/{unit}" if unit else ""), rangemode="tozero")
    if log_y:
        figure.update_yaxes(**log_ticks(1e-6 * top, 2.5 * top), range=[math.log10(top) - 6, math.log10(top) + 0.4])
    else:
        figure.update_yaxes(range=[0, top * 1.16])
    return finish(figure, colours, height=HEIGHT)


def _probabilities(
    laws: Sequence[Law], span: tuple[float, float], unit: str, colours: Palette, log_y: bool
) -> go.Figure:
    """A stem for every point of the law named "optimal" (the first if there is none), markers joined by a line for the
    others."""
    figure, top = Chart(), 0.0
    known = [(law, law.noise) for law in laws if isinstance(law.noise, LatticeLaw)]
    room = 0.6 * known[0][1].lattice_step
    low, high = span[0] - room, span[1] + room
    for law, noise in sorted(known, key=lambda one: one[0].key == "optimal"):
        step = noise.lattice_step
        x = lattice_points(math.ceil(low / step), math.floor(high / step) - math.ceil(low / step) + 1, step)
        y = noise.pmf(x)
        top, best = max(top, float(y.max(initial=0.0))), law.key == "optimal"
        hover = f"<b>{law.name}</b><br>exactly %{{x:.6g}} {unit}<br>probability %{{y:.4g}}<extra></extra>"
        if best:
            figure.add_bar(
                x=x, y=y, width=max(0.12 * step, 0.002 * (high - low)), showlegend=False, hoverinfo="skip",
                marker={"color": colours.accent, "line": {"width": 0}},
            )  # fmt: skip
        figure.add_scatter(
            x=x, y=np.where(y > 0, y, np.nan), name=law.name, mode="markers" if best else "lines+markers",
            line=None if best else line(law.key, colours) | {"width": 1.2}, hovertemplate=hover,
            marker={"size": 9 if len(x) < 80 else 5, "color": hue(colours, law.key), "symbol": _symbol(law.key)},
            legendrank=1 if best else 1000,
        )  # fmt: skip
    top = top or 1.0
    figure.update_xaxes(title=numerals.axis("noise", unit), range=[low, high])
    figure.update_yaxes(title="probability", rangemode="tozero", range=[0, top * 1.16])
    if log_y:
        figure.update_yaxes(**log_ticks(1e-6 * top, 2.5 * top), range=[math.log10(top) - 6, math.log10(top) + 0.4])
    return finish(figure, colours, height=HEIGHT)


def _symbol(key: str) -> str:
    """Marker of a law on a lattice: colour is never the only sign."""
    return {"optimal": "circle", "geometric": "diamond-open"}.get(key, "square-open")


def _atoms(figure: go.Figure, law: Law, top: float, colours: Palette, log_y: bool) -> None:
    """A stem for each atom. Its height says nothing, its label does."""
    for place, mass in law.noise.atoms:
        if mass < SEEN:
            continue
        colour, best = hue(colours, law.key), law.key == "optimal"
        height = top * (1.06 if best else 0.94)
        figure.add_scatter(
            x=[place, place],
            y=[height * 1e-6 if log_y else 0.0, height],
            mode="lines+markers",
            showlegend=False,
            line=line(law.key, colours),
            marker={"size": [0, 11 if best else 8], "color": colour},
            hovertemplate=f"<b>{law.name}</b><br>exactly {place:g} with probability {mass:.4g}<extra></extra>",
        )
        if best:
            figure.add_annotation(
                x=place, y=math.log10(height) if log_y else height, text=numerals.atom(place, mass),
                showarrow=False, xanchor="left", xshift=12, font={"color": colour, "size": colours.type},
            )  # fmt: skip
