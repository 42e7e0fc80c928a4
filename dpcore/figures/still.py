"""A figure of Plotly as a still picture: inline SVG without scripts, before the library that draws it is there.

Drawn are lines, markers and texts, filled areas, bars, maps, shapes and notes on one pair of axes, as the figures of
this package and of the pages have them; of anything else nothing is shown. Every text is escaped. Colours of the light
palette become pairs of it and the dark one, of which the browser takes that of the page (`color-scheme`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from .. import numerals
from .palette import DARK, LIGHT
from .parts import length, lines

Array = NDArray[np.float64]

TICKS = 6
"""Labels along an axis, about."""

DASHES = {"dash": "9,9", "dot": "3,3", "dashdot": "9,3,3,3", "longdash": "15,15", "longdashdot": "15,3,3,3"}
"""Plotly's names of dashes → SVG's lengths, for a line of width 3."""

SYMBOLS = {
    "circle": '<circle cx="{x}" cy="{y}" r="{r}"/>',
    "square": '<rect x="{left}" y="{top}" width="{side}" height="{side}"/>',
    "diamond": '<path d="M{x} {top}L{right} {y}L{x} {bottom}L{left} {y}Z"/>',
}
"""Markers; a name that ends in "-open" is one of these, not filled."""

_PAIRS: dict[str, str] = {
    one: f"light-dark({one},{other})"
    for one, other in (
        *(
            (getattr(LIGHT, f.name), getattr(DARK, f.name))
            for f in fields(LIGHT)
            if isinstance(getattr(LIGHT, f.name), str)
        ),
        *((LIGHT.hues[key], DARK.hues[key]) for key in LIGHT.hues),
    )
}


def themed(colour: str | None) -> str:
    """A colour of the light palette as a pair of it and the dark one; any other as it is, without signs that could end
    a declaration."""
    return _PAIRS.get(colour or "", re.sub(r"[^\w#(),.% -]", "", colour or "currentColor"))


def both_themes(drawing: str) -> str:
    """A drawing whose attributes have colours of the light palette, with pairs in their place."""
    pair = lambda found: f'{found[1]}="{themed(found[2])}"'  # noqa: E731
    return re.sub(r'\b(fill|stroke)="([^"]*)"', pair, drawing)


def still(figure: go.Figure, width: float, *, label: str = "") -> str:
    """The figure as an inline drawing `width` pixels wide; `label` says in words what it shows."""
    traces = [trace.to_plotly_json() for trace in figure.data]
    return "".join(_Picture.of(figure.layout.to_plotly_json(), traces, width).parts(label))


def thumbnail(figure: go.Figure, width: float = 240, height: float = 76) -> str:
    """What is inside the axes of a figure, without words, as an SVG file in the figure's own colours."""
    layout = figure.layout.to_plotly_json() | {"height": height}
    picture = _Picture.of(layout, [_wordless(trace.to_plotly_json()) for trace in figure.data], width)
    picture.x.start, picture.x.end, picture.y.start, picture.y.end = 3.0, width - 3.0, height - 3.0, 5.0
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" preserveAspectRatio="none"'
    body = "".join((*picture.shapes("below"), *picture.curves(), *picture.shapes("above")))
    for light, pair in _PAIRS.items():
        body = body.replace(pair, light)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} fill="none">{body}</svg>'


POINTS = 160
"""About so many points a line in a thumbnail keeps at most."""


def _wordless(trace: dict[str, Any]) -> dict[str, Any]:
    """A trace without its texts, with as many points as a small picture shows."""
    mode = str(trace.get("mode") or "lines")
    trace = {key: value for key, value in trace.items() if key != "text"}
    if trace["type"] == "scatter":
        trace["mode"] = "+".join(part for part in mode.split("+") if part != "text") or "none"
        count = len(_listed(trace.get("x")))
        if "lines" in mode and count > POINTS:
            kept = np.unique(np.linspace(0, count - 1, POINTS).round().astype(int))
            trace |= {axis: [_listed(trace[axis])[n] for n in kept] for axis in "xy"}
    return trace


