"""Pictures that move: one figure with the states of a topic's picture along a control, through which the browser runs.

A topic says what it moves along, `topic.Moves`: its states are the stops of that control. They are computed in the
background by the very function that draws the still picture, so that no number has a second formula; what is the same
in all states is sent once.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dpcore.figures import Palette, palette
from work.question import TICK

from .topic import Topic, Values

PLAIN = 250
"""Points that a line may have before some are left out."""

SLIDER = 16
"""Pixels that the slider adds to a figure, which stays in the first screen: the rest it takes from the plot."""


@dataclass(frozen=True)
class Asked:
    """All states of a topic's picture.

    folder, topic : where it is.   values : of the controls, but for the one that moves.
    dark, size : of the palette, and its type.
    """

    folder: str
    topic: str
    values: tuple[tuple[str, Any], ...]
    dark: bool
    size: int


@dataclass(frozen=True)
class Moving:
    """traces : of all states, in order, with what is the same in all of them.   layout : as well.
    frames : one by one, the traces' and the layout's other properties.   headlines : one by one.

    Figures are `plain`: the process that shows them only hands them on.
    """

    traces: tuple[dict[str, Any], ...]
    layout: dict[str, Any]
    frames: tuple[tuple[tuple[dict[str, Any], ...], dict[str, Any]], ...]
    headlines: tuple[str, ...]


def states(asked: Asked, settings: None, *, progress: Callable[[Any], bool]) -> Moving:
    """The states of a picture, one by one: a task for the background."""
    course = import_module(f"pages.{asked.folder}.controls").COURSE
    topic = next(one for one in course.topics if one.name == asked.topic)
    values, colours = {**course.page.read({})[0], **dict(asked.values)}, replace(palette(asked.dark), type=asked.size)
    drawn, headlines = [], []
    for stop in course.page.controls[topic.moves.key].stops:
        found = worked_out(topic, course.known({**values, topic.moves.key: stop}), progress)
        picture = topic.picture(found, colours)
        drawn.append(picture.panels[0].figure.to_plotly_json())
        headlines.append(picture.headline)
        if progress(TICK):
            break
    return joined(drawn, headlines)


def worked_out(topic: Topic, values: Values, progress: Callable[[Any], bool]) -> Values:
    """The values with what the topic's task finds for them, at once."""
    if topic.work is None:
        return values
    return {**values, "found": topic.work.task(topic.work.asked(values), None, progress=progress)}


def joined(drawn: Sequence[Mapping[str, Any]], headlines: Sequence[str]) -> Moving:
    """Figures as one: a trace that not all of them have is hidden in the others."""
    keyed = [_by_key(one["data"]) for one in drawn]
    order: list[tuple] = []
    for one in keyed:
        place = 0
        for key in one:
            if key not in order:
                order.insert(place, key)
            place = order.index(key) + 1
    split = [_split([one.get(key) for one in keyed]) for key in order]
    layout, layouts = _common([dict(one["layout"]) for one in drawn])
    frames = tuple((tuple(rest[number] for _, rest in split), layouts[number]) for number in range(len(drawn)))
    return Moving(plain(tuple(same for same, _ in split)), plain(layout), plain(frames), tuple(headlines))


def sent(still: go.Figure, found: Moving, here: int, labels: Sequence[str], colours: Palette) -> dict[str, Any]:
    """What the browser is sent in place of the still picture: the same with its states as frames, and a slider below.
    All of it is plain already: nothing is looked through again.

    here : number of the state that the still picture shows.   labels : what the states are called.
    """
    traces, layout = found.frames[here]
    return {
        "data": [{**same, **rest} for same, rest in zip(found.traces, traces)],
        "layout": found.layout | layout | {
            "sliders": [slider(labels, here, colours)], "height": still.layout.height + SLIDER,
        },
        "frames": [
            {"data": list(data), "layout": more, "name": str(number), "traces": list(range(len(data)))}
            for number, (data, more) in enumerate(found.frames)
        ],
    }  # fmt: skip


