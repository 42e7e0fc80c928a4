"""The sidebar of the page: the profile, the promise, the error that counts."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from dpcore.errors import InputError
from dpcore.privacy import Privacy
from dpcore.vector import SensitivityProfile, VectorQuery, parse_profile
from dpcore.vector.compare import NAMES
from dpcore.vector.files import profile_from_bounds_csv, profile_from_csv
from pages.shared.address import FRAME, LONGEST, Address, Choice, Number, Text
from pages.shared.inputs import LABELS, explain

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

VECTOR = Address(
    "vector queries",
    shape=Choice("exponential", SHAPES), dimension=Number(20, 1, 2000, whole=True), numbers=Text("0.85, 0.15", LONGEST),
    norm=Choice("l2", NORMS), epsilon=Number(0.5), delta=Number(1e-6), power=Number(2.0),
    l1=Number(None), l2=Number(None), panel=Choice("dimension", PANELS), family=Choice("gaussian", FAMILIES),
    application=Choice("components", APPLICATIONS), data=Choice("synthetic", DATA), rank=Number(10, 1, 50, whole=True),
    trials=Number(20, 2, 200, whole=True),
    released=Choice("best", {"best": "the best with an exact sampler"} | NAMES),
)  # fmt: skip
"""Every control of the page."""

FIELDS = LABELS | {"profile": "sensitivities", "l1": "global ℓ1 sensitivity", "l2": "global ℓ2 sensitivity"}
"""Names of the controls in messages about them."""

MOST_SHOWN = 5000
"""Longer profiles do not fit into a link and belong to the command line."""


@dataclass
class Asked:
    """What the controls say. query is None while a control holds what is not accepted."""

    query: VectorQuery | None = None
    complaints: list[str] = field(default_factory=list)

    @property
    def preset(self) -> str | None:
        """The shape whose dimension can vary, None for a list."""
        return None if VECTOR["shape"] == "list" else VECTOR["shape"]


def sidebar() -> Asked:
    """Draw the controls, on a projector those that a lecture moves, and read them all."""
    asked, full, places = Asked(), not FRAME["projector"], {}
    with st.sidebar:
        VECTOR.note()
        st.subheader("How much each coordinate can change", anchor=False)
        st.selectbox("Sensitivity profile", VECTOR.options("shape"), format_func=VECTOR.label("shape"), key="shape")
        if VECTOR["shape"] == "list":
            st.text_area(
                "Sensitivities", key="numbers", height=90,
                help="One number per coordinate, with decimal points: 0.85, 0.15. Blanks, lines, commas or semicolons "
                "between them.",
            )  # fmt: skip
            places["profile"] = st.empty()
            if full:
                _upload()
        else:
            st.number_input("Dimension K", 1, 2000, key="dimension", value=VECTOR["dimension"])
            places["profile"] = st.empty()
        if full:
            st.selectbox("Scaled to", VECTOR.options("norm"), format_func=VECTOR.label("norm"), key="norm")
        st.subheader("The promise", anchor=False)
        left, right = st.columns(2)
        left.number_input("ε", key="epsilon", value=VECTOR["epsilon"], format="%g", step=0.1)
        right.number_input(
            "δ", key="delta", value=VECTOR["delta"], format="%g", step=1e-6,
            help="Well below one over the number of people. With 0 Gaussian noise is not possible.",
        )  # fmt: skip
        places["epsilon"] = places["delta"] = st.empty()
        st.subheader("The error that counts", anchor=False)
        st.number_input(
            "Power p of Σ |error|ᵖ", key="power", value=VECTOR["power"], format="%g", step=0.5,
            help="2: mean squared error. 1: mean absolute error.",
        )  # fmt: skip
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
    with st.expander("Coordinates that cannot all change at once"):
        st.number_input("Global ℓ1 sensitivity", key="l1", value=None, format="%g")
        st.number_input("Global ℓ2 sensitivity", key="l2", value=None, format="%g")
    st.caption(
        "Neighbours: data sets that differ in one person; coordinate i then moves by at most λᵢ. "
        "Scales and samples here are floating point, for looking; releases under “Take it away” are exact."
    )


def read() -> VectorQuery:
    """The query that the controls describe."""
    privacy = Privacy(VECTOR["epsilon"], VECTOR["delta"])
    return VectorQuery(privacy, profile(), VECTOR["power"], None, VECTOR["l1"], VECTOR["l2"])


def profile() -> SensitivityProfile:
    """The profile that the controls describe."""
    if VECTOR["shape"] != "list":
        return SensitivityProfile.preset(VECTOR["shape"], VECTOR["dimension"], normalise=VECTOR["norm"])
    found = parse_profile(VECTOR["numbers"] or "", normalise=VECTOR["norm"])
    if len(found) > MOST_SHOWN:
        raise InputError("profile", f"{len(found)} numbers", f"at most {MOST_SHOWN} here, more on the command line")
    return found


def _upload() -> None:
    """A file fills the text box: a column of sensitivities, or name, lower, upper per column of a table."""
    with st.popover("From a file", width="stretch"):
        kind = st.radio("The file holds", ("sensitivities", "bounds (name, lower, upper)"), key="vector_file_kind")
        file = st.file_uploader("CSV", type=["csv", "txt"], key="vector_file", max_upload_size=2)
        st.button("Use it", on_click=_take, args=(file, kind), disabled=file is None, key="vector_take")
        if problem := st.session_state.pop("vector_file_problem", None):
            st.error(problem)


def _take(file, kind: str) -> None:
    try:
        text = file.getvalue().decode("utf-8-sig")
        found = profile_from_csv(text) if kind == "sensitivities" else profile_from_bounds_csv(text)
        numbers = ", ".join(repr(float(value)).removesuffix(".0") for value in found.values)
        if len(numbers) > LONGEST:
            raise InputError("profile", f"{len(found)} numbers", "a shorter file; the command line takes long ones")
    except UnicodeDecodeError:
        st.session_state["vector_file_problem"] = "The file is not a text file."
    except InputError as error:
        st.session_state["vector_file_problem"] = explain(error, FIELDS)
    else:
        VECTOR.choose({"numbers": numbers, "shape": "list"})
