"""Mechanisms → figures. Pure: no Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from dpcore._validate import decimal
from dpcore.data_dependent import Solution
from dpcore.data_dependent.channel import Channel
from dpcore.data_dependent.noise_laws import NoiseLaws
from dpcore.figures import Chart, Palette, finish, line, player
from pages.shared import prose

from .work import Curve

RIDGES = 21
"""Most laws drawn above each other."""


UNEVEN = 8.0
"""Intervals so many times as long as a quarter of the others would hide these on a common scale."""

ROW = 30
"""Height of the buttons above a legend, in pixels."""

BARS = 0.4
"""The longest bar of true values, as a share of the width."""


@dataclass(frozen=True)
class Table:
    """A mechanism as numbers: laws of the true values between `ends`, (G + 1,).

    cells : (K + 1,) ends of the cells of the release.   masses : (G, K).   atoms : (G,) of the true value itself.
    shares : (G,) of the true values between the ends, by the problem's weight.
    noise : the laws are those of the noise, cells are noise, and the true value itself is no noise.
    """

    ends: np.ndarray
    cells: np.ndarray
    masses: np.ndarray
    atoms: np.ndarray
    shares: np.ndarray
    noise: bool = False

    @property
    def middles(self) -> np.ndarray:
        """A true value of each law."""
        return 0.5 * (self.ends[1:] + self.ends[:-1])

    @property
    def places(self) -> np.ndarray:
        """Where the ends stand on an axis: at themselves, or at 0 … G where some intervals are far longer than most."""
        widths = np.diff(self.ends)
        uneven = widths.max() > UNEVEN * np.quantile(widths, 0.25)
        return np.arange(len(self.ends), dtype=float) if uneven else self.ends

    def place_of(self, value: float) -> float:
        """Where a true value stands on that axis."""
        return float(np.interp(value, self.ends, self.places))

    def label(self, axis: dict) -> dict:
        """The axis of true values, with the intervals' ends where they stand evenly."""
        places = self.places
        if places[-1] != self.ends[-1]:
            at = np.unique(np.linspace(0, len(places) - 1, min(11, len(places))).round().astype(int))
            axis |= {"tickvals": places[at].tolist(), "ticktext": [f"{self.ends[i]:.4g}" for i in at]}
        return axis | {"range": [places[0], places[-1]]}

    def law_of(self, value: float) -> int:
        """The law of a true value."""
        return int(np.clip(np.searchsorted(self.ends, value, side="right") - 1, 0, len(self.atoms) - 1))


def tabulated(solution: Solution, laws: int = 40) -> Table:
    """The solution's mechanism; clamped noise at the middles of so many equal intervals."""
    mechanism, (low, high) = solution.mechanism, solution.problem.query_range
    if isinstance(mechanism, NoiseLaws):
        ends = np.array(mechanism.ends)
        places = [decimal(end) - decimal(low) for end in mechanism.ends]
        shares = np.array(solution.problem.shares(places), dtype=float)
        return Table(ends, mechanism.edges, mechanism.masses, mechanism.atom_masses, shares, noise=True)
    if isinstance(mechanism, Channel):
        grid = mechanism.grid
        cells = low + np.array([float(e) for e in grid.edges])
        shares = solution.problem.shares([grid.edges[b] for b in grid.breaks])
        ends = cells[list(grid.breaks)]
        return Table(ends, cells, mechanism.masses, mechanism.atom_masses, np.array(shares, dtype=float))
    ends = np.linspace(low, high, laws + 1)
    noise, atom = mechanism.noise, sum(mass for x, mass in mechanism.noise.atoms if x == 0)
    rows = []
    for value in 0.5 * (ends[1:] + ends[:-1]):
        cumulative = noise.cdf(ends - value) - atom * (ends >= value)
        rows.append(np.diff(np.concatenate([[0.0], cumulative[1:-1], [1 - atom]])))
    shares = solution.problem.shares([solution.problem.width * i / laws for i in range(laws + 1)])
    return Table(ends, ends, np.maximum(np.array(rows), 0.0), np.full(laws, atom), np.array(shares, dtype=float))


