"""A question on its way to an answer. Jobs never touch Streamlit."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from dpcore.errors import InputError

from .question import Question

if TYPE_CHECKING:
    from .session import Session

AGAIN = 0.5
"""Seconds between two answers of the moment."""


class State(Enum):
    """Where a job is on its way."""

    ASKED = "asked"
    """Waiting or computing."""
    STOPPING = "stopping"
    """To end with what it has."""
    FINISHED = "finished"
    STOPPED = "stopped"
    """Ended before its time with what it had, which may be nothing."""
    GIVEN_UP = "given_up"
    """Nobody waited for it any more."""
    FAILED = "failed"
    REFUSED = "refused"
    """Never begun: its session had too many."""


ENDED = frozenset(State) - {State.ASKED, State.STOPPING}
OVER = frozenset({State.STOPPING, State.STOPPED, State.GIVEN_UP})


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
    state : where it is on its way, see `State`.
    settle : seconds it waits before it starts, for a newer question in its place.
    limit : seconds it may take from its first turn on, those of its settings or fewer.
    asked, began, met : when it was asked for, first had a turn, and had a first bracket (`time.monotonic`).
    sketched : when it had its last sketch, and how close that was: (gap, upper bound).
    worked : seconds of turns.
    """

    question: Question
    urgent: bool = True
    settle: float = 0.0
    limit: float = math.inf
    sessions: tuple[Session, ...] = ()
    trace: list[Any] = field(default_factory=list)
    anew: list[Any] | None = None
    solution: Any = None
    sketch: Any = None
    error: Exception | None = None
    asked: float = field(default_factory=time.monotonic)
    began: float | None = None
    met: float | None = None
    worked: float = 0.0
    sketched: tuple[float, tuple[float, float]] = (-math.inf, (math.inf, math.inf))
    state: State = State.ASKED
    _change: threading.Condition = field(default_factory=threading.Condition, repr=False)

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.state in ENDED

    @property
    def over(self) -> bool:
        """Whether it is to end with what it has, or did."""
        return self.state in OVER

    def stop(self) -> None:
        """Have it end with what it has."""
        with self._change:
            if not self.done:
                self.state = State.STOPPING
                self._change.notify_all()

    def end(self, state: State) -> None:
        """Tell those who wait that it has ended, and how."""
        with self._change:
            self.state = state
            self._change.notify_all()

    def wait(self, seconds: float | None = None, *, stopping: bool = False) -> bool:
        """Wait until it has ended, at most so many seconds; whether it has. `stopping`: or until it is to end."""
        with self._change:
            self._change.wait_for(lambda: self.done or (stopping and self.over), seconds)
        return self.done

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
        return min((session.served for session in self.sessions), default=math.inf)

    @property
    def deadline(self) -> float:
        """When its time is over."""
        return math.inf if self.began is None else self.began + self.limit

    @property
    def cut_short(self) -> bool:
        """Whether it is to end with what it has, or its time is over."""
        return self.over or time.monotonic() >= self.deadline

    def serve(self, now: float) -> None:
        self.began = now if self.began is None else self.began
        for session in self.sessions:
            session.served = now

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
            self.sketched = time.monotonic(), _closeness(record)

    def _worth_a_sketch(self, record: Any) -> bool:
        """Its bracket is closer than the last sketch's: a lower bound that rises is news as much as an upper one that
        falls."""
        when, before = self.sketched
        return self.met is not None and _closeness(record) < before and time.monotonic() - when >= AGAIN


def _closeness(record: Any) -> tuple[float, float]:
    """(gap, upper bound) of a progress record; less is better."""
    return getattr(record, "gap", 0.0), record.upper
