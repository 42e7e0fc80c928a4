"""A topic's texts and its picture."""

from __future__ import annotations

from functools import cache

import streamlit as st

from dpcore.errors import InputError
from pages.shared import drawing, prose
from pages.shared.inputs import explain
from pages.shared.topic import Picture, Topic

from .controls import PAGE


@cache
def texts(topic: str) -> dict[str, str]:
    """The sections of a topic's texts, by their names."""
    every = prose.sections("composition")
    return {title.partition(": ")[2]: text for title, text in every.items() if title.partition(": ")[0] == topic}


def shown(topic: Topic) -> Picture | None:
    """The topic's picture; None, with the reason on the page, where the controls hold what is not accepted."""
    try:
        return topic.picture(PAGE.values(), drawing.colours())
    except InputError as error:
        st.error(explain(error), icon=":material/error:")
        return None
