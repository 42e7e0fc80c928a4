"""Outcomes → figures: heat maps over ε × δ, losses along one axis, a frontier. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Chart, Palette, finish, folded, hue, line, log_ticks
from dpcore.mechanisms import MECHANISMS
from dpcore.solution import Solution
from dpcore.sweeps import Outcome
from pages.shared import prose

from .work import Axes

KEYS = tuple(MECHANISMS)


@dataclass(frozen=True)
class Quantity:
    """What a map shows. value: outcome → number, None where there is none; text: the number in words; named: the number
    is a mechanism's place; mark: outcome → what stands after the number."""

    title: str
    value: Callable[[Outcome], float | None]
    text: Callable[[float], str]
    logarithmic: bool = False
    named: bool = False
    mark: Callable[[Outcome], str] = lambda outcome: ""


MIXTURES = tuple(key for key, mechanism in MECHANISMS.items() if mechanism.hue == "mixture")


def quantity(name: str, rival: str, axis: str) -> Quantity:
    """The quantity that the controls name."""
    if name == "value":
        return Quantity(axis, lambda o: o.certificate.upper, lambda v: prose.at_most(v, 3), True)
    if name == "gap":
        return Quantity("certified gap", lambda o: o.certificate.gap, prose.percent_up)
    if name == "best":
        return Quantity("least loss among the textbook mechanisms", _place, _name, named=True)
    if name == "closed":
        return CLOSED
    title = f"error saved against {'the best textbook mechanism' if rival == 'best' else MECHANISMS[rival].name}"
    return Quantity(title, lambda o: gain(o, rival), _saved)


def gain(outcome: Outcome, rival: str) -> float | None:
    """1 − (certified upper bound)/(the rival's loss): a share of the rival's loss that can be saved for certain."""
    losses = dict(outcome.mechanisms)
    loss = min(losses.values(), default=None) if rival == "best" else losses.get(rival)
    return None if not loss else max(0.0, 1 - outcome.certificate.upper / loss)


def closed(outcome: Outcome, keys: Sequence[str] = MIXTURES) -> float | None:
    """At least this share of the analytic Gaussian's gap to the optimum is closed by the best of some mechanisms:
    (G − M)/(G − lower bound), rounded down to what is shown; negative where all cost more than the Gaussian."""
    losses, lower = dict(outcome.mechanisms), outcome.certificate.lower
    known = [losses[key] for key in keys if key in losses]
    if not known or "gaussian" not in losses or lower is None or losses["gaussian"] <= lower:
        return None
    return (losses["gaussian"] - min(known)) / (losses["gaussian"] - lower)


def best_known(outcome: Outcome) -> str:
    """A star where a mixture is the best of all known mechanisms."""
    return "*" if outcome.best is not None and outcome.best[0] in MIXTURES else ""


def share_text(value: float) -> str:
    """A share rounded down; a digit more near 1."""
    if value <= 0:
        return "none"
    digits = 1 if value >= 0.95 else 0
    return f"{math.floor(100 * value * 10**digits) / 10**digits:.{digits}f}\u202f%"


CLOSED = Quantity(
    "share of the analytic Gaussian's gap to the optimum that mixtures close, at least", closed, share_text,
    mark=best_known,
)  # fmt: skip


def _saved(value: float) -> str:
    digits = 0 if value < 5e-4 or value >= 0.0995 else 1
    return f"{100 * value:.{digits}f}\u202f%"


def _place(outcome: Outcome) -> float | None:
    return None if outcome.best is None else float(KEYS.index(outcome.best[0]))


def _name(place: float) -> str:
    return MECHANISMS[KEYS[int(place)]].name


def values(axes: Axes, outcomes: Sequence[Outcome], shown: Quantity) -> tuple[np.ndarray, np.ndarray]:
    """(what the colours show, the figures in words) of every cell, δ × ε; NaN and "" while there is none. Logarithms
    where the quantity asks for them."""
    z, texts = np.full((2, len(axes.deltas), len(axes.epsilons)), None, dtype=object)
    rows, columns = ({value: n for n, value in enumerate(axis)} for axis in (axes.deltas, axes.epsilons))
    z[:], texts[:] = np.nan, ""
    for outcome in outcomes:
        privacy = outcome.problem.privacy
        value = None if outcome.certificate is None else shown.value(outcome)
        if value is not None:
            place = rows[privacy.delta], columns[privacy.epsilon]
            z[place] = math.log10(value) if shown.logarithmic and value > 0 else value
            texts[place] = shown.text(value) + shown.mark(outcome)
    return z.astype(float), texts


