"""Hue, dash and symbol of every mechanism; the red of broken limits."""

from __future__ import annotations

from dpcore.figures import Palette
from dpcore.private_optimization.noises import NAMES

STYLES = {
    "optimal": ("optimal", "solid", "circle"),
    "tight": ("staircase", "longdash", "diamond"),
    "truncated-laplace": ("truncated-laplace", "dashdot", "square"),
    "laplace-shifted": ("uniform", "8px,3px,2px,3px", "triangle-up"),
    "laplace": ("laplace", "dash", "triangle-down"),
    "gaussian": ("gaussian", "dot", "pentagon"),
    "none": ("uniform", "solid", "circle"),
}


SHORT = {
    "optimal": "optimal",
    "tight": "tight",
    "truncated-laplace": "as published",
    "laplace-shifted": "shifted Laplace",
}


def name(key: str) -> str:
    return NAMES.get(key, "no noise")


def short(key: str) -> str:
    """A mechanism's name where legends stand in columns."""
    return SHORT.get(key, name(key))


def red(colours: Palette) -> str:
    """Only for limits that are broken; always with an × or a word as well."""
    return "#C40000" if colours.background > "#8" else "#FF6B5E"


def colour(key: str, colours: Palette) -> str:
    hue = STYLES[key][0]
    return colours.accent if hue == "optimal" else colours.hues[hue]


def stroke(key: str, colours: Palette) -> dict:
    """A mechanism's line."""
    return {"color": colour(key, colours), "dash": STYLES[key][1], "width": 2.5 if key == "optimal" else 2}


def marker(key: str, colours: Palette, size: int, *, broken: bool = False) -> dict:
    """A mechanism's symbol; a red cross for a plan that breaks a limit."""
    if broken:
        return {"color": red(colours), "symbol": "x", "size": 6}
    return {"color": colour(key, colours), "symbol": STYLES[key][2], "size": size}
