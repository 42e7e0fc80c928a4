"""The page's address: every control is in the link, and nothing is lost on the way to another page and back.

The only reader and writer of query parameters; every value in them is untrusted text. A page declares its controls
once, opens its address before it draws anything, and gives each widget the control's name as key:

    PAGE = Address("vector", epsilon=Number(1.0), norm=Choice("l2", {"l1": "ℓ1", "l2": "ℓ2"}), log_y=Switch())
    PAGE.open()                                                     # the first line that acts
    PAGE.note()                                                     # says what of the link was not understood
    st.selectbox("Norm", PAGE.options("norm"), format_func=PAGE.label("norm"), key="norm")
    fields.number(PAGE, "epsilon", "ε")
    st.button("ε = 5", on_click=PAGE.choose, args=({"epsilon": 5.0},))

After `open`, `PAGE["epsilon"]` holds the current value, whether its widget is drawn or not, and `PAGE.values()` all of
them. Widgets need neither `bind` nor `persist_state` nor a default. A value that equals its default is left out of the
link. Defaults never change, for links to keep their meaning; what a first visit starts from is another matter
(`first`). A preset, a button or an upload changes controls in a callback by `choose`. `PAGE.read(dict)` reads any other
address without touching the session, `PAGE.query(values)` writes one. `st.tabs` and the like hold labels: declare
`Choice(first, labels)`.

Why not Streamlit's own `bind="query-params"`: it writes choices by their labels, accepts what the widget refuses,
knows only widgets that are drawn, and its parameters go away with the page. Streamlit drops the state of widgets that
are not drawn and empties the address on the way to another page; so the values are kept in the session under the
page's name, and come back unless the address that is being opened says otherwise.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore._validate import in_range, whole
from dpcore.numbers import read_number, write_number
from dpcore.quantity import Quantity

from . import slides

SETTLING = 5.0
"""Seconds after the arrival on a page, or the turn to another part of it, in which the browser may still be drawing
controls for the first time."""

DRAWING = 2.0
"""Seconds after a control was told another value in which the browser may not have drawn it yet."""

LONGEST = 20_000
"""Characters that a text in a link may have."""


@dataclass(frozen=True)
class Number:
    """A field for a number or a slider. Without limits any finite number is accepted (the core names what it takes, see
    `dpcore.errors.InputError`).

    empty : None is accepted as well, an empty field; by default where it is the first value.
    linked : as of all controls, it is part of the address. What a visitor answers, guesses or keeps secret is not; an
        old link that has it is opened without.
    """

    default: float | None
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False
    empty: bool | None = None
    linked: bool = True

    def __post_init__(self) -> None:
        if self.empty is None:
            object.__setattr__(self, "empty", self.default is None)

    @classmethod
    def of(cls, quantity: Quantity, default: float | None = None) -> Number:
        """A field for a quantity; the core says which numbers it takes. default : if the page begins with another."""
        first = quantity.default if default is None else default
        if quantity.whole:
            return cls(int(first), quantity.low, quantity.high, whole=True)
        return cls(first)

    def read(self, text: str, name: str = "number") -> float | None:
        """The number in a text; an InputError where it is none of this control's."""
        if self.empty and not text.strip():
            return None
        if self.whole:
            return whole(int(self.low), int(self.high), **{name: text})
        if math.isfinite(self.low):
            return in_range(self.low, self.high, **{name: text})
        return read_number(text, name, "a number")

    def write(self, value: float | None) -> str:
        return "" if value is None else write_number(value)


def numbers(quantities: Mapping[str, Quantity], prefix: str = "") -> dict[str, Number]:
    """A field for each of some quantities, by name."""
    return {f"{prefix}{name}": Number.of(one) for name, one in quantities.items()}


@dataclass(frozen=True)
class Switch:
    """A toggle or a checkbox."""

    default: bool = False

    def read(self, text: str) -> bool:
        return {"true": True, "1": True, "false": False, "0": False}[text.lower()]

    def write(self, value: bool) -> str:
        return str(bool(value)).lower()


