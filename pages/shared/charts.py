"""Answers → figures. Pure: no Streamlit, no computing beyond what a figure needs.

One accent colour belongs to the certified optimum, grey to what is provably impossible; baselines take
colour-blind-safe hues (after Okabe and Ito) and a dash each, so that colour is never the only sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dpcore.noise.base import Noise
from dpcore.noise.lattice import LatticeNoise, lattice_points, whole_law
from dpcore.noise.piecewise import PiecewiseNoise
from dpcore.solution import Progress

from . import prose


@dataclass(frozen=True)
class Palette:
    """Colours readable on one background."""

    accent: str
    fill: str
    impossible: str
    muted: str
    text: str
    hues: dict[str, str]


LIGHT = Palette(
    "#0067A5", "rgba(0,103,165,0.20)", "rgba(110,118,124,0.26)", "#8A9399", "#1E2A32",
    {"laplace": "#D55E00", "truncated-laplace": "#B97A00", "gaussian": "#AA4A89", "gaussian-classical": "#AA4A89",
     "staircase": "#00805C", "uniform": "#6B5B4B", "geometric": "#D55E00", "discrete-staircase": "#00805C"},
)  # fmt: skip
DARK = Palette(
    "#5BB8F0", "rgba(91,184,240,0.26)", "rgba(160,170,178,0.38)", "#8D99A2", "#E6EBEE",
    {"laplace": "#FF8A3D", "truncated-laplace": "#F0B429", "gaussian": "#E491C0", "gaussian-classical": "#E491C0",
     "staircase": "#2CC79A", "uniform": "#BBA88F", "geometric": "#FF8A3D", "discrete-staircase": "#2CC79A"},
)  # fmt: skip

DASHES = {
    "laplace": "dash", "truncated-laplace": "dashdot", "gaussian": "dot", "gaussian-classical": "longdashdot",
    "staircase": "longdash", "uniform": "8px,3px,2px,3px", "geometric": "dash", "discrete-staircase": "longdash",
}  # fmt: skip

POINTS = 1201
"""Places at which a smooth density is drawn."""


@dataclass(frozen=True)
class Law:
    """A noise law with what a figure needs to name it."""

    key: str
    name: str
    noise: Noise


def palette(dark: bool) -> Palette:
    """The colours for a dark or a light background."""
    return DARK if dark else LIGHT


def hue(colours: Palette, key: str) -> str:
    """A mechanism's colour; the optimum has the accent."""
    return colours.accent if key == "optimal" else colours.hues.get(key, colours.muted)


def window(laws: Sequence[Law]) -> tuple[float, float]:
    """The part of the axis worth drawing: the first law nearly whole, the others as far as they matter."""
    reach = [law.noise.interval(0.995) for law in laws]
    low, high = reach[0]
    width = max(high - low, 1e-12)
    if width <= 1e-12:
        low, high = min(r[0] for r in reach), max(r[1] for r in reach)
        width = max(high - low, 1e-9)
    for other_low, other_high in reach[1:]:
        low, high = min(low, max(other_low, low - 0.8 * width)), max(high, min(other_high, high + 0.8 * width))
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def density(laws: Sequence[Law], *, unit: str, colours: Palette, log_y: bool = False) -> go.Figure:
    """Densities over each other; a law named "optimal" is filled, an atom is a labelled stem. Laws on a lattice:
    their probabilities."""
    low, high = window(laws)
    if on_lattice(laws[0].noise):
        return _probabilities(laws, (low, high), unit, colours, log_y)
    figure, top = go.Figure(), 0.0
    for law in sorted(laws, key=lambda one: one.key == "optimal"):
        x, y = curve(law.noise, low, high)
        top = max(top, float(y.max(initial=0.0)))
        figure.add_scatter(
            x=x,
            y=np.where(y > 0, y, np.nan) if log_y else y,
            name=law.name,
            mode="lines",
            line=_line(law.key, colours),
            legendrank=1 if law.key == "optimal" else 1000,
            fill="tozeroy" if law.key == "optimal" and not log_y else None,
            fillcolor=colours.fill,
            hovertemplate=f"<b>{law.name}</b><br>noise %{{x:.4g}} {unit}<br>density %{{y:.4g}}<extra></extra>",
        )
    top = top or 1.0
    for law in laws:
        _atoms(figure, law, top, colours, log_y)
    figure.update_xaxes(title=prose.axis("noise", unit), range=[low, high])
    figure.update_yaxes(title=prose.axis("probability density", f"1/{unit}" if unit else ""), rangemode="tozero")
    if log_y:
        figure.update_yaxes(type="log", exponentformat="power", range=[math.log10(top) - 6, math.log10(top) + 0.4])
    else:
        figure.update_yaxes(range=[0, top * 1.16])
    return _finish(figure, 430)


def on_lattice(noise: Noise) -> bool:
    """The law has no density, only points."""
    return isinstance(noise, LatticeNoise) or whole_law(noise) is not None


