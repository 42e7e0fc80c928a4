"""The page's address, the controls of the mechanism that all topics look at, and what a lecture begins with."""

from __future__ import annotations

import streamlit as st

from dpcore.optimal import solve
from dpcore.privacy import Privacy
from pages.lessons import screen
from pages.lessons.course import Course, Moved, address
from pages.lessons.topic import Topic, Values
from pages.lessons.widgets import EPSILON, Stops, delta, slider
from pages.shared import compute, fields
from pages.shared.address import FRAME, Choice

from . import laws
from .laws import NAMES, PURE, Law
from .pieces import DELTA
from .topics import TOPICS

MOVED = {
    "response": Moved(
        "Randomised response", "mechanism_gallery", "randomised_response",
        {"epsilon": "epsilon", "yes": "rr_share", "people": "rr_people"},
    )
}  # fmt: skip
PAGE = address(
    "what epsilon and delta mean", TOPICS, "worst-event", MOVED,
    mechanism=Choice("gaussian", NAMES), epsilon=EPSILON, delta=DELTA,
    yes=Stops(0.1, (0.001, 0.01, *(round(0.05 * k, 2) for k in range(1, 20)))),
    people=Stops(1000, (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)),
)  # fmt: skip
"""Every control of the page; the last two are those of the topic that moved."""

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


def sidebar(topic: Topic) -> None:
    """Draw the controls of the mechanism."""
    fields.pick(PAGE, "mechanism", "Mechanism", on_change=_new_game)
    slider(PAGE, "epsilon", "Privacy ε", on_change=_new_game)
    if not FRAME["projector"]:
        st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
    if PAGE["mechanism"] not in PURE:
        delta(PAGE, "delta", "Privacy δ", on_change=_new_game)


def _new_game() -> None:
    """Guesses were made on releases of another mechanism."""
    PAGE.choose({"guesses": ""})


def given(topic: Topic, values: Values) -> Values | None:
    """The values with the mechanism; None, with a word on the page, while it is solved for."""
    if (found := known(values)) is not None:
        return found
    privacy = Privacy(values["epsilon"], values["delta"])
    job = compute.ask("law", laws.problem(privacy), laws.SETTINGS, task=solve)
    if job.done and job.solution is not None:
        return {**values, "law": Law("optimal", job.solution.noise, job.solution.problem.privacy)}
    if job.done:
        st.error(
            "The solver found no answer in time. Choose a larger δ, or another mechanism.", icon=":material/error:"
        )
    else:
        screen.follow(job, "law", "Solving for the noise of least mean error …")
    return None


def known(values: Values) -> Values | None:
    """The values with a mechanism from the literature; None if it is the one to be solved for."""
    if values["mechanism"] == "optimal":
        return None
    return {**values, "law": laws.closed_form(values["mechanism"], Privacy(values["epsilon"], values["delta"]))}


COURSE = Course("what_epsilon_means", PAGE, TOPICS, PRESETS, NOTE, sidebar, given, known, MOVED)
