"""A visitor's own table: what is public about its columns is stated here, and it is simulated in this process.

Neither the table nor what comes of it is in the link, in the store or with the processes that solve.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import streamlit as st

from dpcore.errors import InputError
from dpcore.learning.experiment import Protocol
from dpcore.learning.tables import IGNORED, Column, LearningTable, checked_classes, read_source
from dpcore.numbers import read_number, write_number
from dpcore.plan.public import Category, Number
from dpcore.plan.source import Source
from pages.release_plan import upload
from pages.shared import compute, prose
from pages.shared.fields import listed
from pages.shared.messages import explain
from work.reading import Reading

from . import work
from .work import Asking, Cell

TEXT = prose.sections("private_learning")
NAME = "private_learning"
FILE = "file"

SECONDS = 300.0
"""Longest time that a simulation may take."""

MOST_SHOWN = 60
"""Columns."""

KINDS = {"number": "a number", "category": "categories", "class": "the class", IGNORED: "nothing that is used"}
FIELDS = {"low": "lower bound", "high": "upper bound", "values": "categories", "step": "bounds", "label": "the class"}

COMMAND = (
    "python -m dpcore learn --data people.csv --label ill --ranges 'age=0:100; sex=f|m; ill=no|yes; note=ignored' \\\n"
    "    --epsilon 1 --delta 1e-5"
)


@dataclass(frozen=True)
class Draft:
    """What the owner of a table has said about a column so far; kind : one of `KINDS`."""

    kind: str | None = None
    low: str = ""
    high: str = ""
    values: str = ""

    def column(self, name: str) -> Column | None:
        """What is public about it; None where it is not used.

        Raises
        ------
        InputError : it is not stated, or not as it should be.
        """
        if self.kind == IGNORED:
            return None
        if self.kind in ("category", "class"):
            return Category(name, listed(self.values))
        if self.kind is None:
            raise InputError("columns", name, "what it holds")
        low, high = (read_number(getattr(self, key), key, "a number that is public") for key in ("low", "high"))
        return Number(name, low, high)


@dataclass(frozen=True)
class Stated:
    """What is public about a table: the columns that are used, and the classes."""

    columns: tuple[Column, ...]
    classes: Category


@dataclass(eq=False)
class Run:
    """Something computed from the table in this process, told as a job is (`pages.shared.compute`).

    question : what was asked.   trace : what is known so far.
    """

    question: Any
    reading: Reading[Any]
    trace: list[Cell] = field(default_factory=list)
    solution: None = None

    @property
    def done(self) -> bool:
        return self.reading.done

    @property
    def halted(self) -> bool:
        """Whether it was ended before it was done."""
        return self.done and (self.reading.stopped or self.reading.error is not None)

    @property
    def error(self) -> Exception | None:
        return self.reading.error

    def stop(self) -> None:
        self.reading.stop()

    def forget(self) -> None:
        """Have it end, and hold nothing of the table."""
        self.reading.forget()
        self.question = None


# The table ---------------------------------------------------------------------------------------------


def table(model: str) -> LearningTable | None:
    """Draw what takes a table and what is to be stated about it; the table once all of it is."""
    own = upload.opened(NAME, TEXT, COMMAND, told)
    if own is None or own.look is None or own.look.answer is None:
        return None
    stated = _statement(own, own.look.answer)
    if stated is None:
        return None
    known = own.further.get("table")
    if known is None or known.question != stated:
        own.end("table")
        task = partial(_read, stated=stated, name=own.name)
        known = own.further["table"] = Run(stated, own.read(task))
        if compute.deserted():
            own.forget()
    if not upload.follow(known.reading, "stop_table"):
        return None
    if known.reading.answer is None:
        st.error(told(known.error) if isinstance(known.error, InputError) else "Reading was stopped.")
        return None
    found: LearningTable = known.reading.answer[model]
    return found


def _read(source: Source, tick: Callable[[], None], *, stated: Stated, name: str) -> dict[str, LearningTable]:
    """The table as each model learns it: coordinate descent the first class against the rest."""
    found = read_source(source, name, stated.columns, stated.classes)
    return {"naive-bayes": found, "coordinate-descent": found.binary(found.classes[0])}


def _statement(own: upload.Table, names: Mapping[str, bool]) -> Stated | None:
    """Ask what is public about every column; the answer once it is complete."""
    if len(names) > MOST_SHOWN:
        st.error(f"{len(names)} columns: expected at most {MOST_SHOWN}. The command line takes more:")
        st.code(COMMAND, language="sh")
        return None
    drafts = {name: own.stated.get(name, Draft()) for name in names}
    stated, wrong = read(drafts)
    with st.expander("What is public about its columns", expanded=stated is None):
        st.caption(TEXT["stated"])
        for at, (name, numbers) in enumerate(names.items()):
            _row(own, at, name, numbers, drafts[name], wrong.get(name, ""))
        if any(one.kind is None for one in drafts.values()):
            st.button("Use no other column", key="own_rest", on_click=_ignore_rest, args=(own, tuple(names)))
        if stated is not None and (line := command(own.name, drafts)):
            st.caption("The same on the command line:")
            st.code(line, language="sh", wrap_lines=True)
    if open_ := [name for name, one in drafts.items() if one.kind is None]:
        shown = ", ".join(prose.literal(name, 40) for name in open_[:5]) + (" …" if len(open_) > 5 else "")
        st.info(f"To be stated: {shown}.", icon=":material/edit:")
    elif "" in wrong:
        st.error(wrong[""])
    return stated


def read(drafts: Mapping[str, Draft]) -> tuple[Stated | None, dict[str, str]]:
    """(what they state together, if they do; complaints by column, "" for all of them)"""
    found: dict[str, Column | None] = {}
    wrong: dict[str, str] = {}
    for name, one in drafts.items():
        try:
            if one.kind is not None:
                found[name] = one.column(name)
                if one.kind == "class":
                    checked_classes(found[name])  # a category, as `Draft.column` makes it
        except InputError as error:
            wrong[name] = told(error)
    labels = [name for name, one in drafts.items() if one.kind == "class"]
    used = tuple(one for name, one in found.items() if one is not None and name not in labels)
    if len(labels) != 1:
        wrong[""] = f"{len(labels)} columns are the class: expected one."
    elif not used:
        wrong[""] = "No column to learn from: expected at least one number or one column of categories."
    if wrong or any(one.kind is None for one in drafts.values()):
        return None, wrong
    classes = found[labels[0]]
    assert isinstance(classes, Category)
    return Stated(used, classes), {}


def _row(own: upload.Table, at: int, name: str, numbers: bool, draft: Draft, wrong: str) -> None:
    """One column: its name, what it holds, and its public values."""
    shown = prose.literal(name, 80)
    with st.container(key=f"own_{at}_row", gap="xsmall"):
        left, middle, right = st.columns([3, 3, 5], vertical_alignment="bottom")
        left.markdown(f"**{shown}**  \n{'numbers' if numbers else 'text'}")
        with middle:
            _entry(own, at, name, draft, "kind", lambda told: st.selectbox(
                f"{shown} holds", list(KINDS), format_func=KINDS.get, placeholder="State it", **told
            ))  # fmt: skip
        with right:
            if draft.kind == "number":
                for place, key in zip(st.columns(2), ("low", "high")):
                    with place:
                        label = f"{shown}: {FIELDS[key]}"
                        _entry(own, at, name, draft, key, lambda told, label=label: st.text_input(
                            label, autocomplete="off", **told
                        ))  # fmt: skip
            elif draft.kind in ("category", "class"):
                _entry(own, at, name, draft, "values", lambda told: st.text_input(
                    f"{shown}: every value there may be", placeholder="no, yes", autocomplete="off", **told
                ))  # fmt: skip
        if wrong:
            st.error(wrong)


def _entry(
    own: upload.Table, at: int, name: str, draft: Draft, key: str, widget: Callable[[dict[str, Any]], object]
) -> None:
    """A widget that shows and changes one part of a draft."""
    where = f"own_{own.turn}_{at}_{key}"
    if where not in st.session_state:
        st.session_state[where] = getattr(draft, key)
    widget({"key": where, "on_change": _take, "args": (own, name, key, where)})


def _take(own: upload.Table, name: str, key: str, where: str) -> None:
    own.stated[name] = replace(own.stated.get(name, Draft()), **{key: st.session_state[where]})


def _ignore_rest(own: upload.Table, names: tuple[str, ...]) -> None:
    for at, name in enumerate(names):
        if own.stated.get(name, Draft()).kind is None:
            own.stated[name] = Draft(IGNORED)
            st.session_state[f"own_{own.turn}_{at}_kind"] = IGNORED


def command(file: str, drafts: Mapping[str, Draft]) -> str:
    """What states the same on the command line; "" where that has no words for it."""
    ranges, label = [], ""
    for name, one in drafts.items():
        column = one.column(name)
        if column is None:
            said = IGNORED
        elif isinstance(column, Category):
            said = "|".join(column.values)
            if len(column.values) != said.count("|") + 1 or len(column.values) < 2:
                return ""
        else:
            said = f"{write_number(column.low)}:{write_number(column.high)}"
        if {*";="} & {*name} or {*";"} & {*said} or name != name.strip():
            return ""
        label = name if one.kind == "class" else label
        ranges.append(f"{name}={said}")
    if not file.lower().endswith((".csv", ".tsv", ".txt")):
        return ""
    words = ["--data", file, "--label", label, "--ranges", "; ".join(ranges)]
    return f"python -m dpcore learn {shlex.join(words)}"


def told(error: InputError) -> str:
    """What a statement or a table is refused for, with the column it is about."""
    first, _, rest = error.field.partition(".")
    about, _, last = rest.rpartition(".")
    key, name = (last, about) if about else (first, rest)
    if first != "columns" or not rest:
        return explain(error, FIELDS)
    return explain(InputError(key, error.value, error.accepted), FIELDS) + f" ({prose.literal(name, 60)})"


# Simulations -------------------------------------------------------------------------------------------


def run(slot: str, asked: Asking, found: LearningTable) -> Run:
    """The simulation of the table under a name, begun if it is another one."""
    own = upload.held(NAME)
    known: Run | None = own.further.get(slot)
    if known is None or known.question[0] != asked or known.question[1] is not found:
        own.end(slot)
        known = own.further[slot] = _begun(asked, found, [])
        if compute.deserted():
            own.forget()
        with compute.PAGE_LOCK.left():
            known.reading.wait(0.2)
    return known


def go_on(slot: str) -> None:
    """Take up a simulation that was ended early, with what it has."""
    own = upload.held(NAME)
    known: Run = own.further[slot]
    own.further[slot] = _begun(*known.question, known.trace)


def _begun(asked: Asking, found: LearningTable, known: list[Cell]) -> Run:
    cells = list(known)
    have = {(one.key, one.epsilon) for one in cells}
    protocol = Protocol(asked.splits, asked.draws)

    def simulate(table: LearningTable, tick: Callable[[], None]) -> None:
        for key, what in asked.plan:
            if (key, what.privacy.epsilon) not in have:
                cell = work.one(table, what, key, protocol, tick)
                if cell is not None:
                    cells.append(cell)

    data: Callable[[], AbstractContextManager[LearningTable]] = partial(nullcontext, found)
    return Run((asked, found), Reading(data, simulate, seconds=SECONDS, failed=upload.failed), cells)
