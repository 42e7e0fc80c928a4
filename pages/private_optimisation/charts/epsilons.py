"""The price of feasibility, and of doing without it, over ε."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, finish, log_ticks

from ..work import Price
from .styles import marker, name, stroke


def prices(found: Sequence[Price], colours: Palette, here: float, title: str) -> go.Figure:
    """Mean loss over ε for mechanisms that keep the limits, with the band up to the worst case of the published
    noise."""
    figure = Chart()
    published = [price for price in _of(found, "truncated-laplace") if price.worst is not None]
    if len(published) > 1:
        x, bare = [p.epsilon for p in published], {"mode": "lines", "line": {"width": 0}}
        figure.add_scatter(x=x, y=[p.lower or 0.0 for p in published], showlegend=False, hoverinfo="skip", **bare)
        figure.add_scatter(
            x=x, y=[p.worst for p in published], fill="tonexty", fillcolor=colours.impossible,
            name="published noise: up to its worst case", hovertemplate="ε = %{x:g}: at most %{y:.5g}<extra></extra>",
            **bare,
        )  # fmt: skip
    for key in ("truncated-laplace", "tight", "optimal"):
        _curve(figure, _of(found, key), key, lambda price: price.loss, "%{y:.5g}", colours)
    figure.update_yaxes(title=title, rangemode="tozero")
    return _finished(figure, found, here, colours)


def violations(found: Sequence[Price], colours: Palette, here: float) -> go.Figure:
    """Share of private limits that plans break, over ε."""
    figure = Chart()
    for key in ("laplace", "laplace-shifted", "truncated-laplace", "tight", "optimal"):
        _curve(figure, _of(found, key), key, lambda price: 100 * price.violated, "%{y:.3g} %", colours)
    figure.update_yaxes(title="private limits broken, %", range=[-3, 103])
    return _finished(figure, found, here, colours)


def _of(found: Sequence[Price], key: str) -> list[Price]:
    """A mechanism's prices, by ε."""
    return sorted((price for price in found if price.key == key), key=lambda price: price.epsilon)


def _curve(
    figure: go.Figure, mine: Sequence[Price], key: str, value: Callable[[Price], float], shown: str, colours: Palette
) -> None:
    if mine:
        figure.add_scatter(
            x=[price.epsilon for price in mine], y=[value(price) for price in mine], mode="lines+markers",
            name=name(key), line=stroke(key, colours), marker=marker(key, colours, 7),
            hovertemplate=f"ε = %{{x:g}}: {shown}<extra>{name(key)}</extra>",
        )  # fmt: skip


def _finished(figure: go.Figure, found: Sequence[Price], here: float, colours: Palette) -> go.Figure:
    """The axis of ε, and where the visitor is."""
    figure.add_vline(x=here, line={"color": colours.muted, "dash": "dot", "width": 1.5})
    values = [price.epsilon for price in found] or [0.1, 10.0]
    figure.update_xaxes(title="ε", **log_ticks(min(values) * 0.99, max(values) * 1.01))
    return finish(figure, colours, height=380)
