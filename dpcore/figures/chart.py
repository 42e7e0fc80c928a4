"""A figure of Plotly that takes what it is given as it is.

Plotly's own checks every value, copies it and checks it again: a twentieth of a second for the two charts of a first
page, in every run of it. What the functions of this project draw is checked by tests, which hand it to Plotly's own.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

NOTHING: dict[str, Any] = {}


class Chart(go.Figure):  # type: ignore[misc]  # Plotly has no types
    """Empty at first; everything else as of `go.Figure`, for one plot with one axis each way."""

    def __init__(self) -> None:
        super().__init__(_validate=False)
        check = self._data_validator
        check.validate_coerce = lambda traces: type(check).validate_coerce(check, traces, _validate=False)

    def add_scatter(self, **trace: Any) -> Chart:
        return self._take("scatter", trace)

    def add_bar(self, **trace: Any) -> Chart:
        return self._take("bar", trace)

    def add_heatmap(self, **trace: Any) -> Chart:
        return self._take("heatmap", trace)

    def update_xaxes(self, told: dict[str, Any] = NOTHING, /, **options: Any) -> Chart:
        return self._tell("xaxis", told | options)

    def update_yaxes(self, told: dict[str, Any] = NOTHING, /, **options: Any) -> Chart:
        return self._tell("yaxis", told | options)

    def update_layout(self, **options: Any) -> Chart:
        for name, value in options.items():
            self._merge(name, value)
        return self

    def checked(self) -> go.Figure:
        """The same as Plotly's own, for whoever goes on with it.

        Raises
        ------
        ValueError : something in it is nothing that Plotly knows.
        """
        return go.Figure(self.to_dict())

    def __reduce__(self) -> Any:
        """Copies are Plotly's own."""
        return go.Figure, super().__reduce__()[1]

    def _take(self, kind: str, told: dict[str, Any]) -> Chart:
        self.add_traces([{"type": kind} | {name: value for name, value in told.items() if value is not None}])
        return self

    def _tell(self, name: str, options: dict[str, Any]) -> Chart:
        if isinstance(title := options.get("title"), str):
            options["title"] = {"text": title}
        self._merge(name, options)
        return self

    def _merge(self, name: str, value: Any) -> None:
        if isinstance(value, dict) and name in self.layout:
            value = _merged(self.layout[name].to_plotly_json(), value)
        self.layout[name] = value


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Both; where both have a value the new one, of dictionaries entry by entry. None is no value."""
    both = [name for name in new if isinstance(old.get(name), dict) and isinstance(new[name], dict)]
    merged = old | new | {name: _merged(old[name], new[name]) for name in both}
    return {name: value for name, value in merged.items() if value is not None}
