"""Pages under AppTest: all of them are one session, so each test leaves it without anything under way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch, scanned_once) -> None:
    """Streamlit finds pages beside the working directory's app.py."""
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture(autouse=True)
def plotly_takes_every_figure(monkeypatch) -> None:
    """Figures are drawn unchecked (`dpcore.figures.Chart`): whatever a page draws here, Plotly's own has to accept, and
    to leave as it is."""
    from dpcore.figures import Chart
    from pages.shared import seen

    note = seen.picture

    def checked(figure, alt: str) -> None:
        if isinstance(figure, Chart):
            assert plain(figure.checked()) == plain(figure)
        note(figure, alt)

    monkeypatch.setattr(seen, "picture", checked)


def plain(told):
    """A figure, or a part of it, as JSON has it, without what says nothing."""
    if isinstance(told, dict):
        return {name: plain(value) for name, value in told.items() if value not in (None, [], {})}
    if isinstance(told, list):
        return [plain(one) for one in told]
    return told if isinstance(told, str | float | int | None) else plain(json.loads(told.to_json()))


@pytest.fixture(autouse=True)
def nothing_left_under_way() -> Iterator[None]:
    yield
    from pages.shared import compute

    compute.rest()
