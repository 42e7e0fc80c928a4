"""Background solving as pages see it: one line to ask, never a long wait.

    job = compute.ask("picture", problem, settings, task=solve, wait=0.3)

`task(problem, settings, progress=callback)` is a function at the top of a module; problem and settings are frozen data
classes or made of plain values. The task calls `progress(record)` about every 0.1 s and returns its best answer soon
after a call that returned True. If records have `answer`, a function that makes the answer of the moment, the page can
show it before the end (`job.best`); if they have `lower`, `upper` and `gap`, the job counts as having its first bracket
once the gap is finite, and as having nothing to show before the upper bound is.

Every browser session has named slots ("picture", "price of monotone", …); a slot holds one job, and a newer
question in a slot withdraws the older one. Answers are shared by all sessions, and solutions kept on disk.
"""

from __future__ import annotations

import atexit
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpcore import mechanisms
from dpcore.errors import InputError
from dpcore.optimal import first_bracket, solve
from dpcore.problem import NoiseProblem, SolverSettings
from dpcore.solution import Solution
from dpcore.store import Store
from pages.registry import PAGES
from service import configuration
from service import log as service_log
from work.job import Job, TooMany
from work.lock import PageLock
from work.pool import Pool
from work.question import Question, Task
from work.session import Session
from work.workers import Figures, Workers

__all__ = [
    "Figures", "Job", "TooMany", "ask", "baselines", "current", "deserted", "figures", "first", "forget", "known",
    "open_pool", "pace", "rest", "stop", "store", "turn", "turn_to",
]  # fmt: skip

PATIENCE = 0.3
"""Seconds a run of the script waits for quick results, all in all, before it shows progress instead."""

GLANCE = 0.2
"""The same where a first answer can be shown meanwhile."""

PAGE_LOCK = PageLock()
"""The lock of the pages of this process."""

_run = threading.local()
"""State of the script in this thread.   patience : what is left of it."""


@cache
def store() -> Store:
    """The results on disk, as the configuration has them; also for tasks that keep parts of their work there."""
    chosen = configuration.current()
    return Store(chosen.store, chosen.store_megabytes << 20)


@st.cache_resource(show_spinner=False)
def _workers() -> Workers:
    chosen = configuration.current()
    workers = Workers(chosen.workers, store=store(), longest=chosen.seconds, told=_tell)
    atexit.register(workers.rest, 1.0)
    return workers


@st.cache_resource(scope="session", show_spinner=False, on_release=Session.close)
def _session() -> Session:
    return Session(_workers(), most=configuration.current().jobs_per_session)


def open_pool() -> None:
    """Have the work done by processes from now on, as many as may compute at once."""
    workers = _workers()
    if workers.pool is None:
        tasks = [page.tasks for page in PAGES if page.tasks]
        moving = [f"pages.{page.name}.controls" for page in PAGES if page.menu == "Learn"]  # whose pictures are tasks
        workers.pool = Pool(configuration.current().workers, tasks + moving)


def _tell(task: str, outcome: str, seconds: float, waited: float) -> None:
    service_log.record("solve", task=task, outcome=outcome, seconds=round(seconds, 3), waited=round(waited, 3))


def ask(
    slot: str, problem: Any, settings: Any, *, task: Task = solve, urgent: bool = True, wait: float = PATIENCE
) -> Job:
    """This session's job for a question, after waiting up to `wait` seconds for it to finish, if the run has not waited
    for others.

    urgent : it is what the page is about; else it comes after everybody's first brackets of what is.

    A session with too many jobs under way gets one that has ended with the error `TooMany`.
    """
    session = _session()
    job = session.ask(slot, Question(task, problem, settings), urgent=urgent)
    if deserted():
        session.close()
    if not job.done:
        patience, began = getattr(_run, "patience", PATIENCE), time.monotonic()
        with PAGE_LOCK.left():
            job.wait(min(wait, patience, 0.05) if job.settle else min(wait, patience))
            _run.patience = max(0.0, patience - (time.monotonic() - began))
    return job


def turn() -> AbstractContextManager[None]:
    """This visitor's turn to have a page put together. A run that a newer one has replaced meanwhile ends."""
    context = get_script_run_ctx()
    return PAGE_LOCK.taken(context and context.session_id, ready=_newest)


def _newest() -> None:
    st.session_state.get("address")  # whenever a value is asked for, Streamlit looks whether this run is to end


def deserted() -> bool:
    """The visitor left while this run was under way: the session was closed already, and this is a new one."""
    context = get_script_run_ctx()
    return context is not None and runtime.exists() and not runtime.get_instance().is_active_session(context.session_id)


def pause(seconds: float) -> None:
    """Let others have their turn."""
    with PAGE_LOCK.left():
        time.sleep(seconds)


def known(problem: Any, settings: Any, *, task: Task = solve) -> Any:
    """The answer to a question that somebody has asked before, whoever it was; None where nobody has. Nothing is
    started, and no session is needed."""
    answer = _workers().known(Question(task, problem, settings))
    return None if answer is None else answer.value


def current(slot: str) -> Job | None:
    """This session's job in a slot."""
    return _session().current(slot)


def stop(slot: str) -> None:
    """End this session's job in a slot with what it has found so far."""
    _session().stop(slot)


def forget(slot: str) -> None:
    """Drop this session's job in a slot."""
    _session().forget(slot)


def pace(job: Job) -> float:
    """Seconds between two looks at a job: the more are under way, the longer, so that looking does not slow them down.
    Until it has its first bracket it is looked at often."""
    return 0.25 if job.met is None else min(1.0, max(0.25, 0.06 * _workers().under_way))


def turn_to(page: str) -> None:
    """This session looks at a page, for the first time in this run; what it wanted for another one is withdrawn."""
    _run.patience = PATIENCE
    _session().turn_to(page)


def figures() -> Figures:
    """What is going on, for monitoring."""
    return _workers().figures()


def rest() -> None:
    """Give up everything that is under way in any session and wait until it is gone."""
    _workers().rest()


@lru_cache(maxsize=128)
def first(problem: NoiseProblem, settings: SolverSettings) -> Solution | None:
    """A certified answer at once, without a solve, where there is one: what is shown until there is a better one."""
    if settings.method != "certified":
        return None
    try:
        found = first_bracket(problem)
    except InputError:
        return None
    return found and replace(found, settings=settings)


@lru_cache(maxsize=128)
def baselines(problem: NoiseProblem) -> tuple[mechanisms.Baseline, ...]:
    """The textbook mechanisms calibrated to a problem, without those that take long to calibrate."""
    return tuple(mechanisms.baselines(problem, slow=False))
