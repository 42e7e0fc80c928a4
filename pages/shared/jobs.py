"""Questions under way: each asked once, worked on in turns, stopped, shared and given up.

A job has a thread from the moment it is asked for until it has an answer, and none afterwards. Jobs never touch
Streamlit.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from dpcore.errors import InputError
from dpcore.store import Store, spent
from service.crew import Crew, Lost

from .answers import Answer, Answers, Question
from .turns import Turns

QUICK, SETTLE = 0.8, 0.45
"""A question that came within so many seconds of another in its place, as on a slider's way, waits for a newer one:
at least so many seconds, and longer than the last one took to come."""

AGAIN = 0.5
"""Seconds between two answers of the moment."""

MOST = 8
"""Jobs that one session may have under way."""

log = logging.getLogger(__name__)


class GivenUp(Exception):
    """Raised through a task whose answer nobody waits for."""


class TooMany(InputError):
    """A session has as many jobs under way as it may."""

    def __init__(self, most: int) -> None:
        super().__init__("jobs", most + 1, f"at most {most} at a time in one browser tab; let one finish or stop it")


@dataclass(eq=False)
class Job:
    """One question on its way to an answer.

    solution : what the task returned, None before the end.   sketch : the answer of a moment before the end.
    trace : what the task reported so far.   error : why there is no answer.
    anew : what it reported since the process that worked on it died, until that is as much as before; else None.
    halt : set when it is to end with what it has.   finished : set at the end.
    settle : seconds it waits before it starts, for a newer question in its place.
    limit : seconds it may take from its first turn on, those of its settings or fewer.
    asked, began, met : when it was asked for, first had a turn, and had a first bracket (`time.monotonic`).
    sketched : when it had its last sketch, and the upper bound of that.
    worked : seconds of turns.
    """

    question: Question
    urgent: bool = True
    settle: float = 0.0
    limit: float = math.inf
    desks: tuple[Desk, ...] = ()
    trace: list[Any] = field(default_factory=list)
    anew: list[Any] | None = None
    solution: Any = None
    sketch: Any = None
    error: Exception | None = None
    asked: float = field(default_factory=time.monotonic)
    began: float | None = None
    met: float | None = None
    worked: float = 0.0
    sketched: tuple[float, float] = (-math.inf, math.inf)
    halt: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def done(self) -> bool:
        return self.finished.is_set()

    @property
    def best(self) -> Any:
        """The answer, or the best one so far; None before there is any."""
        return self.sketch if self.solution is None else self.solution

    @property
    def doing(self) -> str:
        """What is going on, for people."""
        return "Solving …" if self.anew is None else "The process that solved this was lost. Solving it anew …"

    @property
    def stage(self) -> int:
        """First brackets come before refinements, and what is on screen before what is beside it."""
        return (0 if self.met is None else 2) + (0 if self.urgent else 1)

    @property
    def served(self) -> float:
        return min((desk.served for desk in self.desks), default=math.inf)

    @property
    def over(self) -> bool:
        return self.halt.is_set()

    @property
    def deadline(self) -> float:
        """When its time is over."""
        return math.inf if self.began is None else self.began + self.limit

    @property
    def cut_short(self) -> bool:
        """It is to end with what it has, or its time is over."""
        return self.over or time.monotonic() >= self.deadline

    def serve(self, now: float) -> None:
        self.began = now if self.began is None else self.began
        for desk in self.desks:
            desk.served = now

    def take(self, record: Any) -> None:
        """Note a progress record and, now and then, the answer of the moment."""
        if math.isinf(getattr(record, "upper", 0.0)):
            return
        make = getattr(record, "answer", None)
        own = self.trace if self.anew is None else self.anew
        own.append(record if make is None else replace(record, answer=None))
        if own is self.anew and len(own) >= len(self.trace):
            self.trace, self.anew = own, None
        if self.met is None and math.isfinite(getattr(record, "gap", 0.0)):
            self.met = time.monotonic()
        if make is not None and self._worth_a_sketch(record):
            self.sketch = make()
            self.sketched = time.monotonic(), record.upper

    def _worth_a_sketch(self, record: Any) -> bool:
        when, upper = self.sketched
        return self.met is not None and record.upper < upper and time.monotonic() - when >= AGAIN


@dataclass(frozen=True)
class Figures:
    """Counts for monitoring. Names that end in "_total" count since the start; seconds are of the last 1000 jobs."""

    processes: int
    jobs_waiting: int
    jobs_running: int
    jobs_started_total: int
    jobs_finished_total: int
    jobs_stopped_total: int
    jobs_given_up_total: int
    jobs_failed_total: int
    jobs_refused_total: int
    memory_hits_total: int
    disk_hits_total: int
    first_bracket_median_seconds: float
    first_bracket_p95_seconds: float


class Workers:
    """All jobs of the process.

    places : jobs that compute at once.   longest : seconds that any time limit may grant.
    told : called at a job's end with (task, outcome, seconds of work, seconds waited).
    crew : processes that do the work; None has it done in the jobs' own threads.
    """

    def __init__(
        self,
        places: int = 2,
        *,
        store: Store | None = None,
        longest: float = math.inf,
        told: Callable[[str, str, float, float], None] | None = None,
        crew: Crew | None = None,
    ) -> None:
        self.answers, self._turns, self._told = Answers(store or Store(None)), Turns(places), told
        self.crew = crew
        self._longest, self._lock = longest, threading.Lock()
        self._open: dict[Question, Job] = {}
        self._threads: set[threading.Thread] = set()
        self._counts = dict.fromkeys(
            ("started", "finished", "stopped", "given_up", "failed", "refused", "memory_hits", "disk_hits"), 0
        )
        self._first: deque[float] = deque(maxlen=1000)

    def ask(self, question: Question, desk: Desk, *, urgent: bool = True, settle: float = 0.0) -> Job:
        """The job for a question: one that has its answer, one under way, or a new one.

        settle : seconds that a new one waits before it starts.
        """
        with self._lock:
            known = self.answers.recall(question)
            if known is not None:
                self._counts["memory_hits"] += 1
                return _ended(Job(question, trace=list(known.trace), solution=known.value))
            job = self._open.get(question)
            if job is not None and not job.over:
                job.desks = (*job.desks, desk)
                job.urgent = job.urgent or urgent
                return job
            limit = getattr(question.settings, "time_limit", None)
            limit = math.inf if limit is None else min(limit, self._longest)
            job = self._open[question] = Job(question, urgent, settle, limit, (desk,))
            thread = threading.Thread(target=self._run, args=(job,), name="job", daemon=True)
            self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads to be had
            job.error = error
            self._end(job, None)
            self._threads.discard(thread)
        return job

    def refuse(self, question: Question, most: int) -> Job:
        """A job that ended before it began, because its session has too many."""
        with self._lock:
            self._counts["refused"] += 1
        return _ended(Job(question, error=TooMany(most)))

    def withdraw(self, job: Job, desk: Desk) -> None:
        """One session no longer wants the answer; the last one to leave ends the work."""
        with self._lock:
            job.desks = _without(job.desks, desk)
            if job.desks or job.done:
                return
            job.halt.set()
        self._turns.dismiss(job)

    def stop(self, job: Job, desk: Desk) -> Job:
        """End a job with what it has; where others wait for it too, this session gets what there is, and they the rest.
        The second time, too, there is no more waiting. Returns the job that is now this session's."""
        with self._lock:
            if job.done:
                return job
            if job.desks == (desk,) and not job.over:
                job.halt.set()
                mine = job
            else:
                job.desks = _without(job.desks, desk)
                mine = _ended(Job(job.question, trace=list(job.trace), solution=job.sketch))
                mine.halt.set()
        if job.over:
            self._turns.dismiss(job)
        return mine

    def rest(self, patience: float = 5.0) -> None:
        """Give up everything under way and wait until all threads are gone; whoever asks again starts afresh."""
        with self._lock:
            threads = list(self._threads)
            jobs = list(self._open.values())
            desks = {desk for job in jobs for desk in job.desks}
            for job in jobs:
                job.desks = ()
                job.halt.set()
        for job in jobs:
            self._turns.dismiss(job)
        for desk in desks:
            desk.close()
        end = time.monotonic() + patience
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    @property
    def under_way(self) -> int:
        """Jobs that have not ended."""
        return len(self._open)

    def figures(self) -> Figures:
        """What is going on."""
        with self._lock:
            first, under_way = sorted(self._first), len(self._open)
            counts = {f"{'' if 'hits' in name else 'jobs_'}{name}_total": n for name, n in self._counts.items()}
        median, late = (first[int(share * (len(first) - 1))] if first else 0.0 for share in (0.5, 0.95))
        running = self._turns.taken
        return Figures(
            processes=0 if self.crew is None else self.crew.ready, jobs_waiting=max(0, under_way - running),
            jobs_running=running, first_bracket_median_seconds=median, first_bracket_p95_seconds=late, **counts,
        )  # fmt: skip

    # In the job's thread -----------------------------------------------------------------------------

    def _run(self, job: Job) -> None:
        _stand_back()
        fresh = None
        try:
            known = self.answers.fetch(job.question)
            if known is None:
                known = fresh = self._solve(job)
            else:
                self._count("disk_hits")
            job.trace, job.solution = list(known.trace), known.value
        except GivenUp:
            pass
        except InputError as error:
            job.error = error
        except Exception as error:  # whatever a task does, the page says so and everything else goes on
            log.exception("a task failed")
            job.error = error
        finally:
            self._turns.leave(job)
            self._end(job, fresh)

    def _solve(self, job: Job) -> Answer:
        if job.settle:
            job.halt.wait(job.settle)
        self._turns.enter(job)
        if job.began is None:
            raise GivenUp
        self._count("started")
        value = self._work_out(job)
        self._turns.leave(job)
        effort = spent(value) if job.question.graded and not job.cut_short else job.worked
        told = job.trace if job.anew is None else job.anew
        return Answer(value, tuple(getattr(value, "trace", told)), effort)

    def _work_out(self, job: Job) -> Any:
        """The task's answer, from a process of the crew if there is one. Begun anew when that process dies, more than
        once, for what killed it may have been another question, which is begun anew, too. What it had found stays to be
        seen, and is the answer of a job that is to end by then."""
        report = partial(self._report, job)
        if self.crew is None:
            return job.question.answer(report)
        for again in (False, True, True):
            if again:
                self._turns.leave(job)
                self.crew.wait()
                self._turns.enter(job, job.deadline)
                if job.over and job.sketch is None:
                    raise GivenUp
                if job.over:
                    return job.sketch
                job.anew = []
            with contextlib.suppress(Lost):
                value = job.question.answer(report, self.crew.answer)
                return value if job.anew is None or job.sketch is None or not job.cut_short else job.sketch
        raise Lost("the processes that worked on it are gone")

    def _report(self, job: Job, record: Any) -> bool:
        """Called by the task between two steps; True asks it to end with what it has."""
        before = job.met
        job.take(record)
        if job.met is not before:
            with self._lock:
                self._first.append(job.met - job.asked)
        self._turns.breathe(job, job.deadline)
        if job.over and (not job.desks or math.isinf(getattr(record, "upper", 0.0))):
            raise GivenUp
        return job.cut_short

    def _end(self, job: Job, fresh: Answer | None) -> None:
        """File the job, and its answer if it was worked out here: one that was stopped, or short of time because others
        had their turns, only where half an answer is of use."""
        full = not job.over and (time.monotonic() < job.deadline or job.worked >= 0.9 * job.limit)
        kept = fresh if fresh is not None and (job.question.graded or full) else None
        if kept is not None:
            self.answers.remember(job.question, kept)
        outcome = "failed" if job.error else "given_up" if not job.desks else "stopped" if job.over else "finished"
        with self._lock:
            if self._open.get(job.question) is job:
                del self._open[job.question]
            self._counts[outcome] += 1
            job.desks = ()
            job.finished.set()
        if kept is not None:
            self.answers.write(job.question, kept)
        with self._lock:
            self._threads.discard(threading.current_thread())
        if self._told is not None:
            waited = (time.monotonic() if job.began is None else job.began) - job.asked
            self._told(job.question.task.__name__, outcome, job.worked, waited)

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1


def _stand_back() -> None:
    """Let the threads that answer visitors go first, where threads have priorities of their own (Linux)."""
    if sys.platform != "linux":  # elsewhere it would be the priority of the whole process
        return
    with contextlib.suppress(OSError):
        own = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, own, min(19, os.getpriority(os.PRIO_PROCESS, own) + 5))


def _without(desks: tuple[Desk, ...], desk: Desk) -> tuple[Desk, ...]:
    """The desks less one mention of a desk, which may want the same thing in two slots."""
    place = desks.index(desk) if desk in desks else len(desks)
    return desks[:place] + desks[place + 1 :]


def _ended(job: Job) -> Job:
    job.finished.set()
    return job


class Desk:
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
