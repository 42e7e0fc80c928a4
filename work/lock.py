"""One page at a time is put together.

Python runs one thread at a moment. Were several pages under way at once, none would be sooner, all of them later, and
the thread that speaks to the browsers would wait for every one of them each time it has something to say.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 5.0
"""Seconds after which a page goes on anyhow: only if another one hangs. Where many wait their turn none may go out of
it: pages under way at once all take longer, so that ever more of them wait."""


class PageLock:
    """Taken by a page while it runs, left while it waits. Whoever waits longest is next."""

    def __init__(self) -> None:
        self._place, self._own = threading.Semaphore(), threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Run the block in this thread's turn."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def left(self) -> Iterator[None]:
        """Let others run meanwhile; nothing happens in a thread that does not hold the lock."""
        held = getattr(self._own, "held", False)
        if held:
            self._leave()
        try:
            yield
        finally:
            if held:
                self._enter()

    def _enter(self) -> None:
        self._own.held = self._place.acquire(timeout=PATIENCE)

    def _leave(self) -> None:
        if self._own.held:
            self._own.held = False
            self._place.release()
