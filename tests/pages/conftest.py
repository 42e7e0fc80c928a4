"""Pages under AppTest: all of them are one session, so each test leaves it without anything under way."""

from __future__ import annotations

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
def nothing_left_under_way() -> Iterator[None]:
    yield
    from pages.shared import compute

    compute.rest()
