"""Background solving: the only threads and the only caches of the dashboard.

Two worker threads serve the whole process. Every browser session has a desk with named slots ("picture",
"without monotone", …); a slot holds one job, and a newer question in a slot withdraws the older one.
Workers never touch Streamlit.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache

import streamlit as st

from dpcore import mechanisms
from dpcore.errors import InputError
from dpcore.optimal import solve
from dpcore.problem import NoiseProblem, SolverSettings
from dpcore.solution import Progress, Solution

PATIENCE = 0.3
"""Seconds a page waits for a quick result before it shows progress instead."""

REMEMBERED = 256
"""Finished jobs kept for all sessions."""

Question = tuple[NoiseProblem, SolverSettings]

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Job:
    """One question on its way to an answer; every field but the first two is written by one worker."""

    question: Question
    interested: int = 0
    trace: list[Progress] = field(default_factory=list)
    solution: Solution | None = None
    error: Exception | None = None
    started: float | None = None
    halt: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def done(self) -> bool:
        return self.finished.is_set()

    def report(self, record: Progress) -> bool:
        """Take a progress record; True asks the solver to stop with what it has."""
        self.trace.append(record)
        return self.halt.is_set()


class Workers:
    """A small pool of threads over one queue, with the finished answers of all sessions."""

    def __init__(self, threads: int = 2) -> None:
        self._lock = threading.Lock()
        self._waiting: queue.PriorityQueue = queue.PriorityQueue()
        self._order = itertools.count()
        self._open: dict[Question, Job] = {}
        self._finished: OrderedDict[Question, Job] = OrderedDict()
        for number in range(threads):
            threading.Thread(target=self._work, name=f"solver-{number}", daemon=True).start()

    def ask(self, question: Question, *, urgent: bool = True) -> Job:
        """The job for a question: a finished one, one under way, or a new one."""
        with self._lock:
            if question in self._finished:
                self._finished.move_to_end(question)
                return self._finished[question]
            job = self._open.get(question)
            if job is None or job.halt.is_set():
                job = self._open[question] = Job(question)
                self._waiting.put((0 if urgent else 1, next(self._order), job))
            job.interested += 1
            return job

    def withdraw(self, job: Job) -> None:
        """One session no longer wants the answer; the last one to leave stops the work."""
        with self._lock:
            job.interested -= 1
            if job.interested <= 0 and not job.done:
                job.halt.set()

    def _work(self) -> None:
        while True:
            job = self._waiting.get()[-1]
            if not job.halt.is_set():
                self._answer(job)
            self._file(job)

    def _answer(self, job: Job) -> None:
        job.started = time.monotonic()
        try:
            job.solution = solve(*job.question, progress=job.report)
        except InputError as error:
            job.error = error
        except Exception as error:  # a worker must outlive any failure; the page says what happened
            log.exception("solver failed on %r", job.question)
            job.error = error

    def _file(self, job: Job) -> None:
        with self._lock:
            if self._open.get(job.question) is job:
                del self._open[job.question]
            if job.solution is not None and not job.halt.is_set():
                self._finished[job.question] = job
                while len(self._finished) > REMEMBERED:
                    self._finished.popitem(last=False)
            job.finished.set()


class Desk:
    """The jobs of one browser session, by slot."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._slots: dict[str, Job] = {}
        self._stopped: set[Job] = set()

    def ask(self, slot: str, question: Question, *, urgent: bool = True) -> Job:
        """The job for a question; a different question already in the slot is withdrawn.

        A shared job that another session stopped is asked for again; one that this session stopped stays.
        """
        job = self._slots.get(slot)
        if job is not None and job.question == question and (not job.halt.is_set() or job in self._stopped):
            return job
        self.forget(slot)
        self._slots[slot] = job = self._workers.ask(question, urgent=urgent)
        return job

    def stop(self, slot: str) -> None:
        """End the job in a slot with what it has found so far."""
        job = self._slots.get(slot)
        if job is not None:
            self._stopped.add(job)
            job.halt.set()

    def forget(self, slot: str) -> None:
        """Withdraw the job in a slot, so that the next question starts afresh."""
        job = self._slots.pop(slot, None)
        if job is not None:
            self._stopped.discard(job)
            self._workers.withdraw(job)

    def close(self) -> None:
        """Withdraw everything."""
        for slot in list(self._slots):
            self.forget(slot)


@st.cache_resource(show_spinner=False)
def _workers() -> Workers:
    return Workers()


@st.cache_resource(scope="session", show_spinner=False, on_release=Desk.close)
def _desk() -> Desk:
    return Desk(_workers())


def ask(
    slot: str, problem: NoiseProblem, settings: SolverSettings, *, urgent: bool = True, wait: float = PATIENCE
) -> Job:
    """This session's job for a problem, after waiting up to `wait` seconds for it to finish."""
    job = _desk().ask(slot, (problem, settings), urgent=urgent)
    job.finished.wait(wait)
    return job


def stop(slot: str) -> None:
    """End this session's job in a slot with what it has found so far."""
    _desk().stop(slot)


def forget(slot: str) -> None:
    """Drop this session's job in a slot."""
    _desk().forget(slot)


@lru_cache(maxsize=128)
def baselines(problem: NoiseProblem) -> tuple[mechanisms.Baseline, ...]:
    """The textbook mechanisms calibrated to a problem."""
    return tuple(mechanisms.baselines(problem))