def _probabilities(
    laws: Sequence[Law], span: tuple[float, float], unit: str, colours: Palette, log_y: bool
) -> go.Figure:
    """A stem for every point of the law named "optimal" (the first if there is none), markers joined by a line for the
    others."""
    figure, top = go.Figure(), 0.0
    steps = [law.noise.step if isinstance(law.noise, LatticeNoise) else whole_law(law.noise)[1] for law in laws]
    low, high = span[0] - 0.6 * steps[0], span[1] + 0.6 * steps[0]
    for law, step in sorted(zip(laws, steps), key=lambda one: one[0].key == "optimal"):
        x = lattice_points(math.ceil(low / step), math.floor(high / step) - math.ceil(low / step) + 1, step)
        y = law.noise.pmf(x)
        top, best = max(top, float(y.max(initial=0.0))), law.key == "optimal"
        hover = f"<b>{law.name}</b><br>exactly %{{x:.6g}} {unit}<br>probability %{{y:.4g}}<extra></extra>"
        if best:
            figure.add_bar(
                x=x, y=y, width=max(0.12 * step, 0.002 * (high - low)), showlegend=False, hoverinfo="skip",
                marker={"color": colours.accent, "line_width": 0},
            )  # fmt: skip
        figure.add_scatter(
            x=x, y=np.where(y > 0, y, np.nan), name=law.name, mode="markers" if best else "lines+markers",
            line=None if best else _line(law.key, colours) | {"width": 1.2}, hovertemplate=hover,
            marker={"size": 9 if len(x) < 80 else 5, "color": hue(colours, law.key), "symbol": _symbol(law.key)},
            legendrank=1 if best else 1000,
        )  # fmt: skip
    top = top or 1.0
    figure.update_xaxes(title=prose.axis("noise", unit), range=[low, high])
    figure.update_yaxes(title="probability", rangemode="tozero", range=[0, top * 1.16])
    if log_y:
        figure.update_yaxes(type="log", exponentformat="power", range=[math.log10(top) - 6, math.log10(top) + 0.4])
    return _finish(figure, 430)


def _symbol(key: str) -> str:
    """Marker of a law on a lattice: colour is never the only sign."""
    return {"optimal": "circle", "geometric": "diamond-open"}.get(key, "square-open")