def heat_map(axes: Axes, outcomes: Sequence[Outcome], shown: Quantity, *, colours: Palette) -> go.Figure:
    """A cell for every (ε, δ), empty while it is being computed; a point in every cell to click on.

    The axes carry logarithms, so that all cells are equally large.
    """
    x, y = np.log10(axes.epsilons), np.log10(axes.deltas)
    z, texts = values(axes, outcomes, shown)
    shades = scale(shown, z, colours)
    figure = Chart()
    figure.add_heatmap(
        x=x, y=y, z=z, hoverinfo="skip", xgap=GAP, ygap=GAP, zmin=shades.low, zmax=shades.high,
        colorscale=[list(stop) for stop in shades.stops], colorbar=_bar(shown, shades, colours),
    )  # fmt: skip
    places = [(axes.deltas.index(o.problem.privacy.delta), axes.epsilons.index(o.problem.privacy.epsilon))
              for o in outcomes]  # fmt: skip
    if places:
        inks = [ink(shades.at(z[place])) if texts[place] else colours.text for place in places]
        figure.add_scatter(
            x=[x[j] for _, j in places], y=[y[i] for i, _ in places], showlegend=False,
            mode="markers+text" if written(axes, shown) else "markers", text=[texts[place] for place in places],
            textfont={"size": colours.type - 3, "color": inks}, hovertext=[_hover(outcome) for outcome in outcomes],
            customdata=[(axes.epsilons[j], axes.deltas[i]) for i, j in places],
            hovertemplate="%{hovertext}<extra></extra>",
            marker={"symbol": "square", "size": max(10, 320 / len(y)), "color": "rgba(0,0,0,0.004)"},
            selected={"marker": {"opacity": 0.004}}, unselected={"marker": {"opacity": 0.004}},
        )  # fmt: skip
    bare = {"showgrid": False, "zeroline": False}
    figure.update_xaxes(title="ε", range=_ends(x), **ticks(axes.epsilons), **bare)
    figure.update_yaxes(title="δ", range=_ends(y), **ticks(axes.deltas, prose.delta_text), **bare)
    finish(figure, colours, height=HEIGHT)
    figure.update_layout(clickmode="event+select", dragmode=False, margin=margins(shown, colours))
    figure.update_xaxes(automargin=False)
    figure.update_yaxes(automargin=False)
    return figure


HEIGHT = 430
"""Height of the map, in pixels."""

GAP = 1
"""Pixels between two cells."""


def written(axes: Axes, shown: Quantity) -> bool:
    """There is room for the figures in the cells."""
    return max(len(axes.epsilons), len(axes.deltas)) <= 12 and not shown.named


def margins(shown: Quantity, colours: Palette) -> dict:
    """Pixels around the cells, whatever the labels: the same for the picture and for the table that precedes it."""
    size = colours.type
    wide = 11 if shown.named else 6
    return {"l": 5 * size, "r": wide * size, "t": 10, "b": 4 * size, "autoexpand": False}


def _ends(places: np.ndarray) -> list[float]:
    """Half a cell beyond the first and the last."""
    return [1.5 * places[0] - 0.5 * places[1], 1.5 * places[-1] - 0.5 * places[-2]]


Colour = tuple[float, float, float]
"""Red, green and blue, 0 to 255."""


