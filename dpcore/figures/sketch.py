"""Small pictures as SVG, without Plotly: a few curves in a box. Pure: numbers in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .palette import Palette

Array = NDArray[np.float64]

WIDTH, HEIGHT, MARGIN = 240, 84, 4


@dataclass(frozen=True)
class Line:
    """A curve through points.   kind : a colour of the palette: "accent", "muted" or "text".   filled : down to 0."""

    x: Array
    y: Array
    kind: str = "accent"
    filled: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Stems:
    """Bars from 0, of a law on a lattice; wide ones are a bar chart."""

    x: Array
    y: Array
    wide: bool = False


@dataclass(frozen=True)
class Wall:
    """What is impossible, from one place on the axis to another."""

    low: float
    high: float


Mark = Line | Stems | Wall


@dataclass(frozen=True)
class _Scale:
    """Numbers → pixels, y from 0 upwards."""

    low: float
    high: float
    top: float

    def x(self, value: float) -> float:
        return MARGIN + (value - self.low) / (self.high - self.low) * (WIDTH - 2 * MARGIN)

    def y(self, value: float) -> float:
        return HEIGHT - MARGIN - value / self.top * (HEIGHT - 2 * MARGIN)


def sketch(marks: Sequence[Mark], colours: Palette) -> str:
    """The marks over each other in one box, as an SVG file that may be stretched. Words have to stand beside it."""
    curves = [mark for mark in marks if not isinstance(mark, Wall)]
    ends = [end for mark in marks for end in _ends(mark)]
    scale = _Scale(min(ends), max(ends), max(float(mark.y.max()) for mark in curves))
    body = "".join(_drawn(mark, scale, colours) for mark in marks)
    base = HEIGHT - MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' preserveAspectRatio="none">{body}{_path(f"M{MARGIN} {base}H{WIDTH - MARGIN}", colours.muted, 0.6)}</svg>'
    )


def _ends(mark: Mark) -> tuple[float, float]:
    if isinstance(mark, Wall):
        return mark.low, mark.high
    room = 0.5 if isinstance(mark, Stems) else 0.0
    return float(mark.x.min()) - room, float(mark.x.max()) + room


def _drawn(mark: Mark, scale: _Scale, colours: Palette) -> str:
    if isinstance(mark, Wall):
        left, right = scale.x(mark.low), scale.x(mark.high)
        return _box(left, MARGIN, right - left, HEIGHT - 2 * MARGIN, colours.impossible)
    if isinstance(mark, Stems):
        width = (0.7 if mark.wide else 0.28) * (scale.x(1.0) - scale.x(0.0))
        return "".join(
            _box(scale.x(x) - width / 2, scale.y(y), width, scale.y(0) - scale.y(y), colours.accent)
            for x, y in zip(mark.x, mark.y)
        )
    points = "L".join(f"{scale.x(x):.1f} {scale.y(y):.1f}" for x, y in zip(mark.x, mark.y))
    area = ""
    if mark.filled:
        first, last = scale.x(float(mark.x[0])), scale.x(float(mark.x[-1]))
        floor = f"{scale.y(0):.1f}"
        area = f'<path fill="{colours.fill}" d="M{first:.1f} {floor}L{points}L{last:.1f} {floor}Z"/>'
    return area + _path(
        f"M{points}", getattr(colours, mark.kind), 2.0, ' stroke-dasharray="5 4"' if mark.dashed else ""
    )


def _box(left: float, top: float, width: float, height: float, fill: str) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def _path(points: str, stroke: str, width: float, dashes: str = "") -> str:
    style = f'fill="none" stroke="{stroke}" stroke-width="{width}" vector-effect="non-scaling-stroke"{dashes}'
    return f'<path {style} d="{points}"/>'
