"""What ε and δ mean: one mechanism, looked at from nine sides."""

from __future__ import annotations

import streamlit as st

from dpcore.optimal import solve
from pages.lessons import screen
from pages.shared import compute
from pages.what_epsilon_means import controls, laws, panels

PAGE = controls.PAGE

PAGE.open()
place = st.empty()
topic = controls.sidebar()
place.title(topic.title, anchor=False)
texts, key = panels.texts(topic.name), PAGE["mechanism"]

if key == "optimal" and topic.name != "response":
    job = compute.ask("law", laws.problem(controls.privacy()), laws.SETTINGS, task=solve)
    law = panels.solved(job)
else:
    law = laws.closed_form("laplace" if key == "optimal" else key, controls.privacy())
if law is not None:
    picture = panels.picture(topic, law)
    beside = None if topic.more is None else lambda: topic.more(PAGE, law)
    screen.first_screen(topic, picture, texts, beside=beside)
else:
    st.markdown(f"**In 60 seconds.** {texts['in 60 seconds']}")

screen.rest(PAGE, controls.TOPICS, topic, texts)
