"""The sidebar of the page: what is swept, what is looked at, what error is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import streamlit as st

from dpcore.errors import InputError
from dpcore.loss import FAMILIES, NAMED, Loss, labels, parameters
from dpcore.mechanisms import MECHANISMS
from dpcore.privacy import DELTA_RANGE, EPSILON_RANGE
from dpcore.problem import NoiseProblem, noise_problem
from dpcore.sweeps import read_axis
from pages.optimal_noise.inputs import read_unit
from pages.shared import fields, prose
from pages.shared.address import FRAME, Address, Choice, Label, Number, numbers
from pages.shared.messages import LABELS, explain

from .work import Axes, Frontier, Plane

QUANTITIES = {
    "value": "least possible loss",
    "gain": "gain over a mechanism",
    "best": "best textbook mechanism",
    "closed": "Gaussian's gap closed by mixtures",
    "gap": "certified gap",
}
RIVALS = {"best": "the best of them"} | {key: mechanism.name for key, mechanism in MECHANISMS.items()}
SECONDS = ("exceed", "l2", "l1")
GAPS = {"1": "1 %", "0.3": "0.3 %", "0.1": "0.1 %"}

PAGE = Address(
    "tradeoff maps",
    loss=Choice("l1", labels(*NAMED)), **numbers(parameters(*NAMED)), sensitivity=Number(1.0),
    unit=Label("people", 24),
    low_epsilon=Number(0.05), high_epsilon=Number(5.0), low_delta=Number(0.005), high_delta=Number(0.5),
    steps=Number(9, 3, 20, whole=True), quantity=Choice("gain", QUANTITIES), rival=Choice("best", RIVALS),
    wanted=Number(0.8, empty=True), at_delta=Number(0.1), at_epsilon=Number(1.0),
    second=Choice("exceed", labels(*SECONDS)), second_threshold=Number(0.5), target=Choice("1", GAPS),
)  # fmt: skip
"""Every control of the page."""


FIELDS = LABELS | {
    "map epsilon": "ε of the map", "map delta": "δ of the map", "second threshold": "threshold of the second loss",
    "error": "error you can afford",
}  # fmt: skip
"""Names of the controls in messages about them."""

NAMES = {
    "low_epsilon": "least ε", "high_epsilon": "largest ε", "low_delta": "least δ", "high_delta": "largest δ",
    "at_epsilon": "ε of the curves over δ", "at_delta": "δ of the curves over ε",
}  # fmt: skip
"""Names of fields whose labels say little by themselves."""


@dataclass
class Asked:
    """What the controls say. plane, along, across and frontier are None while a control holds what is not accepted.

    plane : the map.   along : ε at fixed δ.   across : δ at fixed ε.
    """

    problem: NoiseProblem | None = None
    plane: Plane | None = None
    along: Plane | None = None
    across: Plane | None = None
    frontier: Frontier | None = None
    wanted: float | None = None
    unit: str = ""
    fault: InputError | None = None

    @property
    def complaint(self) -> str:
        """What is not accepted, in a sentence; empty if everything is."""
        return "" if self.fault is None else explain(self.fault, FIELDS)


def sidebar(asked: Asked) -> None:
    """Draw the controls, on a projector those that a lecture moves; a complaint under the group it is about."""
    groups = {
        _cost: ("loss", *parameters(*NAMED)), _query: ("sensitivity", "unit"), _plane: ("map",),
        _target: ("error", "epsilon", "delta"), _second: ("second",),
    }  # fmt: skip
    with st.sidebar:
        PAGE.note()
        for draw, fields in groups.items():
            if not FRAME["projector"] or draw in (_cost, _target):
                draw()
                if asked.fault is not None and asked.fault.field.startswith(fields):
                    st.error(asked.complaint)


def _cost() -> None:
    st.subheader("What an error costs", anchor=False)
    fields.pick(PAGE, "loss", "Loss")
    fields.quantities(PAGE, FAMILIES[PAGE["loss"]].parameters)


def _query() -> None:
    left, right = st.columns(2)
    with left:
        _number("sensitivity", "Sensitivity", 0.1, "Largest change of the query's answer between neighbours.")
    right.text_input("Unit", key="unit", max_chars=24)


def _plane() -> None:
    st.subheader("What is mapped", anchor=False)
    left, right = st.columns(2)
    with left:
        _number("low_epsilon", "ε from", 0.05)
        _number("low_delta", "δ from", 0.005, prose.ABOUT_DELTA)
    with right:
        _number("high_epsilon", "to", 0.5)
        _number("high_delta", "to", 0.05)
    st.slider("Steps on each axis", 3, 20, key="steps")
    fields.pick(PAGE, "target", "Stop every cell at a gap of")


def _target() -> None:
    st.subheader("The error you can afford", anchor=False)
    _number("wanted", "Mean loss of at most", 0.05, "The page finds the ε that each mechanism needs for it.")
    left, right = st.columns(2)
    with left:
        _number("at_delta", "at δ", 0.01, prose.ABOUT_DELTA)
    if not FRAME["projector"]:
        with right:
            _number("at_epsilon", "curves over δ at ε", 0.1)


def _second() -> None:
    st.subheader("A second loss", anchor=False)
    fields.pick(PAGE, "second", "Against")
    fields.quantities(PAGE, FAMILIES[PAGE["second"]].parameters, "second_")


def _number(key: str, label: str, step: float, help: str | None = None) -> None:
    fields.number(PAGE, key, label, step=step, help=help, name=NAMES.get(key, ""))


def read() -> Asked:
    """The controls' values as problems, whether they are drawn or not; a complaint for what is not accepted."""
    asked = Asked(wanted=PAGE["wanted"])
    try:
        asked.unit = read_unit(PAGE.values())
        loss = _loss("loss")
        problem = asked.problem = noise_problem(PAGE["at_epsilon"], PAGE["at_delta"], PAGE["sensitivity"], loss)
        epsilons = _axis("epsilon", *EPSILON_RANGE, PAGE["steps"])
        deltas = _axis("delta", *DELTA_RANGE, PAGE["steps"])
        gap = float(PAGE["target"]) / 100
        asked.plane = Plane(problem, Axes(epsilons, deltas), gap)
        asked.along = Plane(problem, Axes(_axis("epsilon", *EPSILON_RANGE, 17), (problem.privacy.delta,)), gap)
        asked.across = Plane(problem, Axes((problem.privacy.epsilon,), _axis("delta", *DELTA_RANGE, 15)), gap)
        if asked.wanted is not None and not asked.wanted > 0:
            raise InputError("error", asked.wanted, "a number above 0, or nothing")
        second = _loss("second", "second_")
        asked.frontier = None if second == loss else Frontier(problem, second, gap)
    except InputError as error:
        asked.fault = error
    return asked


def _loss(key: str, prefix: str = "") -> Loss:
    """The loss that is chosen under `key`, its numbers under their names after the prefix."""
    family = FAMILIES[PAGE[key]]
    try:
        return family.from_values({one.name: PAGE[f"{prefix}{one.name}"] for one in family.parameters})
    except InputError as error:
        raise InputError(f"{prefix}{error.field}".replace("_", " "), error.value, error.accepted) from None


def _axis(name: str, lowest: float, highest: float, count: int) -> tuple[float, ...]:
    """Values evenly spread on a log scale between the two ends that the controls name."""
    low, high = PAGE[f"low_{name}"], PAGE[f"high_{name}"]
    for end in (low, high):
        if not lowest <= end <= highest:
            raise InputError(f"map {name}", end, f"a number from {lowest:g} to {highest:g}")
    if not low < high or math.isclose(low, high):
        raise InputError(f"map {name}", f"{low:g} to {high:g}", "a first value below the last")
    inner = read_axis(f"{low!r}:{high!r}:{count}", name)[1:-1]
    return tuple(sorted({float(low), *(float(f"{value:.2g}") for value in inner), float(high)}))
