"""Whose turn it is to compute: few places, many jobs, first brackets before anyone's refinement.

Every job runs in a thread of its own and computes only while it has a place. Between two steps of work it offers the
place: to a job of an earlier stage at once, to one of the same stage after a while. What it has found so far stays in
its thread, so that nothing is done twice.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from typing import Protocol

QUANTUM = 0.5
"""Seconds after which a job makes room for another one of its stage."""


class Guest(Protocol):
    """A job as the turns see it.

    stage : the smaller, the sooner.   served : when somebody who waits for it last had a turn.   over : it is to end.
    """

    worked: float

    @property
    def stage(self) -> int: ...

    @property
    def served(self) -> float: ...

    @property
    def over(self) -> bool: ...

    def serve(self, now: float) -> None: ...


class Turns:
    """At most so many jobs compute at once.

    Of those who wait, the earliest stage goes first; within a stage whoever was served longest ago; then whoever came
    first.
    """

    def __init__(self, places: int = 2) -> None:
        self._places, self._lock, self._order = places, threading.Lock(), itertools.count()
        self._since: dict[Guest, float] = {}
        self._waiting: dict[Guest, tuple[int, threading.Event]] = {}

    @property
    def taken(self) -> int:
        """Places that are taken."""
        return len(self._since)

    def enter(self, guest: Guest, until: float = math.inf) -> bool:
        """Wait for a place, until some time (`time.monotonic`) or until the guest is dismissed; whether it has one."""
        with self._lock:
            go = threading.Event()
            if not guest.over:
                self._waiting[guest] = next(self._order), go
                self._fill()
            else:
                go.set()
        go.wait(None if math.isinf(until) else max(0.0, until - time.monotonic()))
        with self._lock:
            self._waiting.pop(guest, None)
            return guest in self._since

    def leave(self, guest: Guest) -> None:
        """Give the place back, if there is one."""
        with self._lock:
            self._release(guest)
            self._fill()

    def breathe(self, guest: Guest, until: float = math.inf) -> None:
        """Offer the place to those who wait; returns at the guest's next turn, when dismissed, or when time is up."""
        now = time.monotonic()
        with self._lock:
            rival = min(self._waiting, key=self._rank, default=None)
            if rival is None or guest not in self._since or now >= until or guest.over:
                return
            if not (rival.stage < guest.stage or (rival.stage == guest.stage and now - self._since[guest] > QUANTUM)):
                return
            self._release(guest)
            self._fill()
        self.enter(guest, until)

    def dismiss(self, guest: Guest) -> None:
        """Let a guest go on without a place, for it is about to end; others need not wait until it has."""
        with self._lock:
            self._release(guest)
            if guest in self._waiting:
                self._waiting.pop(guest)[1].set()
            self._fill()

    def _rank(self, guest: Guest) -> tuple[int, float, int]:
        return guest.stage, guest.served, self._waiting[guest][0]

    def _release(self, guest: Guest) -> None:
        began = self._since.pop(guest, None)
        if began is not None:
            guest.worked += time.monotonic() - began

    def _fill(self) -> None:
        while len(self._since) < self._places and self._waiting:
            guest = min(self._waiting, key=self._rank)
            _, go = self._waiting.pop(guest)
            now = time.monotonic()
            self._since[guest] = now
            guest.serve(now)
            go.set()
