"""Predict, then reveal: headline, explanation and notes of a topic, and the curves where a number is to be marked among
them, stay covered until the visitor has committed to an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go
import streamlit as st

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
        if topic.guess is not None:
            st.select_slider(
                "Your mark on the chart", topic.guess.stops, topic.guess.stops[len(topic.guess.stops) // 2],
                format_func=prose.plain, key=f"mark_{topic.name}",
            )  # fmt: skip
        with st.container(horizontal=True):
            for number, option in enumerate((*options, "Just show me")):
                said = "" if number == len(options) else option if topic.guess is None else mark(topic)
                st.button(option, key=f"predict_{number}", on_click=_commit, args=(topic, Made(asked, said)))


def mark(topic: Topic) -> float:
    """Where the mark stands."""
    return float(st.session_state[f"mark_{topic.name}"])


def said(topic: Topic) -> None:
    """What was predicted, under the headline."""
    if FRAME["predict"] and (told := _made().get(topic.name)) and told.answer:
        st.caption(f"You predicted: {told.answer if isinstance(told.answer, str) else prose.plain(told.answer)}.")


def marked(topic: Topic, picture: Picture, asked: str, values: Values, colours: Palette) -> Picture:
    """The picture with the mark: the axes alone while it is set, beside the truth afterwards, as long as the question
    is the same."""
    if topic.guess is None or not FRAME["predict"]:
        return picture
    first, made = picture.panels[0], _made().get(topic.name)
    if made is None:
        place = mark(topic)
        figure = _emptied(first.figure)
        figure.update_layout(shapes=[_level(topic.guess, place, "your mark", colours)])
        told = f"The axes alone, with your mark at {prose.plain(place)}."
        alone = replace(first, figure=figure, alt=told, table={"your mark": [prose.plain(place)]}, sent=None)
        return replace(picture, panels=(alone,))
    if not isinstance(made.answer, float) or made.asked != asked:
        return picture
    truth = topic.guess.truth(values)
    before = [shape.to_plotly_json() for shape in first.figure.layout.shapes]
    shapes = [
        *before,
        _level(topic.guess, made.answer, f"your mark: {prose.plain(made.answer)}", colours, made.answer < truth),
        _level(topic.guess, truth, f"it is {topic.guess.show(truth)}", colours, truth <= made.answer, dash="solid"),
    ]
    first.figure.layout.shapes = shapes
    if first.sent is not None:  # they hold for this state alone
        first.sent["layout"]["shapes"] = shapes
        for state in first.sent["frames"]:
            state["layout"] = {"shapes": before, **state["layout"]}
    alt = f"{first.alt} Your mark: {prose.plain(made.answer)}; it is {topic.guess.show(truth)}."
    return replace(picture, panels=(replace(first, alt=alt), *picture.panels[1:]))


def _emptied(figure: go.Figure) -> go.Figure:
    """The axes of a figure, as they are with what is drawn there."""
    drawn = [trace for trace in figure.data if trace.visible is not False and trace.x is not None]
    x, y = ([value for trace in drawn for value in moving.single(trace[name])] for name in ("x", "y"))
    empty = go.Figure(layout=figure.layout)
    empty.add_scatter(x=x, y=y, mode="markers", marker={"opacity": 0}, showlegend=False, hoverinfo="skip")
    return empty.update_layout(annotations=[], meta={"labels": False})


def _level(
    guess: Guess, height: float, text: str, colours: Palette, below: bool = False, dash: str = "dash"
) -> dict[str, Any]:
    """A line across the chart with its name above or below it."""
    return {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y", "y0": height, "y1": height,
        "line": {"color": colours.text, "width": 2, "dash": dash},
        "label": {"text": text, "textposition": guess.side, "yanchor": "top" if below else "bottom",
                  "font": {"size": colours.type, "color": colours.text}},
    }  # fmt: skip


def _made() -> dict[str, Made]:
    """The predictions of this session, by topic."""
    return st.session_state.setdefault("predictions", {})


def _commit(topic: Topic, made: Made) -> None:
    """Lift the cover (a callback)."""
    _made()[topic.name] = made
