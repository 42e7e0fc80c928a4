"""What every search shares: the bracket so far, its trace, the caller's wish to stop and the deadline."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from ..problem import SolverSettings
from ..solution import Progress
from .step import Limits

ProgressCallback = Callable[[Progress], "bool | None"]


class Problem(Protocol):
    """What a search asks of any problem."""

    @property
    def least(self) -> float:
        """What no law undercuts, however little privacy is asked for."""
        ...


class Law(Protocol):
    """The best law so far; searches keep more about it."""

    @property
    def upper(self) -> float: ...


Asked = TypeVar("Asked", bound=Problem)
Answer = TypeVar("Answer")


class Anytime(Generic[Asked, Answer]):
    """A search that may be stopped at any time.

    lower, best : the certified bracket so far.   _goal : relative gap at which to end.
    """

    best: Law | None = None

    def __init__(
        self, problem: Asked, settings: SolverSettings, progress: ProgressCallback | None, goal: float
    ) -> None:
        self.problem: Asked = problem
        self.settings, self._progress, self._goal = settings, progress, goal
        self._began = time.perf_counter()
        self._deadline = self._began + settings.time_limit
        self._stopped = False
        self._trace: list[Progress] = []
        self._cells = self._pairs = 0
        self.lower = problem.least

    @property
    def upper(self) -> float:
        return self.best.upper if self.best else math.inf

    @property
    def _over(self) -> bool:
        """The gap is closed, or somebody wants the answer now."""
        return self._stopped or self._record().gap <= self._goal or time.perf_counter() >= self._deadline

    def _record(self) -> Progress:
        return Progress(time.perf_counter() - self._began, self.lower, self.upper, self._cells, self._pairs)

    def _report(self) -> None:
        record = self._record()
        if not self._trace or (record.lower, record.upper) != (self._trace[-1].lower, self._trace[-1].upper):
            self._trace.append(record)
        self._stop()

    def _until(self, share: float) -> float:
        """When a share of the time left is over."""
        now = time.perf_counter()
        return now + share * (self._deadline - now)

    @property
    def _limits(self) -> Limits:
        """What a program needs now."""
        scale = self.upper if math.isfinite(self.upper) else 1.0
        return Limits(scale, self.settings.gap, self._deadline, self._stop)

    def _stop(self) -> bool:
        """Ask the caller; also called by the solver after every slice. Without a first law there is no stopping, but
        the caller may raise an exception of its own."""
        if self._progress is not None and self._progress(replace(self._record(), answer=self._solution)):
            self._stopped = self._stopped or math.isfinite(self.upper)
        return self._stopped

    def _solution(self) -> Answer:
        """The answer so far."""
        raise NotImplementedError