def ridges(table: Table, chosen: float, *, unit: str, colours: Palette) -> go.Figure:
    """The laws of the release above each other, each at its true value; the chosen one in front."""
    rows = np.unique(np.linspace(0, len(table.atoms) - 1, min(RIDGES, len(table.atoms))).round().astype(int))
    here = table.law_of(chosen)
    rows = np.unique(np.append(rows, here))
    places = table.places
    middles = 0.5 * (places[1:] + places[:-1])
    height = 2.4 * (places[-1] - places[0]) / len(rows)
    widths = np.diff(table.cells)
    density = table.masses / widths
    scale = height / max(float(density[rows].max()), 1e-300)
    figure = Chart()
    _true_values(figure, table, colours)
    x = np.repeat(table.cells, 2)[1:-1]
    for row in sorted(rows.tolist(), key=lambda r: (r == here, -r)):
        base = float(middles[row]) if row != here or table.noise else table.place_of(chosen)
        y = base + scale * np.repeat(density[row], 2)
        strong = row == here
        figure.add_scatter(
            x=np.concatenate([[x[0]], x, [x[-1]]]), y=np.concatenate([[base], y, [base]]), mode="lines",
            line={"color": colours.accent if strong else colours.muted, "width": 2.5 if strong else 1},
            fill="toself", fillcolor=colours.fill if strong else colours.impossible, showlegend=False,
            hoverinfo="skip",
        )  # fmt: skip
    _truth(figure, table, colours)
    sizes = 5 + 14 * np.sqrt(table.atoms[rows])
    own = np.zeros(len(rows)) if table.noise else table.middles[rows]
    figure.add_scatter(
        x=own, y=middles[rows], mode="markers", name=itself(table),
        marker={"size": sizes * (table.atoms[rows] > 1e-9), "color": colours.accent, "symbol": "diamond"},
        customdata=100 * table.atoms[rows], hovertemplate="released as it is: %{customdata:.3g} %<extra></extra>",
    )  # fmt: skip
    figure.update_xaxes(title=drawn(table, unit), range=[table.cells[0], table.cells[-1]], showgrid=False)
    axis = table.label({"title": prose.axis("true value", unit), "showgrid": False, "zeroline": False})
    top = axis.pop("range")[1] + height
    figure.update_yaxes(axis | {"range": [places[0], top]})
    return finish(figure, colours, height=470)


def drawn(table: Table, unit: str) -> str:
    """Title of the axis of what is drawn."""
    return prose.axis("noise" if table.noise else "release", unit)


def itself(table: Table) -> str:
    """What the atom releases."""
    return "no noise" if table.noise else "the true value itself"


def _true_values(figure: go.Figure, table: Table, colours: Palette) -> None:
    """Behind the laws, how often true values are there: bars as long as their density, from the left-hand edge; none
    where all values count alike."""
    places = table.places
    density = table.shares / np.diff(table.ends)
    most, left = float(density.max()), table.cells[0]
    if float(density.min()) >= most * (1 - 1e-9):
        return
    figure.add_bar(
        orientation="h", base=left, x=BARS * (table.cells[-1] - left) * density / most,
        y=0.5 * (places[1:] + places[:-1]), width=np.diff(places),
        name="true values", marker={"color": colours.muted, "opacity": 0.35, "line": {"width": 0}},
        customdata=np.column_stack([table.ends[:-1], table.ends[1:], 100 * table.shares]),
        hovertemplate="true values from %{customdata[0]:.4g} to %{customdata[1]:.4g}: %{customdata[2]:.3g} %"
        "<extra></extra>",
    )  # fmt: skip


def _truth(figure: go.Figure, table: Table, colours: Palette) -> None:
    """The line where the release is the true value, where there is no noise."""
    x = np.zeros(len(table.ends)) if table.noise else table.ends
    figure.add_scatter(
        x=x, y=table.places, mode="lines", name="release = true value", showlegend=not table.noise, hoverinfo="skip",
        line={"color": colours.text, "width": 1, "dash": "dot"},
    )  # fmt: skip


def heat_map(table: Table, chosen: float, *, unit: str, colours: Palette) -> go.Figure:
    """Probability of every release (across) at every true value (up); square-rooted, so that small ones show."""
    share = table.masses.copy()
    own = np.zeros((len(share), 1)) if table.noise else table.middles[:, None]
    inside = (table.cells[None, :-1] <= own) & (own < table.cells[None, 1:])
    share[inside] += table.atoms
    told = [np.broadcast_to(end[:, None], share.shape) for end in (table.ends[:-1], table.ends[1:])]
    figure = Chart()
    figure.add_heatmap(
        x=table.cells, y=table.places, z=np.sqrt(share), customdata=np.dstack([100 * share, *told]),
        colorscale=[[0, colours.background], [1, colours.accent]], zmin=0, showscale=False,
        hovertemplate="true values from %{customdata[1]:.4g} to %{customdata[2]:.4g}<br>"
        f"{'noise' if table.noise else 'release'} about %{{x:.4g}}<br>%{{customdata[0]:.3g}} %<extra></extra>",
    )  # fmt: skip
    _truth(figure, table, colours)
    figure.add_hline(y=table.place_of(chosen), line={"color": colours.text, "width": 2})
    figure.update_xaxes(title=drawn(table, unit), range=[table.cells[0], table.cells[-1]], showgrid=False)
    figure.update_yaxes(table.label({"title": prose.axis("true value", unit), "showgrid": False}))
    return finish(figure, colours, height=470)


