"""Allocations and curves → figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, finish, folded, hue, line, log_ticks, series
from dpcore.privacy import Privacy
from dpcore.vector import Allocation, VectorQuery
from dpcore.vector.components import Outcome
from dpcore.vector.layers import LayerNoise
from pages.shared import prose

from .work import Curve

HUES = {
    "gaussian": "gaussian", "laplace": "laplace", "staircase": "staircase", "blocks": "truncated-laplace",
    "k": "truncated-laplace", "planar": "staircase", "lp": "uniform", "mixed": "optimal",
}  # fmt: skip
NAMES = {
    "gaussian-iid": "identical Gaussian", "gaussian-optimal": "optimal Gaussian", "laplace-iid": "identical Laplace",
    "laplace-optimal": "optimal Laplace", "blocks-optimal": "optimal blocks",
}  # fmt: skip
FEW = 12
"""Up to so many coordinates are called by their names on an axis."""

STRIPES = 60
"""Longer profiles are drawn as lines, not as bars."""


def style(key: str) -> str:
    """The palette's key for a mechanism of vector queries."""
    return HUES[key.split("-")[0]]


def error_axis(power: float) -> str:
    """Title of an axis with the error."""
    return {1.0: "mean absolute error Σ E|Tᵢ|", 2.0: "mean squared error Σ E Tᵢ²"}.get(power, f"Σ {moment(power)}")


def moment(power: float) -> str:
    """One coordinate's error in words."""
    return {1.0: "E|Tᵢ|", 2.0: "E Tᵢ²"}.get(power, f"E|Tᵢ|^{power:g}")


def errors(found: Sequence[Allocation], query: VectorQuery, colours: Palette) -> go.Figure:
    """A bar per mechanism, best at the top; purely private ones are hatched, so that colour is not the only sign."""
    rows = sorted(distinct(found), key=lambda one: -one.error)
    figure = Chart()
    figure.add_bar(
        y=[short(one.name) for one in rows],
        x=[one.error for one in rows],
        orientation="h",
        marker={
            "color": [hue(colours, style(one.key)) for one in rows],
            "pattern": {"shape": ["/" if one.guarantee.delta == 0 else "" for one in rows], "solidity": 0.25},
        },
        text=[f"{one.error:.4g}" for one in rows],
        textposition="outside",
        cliponaxis=False,
        hovertext=[f"{one.name}<br>{one.error:.6g}<br>{guarantee(one)}" for one in rows],
        hoverinfo="text",
        showlegend=False,
    )
    values = [one.error for one in rows]
    low, high = np.log10(min(values)), np.log10(max(values))
    ends = [low - 0.35 * (high - low) - 0.1, high + 0.2 * (high - low) + 0.1]
    figure.update_xaxes(title=error_axis(query.power), **_decades(10 ** np.array(ends)) | {"range": ends})
    return finish(figure, colours, height=max(320, 100 + 25 * len(rows)))


def distinct(found: Sequence[Allocation]) -> list[Allocation]:
    """Mechanisms that exist, without the δ-variant of Laplace noise where it gains less than half a per cent."""
    known = {one.key: one for one in found if not one.reason}
    return [
        one
        for key, one in known.items()
        if "relaxed" not in key or one.error < 0.995 * known.get(key.replace("-relaxed", ""), one).error
    ]


def short(name: str) -> str:
    """A mechanism's name where room is scarce."""
    return name.replace("scale-perturb-rescale", "rescaled").replace("Two-dimensional", "2-D")


def guarantee(one: Allocation | Outcome) -> str:
    """ε-DP or (ε, δ)-DP."""
    return promise(one.guarantee)


def promise(pair: Privacy) -> str:
    """ε-DP or (ε, δ)-DP."""
    delta = prose.delta_text(pair.delta)
    return f"{pair.epsilon:g}-DP" if pair.delta == 0 else f"({pair.epsilon:g}, {delta})-DP"


def by_coordinate(
    found: Sequence[Allocation], values: str, title: str, colours: Palette, *, names: Sequence[str] = (),
    height: float = 360,
) -> go.Figure:  # fmt: skip
    """errors or shares of a few mechanisms, coordinate by coordinate."""
    figure = Chart()
    called = [f"coordinate {i}{f', {name}' * bool(name)}" for i, name in enumerate(names, 1)]
    for one in found:
        y = getattr(one, values)
        x = np.arange(1, len(y) + 1)
        chosen = "uniform" if one.key.endswith("spr") else style(one.key)
        drawn = {**line(chosen, colours), "shape": "hvh" if len(y) <= STRIPES else "linear"}
        figure.add_scatter(
            x=x, y=np.where(y > 0, y, np.nan), name=one.name, mode="lines+markers" if len(y) <= 40 else "lines",
            line=drawn, marker={"size": 5},
            text=called or [f"coordinate {i}" for i in x],
            hovertemplate=f"{one.name}<br>%{{text}}<br>%{{y:.4g}}<extra></extra>",
        )  # fmt: skip
    count = len(found[0].errors) if found else 1
    figure.update_xaxes(title="coordinate i", range=[0.4, count + 0.6], **({"dtick": 1} if count <= 10 else {}))
    if names and count <= FEW:
        ticks = [name[:15] + "…" if len(name) > 16 else name or str(i) for i, name in enumerate(names, 1)]
        figure.update_xaxes(title=None, tickvals=[*range(1, count + 1)], ticktext=ticks)
    every = np.concatenate([getattr(one, values) for one in found])
    figure.update_yaxes(
        title=title, **(_decades(every) if values == "errors" else {"tickformat": ".0%", "rangemode": "tozero"})
    )
    return finish(figure, colours, height=height)


