"""The sidebar: controls of a scalar noise problem, and the places for complaints under them.

The slider beside a number box holds no state of its own: it moves, and follows, the box.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from dpcore.errors import InputError
from dpcore.privacy import EPSILON_RANGE
from dpcore.problem import NoiseProblem, SolverSettings

from . import prose
from .address import FRAME
from .inputs import HOME, MOST_RELEASES, PRESETS, explain, read_problem, read_settings, read_unit

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
        HOME.note()
        _presets()
        groups = (_privacy, _loss) if FRAME["projector"] else (_privacy, _query, _loss, _constraints, _view, _solver)
        for draw in groups:
            draw(controls.slots)
    controls.overlays = tuple(HOME["overlays"])
    try:
        controls.unit = read_unit(HOME.values())
        controls.settings = read_settings(HOME.values())
        controls.problem = read_problem(HOME.values())
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
            reset += ("second_epsilon", "second_delta", "promise")
            plain = {key: HOME.default(key) for key in reset}
            HOME.choose({**plain, **preset["values"]})


def _privacy(slots: dict) -> None:
    st.subheader("Privacy", anchor=False)
    _choice(
        "promise", "Promise",
        help="One pair (ε, δ) says little about larger losses of privacy. A whole curve δ(ε′) bounds all of them.",
    )  # fmt: skip
    promise = HOME["promise"]
    if promise == "gdp":
        slots["promise"] = slots["epsilon"] = slots["delta"] = _number(
            "mu", "μ — as hard to tell apart as two normal laws μ standard deviations apart", step=0.1,
            help="From 0.01 to 4. Under μ-GDP every δ(ε′) is at most that of Gaussian noise with σ = sensitivity/μ.",
        )  # fmt: skip
        return
    if promise == "list":
        st.text_area("One pair a line: ε, δ", key="pairs", max_chars=4000, help="The noise keeps all of them.")
        slots["promise"] = slots["epsilon"] = slots["delta"] = st.empty()
        return
    if promise == "composed":
        st.number_input(
            "Releases", 1, MOST_RELEASES, value=HOME["releases"], key="releases",
            help="Each with independent noise of this law; the ε and δ below are for all of them together.",
        )  # fmt: skip
    slots["promise"] = st.empty()
    _stops("epsilon", "ε — how much one person may change what is seen", EPSILON_STOPS, lambda v: f"{v:g}")
    st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
    slots["epsilon"] = _exactly(
        "epsilon", "ε exactly", help="0, or from 0.001 to 20. Small ε: an observer learns little about any one person."
    )
    if 5 < (HOME["epsilon"] or 0) <= EPSILON_RANGE[1]:
        odds = prose.number(math.exp(HOME["epsilon"]), 3)
        st.warning(f"Little protection: what one person changes may become {odds} times as likely.")
    _stops("delta", "δ — probability that the promise fails", DELTA_STOPS, prose.delta_text)
    st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
    slots["delta"] = _exactly(
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
    with right:
        st.text_input("Unit", key="unit", max_chars=24, help="Unit of the answer.")
        slots["unit"] = st.empty()
    _choice(
        "values", "Query values",
        help="Of a count only changes by whole numbers have to be hidden, and the noise can be whole numbers too.",
    )  # fmt: skip
    step = _number("step", "Step, in the unit", step=0.1) if HOME["values"] == "step" else None
    slots["granularity"] = step or st.empty()


def _loss(slots: dict) -> None:
    st.subheader("What an error costs", anchor=False)
    _choice("loss", "Loss", help="The optimal noise makes the average of this as small as (ε, δ)-privacy allows.")
    family, where = HOME["loss"], None
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
    st.toggle("Symmetric", key="symmetric", help="The law is its own mirror image.")
    st.toggle("Monotone", key="monotone", help="The density never rises away from 0.")
    _choice("support", "Noise may be")
    if HOME["support"] == "interval":
        left, right = st.columns(2)
        with left:
            _number("low", "from", help="Empty: no end.")
        with right:
            _number("high", "to", help="Empty: no end.")
    slots["support"] = st.empty()
    _more_constraints(slots)


def _more_constraints(slots: dict) -> None:
    """A budget for a second loss and a second pair (ε₂, κ)."""
    used = any(HOME[key] is not None for key in ("budget_most", "second_epsilon", "second_delta"))
    with st.expander("More constraints", expanded=used):
        _choice(
            "budget", "Second loss with a limit",
            help="The first loss is made small; the mean of this one stays below a limit.",
        )  # fmt: skip
        if HOME["budget"] == "exceed":
            _number("budget_threshold", "its threshold, in the unit", step=0.5)
        elif HOME["budget"] == "other":
            st.text_input(
                "its text", key="budget_text", max_chars=2000,
                help="As on the command line: huber:1, lp:1.5, asym:1:3, pinball:0.8, table:-1=1,0=0,1=1.",
            )  # fmt: skip
        if HOME["budget"] != "none":
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
    st.multiselect(
        "Mechanisms drawn beside the optimum", HOME.options("overlays"), format_func=HOME.label("overlays"),
        key="overlays", label_visibility="collapsed", disabled=HOME["values"] != "real",
    )  # fmt: skip
    if HOME["values"] != "real":
        st.caption("Drawn beside whole-number noise: the geometric law and the discrete staircase.")


def _solver(slots: dict) -> None:
    with st.expander("Solver"):
        st.radio("Method", HOME.options("method"), format_func=HOME.label("method"), key="method")
        _number("gap", "Stop at a relative gap of (%)", step=0.05)
        _number("seconds", "Time limit (s)", step=1.0)
        st.number_input("Cells per sensitivity (reference method)", 1, 64, value=HOME["cells"], key="cells")
        slots["solver"] = st.empty()


# Small pieces ---------------------------------------------------------------------------------------


def _number(key: str, label: str, *, step: float | None = None, help: str | None = None):
    """A number box without limits (the core names them) and the place for a complaint under it."""
    step = step or _step(HOME[key])
    st.number_input(label, value=HOME[key], key=key, format="%g", step=step, help=help)
    return st.empty()


def _exactly(key: str, label: str, *, help: str):
    """The number box under a slider; on a projector the slider is enough."""
    return st.empty() if FRAME["projector"] else _number(key, label, help=help)


def _choice(key: str, label: str, *, help: str | None = None) -> None:
    """A box of the options of a choice."""
    st.selectbox(label, HOME.options(key), format_func=HOME.label(key), key=key, help=help)


def _step(value: float | None) -> float:
    """A tenth of the value's power of ten: the buttons of a number box stay useful at any size."""
    if not value or not math.isfinite(value) or abs(value) < 1e-300:
        return 0.1
    power = math.floor(math.log10(abs(value)) + 1e-9)
    return 10.0 ** max(min(power - 1, 12), -13)


def _stops(key: str, label: str, stops: list[float], show: Callable[[float], str]) -> None:
    """A slider over rounded stops that moves, and follows, the number box of the same key."""
    value = HOME[key]
    size = lambda v: math.log(max(v, 1e-14))  # noqa: E731
    nearest = min(stops, key=lambda stop: abs(size(stop) - size(value or 0.0)))
    if st.session_state.get(f"{key}_stop") != nearest:
        st.session_state[f"{key}_stop"] = nearest
    told = {"value": nearest, "key": f"{key}_stop", "on_change": _take_stop, "args": (key,)}
    st.select_slider(label, stops, format_func=show, **told)


def _take_stop(key: str) -> None:
    st.session_state[key] = st.session_state[f"{key}_stop"]
