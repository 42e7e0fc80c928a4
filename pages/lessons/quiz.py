"""The question of a topic: its box or options, Check, a hint after a miss, the solution on demand, the score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from pages.shared import fields, prose
from pages.shared.address import Address

from .course import UNANSWERED
from .topic import Question, Topic

TOLD = {
    "right": ("success", ":material/check:"), "wrong": ("warning", ":material/close:"),
    "empty": ("info", ":material/edit:"), "shown": ("info", ":material/lightbulb:"),
}  # fmt: skip


@dataclass(frozen=True)
class Round:
    """How far a visitor is with one question of a topic.

    number : of the question.   misses : so far.   verdict : on the last answer, a key of `TOLD`; "" before.
    """

    number: int = 0
    misses: int = 0
    verdict: str = ""


def draw(page: Address, topic: Topic) -> None:
    """The whole question. Nothing is judged before Check, and no answer is on the page before it is asked for."""
    now = _rounds().get(topic.name, Round())
    asked = topic.asked(now.number)
    st.subheader("A question", anchor=False)
    st.markdown(asked.text)
    _box(page, topic, asked)
    with st.container(horizontal=True, vertical_alignment="center"):
        act = partial(st.button, args=(page, topic))
        act("Check", key="check", type="primary", on_click=_check)
        act("Show solution", key="solution", on_click=_show)
        if topic.vary is not None:
            act("Another one", key="another", on_click=_another, help="The same question with other numbers.")
        if rounds := _rounds():
            solved = sum(one.verdict == "right" for one in rounds.values())
            st.caption(f"{solved} of {len(rounds)} questions solved in this session", width="content")
    if now.verdict:
        kind, icon = TOLD[now.verdict]
        getattr(st, kind)(words(asked, now), icon=icon)


def words(asked: Question, now: Round) -> str:
    """What is said about the last answer."""
    if now.verdict == "right":
        return f"Right. {asked.because()}"
    if now.verdict == "shown":
        right = asked.right()
        told = asked.options[int(right)] if asked.options else f"{prose.number(right)} {asked.unit}".strip()
        return f"The answer is: {told}. {asked.because()}"
    if now.verdict == "empty":
        return "Think first: there is no answer to check yet."
    hint = f" A hint: {asked.hint}" if now.misses == 1 and asked.hint else ""
    return f"Not quite.{hint}"


def _box(page: Address, topic: Topic, asked: Question) -> None:
    if asked.options:
        options = (UNANSWERED, *(str(number + 1) for number in range(len(asked.options))))
        labels = {UNANSWERED: "Think first …"} | dict(zip(options[1:], asked.options))
        st.radio("Your answer", options, format_func=labels.__getitem__, key=topic.answer, label_visibility="collapsed")
    else:
        fields.number(page, topic.answer, "Your answer", width=260, unit=asked.unit)


def _rounds() -> dict[str, Round]:
    """The visitor's, by topic."""
    return st.session_state.setdefault("rounds", {})


def _check(page: Address, topic: Topic) -> None:
    """Judge the answer (a callback)."""
    now, answer = _rounds().get(topic.name, Round()), page[topic.answer]
    asked = topic.asked(now.number)
    if answer is None or answer == UNANSWERED:
        verdict = "empty"
    else:
        verdict = "right" if asked.passes(float(answer) - bool(asked.options)) else "wrong"
    _rounds()[topic.name] = replace(now, misses=now.misses + (verdict == "wrong"), verdict=verdict)


def _show(page: Address, topic: Topic) -> None:
    """Show the solution (a callback)."""
    _rounds()[topic.name] = replace(_rounds().get(topic.name, Round()), verdict="shown")


def _another(page: Address, topic: Topic) -> None:
    """Ask with other numbers (a callback)."""
    _rounds()[topic.name] = Round(_rounds().get(topic.name, Round()).number + 1)
    page.choose({topic.answer: page.default(topic.answer)})
