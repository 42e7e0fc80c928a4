"""Jobs under way: each question asked once, worked on in turns, stopped, shared and given up.

A job has a thread from the moment it is asked for until it has an answer, and none afterwards.
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
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import InputError
from dpcore.store import Store, spent

from .cache import Cache
from .job import GivenUp, Job, State, TooMany
from .pool import Lost, Pool
from .question import Answer, Question
from .scheduler import Scheduler

if TYPE_CHECKING:
    from .session import Session

log = logging.getLogger(__name__)


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
    told : called at a job's end with (task, state, seconds of work, seconds waited).
    pool : processes that do the work; None has it done in the jobs' own threads.
    """

    def __init__(
        self,
        places: int = 2,
        *,
        store: Store | None = None,
        longest: float = math.inf,
        told: Callable[[str, str, float, float], None] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.cache, self._scheduler, self._told = Cache(store or Store(None)), Scheduler(places), told
        self.pool = pool
        self._longest, self._lock = longest, threading.Lock()
        self._open: dict[Question, Job] = {}
        self._threads: set[threading.Thread] = set()
        self._counts = dict.fromkeys(
            ("started", "finished", "stopped", "given_up", "failed", "refused", "memory_hits", "disk_hits"), 0
        )
        self._first: deque[float] = deque(maxlen=1000)

    def known(self, question: Question) -> Answer | None:
        """The answer from memory or from disk, for those who do not ask for more."""
        if (found := self.cache.recall(question)) is None and (found := self.cache.fetch(question)) is not None:
            self._count("disk_hits")
        return found

    def ask(self, question: Question, session: Session, *, urgent: bool = True, settle: float = 0.0) -> Job:
        """The job for a question: one that has its answer, one under way, or a new one.

        settle : seconds that a new one waits before it starts.
        """
        with self._lock:
            known = self.cache.recall(question)
            if known is not None:
                self._counts["memory_hits"] += 1
                return Job(question, trace=list(known.trace), solution=known.value, state=State.FINISHED)
            job = self._open.get(question)
            if job is not None and not job.over:
                job.sessions = (*job.sessions, session)
                job.urgent = job.urgent or urgent
                return job
            limit = getattr(question.settings, "time_limit", None)
            limit = math.inf if limit is None else min(limit, self._longest)
            job = self._open[question] = Job(question, urgent, settle, limit, (session,))
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
        return Job(question, error=TooMany(most), state=State.REFUSED)

    def withdraw(self, job: Job, session: Session) -> None:
        """One session no longer wants the answer; the last one to leave ends the work."""
        with self._lock:
            job.sessions = _without(job.sessions, session)
            if job.sessions or job.done:
                return
            job.stop()
        self._scheduler.dismiss(job)

    def stop(self, job: Job, session: Session) -> Job:
        """End a job with what it has; where others wait for it too, this session gets what there is, and they the rest.
        The second time, too, there is no more waiting. Returns the job that is now this session's."""
        with self._lock:
            if job.done:
                return job
            if job.sessions == (session,) and not job.over:
                job.stop()
                mine = job
            else:
                job.sessions = _without(job.sessions, session)
                mine = Job(job.question, trace=list(job.trace), solution=job.sketch, state=State.STOPPED)
        if job.over:
            self._scheduler.dismiss(job)
        return mine

    def rest(self, patience: float = 5.0) -> None:
        """Give up everything under way and wait until all threads are gone; whoever asks again starts afresh."""
        with self._lock:
            threads = list(self._threads)
            jobs = list(self._open.values())
            sessions = {session for job in jobs for session in job.sessions}
            for job in jobs:
                job.sessions = ()
                job.stop()
        for job in jobs:
            self._scheduler.dismiss(job)
        for session in sessions:
            session.close()
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
        running = self._scheduler.taken
        return Figures(
            processes=0 if self.pool is None else self.pool.ready, jobs_waiting=max(0, under_way - running),
            jobs_running=running, first_bracket_median_seconds=median, first_bracket_p95_seconds=late, **counts,
        )  # fmt: skip

    # In the job's thread -----------------------------------------------------------------------------

    def _run(self, job: Job) -> None:
        _stand_back()
        fresh = None
        try:
            known = self.cache.fetch(job.question)
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
            self._scheduler.leave(job)
            self._end(job, fresh)

    def _solve(self, job: Job) -> Answer:
        if job.settle:
            job.wait(job.settle, stopping=True)
        self._scheduler.enter(job)
        if job.began is None:
            raise GivenUp
        self._count("started")
        value = self._work_out(job)
        self._scheduler.leave(job)
        effort = spent(value) if job.question.graded and not job.cut_short else job.worked
        told = job.trace if job.anew is None else job.anew
        return Answer(value, tuple(getattr(value, "trace", told)), effort)

    def _work_out(self, job: Job) -> Any:
        """The task's answer, from a process of the pool if there is one. Begun anew when that process dies, more than
        once, for what killed it may have been another question, which is begun anew, too. What it had found stays to be
        seen, and is the answer of a job that is to end by then."""
        report = partial(self._report, job)
        if self.pool is None:
            return job.question.answer(report)
        for again in (False, True, True):
            if again:
                self._scheduler.leave(job)
                self.pool.wait()
                self._scheduler.enter(job, job.deadline)
                if job.over and job.sketch is None:
                    raise GivenUp
                if job.over:
                    return job.sketch
                job.anew = []
            with contextlib.suppress(Lost):
                value = job.question.answer(report, self.pool.answer)
                return value if job.anew is None or job.sketch is None or not job.cut_short else job.sketch
        raise Lost("the processes that worked on it are gone")

    def _report(self, job: Job, record: Any) -> bool:
        """Called by the task between two steps; True asks it to end with what it has."""
        before = job.met
        job.take(record)
        if job.met is not before:
            with self._lock:
                self._first.append(job.met - job.asked)
        self._scheduler.offer(job, job.deadline)
        if job.over and (not job.sessions or math.isinf(getattr(record, "upper", 0.0))):
            raise GivenUp
        return job.cut_short

    def _end(self, job: Job, fresh: Answer | None) -> None:
        """File the job, and its answer if it was worked out here: one that was stopped, or short of time because others
        had their turns, only where half an answer is of use."""
        full = not job.over and (time.monotonic() < job.deadline or job.worked >= 0.9 * job.limit)
        kept = fresh if fresh is not None and (job.question.graded or full) else None
        if kept is not None:
            self.cache.remember(job.question, kept)
        outcome = (
            State.FAILED if job.error
            else State.GIVEN_UP if not job.sessions
            else State.STOPPED if job.over
            else State.FINISHED
        )  # fmt: skip
        with self._lock:
            if self._open.get(job.question) is job:
                del self._open[job.question]
            self._counts[outcome.value] += 1
            job.sessions = ()
            job.end(outcome)
        if kept is not None:
            self.cache.write(job.question, kept)
        with self._lock:
            self._threads.discard(threading.current_thread())
        if self._told is not None:
            waited = (time.monotonic() if job.began is None else job.began) - job.asked
            self._told(job.question.task.__name__, outcome.value, job.worked, waited)

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


def _without(sessions: tuple[Session, ...], session: Session) -> tuple[Session, ...]:
    """The sessions less one mention of a session, which may want the same thing in two slots."""
    place = sessions.index(session) if session in sessions else len(sessions)
    return sessions[:place] + sessions[place + 1 :]
