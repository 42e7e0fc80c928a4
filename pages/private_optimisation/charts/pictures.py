"""The stories' own pictures: the plane of two variables, the transport map, what a portfolio holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, entry, finish
from dpcore.private_optimization import PrivateProgram, stories

from ..work import Released
from .styles import marker, name, short, stroke

MOST_FLOWS = 120
MOST_DOTS = 500
MOST_HELD = 14


# Two variables ------------------------------------------------------------------------------------------


def polygon(program: PrivateProgram, private: np.ndarray) -> np.ndarray:
    """Corners, in order, of the feasible region of two variables for these private limits. (corners, 2)"""
    model = program.model
    low, high = program.row_limits(private)
    a, one = model.matrix.toarray(), np.eye(2)
    rows = np.vstack([a, -a, one, -one])
    ends = np.concatenate([high, -low, model.upper, -model.lower])
    rows, ends = rows[np.isfinite(ends)], ends[np.isfinite(ends)]
    corners = []
    for i, j in combinations(range(len(rows)), 2):
        pair = rows[[i, j]]
        if abs(np.linalg.det(pair)) > 1e-12:
            point = np.linalg.solve(pair, ends[[i, j]])
            if (rows @ point <= ends + 1e-9 * (1 + np.abs(ends))).all():
                corners.append(point)
    corners = np.unique(np.round(corners, 9), axis=0)
    middle = corners.mean(axis=0)
    return corners[np.argsort(np.arctan2(*(corners - middle).T[::-1]))]


def region(program: PrivateProgram, found: Sequence[Released], colours: Palette, shown: int) -> go.Figure:
    """The feasible region, the region of one release and the plans of all of them."""
    figure, dark = Chart(), {"color": colours.text, "width": 2}
    _area(figure, polygon(program, program.limits), "feasible (private)", dark, colours.impossible)
    for number, one in enumerate(found):
        run = one.run
        if run is None or not len(run.limits):
            continue
        if not number:
            corners = polygon(program, run.limits[min(shown, len(run.limits)) - 1])
            _area(figure, corners, "one private version", stroke(one.key, colours), colours.fill)
        for broken in (False, True):
            chosen = np.flatnonzero(((run.violated > 0) == broken) & np.isfinite(run.objectives))[:MOST_DOTS]
            if chosen.size:
                _dots(figure, run.plans[chosen], short(one.key) + (", breaks a limit" if broken else ""),
                      marker(one.key, colours, 6, broken=broken), opacity=0.6)  # fmt: skip
    best = next((one.run.optimum.x for one in found if one.run is not None), None)
    if best is not None:
        _dots(figure, best[None, :], "optimum", {"symbol": "star", "size": 15, "color": colours.text})
    figure.update_xaxes(title="x", rangemode="tozero", zeroline=False)
    figure.update_yaxes(title="y", rangemode="tozero", zeroline=False)
    return finish(figure, colours, height=470)


def _area(figure: go.Figure, corners: np.ndarray, label: str, line: dict, fill: str) -> None:
    """A region with its name in the legend."""
    closed = np.vstack([corners, corners[:1]])
    figure.add_scatter(x=closed[:, 0], y=closed[:, 1], mode="lines", fill="toself", fillcolor=fill, hoverinfo="skip",
                       line=line, name=label)  # fmt: skip


def _dots(figure: go.Figure, plans: np.ndarray, label: str, symbol: dict, opacity: float = 1.0) -> None:
    """Plans of two variables."""
    figure.add_scatter(x=plans[:, 0], y=plans[:, 1], mode="markers", marker=symbol, opacity=opacity, name=label,
                       hovertemplate="x = %{x:.4g}, y = %{y:.4g}<extra>%{fullData.name}</extra>")  # fmt: skip


# Transport ----------------------------------------------------------------------------------------------


def flow_map(story: stories.Transport, plan: np.ndarray, colours: Palette) -> go.Figure:
    """Pharmacies, hospitals and what flows between them; widths in proportion to the units."""
    figure, flows = Chart(), story.flows(plan)
    largest = max(float(flows.max()), 1e-9)
    for place in np.argsort(flows, axis=None)[::-1][:MOST_FLOWS].tolist():
        i, j = divmod(place, flows.shape[1])
        if flows[i, j] <= 1e-6 * largest:
            break
        ends = np.stack([story.pharmacies[i], story.hospitals[j]])
        figure.add_scatter(
            x=ends[:, 0], y=ends[:, 1], mode="lines", showlegend=False, opacity=0.75, hoverinfo="skip",
            line={"color": colours.accent, "width": 1 + 9 * float(flows[i, j]) / largest},
        )  # fmt: skip
        figure.add_scatter(  # what the pointer finds in the middle of the line
            x=[ends[:, 0].mean()], y=[ends[:, 1].mean()], mode="markers", showlegend=False,
            marker={"size": 14, "color": "rgba(0,0,0,0.004)"},
            hovertemplate=f"pharmacy {i + 1} → hospital {j + 1}: {flows[i, j]:.5g} units<extra></extra>",
        )  # fmt: skip
    entry(figure, "units on the way", {"mode": "lines", "line": {"color": colours.accent, "width": 5}})
    sent = [f"pharmacy {i + 1}: {flows[i].sum():.5g} of {s:g} units" for i, s in enumerate(story.supplies.tolist())]
    got = [f"hospital {j + 1}: {d:g} patients, receives {flows[:, j].sum():.5g}"
           for j, d in enumerate(story.demands.tolist())]  # fmt: skip
    area = 8 + 22 * np.sqrt(story.demands / max(story.demands.max(), 1))
    for places, label, hover, symbol in (
        (story.pharmacies, "pharmacy", sent, {"symbol": "square", "size": 15, "color": colours.text}),
        (story.hospitals, "hospital (area: patients)", got, {"size": area, "color": colours.hues["laplace"]}),
    ):
        figure.add_scatter(
            x=places[:, 0], y=places[:, 1], mode="markers", name=label, text=hover,
            hovertemplate="%{text}<extra></extra>",
            marker=symbol | {"line": {"color": colours.background, "width": 1.5}},
        )  # fmt: skip
    figure.update_xaxes(visible=False, range=[-0.05, 1.05])
    figure.update_yaxes(visible=False, range=[-0.06, 1.06])
    return finish(figure, colours, height=470)


# Portfolio ----------------------------------------------------------------------------------------------


def holdings(program: PrivateProgram, found: Sequence[Released], colours: Palette) -> go.Figure:
    """The largest parts of the optimum, and of the mean released plan of every mechanism that keeps the limits."""
    figure = Chart()
    runs = [one for one in found if one.run is not None and one.run.plans is not None and len(one.run.plans)]
    if not runs:
        return finish(figure, colours, height=300)
    best = runs[0].run.optimum.x
    means = {one.key: np.nanmean(one.run.plans, axis=0) for one in runs}
    size = np.maximum(best, np.max(list(means.values()), axis=0))
    order = [i for i in np.argsort(size)[::-1][:MOST_HELD].tolist() if size[i] > 1e-6 * size.max()]
    labels = [program.model.column_names[i] for i in order]
    figure.add_bar(x=labels, y=best[order], name="optimum", marker={"color": colours.impossible})
    for key, mean in means.items():
        figure.add_scatter(x=labels, y=mean[order], mode="markers", name=f"{name(key)}, mean",
                           marker=marker(key, colours, 10))  # fmt: skip
    figure.update_yaxes(title="amount", rangemode="tozero")
    return finish(figure, colours, height=470)
