"""One running server for the tests that talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from running import Service, running


@pytest.fixture(scope="session")
def service(tmp_path_factory) -> Iterator[Service]:
    """The server as docs/operate.md says to run it."""
    with running(tmp_path_factory.mktemp("service")) as started:
        yield started
