"""Controls, colours and pieces of figures that several topics share. Pure."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Chart, Palette
from dpcore.noise import Noise
from pages.lessons import lines
from pages.lessons.widgets import Stops
from pages.shared import prose

from .laws import Law

DELTA = Stops(0.1, (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5))
SHARE = Stops(1.0, tuple(round(0.025 * k, 3) for k in range(1, 41)))
"""How far the neighbour's answer is, in sensitivities."""
PROBE = Stops(1.0, tuple(round(0.1 * k, 1) for k in range(31)))
"""ε′, at which an event is looked for, in multiples of ε."""

A, B = "A", "B"
"""The two databases."""
GREY = "rgba(127,127,127,0.16)"


def window(noise: Noise, shift: float, coverage: float = 0.98) -> tuple[float, float]:
    """The part of the axis with nearly all releases of both databases."""
    low, high = noise.interval(coverage)
    margin = 0.08 * (high - low + shift)
    return low - margin, high + shift + margin


def places(noise: Noise, low: float, high: float, shift: float) -> np.ndarray:
    """Where curves of both laws are drawn: a grid, and both sides of everything where they may jump."""
    x, jumps = np.linspace(low, high, 801), [noise.support[0], noise.support[1]]
    jumps += [place for place, _ in noise.atoms] if len(noise.atoms) < 50 else []
    if hasattr(noise, "edges"):
        jumps += noise.edges.tolist()
    if hasattr(noise, "gamma"):
        steps = np.arange(math.ceil(max(abs(low), abs(high)) / noise.sensitivity) + 2)
        jumps += [s * (k + noise.gamma) * noise.sensitivity for k in steps for s in (-1, 1)]
    jumps = np.array([j for j in jumps if math.isfinite(j)])
    near = np.concatenate([jumps, jumps + shift])
    gap = 1e-9 * (high - low)
    x = np.concatenate([x, near - gap, near + gap, [0.0, shift]])
    return np.unique(x[(x >= low) & (x <= high)])


def densities(
    law: Law, shift: float, colours: Palette, names: tuple[str, str] = ("database A", "database B")
) -> tuple[go.Figure, np.ndarray, float]:
    """(figure with the densities of releases of both, where they are drawn, height of the figure)."""
    noise, figure = law.noise, Chart()
    low, high = window(noise, shift)
    x = places(noise, low, high, shift)
    top = 0.0
    for side, moved in ((A, 0.0), (B, shift)):
        y = noise.density(x - moved)
        top = max(top, float(y.max()))
        figure.add_scatter(
            x=x, y=y, name=names[side == B], mode="lines", line=lines.series(colours, side),
            hovertemplate=f"<b>{names[side == B]}</b><br>release %{{x:.3g}}<br>density %{{y:.3g}}<extra></extra>",
        )  # fmt: skip
    top = top or 1.0
    for side, moved in ((A, 0.0), (B, shift)):
        for place, mass in noise.atoms:
            if mass > 1e-9:
                figure.add_scatter(
                    x=[place + moved] * 2, y=[0, 1.06 * top], mode="lines+markers+text", showlegend=False,
                    line=lines.series(colours, side), marker={"size": [0, 10]},
                    text=["", prose.number(mass, 3)], textposition="middle right",
                    hovertemplate=f"<b>{names[side == B]}</b><br>exactly %{{x:.3g}}: {mass:.3g}<extra></extra>",
                )  # fmt: skip
    figure.update_xaxes(title="released answer (in sensitivities)", range=[low, high])
    figure.update_yaxes(title="probability density", range=[0, 1.16 * top])
    return figure, x, 1.16 * top


def event(x: np.ndarray, upper: np.ndarray, lower: np.ndarray) -> tuple[list, list]:
    """The outline of the region where upper > lower, piece by piece, for `fill="toself"`."""
    inside = np.flatnonzero(upper > lower * (1 + 1e-9))
    if not inside.size:
        return [], []
    outline_x: list = []
    outline_y: list = []
    for piece in np.split(inside, np.flatnonzero(np.diff(inside) > 1) + 1):
        outline_x += [*x[piece], *x[piece][::-1], None]
        outline_y += [*upper[piece], *lower[piece][::-1], None]
    return outline_x, outline_y


def probability(value: float, digits: int = 3) -> str:
    """A probability for people; tiny ones as powers."""
    return tidy(prose.number(value, digits))


def at_most(value: float, digits: int = 3) -> str:
    """An upper bound for people, rounded up."""
    return tidy(prose.at_most(value, digits))


def told(law: Law, value: float, digits: int = 3) -> str:
    """A δ of the law, or a chance of guessing right, for people: of an exact formula the nearest number, a certified
    upper bound rounded up. One quantity, one text, whichever topic says it."""
    return at_most(value, digits) if law.solved else probability(value, digits)


def success(law: Law, variation: float) -> str:
    """How often the best attacker guesses right, from the total variation: one half more of it than by luck."""
    return f"{told(law, 50 + 50 * variation)}\u202f%"


def tidy(text: str) -> str:
    """A decimal number without zeros at its end."""
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def percent(share: float) -> str:
    """A probability as a percentage with digits enough near 0 and 1."""
    digits = 1 if 0.01 <= share <= 0.99 else 3
    text = f"{100 * share:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')}\u202f%"
