"""A phone's strip under the picture: the two controls that matter most, without opening the side bar, where they are
as well. It stays at the bottom of the screen until the page has been read past the picture; elsewhere it is hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.shared import prose
from pages.shared.address import Address

from .topic import Topic
from .widgets import Slider, drawn

MOST = 2


def chosen(sliders: Sequence[Slider], topic: Topic) -> list[Slider]:
    """Of the sliders in the side bar: those of ε first, then the one along which the picture moves, then the others."""
    moves = topic.moves.key if topic.moves else ""
    return sorted(sliders, key=lambda one: (not one.label.startswith("Privacy ε"), one.key != moves))[:MOST]


def draw(page: Address, topic: Topic) -> None:
    """The strip; it takes no room where it is hidden."""
    sliders = chosen(drawn(), topic)
    if not sliders:
        return

    def moved() -> None:
        _move(page, sliders, st.session_state["strip"]["moved"])

    told = [
        {"label": one.label, "texts": list(map(one.show, one.stops)), "at": one.stops.index(page[one.key])}
        for one in sliders
    ]
    _strip(data={"controls": told}, key="strip", on_moved_change=moved)


def _move(page: Address, sliders: Sequence[Slider], told: Any) -> None:
    """Take a value from the browser, [number of the control, number of its stop]: nothing else is believed."""
    match told:
        case [int(number), int(stop)] if 0 <= number < len(sliders) and 0 <= stop < len(sliders[number].stops):
            page.choose({sliders[number].key: sliders[number].stops[stop]})
            if (act := sliders[number].on_change) is not None:
                act()


_strip = st.components.v2.component(
    "dp_frontier_strip", html='<div class="strip"></div>', js=prose.asset("strip.js"), isolate_styles=False
)
