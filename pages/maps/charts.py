"""Outcomes → figures: heat maps over ε × δ, losses along one axis, a frontier. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dpcore.mechanisms import MECHANISMS
from dpcore.solution import Solution
from dpcore.sweep import Outcome
from pages.shared import prose
from pages.shared.charts import Palette, finish, hue, line, log_ticks

from .work import Axes

KEYS = tuple(MECHANISMS)


@dataclass(frozen=True)
class Quantity:
    """What a map shows. value: outcome → number, None where there is none; text: the number in words."""

    title: str
    value: object
    text: object
    logarithmic: bool = False


def quantity(name: str, rival: str, axis: str) -> Quantity:
    """The quantity that the controls name."""
    if name == "value":
        return Quantity(axis, lambda o: o.certificate.upper, lambda v: prose.at_most(v, 4), True)
    if name == "gap":
        return Quantity("certified gap", lambda o: o.certificate.gap, prose.percent_up)
    if name == "best":
        return Quantity("least loss among the textbook mechanisms", lambda o: _place(o), lambda v: _name(v))
    title = f"error saved against {'the best textbook mechanism' if rival == 'best' else MECHANISMS[rival].name}"
    return Quantity(title, lambda o: gain(o, rival), _saved)


def gain(outcome: Outcome, rival: str) -> float | None:
    """1 − (certified upper bound)/(the rival's loss): a share of the rival's loss that can be saved for certain."""
    losses = dict(outcome.mechanisms)
    loss = min(losses.values(), default=None) if rival == "best" else losses.get(rival)
    return None if not loss else max(0.0, 1 - outcome.certificate.upper / loss)


def _saved(value: float) -> str:
    return "0 %" if value < 5e-4 else f"{100 * value:.0f} %" if value >= 0.0995 else f"{100 * value:.1f} %"


def _place(outcome: Outcome) -> float | None:
    return None if outcome.best is None else float(KEYS.index(outcome.best[0]))


def _name(place: float) -> str:
    return MECHANISMS[KEYS[int(place)]].name


def heat_map(
    axes: Axes,
    outcomes: Sequence[Outcome],
    shown: Quantity,
    *,
    colours: Palette,
    here: tuple[float, float] | None = None,
) -> go.Figure:
    """A cell for every (ε, δ), empty while it is being computed; a point in every cell to click on.

    The axes carry logarithms, so that all cells are equally large.
    """
    x, y = np.log10(axes.epsilons), np.log10(axes.deltas)
    z, texts = np.full((len(y), len(x)), np.nan), np.full((len(y), len(x)), "", dtype=object)
    hovers, places = [], []
    for outcome in outcomes:
        privacy = outcome.problem.privacy
        i, j = axes.deltas.index(privacy.delta), axes.epsilons.index(privacy.epsilon)
        value = None if outcome.certificate is None else shown.value(outcome)
        if value is not None:
            z[i, j], texts[i, j] = math.log10(value) if shown.logarithmic and value > 0 else value, shown.text(value)
        places.append((x[j], y[i], privacy.epsilon, privacy.delta))
        hovers.append(_hover(outcome))
    figure = go.Figure()
    figure.add_heatmap(
        x=x, y=y, z=z, text=texts if max(len(x), len(y)) <= 12 and shown.text is not _name else None,
        texttemplate="%{text}", textfont={"size": colours.type - 3}, hoverinfo="skip", xgap=1, ygap=1,
        **_scale(shown, z, colours),
    )  # fmt: skip
    if places:
        columns = list(zip(*places))
        figure.add_scatter(
            x=columns[0], y=columns[1], mode="markers", showlegend=False, text=hovers,
            customdata=list(zip(columns[2], columns[3])), hovertemplate="%{text}<extra></extra>",
            marker={"symbol": "square", "size": max(10, 320 / len(y)), "color": "rgba(0,0,0,0.004)"},
            selected={"marker": {"opacity": 0.004}}, unselected={"marker": {"opacity": 0.004}},
        )  # fmt: skip
    bare = {"showgrid": False, "zeroline": False}
    figure.update_xaxes(title="ε", range=_ends(x), **ticks(axes.epsilons), **bare)
    figure.update_yaxes(title="δ", range=_ends(y), **ticks(axes.deltas, prose.delta_text), **bare)
    finish(figure, colours, height=430)
    figure.update_layout(clickmode="event+select", dragmode=False)
    return figure


def _ends(places: np.ndarray) -> list[float]:
    """Half a cell beyond the first and the last."""
    return [1.5 * places[0] - 0.5 * places[1], 1.5 * places[-1] - 0.5 * places[-2]]


def _scale(shown: Quantity, z: np.ndarray, colours: Palette) -> dict:
    """Colours of the cells: one hue that darkens; for mechanisms, each one's own."""
    bar = {"thickness": 12, "tickfont": {"color": colours.text}, "title": {"text": ""}}
    if shown.text is _name:
        steps = [(i / len(KEYS), (i + 1) / len(KEYS), hue(colours, key)) for i, key in enumerate(KEYS)]
        scale = [edge for low, high, colour in steps for edge in ((low, colour), (high, colour))]
        names = [MECHANISMS[key].name for key in KEYS]
        bar |= {"tickvals": list(range(len(KEYS))), "ticktext": names}
        return {"zmin": -0.5, "zmax": len(KEYS) - 0.5, "colorscale": scale, "colorbar": bar}
    known = z[np.isfinite(z)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if shown.logarithmic:
        marks = np.linspace(low, high, 5) if high > low else [low]
        bar |= {"tickvals": list(marks), "ticktext": [prose.number(10**mark, 2) for mark in marks]}
    else:
        low = 0.0
        bar |= {"tickformat": ".1~%"}
    pale = "#E8EEF2" if colours.background.startswith("#F") else "#1B2730"
    return {"zmin": low, "zmax": high if high > low else low + 1e-9, "colorscale": [[0, pale], [1, colours.accent]],
            "colorbar": bar}  # fmt: skip


def _hover(outcome: Outcome) -> str:
    privacy, proof = outcome.problem.privacy, outcome.certificate
    head = f"<b>ε = {privacy.epsilon:g}, δ = {prose.delta_text(privacy.delta)}</b><br>"
    if proof is None:
        return head + outcome.source
    lower, upper = prose.bracket(proof.lower or 0.0, proof.upper)
    text = f"{head}least possible: {lower} to {upper}"
    if outcome.best is not None:
        text += f"<br>{MECHANISMS[outcome.best[0]].name}: {prose.number(outcome.best[1])}"
    return text + "<br>click to open"


def ticks(values: Sequence[float], show=lambda value: f"{value:g}") -> dict:
    """Ticks of an axis that carries logarithms: at most eight of the values."""
    some = list(values)[:: max(1, math.ceil(len(values) / 8))]
    return {"tickvals": [math.log10(value) for value in some], "ticktext": [show(value) for value in some]}


def curves(
    outcomes: Sequence[Outcome],
    over: str,
    *,
    axis: str,
    colours: Palette,
    wanted: float | None = None,
    marks: Mapping[str, float] | None = None,
) -> go.Figure:
    """Loss of every mechanism and the certified band of the optimum, over "epsilon" or "delta", on two log axes.

    wanted : the required error, a horizontal line.   marks : the ε of each mechanism at that error.
    """
    known = sorted((o for o in outcomes if o.certificate is not None), key=lambda o: getattr(o.problem.privacy, over))
    figure = go.Figure()
    x = [getattr(o.problem.privacy, over) for o in known]
    for key, mechanism in MECHANISMS.items():
        y = [dict(o.mechanisms).get(key) for o in known]
        if any(value is not None for value in y):
            figure.add_scatter(
                x=x, y=y, name=mechanism.name, mode="lines", line=line(key, colours), connectgaps=False,
                hovertemplate=f"<b>{mechanism.name}</b> %{{y:.5g}}<extra></extra>",
            )  # fmt: skip
    lower = [o.certificate.lower or None for o in known]
    upper = [o.certificate.upper or None for o in known]
    figure.add_scatter(
        x=x, y=lower, mode="lines", showlegend=False, line={"width": 0.5, "color": colours.text}, hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=upper, name="certified optimum", mode="lines+markers", line=line("optimal", colours), fill="tonexty",
        fillcolor=colours.fill, marker={"size": 6}, customdata=lower,
        hovertemplate="<b>optimum</b> %{customdata:.5g} to %{y:.5g}<extra></extra>",
    )  # fmt: skip
    if known:
        floor = min(value for value in lower if value) / 3 if any(lower) else 1e-6
        figure.add_scatter(
            x=x, y=[floor] * len(x), mode="lines", line={"width": 0}, showlegend=False, hoverinfo="skip",
        )  # fmt: skip
        figure.add_scatter(
            x=x, y=lower, name="provably impossible", mode="lines", line={"width": 0}, fill="tonexty",
            fillcolor=colours.impossible, hoverinfo="skip",
        )  # fmt: skip
        top = 8 * max((value for value in upper if value), default=1.0)
        figure.update_yaxes(range=[math.log10(floor), math.log10(top)], **log_ticks(floor, top))
        figure.update_xaxes(**_places(over, x))
    if wanted and wanted > 0:
        figure.add_hline(y=wanted, line={"color": colours.text, "width": 1.5, "dash": "dot"})
        edge = {"width": 1.5, "color": colours.text}
        for key, epsilon in (marks or {}).items():
            figure.add_scatter(
                x=[epsilon], y=[wanted], mode="markers", showlegend=False,
                marker={"size": 11, "symbol": "diamond", "color": hue(colours, key), "line": edge},
                hovertemplate=f"needs ε = {epsilon:.4g}<extra></extra>",
            )  # fmt: skip
    figure.update_xaxes(title="ε" if over == "epsilon" else "δ", type="log")
    figure.update_yaxes(title=axis, type="log")
    return finish(figure, colours, height=430)


def _places(over: str, x: Sequence[float]) -> dict:
    """Ticks of ε at 1 and 3, of δ at powers of ten, also when none of them is between the ends."""
    marks = log_ticks(x[0], x[-1])
    if over == "epsilon" and marks["tickvals"]:
        return marks
    powers = [10.0**n for n in range(-12, 1) if x[0] <= 10.0**n <= x[-1] * (1 + 1e-9)]
    some = powers if len(powers) > 1 else [x[0], *powers, x[-1]]
    return {"tickvals": some, "ticktext": [prose.delta_text(value) for value in some]}


def exchange(found: Sequence[Solution], *, axes: tuple[str, str], colours: Palette) -> go.Figure:
    """The least possible loss against the limit on a second one; what lies below is impossible."""
    points = sorted(found, key=lambda solution: solution.problem.budget.most)
    x = [solution.problem.budget.most for solution in points]
    lower = [solution.certificate.lower for solution in points]
    upper = [solution.certificate.upper for solution in points]
    figure = go.Figure()
    figure.add_scatter(
        x=x, y=lower, name="provably impossible", mode="lines", line={"width": 1, "color": colours.text},
        fill="tozeroy", fillcolor=colours.impossible, hovertemplate="at least %{y:.5g}<extra></extra>",
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=upper, name="certified optimum", mode="lines+markers", line=line("optimal", colours), marker={"size": 8},
        hovertemplate="second loss at most %{x:.4g}<br>first loss %{y:.5g}<extra></extra>",
    )  # fmt: skip
    spread = max(upper) - min(lower)
    figure.update_yaxes(title=axes[0], range=[max(0.0, min(lower) - 0.4 * spread), max(upper) + 0.25 * spread + 1e-12])
    figure.update_xaxes(title=axes[1])
    return finish(figure, colours, height=360)
