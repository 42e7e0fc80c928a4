"""What is taken away: buttons that act in the browser alone (copy the link or a text, save a figure as PNG or SVG), and
words about files.

actions.row([actions.link(), actions.text("Copy BibTeX", entry)], key="share")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from .address import OWN
from .prose import asset


def row(actions: Sequence[dict], *, key: str) -> None:
    """The buttons beside each other."""
    _buttons(data={"actions": list(actions)}, key=key, width="content")


def link() -> dict:
    """Copies the address of the screen as others are to see it."""
    told = "The link reproduces this screen: every control is in it, but no answer, no guess and no true value."
    return {"kind": "link", "label": "Copy link", "help": told, "without": OWN}


def link_of_projector() -> dict:
    """Copies the address of the screen, larger type and all."""
    return {"kind": "link", "label": "Copy with projector", "help": "As “Copy link”, shown as here.", "without": ()}


def text(label: str, content: str) -> dict:
    """Copies a text."""
    return {"kind": "text", "label": label, "text": content}


def figure(label: str, *, chart: str, form: str, name: str) -> dict:
    """Saves the chart of a key as "png" or "svg" in a file without its ending."""
    return {"kind": "figure", "label": label, "chart": chart, "format": form, "name": name}


def figures(charts: Mapping[str, str], stem: str) -> list[dict]:
    """Save charts (title → key without "chart_"), each in both forms, in files whose names begin with the stem."""
    return [
        figure(f"{title} as {form.upper()}", chart=f"chart_{chart}", form=form, name=f"{stem}_{chart}")
        for title, chart in charts.items()
        for form in ("png", "svg")
    ]


ABOUT_CSV = "Numbers alone. What was asked and what is proved is in the JSON file of the same name."

LONGEST_SHOWN = 100_000
"""Characters of a script that are shown: a browser takes long to colour more."""


def show(program: str) -> None:
    """An exported script, unless it is very long."""
    if len(program) > LONGEST_SHOWN:
        st.caption(f"{len(program) // 1000} kB, too long to be shown: take the file.")
    else:
        st.code(program, language="python", wrap_lines=True)


_buttons = st.components.v2.component("dp_frontier_actions", css=asset("actions.css"), js=asset("actions.js"))
