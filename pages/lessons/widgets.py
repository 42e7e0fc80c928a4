"""Controls and widgets that the topics of the Learn pages share."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st

from dpcore.numbers import read_number, write_number
from pages.shared import fields, prose
from pages.shared.address import FRAME, Address, Number


@dataclass(frozen=True)
class Stops:
    """A slider over fixed stops; a link may hold any of them."""

    default: float
    stops: tuple[float, ...]

    def read(self, text: str) -> float:
        value = read_number(text, "stop")
        if value not in self.stops:
            raise ValueError(text)
        return self.stops[self.stops.index(value)]

    def write(self, value: float) -> str:
        return write_number(value)


HEIGHT = 390
"""Height of the picture, in pixels: with the headline above it, it fits a projector's first screen."""

EPSILON = Stops(1.0, (0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1,
                      1.2, 1.3, 1.5, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0))  # fmt: skip
SEED = Number(1, 0, 9999, whole=True)


@dataclass(frozen=True)
class Slider:
    """A slider that the side bar has: the control's key, its label and stops, how one is written, what a move does
    besides."""

    key: str
    label: str
    stops: tuple[float, ...]
    show: Callable[[float], str]
    on_change: Callable[[], None] | None = None


_drawn: ContextVar[list[Slider]] = ContextVar("sliders")


def begin() -> None:
    """No slider has been drawn yet, in this run of the page."""
    _drawn.set([])


def drawn() -> list[Slider]:
    """The sliders that were."""
    return _drawn.get([])


def epsilon(page: Address) -> None:
    """The privacy parameter ε, under the key "epsilon"."""
    told = "Smaller is more private: no output becomes more than $e^\\varepsilon$ times as likely."
    slider(page, "epsilon", "Privacy ε", help=told)
    if not FRAME["projector"]:
        st.html('<div class="ends"><span>stronger privacy</span><span>more accurate</span></div>')


SEEN_DELTA = 1e-3
"""From which on a δ is one to look at, and none to publish with."""


def delta(
    page: Address, key: str = "delta", label: str = "δ", *, on_change: Callable[[], None] | None = None
) -> None:  # fmt: skip
    """A privacy parameter δ; a large one is there to be seen, which is said."""
    slider(page, key, label, show=prose.delta_text, help=prose.ABOUT_DELTA, on_change=on_change)
    if page[key] >= SEEN_DELTA and not FRAME["projector"]:
        people = prose.count(round(1 / page[key]))
        st.caption(f"Large, so that it can be seen: with more than {people} people it may give whole rows away.")


def slider(
    page: Address, key: str, label: str, *, help: str | None = None, show: Callable[[float], str] = "{:g}".format,
    on_change: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """A slider over the stops of the control `key`. The value is told by every run: a browser may miss one."""
    stops = page.controls[key].stops
    drawn().append(Slider(key, label, stops, show, on_change))
    st.select_slider(label, stops, page[key], format_func=show, key=key, help=help, on_change=on_change)


pick = fields.pick
"""A box of the options of a choice."""


def seed(page: Address, label: str = "Again") -> None:
    """The seed of what is simulated, with a button that takes the next one."""
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        fields.number(page, "seed", "Seed", step=1, help="The same seed, the same draws.")
    following = {"seed": (page["seed"] + 1) % 10_000}
    right.button(label, key="next_seed", on_click=page.choose, args=(following,), help="Take the next seed.")
