"""Draws that fall one by one: dots that pile up, beside what is expected of so many. Pure: no Streamlit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dpcore import figures
from dpcore.figures import Palette

from .moving import single, slider

FRAMES = 36
"""At most so many pictures on the way from the first draw to the last."""
PACE = 120
"""Milliseconds that each is seen."""
CELLS = 40
"""About so many cells a law is drawn with at most."""
FOOT = 1.8
"""Height of the slider and the buttons below the plot, in heights of its type."""


def cells(at: np.ndarray, masses: np.ndarray, most: int = CELLS) -> tuple[np.ndarray, np.ndarray]:
    """(edges, (n + 1,); probabilities, (n,), exact sums) of cells that hold as many neighbours each of the equally
    spaced places of a law; places of next to no probability at either end are left out."""
    seen = np.flatnonzero(masses > 1e-3 * masses.max())
    low, count = int(seen[0]), int(seen[-1] - seen[0]) + 1
    each = -(-count // most)
    starts = np.arange(low, low + count, each)
    parts = np.add.reduceat(masses[: starts[-1] + each], starts)
    step = at[1] - at[0]
    return at[low] + step * (each * np.arange(len(starts) + 1) - 0.5), parts


def heights(draws: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(middle of its cell, how many draws that cell holds once it has fallen) of every draw, in their order; NaN of
    those beside all cells."""
    cell = np.searchsorted(edges, draws, side="right") - 1
    inside = (cell >= 0) & (cell < len(edges) - 1)
    order = np.argsort(cell, kind="stable")
    _, first, counts = np.unique(cell[order], return_index=True, return_counts=True)
    rank = np.empty(len(draws))
    rank[order] = np.arange(len(draws)) - np.repeat(first, counts) + 1
    middles = 0.5 * (edges[1:] + edges[:-1])
    return np.where(inside, middles[np.clip(cell, 0, len(middles) - 1)], np.nan), np.where(inside, rank, np.nan)


def stops(count: int) -> list[int]:
    """Numbers of draws after which the picture is shown: each of the first ones, then fewer and fewer."""
    return np.unique(np.geomspace(1, count, FRAMES + 12).round().astype(int)).tolist()


Growing = Callable[[int], Mapping[str, Any]]
"""How many draws have fallen → what of a trace changes with that."""


def one_by_one(
    figure: go.Figure, count: int, growing: Mapping[int, Growing], label: str, colours: Palette
) -> go.Figure:
    """The figure of all draws, finished before, with the states on the way there and what runs through them.

    growing : number of a trace → what it is after so many draws.   label : of a state, with that number in braces.
    """
    seen, traces = stops(count), sorted(growing)
    figure._frame_objs = tuple(
        _frame(str(number), traces, [_changed(figure, one, growing[one](fallen)) for one in traces])
        for number, fallen in enumerate(seen)
    )
    below, foot = 4 * colours.type, round(FOOT * colours.type)  # the axis with its title; what stands below it
    found = slider([label.format(fallen) for fallen in seen], len(seen) - 1, colours)
    figure.layout.sliders = [found | {"x": 0.45, "len": 0.55, "pad": {"t": below, "b": 0}}]
    figures.player(figure, "one by one", colours, pace=PACE, y=0, yanchor="top", pad={"t": below + 8})
    figure.layout.margin.b += foot
    figure.layout.height += foot


def _frame(name: str, traces: list[int], data: list[dict[str, Any]]) -> go.Frame:
    """A state whose data are not looked through: Plotly takes a third of the page's time for that, twice over."""
    frame = go.Frame(name=name, traces=traces)
    frame._props["data"] = data
    return frame


def _changed(figure: go.Figure, trace: int, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": figure.data[trace].type, **{key: single(value) for key, value in values.items()}}
