"""Errors of learners → figures. Pure: no Streamlit."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, finish, hue, line, log_ticks, upright
from dpcore.learning.experiment import Outcome
from dpcore.learning.noises import NAMES

from .work import KEYS, NOTHING, Cell

TALL = 420


def mean_and_spread(outcome: Outcome, rows: str) -> tuple[float, float]:
    """In per cent, of "inside" or "outside"."""
    at = 0 if rows == "inside" else 1
    return 100 * outcome.means[at], 100 * outcome.spreads[at]


def errors(cells: Sequence[Cell], *, rows: str, chosen: float, colours: Palette) -> go.Figure:
    """Error against total ε: every law, the spread of the optimum over the splits as a band, no noise dotted."""
    figure = Chart()
    none = [one for one in cells if one.key == NOTHING and one.inside]
    for key in KEYS:
        known = sorted((one for one in cells if one.key == key and one.inside), key=lambda one: one.epsilon)
        if not known:
            continue
        x = [one.epsilon for one in known]
        points = [mean_and_spread(one.outcome, rows) for one in known]
        if key == "optimal" and len(known) > 1:
            edge = [mean + spread for mean, spread in points] + [mean - spread for mean, spread in reversed(points)]
            figure.add_scatter(
                x=x + x[::-1], y=edge, fill="toself", fillcolor=colours.fill, line={"width": 0}, mode="lines",
                hoverinfo="skip", name="± standard deviation over splits", legendrank=1001,
            )  # fmt: skip
        figure.add_scatter(
            x=x, y=[mean for mean, _ in points], mode="lines+markers", name=NAMES[key], line=line(key, colours),
            marker={"size": 8 if key == "optimal" else 6, "color": hue(colours, key)},
            hovertemplate=f"<b>{NAMES[key]}</b><br>ε = %{{x:g}}: %{{y:.2f}} %<extra></extra>",
        )  # fmt: skip
    if none:
        level = mean_and_spread(none[0].outcome, rows)[0]
        figure.add_scatter(
            x=[0.1, 10], y=[level, level], mode="lines", name="No noise",
            line={"color": colours.text, "width": 1.5, "dash": "dot"},
            hovertemplate=f"No noise: {level:.2f} %<extra></extra>",
        )  # fmt: skip
    upright(figure, chosen, line={"color": colours.text, "width": 1, "dash": "dot"})
    figure.update_xaxes(title="total ε", range=[-1.05, 1.05], **log_ticks(0.1, 10))
    figure.update_yaxes(title="rows classified wrongly (%)")
    return finish(figure, colours, height=TALL)
