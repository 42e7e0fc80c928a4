"""Predict, then reveal: headline, explanation and notes of a topic, and the curves where a number is to be marked among
them, stay covered until the visitor has committed to an answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from dpcore import figures
from dpcore.figures import Palette
from pages.shared import folding, prose
from pages.shared.address import FRAME

from . import moving
from .topic import Guess, Panel, Picture, Sketch, Topic, Values

Answer = str | float | tuple[float, ...]
"""What was chosen, the place of the mark, or the heights of the sketch; "" for none."""


@dataclass(frozen=True)
class Made:
    """A prediction: the question, and the answer to it."""

    asked: str
    answer: Answer


def prediction(texts: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """(what is asked, the answers to choose from), from a topic's texts."""
    asked, *options = texts["prediction"].split("\n* ")
    return asked.strip(), tuple(option.strip() for option in options)


def covered(topic: Topic) -> bool:
    """The visitor is to predict, and has not done so for this topic yet."""
    return bool(FRAME["predict"]) and topic.name not in _made()


def question(topic: Topic, texts: Mapping[str, str], values: Values) -> str:
    """What is asked."""
    return prediction(texts)[0] if topic.guess is None else topic.guess.asks(values)


def ask(topic: Topic, texts: Mapping[str, str], values: Values) -> None:
    """The question in place of the headline; any answer lifts the cover."""
    asked = question(topic, texts, values)
    options = prediction(texts)[1] if topic.guess is None else ("Commit",)
    with st.container(key="prediction"):
        st.markdown(f"**Predict first.** {prose.formulas(asked)}")
        with st.container(horizontal=True):
            for number, option in enumerate((*options, "Just show me")):
                said = "" if number == len(options) else option if topic.guess is None else mark(topic)
                st.button(option, key=f"predict_{number}", on_click=_commit, args=(topic, Made(asked, said)))


def place(topic: Topic) -> None:
    """Under the chart, on which mark or sketch can be drawn: sliders that do the same for a keyboard."""
    guess = topic.guess
    if guess is None or not covered(topic):
        return
    data = {"chart": f"chart_{topic.name}", "stops": guess.stops, "at": mark(topic)}
    if isinstance(guess, Sketch):
        data |= {"along": "y", "places": guess.places}
        folding.fold(
            "Draw the curve on the chart, or set its heights here", lambda: _sliders(topic, guess), key="heights"
        )
    else:
        data |= {"along": guess.along}
        _slider(topic, "Your mark: drag it on the chart, or here")
    _hand(data=data, key="hand", on_placed_change=lambda: take(topic, st.session_state["hand"]["placed"]))


def _sliders(topic: Topic, guess: Sketch) -> None:
    """One for each height of a sketch."""
    for number, where in enumerate(guess.places):
        _slider(topic, guess.where(where), number)


def _slider(topic: Topic, label: str, number: int = 0) -> None:
    """Sets one height of a sketch, or the mark."""
    key, now = f"{_key(topic)}_{number}", mark(topic)
    st.session_state[key] = now[number] if isinstance(now, tuple) else now
    st.select_slider(
        label, topic.guess.stops, format_func=prose.plain, key=key,
        on_change=lambda: _put(topic, number, st.session_state[key]),
    )  # fmt: skip


def _put(topic: Topic, number: int, stop: float) -> None:
    """A slider was moved (a callback)."""
    now = mark(topic)
    st.session_state[_key(topic)] = (*now[:number], stop, *now[number + 1 :]) if isinstance(now, tuple) else float(stop)


def _key(topic: Topic) -> str:
    return f"mark_{topic.name}"


