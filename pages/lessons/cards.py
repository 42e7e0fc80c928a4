"""All topics of the Learn pages as cards, in the order of the path: a picture, the title, the claim."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from dpcore import figures
from pages.shared import compute, drawing, prose, watching
from work.question import TICK

from . import path
from .course import Course


@dataclass(frozen=True)
class Asked:
    """Pictures of all topics.   dark : in the colours of a dark page."""

    dark: bool


def drawn(asked: Asked, settings: None, *, progress: Callable[[Any], bool]) -> dict[str, str]:
    """Topic → its picture at the values that show its claim, as SVG; none where that takes a while: a task for the
    background."""
    found, colours = {}, figures.palette(asked.dark)
    for step in path.steps():
        topic, course = step.topic, step.course
        values = course.known({**course.page.read({})[0], **topic.start})
        if topic.work is None and values is not None:
            found[topic.name] = figures.thumbnail(topic.picture(values, colours).panels[0].figure)
        if progress(TICK):
            break
    return found


OPEN = "the topic from which all topics are looked at"


def button(course: Course) -> None:
    """A button that shows all topics over the page, until one of them is chosen or they are closed."""
    here = course.page["topic"]
    if st.button("All topics", key="topics", icon=":material/grid_view:", width="stretch"):
        st.session_state[OPEN] = here
    if st.session_state.get(OPEN) == here:  # also where the page runs again by itself meanwhile
        _all(course)
    else:
        _close()


def _close() -> None:
    st.session_state.pop(OPEN, None)


@st.dialog("All topics, in the order of the lecture notes", width="large", on_dismiss=_close)
def _all(course: Course) -> None:
    if OPEN not in st.session_state:
        st.rerun()
    job = compute.ask("cards", Asked(drawing.dark()), None, task=drawn, urgent=False, wait=0.05)
    _pictures(job)
    with st.container(key="cards"):
        for number, step in enumerate(path.steps()):
            with st.container(key=f"card_{number}", border=True, gap="xsmall"):
                st.html('<div class="sketch"></div>')
                turn = {"on_click": _turn, "args": (course, step)}
                st.button(step.topic.numbered, key=f"turn_to_{number}", type="tertiary", **turn)
                st.markdown(prose.formulas(step.course.texts(step.topic)["claim"]))


def _turn(course: Course, step: path.Step) -> None:
    """Turn to a topic and close the cards (a callback)."""
    _close()
    step.turn(course)


def _pictures(job: compute.Job) -> None:
    """The cards' pictures, once they are there."""
    if not job.done:
        watching.live([job], lambda: None)
    elif job.solution is not None:
        st.html(f"<style>{_rules(job.solution)}</style>")


def _rules(drawings: Mapping[str, str]) -> str:
    """The drawings as backgrounds of their cards."""
    rules = []
    for number, step in enumerate(path.steps()):
        if step.topic.name in drawings:
            image = base64.b64encode(drawings[step.topic.name].encode()).decode()
            rules.append(
                f".st-key-card_{number} .sketch {{ background-image: url(data:image/svg+xml;base64,{image}); }}"
            )
    return " ".join(rules)
