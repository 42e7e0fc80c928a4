"""What is asked of whom, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpcore.isotropic.search import solve as solve_isotropic
from dpcore.optimal import solve
from dpcore.solution import Progress
from dpcore.store import canonical, suffices, topic

Task = Callable[..., Any]
"""`task(problem, settings, progress=callback)`."""

GRADED = (solve, solve_isotropic)
"""Tasks whose answers are better or worse, and kept on disk."""

TICK = Progress(0.0, 0.0, math.inf, 0, 0)
"""What a task may report when it has no news: that it is alive."""


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
        return self.task in GRADED

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
        """Whether it is what this question, of the same topic, would aim at."""
        return not question.graded or suffices(self.value, self.effort, question.settings)