def mark(topic: Topic) -> float | tuple[float, ...]:
    """Where the mark stands; the heights of a sketch."""
    guess = topic.guess
    middle = guess.stops[len(guess.stops) // 2]
    first = (middle,) * len(guess.places) if isinstance(guess, Sketch) else middle
    return st.session_state.get(_key(topic), first)


def take(topic: Topic, told: Any) -> None:
    """Take the stop of the mark, or of every height of a sketch, from the browser: nothing else is believed."""
    guess = topic.guess

    def stands(stop: Any) -> bool:
        return isinstance(stop, int) and not isinstance(stop, bool) and 0 <= stop < len(guess.stops)

    if isinstance(guess, Sketch):
        if isinstance(told, list) and len(told) == len(guess.places) and all(map(stands, told)):
            st.session_state[_key(topic)] = tuple(guess.stops[stop] for stop in told)
    elif stands(told):
        st.session_state[_key(topic)] = guess.stops[told]


def said(topic: Topic, asked: str, values: Values) -> None:
    """What was predicted, under the headline; of a sketch, where it misses most."""
    if not FRAME["predict"] or (made := _made().get(topic.name)) is None or made.answer == "":
        return
    if not isinstance(made.answer, tuple):
        st.caption(f"You predicted: {made.answer if isinstance(made.answer, str) else prose.plain(made.answer)}.")
    elif made.asked == asked:
        guess, truth = topic.guess, topic.guess.truth(values)
        most = max(range(len(truth)), key=lambda number: abs(truth[number] - made.answer[number]))
        st.caption(
            f"Your sketch, the dashed line, misses most at {guess.where(guess.places[most])}: "
            f"{prose.plain(made.answer[most])}, and it is {guess.show(truth[most])}."
        )


def marked(topic: Topic, picture: Picture, asked: str, values: Values, colours: Palette) -> Picture:
    """The picture with the mark or sketch: the axes alone while it is set, beside the truth afterwards, as long as the
    question is the same."""
    if topic.guess is None or not FRAME["predict"]:
        return picture
    first, made, guess = picture.panels[0], _made().get(topic.name), topic.guess
    if made is None:
        alone = replace(first, figure=_emptied(first.figure, guess), sent=None)
        if isinstance(guess, Sketch):
            alone = _to_draw(alone, guess, mark(topic), colours)
        else:
            alone = _to_mark(alone, guess, mark(topic), colours)
        return replace(picture, panels=(alone,))
    if isinstance(made.answer, str) or made.asked != asked:
        return picture
    if isinstance(guess, Sketch):
        added, told = [_path(guess, made.answer, colours)], "Your sketch is the dashed line."
    else:
        added, told = _beside_truth(first.figure, guess, made.answer, guess.truth(values), colours)
    before = [shape.to_plotly_json() for shape in first.figure.layout.shapes]
    first.figure.layout.shapes = shapes = [*before, *added]
    if first.sent is not None:  # they hold for this state alone
        first.sent["layout"]["shapes"] = shapes
        for state in first.sent["frames"]:
            state["layout"] = {"shapes": before, **state["layout"]}
    return replace(picture, panels=(replace(first, alt=f"{first.alt} {told}"), *picture.panels[1:]))


def _to_mark(panel: Panel, guess: Guess, place: float, colours: Palette) -> Panel:
    """The axes with the mark."""
    below = 2 * guess.stops.index(place) >= len(guess.stops)
    panel.figure.update_layout(shapes=[_level(guess, place, "your mark", colours, below)])
    told = prose.plain(place)
    return replace(panel, alt=f"The axes alone, with your mark at {told}.", table={"your mark": [told]})


def _to_draw(panel: Panel, guess: Sketch, heights: tuple[float, ...], colours: Palette) -> Panel:
    """The axes with the sketch."""
    panel.figure.add_scatter(
        x=guess.places, y=heights, mode="lines+markers", showlegend=False, hoverinfo="skip", cliponaxis=False,
        line={"color": colours.text, "width": 2, "dash": "dash"}, marker={"size": 12, "color": colours.text},
    )  # fmt: skip
    table = {"at": [guess.where(one) for one in guess.places], "your sketch": [prose.plain(one) for one in heights]}
    told = ", ".join(f"{height} at {where}" for where, height in zip(*table.values(), strict=True))
    return replace(panel, alt=f"The axes alone, with your sketch: {told}.", table=table)


def _path(guess: Sketch, heights: tuple[float, ...], colours: Palette) -> dict[str, Any]:
    """The sketch as a line over the curves."""
    way = " L".join(f"{x!r},{y!r}" for x, y in zip(guess.places, heights, strict=True))
    return {"type": "path", "path": f"M{way}", "line": {"color": colours.text, "width": 2, "dash": "dash"}}


def _beside_truth(
    figure: go.Figure, guess: Guess, place: float, truth: float, colours: Palette
) -> tuple[list[dict[str, Any]], str]:
    """The mark and the truth as lines across the chart, and both in words."""
    said, shown = f"your mark: {prose.plain(place)}", f"it is {guess.show(truth)}"
    told = f"Your mark: {prose.plain(place)}; {shown}."
    if not _somewhere(figure, guess, truth):
        return [_level(guess, place, f"{said}; {shown}", colours)], told
    mark = _level(guess, place, said, colours, place < truth)
    return [mark, _level(guess, truth, shown, colours, truth <= place, dash="solid")], told


def _somewhere(figure: go.Figure, guess: Guess, value: float) -> bool:
    """The axis has this value."""
    return math.isfinite(value) and (value > 0 or figure.layout[f"{guess.along}axis"].type != "log")


WIDE = 50
"""So many times the least stop is the largest where the axis is logarithmic while a mark is set."""


def _emptied(figure: go.Figure, guess: Guess | Sketch) -> go.Figure:
    """The axes of a figure, as they are with what is drawn there, but for the guess's own, which spans its stops."""
    drawn = [trace for trace in figure.data if trace.visible is not False and trace.x is not None]
    x, y = ([value for trace in drawn for value in moving.single(trace[name])] for name in ("x", "y"))
    empty = go.Figure(layout=figure.layout)
    empty.add_scatter(x=x, y=y, mode="markers", marker={"opacity": 0}, showlegend=False, hoverinfo="skip")
    low, high = guess.stops[0], guess.stops[-1]
    axis = empty.layout[f"{guess.along if isinstance(guess, Guess) else 'y'}axis"]
    if low > 0 and (high >= WIDE * low or axis.type == "log"):
        axis.update(figures.log_ticks(low, high) | {"range": [math.log10(low), math.log10(high)]})
    else:
        axis.update(type="linear", tickvals=None, ticktext=None, range=[low, high])
    empty.update_xaxes(fixedrange=True).update_yaxes(fixedrange=True)
    return empty.update_layout(annotations=[], dragmode=False, meta={"labels": False})


def _level(
    guess: Guess, place: float, text: str, colours: Palette, below: bool = False, dash: str = "dash"
) -> dict[str, Any]:
    """A line across the chart with its name on one side of it: below or above; left or right."""
    along, across = guess.along, "x" if guess.along == "y" else "y"
    side = {"yanchor": "top" if below else "bottom"}
    if along == "x":
        side = {"xanchor": "right" if below else "left", "yanchor": "top", "textangle": 0}
    return {
        "type": "line", f"{across}ref": "paper", f"{across}0": 0, f"{across}1": 1, f"{along}ref": along,
        f"{along}0": place, f"{along}1": place,
        "line": {"color": colours.text, "width": 2, "dash": dash},
        "label": {"text": text, "textposition": guess.side, "font": {"size": colours.type, "color": colours.text}}
        | side,
    }  # fmt: skip


def _made() -> dict[str, Made]:
    """The predictions of this session, by topic."""
    return st.session_state.setdefault("predictions", {})


def _commit(topic: Topic, made: Made) -> None:
    """Lift the cover (a callback)."""
    _made()[topic.name] = made


_hand = st.components.v2.component("dp_frontier_mark", js=prose.asset("mark.js"), isolate_styles=False)
