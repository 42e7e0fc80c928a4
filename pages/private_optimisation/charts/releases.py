"""What releases look like: their objectives, and how far released limits are from the true ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, entry, finish
from dpcore.private_optimization import PrivateProgram
from pages.shared import prose

from ..work import Released
from .styles import marker, name, red

MOST_DOTS = 400


def objectives(found: Sequence[Released], colours: Palette, title: str) -> go.Figure:
    """A strip of objectives per mechanism with their mean, the true optimum as a line; plans that break a limit are red
    crosses."""
    figure, rng = Chart(), np.random.default_rng(20_000)  # of the heights, which mean nothing
    shown = [one for one in found if one.run is not None and len(one.run.objectives)]
    for place, one in enumerate(reversed(shown)):
        _strip(figure, one, place, colours, rng)
    if shown:
        dotted, least = {"color": colours.text, "dash": "dot"}, shown[0].run.optimum.objective
        figure.add_vline(x=least, line=dotted | {"width": 1.5})
        entry(
            figure, "optimum for the true limits", {"mode": "lines", "line": dotted}, area=(least, least, None, None)
        )  # fmt: skip
    crosses = [trace for trace in figure.data if trace.marker.symbol == "x"]
    if crosses:
        max(crosses, key=lambda trace: len(trace.x)).update(name="a limit is broken", showlegend=True)
    figure.update_yaxes(visible=False, range=[-0.55, max(1, len(shown)) - 0.45])
    figure.update_xaxes(title=title, nticks=6)
    return finish(figure, colours, height=130 + 82 * max(1, len(shown)))


def _strip(figure: go.Figure, one: Released, place: int, colours: Palette, rng: np.random.Generator) -> None:
    """One mechanism's objectives, their mean and its name."""
    run = one.run
    kept = np.flatnonzero(np.isfinite(run.objectives))[:MOST_DOTS]
    height = place + rng.uniform(-0.3, 0.12, len(kept))
    for broken in (False, True):
        chosen = (run.violated[kept] > 0) == broken
        hover = "%{x:.6g}, breaks %{customdata} limits" if broken else "%{x:.6g}, keeps all limits"
        if chosen.any():
            figure.add_scatter(
                x=run.objectives[kept][chosen], y=height[chosen], mode="markers", showlegend=False, opacity=0.55,
                marker=marker(one.key, colours, 5, broken=broken), customdata=run.violated[kept][chosen],
                hovertemplate=f"{hover}<extra>{name(one.key)}</extra>",
            )  # fmt: skip
    told = name(one.key)
    if len(kept):
        mean = float(np.nanmean(run.objectives))
        told += f": mean {prose.number(mean, 4)}"
        figure.add_shape(
            type="line", x0=mean, x1=mean, y0=place - 0.36, y1=place + 0.18, line={"color": colours.text, "width": 2.5}
        )  # fmt: skip
    figure.add_annotation(
        text=told, x=0, xref="paper", xanchor="left", y=place + 0.34, showarrow=False,
        bgcolor=colours.background, font={"color": colours.text, "size": colours.type - 1},
    )  # fmt: skip


def margins(program: PrivateProgram, found: Sequence[Released], colours: Palette, most: int = 12) -> go.Figure:
    """How far released limits are from the private ones, row by row: 5 % to 95 % and the mean; beyond 0 they are
    broken."""
    figure = Chart()
    names = [program.model.row_names[row] for row in program.rows.tolist()][:most]
    shown = [one for one in found if one.run is not None and len(one.run.limits)]
    for number, one in enumerate(shown):
        room = (program.signs * (one.run.limits - program.limits))[:, :most]
        low, high = np.quantile(room, [0.05, 0.95], axis=0)
        mean = room.mean(axis=0)
        figure.add_scatter(
            x=mean, y=np.arange(len(names)) + 0.22 * (number - 0.5 * (len(shown) - 1)), mode="markers",
            error_x={"type": "data", "symmetric": False, "array": high - mean, "arrayminus": mean - low},
            marker=marker(one.key, colours, 8), name=name(one.key), hovertemplate="%{x:.5g}<extra></extra>",
        )  # fmt: skip
    edge = {"color": red(colours), "width": 2}
    figure.add_vline(x=0, line=edge)
    entry(figure, "true limit: beyond it plans break", {"mode": "lines", "line": edge}, area=(0, 0, None, None))
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, autorange="reversed", showgrid=False)
    figure.update_xaxes(title="released limit − true limit (≥ rows mirrored)")
    return finish(figure, colours, height=max(300, 90 + 34 * len(names)))
