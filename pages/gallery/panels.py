"""What the page draws of a topic, by the frame of all lessons."""

from __future__ import annotations

import streamlit as st

from dpcore.errors import InputError
from pages.shared import drawing, lessons, prose
from pages.shared.inputs import explain
from pages.shared.topic import Picture, Topic

from .controls import PAGE
from .topics import TOPICS


def draw(topic: Topic) -> None:
    """The whole lesson."""
    texts = prose.sections(f"gallery/{topic.name}")
    picture = shown(topic)
    if picture is not None:
        lessons.first_screen(topic, picture, texts)
    if topic.more is not None:
        topic.more(PAGE)
    lessons.experiments(PAGE, topic)
    lessons.question(PAGE, topic)
    lessons.theorem(texts)
    lessons.turn_page(PAGE, TOPICS, topic)


def shown(topic: Topic) -> Picture | None:
    """The topic's picture; None, with the reason on the page, where the controls hold what is not accepted."""
    try:
        return topic.picture(PAGE.values(), drawing.colours())
    except InputError as error:
        st.error(explain(error), icon=":material/error:")
        return None
