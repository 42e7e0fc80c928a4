"""Curves over one x, described once: figure, table behind it and words for screen readers are made from that. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dpcore import figures
from dpcore.figures import Palette
from pages.shared import prose

from . import lines
from .curves import square
from .topic import Panel
from .widgets import HEIGHT


@dataclass(frozen=True)
class Axis:
    """title : with the unit.   style : what Plotly is told besides: range, ticks.   show : writes a number of it.
    name : short, for the table and for words; the title where there is none.
    """

    title: str
    style: Mapping[str, Any] = field(default_factory=dict)
    show: Callable[[float], str] = field(default=partial(prose.number, digits=3))
    name: str = ""

    @property
    def short(self) -> str:
        return self.name or self.title


@dataclass(frozen=True)
class Curve:
    """y : at every place of the plot; what is not finite is left out.
    here : at the place that was chosen, exactly; ringed : and marked there.
    style : a role or number for `lines.series`, or a line's properties; its place among the curves, if none.
    marks : the places where it was computed are marked.   hover : instead of the plot's.   drawn : else only listed.
    """

    name: str
    y: np.ndarray
    here: float | None = None
    ringed: bool = False
    style: int | str | Mapping[str, Any] | None = None
    marks: Mapping[str, Any] | None = None
    hover: str = ""
    drawn: bool = True

    def line(self, number: int, colours: Palette) -> Mapping[str, Any]:
        style = number if self.style is None else self.style
        return lines.series(colours, style) if isinstance(style, int | str) else style


@dataclass(frozen=True)
class Plot:
    """Some curves.

    title : over the chart.   about : the section of the topic's text that explains it.
    at : places on the x-axis.   here : the one that was chosen, and `label` what it is called.
    point : the height of a ring there that is on no curve.
    hover : what stands below a curve's name, with %{x} and %{y}.
    remark : what else the words for screen readers say.   most : rows of the table.
    square : both axes have one unit.
    """

    title: str
    x: Axis
    y: Axis
    at: np.ndarray
    curves: tuple[Curve, ...]
    hover: str
    here: float | None = None
    label: str = "chosen"
    point: float | None = None
    about: str = "picture"
    height: int = HEIGHT
    remark: str = ""
    most: int = 13
    square: bool = False

    def panel(self, colours: Palette) -> Panel:
        return Panel(self.title, self.figure(colours), self.words(), self.table(), self.about, self.square)

    def figure(self, colours: Palette) -> go.Figure:
        """The curves, and rings where they were chosen. A logarithmic axis leaves out what is nowhere above 0."""
        figure, log = figures.Chart(), self.y.style.get("type") == "log"
        for number, one in enumerate(self.curves):
            if not one.drawn or (log and not np.any(one.y > 0)):
                continue
            figure.add_scatter(
                x=self.at, y=np.where(one.y > 0, one.y, np.nan) if log else one.y, name=one.name,
                mode="lines" if one.marks is None else "lines+markers", line=one.line(number, colours),
                marker=one.marks, hovertemplate=f"<b>{one.name}</b><br>{one.hover or self.hover}<extra></extra>",
            )  # fmt: skip
        rings = [one.here for one in self.curves if one.ringed] + [self.point] * (self.point is not None)
        for number, height in enumerate(rings):
            figures.chosen(figure, self.here, height, self.label, colours)
            if number:
                figure.data[-1].showlegend = False
        figure.update_xaxes(title=self.x.title, **self.x.style)
        figure.update_yaxes(title=self.y.title, **self.y.style)
        figures.finish(figure, colours, height=self.height)
        return square(figure) if self.square else figure

    def table(self) -> dict[str, list[str]]:
        """The curves at no more than `most` of the places."""
        rows = np.unique(np.linspace(0, len(self.at) - 1, min(self.most, len(self.at))).round().astype(int))
        told = {one.name: [self._told(one.y[row]) for row in rows] for one in self.curves}
        return {self.x.short: [self.x.show(float(self.at[row])) for row in rows]} | told

    def words(self) -> str:
        """What is drawn, and the values at the chosen place or, where there is none, at both ends."""
        told = [one for one in self.curves if one.here is not None]
        if told:
            at = f"at {prose.plain(self.here, 3)}: " + ", ".join(f"{c.name} {self._told(c.here)}" for c in told)
        else:
            first, last = (prose.plain(float(self.at[end]), 3) for end in (0, -1))
            at = f"from {first} to {last}: " + ", ".join(
                f"{c.name} from {self._told(c.y[0])} to {self._told(c.y[-1])}" for c in self.curves
            )
        at += "" if self.point is None else f"; {self.label}: {self._told(self.point)}"
        return " ".join(filter(None, [f"{self.y.title} against {self.x.title}; {at}.", self.remark]))

    def _told(self, value: float) -> str:
        return self.y.show(float(value)) if np.isfinite(value) else "–"
