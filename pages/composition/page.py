"""Composition: what several releases reveal together, a budget for them, samples, and private training."""

from __future__ import annotations

import streamlit as st

from pages.composition import controls, panels
from pages.lessons import screen

PAGE = controls.PAGE

PAGE.open()
place = st.empty()
topic = controls.sidebar()
place.title(topic.title, anchor=False)
screen.draw(PAGE, controls.TOPICS, topic, panels.texts(topic.name))