@dataclass
class _Axis:
    """One axis: numbers or names → pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool
    names: list[str]
    told: dict[str, Any]

    def at(self, values: object) -> Array:
        """Pixels of some values; NaN where there is none."""
        if self.names:
            places = {name: float(number) for number, name in enumerate(self.names)}
            x = np.array([places.get(str(v), math.nan) for v in _listed(values)])
        else:
            x = np.array([math.nan if v is None else float(v) for v in _listed(values)])
            if self.log:
                x = np.log10(np.where(x > 0, x, math.nan))
        return self.start + (x - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def note(self, value: object) -> float:
        """Pixels of where a note stands; on a logarithmic axis its exponent is told."""
        value = 10.0 ** float(value) if self.log else value  # type: ignore[arg-type]  # a number there
        return float(self.at([value])[0])

    def ticks(self) -> list[tuple[float, str]]:
        """(pixels, text) of the labels inside the axis."""
        if self.names:
            labels = list(zip(self.at(self.names), self.names))
        elif (values := self.told.get("tickvals")) is not None:
            values = _listed(values)
            labels = list(zip(self.at(values), map(str, self.told.get("ticktext") or map(numerals.plain, values))))
        elif self.log:
            powers = range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)
            labels = [(float(self.at([10.0**p])[0]), "10" + numerals.raised(p)) for p in powers]
        else:
            step = _round_step((self.high - self.low) / TICKS)
            numbers = [
                step * n for n in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
            ]
            labels = list(zip(self.at(numbers), [numerals.plain(float(f"{number:.9g}")) for number in numbers]))
        near, far = sorted((self.start, self.end))
        return [(place, text) for place, text in labels if near - 1 <= place <= far + 1]


@dataclass
class _Picture:
    layout: dict[str, Any]
    traces: list[dict[str, Any]]
    width: float
    height: float
    size: float
    x: _Axis
    y: _Axis

    @staticmethod
    def of(layout: dict[str, Any], traces: list[dict[str, Any]], width: float) -> _Picture:
        """The plot's place follows from margins and the widths of its labels."""
        traces = [trace for trace in traces if trace.get("visible", True) is True]
        margin, size = layout.get("margin", {}), layout.get("font", {}).get("size", 14)
        height = layout.get("height", 400)
        axes = {}
        for name in "xy":
            own = layout.get(f"{name}axis", {})
            names = _names(traces, name)
            low, high = _span(traces, name, own, names)
            axes[name] = _Axis(low, high, 0.0, 1.0, own.get("type") == "log", names, own)
        widest = max((length(text, size - 1) for _, text in axes["y"].ticks()), default=0.0)
        rows = len(lines(_title(axes["y"].told)))
        below = size * (1.6 + 1.5 * len(lines(_title(axes["x"].told))))
        axes["y"].start = height - max(margin.get("b", 80), below)
        axes["y"].end = margin.get("t", 100)
        axes["x"].start = max(margin.get("l", 80), widest + 10 + 1.3 * size * rows)
        axes["x"].end = width - margin.get("r", 80)
        return _Picture(layout, traces, width, height, size, axes["x"], axes["y"])

    def parts(self, label: str) -> Iterator[str]:
        """The drawing, from its head to its end."""
        yield (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}" '
            f'role="img" aria-label="{escape(label, quote=True)}" font-size="{self.size - 1:g}" fill="none" '
            'style="overflow:visible">'
        )
        yield from self.shapes("below")
        yield from self._axes()
        left, right, top, bottom = self.x.start, self.x.end, self.y.end, self.y.start
        place = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}"'
        view = f'viewBox="{left:.1f} {top:.1f} {right - left:.1f} {bottom - top:.1f}"'
        clipped = any(trace.get("cliponaxis", True) and trace["type"] == "scatter" for trace in self.traces)
        yield f'<svg {place} {view} style="overflow:{"hidden" if clipped else "visible"}">'
        yield from self.curves()
        yield "</svg>"
        yield from self.shapes("above")
        yield from self._notes()
        yield from self._legend()
        yield "</svg>"

    def curves(self) -> Iterator[str]:
        """All traces."""
        before = None
        for trace in self.traces:
            if trace["type"] == "bar":
                yield from self._bars(trace)
            elif trace["type"] == "heatmap":
                yield from self._cells(trace)
            elif trace["type"] == "scatter":
                line = _stairs(trace, self.x.at(trace.get("x")), self.y.at(trace.get("y")))
                yield from self._curve(trace, *line, before)
                before = line

    def _axes(self) -> Iterator[str]:
        """Grid, labels and titles."""
        text, muted = f'style="fill:{themed(LIGHT.text)}"', themed(LIGHT.muted)
        left, right, bottom = self.x.start, self.x.end, self.y.start
        for place, name in self.y.ticks():
            if not self.y.names:
                yield f'<path d="M{left:.1f} {place:.1f}H{right:.1f}" style="stroke:{muted}" stroke-opacity=".2"/>'
            at = f'x="{left - 8:.1f}" y="{place + 0.35 * self.size:.1f}" text-anchor="end"'
            yield f"<text {at} {text}>{_plain(name)}</text>"
        for place, name in self.x.ticks():
            at = f'x="{place:.1f}" y="{bottom + 1.4 * self.size:.1f}" text-anchor="middle"'
            yield f"<text {at} {text}>{_plain(name)}</text>"
        for number, line in enumerate(lines(_title(self.x.told))):
            y = bottom + self.size * (2.9 + 1.3 * number)
            yield f'<text x="{0.5 * (left + right):.1f}" y="{y:.1f}" text-anchor="middle" {text}>{_plain(line)}</text>'
        for number, line in enumerate(lines(_title(self.y.told))):
            x, y = self.size * (1.0 + 1.3 * number), 0.5 * (bottom + self.y.end)
            turn = f'transform="rotate(-90 {x:.1f} {y:.1f})"'
            yield f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" {turn} {text}>{_plain(line)}</text>'

    def _curve(self, trace: dict[str, Any], x: Array, y: Array, before: tuple[Array, Array] | None) -> Iterator[str]:
        mode, line, marker = trace.get("mode", "lines"), trace.get("line") or {}, trace.get("marker") or {}
        path = "".join(f"{'L' if joined else 'M'}{a:.1f} {b:.1f}" for joined, a, b in _runs(x, y))
        fill = trace.get("fill")
        if fill in ("tozeroy", "tonexty") and len(x):
            floor = before if fill == "tonexty" and before is not None else (x[[0, -1]], np.full(2, self.y.start))
            back = "".join(f"L{a:.1f} {b:.1f}" for _, a, b in _runs(floor[0][::-1], floor[1][::-1]))
            yield f'<path d="{path}{back}Z" style="fill:{themed(trace.get("fillcolor"))}"/>'
        colour = line.get("color") or marker.get("color")
        colour = colour if isinstance(colour, str) else LIGHT.accent
        if "lines" in mode and path:
            wide = line.get("width") or 2
            dash = f' stroke-dasharray="{_dashes(line["dash"], wide)}"' if line.get("dash", "solid") != "solid" else ""
            yield f'<path d="{path}" style="stroke:{themed(colour)}" stroke-width="{wide:g}"{dash}/>'
        if "text" in mode:
            yield from self._texts(trace, x, y)
        if "markers" in mode:
            sizes = np.broadcast_to(np.asarray(marker.get("size", 6), dtype=float), x.shape)
            for a, b, size in zip(x, y, sizes):
                if math.isfinite(a) and math.isfinite(b) and size > 0:
                    yield _marker(marker, a, b, float(size), colour)

    def _texts(self, trace: dict[str, Any], x: Array, y: Array) -> Iterator[str]:
        """Beside the points of a curve, above or below them."""
        texts = _listed(trace.get("text"))
        texts = texts * len(x) if len(texts) == 1 else texts
        upright, _, side = str(trace.get("textposition") or "middle center").partition(" ")
        anchor = {"left": "end", "right": "start"}.get(side, "middle")
        told = (trace.get("textfont") or {}).get("color") or LIGHT.text
        colours = [told] * len(x) if isinstance(told, str) else _listed(told)
        for a, b, text, colour in zip(x, y, texts, map(themed, colours)):
            rows, step = lines(str(text or "")), 1.2 * self.size
            if not (rows and math.isfinite(a) and math.isfinite(b)):
                continue
            above = {"top": len(rows), "bottom": -1.0}.get(upright, 0.5 * len(rows) - 0.5)
            for number, line in enumerate(rows):
                place = b + 0.35 * self.size + (number - above) * step
                at = f'x="{a:.1f}" y="{place:.1f}" text-anchor="{anchor}"'
                yield f'<text {at} style="fill:{colour}">{_plain(line)}</text>'

    def _cells(self, trace: dict[str, Any]) -> Iterator[str]:
        """The cells of a map that have a value, each in its colour of the scale."""
        ends = [_ends(axis.at(trace.get(name))) for axis, name in ((self.x, "x"), (self.y, "y"))]
        z = np.array(trace["z"], dtype=float)
        known = z[np.isfinite(z)]
        low, high = trace.get("zmin", known.min(initial=0.0)), trace.get("zmax", known.max(initial=0.0))
        for i, j in np.argwhere(np.isfinite(z)).tolist():
            (left, right), (top, bottom) = sorted(ends[0][j : j + 2]), sorted(ends[1][i : i + 2])
            share = min(max((z[i, j] - low) / ((high - low) or 1.0), 0.0), 1.0)
            shade = _shade(trace.get("colorscale") or (), share)
            size = f'width="{right - left - 1:.1f}" height="{bottom - top - 1:.1f}"'
            yield f'<rect x="{left + 0.5:.1f}" y="{top + 0.5:.1f}" {size} style="fill:{shade}"/>'

    def _bars(self, trace: dict[str, Any]) -> Iterator[str]:
        lying = trace.get("orientation") == "h"
        along, across = (self.x, self.y) if lying else (self.y, self.x)
        ends = along.at(trace.get("x" if lying else "y"))
        raw = _listed(trace.get("y" if lying else "x"))
        middles = across.at(raw)
        step = abs(across.end - across.start) / ((across.high - across.low) or 1.0)
        widths = np.broadcast_to(np.asarray(trace.get("width") or 0.65, dtype=float), middles.shape) * step
        foot = float(along.at([0.0])[0]) if not along.log else along.start
        marker, texts = trace.get("marker") or {}, _listed(trace.get("text")) or [""] * len(middles)
        colour = marker.get("color", LIGHT.accent)
        colours = [colour] * len(middles) if isinstance(colour, str) else _listed(colour)
        outline = (marker.get("line") or {}).get("color")
        stroke = f";stroke:{themed(outline)}" if isinstance(outline, str) else ""
        for end, middle, wide, text, own in zip(ends, middles, widths, texts, colours):
            if not (math.isfinite(end) and math.isfinite(middle)):
                continue
            (a, b), (c, d) = sorted((foot, end)), (middle - 0.5 * wide, middle + 0.5 * wide)
            x, y, w, h = (a, c, b - a, d - c) if lying else (c, a, d - c, b - a)
            yield (
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" '
                f'style="fill:{themed(str(own))}{stroke}"/>'
            )
            if text and lying:
                style = f'style="fill:{themed(LIGHT.text)}"'
                yield f'<text x="{b + 5:.1f}" y="{middle + 0.35 * self.size:.1f}" {style}>{_plain(str(text))}</text>'

    def shapes(self, layer: str) -> Iterator[str]:
        """Lines and rectangles across the plot."""
        for shape in self.layout.get("shapes", ()):
            if shape.get("layer", "above") != layer:
                continue
            ends = []
            for axis, name in ((self.x, "x"), (self.y, "y")):
                told = [shape[f"{name}0"], shape[f"{name}1"]]
                whole = str(shape.get(f"{name}ref", name)).endswith(("domain", "paper"))
                ends.append(
                    [axis.start + t * (axis.end - axis.start) for t in told] if whole else axis.at(told).tolist()
                )
            (x, u), (y, v) = ends
            line = shape.get("line") or {}
            if shape.get("type") == "rect":
                at = f'x="{min(x, u):.1f}" y="{min(y, v):.1f}" width="{abs(u - x):.1f}" height="{abs(v - y):.1f}"'
                wide = line.get("width", 2)
                colours = {"fill": shape.get("fillcolor"), "stroke": line.get("color") if wide else None}
                style = ";".join(f"{part}:{themed(colour)}" for part, colour in colours.items() if colour)
                yield f'<rect {at} style="{style}" stroke-width="{wide:g}"/>'
            elif shape.get("type") == "line":
                wide = line.get("width", 1)
                dash = (
                    f' stroke-dasharray="{_dashes(line["dash"], wide)}"' if line.get("dash", "solid") != "solid" else ""
                )
                style = f'style="stroke:{themed(line.get("color"))}" stroke-width="{wide:g}"{dash}'
                yield f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}" {style}/>'

    def _notes(self) -> Iterator[str]:
        """Texts in the plot."""
        anchors = {"left": "start", "right": "end"}
        for note in self.layout.get("annotations", ()):
            if note.get("xref", "x") != "x" or note.get("yref", "y") != "y":
                continue
            x = self.x.note(note["x"]) + note.get("xshift", 0)
            y = self.y.note(note["y"]) - note.get("yshift", 0) + 0.35 * self.size
            if not (math.isfinite(x) and math.isfinite(y)):
                continue
            anchor = anchors.get(note.get("xanchor", "center"), "middle")
            colour = themed((note.get("font") or {}).get("color") or LIGHT.text)
            for number, line in enumerate(lines(note.get("text", ""))):
                place = f'x="{x:.1f}" y="{y + 1.2 * self.size * number:.1f}"'
                yield f'<text {place} text-anchor="{anchor}" style="fill:{colour}">{_plain(line)}</text>'

    def _legend(self) -> Iterator[str]:
        """Names above the plot, in as many rows as they take."""
        told = self.layout.get("showlegend", True)
        named = [
            t for t in self.traces if told and t.get("name") and t.get("showlegend", True) and t["type"] == "scatter"
        ]
        if len(named) < 2 and not any(trace.get("showlegend") for trace in named):
            return
        rows: list[list[tuple[float, dict[str, Any]]]] = [[]]
        x = self.x.start
        for trace in sorted(named, key=lambda one: one.get("legendrank", 1000)):
            wide = 40 + length(trace["name"], self.size - 1)
            if rows[-1] and x + wide > self.width:
                rows.append([])
                x = self.x.start
            rows[-1].append((x, trace))
            x += wide
        for above, row in enumerate(reversed(rows)):
            for x, trace in row:
                yield from self._entry(trace, x, self.y.end - self.size * (1.1 + 1.4 * above))

    def _entry(self, trace: dict[str, Any], x: float, y: float) -> Iterator[str]:
        line, marker = trace.get("line") or {}, trace.get("marker") or {}
        colour = line.get("color") or marker.get("color")
        colour = colour if isinstance(colour, str) else LIGHT.accent
        if "lines" in trace.get("mode", "lines"):
            dash = f' stroke-dasharray="{_dashes(line["dash"], 2)}"' if line.get("dash", "solid") != "solid" else ""
            yield f'<path d="M{x:.1f} {y:.1f}h26" style="stroke:{themed(colour)}" stroke-width="2"{dash}/>'
        if "markers" in trace.get("mode", ""):
            size = float(np.max(np.asarray(marker.get("size", 6), dtype=float)))
            yield _marker(marker, x + 13, y, size, colour)
        style = f'style="fill:{themed(LIGHT.text)}"'
        yield f'<text x="{x + 32:.1f}" y="{y + 0.35 * self.size:.1f}" {style}>{_plain(trace["name"])}</text>'