def curve(noise: Noise, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """(x, density) of the continuous part inside a window: exact steps where the law is piecewise constant."""
    if isinstance(noise, PiecewiseNoise):
        heights = noise.masses / np.diff(noise.edges)
        x = np.repeat(noise.edges, 2)
        y = np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
        inside = (x >= low) & (x <= high)
        return x[inside], y[inside]
    x = np.union1d(np.linspace(low, high, POINTS), [0.0] if low < 0 < high else [])
    return x, noise.density(x)


def _atoms(figure: go.Figure, law: Law, top: float, colours: Palette, log_y: bool) -> None:
    """A stem for each atom. Its height says nothing, its label does."""
    for place, mass in law.noise.atoms:
        if mass < 1e-9:
            continue
        colour, best = hue(colours, law.key), law.key == "optimal"
        height = top * (1.06 if best else 0.94)
        figure.add_scatter(
            x=[place, place],
            y=[height * 1e-6 if log_y else 0.0, height],
            mode="lines+markers",
            showlegend=False,
            line=_line(law.key, colours),
            marker={"size": [0, 11 if best else 8], "color": colour},
            hovertemplate=f"<b>{law.name}</b><br>exactly {place:g} with probability {mass:.4g}<extra></extra>",
        )
        if best:
            figure.add_annotation(
                x=place, y=math.log10(height) if log_y else height, text=f"{prose.percent(mass)} exactly {place:g}",
                showarrow=False, xanchor="left", xshift=12, font={"color": colour, "size": 14},
            )  # fmt: skip


@dataclass(frozen=True)
class Bar:
    """One mechanism in the loss chart."""

    key: str
    name: str
    loss: float
    valid: bool = True
    reason: str = ""


def shown_loss(bar: Bar, digits: int = 4) -> str:
    """A bar's loss as text; the optimum's is an upper bound and is rounded up, with two more digits where rounding up
    would put it above a mechanism it equals."""
    if bar.key != "optimal":
        return prose.number(bar.loss, digits)
    up = prose.at_most(bar.loss, digits)
    return up if up == prose.number(bar.loss, digits) else prose.at_most(bar.loss, digits + 2)


def losses(
    bars: Sequence[Bar], *, lower: float | None, axis: str, colours: Palette, earlier: float | None = None
) -> go.Figure:
    """Expected losses as bars over the grey band that no private noise can enter."""
    shown = sorted((bar for bar in bars if math.isfinite(bar.loss)), key=lambda bar: (-bar.loss, bar.key == "optimal"))
    limit = _limit(shown)
    figure = go.Figure()
    for bar in shown:
        colour = hue(colours, bar.key) if bar.valid else colours.muted
        figure.add_bar(
            y=[bar.name if bar.valid else f"{bar.name}<br><span style='font-size:11px'>not valid</span>"],
            x=[min(bar.loss, limit)],
            customdata=[bar.loss],
            orientation="h",
            text=[shown_loss(bar) + (" →" if bar.loss > limit else "")],
            textposition="outside",
            cliponaxis=False,
            showlegend=False,
            marker={"color": colour if bar.valid else "rgba(0,0,0,0)", "line": {"color": colour, "width": 1.5}}
            | ({} if bar.valid else {"pattern": {"shape": "/", "fgcolor": colour, "bgcolor": "rgba(0,0,0,0)"}}),
            hovertemplate=f"<b>{bar.name}</b><br>%{{customdata:.6g}}"
            + (f"<br>not valid: {bar.reason}" if not bar.valid else "")
            + "<extra></extra>",
            width=0.5,
        )
    if lower:
        figure.add_vrect(x0=0, x1=lower, layer="below", line_width=0, fillcolor=colours.impossible)
        figure.add_vline(x=lower, line={"color": colours.text, "width": 1.5})
        _entry(figure, "provably impossible", {"mode": "markers"}, symbol="square", size=14, color=colours.impossible)
    if earlier and lower and earlier <= lower:
        dotted = {"color": colours.text, "width": 1.5, "dash": "dot"}
        figure.add_vline(x=earlier, line=dotted)
        _entry(figure, "earlier lower bound", {"mode": "lines", "line": dotted})
    figure.update_xaxes(title=axis, range=[0, limit * 1.32])
    figure.update_yaxes(automargin=True, ticklabelposition="outside", ticks="")
    return _finish(figure, max(260, 90 + 54 * len(shown)))


def _limit(bars: Sequence[Bar]) -> float:
    """Where the axis ends: a mechanism ten times worse than the optimum must not press all others flat."""
    most = max((bar.loss for bar in bars), default=0.0)
    best = next((bar.loss for bar in bars if bar.key == "optimal"), 0.0)
    return (min(most, 8 * best) if best else most) or 1.0


def _entry(figure: go.Figure, name: str, style: dict, **marker: object) -> None:
    """A legend entry for something drawn as a shape."""
    figure.add_scatter(x=[None], y=[None], name=name, hoverinfo="skip", marker=marker or None, **style)


def gap(trace: Sequence[Progress], *, axis: str, colours: Palette) -> go.Figure:
    """Both bounds against time, the shrinking uncertainty filled."""
    finite = [r for r in trace if math.isfinite(r.upper)]
    news = [a for a, b in zip(finite[1:], finite) if (a.lower, a.upper) != (b.lower, b.upper)]
    records = [*finite[:1], *news, *finite[-1:]]
    seconds = [max(r.seconds, 1e-3) for r in records]
    figure = go.Figure()
    for name, values, fill in (
        ("upper bound: a noise that achieves it", [r.upper for r in records], None),
        ("lower bound: nothing can beat it", [r.lower for r in records], "tonexty"),
    ):
        figure.add_scatter(
            x=seconds,
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": colours.accent if fill is None else colours.text, "width": 2, "shape": "hv"},
            marker={"size": 7, "symbol": "circle" if fill is None else "diamond"},
            fill=fill,
            fillcolor=colours.fill,
            hovertemplate="after %{x:.3g} s<br>%{y:.6g}<extra></extra>",
        )
    ticks = [base * 10.0**power for power in range(-3, 4) for base in (1, 3)]
    figure.update_xaxes(type="log", title="seconds of solving", tickvals=ticks, ticktext=[f"{t:g}" for t in ticks])
    figure.update_yaxes(title=axis)
    return _finish(figure, 340)


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
    figure = go.Figure()
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
    figure = go.Figure()
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
        x=draws.truth, y=1, yref="paper", yanchor="bottom", text="true value", showarrow=False, font={"size": 13}
    )
    figure.add_scatter(
        x=[draws.one], y=[0], mode="markers", showlegend=False, cliponaxis=False,
        marker={"symbol": "triangle-up", "size": 17, "color": colours.text},
        hovertemplate="one release: %{x:.6g}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title=prose.axis("released value", unit), range=list(span), nticks=6)
    return _finish(figure, 300)


def _line(key: str, colours: Palette) -> dict:
    if key == "optimal":
        return {"color": colours.accent, "width": 2.5}
    return {"color": hue(colours, key), "width": 2, "dash": DASHES.get(key, "dash")}


def _finish(figure: go.Figure, height: int) -> go.Figure:
    """Margins, type and a legend above the plot, where no curve can run into it."""
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 44, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"size": 14},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "xanchor": "left", "x": 0, "font": {"size": 13}},
        hoverlabel={"font_size": 13},
        separators=".\u202f",
        bargap=0.35,
        barmode="overlay",
    )
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        largest = max(map(abs, axis.range or (1.0,)))
        plain = axis.type != "log" and largest >= 1e-3
        axis.update(automargin=True, title_font_size=14, tickfont_size=13, separatethousands=True)
        axis.update(exponentformat="none" if plain else "power")
    return figure
