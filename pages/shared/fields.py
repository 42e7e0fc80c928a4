"""Fields for numbers: what is typed is the number that was meant, or stays in the field with what to write.

The browser's own number boxes swallow what they do not know (0,5 becomes 05); these are boxes of text behind
`dpcore.numbers`, with a button for one step less and one for one step more. The control's own key holds the number; a
text that was refused is kept by the page's address, and the number accepted last stays in force.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import streamlit as st

from dpcore._validate import decimal
from dpcore.errors import InputError
from dpcore.problem_fields import Field
from dpcore.quantity import Quantity

from . import prose
from .address import Address, Number, outdated, tell
from .messages import LABELS, explain

_notice: ContextVar = ContextVar("notice")
"""Where the page has a word about texts that were refused, and those words, during one run of the script."""


def notice() -> None:
    """Keep a place here for the complaints of all fields: those in a sidebar that is closed are seen as well."""
    with st.container(key="notice"):
        _notice.set((st.empty(), []))


def choice(page: Address, key: str, label: str) -> str:
    """One of a few options beside each other, drawn without its label; the key that is chosen."""
    st.segmented_control(
        label, page.options(key), format_func=page.label(key), key=key, label_visibility="collapsed", required=True
    )
    return str(page[key])


def pick(page: Address, key: str, label: str, *, help: str | None = None, **more: Any) -> None:
    """A box of the options of a choice. The one chosen is told by every run: a browser that missed a run would show,
    and report, the first.   more : as of `st.selectbox`."""
    options = page.options(key)
    st.selectbox(label, options, options.index(page[key]), format_func=page.label(key), key=key, help=help, **more)


def number(
    page: Address, key: str, label: str, *, step: float | None = None, help: str | None = None, name: str = "",
    width: int | str = "stretch", unit: str = "",
):  # fmt: skip
    """Draw the field of the number `key` and return a place for a complaint under it.

    Parameters
    ----------
    step : of the buttons; by default a tenth of the value's power of ten.
    name : of the field in messages, where the label is long or says little.   unit : shown inside the box.
    """
    control, name = page.controls[key], name or LABELS.get(key, label)
    refused = page.refused(key)
    text = control.write(page[key]) if refused is None else refused
    tell(typed(key), text)
    with st.container(key=f"field_{key}", gap="xsmall", width=width):
        with st.container(gap=None, key=f"number_{key}"):
            st.text_input(
                label, text, key=typed(key), help=help, autocomplete="off", on_change=_take, args=(page, key, name)
            )
            if unit:
                with st.container(key=f"unit_{key}"):
                    st.markdown(prose.literal(unit))
            for sign, word, icon in ((-1, "less", "remove"), (1, "more", "add")):
                st.button(
                    f"{name}: {word}", key=f"{key}_{word}", icon=f":material/{icon}:",
                    on_click=_move, args=(page, key, name, sign * (step or _step(page[key])), refused),
                )  # fmt: skip
        if refused is not None:
            _complain(control, refused, name, page[key])
        return st.empty()


def quantities(page: Address, asked: Sequence[Quantity], prefix: str = ""):
    """Draw the fields of some quantities beside each other and return a place for a complaint under the last one."""
    place = None
    for column, one in zip(st.columns(len(asked)) if len(asked) > 1 else [st.container()], asked):
        name = f"{prefix}{one.title}".replace("_", " ")
        with column:
            place = number(page, f"{prefix}{one.name}", one.label, step=one.step, help=one.help or None, name=name)
    return place


def switch(asked: Field) -> None:
    """Draw the toggle of a field that is on or off, under its own name."""
    st.toggle(asked.title.capitalize(), key=asked.name, help=asked.about)


def stops(page: Address, key: str, label: str, places: Sequence[float], show: Callable[[float], str]) -> None:
    """A slider over rounded stops that moves, and follows, the number of the same key, which it shows as it is."""
    value = page[key]
    size = lambda v: math.log(max(v, 1e-14))  # noqa: E731
    nearest = min(places, key=lambda stop: abs(size(stop) - size(value or 0.0)))
    tell(f"{key}_stop", nearest)
    told = {"value": nearest, "key": f"{key}_stop", "on_change": _take_stop, "args": (page, key)}
    here = value if value is not None and 0 <= value < math.inf else nearest
    exact = lambda stop: show(here if stop == nearest else stop)  # noqa: E731
    st.select_slider(label, list(places), format_func=exact, **told)


def _take_stop(page: Address, key: str) -> None:
    """Take over where the slider was moved to (a callback)."""
    if not outdated(f"{key}_stop"):
        page.choose({key: st.session_state[f"{key}_stop"]})


def listed(text: str) -> tuple[str, ...]:
    """The values of a list that was typed: one a line, or with commas between them on a single line."""
    return tuple(one.strip() for one in re.split(r"\n" if "\n" in text else r"[,;]", text) if one.strip())


def typed(key: str) -> str:
    """The key of the text of a field."""
    return f"{key}_typed"


def _complain(control: Number, text: str, name: str, value: float | None) -> None:
    """What is wrong with a text, under its field and on the page."""
    try:
        control.read(text, name)
    except InputError as error:
        message = f"{explain(error)}  \nUntil then it is {control.write(value) or 'empty'}."
        st.error(message)
        place, told = _notice.get((None, []))
        if place is not None:
            told.append(message)
            place.error("\n\n".join(told), icon=":material/error:")


def _take(page: Address, key: str, name: str) -> None:
    """Take over what was typed (a callback)."""
    if outdated(typed(key)):
        return
    text = st.session_state[typed(key)] or ""
    try:
        page.choose({key: page.controls[key].read(text, name)})
    except InputError:
        page.refuse(key, text)


def _move(page: Address, key: str, name: str, step: float, seen: str | None) -> None:
    """Take over what was typed and go one step; not from a text whose complaint was not seen yet (a callback)."""
    _take(page, key, name)
    if page.refused(key) not in (None, seen):
        return
    control = page.controls[key]
    moved = min(max(float(decimal(page[key] or 0) + decimal(step)), control.low), control.high)
    page.choose({key: int(moved) if control.whole else moved})


def _step(value: float | None) -> float:
    """A tenth of the value's power of ten: one step is useful at any size."""
    if not value or not math.isfinite(value) or abs(value) < 1e-300:
        return 0.1
    power = math.floor(math.log10(abs(value)) + 1e-9)
    return 10.0 ** max(min(power - 1, 12), -13)