@dataclass(frozen=True)
class Text:
    """A text box."""

    default: str = ""
    longest: int = 200
    linked: bool = True

    def read(self, text: str) -> str:
        if len(text) > min(self.longest, LONGEST) or any(ord(c) < 32 and c not in "\n\r\t" for c in text):
            raise ValueError(text)
        return text

    def write(self, value: str | None) -> str:
        return value or ""


PLAIN = re.compile(r"(?:[^\W_]|[ %‰°€$£¥·/()'+−-])*")
"""Letters of any script, digits, and signs that neither Markdown nor HTML nor a chart reads (a dollar sign alone is
escaped where it is shown)."""


@dataclass(frozen=True)
class Label(Text):
    """A text box whose text is shown on the page, as units are: `PLAIN`, so that no link can plant anything there."""

    def read(self, text: str) -> str:
        if not PLAIN.fullmatch(super().read(text)):
            raise ValueError(text)
        return text


@dataclass(frozen=True)
class Lecture(Text):
    """A lecture's states, as `slides` writes them; an InputError names what is wrong with a text."""

    def read(self, text: str) -> str:
        slides.read(text)
        return text


@dataclass(frozen=True)
class Choice:
    """One of several options, by its short name; options: short names, or short name → label."""

    default: str
    options: Mapping[str, str] | Iterable[str]
    linked: bool = True

    def read(self, text: str) -> str:
        if text not in self.options:
            raise ValueError(text)
        return text

    def write(self, value: str) -> str:
        return value or ""


@dataclass(frozen=True)
class Choices:
    """Any of several options, in the link with commas; the widget holds a list."""

    default: tuple[str, ...]
    options: Mapping[str, str] | Iterable[str]

    def read(self, text: str) -> list[str]:
        names = list(dict.fromkeys(text.split(","))) if text else []
        if any(name not in self.options for name in names):
            raise ValueError(text)
        return names

    def write(self, value: Iterable[str]) -> str:
        return ",".join(value)


Control = Number | Switch | Text | Choice | Choices


