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


class Scheduled(Protocol):
    """A job as the scheduler sees it.

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


class Scheduler:
    """At most so many jobs compute at once.

    Of those who wait, the earliest stage goes first; within a stage whoever was served longest ago; then whoever came
    first.
    """

    def __init__(self, places: int = 2) -> None:
        self._places, self._lock, self._order = places, threading.Lock(), itertools.count()
        self._since: dict[Scheduled, float] = {}
        self._waiting: dict[Scheduled, tuple[int, threading.Event]] = {}

    @property
    def taken(self) -> int:
        """Places that are taken."""
        return len(self._since)

    def enter(self, job: Scheduled, until: float = math.inf) -> bool:
        """Wait for a place, until some time (`time.monotonic`) or until the job is dismissed; whether it has one."""
        with self._lock:
            go = threading.Event()
            if not job.over:
                self._waiting[job] = next(self._order), go
                self._fill()
            else:
                go.set()
        go.wait(None if math.isinf(until) else max(0.0, until - time.monotonic()))
        with self._lock:
            self._waiting.pop(job, None)
            return job in self._since

    def leave(self, job: Scheduled) -> None:
        """Give the place back, if there is one."""
        with self._lock:
            self._release(job)
            self._fill()

    def offer(self, job: Scheduled, until: float = math.inf) -> None:
        """Offer the place to those who wait; returns at the job's next turn, when dismissed, or when time is up."""
        now = time.monotonic()
        with self._lock:
            rival = min(self._waiting, key=self._rank, default=None)
            if rival is None or job not in self._since or now >= until or job.over:
                return
            if not (rival.stage < job.stage or (rival.stage == job.stage and now - self._since[job] > QUANTUM)):
                return
            self._release(job)
            self._fill()
        self.enter(job, until)

    def dismiss(self, job: Scheduled) -> None:
        """Let a job go on without a place, for it is about to end; others need not wait until it has."""
        with self._lock:
            self._release(job)
            if job in self._waiting:
                self._waiting.pop(job)[1].set()
            self._fill()

    def _rank(self, job: Scheduled) -> tuple[int, float, int]:
        return job.stage, job.served, self._waiting[job][0]

    def _release(self, job: Scheduled) -> None:
        began = self._since.pop(job, None)
        if began is not None:
            job.worked += time.monotonic() - began

    def _fill(self) -> None:
        while len(self._since) < self._places and self._waiting:
            job = min(self._waiting, key=self._rank)
            _, go = self._waiting.pop(job)
            now = time.monotonic()
            self._since[job] = now
            job.serve(now)
            go.set()
