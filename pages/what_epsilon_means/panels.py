"""What the page draws beside the frame of a lesson: the solver at work, and the topic's texts."""

from __future__ import annotations

from functools import cache

import streamlit as st

from pages.lessons import screen
from pages.lessons.topic import Picture, Topic
from pages.shared import compute, drawing, prose

from .controls import PAGE
from .laws import Law


@cache
def texts(topic: str) -> dict[str, str]:
    """The sections of a topic's texts, by their names."""
    every = prose.sections("what_epsilon_means")
    return {title.partition(": ")[2]: text for title, text in every.items() if title.partition(": ")[0] == topic}


def picture(topic: Topic, law: Law) -> Picture:
    """What the topic shows of the mechanism."""
    return topic.picture({**PAGE.values(), "law": law}, drawing.colours())


def solved(job: compute.Job) -> Law | None:
    """The certified optimum once it is there; until then a word, and the page runs again by itself."""
    if job.done and job.solution is not None:
        return Law("optimal", job.solution.noise, job.solution.problem.privacy)
    if job.done:
        st.error(
            "The solver found no answer in time. Choose a larger δ, or another mechanism.", icon=":material/error:"
        )
        return None

    screen.follow(job, "law", "Solving for the noise of least mean error …")
    return None
