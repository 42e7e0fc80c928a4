"""From an error to ε: which ε keeps 95 % of releases within an error that the visitor can afford."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from dpcore.errors import InputError
from dpcore.inversion import OPTIMAL, Inversion
from dpcore.mechanisms import INTEGER_MECHANISMS, MECHANISMS
from pages.shared import compute, fields, prose
from pages.shared.messages import explain
from pages.shared.watching import live

from . import work
from .inputs import HOME
from .panels import escape
from .view import View

LABELS = {"loss threshold": "error you can afford", "threshold": "error you can afford", "epsilon": "ε"}


def panel(view: View) -> None:
    """The question in a fold, open once an error is given; its answers, each with a button that takes it."""
    with st.expander("Which ε for the error I can afford?", expanded=_opened()):
        place = fields.number(
            HOME, "afford", prose.axis("95 % of releases within ±", view.unit), name="error you can afford",
            help="The least ε that keeps it, at this δ and with these constraints. Empty: not asked.",
        )  # fmt: skip
        width = HOME["afford"]
        if width is None:
            return
        if view.problem.profile is not None:
            st.caption("For one pair (ε, δ): under “More” choose that promise.")
            return
        asked = work.Afforded(view.problem, width)
        try:
            asked.asked  # noqa: B018  # what is no width is said under the field
        except InputError as error:
            place.error(explain(error, LABELS))
            return
        job = compute.ask("afford", asked, None, task=work.afford, urgent=False)
        live([job], lambda: _answers(job, asked))


def _opened() -> bool:
    """An error is given, or one was and is not understood."""
    return HOME["afford"] is not None or HOME.refused("afford") is not None


def _answers(job: compute.Job, asked: work.Afforded) -> None:
    found = [one for one in (job.solution or job.trace) if isinstance(one, Inversion | work.Unreached)]
    st.markdown(escape(sentence(found, asked, done=job.done)))
    if not job.done:
        return
    with st.container(horizontal=True):
        for one in found:
            if isinstance(one, Inversion):
                st.button(
                    f"Take ε = {prose.plain(taken(one.epsilon_upper), 4)} ({name(one.mechanism)})",
                    key=f"take_{one.mechanism}", on_click=HOME.show, args=(settings(one),),
                )  # fmt: skip


def sentence(found: Sequence[Inversion | work.Unreached], asked: work.Afforded, *, done: bool) -> str:
    """What each mechanism needs, in Markdown: closed forms exactly, the best possible noise between two proved ends."""
    parts = []
    for one in found:
        if isinstance(one, work.Unreached):
            parts.append(f"{name(one.mechanism)}: no ε does it")
        elif one.mechanism != OPTIMAL:
            parts.append(f"{name(one.mechanism)}: ε = **{prose.at_most(one.epsilon_upper, 3)}**")
        elif one.epsilon_upper == 0:
            parts.append("best possible noise: **ε = 0**")
        else:
            low, high = prose.bracket(one.epsilon_lower, one.epsilon_upper)
            parts.append(f"best possible noise: ε between **{low}** and **{high}**, proved")
    if not done:
        parts.append("…")
    return f"Within ±{prose.plain(asked.width)}: {'; '.join(parts)}" + ("." if done else "")


def name(key: str) -> str:
    """A mechanism's name in a sentence."""
    return "best possible" if key == OPTIMAL else (MECHANISMS | INTEGER_MECHANISMS)[key].name.partition(",")[0]


def taken(epsilon: float) -> float:
    """An ε that keeps the error, to four digits, rounded up."""
    if epsilon == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    return float(f"{math.ceil(epsilon / step * (1 - 1e-12)) * step:.10g}")


def settings(one: Inversion) -> dict[str, object]:
    """The controls that show what was found: ε, and for the best possible noise the loss that it is best for."""
    told: dict[str, object] = {"epsilon": taken(one.epsilon_upper)}
    return told | ({"loss": "exceed", "threshold": one.problem.loss.breaks[-1]} if one.mechanism == OPTIMAL else {})
