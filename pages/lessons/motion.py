"""The picture that moves, on the page: its states are asked for once the browser shows the still one."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.shared import compute, drawing, prose, watching
from work.question import Question

from . import moving
from .course import Course
from .predicting import covered
from .topic import Picture, Topic

SOON = 0.15
"""Seconds after which the browser asks for the states, and between two looks whether they are there."""


def moved(course: Course, topic: Topic, picture: Picture) -> Picture:
    """The picture, moving if its states are there; else it will move as soon as they are."""
    if topic.moves is None or course.known(course.page.values()) is None:
        return picture
    values, stops = course.own(topic), course.page.controls[topic.moves.key].stops
    here = stops.index(values.pop(topic.moves.key))
    told = tuple(sorted((key, tuple(value) if isinstance(value, list) else value) for key, value in values.items()))
    asked = moving.Asked(course.folder, topic.name, told, drawing.dark(), drawing.colours(hall=True).type)
    job = compute.current("states")
    if job is None or job.question != Question(moving.states, asked, None):
        _ask(asked)
        return picture
    if not job.done:
        watching.live([job], lambda: None, every=SOON)
        return picture
    if job.solution is None or len(job.solution.frames) != len(stops):
        return picture
    _follow(course, topic, job.solution, here)
    first, labels = picture.panels[0], list(map(topic.moves.label.format, stops))
    sent = moving.sent(first.figure, job.solution, here, labels, drawing.colours(hall=True))
    return replace(picture, panels=(replace(first, sent=sent), *picture.panels[1:]))


def _ask(asked: moving.Asked) -> None:
    """Ask for the states when the browser comes back for them: nobody else needs them."""
    looks: list[None] = []

    @st.fragment(run_every=SOON)
    def ask() -> None:
        looks.append(None)
        if len(looks) > 1 and compute.ask("states", asked, None, task=moving.states, urgent=False, wait=SOON).done:
            watching.draw_again()

    ask()


def _follow(course: Course, topic: Topic, found: moving.Moving, here: int) -> None:
    """The headline of what is seen while the picture is dragged; the page takes over the value where it is let go."""

    def settled() -> None:
        stop = st.session_state["motion"]["settled"]
        course.page.choose({topic.moves.key: course.page.controls[topic.moves.key].stops[int(stop)]})

    told = ["" if covered(topic) else plain(one) for one in found.headlines]
    data = {"chart": f"chart_{topic.name}", "headlines": told, "here": here}
    with st.container(key="moving"):
        _line(data=data, key="motion", on_settled_change=settled)


def plain(headline: str) -> str:
    """A headline without signs of Markdown but those of bold type."""
    return prose.unbroken(headline).replace("\\", "").replace("**", "\0").replace("*", "").replace("\0", "**")


_line = st.components.v2.component(
    "dp_frontier_moving", html='<p class="moving"></p>', js=prose.asset("moving.js"), isolate_styles=False
)
