"""Figures of the page. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, finish, hue, line, log_ticks, series
from dpcore.figures.parts import entry
from dpcore.optimal.midpoint import Match, Midpoint
from dpcore.privacy import Privacy
from dpcore.solution import Progress, Solution
from dpcore.sweeps import Outcome
from dpcore.vector.scales import RULES
from dpcore.vector.tuned import PASSES, Tuned
from pages.data_dependent.charts import Table
from pages.shared import prose
from pages.tradeoff_maps.charts import Scale, ink, ticks

from . import data


def deviations(
    outcomes: Sequence[Outcome],
    table: data.Table,
    found: Mapping[Privacy, Match | None] | None = None,
    *,
    relative: bool = False,
    colours: Palette,
) -> go.Figure:
    """One cell per (ε, δ): the published figure as text, the distance of its midpoint from the bracket as colour,
    divided by max(1, O) or by the bracket's end; a point in every cell to click on."""
    source = data.published()
    epsilons, deltas = source["epsilons"], source["deltas"]
    z = np.full((len(deltas), len(epsilons)), np.nan)
    places, texts, hovers = [], [], []
    for outcome in outcomes:
        privacy = outcome.problem.privacy
        i, j = deltas.index(privacy.delta), epsilons.index(privacy.epsilon)
        low, high = data.recomputed(outcome, table.measures)
        printed = 100 * data.share(table.key, privacy.epsilon, privacy.delta)
        z[i, j] = 100 * (data.relative(outcome) if relative else data.distance(outcome))
        lower, upper = prose.bracket(outcome.certificate.lower, outcome.certificate.upper)
        why = data.cause(outcome, (found or {}).get(privacy)).text
        places.append((i, j))
        texts.append(f"{printed:.2f}" + ("" if data.agrees(outcome) else "*"))
        hovers.append(
            f"ε = {privacy.epsilon:g}, δ = {privacy.delta:g}<br>published {printed:.2f} %<br>"
            f"here {100 * low:.2f} to {100 * high:.2f} %<br>published O ≈ {data.midpoint(outcome):.5g}, "
            f"certified {lower} to {upper}" + (f"<br>{why}" if why else "") + "<br>click to open"
        )
    limit = 10.0 if relative else 100 * data.STATED[table.loss]
    stops = (0.0, hue(colours, "laplace")), (0.5, colours.background), (1.0, colours.accent)
    shades = Scale(-limit, limit, stops)
    title = "O off the bracket, % of it" if relative else "O off the bracket, % of max(1, O)"
    figure = Chart()
    figure.add_heatmap(
        x=np.arange(len(epsilons)), y=np.arange(len(deltas)), z=z, xgap=1, ygap=1, hoverinfo="skip",
        zmin=-limit, zmax=limit, colorscale=stops, colorbar=colour_bar(title, colours),
    )  # fmt: skip
    figure.add_scatter(
        x=[j for _, j in places], y=[i for i, _ in places], mode="markers+text", text=texts, showlegend=False,
        textfont={"size": colours.type - 4, "color": [ink(shades.at(z[place])) for place in places]},
        hovertext=hovers, hovertemplate="%{hovertext}<extra></extra>",
        customdata=[(epsilons[j], deltas[i]) for i, j in places],
        marker={"symbol": "square", "size": 26, "color": "rgba(0,0,0,0.004)"},
        selected={"marker": {"opacity": 0.004}}, unselected={"marker": {"opacity": 0.004}},
    )  # fmt: skip
    bare = {"showgrid": False, "zeroline": False}
    for update, name, values in ((figure.update_xaxes, "ε", epsilons), (figure.update_yaxes, "δ", deltas)):
        ticks = {"tickvals": list(range(len(values))), "ticktext": [f"{value:g}".removeprefix("0") for value in values]}
        update(title=name, range=[-0.5, len(values) - 0.5], **ticks, **bare)
    finish(figure, colours, height=480)
    figure.update_layout(clickmode="event+select", dragmode=False)
    figure.update_xaxes(tickangle=0, tickfont={"size": colours.type - 3})
    return figure


