"""Finished answers for all sessions: in memory those used last, on disk more of them and for longer."""

from __future__ import annotations

import contextlib
import logging
import threading
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from cachetools import LRUCache

from dpcore.store import Store, spent, width

from .question import Answer, Question

REMEMBERED = 64 << 20
"""Bytes of answers kept in memory, about."""

log = logging.getLogger(__name__)


class Cache:
    """Memory over disk, where solutions alone are kept. Those of one problem share a place: the best one stays and
    serves all who ask for less."""

    def __init__(self, store: Store, limit: int = REMEMBERED) -> None:
        self._store, self._lock = store, threading.Lock()
        self._memory: LRUCache = LRUCache(limit, getsizeof=_weight)

    def recall(self, question: Question) -> Answer | None:
        """The answer from memory; at once."""
        with self._lock:
            found = self._memory.get(question.topic)
        return _adapted(found, question) if found is not None and found.serves(question) else None

    def fetch(self, question: Question) -> Answer | None:
        """The answer from disk; takes some hundredths of a second, for it is audited again."""
        value = self._store.solution(question.problem, question.settings) if question.graded else None
        if value is None:
            return None
        found = Answer(value, value.trace, spent(value))
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
        """Keep a solution on disk, unless a better one is there."""
        try:
            if question.graded:
                self._store.keep(answer.value, effort=answer.effort)
        except Exception:  # an answer that cannot be written is still an answer
            log.exception("an answer was not kept")


def _adapted(answer: Answer, question: Question) -> Answer:
    """The answer as one to this question, which may have asked for less."""
    return replace(answer, value=replace(answer.value, settings=question.settings)) if question.graded else answer


def _weight(value: Any, counted: set[int] | None = None) -> int:
    """Bytes of a value, about; what several of its parts share, or a part that leads back to it, counts once."""
    counted = set() if counted is None else counted
    if isinstance(value, np.ndarray):
        return value.nbytes + 100
    if isinstance(value, str | bytes):
        return len(value) + 50
    if id(value) in counted:
        return 0
    if isinstance(value, dict):
        counted.add(id(value))
        return 100 + sum(_weight(item, counted) for item in value.values())
    if isinstance(value, list | tuple):
        counted.add(id(value))
        return 50 + sum(_weight(item, counted) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        counted.add(id(value))
        return 50 + sum(_weight(item, counted) for item in vars(value).values())
    return 30
