"""The sidebar of the page: privacy, the query's range, the weight, constraints, how hard to try."""

from __future__ import annotations

import streamlit as st

from dpcore.data_dependent import DataDependentProblem, data_dependent_problem
from dpcore.data_dependent.problem import MIRRORED
from dpcore.data_dependent.weight import histogram, normal
from dpcore.errors import InputError
from dpcore.loss import FAMILIES, NAMED, labels, parameters
from dpcore.mechanisms import MECHANISMS
from dpcore.numbers import read_numbers
from dpcore.privacy import DELTA, EPSILON, SENSITIVITY
from dpcore.problem_fields import dependent, titles
from pages.shared import asking, fields, folding, prose
from pages.shared.address import FRAME, Address, Choice, Choices, Label, Number, Switch, Text, numbers
from pages.shared.messages import LABELS

WEIGHTS = {
    "uniform": "all values the same", "triangular": "middle values most", "normal": "normal, cut to the range",
    "histogram": "a histogram",
}  # fmt: skip
CAPS = {"none": "no cap", "auto": "not above noise that ignores the value", "number": "a number"}
PANELS = ("How sure", "Gain", "Release one value", "Published", "Export")
SHARED = {"release": "a law of the release", "noise": "a law of the noise"}
OVERLAYS = {
    key: mechanism.name for key, mechanism in MECHANISMS.items() if key not in ("gaussian-classical", "uniform")
}

PAGE = Address(
    "data dependent",
    epsilon=Number.of(EPSILON), delta=Number.of(DELTA), sensitivity=Number.of(SENSITIVITY, 2.0),
    low=Number(0.0), high=Number(4.0), unit=Label("", 24), loss=Choice("l1", labels(*NAMED)),
    **numbers(parameters(*NAMED)) | {"threshold": Number(1.0)},
    weight=Choice("uniform", WEIGHTS), mean=Number(2.0), sd=Number(1.0), bins=Text("1, 3, 2", 400),
    cap=Choice("none", CAPS), cap_value=Number(1.0), monotone=Switch(), ordered=Switch(), partition=Text("", 400),
    shared=Choice("release", SHARED), below=Switch(),
    overlays=Choices(("laplace", "truncated-laplace"), OVERLAYS), gap=Number(1.0), seconds=Number(20.0),
    place=Number(0.3, 0.0, 1.0), true_value=Number(None, empty=False, linked=False), panel=Choice(PANELS[0], PANELS),
)  # fmt: skip
"""Every control of the page; `place` is the true value looked at, as a share of the range, `true_value` the one to
release."""

NAMES = {"low": "lowest value", "high": "highest value", "mean": "mean of the weight", "cap_value": "cap"}
"""Names of fields whose labels say little by themselves."""

FIELDS = LABELS | titles(dependent.FIELDS)
"""Names of the problem's fields in messages about them."""


Asked = asking.Asked[DataDependentProblem]


def sidebar() -> Asked:
    """Draw the controls, on a projector those that a lecture moves, and read them all."""
    groups = {"privacy": _privacy, "query": _query, "loss": _loss, "weight": _weight, "constraints": _constraints,
              "effort": _effort}  # fmt: skip
    with st.sidebar:
        PAGE.note()
        places = {name: st.container() for name in groups}
        for name, draw in groups.items():
            if not FRAME["projector"] or name in ("privacy", "query", "loss"):
                with places[name]:
                    draw()
    return asking.read(PAGE, read_problem, lambda name: places[_place(name)], FIELDS)


def _place(name: str) -> str:
    """The group of controls under which a complaint about a field belongs."""
    for group, starts in (
        ("constraints", ("loss_below",)),
        ("query", ("query_range", "sensitivity", "low", "high")),
        ("loss", ("loss", *parameters(*NAMED))),
        ("weight", ("weight", "mean", "sd", "bins")),
        ("constraints", ("instance_cap", "partition", "cap", "shared", "below")),
        ("effort", ("gap", "time_limit", "seconds")),
    ):
        if name.startswith(starts):
            return group
    return "privacy"


