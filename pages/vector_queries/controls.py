"""The sidebar of the page: the profile, the promise, the error that counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from dpcore.errors import InputError
from dpcore.privacy import DELTA, EPSILON, Privacy
from dpcore.problem_fields import titles, vector
from dpcore.problem_fields.vector import POWER
from dpcore.vector import SensitivityProfile, VectorQuery
from dpcore.vector.compare import NAMES
from dpcore.vector.profile import own_profile
from pages.shared import fields, folding, prose
from pages.shared.address import FRAME, LONGEST, Address, Choice, Number, Text
from pages.shared.messages import LABELS, explain

from .upload import MOST_SHOWN, from_file

SHAPES = {
    "exponential": "exponential, λ ∝ eⁱ",
    "quadratic": "quadratic, λ ∝ i²",
    "linear": "linear, λ ∝ i",
    "uniform": "uniform",
    "one-hot": "one-hot",
    "list": "my own numbers",
}
NORMS = {"l2": "‖λ‖₂ = 1", "l1": "‖λ‖₁ = 1", "none": "as they are"}
DATA = {
    "synthetic": "Synthetic subspace (1000 × 100)",
    "digits": "Handwritten digits (1797 × 64)",
    "wine": "Wine (178 × 13)",
    "breast-cancer": "Breast cancer (569 × 30)",
    "diabetes": "Diabetes (442 × 10)",
    "upload": "my own table",
}
APPLICATIONS = {
    "components": "Principal components",
    "lasso": "ℓ1 linear regression",
    "logistic": "ℓ2 logistic regression",
    "layers": "Clipping per layer",
}
FAMILIES = {"gaussian": "Gaussian", "laplace": "Laplace"}
PANELS = {
    "dimension": "Against dimension", "epsilon": "Against ε", "spread": "Why spread helps",
    "applications": "At work", "export": "Take it away",
}  # fmt: skip

PAGE = Address(
    "vector queries",
    shape=Choice("exponential", SHAPES), dimension=Number(20, 1, 2000, whole=True), numbers=Text("0.85, 0.15", LONGEST),
    norm=Choice("l2", NORMS), epsilon=Number.of(EPSILON, 0.5), delta=Number.of(DELTA, 1e-6), power=Number.of(POWER),
    l1=Number(None), l2=Number(None), panel=Choice("dimension", PANELS), family=Choice("gaussian", FAMILIES),
    application=Choice("components", APPLICATIONS), data=Choice("synthetic", DATA), rank=Number(10, 1, 50, whole=True),
    trials=Number(20, 2, 200, whole=True),
    released=Choice("best", {"best": "the best of them"} | NAMES),
)  # fmt: skip
"""Every control of the page."""

FIELDS = LABELS | titles(vector.FIELDS) | {"dimension": "dimension K"}
"""Names of the controls in messages about them."""


@dataclass
class Asked:
    """What the controls say. query is None while a control holds what is not accepted."""

    query: VectorQuery | None = None
    complaints: list[str] = field(default_factory=list)

    @property
    def preset(self) -> str | None:
        """The shape whose dimension can vary, None for own numbers."""
        return None if PAGE["shape"] == "list" else PAGE["shape"]

    @property
    def norm(self) -> str:
        """What the profile is scaled to; own numbers never are, whatever a link says."""
        return PAGE["norm"] if self.preset else "none"


def sidebar() -> Asked:
    """Draw the controls, on a projector those that a lecture moves, and read them all."""
    asked, full, places = Asked(), not FRAME["projector"], {}
    with st.sidebar:
        PAGE.note()
        st.subheader("How much each coordinate can change", anchor=False)
        fields.pick(PAGE, "shape", "Sensitivity profile")
        if PAGE["shape"] == "list":
            st.text_area(
                "Sensitivities", key="numbers", height=90,
                help="One number per coordinate, with decimal points: 0.85; 0.15. Semicolons, blanks or lines between "
                "them. Names may stand before them, each on its line: age: 0.85.",
            )  # fmt: skip
            places["profile"] = st.empty()
            st.caption("Taken as they are, in the query's own units. Only the named profiles are scaled.")
            if full:
                from_file(PAGE.choose, FIELDS)
        else:
            fields.number(PAGE, "dimension", "Dimension K", step=1)
            places["profile"] = places["dimension"] = st.empty()
            if full:
                fields.pick(PAGE, "norm", "Scaled to")
        st.subheader("The promise", anchor=False)
        left, right = st.columns(2)
        with left:
            fields.number(PAGE, "epsilon", "ε", step=0.1)
        with right:
            fields.number(
                PAGE, "delta", "δ", step=1e-6,
                help=f"{prose.ABOUT_DELTA} With 0 Gaussian noise is not possible.",
            )  # fmt: skip
        places["epsilon"] = places["delta"] = st.empty()
        st.subheader("The error that counts", anchor=False)
        fields.quantities(PAGE, [POWER])
        below = st.empty()
        if full:
            _limits()
        try:
            asked.query = read()
        except InputError as error:
            asked.complaints.append(explain(error, FIELDS))
            places.get(error.field.partition(" ")[0], below).error(asked.complaints[-1])
    return asked


def _limits() -> None:
    """Global sensitivities, and what all of this means."""

    def draw() -> None:
        for key in ("l1", "l2"):
            title = vector.FIELDS[key].title
            fields.number(PAGE, key, title[0].upper() + title[1:])

    folding.further("Coordinates that cannot all change at once", PAGE, ("l1", "l2"), draw)
    st.caption(
        "Neighbours: data sets that differ in one person; coordinate i then moves by at most λᵢ. "
        "Scales and samples here are floating point, for looking; releases under “Take it away” are exact."
    )


def read() -> VectorQuery:
    """The query that the controls describe."""
    privacy = Privacy(PAGE["epsilon"], PAGE["delta"])
    return VectorQuery(privacy, profile(), PAGE["power"], None, PAGE["l1"], PAGE["l2"])


def profile() -> SensitivityProfile:
    """The profile that the controls describe."""
    if PAGE["shape"] != "list":
        return SensitivityProfile.preset(PAGE["shape"], PAGE["dimension"], normalise=PAGE["norm"])
    found = own_profile(PAGE["numbers"] or "")
    if len(found) > MOST_SHOWN:
        raise InputError("profile", f"{len(found)} numbers", f"at most {MOST_SHOWN} here, more on the command line")
    return found
