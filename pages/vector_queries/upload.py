"""Sensitivities from a file: which column, which names, a look at both before they are used."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from dpcore.errors import InputError
from dpcore.numbers import write_number
from dpcore.vector import SensitivityProfile
from dpcore.vector.files import Choice, SensitivityFile, read_file
from dpcore.vector.profile import own_text
from pages.shared import prose
from pages.shared.address import LONGEST
from pages.shared.messages import explain

TEXT = prose.sections("vector_queries")

MOST_SHOWN = 5000
"""Longer profiles do not fit into a link and belong to the command line."""

NAMELESS = -1


def from_file(use: Callable[[Mapping[str, object]], None], labels: Mapping[str, str]) -> None:
    """A file fills the text box by `use`, once its reader has seen what that would be; labels : see `explain`."""
    with st.expander("From a file"):
        st.caption(TEXT["upload"])
        raw = st.file_uploader("CSV", type=["csv", "tsv", "txt"], key="vector_file", max_upload_size=2)
        if raw is None:
            return
        try:
            file = read_file(raw.getvalue().decode("utf-8-sig"))
            choice = _choice(file, raw.file_id)
            if choice is None:
                st.info("Choose the column of the sensitivities.")
                return
            found = file.profile(choice, _label(file, choice, raw.file_id))
            text = _short_enough(found)
        except UnicodeDecodeError:
            st.error("The file is not text in UTF-8: save it as “CSV UTF-8”.")
        except InputError as error:
            st.error(explain(error, labels))
        else:
            _look(found, bounds=len(choice.columns) == 2)
            chosen = {"numbers": text, "shape": "list"}
            st.button(f"Use these {len(found)}", on_click=use, args=(chosen,), key="vector_take", type="primary")


def _choice(file: SensitivityFile, upload: str) -> Choice | None:
    """What is read as the sensitivities: asked for where there is more than one possibility."""
    choices = file.choices
    if len(choices) == 1:
        return choices[0]
    first = choices.index(file.suggested) if file.suggested in choices else None
    return st.selectbox(
        "Sensitivities", choices, index=first, format_func=lambda one: one.label, placeholder="Choose a column",
        key=f"vector_column {upload}",
    )  # fmt: skip


def _label(file: SensitivityFile, choice: Choice, upload: str) -> int | None:
    """The column of names."""
    columns, first = [NAMELESS, *file.labels(choice)], file.label(choice)
    if len(columns) == 1:
        return None
    label = st.selectbox(
        "Names", columns, index=0 if first is None else columns.index(first), key=f"vector_label {upload} {choice}",
        format_func=lambda at: "none" if at == NAMELESS else file.sheet.label(at),
    )  # fmt: skip
    return None if label == NAMELESS else label


def _short_enough(found: SensitivityProfile) -> str:
    """The text of the box, which must fit into a link."""
    text = own_text(found)
    if len(text) > LONGEST or len(found) > MOST_SHOWN:
        raise InputError("profile", f"{len(found)} numbers", "a shorter file; the command line takes long ones")
    return text


def _look(found: SensitivityProfile, *, bounds: bool) -> None:
    """The names and values as they would be used."""
    names = found.names or tuple(f"coordinate {i}" for i in range(1, len(found) + 1))
    rows = [{"name": name, "sensitivity": write_number(value)} for name, value in zip(names, found.values)]
    st.dataframe(rows, hide_index=True, height=min(len(rows), 6) * 35 + 38, key="vector_look")
    if bounds:
        st.caption(TEXT["bounds"])
    if still := [name for name, value in zip(names, found.values) if value == 0]:
        shown = prose.literal(", ".join(still[:5]) + (" …" if len(still) > 5 else ""))
        st.warning(f"Sensitivity 0: {shown}. The answer there does not depend on anybody, and is released as it is.")
