"""Predict, then reveal: headline and notes of a topic stay covered until the visitor has committed to an answer."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.shared import prose
from pages.shared.address import FRAME

from .topic import Topic


def prediction(texts: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """(what is asked, the answers to choose from), from a topic's texts."""
    asked, *options = texts["prediction"].split("\n* ")
    return asked.strip(), tuple(option.strip() for option in options)


def covered(topic: Topic) -> bool:
    """The visitor is to predict, and has not done so for this topic yet."""
    return bool(FRAME["predict"]) and topic.name not in _made()


def ask(topic: Topic, texts: Mapping[str, str]) -> None:
    """The question in place of the headline; any answer lifts the cover."""
    asked, options = prediction(texts)
    with st.container(key="prediction"):
        st.markdown(f"**Predict first.** {prose.formulas(asked)}")
        with st.container(horizontal=True):
            for number, option in enumerate((*options, "Just show me")):
                said = "" if number == len(options) else option
                st.button(option, key=f"predict_{number}", on_click=_commit, args=(topic, said))


def said(topic: Topic) -> None:
    """What was predicted, under the headline."""
    if FRAME["predict"] and (told := _made().get(topic.name)):
        st.caption(f"You predicted: {told}.")


def _made() -> dict[str, str]:
    """The predictions of this session, by topic."""
    return st.session_state.setdefault("predictions", {})


def _commit(topic: Topic, answer: str) -> None:
    """Lift the cover (a callback)."""
    _made()[topic.name] = answer
