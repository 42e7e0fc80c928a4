"""The sidebar of the page: the story and its data, privacy, mechanisms."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from dpcore.errors import InputError
from dpcore.numbers import read_numbers
from dpcore.private_optimization import BASELINES, FEASIBLE, PrivateProgram, stories
from dpcore.private_optimization.noises import NAMES
from dpcore.problem_fields.program import DELTA, EPSILON
from pages.shared import fields, prose
from pages.shared.address import FRAME, Address, Choice, Choices, Number, Text
from pages.shared.messages import explain

from .story import Story, built, program_of, sample

STORIES = {
    "picture": "Two variables",
    "transport": "Hospital transport",
    "portfolio": "Portfolio",
    "advertising": "Internet advertising",
    "own": "Your own program",
}
DEMANDS = "96, 41, 118, 73, 25, 64, 87, 52"

PAGE = Address(
    "private optimisation",
    story=Choice("transport", STORIES),
    epsilon=Number.of(EPSILON), delta=Number.of(DELTA),
    mechanism=Choice("best", {"best": "the best that applies"} | {key: NAMES[key] for key in FEASIBLE}),
    rivals=Choices(("truncated-laplace", "laplace"), {key: NAMES[key] for key in (*FEASIBLE, *BASELINES)}),
    draws=Number(200, 20, 2000, whole=True), shown=Number(1, 1, 2000, whole=True),
    first=Number(60.0), second=Number(45.0), sensitivity=Number(1.0),
    patients=Text(DEMANDS, 2000), pharmacies=Number(6, 1, 50, whole=True), most=Number(200, 1, 10**6, whole=True),
    map_seed=Number(1, 0, 10**6, whole=True),
    investors=Number(1000, 1, 10**7, whole=True), target=Number(2.5),
    groups=Number(200, 1, 400, whole=True), advertisers=Number(10, 1, 50, whole=True), change=Number(100.0),
    cents=Choice("none", {"none": "any amount", "10": "multiples of 10", "1": "whole dollars"}),
    own_sensitivity=Number(1.0), own_step=Number(None),
    figure=Choice("none", {"none": "none", "3": "Figure 3", "4": "Figure 4", "5": "Figure 5"}),
)  # fmt: skip
"""Every control of the page."""


@dataclass
class Asked:
    """What the controls say; story and program are None while a control holds what is not accepted."""

    story: Story | None = None
    program: PrivateProgram | None = None
    map: stories.Transport | None = None
    epsilon: float = 1.0
    delta: float = 1e-4
    mechanism: str = "tight"
    rivals: tuple[str, ...] = ()
    complaints: list[str] = field(default_factory=list)

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The one in focus first."""
        return (self.mechanism, *(key for key in self.rivals if key != self.mechanism))


ABOUT_SAMPLE = "Two pharmacies supply three hospitals, whose numbers of patients are private and change by one."
NEED_FILES = ("portfolio", "own")
"""Stories that are told with the visitor's files."""


def sidebar() -> Asked:
    """Draw the controls, on a projector those that a lecture moves, and read them all."""
    story, projected = PAGE["story"], bool(FRAME["projector"])
    with st.sidebar:
        PAGE.note()
        st.subheader("The program", anchor=False)
        fields.pick(PAGE, "story", "Story")
        files = () if projected and story not in NEED_FILES else _data(story)
        st.subheader("Privacy", anchor=False)
        fields.quantities(PAGE, [EPSILON])
        fields.number(
            PAGE, "delta", DELTA.label, step=DELTA.step,
            help=f"{prose.ABOUT_DELTA} 0: no data is used.",
        )  # fmt: skip
        st.subheader("Noise", anchor=False)
        fields.pick(PAGE, "mechanism", "In focus")
        if projected:
            return _read(files)
        st.pills(
            "Compared with", PAGE.options("rivals"), format_func=PAGE.label("rivals"), key="rivals",
            selection_mode="multi",
        )  # fmt: skip
        st.slider("Simulated releases", 20, 2000, key="draws", step=20)
    return _read(files)