@dataclass(frozen=True)
class Scale:
    """Colours from the value `low` to `high`: straight between stops (share of the way, "#RRGGBB")."""

    low: float
    high: float
    stops: tuple[tuple[float, str], ...]

    def at(self, value: float) -> Colour:
        """The colour of a value, as the drawing library finds it."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        knots = [stop for stop, _ in self.stops]
        right = min(max(bisect_right(knots, share), 1), len(knots) - 1)
        (start, before), (end, after) = self.stops[right - 1 : right + 1]
        part = (share - start) / (end - start) if end > start else 0.0
        return tuple(a + part * (b - a) for a, b in zip(_parts(before), _parts(after)))


def _parts(colour: str) -> Colour:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def ink(ground: Colour) -> str:
    """Black or white, whichever stands out more from a colour: WCAG 2.2, relative luminance."""
    shares = [part / 255 for part in ground]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if luminance > 0.1791 else "#FFFFFF"


def scale(shown: Quantity, z: np.ndarray, colours: Palette) -> Scale:
    """Colours of the cells: one hue that darkens; for mechanisms, each one's own."""
    if shown.named:
        steps = [(i / len(KEYS), (i + 1) / len(KEYS), hue(colours, key)) for i, key in enumerate(KEYS)]
        edges = tuple(edge for low, high, colour in steps for edge in ((low, colour), (high, colour)))
        return Scale(-0.5, len(KEYS) - 0.5, edges)
    known = z[np.isfinite(z)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low = low if shown.logarithmic else 0.0
    pale = "#E8EEF2" if colours.background.startswith("#F") else "#1B2730"
    return Scale(low, high if high > low else low + 1e-9, ((0.0, pale), (1.0, colours.accent)))


def _bar(shown: Quantity, shades: Scale, colours: Palette) -> dict:
    """The legend of the colours."""
    bar = {"thickness": 12, "tickfont": {"color": colours.text}, "title": {"text": ""}}
    if shown.named:
        return bar | {"tickvals": list(range(len(KEYS))), "ticktext": [MECHANISMS[key].name for key in KEYS]}
    if shown.logarithmic:
        marks = [float(mark) for mark in np.linspace(shades.low, shades.high, 5)]
        return bar | {"tickvals": marks, "ticktext": [prose.number(10**mark, 2) for mark in marks]}
    return bar | {"tickformat": ".1~%"}


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


def stride(values: Sequence[float]) -> int:
    """Every so many-th value has its tick."""
    return max(1, math.ceil(len(values) / 8))


def ticks(values: Sequence[float], show=lambda value: f"{value:g}") -> dict:
    """Ticks of an axis that carries logarithms: at most eight of the values."""
    some = list(values)[:: stride(values)]
    return {"tickvals": [math.log10(value) for value in some], "ticktext": [show(value) for value in some]}


def curves(
    outcomes: Sequence[Outcome],
    over: str,
    *,
    ends: tuple[float, float],
    axis: str,
    colours: Palette,
    wanted: float | None = None,
    marks: Mapping[str, float] | None = None,
) -> go.Figure:
    """Loss of every mechanism and the certified band of the optimum, over "epsilon" or "delta", on two log axes.

    ends : of the axis of ε or δ.   wanted : the required error, a horizontal line.
    marks : the ε of each mechanism at that error.
    """
    known = sorted((o for o in outcomes if o.certificate is not None), key=lambda o: getattr(o.problem.privacy, over))
    figure = Chart()
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
    if wanted and wanted > 0:
        figure.add_hline(y=wanted, line={"color": colours.text, "width": 1.5, "dash": "dot"})
        edge = {"width": 1.5, "color": colours.text}
        for key, epsilon in (marks or {}).items():
            figure.add_scatter(
                x=[epsilon], y=[wanted], mode="markers", showlegend=False,
                marker={"size": 11, "symbol": "diamond", "color": hue(colours, key), "line": edge},
                hovertemplate=f"needs ε = {epsilon:.4g}<extra></extra>",
            )  # fmt: skip
    figure.update_xaxes(title="ε" if over == "epsilon" else "δ", type="log", range=[math.log10(end) for end in ends])
    figure.update_xaxes(**_places(over, ends))
    figure.update_yaxes(title=axis, type="log")
    return finish(figure, colours, height=430)


def _places(over: str, x: tuple[float, float]) -> dict:
    """Ticks of ε at round numbers, of δ at powers of ten, also when none of them is between the ends."""
    if over == "epsilon":
        return log_ticks(x[0], x[-1])
    powers = [10.0**n for n in range(-12, 1) if x[0] <= 10.0**n <= x[-1] * (1 + 1e-9)]
    some = powers if len(powers) > 1 else [x[0], *powers, x[-1]]
    return {"tickvals": some, "ticktext": [prose.delta_text(value) for value in some]}


def frontier(found: Sequence[Solution], *, axes: tuple[str, str], colours: Palette) -> go.Figure:
    """The least possible loss against the limit on a second one; what lies below is impossible."""
    points = sorted(found, key=lambda solution: solution.problem.budget.most)
    x = [solution.problem.budget.most for solution in points]
    lower = [solution.certificate.lower for solution in points]
    upper = [solution.certificate.upper for solution in points]
    figure = Chart()
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
    figure.update_xaxes(title=folded(axes[1], 220, colours))
    return finish(figure, colours, height=360)
