"""Radial laws → figures. Pure: no Streamlit. Radii in the query's unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from scipy import special

from dpcore.figures import Chart, Palette, finish, hue, line, log_ticks, player, upright
from dpcore.isotropic.baselines import KnownLaw
from dpcore.isotropic.geometry import log_volumes
from dpcore.isotropic.law import RadialNoise
from dpcore.isotropic.problem import IsotropicProblem
from pages.shared import prose

from .work import Point

HUES = {
    "gaussian": "gaussian", "l2": "laplace", "l2-delta": "staircase", "l2-truncated": "truncated-laplace",
    "optimal": "optimal",
}  # fmt: skip
"""Mechanism → whose hue and dash it has; all others share one."""

SHORT = {
    "gaussian": "Gaussian", "l2": "ℓ2, ε-DP", "l2-delta": "ℓ2 with δ", "l2-truncated": "ℓ2, truncated",
    "generalised-gamma": "gen. Gamma",
}  # fmt: skip
"""Mechanism → its name where there is little room."""

POINTS, SEEN, TALL = 500, 1e-3, 360
"""Radii of a curve, the probability beyond either end of them, and the height of a figure."""

DECADES = 12
"""Powers of ten that the density's axis spans."""

CELLS, DROPS, TURNS = 161, 1500, 48
"""Cells of a heat map along an axis, points of a cloud, and its positions in one turn."""


def key_of(key: str) -> str:
    """The registered mechanism that a mechanism looks like."""
    return HUES.get(key, "uniform")


def short(known: KnownLaw) -> str:
    """Its name where there is little room."""
    return SHORT.get(known.key, known.name)


@dataclass(frozen=True)
class Curve:
    """The density ∝ |x|^k e^(−(|x|/scale)^q) within a radius of R^dimension."""

    key: str
    name: str
    dimension: int
    scale: float
    q: float = 1.0
    k: float = 0.0
    radius: float = math.inf

    @property
    def shape(self) -> float:
        """(|X|/scale)^q has the Gamma law of this shape, cut off."""
        return (self.dimension + self.k) / self.q

    def log_radial(self, r: np.ndarray) -> np.ndarray:
        """ln of the density of |X|."""
        y = r / self.scale
        inside = special.gammainc(self.shape, (self.radius / self.scale) ** self.q)
        norm = special.gammaln(self.shape) - math.log(self.q / self.scale) + math.log(max(inside, 1e-300))
        with np.errstate(divide="ignore"):
            out = (self.dimension + self.k - 1) * np.log(y) - y**self.q - norm
        return np.where(r <= self.radius, out, -np.inf)

    def quantile(self, share: float) -> float:
        """Quantile of |X|."""
        inside = special.gammainc(self.shape, (self.radius / self.scale) ** self.q)
        return float(self.scale * special.gammaincinv(self.shape, share * inside) ** (1 / self.q))


def curve_of(known: KnownLaw, problem: IsotropicProblem) -> Curve:
    """A known mechanism as a curve; its parameters say which one it is."""
    told, unit = known.parameters, problem.sensitivity
    sigma = told.get("sigma", 1 / problem.privacy.epsilon if problem.privacy.epsilon else 1.0)
    scale, q = (math.sqrt(2) * sigma, 2.0) if known.key == "gaussian" else (sigma, told.get("exponent", 1.0))
    radius = told.get("radius", math.inf) * unit
    return Curve(known.key, short(known), problem.dimension, scale * unit, q, told.get("k", 0.0), radius)


def quantile(noise: RadialNoise, share: float) -> float:
    """The edge of a shell within which |X| is with at least this probability."""
    inside = noise.atom_mass + np.cumsum(noise.masses)
    return float(noise.edges[1 + min(int(np.searchsorted(inside, share)), len(inside) - 1)])


def window(noise: RadialNoise | None, curves: Sequence[Curve]) -> tuple[float, float]:
    """Lengths worth drawing."""
    low = [one.quantile(SEEN) for one in curves]
    high = [one.quantile(1 - SEEN) for one in curves]
    if noise is not None:
        low.append(0.0 if noise.atom_mass > SEEN else quantile(noise, SEEN))
        high.append(quantile(noise, 1 - SEEN))
    left, right = min(low), max(high)
    return (0.0 if left < 0.2 * right else left), right


