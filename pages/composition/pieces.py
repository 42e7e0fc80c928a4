"""Controls, names and pieces of figures that the topics share. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from dpcore.accounting.truth import Band
from dpcore.figures import Palette
from pages.lessons import lines
from pages.lessons.widgets import Stops
from pages.shared import prose

EPSILON = Stops(1.0, (0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6,
                      0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0))  # fmt: skip
SIGMA = Stops(10.0, (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 14.0, 20.0, 30.0, 50.0, 70.0, 100.0))
DELTA = Stops(1e-5, (1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01))

VARIANTS = ("advanced-tight", "zcdp", "moments")
"""Rules that refine another one and have its colour, thinner."""


def style(rule: str, colours: Palette) -> dict:
    """The line of a rule: only the central limit theorem is no proof."""
    if rule == "clt":
        return lines.estimate(colours, rule)
    return lines.series(colours, rule, width=1.2 if rule in VARIANTS else None)


LEGEND = {
    "exact": "exact, certified", "basic": "basic", "advanced": "advanced", "advanced-tight": "advanced, sharper",
    "optimal": "optimal (ε, δ)", "renyi": "Rényi", "moments": "moments (tail bound)", "zcdp": "zCDP",
    "clt": "central limit (estimate)",
}  # fmt: skip


def name(rule: str) -> str:
    """A rule's short name, for legends and tables."""
    return LEGEND[rule]


def shown(value: float, digits: int = 3) -> str:
    """A number that is an upper bound; "nothing" where a rule promises nothing."""
    return prose.at_most(value, digits) if math.isfinite(value) else "nothing"


def least(value: float, digits: int = 3) -> str:
    """A number that is a lower bound; "unbounded" where no ε is enough."""
    return prose.at_least(value, digits) if math.isfinite(value) else "unbounded"


def between(band: Band) -> str:
    """The true value as far as it is known: the digits both bounds share, or both bounds."""
    if not math.isfinite(band.upper):
        return "unbounded"
    lower, upper = prose.bracket(band.lower, band.upper, 3)
    if band.upper - band.lower <= 5e-4 * band.upper:
        return prose.number(band.upper, 3)
    return f"{lower} to {upper}"


def curves(
    figure: go.Figure, x: Sequence[float], found: Mapping[str, Sequence[float]], colours: Palette, *, hover: str
) -> None:
    """One line per rule with marks where it was computed; none where a rule promises nothing."""
    for rule, y in found.items():
        values = [value if math.isfinite(value) and value > 0 else None for value in y]
        figure.add_scatter(
            x=list(x), y=values, name=name(rule), mode="lines", line=style(rule, colours),
            hovertemplate=f"<b>{name(rule)}</b><br>{hover}<extra></extra>",
        )  # fmt: skip


def truth(figure: go.Figure, x: Sequence[float], bands: Sequence[Band], colours: Palette, *, hover: str) -> None:
    """The band that is certified to hold the true value, computed at the marks."""
    lower, upper = [one.lower for one in bands], [one.upper for one in bands]
    line = lines.series(colours, "exact")
    figure.add_scatter(
        x=list(x), y=lower, mode="lines", line={**line, "width": 0.5}, showlegend=False, hoverinfo="skip"
    )
    figure.add_scatter(
        x=list(x), y=upper, name=name("exact"), mode="lines+markers", line=line, marker={"size": 5}, fill="tonexty",
        fillcolor=colours.fill, customdata=lower,
        hovertemplate=f"<b>exact</b><br>{hover}, at least %{{customdata:.3~r}}<extra></extra>",
    )  # fmt: skip
