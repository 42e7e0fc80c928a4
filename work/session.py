"""What one browser session has asked for, by slot."""

from __future__ import annotations

import math
import time

from .job import Job
from .question import Question
from .workers import Workers

QUICK, SETTLE = 0.8, 0.45
"""A question that came within so many seconds of another in its place, as on a slider's way, waits for a newer one:
at least so many seconds, and longer than the last one took to come."""

MOST = 8
"""Jobs that one session may have under way."""


class Session:
    """The jobs of one browser session, by slot.

    most : jobs it may have under way.   served : when one of them last had a turn.
    """

    def __init__(self, workers: Workers, *, most: int = MOST) -> None:
        self._workers, self._most = workers, most
        self._slots: dict[str, Job] = {}
        self._asked: dict[str, float] = {}
        self._page = ""
        self.served = 0.0

    def ask(self, slot: str, question: Question, *, urgent: bool = True) -> Job:
        """The job for a question; a different question already in the slot is withdrawn."""
        job = self._slots.get(slot)
        if job is not None and job.question == question:
            return job
        now = time.monotonic()
        after = now - self._asked.get(slot, -math.inf)
        settle = max(SETTLE, 1.25 * after) if after < QUICK else 0.0
        self._asked[slot] = now
        self.forget(slot)
        if sum(not job.done for job in self._slots.values()) >= self._most:
            return self._workers.refuse(question, self._most)
        self._slots[slot] = job = self._workers.ask(question, self, urgent=urgent, settle=settle)
        return job

    def current(self, slot: str) -> Job | None:
        """The job in a slot."""
        return self._slots.get(slot)

    def turn_to(self, page: str) -> None:
        """Withdraw what was wanted for another page."""
        if page != self._page:
            self.close()
            self._page = page

    def stop(self, slot: str) -> None:
        """End the job in a slot with what it has found so far."""
        if slot in self._slots:
            self._slots[slot] = self._workers.stop(self._slots[slot], self)

    def forget(self, slot: str) -> None:
        """Withdraw the job in a slot, so that the next question starts afresh."""
        job = self._slots.pop(slot, None)
        if job is not None:
            self._workers.withdraw(job, self)

    def close(self) -> None:
        """Withdraw everything."""
        for slot in list(self._slots):
            self.forget(slot)