def colour_bar(title: str, colours: Palette) -> dict:
    """A legend of colours below the picture, where a narrow screen has room for it, with its title."""
    return {
        "orientation": "h", "thickness": 10, "y": -0.16, "yanchor": "top", "len": 0.9, "ticksuffix": "\u202f%",
        "tickfont": {"color": colours.text, "size": colours.type - 3},
        "title": {"text": title, "side": "bottom", "font": {"size": colours.type - 2, "color": colours.text}},
    }  # fmt: skip


def earlier_bound(outcomes: Sequence[Outcome], delta: float, *, colours: Palette) -> go.Figure:
    """The literature's lower bound, as printed and rigorous, as a share of the certified lower bound, over ε."""
    row = sorted(
        (o for o in outcomes if o.problem.privacy.delta == delta), key=lambda outcome: outcome.problem.privacy.epsilon
    )
    x = [o.problem.privacy.epsilon for o in row]
    rigorous = [data.benchmark(o)[1] / o.certificate.lower for o in row]
    printed = [max(0.0, data.implied_lower(o)) / o.certificate.lower for o in row]
    figure = Chart()
    figure.add_scatter(
        x=np.log10(x), y=[1.0] * len(x), name="certified lower bound", mode="lines", line=line("optimal", colours),
    )  # fmt: skip
    figure.add_scatter(
        x=np.log10(x), y=rigorous, name="earlier bound, rigorous", mode="lines+markers",
        line=line("staircase", colours),
        text=[f"{e:g}" for e in x], hovertemplate="ε = %{text}: %{y:.3f}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=np.log10(x), y=printed, name="implied by the published table", mode="markers", text=[f"{e:g}" for e in x],
        marker={"symbol": "x", "size": 9, "color": hue(colours, "laplace")},
        hovertemplate="ε = %{text}: %{y:.3f}<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="ε", **(ticks(x) if x else {}))
    figure.update_yaxes(title="share of the certified lower bound", rangemode="tozero")
    return below(finish(figure, colours, height=420), colours)


def grids(
    bounds: Sequence[Solution],
    lines: Sequence[tuple[str, str, float]],
    *,
    over: str,
    places: Sequence[str],
    axis: str,
    colours: Palette,
) -> go.Figure:
    """The reference method's bracket over its grids, and horizontal lines (name, mechanism's key, loss)."""
    figure = Chart()
    x = list(places)[: len(bounds)]
    colour = hue(colours, "laplace")
    for side, dash, symbol in (("upper", "solid", "circle"), ("lower", "dot", "diamond")):
        figure.add_scatter(
            x=x, y=[getattr(s.certificate, side) for s in bounds], name=f"reference, {side} bound",
            mode="lines+markers", line={"color": colour, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 7}, hovertemplate="%{x}: %{y:.5g}<extra></extra>",
        )  # fmt: skip
    _levels(figure, lines, colours)
    figure.update_xaxes(title=over, type="category")
    figure.update_yaxes(title=axis, rangemode="tozero")
    return below(finish(figure, colours, height=460), colours)


def convergence(
    bounds: Sequence[Solution],
    midpoints: Sequence[Midpoint],
    printed: Sequence[float] | None,
    lines: Sequence[tuple[str, str, float]],
    *,
    places: Sequence[str],
    axis: str,
    colours: Palette,
) -> go.Figure:
    """Figure 3: the reference method's bracket for general noise, the paper's recipe for monotone noise, the published
    points, and horizontal lines (name, mechanism's key, loss)."""
    figure = Chart()
    general, recipe = hue(colours, "laplace"), hue(colours, "staircase")
    curves = (
        ("general, upper", [s.certificate.upper for s in bounds], general, "solid", "circle"),
        ("general, lower", [s.certificate.lower for s in bounds], general, "dot", "diamond"),
        ("monotone, upper", [one.upper for one in midpoints], recipe, "solid", "circle"),
        ("its Σ p·min, no bound", [one.least for one in midpoints], recipe, "dot", "diamond-open"),
    )
    for name, values, colour, dash, symbol in curves:
        figure.add_scatter(
            x=list(places)[: len(values)], y=values, name=name, mode="lines+markers",
            line={"color": colour, "dash": dash, "width": 2}, marker={"symbol": symbol, "size": 7},
            hovertemplate="β = %{x}: %{y:.5g}<extra></extra>",
        )  # fmt: skip
    if printed:
        figure.add_scatter(
            x=list(places), y=list(printed), name="published", mode="markers",
            marker={"symbol": "x", "size": 10, "color": colours.text},
            hovertemplate="published, β = %{x}: %{y:.5g}<extra></extra>",
        )  # fmt: skip
    _levels(figure, lines, colours)
    figure.update_xaxes(title="β (Δf = 2)", type="category")
    figure.update_yaxes(title=axis, rangemode="tozero")
    return below(finish(figure, colours, height=500), colours)


def times(
    known: Mapping[str, Sequence[tuple[float, float]]], printed: Sequence[Sequence[float]], *, colours: Palette
) -> go.Figure:
    """The proved relative gap, %, over the seconds of solving, by kind of noise (`closing`); printed : (seconds, gap in
    %) as the paper gives them."""
    figure = Chart()
    seconds, gaps = [list(one) for one in zip(*printed)]
    for (name, trace), key in zip(known.items(), ("laplace", "optimal")):
        x, y = [max(at, 1e-3) for at, _ in trace], [max(100 * gap, 1e-4) for _, gap in trace]  # both axes are logs
        style = line(key, colours, width=2.5) | {"shape": "hv", "dash": "solid"}
        figure.add_scatter(
            x=x, y=y, name=name, mode="lines", line=style,
            hovertemplate=f"{name}<br>after %{{x:.3g}} s: gap %{{y:.3g}}\u202f%<extra></extra>",
        )  # fmt: skip
        seconds, gaps = [*seconds, *x], [*gaps, *y]
    figure.add_scatter(
        x=[at for at, _ in printed], y=[gap for _, gap in printed], name="published, data-dependent", mode="markers",
        marker={"symbol": "x", "size": 10, "color": colours.text},
        hovertemplate="published: %{y:g}\u202f% within %{x:g} s<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title="seconds of solving", **log_ticks(min(seconds), max(seconds)))
    figure.update_yaxes(title="gap between the bounds, %", **log_ticks(min(gaps), max(gaps)))
    return finish(figure, colours, height=400)


def closing(trace: Sequence[Progress]) -> list[tuple[float, float]]:
    """(seconds, relative gap) of every report that narrowed a bracket."""
    found: list[tuple[float, float]] = []
    for report in trace:
        if math.isfinite(report.gap) and (not found or report.gap < found[-1][1]):
            found.append((report.seconds, report.gap))
    return found


def _levels(figure: go.Figure, lines: Sequence[tuple[str, str, float]], colours: Palette) -> None:
    """Horizontal lines (name, mechanism's key, loss), each with an entry in the legend."""
    for name, key, value in lines:
        figure.add_hline(y=value, line=line(key, colours, width=1.5))
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line(key, colours, width=1.5), name=name)


def below(figure: go.Figure, colours: Palette) -> go.Figure:
    """The legend under the plot: above it, many entries in a narrow window would cover it."""
    figure.update_layout(
        legend={"y": -0.18, "yanchor": "top", "font": {"size": colours.type - 2}}, margin={"t": 12, "b": 20}
    )
    return figure


def noise_laws(table: Table, numbers: Sequence[int], *, colours: Palette) -> go.Figure:
    """Noise laws (release less the middle of its interval of true values) with these numbers, counted from 1."""
    figure = Chart()
    density = table.masses / np.diff(table.cells)
    for n, number in enumerate(numbers):
        row = number - 1
        x = np.repeat(table.cells - table.middles[row], 2)[1:-1]
        atom = f", {100 * table.atoms[row]:.0f}\u202f% exact" if table.atoms[row] > 5e-3 else ""
        figure.add_scatter(
            x=x, y=np.repeat(density[row], 2), mode="lines", line=series(colours, n), name=f"#{number}{atom}",
            fill="tozeroy" if n == 0 else None, fillcolor=colours.fill,
            hovertemplate=f"#{number}: noise %{{x:.3g}}, density %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="noise")
    figure.update_yaxes(title="probability density", rangemode="tozero")
    return finish(figure, colours, height=420)


def plane(ours: Mapping[str, float], printed: Mapping[str, float], *, colours: Palette) -> go.Figure:
    """Losses side by side: those proved here in the accent, those read off the paper in grey."""
    figure = Chart()
    for values, colour, name in ((printed, colours.muted, "read off the paper"), (ours, colours.accent, "proved here")):
        figure.add_bar(
            x=list(values.values()), y=[key.replace(", ", ",<br>").replace(" composition", "<br>composition")
                                         for key in values],
            orientation="h", name=name, marker={"color": colour}, text=[f"{value:.3g}" for value in values.values()],
            textposition="outside", cliponaxis=False, hovertemplate="%{y}: %{x:.4g}<extra></extra>",
        )  # fmt: skip
    top = max([*ours.values(), *printed.values()])
    figure.update_xaxes(title="E‖X‖₁, in sensitivities", range=[0, 1.15 * top])
    return finish(figure, colours, height=440)


def descent(known: Sequence[Tuned], printed: Mapping[str, float], last: int, *, colours: Palette) -> go.Figure:
    """Relative errors by passes of every rule, with two standard errors, and the printed ones after the last pass."""
    figure = Chart()
    for n, (rule, name) in enumerate(RULES.items()):
        found = [one for one in known if one.rule == rule]
        figure.add_scatter(
            x=[one.passes for one in found], y=[100 * one.error for one in found], name=name, mode="lines+markers",
            line=series(colours, n), error_y={"array": [200 * one.spread for one in found], "thickness": 1, "width": 4},
            hovertemplate=f"{name}, %{{x}} passes: %{{y:.3g}} %<extra></extra>",
        )  # fmt: skip
        if name in printed:
            figure.add_scatter(
                x=[last], y=[printed[name]], mode="markers", name=f"{name}, printed",
                marker={"symbol": "x", "size": 10, "color": series(colours, n)["color"]},
                hovertemplate=f"{name}, printed: %{{y:.3g}} %<extra></extra>",
            )  # fmt: skip
    values = [100 * one.error for one in known] + list(printed.values())
    figure.update_xaxes(
        title="passes over the coordinates", type="log", tickvals=PASSES, ticktext=list(map(str, PASSES))
    )
    figure.update_yaxes(title="relative error, %", **log_ticks(0.7 * min(values), 1.4 * max(values)))
    return finish(figure, colours, height=400)


def certain(epsilons: Sequence[float], most: Sequence[float], *, colours: Palette) -> go.Figure:
    """The largest probability of meeting all limits, over ε; above it is impossible."""
    figure = Chart()
    figure.add_scatter(
        x=epsilons, y=[1.0] * len(epsilons), mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip"
    )
    figure.add_scatter(
        x=epsilons, y=most, mode="lines", line=line("optimal", colours), name="randomised response", fill="tonexty",
        fillcolor=colours.impossible, hovertemplate="ε = %{x:.3g}: %{y:.4g}<extra></extra>",
    )  # fmt: skip
    entry(figure, "provably impossible", {"mode": "markers"}, symbol="square", size=14, color=colours.impossible)
    figure.update_xaxes(title="ε", **log_ticks(epsilons[0], epsilons[-1]))
    figure.update_yaxes(title="probability of meeting all limits", range=[0, 1])
    return finish(figure, colours, height=340)
