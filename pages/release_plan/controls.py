"""The page's address, where it begins, and its sidebar: a plan to start from and the budget."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dpcore.errors import InputError
from dpcore.plan.files import plan_from_toml
from dpcore.plan.made_up import EXAMPLE
from dpcore.plan.plan import SPLITS
from dpcore.plan.public import NEIGHBOURS, NUMBER, ROWS_EACH
from dpcore.privacy import DELTA, EPSILON
from pages.shared import fields, prose
from pages.shared.address import FRAME, Address, Choice, Number, Text

from . import draft
from .draft import ColumnDraft, LineDraft, Packed, Reading, pack

PANELS = {
    "have": "1 You have", "publish": "2 You publish", "cost": "3 Budget", "noise": "4 Noise", "expect": "5 Expect",
    "release": "6 Release", "take": "7 Take away",
}  # fmt: skip
DATA = {"made-up": "Made-up people", "file": "A file of mine"}
MOST_REPEATS = 10_000

SURVEY = draft.values_of(plan_from_toml(EXAMPLE))

HOSPITAL = SURVEY | {
    "title": "Patients of a hospital", "people": None, "epsilon": 1.0, "delta": 1e-6,
    "columns": pack([
        ColumnDraft("age", "number", "0", "100", "1", "0, 18, 40, 65, 80, 100"),
        ColumnDraft("stay", "number", "0", "60", "1", shape="falling"),
        ColumnDraft("ward", "category", values="surgery, medicine, children, births", shape="falling"),
    ]),
    "lines": pack([
        LineDraft(what="count", where="age > 65", ask="within", amount="20", non_negative=True),
        LineDraft(what="histogram", of=("ward", "age"), non_negative=True),
        LineDraft(what="mean", of=("stay",)),
        LineDraft(what="quantile", of=("stay",), q="0.9"),
    ]),
}  # fmt: skip

EMPTY = SURVEY | {"title": "", "people": None, "columns": "", "lines": ""}

PRESETS = {"Survey of 30\u202f000 adults": SURVEY, "Patients of a hospital": HOSPITAL, "Empty plan": EMPTY}
"""Plans to start from."""

PAGE = Address(
    "release_plan",
    SURVEY,
    panel=Choice("have", PANELS), title=Text("", draft.LONGEST_TITLE), neighbours=Choice(NEIGHBOURS[0], NEIGHBOURS),
    people=Number(None, NUMBER.low, NUMBER.high, whole=True), identifier=Text("", 200),
    rows_each=Number(1, ROWS_EACH.low, ROWS_EACH.high, whole=True), columns=Packed(""),
    lines=Packed("", kind=LineDraft), epsilon=Number(1.0), delta=Number(1e-6),
    split=Choice(SPLITS[0], {SPLITS[0]: "in proportion to weights", SPLITS[1]: "so that relative errors are alike"}),
    repeats=Number(52, 2, MOST_REPEATS, whole=True), data=Choice("made-up", DATA),
)  # fmt: skip
"""Every control of the page. What has been released and spent is in no link."""

STOPS = {
    "epsilon": (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0),
    "delta": (0.0, *(10.0**-power for power in range(12, 2, -1))),
}
"""Values that the sliders stop at."""


def sidebar(found: Reading) -> None:
    """Draw plans to start from and the budget."""
    with st.sidebar:
        PAGE.note()
        st.subheader("Start from", anchor=False)
        for number, (label, values) in enumerate(PRESETS.items()):
            here = all(PAGE[key] == value for key, value in values.items())
            st.button(
                label,
                key=f"start_{number}",
                on_click=PAGE.show,
                args=(values | {"panel": "have"},),
                disabled=here,
                width="stretch",
            )
        st.subheader("The whole budget", anchor=False)
        fields.stops(PAGE, "epsilon", f"ε — {EPSILON.help}", STOPS["epsilon"], "{:g}".format)
        st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
        fields.stops(PAGE, "delta", f"δ — {DELTA.help}", STOPS["delta"], prose.delta_text)
        st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')
        if not FRAME["projector"]:
            told = f"{EPSILON.range}. Of everything that is published together, for one person."
            _exactly(found, "epsilon", "ε exactly", 0.1, told)
            _exactly(found, "delta", "δ exactly", 1e-6, f"{prose.ABOUT_DELTA} Or 0.")
            _open()


def _exactly(found: Reading, key: str, label: str, step: float, help: str) -> None:
    """A field with the plan's complaint about it."""
    place = fields.number(PAGE, key, label, step=step, help=help)
    if told := found.complaints.get(("", 0, key)):
        place.error(told)


def _open() -> None:
    """A plan that was saved, read again."""
    with st.expander("Open a plan"):
        raw = st.file_uploader("A plan in TOML", type="toml", key="plan_file", max_upload_size=1)
        if raw is None:
            return
        try:
            values = draft.opened(plan_from_toml(raw.getvalue().decode("utf-8-sig")))
        except UnicodeDecodeError:
            st.error("The file is not text in UTF-8.")
        except InputError as error:
            st.error(draft.in_words(error))
        else:
            st.button("Use this plan", key="plan_take", type="primary", on_click=_take, args=(values,))


def _take(values: Mapping[str, object]) -> None:
    PAGE.show({**values, "panel": "have"})
