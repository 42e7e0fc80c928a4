"""The sidebar: controls of a scalar noise problem, and the places for complaints under them.

The slider beside a field holds no state of its own: it moves, and follows, the field.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from dpcore.errors import InputError
from dpcore.loss import FAMILIES, parameters
from dpcore.privacy import DELTA, EPSILON, SENSITIVITY
from dpcore.privacy_profile import MU, RELEASES
from dpcore.problem_fields.noise import FIELDS
from pages.shared import fields, folding, prose
from pages.shared.address import FRAME
from pages.shared.messages import explain

from . import verdict
from .inputs import (
    BUDGETED,
    PRESETS,
    on_screen,
    preset_title,
    preset_values,
)
from .inputs import HOME as PAGE
from .view import View, view_of

EPSILON_STOPS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0]
DELTA_STOPS = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
               0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75, 0.9]  # fmt: skip

FURTHER = (
    "promise", "symmetric", "monotone", "support", "low", "high", "budget", "budget_most", "second_epsilon",
    "second_delta", "overlays", "method", "gap", "seconds", "cells",
)  # fmt: skip
"""Controls in the fold."""

LOSS_FIELDS = (*parameters(), "loss", "table")


@dataclass
class Controls:
    """What the controls say, and where under them a complaint belongs.

    view : None while some control holds a value that is not accepted.
    complaints : the messages of this run, for the main column.
    """

    view: View | None = None
    complaints: list[str] = field(default_factory=list)
    slots: dict[str, object] = field(default_factory=dict)

    def complain(self, error: InputError) -> None:
        """Put the message under the control that caused it."""
        message = explain(error)
        self.complaints.append(message)
        self.slots.get(slot_of(error.field), self.slots["epsilon"]).error(message)


def slot_of(name: str) -> str:
    """The control under which a complaint about the field `name` is shown."""
    if name.startswith(LOSS_FIELDS):
        return "loss"
    if name in ("mu", "profile", "pairs", "releases"):
        return "promise"
    for group in ("budget", "second"):
        if name.startswith(group):
            return group
    return "solver" if name in ("gap", "time_limit", "method", "cells_per_sensitivity") else name


def noise_controls() -> Controls:
    """Draw the controls of a scalar noise problem in the sidebar and read them."""
    controls = Controls()
    with st.sidebar:
        PAGE.note()
        _presets()
        for draw in (_promise, _privacy, _loss) if FRAME["projector"] else (_privacy, _query, _loss):
            draw(controls.slots)
        if not FRAME["projector"]:
            _more(controls.slots)
    try:
        controls.view = view_of(PAGE.values())
        if word := verdict.delta_warning(controls.view.problem, controls.view.people):
            controls.slots["people"].warning(word)
    except InputError as error:
        controls.complain(error)
    return controls


# One function per group of controls ------------------------------------------------------------------


def _presets() -> None:
    """The example that is on the screen, and others to take."""
    titles, shown = {preset_title(preset): preset for preset in PRESETS}, PAGE.values()
    st.session_state["preset"] = here = next((title for title, one in titles.items() if on_screen(one, shown)), None)
    st.selectbox(
        "Start from", titles, index=None, placeholder="an example …", key="preset", on_change=_take_preset,
        args=(titles,),
    )  # fmt: skip
    if here:
        st.caption(titles[here]["note"])


def _take_preset(titles: Mapping[str, dict]) -> None:
    if chosen := titles.get(st.session_state["preset"]):
        PAGE.choose(preset_values(chosen))


def _more(slots: dict) -> None:
    """What most visitors leave as it is; unfolded, from then on, where something of it is not as at first."""

    def draw() -> None:
        for group in (_promise, _constraints, _view, _solver):
            group(slots)

    folding.further("More: promise, constraints, comparison, solver", PAGE, FURTHER, draw)


def _promise(slots: dict) -> None:
    fields.pick(
        PAGE, "promise", "Promise",
        help="One pair (ε, δ) says little about larger losses of privacy. A whole curve δ(ε′) bounds all of them.",
    )  # fmt: skip


def _privacy(slots: dict) -> None:
    st.subheader("Privacy", anchor=False)
    promise = PAGE["promise"]
    if promise == "gdp":
        slots["promise"] = slots["epsilon"] = slots["delta"] = fields.quantities(PAGE, [MU])
        return
    if promise == "list":
        st.text_area("One pair a line: ε, δ", key="pairs", max_chars=4000, help="The noise keeps all of them.")
        slots["promise"] = slots["epsilon"] = slots["delta"] = st.empty()
        _people(slots)
        return
    if promise == "composed":
        fields.quantities(PAGE, [RELEASES])
    slots["promise"] = st.empty()
    fields.stops(PAGE, "epsilon", f"ε — {EPSILON.help}", EPSILON_STOPS, lambda v: f"{v:g}")
    st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
    slots["epsilon"] = _exactly(
        "epsilon", "ε exactly", help=f"{EPSILON.range}. Small ε: an observer learns little about any one person."
    )
    if 5 < (PAGE["epsilon"] or 0) <= EPSILON.high:
        odds = prose.number(math.exp(PAGE["epsilon"]), 3)
        st.warning(f"Little protection: what one person changes may become {odds} times as likely.")
    fields.stops(PAGE, "delta", f"δ — {DELTA.help}", DELTA_STOPS, prose.delta_text)
    st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
    slots["delta"] = _exactly("delta", "δ exactly", help=f"{DELTA.range}. {prose.ABOUT_DELTA}")
    st.caption(f"[See δ as the worst event]({prose.WORST_EVENT}). Keep it well below 1/n, n the number of people.")
    _people(slots)


def _people(slots: dict) -> None:
    slots["people"] = _exactly("people", "Number of people n", step=1, help="Of those in the data. Empty: not known.")


def _query(slots: dict) -> None:
    st.subheader("Query", anchor=False)
    left, right = st.columns(2)
    with left:
        slots["sensitivity"] = fields.quantities(PAGE, [SENSITIVITY])
    with right:
        st.text_input("Unit", key="unit", max_chars=24, help="Unit of the answer.")
        slots["unit"] = st.empty()
    fields.pick(
        PAGE, "values", "Query values",
        help="A count changes by whole numbers only. Noise for it has less to hide, and is a whole number itself.",
    )  # fmt: skip
    step = fields.number(PAGE, "step", "Step, in the unit", step=0.1) if PAGE["values"] == "step" else None
    slots["granularity"] = step or st.empty()


def _loss(slots: dict) -> None:
    st.subheader("What an error costs", anchor=False)
    help = "The optimal noise makes the average of this as small as (ε, δ)-privacy allows."
    fields.pick(PAGE, "loss", "Loss", help=help)
    where = fields.quantities(PAGE, FAMILIES[PAGE["loss"]].parameters)
    if PAGE["loss"] == "table":
        _table_controls()
    slots["loss"] = where or st.empty()


def _table_controls() -> None:
    st.text_area(
        "One line per point: error, loss", key="table", max_chars=20_000,
        help="Linear between the points; continued with its first and last slopes, which must not point down.",
    )  # fmt: skip
    st.file_uploader(
        "or a CSV file with two columns", ["csv", "txt"], key="table_file", on_change=_take_table, max_upload_size=1
    )


def _take_table() -> None:
    file = st.session_state["table_file"]
    if file is not None:
        st.session_state["table"] = file.getvalue().decode("utf-8", "replace").strip()[:20_000]


def _constraints(slots: dict) -> None:
    st.subheader("Constraints", anchor=False)
    for name in ("symmetric", "monotone"):
        fields.switch(FIELDS[name])
    fields.pick(PAGE, "support", "Noise may be")
    if PAGE["support"] == "interval":
        left, right = st.columns(2)
        with left:
            fields.number(PAGE, "low", "from", help="Empty: no end.", name="lower end")
        with right:
            fields.number(PAGE, "high", "to", help="Empty: no end.", name="upper end")
    slots["support"] = st.empty()
    _more_constraints(slots)


def _more_constraints(slots: dict) -> None:
    """A budget for a second loss and a second pair (ε₂, κ)."""
    fields.pick(
        PAGE, "budget", "Second loss with a limit",
        help="The first loss is made small; the mean of this one stays below a limit.",
    )  # fmt: skip
    if PAGE["budget"] in BUDGETED:
        fields.quantities(PAGE, FAMILIES[PAGE["budget"]].parameters, "budget_")
    elif PAGE["budget"] == "other":
        st.text_input(
            "its text", key="budget_text", max_chars=2000,
            help="As on the command line: huber:1, lp:1.5, asym:1:3, pinball:0.8, table:-1=1,0=0,1=1.",
        )  # fmt: skip
    if PAGE["budget"] != "none":
        fields.number(PAGE, "budget_most", "its mean may be at most", help="Empty: no limit yet.")
    slots["budget"] = st.empty()
    left, right = st.columns(2)
    with left:
        fields.number(PAGE, "second_epsilon", "ε₂", help="A second promise the noise must keep as well. Empty: none.")
    with right:
        fields.number(
            PAGE, "second_delta", "κ",
            help="δ at ε₂. A tiny κ at a large ε₂: losses of privacy far beyond are rare. 0: there are none.",
        )  # fmt: skip
    if PAGE["second_delta"] == 0 and PAGE["second_epsilon"] is not None:
        worst = min(PAGE["second_epsilon"], EPSILON.high)
        factor = f"e^{worst:g} ≈ {prose.plain(math.exp(worst), 3)}"
        st.caption(f"κ = 0: no release ever excludes a neighbour; at worst it is {factor} times as probable.")
    slots["second"] = st.empty()


def _view(slots: dict) -> None:
    st.subheader("Compare with", anchor=False)
    st.multiselect(
        "Mechanisms drawn beside the optimum", PAGE.options("overlays"), format_func=PAGE.label("overlays"),
        key="overlays", label_visibility="collapsed", disabled=PAGE["values"] != "real",
    )  # fmt: skip
    if PAGE["values"] != "real":
        st.caption("Drawn beside whole-number noise: the geometric law and the discrete staircase.")


def _solver(slots: dict) -> None:
    st.subheader("Solver", anchor=False)
    st.radio("Method", PAGE.options("method"), format_func=PAGE.label("method"), key="method")
    fields.number(PAGE, "gap", "Stop at a relative gap of (%)", step=0.05)
    fields.number(PAGE, "seconds", "Time limit (s)", step=1)
    fields.number(PAGE, "cells", "Cells per sensitivity (reference method)", step=1, name="cells per sensitivity")
    slots["solver"] = st.empty()


# Small pieces ---------------------------------------------------------------------------------------


def _exactly(key: str, label: str, *, step: float | None = None, help: str):
    """A field that a projector does without: the sliders are enough there."""
    return st.empty() if FRAME["projector"] else fields.number(PAGE, key, label, step=step, help=help)


def _choice(key: str, label: str, *, help: str | None = None) -> None:
    """A box of the options of a choice."""
    st.selectbox(label, PAGE.options(key), format_func=PAGE.label(key), key=key, help=help)
