"""The mechanism gallery: the field's mechanisms and attacks, one topic at a time, with exact pictures."""

from __future__ import annotations

import streamlit as st

from pages.lessons import screen
from pages.mechanism_gallery import controls
from pages.shared import prose

controls.PAGE.open()
place = st.container(key="topic_title")
topic = controls.sidebar()
place.title(topic.title, anchor=False)
screen.draw(controls.PAGE, controls.TOPICS, topic, prose.sections(f"gallery/{topic.name}"))
