"""Parts of a page that are folded: what is in one goes to the browser once it is unfolded, one round trip later.

A fold that nobody opens costs neither the server nor the browser anything but its title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from .address import FRAME


def fold(label: str, draw: Callable[[], object], *, key: str, unfolded: bool = False) -> None:
    """A title; below it, while it is unfolded, what `draw` draws.

    unfolded : whether it is at first. When that changes, the fold follows; between changes it is the visitor's.
    """
    if st.session_state.get(f"{key} follows", False) != unfolded:
        st.session_state[f"{key} follows"] = st.session_state[key] = unfolded
    with st.expander(label, key=key, on_change="rerun") as part:
        if part.open:
            draw()


def explanation(label: str, *parts: str) -> None:
    """Text that is folded unless the visitor wants explanations."""
    fold(label, lambda: st.markdown("\n\n".join(parts)), key="explanation", unfolded=bool(FRAME["explain"]))


def about(text: Mapping[str, str]) -> None:
    """What a page computes: its sections "about", "formulas" where it has any, and "references"."""
    told = [text[name] for name in ("about", "formulas") if name in text]
    explanation("What is computed here, and where it comes from", *told, "**References**", text["references"])
