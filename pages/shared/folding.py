"""Parts of a page that are folded: what is in one goes to the browser once it is unfolded, one round trip later.

A fold that nobody opens costs neither the server nor the browser anything but its title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from .address import FRAME


def fold(
    label: str, draw: Callable[[], object], *, key: str, unfolded: bool = False, folded_again: bool = False
) -> None:
    """A title; below it, while it is unfolded, what `draw` draws.

    unfolded : as soon as this is so, the fold opens; else it is the visitor's.
    folded_again : as soon as it is so no longer, the fold closes. Not for controls: an emptied field is in use.
    """
    before = st.session_state.get(f"{key} unfolded", False)
    if unfolded != before and (unfolded or folded_again):
        st.session_state[key] = unfolded
    st.session_state[f"{key} unfolded"] = unfolded
    with st.expander(label, key=key, on_change="rerun") as part:
        if part.open:
            draw()


def explanation(label: str, *parts: str) -> None:
    """Text that is folded unless the visitor wants explanations."""
    fold(
        label,
        lambda: st.markdown("\n\n".join(parts)),
        key="explanation",
        unfolded=bool(FRAME["explain"]),
        folded_again=True,
    )


def about(text: Mapping[str, str]) -> None:
    """What a page computes: its sections "about", "formulas" where it has any, and "references"."""
    told = [text[name] for name in ("about", "formulas") if name in text]
    explanation("What is computed here, and where it comes from", *told, "**References**", text["references"])
