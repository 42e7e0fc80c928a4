"""The page's address and its sidebar: topic, mechanism, ε and δ, and the topic's own controls."""

from __future__ import annotations

import streamlit as st

from dpcore.privacy import Privacy
from pages.lessons import screen
from pages.lessons.topic import Topic
from pages.shared import prose
from pages.shared.address import FRAME, Address, Choice

from .laws import NAMES, PURE
from .pieces import DELTA, EPSILON
from .topics import TOPICS

PAGE = Address(
    "what epsilon and delta mean",
    topic=Choice(TOPICS[0].name, {topic.name: topic.title for topic in TOPICS}),
    mechanism=Choice("gaussian", NAMES), epsilon=EPSILON, delta=DELTA,
    **screen.controls_of(TOPICS),
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


NOTE = (
    "Neighbours: data sets that differ in one person; the answer then moves by at most one *sensitivity*, the unit of "
    "all axes. Samples are floating point: for looking, not for releasing."
)


def sidebar() -> Topic:
    """Draw the controls and return the chosen topic."""
    with st.sidebar:
        PAGE.note()
        topic = screen.chosen(PAGE, TOPICS)
        if topic.name != "response":
            st.selectbox(
                "Mechanism", PAGE.options("mechanism"), format_func=PAGE.label("mechanism"), key="mechanism",
                on_change=_new_game,
            )  # fmt: skip
        st.select_slider("Privacy ε", EPSILON.stops, format_func=lambda v: f"{v:g}", key="epsilon", on_change=_new_game)
        if not FRAME["projector"]:
            st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
        if topic.name != "response" and PAGE["mechanism"] not in PURE:
            st.select_slider(
                "Privacy δ", DELTA.stops, format_func=prose.delta_text, key="delta", on_change=_new_game,
                help=prose.ABOUT_DELTA,
            )  # fmt: skip
        topic.sidebar(PAGE)
        screen.to_start_from(PAGE, PRESETS, key="lecture", note=NOTE)
    return topic


def privacy() -> Privacy:
    """What the controls ask for."""
    return Privacy(PAGE["epsilon"], PAGE["delta"])


def _new_game() -> None:
    """Guesses were made on releases of another mechanism."""
    PAGE.choose({"guesses": ""})
