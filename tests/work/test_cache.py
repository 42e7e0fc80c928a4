"""The memory of finished answers: what it holds, it has room for, whatever its parts refer to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.optimal import solve
from dpcore.problem import SolverSettings, noise_problem
from dpcore.store import Store
from work.cache import Cache, _weight
from work.question import Answer, Question


@dataclass
class Ring:
    """A value with a part that leads back to it."""

    content: object
    other: Ring | None = None


def test_an_even_loss_that_is_its_own_mirror_image_is_remembered(tmp_path):
    """Monotone problems look at the mirror image of their loss, which an even loss keeps as itself."""
    problem, settings = noise_problem(1, 0.2, monotone=True), SolverSettings(gap=0.05)
    answer, question = solve(problem, settings), Question(solve, problem, settings)
    assert answer.problem.loss.mirrored is answer.problem.loss
    cache = Cache(Store(tmp_path))
    cache.remember(question, Answer(answer))
    assert cache.recall(question).value.certificate == answer.certificate


def test_what_parts_share_counts_once():
    ring, content = Ring(np.zeros(1000)), [b"x" * 1000]
    ring.other = Ring(ring.content, ring)
    assert 8000 < _weight(ring) < 2 * 8000 + 1000
    assert 1000 < _weight((content, content)) < 1300
