"""People's data are read in this process, in a thread beside the pages: a few at a time, ended on request.

What other jobs are asked and answer travels to the processes of the pool and into the store. These data stay here, and
nothing keeps them when the thread has ended: neither its answer nor, if there is none, the error with its traceback.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, TypeVar

from dpcore.errors import InputError
from dpcore.plan.source import Interrupted, Source

MOST = 4
"""Readings that have a turn at the same time."""

SECONDS = 60.0
"""Longest time that a reading may take from its turn on."""

_turns = threading.Semaphore(MOST)

Data = TypeVar("Data")
Answer = TypeVar("Answer")
Task = Callable[[Data, Callable[[], None]], Answer]
"""What to do with the data; it calls the second now and then, which raises when it is to end."""


class Reading(Generic[Answer]):
    """One reading, begun at once or when it is its turn.

    answer : what the task returned.   error : why there is none.   stopped : it was ended before.
    waiting : it is not its turn yet.   failed : is called with an error that is no refusal.
    """

    def __init__(
        self,
        data: Callable[[], AbstractContextManager[Data]],
        task: Task[Data, Answer],
        *,
        seconds: float = SECONDS,
        failed: Callable[[Exception], object] = lambda _: None,
    ) -> None:
        self.answer: Answer | None = None
        self.error: Exception | None = None
        self.waiting, self.stopped, self._forgotten = True, False, False
        self._end, self._ended = threading.Event(), threading.Event()
        self._source: Any = None
        threading.Thread(target=self._run, args=(data, task, seconds, failed), name="reading", daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self._ended.is_set()

    @property
    def over(self) -> bool:
        """Whether it is to end."""
        return self._end.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended, at most so many seconds; whether it has."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """Have it end without an answer."""
        self._end.set()
        if isinstance(source := self._source, Source):
            source.interrupt()

    def forget(self) -> None:
        """Have it end, and hold no answer, whoever still holds this, such as the button that ends it."""
        self._forgotten = True
        self.stop()
        self.answer = None

    def _tick(self) -> None:
        if self._end.is_set():
            raise Interrupted

    def _run(
        self,
        data: Callable[[], AbstractContextManager[Data]],
        task: Task[Data, Answer],
        seconds: float,
        failed: Callable[[Exception], object],
    ) -> None:
        limit = threading.Timer(seconds, self._expire, (seconds,))
        try:
            with self._turn():
                limit.start()
                with data() as self._source:
                    self._tick()
                    self.answer = task(self._source, self._tick)
                    if self._forgotten:  # meanwhile
                        self.answer = None
        except Interrupted:
            self.stopped = self.error is None
        except InputError as error:
            self.error = error.with_traceback(None)
        except Exception as error:
            failed(error)
            self.error = InputError("data", "this table", "one that can be read")
        finally:
            limit.cancel()
            self._source = None
            self._ended.set()

    def _expire(self, seconds: float) -> None:
        self.error = InputError(
            "time limit", f"{seconds:g} s", "a smaller table, or the command line, which has no limit"
        )
        self.stop()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        while not _turns.acquire(timeout=0.1):
            self._tick()
        self.waiting = False
        try:
            yield
        finally:
            _turns.release()