def law(table: Table, chosen: float, *, unit: str, colours: Palette) -> go.Figure:
    """The law of one true value, with a button that runs through all of them."""
    middles, widths = 0.5 * (table.cells[1:] + table.cells[:-1]), np.diff(table.cells)

    def traces(row: int, value: float) -> list[dict]:
        bars = {
            "type": "bar", "x": middles, "y": 100 * table.masses[row], "width": 0.92 * widths,
            "marker": {"color": colours.accent}, "name": drawn(table, ""), "showlegend": False,
            "hovertemplate": "about %{x:.4g}: %{y:.3g} %<extra></extra>",
        }  # fmt: skip
        top = max(100 * float(table.atoms[row]), 0.0)
        own = {
            "type": "scatter", "x": [0, 0] if table.noise else [value, value], "y": [0, top], "mode": "lines+markers",
            "name": itself(table), "line": {"color": colours.text, "width": 3},
            "marker": {"size": [1, 11], "color": colours.text, "symbol": "diamond"},
            "hovertemplate": f"{itself(table)}: %{{y:.3g}} %<extra></extra>",
        }  # fmt: skip
        return [bars, own]

    figure = go.Figure(data=traces(table.law_of(chosen), chosen))
    figure.frames = [
        go.Frame(data=traces(row, float(value)), name=f"{value:.4g}") for row, value in enumerate(table.middles)
    ]
    figure.update_xaxes(title=drawn(table, unit), range=[table.cells[0], table.cells[-1]])
    most = 100 * max(float(table.masses.max()), float(table.atoms.max()))
    figure.update_yaxes(title="probability (%)", range=[0, 1.08 * most])
    finish(figure, colours, height=330 + ROW)
    player(figure, "all true values", colours, pace=350, y=1, yanchor="bottom", pad={"b": ROW})
    top = figure.layout.margin.t + ROW
    figure.update_layout(bargap=0, legend={"x": 1, "xanchor": "right"}, margin_t=top, meta={"labels": False})
    return figure


def losses(
    x: np.ndarray, curves: Sequence[Curve], weight: np.ndarray, *, chosen: float, cap: float | None, axis: str,
    unit: str, colours: Palette,
) -> go.Figure:  # fmt: skip
    """Loss at every true value; the weight as a grey shape below."""
    figure = Chart()
    top = max(float(curve.values.max()) for curve in curves)
    figure.add_scatter(
        x=x, y=0.18 * top * weight / max(float(weight.max()), 1e-300), mode="lines", line={"width": 0}, fill="tozeroy",
        fillcolor=colours.impossible, name="weight", hoverinfo="skip",
    )  # fmt: skip
    for curve in curves:
        style = (
            {"color": colours.text, "width": 2, "dash": "dot"}
            if curve.key == "independent"
            else line(curve.key, colours)
        )
        figure.add_scatter(
            x=x, y=curve.values, mode="lines", name=curve.name, line=style,
            hovertemplate=f"{curve.name}<br>true value %{{x:.4g}}: %{{y:.5g}}<extra></extra>",
        )  # fmt: skip
    if cap is not None:
        figure.add_hline(y=cap, line={"color": colours.muted, "dash": "dash", "width": 1.5}, annotation_text="cap")
    figure.add_vline(x=chosen, line={"color": colours.text, "width": 1})
    figure.update_xaxes(title=prose.axis("true value", unit), range=[x[0], x[-1]])
    figure.update_yaxes(title=axis, range=[0, 1.08 * max(top, cap or 0.0)])
    return finish(figure, colours, height=400)


def closing(runs: Sequence[tuple[str, Sequence]], *, axis: str, colours: Palette) -> go.Figure:
    """Brackets against the number of cells, one pair of curves for each run (name, progress records)."""
    from dpcore.figures import series

    figure = Chart()
    for number, (name, records) in enumerate(runs):
        last = {}
        for record in records:
            if record.cells > 0:
                last[record.cells] = record
        cells = sorted(last)
        style = series(colours, number)
        for side, values in (("at most", [last[c].upper for c in cells]), ("at least", [last[c].lower for c in cells])):
            figure.add_scatter(
                x=cells, y=values, mode="lines+markers", name=name, legendgroup=name, showlegend=side == "at most",
                line=style, marker={"symbol": "circle" if side == "at most" else "diamond", "size": 7},
                hovertemplate=f"{name}, %{{x}} cells: {side} %{{y:.5g}}<extra></extra>",
            )  # fmt: skip
    figure.update_xaxes(title="cells of the range", type="log", tickvals=[4, 6, 8, 12, 16, 24, 32, 48, 64])
    figure.update_yaxes(title=axis, rangemode="tozero")
    return finish(figure, colours, height=380)
