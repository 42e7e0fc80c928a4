"""The page's address: the topic, and the controls of all topics."""

from __future__ import annotations

import streamlit as st

from pages.lessons import screen
from pages.lessons.topic import Topic
from pages.shared.address import Address, Choice

from .topics import TOPICS

PAGE = Address(
    "mechanism gallery",
    topic=Choice(TOPICS[0].name, {topic.name: topic.title for topic in TOPICS}),
    **screen.controls_of(TOPICS),
)  # fmt: skip
"""Every control of the page."""

LECTURE = {
    f"{topic.title}: {one.label}": {"topic": topic.name, **one.values} for topic in TOPICS for one in topic.experiments
}
"""Every experiment of every topic, to begin with."""


NOTE = (
    "Neighbours: data sets of the same size that differ in one person's row, unless the topic says otherwise. Samples "
    "are floating point: for looking, not for releasing."
)


def sidebar() -> Topic:
    """Draw the controls of the chosen topic and return it."""
    with st.sidebar:
        PAGE.note()
        topic = screen.chosen(PAGE, TOPICS)
        topic.sidebar(PAGE)
        screen.to_start_from(PAGE, LECTURE, key="gallery_lecture", note=NOTE)
    return topic
