"""Widgets that look one value up.

Streamlit's fields and lists ask whether a value is None in a copy of the whole session that is made for each of them,
the values of all components included: on a page with thirty widgets a tenth of the run. What they get here looks up
what they ask for, and makes the copy for whoever wants to go through all of it.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any

from streamlit.runtime.state.safe_session_state import SafeSessionState


class Values(Mapping[str, Any]):
    """The values of a session by their keys, as `filtered_state` of Streamlit has them."""

    def __init__(self, session: SafeSessionState) -> None:
        self._session = session

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and not key.startswith(INTERNAL) and key in self._session

    def __getitem__(self, key: str) -> Any:
        if key not in self:
            raise KeyError(key)
        return self._session[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def items(self) -> ItemsView[str, Any]:
        return self._all().items()

    def values(self) -> ValuesView[Any]:
        return self._all().values()

    def _all(self) -> dict[str, Any]:
        with self._session._lock:
            return self._session._state.filtered_state


INTERNAL = "$$"
"""What the keys that Streamlit keeps for itself begin with."""


def look_up_single_values() -> None:
    """From now on in this process."""
    SafeSessionState.filtered_state = property(Values)
