"""The promise as a curve: δ(ε′) of a noise next to what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from .chart import Chart
from .palette import Palette, hue, line
from .parts import finish, log_ticks


@dataclass(frozen=True)
class Curve:
    """δ(ε′) at some ε′ ≥ 0. `allowed`: the target."""

    key: str
    name: str
    epsilons: Sequence[float]
    deltas: Sequence[float]


def profile(target: Curve, law: Curve, *, checked: Curve | None, steps: bool, colours: Palette) -> go.Figure:
    """Both curves, δ on a logarithmic scale; the allowed region is filled. `checked`: places at which the audit looked.
    `steps`: the target is a list of pairs."""
    figure = Chart()
    figure.add_scatter(
        x=target.epsilons, y=target.deltas, name=target.name, mode="lines", fill="tozeroy", fillcolor=colours.fill,
        line={**line("gaussian", colours), "shape": "hv" if steps else "linear"},
        hovertemplate="ε′ = %{x:.4g}<br>allowed δ %{y:.4g}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=law.epsilons, y=[d if d > 0 else None for d in law.deltas], name=law.name, mode="lines",
        line=line("optimal", colours), hovertemplate="ε′ = %{x:.4g}<br>δ of this noise %{y:.4g}<extra></extra>",
    )  # fmt: skip
    if checked is not None:
        shown = [(e, d) for e, d in zip(checked.epsilons, checked.deltas) if d > 0]
        figure.add_scatter(
            x=[e for e, _ in shown], y=[d for _, d in shown], name=checked.name, mode="markers",
            marker={"color": hue(colours, "optimal"), "size": 7, "symbol": "circle-open"},
            hovertemplate="checked at ε′ = %{x:.4g}<br>δ at most %{y:.4g}<extra></extra>",
        )  # fmt: skip
    positive = np.array([d for d in target.deltas if d > 0])
    low = max(float(np.log10(positive.min())) - 0.5, -12.0)
    figure.update_xaxes(title="ε′", range=[0, float(max(target.epsilons))])
    figure.update_yaxes(title="δ(ε′)", **log_ticks(10.0**low, 1.0), range=[low, 0.02])
    return finish(figure, colours, height=330)