def _ends(middles: Array) -> list[float]:
    """Where cells begin and end, from their middles."""
    if len(middles) < 2:
        return [float(middles[0]) - 10, float(middles[0]) + 10]
    between = 0.5 * (middles[1:] + middles[:-1])
    return [1.5 * middles[0] - 0.5 * middles[1], *between.tolist(), 1.5 * middles[-1] - 0.5 * middles[-2]]


def _shade(stops: Sequence[tuple[float, str]], share: float) -> str:
    """The colour of a scale at a share of its way, straight between its stops."""
    stops = [(float(at), colour) for at, colour in stops if re.fullmatch(r"#[0-9A-Fa-f]{6}", str(colour))]
    if not stops:
        return themed(LIGHT.accent)
    right = next((n for n, (at, _) in enumerate(stops) if at >= share and n), len(stops) - 1)
    (start, before), (end, after) = stops[max(right - 1, 0)], stops[right]
    part = min(max((share - start) / ((end - start) or 1.0), 0.0), 1.0)
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (before, after)]
    return "#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in zip(*parts))


def _listed(values: object) -> list[Any]:
    if values is None:
        return []
    return [values] if isinstance(values, str) else np.asarray(values).tolist()


def _names(traces: Sequence[dict[str, Any]], axis: str) -> list[str]:
    """What stands along an axis of names, from its start; none where it has numbers."""
    seen = [v for trace in traces for v in _listed(trace.get(axis)) if v is not None]
    return list(dict.fromkeys(seen)) if seen and all(isinstance(v, str) for v in seen) else []