def slider(labels: Sequence[str], here: int, colours: Palette) -> dict[str, Any]:
    """A slider below a figure whose frames are called "0", "1", …: labels of all of them, and which one is shown."""
    at_once = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    steps = [
        {"label": label, "method": "animate", "args": [[str(number)], at_once]} for number, label in enumerate(labels)
    ]
    clear = {"size": 1, "color": "rgba(0,0,0,0)"}
    return {
        "active": here, "steps": steps, "x": 0, "len": 1, "y": 0,
        "pad": {"t": 16 + 2 * colours.type, "b": 0}, "ticklen": 0,
        "font": clear, "minorticklen": 0, "tickcolor": "rgba(0,0,0,0)", "bgcolor": colours.impossible,
        "bordercolor": colours.muted, "activebgcolor": colours.accent,
        "currentvalue": {
            "xanchor": "left", "offset": 4,
            "font": {"size": colours.type, "color": colours.text},
        },
    }  # fmt: skip


def _by_key(traces: Sequence[Mapping[str, Any]]) -> dict[tuple, dict[str, Any]]:
    """Traces by what they are: kind, the words of the name without its numbers, and how many of those came before."""
    found: dict[tuple, dict[str, Any]] = {}
    for trace in traces:
        words = re.sub(r"[^a-z]+", " ", re.sub(r"<[^>]*>", "", str(trace.get("name") or "")).lower()).strip()
        key = (trace.get("type", "scatter"), words)
        found[(*key, sum(other[:2] == key for other in found))] = dict(trace)
    return found


def _split(traces: Sequence[dict[str, Any] | None]) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(what all states of a trace have, what each has besides)."""
    some = next(trace for trace in traces if trace is not None)
    if any(trace is None for trace in traces):
        traces = [{**some, "visible": False} if trace is None else {**trace, "visible": True} for trace in traces]
    same, rest = _common([_packed(trace) for trace in traces])
    return same, tuple({"type": some.get("type", "scatter"), **one} for one in rest)


def _common(parts: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(entries that all of some dictionaries have alike, the others' of each; None stands for what one lacks)."""
    keys = list(dict.fromkeys(key for part in parts for key in part))
    alike = [key for key in keys if all(key in part and _equal(part[key], parts[0].get(key)) for part in parts)]
    return {key: parts[0][key] for key in alike}, tuple(
        {key: part.get(key) for key in keys if key not in alike} for part in parts
    )


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        both = np.asarray(one), np.asarray(other)
        return both[0].shape == both[1].shape and bool(np.array_equal(*both, equal_nan=both[0].dtype.kind == "f"))
    return one == other


def _packed(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace with its places in single precision, a screen's, without those that a line passes through anyway."""
    found = {key: single(value) if key in ("x", "y") else value for key, value in trace.items()}
    x, y = found.get("x"), found.get("y")
    line = trace.get("mode") == "lines" and trace.get("fill") != "toself"
    if line and isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and len(x) > PLAIN:
        kept = _telling(x.astype(float), y.astype(float))
        found |= {"x": x[kept], "y": y[kept]}
        if "customdata" in found:
            found["customdata"] = single(found["customdata"])[kept]
    return found


def _telling(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Which points of a line are needed: without the others it is nowhere off by a pixel, nor by much of its value."""
    kept = np.arange(len(x))
    if np.isnan(y).all():
        return kept
    allowed = 5e-4 * np.minimum(np.nanmax(y) - np.nanmin(y), 2 * np.abs(y))
    for _ in range(4):
        left, middle, right = kept[:-2:2], kept[1:-1:2], kept[2::2]
        count = min(len(left), len(middle), len(right))
        left, middle, right = left[:count], middle[:count], right[:count]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (x[middle] - x[left]) / (x[right] - x[left])
            off = np.abs(y[left] + share * (y[right] - y[left]) - y[middle])
        kept = np.setdiff1d(kept, middle[off <= 0.25 * allowed[middle]])
    return kept


def plain(value: Any) -> Any:
    """Data as JSON has them, numbers in arrays as Plotly packs them (`single` reads those again)."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.ndim == 1:
        return {"dtype": "f4", "bdata": base64.b64encode(value.tobytes()).decode()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return list(map(plain, value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def single(values: Any) -> Any:
    """Numbers, gaps among them, as an array; texts as they are."""
    if isinstance(values, Mapping):  # as Plotly packs them
        values = np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])
    if isinstance(values, np.ndarray):
        return values.astype(np.float32) if values.dtype.kind in "iuf" else values
    numbers = [math.nan if value is None else value for value in values]
    if not all(isinstance(value, int | float | np.number) for value in numbers):
        return values
    return np.asarray(numbers, dtype=np.float32)
