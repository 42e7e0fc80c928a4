"""The page's address: the topic, and the controls of all topics."""

from __future__ import annotations

import streamlit as st

from pages.shared.address import FRAME, Address, Choice
from pages.shared.lessons import controls_of
from pages.shared.topic import Topic

from .topics import TOPICS

BY_NAME = {topic.name: topic for topic in TOPICS}
PAGE = Address(
    "mechanism gallery",
    topic=Choice(TOPICS[0].name, {topic.name: topic.title for topic in TOPICS}),
    **controls_of(TOPICS),
)  # fmt: skip
"""Every control of the page."""

LECTURE = {
    f"{topic.title}: {one.label}": {"topic": topic.name, **one.values} for topic in TOPICS for one in topic.experiments
}
"""Every experiment of every topic, to begin with."""


def sidebar() -> Topic:
    """Draw the controls of the chosen topic and return it."""
    with st.sidebar:
        PAGE.note()
        st.selectbox("Topic", PAGE.options("topic"), format_func=PAGE.label("topic"), key="topic")
        topic = BY_NAME[PAGE["topic"]]
        topic.sidebar(PAGE)
        if not FRAME["projector"]:
            st.selectbox(
                "Start from", list(LECTURE), index=None, placeholder="a lecture's example …", key="gallery_lecture",
                on_change=_start,
            )  # fmt: skip
            st.caption(
                "Neighbours: data sets of the same size that differ in one person's row, unless the topic says "
                "otherwise. Samples are floating point: for looking, not for releasing."
            )
    return topic


def _start() -> None:
    """Take the chosen example."""
    if values := LECTURE.get(st.session_state["gallery_lecture"]):
        PAGE.choose(values)
        st.session_state["gallery_lecture"] = None
