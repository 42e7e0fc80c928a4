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
from pages.shared import prose
from pages.shared.address import FRAME

from . import moving
from .topic import Guess, Picture, Topic, Values


@dataclass(frozen=True)
class Made:
    """A prediction: the question, and the answer that was chosen or the place of the mark; "" for none."""

    asked: str
    answer: str | float


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
    """Under the chart, on which the mark can be dragged: a slider that does the same for a keyboard."""
    if topic.guess is None or not covered(topic):
        return
    stops = topic.guess.stops
    st.select_slider(
        "Your mark: drag it on the chart, or here", stops, stops[len(stops) // 2], format_func=prose.plain,
        key=_key(topic),
    )  # fmt: skip
    data = {"chart": f"chart_{topic.name}", "along": topic.guess.along, "stops": stops, "at": mark(topic)}
    _hand(data=data, key="hand", on_placed_change=lambda: take(topic, st.session_state["hand"]["placed"]))


def _key(topic: Topic) -> str:
    return f"mark_{topic.name}"


def mark(topic: Topic) -> float:
    """Where the mark stands."""
    stops = topic.guess.stops
    return float(st.session_state.get(_key(topic), stops[len(stops) // 2]))


def take(topic: Topic, told: Any) -> None:
    """Take the mark's stop from the browser: nothing else is believed."""
    if isinstance(told, int) and not isinstance(told, bool) and 0 <= told < len(topic.guess.stops):
        st.session_state[_key(topic)] = topic.guess.stops[told]


def said(topic: Topic) -> None:
    """What was predicted, under the headline."""
    if FRAME["predict"] and (told := _made().get(topic.name)) and told.answer:
        st.caption(f"You predicted: {told.answer if isinstance(told.answer, str) else prose.plain(told.answer)}.")


def marked(topic: Topic, picture: Picture, asked: str, values: Values, colours: Palette) -> Picture:
    """The picture with the mark: the axes alone while it is set, beside the truth afterwards, as long as the question
    is the same."""
    if topic.guess is None or not FRAME["predict"]:
        return picture
    first, made, guess = picture.panels[0], _made().get(topic.name), topic.guess
    if made is None:
        place = mark(topic)
        figure = _emptied(first.figure, guess)
        figure.update_layout(
            shapes=[_level(guess, place, "your mark", colours, 2 * guess.stops.index(place) >= len(guess.stops))]
        )
        told = f"The axes alone, with your mark at {prose.plain(place)}."
        alone = replace(first, figure=figure, alt=told, table={"your mark": [prose.plain(place)]}, sent=None)
        return replace(picture, panels=(alone,))
    if not isinstance(made.answer, float) or made.asked != asked:
        return picture
    truth = guess.truth(values)
    before = [shape.to_plotly_json() for shape in first.figure.layout.shapes]
    said, shown = f"your mark: {prose.plain(made.answer)}", f"it is {guess.show(truth)}"
    if _somewhere(first.figure, guess, truth):
        marks = [
            _level(guess, made.answer, said, colours, made.answer < truth),
            _level(guess, truth, shown, colours, truth <= made.answer, dash="solid"),
        ]
    else:
        marks = [_level(guess, made.answer, f"{said}; {shown}", colours)]
    shapes = [*before, *marks]
    first.figure.layout.shapes = shapes
    if first.sent is not None:  # they hold for this state alone
        first.sent["layout"]["shapes"] = shapes
        for state in first.sent["frames"]:
            state["layout"] = {"shapes": before, **state["layout"]}
    alt = f"{first.alt} Your mark: {prose.plain(made.answer)}; {shown}."
    return replace(picture, panels=(replace(first, alt=alt), *picture.panels[1:]))


def _somewhere(figure: go.Figure, guess: Guess, value: float) -> bool:
    """The axis has this value."""
    return math.isfinite(value) and (value > 0 or figure.layout[f"{guess.along}axis"].type != "log")


WIDE = 50
"""So many times the least stop is the largest where the axis is logarithmic while a mark is set."""


def _emptied(figure: go.Figure, guess: Guess) -> go.Figure:
    """The axes of a figure, as they are with what is drawn there, but for the guess's own, which spans its stops."""
    drawn = [trace for trace in figure.data if trace.visible is not False and trace.x is not None]
    x, y = ([value for trace in drawn for value in moving.single(trace[name])] for name in ("x", "y"))
    empty = go.Figure(layout=figure.layout)
    empty.add_scatter(x=x, y=y, mode="markers", marker={"opacity": 0}, showlegend=False, hoverinfo="skip")
    low, high = guess.stops[0], guess.stops[-1]
    axis = empty.layout[f"{guess.along}axis"]
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