def _span(traces: Sequence[dict[str, Any]], axis: str, own: dict[str, Any], names: list[str]) -> tuple[float, float]:
    """Ends of an axis, as exponents on a logarithmic one."""
    if own.get("range") is not None:
        low, high = own["range"]
        return float(low), float(high)
    if names:
        return -0.5, len(names) - 0.5
    values = np.array([math.nan if v is None else v for t in traces for v in _listed(t.get(axis))], dtype=float)
    values = values[np.isfinite(values)]
    if own.get("type") == "log":
        values = np.log10(values[values > 0])
    elif any(t["type"] == "bar" and (t.get("orientation") == "h") == (axis == "x") for t in traces):
        values = np.append(values, 0.0)
    if own.get("rangemode") == "tozero":
        values = np.append(values, 0.0)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.5
    return (low if low == 0 else low - room), high + room


def _runs(x: Array, y: Array) -> Iterator[tuple[bool, float, float]]:
    """(joined to the point before, x, y) of the points there are."""
    joined = False
    for a, b in zip(x.tolist(), y.tolist()):
        if math.isfinite(a) and math.isfinite(b):
            yield joined, a, b
            joined = True
        else:
            joined = False


def _stairs(trace: dict[str, Any], x: Array, y: Array) -> tuple[Array, Array]:
    """The points of a curve whose steps are upright."""
    if (trace.get("line") or {}).get("shape") != "hv" or len(x) < 2:
        return x, y
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _marker(marker: dict[str, Any], x: float, y: float, size: float, colour: str) -> str:
    name, r = str(marker.get("symbol") or "circle"), 0.5 * size
    shape = SYMBOLS.get(name.removesuffix("-open"), SYMBOLS["circle"]).format(
        x=f"{x:.1f}", y=f"{y:.1f}", r=f"{r:.1f}", left=f"{x - r:.1f}", top=f"{y - r:.1f}", side=f"{size:.1f}",
        right=f"{x + r:.1f}", bottom=f"{y + r:.1f}",
    )  # fmt: skip
    own = marker.get("color") if isinstance(marker.get("color"), str) else colour
    paint = f"stroke:{themed(own)}" if name.endswith("-open") else f"fill:{themed(own)}"
    return f'<g style="{paint}">{shape}</g>'


def _dashes(dash: str, wide: float) -> str:
    """Lengths of dashes and gaps in pixels; those of names are for lines of width 3."""
    named = DASHES.get(dash)
    lengths = [float(part.removesuffix("px")) for part in (named or dash).split(",") if part.strip()]
    return ",".join(f"{length * wide / 3 if named else length:g}" for length in lengths)


def _round_step(step: float) -> float:
    """The least of 1, 2, 5 times a power of ten from a step on."""
    power = 10.0 ** math.floor(math.log10(step)) if step > 0 and math.isfinite(step) else 1.0
    return next(power * n for n in (1, 2, 5, 10) if power * n >= step * (1 - 1e-9)) if step > 0 else 1.0


def _title(axis: dict[str, Any]) -> str:
    return str((axis.get("title") or {}).get("text") or "")


def _plain(text: str) -> str:
    """A text of Plotly without its tags, escaped."""
    return escape(re.sub(r"<[^>]*>", "", text.replace("<br>", " ")))