class Address:
    """The controls of one page by their keys; `name` tells pages apart.

    Parameters
    ----------
    name : the page's name within the session; "" for controls that are on every page.
    first : values that a first visit starts from whose address says nothing at all, where these are not the defaults.
        The page's own address is then never empty.
    controls : key → control. The key is the widget's key and the parameter's name in the link.

    `linked` are those that are in the address.
    """

    def __init__(self, name: str, first: Mapping[str, object] | None = None, /, **controls: Control) -> None:
        self.name, self.controls, self.first = name, controls, first
        self.linked = {key: control for key, control in controls.items() if getattr(control, "linked", True)}

    def open(self) -> None:
        """Bring the controls into the session and the session into the address. Before any widget is drawn."""
        if self is not FRAME and any(key not in st.session_state for key in FRAME.controls):
            FRAME.open()  # a page that runs by itself
        state, kept = st.session_state, remembered().get(self.name)
        if kept is None or self._told_otherwise():
            values, state[f"notes of {self.name}"] = self.read(st.query_params)
            first = {} if st.query_params else self.first or {}
            self.choose({**values, **first, **self._unlinked(kept or {})})
        else:
            for key, value in kept.items():
                if key not in state or self._arriving():  # drawn no longer, or a namesake on another page
                    state[key] = value
            for key, control in self.controls.items():
                let_go = isinstance(control, Choice) and state[key] is None  # a segment, or the browser told nothing
                if let_go or outdated(key):
                    tell(key, kept[key])
                elif state[key] == kept[key]:
                    drawn(key)
            if state.get("cut short") or time.monotonic() < state.get("settled at", 0.0):
                self._repeat()
        remembered()[self.name] = self.values()
        if self.name:
            if self._arriving():
                state["settled at"] = time.monotonic() + SETTLING
            state["address"], state["cut short"] = self.name, True
            if self.controls:  # a page without any has a bare address
                _write({**FRAME.query(FRAME.values()), **self.query(self.values())})

    def unlinked(self) -> dict[str, object]:
        """First values of the controls that no address says anything about."""
        return self._unlinked(self.read({})[0])

    def _unlinked(self, values: Mapping[str, object]) -> dict[str, object]:
        """Those of the values that no address says anything about."""
        return {key: value for key, value in values.items() if key not in self.linked}

    def _repeat(self) -> None:
        """Tell the browser's controls their values again: the last run, cut short or overtaken by this one before the
        browser drew it, may not have got that far, and a control that was told nothing shows, and reports as the
        visitor's wish, its first option."""
        for key in self.controls:
            st.session_state[key] = st.session_state[key]

    def close(self) -> None:
        """The page was drawn to its end. After the page ran."""
        st.session_state["cut short"] = False

    def __getitem__(self, key: str):
        """A control's current value; that of the last run where the browser has told nothing about a choice yet, which
        panels that are drawn by themselves would meet."""
        value = st.session_state[key]
        if value is None and isinstance(self.controls[key], Choice):
            return remembered()[self.name][key]
        return value

    def values(self) -> dict[str, object]:
        """All current values; after `open`."""
        return {key: st.session_state[key] for key in self.controls}

    def default(self, key: str):
        """A control's first value."""
        value = self.controls[key].default
        return list(value) if isinstance(value, tuple) else value

    def options(self, key: str) -> list[str]:
        """Short names of a choice."""
        return list(self.controls[key].options)

    def label(self, key: str) -> Callable[[str], str]:
        """Short name → label of a choice, for `format_func`."""
        options = self.controls[key].options
        return options.__getitem__ if isinstance(options, Mapping) else str

    def choose(self, values: Mapping[str, object]) -> None:
        """Set controls, drawn or not: a callback, which runs before the page."""
        for key, value in values.items():
            tell(key, value)
            self._refused().pop(key, None)

    def refuse(self, key: str, text: str) -> None:
        """Keep a text that is no value of a control; its value stays."""
        self._refused()[key] = text

    def refused(self, key: str) -> str | None:
        """The text kept by `refuse`, as long as the control was not set since."""
        return self._refused().get(key)

    def touched(self, *keys: str) -> bool:
        """Some of the controls are not as at first, or hold a text that was refused."""
        return any(self[key] != self.default(key) or self.refused(key) is not None for key in keys)

    def _refused(self) -> dict[str, str]:
        return st.session_state.setdefault(f"refused on {self.name}", {})

    def show(self, values: Mapping[str, object]) -> None:
        """As `choose`, and the page is looked at from its top, where its answer stands."""
        self.choose(values)
        st.session_state["settled at"] = time.monotonic() + SETTLING
        st.session_state["from the top"] = st.session_state.get("from the top", 0) + 1

    def take(self, values: Mapping[str, object], malformed: Mapping[str, str]) -> None:
        """As `show`, of all controls that an address tells, as it was `read`."""
        st.session_state[f"notes of {self.name}"] = dict(malformed)
        self.show({key: value for key, value in values.items() if key in self.linked})

    def note(self) -> None:
        """A word about what of the link was not understood, if anything."""
        if notes := [*FRAME.notes(), *self.notes()]:
            shown = "; ".join(f"`{note.replace('`', ' ')}`" for note in notes)
            st.info(f"Not understood in the link, a default stands in: {shown}")

    def notes(self) -> list[str]:
        """What of the link was not understood and is still at its default, as "key = text"."""
        notes = st.session_state.get(f"notes of {self.name}", {})
        return [f"{key} = {text[:40]}" for key, text in notes.items() if st.session_state[key] == self.default(key)]

    def read(self, query: Mapping[str, str]) -> tuple[dict[str, object], dict[str, str]]:
        """(values, texts not understood) of an address: every control has a value, a default where it must."""
        values, malformed = {key: self.default(key) for key in self.controls}, {}
        for key in self.linked.keys() & query.keys():
            try:
                values[key] = self.controls[key].read(query[key])
            except (ValueError, KeyError, OverflowError):
                malformed[key] = query[key]
        return values, malformed

    def query(self, values: Mapping[str, object]) -> dict[str, str]:
        """The address of some values: parameters by key, without those at their defaults."""
        query = {key: control.write(values[key]) for key, control in self.linked.items()}
        told = {key: text for key, text in query.items() if text != (one := self.controls[key]).write(one.default)}
        return told or (dict(list(query.items())[:1]) if self.first else {})

    def kept(self) -> dict[str, object]:
        """The values with which the page was left, or its first ones."""
        return self.read({})[0] | remembered().get(self.name, {})

    def anew(self, values: Mapping[str, object]) -> dict[str, str]:
        """The address of this page with some values, all others as at first: of a link to it."""
        return {**FRAME.query(FRAME.values()), **self.query(self.read({})[0] | dict(values))}

    def enter(self, values: Mapping[str, object]) -> dict[str, str]:
        """Have this page go on, when it is turned to from another one, as it was left but for some values. Returned is
        the address to turn to: the one that the page will write, since a change on arrival is a step of its own for the
        browser's Back, which never gets past it."""
        kept = remembered()[self.name] = self.kept() | dict(values)
        for key in values:
            self._refused().pop(key, None)
        return {**FRAME.query(now(FRAME)), **self.query(kept)}

    def leave(self, values: Mapping[str, object]) -> None:
        """Set controls before any is drawn, for a page that will be left at once."""
        self.choose(values)
        remembered()[self.name] = self.values()

    def link(self) -> str:
        """The address of the screen as others see it, from its "?" on."""
        query = urlencode({key: text for key, text in st.query_params.to_dict().items() if key not in OWN})
        return f"?{query}" if query else ""

    def _arriving(self) -> bool:
        """The visitor was on another page before."""
        return bool(self.name) and st.session_state.get("address") != self.name

    def _told_otherwise(self) -> bool:
        """The address has changed by itself: a link with values led here, or the browser's Back or Forward."""
        if bool(getattr(get_script_run_ctx(), "is_history_navigation", False)):
            return self._arriving() or self.name == st.session_state.get("address")
        return self._arriving() and bool(self.controls.keys() & st.query_params.keys())


