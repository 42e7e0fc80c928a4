"""Parts of a page that are folded: what is in one goes to the browser once it is unfolded, one round trip later.

A fold that nobody opens costs neither the server nor the browser anything but its title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from .address import FRAME, Address


def fold(label: str, draw: Callable[[], object], *, key: str, unfolded: bool = False) -> None:
    """A title; below it, while it is unfolded, what `draw` draws.

    key : on no other page, if `unfolded` may be.
    unfolded : the fold follows it where it is new on the screen, and when it changes; else it is the visitor's.
    """
    said = f"{key} unfolded"
    if (unfolded and key not in st.session_state) or unfolded != st.session_state.get(said, False):
        st.session_state[key] = unfolded
    st.session_state[said] = unfolded
    with st.expander(label, key=key, on_change="rerun") as part:
        if part.open:
            draw()


def further(label: str, page: Address, controls: Sequence[str], draw: Callable[[], object]) -> None:
    """A fold of controls, unfolded from the moment on at which one of them is not as at first: a field that is emptied
    again is in use."""
    key = f"further on {page.name}"
    touched = f"{key} touched"
    st.session_state[touched] = st.session_state.get(touched, False) or page.touched(*controls)
    fold(label, draw, key=key, unfolded=st.session_state[touched])


def explanation(label: str, *parts: str) -> None:
    """Text that is folded unless the visitor wants explanations."""
    key = f"explanation on {st.session_state['address']}"
    fold(label, lambda: st.markdown("\n\n".join(parts)), key=key, unfolded=bool(FRAME["explain"]))


def about(text: Mapping[str, str]) -> None:
    """What a page computes: its sections "about", "formulas" where it has any, and "references"."""
    told = [text[name] for name in ("about", "formulas") if name in text]
    explanation("What is computed here, and where it comes from", *told, "**References**", text["references"])
