"""Clouds, prices and stories → figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import plotly.graph_objects as go

from dpcore.private_optimization import PrivateProgram, stories
from dpcore.private_optimization.noises import NAMES
from pages.shared import prose
from pages.shared.charts import Palette, entry, finish, log_ticks

from .work import Cloud, Point, Price

STYLES = {
    "optimal": ("optimal", "solid", "circle"),
    "tight": ("staircase", "longdash", "diamond"),
    "truncated-laplace": ("truncated-laplace", "dashdot", "square"),
    "laplace-shifted": ("uniform", "8px,3px,2px,3px", "triangle-up"),
    "laplace": ("laplace", "dash", "triangle-down"),
    "gaussian": ("gaussian", "dot", "pentagon"),
    "none": ("uniform", "solid", "circle"),
}
"""Hue, dash and symbol of every mechanism."""


def red(colours: Palette) -> str:
    """Only for limits that are broken; always with an × or a word as well."""
    return "#C40000" if colours.background > "#8" else "#FF6B5E"


def colour(key: str, colours: Palette) -> str:
    hue = STYLES[key][0]
    return colours.accent if hue == "optimal" else colours.hues[hue]


def style(key: str, colours: Palette) -> dict:
    return {"color": colour(key, colours), "dash": STYLES[key][1], "width": 2.5 if key == "optimal" else 2}


def name(key: str) -> str:
    return NAMES.get(key, "no noise")


# What releases look like --------------------------------------------------------------------------------


def objectives(clouds: Sequence[Cloud], colours: Palette, title: str) -> go.Figure:
    """A strip of objectives per mechanism, the true optimum as a line; plans that break a limit are red crosses."""
    figure, rng = go.Figure(), np.random.default_rng(20_000)  # of the heights, which mean nothing
    shown = [cloud for cloud in clouds if cloud.run is not None and len(cloud.run.objectives)]
    any_broken = False
    for place, cloud in enumerate(reversed(shown)):
        run = cloud.run
        kept = np.flatnonzero(np.isfinite(run.objectives))[:400]
        height = place + rng.uniform(-0.3, 0.12, len(kept))
        for broken in (False, True):
            chosen = (run.violated[kept] > 0) == broken
            if not chosen.any():
                continue
            any_broken |= broken
            marker = (
                {"color": red(colours), "symbol": "x", "size": 6}
                if broken
                else {"color": colour(cloud.key, colours), "symbol": STYLES[cloud.key][2], "size": 5}
            )
            hover = "%{x:.6g}, breaks %{customdata} limits" if broken else "%{x:.6g}, keeps all limits"
            figure.add_scatter(
                x=run.objectives[kept][chosen],
                y=height[chosen],
                mode="markers",
                showlegend=False,
                opacity=0.55,
                marker=marker,
                customdata=run.violated[kept][chosen],
                hovertemplate=f"{hover}<extra>{name(cloud.key)}</extra>",
            )
        mean = float(np.nanmean(run.objectives)) if len(kept) else None
        figure.add_shape(
            type="line", x0=mean, x1=mean, y0=place - 0.36, y1=place + 0.18, line={"color": colours.text, "width": 2.5}
        )
    if shown:
        figure.add_vline(x=shown[0].run.optimum.objective, line={"color": colours.text, "width": 1.5, "dash": "dot"})
        entry(figure, "optimum for the true limits", {"mode": "lines", "line": {"color": colours.text, "dash": "dot"}})
        entry(figure, "mean", {"mode": "markers"}, symbol="line-ns-open", size=14, color=colours.text)
    if any_broken:
        entry(figure, "a limit is broken", {"mode": "markers"}, symbol="x", size=9, color=red(colours))
    for place, cloud in enumerate(reversed(shown)):
        figure.add_annotation(
            text=name(cloud.key),
            x=0,
            xref="paper",
            xanchor="left",
            y=place + 0.34,
            showarrow=False,
            bgcolor=colours.background,
            font={"color": colours.text, "size": colours.type - 1},
        )
    figure.update_yaxes(visible=False, range=[-0.55, max(1, len(shown)) - 0.45])
    figure.update_xaxes(title=title, nticks=6)
    return finish(figure, colours, height=130 + 82 * max(1, len(shown)))


# Two variables ------------------------------------------------------------------------------------------


def polygon(program: PrivateProgram, private: np.ndarray) -> np.ndarray:
    """Corners, in order, of the feasible region of two variables for these private limits. (corners, 2)"""
    model = program.model
    low, high = program.row_limits(private)
    a = model.matrix.toarray()
    planes = [*((row, h) for row, h in zip(a, high)), *((-row, -lo) for row, lo in zip(a, low))]
    one = np.eye(2)
    planes += [*((one[i], model.upper[i]) for i in (0, 1)), *((-one[i], -model.lower[i]) for i in (0, 1))]
    planes = [(row, end) for row, end in planes if np.isfinite(end)]
    rows, ends = np.array([row for row, _ in planes]), np.array([end for _, end in planes])
    corners = []
    for i, j in combinations(range(len(planes)), 2):
        pair = rows[[i, j]]
        if abs(np.linalg.det(pair)) > 1e-12:
            point = np.linalg.solve(pair, ends[[i, j]])
            if (rows @ point <= ends + 1e-9 * (1 + np.abs(ends))).all():
                corners.append(point)
    corners = np.unique(np.round(corners, 9), axis=0)
    middle = corners.mean(axis=0)
    return corners[np.argsort(np.arctan2(*(corners - middle).T[::-1]))]


def region(program: PrivateProgram, clouds: Sequence[Cloud], colours: Palette, shown: int) -> go.Figure:
    """The feasible region, the region of one release and the plans of all of them."""
    figure = go.Figure()
    true = polygon(program, program.limits)
    closed = np.vstack([true, true[:1]])
    figure.add_scatter(
        x=closed[:, 0],
        y=closed[:, 1],
        mode="lines",
        fill="toself",
        fillcolor=colours.impossible,
        hoverinfo="skip",
        line={"color": colours.text, "width": 2},
        name="feasible region (private)",
    )
    for number, cloud in enumerate(clouds):
        run = cloud.run
        if run is None or not len(run.limits):
            continue
        if not number:
            corners = polygon(program, run.limits[min(shown, len(run.limits)) - 1])
            corners = np.vstack([corners, corners[:1]])
            figure.add_scatter(
                x=corners[:, 0],
                y=corners[:, 1],
                mode="lines",
                line=style(cloud.key, colours),
                fill="toself",
                fillcolor=colours.fill,
                hoverinfo="skip",
                name="one private version",
            )
        for broken in (False, True):
            chosen = np.flatnonzero(((run.violated > 0) == broken) & np.isfinite(run.objectives))[:500]
            if not chosen.size:
                continue
            marker = (
                {"color": red(colours), "symbol": "x", "size": 6}
                if broken
                else {"color": colour(cloud.key, colours), "symbol": STYLES[cloud.key][2], "size": 6}
            )
            figure.add_scatter(
                x=run.plans[chosen, 0],
                y=run.plans[chosen, 1],
                mode="markers",
                marker=marker,
                opacity=0.6,
                name=name(cloud.key) + (": breaks a limit" if broken else ""),
                hovertemplate="x = %{x:.4g}, y = %{y:.4g}<extra></extra>",
            )
    best = next((cloud.run.optimum.x for cloud in clouds if cloud.run is not None), None)
    if best is not None:
        figure.add_scatter(
            x=[best[0]],
            y=[best[1]],
            mode="markers",
            name="optimum",
            marker={"symbol": "star", "size": 15, "color": colours.text},
            hovertemplate="optimum: x = %{x:.4g}, y = %{y:.4g}<extra></extra>",
        )
    figure.update_xaxes(title="x", rangemode="tozero", zeroline=False)
    figure.update_yaxes(title="y", rangemode="tozero", zeroline=False)
    return finish(figure, colours, height=470)


# Transport ----------------------------------------------------------------------------------------------

MOST_FLOWS = 120


def flow_map(story: stories.Transport, plan: np.ndarray, colours: Palette) -> go.Figure:
    """Pharmacies, hospitals and what flows between them; widths in proportion to the units."""
    figure, flows = go.Figure(), story.flows(plan)
    order = np.argsort(flows, axis=None)[::-1][:MOST_FLOWS]
    largest = max(float(flows.max()), 1e-9)
    for place in order.tolist():
        i, j = divmod(place, flows.shape[1])
        if flows[i, j] <= 1e-6 * largest:
            break
        start, end = story.pharmacies[i], story.hospitals[j]
        figure.add_scatter(
            x=[start[0], end[0]],
            y=[start[1], end[1]],
            mode="lines",
            showlegend=False,
            opacity=0.75,
            line={"color": colours.accent, "width": 1 + 9 * float(flows[i, j]) / largest},
            hoverinfo="skip",
        )
        middle = 0.5 * (start + end)
        figure.add_scatter(
            x=[middle[0]],
            y=[middle[1]],
            mode="markers",
            showlegend=False,
            marker={"size": 14, "color": "rgba(0,0,0,0.004)"},
            hovertemplate=f"pharmacy {i + 1} → hospital {j + 1}: {flows[i, j]:.5g} units<extra></extra>",
        )
    received = flows.sum(axis=0)
    entry(figure, "units on the way", {"mode": "lines", "line": {"color": colours.accent, "width": 5}})
    for places, label, symbol, size, hue, hover in (
        (
            story.pharmacies,
            "pharmacy",
            "square",
            np.full(len(story.pharmacies), 15.0),
            colours.text,
            [f"pharmacy {i + 1}: {flows[i].sum():.5g} of {s:g} units" for i, s in enumerate(story.supplies.tolist())],
        ),
        (
            story.hospitals,
            "hospital (area: patients)",
            "circle",
            8 + 22 * np.sqrt(story.demands / max(story.demands.max(), 1)),
            colours.hues["laplace"],
            [
                f"hospital {j + 1}: {d:g} patients, receives {received[j]:.5g}"
                for j, d in enumerate(story.demands.tolist())
            ],
        ),
    ):
        figure.add_scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers",
            name=label,
            text=hover,
            hovertemplate="%{text}<extra></extra>",
            marker={"symbol": symbol, "size": size, "color": hue, "line": {"color": colours.background, "width": 1.5}},
        )
    figure.update_xaxes(visible=False, range=[-0.05, 1.05])
    figure.update_yaxes(visible=False, range=[-0.06, 1.06])
    return finish(figure, colours, height=470)


# Portfolio, advertising, own programs -------------------------------------------------------------------


def holdings(program: PrivateProgram, clouds: Sequence[Cloud], colours: Palette) -> go.Figure:
    """The largest parts of the optimum, and of the mean released plan of every mechanism that keeps the limits."""
    figure = go.Figure()
    runs = [cloud for cloud in clouds if cloud.run is not None and cloud.run.plans is not None and len(cloud.run.plans)]
    if not runs:
        return finish(figure, colours, height=300)
    best = runs[0].run.optimum.x
    means = {cloud.key: np.nanmean(cloud.run.plans, axis=0) for cloud in runs}
    size = np.maximum(best, np.max(list(means.values()), axis=0))
    order = [i for i in np.argsort(size)[::-1][:14].tolist() if size[i] > 1e-6 * size.max()]
    labels = [program.model.column_names[i] for i in order]
    figure.add_bar(x=labels, y=best[order], name="optimum", marker={"color": colours.impossible})
    for cloud in runs:
        figure.add_scatter(
            x=labels,
            y=means[cloud.key][order],
            mode="markers",
            name=f"{name(cloud.key)}, mean",
            marker={"color": colour(cloud.key, colours), "symbol": STYLES[cloud.key][2], "size": 10},
        )
    figure.update_yaxes(title="amount", rangemode="tozero")
    return finish(figure, colours, height=470)


def margins(program: PrivateProgram, clouds: Sequence[Cloud], colours: Palette, most: int = 12) -> go.Figure:
    """How far released limits are from the private ones, row by row: 5 % to 95 % and the mean; beyond 0 they are
    broken."""
    figure = go.Figure()
    names = [program.model.row_names[row] for row in program.rows.tolist()][:most]
    shown = [cloud for cloud in clouds if cloud.run is not None and len(cloud.run.limits)]
    for number, cloud in enumerate(shown):
        room = program.signs * (cloud.run.limits - program.limits)
        low, high = np.quantile(room, [0.05, 0.95], axis=0)
        mean = room.mean(axis=0)
        y = np.arange(len(names)) + 0.22 * (number - 0.5 * (len(shown) - 1))
        figure.add_scatter(
            x=mean[:most],
            y=y,
            mode="markers",
            name=name(cloud.key),
            error_x={
                "type": "data",
                "symmetric": False,
                "array": (high - mean)[:most],
                "arrayminus": (mean - low)[:most],
            },
            marker={"color": colour(cloud.key, colours), "symbol": STYLES[cloud.key][2], "size": 8},
            hovertemplate="%{x:.5g}<extra></extra>",
        )
    figure.add_vline(x=0, line={"color": red(colours), "width": 2})
    entry(figure, "true limit: beyond it plans break", {"mode": "lines", "line": {"color": red(colours), "width": 2}})
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, autorange="reversed", showgrid=False)
    figure.update_xaxes(title="released limit − true limit (≥ rows mirrored)")
    return finish(figure, colours, height=max(300, 90 + 34 * len(names)))


# The price over ε ---------------------------------------------------------------------------------------


def prices(found: Sequence[Price], colours: Palette, here: float, title: str) -> go.Figure:
    """Mean loss over ε for mechanisms that keep the limits, with the band up to the worst case of the published
    noise."""
    figure = go.Figure()
    published = sorted(
        (p for p in found if p.key == "truncated-laplace" and p.worst is not None), key=lambda p: p.epsilon
    )
    if len(published) > 1:
        x = [p.epsilon for p in published]
        lower = [p.lower or 0.0 for p in published]
        figure.add_scatter(x=x, y=lower, mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip")
        figure.add_scatter(
            x=x,
            y=[p.worst for p in published],
            mode="lines",
            line={"width": 0},
            fill="tonexty",
            fillcolor=colours.impossible,
            name="published noise: up to its worst case",
            hovertemplate="ε = %{x:g}: at most %{y:.5g}<extra></extra>",
        )
    for key in ("truncated-laplace", "tight", "optimal"):
        mine = sorted((p for p in found if p.key == key), key=lambda p: p.epsilon)
        if mine:
            figure.add_scatter(
                x=[p.epsilon for p in mine],
                y=[p.loss for p in mine],
                mode="lines+markers",
                name=name(key),
                line=style(key, colours),
                marker={"symbol": STYLES[key][2], "size": 7},
                hovertemplate="ε = %{x:g}: %{y:.5g}<extra></extra>",
            )
    figure.add_vline(x=here, line={"color": colours.muted, "dash": "dot", "width": 1.5})
    _over_epsilon(figure, found)
    figure.update_yaxes(title=title, rangemode="tozero")
    return finish(figure, colours, height=380)


def violations(found: Sequence[Price], colours: Palette, here: float) -> go.Figure:
    """Share of private limits that plans break, over ε."""
    figure = go.Figure()
    for key in ("laplace", "laplace-shifted", "truncated-laplace", "tight", "optimal"):
        mine = sorted((p for p in found if p.key == key), key=lambda p: p.epsilon)
        if mine:
            figure.add_scatter(
                x=[p.epsilon for p in mine],
                y=[100 * p.violated for p in mine],
                mode="lines+markers",
                name=name(key),
                line=style(key, colours),
                marker={"symbol": STYLES[key][2], "size": 7},
                hovertemplate="ε = %{x:g}: %{y:.3g} %<extra></extra>",
            )
    figure.add_vline(x=here, line={"color": colours.muted, "dash": "dot", "width": 1.5})
    _over_epsilon(figure, found)
    figure.update_yaxes(title="private limits broken, %", range=[-3, 103])
    return finish(figure, colours, height=380)


def _over_epsilon(figure: go.Figure, found: Sequence[Price]) -> None:
    values = [p.epsilon for p in found] or [0.1, 10.0]
    figure.update_xaxes(title="ε", **log_ticks(min(values) * 0.99, max(values) * 1.01))


# Published figures --------------------------------------------------------------------------------------


def figure_3(points: Sequence[Point], colours: Palette) -> go.Figure:
    """Increase of the variance over δ; a curve for every ε, solid for the tight noise."""
    figure = go.Figure()
    series = list(dict.fromkeys(point.series for point in points))
    epsilons = sorted({float(one.rpartition(" ")[2]) for one in series})
    for one in series:
        key, _, epsilon = one.rpartition(" ")
        mine = [point for point in points if point.series == one]
        strength = 1 - 0.72 * epsilons.index(float(epsilon)) / max(1, len(epsilons) - 1)
        figure.add_scatter(
            x=[p.x for p in mine],
            y=[p.ratio for p in mine],
            mode="lines+markers",
            opacity=strength,
            line={
                "color": colour("optimal" if key == "tight" else key, colours),
                "dash": STYLES[key][1] if key != "tight" else "solid",
            },
            name=f"{'tight' if key == 'tight' else 'published'}, ε = {epsilon}",
            hovertemplate="δ = %{x:.2g}: %{y:.5f}<extra></extra>",
            marker={"size": 5},
        )
    figure.update_xaxes(title="δ", type="log", exponentformat="power")
    figure.update_yaxes(title="variance of the released / of the optimal portfolio")
    return finish(figure, colours, height=430)


def figure_4(points: Sequence[Point], colours: Palette) -> go.Figure:
    """Revenue against the violating baseline, and how often that violates."""
    figure = go.Figure()
    for key in ("truncated-laplace", "tight"):
        mine = [point for point in points if point.series == key]
        figure.add_scatter(
            x=[p.x for p in mine],
            y=[p.ratio for p in mine],
            mode="lines+markers",
            name=f"revenue ratio, {name(key)}",
            line=style(key, colours),
            marker={"symbol": STYLES[key][2], "size": 8},
            hovertemplate="ε = %{x:g}: %{y:.5f}<extra></extra>",
        )
    mine = [point for point in points if point.series == "tight"]
    figure.add_scatter(
        x=[p.x for p in mine],
        y=[100 * p.violated for p in mine],
        mode="lines+markers",
        yaxis="y2",
        name="budgets the baseline breaks (right)",
        line={"color": red(colours), "dash": "dot", "width": 2},
        marker={"symbol": "triangle-up", "size": 9},
        hovertemplate="ε = %{x:g}: %{y:.3g} %<extra></extra>",
    )
    figure.update_xaxes(title="ε", type="log", exponentformat="power")
    figure.update_yaxes(title="revenue of ours / of the baseline", rangemode="tozero")
    finish(figure, colours, height=430)
    figure.update_layout(
        yaxis2={"overlaying": "y", "side": "right", "title": "budgets broken, %", "range": [0, 60], "showgrid": False}
    )
    return figure


def figure_2(colours: Palette) -> go.Figure:
    """Why nobody can do much better: plans close to a limit are rare, or a neighbour's data set would give them
    away."""
    figure = go.Figure()
    for x0, x1, fill, label in (
        (-4.2, -2.4, colours.fill, "S₁⁰: at least half of the plans"),
        (-2.4, 0.0, colours.impossible, "S₁¹: close to the limit"),
    ):
        figure.add_shape(type="rect", x0=x0, x1=x1, y0=-4.2, y1=0, line_width=0, fillcolor=fill, layer="below")
        figure.add_annotation(x=0.5 * (x0 + x1), y=-3.4, text=label, showarrow=False, font={"color": colours.text})
    for step in range(3):
        figure.add_shape(
            type="line",
            x0=-0.8 * (step + 1),
            x1=-0.8 * (step + 1),
            y0=-4.2,
            y1=0,
            line={"color": colours.muted, "dash": "dot"},
        )
    terms = ("δ", "δe^ε", "δe^2ε")
    for step, text in enumerate(terms):
        figure.add_annotation(
            x=-0.8 * step - 0.4, y=-1.2, text=f"≤ {text}", showarrow=False, font={"color": colours.text}
        )
    figure.add_scatter(
        x=[-4.2, 0, 0],
        y=[0, 0, -4.2],
        mode="lines",
        line={"color": colours.text, "width": 2.5},
        name="limits",
        hoverinfo="skip",
    )
    figure.update_xaxes(
        tickvals=[-2.4, 0], ticktext=["d₁ − t", "d₁"], title="x₁", showgrid=False, zeroline=False, range=[-4.3, 0.3]
    )
    figure.update_yaxes(tickvals=[0], ticktext=["d₂"], title="x₂", showgrid=False, zeroline=False, range=[-4.3, 0.3])
    return finish(figure, colours, height=360)


def shift_text(cloud: Cloud) -> str:
    """The mean shift with its bracket."""
    noise = cloud.noise
    if noise is None:
        return "–"
    if noise.shift_lower < noise.shift_upper:
        lower, upper = prose.bracket(noise.shift_lower, noise.shift_upper)
        return lower if lower == upper else f"{upper} (none below {lower})"
    return prose.number(noise.shift_upper, 5)
