"""Buttons that act in the browser alone: copy the link or a text, save a figure as PNG or SVG.

actions.row([actions.link(), actions.text("Copy BibTeX", entry)], key="share")
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from .prose import asset


def row(actions: Sequence[dict], *, key: str) -> None:
    """The buttons beside each other."""
    _buttons(data={"actions": list(actions)}, key=key, width="content")


def link(label: str = "Copy link") -> dict:
    """Copies the address of the screen as it is."""
    return {"kind": "link", "label": label, "help": "The link reproduces this screen: every control is in it."}


def text(label: str, content: str) -> dict:
    """Copies a text."""
    return {"kind": "text", "label": label, "text": content}


def figure(label: str, *, chart: str, form: str, name: str) -> dict:
    """Saves the chart of a key as "png" or "svg" in a file without its ending."""
    return {"kind": "figure", "label": label, "chart": chart, "format": form, "name": name}


_buttons = st.components.v2.component("dp_frontier_actions", css=asset("actions.css"), js=asset("actions.js"))
