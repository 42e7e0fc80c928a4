"""Composition: what several releases reveal together, a budget for them, samples, and private training."""

from __future__ import annotations

import streamlit as st

from pages.composed import controls, panels
from pages.shared import lessons

PAGE = controls.PAGE

PAGE.open()
place = st.empty()
topic = controls.sidebar()
place.title(topic.title, anchor=False)
texts = panels.texts(topic.name)

picture = panels.shown(topic)
if picture is not None:
    lessons.first_screen(topic, picture, texts)
if topic.more is not None:
    topic.more(PAGE)
lessons.experiments(PAGE, topic)
lessons.question(PAGE, topic)
lessons.theorem(texts)
lessons.turn_page(PAGE, controls.TOPICS, topic)
