"""The sidebar of the page: what is learnt from which table, and the promise."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpcore.errors import InputError
from dpcore.learning.experiment import MODELS, Protocol
from dpcore.learning.naive_bayes import RECIPES
from dpcore.learning.noises import DATA_DEPENDENT, NAMES
from dpcore.learning.tables import SETS, LearningTable
from dpcore.privacy import DELTA, EPSILON, Privacy
from pages.shared import fields, folding, prose
from pages.shared.address import FRAME, Address, Choice, Number
from pages.shared.messages import LABELS, explain

from .own import FILE
from .work import KEYS, Curve, Setting, table_of

ROWS = {"outside": "test rows", "inside": "training rows"}
PANELS = {
    "paper": "As published", "promise": "The whole promise", "sensitivities": "Sensitivities", "vector": "One vector",
}  # fmt: skip
LAWS = {key: NAMES[key] for key in (*KEYS, DATA_DEPENDENT)} | {"none": "No noise"}

EACH = {key: RECIPES[key] for key in ("published", "program")}

PAGE = Address(
    "private_learning",
    model=Choice("naive-bayes", MODELS), data=Choice("contraceptive", SETS | {FILE: "A table of mine"}),
    epsilon=Number(1.0), delta=Number(1e-5),
    rows=Choice("outside", ROWS), splits=Number(20, 2, 200, whole=True), draws=Number(100, 1, 1000, whole=True),
    each_epsilon=Number(1.0), each_delta=Number(0.1), recipe=Choice("published", EACH),
    panel=Choice("paper", PANELS), better=Choice("optimal", LAWS), worse=Choice("truncated-laplace", LAWS),
)  # fmt: skip
"""Every control of the page."""

STOPS = (0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
"""Values that the slider of ε stops at."""

FIELDS = LABELS | {
    "each_epsilon": "ε of each", "each_delta": "δ of each",
}  # fmt: skip

PRESETS = {
    "Ecoli at ε = 3": {"data": "ecoli", "epsilon": 3.0, "model": "naive-bayes"},
    "Coordinate descent on ecoli": {"data": "ecoli", "model": "coordinate-descent", "panel": "paper"},
    "Grades of a biopsy": {"data": "breast-cancer", "epsilon": 1.0, "model": "naive-bayes"},
    "Where the optimum wins": {"data": "breast-cancer", "epsilon": 10.0, "model": "naive-bayes"},
}


@dataclass
class Asked:
    """What the controls say; table is None while some control holds a value that is not accepted, and of a visitor's
    own until it is there."""

    data: str
    model: str
    privacy: Privacy | None = None
    table: LearningTable | None = None
    complaint: str = ""

    @property
    def own(self) -> bool:
        """The table is the visitor's."""
        return self.data == FILE

    def curve(self) -> Curve:
        assert self.privacy is not None
        return Curve(self.data, self.model, self.privacy.delta, PAGE["splits"], PAGE["draws"])

    def setting(self) -> Setting:
        """Raises InputError where the numbers of each statistic are not accepted."""
        try:
            privacy = Privacy(PAGE["each_epsilon"], PAGE["each_delta"])
        except InputError as error:
            raise InputError(f"each_{error.field}", error.value, error.accepted) from None
        recipe = PAGE["recipe"] if self.model == "naive-bayes" else "published"
        return Setting(self.data, self.model, privacy, PAGE["splits"], PAGE["draws"], recipe)


def sidebar() -> Asked:
    """Draw the controls, on a projector those that a lecture moves, and read them."""
    places: dict = {}
    with st.sidebar:
        PAGE.note()
        st.subheader("Learner", anchor=False)
        fields.pick(PAGE, "model", "Model")
        fields.pick(PAGE, "data", "Data")
        st.subheader("Privacy of everything together", anchor=False)
        fields.stops(PAGE, "epsilon", f"ε — {EPSILON.help}", STOPS, "{:g}".format)
        if not FRAME["projector"]:
            places["epsilon"] = fields.number(PAGE, "epsilon", "ε exactly", step=0.1, help="From 0.1 to 10.")
        places["delta"] = fields.number(PAGE, "delta", f"δ — {DELTA.help}", help=prose.ABOUT_DELTA)
        if not FRAME["projector"]:
            folding.further("More", PAGE, ("splits", "draws"), _more)
        below = st.container()
    asked = Asked(PAGE["data"], PAGE["model"])
    try:
        privacy = Privacy(PAGE["epsilon"], PAGE["delta"])
        if privacy.delta == 0:
            raise InputError("delta", 0.0, "a number above 0: three of the four laws need it")
        if not 0.1 <= privacy.epsilon <= 10:
            raise InputError("epsilon", privacy.epsilon, "a number from 0.1 to 10")
        Protocol(PAGE["splits"], PAGE["draws"])
        asked.table = None if asked.own else table_of(asked.data, asked.model)
        asked.privacy = privacy
    except InputError as error:
        asked.complaint = explain(error, FIELDS)
        places.get(error.field, below).error(asked.complaint)
    return asked


def _more() -> None:
    fields.number(PAGE, "splits", "Random splits", step=10)
    fields.number(PAGE, "draws", "Draws of the noise for each", step=50)
