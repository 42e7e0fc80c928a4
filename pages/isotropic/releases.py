"""One exact release of a vector that the visitor makes up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dpcore.errors import InputError, MissingExtraError
from dpcore.numbers import read_numbers
from pages.shared.messages import explain

SHOWN = 50
"""Numbers of a released vector."""


def vector(count: int, release: Callable[[list[float]], Sequence], note: str) -> None:
    """A text with up to `count` true values, a button, after a click what `release` makes of them all, and a note."""
    text = st.text_area(
        "True values", ", ".join(["0"] * min(count, SHOWN)), height=68, key="true_values",
        help="One number per coordinate; those left out at the end count as 0.",
    )  # fmt: skip
    if st.button("Release", key="release_one", type="primary"):
        try:
            given = read_numbers(text, "true values", f"up to {count} numbers") if (text or "").strip() else []
            if len(given) > count:
                raise InputError("true values", f"{len(given)} numbers", f"up to {count} numbers")
            released = release(given + [0.0] * (count - len(given)))
        except (InputError, MissingExtraError) as error:
            st.error(explain(error) if isinstance(error, InputError) else str(error))
            return
        shown = ", ".join(f"{float(value):.6g}" for value in released[:SHOWN])
        st.code(shown + (" …" if count > SHOWN else ""), language=None, wrap_lines=True)
        if len(given) < count:
            st.caption(f"{len(given)} of {count} values were given; the others counted as 0.")
    st.caption(note)
