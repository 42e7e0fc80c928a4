"""One page at a time is put together.

Python runs one thread at a moment. Were several pages under way at once, none would be sooner, all of them later, and
the thread that speaks to the browsers would wait for every one of them each time it has something to say.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 5.0
"""Seconds after which a turn is over anyhow: only if the page hangs. Where many wait none may go out of its turn: pages
under way at once all take longer, so that ever more of them wait."""


class PageLock:
    """Taken by a page while it runs, left while it waits. Whoever waits longest is next.

    A page that goes on after it left the lock is still the one that came first. So is a visitor whose page is to run
    anew before its turn has come: the thread, which is the same one then, keeps its number.
    """

    def __init__(self) -> None:
        self._lock, self._numbers, self._own = threading.Lock(), itertools.count(1), threading.local()
        self._waiting: dict[int, threading.Condition] = {}
        self._turn: int | None = None
        self._over = 0.0

    @contextmanager
    def taken(self, ready: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Run the block in this thread's turn.

        ready : called when the turn has come; if it raises, the block does not run, and the turn is still to come.
        """
        number: int = getattr(self._own, "kept", None) or next(self._numbers)
        self._own.kept = number
        self._enter(number)
        try:
            ready()
            self._own.kept, self._own.number = None, number
            yield
        finally:
            self._own.number = None
            self._leave(number)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Let others run meanwhile; nothing happens in a thread that has not taken the lock."""
        number: int | None = getattr(self._own, "number", None)
        if number is not None:
            self._leave(number)
        try:
            yield
        finally:
            if number is not None:
                self._enter(number)

    def _enter(self, number: int) -> None:
        """Wait for a turn, or until the one of a page that hangs is over."""
        with self._lock:
            called = self._waiting[number] = threading.Condition(self._lock)
            while number != min(self._waiting) or (self._turn is not None and time.monotonic() < self._over):
                called.wait(max(self._over - time.monotonic(), 0.1))
            del self._waiting[number]
            self._turn, self._over = number, time.monotonic() + PATIENCE

    def _leave(self, number: int) -> None:
        """End a turn, if it is not over; the next one begins."""
        with self._lock:
            if self._turn == number:
                self._turn = None
                if self._waiting:
                    self._waiting[min(self._waiting)].notify()
