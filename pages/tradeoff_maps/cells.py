"""The map as a table: shown at once, in the colours and at the place of the picture that takes its place.

The browser needs seconds to load the library that draws the picture. The table lies below it and disappears when the
picture is there (assets/maps.css), so nothing moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from dpcore.figures import Palette
from dpcore.sweeps import Outcome
from pages.shared import prose

from . import charts
from .charts import Quantity
from .work import Axes

STYLE = prose.asset("maps.css")

FEW = 6
"""Columns whose figures a phone has room for."""


def html(axes: Axes, outcomes: Sequence[Outcome], shown: Quantity, *, colours: Palette) -> str:
    """A row for every δ, the largest first, a column for every ε; cells still to come are empty."""
    z, texts = charts.values(axes, outcomes, shown)
    shades, margin = charts.scale(shown, z, colours), charts.margins(shown, colours)
    tall = (charts.HEIGHT - margin["t"] - margin["b"]) / len(axes.deltas) - charts.GAP
    rows = [
        f'<tr style="height:{tall:.2f}px"><th scope="row"{_quiet(i, axes.deltas)}>{prose.delta_text(delta)}</th>'
        + "".join(_cell(value, text, shades) for value, text in zip(z[i], texts[i]))
        + "</tr>"
        for i, delta in reversed(list(enumerate(axes.deltas)))
    ]
    ends = "".join(
        f'<th scope="col"{_quiet(j, axes.epsilons)}>{epsilon:g}</th>' for j, epsilon in enumerate(axes.epsilons)
    )
    many = " many" if len(axes.epsilons) > FEW else ""
    columns = f'<col style="width:{margin["l"] - 1.5 * charts.GAP:g}px"/><col span="{len(axes.epsilons)}"/>'
    return (
        f"<style>{STYLE}</style>"
        f'<table class="map-cells{"" if charts.written(axes, shown) else " bare"}{many}" style="'
        f"--left:{margin['l']}px;--right:{margin['r']}px;--top:{margin['t']}px;--bottom:{margin['b']}px;"
        f'--type:{colours.type}px;--gap:{charts.GAP}px">'
        f"<caption>{escape(shown.title)}, by δ (rows) and ε (columns)</caption>"
        f"<colgroup>{columns}</colgroup>"
        f'<thead><tr><th scope="col">δ, ε</th>{ends}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )


def _cell(value: float, text: str, shades: charts.Scale) -> str:
    if not np.isfinite(value):
        return "<td></td>"
    ground = shades.at(value)
    shade = "#" + "".join(f"{round(part):02x}" for part in ground)
    return f'<td style="background:{shade};color:{charts.ink(ground)}">{escape(text)}</td>'


def _quiet(place: int, values: Sequence[float]) -> str:
    """Labels that the picture leaves out, too, are there for screen readers alone."""
    return "" if place % charts.stride(values) == 0 else ' class="quiet"'