def radial(noise: RadialNoise | None, curves: Sequence[Curve], *, unit: str, colours: Palette) -> go.Figure:
    """Densities of the length of the noise."""
    low, high = window(noise, curves)
    figure = Chart()
    r = np.linspace(max(low, 1e-6 * high), high, POINTS)
    for one in curves:
        _line(figure, one, r, np.exp(one.log_radial(r)), unit, colours, "density")
    if noise is not None:
        edges, masses = noise.edges, noise.masses
        shown = (edges[:-1] < high) & (edges[1:] > low)
        figure.add_scatter(
            x=np.stack([edges[:-1], edges[1:]], axis=1)[shown].ravel(),
            y=np.repeat((masses / np.diff(edges))[shown], 2), mode="lines", name="certified law",
            line=line("optimal", colours), fill="tozeroy", fillcolor=colours.fill, legendrank=1,
            hovertemplate=f"<b>certified law</b><br>length %{{x:.4g}} {unit}<br>density %{{y:.4g}}<extra></extra>",
        )  # fmt: skip
        if noise.atom_mass > 1e-9:
            figure.add_annotation(
                x=0.01, y=0.98, xref="x domain", yref="y domain", showarrow=False, xanchor="left", yanchor="top",
                text=f"no noise at all: {prose.percent(noise.atom_mass)}",
                font={"color": colours.accent, "size": colours.type - 1},
            )  # fmt: skip
    figure.update_xaxes(title=prose.axis("length of the noise |X|", unit), range=[low, high])
    figure.update_yaxes(title=prose.axis("probability density", f"1/{unit}" if unit else ""), rangemode="tozero")
    return finish(figure, colours, height=TALL)


def _line(figure: go.Figure, one: Curve, x: np.ndarray, y: np.ndarray, unit: str, colours: Palette, what: str) -> None:
    figure.add_scatter(
        x=x, y=y, mode="lines", name=one.name, line=line(key_of(one.key), colours),
        hovertemplate=f"<b>{one.name}</b><br>length %{{x:.4g}} {unit}<br>{what} %{{y:.4g}}<extra></extra>",
    )  # fmt: skip


def density(noise: RadialNoise | None, curves: Sequence[Curve], *, unit: str, colours: Palette) -> go.Figure:
    """log₁₀ of the densities in R^d by length, relative to the largest value of the first law."""
    low, high = window(noise, curves)
    low = 0.0 if high > 3 * low else low
    r = np.linspace(max(low, 1e-4 * high), high, POINTS)
    figure, drawn = Chart(), []
    for one in curves:
        drawn.append((one, r, one.log_radial(r) - (one.dimension - 1) * np.log(r) - math.log(one.dimension)))
    steps = None
    if noise is not None:
        edges = noise.edges
        with np.errstate(divide="ignore"):
            height = np.log(noise.masses) - log_volumes(noise.dimension, edges)
        shown = (edges[:-1] < high) & (edges[1:] > low)
        steps = np.stack([edges[:-1], edges[1:]], axis=1)[shown].ravel(), np.repeat(height[shown], 2)
    first = steps[1] if steps is not None else drawn[0][2]
    top = float(np.max(first[np.isfinite(first)]))
    ten = math.log(10)
    for one, x, y in drawn:
        _line(figure, one, x, np.where(np.isfinite(y), (y - top) / ten, np.nan), unit, colours, "10 to the power")
    if steps is not None:
        figure.add_scatter(
            x=steps[0], y=(steps[1] - top) / ten, mode="lines", name="certified law", line=line("optimal", colours),
            legendrank=1,
            hovertemplate=f"<b>certified law</b><br>length %{{x:.4g}} {unit}<br>10 to the power %{{y:.4g}}"
            "<extra></extra>",
        )  # fmt: skip
    ends = [float(y[np.isfinite(y)].min()) for _, _, y in drawn if np.isfinite(y).any()]
    least = max(min([*ends, float(first[np.isfinite(first)].min())]) - top, -ten * max(DECADES, -_last(first, top)))
    highest = max([top, *(float(np.max(y[np.isfinite(y)])) for _, _, y in drawn if np.isfinite(y).any())]) - top
    figure.update_xaxes(title=prose.axis("length of the noise |X|", unit), range=[low, high])
    figure.update_yaxes(
        title="log₁₀ of the density, relative to the certified law's largest",
        range=[1.03 * least / ten - 0.1, min(highest / ten, 3.0) + 0.3],
    )  # fmt: skip
    return finish(figure, colours, height=TALL)


def _last(logs: np.ndarray, top: float) -> float:
    """log₁₀ of the last finite value, relative to the top."""
    return float((logs[np.isfinite(logs)][-1] - top) / math.log(10))