def curves(found: Sequence[Curve], axis: str, power: float, colours: Palette, *, by: str) -> go.Figure:
    """Errors against K or ε; by="shape": a line per profile, by="key": one per mechanism."""
    figure = Chart()
    for number, one in enumerate(found):
        drawn = line(style(one.key), colours) if by == "key" else series(colours, number)
        if one.key.endswith("iid") and by == "key":
            drawn |= {"width": 1.2}
        figure.add_scatter(
            x=one.x, y=one.error, mode="lines", line=drawn,
            name=NAMES.get(one.key, one.key) if by == "key" else one.shape,
            hovertemplate="%{x:.4g}<br>%{y:.5g}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    figure.update_xaxes(title=axis, **(log_ticks(one.x[0], one.x[-1]) if axis == "ε" else {}))
    figure.update_yaxes(title=error_axis(power), **_decades(np.array([e for one in found for e in one.error if e])))
    return finish(figure, colours, height=380)


def _decades(values: np.ndarray) -> dict:
    """A logarithmic axis over what is positive among some values."""
    positive = values[values > 0]
    return log_ticks(positive.min(), positive.max())


def ginis(found: dict[str, tuple[float, ...]], dimensions: Sequence[int], colours: Palette) -> go.Figure:
    """Gini coefficient against K, a line per profile."""
    figure = Chart()
    for number, (shape, values) in enumerate(found.items()):
        figure.add_scatter(x=dimensions, y=values, mode="lines", name=shape, line=series(colours, number))
    figure.update_xaxes(title="dimension K")
    figure.update_yaxes(title="Gini coefficient", range=[-0.02, 1.02])
    return finish(figure, colours, height=340)


def lorenz(values: np.ndarray, colours: Palette) -> go.Figure:
    """Share of all sensitivity held by the least sensitive coordinates."""
    ordered = np.sort(values)
    share = np.concatenate([[0.0], np.cumsum(ordered) / ordered.sum()])
    x = np.linspace(0, 1, len(share))
    figure = Chart()
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="all equal", line=series(colours, 1))
    figure.add_scatter(x=x, y=share, mode="lines", name="this profile", fill="tonexty", fillcolor=colours.fill,
                       line=series(colours, 0))  # fmt: skip
    figure.update_xaxes(title="share of the coordinates, least sensitive first", tickformat=".0%")
    figure.update_yaxes(title="share of ‖λ‖₁", tickformat=".0%")
    return finish(figure, colours, height=340)


def outcomes(found: Sequence[Outcome], number: int, title: str, colours: Palette) -> go.Figure:
    """One figure of an experiment with two standard errors on either side."""
    figure = Chart()
    figure.add_bar(
        y=[folded(f"{short(one.name)}  {one.values[number]:.3g}", 250, colours) for one in found][::-1],
        x=[one.values[number] for one in found][::-1],
        error_x={"type": "data", "array": [2 * one.errors[number] for one in found][::-1], "color": colours.text},
        orientation="h",
        marker={"color": [hue(colours, style(one.key)) for one in found][::-1]},
        showlegend=False,
    )
    wide = max(one.values[number] for one in found) > 30 * max(min(one.values[number] for one in found), 1e-9)
    figure.update_xaxes(
        title=folded(title, 150, colours), nticks=4, **({"type": "log"} if wide else {"rangemode": "tozero"}),
    )  # fmt: skip
    return finish(figure, colours, height=100 + 38 * len(found))


def layers(found: Sequence[LayerNoise], names: Sequence[str], colours: Palette) -> go.Figure:
    """Standard deviation of the noise in every layer, by rule."""
    figure = Chart()
    for number, one in enumerate(found):
        drawn = series(colours, number)
        figure.add_scatter(x=list(names), y=one.deviations, mode="lines+markers", name=one.rule, line=drawn,
                           marker={"size": 8, "symbol": ("circle", "diamond", "square")[number]})  # fmt: skip
    every = np.array([value for one in found for value in one.deviations])
    figure.update_xaxes(tickangle=0)
    figure.update_yaxes(title="standard deviation of the noise", **_decades(every))
    return finish(figure, colours, height=360)