def _data(story: str) -> tuple[bytes, ...]:
    """The story's own controls; uploaded files."""
    if story == "picture":
        _number("first", "Private limit of x + y", 1.0)
        _number("second", "Private limit of 2x + y/2", 1.0)
        _number("sensitivity", "ℓ1-sensitivity of both limits", 0.5)
    elif story == "transport":
        st.text_area(
            "Patients at each hospital (private)", key="patients",
            help="Whole numbers, with semicolons, or commas and blanks, between them.",
        )  # fmt: skip
        _number("most", "No hospital ever has more than", 10)
        _number("pharmacies", "Pharmacies", 1)
        _number("map_seed", "Map number", 1)
    elif story == "portfolio":
        _number("investors", "Investors, each with 0 to 1 (private)", 100)
        _number("target", "Mean return of at least", 0.1)
        upload = st.file_uploader(
            "Returns (CSV): a column per asset, a row per period", type="csv", key="returns", max_upload_size=5,
            help="Read for this session only. Without a file: 28 simulated assets.",
        )  # fmt: skip
        return (upload.getvalue(),) if upload else ()
    elif story == "advertising":
        _number("groups", "Groups of pages M", 10)
        _number("advertisers", "Advertisers N", 1)
        _number("change", "Sensitivity of the budgets, $", 10.0)
        fields.pick(PAGE, "cents", "Budgets are")
    else:
        model = st.file_uploader("Model (MPS or LP)", type=["mps", "lp"], key="model_file", max_upload_size=5)
        rows = st.file_uploader("Private rows (CSV: row,limit)", type="csv", key="rows_file", max_upload_size=5)
        with st.container(horizontal=True):
            mps, csv = sample()
            st.download_button("Sample model", mps, "sample.mps", "text/plain", on_click="ignore", help=ABOUT_SAMPLE)
            st.download_button("Sample rows", csv, "sample.csv", "text/csv", on_click="ignore", help=ABOUT_SAMPLE)
        _number("own_sensitivity", "ℓ1-sensitivity of the private limits", 0.5)
        _number("own_step", "Limits are multiples of (empty: real numbers)", 1.0)
        if model and rows:
            return (model.getvalue(), rows.getvalue(), model.name.rpartition(".")[2].encode())
    return ()


def _number(key: str, label: str, step: float) -> None:
    fields.number(PAGE, key, label, step=step)


def _read(files: tuple[bytes, ...]) -> Asked:
    """The controls' values as a program; a complaint for what is not accepted."""
    asked = Asked()
    try:
        asked.epsilon, asked.delta = EPSILON.check(PAGE["epsilon"]), DELTA.check(PAGE["delta"])
        asked.story = _story(PAGE["story"], files)
        if asked.story is None:
            return asked
        found = built(asked.story)
        asked.map = found if isinstance(found, stories.Transport) else None
        asked.program = program_of(asked.story, asked.epsilon, asked.delta)
        asked.mechanism, asked.rivals = _mechanism(asked.program), tuple(PAGE["rivals"] or ())
    except InputError as error:
        asked.complaints.append(explain(error))
    return asked


def _mechanism(program: PrivateProgram) -> str:
    """The mechanism in focus: several real-valued limits have no optimal noise."""
    if PAGE["mechanism"] != "best":
        return PAGE["mechanism"]
    steps = program.steps
    fits = steps is not None and steps <= 64 if len(program.rows) > 1 else program.epsilon >= 1e-3
    return "optimal" if fits else "tight"


def _story(kind: str, files: tuple[bytes, ...]) -> Story | None:
    """The story as plain values; None while its files are missing."""

    def number(key: str) -> float:
        if PAGE[key] is None:
            raise InputError(PAGE.controls[key] and key, None, "a number")
        return PAGE[key]

    if kind == "picture":
        limits = (float(number("first")), float(number("second")))
        return Story(kind, (("limits", limits), ("sensitivity", float(number("sensitivity")))))
    if kind == "transport":
        values = (("demands", _patients()), ("pharmacies", number("pharmacies")), ("most_patients", number("most")))
        return Story(kind, (*values, ("seed", number("map_seed"))))
    if kind == "portfolio":
        return Story(kind, (("investors", number("investors")), ("return_target", float(number("target")))), files)
    if kind == "advertising":
        step = PAGE["cents"]
        values = (("groups", number("groups")), ("advertisers", number("advertisers")))
        more = () if step == "none" else (("granularity", float(step)),)
        return Story(kind, (*values, ("sensitivity", float(number("change"))), *more))
    if not files:
        return None
    values = (("sensitivity", float(number("own_sensitivity"))), ("granularity", PAGE["own_step"] or 0.0))
    return Story(kind, (*values, ("suffix", files[2].decode())), files[:2])


def _patients() -> tuple[float, ...]:
    accepted = "1 to 50 whole numbers with semicolons, or commas and blanks, between them"
    text = PAGE["patients"] or ""
    values = tuple(read_numbers(text, "patients", accepted))
    if not 1 <= len(values) <= 50 or any(v != int(v) or v < 0 for v in values if abs(v) < 1e15):
        raise InputError("patients", text[:40], accepted)
    return values
