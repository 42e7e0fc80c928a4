"""Pages under AppTest: all of them are one session, so each test leaves it without anything under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_left_under_way() -> Iterator[None]:
    yield
    from pages.shared import compute

    compute.rest()
