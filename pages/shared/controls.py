"""The sidebar: controls of a scalar noise problem, and the places for complaints under them.

The slider beside a number box holds no state of its own: it moves, and follows, the box.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from dpcore.errors import InputError
from dpcore.problem import NoiseProblem, SolverSettings

from . import prose
from .inputs import (
    BUDGETS,
    DEFAULTS,
    LOSSES,
    METHODS,
    OVERLAYS,
    PRESETS,
    SUPPORTS,
    VALUES,
    choice,
    choose,
    current,
    explain,
    malformed,
    read_problem,
    read_settings,
)

EPSILON_STOPS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0]
DELTA_STOPS = [0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
               0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.75, 0.9]  # fmt: skip

LOSS_FIELDS = ("exponent", "tau", "slope", "threshold", "loss", "table")


@dataclass
class Controls:
    """What the controls say, and where under them a complaint belongs.

    problem : None while some control holds a value that is not accepted.
    complaints : the messages of this run, for the main column.
    """

    problem: NoiseProblem | None = None
    settings: SolverSettings = field(default_factory=SolverSettings)
    unit: str = ""
    overlays: tuple[str, ...] = ()
    complaints: list[str] = field(default_factory=list)
    slots: dict[str, object] = field(default_factory=dict)

    def complain(self, error: InputError) -> None:
        """Put the message under the control that caused it."""
        message = explain(error)
        self.complaints.append(message)
        self.slots.get(slot_of(error.field), self.slots["epsilon"]).error(message)  # type: ignore[attr-defined]


def slot_of(name: str) -> str:
    """The control under which a complaint about the field `name` is shown."""
    if name.startswith(LOSS_FIELDS):
        return "loss"
    for group in ("budget", "second"):
        if name.startswith(group):
            return group
    return "solver" if name in ("gap", "time_limit", "method", "cells_per_sensitivity") else name


def noise_controls() -> Controls:
    """Draw the controls of a scalar noise problem in the sidebar and read them."""
    controls = Controls()
    with st.sidebar:
        if notes := malformed():
            st.info("Not understood in the link, a default stands in: " + "; ".join(f"`{note}`" for note in notes))
        _presets()
        for draw in (_privacy, _query, _loss, _constraints, _view, _solver):
            draw(controls.slots)
    controls.unit, controls.overlays = str(st.session_state["unit"] or "").strip(), tuple(st.session_state["overlays"])
    try:
        controls.settings = read_settings()
        controls.problem = read_problem()
    except InputError as error:
        controls.complain(error)
    return controls


# One function per group of controls ------------------------------------------------------------------


def _presets() -> None:
    titles = [preset["title"] for preset in PRESETS]
    chosen = st.session_state.get("preset")
    st.selectbox(
        "Start from", titles, index=None, placeholder="an example …", key="preset", on_change=_take_preset,
    )  # fmt: skip
    if chosen in titles:
        st.caption(PRESETS[titles.index(chosen)]["note"])


def _take_preset() -> None:
    for preset in PRESETS:
        if preset["title"] == st.session_state["preset"]:
            reset = ("values", "symmetric", "monotone", "support", "low", "high", "budget")
            reset += ("second_epsilon", "second_delta")
            plain = {key: DEFAULTS[key] for key in reset}
            choose({**plain, **preset["values"]})


def _privacy(slots: dict) -> None:
    st.subheader("Privacy", anchor=False)
    _stops("epsilon", "ε — how much one person may change what is seen", EPSILON_STOPS, lambda v: f"{v:g}")
    st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
    slots["epsilon"] = _number(
        "epsilon", "ε exactly", help="0, or from 0.001 to 20. Small ε: an observer learns little about any one person."
    )
    if (st.session_state["epsilon"] or 0) > 5:
        st.warning(f"e^ε = {math.exp(min(st.session_state['epsilon'], 50)):,.0f}: little protection.")
    _stops("delta", "δ — probability that the promise fails", DELTA_STOPS, prose.delta_text)
    st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
    slots["delta"] = _number(
        "delta", "δ exactly", help="0, or from 1e-12 to 0.999. Keep δ well below 1/n for n people in the data."
    )
    st.caption("Keep δ well below 1/n, n the number of people.")


def _query(slots: dict) -> None:
    st.subheader("Query", anchor=False)
    left, right = st.columns(2)
    with left:
        slots["sensitivity"] = _number(
            "sensitivity", "Sensitivity", help="The most that one person can change the true answer, in its unit."
        )
    right.text_input(
        "Unit", value=DEFAULTS["unit"], key="unit", bind="query-params", max_chars=24, help="Unit of the answer."
    )


    with choice("values", VALUES):
        st.selectbox(
            "Query values", list(VALUES), format_func=VALUES.__getitem__, key="values", persist_state="session",
            help="Of a count only changes by whole numbers have to be hidden, and the noise can be whole numbers too.",
        )  # fmt: skip
    step = _number("step", "Step, in the unit", step=0.1) if st.session_state["values"] == "step" else None
    slots["granularity"] = step or st.empty()


def _loss(slots: dict) -> None:
    st.subheader("What an error costs", anchor=False)
    with choice("loss", LOSSES):
        st.selectbox(
            "Loss", list(LOSSES), format_func=LOSSES.__getitem__, key="loss", persist_state="session",
            help="The optimal noise makes the average of this as small as (ε, δ)-privacy allows.",
        )  # fmt: skip
    family, where = st.session_state["loss"], None
    if family == "lp":
        where = _number("exponent", "Exponent p, from 1 to 4", step=0.1)
    elif family == "pinball":
        where = _number("tau", "τ: cost per unit too high; 1 − τ per unit too low", step=0.05)
    elif family == "asym":
        left, right = st.columns(2)
        with left:
            _number("slope_below", "Cost per unit too low", step=0.5)
        with right:
            _number("slope_above", "Cost per unit too high", step=0.5)
    elif family in ("huber", "exceed"):
        where = _number("threshold", "Threshold t, in the unit", step=0.5)
    elif family == "table":
        _table_controls()
    slots["loss"] = where or st.empty()


def _table_controls() -> None:
    st.text_area(
        "One line per point: error, loss", value=DEFAULTS["table"], key="table", bind="query-params", max_chars=20_000,
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
    st.toggle("Symmetric", key="symmetric", bind="query-params", help="The law is its own mirror image.")
    st.toggle("Monotone", key="monotone", bind="query-params", help="The density never rises away from 0.")
    with choice("support", SUPPORTS):
        st.selectbox(
            "Noise may be", list(SUPPORTS), format_func=SUPPORTS.__getitem__, key="support", persist_state="session"
        )
    if st.session_state["support"] == "interval":
        left, right = st.columns(2)
        with left:
            _number("low", "from", help="Empty: no end.")
        with right:
            _number("high", "to", help="Empty: no end.")
    slots["support"] = st.empty()
    _more_constraints(slots)


def _more_constraints(slots: dict) -> None:
    """A budget for a second loss and a second pair (ε₂, κ)."""
    used = any(current(key) is not None for key in ("budget_most", "second_epsilon", "second_delta"))
    with st.expander("More constraints", expanded=used):
        with choice("budget", BUDGETS):
            st.selectbox(
                "Second loss with a limit", list(BUDGETS), format_func=BUDGETS.__getitem__, key="budget",
                persist_state="session", help="The first loss is made small; the mean of this one stays below a limit.",
            )  # fmt: skip
        if st.session_state["budget"] == "exceed":
            _number("budget_threshold", "its threshold, in the unit", step=0.5)
        elif st.session_state["budget"] == "other":
            st.text_input(
                "its text", value=DEFAULTS["budget_text"], key="budget_text", bind="query-params", max_chars=2000,
                help="As on the command line: huber:1, lp:1.5, asym:1:3, pinball:0.8, table:-1=1,0=0,1=1.",
            )  # fmt: skip
        if st.session_state["budget"] != "none":
            _number("budget_most", "its mean may be at most", help="Empty: no limit yet.")
        slots["budget"] = st.empty()
        left, right = st.columns(2)
        with left:
            _number("second_epsilon", "ε₂", help="A second promise the noise must keep as well. Empty: none.")
        with right:
            _number("second_delta", "κ", help="For example a tiny κ at a larger ε₂: large losses of privacy are rare.")
        slots["second"] = st.empty()


def _view(slots: dict) -> None:
    st.subheader("Compare with", anchor=False)
    with choice("overlays", OVERLAYS):
        st.multiselect(
            "Mechanisms drawn beside the optimum", list(OVERLAYS), format_func=OVERLAYS.__getitem__, key="overlays",
            persist_state="session", label_visibility="collapsed", disabled=st.session_state["values"] != "real",
        )  # fmt: skip
    if st.session_state["values"] != "real":
        st.caption("Drawn beside whole-number noise: the geometric law and the discrete staircase.")


def _solver(slots: dict) -> None:
    with st.expander("Solver"):
        with choice("method", METHODS):
            st.radio("Method", list(METHODS), format_func=METHODS.__getitem__, key="method", persist_state="session")
        _number("gap", "Stop at a relative gap of (%)", step=0.05)
        _number("seconds", "Time limit (s)", step=1.0)
        st.number_input(
            "Cells per sensitivity (reference method)", 1, 64, value=DEFAULTS["cells"], key="cells", bind="query-params"
        )
        slots["solver"] = st.empty()


# Small pieces ---------------------------------------------------------------------------------------


def _number(key: str, label: str, *, step: float | None = None, help: str | None = None):
    """A number box without limits (the core names them) and the place for a complaint under it."""
    step = step or _step(current(key))
    st.number_input(label, value=DEFAULTS[key], key=key, bind="query-params", format="%g", step=step, help=help)
    return st.empty()


def _step(value: float | None) -> float:
    """A tenth of the value's power of ten: the buttons of a number box stay useful at any size."""
    if not value or not math.isfinite(value) or abs(value) < 1e-300:
        return 0.1
    power = math.floor(math.log10(abs(value)) + 1e-9)
    return 10.0 ** max(min(power - 1, 12), -13)


def _stops(key: str, label: str, stops: list[float], show: Callable[[float], str]) -> None:
    """A slider over rounded stops that moves, and follows, the number box of the same key."""
    value = current(key)
    size = lambda v: math.log(max(v, 1e-14))  # noqa: E731
    st.session_state[f"{key}_stop"] = min(stops, key=lambda stop: abs(size(stop) - size(value or 0.0)))
    st.select_slider(label, stops, key=f"{key}_stop", format_func=show, on_change=_take_stop, args=(key,))


def _take_stop(key: str) -> None:
    st.session_state[key] = st.session_state[f"{key}_stop"]