def read_problem(values: dict) -> DataDependentProblem:
    """The problem that the controls' values describe."""
    weights = {
        "normal": lambda: normal(values["mean"], values["sd"]),
        "histogram": lambda: histogram(read_numbers(values["bins"] or "", "weights")),
    }
    weight, cap = values["weight"], values["cap"]
    return data_dependent_problem(
        values["epsilon"],
        values["delta"],
        values["sensitivity"],
        FAMILIES[values["loss"]].from_values(values),
        query_range=(values["low"], values["high"]),
        weight=weights[weight]() if weight in weights else weight,
        instance_cap={"none": None, "auto": "auto"}.get(cap, values["cap_value"]),
        monotone=values["monotone"],
        ordered=values["ordered"],
        partition=read_numbers(values["partition"] or "", "partition"),
        shared=values["shared"],
        loss_below=MIRRORED if values["below"] else None,
    )


def _privacy() -> None:
    st.subheader("Privacy", anchor=False)
    left, right = st.columns(2)
    with left:
        _number("epsilon", "ε", 0.1, f"{EPSILON.help.capitalize()}: {EPSILON.range}.")
    with right:
        _number("delta", "δ", 0.05, prose.ABOUT_DELTA)


def _query() -> None:
    st.subheader("Query", anchor=False)
    left, right = st.columns(2)
    with left:
        _number("low", "Values from", 1.0, "The range is public: it must not be read off the private data.")
        _number("sensitivity", "Sensitivity", 0.5, SENSITIVITY.help)
    with right:
        _number("high", "to", 1.0)
        st.text_input("Unit", key="unit", max_chars=24)


def _loss() -> None:
    st.subheader("What an error costs", anchor=False)
    fields.pick(PAGE, "loss", "Loss")
    fields.quantities(PAGE, FAMILIES[PAGE["loss"]].parameters)


def _weight() -> None:
    st.subheader("How much each true value counts", anchor=False)
    help = (
        "A public belief about the true value. It must not be fitted to the private data: the laws would carry it out."
    )
    fields.pick(PAGE, "weight", "Weight", help=help)
    if PAGE["weight"] == "normal":
        left, right = st.columns(2)
        with left:
            _number("mean", "around", 0.5)
        with right:
            _number("sd", "standard deviation", 0.1)
    elif PAGE["weight"] == "histogram":
        st.text_input("Weights of equal bins, from left to right", key="bins", max_chars=400)


def _constraints() -> None:
    st.subheader("Constraints", anchor=False)
    help = "The average may be bought with a few values that lose a lot."
    fields.pick(PAGE, "cap", "No true value may lose more than", help=help)
    if PAGE["cap"] == "number":
        _number("cap_value", "that is", 0.1)
    for name in ("monotone", "ordered"):
        fields.switch(dependent.FIELDS[name])
    st.text_input(
        "Intervals that share a law: inner ends", key="partition", max_chars=400, placeholder="1, 2, 3",
        help="A short table instead of one law per value. Empty: no such restriction.",
    )  # fmt: skip
    if PAGE["partition"] or PAGE["shared"] == "noise":
        help = "A law of the noise is added to the value; a law of the release forgets where in the interval it was."
        fields.pick(PAGE, "shared", "An interval shares", help=help)
    if _leans() or PAGE["below"]:
        help = "A loss that is not even, such as |x| steep below a threshold, then hurts on the side of 0."
        st.toggle("Below 0 errors count mirrored", key="below", help=help)


def _leans() -> bool:
    """The loss is not even; numbers of a loss that are refused are told beside their fields."""
    try:
        return not FAMILIES[PAGE["loss"]].from_values(PAGE.values()).even
    except InputError:
        return False


def _effort() -> None:
    def draw() -> None:
        _number("gap", "Stop at a relative gap of (%)", 0.5)
        _number("seconds", "Time limit (s)", 5.0)

    folding.further("Solver", PAGE, ("gap", "seconds"), draw)


def _number(key: str, label: str, step: float, help: str | None = None) -> None:
    fields.number(PAGE, key, label, step=step, help=help, name=NAMES.get(key, ""))


def _choice(key: str, label: str, help: str | None = None) -> None:
    st.selectbox(label, PAGE.options(key), format_func=PAGE.label(key), key=key, help=help)