def plane(noise: RadialNoise, *, unit: str, colours: Palette) -> go.Figure:
    """The density in the plane, square-rooted, so that small values show; a circle of one sensitivity."""
    reach = quantile(noise, 0.995)
    x = np.linspace(-reach, reach, CELLS)
    r = np.hypot(x[:, None], x[None, :])
    edges = noise.edges
    heights = np.append(noise.masses / (math.pi * np.diff(edges**2)), 0.0)
    values = heights[np.clip(np.searchsorted(edges, r, side="right") - 1, 0, len(heights) - 1)]
    figure = Chart()
    figure.add_heatmap(
        x=x, y=x, z=np.sqrt(values), customdata=values, colorscale=[[0, colours.background], [1, colours.accent]],
        zmin=0, showscale=False, hovertemplate="(%{x:.3g}, %{y:.3g})<br>density %{customdata:.3g}<extra></extra>",
    )  # fmt: skip
    turn = np.linspace(0, 2 * math.pi, 90)
    figure.add_scatter(
        x=noise.sensitivity * np.cos(turn), y=noise.sensitivity * np.sin(turn), mode="lines",
        name="one sensitivity from the true value", hoverinfo="skip", showlegend=True,
        line={"color": colours.text, "width": 1.5, "dash": "dot"},
    )  # fmt: skip
    for update, name in ((figure.update_xaxes, "first number"), (figure.update_yaxes, "second number")):
        update(title=prose.axis(f"noise on the {name}", unit), range=[-reach, reach], showgrid=False, zeroline=False)
    figure.update_yaxes(scaleanchor="x", constrain="domain", nticks=7)
    figure.update_xaxes(constrain="domain", nticks=7)
    return finish(figure, colours, height=TALL + 60)


def cloud(noise: RadialNoise, *, unit: str, colours: Palette) -> go.Figure:
    """Draws in space, seen from a place that a button moves around them."""
    points = noise.draws(DROPS, np.random.default_rng(0))
    reach = quantile(noise, 0.99)
    figure = Chart()
    figure.add_scatter3d(
        x=points[:, 0], y=points[:, 1], z=points[:, 2], mode="markers", hoverinfo="skip", showlegend=False,
        marker={"size": 2.2, "color": colours.accent, "opacity": 0.65},
    )  # fmt: skip

    def eye(angle: float) -> dict:
        return {
            "eye": {"x": 2.0 * math.cos(angle), "y": 2.0 * math.sin(angle), "z": 0.8},
            "center": {"x": 0, "y": 0, "z": -0.15},
        }

    finish(figure, colours, height=TALL + 60)
    axis = {
        "range": [-reach, reach], "showbackground": False, "gridcolor": colours.impossible, "color": colours.text,
        "nticks": 5, "tickfont": {"size": colours.type - 3},
    }  # fmt: skip
    scene = {
        f"{name}axis": axis | {"title": {"text": prose.axis(f"noise {number}", unit)}}
        for number, name in enumerate("xyz", 1)
    }
    angles = 0.6 + np.linspace(0, 2 * math.pi, TURNS, endpoint=False)
    figure.frames = [go.Frame(layout={"scene": {"camera": eye(a)}}, name=f"{a:.3f}") for a in angles.tolist()]
    player(figure, "turn", colours, pace=60, y=1.01, yanchor="bottom")
    figure.update_layout(scene=scene | {"camera": eye(0.6), "aspectmode": "cube"}, margin={"t": 50, "b": 0})
    return figure


def dimensions(points: Sequence[Point], *, chosen: int, colours: Palette) -> go.Figure:
    """Excess of every mechanism over the certified lower bound, in per cent, against the dimension."""
    figure = Chart()
    proved = sorted((point for point in points if point.lower > 0), key=lambda point: point.dimension)
    series, names = excesses(proved), names_of(proved)
    every = [value for values in series.values() for value in values.values() if value > 0]
    for key, values in series.items():
        name = names[key]
        figure.add_scatter(
            x=list(values), y=[100 * max(value, 1e-4) for value in values.values()], mode="lines+markers", name=name,
            line=line(key_of(key), colours),
            marker={"size": 8 if key == "optimal" else 5, "color": hue(colours, key_of(key))},
            legendrank=1 if key == "optimal" else 1000,
            hovertemplate=f"<b>{name}</b><br>%{{x}} numbers: %{{y:.3g}} % above the bound<extra></extra>",
        )  # fmt: skip
    upright(figure, chosen, line={"color": colours.text, "width": 1, "dash": "dot"})
    figure.update_xaxes(title="dimension d", range=[-0.05, 3.05], **log_ticks(1, 1000))
    if every:
        figure.update_yaxes(**log_ticks(100 * max(min(every), 1e-4), 100 * max(every)))
    figure.update_yaxes(title="above the certified lower bound (%)")
    return finish(figure, colours, height=TALL)


def names_of(points: Sequence[Point]) -> dict[str, str]:
    """Mechanism → its name."""
    return {"optimal": "certified law", **{one.key: short(one) for point in points for one in point.known}}


def excesses(points: Sequence[Point]) -> dict[str, dict[int, float]]:
    """Mechanism → dimension → share by which it is above the certified lower bound; the certified law first."""
    found: dict[str, dict[int, float]] = {"optimal": {}}
    for point in points:
        if math.isfinite(point.best):
            found["optimal"][point.dimension] = point.best / point.lower - 1
        for one in point.known:
            found.setdefault(one.key, {})[point.dimension] = one.loss / point.lower - 1
    return found
