"""Finished answers for all sessions: in memory those used last, on disk more of them and for longer."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np
from cachetools import LRUCache

from dpcore.optimal import solve
from dpcore.solution import Progress
from dpcore.store import Store, canonical, spent, suffices, topic, width

REMEMBERED = 64 << 20
"""Bytes of answers kept in memory, about."""

Task = Callable[..., Any]
"""`task(problem, settings, progress=callback)`."""

TICK = Progress(0.0, 0.0, math.inf, 0, 0)
"""What a task may report when it has no news: that it is alive."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of whom. Two are equal when the texts of all three parts are, classes and modules included."""

    task: Task
    problem: Any
    settings: Any
    key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", canonical((self.task, self.problem, self.settings)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def graded(self) -> bool:
        """Answers to it are better or worse: they carry a gap, and a better one serves all who ask for less."""
        return self.task is solve

    @property
    def topic(self) -> str:
        """What decides the answer apart from the effort, as text."""
        return canonical((self.task, topic(self.problem, self.settings))) if self.graded else self.key

    def answer(self, progress: Callable[[Any], bool], worker: Callable[..., Any] | None = None) -> Any:
        """The task's answer; may take long.

        worker : `worker(task, problem, settings, progress)` runs the task elsewhere; None runs it here.
        """
        if worker is not None:
            return worker(self.task, self.problem, self.settings, progress)
        return self.task(self.problem, self.settings, progress=progress)


@dataclass(frozen=True)
class Answer:
    """What a task returned, what it reported on the way, and the seconds of work in it."""

    value: Any
    trace: tuple = ()
    effort: float = 0.0

    def serves(self, question: Question) -> bool:
        """It is what this question, of the same topic, would aim at."""
        return not question.graded or suffices(self.value, self.effort, question.settings)


@dataclass(frozen=True)
class Format:
    """How the answers of a task are written as bytes and read back.

    load : (bytes, problem, settings) → answer; whatever it raises, the answer counts as absent.
    """

    dump: Callable[[Any], bytes]
    load: Callable[[bytes, Any, Any], Any]


class Answers:
    """Memory over disk. Solutions of one problem share a place: the best one stays and serves all who ask for less."""

    def __init__(self, store: Store, limit: int = REMEMBERED) -> None:
        self.formats: dict[str, Format] = {}
        self._store, self._lock = store, threading.Lock()
        self._memory: LRUCache = LRUCache(limit, getsizeof=_weight)

    def recall(self, question: Question) -> Answer | None:
        """The answer from memory; at once."""
        with self._lock:
            found = self._memory.get(question.topic)
        return _adapted(found, question) if found is not None and found.serves(question) else None

    def fetch(self, question: Question) -> Answer | None:
        """The answer from disk; takes some hundredths of a second, for it is audited again."""
        if question.graded:
            value = self._store.solution(question.problem, question.settings)
            found = None if value is None else Answer(value, value.trace, spent(value))
        else:
            found = self._fetch(question)
        if found is not None:
            self.remember(question, found)
        return found

    def remember(self, question: Question, answer: Answer) -> None:
        """Keep an answer in memory, unless a better one is there."""
        with self._lock:
            known = self._memory.get(question.topic)
            if known is not None and question.graded:
                effort = max(known.effort, answer.effort)
                answer = replace(min(known, answer, key=lambda one: width(one.value)), effort=effort)
            with contextlib.suppress(ValueError):  # larger than all of the memory
                self._memory[question.topic] = answer

    def write(self, question: Question, answer: Answer) -> None:
        """Keep an answer on disk, unless a better one is there."""
        try:
            if question.graded:
                self._store.keep(answer.value, effort=answer.effort)
            elif (form := self.formats.get(canonical(question.task))) is not None:
                self._store.put(canonical(question.task), question.key, form.dump(answer.value))
        except Exception:  # an answer that cannot be written is still an answer
            log.exception("an answer was not kept")

    def _fetch(self, question: Question) -> Answer | None:
        name = canonical(question.task)
        raw = self._store.get(name, question.key) if name in self.formats else None
        if raw is None:
            return None
        try:
            return Answer(self.formats[name].load(raw, question.problem, question.settings))
        except Exception as error:  # whatever is wrong with it, it can be computed again
            log.warning("an answer on disk cannot be used (%s)", type(error).__name__)
            return None


def _adapted(answer: Answer, question: Question) -> Answer:
    """The answer as one to this question, which may have asked for less."""
    return replace(answer, value=replace(answer.value, settings=question.settings)) if question.graded else answer


def _weight(value: Any) -> int:
    """Bytes of a value, about."""
    if isinstance(value, np.ndarray):
        return value.nbytes + 100
    if isinstance(value, str | bytes):
        return len(value) + 50
    if isinstance(value, dict):
        return 100 + sum(_weight(item) for item in value.values())
    if isinstance(value, list | tuple):
        return 50 + sum(_weight(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return 50 + sum(_weight(item) for item in vars(value).values())
    return 30
