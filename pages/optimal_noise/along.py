"""What is proved at every stop of the slider of ε, for the headline to follow while it is dragged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from dpcore.errors import InputError
from dpcore.privacy import Privacy
from pages.shared import compute, prose, watching

from . import work
from .controls import EPSILON_STOPS
from .inputs import HOME
from .view import View


def headline(view: View) -> None:
    """Draw it, empty until the slider is moved; nothing where ε is no slider's."""
    problem = view.problem
    if problem.profile is not None or HOME["promise"] != "pair" or view.settings.method != "certified":
        return
    try:  # the same question wherever the slider stands
        least = replace(problem, privacy=Privacy(EPSILON_STOPS[-1], problem.privacy.delta))
    except InputError:  # a support too narrow for a law at the largest ε is so at all
        return
    asked = work.Along(least, tuple(EPSILON_STOPS))
    job = compute.ask("along", asked, None, task=work.along, urgent=False, wait=0.0)
    if not job.done:
        watching.live([job], lambda: None)
    elif job.solution:
        _draw(_told(view, asked, job.solution))


def _told(view: View, asked: work.Along, found: Sequence[work.Bounds | None]) -> list[str]:
    """The headline at every stop; the session keeps the last ones."""
    of = asked, found, view.unit
    kept = st.session_state.get("along")
    if kept is None or kept[0] != of:
        kept = of, [_sentence(view, epsilon, bounds) for epsilon, bounds in zip(EPSILON_STOPS, found)]
        st.session_state["along"] = kept
    return kept[1]


def _draw(told: list[str]) -> None:
    data = {"slider": "epsilon_stop", "headlines": told, "here": EPSILON_STOPS.index(st.session_state["epsilon_stop"])}
    with st.container(key="along"):
        _line(data=data, key="along_line")


def _sentence(view: View, epsilon: float, bounds: work.Bounds | None) -> str:
    if bounds is None:
        return ""
    verb, tail = prose.errs(view.problem.loss, view.unit)
    there = replace(view.problem, privacy=Privacy(epsilon, view.problem.privacy.delta))
    lower, upper = prose.bracket(*bounds)
    ends = f"at least **{lower}**" if lower == upper else f"between **{lower}** and **{upper}**"
    return prose.unbroken(f"The best {prose.promise(there)} {verb} {ends}{' ' + tail if tail else ''}.")


_line = st.components.v2.component(
    "dp_frontier_along", html='<p class="moving"></p>', js=prose.asset("along.js"), isolate_styles=False
)