def tell(key: str, value: object) -> None:
    """Give a control a value, and keep the one that it had until the browser reports the new one."""
    state = st.session_state
    if key not in state or state[key] == value:  # not drawn, so that nothing reports it; or nothing to tell
        drawn(key)
    else:
        state[_before(key)] = (state[key], time.monotonic() + DRAWING)
    state[key] = value


def drawn(key: str) -> None:
    """The browser reports what the control was told: whatever it reports from now on is the visitor's wish."""
    st.session_state.pop(_before(key), None)


def outdated(key: str) -> bool:
    """The browser reports what a control held before it was told otherwise, which it has not drawn yet: another one
    was moved meanwhile, or a page asked for news. Not a wish of the visitor's."""
    value, until = st.session_state.get(_before(key), (None, 0.0))
    return time.monotonic() < until and st.session_state[key] == value


def _before(key: str) -> str:
    """Where the value is kept that a control had before it was told another one."""
    return f"{key} before"


def remembered() -> dict[str, dict[str, object]]:
    """The values of every page visited in this session."""
    return st.session_state.setdefault("kept", {})


def now(page: Address) -> dict[str, object]:
    """The values of a page that was visited, in a callback: Streamlit has dropped those of widgets not drawn."""
    return {key: st.session_state.get(key, value) for key, value in remembered()[page.name].items()}


def _write(query: Mapping[str, str]) -> None:
    if query != st.query_params.to_dict():
        st.query_params.from_dict(query)


FRAME = Address(
    "", explain=Switch(), projector=Switch(), predict=Switch(), slides=Lecture(),
    slide=Number(0, 0, slides.MOST, whole=True),
)  # fmt: skip
"""Controls that are on every page; slide : of the lecture, from 1 on, or 0 while none is held."""

OWN = ("projector", "slides", "slide")
"""Parameters of this screen: they outlast a reload, and are in a link only where that is asked for."""
