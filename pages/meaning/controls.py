"""The page's address and its sidebar: topic, mechanism, ε and δ, and the topic's own controls."""

from __future__ import annotations

import streamlit as st

from dpcore.privacy import Privacy
from pages.shared import lessons, prose
from pages.shared.address import FRAME, Address, Choice
from pages.shared.topic import Topic

from .laws import NAMES, PURE
from .pieces import DELTA, EPSILON
from .topics import TOPICS

BY_NAME = {topic.name: topic for topic in TOPICS}
PAGE = Address(
    "what epsilon and delta mean",
    topic=Choice(TOPICS[0].name, {topic.name: topic.title for topic in TOPICS}),
    mechanism=Choice("gaussian", NAMES), epsilon=EPSILON, delta=DELTA,
    **lessons.controls_of(TOPICS),
)  # fmt: skip
"""Every control of the page."""

PRESETS = {
    "A first lecture: what a promise allows": {"topic": "worst-event", "mechanism": "gaussian", "epsilon": 1.0,
        "delta": 0.1},
    "The salary of one researcher": {"topic": "privacy-loss", "mechanism": "laplace", "epsilon": 1.0},
    "Play against the attacker": {"topic": "game", "mechanism": "laplace", "epsilon": 1.0, "guesses": ""},
    "A strict promise": {"topic": "posterior", "mechanism": "laplace", "epsilon": 0.1, "prior": 0.05},
    "f-DP in one picture": {"topic": "tradeoff", "mechanism": "gaussian", "epsilon": 1.0, "delta": 0.1},
    "Why bounded noise has no zCDP": {"topic": "renyi", "mechanism": "truncated-laplace", "epsilon": 1.0,
        "delta": 0.01},
}  # fmt: skip


def sidebar() -> Topic:
    """Draw the controls and return the chosen topic."""
    with st.sidebar:
        PAGE.note()
        st.selectbox("Topic", PAGE.options("topic"), format_func=PAGE.label("topic"), key="topic")
        topic = BY_NAME[PAGE["topic"]]
        if topic.name != "response":
            st.selectbox(
                "Mechanism", PAGE.options("mechanism"), format_func=PAGE.label("mechanism"), key="mechanism",
                on_change=_new_game,
            )  # fmt: skip
        st.select_slider("Privacy ε", EPSILON.stops, format_func=lambda v: f"{v:g}", key="epsilon", on_change=_new_game)
        if not FRAME["projector"]:
            st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
        if topic.name != "response" and PAGE["mechanism"] not in PURE:
            st.select_slider("Privacy δ", DELTA.stops, format_func=prose.delta_text, key="delta", on_change=_new_game)
        topic.sidebar(PAGE)
        if not FRAME["projector"]:
            st.selectbox(
                "Start from", list(PRESETS), index=None, placeholder="a lecture's example …", key="lecture",
                on_change=_take_preset,
            )  # fmt: skip
            st.caption(
                "Neighbours: data sets that differ in one person; the answer then moves by at most one "
                "*sensitivity*, the unit "
                "of all axes. Samples are floating point: for looking, not for releasing."
            )
    return topic


def privacy() -> Privacy:
    """What the controls ask for."""
    return Privacy(PAGE["epsilon"], PAGE["delta"])


def _take_preset() -> None:
    if values := PRESETS.get(st.session_state["lecture"]):
        PAGE.choose(values)


def _new_game() -> None:
    """Guesses were made on releases of another mechanism."""
    PAGE.choose({"guesses": ""})
