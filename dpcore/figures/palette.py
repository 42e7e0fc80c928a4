"""Colours and dashes: one accent for the certified optimum, grey for what is provably impossible, a hue **and** a dash
for every mechanism, so that colour is never the only sign.

The hues keep at least ten units of CIEDE2000 between any two of them, to normal eyes and under simulated deuteranopia,
protanopia and tritanopia (Machado, Oliveira and Fernandes, 2009), and a contrast of 3 : 1 with their background
(WCAG 2.2, 1.4.11); tests/pages/test_palette.py measures both.

A chart that shows something else than mechanisms takes the same hues in order: `series(colours, 0)` is the accent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..mechanisms import INTEGER_MECHANISMS, MECHANISMS


@dataclass(frozen=True)
class Palette:
    """Colours readable on one background.

    background : what is behind the figure.
    rule : of lines that help to read a height, and around notes.
    type : size of the type in points; larger on a projector, and figures grow with it.
    """

    background: str
    accent: str
    fill: str
    impossible: str
    muted: str
    text: str
    rule: str
    hues: dict[str, str]
    type: int = 14


def _hues(laplace: str, truncated: str, gaussian: str, staircase: str, uniform: str, mixture: str) -> dict[str, str]:
    return {
        "laplace": laplace, "truncated-laplace": truncated, "gaussian": gaussian, "staircase": staircase,
        "uniform": uniform, "mixture": mixture,
    }  # fmt: skip


LIGHT = Palette(
    "#FDFDFB", "#0067A5", "rgba(0,103,165,0.18)", "rgba(110,118,124,0.26)", "#5C666D", "#1E2A32", "#E1E5E0",
    _hues("#DD5F1B", "#6A5118", "#911460", "#4C9C80", "#242424", "#A878F0"),
)  # fmt: skip
DARK = Palette(
    "#12181D", "#5BB8F0", "rgba(91,184,240,0.24)", "rgba(160,170,178,0.34)", "#98A4AD", "#E6EBEE", "#303A43",
    _hues("#F2661A", "#E9C85E", "#B878AE", "#60A06E", "#F2F2F2", "#A830A8"),
)  # fmt: skip

REGISTERED = MECHANISMS | INTEGER_MECHANISMS

SERIES = ("optimal", "laplace", "gaussian", "staircase", "truncated-laplace", "uniform")
"""Order in which hues and dashes serve charts that do not show mechanisms."""

PROJECTED = 18
"""Size of the type on a projector."""


def palette(dark: bool, projected: bool = False) -> Palette:
    """The colours for a dark or a light background, with type for a desk or for a lecture hall."""
    colours = DARK if dark else LIGHT
    return replace(colours, type=PROJECTED) if projected else colours


def hue(colours: Palette, key: str) -> str:
    """A mechanism's colour; the optimum has the accent."""
    if key == "optimal":
        return colours.accent
    return colours.hues[REGISTERED[key].hue] if key in REGISTERED else colours.muted


def line(key: str, colours: Palette, *, width: float | None = None) -> dict[str, Any]:
    """A mechanism's line for Plotly: the optimum solid and stronger, every other one with its dash."""
    wide = (2.5 if key == "optimal" else 2) * colours.type / 14
    style = {"color": hue(colours, key), "width": width or wide}
    return style if key == "optimal" else style | {"dash": REGISTERED[key].dash if key in REGISTERED else "dash"}


def series(colours: Palette, number: int) -> dict[str, Any]:
    """The line of the `number`-th curve of a chart that does not show mechanisms."""
    return line(SERIES[number % len(SERIES)], colours)
