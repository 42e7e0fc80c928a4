"""One page at a time is put together.

Python runs one thread at a moment. Were several pages under way at once, none would be sooner, all of them later, and
the thread that speaks to the browsers would wait for every one of them each time it has something to say.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

PATIENCE = 5.0
"""Seconds after which a turn is over anyhow: only if the page hangs. Where many wait none may go out of its turn: pages
under way at once all take longer, so that ever more of them wait."""


class PageLock:
    """Taken by a page while it runs, left while it waits. Whoever waits longest is next: visitors, not their pages.

    A page that goes on after it left the lock is still the one that came first, and a page that a visitor asks for
    while another one of the same visitor's waits takes that one's place.
    """

    def __init__(self) -> None:
        self._lock, self._numbers, self._own = threading.Lock(), itertools.count(), threading.local()
        self._places: dict[Hashable, int] = {}
        self._waiting: dict[int, threading.Condition] = {}
        self._turn: int | None = None
        self._over = 0.0

    @contextmanager
    def taken(self, visitor: Hashable = None, ready: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Run the block in this visitor's turn; None is one who has no other page.

        ready : called when the turn has come, or another page has taken the place. If it raises, the block does not
            run, and the visitor's turn is still to come.
        """
        number = self._place(visitor)
        while not self._enter(number):
            ready()
            number = next(self._numbers)
        try:
            ready()
            self._places.pop(visitor, None)
            self._own.number = number
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

    def _place(self, visitor: Hashable) -> int:
        """The number of a visitor whose turn is still to come."""
        number = next(self._numbers)
        return number if visitor is None else self._places.setdefault(visitor, number)

    def _enter(self, number: int) -> bool:
        """Wait for a turn, or until the one of a page that hangs is over; False where another page took the place."""
        with self._lock:
            if number in self._waiting:
                self._waiting[number].notify()
            called = self._waiting[number] = threading.Condition(self._lock)
            while number != min(self._waiting) or (self._turn is not None and time.monotonic() < self._over):
                called.wait(max(self._over - time.monotonic(), 0.1))
                if self._waiting.get(number) is not called:
                    return False
            del self._waiting[number]
            self._turn, self._over = number, time.monotonic() + PATIENCE
            return True

    def _leave(self, number: int) -> None:
        """End a turn, if it is not over; the next one begins. Where nobody waits there are no places to keep."""
        with self._lock:
            if self._turn == number:
                self._turn = None
            if not self._waiting:
                self._places.clear()
            elif self._turn is None:
                self._waiting[min(self._waiting)].notify()
