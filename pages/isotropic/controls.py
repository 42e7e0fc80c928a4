"""The sidebar of the page: the vector, the promise, the loss, how hard to try."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from dpcore.isotropic.problem import NAMED, POWER, THRESHOLD, IsotropicProblem, RadialLoss
from dpcore.privacy import DELTA, EPSILON, SENSITIVITY, Privacy
from dpcore.problem_fields import radial, titles
from dpcore.problem_fields.radial import DIMENSION
from pages.shared import asking, fields, folding, prose
from pages.shared.address import FRAME, Address, Choice, Label, Number
from pages.shared.messages import LABELS

LOSSES = {
    "norm": "its length: E|X|", "squared": "its squared length: E|X|²", "power": "a power of its length: E|X|ᵖ",
    "exceed": "being too long: P(|X| > t)",
}  # fmt: skip
VIEWS = {"radius": "Law of the length", "density": "Density", "picture": "In 2 or 3 dimensions"}
PANELS = {"map": "Over the dimension", "sure": "How sure", "release": "Release", "export": "Take it away"}

PAGE = Address(
    "isotropic",
    dimension=Number.of(DIMENSION), epsilon=Number.of(EPSILON, 4.0), delta=Number.of(DELTA, 1e-6),
    sensitivity=Number.of(SENSITIVITY), unit=Label("", 24), loss=Choice("squared", LOSSES), power=Number.of(POWER),
    threshold=Number.of(THRESHOLD), gap=Number(2.0), seconds=Number(20.0), view=Choice("radius", VIEWS),
    panel=Choice("map", PANELS),
)  # fmt: skip
"""Every control of the page."""

STOPS = {
    "dimension": (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 64, 100, 150, 200, 300, 500, 700, 1000),
    "epsilon": (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0),
    "delta": (*(10.0**-power for power in range(12, 1, -1)), 0.05, 0.1, 0.2),
}
"""Values that the sliders stop at."""

FIELDS = LABELS | titles(radial.FIELDS) | {one.name: one.title for one in (POWER, THRESHOLD)}
"""Names of the controls in messages about them."""

PRESETS = {
    "A mean of 10 features": {"dimension": 10, "epsilon": 1.0, "delta": 1e-6, "sensitivity": 1.0, "loss": "squared"},
    "An embedding of 64 numbers": {
        "dimension": 64, "epsilon": 4.0, "delta": 1e-6, "sensitivity": 1.0, "loss": "norm",
    },
    "A gradient of 1000": {"dimension": 1000, "epsilon": 8.0, "delta": 1e-6, "sensitivity": 1.0, "loss": "squared"},
}  # fmt: skip


Asked = asking.Asked[IsotropicProblem]


def sidebar() -> Asked:
    """Draw the controls, on a projector those that a lecture moves, and read them all."""
    places: dict = {}
    with st.sidebar:
        PAGE.note()
        st.subheader("Vector", anchor=False)
        _both(places, "dimension", "d — how many numbers the answer has", 1, str, DIMENSION.help)
        if not FRAME["projector"]:
            _sensitivity(places)
        st.subheader("Privacy", anchor=False)
        _both(places, "epsilon", f"ε — {EPSILON.help}", 0.1, "{:g}".format, f"{EPSILON.range}.")
        _both(places, "delta", f"δ — {DELTA.help}", 1e-6, prose.delta_text, f"{prose.ABOUT_DELTA} Above 0.")
        st.subheader("What an error costs", anchor=False)
        fields.pick(PAGE, "loss", "An error X costs")
        if PAGE["loss"] == "power":
            places["power"] = fields.quantities(PAGE, [POWER])
        elif PAGE["loss"] == "exceed":
            places["threshold"] = fields.quantities(PAGE, [THRESHOLD])
        if not FRAME["projector"]:
            folding.further("More", PAGE, ("gap", "seconds"), lambda: _more(places))
        below = st.container()
    return asking.read(PAGE, read_problem, lambda name: places.get(name, below), FIELDS)


def _more(places: dict) -> None:
    places["gap"] = fields.number(PAGE, "gap", "Stop at a relative gap of (%)", step=0.5)
    places["time_limit"] = fields.number(PAGE, "seconds", "Time limit (s)", step=5)


def _sensitivity(places: dict) -> None:
    left, right = st.columns(2)
    with left:
        places["sensitivity"] = fields.number(
            PAGE, "sensitivity", "ℓ2-sensitivity",
            help="The most that one person can change the true answer in Euclidean length, in its unit.",
        )  # fmt: skip
    with right:
        st.text_input("Unit", key="unit", max_chars=24, help="Unit of the answer.")


def _both(places: dict, key: str, label: str, step: float, show: Callable[[float], str], help: str) -> None:
    """A slider over rounded stops and, but for a projector, the field for the exact number."""
    fields.stops(PAGE, key, label, STOPS[key], show)
    if not FRAME["projector"]:
        places[key] = fields.number(PAGE, key, f"{label.partition(' ')[0]} exactly", step=step, help=help)


def read_problem(values: dict) -> IsotropicProblem:
    """The problem that the controls' values describe."""
    privacy = Privacy(values["epsilon"], values["delta"])
    loss = RadialLoss(NAMED.get(values["loss"], 1.0))
    if values["loss"] == "power":
        loss = RadialLoss(POWER.check(values["power"]))
    elif values["loss"] == "exceed":
        loss = RadialLoss(1.0, THRESHOLD.check(values["threshold"]))
    return IsotropicProblem(values["dimension"], privacy, loss, values["sensitivity"])
