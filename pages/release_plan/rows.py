"""Rows of a list that can be edited, added and removed: every entry is a widget of its own, kept in the page's link.

rows = Rows("columns", ColumnDraft, complaints)
for row, draft in rows: rows.text(row, "name", "Name")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from .controls import PAGE
from .draft import Place, pack, unpack


class Rows:
    """The rows of the list in the control `key`, with what is wrong in them."""

    def __init__(self, key: str, kind: type, complaints: Mapping[Place, str]) -> None:
        self.key, self.kind, self._complaints = key, kind, complaints
        self.drafts: list[Any] = unpack(kind, PAGE[key])

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        return iter(enumerate(self.drafts))

    def wrong(self, row: int) -> bool:
        """Something in the row is not accepted."""
        return any(place[:2] == (self.key, row) for place in self._complaints)

    def unfolded(self, row: int) -> bool:
        """Its entries are shown: they were asked for, or something in them is wrong."""
        return bool(st.session_state.setdefault(self._fold(row), self.wrong(row)))

    # Widgets -----------------------------------------------------------------------------------------

    def text(self, row: int, name: str, label: str, **more: Any) -> None:
        """A text box."""
        self._draw(row, name, lambda told: st.text_input(label, autocomplete="off", **told, **more))

    def area(self, row: int, name: str, label: str, **more: Any) -> None:
        """A text box of several lines."""
        self._draw(row, name, lambda told: st.text_area(label, height=68, **told, **more))

    def pick(self, row: int, name: str, label: str, options: Mapping[str, str] | Sequence[str], **more: Any) -> None:
        """One of some options; a value that is none of them is kept among them."""
        names, value = list(options), getattr(self.drafts[row], name)
        names += [value] * (value not in names)
        show = (lambda one: options.get(one, one)) if isinstance(options, Mapping) else str
        self._draw(row, name, lambda told: st.selectbox(label, names, format_func=show, **told, **more))

    def pick_column(self, row: int, name: str, label: str, options: Sequence[str], most: int) -> None:
        """Up to so many columns, by their names."""
        value = getattr(self.drafts[row], name)
        names = list(dict.fromkeys([*options, *value]))
        if most > 1:
            self._draw(row, name, lambda told: st.multiselect(label, names, placeholder="Choose columns", **told))
        else:
            first = value[0] if value else None
            self._draw(
                row,
                name,
                lambda told: st.selectbox(label, names, placeholder="Choose a column", index=None, **told),
                first,
            )

    def switch(self, row: int, name: str, label: str, **more: Any) -> None:
        """A toggle."""
        self._draw(row, name, lambda told: st.toggle(label, **told, **more))

    def _draw(self, row: int, name: str, widget: Callable[[dict[str, Any]], object], value: Any = ...) -> None:
        key = f"{self.key}_{row}_{name}"
        held = getattr(self.drafts[row], name) if value is ... else value
        held = list(held) if isinstance(held, tuple) else held
        if key not in st.session_state or st.session_state[key] != held:
            st.session_state[key] = held
        with st.container(key=f"entry_{key}", gap="xsmall"):
            widget({"key": key, "on_change": self._take, "args": (row, name, key)})
            if told := self._complaints.get((self.key, row, name)):
                st.error(told)

    # Changes (callbacks) -----------------------------------------------------------------------------

    def _take(self, row: int, name: str, key: str) -> None:
        drafts, value = unpack(self.kind, PAGE[self.key]), st.session_state[key]
        first = getattr(drafts[row], name)
        if isinstance(first, tuple):
            value = tuple(value) if isinstance(value, list) else (value,) if value else ()
        drafts[row] = replace(drafts[row], **{name: value if value is not None else first})
        self._keep(drafts)

    def add(self, *drafts: Any) -> None:
        """Put rows at the end, unfolded."""
        kept = unpack(self.kind, PAGE[self.key])
        for at in range(len(kept), len(kept) + len(drafts)):
            st.session_state[self._fold(at)] = True
        self._keep([*kept, *drafts])

    def remove(self, row: int) -> None:
        """Take a row out."""
        kept = unpack(self.kind, PAGE[self.key])
        for at in range(row, len(kept)):
            st.session_state[self._fold(at)] = bool(st.session_state.get(self._fold(at + 1), False))
        self._keep(kept[:row] + kept[row + 1 :])

    def exchange(self, row: int, drafts: Sequence[Any]) -> None:
        """Put others in the place of a row, folded."""
        kept = unpack(self.kind, PAGE[self.key])
        kept[row : row + 1] = drafts
        for at in range(row, len(kept)):
            st.session_state[self._fold(at)] = False
        self._keep(kept)

    def turn(self, row: int) -> None:
        """Show the entries of a row, or no longer."""
        st.session_state[self._fold(row)] = not st.session_state.get(self._fold(row), False)

    def _fold(self, row: int) -> str:
        """Where it is kept whether a row is unfolded."""
        return f"{self.key}_{row}_unfolded"

    def _keep(self, drafts: Sequence[Any]) -> None:
        PAGE.choose({self.key: pack(drafts)})
